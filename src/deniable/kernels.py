"""The few hot loops, compiled on first use and cached on disk. Only large batches come here (shapes.py decides).

Every loop computes exactly what the numpy code beside its caller computes, from the same words; the one exception
says so (`unary_bits` on a stream uses no more words than it needs).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from deniable.exact import PRIME

F = TypeVar("F", bound=Callable[..., Any])
Array = npt.NDArray[Any]

_LANES = np.uint64(0x0101010101010101)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_SPAN = 256  # small tables that stay in the nearest cache
RESERVE = 64 * _SPAN  # how many words a stream must still have for another span of groups


def compiled(function: F) -> F:
    """Compile without the interpreter lock, so that threads run side by side; cached on disk where there is a place."""
    try:
        return cast(F, njit(cache=True, nogil=True, error_model="numpy", boundscheck=False)(function))
    except RuntimeError:  # neither the package's folder nor the user's can be written: compile anew in every process
        return cast(F, njit(nogil=True, error_model="numpy", boundscheck=False)(function))


def inlined(function: F) -> F:
    """Compile into its callers."""
    return cast(F, njit(inline="always", error_model="numpy")(function))


@inlined
def _mix(state: np.uint64) -> np.uint64:
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@inlined
def _below(word: np.uint64, bound: np.uint64) -> np.uint64:
    return ((word >> _HALF) * bound + (((word & _LOW) * bound) >> _HALF)) >> _HALF


@compiled
def fill_seeded(key: np.uint64, gamma: np.uint64, start: np.uint64, words: Array) -> None:
    """words[i] = the seeded word number start + i."""
    state = key + gamma * (start + _ONE)
    for i in range(words.size):
        words[i] = _mix(state)
        state += gamma


class Address(NamedTuple):
    """Where the words of a batch are: computed from a key (gamma > 0), or in a list. Row i begins at position + stride * i."""

    key: np.uint64
    gamma: np.uint64
    position: np.uint64
    stride: np.uint64
    rows: Array
    """Which rows to take, in order; empty for all of them."""
    words: Array


@inlined
def _row(position: np.uint64, stride: np.uint64, rows: Array, i: int) -> np.uint64:
    """The number of the first word of the i-th report."""
    return position + stride * np.uint64(rows[i] if rows.size else i)


@compiled
def _draw(where: Address, first: int, size: int, drawn: Array) -> None:
    """drawn[c, j] = word c of report first + j."""
    key, gamma, position, stride, rows, words = where  # taken apart once: a part of a tuple is costly to reach in a loop
    step = gamma * stride
    some = rows[first : first + size]
    for c in range(drawn.shape[0]):
        into = drawn[c]
        if gamma == _ZERO:
            for j in range(size):
                into[j] = words[_row(position, stride, rows, first + j) + np.uint64(c)]
        elif rows.size:
            state = key + gamma * (position + np.uint64(c) + _ONE)
            for j in range(size):
                into[j] = _mix(state + step * np.uint64(some[j]))
        else:
            state = key + gamma * (_row(position, stride, rows, first) + np.uint64(c) + _ONE)
            for j in range(size):
                into[j] = _mix(state)
                state += step


@compiled
def draw_attributes(where: Address, d: np.uint64, picked: Array) -> None:
    """picked[i] = the attributes of record i, all different, by Floyd's sampling."""
    n, count = picked.shape
    drawn = np.empty((count, _SPAN), np.uint64)
    for first in range(0, n, _SPAN):
        some = picked[first : first + _SPAN]
        _draw(where, first, len(some), drawn)
        for draw in range(count):
            last = d - np.uint64(count) + np.uint64(draw)
            for i in range(len(some)):
                found = _below(drawn[draw, i], last + _ONE)
                for earlier in range(draw):
                    if some[i, earlier] == found:
                        found = last
                        break
                some[i, draw] = found


@compiled
def group(picked: Array, columns: Array, ends: Array, who: Array, values: Array) -> None:
    """Sort records by the attribute they picked, each with its value there; ends[j] is where attribute j's records end."""
    ends[:] = 0
    for i in range(picked.size):
        ends[picked[i]] += 1
    place = 0
    for j in range(ends.size):  # where the next record of each attribute goes: in the end, where its records end
        ends[j], place = place, place + ends[j]
    for i in range(picked.size):
        attribute = picked[i]
        slot = ends[attribute]
        who[slot] = i
        values[slot] = columns[attribute, i]
        ends[attribute] = slot + 1


