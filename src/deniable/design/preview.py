"""Shows what results and tables would look like: simulated people answer a plan, and are estimated.

Their reports are really made and counted. Nothing here is about anybody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain import NO_ANSWER, Domain, Product, Range, Text, Unlisted, View
from deniable.domain.number import Number
from deniable.errors import InvalidParameter, not_among
from deniable.explain import question_pairs
from deniable.plan import Attribute
from deniable.plan.attribute import NO_ANSWER_LABEL, NOT_APPLICABLE, YES_NO, find_allowed, list_several
from deniable.randomness.simulated import numbers_from, remembering, seeded
from deniable.reports import Reports
from deniable.reports.privatize import find_turns, make_reports
from deniable.results.estimates import bins_of, find_condition
from deniable.results.findings import MEDIAN, Findings, as_finite
from deniable.study import Plan
from deniable.study.result import Result

MOST_PEOPLE = 100_000
"""More people than this are not simulated: a page does not wait that long."""
TRUTHS = ("uneven", "even")
_LEVEL = 0.95
_MOST_ROWS = 16
_MOST_LISTED = 100  # text of a list that is public
_SHOWN = ("value", "share", "low", "high", "noisy")
_FIRST_KIND = 0.5  # of the people, in which answers are frequent that are not in the other
_TEXTS = 200  # that simulated people have
_SILENT = 0.05  # of the people whom a question applies to, where they may prefer not to say
_MOST = 12  # tables: a page is no book


def preview(plan: Plan, truth: str = "uneven", seed: int = 1) -> dict[str, Any]:
    """Estimates of simulated people, with intervals, beside what is true of them; ready for JSON."""
    if truth not in TRUTHS:
        raise InvalidParameter(not_among(truth, "a truth to simulate", TRUTHS))
    people = min(plan.document.people, MOST_PEOPLE)
    attributes = plan.document.attributes
    answers = draw_answers(plan, truth, people, seed)
    known = () if plan.document.known is None else (plan.document.known.name,)
    codes = np.stack([answers[name] for name in (*plan.names, *known)])
    words = seeded(seed) if plan.document.rounds is None else remembering(seed, round=1)
    turns = find_turns(plan.document, people, words, None)
    reports = make_reports(plan.document, codes, words, None, turns)
    discovered = [
        _discover(plan, attribute.name, attribute.domain, reports, answers[attribute.name])
        for attribute in attributes
        if isinstance(attribute.domain, Unlisted)
    ]
    about = {"plan": plan.id, "people": people, "seed": seed, "truth": truth}
    if not any(attribute.domain.listed for attribute in attributes):
        return about | {"questions": discovered, "tables": []}
    result = plan.estimate(plan.tally(reports))
    findings = Findings(result.numbers, _LEVEL)
    described = [
        _describe(attribute, findings, _choose_answers(plan, attribute, answers))
        for attribute in attributes
        if attribute.domain.listed and not isinstance(attribute.domain, View)
    ]
    return about | {
        "questions": [*described, *discovered],
        "tables": list_tables(plan, result, answers, _LEVEL),
    }


def _choose_answers(plan: Plan, attribute: Attribute, answers: Mapping[str, Integers]) -> Integers:
    """The codes of the people whom an attribute's results are about: random values stand for the others."""
    condition = find_condition(plan.document, attribute.name)
    if condition is None:
        return answers[attribute.name]
    return answers[attribute.name][np.isin(answers[condition[0].name], condition[1])]


