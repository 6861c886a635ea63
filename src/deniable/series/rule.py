"""Says on which days a number moved, with a stated rate of false alarms over all numbers and spans.

An alarm is a comparison beyond the quantile that all comparisons of a day together exceed at the stated rate:
a union bound, which holds however they depend on each other. Answers that people keep make neighboring days
alike, for which sequential tests such as CUSUM raise a hundred times too many alarms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from typing import Any, final, overload

import numpy as np
from scipy.special import ndtri, stdtrit

from deniable.arrays import Floats
from deniable.exact import number
from deniable.formatting import Printed, format_count, format_digits, format_percent
from deniable.series.lines import Line, Moments
from deniable.series.spans import BASELINE, REACH, SPANS, Days, Mask, look_back

FIRST = 35
"""Days before the first alarm that there can be."""
BURST = 3.0
"""A day with more than so many times the usual reports is left out of what others are compared with."""
_WEEK = 7
_USUAL = 2 * _WEEK  # days before, whose reports are the usual ones
_SKEWER = 1.2  # times the skewness that is corrected: so far tails of rare answers are below the stated ones
_COMPARED = 2 * len(SPANS)  # up and down


@final
@dataclass(frozen=True)
class Rule:
    """When a comparison is an alarm."""

    days: float = 1000.0
    """In so many days there is one false alarm at most, on average, over all numbers."""
    spread: bool = True
    """Whether days vary by more than noise, by how much is learned; else by noise alone."""
    least: float = 0.1
    """The least change, as a part of the share before, or of the rest where that is smaller; of a mean, of
    the mean.
    """

    def __post_init__(self) -> None:
        number("days, in which one false alarm is allowed,", self.days, 1.0, 1e9)
        number("least, the least relative change (0.1 is 10 %),", self.least, -1e-9, 1e6)

    def find_limits(self, lines: int, degrees: Floats) -> Floats:
        """How many standard errors a change takes where this many lines are looked at.

        `degrees` are those of freedom of the spread that was learned, 0 where it was not.

        >>> [Rule(spread=False).find_limits(m, np.zeros(1)).round(4).item() for m in (1, 100)]
        [3.719, 4.7534]
        >>> [Rule().find_limits(m, np.full(1, 49.0)).round(4).item() for m in (1, 100)]
        [4.0205, 5.3908]
        """
        tail = 1 / (self.days * _COMPARED * lines)
        if not self.spread:
            return np.full(degrees.shape, -float(ndtri(tail)))
        limits = -stdtrit(np.maximum(degrees, 1.0), tail)
        return np.where(degrees > 0, limits, np.inf)


@final
@dataclass(frozen=True)
class Alarm(Printed):
    """A number that moved, against the same weekdays before."""

    day: date
    """The last day of the span."""
    attribute: str
    value: str
    kind: str
    """A "value", whose share it is, or the "mean"."""
    span: int
    """Over how many days."""
    before: float
    now: float
    z: float
    """The change in standard errors, corrected for skewness."""
    limit: float
    """From how many standard errors on there is an alarm."""
    burst: float | None = None
    """How many times the usual reports the day has, if these are too many."""
    mirrored: tuple[Alarm, ...] = ()
    """Alarms of other answers to the question, which went the other way meanwhile: the same change."""

    def __str__(self) -> str:
        text = f"{self.day}: {self.attribute}: {self._describe()}"
        for other in self.mirrored:
            when = "" if other.day == self.day else f"on {other.day} "
            text += f"; {when}{other._describe()}"
        if self.burst is not None:
            text += f"; the day has {self.burst:.1f} times the usual reports"
        return f"{text} ({abs(self.z):.1f} standard errors, alarm from {self.limit:.1f})"

    def about(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        mirrored = [other.about() for other in self.mirrored]
        return asdict(self) | {"day": str(self.day), "text": str(self), "mirrored": mirrored}

    def mirrors(self, other: Alarm) -> bool:
        """Whether this is the other side of an alarm that came before it, or on the same day: it goes the
        other way, by at most twice what that one and those that mirror it leave open.
        """
        is_of_share = self.kind == other.kind == "value" and self.attribute == other.attribute
        left = sum(each.now - each.before for each in (other, *other.mirrored))
        ratio = (self.before - self.now) / left if left else 0.0
        return is_of_share and 0 < ratio <= 2 and self.day - timedelta(days=self.span) < other.day

    def _describe(self) -> str:
        verb = "rose" if self.now > self.before else "fell"
        over = "" if self.span == 1 else f" over {self.span} days"
        ends = (self._format(end) for end in (self.before, self.now))
        return f"{self.value} {verb} from {' to '.join(ends)}{over}"

    def _format(self, end: float) -> str:
        return format_digits(end, 4) if self.kind == "mean" else format_percent(min(max(end, 0.0), 1.0))


@final
@dataclass(frozen=True)
class Alarms(Sequence[Alarm], Printed):
    """All alarms, by day, and the days with a burst of reports.

    Where the answers to one question move, there is one alarm with those that mirror it.
    """

    alarms: tuple[Alarm, ...]
    bursts: dict[date, float]
    """How many times the usual reports the days have that are left out."""
    lines: int
    """How many numbers were looked at."""
    rule: Rule

    @overload
    def __getitem__(self, index: int) -> Alarm: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Alarm, ...]: ...

    def __getitem__(self, index: int | slice) -> Alarm | tuple[Alarm, ...]:
        return self.alarms[index]

    def __len__(self) -> int:
        return len(self.alarms)

    @property
    def numbers(self) -> list[Alarm]:
        """An alarm for each number that moved: those that mirror others, too."""
        return [number for alarm in self for number in (alarm, *alarm.mirrored)]

    def since(self, day: date) -> Alarms:
        """The alarms and bursts from a day on."""
        return replace(
            self,
            alarms=tuple(alarm for alarm in self if alarm.day >= day),
            bursts={when: times for when, times in self.bursts.items() if when >= day},
        )

    def about(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        bursts = [{"day": str(day), "times": times} for day, times in self.bursts.items()]
        alarms = [alarm.about() for alarm in self]
        return {"lines": self.lines} | asdict(self.rule) | {"alarms": alarms, "bursts": bursts}

    def __str__(self) -> str:
        head = (
            f"{format_count(len(self), 'alarm')} in {self.lines:,} series; at most one false alarm in "
            f"{self.rule.days:,.0f} days over all of them"
        )
        bursts = [
            f"{day}: {times:.1f} times the usual reports; left out of all other days' comparisons"
            for day, times in self.bursts.items()
        ]
        return "\n".join([head, *map(str, self), *bursts])


def join_mirrored(alarms: Iterable[Alarm]) -> tuple[Alarm, ...]:
    """One alarm for each change of the answers to a question: the rise of one is the fall of others.

    Of one day the largest is the first. There are fewer alarms then, so the stated rate of false ones holds.
    A change that a rise and falls before it balance already is an alarm of its own.
    """
    changes: list[Alarm] = []
    for alarm in sorted(alarms, key=lambda alarm: (alarm.day, -abs(alarm.z))):
        for i, change in enumerate(changes):
            if alarm.mirrors(change):
                changes[i] = replace(change, mirrored=(*change.mirrored, alarm))
                break
        else:
            changes.append(alarm)
    return tuple(changes)


def find_bursts(n: Floats) -> Floats:
    """How many times the usual reports each day has: the median of the two weeks before, from a week on. So
    reports that grow for good are the usual ones a week later.

    >>> find_bursts(np.array([100.0] * 9 + [900.0]))[-1].item()
    9.0
    """
    times = np.ones(len(n))
    for t in range(_WEEK, len(n)):
        before = n[max(t - _USUAL, 0) : t]
        before = before[before > 0]
        if before.size >= _WEEK:
            times[t] = n[t] / np.median(before)
    return times


@final
@dataclass(frozen=True, eq=False)
class Scores:
    """The comparisons of one line: a row for each day, and a column for each span."""

    z: Floats
    """Changes in standard errors, corrected for skewness; 0 where there is nothing to compare."""
    before: Floats
    change: Floats
    degrees: Floats
    """The degrees of freedom of each day's spread."""


