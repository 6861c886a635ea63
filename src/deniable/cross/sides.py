"""Describes one side of a table: a question, and the answers that are its rows or columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter, not_among


@final
@dataclass(frozen=True)
class Side:
    """A question, its answers, and where these are on a scale of numbers, if there is one."""

    name: str
    labels: tuple[str, ...]
    points: tuple[float, ...] | None = None
    no_mean: str = "its answers are no numbers"
    """Why there is no mean of the answers; empty where there is one."""
    within: float = 0.0
    """How far an answer may be from its point: half of the widest bin."""

    @property
    def size(self) -> int:
        """How many answers there are."""
        return len(self.labels)

    def find(self, label: str | None) -> int:
        """The number of an answer; the first if none is named."""
        if label is None:
            return 0
        if label not in self.labels:
            raise InvalidParameter(not_among(label, f"an answer to {self.name!r} in this table", self.labels))
        return self.labels.index(label)

    def positions(self, positions: Sequence[float] | None = None) -> Floats:
        """Where the answers are: as given, by their scale, or 0, 1, 2, ..."""
        scale = np.arange(self.size) if self.points is None else self.points
        points = np.asarray(scale if positions is None else positions, dtype=np.float64)
        if points.shape != (self.size,) or not np.isfinite(points).all():
            raise InvalidParameter(
                f"the positions of {self.name!r} are {self.size} numbers, got {positions!r}"
            )
        if (points == points[0]).all():
            raise InvalidParameter(
                f"a trend needs two positions of {self.name!r} that differ, got {points[0]:g} for each answer"
            )
        return points
