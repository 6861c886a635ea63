"""Defines values that are computed from the answers to other questions: tables of them, and levels of one."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.arrays import Integers
from deniable.domain.answer import SELF, checked_text, to_list
from deniable.domain.categories import Categories
from deniable.domain.domain import NO_ANSWER, Domain
from deniable.domain.groups import join_bins
from deniable.domain.range import Range
from deniable.domain.text import Unlisted
from deniable.errors import InvalidParameter, InvalidValue
from deniable.exact import whole_number
from deniable.randomness.draws import WordArray


class View(Domain):
    """Values of an attribute that nobody is asked for by its own name, but by its questions, the factors."""

    if TYPE_CHECKING:  # read-only here, so that a view may store them or compute them

        @property
        def factors(self) -> tuple[tuple[str, Domain], ...]:
            """The questions, and the answers that each has."""

    @final
    @property
    def names(self) -> tuple[str, ...]:
        """The questions."""
        return tuple(name for name, _ in self.factors)

    @property
    @abstractmethod
    def name(self) -> str:
        """What an attribute with these values is called."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """How many of the values each question distinguishes."""

    @abstractmethod
    def join(self, codes: Sequence[Integers]) -> Integers:
        """The values of these answers, a list of codes for each question; -1 where one is missing."""


MOST_DIVISOR = (1 << 53) - 1
"""Every language holds integers up to here exactly."""


@final
@dataclass(frozen=True)
class Coarse(View):
    """A question's answers in groups of `divisor` neighbors: a group's code is that of an answer divided.

    >>> level = Coarse("income", Range(0, 1000, step=10), 25)
    >>> level.name, level.k, level.labels[-1]
    ('income by 25', 4, '750 to under 1000')
    >>> level.encode({"income": [0, 249, 250, 999]}).tolist()
    [0, 0, 1, 3]
    """

    question: str
    """Under which name the answers are given."""
    base: Domain
    """The values of the question: a range, or values that are not listed."""
    divisor: int

    def __post_init__(self) -> None:
        checked_text(self.question, "a question's name")
        if self.base.privacy == "metric" or not isinstance(self.base, Range | Unlisted):
            raise InvalidParameter(
                f"{self.question!r} cannot be reported in levels: that takes a range whose values are all "
                "equally indistinguishable, or values that are not listed",
                "coarse",
            )
        least = 2 if self.base.listed else 1
        most = min(self.base.k - 1, MOST_DIVISOR)
        what = f"the divisor of a level of {self.question!r}"
        divisor = whole_number(what, self.divisor, least, most, reason="coarse")
        if not self.base.listed and divisor & (divisor - 1):
            raise InvalidParameter(f"{what} must be a power of two, got {divisor}", "coarse")
        object.__setattr__(self, "divisor", divisor)
        object.__setattr__(self, "base", self.base.plain)

    @property
    def listed(self) -> bool:
        return self.base.listed

    is_level = True

    @property
    def factors(self) -> tuple[tuple[str, Domain], ...]:
        return ((self.question, self.base),)

    @property
    def name(self) -> str:
        if self.base.listed:
            return f"{self.question} by {self.divisor}"
        return f"{self.question} to {(self.k - 1).bit_length()} bits"

    @property
    def k(self) -> int:
        return -(-self.base.k // self.divisor)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.k,)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Each group from its first to its last answer."""
        names = self.base.labels
        starts = range(0, self.base.k, self.divisor)
        return tuple(join_bins(names, start, min(start + self.divisor, self.base.k)) for start in starts)

    def codes(self, values: object, name: str = SELF) -> Integers:
        """From a column by the question's name, or from a list of its answers."""
        answers = values[self.question] if isinstance(values, Mapping) else values
        return self.join([self.base.codes(answers, self.question if name == SELF else name)])

    def join(self, codes: Sequence[Integers]) -> Integers:
        [answers] = codes
        return np.where(answers == NO_ANSWER, NO_ANSWER, answers // self.divisor)

    def draw(self, words: WordArray) -> Integers:
        """The groups of answers that are drawn: the last group may have fewer."""
        return self.join([self.base.draw(words)])

    def __str__(self) -> str:
        return f"{self.k:,} groups of {self.divisor:,} values of {self.question}"


MOST_CELLS = 1 << 16
"""How many cells a table has at most: reports of more would be long, and nobody could read the shares."""
_BETWEEN = " x "
_MOST_FACTORS = 16  # as many questions with two answers have that many cells


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
        if not 2 <= len(known) <= _MOST_FACTORS or len(set(names)) < len(names):
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
        """The answers to all questions, in their order, with a sign between them."""
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
