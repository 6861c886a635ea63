"""Checks whether reports look as honest ones do, whatever people answered.

The law of a report says more than the shares: how many values it supports, which hash functions it uses, how
often it supports two values together. Fakes that were not made by the mechanism differ in some of these, or
in the minute in which they come.

Hash and level of a question are drawn without looking at the answer. Buckets of codes other than 0 are even
over all hashes; code 0 is in bucket 0 of every hash, so that this bucket may hold more. Hashes that are not
fair are not sent, which moves all of it a little: counts are compared with the nearer end of what the law
allows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.estimate import Estimate, reach_of
from deniable.exact import PRIME
from deniable.formatting import format_count, format_digits
from deniable.law import Law, Marginal, Moments
from deniable.law.pairs import walsh_transform
from deniable.mechanisms import Hadamard, Hashed, Linear, Mechanism, Pooled, SubsetShape, Tally
from deniable.randomness import FULL, toeplitz
from deniable.rounds import HashedMemoized, PooledMemoized
from deniable.summaries.totals import known_squares

LEVEL = 0.001
"""How often honest reports raise any alarm at all, over all checks of a study."""
AROUND = 5
"""Minutes before and after one that it is compared with; fewer near the start and the end."""
WAITED = 2
"""Minutes after a start that are not judged: devices that waited for the collector come in them at once."""
TIMES = 3.0
"""How many times the mean rate of the minutes before, or of those after, a minute of honest people may have.
A wave that decays exponentially stays below that if it takes 1.7 minutes or more to halve.
"""
LEAST = 30
"""Minutes that must have passed before any is judged."""
_QUARTILE = 1.3233  # of a chi-square with one degree of freedom: three quarters are below
_WORDS = ("", "minute", "two minutes", "three minutes", "four minutes", "five minutes")
_WORST = 8  # values whose exact p-values are computed
POWER = 1.2816
"""How many errors a number lies beyond its limit that is noticed nine times in ten."""
_FEW = 10.0  # expected in a cell of a chi-square
_TRIED = np.geomspace(1e-6, 1.0, 700)  # shares of fakes, in steps of 2 %
_EXPECTED = 10  # reports in a cell of buckets
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
ONE_BUCKET = "reports of one bucket, other than the first"
ONE_LEVEL = "reports that all name the level of whole values"
ONE_MINUTE = "reports that all come in one minute, even where most others come"
ONE_MINUTE_ONE_VALUE = "reports that all come in the busiest minute and support one value"
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

    mechanism: Mechanism
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
    """Which hash functions reports use, by each number of a function: honest ones draw them evenly."""

    find: Callable[[Array], list[Integers]]
    """Which cell each report is in, by each of the numbers of its function."""
    counts: Floats
    saw: str

    def look(self, reports: Array) -> None:
        for row, cells in zip(self.counts, self.find(reports), strict=True):
            row += np.bincount(cells, minlength=row.size)

    def check(self, attribute: str, estimate: Estimate, tail: float) -> Check:
        n, (times, size) = float(self.counts[0].sum()), self.counts.shape
        even = np.full(size, n / size)
        cells = pool_cells(even)
        return Check(
            attribute,
            "hash functions",
            several(min(compare_cells(row, even, cells) for row in self.counts), times),
            self.saw.format(100 * float(self.counts.max()) / n, size),
            cells_noticed(1 / size, n, int(cells.max()), tail / times),
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

    mechanism: Mechanism
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
def watches(mechanism: Mechanism) -> list[Watch]:
    """What to look at in reports of this mechanism, besides their shares."""
    return [Sizes(mechanism), Together(mechanism)] if mechanism.bitwise else []


@watches.register
def _watch_hashes(mechanism: Hashed | HashedMemoized) -> list[Watch]:
    def find(reports: Array) -> list[Integers]:
        return [reports[name].astype(np.int64) * _CELLS // PRIME for name in ("a", "b")]

    saw = "{:.3g} % of the functions are in one of {} equal parts"
    watched = [Together(mechanism)] if mechanism.k <= _PAIRED else []
    return [Functions(find, np.zeros((2, _CELLS)), saw), *watched]


@watches.register
def _watch_pool(mechanism: Pooled | PooledMemoized) -> list[Watch]:
    def find(reports: Array) -> list[Integers]:
        return [reports.astype(np.int64) // mechanism.g]

    saw = "{:.3g} % of reports use one of {:,} functions"
    watched = [Together(mechanism)] if mechanism.k <= _PAIRED else []
    return [Functions(find, np.zeros((1, mechanism.pool.size)), saw), *watched]


@watches.register
def _watch_subsets(mechanism: SubsetShape) -> list[Watch]:
    return [Together(mechanism)] if mechanism.size > 1 else []


@watches.register
def _watch_columns(mechanism: Hadamard) -> list[Watch]:
    return [UnusedRows(mechanism)]


def _blocks(reports: Array, k: int) -> list[Array]:
    """Parts whose tables of support fit in memory."""
    return np.array_split(reports, max(1, len(reports) * k // (1 << 23)))


@final
@dataclass
class HashBits:
    """How often each bit of a hash is set: in half of honest reports."""

    mechanism: Linear
    n: int = 0
    counts: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros(toeplitz.count_random(self.mechanism.bits, self.mechanism.rows))

    def look(self, reports: Array) -> None:
        """Count these reports, too."""
        bits = np.unpackbits(np.ascontiguousarray(reports["bits"]), axis=1, bitorder="little")
        self.counts += bits[:, : self.counts.size].sum(axis=0)
        self.n += len(reports)

    def check(self, attribute: str, tail: float) -> Check:
        """What the reports so far say; alarms are for p-values below this tail."""
        from scipy.special import chdtrc, chdtri, chndtrinc

        size = self.counts.size
        unfair = float(toeplitz.chance_dependent(self.mechanism.bits, self.mechanism.rows))
        moved = unfair * (1 + unfair) + unfair**2  # at most, of twice a share less 1
        wider = 1 + unfair + unfair**2 * size  # at most, of the variance in any direction
        away = np.abs(2 * self.counts / self.n - 1)
        beyond = np.maximum(away - moved, 0.0)
        worst = int(np.argmax(away))
        needed = float(chndtrinc(chdtri(size, tail), size, 0.1)) * wider
        return Check(
            attribute,
            "hash bits",
            float(chdtrc(size, self.n * float(beyond @ beyond) / wider)),
            f"bit {worst} of the hash is set in {100 * self.counts[worst] / self.n:.3g} % of reports, not "
            "in half",
            min(1.0, moved + math.sqrt(needed / (self.n * size))),
            ONE_FUNCTION,
        )


def check_buckets(attribute: str, mechanism: Linear, counts: Integers, tail: float) -> Check:
    """How many reports each bucket has; the first may have more than others, if people have code 0."""
    from scipy.special import bdtr, bdtrc

    n, first = int(counts.sum()), int(counts[0])
    low, high = map(float, mechanism.bound_other)
    fewer = float(bdtr(first, n, low))
    more = float(bdtrc(first - 1, n, mechanism.keep / FULL)) if first else 1.0
    others, noticed, at, even = _compare_others(mechanism, counts, (low, high), tail / 3)
    saw = f"bucket {at} has {100 * counts[at] / n:.3g} % of reports, others {100 * even:.3g} %"
    if others > min(fewer, more):
        usual = f"{100 * low:.3g} to {100 * mechanism.keep / FULL:.3g} %"
        saw = f"the first bucket has {100 * first / n:.3g} % of reports; {usual} are usual"
    return Check(attribute, "buckets", several(min(fewer, more, others), 3), saw, noticed, ONE_BUCKET)


def _compare_others(
    mechanism: Linear, counts: Integers, ends: tuple[float, float], tail: float
) -> tuple[float, float, int, float]:
    """How often all buckets but the first differ as much; the share of fakes in one of them that is noticed;
    and the fullest of them, with what others have.
    """
    from scipy.special import chdtrc

    n, rest = int(counts.sum()), int(counts[1:].sum())
    g, (low, high) = mechanism.g, ends
    even = 1 / max(1, g - 1)
    off = max(even - low / ((g - 2) * high + low), high / ((g - 2) * low + high) - even) if g > 2 else 0.0
    shift = 0
    while rest * even * ((1 << shift) - 1 or 1) < _EXPECTED and shift < mechanism.rows:
        shift += 1
    cells = np.arange(1, g) >> shift
    seen = np.bincount(cells, counts[1:])
    sizes = np.bincount(cells, minlength=seen.size)
    seen, sizes = seen[sizes > 0], sizes[sizes > 0]
    fullest = 1 + int(np.argmax(counts[1:]))
    usual = float(counts.sum() - counts[0] - counts[fullest]) / max(1, g - 2) / n if g > 2 else 0.0
    freedom = seen.size - 1
    if freedom < 1:
        return 1.0, 1.0, fullest, usual
    beyond = np.maximum(np.abs(seen - rest * even * sizes) - rest * off * sizes, 0.0)
    statistic = float((beyond**2 / (rest * even * sizes)).sum()) / (1 + off / even)
    inside = min(1.0, cells_noticed(float(sizes[-1]) * even, rest, freedom, tail) + off * float(sizes[-1]))
    part = rest / n  # fakes are among the reports of these buckets
    noticed = inside * part / (1 - inside + inside * part)
    return float(chdtrc(freedom, statistic)), noticed, fullest, usual


def check_levels(question: str, counts: Sequence[int], chances: Sequence[float], tail: float) -> Check:
    """How many people report each level of one question. They see the same question, so that nobody can skip
    a level; of several questions some may be skipped.
    """
    n, parts = sum(counts), np.array(chances) / math.fsum(chances)
    seen = np.array(counts, dtype=np.float64)
    cells = pool_cells(n * parts)
    worst = int(np.argmax(np.abs(seen - n * parts) / np.sqrt(n * parts)))
    return Check(
        question,
        "levels of a question",
        compare_cells(seen, n * parts, cells),
        f"level {worst + 1} of {len(counts)} has {100 * seen[worst] / n:.3g} % of reports, usual are "
        f"{100 * parts[worst]:.3g} %",
        cells_noticed(float(parts[-1]), n, int(cells.max()), tail),
        ONE_LEVEL,
    )


def check_minutes(counts: Sequence[int], n: int, tail: float) -> Check | None:
    """Whether too many reports came in one minute; counts are of complete minutes, the oldest first.

    The rate of a minute is at most TIMES the mean rate of the minutes before, or of those after. If people
    come independently of each other, the p-value then holds for any rates. If counts scatter more, that is
    measured and allowed for, which is good for a variance of up to four means. While the minutes after one
    come, it is judged up to AROUND times, and the p-value counts them all.
    """
    came = np.asarray(counts, dtype=np.float64)
    if came.size < LEAST:
        return None
    factor = _overdispersion(came)
    judged = np.arange(WAITED, came.size - 1)
    start, end = np.maximum(0, judged - AROUND), np.minimum(came.size, judged + AROUND + 1)
    sums, now = np.concatenate([[0.0], np.cumsum(came)]), came[judged]
    before, after = sums[judged] - sums[start], sums[end] - sums[judged + 1]
    minutes_before, minutes_after = judged - start, end - judged - 1
    p_values = np.maximum(
        _tail(now, before, minutes_before, factor), _tail(now, after, minutes_after, factor)
    )
    worst, tries = int(np.argmin(p_values)), AROUND * now.size
    most = float(np.maximum(before, after).max())
    return Check(
        "",
        "reports in one minute",
        several(float(p_values[worst]), tries),
        f"{now[worst]:,.0f} reports came in one minute, {format_count(came.size - judged[worst], 'minute')} "
        f"ago; in the {_WORDS[minutes_before[worst]]} before there were "
        f"{format_digits(before[worst] / minutes_before[worst], 3)} a minute, and in the "
        f"{_WORDS[minutes_after[worst]]} after {format_digits(after[worst] / minutes_after[worst], 3)}",
        _minute_noticed(most, factor, n, tail / tries),
        ONE_MINUTE,
    )


def _overdispersion(came: Floats) -> float:
    """How much more than Poisson numbers neighboring minutes differ; a few bursts do not matter."""
    pairs = came[: came.size // 2 * 2].reshape(-1, 2)
    sums = pairs.sum(axis=1)
    apart = (pairs[:, 0] - pairs[:, 1])[sums > 0] ** 2 / sums[sums > 0]
    return max(1.0, float(np.quantile(apart, 0.75)) / _QUARTILE) if apart.size else 1.0


def _tail(now: Floats, around: Floats, minutes: Integers | int, factor: float) -> Floats:
    """How often so many of these reports come in the one minute, if its rate is TIMES that of the others."""
    from scipy.special import betainc

    share = TIMES / (TIMES + minutes)
    return np.where(now > 0, betainc(np.maximum(now, 1) / factor, around / factor + 1, share), 1.0)


def _minute_noticed(around: float, factor: float, n: int, tail: float) -> float:
    """The share of the reports that is noticed if it comes in one minute among so many others."""
    tried = np.geomspace(1, max(2.0, float(n)), 500)
    quiet = np.flatnonzero(_tail(tried, np.full(tried.size, around), AROUND, factor) >= tail)
    most = tried[min(quiet[-1] + 1, tried.size - 1)] if quiet.size else tried[0]
    return min(1.0, float(most + POWER * math.sqrt(factor * most) - around / AROUND) / n)


def check_burst(attribute: str, burst: Tally, others: Tally, estimate: Estimate, tail: float) -> Check | None:
    """Whether the reports of the busiest minute support other values than all others.

    If the people of that minute are like the others, a value's count among them is a hypergeometric number,
    whatever people answer: the p-value is exact.
    """
    if isinstance(estimate.law, Moments) or not burst.n or not others.n:
        return None
    k = burst.counts.size
    in_burst, elsewhere = (
        np.full(k, tally.n) if tally.asked is None else tally.asked for tally in (burst, others)
    )
    p_value, worst = _least(burst.counts, in_burst, burst.counts + others.counts, in_burst + elsewhere)
    label = _label(estimate, worst)
    seen, usual = burst.counts / np.maximum(1, in_burst), others.counts / np.maximum(1, elsewhere)
    typical = int(np.argsort(usual)[k // 2])
    error = math.sqrt(usual[typical] * (1 - usual[typical]) * (1 / burst.n + 1 / others.n))
    share_noticed = normal_noticed(error, 1 - float(usual[typical]), tail / (2 * k))
    return Check(
        attribute,
        "answers of one minute",
        several(p_value, 2 * k),
        f"{100 * seen[worst]:.3g} % of the {burst.n:,} reports of the busiest minute support {label}, "
        f"{100 * usual[worst]:.3g} % of the others do",
        1.0 if share_noticed >= 1 else share_noticed * burst.n / (burst.n + others.n),
        ONE_MINUTE_ONE_VALUE,
    )


def _least(counts: Integers, sampled: Integers, totals: Integers, n: Integers) -> tuple[float, int]:
    """The least p-value of any value, on one side, and which value that is: of all n reports so many support
    it, and of those drawn so many.
    """
    from scipy.stats import hypergeom

    shares = totals / np.maximum(1, n)
    scatter = np.sqrt(
        np.maximum(sampled * shares * (1 - shares) * (n - sampled) / np.maximum(1, n - 1), 1e-12)
    )
    chosen = np.argsort(-np.abs(counts - sampled * shares) / scatter, kind="stable")[:_WORST]
    parameters = n[chosen], totals[chosen], sampled[chosen]
    p_values = np.minimum(
        hypergeom.sf(counts[chosen] - 1, *parameters), hypergeom.cdf(counts[chosen], *parameters)
    )
    worst = int(np.argmin(p_values))
    return float(p_values[worst]), int(chosen[worst])


def one_sided(deviates: Floats) -> Floats:
    """How often a normal number is so large."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-deviates))


