"""Checks whether reports look as honest ones do, whatever people answered.

The law of a report says more than the shares: how many values it supports, which hash functions it uses, how
often it supports two values together. Fakes that were not made by the mechanism differ in some of these.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import singledispatch
from typing import final

import numpy as np

from deniable.arrays import Array, Floats
from deniable.estimate import Estimate, reach_of
from deniable.exact import PRIME
from deniable.formatting import format_digits
from deniable.law import Law, Marginal, Moments
from deniable.law.pairs import walsh_transform
from deniable.mechanisms import ExactMechanism, Hadamard, Hashed, Pooled, SubsetShape
from deniable.rounds import HashedMemoized
from deniable.summaries.covariance import known_squares
from deniable.summaries.tails import (
    POWER,
    cells_noticed,
    compare_cells,
    least_noticed,
    log_one_sided,
    normal_noticed,
    one_sided,
    pool_cells,
    reach_of_log,
    several,
    two_sided,
)

LEVEL = 0.001
"""How often honest reports raise any alarm at all, over all checks of a study."""
_PAIRED = 256  # values whose pairs are counted: the commonest
_CELLS = 64  # of the numbers of hash functions
_ROUNDED = 1e-9  # a part of the mean square that may be rounding; no size varies so little
_NORMAL = 100.0  # expected counts from which on they are normal far out, too


@final
@dataclass(frozen=True)
class Check:
    """One way in which reports may differ from honest ones."""

    attribute: str
    name: str
    p_value: float
    """How often honest reports look at least as strange, all values and pairs of this check together."""
    saw: str
    """What was seen, in words."""
    noticed: float
    """The share of the reports to this question from which on it would notice fake reports of this kind nine
    times in ten; 1 where it would not notice them at all. Where there is no attribute, of all reports.
    """
    fakes: str
    """The kind of fake reports that `noticed` is about. Others may need a larger share, or go unnoticed."""


ONE_VALUE = "reports of one value without noise"
ALL_VALUES = "reports that support all values"
FOR_VALUE = "reports that all support one value"
AGAINST_VALUE = "reports that all leave out a value that nobody has"
ONE_FUNCTION = "reports with one hash function"
ONE_COLUMN = "reports of one column"
SEVERAL_VALUES = "reports that support as many of {} values as they can"
TWO_VALUES = "reports that support two values, and others as by chance"
TWO_COMMON_VALUES = f"reports that support two of the {_PAIRED} commonest values, and others as by chance"


class Watch(ABC):
    """Looks at blocks of reports of one attribute, and keeps what its check needs."""

    @abstractmethod
    def look(self, reports: Array) -> None:
        """Count these reports, too."""

    @abstractmethod
    def check(self, attribute: str, estimate: Estimate, tail: float) -> Check:
        """What the reports so far say; alarms are for p-values below this tail."""


def check_shares(attribute: str, estimate: Estimate, tail: float) -> Iterator[Check]:
    """What the tally alone says: whether shares add up to 1, and whether all of them are possible."""
    law = estimate.law
    if isinstance(law, Moments) or estimate.asked is not None:
        return
    error = math.sqrt(_size_variance(law) / estimate.n) / law.gain
    if error > 0:
        total = float(estimate.frequencies.sum())
        alone = not isinstance(law, Law) or law.bitwise
        moved = ((1 if alone else law.k) - float((law.q * np.ones(law.k)).sum())) / law.gain - 1
        yield Check(
            attribute,
            "sum of shares",
            two_sided((total - 1) / error),
            f"all shares add up to {format_digits(100 * total, 4)} %",
            normal_noticed(error, abs(moved), tail / 2),
            ONE_VALUE if alone else ALL_VALUES,
        )
    elif isinstance(law, Law) and law.k > 2:
        yield _check_groups(attribute, estimate, law, tail)
    shares, errors = estimate.frequencies, np.maximum(estimate.standard_errors(), 1e-300)
    beyond = np.maximum(-shares, shares - 1) / errors
    worst = int(np.argmax(beyond))
    yield Check(
        attribute,
        "possible shares",
        several(float(one_sided(beyond[worst])), 2 * estimate.k),
        f"the share of {_label(estimate, worst)} is {format_digits(100 * float(shares[worst]), 4)} %",
        *_impossible(law, estimate.n, tail / (2 * estimate.k)),
    )


def _check_groups(attribute: str, estimate: Estimate, law: Law, tail: float) -> Check:
    """Whether the largest shares together are at most 1, where all shares always add up to 1.

    Groups of every size are looked at, and any of the values may be the largest.
    """
    from scipy.special import gammaln

    order = np.argsort(-estimate.frequencies, kind="stable")
    sizes = 2 ** np.arange(1, int(math.log2(law.k - 1)) + 1)
    tests = []
    for size in sizes.tolist():
        chosen = np.zeros(law.k)
        chosen[order[:size]] = 1.0
        inside, outside, _ = known_squares(estimate, chosen, chosen)
        full, empty = (
            math.sqrt(max(float(variance), 1e-300) / estimate.n) for variance in (inside - 1, outside)
        )
        total = float(estimate.frequencies @ chosen)
        groups = float(gammaln(law.k + 1) - gammaln(size + 1) - gammaln(law.k - size + 1))
        p_value = math.exp(min(0.0, log_one_sided((total - 1) / full) + groups + math.log(sizes.size)))
        pushed = (min(size, int(law.sizes.max())) - size * law.q) / law.gain
        beyond = reach_of_log(math.log(tail / sizes.size) - groups) * full + POWER * max(full, empty)
        noticed = min(1.0, (1 + beyond) / pushed) if pushed > 0 else 1.0
        tests.append((p_value, noticed, size, total))
    p_value, _, size, total = min(tests)
    _, noticed, kind, _ = min(tests, key=lambda row: row[1])
    saw = f"the {size} largest shares add up to {format_digits(100 * total, 4)} %"
    return Check(attribute, "sums of groups", p_value, saw, noticed, SEVERAL_VALUES.format(kind))


def _impossible(law: Law | Marginal, n: int, tail: float) -> tuple[float, str]:
    """The share of fakes that pushes any value above 1, or one that nobody has below 0; whichever is less."""
    none, everybody = (np.sqrt(law.variance(n, share)) for share in (0.0, 1.0))
    reach = reach_of(tail)
    above = (1 + reach * everybody + POWER * np.maximum(none, everybody)) * law.gain / (1 - law.q)
    below = (reach + POWER) * none * law.gain / law.q
    return min((min(1.0, float(np.max(above))), FOR_VALUE), (min(1.0, float(np.max(below))), AGAINST_VALUE))


def _size_variance(law: Law | Marginal) -> float:
    """The variance of how many values a report supports, for the true value where it is largest."""
    everything = np.ones(law.k)
    mean = float((law.q * everything).sum()) + law.gain
    variance = float(law.pairs.squares(everything).max()) - mean**2
    return variance if variance > _ROUNDED * mean**2 else 0.0


def _label(estimate: Estimate, value: int) -> str:
    return repr(estimate.labels[value]) if estimate.labels is not None else f"value {value}"


@final
@dataclass
class Sizes(Watch):
    """How many values reports support, where that does not depend on the answer: independent bits."""

    mechanism: ExactMechanism
    counts: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.mechanism.k + 1)

    def look(self, reports: Array) -> None:
        for part in _blocks(reports, self.mechanism.k):
            sizes = self.mechanism.support(part).sum(axis=1)
            self.counts += np.bincount(sizes, minlength=self.counts.size)

    def check(self, attribute: str, estimate: Estimate, tail: float) -> Check:
        law, chances = estimate.law, np.zeros(self.counts.size)
        assert isinstance(law, Law)
        chances[law.sizes] = law.inside + law.outside
        n, sizes = self.counts.sum(), np.arange(self.counts.size)
        mean, usual = float(self.counts @ sizes) / n, float(chances @ sizes)
        cells = pool_cells(chances * n)
        return Check(
            attribute,
            "sizes of reports",
            compare_cells(self.counts, chances * n, cells),
            f"reports support {format_digits(mean, 4)} values on average, "
            f"honest ones {format_digits(usual, 4)}",
            cells_noticed(float(chances[cells == cells[1]].sum()), n, int(cells.max()), tail),
            ONE_VALUE,
        )


@final
@dataclass
class Functions(Watch):
    """Which hash functions reports use: honest ones draw them evenly."""

    counts: Floats = field(default_factory=lambda: np.zeros((2, _CELLS)))

    def look(self, reports: Array) -> None:
        for row, name in enumerate(("a", "b")):
            cells = reports[name].astype(np.int64) * _CELLS // PRIME
            self.counts[row] += np.bincount(cells, minlength=_CELLS)

    def check(self, attribute: str, estimate: Estimate, tail: float) -> Check:
        n = float(self.counts[0].sum())
        even = np.full(_CELLS, n / _CELLS)
        cells = pool_cells(even)
        most = float(self.counts.max()) / n
        return Check(
            attribute,
            "hash functions",
            several(min(compare_cells(row, even, cells) for row in self.counts), 2),
            f"{100 * most:.3g} % of the functions are in one of {_CELLS} equal parts",
            cells_noticed(1 / _CELLS, n, int(cells.max()), tail / 2),
            ONE_FUNCTION,
        )


@final
@dataclass
class PooledFunctions(Watch):
    """Which functions of a public pool reports use: honest ones draw them evenly."""

    mechanism: Pooled
    counts: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.mechanism.pool.size)

    def look(self, reports: Array) -> None:
        functions = reports.astype(np.int64) // self.mechanism.g
        self.counts += np.bincount(functions, minlength=self.counts.size)

    def check(self, attribute: str, estimate: Estimate, tail: float) -> Check:
        n, size = float(self.counts.sum()), self.counts.size
        even = np.full(size, n / size)
        cells = pool_cells(even)
        return Check(
            attribute,
            "hash functions",
            compare_cells(self.counts, even, cells),
            f"{100 * float(self.counts.max()) / n:.3g} % of reports use one of {size:,} functions",
            cells_noticed(1 / size, n, int(cells.max()), tail),
            ONE_FUNCTION,
        )


@final
@dataclass
class UnusedRows(Watch):
    """How reports fall on rows of the Hadamard matrix that no value has: half on either side."""

    mechanism: Hadamard
    columns: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.columns = np.zeros(1 << self.mechanism.bits)

    def look(self, reports: Array) -> None:
        self.columns += np.bincount(reports, minlength=self.columns.size)

    def check(self, attribute: str, estimate: Estimate, tail: float) -> Check:
        n, rows = self.columns.sum(), walsh_transform(self.columns)[self.mechanism.k + 1 :]
        worst = float(np.abs(rows).max(initial=0.0))
        return Check(
            attribute,
            "unused rows",
            several(two_sided(worst / math.sqrt(n)), max(1, rows.size)),
            f"a row that no value has is met by {50 + 50 * worst / n:.4g} % of reports, not by half",
            normal_noticed(1 / math.sqrt(n), 1.0, tail / (2 * rows.size)) if rows.size else 1.0,
            ONE_COLUMN,
        )


@final
@dataclass
class Together(Watch):
    """How often reports support two values together: fakes that push several values do so too often."""

    mechanism: ExactMechanism
    values: Array | None = None
    counts: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    n: int = 0

    def look(self, reports: Array) -> None:
        for part in _blocks(reports, self.mechanism.k):
            support = self.mechanism.support(part)
            if self.values is None:  # the commonest in the first block
                self.values = np.sort(np.argsort(-support.sum(axis=0), kind="stable")[:_PAIRED])
                self.counts = np.zeros((self.values.size, self.values.size))
            chosen = support[:, self.values].astype(np.float32)
            self.counts += chosen.T @ chosen
            self.n += len(part)

    def check(self, attribute: str, estimate: Estimate, tail: float) -> Check:
        law = estimate.law
        assert isinstance(law, Law)
        assert self.values is not None
        first, other = np.triu_indices(self.values.size, 1)
        pairs = self.values[first], self.values[other]
        usual = law.pairs.joint(estimate.frequencies)[pairs]
        alone, together = np.diagonal(self.counts) / self.n, self.counts[first, other] / self.n
        error = self._errors(law, alone[first] + alone[other], together)
        is_rare = self.n * usual < _NORMAL
        p_values = self._p_values(together, usual, error, is_rare)
        worst = int(np.argmin(p_values))
        labels = " and ".join(_label(estimate, int(side[worst])) for side in pairs)
        pushed = law.pairs.joint_if_pushed(law.k, law.q, law.gain)[pairs]
        slow = error / np.maximum(1 - pushed, 1e-12)
        # the last to be noticed of the pairs that are tested alike
        last = [
            int(np.argmax(np.where(is_group, slow, -1.0)))
            for is_group in (is_rare, ~is_rare)
            if is_group.any()
        ]
        noticed = [
            self._noticed(
                law, alone[first[i]] + alone[other[i]], usual[i], pushed[i], is_rare[i], tail / together.size
            )
            for i in last
        ]
        return Check(
            attribute,
            "pairs of values",
            several(float(p_values[worst]), together.size),
            f"{labels} are supported together by {100 * together[worst]:.3g} % of reports, usual are "
            f"{100 * float(usual[worst]):.3g} %",
            max(noticed),
            TWO_VALUES if self.values.size == law.k else TWO_COMMON_VALUES,
        )

    def _p_values(self, together: Floats, usual: Floats, error: Floats, is_rare: Array) -> Floats:
        """How often a pair is seen so often, each by itself; where few are expected, by their counts."""
        from scipy.special import betainc

        seen = np.maximum(self.n * together, 0.0)
        above = np.clip(usual + 2 * error, 1e-300, 1.0)
        counted = np.where(seen > 0, betainc(np.maximum(seen, 1), self.n - seen + 1, above), 1.0)
        return np.where(is_rare, counted, one_sided((together - usual) / error))

    def _errors(self, law: Law, alone: Floats, together: Floats) -> Floats:
        """How far off pairs are by chance, given how often a report supports one of the two and both.

        What is expected is linear in the shares, and so in how often each value is supported. What remains of
        a pair, less a multiple of both values and one of all values, has a known mean, whatever the shares.
        """
        slope_alone, others = (slope / law.gain for slope in law.pairs.slopes)
        either = alone - 2 * together
        mean = together * (1 - 2 * slope_alone) - either * slope_alone
        scatter = np.sqrt(
            np.maximum(together * (1 - 2 * slope_alone) ** 2 + either * slope_alone**2 - mean**2, 0.0)
        )
        sizes = math.sqrt(_size_variance(law))
        return np.asarray(np.maximum(scatter + others * sizes, 1e-12) / math.sqrt(self.n))

    def _noticed(
        self, law: Law, alone: float, usual: float, pushed: float, is_rare: Array, tail: float
    ) -> float:
        """The share of fakes for a pair that is noticed. They move the shares, too, and so what is usual."""

        def beyond(fakes: Floats) -> Floats:
            together = usual + fakes * (1 - usual)
            error = self._errors(law, alone + fakes * (2 - alone), together)
            expected = usual + fakes * (pushed - usual)
            return self._p_values(together - POWER * error, expected, error, is_rare) - tail

        return least_noticed(beyond)


@singledispatch
def watches(mechanism: ExactMechanism) -> list[Watch]:
    """What to look at in reports of this mechanism, besides their shares."""
    return [Sizes(mechanism), Together(mechanism)] if mechanism.bitwise else []


@watches.register
def _watch_hashes(mechanism: Hashed | HashedMemoized) -> list[Watch]:
    return [Functions(), *([Together(mechanism)] if mechanism.k <= _PAIRED else [])]


@watches.register
def _watch_pool(mechanism: Pooled) -> list[Watch]:
    return [PooledFunctions(mechanism), *([Together(mechanism)] if mechanism.k <= _PAIRED else [])]


@watches.register
def _watch_subsets(mechanism: SubsetShape) -> list[Watch]:
    return [Together(mechanism)] if mechanism.size > 1 else []


@watches.register
def _watch_columns(mechanism: Hadamard) -> list[Watch]:
    return [UnusedRows(mechanism)]


def _blocks(reports: Array, k: int) -> list[Array]:
    """Parts whose tables of support fit in memory."""
    return np.array_split(reports, max(1, len(reports) * k // (1 << 23)))
