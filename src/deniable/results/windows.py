"""Tallies tables of reports where they are: all of one, or each of its windows, such as days, by itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, final

from deniable.engines import Counted, Request, TableForm, count_source, find_plan
from deniable.engines.form import MissingColumn
from deniable.engines.sources import refuse_several
from deniable.errors import InvalidParameter, InvalidReport
from deniable.formatting import Printed, format_count
from deniable.frames import Show
from deniable.plan.known_groups import add_groups
from deniable.reports.reports import Tallies, add_refused, add_rounds
from deniable.results.joined import join_estimates_of_plans
from deniable.results.unbiased import estimate_tallies, weigh_estimates

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument
    from deniable.results.estimates import Estimates

_REASONS = {
    "plan": "of another plan",
    "round": "of a round that was not asked for",
    "form": "not in the form that devices send",
    "repeated": "with an id that was counted already",
}

_WRITTEN = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})(?!\d)")

Window = Hashable
"""The value of the column that windows are by; of several columns, a tuple of values."""


@final
@dataclass(frozen=True)
class Windows(Mapping[Window, Tallies], Printed):
    """The tallies of each window of a table of reports.

    `windows[day]` has those of one plan in one round: the last plan, and of a day with reports of several
    rounds the one with the most. `plan.estimate(windows)` joins all of them, and `records` counts them.
    """

    by: tuple[str, ...]
    tallies: Mapping[Any, Tallies]
    before: tuple[Windows, ...] = ()
    """Those of the plans that this one continues, where the table has their reports; and of days with
    reports of several rounds, those of all rounds but the one with the most.
    """

    def __getitem__(self, window: Window) -> Tallies:
        return self.tallies[window]

    def __iter__(self) -> Iterator[Window]:
        return iter(self.tallies)

    def __len__(self) -> int:
        return len(self.tallies)

    @property
    def refused(self) -> dict[str, int]:
        """How many rows of all windows were not counted, by reason."""
        nothing: dict[str, int] = {}
        if self.before:
            plan_id = next((part.plan_id for part in self.values()), "")
            return join_refused(plan_id, [*self.before, replace(self, before=())])
        return reduce(add_refused, (tallies.refused for tallies in self.values()), nothing)

    @property
    def records(self) -> dict[Window, int]:
        """How many records each window has, of all plans."""
        n: Counter[Window] = Counter()
        for of_plan in (*self.before, self):
            n.update({window: tallies.n for window, tallies in of_plan.items()})
        return {window: n[window] for window in sorted(n, key=lambda window: order_window(_as_item(window)))}

    def __str__(self) -> str:
        lines = [
            f"  {' '.join(name_values(window))}: {format_count(n, 'record')}"
            for window, n in self.records.items()
        ]
        return "\n".join([f"Tallies by {' and '.join(self.by)}", *lines])


def name_values(window: Window) -> list[str]:
    """The values of a window's columns in words."""
    values = window if isinstance(window, tuple) else (window,)
    return ["none" if value is None else str(value) for value in values]


def describe_refused(refused: Mapping[str, int]) -> str:
    """How many rows are not counted, and why.

    >>> describe_refused({"plan": 10, "repeated": 2})
    '12 rows are not counted: 10 of another plan, 2 with an id that was counted already'
    """
    total = sum(refused.values())
    whys = ", ".join(f"{n:,} {_REASONS[why]}" for why, n in refused.items() if n)
    return f"{format_count(total, 'row')} {'is' if total == 1 else 'are'} not counted: {whys}"


