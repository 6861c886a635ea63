"""Holds one number of a study, beside the one that its specification states."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, final

UNITS = {
    "variances": "times a value's noise",
    "ranges of 1/100": "thousandths",
    "ranges of 1/10": "thousandths",
    "cumulative": "thousandths",
    "held": "of intervals",
    "hits": "of 20 strings",
    "reported": "strings",
    "F1": "of 1",
    "errors": "of studies",
    "shown": "of strings",
    "bias": "standard deviations",
    "coverage": "of intervals",
    "above": "of strings",
    "width": "plain widths",
    "limit": "%",
    "power": "of cases",
    "bounds": "epsilon",
    "small": "delta",
    "two values": "epsilon",
}
"""What the numbers of a figure are counted in; of others, the figure's name says it."""


@final
@dataclass(frozen=True, kw_only=True)
class StatedPoint:
    """One number, how far chance may move it, and what is stated."""

    figure: str
    case: str
    method: str
    epsilon: float
    people: int | None = None
    value: float
    stderr: float = 0.0
    """The error of the simulation; 0 where the number is exact."""
    stated: float | None = None
    margin: float | None = None
    """How far apart the two may be by chance and by rounding: three standard errors of both."""
    runs: int | None = None
    seed: int | None = None
    refused: str | None = None
    differs: bool = field(init=False)
    """Whether the two differ by more than that."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "differs", is_apart(self.value, self.stated, self.margin))


def is_apart(value: float, stated: float | None, margin: float | None) -> bool:
    """Whether a number is farther from the stated one than the margin; not where one of these is missing."""
    return stated is not None and margin is not None and abs(value - stated) > margin


def compare(
    value: float, stated: str | None, stderr: float = 0.0, stated_stderr: float = 0.0
) -> dict[str, Any]:
    """The fields of a number and of the one that is stated, with as many digits as it was written.

    >>> compare(0.947, ".950", 0.005, 0.005)["margin"]
    0.0217...
    """
    if stated is None:
        return {"value": value, "stderr": stderr}
    plain = stated.replace(",", "")
    rounding = 0.5 * 10.0 ** -len(plain.partition(".")[2])
    margin = 3 * math.hypot(stderr, stated_stderr) + 1.001 * rounding
    return {"value": value, "stderr": stderr, "stated": float(plain), "margin": margin}
