"""Explains a plan in plain words: expectations, losses, what was considered, and warnings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill

from deniable.choose import (
    Considered,
    Objective,
    exposure,
    find_moved,
    list_readings,
    plainer,
    warn_distant,
    warn_influence,
    warning,
)
from deniable.choose.reading import SHARES
from deniable.domain import Product, Range
from deniable.formatting import (
    format_count,
    format_loss,
    format_nats,
    format_percent,
    format_points,
    format_ratio,
    format_table,
    format_up,
)
from deniable.plan.acronyms import explain_kinds
from deniable.plan.attribute import list_questions, list_related
from deniable.plan.crowds import explain_crowd
from deniable.plan.differences import explain_known, warn_groups
from deniable.plan.document import Content
from deniable.plan.factors import list_answer_guesses
from deniable.plan.level_precision import anticipate_levels, name_levels
from deniable.plan.level_texts import explain_drawn
from deniable.plan.limit import warn_limit
from deniable.plan.losses import Loss, Stated
from deniable.plan.pools import explain_pools
from deniable.plan.questions import explain_questions
from deniable.plan.reasons import explain_choice, tabulate_precisions
from deniable.plan.references import name_protocol
from deniable.plan.related import bound_related, guess_related
from deniable.plan.text_questions import list_unlisted
from deniable.plan.turnout import explain_turnout

# or 0.01 divided by the people, if that is less: a larger delta promises nothing to one of them
_MOST_ROWS = 12
_MOST_RELATED = 4  # groups of questions that depend on each other
_MOST_NAMES = 6
_NO_BOUND = 10.0  # a report that is e^10 times likelier from one than from another tells which
_WIDTH = 110
_LEFT = ("protocol", "why not")  # columns of text


def explain_plan(
    content: Content, loss: Loss, stated: Stated, plan_id: str, considered: Sequence[Considered] = ()
) -> str:
    """The whole text, a paragraph for each question that a reader has."""
    here = reconsider(content, considered)
    paragraphs = [
        _opening(content, plan_id),
        *(f"WARNING. {text}" for text in _warnings(content, stated, here)),
        "\n".join(filter(None, [tabulate_precisions(here), explain_turnout(content, here)])),
        "\n".join(one.explain_limit(content.people) for one in list_unlisted(content).values()),
        _attributes(content, here),
        _losses(content, loss),
        explain_known(content),
        _missing(content),
        "\n".join(explain_questions(content)),
        _explain_rounds(content),
        _explain_dependence(content),
        explain_crowd(content, loss),
        explain_choice(considered),
        _choices(considered, content.rounds),
    ]
    return "\n\n".join(_wrap(paragraph) for paragraph in paragraphs if paragraph)


def _explain_rounds(content: Content) -> str:
    """How well a change will be known, where people are asked again."""
    if content.rounds is None:
        return ""
    return (
        "A change from one round to another is known to within twice these margins, whoever answers in each: "
        "answers are kept, so that rounds depend on each other."
    )


def _explain_dependence(content: Content) -> str:
    """Which tables will be read; or that reports with one of the answers show no dependence."""
    from deniable.plan.crossing import point_to_tables

    tables = point_to_tables(content, shell=True)
    if tables:
        return f"Reports hold {tables}."
    asked = [one for one in content.attributes if not one.domain.is_level]
    together = any(isinstance(one.domain, Product) for one in content.attributes)
    if content.known is not None or together or len(asked) == 1 or content.mechanism.reported > 1:
        return ""
    advice = "ask for both at once, with together = [[...]] in the study"
    if sum(one.domain.listed for one in asked) <= 1:
        advice = "a table takes two questions whose values are listed"
    return (
        "How one answer depends on another cannot be learned from these reports, whose number does not "
        f"matter: {advice}."
    )


def _opening(content: Content, plan_id: str) -> str:
    title = f" · {content.title}" if content.title else ""
    d = len(content.attributes)
    asked = f"{content.people:,} people, {d} attribute{'s' if d > 1 else ''}"
    how = explain_drawn(content) or content.mechanism.explain([one.name for one in content.attributes])
    if content.rounds is not None and any(part.repeated and part.permanent is part for part in content.parts):
        how += (
            " They are asked again and again: a random answer is kept and sent every time, so that a "
            "change shows."
        )
    elif content.rounds is not None:
        kept = (
            "a first answer is" if content.mechanism.fake(0) is None else "first answers, also of fakes, are"
        )
        how += f" They are asked again and again: {kept} kept, and reported with fresh noise each time."
    if content.ticket_key is not None:
        how += " People come by invitation, and exchange it for a ticket that nobody can link to it."
    return f"Plan {plan_id[:12]}{title}\n{asked}. {how}"


def _attributes(content: Content, here: Considered) -> str:
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
        *format_table(headers, rows, _LEFT),
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
    lines += [*_explain_related(content), *_explain_answers(content)]
    moved = find_moved(here)
    if moved:
        worst = next(iter(moved))
        level = ", by the level of it that they move most" if names[worst] in content.levels else ""
        lines.append(
            f"fake reports: 1 % of them moves a share of {names[worst]!r} by up to "
            f"{format_points(moved[worst] / 100)}{level}"
        )
    if any(part.numeric for part in content.parts):
        lines.append("a number: the guess is in which half of its range it is")
    lines += explain_pools(content)
    return "\n".join(lines)


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


def _losses(content: Content, loss: Loss) -> str:
    lines = ["What one report gives away (exact, rounded up, in nats):", *_promises(content, loss)]
    another = "another" if content.known is None else f"another of the same {content.known.name}"
    if len(content.attributes) > 1:
        lines += [
            f"  {format_nats(loss.record)} per record: no report is more than {format_ratio(loss.record)} "
            f"likelier from one person than from {another}, whatever all their answers are",
            f"  {format_nats(loss.attribute)} per attribute: the same for two people who differ in one "
            "attribute only",
        ]
        if loss.answer is not None:
            many = max(content.changed.items(), key=lambda one: len(one[1]))
            lines.append(
                f"  {format_nats(loss.answer)} per answer: the same for two people who differ in one answer "
                f"only; one answer can change several attributes, one to {many[0]!r} {len(many[1])}"
            )
    else:
        lines.append(
            f"  {format_nats(loss.record)}: no report is more than {format_ratio(loss.record)} likelier "
            f"from one person than from {another}"
        )
    lines.append(
        "  This holds against any attacker, if the report is made on the person's own device from secret "
        "random words."
    )
    if loss.repeated is not None:
        lines.append("What many reports of one person give away together, per record:")
        lines += [f"  {line}" for line in loss.repeated.explain().splitlines()]
        lines.append(
            "  All hold only if every device keeps its first answers, its attribute, its fakes, its hash "
            "function and its line."
        )
        if loss.repeated.changing_values > _NO_BOUND:
            lines.append(
                f"  A bound above {_NO_BOUND:g} promises nothing: whoever sees all reports of a person whose "
                "answers change may learn when they changed, and what they were. Ask rarely about what "
                "changes often."
            )
    if content.known is not None:
        lines.append(
            f"  All of this compares people of the same {content.known.name}: every report names it, so that "
            "it tells people of different groups apart."
        )
    return "\n".join(lines)


def _promises(content: Content, loss: Loss) -> list[str]:
    """For metric attributes: the promise per unit of each, and of the rest; the worst case comes after."""
    if loss.rest is None:
        return []
    domains = {attribute.name: attribute.domain for attribute in content.attributes}
    lines = []
    for one in loss.units:
        domain = domains[one.name]
        if isinstance(domain, Range):
            about = (
                f"per step of {domain.step:g} in {one.name!r}: two people lose this times the number of "
                "bins between them"
            )
        else:
            about = (
                f"per kilometer in {one.name!r}: two people lose this times the distance of the middles of "
                "their cells"
            )
        lines.append(f"  {format_nats(one.loss)} {about}")
    if len(loss.units) < len(content.attributes):
        lines.append(
            f"  {format_nats(loss.rest)} for all other attributes together, between two people who agree "
            "in these"
        )
    lines.append("  In the worst case, however far apart the answers are, and counted by every device's cap:")
    return lines


def _missing(content: Content) -> str:
    """What becomes of missing answers: of most questions, then of those that say otherwise, by question."""
    said_elsewhere = {one.answers for one in content.attributes}
    policies = {
        one.several or one.name: one.missing
        for one in content.attributes
        if one.answers is None and one.name not in said_elsewhere and not one.domain.is_level
    }
    usual = [name for name, policy in policies.items() if policy is None]
    are_all = len(usual) == len(list_questions(content.attributes))
    sentences = [_usual_missing(content, [] if are_all else usual)] if usual else []
    means = {"value": 'one more value, "no answer"', "random": "a random value", "refuse": "refused"}
    for policy, meaning in means.items():
        own = [name for name, each in policies.items() if each == policy]
        if own:
            sentences.append(f"A missing answer to {_name_any(own)} is {meaning}.")
    return " ".join(sentences)


def _name_any(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMES + 1:  # one more is as soon named as counted
        named = ", ".join(map(repr, names[:_MOST_NAMES]))
        return f"{named} or one of {len(names) - _MOST_NAMES} other questions"
    *first, last = map(repr, names)
    return f"{', '.join(first)} or {last}" if first else last


def _usual_missing(content: Content, names: Sequence[str]) -> str:
    """What becomes of missing answers to these questions, or to all."""
    if content.missing == "value":
        return 'A missing answer is a value of its own, "no answer", and as deniable as any other.'
    if content.missing == "random":
        return (
            "A missing answer becomes a random value, all equally likely, before it is reported. Estimates "
            "are then of answers and random values together: if a part m is missing, m / k of each estimate "
            "is random."
        )
    to = f" to {_name_any(names)}" if names else ""
    return f"A record with a missing answer{to} is refused."


def _choices(considered: Sequence[Considered], rounds: int | None) -> str:
    if not considered:
        return "What else was considered is known when a plan is made; its file keeps the choice only."
    figures = [
        "times the least error",
        "best guess",
        "bytes",
        "per record",
        "per attribute",
        "forever",
        "changing",
    ]
    headers = ["choice", *figures, "why not"]
    rows = []
    shown = _different(considered)[:_MOST_ROWS]
    for names, row in shown:
        if row.mechanism is None:
            rows.append([names, *[""] * len(figures), _first_line(row.why_not)])
            continue
        numbers = [f"{row.score:.3f}", format_percent(max(row.success), 1), str(row.report_bytes.most)]
        losses = [
            format_loss(row.loss_record),
            format_loss(row.loss_attribute),
            *_list_repeated_losses(row, rounds),
        ]
        rows.append([names, *numbers, *losses, _first_line(row.why_not)])
    more = len(_different(considered)) - _MOST_ROWS
    lines = [
        "What was considered, the choice first (errors of what is read, averaged; guess and bytes at most):"
    ]
    lines += format_table(headers, rows, _LEFT)
    lines += [f"and {more} more"] if more > 0 else []
    lines += explain_kinds([row for _, row in shown])
    if rounds is not None:
        lines.append(
            f"changing: what {format_count(rounds, 'report')} of values that change give away, against any "
            "other sequence"
        )
    return "\n".join(lines)


def _different(considered: Sequence[Considered]) -> list[tuple[str, Considered]]:
    """What differs in any figure, under all its names: for two values, direct encoding is a subset of one."""
    found: dict[object, tuple[str, Considered]] = {}
    for row in considered:
        figures = (
            row.variances,
            row.success,
            row.report_bytes,
            row.loss_record,
            row.loss_attribute,
            row.loss_forever,
            row.why_not,
        )
        key = (row.kind, *figures) if row.mechanism is not None else row.name
        found[key] = (f"{found[key][0]} or {row.name}", found[key][1]) if key in found else (row.name, row)
    return list(found.values())


def _list_repeated_losses(row: Considered, rounds: int | None) -> tuple[str, str]:
    """What a person's repeated reports give away: any number of one value, and one of each round."""
    losses = [part.losses(rounds, rounds) for part in row.parts if part.repeated and rounds is not None]
    if not losses:
        return "", ""
    worst = max(losses, key=lambda each: each.changing_values)
    return format_loss(max(each.one_value_forever for each in losses)), format_up(worst.changing_values)


