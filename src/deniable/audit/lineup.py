"""Runs line-ups: which of several people sent this report? Reports say something of every value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from deniable.arrays import Integers
from deniable.audit.bound import Event
from deniable.audit.devices import Side
from deniable.audit.observations import Votes
from deniable.audit.setting import encode_sides
from deniable.study import Plan

_MOST_ANSWERS = 1 << 27  # people in line times devices, attributes and rounds, at most


@final
@dataclass(frozen=True)
class Line:
    """People that are equally likely, any two of them neighbors."""

    sides: tuple[Side, ...]
    codes: list[Integers]
    """For each round, their answers as integers, a row per attribute."""
    devices: int
    """How many devices are one of them."""


@final
@dataclass
class Lineups:
    """Guesses at who each device is; nobody is guessed where all people have the same votes."""

    lines: tuple[Line, ...]
    _guesses: Counter[float] = field(default_factory=Counter)
    """By their odds by chance."""
    _right: int = 0
    _hits: dict[int, Integers] = field(default_factory=dict)
    """For each line, by its id: of how many devices of each person the right one was named, and of how many
    not.
    """

    @staticmethod
    def of(plan: Plan | None, sides: Sequence[tuple[Side, ...]], trials: int) -> Lineups:
        """The line-ups of a setting: none without a plan, as nothing says what a report supports."""
        return Lineups(
            () if plan is None else tuple(_line(plan, line, trials // len(sides)) for line in sides)
        )

    @property
    def devices(self) -> int:
        """How many there are in all."""
        return sum(line.devices for line in self.lines)

    def blocks(self, most: int) -> Iterator[tuple[Line, int]]:
        """A line, and how many devices are next, for all of them."""
        for line in self.lines:
            for low in range(0, line.devices, most):
                yield line, min(most, line.devices - low)

    def judge(self, line: Line, votes: Votes, persons: Integers) -> None:
        """Names the person with the most votes, from a row per person and a column per device."""
        size = len(votes)
        is_best = votes == votes.max(axis=0)
        many = is_best.sum(axis=0)
        right = is_best[persons, np.arange(len(persons))] & (many < size)
        self._right += int(right.sum())
        seen = self._hits.setdefault(id(line), np.zeros((2, size), dtype=np.int64))
        seen += np.array([np.bincount(persons[chosen], minlength=size) for chosen in (right, ~right)])
        counts = np.bincount(many, minlength=size)
        self._guesses.update({s / (size - s): int(counts[s]) for s in range(1, size) if counts[s]})

    def event(self, who: str, alpha: float, claim: float) -> Event:
        """What the guesses gave."""
        name = f"{who}supports the right one of up to {max(len(line.sides) for line in self.lines)} people"
        return Event(
            name, self._guesses.total(), self._right, alpha, claim, tuple(sorted(self._guesses.items()))
        )

    @property
    def easiest(self) -> Side | None:
        """Finds whose devices are identified most often, beyond what is usual in that line."""
        best, most = None, 0.0
        for line in self.lines:
            right, wrong = self._hits[id(line)]
            shares = (right + 1) / (right + wrong + 2)
            above = (shares - shares.mean()) * np.sqrt(right + wrong)
            if float(above.max()) > most:
                best, most = line.sides[int(above.argmax())], float(above.max())
        return best


def _line(plan: Plan, sides: tuple[Side, ...], devices: int) -> Line:
    codes = encode_sides(plan, sides)
    return Line(sides, codes, max(1, min(devices, _MOST_ANSWERS // (codes[0].size * len(codes)))))
