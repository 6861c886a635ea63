"""Chooses the tables that are asked, so that all wanted pairs of questions can be read.

A person reports one of the tables, drawn at random and named, with the whole budget. A view of three
questions answers three pairs at once; it has more cells, and sums over these are noisier. Where every table
is reported (split), or all but one are fakes, tables are compared by what that leaves to each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.choose.objective import Objective
from deniable.domain.view import MOST_CELLS

_FEW = 14  # all choices of so many tables are looked at
_GAIN = 1 - 1e-9  # less is rounding


@final
@dataclass(frozen=True)
class Views:
    """Tables, each as the numbers of its questions; `score` is n times the mean variance of a cell of the
    wanted pairs, or what else the objective makes of these.
    """

    tables: tuple[tuple[int, ...], ...]
    score: float


class Alone(NamedTuple):
    """A question that is asked by itself, beside the tables."""

    k: int
    importance: float = 1.0


@final
@dataclass(frozen=True)
class Wanted:
    """The questions of tables by their numbers of answers, and the pairs of them that will be read."""

    sizes: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    epsilon: float
    weights: tuple[float, ...] = ()
    """How much each pair weighs; all alike where there are none."""
    alone: tuple[Alone, ...] = ()
    beside: tuple[int, ...] = ()
    """How many values each question has beside its answers: a table then has one, "no answer"."""
    objective: Objective = field(default_factory=Objective)
    kind: str = "SMP"
    """How a record is reported: "SMP", "SPL" or "RS+FD"."""


def choose_views(task: Wanted) -> Views:
    """The tables by which the wanted pairs err least.

    >>> choose_views(Wanted((2, 2, 2), ((0, 1), (0, 2), (1, 2)), epsilon=1.0)).tables
    ((0, 1, 2),)
    >>> choose_views(Wanted((2, 5, 4), ((0, 1), (0, 2), (1, 2)), epsilon=1.0)).tables
    ((0, 1), (0, 2), (1, 2))
    """
    search = Search(task)
    best = search.find_best()
    tables = tuple(table for table, used in zip(search.tables, best, strict=True) if used)
    return Views(tables, search.score(best))


@final
@dataclass(frozen=True, eq=False)
class Search:
    """All tables that could be asked, and what one report of each says about each wanted pair."""

    task: Wanted

    @cached_property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """Wanted pairs, views of three that hold two of them or more, and one view of all."""
        return tuple(_list_tables(self.task.sizes, self.task.pairs))

    @cached_property
    def weights(self) -> Floats:
        """How much each pair weighs."""
        return np.array(self.task.weights or [1.0] * len(self.task.pairs))

    @cached_property
    def precision(self) -> Floats:
        """One over the variance of a cell of a pair in a report of one table, by rows for tables; 0 where a
        table does not hold it.
        """
        return self._list_precisions(1)

    def _list_precisions(self, count: int) -> Floats:
        """The `precision` of tables, where a report is about this many attributes."""
        precisions = self._precisions.get(count)
        if precisions is None:
            pairs = zip(self.tables, self._sums, strict=True)
            precisions = np.array([self._read_pairs(table, sums, count) for table, sums in pairs])
            self._precisions[count] = precisions
        return precisions

    @cached_property
    def _precisions(self) -> dict[int, Floats]:
        return {}

    def _read_pairs(self, table: tuple[int, ...], sums: Floats, count: int) -> Floats:
        """The precision of each pair by the protocol that reads the pairs of a table best.

        `sums` has the number of cells of the table that are summed to a cell of each pair.
        """
        task, is_held = self.task, sums > 0
        cells = math.prod(task.sizes[j] for j in table)
        k = cells + max((task.beside[j] for j in table if task.beside), default=0)
        tried = [
            _find_variance(k, sums[is_held], support)
            for support in _list_supports(k, task.kind, task.epsilon, count)
        ]
        precisions = np.zeros(len(sums))
        precisions[is_held] = 1 / min(
            tried, key=lambda variances: self._join(self.weights[is_held] * variances)
        )
        return precisions

    @cached_property
    def _sums(self) -> Floats:
        """How many cells of each table are summed to one of each pair; 0 where it does not hold the pair."""
        sizes = self.task.sizes
        cells = np.array([math.prod(sizes[j] for j in table) for table in self.tables], dtype=np.float64)
        cells_of_pairs = np.array([sizes[a] * sizes[b] for a, b in self.task.pairs])
        is_held = np.array([[set(pair) <= set(table) for pair in self.task.pairs] for table in self.tables])
        return np.asarray(is_held * cells[:, None] / cells_of_pairs)

    def _join(self, errors: Floats) -> float:
        return float(errors.max() if self.task.objective.worst else errors.sum())

    def _list_alone(self, count: int) -> tuple[Floats, Floats]:
        """The importance of each question that is asked by itself, and the variance of one of its shares."""
        alone, kind, epsilon = self.task.alone, self.task.kind, self.task.epsilon
        variances = [
            min(
                float(_find_variance(question.k, np.ones(1), support)[0])
                for support in _list_supports(question.k, kind, epsilon, count)
            )
            for question in alone
        ]
        return np.array([question.importance for question in alone]), np.array(variances)

    def score(self, used: Floats) -> float:
        """N times the mean variance of a cell of the wanted pairs, if these tables are asked, or the largest;
        by the objective.
        """
        return float(self.scores(used[None, :])[0])

    def scores(self, used: Floats) -> Floats:
        """The scores of several choices of tables; a row says which tables are asked."""
        if self.task.kind == "SMP":
            return self._score_sampled(used)
        counts = used.sum(axis=1).astype(int) + len(self.task.alone)
        scores = np.full(len(used), math.inf)
        for count in set(counts.tolist()):
            is_count = counts == count
            _, alone = self._list_alone(count)
            precisions = self._read_smallest(used[is_count], self._list_precisions(count))
            scores[is_count] = self._judge(precisions, np.tile(alone, (len(precisions), 1)))
        return scores

    def _read_smallest(self, used: Floats, precision: Floats) -> Floats:
        """How well each pair is known, by rows for choices: tables of the same people are not added up."""
        precisions = np.zeros((len(used), precision.shape[1]))
        sizes = [math.prod(self.task.sizes[j] for j in table) for table in self.tables]
        for t in sorted(range(len(sizes)), key=lambda t: (sizes[t], t), reverse=True):
            precisions = np.where(np.outer(used[:, t], precision[t]) > 0, precision[t], precisions)
        return precisions

    def _score_sampled(self, used: Floats) -> Floats:
        """If one of the tables is drawn, by importance; or by errors, where these are taken as they are."""
        precision, (importance, alone) = self.precision, self._list_alone(1)
        often, often_alone = self._list_chances(precision, importance, alone)
        total = used @ often + often_alone.sum()
        chances = used * often / np.where(total > 0, total, 1.0)[:, None]
        with np.errstate(divide="ignore"):
            errors = alone * total[:, None] / often_alone
        return self._judge(chances @ precision, errors)

    def _list_chances(self, precision: Floats, importance: Floats, alone: Floats) -> tuple[Floats, Floats]:
        """How often each table, and each question by itself, is drawn if all of them are."""
        objective, is_held = self.task.objective, precision > 0
        if not objective.is_absolute:
            return np.where(is_held, self.weights, 0.0).max(axis=1), importance
        errors = np.divide(self.weights, precision, out=np.zeros_like(precision), where=is_held)
        if objective.worst:
            return errors.max(axis=1), importance * alone
        return np.sqrt(errors.sum(axis=1)), np.sqrt(importance * alone)

    def _judge(self, precision: Floats, alone: Floats) -> Floats:
        """One number for the errors of all pairs, by rows for choices."""
        with np.errstate(divide="ignore"):  # what no table holds is never known
            errors = self.weights / precision
        if not self.task.objective.is_absolute:
            return np.asarray(errors.sum(axis=1) / self.weights.sum())
        importance = self._list_alone(1)[0]
        errors = np.concatenate([errors, importance * alone], axis=1)
        if self.task.objective.worst:
            return np.asarray(errors.max(axis=1))
        return np.asarray(errors.sum(axis=1) / (self.weights.sum() + importance.sum()))

    def find_best(self) -> Floats:
        """Which tables err least: of all choices where these are few, else of those that are tried."""
        count = len(self.tables)
        if count > _FEW:
            starts = sorted(self.starts(), key=self.score)
            if self.task.kind != "SMP":  # every number of tables leaves them another budget
                starts = starts[:1]
            return min(map(self.improve, starts), key=self.score)
        choices = (np.arange(1, 1 << count)[:, None] >> np.arange(count) & 1).astype(np.float64)
        return np.asarray(choices[np.argmin(self.scores(choices))])

    def starts(self) -> Iterator[Floats]:
        """The wanted pairs, all views of three, and the view of all, where there are such."""
        sizes = np.array(list(map(len, self.tables)))
        for size in dict.fromkeys([2, 3, int(sizes.max())]):
            used = (sizes == size).astype(np.float64)
            if (used @ self.precision).all():
                yield used

    def improve(self, used: Floats) -> Floats:
        """Adds and leaves out tables as long as that helps; a view may take the place of all its pairs."""
        while True:
            moves = np.concatenate(list(self._moves(used)))
            scores = self.scores(moves)
            best = int(np.argmin(scores))
            if not scores[best] < self.score(used) * _GAIN:
                return used
            used = moves[best]

    def _moves(self, used: Floats) -> Iterator[Floats]:
        changed = np.abs(used - np.eye(len(used)))  # a row for each table, which is added or left out
        yield changed
        new = changed.diagonal()[:, None]
        yield np.where(self._inside, 1 - new, changed)

    @cached_property
    def _inside(self) -> npt.NDArray[np.bool_]:
        """Which tables, by columns, are a part of which."""
        sets = list(map(set, self.tables))
        return np.array([[other < table for other in sets] for table in sets])


def _list_tables(sizes: Sequence[int], pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    ordered = [tuple(sorted(pair)) for pair in pairs]
    yield from ordered
    attributes = sorted({j for pair in ordered for j in pair})
    larger = [*combinations(attributes, 3), *([tuple(attributes)] if len(attributes) > 3 else [])]
    for table in larger:
        count = sum(set(pair) <= set(table) for pair in ordered)
        if count > 1 and math.prod(sizes[j] for j in table) <= MOST_CELLS:
            yield table


class Support(NamedTuple):
    """How likely a report supports a value: the true one (p), another (q), the true one with another
    (`both_in`), two others (`both_out`).
    """

    p: float
    q: float
    both_in: float = 0.0
    both_out: float = 0.0


@lru_cache(maxsize=1 << 12)
def _list_supports(k: int, kind: str, epsilon: float, count: int) -> tuple[Support, ...]:
    """The protocols that read tables best, where a report is about this many attributes."""
    if kind == "RS+FD":
        return tuple(_list_faked(k, epsilon, count))
    odds = math.exp(epsilon / count if kind == "SPL" else epsilon)
    return tuple(_keep(k, odds, kept) for kept in sorted({1, max(1, round(k / (odds + 1)))}))


def _keep(k: int, odds: float, s: int) -> Support:
    """A set of s values: randomized response (1), or a subset."""
    p = s * odds / (s * odds + k - s)
    q = (p * (s - 1) + (1 - p) * s) / (k - 1)
    both_out = (p * (s - 1) * (s - 2) + (1 - p) * s * (s - 1)) / ((k - 1) * (k - 2)) if k > 2 else 0.0
    return Support(p, q, p * (s - 1) / (k - 1), both_out)


def _list_faked(k: int, epsilon: float, count: int) -> Iterator[Support]:
    """One real report among fakes: of randomized response, or of bits, whose fakes are those of no value."""
    odds, real = math.exp(epsilon), 1 / count
    fake = 1 - real
    plain = _keep(k, odds, 1)
    yield Support(real * plain.p + fake / k, real * plain.q + fake / k)
    for p, q in ((0.5, 1 / (odds + 1)), (1 - 1 / (math.sqrt(odds) + 1), 1 / (math.sqrt(odds) + 1))):
        yield Support(real * p + fake * q, q, (real * p + fake * q) * q, q * q)


def _find_variance(k: int, together: Floats, support: Support) -> Floats:
    """The variance of sums of so many of k values from one report, if all are alike."""
    p, q, both_in, both_out = support
    share = together / k
    supported = together * q + (p - q) * share
    pairs = together * (together - 1) * both_out + 2 * (together - 1) * (both_in - both_out) * share
    return np.asarray((supported + pairs - supported**2) / (p - q) ** 2)
