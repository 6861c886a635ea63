"""Describes the people who are asked, simulated or from a column of data, by how frequent each value is."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter, not_among
from deniable.exact import whole_number
from deniable.randomness.simulated import numbers_from
from deniable_papers.simulate.drawn import MOST_PEOPLE

MOST_VALUES = 10**7


@final
@dataclass(frozen=True, eq=False)
class Population:
    """The people who are asked: how frequent each value is and, where people are known, how many have it."""

    name: str
    shares: Floats
    counts: Integers | None = None
    labels: tuple[str, ...] | None = None

    @property
    def k(self) -> int:
        """The number of values."""
        return int(self.shares.size)

    @property
    def n(self) -> int:
        """The number of known people."""
        return int(self._require_counts.sum())

    @property
    def _require_counts(self) -> Integers:
        if self.counts is None:
            raise InvalidParameter(
                f"the population {self.name!r} has no people of its own; say how many to draw"
            )
        return self.counts

    def draw_counts(self, n: int | None, generator: np.random.Generator) -> Integers:
        """How many of n people drawn at random have each value; without n, the counts of the known people."""
        if n is not None:
            return np.asarray(generator.multinomial(checked_people(n), self.shares), dtype=np.int64)
        return self._require_counts


def uniform(k: int) -> Population:
    """All values are equally frequent."""
    return _build_population("uniform", np.ones(checked_size(k)))


def zipf(k: int, exponent: float = 1.0) -> Population:
    """The value of rank r has a share that goes as 1 / r^exponent: words, cities, products."""
    ranks = np.arange(1, checked_size(k) + 1, dtype=np.float64)
    return _build_population(f"zipf:{exponent:g}", ranks ** -_checked_number("exponent", exponent, math.inf))


def geometric(k: int, ratio: float = 0.9) -> Population:
    """Every value is `ratio` times as frequent as the one before."""
    steps = np.arange(checked_size(k), dtype=np.float64)
    return _build_population(f"geometric:{ratio:g}", _checked_number("ratio", ratio, 1.0) ** steps)


def normal(k: int, width: float = 0.15) -> Population:
    """A bell over ordered values, centered, with a standard deviation of `width` times the domain."""
    distance = (np.arange(checked_size(k)) - (k - 1) / 2) / (k * _checked_number("width", width, math.inf))
    return _build_population(f"normal:{width:g}", np.exp(-(distance**2) / 2))


def dirichlet(k: int, concentration: float = 1.0, seed: int = 0) -> Population:
    """Shares that are themselves drawn at random, the same for the same seed."""
    generator = numbers_from(seed, "dirichlet", k)
    spread = _checked_number("concentration", concentration, math.inf)
    return _build_population(
        f"dirichlet:{concentration:g}", generator.gamma(spread, size=checked_size(k)) + 1e-300
    )


def from_column(values: Iterable[object] | npt.NDArray[np.generic], name: str = "column") -> Population:
    """The people behind a column of data: integers or labels; numbers come first, in their order, then text.

    A missing answer (None, NaN, infinity) is refused, since nobody knows what it means.

    >>> people = from_column(["no", "yes", "no", "no"])
    >>> people.labels, people.counts.tolist()
    (('no', 'yes'), [3, 1])
    """
    occurrences = Counter(str(value) for value in values)
    missing = [
        label for label in occurrences if label == "None" or _numbers_first(label)[1] in (math.inf, -math.inf)
    ]
    if missing:
        raise InvalidParameter(
            f"{name!r} has {occurrences[missing[0]]} answers {missing[0]!r}; decide what a missing answer "
            "means first"
        )
    if len(occurrences) < 2:
        raise InvalidParameter(
            f"{name!r} has {len(occurrences)} different values; a study needs at least two"
        )
    labels = tuple(sorted(occurrences, key=_numbers_first))
    counts = np.array([occurrences[label] for label in labels], dtype=np.int64)
    return Population(name, counts / counts.sum(), counts, labels)


def read_column(path: Path, column: str) -> Population:
    """The people behind one column of a CSV file with a header; empty cells are refused."""
    header, rows = read_rows(path, column)
    place = header.index(column)
    return from_column([row[place] for row in rows], column)


def read_rows(path: Path, column: str | None = None) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a CSV file; refuses empty cells of a column, or of all if none is named."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header = list(reader.fieldnames or [])
            mark = next((mark for mark in ";\t|" if mark in header[0]), None) if len(header) == 1 else None
            hint = "" if mark is None else f"; its cells have {mark!r} between them, and need commas here"
            if column is not None and column not in header:
                raise InvalidParameter(not_among(column, f"a column of {path.name}", header) + hint)
            if column is None and hint:
                raise InvalidParameter(f"{path.name} has one column{hint}")
            repeated = next((name for name in header if header.count(name) > 1), None)
            if repeated is not None:
                raise InvalidParameter(
                    f"{path.name} has more than one column {repeated!r}; give each a name of its own"
                )
            rows = []
            for number, row in enumerate(reader, 1):
                if reader.restkey in row:
                    raise InvalidParameter(
                        f"row {number} of {path.name} has more cells than its header; quote cells "
                        "that hold commas"
                    )
                rows.append([(row[name] or "").strip() for name in header])
    except (UnicodeDecodeError, csv.Error) as problem:
        raise InvalidParameter(f"{path.name} is not a CSV file in UTF-8: {problem}") from None
    for place, name in enumerate(header):
        missing = [number for number, row in enumerate(rows, 1) if not row[place]]
        if missing and column in (None, name):
            raise InvalidParameter(
                f"column {name!r} is empty in {len(missing)} of {len(rows)} rows, first in row {missing[0]}; "
                "fill those cells in or drop the rows"
            )
    return header, rows


POPULATIONS: dict[str, Callable[..., Population]] = {
    "uniform": uniform,
    "zipf": zipf,
    "geometric": geometric,
    "normal": normal,
    "dirichlet": dirichlet,
}
"""Every simulated population, for the command line; all but the uniform one take a number besides k."""


def named_population(text: str, seed: int = 0) -> Callable[[int], Population]:
    """What the command line means by `zipf` or `zipf:1.5`.

    >>> named_population("zipf:2")(3).shares.round(3).tolist()
    [0.735, 0.184, 0.082]
    """
    name, _, number = text.partition(":")
    if name not in POPULATIONS:
        raise InvalidParameter(not_among(name, "a population", POPULATIONS))
    make = partial(dirichlet, seed=seed) if name == "dirichlet" else POPULATIONS[name]
    if not number:
        return make
    try:
        parameter = float(number)
    except ValueError:
        raise InvalidParameter(f"the number after {name}: must be like 1.5, got {number!r}") from None
    if name == "uniform":
        raise InvalidParameter(f"the uniform population takes no number, got {number!r}")
    return lambda k: make(k, parameter)


def checked_people(n: object) -> int:
    """A number of people that can be counted."""
    return whole_number("n, the number of people,", n, 1, MOST_PEOPLE)


def _build_population(name: str, weights: Floats) -> Population:
    if not 0 < weights.sum() < math.inf:
        raise InvalidParameter(f"the population {name!r} has no finite shares; use a number nearer to 1")
    return Population(name, weights / weights.sum())


def checked_size(k: object) -> int:
    """A number of values that people can have."""
    number = whole_number("k, the number of values,", k, 2)
    if number > MOST_VALUES:
        raise InvalidParameter(
            f"k = {number} is too large for a simulated population (at most {MOST_VALUES})"
        )
    return number


def _checked_number(name: str, number: float, most: float) -> float:
    if not 0 < number <= most or math.isinf(number):
        raise InvalidParameter(
            f"{name} must be a positive number{'' if math.isinf(most) else f' up to {most:g}'}, got "
            f"{number!r}"
        )
    return number


def _numbers_first(label: str) -> tuple[bool, float, str]:
    try:
        number = float(label)
    except ValueError:
        return True, 0.0, label
    return False, number if math.isfinite(number) else math.inf, label
