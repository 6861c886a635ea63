"""Holds what the study measured: a model's accuracy and fairness, or how well an attribute is guessed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final


@final
@dataclass(frozen=True, kw_only=True)
class FairnessPoint:
    """A model with one treatment of the sensitive attributes: means over seeds, beside what was published."""

    kind: str = "model"
    dataset: str
    mechanism: str
    """The protocol, or a baseline: NonDP (raw values) or dropped."""
    epsilon: float | None
    split: str | None
    runs: int
    """How many seeds, from 0 on."""
    seed: int
    """The seed of the noise."""
    acc: float
    f1: float
    spd: float
    """The difference of positive predictions between the groups 1 and 0."""
    di: float
    """Their ratio, 0 to 1."""
    eod: float
    """The difference of recalls."""
    oad: float
    """The difference of accuracies."""
    sd: dict[str, float] | None
    """The standard deviation of each over the seeds; None of one seed."""
    published: dict[str, float] | None
    """The means of the same seeds, where they are known."""
    margin: dict[str, float] | None
    """How far apart the two may be: three standard errors, or the rounding where nothing is random."""
    loss: float | None
    """The exact loss of a person's report of the sensitive attributes; None of raw values."""
    refused: str | None = None
    differs: bool = field(init=False)
    """Whether any metric is farther from the published one than that."""

    def __post_init__(self) -> None:
        known = zip((self.published or {}).items(), (self.margin or {}).values(), strict=True)
        differs = any(abs(getattr(self, name) - value) > margin for (name, value), margin in known)
        object.__setattr__(self, "differs", differs)


@final
@dataclass(frozen=True, kw_only=True)
class AttributePoint:
    """How often a sensitive attribute is guessed from the inputs that are not: means over seeds."""

    kind: str = "attack"
    dataset: str
    mechanism: str = "attack"
    epsilon: None = None
    """An attack on raw columns has no epsilon, and no fairness; these fields are those of other rows."""
    split: None = None
    attribute: str
    runs: int
    acc: None = None
    f1: None = None
    spd: None = None
    di: None = None
    eod: None = None
    oad: None = None
    loss: None = None
    accuracy: float
    auc: float
    blind: float
    """How often the larger group alone is right."""
    refused: str | None = None
