"""Holds how often an attacker finds a person, or which attribute of a report is real."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from deniable.attack.likelihoods import Chance
from deniable.formatting import format_percent, shorten_names


@final
@dataclass(frozen=True)
class ReidentificationRate:
    """How many people are found in a background table."""

    background: str
    attributes: tuple[str, ...]
    """The columns of the background."""
    collections: int
    top: int
    success: float
    stderr: float
    blind: float
    low: float
    """The ends of the 95 % interval of `success`, which few people who are found make wide."""
    high: float

    def __str__(self) -> str:
        rate = f"{format_percent(self.success)} of people among the {self.top:,} best matches"
        return f"{self.named}: {rate} (blind {format_percent(self.blind)})"

    @property
    def named(self) -> str:
        """The background with the names of its columns."""
        return f"{self.background} ({shorten_names(self.attributes)})"


@final
@dataclass(frozen=True)
class RealAttribute:
    """How often it is found which attribute of a part with fakes is real."""

    names: tuple[str, ...]
    """The attributes of the part."""
    chance: Chance

    @property
    def blind(self) -> float:
        """How often a blind guess is right."""
        return 1 / len(self.names)
