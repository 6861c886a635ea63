"""Groups neighboring values, as people read them: decades of ages, blocks of a map."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from deniable.arrays import Integers
from deniable.domain.domain import Domain
from deniable.domain.grid import Grid
from deniable.domain.range import Range

_MANY_BINS = 20  # of a range with more, groups are shown
_MANY_CELLS = 36
_GROUPS = 10
_SIDE = 4  # blocks of a grid in either direction
_ROUND = (1, 2, 5)


def list_groups(domain: Domain | None) -> list[tuple[str, Integers]]:
    """About ten groups of the bins of a long range, or sixteen blocks of a large grid; else none."""
    if isinstance(domain, Range) and domain.k > _MANY_BINS:
        ends = _bin_ends(domain)
        return [
            (join_bins(domain.labels, start, end), np.arange(start, end)) for start, end in pairwise(ends)
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


def join_bins(labels: Sequence[str], first: int, last: int) -> str:
    """What the bins from `first` to before `last` are called together; "under 5" has no beginning, "95 or
    more" no end.
    """
    first_label, other = labels[first], labels[last - 1]
    if first + 1 == last:
        return first_label
    if (
        " to under " not in first_label + other
        and not first_label.startswith("under ")
        and not other.endswith(" or more")
    ):
        return f"{first_label} to {other}"  # whole numbers, months or years
    low, high = first_label.split(" to under ")[0], other.split(" to under ")[-1]
    if first_label.startswith("under "):
        return f"under {high}"
    return f"{low} or more" if other.endswith(" or more") else f"{low} to under {high}"
