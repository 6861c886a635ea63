"""Chooses the mechanism of each level of a tree, by its law."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from deniable.errors import InvalidParameter
from deniable.exact import positive_epsilon
from deniable.mechanisms import SetMechanism, grr, olh, plh, ss
from deniable.mechanisms.shapes.pooled import MOST_VALUES
from deniable.ranges.tree import Tree
from deniable.ranges.variances import Scatter

_SETS = 1 << 10  # values, of which a set is never short if there are more
_LONGEST = 9  # bytes of a set: as many as those of a hash
_WORK = 1 << 26  # steps to count the reports of a pool: about a second
_ALIKE = 1.05


def plan_tree(k: int, epsilon: float) -> tuple[SetMechanism, ...]:
    """The mechanism of each level, the coarsest first: the one that errs least in sums of shares.

    Small levels report a value or a small set, and others the bucket of a hash. The hash is of a public pool
    where that is fast and errs at most 5 % more: its reports are counted at once, in place of a hash for each
    report and value.

    >>> [type(part).__name__ for part in plan_tree(k=1024, epsilon=1.0)]
    ['Direct', 'PackedSubset', 'PackedSubset', 'Pooled', 'Pooled']
    """
    tree, budget = Tree(k), positive_epsilon(epsilon)
    return tuple(choose_part(size, budget) for size in tree.sizes)


@lru_cache(maxsize=256)
def choose_part(k: int, epsilon: float) -> SetMechanism:
    """The mechanism of one level of k values."""
    return min(_list_parts(k, epsilon), key=_noise)


def _list_parts(k: int, epsilon: float) -> Iterator[SetMechanism]:
    """What can report one of k values in a few bytes."""
    yield grr(k, epsilon)
    if k <= _SETS:
        chosen = ss(k, epsilon)
        if chosen.report_bytes <= _LONGEST:
            yield chosen
    try:
        hashed = olh(k, epsilon)
    except InvalidParameter:  # so large an epsilon leaves grr
        return
    pooled = plh(k, epsilon) if k <= MOST_VALUES else None
    is_quick = pooled is not None and pooled.pool.cells * pooled.g <= _WORK
    is_close = pooled is not None and _noise(pooled) <= _ALIKE * _noise(hashed)
    yield pooled if pooled is not None and is_quick and is_close else hashed


def _noise(part: SetMechanism) -> float:
    return Scatter.of(part.law).base
