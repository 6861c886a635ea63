"""`deniable people`: says how many people a study takes, or what a number of people gives."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import click

from deniable.choose.objective import FOUND
from deniable.commands.shared import console, reading
from deniable.commands.shared.options import (
    FILE,
    POSITIVE,
    argument,
    as_request,
    option,
    taken,
    whole_from,
)
from deniable.errors import InvalidParameter
from deniable.formatting import fill_paragraph, format_count, format_percent, format_table, format_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable.choose import Precision
    from deniable.explain.change_precision import PeopleForChange
    from deniable.study import Plan

_EPSILONS = (0.5, 1.0, 2.0, 4.0)
_STEADY = 3  # rounds: a line through more of them is better known than a pair


@final
@dataclass(frozen=True)
class PeopleRequest:
    """A study, what is to be found in it, and how to show the people that it takes."""

    study: Path = argument("study", type=FILE)
    error: float | None = option(
        "--error",
        type=POSITIVE,
        help="How far off a share may be, in points either way (95 %), such as 3.",
    )
    people: int | None = option(
        "--people",
        type=whole_from(1, 10**15),
        help="The number of people who answer, such as 800.",
    )
    difference: float | None = option(
        "--difference",
        type=POSITIVE,
        help="The difference of two shares that must be found, in points, such as 5; with --of and --by.",
    )
    change: float | None = option(
        "--change",
        type=POSITIVE,
        help="The change from one round to another that must be found, in points, such as 5; with --of.",
    )
    of: str | None = option(
        "--of", metavar="QUESTION", help="The question whose shares differ, with --difference, or change."
    )
    by: str | None = option(
        "--by", metavar="QUESTION", help="The question whose answers are compared, with --difference."
    )
    share: float | None = option(
        "--share",
        type=POSITIVE,
        help="The smaller of the two shares, in percent, with --difference.  [default: 25]",
    )
    rounds: int | None = option(
        "--rounds",
        type=whole_from(2, 10**6),
        help="How often people are asked, with --change.  [default: as the study says]",
    )
    as_json: bool = taken(console.as_json)


@click.command("people")
@as_request(PeopleRequest)
def size_study(request: PeopleRequest) -> None:
    """Say how many people a study takes.

    With --error it is the number for that margin of error. With --people it is what this many people give,
    question by question. Means and medians may be off by as many hundredths of the range. With --difference
    it is the number for which a test finds that difference between two rows of a table, four times out of
    five. With --change it is the number that finds a change from one round to another as often, with the
    study's epsilon_first and with one near epsilon_forever.
    """
    _refuse_conflicts(request)
    for option_name, value, unit in (
        ("--error", request.error, "points"),
        ("--difference", request.difference, "points"),
        ("--change", request.change, "points"),
        ("--share", request.share, "percent"),
    ):
        if value is not None and value < 1:
            console.warn(
                f"{option_name} {value:g} is {value:g} {unit}; if {100 * value:g} {unit} were "
                f"meant, write {option_name} {100 * value:g}"
            )
    if request.difference is not None:
        _tell_difference(request, request.difference, 25.0 if request.share is None else request.share)
    elif request.change is not None:
        _tell_change(request, request.change)
    else:
        _tell_study(request)


def _refuse_conflicts(request: PeopleRequest) -> None:
    """Refuse options that do not go together."""
    goals = (request.error, request.people, request.difference, request.change)
    if sum(value is not None for value in goals) != 1:
        raise InvalidParameter(
            "give one of --error, such as 3 points, --people, such as 800, and --difference or --change, "
            "such as 5 points"
        )
    if request.difference is not None and (request.of is None or request.by is None):
        raise InvalidParameter("--difference takes --of and --by, the two questions of a table")
    if request.change is not None and request.of is None:
        raise InvalidParameter("--change takes --of, the question whose shares or mean may change")
    for_difference = request.by is not None or request.share is not None
    if for_difference and request.difference is None:
        raise InvalidParameter("--by and --share are for --difference")
    if request.of is not None and request.difference is None and request.change is None:
        raise InvalidParameter("--of is for --difference and --change")
    if request.rounds is not None and request.change is None:
        raise InvalidParameter("--rounds is for --change")
    if request.error is not None and request.error >= 100:
        raise InvalidParameter(f"--error is in points of a share, below 100, got {request.error:g}")
    if request.change is not None and request.change >= 100:
        raise InvalidParameter(f"--change is in points of a share, below 100, got {request.change:g}")


def _tell_study(request: PeopleRequest) -> None:
    """How many people a margin takes, or what so many people give, question by question."""
    study, error = request.study, request.error
    plans = reading.plan_study(study, request.people or 1)
    if error is not None:  # the plans of so many people may be others
        enough = max(_count_enough(_list_read(plan), error) for plan in plans)
        plans = reading.plan_study(study, enough)
    precisions = [_list_read(plan) for plan in plans]
    people = plans[0].document.people
    if error is not None:
        people = max(_count_enough(read, error) for read in precisions)
    if request.as_json:
        ids = {"plan": plans[0].id} if len(plans) == 1 else {"plans": [plan.id for plan in plans]}
        console.print_json(ids | _facts(list(chain.from_iterable(precisions)), error, people))
        return
    lines: list[str] = []
    for plan, read in zip(plans, precisions, strict=True):
        lines += [""] if lines else []
        lines += (
            _tell_margins(plan, read, len(plans) > 1)
            if error is None
            else _tell_needed(plan, read, error, len(plans) > 1)
        )
    if len(plans) > 1 and error is not None:
        lines += [
            "",
            f"enough for what is asked once and what is asked again: {format_count(people, 'person')}",
        ]
    click.echo("\n".join(lines))
    expected = "with as many people as you expect to answer: "
    console.say_next("plan", study, "--people", people, "-o", console.free_name("plan.json"), before=expected)


def _tell_difference(request: PeopleRequest, difference: float, share: float) -> None:
    """How many people find a difference, at the study's epsilon and at others."""
    from deniable.explain.table_precision import count_people

    if difference + share >= 100:
        raise InvalidParameter(f"shares are below 100 %, got {share:g} % and {share + difference:g} %")
    study, of, by = request.study, request.of, request.by
    assert of is not None
    assert by is not None
    plans = reading.plan_epsilons(study, _EPSILONS, of, by)
    needed = {
        epsilon: count_people(plan.document, of, by, difference / 100, share / 100)
        for epsilon, plan in plans.items()
    }
    own_epsilon = next(iter(needed))
    if request.as_json:
        question = {"of": of, "by": by, "difference": difference, "share": share}
        rows = [{"epsilon": epsilon, "people": people} for epsilon, people in needed.items()]
        console.print_json(question | {"people": needed[own_epsilon], "epsilons": rows})
        return
    others = [f"{people:,} at {epsilon:g}" for epsilon, people in needed.items() if epsilon != own_epsilon]
    click.echo(
        f"To tell {share:g} % from {share + difference:g} % for {of!r} in two rows of {by!r}, in four "
        f"studies of five (5 % test): {format_count(needed[own_epsilon], 'person')} at epsilon "
        f"{own_epsilon:g}, {', '.join(others)}."
    )
    console.say_next("plan", study, "--people", needed[own_epsilon], "-o", console.free_name("plan.json"))


