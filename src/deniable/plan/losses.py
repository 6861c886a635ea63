"""States what reports give away, in billionths of a nat, rounded up, and how well a plan protects by that.

A plan protects well, a little, or hardly. The measure is an attacker's best guess. Two people with any
answers seem equally likely beforehand, and one answer may go with another; the attacker sees all reports, of
every round, and picks one of the two. The loss L of all of them lets this guess be right with probability
e^L / (1 + e^L) at most, whatever answers change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple, Protocol, final

from deniable.formatting import Printed, format_loss
from deniable.mechanisms import Losses
from deniable.plan.chain import Chained, list_last
from deniable.plan.metric_losses import UnitLoss
from deniable.plan.strict_json import (
    LARGEST_INTEGER,
    InvalidPlan,
    Json,
    checked_fields,
    checked_integer,
    checked_list,
    checked_string,
)

NANO = 10**9
"""Losses are stated in units of 1 / NANO nat."""

_FIGURES = ("one_report", "same_value", "one_value_forever", "changing_values", "changing_values_usual")
Level = Literal["well", "a little", "hardly"]

MOST_WELL = 1_098_612_289
"""Billionths of a nat, ln 3 rounded up: up to here a plan protects well, and 75 of 100 guesses are right."""
MOST_LITTLE = 2_197_224_578
"""Billionths of a nat, ln 9 rounded up: up to here it protects a little, and 90 of 100 guesses are right."""

_RATED: Mapping[Level, str] = {
    "well": "protects answers well",
    "a little": "protects answers a little",
    "hardly": "hardly protects answers",
}


@final
@dataclass(frozen=True)
class Loss(Printed):
    """What one report gives away, exactly and rounded up: of the whole record, and of one attribute of it."""

    record: float
    attribute: float
    repeated: Losses | None = None
    """For studies that ask again: what a person's reports give away of their record, together."""
    rest: float | None = None
    """Where attributes are metric: of all the others, these being the same. None where none is."""
    units: tuple[UnitLoss, ...] = ()
    """The losses of every metric attribute, per unit of distance."""
    answer: float | None = None
    """Of one answer, at most, where one can change several attributes; None where each changes one."""
    chain: Losses | None = None
    """Of all reports to this plan and to those that it continues; None where it continues none."""
    bias: int = 0
    """Billionths to add to each of these, for thresholds that are whole."""

    @property
    def counted(self) -> float:
        """What all reports of a person to the plan give away together, whatever changes: the loss that
        devices count that answered no plan before it. It is infinite where there is no bound.
        """
        return self.record if self.repeated is None else self.repeated.changing_values

    @property
    def chained(self) -> Loss:
        """The losses of all reports to a plan and to those that it continues, not to it alone."""
        return self if self.chain is None else replace(self, repeated=self.chain, chain=None)

    def __str__(self) -> str:
        lines = [f"{loss} {about}" for about, loss in self._rows()]
        together = {"many reports of one person together:": self.repeated}
        together["with those to the plans that it continues:"] = self.chain
        for about, losses in together.items():
            lines += [] if losses is None else [about, str(losses)]
        return "\n".join(lines)

    def _rows(self) -> list[tuple[str, str]]:
        """Each guarantee with its loss."""
        rows = [(f"per {unit.unit} of {unit.name!r}", format_loss(unit.loss)) for unit in self.units]
        if self.rest:
            rows.append(("for all other attributes", format_loss(self.rest)))
        worst = " at worst" if self.units else ""
        rows.append((f"per record{worst}", format_loss(self.record)))
        if self.attribute != self.record:
            rows.append((f"per attribute{worst}", format_loss(self.attribute)))
        if self.answer is not None:
            rows.append((f"per answer{worst}", format_loss(self.answer)))
        return rows


class StatedUnit(NamedTuple):
    """What a plan states of a metric attribute: the loss per unit."""

    name: str
    unit: str
    loss: int


