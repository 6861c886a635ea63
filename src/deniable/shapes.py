"""The set-valued shapes: what a report looks like, how words become one, how reports are counted.

A shape holds thresholds out of 2^64, nothing else; law, loss and error bars are computed from them. A protocol is a
choice of these numbers (protocols.py). Large batches go to compiled loops that give the same reports.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter, InvalidReport
from deniable.exact import PRIME, whole_number
from deniable.hashing import collision, hash_function, hash_values, occupied_buckets
from deniable.law import Integers, Law, checked_prior
from deniable.mechanism import Array, checked_k
from deniable.shape import BLOCK, Shape
from deniable.words import FULL, DrawnRows, Rows, SeededRows, System, SystemRows, WordArray, below, cell, chance

if TYPE_CHECKING:
    from deniable.kernels import Address


@final
@dataclass(frozen=True)
class Direct(Shape):
    """The report is a value: the true one with probability keep / 2^64, else one of the others."""

    k: int
    keep: int

    def __post_init__(self) -> None:
        _set(self, k=checked_k(self.k, 1 << 24, "direct"), keep=whole_number("keep", self.keep, 1, FULL - 1))
        _checked_keep(self.keep, self.k)

    words = 2

    @property
    def report_bytes(self) -> int:
        return _smallest(self.k).itemsize

    @property
    def ratio(self) -> Fraction:
        return keep_ratio(self.keep, self.k)

    @cached_property
    def law(self) -> Law:
        return replace(Law.fixed_size(self.k, 1, Fraction(self.keep, FULL)), ratio=self.ratio)

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(reports[:, None] == np.arange(self.k))

    def blank(self, n: int) -> Array:
        return np.empty(n, dtype=_smallest(self.k))

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        reports[:] = _keep_or_other(values.astype(np.uint64), words, self.k, self.keep)

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable import kernels

        kernels.direct(values, _address(rows), np.uint64(self.k), np.uint64(self.keep), reports)

    def _checked(self, reports: Array) -> None:
        if reports.size and reports.max() >= self.k:
            raise InvalidReport(f"{reports.max()} is not a value of this mechanism (0 to {self.k - 1})")

    def _count(self, reports: Array, compiled: bool) -> Integers:
        return np.bincount(reports, minlength=self.k)


@final
@dataclass(frozen=True)
class Unary(Shape):
    """The report is k bits, packed: the true value's is 1 with probability one / 2^64, each other's with zero / 2^64.

    The coins of 64 values fall together: word 64 g + l gives binary digit l (the first one first) of the numbers that
    are compared with the thresholds of values 64 g to 64 g + 63, one per bit position.
    """

    k: int
    one: int
    zero: int

    def __post_init__(self) -> None:
        _set(self, k=checked_k(self.k, 1 << 20, "unary"))
        _set(self, one=whole_number("one", self.one, 1, FULL - 1), zero=whole_number("zero", self.zero, 1, FULL - 1))
        if not self.zero < self.one:
            raise InvalidParameter(f"thresholds must have 0 < zero < one < 2^64, got {self.zero} and {self.one}")

    @property
    def words(self) -> int:
        return 64 * self._groups

    @property
    def report_bytes(self) -> int:
        return (self.k + 7) // 8

    @property
    def _groups(self) -> int:
        return (self.k + 63) // 64

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.one * (FULL - self.zero), self.zero * (FULL - self.one))

    @cached_property
    def law(self) -> Law:
        return Law.independent(self.k, Fraction(self.one, FULL), Fraction(self.zero, FULL))

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        return np.unpackbits(np.asarray(reports), axis=1, count=self.k, bitorder="little").astype(bool)

    def blank(self, n: int) -> Array:
        return np.empty((n, self.report_bytes), dtype=np.uint8)

    def encode_again(self, reports: Array, rows: Rows) -> Array:
        """A second round on the bits of a first one: each bit that is set counts as true."""
        whole = np.zeros((len(reports), 8 * self._groups), dtype=np.uint8)
        whole[:, : self.report_bytes] = reports
        unused = np.zeros((len(reports), 1), dtype=np.int64)
        return self.encode(np.hstack([unused, whole.view("<i8")]), rows)

    def _truth(self, values: Integers) -> WordArray:
        """The true bits of every 64 values: one of them, or none for a fake's -1; or those that are given."""
        if values.ndim == 2:
            return values[:, 1:].astype(np.uint64)
        truth = np.zeros((len(values), self._groups), dtype=np.uint64)
        has = np.flatnonzero(values >= 0)
        truth[has, values[has] >> 6] = np.uint64(1) << (values[has] & 63).astype(np.uint64)
        return truth

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        drawn = words.reshape(len(values), self._groups, 64)
        truth = self._truth(values)
        undecided = np.full(truth.shape, FULL - 1, dtype=np.uint64)
        result = np.zeros_like(truth)
        for level, (ones, zeros) in enumerate(zip(_digits(self.one), _digits(self.zero), strict=True)):
            digits = zeros ^ ((zeros ^ ones) & truth)
            word = drawn[:, :, level]
            result |= undecided & digits & ~word
            undecided &= ~(digits ^ word)
        last = np.uint64(FULL - 1 >> (64 * self._groups - self.k))
        result[:, -1] &= last
        reports[:] = result.astype("<u8").view(np.uint8)[:, : self.report_bytes]

    @property
    def _usual_words(self) -> int:
        return 10 * self._groups

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        """The same coins, each stopped as soon as it has fallen: about nine words for 64 of them instead of 64."""
        from deniable import kernels

        ones, zeros = _digits(self.one), _digits(self.zero)
        known = values if values.ndim == 2 else values[:, None]
        if isinstance(rows, SeededRows):
            kernels.unary_bits(known, self.k, ones, zeros, _address(rows), 0, reports)
        elif isinstance(rows, SystemRows):
            source = System()
            done, stream = 0, np.zeros(0, dtype=np.uint64)
            units = len(known) * self._groups
            while done < units:
                wanted = min(BLOCK, 10 * (units - done)) + kernels.RESERVE
                stream = np.concatenate([stream, source.take(max(0, wanted - stream.size))])
                where = _address(DrawnRows(stream[:, None]))
                done, used = kernels.unary_bits(known, self.k, ones, zeros, where, done, reports)
                stream = stream[used:]
        else:
            self._encode(values, rows.array(), reports)

    def _checked(self, reports: Array) -> None:
        unused = 8 * self.report_bytes - self.k
        if unused and (reports[:, -1] >> (8 - unused)).any():
            raise InvalidReport(f"a report sets bits beyond its {self.k} values")

    def _count(self, reports: Array, compiled: bool) -> Integers:
        # eight reports are a whole number of 64-bit columns, so any length counts at full width; wide rows count fastest
        at_once = 8 * max(1, 128 // self.report_bytes)
        whole = len(reports) // at_once * at_once if compiled else 0
        counts = np.unpackbits(reports[whole:], axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
        if whole:
            from deniable import kernels

            rows = reports[:whole].reshape(whole // at_once, -1).view(np.uint64)
            columns = np.zeros((rows.shape[1], 64), dtype=np.int64)
            kernels.count_bits(rows, columns)
            counts += columns.reshape(at_once, 8 * self.report_bytes).sum(axis=0)
        return np.asarray(counts[: self.k])


@final
@dataclass(frozen=True)
class Subset(Shape):
    """The report is a set of `size` values in ascending order: the true one is a member with probability keep / 2^64."""

    k: int
    size: int
    keep: int

    def __post_init__(self) -> None:
        _set(self, k=checked_k(self.k, 1 << 16, "subset"))
        _set(self, size=whole_number("size, the number of members of a subset,", self.size, 1, self.k - 1))
        _set(self, keep=whole_number("keep", self.keep, 1, FULL - 1))
        if self.keep * self.k <= FULL * self.size:
            raise InvalidParameter(f"keep must be above 2^64 * size / k and below 2^64, got {self.keep}")

    @property
    def words(self) -> int:
        return 1 + self.size

    @property
    def report_bytes(self) -> int:
        return self.size * _smallest(self.k).itemsize

    @property
    def ratio(self) -> Fraction:
        """Each of at most 2 size draws is off by at most (k - 1) / 2^64 of itself: a bound, a hair above the truth."""
        bias = Fraction(FULL, FULL - 2 * self.size * (self.k - 1))
        return Fraction(self.keep * (self.k - self.size), (FULL - self.keep) * self.size) * bias

    @cached_property
    def law(self) -> Law:
        return replace(Law.fixed_size(self.k, self.size, Fraction(self.keep, FULL)), ratio=self.ratio)

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        holds = np.zeros((len(reports), self.k), dtype=bool)
        np.put_along_axis(holds, np.asarray(reports).astype(np.int64), True, axis=1)
        return holds

    def blank(self, n: int) -> Array:
        return np.empty((n, self.size), dtype=_smallest(self.k))

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        if len(values) < 64:
            for i, (value, row) in enumerate(zip(values.tolist(), words.tolist(), strict=True)):
                reports[i] = self._sampled_one(value, row)
            return
        step = max(1, BLOCK // self.k)
        for start in range(0, len(values), step):
            block = slice(start, start + step)
            reports[block] = self._sampled(values[block], words[block])

    def _sampled_one(self, value: int, words: list[int]) -> list[int]:
        """The same for one report at a time, as a device makes them."""
        kept = words[0] < self.keep
        members = {value} if kept else set()
        wanted = self.size - kept
        for draw in range(wanted):
            last = self.k - 1 - wanted + draw
            drawn = words[1 + draw] * (last + 1) >> 64
            drawn += drawn >= value
            members.add(drawn if drawn not in members else last + (last >= value))
        return sorted(members)

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable import kernels

        numbers = np.uint64(self.k), np.uint64(self.size), np.uint64(self.keep)
        kernels.subset(values, _address(rows), *numbers, reports)

    def _sampled(self, values: Integers, words: WordArray) -> Array:
        """Floyd's sampling among the k - 1 others: every set is equally likely, one word a member."""
        rows = np.arange(len(values))
        kept = chance(words[:, 0], self.keep)
        wanted = self.size - kept.astype(np.int64)
        members = np.zeros((len(values), self.k), dtype=bool)
        members[rows, values] = kept
        for draw in range(self.size):
            active = draw < wanted
            last = np.where(active, self.k - 1 - wanted + draw, 0)
            drawn = below(words[:, 1 + draw], (last + 1).astype(np.uint64)).astype(np.int64)
            drawn += drawn >= values
            taken = members[rows, drawn]
            drawn = np.where(taken, last + (last >= values), drawn)
            members[rows[active], drawn[active]] = True
        return np.nonzero(members)[1].reshape(len(values), self.size)

    def _checked(self, reports: Array) -> None:
        if reports.size and reports.max() >= self.k:
            raise InvalidReport(f"{reports.max()} is not a value of this mechanism (0 to {self.k - 1})")
        if not (reports[:, 1:] > reports[:, :-1]).all():
            raise InvalidReport("the members of a subset must be in ascending order: any other order can show the truth")

    def _count(self, reports: Array, compiled: bool) -> Integers:
        return np.bincount(reports.reshape(-1), minlength=self.k)


@final
@dataclass(frozen=True)
class Hashed(Shape):
    """The report is a random hash function (a, b) and a bucket: the true value's with probability keep / 2^64.

    The function is drawn without looking at the value, so it costs no privacy; the loss is that of the bucket.
    """

    k: int
    g: int
    keep: int

    def __post_init__(self) -> None:
        _set(self, k=checked_k(self.k, PRIME - 1, "hashed"))
        _set(self, g=whole_number("g, the number of buckets,", self.g, 2, PRIME - 1))
        _set(self, keep=whole_number("keep", self.keep, 1, FULL - 1))
        _checked_keep(self.keep, self.g)

    words = 3

    @property
    def report_bytes(self) -> int:
        return 8 + _smallest(self.g).itemsize

    @property
    def ratio(self) -> Fraction:
        return keep_ratio(self.keep, self.g)

    @cached_property
    def law(self) -> Law:
        """Exact in p, q and ratio; its sizes are those of an ideal hash (see `success`)."""
        buckets = replace(Law.fixed_size(self.g, 1, Fraction(self.keep, FULL)), ratio=self.ratio)
        return buckets.hashed(self.k, collision(self.g))

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        """The best guess against this very hash family, whose buckets fill otherwise than an ideal hash's.

        With a prior, the ideal hash stands in.
        """
        if prior is not None:
            return self.law.success(prior)
        full = occupied_buckets(self.k, self.g)
        p = self.law.p
        return (full * p + (self.g - full) * (1 - p) / (self.g - 1)) / self.k

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(hash_values(reports["a"], reports["b"], self.k, self.g) == reports["bucket"][:, None])

    def blank(self, n: int) -> Array:
        return np.empty(n, dtype=[("a", "<u4"), ("b", "<u4"), ("bucket", _smallest(self.g))])

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        a, b = hash_function(words[:, 0])
        true = (a * (values.astype(np.uint64) + np.uint64(1)) + b) % np.uint64(PRIME) % np.uint64(self.g)
        reports["a"], reports["b"] = a, b
        reports["bucket"] = _keep_or_other(true, words[:, 1:], self.g, self.keep)

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable import kernels

        drawn = _address(rows)
        as_bytes = reports.view(np.uint8).reshape(values.size, self.report_bytes)
        kernels.hashed(values, drawn, np.uint32(self.g), np.uint64(self.keep), as_bytes)

    def _checked(self, reports: Array) -> None:
        a, b, bucket = reports["a"], reports["b"], reports["bucket"]
        if reports.size and (a.min() < 1 or a.max() >= PRIME or b.max() >= PRIME or bucket.max() >= self.g):
            raise InvalidReport(f"a hashed report has a from 1 to {PRIME - 1}, b below {PRIME} and a bucket below {self.g}")

    @property
    def _cells_per_report(self) -> int:
        return self.k

    def _count(self, reports: Array, compiled: bool) -> Integers:
        if not compiled:
            counts = np.zeros(self.k, dtype=np.int64)
            for row in np.array_split(reports, max(1, len(reports) * self.k // BLOCK)):
                counts += self.support(row).sum(axis=0)
            return counts
        from deniable import kernels

        twos = (self.g & -self.g).bit_length() - 1
        inverse = pow(self.g >> twos, -1, 1 << 32)
        counts = np.zeros(self.k, dtype=np.int64)
        limits = np.uint32(inverse), np.uint32(twos), np.uint32(PRIME // self.g)
        kernels.count_hashes(reports["a"], reports["b"], reports["bucket"], *limits, counts)
        return counts


@final
@dataclass(frozen=True)
class Hadamard(Shape):
    """The report is a column of a Hadamard matrix, uniform in the half that agrees with the value's row, or else not.

    Report y supports v where (v + 1) and y have an even number of common bits; any two rows share half their halves.
    """

    k: int
    keep: int

    def __post_init__(self) -> None:
        _set(self, k=checked_k(self.k, (1 << 20) - 1, "Hadamard"), keep=whole_number("keep", self.keep, 1, FULL - 1))
        _checked_keep(self.keep, 2)

    words = 2

    @property
    def bits(self) -> int:
        """The matrix has 2^bits columns, more than there are values."""
        return int(self.k).bit_length()

    @property
    def report_bytes(self) -> int:
        return _smallest(1 << self.bits).itemsize

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.keep, FULL - self.keep)

    @cached_property
    def law(self) -> Law:
        rows = np.zeros(1 << self.bits, dtype=np.int64)
        rows[1 : self.k + 1] = 1
        sizes, counts = np.unique((self.k + _hadamard_transform(rows)) // 2, return_counts=True)
        return Law.design(self.k, sizes, counts, Fraction(self.keep, FULL), Fraction(1, 2), self.ratio)

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        """With a prior: a column's best guess is the most common value that it supports, or else the most common of all."""
        if prior is None:
            return self.law.success()
        shares, p = checked_prior(prior, self.k), self.law.p
        order = np.argsort(-shares, kind="stable")
        best, left, total = shares[order[0]], np.arange(1 << self.bits, dtype=np.uint64), 0.0
        for rank, value in enumerate(order):
            supports = np.bitwise_count(left & np.uint64(value + 1)) % 2 == 0
            gain = p * shares[value] if rank == 0 else max(p * shares[value], (1 - p) * best)
            total += int(supports.sum()) * gain
            left = left[~supports]
            if left.size == 0:
                break
        return float(total + left.size * (1 - p) * best) / (1 << (self.bits - 1))

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        common = np.asarray(reports).astype(np.uint64)[:, None] & np.arange(1, self.k + 1, dtype=np.uint64)
        return np.asarray(np.bitwise_count(common) % 2 == 0)

    def blank(self, n: int) -> Array:
        return np.empty(n, dtype=_smallest(1 << self.bits))

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        row = values + 1
        column = (words[:, 1] >> np.uint64(64 - self.bits)).astype(np.int64)
        agrees = np.bitwise_count(column & row) % 2 == 0
        reports[:] = np.where(agrees == chance(words[:, 0], self.keep), column, column ^ (row & -row))

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable import kernels

        drawn = _address(rows)
        kernels.hadamard(values, drawn, np.uint64(self.bits), np.uint64(self.keep), reports)

    def _checked(self, reports: Array) -> None:
        if reports.size and reports.max() >= 1 << self.bits:
            raise InvalidReport(f"{reports.max()} is not a column of this mechanism (0 to {(1 << self.bits) - 1})")

    def _count(self, reports: Array, compiled: bool) -> Integers:
        return np.bincount(reports, minlength=1 << self.bits)

    def support_counts(self, columns: Integers, n: int) -> Integers:
        """How many of n reports support each value, from how many name each column."""
        return (n + _hadamard_transform(columns)[1 : self.k + 1]) // 2

    def _finish(self, cells: Integers, n: int) -> Integers:
        return self.support_counts(cells, n)


def _address(rows: Rows) -> Address:
    """Where a compiled loop finds its words."""
    from deniable.kernels import Address

    all_rows = np.zeros(0, dtype=np.int64)
    if isinstance(rows, SeededRows):
        key, gamma, position, stride = (np.uint64(number) for number in (rows.key, rows.gamma, rows.position, rows.stride))
        index, no_words = all_rows if rows.index is None else rows.index, np.zeros(0, dtype=np.uint64)
        return Address(key, gamma, position, stride, index, no_words)
    words = np.ascontiguousarray(rows.array()).reshape(-1)
    return Address(np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(rows.width), all_rows, words)


def _set(shape: Shape, **numbers: int) -> None:
    """Store checked numbers as Python's own integers, which do not overflow."""
    for name, number in numbers.items():
        object.__setattr__(shape, name, number)


def _keep_or_other(values: WordArray, words: WordArray, k: int, keep: int) -> WordArray:
    """The value itself, or one of the k - 1 others, from two words each."""
    other = below(words[:, 1], k - 1)
    other += other >= values
    return np.where(chance(words[:, 0], keep), values, other)


def keep_ratio(keep: int, k: int) -> Fraction:
    """A value is kept, or drawn by another from the rarest cell of `below`."""
    fewest, _ = cell(k - 1)
    return Fraction(keep * FULL, (FULL - keep) * fewest)


def _checked_keep(keep: int, k: int) -> None:
    _, most = cell(k - 1)
    if keep * FULL <= (FULL - keep) * most:
        raise InvalidParameter(f"keep must be above 2^64 / {k} and below 2^64, got {keep}")


def _smallest(k: int) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned integer that holds 0 to k - 1, little-endian."""
    return np.dtype(f"<u{next(size for size in (1, 2, 4) if k <= 1 << 8 * size)}")


@lru_cache(maxsize=4096)
def _digits(threshold: int) -> WordArray:
    """The 64 binary digits of a threshold, the first one first, each spread over all 64 bit positions."""
    return np.array([(FULL - 1) * (threshold >> (63 - level) & 1) for level in range(64)], dtype=np.uint64)


def _hadamard_transform(cells: Integers) -> Integers:
    """Sum of cells[y] * (-1)^(common bits of x and y), for every x."""
    result = cells.astype(np.int64)
    span = 1
    while span < result.size:
        pairs = result.reshape(-1, 2, span)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        span *= 2
    return result
