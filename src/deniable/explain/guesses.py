"""States how often an attacker who sees a report guesses each answer: the one source of these numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from deniable.choose import Considered, find_moved
from deniable.choose.influence import describe_moved
from deniable.explain.factors import AnswerGuess, list_answer_guesses
from deniable.explain.level_precision import name_levels
from deniable.explain.pools import explain_pools
from deniable.explain.related import bound_related, guess_related, list_related_guesses
from deniable.explain.text_questions import list_unlisted
from deniable.formatting import format_percent, format_points, format_table
from deniable.plan.attribute import Attribute, list_related
from deniable.plan.document import PlanDocument
from deniable.plan.levels import find_divisor

_MOST_RELATED = 4  # groups of questions that depend on each other
_MOST_NAMES = 6
_TEXT = ("protocol",)  # columns


HALF = "in which half of its range it is"
TWO = "which of two answers it is, at most"


@final
@dataclass(frozen=True)
class Guess:
    """How often the best guess of an answer is right, if all records are equally likely."""

    attribute: str
    """The attribute, or the question that is one answer of a table."""
    what: str
    """What is guessed, where it is not the value: "in which half of its range it is"."""
    blind: float
    """Without a report."""
    report: float
    """From one whole report, which may not hold the answer."""
    reported: float
    """From a report that is known to hold the answer."""
    together: float | None = None
    """From the reports of all questions that depend on each other, where that is known."""
    together_blind: float | None = None
    most: float | None = None
    """Of an answer of a table: the bound for every attacker, whatever they know of the other answers."""

    def to_dict(self) -> dict[str, Any]:
        """The figures that there are, ready for JSON."""
        return {name: value for name, value in vars(self).items() if value is not None}


def guess_attributes(document: PlanDocument, here: Considered) -> list[Guess]:
    """The guess of every attribute, in the order of the plan, by the figures of its row."""
    related = list_related_guesses(document)
    guesses = []
    for j, (attribute, part) in enumerate(zip(document.attributes, document.parts, strict=True)):
        what = HALF if part.numeric else "" if part.listed else TWO
        together = related.get(attribute.name)
        guesses.append(
            Guess(
                attribute.name,
                what,
                blind=part.blind if part.listed else 0.5,
                report=here.success[j],
                reported=here.success_reported[j],
                together=None if together is None else together.guess,
                together_blind=None if together is None else together.blind,
            )
        )
    return guesses


def guess_questions(document: PlanDocument, here: Considered) -> list[Guess]:
    """The guess of every question as people are asked it: levels are one row for the group that is guessed
    most often and one for the value, text is one row, and every answer of a table has its own after it.
    """
    names = name_levels(document.attributes)
    unlisted = list_unlisted(document)
    coarse = {level.name: levels[-1].name for levels in document.levels.values() for level in levels[:-1]}
    guesses = guess_attributes(document, here)
    easiest: dict[str, Guess] = {}
    for guess, name in zip(guesses, names, strict=True):
        question = coarse.get(guess.attribute)
        if question is not None and (question not in easiest or guess.reported > easiest[question].reported):
            easiest[question] = replace(guess, attribute=name)
    rows: list[Guess] = []
    for guess in guesses:
        if guess.attribute in coarse:
            continue
        text = unlisted.get(guess.attribute)
        if text is not None:
            reported = max(part.tell_two() for part in text.mechanisms)
            rows.append(replace(guess, report=text.tell_two(), reported=reported))
        elif guess.attribute in easiest:
            rows += [easiest[guess.attribute], guess]
        else:
            rows.append(guess)
    return [*rows, *(_guess_in_table(document, answer) for answer in list_answer_guesses(document, False))]


def _guess_in_table(document: PlanDocument, answer: AnswerGuess) -> Guess:
    figures = answer.blind, answer.report, answer.reported
    what = "as one answer of a table" if answer.exact else "as one answer of a table, at most"
    return Guess(answer.question, what, *figures, most=bound_answer(document, answer.question))


def bound_answer(document: PlanDocument, question: str) -> float:
    """How often any attacker is right about one answer of a table, whatever they know of the other answers,
    if all its values are equally likely to them: a report multiplies the odds by the ratio, at most.
    """
    blind = 1 / document.domains[question].k
    odds = math.exp(document.loss_among(document.changed[question])) * blind
    return odds / (odds + 1 - blind)


def explain_guesses(document: PlanDocument, here: Considered) -> str:
    """A table of the attributes with the best guesses, and what its columns mean."""
    some = [document.mechanism.chance_real(j) < 1 for j in range(len(document.parts))]
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
    between = {level.name for levels in document.levels.values() for level in levels[1:-1]}
    names = name_levels(document.attributes)
    for j, (guess, part) in enumerate(zip(guess_attributes(document, here), document.parts, strict=True)):
        if guess.attribute in between:
            continue  # the coarsest level and single values stand for all
        figures = [
            format_percent(guess.report, 1),
            format_percent(guess.reported, 1) if some[j] else "",
            format_percent(guess.blind, 1),
        ]
        values = "a number" if part.numeric else f"{part.k:,}" if part.listed else "not listed"
        rows.append([names[j], values, here.protocols[j], *figures, str(part.report_bytes)])
    lines = [
        *format_table(headers, rows, _TEXT),
        "best guess: how often an attacker who sees one whole report, and thinks all records equally likely, "
        "is right about a person's answer; the survey page states it, and of hashes and of questions that "
        "depend on each other a bound above it",
    ]
    if any(some):  # an answer may not be in the report
        lines.append(
            "if reported: the same for people whose report holds that answer, if the attacker knows that it "
            "does"
        )
    if not all(part.listed for part in document.parts):
        lines.append(f"not listed: the guess is {TWO}")
    lines += [*_explain_levels(document), *_explain_related(document), *_explain_answers(document)]
    moved = find_moved(here)
    if moved:
        worst = next(iter(moved))
        what = describe_moved(here, worst)
        lines.append(
            f"fake reports: 1 % of them moves {what} of {names[worst]!r} by up to "
            f"{format_points(moved[worst] / 100)}"
        )
    if any(part.numeric for part in document.parts):
        lines.append(f"a number: the guess is {HALF}")
    lines += explain_pools(document)
    return "\n".join(lines)


def bound_group(document: PlanDocument, question: str) -> float:
    """How often whoever sees a whole report is right in which group of the coarsest level an answer is, at
    most: reports of all levels multiply the odds of a group by their ratio, at most.
    """
    levels = document.levels[question]
    bound = blind = _guess_blindly(levels)
    for level in levels:
        j = document.attributes.index(level)
        odds = float(document.parts[j].ratio) * blind
        bound += float(document.mechanism.chance(j)) * (odds / (odds + 1 - blind) - blind)
    return bound


def _guess_blindly(levels: Sequence[Attribute]) -> float:
    """How many of all values are in the largest group of the coarsest level; the last one may have fewer."""
    return find_divisor(levels[0]) / levels[-1].domain.k


def _explain_levels(document: PlanDocument) -> list[str]:
    """What all levels say about the groups of the coarsest, where a report holds one of them."""
    told = [
        f"{levels[0].domain.k:,} groups of {name!r} at most "
        f"{math.ceil(1000 * bound_group(document, name)) / 10:.1f} % (blind "
        f"{format_percent(_guess_blindly(levels), 1)})"
        for name, levels in document.levels.items()
        if levels[0].domain.listed
    ]
    if not told:
        return []
    return [
        "in groups: the best guess is by reports of that level alone. Those of other levels say something "
        f"about the group, too. By all of them the same attacker is right in which of {'; '.join(told)}: a "
        "bound, which the survey page states"
    ]


def _explain_related(document: PlanDocument) -> list[str]:
    """How often answers that depend on each other are guessed right from all of their reports."""
    exact, bounds = [], []
    for names in list_related(document.attributes):
        guesses = guess_related(document, names)
        if guesses is not None:
            guessed = ", ".join(
                f"{one.attribute!r} {format_percent(one.guess, 1)} (blind {format_percent(one.blind, 1)})"
                for one in guesses[:_MOST_NAMES]
            )
            exact.append((max(one.guess for one in guesses), guessed))
            continue
        known = bound_related(document, names)
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
    reports = "all their reports together" if document.rounds is None else "all their reports of one round"
    return [
        "These guesses take each answer alone. Where questions depend on each other, whether one applies "
        f"says something about the other. By {reports}, whoever thinks all values equally likely, where a "
        f"question applies, is right about {'; '.join(told)}"
    ]


def _explain_answers(document: PlanDocument) -> list[str]:
    """How often one answer in a table is guessed right from its report, where there are tables."""
    if not list_answer_guesses(document, forever=False):
        return []
    lines = [
        "one answer of a table: the same attacker is right about "
        f"{_format_answers(document, forever=False)}. Whoever knows the other answers is right at most so "
        f"often, which the survey page states: {_format_bounds(document)}"
    ]
    if document.rounds is not None:
        lines.append(
            "from any number of reports, as long as no answer changes, that attacker is right about "
            f"{_format_answers(document, forever=True)}"
        )
    return lines


def _format_bounds(document: PlanDocument) -> str:
    answers = list_answer_guesses(document, forever=False)
    bounds = {answer.question: bound_answer(document, answer.question) for answer in answers}
    names = sorted(bounds, key=lambda name: -bounds[name])
    text = ", ".join(f"{name!r} {math.ceil(1000 * bounds[name]) / 10:.1f} %" for name in names[:_MOST_NAMES])
    return text if len(names) <= _MOST_NAMES else f"{text}, and {len(names) - _MOST_NAMES} more"


def _format_answers(document: PlanDocument, forever: bool) -> str:
    """The answers that are guessed most surely, and how often."""
    answers = sorted(list_answer_guesses(document, forever), key=lambda answer: answer.blind - answer.report)
    texts = [
        f"{answer.question!r} {format_percent(answer.report, 1)} (if reported "
        f"{format_percent(answer.reported, 1)}, blind {format_percent(answer.blind, 1)})"
        if answer.exact
        else f"{answer.question!r} at most {math.ceil(1000 * answer.report) / 10:.1f} % (a bound; blind "
        f"{format_percent(answer.blind, 1)})"
        for answer in answers[:_MOST_NAMES]
    ]
    more = "" if len(answers) <= _MOST_NAMES else f"; and {len(answers) - _MOST_NAMES} more"
    return f"{'; '.join(texts)}{more}"