def log_one_sided(deviate: float) -> float:
    """The logarithm of how often a normal number is so large, however rare that is."""
    from scipy.special import log_ndtr

    return float(log_ndtr(-deviate))


def reach_of_log(tail: float) -> float:
    """How large a normal number is that is exceeded so rarely: the inverse of `log_one_sided`."""
    from scipy.special import ndtri_exp

    return -float(ndtri_exp(tail))


def two_sided(deviate: float) -> float:
    """How often a normal number is so far from 0."""
    return float(2 * one_sided(np.abs(deviate)))


def several(p_value: float, times: int) -> float:
    """The p-value of the smallest of several."""
    return min(1.0, p_value * times)


def normal_noticed(error: float, moved: float, tail: float) -> float:
    """The share of fakes that is noticed by a normal number, which all of them would move by this much."""
    return min(1.0, (reach_of(tail) + POWER) * error / moved) if moved > 0 else 1.0


def pool_cells(expected: Floats) -> Integers:
    """Which cell of a chi-square each count belongs to: where few are expected, they are put together."""
    common = expected >= _FEW
    cells = np.where(common, np.cumsum(common) - 1, common.sum())
    last = max(0, int(common.sum()) - 1)
    return np.minimum(cells, last) if expected[~common].sum() < _FEW else cells


def compare_cells(counts: Floats, expected: Floats, cells: Integers) -> float:
    """How often counts differ as much from what is expected."""
    from scipy.special import chdtrc

    seen, usual = np.bincount(cells, counts), np.bincount(cells, expected)
    if usual.size == 1:
        return 1.0
    return float(chdtrc(usual.size - 1, float(((seen - usual) ** 2 / usual).sum())))


def cells_noticed(chance: float, n: float, freedom: int, tail: float) -> float:
    """The share of fakes that is noticed by a chi-square, if all of them are in one cell of this chance."""
    from scipy.special import chdtri, chndtrinc

    if not freedom:
        return 1.0
    moved = float(chndtrinc(chdtri(freedom, tail), freedom, 0.1))
    return min(1.0, math.sqrt(moved / (n * (1 / chance - 1))))


def least_noticed(beyond: Callable[[Floats], Floats]) -> float:
    """The share of fakes from which on all that are tried are noticed: what this gives of them is below 0."""
    quiet = np.flatnonzero(beyond(_TRIED) >= 0)
    return float(_TRIED[min(quiet[-1] + 1, _TRIED.size - 1)]) if quiet.size else float(_TRIED[0])
