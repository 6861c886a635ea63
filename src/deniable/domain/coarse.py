"""Defines a level of a question: its values in groups of one size, in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from deniable.arrays import Integers
from deniable.domain.answer import SELF, checked_text
from deniable.domain.domain import NO_ANSWER, Domain
from deniable.domain.groups import join_bins
from deniable.domain.range import Range
from deniable.domain.text import Unlisted
from deniable.domain.view import View
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.randomness.draws import WordArray

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

    @property
    def is_level(self) -> bool:
        return True

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
