"""Rates how well a plan protects a person's answers: well, a little, or hardly.

The measure is an attacker's best guess. Two people with any answers seem equally likely beforehand, and one
answer may go with another; the attacker sees all reports, of every round, and picks one of the two. The loss L
of all of them lets this guess be right with probability e^L / (1 + e^L) at most, whatever answers change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final

from deniable.plan.losses import NANO, Loss, to_nanos

Level = Literal["well", "a little", "hardly"]

MOST_WELL = 1_098_612_289
"""Billionths of a nat, ln 3 rounded up: up to here a plan protects well, and 75 of 100 guesses are right."""
MOST_LITTLE = 2_197_224_578
"""Billionths of a nat, ln 9 rounded up: up to here a plan protects a little, and 90 of 100 guesses are right."""

_RATED: Mapping[Level, str] = {
    "well": "protects answers well",
    "a little": "protects answers a little",
    "hardly": "hardly protects answers",
}


@final
@dataclass(frozen=True)
class Protection:
    """How well a person's answers are protected, over all rounds."""

    level: Level
    loss: int | None
    """Of all reports together, whatever changes, in billionths of a nat; None without a bound."""

    @staticmethod
    def of(loss: Loss) -> Protection:
        """The rating of a plan with this loss."""
        nanos = to_nanos(loss.counted)
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
