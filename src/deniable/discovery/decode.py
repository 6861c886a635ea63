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
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter
from deniable.mechanisms import Linear
from deniable.mechanisms.blocks import run_parts
from deniable.words import toeplitz

MOST_STEP = 24
"""Bits that a level may add: a table has a cell for each of their values."""
CHANCE = 8
"""Candidates that chance lets through at each level, on average."""
_BLOCK = 1 << 18  # reports at a time
_SLICED = 1 << 15  # the same where bits of reports lie side by side
_CELLS = 1 << 24  # cells of all tables together: 64 MiB
_WORK = 1 << 22  # steps: with fewer, one core is done before another has started

Progress = Callable[[float], None]
"""Is told which part of a level is done."""
Possible = Callable[[Integers, int], npt.NDArray[np.bool_]]
"""Says which codes, of so many first bits, some value has."""


@final
class Survivors(NamedTuple):
    """Codes that go on to the next level, the most frequent first."""

    codes: Integers
    counts: Integers


class _Read(NamedTuple):
    """Reports as a loop takes them."""

    low: Array
    high: Array
    buckets: Array


def count_codes(mechanism: Linear, reports: Array, codes: Integers) -> Integers:
    """How many of the reports support each of some codes.

    >>> from deniable import linear, seeded
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
            some = np.zeros(parts[part].size, dtype=np.int64)
            loops.count_supports(*sliced, codes[parts[part]], some)
            counts[parts[part]] += some

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
    mechanism: Linear,
    reports: Array,
    prefixes: Integers,
    step: int,
    most: int,
    progress: Progress | None = None,
    possible: Possible | None = None,
) -> Survivors:
    """The extensions of some prefixes by `step` bits that more reports support than chance explains.

    At most `most` survive, of those that are possible. Chance alone lets 8 through, on average.
    """
    limit = find_limit(mechanism, len(reports), len(prefixes) << step)
    kept = Survivors(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    for at, counts in _count_extensions(mechanism, reports, prefixes, step):
        extended = (prefixes[at] << step) + np.flatnonzero(counts >= limit)
        if possible is not None:
            extended = extended[possible(extended, mechanism.bits)]
        codes = np.concatenate([kept.codes, extended])
        found = np.concatenate([kept.counts, counts[extended & ((1 << step) - 1)]])
        best = np.lexsort((codes, -found))[:most]
        kept = Survivors(codes[best], found[best])
        if progress is not None:
            progress((at + 1) / len(prefixes))
    return kept


def find_limit(mechanism: Linear, n: int, candidates: int) -> int:
    """How many of n reports must support a candidate, so that chance lets 8 of all candidates through."""
    from scipy.special import ndtri

    if candidates <= CHANCE:
        return 0
    reach, q = -float(ndtri(CHANCE / candidates)), 1 / mechanism.g
    return math.floor(n * q + reach * math.sqrt(n * q * (1 - q))) + 1


def _count_extensions(
    mechanism: Linear, reports: Array, prefixes: Integers, step: int
) -> Iterator[tuple[int, Integers]]:
    """The counts of all extensions of each prefix, with its number; a few prefixes share a pass."""
    from deniable.discovery import loops

    if not 1 <= step <= MOST_STEP:
        raise InvalidParameter(f"a level adds 1 to {MOST_STEP} bits, got {step}; cut the code more often")
    # the row that each step of a Gray code adds: the lowest bit that is set
    flips = np.array([0, *((u & -u).bit_length() - 1 for u in range(1, mechanism.g))], dtype=np.int64)
    small = len(reports) * mechanism.g < 1 << 31
    size = max(1, _CELLS >> step)
    for first in range(0, len(prefixes), size):
        some = prefixes[first : first + size]
        tables = np.zeros((len(some), 1 << step), dtype=np.int32 if small else np.int64)
        for block in _read_blocks(reports):

            def add(part: int, some: Integers = some, tables: Array = tables, block: _Read = block) -> None:
                prefix, table = np.uint64(some[part]), tables[part]
                loops.add_signs(*block, flips, (mechanism.bits, step), prefix, table)

            run_parts(add, len(some), len(some) * block.low.size * mechanism.g > _WORK)

        def finish(part: int, tables: Array = tables) -> None:
            loops.transform(tables[part])

        run_parts(finish, len(some), tables.size * step > _WORK)
        for part, table in enumerate(tables):
            yield first + part, (table.astype(np.int64) + len(reports)) >> mechanism.rows


def _read_blocks(reports: Array) -> Iterator[_Read]:
    """Reports as a loop takes them, a block at a time."""
    for start in range(0, len(reports), _BLOCK):
        block = reports[start : start + _BLOCK]
        low, high = toeplitz.from_bytes(block["bits"])
        yield _Read(low, high, np.ascontiguousarray(block["bucket"]))
