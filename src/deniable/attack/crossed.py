"""Which attribute is real, where the marginals are fitted to the very reports that are attacked; and how
often that is right.

A rule that was fitted to some reports looks better on them than it is, and a noisy rule expects too much
wherever it is looked at. But the success of a fixed rule is linear in the marginals: it is the mean over
fakes of how many times likelier the report it points at is from people, over d. So rules are fitted to all
reports but a fold, and judged by the marginals of that fold, as they are estimated, neither clipped nor
scaled, which would bend them: what comes out is unbiased.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.attack.likelihoods import Chance, realness
from deniable.estimate.consistency import norm_mul
from deniable.mechanisms import Tally
from deniable.records import Faked, Records
from deniable.simulate.population import numbers_from
from deniable.words.simulated import seeded

FOLDS = 10
ENOUGH = 2 * FOLDS
"""Fewer reports do not tell how often an attack on them is right: folds of one report scatter by chance, or
not at all.
"""
_FAKES = 20_000


def estimated(share: Faked, records: Records) -> list[Floats]:
    """The marginals as the collector would estimate them, clipped at 0 and scaled to a sum of one."""
    return _scaled(share, share.tally(records))


@final
@dataclass(frozen=True, eq=False)
class Crossed:
    """Reports among fakes, each attacked by what those outside its fold tell of the marginals."""

    share: Faked
    assumed: Faked
    """What the attacker takes the share for."""
    records: Records
    seed: int = 1
    """The folds are drawn from it, and the fakes by which rules are judged."""

    @cached_property
    def _fold_of(self) -> Integers:
        return numbers_from(self.seed, "folds").permutation(self.records.n) % FOLDS

    @cached_property
    def _tallies(self) -> list[tuple[Tally, ...]]:
        return [self.share.tally(self._inside(fold)) for fold in range(min(FOLDS, self.records.n))]

    def _inside(self, fold: int) -> Records:
        who = np.flatnonzero(self._fold_of == fold)
        return Records(who.size, tuple(column[who] for column in self.records.columns))

    def _outside(self, fold: int) -> list[Floats]:
        """The marginals by all folds but one; of a single report nothing is outside, and its own must do."""
        others = [tallies for other, tallies in enumerate(self._tallies) if other != fold] or self._tallies
        return _scaled(self.share, tuple(reduce(add, parts) for parts in zip(*others, strict=True)))

    def realness(self) -> Floats:
        """How many times likelier each report is from people than from its fake: attributes by people.

        A report is no part of the marginals that it is judged by: it would speak for its fakes as much as for
        what is real.
        """
        found = np.empty((self.share.d, self.records.n))
        for fold in range(len(self._tallies)):
            found[:, self._fold_of == fold] = realness(self.assumed, self._inside(fold), self._outside(fold))
        return found

    def success(self) -> Chance:
        """How often the attacker can expect to be right, with its standard error, which is that of the folds
        and of the fakes.

        Every two folds are compared twice, the one by the other's rule and the other by the one's, so that
        the squared error of the folds counts twice: too much where there are many reports, and what it is
        where there are few. What is unbiased can be below a blind guess, by chance. Where there are too few
        for any of this, it is a blind guess, with the largest error that there can be: whatever is true is
        within it.
        """
        d, folds = self.share.d, len(self._tallies)
        if self.records.n < ENOUGH:
            return Chance(1 / d, 1 - 1 / d, exact=False)
        words = seeded(int(numbers_from(self.seed, "all fake").integers(1 << 62)))
        columns = tuple(fake.encode(words.rows(_FAKES, fake.words)) for fake in self.assumed.fakes)
        fakes, everyone, gains = Records(_FAKES, columns), np.arange(_FAKES), np.empty((folds, _FAKES))
        for fold, tallies in enumerate(self._tallies):
            rule = np.argmax(realness(self.assumed, fakes, self._outside(fold)), axis=0)
            judged = realness(self.assumed, fakes, [one.frequencies for one in self.share.estimate(tallies)])
            # attributes of fakes are as likely from people as from fakes on average: only differences need be
            # simulated
            gains[fold] = (judged[rule, everyone] - judged.mean(axis=0)) / d
        of_folds, of_fakes = gains.mean(axis=1).var(ddof=1) / folds, gains.mean(axis=0).var(ddof=1) / _FAKES
        return Chance(float(1 / d + gains.mean()), math.sqrt(2 * of_folds + of_fakes), exact=False)


def _scaled(share: Faked, tallies: Sequence[Tally]) -> list[Floats]:
    return [norm_mul(estimate.frequencies) for estimate in share.estimate(tallies)]
