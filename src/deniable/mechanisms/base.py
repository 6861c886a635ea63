"""The contract of every mechanism, and the tally that its reports add up to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter, InvalidReport, InvalidValue
from deniable.estimate import Estimate
from deniable.exact import whole_number
from deniable.law import Law, Moments
from deniable.tables import codes_for
from deniable.words import Words


@final
@dataclass(frozen=True, eq=False)
class Tally:
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
            asked = np.asarray(self.asked)
            if (
                asked.dtype.kind not in "iu"
                or asked.shape != counts.shape
                or (asked > self.n).any()
                or (counts > asked).any()
            ):
                raise InvalidParameter(
                    "asked is the number of reports about each value: at least its count, at most n"
                )
            object.__setattr__(self, "asked", asked.astype(np.int64))
        object.__setattr__(self, "n", whole_number("n, the number of reports,", self.n, 0))
        if counts.ndim != 1 or counts.size < 2 or counts.dtype.kind not in "iuf":
            raise InvalidParameter("counts is one number per value, for at least two values")
        frozen = counts.astype(np.float64 if counts.dtype.kind == "f" else np.int64)
        if (
            counts.dtype.kind in "iu" and frozen.view(np.uint64).max() > self.n
        ):  # a negative one is huge without its sign
            raise InvalidParameter(
                f"each count is from 0 to n = {self.n}, got {counts.min()} to {counts.max()}"
            )
        if counts.dtype.kind == "f" and not np.isfinite(frozen).all():
            raise InvalidParameter("counts must be finite")
        frozen.setflags(write=False)
        object.__setattr__(self, "counts", frozen)

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        self._same_size(other)
        return Tally(self.n + other.n, self.counts + other.counts, self._asked(other, 1))

    def __radd__(self, other: int) -> Tally:
        """So that `sum` works."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        self._same_size(other)
        return Tally(self.n - other.n, self.counts - other.counts, self._asked(other, -1))

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

    def _asked(self, other: Tally, sign: int) -> Array | None:
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


