"""Shows what results would look like: simulated people answer a plan, and are estimated.

Their reports are really made and counted. Nothing here is about anybody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from deniable.arrays import Integers
from deniable.design.simulated import draw_answers
from deniable.design.tables import list_tables
from deniable.domain import Domain, Range, Unlisted, View
from deniable.domain.number import Number
from deniable.errors import InvalidParameter, not_among
from deniable.plan import Attribute
from deniable.randomness.simulated import remembering, seeded
from deniable.reports import Reports
from deniable.results.applicable import find_condition
from deniable.results.findings import Findings
from deniable.results.result import bins_of
from deniable.results.rows import MEDIAN
from deniable.study import Plan

MOST_PEOPLE = 100_000
"""More people than this are not simulated: a page does not wait that long."""
TRUTHS = ("uneven", "even")
_LEVEL = 0.95
_MOST_ROWS = 16
_MOST_LISTED = 100  # text of a list that is public
_SHOWN = ("value", "share", "low", "high", "noisy")


def preview(plan: Plan, truth: str = "uneven", seed: int = 1) -> dict[str, Any]:
    """Estimates of simulated people, with intervals, beside what is true of them; ready for JSON."""
    if truth not in TRUTHS:
        raise InvalidParameter(not_among(truth, "a truth to simulate", TRUTHS))
    people = min(plan.content.people, MOST_PEOPLE)
    asked = plan.content.attributes
    answers = draw_answers(plan, truth, people, seed)
    known = () if plan.content.known is None else (plan.content.known.name,)
    codes = np.stack([answers[name] for name in (*plan.names, *known)])
    words = seeded(seed) if plan.content.rounds is None else remembering(seed)
    reports = plan.privatize_codes(codes, words)
    texts = {one.name: one.domain for one in asked if isinstance(one.domain, Unlisted)}
    found = [_discover(plan, name, domain, reports, answers[name]) for name, domain in texts.items()]
    about = {"plan": plan.id, "people": people, "seed": seed, "truth": truth}
    alone = [one for one in asked if one.domain.listed and not isinstance(one.domain, View)]
    if not any(one.domain.listed for one in asked):
        return about | {"questions": found, "tables": []}
    result = plan.estimate(plan.tally(reports))
    findings = Findings(result, _LEVEL)
    described = [_describe(one, findings, _choose_answers(plan, one, answers)) for one in alone]
    return about | {
        "questions": [*described, *found],
        "tables": list_tables(plan, result, answers, _LEVEL),
    }


def _choose_answers(plan: Plan, one: Attribute, answers: Mapping[str, Integers]) -> Integers:
    """The codes of those whom its results are about: random values stand for the others."""
    condition = find_condition(plan.content, one.name)
    if condition is None:
        return answers[one.name]
    return answers[one.name][np.isin(answers[condition[0].name], condition[1])]


def _discover(plan: Plan, name: str, domain: Unlisted, reports: Reports, codes: Integers) -> dict[str, Any]:
    """The text that is found of simulated people, beside how many of them have it."""
    known, counts = np.unique(codes, return_counts=True)
    true = dict(zip(domain.decode(known), (counts / codes.size).tolist(), strict=True))
    frequent = sorted(true, key=lambda text: -true[text])[:_MOST_LISTED]
    leveled = any(isinstance(one.domain, View) and name in one.columns for one in plan.content.attributes)
    found = plan.discover(reports, name=name, least=0, words=None if leveled else frequent)
    ends = zip(found.names, found.shares.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    rows = [
        {
            "value": text,
            "share": share,
            "low": low,
            "high": high,
            "noisy": False,
            "truth": true.get(text, 0.0),
        }
        for text, share, low, high in ends
    ]
    return {
        "attribute": name,
        "rows": rows[:_MOST_ROWS],
        "left_out": max(0, len(rows) - _MOST_ROWS),
        "middle": None,
        "why": " ".join(found.sentences),
    }


def _describe(attribute: Attribute, findings: Findings, codes: Integers) -> dict[str, Any]:
    """One question: shares of values or groups, or the mean of a number, or why there is nothing."""
    name, domain, result = attribute.name, attribute.domain, findings.result
    if name in result.unreported:
        return {
            "attribute": name,
            "rows": [],
            "left_out": 0,
            "middle": None,
            "why": result.unreported[name].why,
        }
    rows = [] if isinstance(domain, Number) else _list_rows(findings, name, codes)
    shown = sorted(sorted(range(len(rows)), key=lambda i: -rows[i]["truth"])[:_MOST_ROWS])
    noise = [str(one) for one in findings.noise if one.attribute == name]
    return {
        "attribute": name,
        "rows": [rows[i] for i in shown],
        "left_out": len(rows) - len(shown),
        "middle": _find_middle(attribute, findings, codes),
        "why": "; ".join(noise) or None,
    }


def _find_middle(attribute: Attribute, findings: Findings, codes: Integers) -> dict[str, Any] | None:
    """The mean or the median, whichever the margins are about; None where neither is read."""
    name, plan = attribute.name, findings.result.plan
    assert plan is not None
    read = {one.what for one in plan.precisions() if one.attribute == name}
    what = next((one for one in ("mean", "median") if one in read), None)
    medians = {one: found[MEDIAN] for one, found in findings.all_quantiles.items()}
    found = (findings.means if what == "mean" else medians).get(name)
    if what is None or found is None:
        return None
    truth = _true_mean if what == "mean" else _true_median
    numbers = {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "truth": truth(attribute.domain, codes) if codes.size else math.nan,
    }
    # an open end is infinitely far out, and JSON has no word for that
    ends = {name: one if math.isfinite(one) else None for name, one in numbers.items()}
    noisy = name in findings.noisy_means if what == "mean" else findings.is_wide(name, found)
    return {"what": what, "noisy": noisy, **ends}


def _list_rows(findings: Findings, name: str, codes: Integers) -> list[dict[str, Any]]:
    """What is shown of values, or of groups of them, beside what is true of the simulated people."""
    size = findings.result[name].k
    true = np.bincount(codes, minlength=size) / max(1, codes.size)
    groups = findings.groups.get(name)
    found = findings.rows.values if groups is None else findings.rows.groups
    if groups is not None:
        true = np.array([true[one.values].sum() for one in groups])
    rows = [row for row in found if row["attribute"] == name]
    return [
        {one: row[one] for one in _SHOWN} | {"value": str(row["value"]), "truth": share}
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
