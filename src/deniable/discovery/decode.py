"""Counts how many reports support each extension of some prefixes, by Walsh-Hadamard transforms.

A report's bucket holds a code x where <m_u, x> = <u, bucket> for every sum of rows, m_u. So each report adds
a sign at the last bits of each m_u, and one transform gives the counts of all extensions of a prefix. They
equal counts of one code after the other, to the integer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, final

import numpy as np

from deniable.arrays import Array, Integers
from deniable.discovery.codes import EVERY, EXTENDED, HELD_OUT, WHOLE, Codes, Passage
from deniable.errors import InvalidParameter
from deniable.mechanisms import Linear
from deniable.mechanisms.blocks import run_parts
from deniable.randomness import toeplitz

MOST_SIZE = 24
"""Bits of a table's values at most. Larger tables are filled less often, and take 64 MiB each."""
_BLOCK = 1 << 18  # reports at a time
_SLICED = 1 << 15  # the same where bits of reports lie side by side
_CELLS = 1 << 25  # cells of all tables together: 128 MiB
_WORK = 1 << 22  # steps: with fewer, one core is done before another has started

Progress = Callable[[float], None]
"""Is told which part of a level is done."""


@final
class Survivors(NamedTuple):
    """Codes that enough reports support, the most frequent first."""

    codes: Integers
    counts: Integers


class _Read(NamedTuple):
    """Reports as a loop takes them."""

    low: Array
    high: Array
    buckets: Array


def count_codes(mechanism: Linear, reports: Array, codes: Integers) -> Integers:
    """How many of the reports support each of some codes.

    >>> from deniable import seeded
    >>> from deniable.mechanisms import linear
    >>> m = linear(bits=30, epsilon=4.0)
    >>> sent = m.privatize([5] * 1000, seeded(1))
    >>> count_codes(m, sent, np.array([5, 6]))
    array([440,  12])
    """
    from deniable.discovery import loops

    counts = np.zeros(len(codes), dtype=np.int64)
    parts = np.array_split(np.arange(len(codes)), max(1, min(len(codes), 64)))
    for start in range(0, len(reports), _SLICED):
        sliced = _slice_bits(mechanism, reports[start : start + _SLICED])

        def work(part: int, sliced: tuple[Array, Array, Array] = sliced) -> None:
            part_counts = np.zeros(parts[part].size, dtype=np.int64)
            loops.count_supports(*sliced, codes[parts[part]], part_counts)
            counts[parts[part]] += part_counts

        run_parts(work, len(parts), len(codes) * sliced[0].size > _WORK)
    return counts


