"""What a plan gives away, computed from its mechanisms: a plan that states less is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import asin, radians, sin
from typing import Callable, Optional

from deniable_device.changes import CONTEXT, UNIT, changing_values, logarithm
from deniable_device.document import LARGEST, Json, fields, typed
from deniable_device.domains import Grid
from deniable_device.errors import Refused
from deniable_device.mechanisms import (
    BitFlip,
    Geometric,
    Mechanism,
    Planar,
    Repeated,
)
from deniable_device.records import Faked, Near, Record, Sample, Split, faked_ratios

BILLIONTH = UNIT // 10**9
RADIUS = 6_371_008_800.0
"""That of the earth, in millimeters."""
FIGURES = ("one_report", "same_value", "one_value_forever", "changing_values", "changing_values_usual")
Figures = dict[str, Optional[int]]
"""Losses of several rounds, in units; None is one without a bound."""


def billionths(loss: int | None) -> int | None:
    """A loss as a plan states it: whole billionths, rounded up, or None where that has no bound."""
    stated = -(-loss // BILLIONTH) if loss is not None else LARGEST + 1
    return stated if stated <= LARGEST else None


def ratio_after(reports: int) -> Callable[[Mechanism], Fraction]:
    """How much so many reports of one value give away, by mechanism."""

    def ratio(mechanism: Mechanism) -> Fraction:
        return mechanism.rounds.after(reports) if isinstance(mechanism, Repeated) else mechanism.ratio()

    return ratio


def first_ratio(mechanism: Mechanism) -> Fraction:
    """How much the answer that a device keeps for ever gives away."""
    return mechanism.rounds.first.ratio() if isinstance(mechanism, Repeated) else mechanism.ratio()


def figures(mechanism: Mechanism, reports: int) -> Figures:
    """The five losses of one attribute that is asked in several rounds."""
    forever = logarithm(first_ratio(mechanism))
    if isinstance(mechanism, Repeated):
        rounds = mechanism.rounds
        return {
            "one_report": logarithm(rounds.after(1)),
            "same_value": logarithm(min(rounds.after(reports), rounds.first.ratio())),
            "one_value_forever": forever,
            "changing_values": changing_values(rounds, reports),
            "changing_values_usual": min(reports, rounds.k) * forever,
        }
    if not mechanism.repeated:
        return {
            "one_report": forever,
            "same_value": reports * forever,
            "one_value_forever": None,
            "changing_values": reports * forever,
            "changing_values_usual": reports * forever,
        }
    answers = mechanism.k
    if isinstance(mechanism, BitFlip):
        answers = mechanism.bits + (mechanism.bits < mechanism.k)
    return {
        "one_report": forever,
        "same_value": forever,
        "one_value_forever": forever,
        "changing_values": forever if reports == 1 else None,
        "changing_values_usual": min(reports, answers) * forever,
    }


def faked_figures(record: Faked, reports: int) -> Figures:
    """The five losses of a record of one real answer among fakes."""
    parts = [figures(part, reports) for part in record.mechanisms]
    slack_and_pairs, _ = faked_ratios([fake.first_round() for fake in record.fakes], 1)
    forever = min(slack_and_pairs, max(map(first_ratio, record.mechanisms)))
    one = record.losses(ratio_after(1), 1).record
    several = record.losses(ratio_after(reports), reports).record
    changing = logarithm(one) if reports == 1 else largest([part["changing_values"] for part in parts])
    return {
        "one_report": logarithm(one),
        "same_value": logarithm(min(several, forever)),
        "one_value_forever": logarithm(forever),
        "changing_values": changing,
        "changing_values_usual": largest([part["changing_values_usual"] for part in parts]),
    }


def largest(losses: Sequence[int | None]) -> int | None:
    """The largest loss; None where one has no bound."""
    known = [loss for loss in losses if loss is not None]
    return max(known) if len(known) == len(losses) else None


def summed(losses: Sequence[int | None]) -> int | None:
    """The sum of losses; None where one has no bound."""
    known = [loss for loss in losses if loss is not None]
    return sum(known) if len(known) == len(losses) else None


def record_figures(record: Record, reports: int, known: Sequence[Figures] | None = None) -> Figures:
    """The five losses of a record: those of all parts of a split, or of the largest that a sample reports.

    Those of each attribute may be known."""
    if isinstance(record, Faked):
        return faked_figures(record, reports)
    if isinstance(record, Split):
        parts, reported = [record_figures(part, reports, known) for part in record.parts], len(record.parts)
    else:
        last = record.first + record.width
        parts = list(known[record.first : last]) if known else []
        parts = parts or [figures(part, reports) for part in record.mechanisms]
        reported = record.reported if isinstance(record, Sample) else 1
    return {name: sum_of_largest([part[name] for part in parts], reported) for name in FIGURES}


def sum_of_largest(losses: list[int | None], count: int) -> int | None:
    """The sum of so many largest losses, of which one without a bound is the largest."""
    if None in losses:
        return None
    return sum(sorted(loss for loss in losses if loss is not None)[-count:])


class Truth:
    """What a plan gives away, in billionths. `R` and `A` are the ratios of a record and of an attribute."""

    def __init__(
        self,
        record: Record,
        rounds: int | None,
        domains: Sequence[object],
        names: Sequence[str],
        chain: Figures | None = None,
        bias: int = 0,
    ) -> None:
        losses = record.losses(ratio_after(1), 1)
        self.R, self.A = losses.record, losses.attribute
        self.record, self.attribute = (more(billionths(logarithm(ratio)), bias) for ratio in (self.R, self.A))
        self.repeated = stated_figures(None if rounds is None else record_figures(record, rounds), bias)
        self.chain = stated_figures(chain, bias)
        metric: Json = metric_losses(record, domains, names)
        self.metric: Json = metric and {**metric, "rest": more(metric["rest"], bias)}

    def stated(self) -> dict[str, object]:
        """The losses in the form that a plan states them."""
        tree: dict[str, object] = {
            "record": self.record,
            "attribute": self.attribute,
            "repeated": self.repeated,
        }
        if self.chain is not None:
            tree["chain"] = self.chain
        return tree if self.metric is None else {**tree, "metric": self.metric}


def more(loss: int | None, bias: int) -> int | None:
    """A loss with some billionths more."""
    return None if loss is None else loss + bias


def stated_figures(losses: Figures | None, bias: int) -> Figures | None:
    """Losses of several rounds in billionths."""
    return losses and {name: more(billionths(loss), bias) for name, loss in losses.items()}


def metric_losses(
    record: Record, domains: Sequence[object], names: Sequence[str]
) -> dict[str, object] | None:
    """What answers with distances give away for each step or kilometer, and what all others give away."""
    units = []
    for mechanism, domain, name in zip(mechanisms_by_attribute(record), domains, names):
        if isinstance(mechanism, Geometric):
            loss = billionths(logarithm(step_ratio(mechanism)))
            units.append({"name": name, "unit": "step", "loss": loss})
        elif isinstance(mechanism, Planar):
            assert isinstance(domain, Grid)
            check_steps(mechanism, domain)
            units.append({"name": name, "unit": "kilometer", "loss": kilometer_loss(mechanism)})
    if not units:
        return None
    rest = record.losses(lambda each: Fraction(1) if each.metric else each.ratio(), 1).record
    return {"rest": billionths(logarithm(rest)), "units": units}


def mechanisms_by_attribute(record: Record) -> list[Mechanism | None]:
    """The mechanism of each attribute; None where answers are reported as a set."""
    if isinstance(record, Split):
        return [mechanism for part in record.parts for mechanism in mechanisms_by_attribute(part)]
    return [None] * record.width if isinstance(record, Near) else list(record.mechanisms)


def step_ratio(mechanism: Geometric) -> Fraction:
    """How much one step of a range gives away."""
    return max(
        Fraction(left, right)
        for numbers in (mechanism.tails, mechanism.steps)
        for left, right in zip(numbers, numbers[1:])
    )


def kilometer_loss(mechanism: Planar) -> int | None:
    """How much a kilometer gives away, in billionths: the largest over all pairs of entries of each table.

    Pairs in one quadrant are enough: in others, the same entries are farther apart."""
    top, bottom = 0, 1
    height, width = mechanism.steps
    for table in mechanism.tables():
        logs = [[units_of_logarithm(entry) for entry in row] for row in table]
        for down in range(len(logs)):
            for right in range(len(logs[0])):
                if not (down or right):
                    continue
                apart = (down * height) ** 2 + (right * width) ** 2
                change = largest_change(logs, down, right)
                change += 2 if change else 0  # what rounding may have taken
                if change**2 * bottom > top * apart:
                    top, bottom = change**2, apart
    # the square of the loss, in billionths for 10^6 millimeters
    square = -(-top * 10**30 // (bottom * UNIT**2))
    root = math.isqrt(square)
    root += root * root < square
    return root if root <= LARGEST else None


def units_of_logarithm(count: int) -> int:
    """The logarithm of a whole number, in units, rounded to the nearest."""
    return int(CONTEXT.multiply(CONTEXT.ln(Decimal(count)), Decimal(UNIT)).to_integral_value())


def largest_change(logs: list[list[int]], down: int, right: int) -> int:
    """The largest change of two entries that are so many rows and columns apart, in either direction."""
    best = 0
    for upper, lower in zip(logs, logs[down:]):
        for left_row, right_row in ((upper, lower), (lower, upper)):
            changes = list(map(int.__sub__, left_row, right_row[right:]))
            best = max(best, max(changes), -min(changes))
    return best


def check_steps(mechanism: Planar, grid: Grid) -> None:
    """Refuses steps that are longer than the cells of a grid: distances would seem larger than they are."""
    height = RADIUS * radians(grid.north - grid.south) / grid.rows
    edge = math.cos(radians(max(abs(grid.south), abs(grid.north))))
    width = 2 * RADIUS * asin(edge * sin(radians(grid.wide) / 2)) / grid.columns
    for step, length in zip(mechanism.steps, (height, width)):
        if step > length * (1 + 1e-9):
            raise Refused("steps", "a step is longer than the cells of the grid")


def check_stated(truth: Truth, tree: Json) -> None:
    """Refuses a plan that gives away more than it states."""
    tree = fields(
        tree, {"record": int, "attribute": int, "repeated": object}, {"metric": dict, "chain": dict}
    )
    pairs: list[tuple[int | None, int | None]] = [
        (tree["record"], truth.record),
        (tree["attribute"], truth.attribute),
    ]
    repeated, metric, chain = tree["repeated"], tree.get("metric"), tree.get("chain")
    for stated in (repeated, chain):
        if stated is not None:
            for loss in fields(stated, dict.fromkeys(FIGURES, object)).values():
                typed(0 if loss is None else loss, int, "a loss")
    if metric is not None:
        metric = fields(metric, {"rest": int, "units": list})
        for unit in metric["units"]:
            fields(unit, {"name": str, "unit": str, "loss": int})
    several = [(repeated, truth.repeated), (chain, truth.chain)]
    for stated, true_losses in [*several, (metric, truth.metric)]:
        if (stated is None) != (true_losses is None):
            raise Refused("losses", "the stated losses are not those of such a plan")
    for stated, true_losses in several:
        if true_losses is not None:
            pairs += [(stated[name], true_losses[name]) for name in FIGURES]
    if truth.metric is not None:
        if [(unit["name"], unit["unit"]) for unit in metric["units"]] != [
            (unit["name"], unit["unit"]) for unit in truth.metric["units"]
        ]:
            raise Refused("losses", "the units are not those of the metric attributes")
        pairs.append((metric["rest"], truth.metric["rest"]))
        pairs += [(unit["loss"], true["loss"]) for unit, true in zip(metric["units"], truth.metric["units"])]
    for loss, true in pairs:
        if loss is not None and (true is None or loss < true):
            raise Refused("leaks", f"the plan gives away {true} billionths, but states {loss}")
