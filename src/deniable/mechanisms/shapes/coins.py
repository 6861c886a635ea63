"""Compiles the loops of unary shapes: 64 coins at once, and how often each came up."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Array
from deniable.randomness.compilation import compiled, inlined
from deniable.randomness.kernels import ONE, SPAN, ZERO, Address, mix, row_start

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LANES = np.uint64(0x0101010101010101)
_WIDTH = 128  # words of a row that are counted at once: all their counters stay in the nearest cache
RESERVE = 64 * SPAN
"""How many words a stream must still have for another span of groups."""


@compiled
def _toss(
    states: Array,
    truth: Array,
    undecided: Array,
    result: Array,
    size: int | np.int64,
    first: np.int64,
    last: np.int64,
    ones: Array,
    zeros: Array,
    gamma: np.uint64,
    words: Array,
    used: np.int64,
) -> np.int64:
    """Compare digits first to last - 1 of 64 coins in each of `size` groups; how much of a stream it took."""
    for level in range(first, last):
        zero = zeros[level]
        flip = zero ^ ones[level]
        step = gamma * np.uint64(level)
        if gamma == ZERO:
            fresh = words[used : used + size]
            for j in range(size):
                word = fresh[j]
                digits = zero ^ (flip & truth[j])
                result[j] |= undecided[j] & digits & ~word
                undecided[j] &= ~(digits ^ word)
            used += size
        else:
            for j in range(size):
                word = mix(states[j] + step)
                digits = zero ^ (flip & truth[j])
                result[j] |= undecided[j] & digits & ~word
                undecided[j] &= ~(digits ^ word)
    return used


@compiled
def unary_bits(
    values: Array, k: int, ones: Array, zeros: Array, where: Address, start: int, out: Array
) -> tuple[int, np.int64]:
    """64 coins at once: words are compared with the thresholds' binary digits, the first digit first.

    values has one column, the true value; or, after an unused one, the true bits of every 64 values. ones[l]
    and zeros[l] are all bits set where digit l of the threshold is 1. Eight digits decide all the coins of
    most groups of 64; the groups left over go on together for eight more, and the rare rest alone. Seeded
    words (gamma > 0) sit at fixed positions, so that what is not needed is skipped; a stream (gamma = 0) is
    read on, until it may not last for another span of groups. Groups are counted through all reports: begins
    with group `start`, returns the next one and how much was read.
    """
    key, gamma, position, stride, rows, words = where
    groups = (k + 63) // 64
    states, truth = np.empty(SPAN, np.uint64), np.empty(SPAN, np.uint64)
    undecided, result = np.empty(SPAN, np.uint64), np.empty(SPAN, np.uint64)
    late_states, late_truth = np.empty(SPAN, np.uint64), np.empty(SPAN, np.uint64)
    late_undecided, late_result = np.empty(SPAN, np.uint64), np.empty(SPAN, np.uint64)
    late = np.empty(SPAN + 1, np.int64)
    last_lanes = _ALL >> np.uint64(64 * groups - k)
    total = values.shape[0] * groups
    used = np.int64(0)
    # numbers of one type: a number that is written in a call would be compiled for by itself
    none, single, second, third, last = np.int64(0), np.int64(1), np.int64(8), np.int64(16), np.int64(64)
    for first in range(start, total, SPAN):
        size = min(SPAN, total - first)
        if gamma == ZERO and words.size - used < 64 * size:
            return first, used
        for j in range(size):
            truth[j] = ZERO
            undecided[j] = _ALL
            result[j] = ZERO
        j, report, group = 0, first // groups, first % groups
        while j < size:
            count = min(groups - group, size - j)  # groups of this report
            state = key + gamma * (row_start(position, stride, rows, report) + np.uint64(64 * group) + ONE)
            for c in range(count):
                states[j + c] = state
                state += gamma * np.uint64(64)
            if values.shape[1] > 1:
                for c in range(count):
                    truth[j + c] = np.uint64(values[report, 1 + group + c])
            else:
                offset = (values[report, 0] >> 6) - group
                if 0 <= offset < count:  # a fake report comes from no value at all, -1
                    truth[j + offset] = ONE << np.uint64(values[report, 0] & 63)
            if group + count == groups:
                undecided[j + count - 1] = last_lanes
            j, report, group = j + count, report + 1, 0
        used = _toss(states, truth, undecided, result, size, none, second, ones, zeros, gamma, words, used)
        open_groups = np.int64(0)
        for j in range(size):
            late[open_groups] = j
            open_groups += int(undecided[j] != ZERO)
        for i in range(open_groups):
            j = late[i]
            late_states[i], late_truth[i] = states[j], truth[j]
            late_undecided[i], late_result[i] = undecided[j], result[j]
        late_all = late_states, late_truth, late_undecided, late_result
        used = _toss(*late_all, open_groups, second, third, ones, zeros, gamma, words, used)
        for i in range(open_groups):
            if late_undecided[i] != ZERO:
                late_some = late_states[i:], late_truth[i:], late_undecided[i:], late_result[i:]
                used = _toss(*late_some, single, third, last, ones, zeros, gamma, words, used)
            result[late[i]] = late_result[i]
        j, report, group = 0, first // groups, first % groups
        while j < size:
            count = min(groups - group, size - j)
            for c in range(count):
                bits = result[j + c]
                into = out[report, 8 * (group + c) :]
                if into.size >= 8:
                    for byte in range(8):
                        into[byte] = np.uint8(bits >> np.uint64(8 * byte))
                else:
                    for byte in range(into.size):
                        into[byte] = np.uint8(bits >> np.uint64(8 * byte))
            j, report, group = j + count, report + 1, 0
    return total, used


@inlined
def _add(a: np.uint64, b: np.uint64, c: np.uint64) -> tuple[np.uint64, np.uint64]:
    """64 sums of three bits: their higher digits, and their lower ones."""
    either = a ^ b
    return (either & c) | (a & b), either ^ c


@compiled
def count_bits(rows: Array, counts: Array) -> None:
    """counts[bit, byte] += how often that bit of that byte is set in a row.

    Sixteen rows are added digit by digit (carry-save adders, as Harley and Seal count bits): 15 additions of
    64 bits each, and what is left is one word of sixteens for the byte counters. All of it sits in one table
    of a known width, without which the compiler could not tell the rows apart and would not vectorize.
    """
    table = np.zeros((29, _WIDTH), np.uint64)  # 16 rows; ones to eights; sixteens by bit; the rest of a bit
    as_bytes = table.view(np.uint8)
    for first in range(0, rows.shape[1], _WIDTH):
        size = min(_WIDTH, rows.shape[1] - first)
        for start in range(0, rows.shape[0], 16 * 255):
            table[16:28] = ZERO
            for row in range(start, min(start + 16 * 255, rows.shape[0]), 16):
                for i in range(16):
                    into = table[i]
                    if row + i < rows.shape[0]:
                        source = rows[row + i, first : first + size]
                        for j in range(source.size):
                            into[j] = source[j]
                    else:
                        into[:] = ZERO
                for j in range(size):
                    twos_a, ones_a = _add(table[0, j], table[1, j], table[2, j])
                    twos_b, ones_b = _add(table[3, j], table[4, j], table[5, j])
                    twos_c, ones_c = _add(table[6, j], table[7, j], table[8, j])
                    twos_d, ones_d = _add(ones_a, ones_b, ones_c)
                    twos_e, ones_e = _add(table[9, j], table[10, j], table[11, j])
                    twos_f, ones_f = _add(table[12, j], table[13, j], table[14, j])
                    twos_g, ones_g = _add(table[15, j], table[16, j], ones_d)
                    twos_h, table[16, j] = _add(ones_e, ones_f, ones_g)
                    fours_a, twos_a = _add(twos_a, twos_b, twos_c)
                    fours_b, twos_b = _add(twos_d, twos_e, twos_f)
                    fours_c, twos_c = _add(twos_g, twos_h, table[17, j])
                    fours_d, table[17, j] = _add(twos_a, twos_b, twos_c)
                    eights_a, fours_a = _add(fours_a, fours_b, fours_c)
                    eights_b, table[18, j] = _add(fours_d, fours_a, table[18, j])
                    sixteens, table[19, j] = _add(eights_a, eights_b, table[19, j])
                    for bit in range(8):
                        table[20 + bit, j] += (sixteens >> np.uint64(bit)) & _LANES
            for bit in range(8):
                shift = np.uint64(bit)
                for j in range(size):
                    low = (table[16, j] >> shift) & _LANES
                    low += ((table[17, j] >> shift) & _LANES) << ONE
                    low += ((table[18, j] >> shift) & _LANES) << np.uint64(2)
                    table[28, j] = low + (((table[19, j] >> shift) & _LANES) << np.uint64(3))
                into = counts[bit, 8 * first : 8 * (first + size)]
                for byte in range(into.size):
                    into[byte] += 16 * np.int64(as_bytes[20 + bit, byte]) + np.int64(as_bytes[28, byte])