def _slice_bits(mechanism: Linear, reports: Array) -> tuple[Array, Array, Array]:
    """Each bit of all hashes, of all buckets, and of what has no report, 64 reports to a word."""
    words = -(-len(reports) // 64)
    planes = np.zeros((8 * mechanism.hash_bytes + mechanism.rows + 1, 8 * words), dtype=np.uint8)
    bits = np.unpackbits(reports["bits"], axis=1, bitorder="little").T
    buckets = reports["bucket"] >> np.arange(mechanism.rows, dtype=np.uint8)[:, None] & np.uint8(1)
    used = np.packbits(np.vstack([bits, buckets]), axis=1, bitorder="little")
    planes[:-1, : used.shape[1]] = used
    planes[-1] = np.packbits(np.arange(64 * words) >= len(reports), bitorder="little")
    sliced = planes.view("<u8").astype(np.uint64, copy=False)
    first = 8 * mechanism.hash_bytes
    return sliced[:first], sliced[first:-1], sliced[-1]


def find_survivors(
    level: tuple[Linear, Array],
    prefixes: Integers,
    step: int,
    passage: Passage = EXTENDED,
    codes: Codes = EVERY,
    progress: Progress | None = None,
) -> Survivors:
    """The extensions of some prefixes by `step` bits that more reports support than chance explains."""
    mechanism, reports = level
    counted = EVERY if passage is HELD_OUT else codes  # as plans of that form were always searched
    candidates = len(prefixes) * counted.count_possible(mechanism.bits - step, mechanism.bits)
    limit = find_limit(mechanism, len(reports), candidates, passage.chance)
    return list_supported(level, prefixes, step, limit, codes, passage.most, progress)


def find_limit(mechanism: Linear, n: int, candidates: int, chance: int) -> int:
    """How many of n reports must support a candidate, so that so many of all pass by chance."""
    from scipy.special import ndtri

    if candidates <= chance:
        return 0
    reach, q = -float(ndtri(chance / candidates)), 1 / mechanism.g
    return math.floor(n * q + reach * math.sqrt(n * q * (1 - q))) + 1


def list_supported(
    level: tuple[Linear, Array],
    prefixes: Integers,
    step: int,
    limit: int,
    codes: Codes = EVERY,
    most: int | None = None,
    progress: Progress | None = None,
) -> Survivors:
    """The possible extensions of some prefixes that at least `limit` reports support, or `most` of them."""
    mechanism, reports = level
    size = min(step, MOST_SIZE)
    starts = _extend(prefixes, step - size, mechanism.bits - size, codes)
    kept = Survivors(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    for at, places, counts in _count_extensions(mechanism, reports, starts, size, limit):
        extended = (starts[at] << size) + places
        possible = codes.are_possible(extended, mechanism.bits)
        joined = np.concatenate([kept.codes, extended[possible]])
        supports = np.concatenate([kept.counts, counts[possible]])
        best = np.lexsort((joined, -supports))[:most]
        kept = Survivors(joined[best], supports[best])
        if progress is not None:
            progress((at + 1) / len(starts))
    return kept


def _extend(prefixes: Integers, step: int, bits: int, codes: Codes) -> Integers:
    """All possible prefixes that are longer by some bits."""
    if step > WHOLE - MOST_SIZE:
        raise InvalidParameter(
            f"a search adds {WHOLE} bits at a time at most, got {step + MOST_SIZE}; report prefixes, too"
        )
    longer = ((prefixes << step)[:, None] + np.arange(1 << step)).ravel()
    return longer[codes.are_possible(longer, bits)] if step else longer


def _count_extensions(
    mechanism: Linear, reports: Array, prefixes: Integers, step: int, limit: int = 0
) -> Iterator[tuple[int, Integers, Integers]]:
    """Which extensions of each prefix have so many supports, and how many; a few prefixes share a pass."""
    from deniable.discovery import loops

    # the row that each step of a Gray code adds: the lowest bit that is set
    flips = np.array([0, *((u & -u).bit_length() - 1 for u in range(1, mechanism.g))], dtype=np.int64)
    small = len(reports) * mechanism.g < 1 << 31
    size = max(1, _CELLS >> step)
    least = limit * mechanism.g - len(reports)  # what is transformed is g times the count, less the reports
    buffer = np.empty((min(size, len(prefixes)), 1 << step), dtype=np.int32 if small else np.int64)
    for first in range(0, len(prefixes), size):
        block_prefixes = prefixes[first : first + size]
        tables = buffer[: len(block_prefixes)]
        tables[:] = 0
        for block in _read_blocks(reports):

            def add(
                part: int,
                block_prefixes: Integers = block_prefixes,
                tables: Array = tables,
                block: _Read = block,
            ) -> None:
                prefix, table = np.uint64(block_prefixes[part]), tables[part]
                loops.add_signs(*block, flips, (mechanism.bits, step), prefix, table)

            run_parts(add, len(block_prefixes), len(block_prefixes) * block.low.size * mechanism.g > _WORK)
        places_by_prefix: list[Integers] = [prefixes[:0]] * len(block_prefixes)

        def finish(
            part: int, tables: Array = tables, places_by_prefix: list[Integers] = places_by_prefix
        ) -> None:
            loops.transform(tables[part])
            places_by_prefix[part] = np.flatnonzero(tables[part] >= least)

        run_parts(finish, len(block_prefixes), tables.size * step > _WORK)
        for part, (table, places) in enumerate(zip(tables, places_by_prefix, strict=True)):
            yield first + part, places, (table[places].astype(np.int64) + len(reports)) >> mechanism.rows


def _read_blocks(reports: Array) -> Iterator[_Read]:
    """Reports as a loop takes them, a block at a time."""
    for start in range(0, len(reports), _BLOCK):
        block = reports[start : start + _BLOCK]
        low, high = toeplitz.from_bytes(block["bits"])
        yield _Read(low, high, np.ascontiguousarray(block["bucket"]))
