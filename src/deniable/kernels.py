"""The few hot loops, compiled on first use and cached on disk. Only large batches come here (shapes.py decides).

Every loop computes exactly what the numpy code beside its caller computes, from the same words; the one exception
says so (`unary_bits` on a stream uses no more words than it needs).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

F = TypeVar("F", bound=Callable[..., Any])
Array = npt.NDArray[Any]

PRIME = 2147483647  # 2^31 - 1, the modulus of the hash family
_LANES = np.uint64(0x0101010101010101)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def compiled(function: F) -> F:
    """Compile without the interpreter lock, so that threads run side by side."""
    return cast(F, njit(cache=True, nogil=True, error_model="numpy", boundscheck=False)(function))


def inlined(function: F) -> F:
    """Compile into its callers."""
    return cast(F, njit(inline="always", error_model="numpy")(function))


def threads() -> int:
    """How many blocks to work on at once."""
    return min(8, os.cpu_count() or 1)


def side_by_side(work: Callable[[int], None], parts: int) -> None:
    """Run work(0), work(1), ... on all cores; the first error is raised."""
    with ThreadPoolExecutor(threads()) as pool:
        for done in [pool.submit(work, part) for part in range(parts)]:
            done.result()


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
    for i in range(words.size):
        words[i] = _mix(key + gamma * (start + np.uint64(i) + _ONE))


@compiled
def direct(values: Array, words: Array, k: np.uint64, keep: np.uint64, reports: Array) -> None:
    """Keep the value, or report one of the k - 1 others."""
    for i in range(values.size):
        value = np.uint64(values[i])
        other = _below(words[i, 1], k - _ONE)
        other += np.uint64(other >= value)
        reports[i] = value if words[i, 0] < keep else other


@compiled
def hashed(values: Array, words: Array, g: np.uint64, keep: np.uint64, a: Array, b: Array, bucket: Array) -> None:
    """Hash the value by a fresh function of the family, then keep the bucket or report another."""
    prime = np.uint64(PRIME)
    for i in range(values.size):
        scale = _ONE + _below(words[i, 0], prime - _ONE)
        shift = _below(words[i, 1], prime)
        true = scale * (np.uint64(values[i]) + _ONE) + shift
        true = (true & prime) + (true >> np.uint64(31))
        true = true - prime if true >= prime else true
        true %= g
        other = _below(words[i, 3], g - _ONE)
        other += np.uint64(other >= true)
        a[i] = scale
        b[i] = shift
        bucket[i] = true if words[i, 2] < keep else other


@compiled
def subset(values: Array, words: Array, k: np.uint64, size: np.uint64, keep: np.uint64, reports: Array) -> None:
    """Floyd's sampling of the other members, held as a bitmap and read off in order."""
    marks = np.zeros((int(k) + 63) // 64, dtype=np.uint64)
    for i in range(values.size):
        value = np.uint64(values[i])
        marks[:] = _ZERO
        kept = words[i, 0] < keep
        wanted = size - np.uint64(kept)
        if kept:
            marks[value >> np.uint64(6)] |= _ONE << (value & np.uint64(63))
        top = k - _ONE - wanted
        for t in range(wanted):
            last = top + np.uint64(t)
            drawn = _below(words[i, 1 + t], last + _ONE)
            drawn += np.uint64(drawn >= value)
            place = drawn >> np.uint64(6)
            bit = _ONE << (drawn & np.uint64(63))
            if marks[place] & bit:
                drawn = last + np.uint64(last >= value)
                place = drawn >> np.uint64(6)
                bit = _ONE << (drawn & np.uint64(63))
            marks[place] |= bit
        at = 0
        for group in range(marks.size):
            rest = marks[group]
            while rest:
                lowest = rest & (_ZERO - rest)
                reports[i, at] = np.uint64(64 * group) + _bit_number(lowest)
                at += 1
                rest ^= lowest


@inlined
def _bit_number(bit: np.uint64) -> np.uint64:
    number = np.uint64((bit & np.uint64(0xAAAAAAAAAAAAAAAA)) != _ZERO)
    number |= np.uint64((bit & np.uint64(0xCCCCCCCCCCCCCCCC)) != _ZERO) << np.uint64(1)
    number |= np.uint64((bit & np.uint64(0xF0F0F0F0F0F0F0F0)) != _ZERO) << np.uint64(2)
    number |= np.uint64((bit & np.uint64(0xFF00FF00FF00FF00)) != _ZERO) << np.uint64(3)
    number |= np.uint64((bit & np.uint64(0xFFFF0000FFFF0000)) != _ZERO) << np.uint64(4)
    return number | (np.uint64((bit & np.uint64(0xFFFFFFFF00000000)) != _ZERO) << np.uint64(5))


@compiled
def hadamard(values: Array, words: Array, bits: np.uint64, keep: np.uint64, reports: Array) -> None:
    """A uniform row of the half that agrees with the value, or of the half that does not."""
    for i in range(values.size):
        row = np.uint64(values[i]) + _ONE
        report = words[i, 1] >> (np.uint64(64) - bits)
        parity = report & row
        parity ^= parity >> np.uint64(16)
        parity ^= parity >> np.uint64(8)
        parity ^= parity >> np.uint64(4)
        parity ^= parity >> np.uint64(2)
        parity ^= parity >> np.uint64(1)
        wanted = np.uint64(words[i, 0] >= keep)
        if (parity & _ONE) != wanted:
            report ^= row & (_ZERO - row)
        reports[i] = report


@compiled
def unary_bits(
    values: Array, k: int, ones: Array, zeros: Array, key: np.uint64, gamma: np.uint64, start: int, words: Array, out: Array
) -> tuple[int, int]:
    """64 coins at once: words are compared with the thresholds' binary digits, the first digit first.

    ones[l] and zeros[l] are all bits set where digit l of the threshold is 1. A group of 64 values ends as soon as all
    its coins have fallen, after about seven words. Seeded words (gamma > 0) sit at fixed places, so that what is not
    needed is skipped; a stream (gamma = 0) is read on, until fewer words are left than one report might need.
    Returns how many reports were made and how many words of the stream were used.
    """
    groups = (k + 63) // 64
    used = 0
    for i in range(values.size):
        if gamma == _ZERO and words.size - used < 64 * groups:
            return i, used
        value = np.int64(values[i])
        for group in range(groups):
            left = k - 64 * group
            open_ = _ALL if left >= 64 else (_ONE << np.uint64(left)) - _ONE
            truth = _ONE << np.uint64(value & 63) if value >> 6 == group else _ZERO
            state = key + gamma * np.uint64(start + 64 * (i * groups + group) + 1)
            result = _ZERO
            level = 0
            while open_ != _ZERO and level < 64:
                if gamma == _ZERO:
                    word = words[used]
                    used += 1
                else:
                    word = _mix(state)
                    state += gamma
                digits = zeros[level] ^ ((zeros[level] ^ ones[level]) & truth)
                result |= open_ & digits & ~word
                open_ &= ~(digits ^ word)
                level += 1
            first = 8 * group
            for byte in range(min(8, out.shape[1] - first)):
                out[i, first + byte] = np.uint8((result >> np.uint64(8 * byte)) & np.uint64(255))
    return values.size, used


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
def uncovered(k: int, g: int) -> float:
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