def tally_source(
    document: PlanDocument,
    source: object,
    table: str | None,
    by: str | Sequence[str] | None,
    round_number: int | None,
    show: Show | None,
) -> Tallies | Windows:
    """Count a table of reports where it is; refuse one in which no report is of this plan."""
    keys = () if by is None else ((by,) if isinstance(by, str) else tuple(by))
    if by is not None and not keys:
        raise InvalidParameter('by names a column, such as by="day", or several')
    form = document.table_form
    if by is None and round_number is None and form.rounds > 1 and document.most_reports == 1:
        by_round = Request(form, (form.round_column,), None, show=show)
        rounds = count_windows(document, by_round, source, table).values()
        refuse_foreign_table(form, rounds, source, table)
        return add_rounds(rounds) if rounds else _gather(document, {}, None)
    if by is not None and round_number is None and form.round_column not in keys:
        windows = join_rounds(document, keys, _count_plans(document, source, table, keys, None, show))
        if windows.tallies and next(iter(windows.values())).plan_id != document.id:
            windows = Windows(keys, {}, (*windows.before, replace(windows, before=())))
        return windows
    tallies = count_windows(document, Request(form, keys, round_number, show=show), source, table)
    refuse_foreign_table(form, tallies.values(), source, table)
    if by is None:
        return tallies.get((), _gather(document, {}, find_round(form, (), (), round_number)))
    return _name_windows(Windows(keys, tallies))


def _name_windows(windows: Windows) -> Windows:
    """Windows by one column are named by its values, and those by several by tuples of them."""
    return replace(
        windows,
        tallies={
            key[0] if isinstance(key, tuple) and len(key) == 1 else key: part for key, part in windows.items()
        },
    )


def join_rounds(document: PlanDocument, by: tuple[str, ...], of_plans: Sequence[Windows]) -> Windows:
    """The windows of the last plan by these columns, from those of each plan, which may be by round too."""
    others = {plan.id for plan in (*document.continues, document) if plan.most_reports == 1}
    *before, last = (
        _name_windows(part)
        for windows in of_plans
        for part in ([windows] if windows.by == by else _divide_rounds(by, windows, others))
    )
    return replace(last, before=tuple(part for part in before if part))


def join_others(document: PlanDocument, rounds: Sequence[Tallies]) -> Sequence[Tallies]:
    """Tallies of several rounds of a plan, as one where each device reports in one round only: then all
    reports are those of other people.
    """
    return [add_rounds(rounds)] if rounds and document.most_reports == 1 else rounds


def _divide_rounds(by: tuple[str, ...], windows: Windows, others: Collection[str]) -> list[Windows]:
    """The windows of the rounds of each day, those of the round with the most reports last.

    A report that waited on its device comes with those of the next round. In other windows than days, rounds
    are those of the same people: more than one is refused. Rounds of `others`, plans with other people in
    each, are added up.
    """
    rounds: dict[Hashable, list[Tallies]] = {}
    for window, tallies in windows.items():
        assert isinstance(window, tuple)
        rounds.setdefault(window[:-1], []).append(tallies)
    if {tallies.plan_id for tallies in windows.values()} <= {*others}:
        return [Windows(by, {key: add_rounds(parts) for key, parts in rounds.items()})]
    divided: list[dict[Hashable, Tallies]] = [{}]
    for key, parts in rounds.items():
        parts.sort(key=lambda tallies: tallies.n, reverse=True)
        counted = [tallies for tallies in parts if tallies.n]
        if len(counted) > 1 and find_day(key) is None:
            refuse_several([tallies.round for tallies in counted if tallies.round is not None])
        divided += [{} for _ in range(len(counted) - len(divided))]
        for of_round, tallies in zip(divided, counted, strict=False):
            of_round[key] = tallies
        nobody = parts[len(counted) :]  # their rows were refused
        divided[0][key] = reduce(add, nobody, divided[0][key]) if counted else reduce(add, nobody)
    return [Windows(by, of_round) for of_round in reversed(divided)]


def find_day(window: Window) -> date | None:
    """The day of a window, which one of its columns may name; None of other windows."""
    return next(filter(None, map(read_day, _as_item(window)[0])), None)


def tally_chain(
    document: PlanDocument, source: object, table: str | None, by: str, number: int | None, show: Show | None
) -> list[Windows]:
    """The tallies by window of a plan and of those that it continues, each plan by itself.

    Rounds stay apart: those of a window are of other people, or late.
    """
    return _count_plans(document, source, table, (by,), number, show)


