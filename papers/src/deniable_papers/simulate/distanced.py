"""Lists the mechanisms for ordered values by name for `deniable simulate`; PROTOCOLS are the others."""

from __future__ import annotations

from deniable.metric import ORDERED, OrderedProtocol
from deniable_papers.mechanisms import exponential, tight_constraints


def _find_steps(x: int, y: int) -> float:
    """The distance of two values on a line."""
    return float(abs(x - y))


_MORE = (
    OrderedProtocol(exponential, "step", lambda k, epsilon: exponential(_find_steps, epsilon, k)),
    OrderedProtocol(tight_constraints, "step", lambda k, epsilon: tight_constraints(_find_steps, epsilon, k)),
)
DISTANCED: dict[str, OrderedProtocol] = {**ORDERED, **{row.name: row for row in _MORE}}
"""The library's mechanisms, and those that only papers have."""
