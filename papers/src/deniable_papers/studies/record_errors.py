"""Measures how far the estimates of a record mechanism are from the truth, over many simulated runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import cast, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Estimate
from deniable.estimate.consistency import STEPS
from deniable.exact import whole_number
from deniable.law import Law, Marginal
from deniable.mechanisms import Mechanism, SetMechanism, Tally
from deniable.metric import MetricMechanism
from deniable.records import Blank, Fake, Guessed, Imitated, RecordMechanism
from deniable_papers.simulate.drawn import checked_counts, draw_bits, draw_tally, draw_values
from deniable_papers.simulate.measure import Mean


@final
@dataclass(frozen=True)
class RecordErrors:
    """MSE_avg: the squared error of a frequency, averaged over the values and then over the attributes."""

    unbiased: Mean
    projected: Mean
    """After a consistency step."""


def measure_record_errors(
    mechanism: RecordMechanism,
    true_counts: Sequence[npt.ArrayLike],
    runs: int,
    generator: np.random.Generator,
    step: str = "norm-mul",
) -> RecordErrors:
    """How far a record mechanism's estimates are from the frequencies among the people, over many runs.

    The standard errors take the attributes of one run to err independently, which they nearly do.
    """
    if step not in STEPS:
        raise InvalidParameter(not_among(step, "a consistency step", STEPS))
    project = STEPS[step]
    unbiased, projected = np.zeros((2, runs))
    for j, draws in enumerate(draw_record_tallies(mechanism, true_counts, runs, generator)):
        counts = np.asarray(true_counts[j])
        truth = counts / counts.sum()
        part = mechanism.mechanisms[j]
        if isinstance(part, MetricMechanism):
            frequencies = np.array([part.estimated(draws.tally(run)).frequencies for run in range(runs)])
        else:
            frequencies = draws.frequencies(mechanism.marginal(j))
        unbiased += ((frequencies - truth) ** 2).mean(axis=1) / mechanism.d
        projected += ((np.array([project(row) for row in frequencies]) - truth) ** 2).mean(
            axis=1
        ) / mechanism.d
    return RecordErrors(Mean.of(unbiased), Mean.of(projected))


@final
@dataclass(frozen=True, eq=False)
class Draws:
    """Tallies of one attribute of a record mechanism, a row for each run."""

    n: Integers
    counts: Integers
    asked: Integers | None = None
    """How many of the reports are about each value, where not all are."""

    def tally(self, run: int) -> Tally:
        """The tally of one run."""
        return Tally(int(self.n[run]), self.counts[run], None if self.asked is None else self.asked[run])

    def frequencies(self, law: object) -> Floats:
        """The unbiased estimates of all runs, a row each."""
        about = np.broadcast_to(self.n[:, None], self.counts.shape) if self.asked is None else self.asked
        by = cast("Law | Marginal", law)  # metric values are estimated by their mechanism
        return Estimate(int(self.n.max()), self.counts, by, asked=about).frequencies


def draw_record_tallies(
    mechanism: RecordMechanism,
    true_counts: Sequence[npt.ArrayLike],
    runs: int,
    generator: np.random.Generator,
) -> tuple[Draws, ...]:
    """The tallies of many runs of a record mechanism, given how many people have each value.

    The tallies of one attribute have the same law as counting real records. Those of different attributes are
    drawn independently. That is their law for `Split`; for the others it is not, since a person who reports
    one attribute leaves out (or fakes) the rest. So errors of an attribute and their averages are right; do
    not look for correlations.
    """
    whole_number("runs", runs, 1)
    if len(true_counts) != mechanism.d:
        raise InvalidParameter(
            f"the record mechanism has {mechanism.d} attributes, but there are true counts of "
            f"{len(true_counts)}"
        )
    known = [
        checked_counts(part, counts) for part, counts in zip(mechanism.mechanisms, true_counts, strict=True)
    ]
    if len({n for _, n in known}) > 1:
        raise InvalidParameter(
            f"true counts of every attribute are of the same people, got {[n for _, n in known]}"
        )
    return tuple(
        _draw_attribute(mechanism, j, np.tile(counts, (runs, 1)), generator)
        for j, (counts, _) in enumerate(known)
    )


def _draw_attribute(
    mechanism: RecordMechanism, attribute: int, people: Integers, generator: np.random.Generator
) -> Draws:
    """Each person reports an attribute by a coin, so the number of reporters with each value is binomial."""
    part, chance, fake = (
        mechanism.mechanisms[attribute],
        mechanism.chance_real(attribute),
        mechanism.fake(attribute),
    )
    reporters = people if chance == 1 else generator.binomial(people, float(chance))
    real = _draw_reports(part, reporters, generator)
    if fake is None:
        return real
    faked = _draw_fakes(fake, (people - reporters).sum(axis=1), generator)
    return Draws(people.sum(axis=1), real.counts + faked)


def _draw_reports(part: Mechanism, people: Integers, generator: np.random.Generator) -> Draws:
    """A tally of a mechanism for each row of people: all at once where a law does it, else one by one."""
    if isinstance(part, SetMechanism) and (part.bitwise or part.names_value):
        draw = draw_bits if part.bitwise else draw_values
        return Draws(people.sum(axis=1), draw(part.law, people, generator))
    tallies = [draw_tally(part, row, generator) for row in people]
    about = [tally.asked for tally in tallies if tally.asked is not None]
    counts = np.array([tally.counts for tally in tallies])
    return Draws(people.sum(axis=1), counts, np.array(about) if about else None)


@singledispatch
def _draw_fakes(fake: Fake, _fakes: Integers, _generator: np.random.Generator) -> Integers:
    """How many fakes support each value, a row for each number of fakes."""
    raise InvalidParameter(
        f"there is no shortcut for fakes of {type(fake).__name__}; make the records instead"
    )


@_draw_fakes.register
def _draw_blank_fakes(fake: Blank, fakes: Integers, generator: np.random.Generator) -> Integers:
    law = fake.part.law
    return np.asarray(generator.binomial(fakes[:, None], law.q, (fakes.size, law.k)), dtype=np.int64)


@_draw_fakes.register
def _draw_guessed_fakes(fake: Guessed, fakes: Integers, generator: np.random.Generator) -> Integers:
    return np.asarray(generator.multinomial(fakes, fake.supported), dtype=np.int64)


@_draw_fakes.register
def _draw_imitated_fakes(fake: Imitated, fakes: Integers, generator: np.random.Generator) -> Integers:
    values = np.asarray(generator.multinomial(fakes, fake.prior.shares), dtype=np.int64)
    return _draw_reports(fake.part, values, generator).counts
