"""Measures what whole reports say beyond the tallies of single attributes, on people of public datasets.

The same reports are read in three ways: unbiased estimates of each attribute; the most likely shares of each
attribute's tally (composite); and the most likely shares of all attributes from whole reports. RS+RFD draws
its fakes from the true shares, a tenth of it spread evenly: its fakes look like people.

ALLOMFREE asks the same people several times. Epsilon bounds any number of their reports, half of it one of
them. There the tallies are those of all rounds together, and what is whole are all reports of a person.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, final

import numpy as np

from deniable.arrays import Floats
from deniable.exact import positive_epsilon
from deniable.likelihood import Likelihood, mle, mle_record
from deniable.randomness.simulated import numbers_from, remembering, seeded
from deniable.records import Faked, Sample, rsfd, rsrfd
from deniable.rounds import Memoized
from deniable_papers.data import Dataset
from deniable_papers.likelihood import mle_rounds
from deniable_papers.studies.allomfree import sample_kept
from deniable_papers.studies.sweep import Measurement, Progress, checked_methods, run_sweep

__all__ = ["DATASETS", "EPSILONS", "METHODS", "RUNS", "WholePoint", "reproduce"]

DATASETS = ("adult", "ms-fimu")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
RUNS = 20
_MIXED = 0.1  # of a prior is spread evenly


@final
@dataclass(frozen=True, kw_only=True)
class WholePoint(Measurement):
    """Mean squared errors of a share, averaged over the values and then over the attributes."""

    epsilon: float
    mse_unbiased: float | None = None
    mse_composite: float | None = None
    mse_whole: float | None = None
    gain: float | None = None
    """The part of the composite error that whole reports take away; below 0 where they add to it."""
    gain_stderr: float | None = None
    """Of one run alone there is none."""
    variance_gain: float | None = None
    """The part of the variance of unbiased shares that is taken away where no share is near zero, by the
    stated standard errors of both, averaged like the errors. Tallies of linked rounds have none.
    """
    held: float | None = None
    """How often 95 % intervals from whole reports hold the share of these people; of linked rounds, whose
    intervals are a bootstrap, it is not measured.
    """
    gap: float | None = None
    """The largest certificate of all runs."""


_Method = Callable[[Dataset, float], Callable[[np.random.Generator], "_Errors"]]


class _Errors(NamedTuple):
    """What one run measured, averaged over the attributes."""

    unbiased: float
    composite: float
    whole: float
    variance: float
    variance_whole: float
    held: float
    gap: float


def reproduce(
    datasets: Iterable[Dataset],
    methods: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    runs: int = RUNS,
    seed: int = 1,
    progress: Progress | None = None,
    most: int | None = None,
) -> Iterator[WholePoint]:
    """A row per dataset, method and epsilon, as they are done. A row depends on the seed and its own
    parameters only. Of a dataset, the first `most` people are asked, or all.
    """
    asked = [replace(people, table=people.table[:most]) for people in datasets]
    names = checked_methods(methods, METHODS, runs, seed)
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    cells = [
        (
            people,
            WholePoint(
                dataset=people.name,
                method=name,
                epsilon=epsilon,
                n=people.n,
                d=people.d,
                runs=runs,
                seed=seed,
            ),
        )
        for people in asked
        for name in names
        for epsilon in budgets
    ]
    return run_sweep(cells, _measure, progress)


def _measure(asked: WholePoint, people: Dataset) -> WholePoint:
    measure_once = METHODS[asked.method](people, asked.epsilon)
    generator = numbers_from(asked.seed, "whole", asked.dataset, asked.method, asked.epsilon)
    found = np.array([measure_once(generator) for _ in range(asked.runs)])
    means = _Errors(*found.mean(axis=0))
    composite, whole = found[:, 1], found[:, 2]
    off = composite - whole - (1 - means.whole / means.composite) * composite  # the error of a ratio
    spread = off.std(ddof=1) / (means.composite * asked.runs**0.5) if asked.runs > 1 else None
    return replace(
        asked,
        mse_unbiased=means.unbiased,
        mse_composite=means.composite,
        mse_whole=means.whole,
        gain=1 - means.whole / means.composite,
        gain_stderr=None if spread is None else float(spread),
        variance_gain=_unless_nan(1 - means.variance_whole / means.variance),
        held=_unless_nan(means.held),
        gap=float(found[:, -1].max()),
    )


def _measure_fakes(mechanism: Faked, people: Dataset, generator: np.random.Generator) -> _Errors:
    records = mechanism.privatize(people.table, seeded(int(generator.integers(1 << 62))))
    tallies = mechanism.tally(records)
    truths = _find_truths(people)
    unbiased = mechanism.estimate(tallies)
    whole = mle_record(mechanism, records)
    return _Errors(
        _average_errors([one.frequencies for one in unbiased], truths),
        _average_errors([mle(mechanism.source(j), one).frequencies for j, one in enumerate(tallies)], truths),
        _average_errors([one.frequencies for one in whole], truths),
        _average([one.standard_errors() ** 2 for one in unbiased]),
        _average([one.standard_errors() ** 2 for one in whole]),
        _average([_check_held(one, truth) for one, truth in zip(whole, truths, strict=True)]),
        whole[0].gap,
    )


def _measure_rounds(
    rounds: int, mechanism: Sample, people: Dataset, generator: np.random.Generator
) -> _Errors:
    seed = int(generator.integers(1 << 62))
    every = [
        mechanism.privatize(people.table, remembering(seed, round=number)) for number in range(1, rounds + 1)
    ]
    truths = _find_truths(people)
    unbiased, composite, whole = [], [], []
    gap = 0.0
    for j, part in enumerate(mechanism.parts):
        assert isinstance(part, Memoized)
        reports = [records.columns[j] for records in every]
        tally = part.tally(np.concatenate(reports))
        linked = mle_rounds(part, reports)
        unbiased.append(part.estimate(tally).frequencies)
        composite.append(mle(part, tally).frequencies)
        whole.append(linked.frequencies)
        gap = max(gap, linked.gap)
    return _Errors(
        _average_errors(unbiased, truths),
        _average_errors(composite, truths),
        _average_errors(whole, truths),
        math.nan,
        math.nan,
        math.nan,
        gap,
    )


def _find_truths(people: Dataset) -> list[Floats]:
    return [counts / people.n for counts in people.counts]


def _check_held(found: Likelihood, truth: Floats) -> Floats:
    ends = found.interval()
    return np.asarray((ends.low <= truth) & (truth <= ends.high), dtype=np.float64)


def _average_errors(shares: Sequence[Floats], truths: Sequence[Floats]) -> float:
    return _average([(one - truth) ** 2 for one, truth in zip(shares, truths, strict=True)])


def _average(each: Iterable[Floats]) -> float:
    """Over the values, then over the attributes."""
    return float(np.mean([values.mean() for values in each]))


def _unless_nan(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


def _fake(make: Callable[[Dataset, float], Faked]) -> _Method:
    return lambda people, epsilon: partial(_measure_fakes, make(people, epsilon), people)


def _ask_again(rounds: int) -> _Method:
    return lambda people, epsilon: partial(
        _measure_rounds, rounds, sample_kept(people.ks, epsilon / 2, epsilon), people
    )


def _make_realistic(people: Dataset, epsilon: float) -> Faked:
    return rsrfd(people.ks, epsilon, _find_truths(people), "grr", mixed=_MIXED)


METHODS: dict[str, _Method] = {
    "RS+FD[GRR]": _fake(lambda people, epsilon: rsfd(people.ks, epsilon, "grr")),
    "RS+FD[OUE-z]": _fake(lambda people, epsilon: rsfd(people.ks, epsilon, "oue-z")),
    "RS+FD[OUE-r]": _fake(lambda people, epsilon: rsfd(people.ks, epsilon, "oue-r")),
    "RS+RFD[GRR]": _fake(_make_realistic),
    "ALLOMFREE, 2 rounds": _ask_again(2),
    "ALLOMFREE, 10 rounds": _ask_again(10),
}
"""Ways to report, each with a loss per record of epsilon: among fakes once, or again and again."""