@final
@dataclass(frozen=True, eq=False)
class _Noise:
    """How the reports of one plan err, a row for each day that a span ends on."""

    moments: Moments
    part: Floats | None
    """Which part of each day's reports are of this plan; None where all of them are."""


def _read_noise(line: Line, days: Days) -> list[_Noise]:
    """The noise of each plan that a line is from, at the mean number of the baseline."""
    usual = days.usual & (np.arange(REACH) >= BASELINE)
    number = _average(line.numbers, usual)
    noise = []
    for plan in line.parts:
        squares = np.zeros_like(number)
        if plan.squares.size:  # of its own days in the baseline, or else of any
            own = look_back(plan.n > 0)
            rows = np.where((usual & own).any(axis=1, keepdims=True), usual & own, own)
            squares = _average(plan.squares, rows)
        part = (
            None if not line.plans else np.divide(plan.n, line.n, out=np.zeros_like(line.n), where=line.n > 0)
        )
        noise.append(_Noise(plan.moments(number, squares), part))
    return noise


def _average(column: Floats, chosen: Mask) -> Floats:
    """The mean of the days that are chosen, for each day that a span ends on."""
    return np.asarray(
        (chosen * look_back(np.nan_to_num(column))).sum(axis=1) / np.maximum(chosen.sum(axis=1), 1)
    )


