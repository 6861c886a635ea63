"""Multiplies by the matrix of outputs and values, back and forth, without making it where it has a form.

Row j holds how likely output j is for each of the k values, up to a factor of its own, which a likelihood
does not feel; `logs` keeps the factors' logarithms. All numbers are positive, so that all sums are accurate
(see certificate).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats
from deniable.errors import InvalidParameter, InvalidReport
from deniable.likelihood.certificate import gap_bound

_WORK = 1 << 22  # numbers made at a time


def shared(outputs: Floats, likely: Floats) -> Floats:
    """outputs / likely, and 0 where nothing was observed: a likelihood far from all people may underflow."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.divide(outputs, likely, out=np.zeros_like(likely), where=outputs > 0)


def normal(shares: Floats) -> Floats:
    """Scaled to a sum of one; what has no sum to scale is not a number then."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


class Rows(ABC):
    """The matrix of outputs by values, as products with it."""

    k: int
    size: int
    """How many outputs there are."""
    logs: Floats
    """The logarithm of the factor that each row was divided by."""

    @property
    def roundings(self) -> int:
        """How many roundings in a row a product back and forth takes at most."""
        return self.k + self.size

    @property
    def work(self) -> float:
        """The multiplications in a step of the interior point."""
        return float(self.size + self.k) * self.k * self.k

    @property
    def even(self) -> Floats:
        """All values alike."""
        return np.full(self.k, 1.0 / self.k)

    def normal(self, shares: Floats) -> Floats:
        """Shares scaled to what they add up to."""
        return normal(shares)

    def gap(self, ascent: Floats, shares: Floats) -> float:
        """How far the mean log-likelihood of these shares, scaled, can be from the best (see certificate)."""
        return gap_bound(ascent, float(shares.sum()), self.roundings)

    @abstractmethod
    def forward(self, shares: Floats) -> Floats:
        """How likely each output is if the values have these shares (in the last axis)."""

    @abstractmethod
    def backward(self, weights: Floats) -> Floats:
        """For each value, the sum over outputs of weight times likelihood."""

    @abstractmethod
    def gram(self, weights: Floats) -> Floats:
        """A' diag(weights) A."""


@final
class Dense(Rows):
    """A table."""

    def __init__(self, table: Floats) -> None:
        highest = table.max(axis=1)
        if not np.isfinite(table).all() or (table < 0).any() or (highest <= 0).any():
            raise InvalidReport(
                "an output was reported that no value can give; is this the channel of these reports?"
            )
        self.table = table / highest[:, None]
        self.size, self.k = table.shape
        self.logs = np.log(highest)

    def forward(self, shares: Floats) -> Floats:
        return np.asarray(shares @ self.table.T)

    def backward(self, weights: Floats) -> Floats:
        return np.asarray(weights @ self.table)

    def gram(self, weights: Floats) -> Floats:
        return np.asarray((self.table.T * weights) @ self.table)


@final
class Kept(Rows):
    """Direct encoding: an output is its value's with p, any other's with q."""

    def __init__(self, k: int, p: float, q: float) -> None:
        self.k = self.size = k
        self.p, self.q = p, q
        self.gain = p - q
        self.levels = self.gain + q * np.arange(1, k + 1)
        """How likely the reports of m values are together if all people have these values."""
        self.logs = np.zeros(k)

    def forward(self, shares: Floats) -> Floats:
        level: Floats | float = (
            np.add.reduce(shares) if shares.ndim == 1 else shares.sum(axis=-1, keepdims=True)
        )
        return np.asarray(self.gain * shares + self.q * level)

    def backward(self, weights: Floats) -> Floats:
        return self.forward(weights)

    def gram(self, weights: Floats) -> Floats:
        single = self.q * self.gain * weights
        gram = self.q**2 * weights.sum() + single[:, None] + single
        gram[np.diag_indices(self.k)] += self.gain**2 * weights
        return np.asarray(gram)


@final
class Supports(Rows):
    """Reports that support sets: 1 + sum over layers of factor * [v in the set], as packed bits."""

    def __init__(self, k: int, layers: Sequence[tuple[Array, float]]) -> None:
        self.k = k
        self.layers = layers
        self.size = int(layers[0][0].shape[1])
        self.logs = np.zeros(self.size)

    def forward(self, shares: Floats) -> Floats:
        from deniable.likelihood import loops

        likely = np.full(self.size, shares.sum())
        for bits, factor in self.layers:
            loops.add_supported(bits, factor * _sums_of_bytes(shares, bits.shape[0]), likely)
        return likely

    def backward(self, weights: Floats) -> Floats:
        from deniable.likelihood import loops

        total = np.full(self.k, weights.sum())
        for bits, factor in self.layers:
            sums = np.zeros((bits.shape[0], 256))
            loops.sum_supporting(bits, weights, sums)
            total += factor * (sums @ _BITS).reshape(-1)[: self.k]
        return total

    def table(self, span: slice) -> Floats:
        """A part of the matrix itself."""
        rows = np.ones((len(range(*span.indices(self.size))), self.k))
        for bits, factor in self.layers:
            rows += factor * np.unpackbits(bits[:, span], axis=0, count=self.k, bitorder="little").T
        return rows

    def columns(self, values: npt.NDArray[np.int64]) -> Floats:
        """Some values by all reports."""
        table = np.ones((values.size, self.size))
        for bits, factor in self.layers:
            table += factor * ((bits[values >> 3] >> (values & 7).astype(np.uint8)[:, None]) & 1)
        return table

    def gram(self, weights: Floats) -> Floats:
        gram = np.zeros((self.k, self.k))
        step = max(1, _WORK // self.k)
        for start in range(0, self.size, step):
            block = slice(start, start + step)
            rows = self.table(block)
            rows *= np.sqrt(weights[block])[:, None]
            gram += rows.T @ rows
        return gram


@final
class Stacked(Rows):
    """The outputs of several groups of people, who have the same shares."""

    def __init__(self, parts: Sequence[Rows]) -> None:
        if len({part.k for part in parts}) != 1:
            raise InvalidParameter(f"all groups must have the same values, got {[part.k for part in parts]}")
        self.k, self.size, self.parts = parts[0].k, sum(part.size for part in parts), parts
        self.logs = np.concatenate([part.logs for part in parts])

    @property
    def roundings(self) -> int:
        return self.k + self.size + max(part.roundings for part in self.parts)

    def _cut(self, weights: Floats) -> list[Floats]:
        return np.split(weights, np.cumsum([part.size for part in self.parts])[:-1], axis=-1)

    def forward(self, shares: Floats) -> Floats:
        return np.concatenate([part.forward(shares) for part in self.parts], axis=-1)

    def backward(self, weights: Floats) -> Floats:
        return np.asarray(
            sum(
                part.backward(weights_of_part)
                for part, weights_of_part in zip(self.parts, self._cut(weights), strict=True)
            )
        )

    def gram(self, weights: Floats) -> Floats:
        return np.asarray(
            sum(
                part.gram(weights_of_part)
                for part, weights_of_part in zip(self.parts, self._cut(weights), strict=True)
            )
        )


_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)


def _sums_of_bytes(shares: Floats, columns: int) -> Floats:
    """For every eight values and every set of them, its share: sums of positive numbers."""
    padded = np.zeros(8 * columns)
    padded[: shares.size] = shares
    return np.ascontiguousarray(padded.reshape(columns, 8) @ _BITS.T)


def pack_bits(holds: npt.NDArray[np.bool_]) -> Array:
    """A table of reports by values as bits, eight values a row, a column for each report."""
    return np.ascontiguousarray(np.packbits(holds, axis=1, bitorder="little").T)
