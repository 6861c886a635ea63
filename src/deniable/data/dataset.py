"""Holds people and their values: a table of integers, with what the integers mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.errors import DataUnavailable
from deniable.formatting import format_count
from deniable.simulate.population import from_column


@final
@dataclass(frozen=True, eq=False)
class Dataset:
    """People and their values: a row each, a column per attribute, labels as integers."""

    name: str
    attributes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    """What the integers of each attribute mean."""
    table: npt.NDArray[np.unsignedinteger[Any]]
    source: str
    """Where it comes from, and what is simulated in it."""

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.table, dtype=np.min_scalar_type(max(self.ks) - 1))
        table.setflags(write=False)
        object.__setattr__(self, "table", table)

    def __str__(self) -> str:
        sizes = [f"{name} ({k:,})" for name, k in zip(self.attributes, self.ks, strict=True)]
        what = f"{self.n:,} people, {format_count(self.d, 'attribute')} with numbers of values"
        return f"Dataset {self.name}: {what}: {', '.join(sizes)}"

    def __repr__(self) -> str:
        return f"<Dataset {self.name}: {self.n:,} people, {format_count(self.d, 'attribute')}>"

    @property
    def n(self) -> int:
        """The number of people."""
        return len(self.table)

    @property
    def d(self) -> int:
        """The number of attributes."""
        return len(self.attributes)

    @property
    def ks(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return tuple(len(values) for values in self.labels)

    @cached_property
    def counts(self) -> tuple[Integers, ...]:
        """How many people have each value, for each attribute."""
        return tuple(
            np.bincount(column, minlength=k) for column, k in zip(self.table.T, self.ks, strict=True)
        )

    def column(self, attribute: str) -> npt.NDArray[np.unsignedinteger[Any]]:
        """The values of one attribute, by its name."""
        return self.table[:, self.attributes.index(attribute)]


def encode_columns(
    name: str, attributes: Sequence[str], rows: Sequence[Sequence[str]], source: str, ks: Sequence[int] = ()
) -> Dataset:
    """A dataset whose labels become integers, in the order of numbers where all are numbers, else of text."""
    columns, labels = [], []
    for attribute, column in zip(attributes, zip(*rows, strict=True), strict=True):
        values = from_column(column, attribute).labels or ()
        code = {label: number for number, label in enumerate(values)}
        columns.append([code[label] for label in column])
        labels.append(values)
    dataset = Dataset(name, tuple(attributes), tuple(labels), np.array(columns).T, source)
    refuse_other_sizes(dataset, ks)
    return dataset


def refuse_other_sizes(dataset: Dataset, ks: Sequence[int]) -> None:
    """Refuse a dataset with other numbers of values than these, where any are given."""
    if ks and dataset.ks != tuple(ks):
        raise DataUnavailable(
            f"{dataset.name} has attributes of {list(dataset.ks)} values; {list(ks)} were expected"
        )
