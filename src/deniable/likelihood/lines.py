"""Rows with a form on a line or on a grid, whose products take O(values): decaying noise, both ways on a grid, and windows."""

from __future__ import annotations

from typing import final

import numpy as np

from deniable.law import Floats
from deniable.likelihood.rows import Rows
from deniable.metric.line import Decaying


@final
class Decay(Rows):
    """Outputs at some places of a line, each decaying by e^-epsilon a step."""

    def __init__(self, kernel: Decaying, logs: Floats | None = None) -> None:
        self.kernel = kernel
        self.k = self.size = kernel.k
        self.logs = np.zeros(self.k) if logs is None else logs

    @property
    def roundings(self) -> int:
        return 4 * self.k

    def forward(self, shares: Floats) -> Floats:
        return self.kernel.times(shares)

    def backward(self, weights: Floats) -> Floats:
        return self.kernel.times(weights)

    def gram(self, weights: Floats) -> Floats:
        table = self.kernel.table
        return np.asarray((table * weights) @ table)


@final
class Lattice(Rows):
    """Outputs at all cells of a grid, decaying down and across it."""

    def __init__(self, down: Decaying, across: Decaying, logs: Floats | None = None) -> None:
        self.down, self.across = down, across
        self.k = self.size = down.k * across.k
        self.logs = np.zeros(self.k) if logs is None else logs

    @property
    def roundings(self) -> int:
        return 4 * (self.down.k + self.across.k)

    def forward(self, shares: Floats) -> Floats:
        cells = self.across.times(shares.reshape(*shares.shape[:-1], self.down.k, self.across.k))
        return np.asarray(self.down.times(cells.swapaxes(-1, -2)).swapaxes(-1, -2).reshape(shares.shape))

    def backward(self, weights: Floats) -> Floats:
        return self.forward(weights)

    def gram(self, weights: Floats) -> Floats:
        table = np.kron(self.down.table, self.across.table)
        return np.asarray((table * weights) @ table)


@final
class Window(Rows):
    """Outputs 0 to k + width - 2, of which each value's window, `width` of them from its own number on, is likelier."""

    def __init__(self, k: int, width: int, near: float, far: float) -> None:
        self.k, self.width, self.size = k, width, k + width - 1
        self.near, self.far = near, far
        self.logs = np.zeros(self.size)

    @property
    def roundings(self) -> int:
        """A sum over a window is a difference of two sums that are at most near / far times as large as what comes of it."""
        return int(np.ceil(2 * (1 + self.near / self.far))) * (self.k + self.size)

    def forward(self, shares: Floats) -> Floats:
        return self._mixed(shares, self.width - 1, self.size)

    def backward(self, weights: Floats) -> Floats:
        return self._mixed(weights, 0, self.k)

    def _mixed(self, numbers: Floats, before: int, places: int) -> Floats:
        """far * (all of them) + (near - far) * (those of a window that begins `before` places before this one)."""
        sums = np.zeros((*numbers.shape[:-1], numbers.shape[-1] + 1))
        np.cumsum(numbers, axis=-1, out=sums[..., 1:])
        first = np.arange(places) - before
        last = np.clip(first + self.width, 0, numbers.shape[-1])
        inside = sums[..., last] - sums[..., np.clip(first, 0, numbers.shape[-1])]
        return np.asarray(self.far * sums[..., -1:] + (self.near - self.far) * np.maximum(inside, 0.0))

    def table(self) -> Floats:
        """Outputs by values."""
        apart = np.arange(self.size)[:, None] - np.arange(self.k)
        return np.where((apart >= 0) & (apart < self.width), self.near, self.far)

    def gram(self, weights: Floats) -> Floats:
        table = self.table()
        return np.asarray((table.T * weights) @ table)
