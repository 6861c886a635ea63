"""Loads the people of the study of classifiers, and divides them into those who teach and those who test."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable_papers import data

SENSITIVE = ("gender", "race", "native-country", "age")
"""The columns that the fairness study sanitizes."""
TARGET = "income"
_TEST = 0.2


@final
@dataclass(frozen=True, eq=False)
class Lesson:
    """People whose labels a model learns from, and others on whom it is judged."""

    names: tuple[str, ...]
    ks: tuple[int, ...]
    train: Integers
    """A row for each person, a column for each of the names: codes from 0 to k - 1."""
    train_labels: Integers
    test: Integers
    test_labels: Integers

    @property
    def domains(self) -> dict[str, list[int]]:
        """The values of every column and of the label, as codes."""
        return {name: list(range(k)) for name, k in zip(self.names, self.ks, strict=True)} | {TARGET: [0, 1]}

    @property
    def prior(self) -> dict[str, Floats]:
        """The shares of each column's values, as a census would publish them: here, of who teaches."""
        columns = zip(self.names, self.ks, self.train.T, strict=True)
        return {name: np.bincount(column, minlength=k) / len(column) for name, k, column in columns}

    def name_columns(self, rows: Integers) -> dict[str, Integers]:
        """The columns of some rows by name."""
        return dict(zip(self.names, rows.T, strict=True))


@lru_cache(maxsize=2)
def divide_people(seed: int, most: int | None = None) -> Lesson:
    """Four in five teach, the others test; `most` is how many people there are at most."""
    from sklearn.model_selection import train_test_split

    people = data.load("adult-26k")
    table, labels = np.split(people.table.astype(np.int64), [people.d - 1], axis=1)
    labels = labels[:, 0]
    if most is not None and most < len(table):
        table, _, labels, _ = train_test_split(
            table, labels, train_size=most, stratify=labels, random_state=seed
        )
    parts: list[Array] = train_test_split(table, labels, test_size=_TEST, stratify=labels, random_state=seed)
    return Lesson(people.attributes[:-1], people.ks[:-1], parts[0], parts[2], parts[1], parts[3])