def _warnings(content: Content, stated: Stated, here: Considered) -> list[str]:
    from deniable.plan.crossing import warn_random

    noise, revealed = warning(here, content.people), exposure(here)
    if noise and revealed:  # each alone would send the reader to the other
        revealed += (
            " With this few people no epsilon helps: a smaller one makes the shares noisier, and a larger "
            "one reveals more about each person. Ask more people, or about fewer values."
        )
    # a plan with tickets takes only people who were invited
    fakes = warn_influence(here) if content.ticket_key is None else None
    limits = warn_limit(content, stated), warn_groups(content), warn_random(content)
    found = (*limits, noise, revealed, warn_distant(here), fakes, plainer(here))
    return [text for text in found if text is not None]


def list_warnings(content: Content, stated: Stated, considered: Sequence[Considered]) -> list[str]:
    """What to know before anybody answers, a text each; none where all is well."""
    return _warnings(content, stated, reconsider(content, considered))


def reconsider(content: Content, considered: Sequence[Considered]) -> Considered:
    """The plan's own row, recomputed from its integers; only its maker knows what the budget is per."""
    mechanism, names = content.mechanism, tuple(attribute.name for attribute in content.attributes)
    # named as it is among what was considered
    chosen = next((row for row in considered if row.mechanism == mechanism), None)
    protocols = [name_protocol(part) for part in content.parts] if chosen is None else chosen.protocols
    if chosen is not None and chosen.order is not None:  # the plan may have another order than the study
        protocols = [chosen.protocols[j] for j in chosen.order]
    per = considered[0].per if considered else "record"
    leveled = {one.name for levels in content.levels.values() for one in levels}
    readings = [
        SHARES if attribute.name in leveled else list_readings(attribute.domain, part.k, attribute.turnout)
        for attribute, part in zip(content.attributes, content.parts, strict=True)
    ]
    row = Considered.of(
        mechanism,
        mechanism.acronym,
        protocols,
        content.people,
        Objective(),
        per,
        names=names,
        readings=readings,
    )
    return anticipate_levels(content.attributes, row)


def _wrap(paragraph: str) -> str:
    """Sentences folded to a page's width; tables, whose cells are two spaces or more apart, as they are."""
    lines = paragraph.split("\n")
    return "\n".join(
        line if "  " in line.strip() else fill(line, _WIDTH, subsequent_indent=_indent(line))
        for line in lines
    )


def _indent(line: str) -> str:
    return " " * (4 if line.startswith("  ") else 0)


def _first_line(text: str | None) -> str:
    return "" if text is None else text.split("\n", 1)[0]