def _discover(plan: Plan, name: str, domain: Unlisted, reports: Reports, codes: Integers) -> dict[str, Any]:
    """The text that is found of simulated people, beside how many of them have it."""
    known, counts = np.unique(codes, return_counts=True)
    true = dict(zip(domain.decode(known), (counts / codes.size).tolist(), strict=True))
    frequent = sorted(true, key=lambda text: -true[text])[:_MOST_LISTED]
    leveled = any(
        isinstance(attribute.domain, View) and name in attribute.columns
        for attribute in plan.document.attributes
    )
    discovery = plan.discover(reports, name=name, least=0, words=None if leveled else frequent)
    columns = discovery.shares.tolist(), discovery.low.tolist(), discovery.high.tolist()
    rows = [
        _write_row(*cells, noisy=False, truth=true.get(cells[0], 0.0))
        for cells in zip(discovery.names, *columns, strict=True)
    ]
    return _write_question(name, rows[:_MOST_ROWS], len(rows), None, " ".join(discovery.sentences))


def _write_row(
    value: str, share: float, low: float, high: float, noisy: bool, truth: float
) -> dict[str, Any]:
    return {"value": value, "share": share, "low": low, "high": high, "noisy": noisy, "truth": truth}


def _write_question(
    name: str, rows: list[dict[str, Any]], count: int, middle: dict[str, Any] | None, why: str | None
) -> dict[str, Any]:
    """What is shown of one question: some of its rows, and how many others there are."""
    return {"attribute": name, "rows": rows, "left_out": count - len(rows), "middle": middle, "why": why}


def _describe(attribute: Attribute, findings: Findings, codes: Integers) -> dict[str, Any]:
    """One question: shares of values or groups, or the mean of a number, or why there is nothing."""
    name, domain, result = attribute.name, attribute.domain, findings.estimates
    if name in result.unreported:
        return _write_question(name, [], 0, None, result.unreported[name].why)
    rows = [] if isinstance(domain, Number) else _list_rows(findings, name, codes)
    listed = sorted(sorted(range(len(rows)), key=lambda i: -rows[i]["truth"])[:_MOST_ROWS])
    noise = [str(noisy) for noisy in findings.noise if noisy.attribute == name]
    middle = _find_middle(attribute, findings, codes)
    return _write_question(name, [rows[i] for i in listed], len(rows), middle, "; ".join(noise) or None)


def _find_middle(attribute: Attribute, findings: Findings, codes: Integers) -> dict[str, Any] | None:
    """The mean or the median, whichever the margins are about; None where neither is read."""
    name, document = attribute.name, findings.estimates.document
    assert document is not None
    read = {precision.what for precision in Plan(document).precisions() if precision.attribute == name}
    what = next((kind for kind in ("mean", "median") if kind in read), None)
    medians = {label: quantiles[MEDIAN] for label, quantiles in findings.all_quantiles.items()}
    middle = (findings.means if what == "mean" else medians).get(name)
    if what is None or middle is None:
        return None
    truth = _true_mean if what == "mean" else _true_median
    true = truth(attribute.domain, codes) if codes.size else math.nan
    numbers = {"value": middle.value, "low": middle.low, "high": middle.high, "truth": true}
    ends = {name: as_finite(number) for name, number in numbers.items()}
    noisy = name in findings.noisy_means if what == "mean" else findings.is_wide(name, middle)
    return {"what": what, "noisy": noisy, **ends}


def _list_rows(findings: Findings, name: str, codes: Integers) -> list[dict[str, Any]]:
    """What is shown of values, or of groups of them, beside what is true of the simulated people."""
    size = findings.estimates[name].k
    true = np.bincount(codes, minlength=size) / max(1, codes.size)
    groups = findings.groups.get(name)
    table = findings.rows.values if groups is None else findings.rows.groups
    if groups is not None:
        true = np.array([true[group.values].sum() for group in groups])
    rows = [row for row in table if row["attribute"] == name]
    return [
        {column: row[column] for column in _SHOWN} | {"value": str(row["value"]), "truth": share}
        for row, share in zip(rows, true.tolist(), strict=True)
    ]


def _true_mean(domain: Domain, codes: Integers) -> float:
    if isinstance(domain, Number):
        return float(domain.low + (domain.high - domain.low) * codes.mean() / (domain.k - 1))
    assert isinstance(domain, Range), "only numbers and ranges have a mean"
    bins = bins_of(domain, domain.k)
    assert bins is not None
    return float(bins.middles[codes[codes < domain.k]].mean())


