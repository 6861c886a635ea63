"""Adds up the tallies of a classifier, and finds those of each class, wherever a plan has the label."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from deniable.errors import DeniableWarning, InvalidParameter, InvalidReport
from deniable.learn.margins import Margins, read_cells, read_groups
from deniable.learn.questions import Label, Questions
from deniable.reports import Tallies
from deniable.results.windows import Windows
from deniable.study import Plan


def add_tallies(tallies: Sequence[object]) -> Tallies | Windows:
    """Adds tallies exactly: all of them, or those of each class."""
    for tally in tallies:
        if not isinstance(tally, Tallies | Windows):
            kind = type(tally).__name__
            raise InvalidReport(f"a model is made from tallies, plan.tally(reports), got {kind}")
    _refuse_twice(tallies)
    plain = [tally for tally in tallies if isinstance(tally, Tallies)]
    windows = [tally for tally in tallies if isinstance(tally, Windows)]
    if plain and windows:
        raise InvalidReport("tallies by a column and tallies of a plan that holds the label do not add up")
    if not tallies:
        raise InvalidParameter("there are no tallies to learn from; plan.tally(reports) makes them")
    if plain:
        return sum(plain[1:], plain[0])
    by_key = dict(windows[0].tallies)
    for more in windows[1:]:
        for key, tally in more.items():
            by_key[key] = by_key[key] + tally if key in by_key else tally
    return Windows(windows[0].by, by_key)


def _refuse_twice(tallies: Sequence[object]) -> None:
    """Refuse the same tallies twice; equal ones may be of other people, so they are only warned of."""
    for i, tally in enumerate(tallies):
        if any(tally is before for before in tallies[:i]):
            raise InvalidParameter(
                "the same tallies are given twice, and their people would count double; give each once"
            )
        if any(tally == before for before in tallies[:i]):
            warnings.warn(
                "two tallies are equal, as those of one file that is read twice: if they are of the same "
                "people, give one of them",
                DeniableWarning,
                stacklevel=5,
            )


def read_margins(
    plan: Plan, tallies: Tallies | Windows, label: Label | None, questions: Questions
) -> Margins:
    """The shares of all values in all classes, wherever the label is."""
    if isinstance(tallies, Tallies):
        _refuse_plan(tallies, plan)
        if label == "protected":
            return read_cells(plan, tallies, questions.target)
        if label == "public" and tallies.groups:
            return read_groups(plan, tallies.groups)
        raise InvalidReport(
            f"these tallies do not say which class reports are of; tally by the column that holds the label, "
            f'plan.tally(table, by="{questions.target}"), or make it a known group of the plan'
        )
    if label is not None or len(tallies.by) != 1:
        raise InvalidReport(
            "tallies by a column are for plans that ask for the columns alone; the label is that one column"
        )
    nothing = dict(zip(plan.names, plan.mechanism.tally_nothing(), strict=True))
    groups = [nothing] * questions.classes.k
    for key, tally in tallies.items():
        _refuse_plan(tally, plan)
        [code] = questions.classes.encode([key], questions.target).tolist()
        groups[code] = dict(tally.tallies)
    return read_groups(plan, groups)


def _refuse_plan(tallies: Tallies, plan: Plan) -> None:
    if tallies.plan_id != plan.id:
        raise InvalidReport(
            f"tallies are of plan {tallies.plan_id[:12]}, and this plan is {plan.id[:12]}; give the plan "
            "that people answered"
        )
