"""Compiles the loops of decoding: signs of reports, their transform, and counts of given codes."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Array
from deniable.randomness.compilation import compiled
from deniable.randomness.kernels import ONE, ZERO, parity, shift_pair

_CACHED = 1 << 13  # cells: 32 KiB


@compiled
def add_signs(
    low: Array,
    high: Array,
    buckets: Array,
    flips: Array,
    size: tuple[int, int],
    prefix: np.uint64,
    cells: Array,
) -> None:
    """Add every report's signs: one for each sum of its rows, at the last bits of that sum.

    Sums are walked in the order of a Gray code, so that one row, `flips[u]`, is added at a time. The sign of
    a sum is the parity of the reported bucket and of the prefix's, in the rows that were added.
    """
    bits, step = size
    mask, last = (ONE << np.uint64(bits)) - ONE, (ONE << np.uint64(step)) - ONE
    rows = int(flips.max()) + 1
    ends, signs = np.empty(rows, np.uint64), np.empty(rows, np.uint64)
    for i in range(low.size):
        for j in range(rows):
            row = shift_pair(low[i], high[i], j) & mask
            ends[j] = row & last
            signs[j] = parity((row >> np.uint64(step)) & prefix) ^ (
                (np.uint64(buckets[i]) >> np.uint64(j)) & ONE
            )
        place, odd = ZERO, ZERO
        for u in range(1, flips.size):
            place ^= ends[flips[u]]
            odd ^= signs[flips[u]]
            cells[place] += 1 - 2 * np.int64(odd)


@compiled
def transform(cells: Array) -> None:
    """The Walsh-Hadamard transform in place: sums of cells[y] * (-1)^(common bits of x and y).

    Blocks that fit into a cache are done first, and two bits at a time: that halves the passes.
    """
    block = min(cells.size, _CACHED)
    for start in range(0, cells.size, block):
        part = cells[start : start + block]
        if block >= 8:
            _add_eights(part)
        _add_spans(part, 8 if block >= 8 else 1)
    _add_spans(cells, block)


@compiled
def _add_eights(cells: Array) -> None:
    """The last three bits of all cells, which are too close to each other for a loop."""
    for s in range(0, cells.size, 8):
        a, b = cells[s] + cells[s + 1], cells[s] - cells[s + 1]
        c, d = cells[s + 2] + cells[s + 3], cells[s + 2] - cells[s + 3]
        e, f = cells[s + 4] + cells[s + 5], cells[s + 4] - cells[s + 5]
        g, h = cells[s + 6] + cells[s + 7], cells[s + 6] - cells[s + 7]
        a, b, c, d = a + c, b + d, a - c, b - d
        e, f, g, h = e + g, f + h, e - g, f - h
        cells[s], cells[s + 1], cells[s + 2], cells[s + 3] = a + e, b + f, c + g, d + h
        cells[s + 4], cells[s + 5], cells[s + 6], cells[s + 7] = a - e, b - f, c - g, d - h


@compiled
def _add_spans(cells: Array, span: int) -> None:
    """The bits from a span up to the size of all cells, two at a time."""
    while 4 * span <= cells.size:
        for start in range(0, cells.size, 4 * span):
            first, second = cells[start : start + span], cells[start + span : start + 2 * span]
            third, fourth = (
                cells[start + 2 * span : start + 3 * span],
                cells[start + 3 * span : start + 4 * span],
            )
            for i in range(span):
                a, b = first[i] + second[i], first[i] - second[i]
                c, d = third[i] + fourth[i], third[i] - fourth[i]
                first[i], second[i], third[i], fourth[i] = a + c, b + d, a - c, b - d
        span *= 4
    if 2 * span <= cells.size:
        first, second = cells[:span], cells[span:]
        for i in range(span):
            first[i], second[i] = first[i] + second[i], first[i] - second[i]


@compiled
def count_supports(planes: Array, buckets: Array, spare: Array, codes: Array, counts: Array) -> None:
    """counts[c] += how many reports have code c in their bucket, 64 reports at a time.

    `planes[i]` has bit i of all hashes, `buckets[j]` bit j of all buckets. `spare` marks bits without report.
    """
    differ, sums = np.empty_like(spare), np.empty_like(spare)
    for c in range(codes.size):
        differ[:] = spare
        for j in range(len(buckets)):
            sums[:] = buckets[j]
            left, i = np.uint64(codes[c]), j
            while left:
                if left & ONE:
                    plane = planes[i]
                    for w in range(sums.size):
                        sums[w] ^= plane[w]
                left >>= ONE
                i += 1
            for w in range(sums.size):
                differ[w] |= sums[w]
        counts[c] += 64 * differ.size - _count_ones(differ)


@compiled
def _count_ones(words: Array) -> int:
    """How many bits are set."""
    total = 0
    for w in range(words.size):
        word = words[w]
        word -= (word >> ONE) & np.uint64(0x5555555555555555)
        word = (word & np.uint64(0x3333333333333333)) + (
            (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
        )
        word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        total += int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
    return total
