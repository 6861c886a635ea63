"""Multiplies by rows on a line or a grid in O(values): decaying noise, and windows."""

from __future__ import annotations

from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.likelihood.rows import Rows
from deniable.metric.line import Decaying


@final
class Decay(Rows):
    """Outputs at some positions of a line, each decaying by e^-epsilon a step."""

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
    """Outputs 0 to k + width - 2; those of a value's window, `width` from its own number on, are likelier."""

    def __init__(self, k: int, width: int, inside: float, far: float) -> None:
        self.k, self.width, self.size = k, width, k + width - 1
        self.inside, self.far = inside, far
        self.logs = np.zeros(self.size)

    @property
    def roundings(self) -> int:
        return 2 * self.size

    def forward(self, shares: Floats) -> Floats:
        return self._mix(shares, self.width - 1, self.size)

    def backward(self, weights: Floats) -> Floats:
        return self._mix(weights, 0, self.k)

    def _mix(self, numbers: Floats, before: int, positions: int) -> Floats:
        """far * (all of them) + (near - far) * (those of a window that begins `before` positions before this
        one).

        Cut into pieces as long as the window, each window is the end of one and the beginning of the next:
        two sums of positive numbers, and no difference in which digits would be lost.
        """
        width = self.width
        length = -(-(positions + width - 1) // width) * width
        pieces = np.zeros((*numbers.shape[:-1], length))
        pieces[..., before : before + numbers.shape[-1]] = numbers
        pieces = pieces.reshape(*numbers.shape[:-1], -1, width)
        begun = np.cumsum(pieces, axis=-1).reshape(*numbers.shape[:-1], length)
        inside = (
            np.cumsum(pieces[..., ::-1], axis=-1)[..., ::-1]
            .reshape(*numbers.shape[:-1], length)[..., :positions]
            .copy()
        )
        inside += np.where(np.arange(positions) % width, begun[..., width - 1 : width - 1 + positions], 0.0)
        return np.asarray(self.far * numbers.sum(axis=-1, keepdims=True) + (self.inside - self.far) * inside)

    def output(self, shares: Floats) -> Floats:
        """How likely each output is if the values have these shares."""
        return self.forward(shares)

    def gram(self, weights: Floats) -> Floats:
        """Two values have in common what lies in both of their windows, so that running sums are enough."""
        sums, more = np.concatenate([[0.0], np.cumsum(weights)]), self.inside - self.far
        values = np.arange(self.k)
        inside = sums[values + self.width] - sums[values]
        gram = np.empty((self.k, self.k))
        for v in range(self.k):
            overlap = np.maximum(sums[np.minimum(values, v) + self.width] - sums[np.maximum(values, v)], 0.0)
            gram[v] = more**2 * overlap + self.far * more * (inside + inside[v])
        return np.asarray(gram + self.far**2 * sums[-1])
