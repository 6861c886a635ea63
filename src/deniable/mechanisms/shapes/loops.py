"""Compiles the loops of the shapes; numpy code gives the same reports, or counts, from the same words."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Array
from deniable.exact import PRIME
from deniable.randomness.compilation import compiled
from deniable.randomness.kernels import (
    HALF,
    LOW,
    ONE,
    SPAN,
    ZERO,
    Address,
    below,
    draw,
    mix,
    parity,
    row_start,
    shift_pair,
)


@compiled
def direct(values: Array, where: Address, k: np.uint64, keep: np.uint64, reports: Array) -> None:
    """Keep the value, or report one of the k - 1 others."""
    words = np.empty((2, SPAN), np.uint64)
    coin, rest = words[0], words[1]
    others = k - ONE
    for first in range(0, values.size, SPAN):
        block, out = values[first : first + SPAN], reports[first : first + SPAN]
        draw(where, first, block.size, words)
        for i in range(block.size):
            value = np.uint64(block[i])
            other = below(rest[i], others)
            other += np.uint64(other >= value)
            out[i] = value if coin[i] < keep else other


@compiled
def count_values(reports: Array, counts: Array) -> None:
    """counts[:, v] together += how many reports are v.

    Four counters take turns: a counter that was just written cannot be read at once.
    """
    ones, twos, threes, fours = counts[0], counts[1], counts[2], counts[3]
    quarter = reports.size // 4
    first, second = reports[:quarter], reports[quarter : 2 * quarter]
    third, rest = reports[2 * quarter : 3 * quarter], reports[3 * quarter :]
    for i in range(quarter):
        ones[first[i]] += 1
        twos[second[i]] += 1
        threes[third[i]] += 1
        fours[rest[i]] += 1
    for i in range(quarter, rest.size):
        fours[rest[i]] += 1


@compiled
def hashed(values: Array, where: Address, g: np.uint32, keep: np.uint64, reports: Array) -> None:
    """Hash the value by a fresh function of the family, then keep the bucket or report another.

    A number x below 2^31 has x // g = x * magic >> shift, the product below 2^64: no division, so the loop is
    vectorized (and masks that change nothing tell the compiler that 32-bit products are enough).
    """
    prime, most = np.uint64(PRIME), np.uint64(PRIME - 1)
    shift = np.uint64(31)
    while (ONE << (shift - np.uint64(31))) < np.uint64(g):
        shift += ONE
    magic = ((ONE << shift) // np.uint64(g) + ONE) & LOW
    buckets, others = np.uint64(g), np.uint64(np.uint32(g - np.uint32(1)))
    words = np.empty((3, SPAN), np.uint64)
    function, coin, rest = words[0], words[1], words[2]
    scales, offsets, hashes = np.empty(SPAN, np.uint32), np.empty(SPAN, np.uint32), np.empty(SPAN, np.uint32)
    for first in range(0, values.size, SPAN):
        block = values[first : first + SPAN]
        draw(where, first, block.size, words)
        for i in range(block.size):
            scale = function[i] >> np.uint64(33)
            scale = ((scale - most if scale >= most else scale) + ONE) & LOW
            offset = (function[i] >> np.uint64(2)) & prime
            offset = ZERO if offset == prime else offset
            true = scale * ((np.uint64(block[i]) + ONE) & LOW) + offset
            true = (true & prime) + (true >> np.uint64(31))
            true = (true - prime if true >= prime else true) & LOW
            true -= (((true * magic) >> shift) & LOW) * buckets
            other = below(rest[i], others)
            other += np.uint64(other >= true)
            scales[i] = scale
            offsets[i] = offset
            hashes[i] = true if coin[i] < keep else other
        out = reports[first : first + SPAN]  # as bytes: whole reports are stored faster than single fields
        for i in range(block.size):
            function_bits = np.uint64(scales[i]) | (np.uint64(offsets[i]) << HALF)
            for byte in range(8):
                out[i, byte] = np.uint8(function_bits >> np.uint64(8 * byte))
            out[i, 8] = np.uint8(hashes[i])
        if out.shape[1] > 9:
            for i in range(block.size):
                for byte in range(9, out.shape[1]):
                    out[i, byte] = np.uint8(hashes[i] >> np.uint32(8 * (byte - 8)))


@compiled
def pooled(
    values: Array, where: Address, size: np.uint64, g: np.uint64, keep: np.uint64, reports: Array
) -> None:
    """Hash the value by a function of the pool, then keep the bucket or report another.

    The functions with d digits before the last come after those with fewer, and are g times as many.
    """
    others = g - ONE
    words = np.empty((3, SPAN), np.uint64)
    function, coin, rest = words[0], words[1], words[2]
    for first in range(0, values.size, SPAN):
        block, out = values[first : first + SPAN], reports[first : first + SPAN]
        draw(where, first, block.size, words)
        for i in range(block.size):
            chosen = below(function[i], size)
            left, many, value, true = chosen, ONE, np.uint64(block[i]), ZERO
            while left >= many:
                left -= many
                many *= g
            while many > ONE:
                true += (left % g) * (value % g)
                left //= g
                value //= g
                many //= g
            true = (true + value) % g
            other = below(rest[i], others)
            other += np.uint64(other >= true)
            out[i] = chosen * g + (true if coin[i] < keep else other)


@compiled
def count_hashes(
    a: Array, b: Array, bucket: Array, inverse: np.uint32, twos: np.uint32, most: np.uint32, counts: Array
) -> None:
    """counts[v] += how many reports support v, for blocks of reports and one value after the other.

    The hash of the next value is the last one plus a, modulo the prime. It falls in the reported bucket iff
    the difference is a multiple of g, which one multiplication by g's inverse modulo 2^32 tells (rotated by
    g's power of two): the quotient is at most `most` = (2^31 - 1) // g just for true multiples that are not
    negative.
    """
    prime = np.uint32(PRIME)
    back = np.uint32(32) - twos
    block = 512
    x = np.empty(block, dtype=np.uint32)
    step = np.empty(block, dtype=np.uint32)
    want = np.empty(block, dtype=np.uint32)
    for start in range(0, a.size, block):
        size = min(block, a.size - start)
        for i in range(size):
            x[i] = b[start + i]
            step[i] = a[start + i]
            want[i] = bucket[start + i]
        for v in range(counts.size):
            hits = np.uint32(0)
            for i in range(size):
                moved = np.uint32(x[i] + step[i])
                moved = np.uint32(moved - prime) if moved >= prime else moved
                x[i] = moved
                quotient = np.uint32(np.uint32(moved - want[i]) * inverse)
                if twos:
                    quotient = np.uint32(np.uint32(quotient >> twos) | np.uint32(quotient << back))
                hits = np.uint32(hits + np.uint32(quotient <= most))
            counts[v] += np.int64(hits)


@compiled
def is_fair(low: np.uint64, high: np.uint64, rows: int, mask: np.uint64, reduced: Array) -> bool:
    """Whether the rows of a hash are independent in the bits of a mask: each is reduced by those before."""
    for j in range(rows):
        row = shift_pair(low, high, j) & mask
        for earlier in range(j):
            pivot = reduced[earlier] & (ZERO - reduced[earlier])
            row ^= reduced[earlier] if row & pivot else ZERO
        if row == ZERO:
            return False
        reduced[j] = row
    return True


@compiled
def linear(
    values: Array,
    where: Address,
    sizes: tuple[int, int, int],
    masks: tuple[np.uint64, np.uint64],
    keep: np.uint64,
    reports: Array,
) -> None:
    """Hash the code by a fresh linear hash that is fair, then keep the bucket or report another."""
    low_mask, high_mask = masks
    bits, leading, rows = sizes
    mask = ((ONE << np.uint64(leading)) - ONE) << np.uint64(bits - leading)
    others = (ONE << np.uint64(rows)) - ONE
    reduced = np.empty(rows, np.uint64)
    words = np.empty((6, SPAN), np.uint64)
    last = reports.shape[1] - 1
    for first in range(0, values.size, SPAN):
        block, out = values[first : first + SPAN], reports[first : first + SPAN]
        draw(where, first, block.size, words)
        for i in range(block.size):
            low, high = words[0, i] & low_mask, words[1, i] & high_mask
            if not is_fair(low, high, rows, mask, reduced):
                low, high = words[2, i] & low_mask, words[3, i] & high_mask
                if not is_fair(low, high, rows, mask, reduced):
                    low, high = ONE << np.uint64(bits - 1), ZERO
            true = ZERO
            for j in range(rows):
                true |= parity(shift_pair(low, high, j) & np.uint64(block[i])) << np.uint64(j)
            other = below(words[5, i], others)
            other += np.uint64(other >= true)
            for byte in range(last):
                out[i, byte] = np.uint8(low >> np.uint64(8 * byte) if byte < 8 else high)
            out[i, last] = np.uint8(true if words[4, i] < keep else other)


@compiled
def mark_members(
    value: np.uint64, where: Address, i: int, k: np.uint64, size: np.uint64, keep: np.uint64, marks: Array
) -> None:
    """Mark the members of the set of row i in a table: Floyd's sampling of all but the value itself.

    A draw that is a member already marks the last candidate in its place. That candidate cannot have been
    marked before, so both marks are written and no branch, nor the place of a write, waits for a look-up.
    """
    key, gamma, position, stride, rows, words = where
    row = row_start(position, stride, rows, i)
    state = key + gamma * (row + ONE)
    kept = (words[row] if gamma == ZERO else mix(state)) < keep
    first = k - ONE - (size - np.uint64(kept))
    marks[:] = 0
    marks[value] = kept
    for last in range(first, k - ONE):
        state += gamma
        row += ONE
        member = below(words[row] if gamma == ZERO else mix(state), last + ONE)
        member += np.uint64(member >= value)
        taken = marks[member]
        marks[last + np.uint64(last >= value)] = taken
        marks[member] = 1


@compiled
def subset(
    values: Array, where: Address, k: np.uint64, size: np.uint64, keep: np.uint64, reports: Array
) -> None:
    """The members of each set, read off a table in order."""
    marks = np.zeros(int(k), dtype=np.uint8)
    members = np.zeros(int(k) + 1, dtype=np.uint32)
    for i in range(values.size):
        mark_members(np.uint64(values[i]), where, i, k, size, keep, marks)
        filled = ZERO
        for v in range(marks.size):  # write every value, step on only past members: no branch to mispredict
            members[filled] = v
            filled += np.uint64(marks[v])
        into = reports[i]
        for t in range(into.size):
            into[t] = members[t]


@compiled
def packed_subset(
    values: Array, where: Address, k: np.uint64, size: np.uint64, keep: np.uint64, reports: Array
) -> None:
    """The members of each set as bits."""
    eights = np.zeros(reports.shape[1], dtype=np.uint64)
    marks = eights.view(np.uint8)
    for i in range(values.size):
        mark_members(np.uint64(values[i]), where, i, k, size, keep, marks)
        into = reports[i]
        for byte in range(into.size):
            bits = eights[byte]  # the lowest bits of eight bytes, brought together in three steps
            bits |= bits >> np.uint64(7)
            bits |= bits >> np.uint64(14)
            into[byte] = np.uint8(bits | (bits >> np.uint64(28)))


@compiled
def hadamard(values: Array, where: Address, bits: np.uint64, keep: np.uint64, reports: Array) -> None:
    """A uniform column of the half that agrees with the value's row, or of the half that does not."""
    words = np.empty((2, SPAN), np.uint64)
    coin, column = words[0], words[1]
    for first in range(0, values.size, SPAN):
        block, out = values[first : first + SPAN], reports[first : first + SPAN]
        draw(where, first, block.size, words)
        for i in range(block.size):
            row = np.uint64(block[i]) + ONE
            report = column[i] >> (np.uint64(64) - bits)
            parity = report & row
            parity ^= parity >> np.uint64(16)
            parity ^= parity >> np.uint64(8)
            parity ^= parity >> np.uint64(4)
            parity ^= parity >> np.uint64(2)
            parity ^= parity >> np.uint64(1)
            wrong = (parity & ONE) != np.uint64(coin[i] >= keep)
            out[i] = report ^ (row & (ZERO - row)) if wrong else report
