"""Makes tables agree on the questions that they share, by generalized least squares, errors kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.cross.source import MOST_KEPT, Source
from deniable.estimate.consistency import simplex

_MOST_TOGETHER = 16_384  # cells of all tables
_TINY = 1e-10  # of the largest variance: less is rounding
_AGAIN = 1  # the spread follows the tables that agree, and these the spread


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
    return moved @ np.linalg.pinv(differences @ moved, rcond=_TINY, hermitian=True), moved


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
