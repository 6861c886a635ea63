"""Groups neighboring values: single bins or cells scatter widely, and their groups are known far better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain import Domain, Range
from deniable.domain.grid import Grid
from deniable.estimate import Estimate
from deniable.summaries.summaries import Summary, sum_of

_MANY_BINS = 20  # of a range with more, groups are shown
_MANY_CELLS = 36
_GROUPS = 10
_SIDE = 4  # blocks of a grid in either direction
_ROUND = (1, 2, 5)


class Group(NamedTuple):
    """Some neighboring values: their common name, their numbers, and their share with its own error."""

    label: str
    values: Integers
    share: Summary


def groups_of(estimate: Estimate, domain: Domain | None, level: float = 0.95) -> list[Group]:
    """About ten groups of the bins of a long range, or sixteen blocks of a large grid; else no groups.

    "No answer", where it is a value, stays on its own.

    >>> from deniable.metric import geometric
    >>> ages, m = Range(18, 98, step=1), geometric(79, 0.5)
    >>> found = groups_of(m.estimate(m.tally(m.privatize([2] * 50 + [40] * 50))), ages)
    >>> [group.label for group in found[:2]], len(found), found[0].values.tolist()
    (['18 to under 20', '20 to under 30'], 9, [0, 1])
    """
    members = _members(domain)
    if domain is None or not members:
        return []
    if estimate.k > domain.k and estimate.labels is not None:
        members = [*members, *((str(estimate.labels[v]), np.array([v])) for v in range(domain.k, estimate.k))]
    return [Group(label, values, sum_of(estimate, values, level)) for label, values in members]


def group_rows(
    name: str, estimate: Estimate, groups: Sequence[Group], more: Mapping[str, Floats]
) -> list[dict[str, Any]]:
    """A row per group, like the rows of values; where the values have `more` shares, with their sums."""
    rows = []
    for label, values, share in groups:
        row = {"attribute": name, "value": label, "frequency": share.value, "stderr": share.stderr}
        row |= {"low": share.low, "high": share.high, "count": share.value * estimate.n}
        rows.append(row | {of: float(shares[values].sum()) for of, shares in more.items()})
    return rows


def _members(domain: Domain | None) -> list[tuple[str, Integers]]:
    if isinstance(domain, Range) and domain.k > _MANY_BINS:
        ends = _bin_ends(domain)
        return [
            (_join_labels(domain.labels, start, end), np.arange(start, end)) for start, end in pairwise(ends)
        ]
    if isinstance(domain, Grid) and domain.k > _MANY_CELLS:
        rows, columns = (_even_ends(side, _SIDE) for side in (domain.rows, domain.columns))
        cells = np.arange(domain.k).reshape(domain.rows, domain.columns)
        blocks = [
            cells[top:end, left:right].reshape(-1)
            for top, end in pairwise(rows)
            for left, right in pairwise(columns)
        ]
        return list(zip(domain.labels_between(rows, columns), blocks, strict=True))
    return []


def _bin_ends(domain: Range) -> list[int]:
    """Where groups of bins begin: at round numbers (decades of ages) if bins end there, else evenly."""
    low, step, bins = domain.scaled_low, domain.scaled_step, domain.bins
    widths = (first * 10**power for power in range(len(str(bins * step)) + 1) for first in _ROUND)
    width = next(width for width in widths if width * _GROUPS >= bins * step)
    if width % step or low % step:
        return _even_ends(bins, _GROUPS)
    first = -(-low // width) * width  # the first round number that is not below the range
    inner = range(first, low + bins * step, width)
    return [0, *((number - low) // step for number in inner if number > low), bins]


def _even_ends(size: int, groups: int) -> list[int]:
    """Ends of at most this many groups, whose sizes differ by one at most."""
    step = -(-size // groups)
    needed = -(-size // step)
    return [size * group // needed for group in range(needed + 1)]


def _join_labels(labels: Sequence[str], first: int, last: int) -> str:
    """Join the labels of the first and last bin; "under 5" has no beginning, "95 or more" no end."""
    one, other = labels[first], labels[last - 1]
    if first + 1 == last:
        return one
    low, high = one.split(" to under ")[0], other.split(" to under ")[-1]
    if one.startswith("under "):
        return f"under {high}"
    return f"{low} or more" if other.endswith(" or more") else f"{low} to under {high}"
