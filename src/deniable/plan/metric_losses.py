"""Chooses mechanisms of metric attributes, and states what a report loses per unit of distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Literal, final

from deniable.domain import Domain, Range
from deniable.domain.grid import Grid
from deniable.domain.number import Number
from deniable.errors import InvalidParameter
from deniable.exact import log_up
from deniable.formatting import format_loss, format_up
from deniable.mechanisms import Mechanism
from deniable.mechanisms.base import Per
from deniable.metric import Geometric, MetricMechanism, PlanarGeometric, geometric
from deniable.metric.planar import planar_noise
from deniable.plan.strict_json import MOST_BINS, MOST_CELLS
from deniable.randomness import cell
from deniable.records import RecordMechanism

Unit = Literal["step", "kilometer"]
_KILOMETER = 1e6  # in millimeters, by which the cells of a plan are measured
MOST_TOGETHER = 1 << 14
"""Cells of all grids with planar noise, whose losses a device verifies in a moment."""
_MOST_ENTRIES = 1 << 18  # of a table that is looked at in integers
_SLACK = 1e-9  # of a distance: more than the trigonometry of any language errs by


@final
@dataclass(frozen=True)
class UnitLoss:
    """What a report loses about two values per unit of their distance, exactly and rounded up."""

    name: str
    unit: Unit
    """From one bin of a range to the next; or a kilometer between the middles of two cells."""
    loss: float


def metric_mechanism(domain: Domain, name: str = "this attribute") -> Geometric | PlanarGeometric | None:
    """The mechanism of an attribute with metric privacy, by its own epsilon; None where it shares the
    study's.

    >>> metric_mechanism(Range(0, 100, step=5, privacy="metric", epsilon=0.1))
    Geometric(counts 0 to 19: loses 0.5 per unit, 9.5 in the worst case)
    """
    if domain.privacy != "metric":
        return None
    if domain.epsilon is None:
        what = (
            "epsilon, per meter, such as dn.metric.per_meter(level=2.0, radius=200); in a file, level "
            "and radius"
            if isinstance(domain, Grid)
            else "epsilon, what a report may lose per unit of its numbers, such as 0.1 per year"
        )
        raise InvalidParameter(f"{name!r} is metric, and needs an epsilon of its own: give {what}")
    if isinstance(domain, Range):
        _refuse_large(domain.k, MOST_BINS, name, "bins", "use a larger step")
        step = Fraction(domain.scaled_step, 10**domain.digits)
        return geometric(domain.k - 1, _down(_decimal(domain.epsilon) * step))
    if not isinstance(domain, Grid):
        raise InvalidParameter(f"{name!r}: metric privacy is for a Range or a Grid")
    _refuse_large(domain.k, MOST_CELLS, name, "cells", "use fewer, larger cells (fewer rows and columns)")
    len(domain.corners)  # degrees that a plan cannot hold are refused now
    down, across = domain.millimeters
    steps, budget = (float(down), float(across)), _down(_decimal(domain.epsilon) / 1000)
    return PlanarGeometric(planar_noise(domain.rows, domain.columns, steps, budget), steps, budget)


@singledispatch
def check_fit(part: Mechanism, domain: Domain, name: str) -> None:
    """Refuse a metric mechanism for values that are not metric, or have another metric."""
    if part.numeric != isinstance(domain, Number):
        text = f"{name!r}: a mechanism for a mean is for a Number, and a Number has no other"
        raise InvalidParameter(text, "fit")
    if part.listed != domain.listed:
        text = (
            f"{name!r}: a linear hash is for text and codes that nobody listed, which have no other mechanism"
        )
        raise InvalidParameter(text, "fit")
    if part.metric:
        raise InvalidParameter(f"a plan cannot hold {type(part).__name__}")


@check_fit.register
def _(part: Geometric, domain: Domain, name: str) -> None:
    if not isinstance(domain, Range):
        text = f"{name!r}: geometric noise is for a Range, whose values have an order"
        raise InvalidParameter(text, "fit")
    if domain.k != part.k:
        raise InvalidParameter(f"{name!r} has {domain.k} values, its mechanism {part.k}", "fit")


@check_fit.register
def _(part: PlanarGeometric, domain: Domain, name: str) -> None:
    if not isinstance(domain, Grid) or (domain.rows, domain.columns) != part.shape:
        text = f"{name!r}: planar noise is for a Grid of {part.rows} by {part.columns} cells"
        raise InvalidParameter(text, "fit")
    for step, true in zip(part.steps, domain.steps, strict=True):
        if step > true * 1000 * (1 + _SLACK):
            raise InvalidParameter(
                f"{name!r}: cells are taken for {step / 1000:.3f} m wide, but are {true:.3f} m; the loss "
                "per kilometer would be larger than is stated",
                "steps",
            )


@singledispatch
def unit_loss(part: Mechanism, name: str) -> UnitLoss | None:  # noqa: ARG001 the others say it
    """The loss per unit of a metric attribute; None for any other."""
    return None


@unit_loss.register
def _(part: Geometric, name: str) -> UnitLoss:
    return UnitLoss(name, "step", part.loss_at(1))


@unit_loss.register
def _(part: PlanarGeometric, name: str) -> UnitLoss:
    return UnitLoss(name, "kilometer", part.loss_per(_KILOMETER))


def describe_unit_loss(part: Mechanism, name: str) -> str | None:
    """The loss of a metric attribute by the unit that people know, in words; None for any other."""
    loss = unit_loss(part, name)
    if loss is None:
        return None
    return f"loss {format_up(loss.loss)} per {loss.unit} and {format_loss(part.loss())} in the worst case"


def rest_loss(mechanism: RecordMechanism, per: Per = "record") -> float:
    """What one report loses about all other attributes, the metric ones being the same."""
    others = [not part.metric for part in mechanism.mechanisms]
    return log_up(mechanism.ratio_among(others, per))


def loss_to_random(part: Mechanism) -> tuple[float, bool]:
    """What a report loses between any value and a random one, rounded up, and whether that is exact.

    For large tables, and for numbers, it is the worst case of two values: a mixture of all is no farther.
    """
    if not isinstance(part, MetricMechanism) or part.k * part.outputs > _MOST_ENTRIES:
        return part.loss(), False
    columns = zip(*part.law.exact().weights, strict=True)
    largest = Fraction(1)
    for column in columns:
        mean = Fraction(sum(column), part.k)
        largest = max(largest, max(column) / mean, mean / min(column))
    fewest, most = cell(part.k)  # words that give each of the random values: not quite as many
    return log_up(largest * Fraction(most, fewest)), True


def refuse_together(names: Sequence[str], mechanism: RecordMechanism, policies: Sequence[str]) -> None:
    """Refuse what metric attributes, or means, cannot be combined with."""
    for name, part, missing in zip(names, mechanism.mechanisms, policies, strict=True):
        if not (part.metric or part.numeric):
            continue
        what = "is metric" if part.metric else "is a number"
        if missing == "value":
            raise InvalidParameter(
                f'{name!r} {what}, so "no answer" cannot be one of its values; refuse missing answers, '
                "or make them random",
                "no-answer",
            )
    cells = sum(part.k for part in mechanism.mechanisms if isinstance(part, PlanarGeometric))
    if cells > MOST_TOGETHER:
        raise InvalidParameter(
            f"the grids of a plan have at most {MOST_TOGETHER:,} metric cells together, got {cells:,}",
            "cells",
        )


def _refuse_large(size: int, most: int, name: str, what: str, remedy: str) -> None:
    if size > most:
        raise InvalidParameter(
            f"{name!r}: a plan's table has at most {most:,} {what}, got {size:,}; {remedy}"
        )


def _decimal(epsilon: float) -> Fraction:
    """The number as written, 1/10 for 0.1, whose float is a little more: nothing above it is stated."""
    return min(Fraction(str(epsilon)), Fraction(epsilon))


def _down(number: Fraction) -> float:
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, 0.0)
