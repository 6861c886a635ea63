"""Shows what results would look like: simulated people answer a plan, and are estimated.

Their reports are really made and counted. Nothing here is about anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain import NO_ANSWER, Domain, Range
from deniable.domain.number import Number
from deniable.errors import InvalidParameter, not_among
from deniable.plan import Attribute, Plan
from deniable.plan.applicable import find_condition
from deniable.plan.attribute import NO_ANSWER_LABEL, NOT_APPLICABLE
from deniable.plan.findings import Findings
from deniable.plan.result import bins_of
from deniable.simulate.population import numbers_from
from deniable.words.simulated import remembering, seeded

MOST_PEOPLE = 100_000
"""More people than this are not simulated: a page does not wait that long."""
TRUTHS = ("uneven", "even")
_LEVEL = 0.95
_MOST_ROWS = 16
_SILENT = 0.05  # of the people, where they may prefer not to say


def preview(plan: Plan, truth: str = "uneven", seed: int = 1) -> dict[str, Any]:
    """Estimates of simulated people, with intervals, beside what is true of them; ready for JSON."""
    if truth not in TRUTHS:
        raise InvalidParameter(not_among(truth, "a truth to simulate", TRUTHS))
    people = min(plan.content.people, MOST_PEOPLE)
    asked = plan.content.attributes
    answers = {one.name: _draw_answers(plan, one, truth, people, seed) for one in asked}
    _skip_questions(plan, answers)
    codes = np.stack([answers[name] for name in plan.names])
    words = seeded(seed) if plan.content.rounds is None else remembering(seed)
    result = plan.estimate(plan.tally(plan.privatize_codes(codes, words)))
    findings = Findings(result, _LEVEL)
    return {
        "plan": plan.id,
        "people": people,
        "seed": seed,
        "truth": truth,
        "questions": [_describe(one, findings, _choose_answers(plan, one, answers)) for one in asked],
    }


def _draw_answers(plan: Plan, attribute: Attribute, truth: str, people: int, seed: int) -> Integers:
    draw = numbers_from(seed, "preview", attribute.name)
    if isinstance(attribute.domain, Number):
        even = draw.uniform(0, 1, people)
        parts = even if truth == "even" else np.clip(draw.normal(draw.uniform(0.2, 0.8), 0.12, people), 0, 1)
        return np.asarray(parts * (attribute.domain.k - 1), dtype=np.int64)
    shares = _draw_shares(attribute.domain, truth, draw)
    codes = np.asarray(draw.choice(shares.size, people, p=shares), dtype=np.int64)
    no_answer = plan.content.extra_code(attribute, NO_ANSWER_LABEL)
    if no_answer >= 0:
        codes[draw.random(people) < _SILENT] = no_answer
    return codes


def _skip_questions(plan: Plan, answers: dict[str, Integers]) -> None:
    """Fill in that a question does not apply; where it is none of the values, the plan draws one."""
    content = plan.content
    some = [(one, one.only_if) for one in content.attributes if one.only_if is not None]
    for _ in some:  # as often as a chain may be long, since a plan may have them in any order
        for one, condition in some:
            labels = plan.labels[condition.name]
            wanted = [labels.index(value) for value in condition.values]
            others = ~np.isin(answers[condition.name], wanted)
            code = content.extra_code(one, NOT_APPLICABLE)
            answers[one.name][others] = code if code >= 0 else NO_ANSWER


def _choose_answers(plan: Plan, one: Attribute, answers: Mapping[str, Integers]) -> Integers:
    """The codes of those whom its results are about: random values stand for the others."""
    condition = find_condition(plan.content, one.name)
    if condition is None:
        return answers[one.name]
    return answers[one.name][np.isin(answers[condition[0].name], condition[1])]


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


def _describe(attribute: Attribute, findings: Findings, codes: Integers) -> dict[str, Any]:
    """One question: shares of values or groups, or the mean of a number, or why there is nothing."""
    name, domain, result = attribute.name, attribute.domain, findings.result
    if name in result.unreported:
        return {
            "attribute": name,
            "rows": [],
            "left_out": 0,
            "mean": None,
            "why": result.unreported[name].why,
        }
    rows = [] if isinstance(domain, Number) else _list_rows(findings, name, codes)
    shown = sorted(sorted(range(len(rows)), key=lambda i: -rows[i]["truth"])[:_MOST_ROWS])
    found = findings.means.get(name)
    mean = None
    if found is not None:
        true = _true_mean(domain, codes)
        mean = {"value": found.value, "low": found.low, "high": found.high, "truth": true}
    noise = [str(one) for one in findings.noise if one.attribute == name]
    return {
        "attribute": name,
        "rows": [rows[i] for i in shown],
        "left_out": len(rows) - len(shown),
        "mean": mean,
        "why": "; ".join(noise) or None,
    }


def _list_rows(findings: Findings, name: str, codes: Integers) -> list[dict[str, Any]]:
    """What is shown of values, or of groups of them, beside what is true of the simulated people."""
    estimate = findings.result.estimates[name]
    true = np.bincount(codes, minlength=estimate.k) / max(1, codes.size)
    groups = findings.groups.get(name)
    if groups is None:
        shares, labels = findings.shares[name], [*map(str, estimate.labels or range(estimate.k))]
    else:
        shares, labels = findings.group_shares[name], [one.label for one in groups]
        true = np.array([true[one.values].sum() for one in groups])
    columns = (one.tolist() for one in (shares.share, shares.low, shares.high, true))
    names = ("value", "share", "low", "high", "truth")
    return [dict(zip(names, row, strict=True)) for row in zip(labels, *columns, strict=True)]


def _true_mean(domain: Domain, codes: Integers) -> float:
    if isinstance(domain, Number):
        return float(domain.low + (domain.high - domain.low) * codes.mean() / (domain.k - 1))
    assert isinstance(domain, Range), "only numbers and ranges have a mean"
    bins = bins_of(domain, domain.k)
    assert bins is not None
    return float(bins.middles[codes[codes < domain.k]].mean())
