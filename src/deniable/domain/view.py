"""Defines values that are computed from the answers to other questions: tables of them, and levels of one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, final

from deniable.arrays import Integers
from deniable.domain.domain import Domain


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
