"""Lists the metric mechanisms by name for `deniable simulate`; PROTOCOLS are the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from deniable.errors import InvalidParameter
from deniable.metric import (
    MetricMechanism,
    duchi,
    geometric,
    hybrid,
    piecewise,
    planar_geometric,
    square_wave,
)
from deniable_papers.mechanisms import exponential, tight_constraints


@final
@dataclass(frozen=True)
class Distanced:
    """A mechanism by its name: its function, the unit of its epsilon, and how k ordered values get it."""

    made_by: Callable[..., object]
    per: str
    """What the budget is for: a step from one value to the next, a unit of distance, or any two values."""
    ordered: Callable[[int, float], MetricMechanism] | None = None
    """For values 0 to k - 1 on a line, one step apart; None where it is for something else."""
    instead: str = ""
    """Where it is for something else: for what, and what to do."""

    @property
    def name(self) -> str:
        """As the function is called."""
        return self.made_by.__name__

    @property
    def title(self) -> str:
        """The first sentence of its documentation."""
        return (self.made_by.__doc__ or "").split("\n", 1)[0]

    def make(self, k: int, epsilon: float) -> MetricMechanism:
        """Makes it for k ordered values, one step apart."""
        if self.ordered is None:
            raise InvalidParameter(f"{self.name!r} is not for the shares of ordered values: {self.instead}")
        return self.ordered(k, epsilon)


def _find_steps(x: int, y: int) -> float:
    """The distance of two values on a line."""
    return float(abs(x - y))


_STEP, _ANY = "step", "any two values"
_LOCATIONS = (
    "it is for locations; make a Study with a Grid, whose plan says what to expect, or measure it in Python"
)
_MEANS = (
    "it is for the mean of a number; make a Study with a Number, whose plan says what to expect, or measure "
    "it in Python"
)
_ALL = (
    Distanced(geometric, _STEP, lambda k, epsilon: geometric(k - 1, epsilon)),
    Distanced(exponential, _STEP, lambda k, epsilon: exponential(_find_steps, epsilon, k)),
    Distanced(tight_constraints, _STEP, lambda k, epsilon: tight_constraints(_find_steps, epsilon, k)),
    Distanced(square_wave, _ANY, lambda k, epsilon: square_wave(epsilon, k)),
    Distanced(planar_geometric, "unit of a grid", instead=_LOCATIONS),
    Distanced(duchi, "any two numbers", instead=_MEANS),
    Distanced(piecewise, "any two numbers", instead=_MEANS),
    Distanced(hybrid, "any two numbers", instead=_MEANS),
)
DISTANCED: dict[str, Distanced] = {entry.name: entry for entry in _ALL}
"""Every one of them, in the order in which they are listed."""
