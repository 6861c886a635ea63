"""Reads one number a day from the tallies of days: the share of a value, or a mean, and how it errs.

Of plans that continue each other, the number of a day is that of all people who reported to any of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, final

import numpy as np

from deniable.arrays import Floats
from deniable.domain import Categories, Range
from deniable.domain.number import Number
from deniable.errors import InvalidParameter
from deniable.estimate import Interval
from deniable.estimate.intervals import clopper_pearson, reach_of
from deniable.law import Law, Marginal
from deniable.plan.attribute import Attribute, list_domains
from deniable.plan.chain import asks_alike, list_unlike
from deniable.reports.reports import add_rounds
from deniable.results.estimates import MEAN, Estimates, find_condition
from deniable.results.joined import join_estimates_of_plans
from deniable.results.respondents import find_mean, has_mean
from deniable.results.unbiased import estimate_tallies
from deniable.series.spans import Mask

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument
    from deniable.reports.reports import Tallies
    from deniable.rounds.differences import People

DaysOfPlan = tuple["PlanDocument", Sequence[Sequence["Tallies"]]]
"""A plan, and its tallies of each day: those of each round, and none on a day without reports to it."""
ADDED = "it is an answer that was added"
"""Why one answer begins anew, and not its question."""
_MOST_VALUES = 100  # of an attribute, of which each is followed
_FEW_STEPS = 12  # of a range: of more, single values are known far less well than the mean


class Moments(NamedTuple):
    """The variance of one report in two, and its third moment: what is drawn anew, and what people keep."""

    fresh: Floats
    kept: Floats
    skewness: Floats


@final
@dataclass(frozen=True)
class Chances:
    """How likely a report supports a value: of people who have it, and of others; and by what they keep."""

    p: float
    q: float
    first: tuple[float, float] | None = None
    """The same of the answer that a person keeps; None where none is kept."""
    is_kept: bool = False
    """Whether the same people may answer on several days."""

    def moments(self, share: Floats) -> Moments:
        """The variance of one report where this share of people has the value."""
        noise, skewness = _find_noise(self.p, self.q, share)
        sampling = share * (1 - share)
        if not self.is_kept:
            return Moments(noise + sampling, np.zeros_like(share), skewness)
        kept = 0.0 if self.first is None else np.minimum(_find_noise(*self.first, share)[0], noise)
        return Moments(noise - kept, kept + sampling, skewness)


def _find_noise(p: float, q: float, share: Floats) -> tuple[Floats, Floats]:
    """The variance of one report about fixed people, and the third moment of one about drawn people."""
    supported = q + (p - q) * share
    variance = supported * (1 - supported) / (p - q) ** 2
    return variance - share * (1 - share), (1 - 2 * supported) * variance / (p - q)


@final
@dataclass(frozen=True, eq=False)
class Line:
    """One number a day, unbiased, with how many reports it is from; no number on a day without reports."""

    attribute: str
    value: str
    kind: Literal["value", "mean"]
    """What the value names: a "value", or the "mean"."""
    numbers: Floats
    n: Floats
    chances: Chances | None = None
    """None of a mean, whose error is seen."""
    squares: Floats = field(default_factory=lambda: np.zeros(0), repr=False)
    """Of a mean: the variance of one report, every day."""
    is_kept: bool = False
    """Whether all of a mean's error may be in several days at once."""
    plans: tuple[Line, ...] = ()
    """The lines of the plans that the number is joined from; none where it is from one plan."""
    breaks: Mapping[int, str] = field(default_factory=dict)
    """The numbers of the days from which on a plan asks the question anew, and why."""
    plan_id: str = ""
    """The plan that the number is from; of several, the last one."""
    joined: Mapping[int, Estimates] = field(default_factory=dict, repr=False)
    """What days say on which people may have sent reports of several rounds, joined as such."""

    @property
    def parts(self) -> tuple[Line, ...]:
        """The lines of the plans that the number is from."""
        return self.plans or (self,)

    @property
    def title(self) -> str:
        """The attribute and the value."""
        return f"{self.attribute}: {self.value}"

    @property
    def is_share(self) -> bool:
        """Whether this is a share, and no mean."""
        return self.kind == "value"

    def interval(self, level: float) -> Interval:
        """Where the true number of each day is, with this confidence each; of shares, within 0 and 1.

        They reach as far as those of nobody and of everybody do, as all intervals that are shown. Plans of
        one day have other people, so that the reaches of their numbers add up in squares. Rounds of one plan
        may have the same.
        """
        ends = self._find_ends((1 - level) / 2)
        for t, estimates in self.joined.items():
            ends.low[t], ends.high[t] = _read_joined(estimates, self, level)[1:]
        if self.is_share:
            ends = Interval(*(np.where(self.n > 0, np.clip(end, 0.0, 1.0), np.nan) for end in ends))
        return ends

    def _find_ends(self, tail: float) -> Interval:
        """The ends of the intervals, which may be no possible shares."""
        n = np.maximum(self.n, 1)
        if self.plans:
            reaches = np.zeros((2, len(n)))
            for line in self.plans:
                ends = line._find_ends(tail)
                for reach, end in zip(reaches, ends, strict=True):
                    reach += np.nan_to_num((line.n / n * (end - line.numbers)) ** 2)
            down, up = np.sqrt(reaches)
            return Interval(self.numbers - down, self.numbers + up)
        if self.chances is None:
            reach = reach_of(tail) * np.sqrt(self.squares / n)
            return Interval(self.numbers - reach, self.numbers + reach)
        p, q = self.chances.p, self.chances.q
        counts = np.rint(n * (q + (p - q) * np.nan_to_num(self.numbers)))
        counts = np.clip(counts, np.floor(n * q), np.ceil(n * p))  # see Estimate.edge_ends
        low, high = clopper_pearson(counts, n.astype(np.int64), tail)
        return Interval((low - q) / (p - q), (high - q) / (p - q))

    def only(self, days: Mask) -> Line:
        """The line of these days alone."""
        return replace(self, numbers=np.where(days, self.numbers, np.nan), n=np.where(days, self.n, 0.0))

    def moments(self, number: Floats, square: Floats) -> Moments:
        """The variance of one report where the number is this one, or of a mean, where it was this one."""
        if self.chances is not None:
            return self.chances.moments(np.clip(number, 0.0, 1.0))
        nothing = np.zeros_like(square)
        return Moments(nothing, square, nothing) if self.is_kept else Moments(square, nothing, nothing)


