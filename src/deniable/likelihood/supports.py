"""Packs reports of sets into bits: which values each supports, and how much likelier it then is."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter
from deniable.likelihood.rows import pack_bits
from deniable.mechanisms import SetMechanism
from deniable.rounds import BitFlip

MOST_BYTES = 1 << 30
"""More packed supports than this are not kept; the tally's composite likelihood needs none."""
_AT_ONCE = 1 << 21
_SAMPLED = 4096


@singledispatch
def pack_layers(mechanism: SetMechanism, reports: Array) -> list[tuple[Array, float]]:
    """The sets that reports support, as bits, and how much likelier such a report is, minus 1."""
    _refuse_many(mechanism, reports, 1)
    return [(mechanism.packed_support(reports), mechanism.odds - 1)]


@pack_layers.register
def _pack_nested_layers(mechanism: BitFlip, reports: Array) -> list[tuple[Array, float]]:
    """Two nested sets with a factor each: values whose bit is set, and these with all that have no bit."""
    _refuse_many(mechanism, reports, 2)
    k = mechanism.k
    bits = np.empty((2, (k + 7) // 8, len(reports)), dtype=np.uint8)
    step = max(1, _AT_ONCE // k)
    for start in range(0, len(reports), step):
        block = reports[start : start + step]
        holds = mechanism.support(block)
        bits[0, :, start : start + step] = pack_bits(holds)
        bits[1, :, start : start + step] = pack_bits(holds | ~mechanism.asked(block))
    law = mechanism.law
    up = law.exact_p / law.exact_q
    down = (1 - law.exact_q) / (1 - law.exact_p)
    return [(bits[0], float((up - 1) * down)), (bits[1], float(down - 1))]


def _refuse_many(mechanism: SetMechanism, reports: Array, layers: int) -> None:
    if len(reports) * ((mechanism.k + 7) // 8) * layers > MOST_BYTES:
        raise InvalidParameter(
            f"{len(reports):,} different reports about {mechanism.k:,} values do not fit in memory; give the "
            "tally instead, which has a composite likelihood"
        )


def merge_equal(reports: Array) -> tuple[Array, Integers]:
    """Equal reports once, with how often they came, where a look at some says that sorting is worth it."""
    width = reports.dtype.itemsize * int(np.prod(reports.shape[1:], dtype=np.int64))
    raw = reports.reshape(len(reports), -1).view(np.dtype((np.void, width))).reshape(-1)
    if len(reports) > _SAMPLED and np.unique(raw[:: len(reports) // _SAMPLED]).size > 0.9 * _SAMPLED:
        return reports, np.ones(len(reports), dtype=np.int64)
    _, first, times = np.unique(raw, return_index=True, return_counts=True)
    return reports[first], times.astype(np.int64)