def score(line: Line, days: Days, spread: bool) -> Scores:
    """Compare all days of a line with those before."""
    numbers, noise = np.nan_to_num(line.numbers), _read_noise(line, days)
    extra, degrees = np.zeros_like(numbers), np.zeros_like(numbers)
    if spread:
        extra, degrees = _learn_spread(numbers, days, noise)
    # what people keep of the noise of one plan may be in that of another: the largest is at most in both
    kept = np.max(
        [
            plan.moments.kept if plan.part is None else plan.moments.kept * look_back(plan.part).any(axis=1)
            for plan in noise
        ],
        axis=0,
    )
    columns = []
    for comparison in days.comparisons:
        change, before = comparison.add(numbers), comparison.average_baseline(numbers)
        variance, cubes = extra * comparison.squares, np.zeros_like(numbers)
        for plan in noise:
            fresh, third = comparison.fresh, comparison.cubes
            if plan.part is not None:
                fresh, third = comparison.add_fresh(plan.part), comparison.add_cubes(plan.part)
            variance = variance + plan.moments.fresh * fresh
            cubes += plan.moments.skewness * third
        if kept.any():
            variance = variance + kept * comparison.kept
        error = np.sqrt(np.where(comparison.known & (variance > 0), variance, np.inf))
        columns.append((correct_skewness(change / error, cubes / error**3), before, change))
    z, before, change = (np.stack(column, axis=1) for column in zip(*columns, strict=True))
    return Scores(z, before, change, degrees)


def correct_skewness(z: Floats, skewness: Floats) -> Floats:
    """What a normal variable would be where one of this skewness is z, by Wilson and Hilferty's cube root.

    Only the heavy tail is corrected, toward 0. A larger change stays larger, however skewed: a polynomial of
    the same beginning falls again, and of an answer that few reports have it makes the rise of one report a
    fall of many standard errors.

    >>> correct_skewness(np.array([-4.0, 0.5, 4.0, 40.0]), np.full(4, 0.5)).round(2).tolist()
    [-4.0, 0.5, 3.11, 13.61]
    """
    size, factor = np.abs(z), _SKEWER * np.abs(skewness) / 6
    is_heavy = (z * skewness > 0) & (factor > 1e-9)
    factor = np.where(is_heavy, factor, 1.0)
    corrected = (np.cbrt(1 + 3 * factor * size) - 1) / factor + factor
    return np.where(is_heavy, np.sign(z) * np.minimum(corrected, size), z)


def _learn_spread(numbers: Floats, days: Days, noise: Sequence[_Noise]) -> tuple[Floats, Floats]:
    """By how much days vary beyond noise, around the means of weekdays, and its degrees of freedom."""
    usable = days.usable[:, BASELINE:]
    before = look_back(numbers)
    squares = sum((weekday.sum_squares(before) for weekday in days.weekdays), np.zeros(len(numbers)))
    degrees = sum((np.maximum(weekday.many - 1, 0) for weekday in days.weekdays), np.zeros(len(numbers)))
    per_report = usable / np.maximum(look_back(days.n)[:, BASELINE:], 1)
    drawn = np.zeros(len(numbers))
    for plan in noise:
        part = 1.0 if plan.part is None else look_back(plan.part)[:, BASELINE:]
        drawn += plan.moments.fresh * (per_report * part).sum(axis=1) / np.maximum(usable.sum(axis=1), 1)
    return np.maximum(squares / np.maximum(degrees, 1) - drawn, 0.0), degrees


def find_alarms(
    line: Line, days: Days, dates: Sequence[date], bursts: Floats, rule: Rule, lines: int
) -> Iterator[Alarm]:
    """The alarms of one line. After one, it is silent for two weeks, and its baseline begins anew.

    The day of an alarm is in no later baseline and spread: it was chosen for being far off. A day with a
    burst raises an alarm of its own: nothing begins anew, and only days with a burst are silent then. Where a
    plan asks the question anew, a series has no alarms for as long as at its beginning.
    """
    seen = np.flatnonzero(line.n)
    is_new = np.zeros(len(dates), dtype=bool)
    for t in line.breaks:
        is_new[t : t + FIRST] = True
        days = replace(days, era=days.era + (np.arange(len(dates)) >= t))
    first, after_burst = int(seen[0]) + FIRST if seen.size else len(dates), 0
    while first < len(dates):
        scores = score(line, days, rule.spread)
        limits = rule.find_limits(lines, scores.degrees)
        exceeding = _exceed(line, scores, limits, rule)
        exceeding[:first] = False
        exceeding[:after_burst][~days.quiet[:after_burst]] = False
        exceeding[is_new] = False
        if not exceeding.any():
            return
        t = int(np.argmax(exceeding.any(axis=1)))
        best = int(np.argmax(np.where(exceeding[t], np.abs(scores.z[t]), 0.0)))
        before = float(scores.before[t, best])
        yield Alarm(
            dates[t],
            line.attribute,
            line.value,
            line.kind,
            SPANS[best],
            before,
            before + float(scores.change[t, best]),
            float(scores.z[t, best]),
            float(limits[t]),
            None if days.quiet[t] else float(bursts[t]),
        )
        first = t + 1
        if not days.quiet[t]:
            after_burst = first + BASELINE
        else:
            first += BASELINE
            days = replace(days, era=days.era + np.sign(np.arange(len(dates)) - t))


def _exceed(line: Line, scores: Scores, limits: Floats, rule: Rule) -> Mask:
    """Which spans exceed their limit by a change that is large enough."""
    before = np.clip(scores.before, 0.0, 1.0)
    scale = np.minimum(before, 1 - before) if line.is_share else np.abs(scores.before)
    is_large = np.abs(scores.change) >= rule.least * scale
    return np.asarray((np.abs(scores.z) > limits[:, np.newaxis]) & is_large)
