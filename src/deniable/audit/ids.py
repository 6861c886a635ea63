"""Tests whether report ids depend on answers: of their own device, or of the device before.

Who holds which answer is drawn by the audit, whatever the ids are. So the sum of (2 b - 1) (a - m) over the
devices, with b a bit of an id, a a bit of the answer and m the mean of that bit over the answers that the
device might have held, has mean 0, and Hoeffding's inequality bounds how large it gets by chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.audit.observations import Bytes

_CERTAIN = 1e-9  # chance of a false alarm
_MOST = 1 << 17  # devices that are looked at
_MOST_BITS = 16  # of an answer, at most
_FEATURES = 128 + 16 + 1  # bits of an id, the parity of each byte, and that of all bits

Table = npt.NDArray[np.float32]


@final
class Candidates:
    """Answers that a device might hold, as bits: a row for each; and sets of rows that are equally likely."""

    def __init__(self, codes: Integers, bits: Sequence[int], size: int) -> None:
        """The codes of all answers, a row per attribute; how many bits each has; rows of one set."""
        rows = zip(codes + 1, bits, strict=True)  # no answer is -1
        columns = [(row >> bit) & 1 for row, count in rows for bit in range(count)]
        table = np.array(columns, dtype=np.float32).reshape(len(columns), codes.shape[1] // size, size)
        means = table.mean(axis=2, keepdims=True)
        self.rows: Table = np.ascontiguousarray((table - means).reshape(len(columns), -1).T)
        differ = (table.max(axis=2) > table.min(axis=2)).astype(np.float32)
        self.differ: Table = np.ascontiguousarray(np.repeat(differ, size, axis=1).T)


@final
class IdBits:
    """Sums over the devices so far."""

    def __init__(self, names: Sequence[str], codes: Sequence[Integers]) -> None:
        """Names of attributes, and all tables of codes that candidates are made of."""
        most = [max((int(table[j].max()) for table in codes), default=0) for j in range(len(names))]
        self.bits = [min(_MOST_BITS, (value + 1).bit_length()) for value in most]
        self._names = [name for name, count in zip(names, self.bits, strict=True) for _ in range(count)]
        self._sums = np.zeros((2, _FEATURES, len(self._names)))
        self._devices = np.zeros((2, len(self._names)))
        self._left = _MOST

    def add(self, ids: Bytes, candidates: Candidates, rows: Integers) -> None:
        """The ids of one round, one after the other, and which answers their devices held."""
        ids, rows = ids[: self._left], rows[: self._left]
        self._left -= len(ids)
        if not len(ids):
            return
        features = _features(ids)
        for lag in (0, 1):
            held = rows[: len(rows) - lag]
            self._sums[lag] += features[lag:].T @ candidates.rows[held]
            self._devices[lag] += candidates.differ[held].sum(axis=0, dtype=np.float64)

    def fault(self) -> str | None:
        """What ids say of answers, in words; None if they say nothing."""
        if not self._sums.size:
            return None
        evidence = 2 * self._sums**2 / np.maximum(self._devices, 1)[:, None, :]
        lag, _, column = np.unravel_index(int(evidence.argmax()), evidence.shape)
        if evidence.max() < math.log(2 * evidence.size / _CERTAIN):
            return None
        whose = "of the device before" if lag else "of their own device"
        return (
            f"report ids depend on the answer to {self._names[column]!r} {whose}: an id must be 16 random "
            "bytes"
        )


def _features(ids: Bytes) -> Table:
    """The bits of ids and their parities, as -1 and 1."""
    bits = np.unpackbits(np.ascontiguousarray(ids), axis=1).reshape(len(ids), 16, 8)
    parities = bits.sum(axis=2, dtype=np.uint8) & 1
    whole = parities.sum(axis=1, keepdims=True, dtype=np.uint8) & 1
    return np.hstack([bits.reshape(len(ids), 128), parities, whole]).astype(np.float32) * 2 - 1