def _true_median(domain: Domain, codes: Integers) -> float:
    """Where half of the people are below, if those in a bin are spread evenly over it."""
    assert isinstance(domain, Range), "only ranges have a median"
    counts = np.bincount(codes[codes < domain.k], minlength=domain.k)
    below = np.concatenate([[0], np.cumsum(counts)])
    edges = np.asarray(domain.edges, dtype=np.float64)
    return float(np.interp(below[-1] / 2, below, edges))


def draw_answers(plan: Plan, truth: str, people: int, seed: int) -> dict[str, Integers]:
    """The codes of everybody's answers, by attribute; of known groups, by their name.

    People are of two kinds, so that answers to questions that are read together depend on each other.
    """
    views = {
        attribute.name: attribute.domain
        for attribute in plan.document.attributes
        if isinstance(attribute.domain, View)
    }
    alone = [attribute for attribute in plan.document.attributes if attribute.name not in views]
    answers = {attribute.name: _draw(plan, attribute, truth, people, seed) for attribute in alone}
    _limit_options(plan, answers, seed)
    _skip_questions(plan, answers)
    known = plan.document.known
    factors = dict(() if known is None else known.factors)
    for domain in views.values():
        factors |= dict(domain.factors)
    others = {name: domain for name, domain in factors.items() if name not in answers}
    factor_codes = {name: _draw_factor(name, domain, truth, people, seed) for name, domain in others.items()}
    for attribute in alone:
        if attribute.name in factors:  # it is asked by itself, too
            factor_codes[attribute.name] = np.where(
                answers[attribute.name] < attribute.domain.k, answers[attribute.name], NO_ANSWER
            )
    for attribute in plan.document.attributes:
        if isinstance(attribute.domain, View):
            codes = attribute.domain.join([factor_codes[name] for name in attribute.domain.names])
            answers[attribute.name] = _silence(
                plan, attribute, codes, numbers_from(seed, "preview", attribute.name)
            )
    if known is not None:
        answers[known.name] = np.asarray(
            np.ravel_multi_index([factor_codes[name] for name in known.names], known.shape), dtype=np.int64
        )
    return answers


def _limit_options(plan: Plan, answers: dict[str, Integers], seed: int) -> None:
    """Let people choose as many options as they may: of too many some stay, and to too few some are added."""
    for question, options in list_several(plan.document.attributes).items():
        allowed = find_allowed(options)
        codes = np.stack([answers[option.name] for option in options])
        if allowed is None:
            continue
        is_chosen = codes == YES_NO.labels.index("yes")
        numbers = np.clip(is_chosen.sum(axis=0), allowed[0], allowed[-1])
        ranks = numbers_from(seed, "preview", question, "options").random(codes.shape) - is_chosen
        is_chosen = ranks.argsort(axis=0).argsort(axis=0) < numbers
        for option, chosen, drawn in zip(options, is_chosen, codes, strict=True):
            is_answer = drawn < YES_NO.k
            answers[option.name] = np.where(is_answer, np.where(chosen, 0, 1), drawn).astype(np.int64)


def _draw_factor(name: str, domain: Domain, truth: str, people: int, seed: int) -> Integers:
    """The answers to one question of a table, or to a known one."""
    kinds = numbers_from(seed, "preview", "kind of person").random(people) < _FIRST_KIND
    draw = numbers_from(seed, "preview", name)
    codes_by_kind = [draw.choice(domain.k, people, p=_draw_shares(domain, truth, draw)) for _ in range(2)]
    return np.asarray(np.where(kinds, *codes_by_kind), dtype=np.int64)