def read_lines(plans: Sequence[DaysOfPlan], people: People | None) -> tuple[list[Line], dict[str, str]]:
    """The lines of all attributes of the last plan, and why others have none.

    The plans before it are those that it continues, which count wherever they ask the same.
    """
    document, days = plans[-1]
    reports = sum(plan.most_reports for plan, _ in plans)
    is_kept = reports > 1 if people is None else people != "others"
    lines, others = _read_all(document, days, is_kept)
    if len(plans) > 1:
        of_plans = [*(_read_all(*each, is_kept)[0] for each in plans[:-1]), lines]
        by_name = [{(line.attribute, line.value): line for line in of_plan} for of_plan in of_plans]
        lines = [_join_plans([plan for plan, _ in plans], by_name, line) for line in lines]
    joiner = _DayJoiner(plans, people)
    lines = [joiner.join_line(line) for line in lines]
    lines = _choose_rarer([line for line in lines if line.is_share or line.n.any()])
    followed = {line.attribute for line in lines}
    names = [attribute.name for attribute in document.attributes if not attribute.domain.is_level]
    names = [name for name in names if name not in followed]
    return lines, {name: others.get(name, "it has neither counts of values nor a mean") for name in names}


def _may_repeat(document: PlanDocument, people: People | None) -> bool:
    """Whether the same people may report in several rounds of a plan."""
    return document.most_reports > 1 if people is None else people != "others"


@final
class _DayJoiner:
    """Joins the reports of a day that are of several rounds of a plan, as estimates by day do.

    A report that waited on its device comes with that of the next round, and both may be of one person.
    """

    def __init__(self, plans: Sequence[DaysOfPlan], people: People | None) -> None:
        self._documents = {document.id: document for document, _ in plans}
        self._days = {
            document.id: days
            if _may_repeat(document, people)
            else [[add_rounds(rounds)] if rounds else [] for rounds in days]
            for document, days in plans
        }
        several = (t for days in self._days.values() for t, rounds in enumerate(days) if len(rounds) > 1)
        self._days_of_several = sorted(set(several))
        self._estimates: dict[tuple[int, tuple[str, ...]], Estimates] = {}

    def join_line(self, line: Line) -> Line:
        """The line with the numbers of such days, and what they are from."""
        numbers, n, squares, joined = line.numbers.copy(), line.n.copy(), line.squares.copy(), {}
        for t in self._days_of_several:
            plans = tuple(part.plan_id for part in line.parts if part.n[t] > 0)
            if all(len(self._days[plan_id][t]) == 1 for plan_id in plans):
                continue
            estimates = self._join_day(t, plans)
            if not _has_number(estimates, line):
                continue
            numbers[t], joined[t] = _read_joined(estimates, line, 0.95)[0], estimates
            if not line.is_share:
                squares[t] = find_mean(estimates, line.attribute).stderr ** 2 * n[t]
        return replace(line, numbers=numbers, squares=squares, joined=joined) if joined else line

    def _join_day(self, t: int, plans: tuple[str, ...]) -> Estimates:
        if (t, plans) not in self._estimates:
            results = [
                estimate_tallies(self._documents[plan_id], tallies, False, may_be_empty=True)
                for plan_id in plans
                for tallies in self._days[plan_id][t]
            ]
            self._estimates[t, plans] = join_estimates_of_plans(results, "same")
        return self._estimates[t, plans]


