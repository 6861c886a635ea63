"""Counts reports: how many there are, and how many of them support each value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from deniable.arrays import Array
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.formatting import Printed, format_count


@final
@dataclass(frozen=True, eq=False)
class Tally(Printed):
    """How many reports there are, and how many of them support each value: all that estimation ever needs.

    >>> Tally(3, [1, 2]) + Tally(2, [0, 1])
    Tally(n=5, counts=array([1, 3]))
    """

    n: int
    counts: Array
    asked: Array | None = field(default=None, repr=False)
    """How many of the reports are about each value at all, where not all are."""

    def __post_init__(self) -> None:
        counts = np.asarray(self.counts)
        if self.asked is not None:
            asked_counts = np.asarray(self.asked)
            if (
                asked_counts.dtype.kind not in "iu"
                or asked_counts.shape != counts.shape
                or (asked_counts > self.n).any()
                or (counts > asked_counts).any()
            ):
                raise InvalidParameter(
                    "asked is the number of reports about each value: at least its count, at most n"
                )
            object.__setattr__(self, "asked", asked_counts.astype(np.int64))
        object.__setattr__(self, "n", whole_number("n, the number of reports,", self.n, 0))
        if counts.ndim != 1 or counts.size < 2 or counts.dtype.kind not in "iuf":
            raise InvalidParameter("counts is one number per value, for at least two values")
        frozen = counts.astype(np.float64 if counts.dtype.kind == "f" else np.int64)
        # a negative one is huge without its sign
        if counts.dtype.kind in "iu" and frozen.view(np.uint64).max() > self.n:
            raise InvalidParameter(
                f"each count is from 0 to n = {self.n}, got {counts.min()} to {counts.max()}"
            )
        if counts.dtype.kind == "f" and not np.isfinite(frozen).all():
            raise InvalidParameter("counts must be finite")
        frozen.setflags(write=False)
        object.__setattr__(self, "counts", frozen)

    def __str__(self) -> str:
        counts = f"counts from {self.counts.min():,g} to {self.counts.max():,g}"
        return f"Tally, {format_count(self.counts.size, 'value')}: {format_count(self.n, 'report')}, {counts}"

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        self._same_size(other)
        return Tally(self.n + other.n, self.counts + other.counts, self._add_asked(other, 1))

    def __radd__(self, other: int) -> Tally:
        """So that `sum` works."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        self._same_size(other)
        return Tally(self.n - other.n, self.counts - other.counts, self._add_asked(other, -1))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.n, self.counts.tobytes()))

    def to_dict(self) -> dict[str, Any]:
        """Writes plain numbers, ready for JSON.

        >>> Tally.from_dict(Tally(3, [1, 2]).to_dict()) == Tally(3, [1, 2])
        True
        """
        plain = {"n": self.n, "counts": self.counts.tolist()}
        return plain if self.asked is None else {**plain, "asked": self.asked.tolist()}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Tally:
        """Reads what `to_dict` wrote."""
        if set(data) - {"asked"} != {"n", "counts"} or not isinstance(data["counts"], list):
            raise InvalidParameter("a tally is {'n': ..., 'counts': [...]}")
        return Tally(
            data["n"], np.asarray(data["counts"]), np.asarray(data["asked"]) if "asked" in data else None
        )

    def _add_asked(self, other: Tally, sign: int) -> Array | None:
        if (self.asked is None) != (other.asked is None):
            raise InvalidParameter(
                "one of the tallies says how many were asked about each value, the other does not"
            )
        return None if self.asked is None or other.asked is None else self.asked + sign * other.asked

    def _same_size(self, other: Tally) -> None:
        if other.counts.size != self.counts.size:
            raise InvalidParameter(
                f"both tallies must count the same values, got {self.counts.size} and {other.counts.size}"
            )
