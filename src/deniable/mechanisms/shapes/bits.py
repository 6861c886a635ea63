"""Reads and counts packed reports: bit v % 8 of byte v // 8 says whether a report supports value v."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.mechanisms.sets import SetShape


def count_bytes(k: int) -> int:
    """How many bytes hold a bit for each of k values."""
    return (k + 7) // 8


def pack_members(members: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Packed reports from a table of reports by values."""
    return np.packbits(members, axis=1, bitorder="little")


def unpack_members(reports: Array, k: int) -> npt.NDArray[np.bool_]:
    """The table of reports by values that `pack_members` packed."""
    return np.unpackbits(np.asarray(reports), axis=1, count=k, bitorder="little").astype(bool)


def hold_values(reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
    """Whether each report supports one value, its own; -1 is never supported."""
    known = np.maximum(values, 0)
    is_supported = reports[np.arange(len(reports)), known >> 3] >> (known & 7).astype(np.uint8) & 1
    return np.asarray(is_supported.astype(bool) & (values >= 0))


def hold_each_value(reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
    """Which reports support each of several values, a row per value; -1 is never supported."""
    bits = np.ascontiguousarray(reports.T)
    is_supported = [
        bits[value >> 3] & (1 << (value & 7)) if value >= 0 else bits[0] & 0 for value in values.tolist()
    ]
    return np.array(is_supported) > 0


def leave_unused(reports: Array, k: int) -> npt.NDArray[np.bool_]:
    """Which reports set no bit beyond the last value."""
    unused = 8 * count_bytes(k) - k
    if not unused:
        return np.ones(len(reports), dtype=bool)
    return np.asarray(reports[:, -1] >> (8 - unused) == 0)


def count_set(reports: Array) -> Integers:
    """How many bits each report sets."""
    return np.asarray(np.bitwise_count(reports).sum(axis=1, dtype=np.int64))


def count_members(reports: Array, k: int, compiled: bool) -> Integers:
    """How many reports support each value."""
    # eight reports are a whole number of 64-bit columns, so any length counts at full width; wide rows count
    # fastest
    width = count_bytes(k)
    at_once = 8 * max(1, 128 // width)
    even = len(reports) // at_once * at_once if compiled else 0
    counts = np.unpackbits(reports[even:], axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    if even:
        from deniable.mechanisms.shapes import coins

        rows = reports[:even].reshape(even // at_once, -1).view(np.uint64)
        columns = np.zeros((8, 8 * rows.shape[1]), dtype=np.int64)
        coins.count_bits(rows, columns)
        counts += columns.reshape(8, at_once, width).sum(axis=1).T.reshape(-1)
    return np.asarray(counts[:k])


class Packed(SetShape):
    """A report of k bits, packed: one for each value, set where the value is supported."""

    @property
    def report_bytes(self) -> int:
        return count_bytes(self.k)

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        return unpack_members(reports, self.k)

    def supports(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        return hold_values(reports, values)

    def supports_each(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        return hold_each_value(reports, values)

    def packed_support(self, reports: Array) -> npt.NDArray[np.uint8]:
        return np.ascontiguousarray(reports.T)

    def blank(self, n: int) -> Array:
        return np.empty((n, self.report_bytes), dtype=np.uint8)

    def _count(self, reports: Array, compiled: bool) -> Integers:
        return count_members(reports, self.k, compiled)
