"""Finds the largest epsilons of metric attributes that devices accept, and what would be known with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from deniable.choose import Considered, Objective, Precision, list_precisions, list_readings
from deniable.domain.grid import Grid
from deniable.metric import MetricMechanism
from deniable.plan.attribute import Attribute
from deniable.plan.document import PlanDocument
from deniable.plan.losses import NANO
from deniable.plan.metric_losses import metric_mechanism

_LEVEL = 2
_DIGITS = 2  # of an epsilon that is recommended
_MOST_NAMED = 3
_MOST_TRIES = 8
_MOST_CELLS = 1024  # noise on more takes longer than a warning should


@final
@dataclass(frozen=True)
class Accepted:
    """An epsilon of a metric attribute that devices accept, and what is read best of it then."""

    attribute: str
    epsilon: float
    unit: str
    known: Precision

    def __str__(self) -> str:
        known = f"{self.known.describe()} to within {self.known.format_margin()}"
        if self.known.use == "noise":
            known = f"{self.known.describe()} would be noise"
        rate = f"{self.epsilon:g} per {self.unit} of {self.attribute!r}"
        if self.unit == "meter":  # the fields of a study are a level and a radius
            radius = math.ceil(_LEVEL / self.epsilon)
            rate += f", which is a level of {_LEVEL} within a radius of {radius:,} meters"
        return f"{rate} ({known})"


def find_accepted(document: PlanDocument, cap: float) -> list[Accepted]:
    """The largest epsilons, all lowered alike, with which a report loses at most the cap; none where that is
    not possible, or where a grid has many cells.
    """
    metric = [
        (j, one, part)
        for j, (one, part) in enumerate(zip(document.attributes, document.parts, strict=True))
        if isinstance(part, MetricMechanism) and part.metric
    ]
    spent = sum(part.loss() for _, _, part in metric)
    left = cap - (document.stated.record / NANO - spent)
    if document.stated.metric is None or left <= 0 or max(part.k for _, _, part in metric) > _MOST_CELLS:
        return []
    rates = {one.name: one.loss / NANO for one in document.stated.metric.units}
    scale = left / spent
    for _ in range(_MOST_TRIES):  # noise on a grid loses a little more than in proportion
        made = [_make(one, rates[one.name] * scale) for _, one, _ in metric]
        total = sum(part.loss() for _, part in made)
        if total <= left:
            break
        scale *= left / total * (1 - 1e-3)
    else:
        return []
    found = []
    for (j, one, _), (epsilon, part) in zip(metric, made, strict=True):
        people = max(1, round(document.people * float(document.mechanism.chance(j))))
        known = _find_best(part, one.name, people, list_readings(one.domain, part.k, one.turnout))
        unit = "meter" if isinstance(one.domain, Grid) else "unit"
        found.append(Accepted(one.name, epsilon, unit, known))
    return found


def _make(one: Attribute, loss: float) -> tuple[float, MetricMechanism]:
    """A rounded epsilon that loses about this per step or kilometer, and its mechanism."""
    domain: Any = one.domain
    epsilon = _round_down(loss / (1000.0 if isinstance(domain, Grid) else float(domain.step)))
    made = metric_mechanism(replace(domain, privacy="metric", epsilon=epsilon), one.name)
    assert made is not None
    return epsilon, made


def advise_accepted(found: Sequence[Accepted]) -> str:
    """In a sentence; empty where there is nothing to advise."""
    if not found:
        return ""
    return f" Devices accept an epsilon of up to {', and '.join(map(str, found[:_MOST_NAMED]))}."


def _find_best(part: MetricMechanism, name: str, people: int, readings: Any) -> Precision:
    """What is known best of all that is read."""
    row = Considered.of(part, "", ["metric"], people, Objective(), names=(name,), readings=[readings])
    return min(list_precisions(row), key=lambda one: one.ratio)


def _round_down(epsilon: float) -> float:
    scale = 10.0 ** (math.floor(math.log10(epsilon)) - _DIGITS + 1)
    return float(f"{math.floor(epsilon / scale) * scale:.{_DIGITS}g}")