@final
@dataclass(frozen=True)
class StatedMetric:
    """What a plan with metric attributes states: the loss of all the others, and per unit of each."""

    rest: int
    units: tuple[StatedUnit, ...]

    @staticmethod
    def of(rest: float, units: tuple[UnitLoss, ...]) -> StatedMetric:
        """What should be stated of these losses."""
        return StatedMetric(
            _up(rest), tuple(StatedUnit(unit.name, unit.unit, _up(unit.loss)) for unit in units)
        )

    def to_dict(self) -> Json:
        """The field `metric` of stated losses."""
        return {"rest": self.rest, "units": [unit._asdict() for unit in self.units]}

    @staticmethod
    def from_dict(data: object) -> StatedMetric:
        """Reads what `to_dict` wrote."""
        data = checked_fields(data, "metric losses", ("rest", "units"))
        units = []
        for item in checked_list(data["units"], "units"):
            fields = checked_fields(item, "the loss per unit", StatedUnit._fields)
            name, unit = (checked_string(fields[field], field) for field in ("name", "unit"))
            units.append(StatedUnit(name, unit, checked_integer(fields["loss"], "the loss per unit")))
        return StatedMetric(checked_integer(data["rest"], "the loss of the rest"), tuple(units))


@final
@dataclass(frozen=True)
class Stated:
    """The losses that a plan states, in billionths of a nat, rounded up; None where there is no bound."""

    record: int
    attribute: int
    repeated: tuple[int | None, ...] | None = None
    metric: StatedMetric | None = None
    chain: tuple[int | None, ...] | None = None
    """Of all reports to the plan and to those that it continues."""

    @property
    def counted(self) -> int | None:
        """The loss that devices count and that people are told; None where there is no bound."""
        return self.record if self.repeated is None else self.repeated[_FIGURES.index("changing_values")]

    @property
    def unchanged(self) -> int | None:
        """What all reports of a person whose answers never change give away together."""
        return self.record if self.repeated is None else self.repeated[_FIGURES.index("same_value")]

    @property
    def chained(self) -> Stated:
        """The losses of all plans that continue each other, the last of which states them."""
        return self if self.chain is None else replace(self, repeated=self.chain, chain=None)

    @staticmethod
    def of(loss: Loss) -> Stated:
        """What a plan with this loss should state."""
        record, attribute = _up(loss.record) + loss.bias, _up(loss.attribute) + loss.bias
        metric = None if loss.rest is None else StatedMetric.of(loss.rest, loss.units)
        if metric is not None:
            metric = replace(metric, rest=metric.rest + loss.bias)
        repeated, chain = (_state(losses, loss.bias) for losses in (loss.repeated, loss.chain))
        return Stated(record, attribute, repeated, metric, chain)

    def to_dict(self) -> Json:
        """The field `losses` of a document."""
        fields: Json = {"record": self.record, "attribute": self.attribute, "repeated": None}
        for name, figures in (("repeated", self.repeated), ("chain", self.chain)):
            fields |= {} if figures is None else {name: dict(zip(_FIGURES, figures, strict=True))}
        return fields if self.metric is None else fields | {"metric": self.metric.to_dict()}

    @staticmethod
    def from_dict(data: object) -> Stated:
        """Reads what `to_dict` wrote."""
        there = [name for name in ("metric", "chain") if isinstance(data, dict) and name in data]
        data = checked_fields(data, "losses", ("record", "attribute", "repeated", *there))
        metric = StatedMetric.from_dict(data["metric"]) if "metric" in there else None
        record, attribute = (
            checked_integer(data[name], f"the loss per {name}") for name in ("record", "attribute")
        )
        repeated = None if data["repeated"] is None else _read_figures(data["repeated"])
        chain = _read_figures(data["chain"]) if "chain" in there else None
        return Stated(record, attribute, repeated, metric, chain)

    def refuse_less(self, loss: Loss) -> None:
        """Refuse where the true loss is above what is stated."""
        true = Stated.of(loss)
        if (self.repeated is None) != (true.repeated is None):
            text = "the plan must state losses of repeated reports if, and only if, it asks again"
            raise InvalidPlan(text, "losses")
        if (self.chain is None) != (true.chain is None):
            text = "the plan must state the losses of a chain if, and only if, it continues other plans"
            raise InvalidPlan(text, "losses")
        names, claims = self._figures()
        known, truths = true._figures()
        if names != known:
            raise InvalidPlan(
                "the plan must state the loss per unit of each metric attribute, in order, and that of "
                "the rest",
                "losses",
            )
        for name, claim, truth in zip(names, claims, truths, strict=True):
            if claim is not None and (truth is None or claim < truth):
                spent = "have no bound" if truth is None else f"lose {truth / NANO:.9f}"
                raise InvalidPlan(
                    f"the plan states a loss of {claim / NANO:.9f} ({name}), but its thresholds {spent}; do "
                    "not answer it",
                    "leaks",
                )

    def _figures(self) -> tuple[list[str], list[int | None]]:
        """All that is stated, with what it is about."""
        names = ["record", "attribute"]
        figures: list[int | None] = [self.record, self.attribute]
        for about, stated in (("", self.repeated), ("with the plans before, ", self.chain)):
            if stated is not None:
                names += [about + figure.replace("_", " ") for figure in _FIGURES]
                figures += stated
        if self.metric is not None:
            names += ["rest", *(f"{unit.name!r} per {unit.unit}" for unit in self.metric.units)]
            figures += [self.metric.rest, *(unit.loss for unit in self.metric.units)]
        return names, figures


