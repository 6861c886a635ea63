"""Explains what an attacker guesses of each answer who sees a report."""

from __future__ import annotations

import math
from collections.abc import Sequence

from deniable.choose import Considered, find_moved
from deniable.choose.influence import describe_moved
from deniable.formatting import format_percent, format_points, format_table
from deniable.plan.attribute import Attribute, list_related
from deniable.plan.document import Content
from deniable.plan.factors import list_answer_guesses
from deniable.plan.level_precision import name_levels
from deniable.plan.levels import find_divisor
from deniable.plan.pools import explain_pools
from deniable.plan.related import bound_related, guess_related

_MOST_RELATED = 4  # groups of questions that depend on each other
_MOST_NAMES = 6
_TEXT = ("protocol",)  # columns


def explain_guesses(content: Content, here: Considered) -> str:
    """A table of the attributes with the best guesses, and what its columns mean."""
    some = [content.mechanism.chance_real(j) < 1 for j in range(len(content.parts))]
    headers = [
        "attribute",
        "values",
        "protocol",
        "best guess",
        "if reported",
        "blind guess",
        "bytes",
    ]
    rows = []
    between = {one.name for levels in content.levels.values() for one in levels[1:-1]}
    names = name_levels(content.attributes)
    for j, (attribute, part) in enumerate(zip(content.attributes, content.parts, strict=True)):
        if attribute.name in between:
            continue  # the coarsest level and single values stand for all
        guesses = [
            format_percent(here.success[j], 1),
            format_percent(here.success_reported[j], 1) if some[j] else "",
            format_percent(part.blind if part.listed else 0.5, 1),
        ]
        numbers = [*guesses, str(part.report_bytes)]
        values = "a number" if part.numeric else f"{part.k:,}"
        if not part.listed:
            values = "not listed"
        rows.append([names[j], values, here.protocols[j], *numbers])
    lines = [
        *format_table(headers, rows, _TEXT),
        "best guess: how often an attacker who sees one whole report, and thinks all records equally likely, "
        "is right about a person's answer; the survey page states it, or one that is not below it",
    ]
    if any(some):  # an answer may not be in the report
        lines.append(
            "if reported: the same for people whose report holds that answer, if the attacker knows that it "
            "does"
        )
    if not all(part.listed for part in content.parts):
        lines.append("not listed: the guess is which of two answers it is, at most")
    lines += [*_explain_levels(content), *_explain_related(content), *_explain_answers(content)]
    moved = find_moved(here)
    if moved:
        worst = next(iter(moved))
        what = describe_moved(here, worst)
        lines.append(
            f"fake reports: 1 % of them moves {what} of {names[worst]!r} by up to "
            f"{format_points(moved[worst] / 100)}"
        )
    if any(part.numeric for part in content.parts):
        lines.append("a number: the guess is in which half of its range it is")
    lines += explain_pools(content)
    return "\n".join(lines)


def bound_group(content: Content, question: str) -> float:
    """How often whoever sees a whole report is right in which group of the coarsest level an answer is, at
    most: reports of all levels multiply the odds of a group by their ratio, at most.
    """
    levels = content.levels[question]
    bound = blind = _guess_blindly(levels)
    for level in levels:
        j = content.attributes.index(level)
        odds = float(content.parts[j].ratio) * blind
        bound += float(content.mechanism.chance(j)) * (odds / (odds + 1 - blind) - blind)
    return bound


def _guess_blindly(levels: Sequence[Attribute]) -> float:
    """How many of all values are in the largest group of the coarsest level; the last one may have fewer."""
    return find_divisor(levels[0]) / levels[-1].domain.k


def _explain_levels(content: Content) -> list[str]:
    """What all levels say about the groups of the coarsest, where a report holds one of them."""
    told = [
        f"{levels[0].domain.k:,} groups of {name!r} at most "
        f"{math.ceil(1000 * bound_group(content, name)) / 10:.1f} % (blind "
        f"{format_percent(_guess_blindly(levels), 1)})"
        for name, levels in content.levels.items()
        if levels[0].domain.listed
    ]
    if not told:
        return []
    return [
        "in groups: the best guess is by reports of that level alone. Those of other levels say something "
        f"about the group, too. By all of them the same attacker is right in which of {'; '.join(told)}: a "
        "bound, which the survey page states"
    ]


def _explain_related(content: Content) -> list[str]:
    """How often answers that depend on each other are guessed right from all of their reports."""
    exact, bounds = [], []
    for names in list_related(content.attributes):
        guesses = guess_related(content, names)
        if guesses is not None:
            guessed = ", ".join(
                f"{one.attribute!r} {format_percent(one.guess, 1)} (blind {format_percent(one.blind, 1)})"
                for one in guesses[:_MOST_NAMES]
            )
            exact.append((max(one.guess for one in guesses), guessed))
            continue
        known = bound_related(content, names)
        bounded = ", ".join(
            f"{one.attribute!r} at most {math.ceil(1000 * one.bound) / 10:.1f} % (a bound; blind "
            f"{format_percent(float(one.blind), 1)})"
            for one in known[:_MOST_NAMES]
        )
        bounds.append((float(max(one.bound for one in known)), bounded))
    if not exact and not bounds:
        return []
    told = [
        text
        for some in (exact, bounds)
        for _, text in sorted(some, key=lambda one: one[0], reverse=True)[:_MOST_RELATED]
    ]
    reports = "all their reports together" if content.rounds is None else "all their reports of one round"
    return [
        "These guesses take each answer alone. Where questions depend on each other, whether one applies "
        f"says something about the other. By {reports}, whoever thinks all values equally likely, where a "
        f"question applies, is right about {'; '.join(told)}"
    ]


def _explain_answers(content: Content) -> list[str]:
    """How often one answer in a table is guessed right from its report, where there are tables."""
    if not list_answer_guesses(content, forever=False):
        return []
    told = [f"one answer of a cell: the same attacker is right about {_tell_guesses(content, forever=False)}"]
    if content.rounds is not None:
        told.append(
            "the same from any number of reports, as long as no answer changes: "
            f"{_tell_guesses(content, forever=True)}"
        )
    return told


def _tell_guesses(content: Content, forever: bool) -> str:
    """The answers that are guessed most surely, and how often."""
    found = sorted(list_answer_guesses(content, forever), key=lambda one: one.blind - one.report)
    told = [
        f"{one.question!r} {format_percent(one.report, 1)} (if reported {format_percent(one.reported, 1)}, "
        f"blind {format_percent(one.blind, 1)})"
        if one.exact
        else f"{one.question!r} at most {math.ceil(1000 * one.report) / 10:.1f} % (a bound; blind "
        f"{format_percent(one.blind, 1)})"
        for one in found[:_MOST_NAMES]
    ]
    more = "" if len(found) <= _MOST_NAMES else f"; and {len(found) - _MOST_NAMES} more"
    return f"{'; '.join(told)}{more}"
