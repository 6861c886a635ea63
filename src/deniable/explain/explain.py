"""Explains a plan in plain words: expectations, losses, what was considered, and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from textwrap import fill

from deniable.choose import (
    Considered,
    Objective,
    explain_division,
    exposure,
    list_readings,
    plainer,
    warn_distant,
    warn_influence,
    warning,
)
from deniable.choose.candidate import bound_guess, reveal_all
from deniable.choose.objective import SHARES
from deniable.domain import Coarse, Product
from deniable.explain.choice_reasons import explain_choice, tabulate_choices, tabulate_precisions
from deniable.explain.continued import explain_continued
from deniable.explain.device_limit import warn_limit
from deniable.explain.guarantees import explain_crowd, explain_losses
from deniable.explain.guesses import explain_guesses
from deniable.explain.level_precision import anticipate_levels, explain_drawn
from deniable.explain.questions import explain_questions, warn_alike
from deniable.explain.references import name_protocol
from deniable.explain.summary import format_rounds
from deniable.explain.table_precision import explain_known, warn_groups
from deniable.explain.text_questions import list_unlisted
from deniable.explain.turnout import explain_turnout
from deniable.formatting import format_count, shorten_names
from deniable.plan.attribute import Attribute, find_allowed, list_questions, list_several
from deniable.plan.chain import bound_question
from deniable.plan.document import PlanDocument

_MOST_NAMES = 6
_WIDTH = 110


def explain_plan(document: PlanDocument, considered: Sequence[Considered] = ()) -> str:
    """The whole text, a paragraph for each question that a reader has."""
    row = reconsider(document, considered)
    paragraphs = [
        _opening(document),
        *(f"WARNING. {text}" for text in _warnings(document, row)),
        "\n".join(filter(None, [tabulate_precisions(row), explain_turnout(document, row)])),
        "\n".join(question.explain_limit(document.people) for question in list_unlisted(document).values()),
        explain_guesses(document, row),
        explain_losses(document),
        explain_continued(document),
        explain_known(document),
        _missing(document),
        "\n".join(explain_questions(document)),
        _explain_rounds(document),
        _explain_dependence(document),
        explain_crowd(document),
        explain_choice(considered),
        explain_division(considered, document.most_reports),
        tabulate_choices(considered, document.rounds and document.most_reports),
    ]
    return "\n\n".join(_wrap(paragraph) for paragraph in paragraphs if paragraph)


def _explain_rounds(document: PlanDocument) -> str:
    """How well a change will be known, where people are asked again."""
    if document.rounds is None:
        return ""
    known = (
        "A change from one round to another is known to within twice these margins, whoever answers in each: "
        "rounds depend on each other, since the same people may answer in both."
    )
    if document.linked:
        known += " That of those who answered both is known better, person by person: reports are linked."
    return known


def _explain_dependence(document: PlanDocument) -> str:
    """Which tables will be read; or that reports with one of the answers show no dependence."""
    from deniable.explain.question_pairs import point_to_tables

    tables = point_to_tables(document, shell=True)
    if tables:
        return f"Reports hold {tables}."
    answered = [attribute for attribute in document.attributes if not attribute.domain.is_level]
    together = any(isinstance(attribute.domain, Product) for attribute in document.attributes)
    if document.known is not None or together or len(answered) == 1 or document.mechanism.reported > 1:
        return ""
    advice = "To learn it, ask for both at once, with together = [[...]] in the study"
    if sum(attribute.domain.listed for attribute in answered) <= 1:
        advice = "A table takes two questions whose values are listed"
    elif coarse := {
        attribute.domain.question: None
        for attribute in document.attributes
        if isinstance(attribute.domain, Coarse) and attribute.domain.listed
    }:
        names = shorten_names([repr(name) for name in coarse])
        advice += (
            f", where {names} {'has' if len(coarse) == 1 else 'have'} fewer values and queries = 'values'"
        )
    return f"No number of these reports shows how one answer depends on another. {advice}."


def _opening(document: PlanDocument) -> str:
    title = f" · {document.title}" if document.title else ""
    # nobody is asked for a level
    many = sum(not attribute.domain.is_level for attribute in document.attributes)
    size = f"{format_count(document.people, 'person')}, {format_count(many, 'attribute')}"
    how = explain_drawn(document) or document.mechanism.explain(document.names)
    is_kept_as_sent = any(part.repeated and part.permanent is part for part in document.parts)
    fresh = [attribute.name for attribute, part in document.pairs if not part.repeated]
    if document.rounds is not None and is_kept_as_sent:
        how += (
            " They are asked again and again: a random answer is kept and sent every time, so that a "
            "change shows."
        )
    elif document.rounds is not None:
        kept = (
            "a first answer is" if document.mechanism.fake(0) is None else "first answers, also of fakes, are"
        )
        how += f" They are asked again and again: {kept} kept, and reported with fresh noise each time."
        if fresh:
            names = shorten_names([repr(name) for name in fresh])
            how += f" Nothing is kept of what changes, and each round draws all of its noise anew: {names}."
    if document.turns is not None:
        present = round(document.people * document.presence)
        how += (
            f" A device answers in {format_rounds(document)}, which it draws once and keeps, so that about "
            f"{format_count(present, 'person')} answer in each."
        )
    if document.ticket_key is not None:
        how += " People come by invitation, and exchange it for a ticket that nobody can link to it."
    if document.linked:
        how += " All reports of a person carry one pseudonym, which is in no other plan."
    if document.linked and document.ticket_key is not None:
        how += " So a report that is linked to its invitation after all links those of all rounds."
    return f"Plan {document.id[:12]}{title}\n{size}. {how}"


def _missing(document: PlanDocument) -> str:
    """What becomes of missing answers: of most questions, then of those that say otherwise, by question."""
    said_elsewhere = {attribute.answers for attribute in document.attributes}
    policies = {
        attribute.several or attribute.name: attribute.missing
        for attribute in document.attributes
        if attribute.answers is None
        and attribute.name not in said_elsewhere
        and not attribute.domain.is_level
    }
    usual = [name for name, policy in policies.items() if policy is None]
    are_all = len(usual) == len(list_questions(document.attributes))
    sentences = [_usual_missing(document, [] if are_all else usual)] if usual else []
    means = {"value": 'one more value, "no answer"', "random": "a random value", "refuse": "refused"}
    for policy, meaning in means.items():
        names = [name for name, stated in policies.items() if stated == policy]
        if names:
            sentences.append(f"A missing answer to {_name_any(names)} is {meaning}.")
    return " ".join(sentences)


def _name_any(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMES + 1:  # one more is as soon named as counted
        listed = ", ".join(map(repr, names[:_MOST_NAMES]))
        return f"{listed} or one of {len(names) - _MOST_NAMES} other questions"
    *first, last = map(repr, names)
    return f"{', '.join(first)} or {last}" if first else last


def _usual_missing(document: PlanDocument, names: Sequence[str]) -> str:
    """What becomes of missing answers to these questions, or to all."""
    if document.missing == "value":
        return 'A missing answer is a value of its own, "no answer", and as deniable as any other.'
    if document.missing == "random":
        return (
            "A missing answer becomes a random value, all equally likely, before it is reported. Estimates "
            "are then of answers and random values together: if a part m is missing, m / k of each estimate "
            "is random."
        )
    to = f" to {_name_any(names)}" if names else ""
    return f"A record with a missing answer{to} is refused."


def _warnings(document: PlanDocument, row: Considered) -> list[str]:
    from deniable.explain.question_pairs import warn_random

    noise, revealed = warning(row, document.people), exposure(row)
    if noise and revealed:  # each alone would send the reader to the other
        revealed += (
            " With this few people no epsilon helps: a smaller one makes the shares noisier, and a larger "
            "one reveals more about each person. Ask more people, or about fewer values."
        )
    # a plan with tickets takes only people who were invited
    alone = len(list_questions(document.attributes)) == 1
    fakes = warn_influence(row, alone) if document.ticket_key is None else None
    limits = warn_limit(document), warn_groups(document), warn_random(document), warn_alike(document)
    texts = (*limits, noise, revealed, warn_distant(row), fakes, plainer(row))
    return [text for text in texts if text is not None]


def list_warnings(document: PlanDocument, considered: Sequence[Considered]) -> list[str]:
    """What to know before anybody answers, a text each; none where all is well."""
    return _warnings(document, reconsider(document, considered))


def reconsider(document: PlanDocument, considered: Sequence[Considered]) -> Considered:
    """The plan's own row, recomputed from its integers; only its maker knows what the budget is per."""
    mechanism, names = document.mechanism, document.names
    # named as it is among what was considered
    chosen = next((row for row in considered if row.mechanism == mechanism), None)
    protocols = [name_protocol(part) for part in document.parts] if chosen is None else chosen.protocols
    if chosen is not None and chosen.order is not None:  # the plan may have another order than the study
        protocols = [chosen.protocols[j] for j in chosen.order]
    per = considered[0].per if considered else "record"
    leveled = {level.name for levels in document.levels.values() for level in levels}
    readings = [
        SHARES
        if attribute.name in leveled
        else list_readings(attribute.domain, part.k, attribute.turnout, _find_share(document, attribute))
        for attribute, part in document.pairs
    ]
    choice = mechanism, mechanism.acronym, protocols, document.people
    plans = (*document.continues, document)
    revealed = [
        bound_guess(part, bound_question(plans, j).same_value)
        if document.continues
        else reveal_all(part, document.most_reports)
        for j, part in enumerate(document.parts)
    ]
    seen = None if document.rounds is None else revealed
    row = Considered.of(*choice, Objective(), names=names, readings=readings, revealed=seen)
    return anticipate_levels(document.attributes, replace(row, per=per)).with_presence(document.presence)


def _find_share(document: PlanDocument, attribute: Attribute) -> float | None:
    """The average share of people who have an option, where they choose some of all; None elsewhere."""
    if attribute.several is None:
        return None
    options = list_several(document.attributes)[attribute.several]
    allowed = find_allowed(options)
    return None if allowed is None else allowed[-1] / len(options)


def _wrap(paragraph: str) -> str:
    """Sentences folded to a page's width; tables, whose cells are two spaces or more apart, as they are."""
    return "\n".join(
        line
        if "  " in line.strip()
        else fill(line, _WIDTH, subsequent_indent="    " if line.startswith("  ") else "")
        for line in paragraph.split("\n")
    )
