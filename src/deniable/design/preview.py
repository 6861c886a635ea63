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
from deniable.results.estimates import bins_of, find_condition
from deniable.results.findings import MEDIAN, Findings
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
    people = min(plan.document.people, MOST_PEOPLE)
    attributes = plan.document.attributes
    answers = draw_answers(plan, truth, people, seed)
    known = () if plan.document.known is None else (plan.document.known.name,)
    codes = np.stack([answers[name] for name in (*plan.names, *known)])
    words = seeded(seed) if plan.document.rounds is None else remembering(seed)
    reports = plan.privatize_codes(codes, words)
    texts = {
        attribute.name: attribute.domain for attribute in attributes if isinstance(attribute.domain, Unlisted)
    }
    discovered = [_discover(plan, name, domain, reports, answers[name]) for name, domain in texts.items()]
    about = {"plan": plan.id, "people": people, "seed": seed, "truth": truth}
    alone = [
        attribute
        for attribute in attributes
        if attribute.domain.listed and not isinstance(attribute.domain, View)
    ]
    if not any(attribute.domain.listed for attribute in attributes):
        return about | {"questions": discovered, "tables": []}
    result = plan.estimate(plan.tally(reports))
    findings = Findings(result.numbers, _LEVEL)
    described = [
        _describe(attribute, findings, _choose_answers(plan, attribute, answers)) for attribute in alone
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
    ends = zip(
        discovery.names,
        discovery.shares.tolist(),
        discovery.low.tolist(),
        discovery.high.tolist(),
        strict=True,
    )
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
        "why": " ".join(discovery.sentences),
    }


def _describe(attribute: Attribute, findings: Findings, codes: Integers) -> dict[str, Any]:
    """One question: shares of values or groups, or the mean of a number, or why there is nothing."""
    name, domain, result = attribute.name, attribute.domain, findings.estimates
    if name in result.unreported:
        return {
            "attribute": name,
            "rows": [],
            "left_out": 0,
            "middle": None,
            "why": result.unreported[name].why,
        }
    rows = [] if isinstance(domain, Number) else _list_rows(findings, name, codes)
    listed = sorted(sorted(range(len(rows)), key=lambda i: -rows[i]["truth"])[:_MOST_ROWS])
    noise = [str(noisy) for noisy in findings.noise if noisy.attribute == name]
    return {
        "attribute": name,
        "rows": [rows[i] for i in listed],
        "left_out": len(rows) - len(listed),
        "middle": _find_middle(attribute, findings, codes),
        "why": "; ".join(noise) or None,
    }


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
    numbers = {
        "value": middle.value,
        "low": middle.low,
        "high": middle.high,
        "truth": truth(attribute.domain, codes) if codes.size else math.nan,
    }
    # an open end is infinitely far out, and JSON has no word for that
    ends = {name: number if math.isfinite(number) else None for name, number in numbers.items()}
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
