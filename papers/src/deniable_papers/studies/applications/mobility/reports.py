"""Makes the reports of a week of visits: noise that is fresh, kept by value, or in two rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.estimate.consistency import STEPS
from deniable.mechanisms import SetMechanism, grr
from deniable.randomness import Words, below
from deniable.randomness.simulated import remembering, seeded
from deniable.rounds import HashedMemoized, Memoized, l_grr, loloha
from deniable_papers.studies.applications.mobility.week import DURATION, Week

Method = Literal["sample", "split"]
"""Whether each person reports one attribute, or all of them with a part of epsilon each."""
Noise = Literal["fresh", "kept", "seventh", "two rounds", "two buckets"]
"""Where the noise of a person's reports comes from:
"fresh": new at each visit, which is what the published code does;
"kept": the same whenever a person has the same value, which is what was claimed;
"seventh": fresh, with a seventh of epsilon at each visit;
"two rounds": kept for what cannot change, and L-GRR for the duration, half of epsilon a report;
"two buckets": the same, with LOLOHA on two buckets for the duration.
"""
STEP_NAMES = {"norm-sub": "norm-sub", "clip": "norm-mul"}
"""How shares become possible ones: the default, and as published (clipped at 0, scaled to a sum of one)."""


@final
@dataclass(frozen=True, eq=False)
class AttributeReports:
    """The reports of one attribute: which visits they are of, and by which mechanism."""

    attribute: int
    rows: Integers
    reports: Array
    mechanism: SetMechanism
    is_fresh: bool = False
    """Whether noise is drawn again at each visit, even where no two reports happen to differ."""


def choose_mechanism(noise: Noise, attribute: int, k: int, epsilon: float, days: int) -> SetMechanism:
    """What reports a value of an attribute with k values."""
    if attribute == DURATION and noise == "two rounds":
        return l_grr(k, epsilon / 2, epsilon)
    if attribute == DURATION and noise == "two buckets":
        return loloha(k, epsilon / 2, epsilon, g=2)
    return grr(k, epsilon / days if noise == "seventh" else epsilon)


def make_reports(
    week: Week, method: Method, noise: Noise, epsilon: float, seed: int
) -> list[AttributeReports]:
    """The reports of all visits: each person's one attribute, for all visits, or all six.

    Where all are reported, each has a sixth of epsilon.
    """
    d = len(week.ks)
    words = seeded(seed)
    kept = below(words.take(week.people), d).astype(np.int64)
    made = []
    for j, k in enumerate(week.ks):
        share = epsilon / d if method == "split" else epsilon
        mechanism = choose_mechanism(noise, j, k, share, week.days)
        rows = np.arange(week.person.size) if method == "split" else np.flatnonzero(kept[week.person] == j)
        person, values = week.person[rows], week.values[rows, j]
        reports = _report(mechanism, noise, person, values, words)
        made.append(AttributeReports(j, rows, reports, mechanism, noise in ("fresh", "seventh")))
    return made


def _report(mechanism: SetMechanism, noise: Noise, person: Integers, values: Integers, words: Words) -> Array:
    if isinstance(mechanism, Memoized | HashedMemoized):
        devices = remembering(int(words.take(1)[0] >> np.uint64(2)), words)
        rows = devices.rows(values.size, mechanism.words).of([str(one) for one in person.tolist()])
        return mechanism.encode(values, rows)
    if noise in ("fresh", "seventh"):
        return mechanism.privatize(values, words)
    return remember(person, values, mechanism.k, lambda some: mechanism.privatize(some, words))


def remember(person: Integers, values: Integers, k: int, report: Callable[[Integers], Array]) -> Array:
    """Reports that a person keeps: one for each value that the person has had."""
    pairs, which = np.unique(person * k + values, return_inverse=True)
    return np.asarray(report(pairs % k)[which])


def measure_errors(week: Week, made: list[AttributeReports]) -> dict[str, float]:
    """The error of all shares after each step."""
    shares = [[_estimate(one, first) for one in made] for first in week.is_first]
    return {
        step: find_error(week, [np.concatenate([STEPS[name](one) for one in union]) for union in shares])
        for step, name in STEP_NAMES.items()
    }


def find_error(week: Week, shares: Sequence[Floats]) -> float:
    """The root of the mean squared error of all shares, averaged over the unions."""
    pairs = zip(shares, week.truth, strict=True)
    return float(np.mean([np.sqrt(np.mean((found - truth) ** 2)) for found, truth in pairs]))


def measure_uniform(week: Week) -> float:
    """The error of shares that are alike for all values of an attribute, which need no reports."""
    alike = np.concatenate([np.full(k, 1 / k) for k in week.ks])
    return find_error(week, [alike] * len(week.truth))


def measure_sampling(week: Week, seed: int) -> float:
    """The error of reports without noise: each person tells the truth about one attribute."""
    kept = below(seeded(seed).take(week.people), len(week.ks)).astype(np.int64)[week.person]
    shares = []
    for first in week.is_first:
        told = [week.values[first & (kept == j), j] for j in range(len(week.ks))]
        counts = [np.bincount(one, minlength=k) for one, k in zip(told, week.ks, strict=True)]
        shares.append(np.concatenate([one / max(int(one.sum()), 1) for one in counts]))
    return find_error(week, shares)


def _estimate(made: AttributeReports, first: Array) -> Floats:
    """The shares of an attribute's values, by the reports of those who report it."""
    tally = made.mechanism.tally(made.reports[first[made.rows]])
    return made.mechanism.estimate(tally).frequencies
