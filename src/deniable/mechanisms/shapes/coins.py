"""Compiles the loops of unary shapes: 64 coins at once, and how often each came up."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Array
from deniable.words.compilation import compiled
from deniable.words.kernels import ONE, SPAN, ZERO, Address, mix, row_start

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LANES = np.uint64(0x0101010101010101)
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
    none, one, second, third, last = np.int64(0), np.int64(1), np.int64(8), np.int64(16), np.int64(64)
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
            here = min(groups - group, size - j)  # groups of this report
            state = key + gamma * (row_start(position, stride, rows, report) + np.uint64(64 * group) + ONE)
            for c in range(here):
                states[j + c] = state
                state += gamma * np.uint64(64)
            if values.shape[1] > 1:
                for c in range(here):
                    truth[j + c] = np.uint64(values[report, 1 + group + c])
            else:
                offset = (values[report, 0] >> 6) - group
                if 0 <= offset < here:  # a fake report comes from no value at all, -1
                    truth[j + offset] = ONE << np.uint64(values[report, 0] & 63)
            if group + here == groups:
                undecided[j + here - 1] = last_lanes
            j, report, group = j + here, report + 1, 0
        used = _toss(states, truth, undecided, result, size, none, second, ones, zeros, gamma, words, used)
        open_groups = np.int64(0)
        for j in range(size):
            late[open_groups] = j
            open_groups += int(undecided[j] != ZERO)
        for i in range(open_groups):
            j = late[i]
            late_states[i], late_truth[i] = states[j], truth[j]
            late_undecided[i], late_result[i] = undecided[j], result[j]
        used = _toss(
            late_states,
            late_truth,
            late_undecided,
            late_result,
            open_groups,
            second,
            third,
            ones,
            zeros,
            gamma,
            words,
            used,
        )
        for i in range(open_groups):
            if late_undecided[i] != ZERO:
                late_some = late_states[i:], late_truth[i:], late_undecided[i:], late_result[i:]
                used = _toss(*late_some, one, third, last, ones, zeros, gamma, words, used)
            result[late[i]] = late_result[i]
        j, report, group = 0, first // groups, first % groups
        while j < size:
            here = min(groups - group, size - j)
            for c in range(here):
                bits = result[j + c]
                into = out[report, 8 * (group + c) :]
                if into.size >= 8:
                    for byte in range(8):
                        into[byte] = np.uint8(bits >> np.uint64(8 * byte))
                else:
                    for byte in range(into.size):
                        into[byte] = np.uint8(bits >> np.uint64(8 * byte))
            j, report, group = j + here, report + 1, 0
    return total, used


@compiled
def count_bits(rows: Array, counts: Array) -> None:
    """counts[j, 8 * lane + bit] += how often that bit is set in column j, by eight byte counters a word."""
    columns = rows.shape[1]
    lanes = np.zeros((8, columns), dtype=np.uint64)
    for start in range(0, rows.shape[0], 255):
        lanes[:, :] = ZERO
        for i in range(start, min(start + 255, rows.shape[0])):
            for bit in range(8):
                for j in range(columns):
                    lanes[bit, j] += (rows[i, j] >> np.uint64(bit)) & _LANES
        for j in range(columns):
            for bit in range(8):
                for lane in range(8):
                    counts[j, 8 * lane + bit] += np.int64(
                        (lanes[bit, j] >> np.uint64(8 * lane)) & np.uint64(255)
                    )
