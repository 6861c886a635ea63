"""Draws answers of simulated people to a plan: to whom a question applies, and who answers, is as planned."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain import NO_ANSWER, Domain, Range, Text, Unlisted, View
from deniable.domain.number import Number
from deniable.plan import Attribute
from deniable.plan.attribute import NO_ANSWER_LABEL, NOT_APPLICABLE
from deniable.simulate.population import numbers_from
from deniable.study import Plan

_FIRST_KIND = 0.5  # of the people, in which answers are frequent that are not in the other
_TEXTS = 200  # that simulated people have
_SILENT = 0.05  # of the people whom a question applies to, where they may prefer not to say


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
        fitted = (
            np.where(
                is_condition, share / shares[is_condition].sum(), (1 - share) / shares[~is_condition].sum()
            )
            * shares
        )
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
