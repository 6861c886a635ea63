"""Compares a span of days with the same weekdays before it, as a weighted sum of days.

A day is compared with the mean of eight same weekdays, the last of them at least two weeks before the span
ends. The mean of these differences over the days of a span is one sum of days with weights.

What people keep of their noise is in several days at once. Nobody knows who answered on which days, but
people come and go: days that are farther apart share fewer of them. The largest variance over all such
overlaps is that of some distance, within which all people are the same and beyond which all are others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats

SPANS = (1, 2, 4, 7, 14)
"""How many days are looked at together."""
REACH = 70
"""How many days a comparison reaches back, its own day included."""
BASELINE = 14
"""How many days ago the last day of a baseline is."""
_WEEK, _WEEKS = 7, 8

Mask = npt.NDArray[np.bool_]


def look_back(days: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A row for each day: that day, the day before it, and so on; zeros before the first day."""
    column = np.concatenate([np.zeros(REACH - 1, dtype=days.dtype), days])
    step = column.strides[0]
    return np.lib.stride_tricks.as_strided(
        column[REACH - 1 :], (len(days), REACH), (step, -step), writeable=False
    )


@final
@dataclass(frozen=True, eq=False)
class Days:
    """Which days can be compared with which, and how many reports each has."""

    n: Floats
    """How many reports each day has; 0 on a day without any."""
    quiet: Mask
    """The days whose reports are not a burst: others stay out of baselines and longer spans."""
    era: npt.NDArray[np.int64]
    """A number that grows whenever a new baseline begins."""

    @cached_property
    def usable(self) -> Mask:
        """A row for each day: the days before it, and itself, that have reports and no burst."""
        return look_back((self.n > 0) & self.quiet)

    @cached_property
    def usual(self) -> Mask:
        """A row for each day: the usable days before it, and itself, of its era."""
        return np.asarray(self.usable & (look_back(self.era) == self.era[:, np.newaxis]))

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The weights of each span."""
        return tuple(self._weigh(span) for span in SPANS)

    @cached_property
    def weekdays(self) -> tuple[Weekday, ...]:
        """The baselines of all days, taken apart by weekday and era."""
        usable = self.usable[:, BASELINE:]
        eras = look_back(self.era)[:, BASELINE:]
        groups = [slice(BASELINE + weekday, None, _WEEK) for weekday in range(_WEEK)]
        return tuple(
            Weekday(group, usable[:, weekday::_WEEK] & (eras[:, weekday::_WEEK] == era))
            for era in np.unique(self.era)
            for weekday, group in enumerate(groups)
        )

    def _weigh(self, span: int) -> Comparison:
        """The weights of the days of one span: 1 in all, and -1 in all for the baseline."""
        weights = np.zeros(self.usual.shape)
        seen = np.zeros(len(self.n))
        for ago in range(span):
            first = ago + BASELINE if ago < _WEEK else ago + _WEEK
            same_weekdays = slice(first, first + _WEEK * _WEEKS, _WEEK)
            baseline = self.usual[:, same_weekdays]
            there = self.n > 0 if span == 1 else self.usual[:, ago]
            is_compared = there & baseline.any(axis=1)
            weights[:, ago] = is_compared
            parts = baseline / np.maximum(baseline.sum(axis=1, keepdims=True), 1)
            weights[:, same_weekdays] -= is_compared[:, np.newaxis] * parts
            seen += is_compared
        known = (weights[:, 0] > 0) & (2 * seen >= span)
        return Comparison(weights / np.maximum(seen, 1)[:, np.newaxis], known, self.n)


@final
@dataclass(frozen=True, eq=False)
class Weekday:
    """Days of one weekday and one era in the baseline of each day."""

    days: slice
    """How many days ago they are."""
    members: Mask
    """Which of them have reports and no burst."""

    @cached_property
    def many(self) -> Floats:
        """How many there are."""
        return np.asarray(self.members.sum(axis=1), dtype=np.float64)

    def sum_squares(self, before: Floats) -> Floats:
        """The squared distances of their numbers from the mean of these."""
        values = before[:, self.days]
        mean = np.einsum("ij,ij->i", self.members, values) / np.maximum(self.many, 1)
        away = self.members * (values - mean[:, np.newaxis])
        return np.asarray(np.einsum("ij,ij->i", away, away))


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """The weights of days in one span, a row for each day that a span ends on."""

    weights: Floats
    known: Mask
    """Whether the last day of the span, and half of the span, can be compared."""
    n: Floats

    @cached_property
    def fresh(self) -> Floats:
        """What noise that is drawn anew every day adds to the variance, for one report a day."""
        return self.add_fresh(np.ones_like(self.n))

    def add_fresh(self, part: Floats) -> Floats:
        """What fresh noise of a part of each day's reports adds to the variance, for one report a day."""
        return np.asarray((self._fresh_terms * look_back(part)).sum(axis=1))

    @cached_property
    def squares(self) -> Floats:
        """What each unit of a variance that all days have adds to the variance."""
        return np.asarray((self.weights**2).sum(axis=1))

    @cached_property
    def cubes(self) -> Floats:
        """What the skewness of one report adds to the third moment."""
        return self.add_cubes(np.ones_like(self.n))

    def add_cubes(self, part: Floats) -> Floats:
        """What the skewness of a part of each day's reports adds to the third moment."""
        return np.asarray((self._third_terms * look_back(part)).sum(axis=1))

    @cached_property
    def kept(self) -> Floats:
        """What noise that people keep adds to the variance, for one report a day, at most."""
        used = np.flatnonzero(self.weights.any(axis=0))
        total = (self.weights[:, used] ** 2 * self._per_report[:, used]).sum(axis=1)
        most = total
        for distance in range(1, REACH):
            pairs = used[np.isin(used + distance, used)]
            if pairs.size:
                both = self.weights[:, pairs] * self.weights[:, pairs + distance]
                shared = np.minimum(self._per_report[:, pairs], self._per_report[:, pairs + distance])
                total = total + 2 * (both * shared).sum(axis=1)
                most = np.maximum(most, total)
        return np.asarray(most)

    @cached_property
    def _of_baseline(self) -> Floats:
        return np.maximum(-self.weights, 0.0)

    @cached_property
    def _fresh_terms(self) -> Floats:
        return np.asarray(self.weights**2 * self._per_report)

    @cached_property
    def _third_terms(self) -> Floats:
        return np.asarray(self.weights * self._fresh_terms * self._per_report)

    @cached_property
    def _per_report(self) -> Floats:
        return np.asarray(look_back(np.divide(1.0, self.n, out=np.zeros_like(self.n), where=self.n > 0)))

    def add(self, days: Floats) -> Floats:
        """The sum of days with their weights."""
        return np.asarray(np.einsum("ij,ij->i", self.weights, look_back(days)))

    def average_baseline(self, days: Floats) -> Floats:
        """What the span is compared with."""
        return np.asarray(np.einsum("ij,ij->i", self._of_baseline, look_back(days)))
