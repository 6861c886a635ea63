"""Guesses which attribute of a report among fakes is real, as well as possible and without any training.

If attribute t is real, its report is m_t times likelier than by chance, m_t being the law of real reports,
and the others are as likely as their fakes make them. So the best guess is the attribute with the largest m_t
/ F_t, whatever the classifier.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from operator import add
from typing import Any, Literal, NamedTuple, cast, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.attack.inputs import checked_priors, checked_truth, records_from
from deniable.attack.likelihoods import (
    Hidden,
    RealRatios,
    Source,
    compute_real_ratios,
    hidden_in,
    mechanism_of,
    members_of,
    names_of,
)
from deniable.attack.results import LEVEL, Chance
from deniable.attack.values import ValueAttack
from deniable.errors import InvalidParameter, InvalidReport, not_among
from deniable.estimate import bounded
from deniable.estimate.consistency import norm_mul
from deniable.exact import whole_number
from deniable.formatting import format_count
from deniable.frames import Backend, frame_of_rows
from deniable.mechanisms import Direct, Hadamard, Pooled, SetMechanism, SubsetShape, Tally, Unary
from deniable.randomness.simulated import numbers_from, seeded
from deniable.records import Blank, Fake, Faked, Guessed, Imitated, Prior, Records
from deniable.rounds import BitFlip

Assumed = Literal["known", "uniform"]
"""What an attacker takes the fakes for: what the plan says, or always uniform, as the published attacks on
RS+RFD do.
"""

_REAL = "the real attribute"
_LISTED = 12  # all 2^k reports of at most this many bits are listed
_MOST_REPORTS = 1 << _LISTED
_SIMULATED = 50_000


@final
@dataclass(frozen=True, eq=False)
class AttributeAttack:
    """The attribute of each report that is likeliest to be the real one, and how likely it is to be."""

    names: tuple[str, ...]
    guesses: ValueAttack
    """The only answer is which attribute it is; the first, where several are as likely."""
    crossed: Crossed | None = None
    """How often it can expect to be right, where the marginals were fitted to these reports; computed when it
    is asked for.
    """

    @property
    def attributes(self) -> Integers:
        """The attributes by number."""
        return np.asarray(self.guesses.values[0])

    @property
    def posterior(self) -> Floats:
        """How likely each of them is to be the real one, if the marginals are right.

        Where they were fitted to these very reports they are not quite, and the fewer the reports, the more
        this is too sure of itself. `expected` is corrected for that.
        """
        return np.asarray(self.guesses.posterior[0])

    @property
    def expected(self) -> float:
        """How often the attacker can expect to be right: without bias, also where the marginals were fitted
        to the reports.

        Fewer than 20 of these do not tell it: it is then that of a blind guess, with an error that reaches
        all there is.
        """
        return self.expectation.value

    @cached_property
    def expectation(self) -> Chance:
        """How often the attacker can expect to be right, with the standard error of the mean posterior, or,
        where marginals were fitted, that of rules that were fitted to some of the reports and are judged by
        others.

        The former is the largest that a law of posteriors can have whose mean these do not refuse at 95 %. So
        in at least 95 of 100 collections it is not too small, although they may miss what is rare and tells
        much; it can be far too large.
        """
        if self.crossed is not None:
            return self.crossed.success()
        n, blind = self.guesses.n, self.blind
        mean = float(self.posterior.mean())
        # their own scatter misses what is rare and tells much; what lies in a range scatters so much at most,
        # by its true mean
        # (Bhatia and Davis), and most where that is in the middle
        inside = min(max((mean - blind) / (1 - blind), 0.0), 1.0)
        low, high = bounded(inside, n, (1 - LEVEL) / 2)
        worst = min(max(0.5, low), high)
        return Chance(mean, (1 - blind) * math.sqrt(worst * (1 - worst) / n), exact=False)

    @property
    def blind(self) -> float:
        """How often a blind guess is right."""
        return 1 / len(self.names)

    def right(self, truth: npt.ArrayLike) -> float:
        """How often it is right, where the attributes that were sampled are known, by name or by number."""
        return self.guesses.right(self._check_truth(truth))[_REAL]

    def judged(self, truth: npt.ArrayLike, level: float = LEVEL, backend: Backend | None = None) -> Any:
        """A dataframe of one row: how often it is right, with the interval of that share at `level`."""
        return frame_of_rows(
            self.guesses.rows(self._check_truth(truth), level, {_REAL: self.expected}), backend
        )

    def frame(self, backend: Backend | None = None) -> Any:
        """Makes a dataframe with a row per report: the guessed attribute and its posterior."""
        return self.guesses.frame(backend)

    def _check_truth(self, truth: npt.ArrayLike) -> Integers:
        return checked_truth(truth, self.guesses.n, self.names)[None]

    def __repr__(self) -> str:
        if self.crossed is not None and self.guesses.n < ENOUGH:
            expects = f"too few to tell how often it is right ({ENOUGH} do, or give marginals)"
        else:
            chance = self.expectation
            share = min(max(chance.value, 0.0), 1.0)  # without bias it can be beyond, by chance
            expects = f"expects {100 * share:.1f} % right, standard error {100 * chance.stderr:.1f} points"
        reports, blind = format_count(self.guesses.n, "report"), f"{100 * self.blind:.1f} %"
        return f"<AttributeAttack on {reports}: {expects}, blind {blind}>"


def sampled_attribute(
    plan: Source,
    reports: object,
    marginals: object = None,
    fakes: Assumed = "known",
    among: str | int | None = None,
) -> AttributeAttack:
    """Guesses which attribute of each report is real, as well as possible (Bayes).

    The attacker knows the plan, the law of its fakes included, and how frequent the values are: `marginals`
    by attribute, or, unless given, what the other reports tell of them, which needs no background data at
    all. With fakes="uniform" the prior of the fakes is ignored: the mistake that makes RS+RFD look safer than
    it is. `expected` is how often this can expect to be right.

    In a split, only the attributes of the part with fakes are compared. Where there are several such parts,
    `among` names an attribute of the one that is attacked.

    >>> import deniable as dn
    >>> mechanism = dn.rsfd([4, 3], epsilon=3.0, protocol="sue-z")
    >>> found = sampled_attribute(mechanism, mechanism.privatize([[0, 0]] * 1000, dn.seeded(1)))
    >>> found.blind, found.expected > 0.7
    (0.5, True)
    """
    hidden = find_hidden(plan, among)
    mechanism = hidden.mechanism
    records = hidden.select(records_from(plan, reports))
    names = names_of(plan)[hidden.first : hidden.first + mechanism.d]
    if marginals is not None and not records.n:
        raise InvalidReport(
            "there are no reports to attack; sampled_success tells what marginals tell without them"
        )
    assumed = assume_fakes(mechanism, fakes)
    crossed = Crossed(mechanism, assumed, records) if marginals is None else None
    if crossed is None:
        believed = checked_priors(plan, marginals)
        ratios = compute_real_ratios(assumed, records, [believed[j] for j in hidden.attributes])
    else:
        ratios = crossed.compute_ratios()
    best = np.argmax(ratios, axis=0)
    posterior = ratios[best, np.arange(records.n)] / ratios.sum(axis=0)
    return AttributeAttack(names, ValueAttack((_REAL,), best[None], posterior[None], (names,)), crossed)


def sampled_success(
    plan: Source, marginals: object, people: int = _SIMULATED, seed: int = 1, among: str | int | None = None
) -> Chance:
    """Computes how often the best guess of the real attribute is right, if the values have these shares.

    It is the mean over all reports of the largest m_t / F_t, over d: exact where these can be listed (values,
    bits of up to 12 values each, up to 4,096 sets, columns or buckets of a pool); otherwise that of `people`
    simulated people, with its standard error.

    >>> import deniable as dn
    >>> round(sampled_success(dn.rsfd([3, 3], epsilon=1.0), [[0.8, 0.1, 0.1], [0.6, 0.2, 0.2]]).value, 4)
    0.585
    """
    hidden, believed_by_all = find_hidden(plan, among), checked_priors(plan, marginals)
    mechanism = hidden.mechanism
    shares = [believed_by_all[j] for j in hidden.attributes]
    if all(list_reports(fake.part) is not None for fake in mechanism.fakes):
        atoms = [_list_atoms(fake, believed) for fake, believed in zip(mechanism.fakes, shares, strict=True)]
        return Chance(expected_largest(atoms) / mechanism.d)
    draws = numbers_from(seed, "sampled attribute")
    n = whole_number("people", people, 2)
    table = np.column_stack([draws.choice(believed.size, n, p=believed) for believed in shares])
    records = mechanism.privatize(table, seeded(int(draws.integers(1 << 62))))
    posterior = sampled_attribute(mechanism, records, shares).posterior
    return Chance(float(posterior.mean()), float(posterior.std(ddof=1) / math.sqrt(n)), exact=False)


def expected_largest(atoms: Sequence[tuple[Floats, Floats]]) -> float:
    """Computes E max of independent variables, each given by its values and probabilities.

    Each variable counts where it is the largest, of equal ones the last: large values of small probability
    then keep all their digits.
    """
    sides = []
    for value, chance in atoms:
        order = np.argsort(value)
        total = np.concatenate([[0.0], np.cumsum(chance[order])])
        sides.append((value[order], total / total[-1]))
    expected = 0.0
    for j, (value, chance) in enumerate(atoms):
        wins = chance / chance.sum()
        for i, (ordered, below) in enumerate(sides):
            if i != j:
                wins = wins * below[np.searchsorted(ordered, value, side="right" if i < j else "left")]
        expected += float(value @ wins)
    return expected


def real_attributes(plan: Source, n: int, seed: int, among: str | int | None = None) -> Integers:
    """Which attribute is real in the report of each of n simulated people whose words are `seeded(seed)`.

    In a split it is counted from the first attribute of the part with fakes, as in `sampled_attribute`.
    """
    hidden = find_hidden(plan, among)
    rows = seeded(seed).rows(whole_number("n, the number of people,", n, 1), mechanism_of(plan).words)
    words = rows.columns(hidden.start, hidden.start + hidden.mechanism.words)
    return hidden.mechanism.sampled_attribute(words)


class Listed(NamedTuple):
    """Every report that a mechanism can give."""

    base: Floats
    """How likely it is from a value that it does not support, or about which its bit is clear."""
    ratios: Floats
    """How many times likelier it is from each value, a row for each report."""


def _list_atoms(fake: Fake, shares: Floats) -> tuple[Floats, Floats]:
    """Every report that a fake can be: m / F there, and F."""
    base, ratios = cast(Listed, list_reports(fake.part))
    from_fake = list_fake_chances(fake, ratios)
    return ratios @ shares / from_fake, base * from_fake


def list_fake_chances(fake: Fake, ratios: Floats) -> Floats:
    """How many times likelier than the base every report is from a fake."""
    if isinstance(fake, Guessed):
        return np.asarray(fake.supported / fake.part.law.q)
    if isinstance(fake, Imitated):
        return np.asarray(ratios @ fake.prior.shares)
    share = cast(Blank, fake).nobody.share
    return np.full(len(ratios), float((1 - share) / (1 - fake.part.law.exact_p)))


def list_reports(part: SetMechanism) -> Listed | None:
    """Every report of a mechanism; None where they are too many, as all hash functions are."""
    shape, k, p, q = part.one_round, part.k, part.law.p, part.law.q
    if isinstance(shape, Direct):
        return Listed(np.full(k, q), 1 + (part.odds - 1) * np.eye(k))
    if isinstance(shape, Unary) and k <= _LISTED:
        sets = np.arange(1 << k)[:, None] >> np.arange(k) & 1
        ones = sets.astype(bool)
        count = ones.sum(axis=1)
        base = q**count * (1 - q) ** (k - count) * ((1 - p) / (1 - q))
    elif isinstance(shape, SubsetShape) and math.comb(k, shape.size) <= _MOST_REPORTS:
        ones = np.zeros((math.comb(k, shape.size), k), dtype=bool)
        for row, members in zip(ones, itertools.combinations(range(k), shape.size), strict=True):
            row[list(members)] = True
        base = np.full(len(ones), (1 - p) / math.comb(k - 1, shape.size))
    elif isinstance(shape, Hadamard) and 1 << shape.bits <= _MOST_REPORTS:
        ones = shape.support(np.arange(1 << shape.bits))
        base = np.full(len(ones), (1 - p) / (1 << (shape.bits - 1)))
    elif isinstance(shape, Pooled) and shape.pool.cells <= _MOST_REPORTS:
        ones = shape.support(np.arange(shape.pool.cells))
        base = np.full(len(ones), (1 - p) / (shape.g - 1) / shape.pool.size)
    elif isinstance(shape, BitFlip) and math.comb(k, shape.bits) << shape.bits <= _MOST_REPORTS:
        return _list_some_bits(shape)
    else:
        return None
    return Listed(base, np.where(ones, part.odds, 1.0))


def _list_some_bits(part: BitFlip) -> Listed:
    """All sets of values that can be asked about, with all bits for each."""
    p, q = part.law.p, part.law.q
    bits = np.array(list(itertools.product((False, True), repeat=part.bits)))
    count = bits.sum(axis=1)
    chances = q**count * (1 - q) ** (part.bits - count) * ((1 - p) / (1 - q))
    sets = list(itertools.combinations(range(part.k), part.bits))
    ratios = np.full((len(sets), len(bits), part.k), (1 - q) / (1 - p))  # of a value without a bit
    for rows, about in zip(ratios, sets, strict=True):
        rows[:, list(about)] = np.where(bits, part.odds, 1.0)
    return Listed(np.tile(chances / len(sets), len(sets)), ratios.reshape(-1, part.k))


def assume_fakes(mechanism: Faked, fakes: Assumed) -> Faked:
    """Takes the fakes of a mechanism for what the attacker assumes of them."""
    if fakes == "known":
        return mechanism
    if fakes != "uniform":
        raise InvalidParameter(f"fakes are taken for what is 'known' of them or for 'uniform', got {fakes!r}")
    return replace(mechanism, fakes=tuple(_make_uniform(fake) for fake in mechanism.fakes))


def _make_uniform(fake: Fake) -> Fake:
    """As RS+FD has them: for direct encoding a uniform value that is not perturbed."""
    if not isinstance(fake, Guessed | Imitated):
        return fake
    prior = Prior.uniform(fake.part.k)
    return Guessed(fake.part, prior) if fake.part.nobody is None else Imitated(fake.part, prior)


def find_hidden(plan: Source, among: str | int | None = None) -> Hidden:
    """The part of a report with fakes: the only one, or that of the attribute `among`."""
    parts, names = hidden_in(plan), names_of(plan)
    if not parts:
        reports_name_it = any(member.reported < member.d for member, _, _ in members_of(plan))
        reason = (
            "a report names it"
            if reports_name_it
            else "every report holds all attributes, and none of them is a fake"
        )
        raise InvalidParameter(
            f"only among fakes (RS+FD, RS+RFD) is it a secret which attribute is real; here {reason}"
        )
    if among is None and len(parts) > 1:
        firsts = ", ".join(repr(names[part.first]) for part in parts)
        raise InvalidParameter(
            f"this plan has {len(parts)} parts with fakes; say which one is attacked by one of its "
            f"attributes, such as among={names[parts[0].first]!r} (they begin with {firsts})"
        )
    if among is None:
        return parts[0]
    if isinstance(among, str) and among not in names:
        raise InvalidParameter(not_among(among, "an attribute", names))
    number = names.index(among) if isinstance(among, str) else among
    chosen = next((part for part in parts if number in part.attributes), None)
    if chosen is None:
        raise InvalidParameter(
            f"{among!r} is not in a part with fakes, so that what is reported of it is real"
        )
    return chosen


FOLDS = 10
ENOUGH = 2 * FOLDS
"""Fewer reports do not tell how often an attack on them is right: folds of one report scatter by chance, or
not at all.
"""
_FAKES = 20_000


def estimate_marginals(mechanism: Faked, records: Records) -> list[Floats]:
    """The marginals as the collector would estimate them, clipped at 0 and scaled to a sum of one."""
    return _scale_estimates(mechanism, mechanism.tally(records))


@final
@dataclass(frozen=True, eq=False)
class Crossed:
    """Reports among fakes, each attacked by what those outside its fold tell of the marginals."""

    mechanism: Faked
    assumed: Faked
    """The mechanism as the attacker assumes it to be."""
    records: Records
    seed: int = 1
    """The folds are drawn from it, and the fakes by which rules are judged."""

    @cached_property
    def _fold_of(self) -> Integers:
        return numbers_from(self.seed, "folds").permutation(self.records.n) % FOLDS

    @cached_property
    def _tallies(self) -> list[tuple[Tally, ...]]:
        return [self.mechanism.tally(self._inside(fold)) for fold in range(min(FOLDS, self.records.n))]

    def _inside(self, fold: int) -> Records:
        who = np.flatnonzero(self._fold_of == fold)
        return Records(who.size, tuple(column[who] for column in self.records.columns))

    @cached_property
    def _outside(self) -> list[list[Floats]]:
        """The marginals by all folds but one; of a single report nothing is outside, and its own must do."""
        folds = self._tallies
        totals = [reduce(add, parts) for parts in zip(*folds, strict=True)]
        if len(folds) == 1:
            return [_scale_estimates(self.mechanism, totals)]
        others = [[all_of - tally for all_of, tally in zip(totals, fold, strict=True)] for fold in folds]
        return [_scale_estimates(self.mechanism, tallies) for tallies in others]

    def compute_ratios(self) -> Floats:
        """How many times likelier each report is from people than from its fake: attributes by people.

        A report is no part of the marginals that it is judged by: it would speak for its fakes as much as for
        what is real.
        """
        ratios = np.empty((self.mechanism.d, self.records.n))
        for fold in range(len(self._tallies)):
            ratios[:, self._fold_of == fold] = compute_real_ratios(
                self.assumed, self._inside(fold), self._outside[fold]
            )
        return ratios

    def success(self) -> Chance:
        """How often the attacker can expect to be right, with its standard error, which is that of the folds
        and of the fakes.

        Every two folds are compared twice, the one by the other's rule and the other by the one's, so that
        the squared error of the folds counts twice: too much where there are many reports, and what it is
        where there are few. What is unbiased can be below a blind guess, by chance. Where there are too few
        for any of this, it is a blind guess, with the largest error that there can be: whatever is true is
        within it.
        """
        d, folds = self.mechanism.d, len(self._tallies)
        if self.records.n < ENOUGH:
            return Chance(1 / d, 1 - 1 / d, exact=False)
        fakes = _draw_fakes(self.assumed, self.seed)
        everyone, gains = np.arange(_FAKES), np.empty((folds, _FAKES))
        for fold, tallies in enumerate(self._tallies):
            rule = np.argmax(fakes.compute(self._outside[fold]), axis=0)
            judged = fakes.compute([estimate.frequencies for estimate in self.mechanism.estimate(tallies)])
            # attributes of fakes are as likely from people as from fakes on average: only differences need be
            # simulated
            gains[fold] = (judged[rule, everyone] - judged.mean(axis=0)) / d
        of_folds, of_fakes = gains.mean(axis=1).var(ddof=1) / folds, gains.mean(axis=0).var(ddof=1) / _FAKES
        return Chance(float(1 / d + gains.mean()), math.sqrt(2 * of_folds + of_fakes), exact=False)


@lru_cache(maxsize=1)  # whoever attacks many collections of one mechanism draws them once
def _draw_fakes(mechanism: Faked, seed: int) -> RealRatios:
    """Reports all of whose attributes are fakes."""
    words = seeded(int(numbers_from(seed, "all fake").integers(1 << 62)))
    columns = tuple(fake.encode(words.rows(_FAKES, fake.words)) for fake in mechanism.fakes)
    return RealRatios(mechanism, Records(_FAKES, columns))


def _scale_estimates(mechanism: Faked, tallies: Sequence[Tally]) -> list[Floats]:
    return [norm_mul(estimate.frequencies) for estimate in mechanism.estimate(tallies)]