def _tell_change(request: PeopleRequest, change: float) -> None:
    """How many people find a change, at the study's epsilon_first and at one near epsilon_forever."""
    from deniable.explain.change_precision import count_people_for_change

    of = request.of
    assert of is not None
    plans = reading.plan_firsts(request.study, request.rounds, of)
    needed = {
        first: count_people_for_change(plan.document, of, change / 100) for first, plan in plans.items()
    }
    if request.as_json:
        rows = [
            {
                "epsilon_first": first,
                "plan": plan.id,
                "losses": None if plan.loss.repeated is None else asdict(plan.loss.repeated),
                "readings": [count.to_dict() for count in needed[first]],
            }
            for first, plan in plans.items()
        ]
        rounds = next(iter(plans.values())).document.rounds
        console.print_json({"of": of, "change": change, "rounds": rounds, "epsilons": rows})
        return
    click.echo("\n".join(_write_change(of, change, plans, needed)))
    enough = _count_enough_for_change(next(iter(needed.values())))
    console.say_next("plan", request.study, "--people", enough, "-o", console.free_name("plan.json"))


def _write_change(
    of: str,
    change: float,
    plans: Mapping[float, Plan],
    needed: Mapping[float, Sequence[PeopleForChange]],
) -> list[str]:
    is_linked = all(plan.document.linked for plan in plans.values())
    rows = [
        [
            f"{first:g}",
            count.describe(),
            f"{count.population:,}",
            "not known" if count.same is None else f"{count.same:,}",
            f"{count.others:,}",
            *(["not known" if count.linked is None else f"{count.linked:,}"] if is_linked else []),
        ]
        for first, counts in needed.items()
        for count in counts
    ]
    headers = ["epsilon_first", "what changes", "the population", "these very people", "others each time"]
    headers += ["who answer both"] if is_linked else []
    lines = [
        f"{of}: people who find a change of {change:g} points from one round to another, in four studies of "
        "five (5 % test)",
        *format_table(headers, rows, headers[1:2]),
    ]
    notes = []
    if any(count.what == "mean" for counts in needed.values() for count in counts):
        notes.append("Of a mean, a point is a hundredth of the range.")
    if is_linked:
        notes.append("Those who answer both: if nine in ten of them keep their answers, by linked reports.")
    return [*lines, *map(fill_paragraph, [*notes, *_weigh_first(plans, needed), *_explain_rounds(plans)])]


