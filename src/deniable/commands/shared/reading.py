"""Reads studies, plans and reports, and says in plain words what is wrong with a file, and where."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.commands.shared.console import free_name, note, write_command
from deniable.errors import DeniableError, InvalidParameter, InvalidReport

if TYPE_CHECKING:
    from deniable.frames import Show
    from deniable.reports import Tallies
    from deniable.results.health import HealthWatch
    from deniable.results.weights import Sizes
    from deniable.study import Plan, Result
    from deniable.study.study import Study

_NEAR = 0.9  # of epsilon_forever: there is hardly any fresh noise
_WHERE_PLANS_COME_FROM = "a plan is the JSON file that deniable plan writes"


def plan_study(
    path: Path, people: int, influence: float | None = None, continues: Path | None = None
) -> tuple[Plan, ...]:
    """The plan of a study in a file, or that of what is asked once and that of what is asked again; a cap on
    the influence of fake reports replaces that of the file. It may continue the plan in another file.
    """
    before = None if continues is None else read_plan(continues)
    study = read_study(path)
    if influence is not None:
        study = replace(study, objective=replace(study.objective, influence_cap=influence))
    try:
        return study.plans(people, continues=before)
    except InvalidParameter as problem:
        raise DeniableError(f"{path.name}: {problem}") from None


def name_plans(plans: Sequence[Plan]) -> list[str]:
    """What plans are called: the parts of one study share a title, and differ by how often they ask."""
    from deniable.plan.attribute import list_questions

    titles = [plan.document.title for plan in plans]
    names = []
    for document in (plan.document for plan in plans):
        name = document.title or ", ".join(list_questions(document.attributes))
        if document.title and titles.count(document.title) > 1:
            name += ", asked once" if document.rounds is None else f", asked in {document.rounds} rounds"
        names.append(name)
    return names


def _read_part(path: Path, *names: str) -> Study:
    """The part of a study in a file that asks these questions: what is asked once, or what is asked again."""
    parts = read_study(path).divide()
    for part in parts:
        if all(name in part.attributes for name in names):
            return part
    for name in names:
        if not any(name in part.attributes for part in parts):
            return parts[0]  # whose plan says that it has no such question
    raise DeniableError(
        f"{path.name}: no report holds {' and '.join(map(repr, names))}, of which one is asked once and one "
        "again; give both the same repeat"
    )


def plan_epsilons(path: Path, epsilons: Sequence[float], of: str, by: str) -> dict[float, Plan]:
    """The plans of a study at its own epsilon, and at others; of its part that asks both questions."""
    study = _read_part(path, of, by)
    if study.epsilon is None:
        raise DeniableError(f"{path.name}: this is for studies that ask once, with one epsilon for all")
    tried = dict.fromkeys([study.epsilon, *epsilons])
    try:
        return {epsilon: replace(study, epsilon=epsilon).plan(1) for epsilon in tried}
    except InvalidParameter as problem:
        raise DeniableError(f"{path.name}: {problem}") from None


def plan_firsts(path: Path, rounds: int | None, of: str) -> dict[float, Plan]:
    """The plans of a study that asks a question again at its own epsilon_first, and near epsilon_forever."""
    study = _read_part(path, of)
    first, forever = study.epsilon_first, study.epsilon_forever
    if first is None or forever is None:
        raise DeniableError(
            f"{path.name}: {of!r} is asked once; a change is of what is asked again: give epsilon_first, for "
            "one report, and epsilon_forever, for any number of reports of one value, in place of epsilon; "
            "or beside it, with repeat = 4 in the section of each question that is asked again"
        )
    study = replace(study, rounds=rounds or study.rounds)
    near = float(f"{_NEAR * forever:.12g}")
    try:
        plans = {first: study.plan(1)}
    except InvalidParameter as problem:
        raise DeniableError(f"{path.name}: {problem}") from None
    if near > first and not study.changes:  # fresh noise has no use for it
        with suppress(InvalidParameter):  # not every protocol gets that near
            plans[near] = replace(study, epsilon_first=near).plan(1)
    return plans


def read_study(path: Path) -> Study:
    """The study in a file; what is none is named for what it is."""
    from deniable.frames import file_kind
    from deniable.study.study import Study

    try:
        return Study.read(path)
    except InvalidParameter as problem:
        kind = file_kind(path)
        if kind and kind != "a study":
            lacks = ": it has no [attributes], the questions of one" if kind == "a TOML file" else ""
            raise DeniableError(
                f"{path.name} is {kind}, not a study{lacks}; deniable init writes an example of one"
            ) from None
        raise DeniableError(str(problem)) from None


def read_plan(path: Path) -> Plan:
    """The plan in a file, or what is there instead."""
    from deniable.frames.files import PLAN, file_kind
    from deniable.plan import InvalidPlan
    from deniable.study import Plan

    try:
        return Plan.read(path)
    except InvalidPlan as problem:
        kind = file_kind(path)
        if kind == "a study":
            command = write_command("plan", path, "--people", 50000, "-o", free_name("plan.json"))
            raise InvalidPlan(
                f"{path.name} is a study, not a plan; make a plan of it with: {command}"
            ) from None
        if kind != PLAN:
            raise InvalidPlan(
                f"{path.name} is {kind or 'no JSON'}, not a plan; {_WHERE_PLANS_COME_FROM}"
            ) from None
        raise InvalidPlan(f"{path.name} is refused: {problem}") from None


def read_tallies(plan: Plan, path: Path, show: Show, watch: HealthWatch | None = None) -> Tallies:
    """All reports of a file, counted; `watch` looks at them."""
    blocks = plan.read_reports(path, show)
    total = plan.tally(blocks if watch is None else watch.look(blocks))
    if not total.n:
        raise InvalidReport(f"there are no reports in {path.name}")
    return total


def read_sizes(path: Path | None) -> Sizes | None:
    """The sizes of known groups in a file; None where none is given."""
    from deniable.results.weights import read_weights

    return None if path is None else read_weights(path)


def weigh(result: Result, sizes: Sizes | None) -> Result:
    """The result of a population in which known groups have these sizes, if any are given."""
    return result if sizes is None else result.weighted(sizes)


def find_token(source: str | tuple[str, ...], token_file: Path | None) -> str | None:
    """The token for a collector; a store takes none, and neither do files."""
    from deniable.collect import reading

    if isinstance(source, tuple) or not source.startswith(("http://", "https://")):
        return None
    file = reading.token_file_for(source, token_file)
    if file is not None and token_file is None:
        note(f"the operator's token is from {file}")
    return reading.find_token(file, source)


def refuse_groups(plan: Plan, why: str, what_next: str) -> None:
    """Refuse a plan with known groups, and say how the shell does without them."""
    known = plan.document.known
    if known is not None:
        sections = " and ".join(f"[attributes.{name}]" for name in known.names)
        raise InvalidParameter(
            f"every report of this plan names {known.name!r}, {why}; leave out {sections} "
            f"of the study, make its plan with deniable plan, and {what_next}"
        )
