"""Writes the known group of each person into a link, and says how to do without known groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from deniable.errors import InvalidParameter, not_among
from deniable.formatting import format_count

if TYPE_CHECKING:
    from deniable.study import Plan


def read_groups(texts: Sequence[str], plans: Sequence[Plan]) -> dict[str, str]:
    """Answers to known questions, by name, from texts such as arm=A."""
    names = [name for plan in plans if plan.document.known is not None for name in plan.document.known.names]
    answers: dict[str, str] = {}
    for text in texts:
        name, sign, answer = text.partition("=")
        if not sign or not answer:
            raise InvalidParameter(f"--group is a known question and an answer, such as arm=A, got {text!r}")
        if not names:
            raise InvalidParameter('--group is for plans with known groups: "known = true" in the study')
        if name not in names:
            raise InvalidParameter(not_among(name, "a known question", names))
        if name in answers:
            raise InvalidParameter(f"--group names {name!r} twice; make invitations for one group at a time")
        answers[name] = answer
    return answers


def write_group(plan: Plan, groups: Mapping[str, str], person: Mapping[str, str]) -> str:
    """What follows an invitation in its link: the answers that are given for all, or in the person's row.

    Nothing, where one of them is not known here: then the survey asks. But what is given for all is never
    dropped.
    """
    answers = _find_answers(plan, groups, person)
    return "".join(f"&group={quote(answer, safe='')}" for answer in answers.values())


def find_group(plan: Plan, groups: Mapping[str, str], person: Mapping[str, str]) -> int | None:
    """The number of the group that a link names; None where it names none."""
    answers = _find_answers(plan, groups, person)
    if plan.document.known is None or not answers:
        return None
    return int(plan.document.known.codes({name: [answer] for name, answer in answers.items()})[0])


def warn_groups(plan: Plan, groups: Mapping[str, str], people: Sequence[Mapping[str, str]]) -> list[str]:
    """What leads people to a survey that asks for their group: links and codes that do not name it."""
    known = plan.document.known
    if known is None:
        return []
    lacking = [i for i, person in enumerate(people, 1) if not _find_answers(plan, groups, person)]
    warnings = []
    if lacking:
        name = "names" if len(lacking) == 1 else "name"
        first = f" (first in row {lacking[0]} of the list)" if any(people) else ""
        warnings.append(
            f"{len(lacking):,} of {format_count(len(people), 'link')} {name} no {known.name!r}{first}: the "
            "survey asks these people for it; give it with --group, or in --addresses"
        )
    if len(lacking) < len(people):
        warnings.append(
            f"a code that is typed does not name {known.name!r}: the survey asks for it, and shows all its "
            "answers; where people must not know of groups, give them the links only"
        )
    return warnings


def _find_answers(plan: Plan, groups: Mapping[str, str], person: Mapping[str, str]) -> dict[str, str]:
    """The answers to all known questions, or none."""
    known = plan.document.known
    if known is None:
        return {}
    answers = {name: groups.get(name) or person.get(name) or "" for name in known.names}
    absent = [name for name in known.names if not answers[name]]
    if absent and groups.keys() & set(known.names):
        raise InvalidParameter(
            f"a link names all known questions or none, and --group leaves out {', '.join(absent)}; give an "
            f"answer to each, such as {' '.join(f'--group {name}=...' for name in absent)}, or a column of "
            "this name in the list of addresses"
        )
    if absent:
        return {}
    known.codes({name: [answer] for name, answer in answers.items()})  # refuses what is no answer
    return answers


def refuse_groups(plan: Plan, why: str, what_next: str) -> None:
    """Refuse a plan with known groups, and say how the shell does without them."""
    known = plan.document.known
    if known is not None:
        raise InvalidParameter(
            f"every report of this plan names {known.name!r}, {why}; leave out {_list_sections(known.names)} "
            f"of the study, make its plan with deniable plan, and {what_next}"
        )


def _list_sections(names: Sequence[str]) -> str:
    return " and ".join(f"[attributes.{name}]" for name in names)
