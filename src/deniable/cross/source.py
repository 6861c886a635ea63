"""Holds what one kind of report says about several questions at once, and makes such tables agree.

Tables agree on the questions that they share, by generalized least squares, errors kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.cross.counted import Supported
from deniable.cross.spread import Spread
from deniable.estimate.consistency import nearest_with_total, simplex

MOST_KEPT = 2048
"""Cells of one table whose covariances are kept."""
_TINY = 1e-300
_MOST_TOGETHER = 16_384  # cells of all tables
_LEAST = 1e-10  # of the largest variance: less is rounding
_AGAIN = 1  # the spread follows the tables that agree, and these the spread


@final
@dataclass(frozen=True, eq=False)
class Source:
    """The unbiased shares of all cells of some questions, and how they vary.

    Values beside the cells, such as no answer, come last. All of them add up to 1.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    n: int
    values: Floats
    spread: Spread
    believed: Floats | None = None
    """The shares whose spread is taken for the true one; the values themselves if this is None."""
    supported: Supported | None = None
    """The counts that the values are from, where each is one of reports."""

    @property
    def size(self) -> int:
        """How many cells there are."""
        return int(np.prod(self.shape))

    @property
    def is_complete(self) -> bool:
        """Whether everybody is in one of the cells."""
        return self.values.size == self.size

    @property
    def answered(self) -> float:
        """The share of people who are in one of the cells."""
        return float(self.values[: self.size].sum())

    def covariance(self, sums: Floats) -> Floats:
        """The covariance of weighted sums of the values."""
        if self.values.size <= MOST_KEPT:
            return np.asarray(sums @ self.each @ sums.T)
        return np.asarray(self.spread.covariance(self._true, sums) / self.n)

    @property
    def _true(self) -> Floats:
        return self.values if self.believed is None else self.believed

    @cached_property
    def each(self) -> Floats:
        """The covariance of the values, of which every sum's is made."""
        return np.asarray(self.spread.covariance(self._true, np.eye(self.values.size)) / self.n)

    def sums(self, names: Sequence[str]) -> Floats:
        """The weights by which the values are summed to the table of these questions, in this order."""
        axes = [self.names.index(name) for name in names]
        at = np.indices(self.shape)[axes].reshape(len(axes), -1)
        shape = tuple(self.shape[axis] for axis in axes)
        where = np.ravel_multi_index(tuple(at), shape)
        weights = np.zeros((int(np.prod(shape)), self.values.size))
        weights[where, np.arange(self.size)] = 1.0
        return weights

    def expand(self, names: Sequence[str], table: Floats) -> Floats:
        """All values of people for whom this is the table of two questions, and nothing else depends."""
        beside = np.clip(self.values[self.size :], 0.0, None)
        answered = max(1 - float(beside.sum()), 0.0)
        cells = nearest_with_total(self.values[: self.size], answered).reshape(self.shape)
        axes = [self.names.index(name) for name in names]
        expanded = table.transpose(np.argsort(axes))
        rest = cells.sum(axis=tuple(axes))
        for axis in sorted(set(range(len(self.shape))) - set(axes)):
            expanded = np.expand_dims(expanded, axis)
        for axis in sorted(axes):
            rest = np.expand_dims(rest, axis)
        joint = (expanded * rest).ravel()
        return np.concatenate([joint * (answered / max(float(joint.sum()), _TINY)), beside])


@final
@dataclass(frozen=True, eq=False)
class Agreed:
    """The values of one source after it was made to agree with others."""

    source: Source
    values: Floats
    weights: Floats | None = None
    """How much each difference from others moves the values; None where it stays as it is."""
    moved: Floats | None = None

    def covariance(self, sums: Floats) -> Floats:
        """The covariance of weighted sums of the values."""
        covariance = self.source.covariance(sums)
        if self.weights is None or self.moved is None:
            return covariance
        return np.asarray(covariance - (sums @ self.weights) @ (sums @ self.moved).T)


def agree(sources: Sequence[Source]) -> list[Agreed]:
    """The nearest tables, as their errors weigh, whose margins are the same wherever they share questions.

    Errors of different sources are independent; those between them afterwards are not kept. A source with
    people who are in no cell is about other people, and stays as it is, and so does one that is too large.
    """
    joining = [source for source in sources if source.is_complete and source.size <= MOST_KEPT]
    if sum(source.size for source in joining) > _MOST_TOGETHER:
        joining = []
    starts = np.cumsum([0, *(source.size for source in joining)])
    spans = [slice(*ends) for ends in pairwise(starts.tolist())]
    rows = list(_list_differences(joining, spans, int(starts[-1])))
    if not rows:
        return [Agreed(source, source.values) for source in sources]
    differences = np.concatenate(rows)
    flat = np.concatenate([source.values for source in joining])
    # where shares are rare, the spread at estimates below 0 would be too small, and weigh too much
    shares, apart = list(map(_believe, joining, np.split(flat, starts[1:-1]))), differences @ flat
    for _ in range(_AGAIN):
        nearer = flat - _weigh(shares, spans, differences)[0] @ apart
        shares = list(map(_believe, joining, np.split(nearer, starts[1:-1])))
    weights, moved = _weigh(shares, spans, differences)
    new = flat - weights @ apart
    agreed = {
        id(source): Agreed(share, new[span], weights[span], moved[span])
        for source, share, span in zip(joining, shares, spans, strict=True)
    }
    return [agreed.get(id(source), Agreed(source, source.values)) for source in sources]


def _believe(source: Source, values: Floats) -> Source:
    """The source, with the spread of the nearest possible shares."""
    return replace(source, believed=simplex(values))


def _weigh(sources: Sequence[Source], spans: Sequence[slice], differences: Floats) -> tuple[Floats, Floats]:
    """How much each difference moves the values, and their covariances with the differences."""
    placed = zip(sources, spans, strict=True)
    moved = np.concatenate([source.each @ differences[:, span].T for source, span in placed])
    # what two tables share is known from others, too, so that some differences follow from the rest
    return moved @ np.linalg.pinv(differences @ moved, rcond=_LEAST, hermitian=True), moved


def _list_differences(sources: Sequence[Source], spans: Sequence[slice], size: int) -> Iterator[Floats]:
    """A row for each share that two sources both tell: its difference in them."""
    holders: dict[tuple[str, ...], list[int]] = {}
    for i in range(len(sources)):
        for j in range(len(sources)):
            shared = tuple(sorted(set(sources[i].names) & set(sources[j].names)))
            if shared and i != j and i not in holders.setdefault(shared, []):
                holders[shared].append(i)
    for names, positions in holders.items():
        for first, other in pairwise(positions):
            difference = np.zeros((len(sources[first].sums(names)) - 1, size))
            # the last share is known from the others
            difference[:, spans[first]] = sources[first].sums(names)[:-1]
            difference[:, spans[other]] = -sources[other].sums(names)[:-1]
            yield difference