def _draw(plan: Plan, attribute: Attribute, truth: str, people: int, seed: int) -> Integers:
    draw = numbers_from(seed, "preview", attribute.name)
    if isinstance(attribute.domain, Number):
        even = draw.uniform(0, 1, people)
        parts = even if truth == "even" else np.clip(draw.normal(draw.uniform(0.2, 0.8), 0.12, people), 0, 1)
        return np.asarray(parts * (attribute.domain.k - 1), dtype=np.int64)
    if isinstance(attribute.domain, Unlisted):
        return _draw_texts(attribute.domain, truth, people, draw)
    shares = _fit_conditions(plan, attribute, _draw_shares(attribute.domain, truth, draw))
    codes = np.asarray(draw.choice(shares.size, people, p=shares), dtype=np.int64)
    return _silence(plan, attribute, codes, draw)


def _draw_texts(domain: Unlisted, truth: str, people: int, draw: np.random.Generator) -> Integers:
    """Text that a few people have, and unless all are equally frequent some that many have."""
    codes = draw.integers(1, domain.k, _TEXTS, dtype=np.int64)
    if isinstance(domain, Text):
        sizes = draw.integers(min(3, domain.longest), domain.longest + 1, _TEXTS)
        letters = list(domain.letters)
        codes = domain.encode(["".join(draw.choice(letters, size)) for size in sizes])
    weights = np.ones(_TEXTS) if truth == "even" else 1 / np.arange(1, _TEXTS + 1) ** 1.5
    return np.asarray(draw.choice(codes, people, p=weights / weights.sum()), dtype=np.int64)


def _silence(plan: Plan, attribute: Attribute, codes: Integers, draw: np.random.Generator) -> Integers:
    """The answers, of which some are replaced by no answer, where people may prefer not to say."""
    no_answer = plan.document.extra_code(attribute, NO_ANSWER_LABEL)
    if no_answer < 0:
        return codes
    is_silent = draw.random(codes.size) < _share_silent(plan, attribute)
    return np.where(is_silent | (codes == NO_ANSWER), no_answer, codes)


def _draw_shares(domain: Domain, truth: str, draw: np.random.Generator) -> Floats:
    """How frequent the values are: equally, by chance, or for ordered ones a bell somewhere."""
    k = domain.k
    if truth == "even":
        weights = np.ones(k)
    elif isinstance(domain, Range):
        weights = np.exp(-(((np.arange(k) / k - draw.uniform(0.2, 0.8)) / draw.uniform(0.1, 0.25)) ** 2) / 2)
    else:
        weights = draw.gamma(1.0, size=k) + 1e-9
    return np.asarray(weights / weights.sum())


def _fit_conditions(plan: Plan, parent: Attribute, shares: Floats) -> Floats:
    """The shares, with so many answers of a condition as the first question that states a share needs.

    Whether a question is answered is as planned, too.
    """
    if parent.answers is not None:
        silent = _share_silent(plan, parent)
        return np.asarray([1 - silent, silent])
    for attribute in plan.document.attributes:
        applies = _share_applicable(plan, attribute)
        if attribute.only_if is None or attribute.only_if.name != parent.name or applies is None:
            continue
        reached = (_share_applicable(plan, parent) or 1.0) * (1 - _share_silent(plan, parent))
        is_condition = np.isin(parent.domain.labels, attribute.only_if.values)
        share = min(applies / reached, 1.0)
        others = (1 - share) / shares[~is_condition].sum()
        fitted = np.where(is_condition, share / shares[is_condition].sum(), others) * shares
        return np.asarray(fitted / fitted.sum())
    return shares


def _share_applicable(plan: Plan, attribute: Attribute) -> float | None:
    """The share of all people to whom a question applies; None where the plan does not say.

    Of all questions with its condition, the one that most people answer says it.
    """
    if attribute.only_if is None:
        return 1.0
    stated = [
        _share_needed(plan, other)
        for other in plan.document.attributes
        if other.only_if == attribute.only_if and _find_answered(plan, other).answered is not None
    ]
    return max(stated, default=None)


def _share_needed(plan: Plan, attribute: Attribute) -> float:
    """The share to whom it must apply, so that as many as stated answer."""
    turnout = _find_answered(plan, attribute).turnout
    may_be_silent = attribute.answers is not None or plan.document.missing_of(attribute) == "value"
    return min(1.0, turnout / (1 - _SILENT)) if may_be_silent else turnout


