"""Lists the mechanisms for ordered values by name; `PROTOCOLS` lists those for values of any kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from deniable.mechanisms.protocols import Row
from deniable.metric.base import MetricMechanism
from deniable.metric.ordered import geometric
from deniable.metric.waves import square_wave


@final
@dataclass(frozen=True)
class OrderedProtocol(Row):
    """A row of the table: which function makes a mechanism for k ordered values, and how it is called."""

    function: Callable[..., MetricMechanism]
    per: str
    """What epsilon is for: a step from one value to the next, or any two values."""
    make: Callable[[int, float], MetricMechanism]
    """Calls the function for the values 0 to k - 1, one step apart, with this epsilon."""


ORDERED: dict[str, OrderedProtocol] = {
    row.name: row
    for row in (
        OrderedProtocol(geometric, "step", lambda k, epsilon: geometric(k - 1, epsilon)),
        OrderedProtocol(square_wave, "any two values", lambda k, epsilon: square_wave(epsilon, k)),
    )
}
"""Every mechanism that needs only a number of ordered values and epsilon."""
