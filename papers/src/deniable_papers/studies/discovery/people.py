"""Simulates people who have strings that nobody listed, and looks for the strings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.discovery import EVERY, Codes, Decision, cut_levels, discover, divide_people
from deniable.domain import Text
from deniable.mechanisms import Linear, linear
from deniable.randomness.simulated import seeded

LETTER = 5
"""Bits of a letter: a to z are 1 to 26, and 0 ends a string."""
TOP = 20
"""How many of the most common strings are looked for."""


@final
@dataclass(frozen=True, eq=False)
class Strings:
    """Codes of strings, each with its share of people, the most common first."""

    bits: int
    codes: Integers
    shares: Floats
    possible: Codes = EVERY
    """The codes that a string can have."""


@final
@dataclass(frozen=True, eq=False)
class Search:
    """What was decided, and how many people truly have each string."""

    strings: Strings
    counts: Integers
    """People who have each string."""
    decided: Decision

    @cached_property
    def reported(self) -> Integers:
        """The codes that are shown, the most common first, and no more than are looked for."""
        return np.asarray(self.decided.codes[self.decided.shown][:TOP])

    @property
    def hits(self) -> int:
        """Reported codes that are truly among the most common."""
        return int(np.isin(self.reported, self.strings.codes[:TOP]).sum())

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, for the most common strings."""
        return 2 * self.hits / (len(self.reported) + TOP)

    @property
    def invented(self) -> int:
        """How many codes are shown that nobody has."""
        owned = self.strings.codes[self.counts > 0]
        return int((~np.isin(self.decided.codes[self.decided.shown], owned)).sum())


def draw_strings(
    count: int, letters: tuple[int, int], zipf: float, generator: np.random.Generator
) -> Strings:
    """Different strings of so many letters, whose shares fall with a power of their rank.

    >>> some = draw_strings(1000, (6, 10), 1.5, np.random.default_rng(1))
    >>> some.bits, len(np.unique(some.codes)), round(float(some.shares[0]), 3)
    (50, 1000, 0.392)
    """
    least, longest = letters
    codes = np.zeros(0, dtype=np.int64)
    while codes.size < count:
        drawn = generator.integers(1, 27, (count + 1000, longest))
        sizes = generator.integers(least, longest + 1, len(drawn))
        drawn[np.arange(longest) >= sizes[:, None]] = 0
        weights = np.int64(1) << (LETTER * np.arange(longest - 1, -1, -1))
        codes = np.unique(np.concatenate([codes, drawn @ weights]))
    chosen = generator.permutation(codes)[:count]
    shares = np.arange(1, count + 1) ** -zipf
    return Strings(LETTER * longest, chosen, shares / shares.sum(), Text("a-z", longest))


def draw_uniform(bits: int, n: int, generator: np.random.Generator) -> Strings:
    """As many different codes as there are people, or nearly: no string is common."""
    codes = np.unique(generator.integers(0, 1 << bits, n))
    return Strings(bits, generator.permutation(codes), np.full(codes.size, 1 / codes.size))


def list_levels(bits: int, epsilon: float, codes: Codes = EVERY) -> tuple[list[Linear], tuple[int, ...]]:
    """The mechanisms of the levels and of the final group, and how often each is drawn."""
    cuts = (*cut_levels(bits), bits)
    return [linear(cut, epsilon) for cut in cuts], divide_people(cuts, codes)


def send_reports(
    strings: Strings, n: int, epsilon: float, generator: np.random.Generator
) -> tuple[Integers, list[tuple[Linear, Array]]]:
    """How many of n people have each string, and the reports of the levels and of the final group."""
    levels, weights = list_levels(strings.bits, epsilon, strings.possible)
    sizes = generator.multinomial(n, np.array(weights) / sum(weights))
    counts, sent = np.zeros(len(strings.codes), dtype=np.int64), []
    for level, size in zip(levels, sizes.tolist(), strict=True):
        some = generator.multinomial(size, strings.shares)
        counts += some
        codes = np.repeat(strings.codes, some) >> (strings.bits - level.bits)
        sent.append((level, level.privatize(codes, seeded(int(generator.integers(1 << 62))))))
    return counts, sent


def search_strings(strings: Strings, n: int, epsilon: float, generator: np.random.Generator) -> Search:
    """One study: n people report, and their strings are looked for."""
    counts, sent = send_reports(strings, n, epsilon, generator)
    return Search(strings, counts, discover(sent[:-1], sent[-1], codes=strings.possible))