class Mechanism(ABC):
    """A read-only recipe that turns a value and some words into a report, with a law that is
    known exactly.
    """

    k: int
    """The number of values; they are 0 to k - 1."""
    counts_reports: bool = True
    """Whether a tally counts reports; else it adds up numbers."""

    @property
    @abstractmethod
    def words(self) -> int:
        """How many 64-bit words one report takes."""

    @property
    @abstractmethod
    def report_bytes(self) -> int:
        """The size of one report."""

    @property
    @abstractmethod
    def law(self) -> Law | Moments:
        """The law of the report's support."""

    @abstractmethod
    def loss(self) -> float:
        """The exact epsilon of one report, computed from the integers that are sampled, rounded up."""

    @abstractmethod
    def success(self, prior: npt.ArrayLike | None = None) -> float:
        """How often the best guess of the value from one report is right; `prior` is uniform unless given."""

    @abstractmethod
    def privatize(self, values: npt.ArrayLike, words: Words | None = None) -> Array:
        """One report per value, from these words; without words, from the operating system's."""

    @abstractmethod
    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        """Which values each report supports, as a table of reports by values (for small batches)."""

    @abstractmethod
    def tally(self, reports: Array) -> Tally:
        """Count how many reports support each value; a report that cannot have been sent is refused."""

    @abstractmethod
    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased frequencies with error bars."""

    @property
    def tallied(self) -> int:
        """How many counts a tally has: one per value, unless a report is about something else."""
        return self.k

    @final
    def checked_tally(self, tally: Tally) -> Tally:
        """Refuse what is not a tally, or one of some other number of values."""
        if not isinstance(tally, Tally):
            raise InvalidReport(
                f"estimates are made from a tally, m.estimate(m.tally(reports)), got {type(tally).__name__}"
            )
        if tally.counts.size != self.tallied:
            raise InvalidReport(
                f"this tally counts {tally.counts.size} values, the mechanism has {self.tallied}"
            )
        if self.counts_reports and tally.counts.dtype.kind == "f" and (tally.counts % 1).any():
            odd = tally.counts[np.argmax(tally.counts % 1 > 0)]
            raise InvalidReport(f"counts of reports are whole numbers, got {odd:g}; give counts, not shares")
        return tally


def checked_values(values: npt.ArrayLike, k: int) -> Integers:
    """A copy of integers from 0 to k - 1 in one dimension, or a clear refusal; nothing is rounded, cast or
    passed through.
    """
    return in_domain(integers(values, k), k)


def in_domain(array: Array, k: int) -> Integers:
    """A copy of integers that are all from 0 to k - 1.

    It is a copy, so that what was checked is what is reported, whatever another thread does to the original.
    """
    wide = array.astype(
        np.uint64 if array.dtype.kind == "u" else np.int64
    )  # a negative one is huge if read without sign
    if wide.size and wide.view(np.uint64).max() >= k:
        wrong = wide.min() if wide.min() < 0 else wide.max()
        raise InvalidValue(f"{wrong} is not a value of this mechanism (0 to {k - 1}); it was not reported")
    return wide.view(np.int64)


def integers(values: npt.ArrayLike, k: int) -> Array:
    """Integers in one dimension, as they are given; of a categorical column of texts, its codes."""
    values = codes_for(values, k)
    if np.ma.is_masked(values):
        raise InvalidValue(
            "some values are masked: decide what a missing answer means first, since a mask would be dropped"
        )
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as problem:
        raise InvalidValue(f"values must be a list of integers from 0 to {k - 1}: {problem}") from None
    if array.ndim != 1:
        hint = "put a single value in a list" if array.ndim == 0 else "give one attribute at a time"
        raise InvalidValue(f"values must have one dimension, got {array.ndim}; {hint}")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu" or (isinstance(values, list | tuple) and bool in set(map(type, values))):
        raise InvalidValue(
            f"values must be integers from 0 to {k - 1}, got {_described(array)}; {_remedy(array)}"
        )
    return array


def floats(values: npt.ArrayLike, what: str) -> npt.NDArray[np.float64]:
    """A copy of numbers as floats, or a refusal that says what they must be."""
    if np.ma.is_masked(values):
        raise InvalidValue(
            "some values are masked: decide what a missing answer means first, since a mask would be dropped"
        )
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "iuf" and given.size:
            raise TypeError(f"got {_described(given)}")
        return np.array(given, dtype=np.float64)
    except (ValueError, TypeError, OverflowError) as problem:
        raise InvalidValue(f"values are {what}: {problem}; nothing was reported") from None


def unmasked(reports: Array) -> Array:
    """Reports as an array; a mask would be dropped, so it is refused."""
    if np.ma.is_masked(reports):
        raise InvalidReport(
            "reports are masked: take out those that do not count, since a mask would be dropped"
        )
    try:
        return np.asarray(reports)
    except (ValueError, TypeError, OverflowError) as problem:
        raise InvalidReport(
            f"reports are an array as `privatize` makes it, or a list of its numbers: {problem}"
        ) from None


def checked_k(k: int, most: int, shape: str) -> int:
    """A number of values that a shape can hold."""
    number = whole_number("k, the number of values,", k, 2)
    if number > most:
        raise InvalidParameter(
            f"k = {k} is too large for {shape} encoding (at most {most}); hash or group the values first"
        )
    return number


def _remedy(array: Array) -> str:
    if array.dtype.kind == "f" and not np.isnan(array).any():
        return "round numbers to whole ones, or put them into bins, first"
    return "code labels as integers and decide what a missing answer means first"


def _described(array: Array) -> str:
    if array.dtype.kind in "iu":
        return "a list with booleans"
    kinds = {"f": "floating-point numbers", "b": "booleans", "O": "mixed objects", "U": "text", "S": "bytes"}
    text = f"{kinds.get(array.dtype.kind, 'values')} ({array.dtype})"
    if array.dtype.kind == "f" and np.isnan(array).any():
        text += f" with {int(np.isnan(array).sum())} NaN"
    return text
