"""`deniable people`: says how many people a study takes, or what a number of people gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable.choose.objective import FOUND
from deniable.commands.shared import console, reading
from deniable.commands.shared.options import FILE, POSITIVE, whole_from
from deniable.errors import InvalidParameter
from deniable.formatting import format_count, format_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable.choose import Precision
    from deniable.study import Plan

_EPSILONS = (0.5, 1.0, 2.0, 4.0)


@click.command("people")
@click.argument("study", type=FILE)
@click.option(
    "--error", type=POSITIVE, help="How far off a share may be, in points either way (95 %), such as 3."
)
@click.option("--people", type=whole_from(1, 10**15), help="The number of people who answer, such as 800.")
@click.option(
    "--difference",
    type=POSITIVE,
    help="The difference of two shares that must be found, in points, such as 5; with --of and --by.",
)
@click.option("--of", metavar="QUESTION", help="The question whose shares differ, with --difference.")
@click.option("--by", metavar="QUESTION", help="The question whose answers are compared, with --difference.")
@click.option(
    "--share",
    type=POSITIVE,
    help="The smaller of the two shares, in percent, with --difference.  [default: 25]",
)
@console.as_json
def size_study(
    study: Path,
    error: float | None,
    people: int | None,
    difference: float | None,
    of: str | None,
    by: str | None,
    share: float | None,
    as_json: bool,
) -> None:
    """Say how many people a study takes.

    With --error it is the number for that margin of error. With --people it is what this many people give,
    question by question. Means and medians may be off by as many hundredths of the range. With --difference
    it is the number for which a test finds that difference between two rows of a table, four times out of
    five.
    """
    if sum(value is not None for value in (error, people, difference)) != 1:
        raise InvalidParameter(
            "give one of --error, such as 3 points, --people, such as 800, or --difference, such as 5 points"
        )
    for option, value, unit in (
        ("--error", error, "points"),
        ("--difference", difference, "points"),
        ("--share", share, "percent"),
    ):
        if value is not None and value < 1:
            console.warn(
                f"{option} {value:g} is {value:g} {unit}; if {100 * value:g} {unit} were meant, "
                f"write {option} {100 * value:g}"
            )
    if difference is not None:
        if of is None or by is None:
            raise InvalidParameter("--difference takes --of and --by, the two questions of a table")
        _tell_difference(study, difference, of, by, 25.0 if share is None else share, as_json)
        return
    if of or by or share is not None:
        raise InvalidParameter("--of, --by and --share are for --difference")
    if error is not None and error >= 100:
        raise InvalidParameter(f"--error is in points of a share, below 100, got {error:g}")
    plan = reading.plan_study(study, people or 1)
    if error is not None:  # the plan of so many people may be another one
        plan = reading.plan_study(study, _count_enough(_list_read(plan), error))
    precisions = _list_read(plan)
    people = plan.document.people if error is None else _count_enough(precisions, error)
    if as_json:
        console.print_json(_facts(plan, precisions, error, people))
        return
    lines = (
        _tell_margins(plan, precisions) if error is None else _tell_needed(plan, precisions, error, people)
    )
    click.echo("\n".join(lines))
    expected = "with as many people as you expect to answer: "
    console.say_next("plan", study, "--people", people, "-o", console.free_name("plan.json"), before=expected)


def _tell_difference(study: Path, difference: float, of: str, by: str, share: float, as_json: bool) -> None:
    """How many people find a difference, at the study's epsilon and at others."""
    from deniable.explain.table_precision import count_people

    if difference + share >= 100:
        raise InvalidParameter(f"shares are below 100 %, got {share:g} % and {share + difference:g} %")
    plans = reading.plan_epsilons(study, _EPSILONS)
    needed = {
        epsilon: count_people(plan.document, of, by, difference / 100, share / 100)
        for epsilon, plan in plans.items()
    }
    own_epsilon = next(iter(needed))
    if as_json:
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


def _list_read(plan: Plan) -> list[Precision]:
    """How well everything will be known that is read: of attributes, then tables by known groups."""
    from deniable.explain.table_precision import expect_tables

    known = () if plan.document.known is None else plan.document.known.names
    tables = expect_tables(plan.document) if known else []
    return [*plan.precisions(), *(table.share for table in tables if {table.of, table.by} & set(known))]


def _tell_needed(plan: Plan, precisions: Sequence[Precision], error: float, needed: int) -> list[str]:
    rows = []
    for precision in precisions:
        about = precision.describe() + (f" from {error:g} % on" if precision.what == FOUND else "")
        rows.append([precision.attribute, about, f"{precision.people_needed(error / 100):,}"])
    noisiest = max(precisions, key=lambda precision: precision.people_enough())
    return [
        f"{_name(plan)}: people for a margin of {error:g} points either way (95 %)",
        *format_table(["question", "what is read", "people"], rows, ["question", "what is read"]),
        f"enough for all of it: {format_count(needed, 'person')}",
        f"enough for a plan to call all of it useful: {noisiest.format_people()} people",
        *_explain_points(precisions, error),
        *_explain_turnout(replace(plan, document=replace(plan.document, people=needed))),
        *_explain_choice(plan),
    ]


def _tell_margins(plan: Plan, precisions: Sequence[Precision]) -> list[str]:
    headers = ["question", "what is read", "known to within", "worth"]
    rows = [
        [precision.attribute, precision.describe(), precision.format_margin(), precision.judge()]
        for precision in precisions
    ]
    return [
        f"{_name(plan)}: what is known from {format_count(plan.document.people, 'person')} (95 %, either "
        "way)",
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


def _name(plan: Plan) -> str:
    return f"{plan.document.title or 'This study'} ({plan.considered[0].name})"


def _explain_choice(plan: Plan) -> list[str]:
    """What the name of the choice means."""
    from deniable.explain.choice_reasons import explain_name

    words = explain_name(plan.considered[0])
    name = plan.considered[0].name
    # the only protocol of a single question is explained under its own name
    return [words if words.startswith(f"{name}:") else f"{name}: {words}"] if words else []


def _facts(plan: Plan, precisions: Sequence[Precision], error: float | None, people: int) -> dict[str, Any]:
    rows = []
    for precision in precisions:
        row = precision.to_dict()
        if error is not None:
            row = {key: row[key] for key in ("attribute", "what", "count", "width")}
            row["people"] = precision.people_needed(error / 100)
        rows.append(row)
    return {"plan": plan.id, "error": error, "people": people, "questions": rows}
