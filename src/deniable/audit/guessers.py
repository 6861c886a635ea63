"""Learns from trials how much likelier a report is from one answer than from the other.

A guesser gives each trial a score: above 0 speaks for the first answer, below for the second. What it learns
may be wrong, and is then useless, but never unsafe: a bound is computed from other trials than those that it
was learned from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.audit.bound import lower_epsilon
from deniable.audit.observations import Bytes, Observations

Source = Literal["bytes", "support"]

_CELLS = 1 << 18  # of a table of whole reports; two that fall together count as one, which costs power only
_MOST_COLUMNS = 1 << 15  # of learned tables: 256 numbers each, for both answers
_MOST_COUPLES = 256  # columns that are looked at in twos, at most
_STATES = 6  # of a column of what is supported
_STEPS = 200  # thresholds that are considered
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Guesser(ABC):
    """One way to look."""

    name: str

    @abstractmethod
    def learn(self, seen: Observations) -> None:
        """Count trials."""

    @abstractmethod
    def scores(self, seen: Observations) -> Floats:
        """How much the counts speak for the first answer, in nats."""


@final
class Additive(Guesser):
    """Byte by byte (or attribute by attribute), as if they were independent."""

    def __init__(self, source: Source, pairs: int) -> None:
        self.name = f"every {'byte' if source == 'bytes' else 'attribute'} and round, added up"
        self._source, self._pairs = source, pairs
        self._counts: npt.NDArray[np.int64] | None = None

    def _table(self, seen: Observations) -> Bytes:
        return np.hstack([seen.bodies, seen.ids]) if self._source == "bytes" else seen.support

    def learn(self, seen: Observations) -> None:
        table = self._table(seen)
        if (
            self._counts is None or self._counts.shape[0] < table.shape[1]
        ):  # longer reports than any before: start over
            self._counts = np.zeros((table.shape[1], self._pairs, 2, 256), dtype=np.int64)
        if self._counts.size > _MOST_COLUMNS * 512:
            self._pairs = min(self._pairs, _MOST_COLUMNS // max(1, table.shape[1]))  # the first of them
            self._counts = np.zeros((table.shape[1], self._pairs, 2, 256), dtype=np.int64)
        mine = seen.pair < self._pairs
        base = ((2 * seen.pair + seen.second) << 8)[mine]
        for column, counts in zip(table[mine].T, self._counts, strict=False):
            counts += np.bincount(base + column, minlength=counts.size).reshape(counts.shape)

    def scores(self, seen: Observations) -> Floats:
        total = np.zeros(len(seen.pair))
        if self._counts is None:
            return total
        mine = seen.pair < self._pairs
        base, scores = (seen.pair << 8)[mine], np.zeros(int(mine.sum()))
        for column, counts in zip(self._table(seen)[mine].T, self._counts, strict=False):
            scores += _evidence(counts[:, 0], counts[:, 1]).reshape(-1)[base + column]
        total[mine] = scores
        return total


@final
class Joint(Guesser):
    """The whole report at once, where there are few different ones."""

    def __init__(self, source: Source) -> None:
        self.name = "whole reports" if source == "bytes" else "all attributes and rounds at once"
        self._source = source
        self._counts = np.zeros((2, _CELLS), dtype=np.int64)

    def _cells(self, seen: Observations) -> npt.NDArray[np.int64]:
        cells = seen.pair.astype(np.uint64) + np.uint64(1)
        for column in (seen.bodies if self._source == "bytes" else seen.support).T:
            cells = (cells ^ (cells >> np.uint64(29))) * _MIX + column
        cells = (cells ^ (cells >> np.uint64(32))) * _MIX
        return (cells >> np.uint64(46)).astype(np.int64)  # 18 bits

    def learn(self, seen: Observations) -> None:
        np.add.at(self._counts.reshape(-1), self._cells(seen) + _CELLS * seen.second, 1)

    def scores(self, seen: Observations) -> Floats:
        cells = self._cells(seen)
        return _evidence(self._counts[0, cells], self._counts[1, cells])


@final
class Coupled(Guesser):
    """Two attributes (or rounds) together: of each pair the two that say most, as where they share noise."""

    name = "two attributes or rounds together"

    def __init__(self, pairs: int) -> None:
        self._pairs = pairs
        self._couples: list[tuple[int, int]] = []
        self._counts = np.zeros((0, pairs, 2, _STATES**2), dtype=np.int64)
        self._best: Integers | None = None

    def learn(self, seen: Observations) -> None:
        if not self._couples:
            self._couples = couples(seen.support.shape[1], _MOST_COUPLES)
            self._counts = np.zeros((len(self._couples), self._pairs, 2, _STATES**2), dtype=np.int64)
        base = (2 * seen.pair + seen.second) * _STATES**2
        for (first, second), counts in zip(self._couples, self._counts, strict=True):
            states = self._states(seen, first, second)
            counts += np.bincount(base + states, minlength=counts.size).reshape(counts.shape)
        self._best = None

    def scores(self, seen: Observations) -> Floats:
        if not self._couples:
            return np.zeros(len(seen.pair))
        evidence = _evidence(self._counts[:, :, 0], self._counts[:, :, 1])
        if self._best is None:
            apart = self._counts[:, :, 0] - self._counts[:, :, 1]
            self._best = (apart * evidence).sum(axis=2).argmax(axis=0)
        states = np.array([self._states(seen, first, second) for first, second in self._couples])
        best = self._best[seen.pair]
        return np.asarray(evidence[best, seen.pair, states[best, np.arange(len(best))]])

    @staticmethod
    def _states(seen: Observations, first: int, second: int) -> Bytes:
        return seen.support[:, first] * np.uint8(_STATES) + seen.support[:, second]


def couples(size: int, most: int) -> list[tuple[int, int]]:
    """Couples of different positions: neighbors first, then those two apart, and so on, around a circle."""
    listed = ((first, (first + apart) % size) for apart in range(1, size // 2 + 1) for first in range(size))
    return list(dict.fromkeys((min(couple), max(couple)) for couple in listed))[:most]


def _evidence(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> Floats:
    """The logarithm of the ratio of two counts; what was never seen speaks for nobody."""
    return np.asarray(np.log((first + 0.5) / (second + 0.5)))


def make_guessers(pairs: int, planned: bool) -> list[Guesser]:
    """All ways to look there are."""
    sources: tuple[Source, ...] = ("support", "bytes") if planned else ("bytes",)
    guessers: list[Guesser] = [
        view for source in sources for view in (Joint(source), Additive(source, pairs))
    ]
    return [*guessers, Coupled(pairs)] if planned else guessers


@final
class Chooser:
    """Finds for each group, on trials of its own, the view and threshold that show most."""

    def __init__(self, views: list[Guesser], alphas: list[float]) -> None:
        """The alphas are those of the groups."""
        self._views, self._alphas = views, alphas
        self._groups: list[npt.NDArray[np.int64]] = []
        self._scores: list[list[Floats]] = [[] for _ in views]

    def add(self, seen: Observations, group: npt.NDArray[np.int64]) -> None:
        """More trials; a score is kept as positive where it is right."""
        self._groups.append(group)
        for view, kept in zip(self._views, self._scores, strict=True):
            kept.append(np.where(seen.second, -1.0, 1.0) * view.scores(seen))

    def chosen(self) -> list[tuple[Guesser, float]]:
        """For each group the best view, and the least score that is a guess."""
        groups, scores = np.concatenate(self._groups), [np.concatenate(kept) for kept in self._scores]
        return [self._best(groups == number, scores, alpha) for number, alpha in enumerate(self._alphas)]

    def _best(self, mine: npt.NDArray[np.bool_], scores: list[Floats], alpha: float) -> tuple[Guesser, float]:
        thresholds = [_best_threshold(values if mine.all() else values[mine], alpha) for values in scores]
        best = max(range(len(thresholds)), key=lambda i: thresholds[i][0])
        return self._views[best], thresholds[best][1]


def _best_threshold(signed: Floats, alpha: float) -> tuple[float, float]:
    """The largest lower bound, and the threshold that gives it."""
    if not signed.size:
        return 0.0, np.inf
    size = np.abs(signed)
    order = np.argsort(-size)
    size, right = size[order], np.cumsum(signed[order] > 0)
    ranks = np.unique(np.geomspace(1, len(size), _STEPS).astype(np.int64)) - 1
    thresholds = np.unique(size[ranks])
    thresholds = thresholds[thresholds > 1e-9]  # without any evidence there is no guess
    if not thresholds.size:
        return 0.0, np.inf
    guesses = np.searchsorted(-size, -thresholds, side="right")
    bounds = lower_epsilon(right[guesses - 1], guesses, alpha)
    best = int(np.argmax(bounds))
    return float(bounds[best]), float(thresholds[best])
