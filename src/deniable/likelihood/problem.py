"""Holds what was observed: counts of outputs, reports, counts of support, or groups of people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter
from deniable.likelihood.rows import Decay, Dense, Kept, Rows, Stacked, Window
from deniable.likelihood.steps import level
from deniable.metric.line import GeometricChannel


class Problem(ABC):
    """How many reports there are, and what they make likely."""

    if TYPE_CHECKING:  # read-only here, so that a subclass may store them or compute them

        @property
        def n(self) -> int:
            """The number of reports."""

        @property
        def k(self) -> int:
            """The number of values."""

    @abstractmethod
    def likelihood(self, shares: Floats) -> float:
        """The mean logarithm of a report's likelihood."""

    @abstractmethod
    def again(self, shares: Floats, generator: np.random.Generator) -> Problem:
        """As many reports from people who have these shares."""


class Listed(Problem):
    """Outputs as rows of a matrix, with the share of the reports that each has."""

    if TYPE_CHECKING:  # read-only here, so that a problem may store them or compute them

        @property
        def rows(self) -> Rows:
            """A row for each output that was observed."""

        @property
        def outputs(self) -> Floats:
            """The share of the reports that each of them has."""

        @property
        def shape(self) -> tuple[int, ...]:
            """Which values are neighbors: (k,) on a line, (rows, columns) on a grid, () where none are."""

    @final
    def likelihood(self, shares: Floats) -> float:
        return level(self.outputs, self.rows.forward(shares)) + float(self.outputs @ self.rows.logs)


@final
@dataclass(frozen=True, eq=False)
class Table:
    """Any finite channel: rows of Pr(output | value)."""

    matrix: Floats = field(repr=False)
    window: Window | None = None
    """The channel in a form with quick products."""

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] < 2 or not np.isfinite(matrix).all() or (matrix < 0).any():
            raise InvalidParameter(
                "a channel is a table of probabilities, a row for each of at least two values"
            )
        off = np.abs(matrix.sum(axis=1) - 1)
        if off.max() > 1e-9:
            raise InvalidParameter(
                f"each row of a channel adds up to 1, row {off.argmax()} is off by {off.max():.2g}"
            )
        object.__setattr__(self, "matrix", matrix)

    @property
    def k(self) -> int:
        """The number of values."""
        return int(self.matrix.shape[0])

    @property
    def size(self) -> int:
        """The number of outputs."""
        return int(self.matrix.shape[1])

    def output(self, shares: Floats) -> Floats:
        """How likely each output is if the values have these shares."""
        return np.asarray(shares @ self.matrix)


@final
@dataclass(frozen=True, eq=False)
class Counted(Listed):
    """How many reports have each output: all that there is to know where the outputs are few."""

    channel: Table | Window | Kept | GeometricChannel
    counts: Integers
    shape: tuple[int, ...] = ()

    @cached_property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def k(self) -> int:
        return self.channel.k

    @cached_property
    def rows(self) -> Rows:
        if isinstance(self.channel, Table):
            return Dense(np.ascontiguousarray(self.channel.matrix.T[self.observed]))
        if isinstance(self.channel, Kept | Window):
            return self.channel
        return Decay(self.channel.kernel, np.log(self.channel.ends))

    @property
    def observed(self) -> npt.NDArray[np.bool_]:
        """Which outputs are in the rows: for a table, only those that were reported."""
        return self.counts > 0 if isinstance(self.channel, Table) else np.ones(self.counts.size, dtype=bool)

    @cached_property
    def outputs(self) -> Floats:
        return np.asarray(self.counts[self.observed] / self.n)

    @property
    def quick(self) -> tuple[Rows, Integers]:
        """Rows with the quickest products, and how many reports each of them has."""
        if isinstance(self.channel, Table) and self.channel.window is not None:
            return self.channel.window, self.counts
        return self.rows, self.counts[self.observed]

    def again(self, shares: Floats, generator: np.random.Generator) -> Counted:
        channel = self.channel
        chances = channel.forward(shares) if isinstance(channel, Kept | Window) else channel.output(shares)
        return replace(self, counts=generator.multinomial(self.n, chances / chances.sum()).astype(np.int64))


@final
@dataclass(frozen=True, eq=False)
class Reported(Listed):
    """Different reports, as the sets that they support, and how often each came."""

    n: int
    rows: Rows
    outputs: Floats
    guess: Floats
    """A distribution near the maximum, to begin with."""
    draw: Callable[[Floats, np.random.Generator], Problem] = field(repr=False)
    """Reports of people who have these shares."""
    shape: tuple[int, ...] = ()

    @property
    def k(self) -> int:
        return self.rows.k

    def again(self, shares: Floats, generator: np.random.Generator) -> Problem:
        problem = self.draw(shares, generator)
        return replace(problem, shape=self.shape) if isinstance(problem, Reported) else problem


@final
@dataclass(frozen=True, eq=False)
class Celled(Problem):
    """How many reports support each value: without the reports, each count is taken for a binomial."""

    n: int
    supported: Floats
    """The share of the reports about each value that supports it."""
    asked_shares: Floats
    """The share of all reports that are about each value."""
    q: Floats
    gain: float
    draw: Callable[[Floats, np.random.Generator], Problem] | None = field(default=None, repr=False)

    @property
    def k(self) -> int:
        return int(self.supported.size)

    def likelihood(self, shares: Floats) -> float:
        from scipy.special import xlogy

        theta = self.q + self.gain * shares
        logs = xlogy(self.supported, theta) + xlogy(1 - self.supported, 1 - theta)
        return float((self.asked_shares * logs).sum())

    def again(self, shares: Floats, generator: np.random.Generator) -> Problem:
        if self.draw is None:
            raise InvalidParameter(
                "an attribute's law alone cannot draw new reports, since it does not say how values are "
                "supported together; give the mechanism itself, or simulate the record mechanism to see "
                "how its estimates scatter"
            )
        return self.draw(shares, generator)


@final
@dataclass(frozen=True, eq=False)
class Grouped(Listed):
    """Several groups of people with the same shares, who report in different ways."""

    parts: tuple[Counted | Reported, ...]

    @property
    def n(self) -> int:
        return sum(part.n for part in self.parts)

    @property
    def k(self) -> int:
        return self.parts[0].k

    @property
    def shape(self) -> tuple[int, ...]:
        first, *others = (part.shape for part in self.parts)
        return first if all(other == first for other in others) else ()

    @cached_property
    def rows(self) -> Rows:
        return Stacked([part.rows for part in self.parts])

    @cached_property
    def outputs(self) -> Floats:
        return np.concatenate([part.outputs * (part.n / self.n) for part in self.parts])

    def again(self, shares: Floats, generator: np.random.Generator) -> Grouped:
        parts = [part.again(shares, generator) for part in self.parts]
        return Grouped(tuple(part for part in parts if isinstance(part, Counted | Reported)))


def refuse_unordered(problem: Listed) -> None:
    """Smoothing moves people to neighbors, which only ordered values and cells of a grid have."""
    if not problem.shape:
        raise InvalidParameter(
            "smoothing is for ordered values and cells of a grid, and neighboring codes of categories need "
            "not be neighbors; if these values are ordered, such as bins of a range, say mle(..., "
            "ordered=True)"
        )


def refuse_empty(n: int) -> None:
    """Shares are found behind at least one report."""
    if n < 1:
        raise InvalidParameter("there are no reports yet, so there is nothing to estimate")