def _has_number(estimates: Estimates, line: Line) -> bool:
    """Whether joined estimates have the number of a line."""
    if not line.is_share:
        return line.attribute in estimates and has_mean(estimates, line.attribute)
    estimate = estimates.shares.get(line.attribute)
    return estimate is not None and line.value in map(str, estimate.labels or ())


def _read_joined(estimates: Estimates, line: Line, level: float) -> tuple[float, float, float]:
    """The number of a line from the joined estimates of a day, and the ends of its interval."""
    if not line.is_share:
        mean = find_mean(estimates, line.attribute, level)
        return mean.value, mean.low, mean.high
    estimate = estimates.shares[line.attribute]
    value = list(map(str, estimate.labels or ())).index(line.value)
    (low, high), edges = estimate.interval(level), estimate.edge_ends(level)
    low, high = np.minimum(low, edges.low), np.maximum(high, edges.high)
    return float(estimate.frequencies[value]), float(low[value]), float(high[value])


def _read_all(
    document: PlanDocument, days_of_rounds: Sequence[Sequence[Tallies]], is_kept: bool
) -> tuple[list[Line], dict[str, str]]:
    """The lines of all values and means of a plan, and why some attributes have none.

    `is_kept` says that people may report on several days, to this plan or to another one of its chain.
    """
    days = [add_rounds(rounds) if rounds else None for rounds in days_of_rounds]
    lines: list[Line] = []
    others: dict[str, str] = {}
    for j, attribute in enumerate(document.attributes):
        name = attribute.name
        if attribute.domain.is_level:
            continue
        if find_condition(document, name) is not None:
            others[name] = "random values stand for people without an answer"
        elif not isinstance(document.mechanism.marginal(j), Law | Marginal) or not document.parts[j].listed:
            continue
        elif document.size(attribute) > (_FEW_STEPS if isinstance(attribute.domain, Range) else _MOST_VALUES):
            others[name] = f"it has {document.size(attribute):,} values"
        else:
            lines += _read_values(document, j, attribute, days, is_kept)
    lines += _read_means(document, days, is_kept)
    return [replace(line, plan_id=document.id) for line in lines], others


def _join_plans(
    documents: Sequence[PlanDocument], lines: Sequence[Mapping[tuple[str, str], Line]], last: Line
) -> Line:
    """A line of the last plan, joined with those of the plans before it that ask the same.

    Where a plan asks the question anew, its number is that of the day from the first day on which more people
    report it to this plan than to those before: two questions are not mixed in one number.
    """
    after = documents[-1]
    runs: list[_Run] = []
    for i, document in enumerate(documents):
        line = lines[i].get((last.attribute, last.value))
        if not _means_the_same(document, after, last):
            runs = []
            continue
        why = _explain_break(documents[i - 1], document, last.attribute) if runs else ""
        if why or not runs:
            runs.append(_Run(why))
        if line is not None:
            runs[-1].lines.append(line)
        elif (nobody := _fill_nobody(lines[i], last)) is not None:
            runs[-1].without.append(nobody)
    runs = [run for run in runs if run.lines]
    run_of_day, breaks, current = np.zeros(len(last.n), dtype=np.int64), dict[int, str](), 0
    for number, later in enumerate(runs):
        is_ahead = (later.n > runs[current].n) & (run_of_day == current)
        if is_ahead.any():
            first, current = int(np.argmax(is_ahead)), number
            run_of_day[first:] = number
            breaks |= {first: later.why} if first else {}
    for number, run in enumerate(runs):
        given = np.flatnonzero((np.sum([line.n for line in run.lines], axis=0) > 0) & (run_of_day == number))
        if run.without and given.size and given[0] > 0:
            breaks.setdefault(int(given[0]), ADDED)
    members = [
        line.only(run_of_day == i) for i, run in enumerate(runs) for line in (*run.without, *run.lines)
    ]
    members = [line for line in members if line.n.any()]
    return replace(join_lines(members), breaks=breaks) if members else last


@dataclass
class _Run:
    """The lines of plans that carry a question on, and why the first of them asks it anew."""

    why: str
    lines: list[Line] = field(default_factory=list)
    without: list[Line] = field(default_factory=list)
    """The lines of plans that carry the question on without this answer, which nobody gave there."""

    @property
    def n(self) -> Floats:
        return np.asarray(np.sum([line.n for line in (*self.lines, *self.without)], axis=0))


