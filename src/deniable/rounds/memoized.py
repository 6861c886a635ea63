"""Asking again: a permanent first answer that is kept for ever, and a fresh second round on it at every
collection.

What repeated reports give away is not one number. `losses` states four: one report; several of an unchanged
value; any number of one value; a sequence in which the value changes.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter
from deniable.exact import PRIME, log_up, power_up, times_up, whole_number
from deniable.formatting import format_html_table, format_up
from deniable.law import Law
from deniable.mechanisms import Direct, ExactMechanism, Hashed, Tally, Unary, checked_k
from deniable.words import FULL, Rows
from deniable.words.hashing import collision, hash_function, occupied_buckets

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True)
class Losses:
    """What a person who answers again and again gives away, each number rounded up, and what each of them
    assumes.
    """

    one_report: float
    same_value: float
    """After `reports` reports of a value that never changed."""
    one_value_forever: float
    """After any number of reports of a value that never changed."""
    changing_values: float
    """After `rounds` reports, compared with any other sequence of values: this bound always holds."""
    changing_values_usual: float
    """What the literature states instead: it holds only between sequences that change at the same times, to
    values that repeat at the same times.
    """
    reports: int
    rounds: int

    def explain(self) -> str:
        """In plain words, a line each."""
        usual = format_up(self.changing_values_usual)
        lines = [f"{about}: {loss}" for about, loss in self._rows()]
        lines.append(f"the usual figure, {usual}, holds against sequences that change at the same times")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        what = "reports of one person"
        return format_html_table([what, "loss"], self._rows(), left=[what])

    def _rows(self) -> list[tuple[str, str]]:
        """What is reported, and its loss."""
        if math.isinf(self.changing_values):
            changing = "no bound: nothing is fresh, so that a change shows"
        else:
            changing = f"at most {format_up(self.changing_values)}"
        return [
            ("one report", format_up(self.one_report)),
            (f"{self.reports} reports of a value that does not change", format_up(self.same_value)),
            ("any number of reports of a value that does not change", format_up(self.one_value_forever)),
            (f"{self.rounds} reports of values that change, against any other sequence", changing),
        ]

    def plot(self) -> Figure:
        """A figure of matplotlib: a bar for each loss that has a bound."""
        from deniable.plot.charts import Bars, plot_bars

        losses = {
            "one report": self.one_report,
            f"{self.reports} of one value": self.same_value,
            "any number of one value": self.one_value_forever,
            f"{self.rounds} of changing values": self.changing_values,
        }
        bounded = {name: loss for name, loss in losses.items() if math.isfinite(loss)}
        numbers = [format_up(loss) for loss in bounded.values()]
        bars = [Bars(np.array(list(bounded.values())), numbers=numbers)]
        title = "What one person's reports give away together"
        return plot_bars(list(bounded), bars, title, "privacy loss (nats)", percent=False)


class Repeated(ExactMechanism):
    """A mechanism for many collections: part of its words are kept, so that asking again does not average the
    noise away.
    """

    @abstractmethod
    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        """The losses of `reports` reports of one value, and of `rounds` reports of changing ones, beside the
        other two.
        """


@final
@dataclass(frozen=True)
class Memoized(Repeated):
    """A permanent answer by `first`, and at each collection a fresh report of it by `second`."""

    first: Direct | Unary
    second: Direct | Unary

    def __post_init__(self) -> None:
        if type(self.first) is not type(self.second) or self.first.k != self.second.k:
            raise InvalidParameter("both rounds must have the same shape and the same number of values")

    @property
    def k(self) -> int:  # type: ignore[override]
        return self.first.k

    @property
    def words(self) -> int:
        return self.first.words + self.second.words

    @property
    def report_bytes(self) -> int:
        return self.second.report_bytes

    @cached_property
    def law(self) -> Law:
        return replace(self.first.law.then(self.second.law), ratio=self.ratio)

    @cached_property
    def ratio(self) -> Fraction:
        return self.ratio_after(1)

    def ratio_after(self, reports: int) -> Fraction:
        """The largest ratio after this many reports of an unchanged value: exact for a few dozen, then
        rounded up.
        """
        whole_number("reports", reports, 1)
        if isinstance(self.first, Direct):
            # a and r are upper bounds that count the bias of `below`; the chain grows with both
            a, r, k = self.first.ratio, power_up(self.second.ratio, reports), self.k
            return (a * r + k - 1) / (a + r + k - 2) * Fraction(FULL, FULL - 4 * self.k * (reports + 1))
        first, second = self.first.law, self.second.law
        p1, q1, p2, q2 = first.exact_p, first.exact_q, second.exact_p, second.exact_q
        one, zero = (
            power_up(p2 / q2, reports),
            power_up((1 - q2) / (1 - p2), reports),
        )  # both ratios grow with them
        ones = (p1 * one + 1 - p1) / (q1 * one + 1 - q1)
        zeros = ((1 - q1) * zero + q1) / ((1 - p1) * zero + p1)
        return ones * zeros

    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        whole_number("rounds", rounds, 1)
        return Losses(
            one_report=self.loss(),
            same_value=log_up(min(self.ratio_after(reports), self.first.ratio)),
            one_value_forever=self.first.loss(),
            changing_values=times_up(log_up(self._fresh_ratio), rounds * self._kept_parts),
            changing_values_usual=times_up(self.first.loss(), min(rounds, self.k)),
            reports=reports,
            rounds=rounds,
        )

    @property
    def _fresh_ratio(self) -> Fraction:
        """How far one report can change with a part of what is kept: the value, or a bit."""
        if isinstance(self.second, Direct):
            return self.second.ratio
        law = self.second.law
        return max(law.exact_p / law.exact_q, (1 - law.exact_q) / (1 - law.exact_p))

    @property
    def _kept_parts(self) -> int:
        """What is kept is one value, or k bits that may all change."""
        return 1 if isinstance(self.second, Direct) else self.k

    def blank(self, n: int) -> Array:
        return self.second.blank(n)

    def encode(self, values: Integers, rows: Rows) -> Array:
        kept = self.first.encode(values, rows.columns(0, self.first.words).recall(values))
        fresh = rows.columns(self.first.words, self.words)
        if isinstance(self.second, Unary):
            return self.second.encode_again(kept, fresh)
        return self.second.encode(kept.astype(np.int64), fresh)

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        return self.second.support(reports)

    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        return self.second.canonical(reports)

    def tally(self, reports: Array) -> Tally:
        return self.second.tally(reports)


@final
@dataclass(frozen=True)
class HashedMemoized(Repeated):
    """A hash function that is always kept, and two rounds on the bucket (LOLOHA): answers are kept per
    bucket, not per value.
    """

    k: int
    buckets: Memoized

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_k(self.k, PRIME - 1, "hashed"))
        if not isinstance(self.buckets.first, Direct):
            raise InvalidParameter("the rounds on a bucket are direct ones")

    @property
    def g(self) -> int:
        """The number of buckets."""
        return self.buckets.k

    @property
    def words(self) -> int:
        return 1 + self.buckets.words

    @property
    def report_bytes(self) -> int:
        return self.like.report_bytes

    @property
    def ratio(self) -> Fraction:
        return self.buckets.ratio

    @cached_property
    def law(self) -> Law:
        return self.buckets.law.hashed(self.k, collision(self.g))

    @property
    def like(self) -> Hashed:
        """A one-round mechanism with the same reports."""
        assert isinstance(self.buckets.first, Direct)
        return Hashed(self.k, self.g, self.buckets.first.keep)

    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        return self.buckets.losses(reports, rounds)

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        if prior is not None:
            return self.law.success(prior)
        full, p = occupied_buckets(self.k, self.g), self.law.p
        return (full * p + (self.g - full) * (1 - p) / (self.g - 1)) / self.k

    def blank(self, n: int) -> Array:
        return self.like.blank(n)

    def encode(self, values: Integers, rows: Rows) -> Array:
        reports = self.blank(len(values))
        a, b = hash_function(rows.columns(0, 1).recall().array()[:, 0])
        true = (a * (values.astype(np.uint64) + np.uint64(1)) + b) % np.uint64(PRIME) % np.uint64(self.g)
        reports["a"], reports["b"] = a, b
        reports["bucket"] = self.buckets.encode(true.astype(np.int64), rows.columns(1, self.words))
        return reports

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        return self.like.support(reports)

    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        return self.like.canonical(reports)

    def tally(self, reports: Array) -> Tally:
        return self.like.tally(reports)
