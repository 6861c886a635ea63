"""Holds one number of the study of classifiers, beside the one that the specification states."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from deniable_papers.studies.stated import is_apart


@final
@dataclass(frozen=True, kw_only=True)
class LearningPoint:
    """The accuracy of a model on the rows of others, or what an attack on it found."""

    figure: str
    """What was measured: "accuracy", or the name of an attack."""
    model: str
    protocol: str
    """What the model learned from, in a few words."""
    sanitized: int
    """How many columns were sanitized."""
    epsilon: float | None
    """Of a record; None where nothing is protected."""
    accuracy: float
    stderr: float = 0.0
    runs: int
    seed: int
    stated: float | None = None
    margin: float | None = None
    """How far apart the two may be: 1.5 standard deviations."""
    auc: float | None = None
    advantage: float | None = None
    low: float | None = None
    """The lower end of the interval of the advantage."""
    high: float | None = None
    bound: float | None = None
    """The largest advantage that the guarantee allows; None where it covers no membership."""
    found_at_1: float | None = None
    """The share of members that are found at 1 % false alarms."""
    found_at_01: float | None = None
    """The same at 0.1 %."""
    success: float | None = None
    """How often guesses of a column are right, for members."""
    blind: float | None = None
    """How often they are without the model."""
    refused: str | None = None
    differs: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "differs", is_apart(self.accuracy, self.stated, self.margin))
