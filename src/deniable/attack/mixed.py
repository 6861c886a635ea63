"""Several collections among fakes: which attribute was real in which of them is summed over, exactly.

The likelihood of a record is a product over collections of sums over attributes. Multiplied out, every
collection is given to one attribute; with independent answers each attribute then needs only the set of
collections that it was given, so that all d^S ways are summed by sets: 3^S steps an attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.attack.likelihoods import Priors, faked, likelihoods
from deniable.errors import InvalidParameter
from deniable.records import Faked, Records

MOST_COLLECTIONS = 8
_AT_ONCE = 1 << 21


def among_fakes(
    share: Faked, collections: Sequence[Records], believed: Priors
) -> Iterator[tuple[int, Integers, Floats]]:
    """Attribute by attribute and some people at a time: how likely their answers are, by value, the prior
    counted.
    """
    times = len(collections)
    if times > MOST_COLLECTIONS:
        raise InvalidParameter(
            f"among fakes, up to {MOST_COLLECTIONS} collections are put together, got {times}"
        )
    step = max(1, _AT_ONCE // (sum(shares.size for shares in believed) << times))
    for start in range(0, collections[0].n, step):
        who = np.arange(start, min(collections[0].n, start + step))
        tables = [_by_sets(share, j, collections, who) * shares for j, shares in enumerate(believed)]
        alone = [table.sum(axis=2) for table in tables]
        for j, table in enumerate(tables):
            rest = [one for i, one in enumerate(alone) if i != j]
            others = reduce(_given_apart, rest)
            yield (
                j,
                who,
                np.einsum("sn,snk->nk", others[::-1], table),
            )  # the complement of set A is the last set minus A


def _by_sets(share: Faked, j: int, collections: Sequence[Records], who: Integers) -> Floats:
    """For every set of collections: how likely attribute j's reports in them are for each value, beside their
    fakes.
    """
    fake, times = share.fakes[j], len(collections)
    found = np.ones((1 << times, who.size, fake.part.k))
    for s, records in enumerate(collections):
        reports = records.columns[j][who]
        one = likelihoods(fake.part, reports) / faked(fake, reports)[:, None]
        with_it = np.flatnonzero(np.arange(1 << times) >> s & 1)
        found[with_it] *= one
    return found


def _given_apart(one: Floats, other: Floats) -> Floats:
    """For every set, the sum over all ways to give a part of it to the one and the rest to the other."""
    found = np.zeros_like(one)
    for whole in range(len(one)):
        part = whole
        while True:
            found[whole] += one[part] * other[whole ^ part]
            if part == 0:
                break
            part = (part - 1) & whole
    return found