@compiled
def direct(values: Array, where: Address, k: np.uint64, keep: np.uint64, reports: Array) -> None:
    """Keep the value, or report one of the k - 1 others."""
    drawn = np.empty((2, _SPAN), np.uint64)
    coin, rest = drawn[0], drawn[1]
    others = k - _ONE
    for first in range(0, values.size, _SPAN):
        some, out = values[first : first + _SPAN], reports[first : first + _SPAN]
        _draw(where, first, some.size, drawn)
        for i in range(some.size):
            value = np.uint64(some[i])
            other = _below(rest[i], others)
            other += np.uint64(other >= value)
            out[i] = value if coin[i] < keep else other


@compiled
def hashed(values: Array, where: Address, g: np.uint32, keep: np.uint64, reports: Array) -> None:
    """Hash the value by a fresh function of the family, then keep the bucket or report another.

    A number x below 2^31 has x // g = x * magic >> shift, the product below 2^64: no division, so the loop is vectorized
    (and masks that change nothing tell the compiler that 32-bit products are enough).
    """
    prime, most = np.uint64(PRIME), np.uint64(PRIME - 1)
    shift = np.uint64(31)
    while (_ONE << (shift - np.uint64(31))) < np.uint64(g):
        shift += _ONE
    magic = ((_ONE << shift) // np.uint64(g) + _ONE) & _LOW
    buckets, others = np.uint64(g), np.uint64(np.uint32(g - np.uint32(1)))
    drawn = np.empty((3, _SPAN), np.uint64)
    function, coin, rest = drawn[0], drawn[1], drawn[2]
    scales, offsets, found = np.empty(_SPAN, np.uint32), np.empty(_SPAN, np.uint32), np.empty(_SPAN, np.uint32)
    for first in range(0, values.size, _SPAN):
        some = values[first : first + _SPAN]
        _draw(where, first, some.size, drawn)
        for i in range(some.size):
            scale = function[i] >> np.uint64(33)
            scale = ((scale - most if scale >= most else scale) + _ONE) & _LOW
            offset = (function[i] >> np.uint64(2)) & prime
            offset = _ZERO if offset == prime else offset
            true = scale * ((np.uint64(some[i]) + _ONE) & _LOW) + offset
            true = (true & prime) + (true >> np.uint64(31))
            true = (true - prime if true >= prime else true) & _LOW
            true -= (((true * magic) >> shift) & _LOW) * buckets
            other = _below(rest[i], others)
            other += np.uint64(other >= true)
            scales[i] = scale
            offsets[i] = offset
            found[i] = true if coin[i] < keep else other
        out = reports[first : first + _SPAN]  # as bytes: whole reports are stored faster than single fields
        for i in range(some.size):
            both = np.uint64(scales[i]) | (np.uint64(offsets[i]) << _HALF)
            for byte in range(8):
                out[i, byte] = np.uint8(both >> np.uint64(8 * byte))
            out[i, 8] = np.uint8(found[i])
        if out.shape[1] > 9:
            for i in range(some.size):
                for byte in range(9, out.shape[1]):
                    out[i, byte] = np.uint8(found[i] >> np.uint32(8 * (byte - 8)))


@compiled
def subset(
    values: Array,
    where: Address,
    k: np.uint64,
    size: np.uint64,
    keep: np.uint64,
    reports: Array,
) -> None:
    """Floyd's sampling of the other members, marked in a table and read off in order."""
    key, gamma, position, stride, rows, words = where
    width = int(size) + 1
    marks = np.zeros(int(k), dtype=np.uint8)
    members = np.zeros(int(k) + 1, dtype=np.uint32)
    drawn = np.empty(width, np.uint64)
    for i in range(values.size):
        row = _row(position, stride, rows, i)
        if gamma == _ZERO:
            for c in range(width):
                drawn[c] = words[row + np.uint64(c)]
        else:
            state = key + gamma * (row + _ONE)
            for c in range(width):
                drawn[c] = _mix(state)
                state += gamma
        value = np.uint64(values[i])
        kept = drawn[0] < keep
        wanted = size - np.uint64(kept)
        last = k - _ONE - wanted
        some = drawn[1 : int(wanted) + 1]
        for t in range(some.size):
            other = _below(some[t], last + np.uint64(t) + _ONE)
            some[t] = other + np.uint64(other >= value)
        for v in range(marks.size):
            marks[v] = 0
        marks[value] = kept
        for t in range(some.size):
            place = last + np.uint64(t)
            marks[place + np.uint64(place >= value) if marks[some[t]] else some[t]] = 1
        found = _ZERO
        for v in range(marks.size):  # write every value, step on only past members: no branch to mispredict
            members[found] = v
            found += np.uint64(marks[v])
        into = reports[i]
        for t in range(into.size):
            into[t] = members[t]


@compiled
def hadamard(
    values: Array,
    where: Address,
    bits: np.uint64,
    keep: np.uint64,
    reports: Array,
) -> None:
    """A uniform column of the half that agrees with the value's row, or of the half that does not."""
    drawn = np.empty((2, _SPAN), np.uint64)
    coin, column = drawn[0], drawn[1]
    for first in range(0, values.size, _SPAN):
        some, out = values[first : first + _SPAN], reports[first : first + _SPAN]
        _draw(where, first, some.size, drawn)
        for i in range(some.size):
            row = np.uint64(some[i]) + _ONE
            report = column[i] >> (np.uint64(64) - bits)
            parity = report & row
            parity ^= parity >> np.uint64(16)
            parity ^= parity >> np.uint64(8)
            parity ^= parity >> np.uint64(4)
            parity ^= parity >> np.uint64(2)
            parity ^= parity >> np.uint64(1)
            wrong = (parity & _ONE) != np.uint64(coin[i] >= keep)
            out[i] = report ^ (row & (_ZERO - row)) if wrong else report


@compiled
def _toss(
    states: Array,
    truth: Array,
    undecided: Array,
    result: Array,
    size: int,
    first: int,
    last: int,
    ones: Array,
    zeros: Array,
    gamma: np.uint64,
    words: Array,
    used: int,
) -> int:
    """Compare digits first to last - 1 of 64 coins in each of `size` groups; returns how much of a stream is used."""
    for level in range(first, last):
        zero = zeros[level]
        flip = zero ^ ones[level]
        step = gamma * np.uint64(level)
        if gamma == _ZERO:
            fresh = words[used : used + size]
            for j in range(size):
                word = fresh[j]
                digits = zero ^ (flip & truth[j])
                result[j] |= undecided[j] & digits & ~word
                undecided[j] &= ~(digits ^ word)
            used += size
        else:
            for j in range(size):
                word = _mix(states[j] + step)
                digits = zero ^ (flip & truth[j])
                result[j] |= undecided[j] & digits & ~word
                undecided[j] &= ~(digits ^ word)
    return used


@compiled
def unary_bits(values: Array, k: int, ones: Array, zeros: Array, where: Address, start: int, out: Array) -> tuple[int, int]:
    """64 coins at once: words are compared with the thresholds' binary digits, the first digit first.

    values has one column, the true value; or, after an unused one, the true bits of every 64 values. ones[l] and zeros[l]
    are all bits set where digit l of the threshold is 1. Eight digits decide all the coins of most groups of 64; the groups
    left over go on together for eight more, and the rare rest alone. Seeded words (gamma > 0) sit at fixed places, so that
    what is not needed is skipped; a stream (gamma = 0) is read on, until it may not last for another span of groups.
    Groups are counted through all reports: begins with group `start`, returns the next one and how much was read.
    """
    key, gamma, position, stride, rows, words = where
    groups = (k + 63) // 64
    states, truth = np.empty(_SPAN, np.uint64), np.empty(_SPAN, np.uint64)
    undecided, result = np.empty(_SPAN, np.uint64), np.empty(_SPAN, np.uint64)
    late_states, late_truth = np.empty(_SPAN, np.uint64), np.empty(_SPAN, np.uint64)
    late_undecided, late_result = np.empty(_SPAN, np.uint64), np.empty(_SPAN, np.uint64)
    late = np.empty(_SPAN + 1, np.int64)
    last_lanes = _ALL >> np.uint64(64 * groups - k)
    total = values.shape[0] * groups
    used = 0
    for first in range(start, total, _SPAN):
        size = min(_SPAN, total - first)
        if gamma == _ZERO and words.size - used < 64 * size:
            return first, used
        for j in range(size):
            truth[j] = _ZERO
            undecided[j] = _ALL
            result[j] = _ZERO
        j, report, group = 0, first // groups, first % groups
        while j < size:
            here = min(groups - group, size - j)  # groups of this report
            state = key + gamma * (_row(position, stride, rows, report) + np.uint64(64 * group) + _ONE)
            for c in range(here):
                states[j + c] = state
                state += gamma * np.uint64(64)
            if values.shape[1] > 1:
                for c in range(here):
                    truth[j + c] = np.uint64(values[report, 1 + group + c])
            else:
                place = (values[report, 0] >> 6) - group
                if 0 <= place < here:  # a fake report comes from no value at all, -1
                    truth[j + place] = _ONE << np.uint64(values[report, 0] & 63)
            if group + here == groups:
                undecided[j + here - 1] = last_lanes
            j, report, group = j + here, report + 1, 0
        used = _toss(states, truth, undecided, result, size, 0, 8, ones, zeros, gamma, words, used)
        open_groups = 0
        for j in range(size):
            late[open_groups] = j
            open_groups += int(undecided[j] != _ZERO)
        for i in range(open_groups):
            j = late[i]
            late_states[i], late_truth[i] = states[j], truth[j]
            late_undecided[i], late_result[i] = undecided[j], result[j]
        used = _toss(late_states, late_truth, late_undecided, late_result, open_groups, 8, 16, ones, zeros, gamma, words, used)
        for i in range(open_groups):
            if late_undecided[i] != _ZERO:
                late_some = late_states[i:], late_truth[i:], late_undecided[i:], late_result[i:]
                used = _toss(*late_some, 1, 16, 64, ones, zeros, gamma, words, used)
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
    """counts[j, 8 * lane + bit] += how often that bit is set in column j of 64-bit rows; eight byte counters a word."""
    columns = rows.shape[1]
    lanes = np.zeros((8, columns), dtype=np.uint64)
    for start in range(0, rows.shape[0], 255):
        lanes[:, :] = _ZERO
        for i in range(start, min(start + 255, rows.shape[0])):
            for bit in range(8):
                for j in range(columns):
                    lanes[bit, j] += (rows[i, j] >> np.uint64(bit)) & _LANES
        for j in range(columns):
            for bit in range(8):
                for lane in range(8):
                    counts[j, 8 * lane + bit] += np.int64((lanes[bit, j] >> np.uint64(8 * lane)) & np.uint64(255))


@compiled
def count_hashes(
    a: Array, b: Array, bucket: Array, inverse: np.uint32, twos: np.uint32, most: np.uint32, counts: Array
) -> None:
    """counts[v] += how many reports support v, for blocks of reports and one value after the other.

    The hash of the next value is the last one plus a, modulo the prime. It falls in the reported bucket iff the
    difference is a multiple of g, which one multiplication by g's inverse modulo 2^32 tells (rotated by g's power
    of two): the quotient is at most `most` = (2^31 - 1) // g just for true multiples that are not negative.
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


@inlined
def _excess(low: float, high: float, width: float) -> float:
    if high <= 0.0:
        return 0.0
    if low >= 0.0:
        return width * (low + high) / 2
    return width * high * high / (2 * (high - low))


@compiled
def uncovered(k: int, g: float) -> float:
    """The share of the circle that no arc of 1 / g covers, walking the fractions of denominators below k in order."""
    arc = 1.0 / g
    total = 0.0
    c, d = 1, k - 1
    while True:
        left, right = 1.0 / c, 1.0 / d
        width = left * right
        total += (k - c) * _excess(-arc, right - arc, width)
        total += (k - d) * _excess(-arc, left - arc, width)
        total += (c + d - k) * _excess(min(left, right) - arc, max(left, right) - arc, width)
        if d == 1:
            return total
        c, d = d, (k - 1 + c) // d * d - c