def _count_plans(
    document: PlanDocument,
    source: object,
    table: str | None,
    by: tuple[str, ...],
    number: int | None,
    show: Show | None,
) -> list[Windows]:
    """The tallies by window of each plan of a chain whose columns a table has, and by round."""
    windows: list[Windows] = []
    missing: MissingColumn | None = None
    for plan in (document, *reversed(document.continues)) if number is None else (document,):
        form = plan.table_form
        is_apart = form.rounds > 1 and number is None and form.round_column not in by
        keys = (*by, form.round_column) if is_apart else by
        try:
            counted = count_windows(plan, Request(form, keys, number, show=show), source, table)
        except MissingColumn as problem:  # then there are no reports of this plan yet, or any more
            missing = missing or problem
            continue
        windows.insert(0, Windows(keys, counted))
    if missing is not None and not windows:
        raise missing
    if not any(tallies.n for of_plan in windows for tallies in of_plan.values()):
        refuse_foreign_table(document.table_form, windows[-1].tallies.values(), source, table)
    return windows


def join_refused(plan_id: str, windows: Sequence[Windows]) -> dict[str, int]:
    """How many rows are not counted, by reason, where those of some plans are; rows of these are of no other
    plan.
    """
    refused: dict[str, int] = {}
    rows: dict[str, int] = {}
    for of_plan in windows:
        for tallies in of_plan.values():
            whys = {why: n for why, n in tallies.refused.items() if why != "plan"}
            refused = add_refused(refused, whys)
            rows[tallies.plan_id] = rows.get(tallies.plan_id, 0) + tallies.n + sum(whys.values())
    of_last = [of_plan for of_plan in windows if any(part.plan_id == plan_id for part in of_plan.values())]
    others = sum(n for plan, n in rows.items() if plan != plan_id)
    foreign = sum(of_plan.refused.get("plan", 0) for of_plan in of_last) - others
    return add_refused(refused, {"plan": foreign}) if foreign > 0 else refused


def count_windows(
    document: PlanDocument, request: Request, source: object, table: str | None = None
) -> dict[tuple[Hashable, ...], Tallies]:
    """The tallies of each window that is asked for, in order."""
    form, keys = request.form, request.keys
    if len(set(keys)) < len(keys):
        raise InvalidParameter(f"by names a column twice: {', '.join(keys)}")
    windows: dict[tuple[Hashable, ...], dict[Hashable, Counted]] = {}
    for key, counted in count_source(request, source, table).items():
        group = None if form.group is None else dict(zip(request.by, key, strict=True))[form.group[0]]
        in_window = windows.setdefault(key[: len(keys)], {})
        in_window[group] = in_window[group] + counted if group in in_window else counted
    tallies = {}
    for key, groups in sorted(windows.items(), key=order_window):
        tallies[key] = _gather(document, groups, find_round(form, keys, key, request.number))
    return tallies


def find_round(
    form: TableForm, keys: Sequence[str], key: tuple[Hashable, ...], round_number: int | None
) -> int | None:
    """The round of a window: the only one, the one that is asked for, or what the window is by; None where
    the plan has no such round, as of messages that cannot be read.
    """
    in_key = dict(zip(keys, key, strict=True)).get(form.round_column)
    if form.rounds == 1 or round_number is not None:
        return round_number or 1
    return in_key if isinstance(in_key, int) and 1 <= in_key <= form.rounds else None


