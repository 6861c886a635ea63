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
from deniable.law import Law, Marginal, Moments, walsh_transform
from deniable.mechanisms import ExactMechanism, Hadamard, Hashed, Subset
from deniable.rounds import HashedMemoized

LEVEL = 0.001
"""How often honest reports raise any alarm at all, over all checks of a study."""
_PAIRED = 256  # values whose pairs are counted: the commonest
_CELLS = 64  # of the numbers of hash functions
_NORMAL = 100.0  # expected counts from which on they are normal far out, too
_FEW = 10.0  # expected in a cell of a chi-square
_POWER = 1.2816  # a fake share is noticed nine times in ten


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
    """The share of fakes of the kind that it looks for, from which on it would notice them nine times in ten.
    """


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
    error = math.sqrt(max(float(_size_variances(law).max()), 0.0) / estimate.n) / law.gain
    total = float(estimate.frequencies.sum())
    if error > 1e-9:
        moved = abs(estimate.k * law.contributions[0] + 1 / law.gain - 1)
        yield Check(
            attribute,
            "sum of shares",
            _two_sided((total - 1) / error),
            f"all shares add up to {100 * total:.4g} %",
            _noticed(error, moved, tail / 2),
        )
    ends = estimate.frequencies, np.maximum(estimate.standard_errors(), 1e-300)
    beyond = np.maximum(-ends[0], ends[0] - 1) / ends[1]
    worst = int(np.argmax(beyond))
    yield Check(
        attribute,
        "possible shares",
        _several(float(_one_sided(beyond[worst])), 2 * estimate.k),
        f"the share of {_label(estimate, worst)} is {100 * float(ends[0][worst]):.4g} %",
        min(1.0, reach_of(tail / (2 * estimate.k)) * float(ends[1].min()) / law.contributions[1]),
    )


def _size_variances(law: Law | Marginal) -> Floats:
    """The variance of how many values a report supports, for each true value."""
    everything = np.ones(law.k)
    return law.pairs.squares(everything) - (float((law.q * everything).sum()) + law.gain) ** 2


def _label(estimate: Estimate, value: int) -> str:
    return repr(estimate.labels[value]) if estimate.labels is not None else f"value {value}"


def _one_sided(deviates: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(-deviates))


def _two_sided(deviate: float) -> float:
    return float(2 * _one_sided(np.abs(deviate)))


def _several(p_value: float, times: int) -> float:
    return min(1.0, p_value * times)


def _noticed(error: float, moved: float, tail: float) -> float:
    """The share of fakes that moves a normal number by so many errors that it is noticed."""
    return min(1.0, (reach_of(tail) + _POWER) * error / moved) if moved > 0 else 1.0


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
        error = math.sqrt(max(float(chances @ (sizes - usual) ** 2), 0.0) / n)
        return Check(
            attribute,
            "sizes of reports",
            _chi_square(self.counts, chances * n),
            f"reports support {mean:.4g} values on average, honest ones {usual:.4g}",
            _noticed(error, abs(usual - 1), tail / 2),
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
        most = float(self.counts.max()) / n
        return Check(
            attribute,
            "hash functions",
            _several(min(_chi_square(row, even) for row in self.counts), 2),
            f"{100 * most:.3g} % of the functions are in one of {_CELLS} equal parts",
            _noticed(math.sqrt((1 - 1 / _CELLS) / _CELLS / n), 1 - 1 / _CELLS, tail / (2 * _CELLS)),
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
            _several(_two_sided(worst / math.sqrt(n)), max(1, rows.size)),
            f"a row that no value has is met by {50 + 50 * worst / n:.4g} % of reports, not by half",
            _noticed(1 / math.sqrt(n), 1.0, tail / (2 * rows.size)) if rows.size else 1.0,
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
        from scipy.special import betainc

        assert self.values is not None
        one, other = np.triu_indices(self.values.size, 1)
        seen = self.counts[one, other]
        usual, error = (table[one, other] for table in self._usual(estimate))
        above = np.clip(usual + 2 * error, 1e-300, 1.0)
        counted = np.where(seen > 0, betainc(np.maximum(seen, 1), self.n - seen + 1, above), 1.0)
        few = self.n * usual < _NORMAL
        p_values = np.where(few, counted, _one_sided((seen / self.n - usual) / error))
        worst = int(np.argmin(p_values))
        pair = " and ".join(_label(estimate, int(self.values[side[worst]])) for side in (one, other))
        return Check(
            attribute,
            "pairs of values",
            _several(float(p_values[worst]), seen.size),
            f"{pair} are supported together by {100 * seen[worst] / self.n:.3g} % of reports, usual are "
            f"{100 * float(usual[worst]):.3g} %",
            _noticed(float(error.min()), 1 - float(usual.min()), tail / seen.size),
        )

    def _usual(self, estimate: Estimate) -> tuple[Floats, Floats]:
        """How often two values are supported together by honest reports, whatever their shares; and how far
        off that is.

        What is expected is linear in the shares, and so in how often each value is supported. What remains of
        a pair, less a multiple of both values and one of all values, has a known mean, whatever the shares.
        """
        law = estimate.law
        assert isinstance(law, Law)
        assert self.values is not None
        chosen = np.ix_(self.values, self.values)
        usual = law.pairs.joint(estimate.frequencies)[chosen]
        own, others = (slope / law.gain for slope in law.pairs.slopes)
        alone, both = np.diagonal(self.counts) / self.n, self.counts / self.n
        either = alone[:, None] + alone - 2 * both
        mean = both * (1 - 2 * own) - either * own
        scatter = np.sqrt(np.maximum(both * (1 - 2 * own) ** 2 + either * own**2 - mean**2, 0.0))
        sizes = math.sqrt(max(float(_size_variances(law).max()), 0.0))
        return usual, np.maximum(scatter + others * sizes, 1e-12) / math.sqrt(self.n)


@singledispatch
def watches(mechanism: ExactMechanism) -> list[Watch]:
    """What to look at in reports of this mechanism, besides their shares."""
    return [Sizes(mechanism), Together(mechanism)] if mechanism.bitwise else []


@watches.register
def _watch_hashes(mechanism: Hashed | HashedMemoized) -> list[Watch]:
    return [Functions(), *([Together(mechanism)] if mechanism.k <= _PAIRED else [])]


@watches.register
def _watch_subsets(mechanism: Subset) -> list[Watch]:
    return [Together(mechanism)] if mechanism.size > 1 else []


@watches.register
def _watch_columns(mechanism: Hadamard) -> list[Watch]:
    return [UnusedRows(mechanism)]


def _blocks(reports: Array, k: int) -> list[Array]:
    """Parts whose tables of support fit in memory."""
    return np.array_split(reports, max(1, len(reports) * k // (1 << 23)))


def _chi_square(counts: Floats, expected: Floats) -> float:
    """How often counts differ as much from what is expected; cells with few expected are put together."""
    from scipy.special import chdtrc

    rare = expected < _FEW
    some = [*zip(counts[~rare], expected[~rare], strict=True), (counts[rare].sum(), expected[rare].sum())]
    seen, usual = np.array([one for one in some if one[1] > 0]).T
    if usual[-1] < _FEW and usual.size > 1:
        seen, usual = _pool_last(seen), _pool_last(usual)
    return float(chdtrc(max(1, usual.size - 1), float(((seen - usual) ** 2 / usual).sum())))


def _pool_last(cells: Floats) -> Floats:
    return np.append(cells[:-2], cells[-2:].sum())
