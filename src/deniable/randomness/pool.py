"""Hashes values by a public pool of functions in which any two values collide equally often.

The digits of a value in base g, a prime, are a vector of residues. A function is a sum of multiples of the
digits, modulo g, and its last multiple that is not 0 is 1: others would part the values no differently. Two
different values differ in a vector that is not 0, and equally many functions send any such vector to 0. So
any two values share a bucket under equally many functions: a count of support has exact chances, and no table
of collisions is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers

_AT_ONCE = 1 << 20  # functions times values whose buckets are computed at once
_FEW = 1 << 14  # functions times values whose buckets are kept


@final
@dataclass(frozen=True)
class HashPool:
    """The functions that hash k values into g buckets, where g is prime.

    >>> pool = HashPool(k=9, g=3)
    >>> pool.size  # functions, for values of two digits
    4
    >>> pool.buckets(np.arange(4)[:, None], np.arange(9))
    array([[0, 1, 2, 0, 1, 2, 0, 1, 2],
           [0, 0, 0, 1, 1, 1, 2, 2, 2],
           [0, 1, 2, 1, 2, 0, 2, 0, 1],
           [0, 2, 1, 1, 0, 2, 2, 1, 0]])
    """

    k: int
    g: int

    @cached_property
    def digits(self) -> int:
        """How many digits a value has in base g; two at least, so that there are several functions."""
        digits = 2
        while self.g**digits < self.k:
            digits += 1
        return digits

    @cached_property
    def size(self) -> int:
        """The number of functions."""
        return sum(self.g**digit for digit in range(self.digits))

    @property
    def cells(self) -> int:
        """The number of pairs of a function and a bucket."""
        return self.size * self.g

    @property
    def collision(self) -> Fraction:
        """How many of the functions send two different values to one bucket, as a share."""
        return Fraction((self.g ** (self.digits - 1) - 1) // (self.g - 1), self.size)

    @property
    def collision_of_three(self) -> Fraction:
        """How often three values collide that are not on one line; for three on a line it is `collision`."""
        return Fraction((self.g ** (self.digits - 2) - 1) // (self.g - 1), self.size)

    def buckets(self, functions: npt.ArrayLike, values: npt.ArrayLike) -> Integers:
        """The bucket of each value under each function; the arrays are broadcast against each other."""
        rest, left = np.asarray(functions, dtype=np.int64), np.asarray(values, dtype=np.int64)
        # functions come by their number of digits: first those of none before the last, which is 1
        before = np.searchsorted(self._starts, rest, side="right") - 1
        rest = rest - self._starts[before]
        total = np.zeros(np.broadcast_shapes(rest.shape, left.shape), dtype=np.int64)
        for digit in range(self.digits):
            multiple = np.where(before == digit, 1, rest % self.g)  # above the last digit, rest is 0
            total += multiple * (left % self.g)
            rest, left = rest // self.g, left // self.g
        return np.asarray(total % self.g)

    def lines_through(self, value: int) -> Integers:
        """On which line through a value each value is, as a number; the value itself has 0.

        Two values and those on their line are sent to one bucket by the same functions.
        """
        last, lines = np.zeros(self.k, dtype=np.int64), np.zeros(self.k, dtype=np.int64)
        steps = [(row - row[value]) % self.g for row in self._digit_rows]
        for step in steps:
            last = np.where(step > 0, step, last)
        inverses = self._inverses[last]
        for digit, step in enumerate(steps):
            lines += step * inverses % self.g * self.g**digit
        return lines

    @cached_property
    def _digit_rows(self) -> Integers:
        """The digits of all values, a row for each digit."""
        return np.asarray(np.arange(self.k) // self.g ** np.arange(self.digits)[:, None] % self.g)

    @cached_property
    def _inverses(self) -> Integers:
        """What each residue is multiplied by to become 1; 0 for 0."""
        return np.array([0, *(pow(step, -1, self.g) for step in range(1, self.g))])

    def count_sizes(self) -> tuple[Integers, Integers]:
        """How many values a bucket can hold, and how many of all functions' buckets hold so many.

        Only the lowest digit with a multiple that is not 0 matters: along it, values go round all buckets.
        """
        counts: dict[int, int] = {}
        for digit in range(self.digits):
            step = self.g**digit  # values that are alike in this digit and those above
            functions = self.g ** (self.digits - 1 - digit)
            rounds, left = divmod(self.k, step * self.g)
            filled, more = divmod(left, step)
            for extra, buckets in ((step, filled), (more, 1), (0, self.g - filled - 1)):
                size = rounds * step + extra
                counts[size] = counts.get(size, 0) + functions * buckets
        sizes = sorted(size for size, buckets in counts.items() if buckets)
        return np.array(sizes), np.array([counts[size] for size in sizes])

    def sum_buckets(self, weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The sum of the weights of the values in each bucket, as a table of functions by buckets.

        Of a table of weights, each row is answered by a table.
        """
        rows = weights.reshape(-1, self.k)
        sums = np.empty((len(rows), self.size, self.g), dtype=weights.dtype)
        for functions, hashed in self._blocks:
            if hashed:
                for part in self._split(functions):
                    sums[:, part] = self._sum_directly(rows, part)
            else:
                sums[:, functions] = self._turn(self._fold(rows, functions.stop - functions.start), -1)
        return sums.reshape(*weights.shape[:-1], self.size, self.g)

    def sum_support(self, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The sum, over all functions, of the cell of each value's bucket; of several tables, one by one."""
        tables = cells.reshape(-1, self.size, self.g)
        if self.size * self.k <= _FEW:
            added = np.take_along_axis(tables, self._table, axis=2).sum(axis=1)
            return np.asarray(added.reshape(*cells.shape[:-2], self.k))
        sums = np.zeros((len(tables), self.k), dtype=cells.dtype)
        for functions, hashed in self._blocks:
            if hashed:
                for part in self._split(functions):
                    at = self.buckets(np.arange(part.start, part.stop)[:, None], np.arange(self.k))
                    for table, total in zip(tables, sums, strict=True):
                        total += np.take_along_axis(table[part], at, axis=1).sum(axis=0)
            else:
                # a function of a block leaves the digits above out: what it adds comes again and again
                added = self._turn(tables[:, functions], 1).swapaxes(1, 2).reshape(len(tables), -1)
                sums += np.tile(added, -(-self.k // added.shape[1]))[:, : self.k]
        return sums.reshape(*cells.shape[:-2], self.k)

    @cached_property
    def _table(self) -> Integers:
        """The buckets of all values under all functions."""
        return self.buckets(np.arange(self.size)[:, None], np.arange(self.k))[None]

    @cached_property
    def _starts(self) -> Integers:
        """The first function of every block."""
        return np.array([functions.start for functions, _ in self._blocks])

    @cached_property
    def _blocks(self) -> list[tuple[slice, bool]]:
        """The functions whose last multiple is that of each digit, and whether to hash all values takes fewer
        steps than a transform of the block.
        """
        g = self.g
        starts = [(g**digit - 1) // (g - 1) for digit in range(self.digits + 1)]
        return [(slice(*starts[digit : digit + 2]), self.k < digit * g**2) for digit in range(self.digits)]

    def _split(self, functions: slice) -> Iterator[slice]:
        """Parts whose tables of buckets fit in memory."""
        step = max(1, _AT_ONCE // self.k)
        for low in range(functions.start, functions.stop, step):
            yield slice(low, min(low + step, functions.stop))

    def _sum_directly(self, rows: npt.NDArray[Any], functions: slice) -> Floats:
        """What `sum_buckets` is, of some functions."""
        many = functions.stop - functions.start
        cells = self.buckets(np.arange(functions.start, functions.stop)[:, None], np.arange(self.k))
        cells += np.arange(many)[:, None] * self.g
        size = many * self.g
        flat, weights = cells.ravel(), (np.broadcast_to(row, cells.shape).ravel() for row in rows)
        return np.array([np.bincount(flat, row, size).reshape(many, self.g) for row in weights])

    def _fold(self, rows: npt.NDArray[Any], functions: int) -> npt.NDArray[Any]:
        """The sums of weights whose digits agree up to a block's, the last of them on an axis of its own."""
        values = functions * self.g  # that these digits tell apart
        padded = np.zeros((len(rows), -(-self.k // values) * values), dtype=rows.dtype)
        padded[:, : self.k] = rows
        return np.asarray(padded.reshape(len(rows), -1, self.g, functions).sum(axis=1).swapaxes(1, 2))

    def _turn(self, table: npt.NDArray[Any], sign: int) -> npt.NDArray[Any]:
        """For every x, the sum over y of cell (y, c + sign * the sum of products of the digits of x and y).

        One digit after the other: steps are cells times g for each, in place of cells times their number.
        """
        g, (rows, size, _) = self.g, table.shape
        steps = np.arange(g)
        span = 1
        while span < size:
            turned = np.empty((rows, size // (span * g), g, span, g), dtype=table.dtype)
            parts = table.reshape(rows, -1, g, span, g).swapaxes(2, 3).reshape(rows, -1, span, g * g)
            for x in range(g):
                at = steps[:, None] * g + (steps + sign * x * steps[:, None]) % g
                turned[:, :, x] = parts[..., at].sum(axis=3)
            table = turned.reshape(rows, size, g)
            span *= g
        return table
