"""Computes how likely a report supports two values at once, and so how far sums of shares may be off.

Where a mechanism treats all values alike, the sizes of its supports say it. Three families do not: the rows
of a Hadamard matrix combine by XOR, an affine hash sends neighbors to one bucket together, and a function of
a public pool all values of a line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers, list_blocks
from deniable.exact import PRIME
from deniable.randomness.pool import HashPool

_ENDS = 256  # cumulative sums that are computed where each is work of its own; others are interpolated
_CELLS = 1 << 22  # of such sums at once
_SUMMED = 1 << 20  # cells of tables that are summed at once
_TABLED = 1024  # up to here all triples of values fit in memory
_HASHES = 20_000_000  # where they do not, functions with so many hashes stand for the family
_PLANNED = 256  # up to here averages over the truth are exact, above they are off by a few in a hundred


class Pairs(ABC):
    """How a report supports values together, given the truth."""

    @abstractmethod
    def squares(self, weights: Floats) -> Floats:
        """The mean square of the sum of the weights that a report supports, for each true value.

        Of a table of weights, each row is answered by a row.
        """

    def mean_squares(self, table: Floats) -> Floats:
        """The mean square for each row of a table of weights, averaged over all true values."""
        return np.asarray(self.squares(table).mean(axis=-1))

    def joint(self, shares: Floats) -> Floats:
        """How likely a report of a person drawn from these shares supports each two values together."""
        k = shares.size
        first, other = np.triu_indices(k)
        joint, alone = np.empty((k, k)), self.squares(np.eye(k)) @ shares
        for block in np.array_split(np.arange(first.size), -(-first.size * k // _CELLS)):
            square_sums = self.squares(np.eye(k)[first[block]] + np.eye(k)[other[block]]) @ shares
            joint[first[block], other[block]] = (square_sums - alone[first[block]] - alone[other[block]]) / 2
        return np.asarray(np.triu(joint) + np.triu(joint, 1).T)

    def joint_sums(self, table: Floats, shares: Floats) -> Floats:
        """The mean products of each two weighted sums that a report supports, of a table's rows."""
        return np.asarray(table @ self.joint(shares) @ table.T)

    def joint_with_size(self, shares: Floats) -> Floats:
        """The mean of how many values a report supports where it supports a value, and of 0 where it does
        not, for each value. The report is of a person drawn from these shares.
        """
        k = shares.size
        products, overall = np.empty(k), float(self.squares(np.ones(k)) @ shares)
        for block in np.array_split(np.arange(k), -(-k * k // _CELLS)):
            alone = np.eye(k)[block]
            products[block] = (self.squares(1 + alone) @ shares - overall - self.squares(alone) @ shares) / 2
        return products

    @property
    def slopes(self) -> tuple[float, float]:
        """About how much likelier a pair gets with the share of one of its values, and with any other's."""
        return 0.0, 0.0

    def joint_if_pushed(self, k: int, q: float, gain: float) -> Floats:
        """What `joint` is of the shares that fakes for each two values seem to have: they support both, and
        the others as by chance.
        """
        pushed = np.zeros(k)
        pushed[:2] = (1 - q) / gain
        return np.full((k, k), self.joint(pushed)[0, 1])

    def cumulative_squares(self, shares: Floats) -> Floats:
        """The mean square of how many of the first m values a report supports, for every m below k.

        Where those are more than half, it is of the other values. It is for a person drawn from these shares.
        """
        k, first = shares.size, np.arange(shares.size)
        # with many values, some m are interpolated
        ends = np.unique(np.linspace(1, k - 1, min(_ENDS, k - 1)).astype(np.int64))
        squares = []
        for block in np.array_split(ends, -(-ends.size * k // _CELLS)):
            sides = (first < block[:, None]) == (2 * block <= k)[:, None]
            squares.append(self.squares(sides.astype(np.float64)) @ shares)
        return np.interp(np.arange(1, k), ends, np.concatenate(squares))


@final
@dataclass(frozen=True)
class Alike(Pairs):
    """All pairs are alike: `together` is their chance if one of them is the truth, `apart` if neither is."""

    p: float
    q: float
    together: float
    apart: float

    @staticmethod
    def of_sizes(k: int, p: float, q: float, sizes: Integers, inside: Floats, outside: Floats) -> Alike:
        """From the chances of every size, with the true value inside and outside."""
        s = sizes.astype(np.float64)
        together = float((inside * (s - 1)).sum()) / (k - 1)
        if k == 2:
            return Alike(p, q, together, 0.0)
        others = float((inside * (s - 1) * (s - 2)).sum()) + float((outside * s * (s - 1)).sum())
        return Alike(p, q, together, others / ((k - 1) * (k - 2)))

    @property
    def slopes(self) -> tuple[float, float]:
        return self.together - self.apart, 0.0

    def joint(self, shares: Floats) -> Floats:
        joint = self.apart + (self.together - self.apart) * (shares[:, None] + shares)
        np.fill_diagonal(joint, self.q + (self.p - self.q) * shares)
        return np.asarray(joint)

    def joint_with_size(self, shares: Floats) -> Floats:
        slope, k, total = self.together - self.apart, shares.size, float(shares.sum())
        alone = self.q + (self.p - self.q) * shares
        return np.asarray(alone + (k - 1) * self.apart + slope * ((k - 2) * shares + total))

    def joint_sums(self, table: Floats, shares: Floats) -> Floats:
        """Without a table of all pairs, of which there may be billions; of several shares, one by row."""
        slope, totals, reached = self.together - self.apart, table.sum(axis=1), shares @ table.T
        alone = self.q - self.apart + (self.p - self.q - 2 * slope) * shares
        mixed = slope * reached[..., :, None] * totals
        products = self.apart * np.outer(totals, totals) + mixed + mixed.swapaxes(-2, -1)
        return np.asarray(products + (table * alone[..., None, :]) @ table.T)

    def squares(self, weights: Floats) -> Floats:
        total, squared = weights.sum(axis=-1, keepdims=True), weights**2
        all_own = squared.sum(axis=-1, keepdims=True)
        nobody = self.q * all_own + self.apart * (total**2 - all_own)
        added = (self.p - self.q) * squared + (self.together - self.apart) * 2 * (weights * total - squared)
        return np.asarray(nobody + added)

    def mean_squares(self, table: Floats) -> Floats:
        squared, pairs = _sum_squares(table)
        nobody = self.q * squared + self.apart * pairs
        added = (self.p - self.q) * squared + 2 * (self.together - self.apart) * pairs
        return np.asarray(nobody + added / table.shape[-1])

    def cumulative_squares(self, shares: Floats) -> Floats:
        sizes, reached = nearer_sizes(shares.size), nearer_sums(shares)
        nobody = self.q * sizes + self.apart * sizes * (sizes - 1)
        added = (self.p - self.q) + (self.together - self.apart) * 2 * (sizes - 1)
        return np.asarray(nobody + added * reached)


@final
@dataclass(frozen=True)
class Walsh(Pairs):
    """Value v is supported by the columns that share an even number of bits with v + 1.

    The weights that a column supports are a Walsh transform of the weights, and one more transform gives
    their mean square for every true value.
    """

    bits: int
    p: float

    def squares(self, weights: Floats) -> Floats:
        means = walsh_transform(self._column_squares(weights)) / (1 << self.bits)
        return np.asarray(means[..., :1] + (2 * self.p - 1) * means[..., 1 : weights.shape[-1] + 1])

    def mean_squares(self, table: Floats) -> Floats:
        """With the transform of all true values at once, in place of one for each row."""
        k, columns = table.shape[-1], 1 << self.bits
        truths = np.zeros(columns)
        truths[1 : k + 1] = 1 / k
        return np.asarray(
            self._column_squares(table) @ (1 + (2 * self.p - 1) * walsh_transform(truths)) / columns
        )

    def _column_squares(self, weights: Floats) -> Floats:
        """The square of the sum of the weights that each column supports."""
        rows = np.zeros((*weights.shape[:-1], 1 << self.bits))
        rows[..., 1 : weights.shape[-1] + 1] = weights
        return np.asarray(((weights.sum(axis=-1, keepdims=True) + walsh_transform(rows)) / 2) ** 2)

    def joint_with_size(self, shares: Floats) -> Floats:
        """By the chance of each column times the number of values that it supports."""
        k, columns = shares.size, 1 << self.bits
        rows = np.zeros((2, columns))
        rows[0, 1 : k + 1], rows[1, 1 : k + 1] = shares, 1.0
        met, supported = walsh_transform(rows)
        products = (float(shares.sum()) + (2 * self.p - 1) * met) / columns * (k + supported) / 2
        reached = walsh_transform(products)
        return np.asarray((reached[0] + reached[1 : k + 1]) / 2)

    def joint(self, shares: Floats) -> Floats:
        """A pair is likelier with either of its values, and with the one whose row is the XOR of theirs."""
        rows = np.arange(1, shares.size + 1)
        by_row = np.zeros(1 << self.bits)
        by_row[rows] = shares
        related = shares[:, None] + shares + by_row[rows[:, None] ^ rows]
        joint = shares.sum() / 4 + (self.p / 2 - 1 / 4) * related
        np.fill_diagonal(joint, shares.sum() / 2 + (self.p - 1 / 2) * shares)
        return np.asarray(joint)


@final
@dataclass(frozen=True)
class Affine(Pairs):
    """A bucket of the hash ((a x + b) mod P) mod g, which is the true value's with probability p.

    Two values collide with probability `together`. Three do so as often as their distances say: see
    `collisions_of_three`.
    """

    g: int
    p: float
    together: float

    def squares(self, weights: Floats) -> Floats:
        if weights.ndim > 1:
            return np.array([self.squares(row) for row in weights])
        k = weights.size
        if k > _TABLED:
            sums = [_own_sums(buckets, weights) ** 2 for buckets in _sampled_buckets(k, self.g)]
            same = np.mean(sums, axis=0)
        else:
            same = np.array([weights @ self._triples_around(v, k) @ weights for v in range(k)])
        squared = float(weights @ weights)
        overall = squared + self.together * (float(weights.sum()) ** 2 - squared)
        return np.asarray(self._other * overall + (self.p - self._other) * same)

    def mean_squares(self, table: Floats) -> Floats:
        """Exact for few values. For many, what neighbors add comes from fewer, evenly chosen: it depends on
        ratios of distances, so that it grows as the number of values does.
        """
        k, (squared, pairs) = table.shape[-1], _sum_squares(table)
        sampled = table[:, np.arange(min(k, _PLANNED)) * k // min(k, _PLANNED)]
        added = ((sampled @ _neighbors_add(sampled.shape[-1], self.g, self.together)) * sampled).sum(axis=-1)
        # if others fell into a person's bucket independently
        with_person = squared + 2 * self.together * pairs
        with_others = self.together * (k - 1) * squared + self.together**2 * (k - 2) * pairs
        same = (with_person + with_others) / k + added * k / sampled.shape[-1]
        overall = squared + self.together * pairs
        return np.asarray(self._other * overall + (self.p - self._other) * same)

    def cumulative_squares(self, shares: Floats) -> Floats:
        sizes = nearer_sizes(shares.size)
        overall = sizes + self.together * sizes * (sizes - 1)
        # distances are the same from the other end
        up, down = self._own_squares(shares), self._own_squares(shares[::-1])[::-1]
        same = np.where(2 * np.arange(1, shares.size) <= shares.size, up, down)
        return np.asarray(self._other * overall + (self.p - self._other) * same)

    @property
    def slopes(self) -> tuple[float, float]:
        others = (self.p - self._other) * self.together**2
        return (self.p - self._other) * self.together - others, others

    def joint(self, shares: Floats) -> Floats:
        overall = np.where(np.eye(shares.size, dtype=bool), 1.0, self.together)
        return np.asarray(self._other * overall + (self.p - self._other) * self._mix(shares))

    def joint_with_size(self, shares: Floats) -> Floats:
        """By the sums of a bucket: of the shares, and of how many values it holds."""
        k, total = shares.size, float(shares.sum())
        if k > _TABLED:
            sampled = _sampled_buckets(k, self.g)
            sums = [_own_sums(buckets, shares) * _own_sums(buckets, np.ones(k)) for buckets in sampled]
            same = np.mean(sums, axis=0)
        else:
            same = self._mix(shares).sum(axis=1)
        overall = total * (1 + self.together * (k - 1))
        return np.asarray(self._other * overall + (self.p - self._other) * same)

    def joint_if_pushed(self, k: int, q: float, gain: float) -> Floats:
        """By chance means by a random function that sends both to one bucket, and others along with them."""
        joint = np.empty((k, k))
        for v in range(k):
            along = self._triples_around(v, k)
            added = (along / self.together - q) / gain
            added[:, v] = added[np.arange(k), np.arange(k)] = (1 - q) / gain
            joint[v] = self._other * self.together + (self.p - self._other) * (added * along).sum(axis=1)
        return joint

    def _mix(self, shares: Floats) -> Floats:
        """How likely each two values share the bucket of a person drawn from these shares."""
        k = shares.size
        # along a diagonal the triples depend on the distance from the person's value: a convolution
        moved = np.fft.rfft(shares, _padded(k)) * _transformed_lines(k, self.g, self.together)
        along = np.fft.irfft(moved, _padded(k))[:, k - 1 : 2 * k - 1]
        i, j = np.indices((k, k))
        return np.asarray(along[np.abs(i - j), np.minimum(i, j)])

    def _own_squares(self, shares: Floats) -> Floats:
        """The mean square of how many of the first values are in a person's bucket, for all but the last."""
        k = shares.size
        if k > _TABLED:
            steps = np.mean(
                [_prefix_steps(buckets, shares, self.g) for buckets in _sampled_buckets(k, self.g)], axis=0
            )
        else:
            mixed = self._mix(shares)
            steps = 2 * np.tril(mixed).sum(axis=1) - np.diagonal(mixed)
        return np.asarray(np.cumsum(steps)[:-1])

    @property
    def _other(self) -> float:
        return (1 - self.p) / (self.g - 1)

    def _triples_around(self, v: int, k: int) -> Floats:
        """How likely each two of k values share v's bucket."""
        around = slice(k - 1 - v, 2 * k - 1 - v)
        return collisions_of_three(k, self.g, self.together)[around, around]


@final
@dataclass(frozen=True)
class Mixed(Pairs):
    """The real pairs with probability `chance`, and otherwise a fake's, which no value changes."""

    real: Pairs
    chance: float
    fake_square: Callable[[Floats], Floats]

    def squares(self, weights: Floats) -> Floats:
        fake = self.fake_square(weights)[..., None]
        return self.chance * self.real.squares(weights) + (1 - self.chance) * fake

    def mean_squares(self, table: Floats) -> Floats:
        return self.chance * self.real.mean_squares(table) + (1 - self.chance) * self.fake_square(table)

    def joint_with_size(self, shares: Floats) -> Floats:
        k, real = shares.size, self.real.joint_with_size(shares)
        fake, overall = np.empty(k), self.fake_square(np.ones((1, k)))
        for block in np.array_split(np.arange(k), -(-k * k // _CELLS)):
            alone = np.eye(k)[block]
            fake[block] = (self.fake_square(1 + alone) - overall - self.fake_square(alone)) / 2
        return np.asarray(self.chance * real + (1 - self.chance) * fake * shares.sum())


@final
@dataclass(frozen=True, eq=False)
class Named(Pairs):
    """A report supports the one value that it names: `table` has how likely, by rows of true values."""

    table: Floats

    def squares(self, weights: Floats) -> Floats:
        return np.asarray(weights**2 @ self.table.T)


@lru_cache(maxsize=4)
def collisions_of_three(k: int, g: int, together: float) -> Floats:
    """How likely v + i and v + j fall into v's bucket, for i and j from 1 - k to k - 1.

    With a and b uniform modulo P, the three residues X, Y, Z are uniform under one condition: n1 X + n2 Y +
    n3 Z is a multiple of P, where n1, n2, n3 are the differences of the three values, without common factors.
    They share a bucket for one a in g, if the multiple is one of g. The multiple is a sum of independent
    uniform numbers as its density at whole numbers says, so that a sum over the multiples of g remains; by
    Poisson's formula it is 1 / g^2 - g / (3 n1 n2 n3) (B(n1 / g) + B(n2 / g) + B(n3 / g)), with the periodic
    Bernoulli polynomial B of degree three. The finite P moves it by less than k g / P.
    """
    steps = np.arange(1 - k, k, dtype=np.int64)
    triples = _collide(*np.meshgrid(steps, steps, indexing="ij"), g, together)
    triples.setflags(write=False)
    return triples


def _collide(i: Integers, j: Integers, g: int, together: float) -> Floats:
    common = np.maximum(np.gcd(i, j), 1)
    n = np.stack([j // common, (i - j) // common, -(i // common)])
    product = n.prod(axis=0).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        triples = 1 / g**2 - g / (3 * product) * _bernoulli(n % g / g).sum(axis=0)
    triples[product == 0] = together  # two of the three are the same value
    triples[(i == 0) & (j == 0)] = 1.0
    return np.asarray(triples)


@lru_cache(maxsize=4)
def _transformed_lines(k: int, g: int, together: float) -> npt.NDArray[np.complex128]:
    """The transforms of the diagonals of `collisions_of_three`, the main one first, then those beside it."""
    first, other = (side.ravel() for side in np.indices((k, k)))
    is_inside = first + other < k  # three values have two gaps between neighbors
    gaps = np.zeros((k, k))
    gaps[first[is_inside], other[is_inside]] = _collide(
        first[is_inside], first[is_inside] + other[is_inside], g, together
    )
    lines = np.zeros((k, 2 * k - 1))
    for beside in range(k):
        last, end = k - 1 - beside, 2 * k - 1 - beside
        outside = gaps[: k - beside, beside]
        lines[beside, :last] = outside[:0:-1]
        lines[beside, last : last + beside + 1] = gaps[np.arange(beside + 1), beside - np.arange(beside + 1)]
        lines[beside, end - last : end] = outside[1:]
    return np.asarray(np.fft.rfft(lines, _padded(k)))


def _padded(k: int) -> int:
    """A power of two: transforms of so many points are fast, and leave what is read apart from what wraps."""
    return 1 << (2 * k - 2).bit_length()


@lru_cache(maxsize=32)
def _neighbors_add(k: int, g: int, together: float) -> Floats:
    """How much likelier each two values share the bucket of a person with any value than independent ones."""
    ideal = np.full((k, k), ((k - 2) * together**2 + 2 * together) / k)
    np.fill_diagonal(ideal, (1 + (k - 1) * together) / k)
    return np.asarray(Affine(g, 1.0, together)._mix(np.full(k, 1 / k)) - ideal)


def _bernoulli(x: Floats) -> Floats:
    """The Bernoulli polynomial of degree three."""
    return x * (x - 0.5) * (x - 1)


def _sampled_buckets(k: int, g: int) -> Integers:
    """The buckets of all values under functions that are evenly spread over the family, one row each."""
    functions = np.arange(1, max(64, _HASHES // k) + 1)
    # the two-dimensional golden ratio: no two of its multiples are near each other
    steps = 0.7548776662466927, 0.5698402909980532
    a, b = (1 + (functions * step % 1.0 * (PRIME - 1)).astype(np.int64) for step in steps)
    return np.asarray((a[:, None] * np.arange(1, k + 1) + b[:, None]) % PRIME % g)


def _own_sums(buckets: Integers, weights: Floats) -> Floats:
    """The sum of the weights in each value's bucket."""
    return np.asarray(np.bincount(buckets, weights)[buckets])


def _prefix_steps(buckets: Integers, shares: Floats, g: int) -> Floats:
    """What each next value adds to the mean square of how many of the first are in a person's bucket."""
    order = np.argsort(buckets, kind="stable")
    starts = np.searchsorted(buckets[order], np.arange(g))
    before = np.empty(buckets.size)
    before[order] = np.arange(buckets.size) - starts[buckets[order]]
    return np.asarray(_own_sums(buckets, shares) * (2 * before + 1))


def sum_errors(pairs: Pairs, q: Floats, gain: float, table: Floats) -> Floats:
    """The variances of weighted sums of shares, from one report of somebody with any value, by rows."""
    blind, total = table @ np.broadcast_to(q, table.shape[-1]), table.sum(axis=-1)
    squared = np.einsum("ij,ij->i", table, table)
    supported = blind**2 + (2 * blind * gain * total + gain**2 * squared) / table.shape[-1]
    return np.asarray((pairs.mean_squares(table) - supported) / gain**2)


def _sum_squares(table: Floats) -> tuple[Floats, Floats]:
    """The sum of the squared weights of each row, and of the products of each two of them."""
    squared = np.einsum("ij,ij->i", table, table)
    return squared, np.asarray(table.sum(axis=-1) ** 2 - squared)


def nearer_sizes(k: int) -> Floats:
    """How many of k values are up to each end, or beyond it where those are fewer."""
    sizes = np.arange(1.0, k)
    return np.asarray(np.minimum(sizes, k - sizes))


def nearer_sums(shares: Floats) -> Floats:
    """The sums of shares up to each end, or beyond it where those are fewer: fewer err less."""
    up, down = np.cumsum(shares)[:-1], np.cumsum(shares[::-1])[-2::-1]
    return np.where(2 * np.arange(1, shares.size) <= shares.size, up, down)


def walsh_transform(cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Sum of cells[y] * (-1)^(common bits of x and y), for every x; of a table, row by row."""
    result, span = cells, 1
    while span < cells.shape[-1]:
        pairs = result.reshape(-1, 2, span)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
        span *= 2
    return np.asarray(result.reshape(cells.shape))


@final
@dataclass(frozen=True)
class Lines(Pairs):
    """A bucket of a function of the pool, which is the true value's with probability p.

    Any two values share a bucket equally often. A third one shares it as often if it is on the line of the
    two, and otherwise less.
    """

    pool: HashPool
    p: float

    def squares(self, weights: Floats) -> Floats:
        sums = self.pool.sum_buckets(np.asarray(weights, dtype=np.float64)) ** 2
        overall = sums.sum(axis=(-2, -1))[..., None]
        same = self.pool.sum_support(sums)
        return np.asarray((self._other * overall + (self.p - self._other) * same) / self.pool.size)

    def mean_squares(self, table: Floats) -> Floats:
        """By how many values each bucket holds, without a sum for every true value."""
        k = self.pool.k
        chances = self._other + (self.p - self._other) * self.pool.sum_buckets(np.ones(k)) / k
        sums_found = np.empty(len(table))
        for block in list_blocks(len(table), _SUMMED // self.pool.cells):
            sums = self.pool.sum_buckets(np.asarray(table[block], dtype=np.float64)) ** 2
            sums_found[block] = (sums * chances).sum(axis=(1, 2))
        return sums_found / self.pool.size

    @property
    def slopes(self) -> tuple[float, float]:
        others = (self.p - self._other) * self._three
        return (self.p - self._other) * self._two - others, others

    def joint(self, shares: Floats) -> Floats:
        total = float(shares.sum())
        same = self._three * total + (self._two - self._three) * self._sum_lines(shares)
        np.fill_diagonal(same, self._two * total + (1 - self._two) * shares)
        overall = np.where(np.eye(shares.size, dtype=bool), 1.0, self._two)
        return np.asarray(self._other * overall + (self.p - self._other) * same)

    def joint_with_size(self, shares: Floats) -> Floats:
        """By the sums of a bucket: of the shares, and of how many values it holds."""
        reached, sizes = self.pool.sum_buckets(np.stack([shares, np.ones(shares.size)]))
        chances = self._other * float(shares.sum()) + (self.p - self._other) * reached
        return np.asarray(self.pool.sum_support(chances * sizes) / self.pool.size)

    def joint_if_pushed(self, k: int, q: float, gain: float) -> Floats:
        """By chance means by a function that sends both to one bucket, and all on their line along."""
        along = self._sum_lines(np.ones(k))
        line = along * (1 - q) / gain * self._two
        rest = (k - along) * (self._three / self._two - q) / gain * self._three
        return np.asarray(self._other * self._two + (self.p - self._other) * (line + rest))

    @property
    def _other(self) -> float:
        return (1 - self.p) / (self.pool.g - 1)

    @property
    def _two(self) -> float:
        return float(self.pool.collision)

    @property
    def _three(self) -> float:
        return float(self.pool.collision_of_three)

    def _sum_lines(self, shares: Floats) -> Floats:
        """The sum of the shares on the line of each two values, these among them."""
        k, g = shares.size, self.pool.g
        padded = np.zeros(g**self.pool.digits)
        padded[:k] = shares
        digits = np.arange(k)[:, None] // g ** np.arange(self.pool.digits) % g
        sums_found = shares[:, None] + shares
        for step in range(2, g):  # from one value by 0 and 1 steps one comes to the two themselves
            at = np.zeros((k, k), dtype=np.int64)
            for place, digit in enumerate(digits.T):
                at += (digit[:, None] * (1 - step) + digit * step) % g * g**place
            sums_found += padded[at]
        return np.asarray(sums_found)