def _state(losses: Losses | None, bias: int) -> tuple[int | None, ...] | None:
    """The figures of repeated reports as a plan states them."""
    if losses is None:
        return None
    figures = (to_nanos(getattr(losses, figure)) for figure in _FIGURES)
    return tuple(None if figure is None else figure + bias for figure in figures)


def _read_figures(data: object) -> tuple[int | None, ...]:
    figures = checked_fields(data, "repeated losses", _FIGURES)
    return tuple(
        None if figures[name] is None else checked_integer(figures[name], "a loss") for name in _FIGURES
    )


def to_nanos(figure: float) -> int | None:
    """Billionths, rounded up; None where there is no bound, or none that every language holds exactly."""
    nanos = None if math.isinf(figure) else math.ceil(Fraction(figure) * NANO)
    return None if nanos is None or nanos > LARGEST_INTEGER else nanos


def _up(loss: float) -> int:
    return math.ceil(Fraction(loss) * NANO)


class Rated(Chained, Protocol):
    """A plan, as far as it is rated beside others."""

    @property
    def stated(self) -> Stated: ...


@final
@dataclass(frozen=True)
class Protection(Printed):
    """How well a person's answers are protected, over all rounds."""

    level: Level
    loss: int | None
    """Of all reports together, whatever changes, in billionths of a nat; None without a bound. Reports to
    plans that are continued are among them.
    """

    @staticmethod
    def of(loss: Loss) -> Protection:
        nanos = to_nanos(loss.chained.counted)
        if nanos is not None:
            nanos += loss.bias
        return Protection(rate_loss(nanos), nanos)

    @staticmethod
    def together(plans: Sequence[Rated]) -> Protection:
        """The protection against whoever sees a person's reports to several plans: their losses add up.
        Plans that continue each other count once, by what the newest states of all of them.
        """
        losses = [plan.stated.chained.counted for plan in list_last(plans)]
        total = sum(loss for loss in losses if loss is not None)
        nanos = None if None in losses else total
        return Protection(rate_loss(nanos), nanos)

    @property
    def guess(self) -> float:
        """How often an attacker who chooses between two answers is right, at most."""
        return 1.0 if self.loss is None else 1 / (1 + math.exp(-self.loss / NANO))

    @property
    def percent(self) -> int:
        """The guess out of 100, rounded up."""
        return math.ceil(round(100 * self.guess, 6))

    def __str__(self) -> str:
        return (
            f"{_RATED[self.level]}: of two answers that seem equally likely, whoever sees all reports of a "
            f"person picks the right one at most {self.percent} times in 100"
        )


def rate_loss(nanos: int | None) -> Level:
    """Rates the loss of all reports of a person together, in billionths of a nat.

    >>> rate_loss(10**9), rate_loss(2 * 10**9), rate_loss(4 * 10**9), rate_loss(None)
    ('well', 'a little', 'hardly', 'hardly')
    """
    if nanos is None or nanos > MOST_LITTLE:
        return "hardly"
    return "well" if nanos <= MOST_WELL else "a little"