def join_lines(lines: Sequence[Line]) -> Line:
    """One line of several plans: by the number of people, not by precision, since people differ."""
    if len(lines) == 1:
        return lines[0]
    n = np.sum([line.n for line in lines], axis=0)
    total = np.sum([np.nan_to_num(line.n * line.numbers) for line in lines], axis=0)
    with np.errstate(invalid="ignore"):
        return replace(lines[-1], numbers=total / n, n=n, plans=tuple(lines))


def _fill_nobody(lines: Mapping[tuple[str, str], Line], last: Line) -> Line | None:
    """The line of an answer that a plan did not have yet: nobody gave it; None where the plan has no lines of
    the question.
    """
    others = [line for line in lines.values() if (line.attribute, line.kind) == (last.attribute, "value")]
    if last.kind != "value" or not others or last.chances is None:
        return None
    chances = Chances(1.0, 0.0, None, last.chances.is_kept)
    zeros = np.where(others[0].n > 0, 0.0, np.nan)
    nobody = Line(last.attribute, last.value, "value", zeros, others[0].n, chances)
    return replace(nobody, plan_id=others[0].plan_id)


def _means_the_same(before: PlanDocument, after: PlanDocument, line: Line) -> bool:
    """Whether a number is of the same people and answers in both plans: answers are known by their names."""
    domains = before.domains.get(line.attribute), after.domains.get(line.attribute)
    if domains[0] != domains[1] and not (line.is_share and all(isinstance(d, Categories) for d in domains)):
        return False
    places = [plan.names.index(line.attribute) for plan in (before, after) if line.attribute in plan.names]
    return len(places) < 2 or asks_alike(before, after, *places)


def _explain_break(before: PlanDocument, after: PlanDocument, name: str) -> str:
    """Why the later of two plans asks a question anew, or has fewer answers to it; empty where neither."""
    whys = dict(zip(after.names, list_unlike(before, after), strict=True))
    if name not in whys:
        return next(filter(None, (whys[level.name] for level in after.levels.get(name, ()))), "")
    return whys[name]


def _choose_rarer(lines: Sequence[Line]) -> list[Line]:
    """Choose the values to follow: the rarer of two, which says all of an attribute, else all of them."""
    chosen: list[Line] = []
    for name in dict.fromkeys(line.attribute for line in lines):
        shares = [line for line in lines if line.attribute == name and line.is_share]
        if len(shares) == 2:
            shares = [min(shares, key=lambda line: float(np.nansum(line.numbers * line.n)))]
        chosen += shares
    return chosen + [line for line in lines if not line.is_share]


def _read_values(
    document: PlanDocument, j: int, attribute: Attribute, days: Sequence[Tallies | None], is_kept: bool
) -> list[Line]:
    """A line for each value."""
    law, part = document.mechanism.marginal(j), document.parts[j]
    assert isinstance(law, Law | Marginal)
    kept = part.permanent.law
    labels = document.labels_of(attribute)
    counts, n = np.zeros((len(labels), len(days))), np.zeros((len(labels), len(days)))
    for t, tallies in enumerate(days):
        if tallies is not None:
            tally = tallies[attribute.name]
            counts[:, t] = tally.counts
            n[:, t] = tally.n if tally.asked is None else tally.asked
    q, gain = np.broadcast_to(law.q, len(labels)), np.broadcast_to(law.gain, len(labels))
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = (counts / n - q[:, np.newaxis]) / gain[:, np.newaxis]
    lines = []
    for v, label in enumerate(labels):
        chances = Chances(float(q[v] + gain[v]), float(q[v]), None, is_kept)
        if is_kept and part.repeated:
            first = chances.p, chances.q
            if document.mechanism.fake(j) is None and isinstance(kept, Law):
                first = kept.p, kept.q
            chances = replace(chances, first=first)
        lines.append(Line(attribute.name, str(label), "value", shares[v], n[v], chances))
    return lines


def _read_means(document: PlanDocument, days: Sequence[Tallies | None], is_kept: bool) -> list[Line]:
    """A line for the mean of each number, and of each range without open ends."""
    names = [
        name
        for name, domain in list_domains(document.attributes).items()
        if isinstance(domain, Number | Range) and find_condition(document, name) is None
    ]
    rows = np.zeros((len(names), 3, len(days)))
    rows[:, 0] = np.nan
    for t, tallies in enumerate(days if names else ()):
        if tallies is None:
            continue
        try:
            estimates = estimate_tallies(document, tallies, False)
        except InvalidParameter:  # nobody has reported any of the attributes
            continue
        for i, name in enumerate(names):
            if has_mean(estimates, name):
                mean, n = find_mean(estimates, name), estimates[name].n
                rows[i, :, t] = mean.value, n, mean.stderr**2 * n
    return [
        Line(name, MEAN, "mean", numbers, n, None, squares, is_kept)
        for name, (numbers, n, squares) in zip(names, rows, strict=True)
    ]
