"""Defines the values of an attribute: labels for people, integers from 0 to k - 1 for mechanisms.

A value outside the domain is refused, never rounded or passed on. A missing answer is -1 here; the study
decides what becomes of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.domain.answer import SELF, quote
from deniable.errors import InvalidParameter, InvalidValue
from deniable.exact import positive_epsilon
from deniable.formatting import Printed
from deniable.mechanisms import checked_values
from deniable.randomness import below
from deniable.randomness.draws import WordArray

NO_ANSWER = -1
"""The code of a missing answer."""

MOST_VALUES = 1 << 20
"""How many values an attribute has at most: labels, bins or cells. Every client has this limit."""
_MOST_BELOW = 1 << 32  # of the positions of a number all but the last are drawn

Privacy = Literal["equal", "metric"]
"""Whether all values are equally indistinguishable, or near ones more than distant ones (metric privacy)."""


class Domain(ABC, Printed):
    """The values an attribute can have, in order."""

    if TYPE_CHECKING:  # read-only here, so that a domain may store them or compute them

        @property
        def labels(self) -> tuple[str, ...]:
            """The values' names, in the order of their codes."""

    privacy: Privacy = "equal"
    epsilon: float | None = None
    """For metric privacy: what a study lets a report lose, per unit of distance."""

    @abstractmethod
    def codes(self, values: object, name: str = SELF) -> Integers:
        """Each value's code, or -1 where there is no answer; what is not a value is refused."""

    @property
    def k(self) -> int:
        """The number of values."""
        return len(self.labels)

    @property
    def listed(self) -> bool:
        """Whether its values can be listed; text and codes have too many."""
        return True

    @property
    def is_level(self) -> bool:
        """Whether it is a coarse level of a question, which people answer without knowing of it."""
        return False

    @property
    def shown_labels(self) -> tuple[str, ...]:
        """The labels where values are listed, and else none."""
        return self.labels if self.listed else ()

    @property
    def has_no_answer(self) -> bool:
        """Whether "no answer" can be one of the values; metric values have no position for it."""
        return self.privacy != "metric"

    @property
    def plain(self) -> Domain:
        """The values alone, as a plan has them; the plan's mechanisms say how they are hidden."""
        return self

    def draw(self, words: WordArray) -> Integers:
        """A code for each word, all of them equally likely: for people without an answer."""
        return below(words, min(self.k, _MOST_BELOW)).astype(np.int64)

    @final
    def encode(self, values: object, name: str = SELF) -> Integers:
        """Each value's code; missing answers are refused."""
        codes = self.codes(values, name)
        refuse_missing(codes, name, self.has_no_answer)
        return codes

    def decode(self, codes: npt.ArrayLike) -> list[str]:
        """Each code's label."""
        return [self.labels[code] for code in checked_values(codes, self.k).tolist()]


def refuse_many_values(k: int, remedy: str = "") -> None:
    """Refuse more values of an attribute than any client takes."""
    if k > MOST_VALUES:
        raise InvalidParameter(
            f"an attribute has at most {MOST_VALUES:,} values, got {k:,}{remedy}", "values"
        )


def check_privacy(domain: Domain) -> None:
    """Refuse an unknown kind of privacy, and an epsilon that is not one of its own."""
    if domain.privacy not in ("equal", "metric"):
        raise InvalidParameter(f"privacy is 'equal' or 'metric', got {domain.privacy!r}")
    if domain.epsilon is None:
        return
    positive_epsilon(domain.epsilon)
    if domain.privacy != "metric":
        raise InvalidParameter(
            "an attribute has an epsilon of its own only with privacy='metric', per unit of distance; all "
            "others share the study's"
        )


def format_privacy(domain: Domain, unit: str) -> str:
    """What a report may lose per unit of distance, in words; nothing where all values are alike."""
    if domain.privacy != "metric":
        return ""
    return f", metric{'' if domain.epsilon is None else f' (epsilon {domain.epsilon:g} per {unit})'}"


def refuse_missing(codes: Integers, name: str, has_no_answer: bool = True) -> None:
    """Refuse codes of missing answers; the remedy depends on whether "no answer" can be a value."""
    missing = np.flatnonzero(codes == NO_ANSWER)
    if missing.size:
        raise InvalidValue(
            f"the answer to {quote(name)} is missing"
            if len(codes) == 1
            else f"{missing.size} of {len(codes)} answers to {quote(name)} are missing, the first in row "
            f"{missing[0]}, counting from 0",
            "decide what that means: missing='value' makes it a value of its own, missing='random' answers "
            "at random"
            if has_no_answer
            else "fill it in or leave these people out, or decide that missing='random' answers at random",
        )
