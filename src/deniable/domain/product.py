"""Defines the values of several questions that are reported as one: a cell of their table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, final

import numpy as np

from deniable.arrays import Integers
from deniable.domain.answer import SELF, to_list
from deniable.domain.categories import Categories
from deniable.domain.domain import NO_ANSWER, Domain
from deniable.domain.range import Range
from deniable.domain.view import View
from deniable.errors import InvalidParameter, InvalidValue

MOST_CELLS = 1 << 16
"""How many cells a table has at most: reports of more would be long, and nobody could read the shares."""
_BETWEEN = " x "
_MOST = 16  # as many questions with two answers have that many cells


def name_product(names: Iterable[str]) -> str:
    """What an attribute with the values of several questions is called."""
    return _BETWEEN.join(names)


def join_labels(factors: Sequence[tuple[str, Domain]]) -> tuple[str, ...]:
    """The answers to several questions as one, the last question's answers changing first."""
    return tuple(map(_BETWEEN.join, product(*(domain.labels for _, domain in factors))))


@final
@dataclass(frozen=True)
class Product(View):
    """The answers to two questions, or more, as one value: the last question's answers change first.

    >>> both = Product({"sex": Categories(["f", "m"]), "smoker": Categories(["yes", "no"])})
    >>> both.name, both.labels
    ('sex x smoker', ('f x yes', 'f x no', 'm x yes', 'm x no'))
    >>> both.encode({"sex": ["f", "m"], "smoker": ["no", "no"]}).tolist()
    [1, 3]
    """

    factors: tuple[tuple[str, Domain], ...]

    def __init__(self, factors: Mapping[str, Domain] | Iterable[tuple[str, Domain]]) -> None:
        known = tuple(factors.items() if isinstance(factors, Mapping) else factors)
        names = [name for name, _ in known]
        if not 2 <= len(known) <= _MOST or len(set(names)) < len(names):
            raise InvalidParameter(f"a table is of two or more different questions, got {names}", "product")
        for name, domain in known:
            if not isinstance(domain, Categories | Range) or domain.privacy == "metric":
                raise InvalidParameter(
                    f"{name!r} cannot be in a table: that takes a list of values, or a range whose values "
                    "are all equally indistinguishable",
                    "product",
                )
        cells = math.prod(domain.k for _, domain in known)
        if cells > MOST_CELLS:
            sizes = " x ".join(f"{domain.k:,}" for _, domain in known)
            raise InvalidParameter(
                f"a table has at most {MOST_CELLS:,} cells, and {name_product(names)} has {sizes} = "
                f"{cells:,}; ask for fewer values, such as decades in place of years",
                "product",
            )
        object.__setattr__(self, "factors", tuple((name, domain.plain) for name, domain in known))

    @property
    def name(self) -> str:
        return name_product(self.names)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many answers each question has."""
        return tuple(domain.k for _, domain in self.factors)

    @property
    def k(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Both answers, in the order of the questions."""
        return join_labels(self.factors)

    def codes(self, values: object, name: str = SELF) -> Integers:
        """From a column for each question, by name, or from a list with the answers of each person.

        Where one of the answers is missing, all of them are.
        """
        columns = values if isinstance(values, Mapping) else self._turn(to_list(values, name), name)
        return self.join([domain.codes(columns[factor], factor) for factor, domain in self.factors])

    def join(self, codes: Sequence[Integers]) -> Integers:
        """The cells of these answers, a list of codes for each question."""
        missing = np.any([answers == NO_ANSWER for answers in codes], axis=0)
        cells = np.ravel_multi_index([np.maximum(answers, 0) for answers in codes], self.shape)
        return np.where(missing, NO_ANSWER, cells)

    def _turn(self, rows: Sequence[Any], name: str) -> dict[str, list[Any]]:
        """A column for each question, from the answers of each person."""
        for row in rows:
            if not isinstance(row, list | tuple) or len(row) != len(self.factors):
                raise InvalidValue(f"an answer to {name!r} has {len(self.factors)} parts, got {row!r}")
        return {factor: [row[j] for row in rows] for j, factor in enumerate(self.names)}

    def __str__(self) -> str:
        return f"{' x '.join(map(str, self.shape))} = {self.k:,} cells of {self.name}"