def estimate_windows(
    document: PlanDocument, windows: object, smooth: bool, sizes: object = None
) -> dict[Window, Estimates]:
    """The estimates of each window that has reports, weighted if known groups have these sizes."""
    if not isinstance(windows, Windows):
        as_in = "plan.estimate(plan.tally(reports))"
        raise InvalidReport(f"estimates are made from tallies, {as_in}, got {type(windows).__name__}")
    documents = {plan.id: plan for plan in document.continues}
    results: dict[Window, list[Estimates]] = {}
    for of_plan in (*windows.before, windows):
        for window, tallies in of_plan.items():
            if tallies.n:
                plan = documents.get(tallies.plan_id, document)
                estimates_of_plan = estimate_tallies(plan, tallies, smooth, may_be_empty=True)
                results.setdefault(window, []).append(estimates_of_plan)
    _refuse_empty(document, results)
    if sizes is not None:
        if any(
            len(of_plans) > 1 or of_plans[0].plan_id != document.id
            for of_plans in results.values()
            if of_plans
        ):
            raise InvalidParameter(
                "weights are for reports of one round to one plan, and these windows have others; leave "
                "weights out, or name a round"
            )
        results = {
            window: [weigh_estimates(part, sizes) for part in parts] for window, parts in results.items()
        }
    estimates = {}
    for window in filter(results.get, windows.records):
        # a device reports to one plan a day: in other windows, and in several rounds, people may be the same
        of_plans = results[window]
        is_apart = find_day(window) is not None and len({part.plan_id for part in of_plans}) == len(of_plans)
        estimates[window] = join_estimates_of_plans(of_plans, "others" if is_apart else "same")
    return estimates


def _refuse_empty(document: PlanDocument, results: Mapping[Window, Sequence[Estimates]]) -> None:
    """Refuse windows of which too few people reported for any estimate, to whichever plan."""
    for window, of_plans in results.items():
        if not any(of_plans):
            name, lack = next(iter(of_plans[-1].unreported.items()))
            is_text = not any(part.listed for part in document.parts)  # and the reason says what finds it
            remedy = "" if is_text else "; leave the reports of this window out"
            raise InvalidParameter(f"{' '.join(name_values(window))}: {name!r}: {lack.why}{remedy}")


def read_first_day(window: Window) -> date | None:
    """The day of a window that is by days first; None where its first column has no day."""
    return read_day(_as_item(window)[0][0])


def read_day(window: Hashable) -> date | None:
    """A day as a date, a time, or text or a number such as 2026-11-17 or 20261117; None of anything else.

    >>> read_day("2026-11-17") == read_day(20261117) == date(2026, 11, 17)
    True
    >>> read_day("Tuesday") is read_day(1712121234) is None
    True
    """
    if isinstance(window, datetime):
        return window.date()
    if isinstance(window, date):
        return window
    written = _WRITTEN.match(str(window))
    try:
        return None if written is None else date(*map(int, written.groups()))
    except ValueError:
        return None


def _as_item(window: Window) -> tuple[tuple[Hashable, ...], None]:
    """A window as one of several columns is."""
    return (window if isinstance(window, tuple) else (window,)), None


def order_window(item: tuple[tuple[Hashable, ...], object]) -> tuple[tuple[bool, str, Any], ...]:
    """Windows in order; those without a value last."""
    return tuple((value is None, type(value).__name__, 0 if value is None else value) for value in item[0])


def _gather(document: PlanDocument, groups: Mapping[Hashable, Counted], round_number: int | None) -> Tallies:
    """The tallies of one window, from those of its known groups."""
    nothing = document.mechanism.tally_nothing()
    counted = sum(groups.values(), Counted(0, nothing, {}, round_number))
    size = 0 if document.known is None else document.known.size
    by_group = (groups.get(group, Counted(0, nothing, {})).tallies for group in range(size))
    by_name = tuple(dict(zip(document.names, of_group, strict=True)) for of_group in by_group)
    tallies = add_groups(by_name) if by_name else dict(zip(document.names, counted.tallies, strict=True))
    return Tallies(document.id, counted.n, tallies, by_name, counted.refused, counted.round)


def refuse_foreign_table(
    form: TableForm, windows: Collection[Tallies | Counted], source: object, table: str | None = None
) -> None:
    """Refuse a table that is of another plan altogether, and name that plan."""
    other = sum(tallies.refused.get("plan", 0) for tallies in windows)
    refused = sum(sum(tallies.refused.values()) for tallies in windows)
    if other and other == refused and not any(tallies.n for tallies in windows):
        theirs = find_plan(form, source, table)
        other_plan = "" if theirs in (None, form.plan_id) else f", but for plan {str(theirs)[:12]}"
        raise InvalidReport(
            f"none of these {format_count(other, 'report')} was made for plan "
            f"{form.plan_id[:12]}{other_plan}; give the plan that they were made for"
        )