def _count_enough_for_change(counts: Sequence[PeopleForChange]) -> int:
    """People who are enough for all that changes: linked ones where reports are linked."""
    return max(count.population if count.linked is None else count.linked for count in counts)


def _weigh_first(plans: Mapping[float, Plan], needed: Mapping[float, Sequence[PeopleForChange]]) -> list[str]:
    """What an epsilon_first near epsilon_forever saves and what it costs."""
    if len(plans) == 1:
        return []
    near = list(plans)[1]
    now, then = (plan.loss.repeated for plan in plans.values())
    assert now is not None
    assert then is not None
    people, fewer = (_count_enough_for_change(counts) for counts in needed.values())
    return [
        f"epsilon_first {near:g} would find it with {fewer:,} people in place of {people:,}: noise that "
        "people keep cancels, fresh noise does not.",
        "It is nearly free where answers stay: any number of reports of one answer gives away "
        f"{format_up(then.one_value_forever)} either way, but one report {format_up(then.one_report)} in "
        f"place of {format_up(now.one_report)}.",
        f"It is dear where answers change: {format_count(now.rounds, 'report')} of changing answers give "
        f"away {format_up(then.changing_values)} in place of {format_up(now.changing_values)}.",
    ]


def _explain_rounds(plans: Mapping[float, Plan]) -> list[str]:
    """What more rounds do: each pair takes as many people, and a steady change hardly fewer."""
    rounds = next(iter(plans.values())).document.rounds or 1
    if rounds <= _STEADY:
        return ["This is for any two rounds."]
    part = 6 * (rounds - 1) / (rounds * (rounds + 1))
    return [
        f"This is for any two rounds. A steady change, read off all {rounds:,} rounds, would take about "
        f"{format_percent(part)} of these people, if others answer each time."
    ]