def _find_answered(plan: Plan, attribute: Attribute) -> Attribute:
    """The question itself, or the one of which this says whether it is answered."""
    return next((other for other in plan.document.attributes if other.name == attribute.answers), attribute)


def _share_silent(plan: Plan, attribute: Attribute) -> float:
    """The share of people who prefer not to say, among all to whom an attribute applies."""
    if attribute.answers is None and plan.document.missing_of(attribute) != "value":
        return 0.0
    about = _find_answered(plan, attribute)
    if about.answered is None:
        return _SILENT
    return max(0.0, 1 - about.turnout / (_share_applicable(plan, attribute) or 1.0))


def _skip_questions(plan: Plan, answers: dict[str, Integers]) -> None:
    """Fill in that a question does not apply; where it is none of the values, the plan draws one."""
    document = plan.document
    conditional = [
        (attribute, attribute.only_if) for attribute in document.attributes if attribute.only_if is not None
    ]
    for _ in conditional:  # as often as a chain may be long, since a plan may have them in any order
        for attribute, condition in conditional:
            labels = plan.labels[condition.name]
            codes = [labels.index(value) for value in condition.values]
            others = ~np.isin(answers[condition.name], codes)
            code = document.extra_code(attribute, NOT_APPLICABLE)
            answers[attribute.name][others] = code if code >= 0 else NO_ANSWER


def list_tables(
    plan: Plan, result: Result, answers: Mapping[str, Integers], level: float
) -> list[dict[str, Any]]:
    """In each row the share of the first column, of the tables that the reports hold; ready for JSON."""
    tables = []
    for by, of in question_pairs.list_tables(plan.document)[:_MOST]:
        try:
            table = result.cross(of, by, level)
        except InvalidParameter:  # of few people, none may have reported about it
            continue
        true = _count(plan, answers, of, by)
        bases = true.sum(axis=1)
        rows = []
        for a, row in enumerate(table.rows):
            share, low, high = (float(numbers[a, 0]) for numbers in (table.shown, table.low, table.high))
            share_of_truth = float(true[a, 0] / bases[a]) if bases[a] else 0.0
            rows.append(_write_row(row, share, low, high, not table.is_known[a, 0], share_of_truth))
        tables.append({"of": of, "by": by, "column": table.columns[0], "rows": rows})
    return tables


def _count(plan: Plan, answers: Mapping[str, Integers], of: str, by: str) -> Floats:
    """How many simulated people are in each cell."""
    codes = [_find_codes(plan, answers, name) for name in (by, of)]
    sizes = [question_pairs.find_domain(plan.document, name).k for name in (by, of)]
    is_answered = (codes[0] >= 0) & (codes[1] >= 0)
    cells = np.zeros(sizes)
    np.add.at(cells, (codes[0][is_answered], codes[1][is_answered]), 1.0)
    rows, columns = question_pairs.find_margins(plan.document, of, by)
    return np.asarray(rows.sums @ cells @ columns.sums.T)


def _find_codes(plan: Plan, answers: Mapping[str, Integers], name: str) -> Integers:
    """The answers to a question, wherever it is asked; below 0 where there is none."""
    document = plan.document
    if document.known is not None and name in document.known.names:
        parts = np.unravel_index(answers[document.known.name], document.known.shape)
        return np.asarray(parts[document.known.names.index(name)])
    attribute = next(other for other in document.attributes if name in other.columns)
    codes = answers[attribute.name]
    if not isinstance(attribute.domain, Product):
        return np.where(codes < attribute.domain.k, codes, -1)
    parts = np.unravel_index(np.clip(codes, 0, attribute.domain.k - 1), attribute.domain.shape)
    is_cell = (codes >= 0) & (codes < attribute.domain.k)
    return np.where(is_cell, parts[attribute.domain.names.index(name)], -1)
