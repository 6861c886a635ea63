"""Tests that reports are independent: of an earlier start, of other devices, and their ids of answers.

Nothing may come twice: neither a report id nor, from two fresh starts, the same sequence of reports. Ids may
not depend on answers, of their own device or of the device before. Who holds which answer is drawn by the
audit, whatever the ids are. So the sum of f (a - m) over the devices, with f a number from -1 to 1 that an id
alone gives, a a bit of the answer and m the mean of that bit over the answers that the device might have
held, has mean 0, and Hoeffding's inequality bounds how large it gets by chance. Every f that is looked at is
counted. One f more is learned, from other devices than it is tested on. Devices are independent, so a report
says nothing of the device before it: half of the guesses at that are right. And devices that answer alike
send the same report as often next to each other as far apart.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import md5, sha256
from itertools import combinations
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.audit.bound import lower_epsilon
from deniable.audit.guessers import Chooser, make_guessers
from deniable.audit.observations import FIRST, HEADER, SECOND, Bytes, Observations, cut, join

_CERTAIN = 1e-9  # chance of a false alarm; of ids, half for listed functions and half for learned ones
_MOST_WITH_ID = 1 << 17  # devices whose ids are looked at
_MOST_TAUGHT = 1 << 16  # devices that a function is learned from, chosen by and tested on
_MOST_BITS = 16  # of an answer, at most
_AT_ONCE = 1 << 14  # devices whose numbers are in memory at once
_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23)  # whose residues are looked at, each by itself
_LEARNED_PRIMES = tuple(n for n in range(29, 256) if all(n % p for p in (2, 3, 5, 7, 11, 13)))
_DIGESTS = (md5, sha256)
_MOST_COLUMNS = 64  # bits of answers that a function is learned for
_MOST_LEARNED = 3000  # functions of ids times bits of answers that are learned, at most
_MOST_IN_ORDER = 1 << 15  # devices whose order is looked at, or a few more
_FEWEST_OF_BLOCK = 64
_MOST_BYTES = 1 << 25  # of their reports

Table = npt.NDArray[np.float32]


@final
class Ids:
    """Report ids so far."""

    def __init__(self) -> None:
        self._seen: list[np.ndarray[tuple[int, int], np.dtype[np.uint64]]] = []

    def add(self, ids: Bytes) -> None:
        """The ids of a block, several rounds side by side."""
        if ids.size:
            self._seen.append(np.ascontiguousarray(ids).reshape(-1, 16).view(np.uint64))

    def repeated(self) -> int:
        """How many came again, in all of their 128 bits."""
        if not self._seen:
            return 0
        ids = np.concatenate(self._seen)
        ids = ids[np.lexsort((ids[:, 0], ids[:, 1]))]
        return int((ids[1:] == ids[:-1]).all(axis=1).sum())


def find_repetition(earlier: Sequence[bytes], later: Sequence[bytes], headed: bool) -> str | None:
    """What is wrong with the reports of two fresh starts, in words; None if nothing is.

    Independent reports of the same answer may come in any order: that both starts gave the very same sequence
    has a chance of one in the number of its different orders.
    """
    start = HEADER if headed else 0
    first, second = ([report[start:] for report in reports] for reports in (earlier, later))
    ids = [report[HEADER - 16 : HEADER] for report in (*earlier, *later)] if headed else []
    if len(set(ids)) < len(ids):
        return (
            "report ids come again: an observer of two reports knows that one source made them, and it is "
            "not random"
        )
    if first != second:
        return None
    orders = math.lgamma(len(first) + 1) - sum(math.lgamma(count + 1) for count in Counter(first).values())
    if orders < -math.log(_CERTAIN):
        return None
    return (
        f"from the same start it sent the same {len(first)} reports twice: its randomness is seeded or kept "
        "in its memory, not the operating system's, and anyone who has it can undo it"
    )


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
    """Sums over the devices so far, and the ids that a function is learned from."""

    def __init__(self, names: Sequence[str], codes: Sequence[Integers]) -> None:
        """Names of attributes, and all tables of codes that candidates are made of."""
        most = [max((int(table[j].max()) for table in codes), default=0) for j in range(len(names))]
        self.bits = [min(_MOST_BITS, (value + 1).bit_length()) for value in most]
        self._names = [name for name, count in zip(names, self.bits, strict=True) for _ in range(count)]
        features = _list_features(np.zeros((1, 16), dtype=np.uint8)).shape[1]
        self._sums = np.zeros((2, features, len(self._names)))
        self._devices = np.zeros((2, len(self._names)))
        self._left = _MOST_WITH_ID
        self._ids: list[Bytes] = []
        self._answers: list[Table] = []
        self._differ: list[Table] = []

    def add(self, ids: Bytes, candidates: Candidates, rows: Integers) -> None:
        """The ids of one round, one after the other, and which answers their devices held."""
        ids, rows = ids[: self._left], rows[: self._left]
        self._left -= len(ids)
        if not len(ids):
            return
        self._ids.append(np.array(ids))
        self._answers.append(candidates.rows[rows, :_MOST_COLUMNS])
        self._differ.append(candidates.differ[rows, :_MOST_COLUMNS])
        for start in range(0, len(ids), _AT_ONCE):
            features = _list_features(ids[start : start + _AT_ONCE])
            for lag in (0, 1):
                first = max(0, start - lag)  # the device before the first of a block is of the block before
                sent_rows = rows[first : start + len(features) - lag]
                self._sums[lag] += features[len(features) - len(sent_rows) :].T @ candidates.rows[sent_rows]
                self._devices[lag] += candidates.differ[sent_rows].sum(axis=0, dtype=np.float64)

    def fault(self) -> str | None:
        """What ids say of answers, in words; None if they say nothing."""
        if not self._sums.size or not self._ids:
            return None
        evidence = 2 * self._sums**2 / np.maximum(self._devices, 1)[:, None, :]
        lag, _, column = np.unravel_index(int(evidence.argmax()), evidence.shape)
        if evidence.max() >= math.log(2 * evidence.size / (_CERTAIN / 2)):
            return self._explain(int(column), "of the device before" if lag else "of their own device")
        learned = self._test_learned()
        return None if learned is None else self._explain(learned, "of their own device")

    def _explain(self, column: int, whose: str) -> str:
        return (
            f"report ids depend on the answer to {self._names[column]!r} {whose}: an id must be 16 random "
            "bytes"
        )

    def _test_learned(self) -> int | None:
        """The bit of an answer that a learned function of ids tells; None if none does.

        A third of the devices teaches for each function the sign of every value that it has; the next third
        chooses the function that tells each bit best; the last third tests that one.
        """
        ids = np.concatenate(self._ids)
        order = np.random.default_rng(0).permutation(len(ids))  # pairs of answers come in turn
        order = order[:_MOST_TAUGHT]
        ids, n = ids[order], len(order)
        answers = np.ascontiguousarray(np.concatenate(self._answers)[order].T, dtype=np.float64)
        differ = np.concatenate(self._differ)[order].T
        learn, choose, test = slice(n // 3), slice(n // 3, 2 * n // 3), slice(2 * n // 3, n)
        best = [_Learned(0.0, np.zeros(256), np.zeros(0, dtype=np.uint8))] * len(answers)
        for function in _list_functions(ids, max(1, _MOST_LEARNED // len(answers))):
            for column, sent in enumerate(answers):
                signs = np.sign(np.bincount(function[learn], sent[learn], minlength=256))
                agreement = float(signs @ np.bincount(function[choose], sent[choose], minlength=256))
                if agreement > best[column].agreement:
                    best[column] = _Learned(agreement, signs, function[test])
        for column, learned in enumerate(best):
            if learned.agreement:
                total = float(learned.signs[learned.values] @ answers[column, test])
                devices = max(1.0, float(differ[column, test].sum(dtype=np.float64)))
                if total > 0 and 2 * total**2 / devices >= math.log(len(answers) / (_CERTAIN / 2)):
                    return column
        return None


class _Learned(NamedTuple):
    """A function of ids, and how far its signs agree with answers; its values for the devices of the test."""

    agreement: float
    signs: Floats
    values: Bytes


def _list_features(ids: Bytes) -> Table:
    """Numbers from -1 to 1 that ids give: bits and their parities, bits of sums and hashes, and whether a
    residue by a small prime is the one or the other.
    """
    bits = np.unpackbits(np.ascontiguousarray(ids), axis=1).reshape(len(ids), 16, 8)
    parities = bits.sum(axis=2, dtype=np.uint8) & 1
    parity = parities.sum(axis=1, keepdims=True, dtype=np.uint8) & 1
    mixed = np.unpackbits(_mix_bytes(ids), axis=1)
    residues = _find_residues(ids, _PRIMES)
    sizes = np.repeat(_PRIMES, 2)
    indicators = [residues[:, [i]] == np.arange(size) for i, size in enumerate(sizes)]
    features = np.hstack([bits.reshape(len(ids), 128), parities, parity, mixed, *indicators])
    return features.astype(np.float32) * 2 - 1


def _list_functions(ids: Bytes, most: int) -> Iterator[Bytes]:
    """Numbers below 256 that ids give: sums, hashes, bytes, residues, and two bytes joined; up to `most`."""
    tables = [_mix_bytes(ids), ids, _find_residues(ids, _PRIMES), _find_residues(ids, _LEARNED_PRIMES)]
    for table in tables:
        for column in np.ascontiguousarray(table.T)[: max(0, most)]:
            most -= 1
            yield column
    neighbors_first = sorted(combinations(range(16), 2), key=lambda couple: couple[1] - couple[0])
    for first, second in neighbors_first[: max(0, most // 2)]:
        yield ids[:, first] ^ ids[:, second]
        yield ids[:, first] + ids[:, second]


def _mix_bytes(ids: Bytes) -> Bytes:
    """The sum and the exclusive or of all bytes, and the first bytes of hashes."""
    raw = np.ascontiguousarray(ids).tobytes()
    raw_ids = [raw[start : start + 16] for start in range(0, len(raw), 16)]
    sums = b"".join(zlib.crc32(raw_id).to_bytes(4, "big") for raw_id in raw_ids)
    digests = b"".join(
        make(raw_id, usedforsecurity=False).digest()[:1] for raw_id in raw_ids for make in _DIGESTS
    )
    hashes = [np.frombuffer(row, dtype=np.uint8).reshape(len(ids), -1) for row in (sums, digests)]
    return np.column_stack([ids.sum(axis=1, dtype=np.uint8), np.bitwise_xor.reduce(ids, axis=1), *hashes])


def _find_residues(ids: Bytes, primes: Sequence[int]) -> Bytes:
    """What remains of ids as whole numbers, the first byte first and last, by each prime."""
    powers = [[pow(256, place, prime) for place in range(16)] for prime in primes]
    both_ways = [row for row_powers in powers for row in (row_powers, row_powers[::-1])]
    weights = np.array(both_ways, dtype=np.float32)
    sums = (weights @ ids.T.astype(np.float32)).astype(np.int32)  # below 2^24, so exact
    rows = [row % prime for row, prime in zip(sums, np.repeat(primes, 2).tolist(), strict=True)]
    return np.array(rows, dtype=np.uint8).T


@final
class DeviceOrder:
    """Devices in the order in which they were asked: some at the start of each block, so that they are from
    all of the time that an audit takes.
    """

    def __init__(self, pairs: int, planned: bool, width: int, devices: int) -> None:
        """How many pairs there are, bytes of a device's reports, and devices in all."""
        self._pairs, self._planned, self._devices = pairs, planned, devices
        self._most = min(_MOST_IN_ORDER, _MOST_BYTES // max(1, width))
        self._reports: list[tuple[Integers, Bytes]] = []
        self._before: list[Observations] = []

    def part_of(self, block: int) -> int:
        """How many devices of a block with so many are looked at."""
        return min(block, max(_FEWEST_OF_BLOCK, -(-block * self._most // max(1, self._devices))))

    def add(self, seen: Observations, before: Observations) -> None:
        """The next devices, and the same reports held against the device before each."""
        self._reports.append((2 * seen.pair + seen.second, seen.bodies))
        self._before.append(before)

    def faults(self) -> list[str]:
        """What is wrong, in words."""
        return [fault for fault in (self._same_nearby(), self._answer_before()) if fault is not None]

    def _same_nearby(self) -> str | None:
        """Whether devices that answer alike send the same more often one after the other than far apart."""
        if not self._reports:
            return None
        sides = np.concatenate([side for side, _ in self._reports])
        bodies = np.concatenate([body for _, body in self._reports])
        adjacent = far = total = 0
        order = np.argsort(sides, kind="stable")
        for who in np.split(order, np.flatnonzero(np.diff(sides[order])) + 1):
            count = len(who) // 4
            if not count:
                continue
            four = who[: 4 * count].reshape(-1, 4)
            adjacent += int((bodies[four[:, 0]] == bodies[four[:, 1]]).all(axis=1).sum())
            other = np.roll(four[:, 3], -(count // 2))
            far += int((bodies[four[:, 2]] == bodies[other]).all(axis=1).sum())
            total += count
        if adjacent <= far or (adjacent - far) ** 2 / (2 * (adjacent + far)) < -math.log(
            _CERTAIN
        ):  # Hoeffding's
            return None
        return (
            f"devices that answer alike send the same report next to each other in {adjacent:,} of {total:,} "
            f"cases, and far apart in {far:,}: they share their noise, as by a seed from the clock"
        )

    def _answer_before(self) -> str | None:
        """Whether a report says what the device before answered."""
        if not self._before or not sum(len(seen.pair) for seen in self._before):
            return None
        joined = join(self._before)
        ends = [len(joined.pair) // 4, len(joined.pair) // 2, len(joined.pair)]
        learn, choose, rest = (cut(joined, low, high) for low, high in zip([0, *ends], ends, strict=False))
        views = make_guessers(self._pairs, self._planned)
        for view in views:
            view.learn(learn)
        chooser = Chooser(views, [_CERTAIN])
        chooser.add(choose, np.zeros(len(choose.pair), dtype=np.int64))
        ((view, least),) = chooser.chosen()
        votes = (joined.support == FIRST).sum(axis=1) - (joined.support == SECOND).sum(axis=1, dtype=np.int64)
        bounds = []
        for scores, threshold, second in ((view.scores(rest), least, rest.second), (votes, 1, joined.second)):
            guessed = np.abs(scores) >= threshold
            right = guessed & ((scores < 0) == second)
            bounds.append(float(lower_epsilon(int(right.sum()), int(guessed.sum()), _CERTAIN / 2)))
        if max(bounds) <= 0:
            return None
        return (
            f"a report says what the device before it answered: epsilon is at least {max(bounds):.4f}, where "
            "nothing may be said of another device"
        )