def _list_read(plan: Plan) -> list[Precision]:
    """How well everything will be known that is read: of attributes, then tables by known groups."""
    from deniable.explain.table_precision import expect_tables

    known = () if plan.document.known is None else plan.document.known.names
    tables = expect_tables(plan.document) if known else []
    return [*plan.precisions(), *(table.share for table in tables if {table.of, table.by} & set(known))]


def _tell_needed(plan: Plan, precisions: Sequence[Precision], error: float, is_part: bool) -> list[str]:
    rows, needed = [], _count_enough(precisions, error)
    for precision in precisions:
        about = precision.describe() + (f" from {error:g} % on" if precision.what == FOUND else "")
        rows.append([precision.attribute, about, f"{precision.people_needed(error / 100):,}"])
    noisiest = max(precisions, key=lambda precision: precision.people_enough())
    return [
        f"{_name(plan, is_part)}: people for a margin of {error:g} points either way (95 %)",
        *format_table(["question", "what is read", "people"], rows, ["question", "what is read"]),
        f"enough for all of it: {format_count(needed, 'person')}",
        f"enough for a plan to call all of it useful: {noisiest.format_people()} people",
        *_explain_points(precisions, error),
        *_explain_turnout(replace(plan, document=replace(plan.document, people=needed))),
        *_explain_choice(plan),
    ]


def _tell_margins(plan: Plan, precisions: Sequence[Precision], is_part: bool) -> list[str]:
    headers = ["question", "what is read", "known to within", "worth"]
    rows = [
        [precision.attribute, precision.describe(), precision.format_margin(), precision.judge()]
        for precision in precisions
    ]
    return [
        f"{_name(plan, is_part)}: what is known from {format_count(plan.document.people, 'person')} (95 %, "
        "either way)",
        *format_table(headers, rows, ["question", "what is read", "worth"]),
        *_explain_turnout(plan),
        *_explain_choice(plan),
    ]


def _count_enough(precisions: Sequence[Precision], error: float) -> int:
    """People who are enough for every question."""
    return max(precision.people_needed(error / 100) for precision in precisions)


def _explain_points(precisions: Sequence[Precision], error: float) -> list[str]:
    """What the number means for a mean or median, and for values that nobody listed."""
    of_range = "Of a mean or median, a point is a hundredth of the range."
    of_found = (
        f"Values that nobody listed and {error:g} % of people have are found about half of the time with so "
        "many people."
    )
    is_range = any(precision.width is not None for precision in precisions)
    is_found = any(precision.what == FOUND for precision in precisions)
    return [of_range] * is_range + [of_found] * is_found


def _explain_turnout(plan: Plan) -> list[str]:
    from deniable.explain.explain import reconsider
    from deniable.explain.turnout import explain_turnout

    sentence = explain_turnout(plan.document, reconsider(plan.document, plan.considered))
    return [] if sentence is None else [sentence]


def _name(plan: Plan, is_part: bool) -> str:
    """The title, with how often its questions are asked where others are asked otherwise."""
    rounds = plan.document.rounds
    often = f", asked {'once' if rounds is None else f'in {rounds} rounds'}" if is_part else ""
    return f"{plan.document.title or 'This study'}{often} ({plan.considered[0].name})"


def _explain_choice(plan: Plan) -> list[str]:
    """What the name of the choice means."""
    from deniable.explain.choice_reasons import explain_name

    words = explain_name(plan.considered[0])
    name = plan.considered[0].name
    # the only protocol of a single question is explained under its own name
    return [words if words.startswith(f"{name}:") else f"{name}: {words}"] if words else []


def _facts(precisions: Sequence[Precision], error: float | None, people: int) -> dict[str, Any]:
    rows = []
    for precision in precisions:
        row = precision.to_dict()
        if error is not None:
            row = {key: row[key] for key in ("attribute", "what", "count", "width")}
            row["people"] = precision.people_needed(error / 100)
        rows.append(row)
    return {"error": error, "people": people, "questions": rows}
