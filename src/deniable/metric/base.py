"""Estimates from channels, and states losses by distance: what mechanisms of metric values share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter, InvalidReport
from deniable.estimate import Estimate, seen_squares
from deniable.exact import log_up, number, whole_number
from deniable.formatting import Printed, format_count, format_loss, format_up
from deniable.law import Matrix, Moments, checked_prior, finite
from deniable.law.law import Convention, ReportLaw
from deniable.mechanisms import ChannelMechanism, Losses, Tally
from deniable.mechanisms.losses import lose_once
from deniable.metric.certified import times_up
from deniable.randomness.words import Rows

MOST_ENTRIES = 1 << 24
"""Entries of a matrix of floats that is written out: 128 MB."""
_EXACT_CELLS = 1 << 20  # entries of one of Python's integers
_DENSE = 2048  # values whose matrix is inverted as it is
_DECODED = 1e-9  # how far decoding may be off before a slower way is taken
_SINGULAR = 1e-6  # how far a matrix times its inverse may be from the identity
_ROWS = 1 << 20  # entries worked on at a time
_GUESSED = 1 << 12  # of more values the best guess takes long
ROUNDED_UP = 1 + 1e-15  # more than a root in floating point errs by


class MetricMechanism(ChannelMechanism):
    """A mechanism whose loss is stated twice: for values a given distance apart, and for any two.

    A subclass says how likely outputs are (`_rows`, `_weights`), what they lose by distance (`_unit_loss`,
    `_loss_at`), how it samples (`_encode`, `_encode_compiled`), and what makes it equal to another (`_key`).
    """

    metric = True
    kept: bool = False
    """Whether a person's report of each value is drawn once and sent again, for asking again and again."""

    @property
    def repeated(self) -> bool:
        return self.kept

    def _choose_rows(self, values: Array, rows: Rows) -> Rows:
        return rows.recall(values) if self.kept else super()._choose_rows(values, rows)

    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        fresh = super().losses(reports, rounds)
        return lose_once(self.loss(), self.k, reports, rounds) if self.kept else fresh

    @property
    @abstractmethod
    def _unit_loss(self) -> float:
        """The smallest epsilon per unit of distance, rounded up."""

    @abstractmethod
    def _loss_at(self, distance: float) -> float:
        """What two values that are at most this far apart lose at most."""

    @abstractmethod
    def _rows(self, start: int, stop: int) -> Floats:
        """How likely every output is, for some of the values."""

    @abstractmethod
    def _weights(self, value: int) -> tuple[int, ...]:
        """How likely every output is, in integers."""

    @cached_property
    def law(self) -> Channel:
        return Channel(self)

    def table(self) -> Floats:
        return self.law.matrix()

    @final
    def loss_at(self, distance: float) -> float:
        """What two values up to this far apart lose at most, rounded up.

        It is the smallest such number, but for planar noise on more than 4,096 cells: not all pairs are
        compared there, and it is the bound that the table was made by, which shows as "at most".
        """
        return 0.0 if isinstance(distance, float | int) and distance == 0 else self._loss_at(distance)

    def loss_per(self, units: float = 1.0) -> float:
        """The smallest rate that bounds all losses by distance, for this many units of it, rounded up.

        Unlike `loss_at(distance)` it may be more than the worst case, where all values are nearer to each
        other than that.
        """
        return times_up(self._unit_loss, number("a distance", units, 0.0, math.inf, "a positive number"))

    @property
    def shape(self) -> tuple[int, ...]:
        """How its values lie: on a line of k, on a grid of rows and columns, or anyhow, which is ()."""
        return ()

    def distance(self, one: int, other: int) -> float:
        """How far apart two values are, in the unit that losses go by; -1, an answer at random, is as far
        away as any value is. It is infinite where values differ and the loss is the same at any distance.
        """
        return 0.0 if one == other else math.inf

    def neighbors(self) -> list[tuple[int, int]]:
        """All pairs of values that have none between them."""
        return grid_neighbors(*self.shape) if len(self.shape) == 2 else list(pairwise(range(self.k)))

    def some_neighbors(self) -> list[tuple[int, int]]:
        """A few of them: at both ends and in the middle; on a grid, in a corner and in the middle."""
        if len(self.shape) != 2:
            return sorted({(low, low + 1) for low in (0, (self.k - 1) // 2, self.k - 2) if low + 1 < self.k})
        rows, columns = self.shape
        middle = (rows - 1) // 2 * columns + (columns - 1) // 2
        return sorted({(cell, cell + step) for cell in (0, middle) for step in (1, columns)})

    @property
    def unit_loss(self) -> float:
        return self.loss_at(1)

    def forward(self, shares: npt.ArrayLike) -> Floats:
        """How likely every output is, from people with these shares (which need not be a distribution)."""
        weights = finite(shares, f"shares are {self.k} numbers")
        if weights.shape != (self.k,):
            raise InvalidParameter(f"shares are {self.k} numbers, got shape {weights.shape}")
        return self._forward(weights)

    def _forward(self, shares: Floats) -> Floats:
        total = np.zeros(self.outputs)
        for start, stop in self._blocks():
            total += shares[start:stop] @ self._rows(start, stop)
        return total

    def _blocks(self) -> list[tuple[int, int]]:
        """Values whose rows fit into memory at once."""
        step = max(1, _ROWS // self.outputs)
        return [(start, min(start + step, self.k)) for start in range(0, self.k, step)]

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        return self.law.success(prior)

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased frequencies with error bars, by the inverse of the channel; for less scatter see `mle`."""
        return self.estimated(tally)

    def estimated(
        self, tally: Tally, law: ReportLaw | None = None, labels: Sequence[object] | None = None
    ) -> Estimate:
        if not isinstance(tally, Tally):
            raise InvalidReport(
                f"estimates are made from a tally, m.estimate(m.tally(reports)), got {type(tally).__name__}"
            )
        if tally.counts.size != self.outputs or tally.asked is not None:
            raise InvalidReport(
                f"a tally of this mechanism has counts of {self.outputs} outputs, got {tally.counts.size}"
            )
        if tally.counts.sum() != tally.n or (tally.counts < 0).any() or (tally.counts % 1).any():
            raise InvalidReport(
                "a tally of this mechanism has a whole number for each output, and they add up to its "
                f"{tally.n:,} reports, got {tally.counts.sum():g} from {tally.counts.min():g} to "
                f"{tally.counts.max():g}"
            )
        n, counts = max(1, tally.n), tally.counts.astype(np.float64)
        frequencies = self._inverse(counts / n)
        inside = self._mean_squares
        squares, outside = seen_squares(self._squares(counts), n, inside, frequencies)
        commonest = int(np.argmax(frequencies))
        clipped = np.clip(frequencies, 0.0, 1.0)
        noise: Any = np.maximum(squares - frequencies**2 - clipped * (1 - clipped), 0.0)

        def combined(points: Floats) -> float:
            """The scatter of reports and of one more, from somebody with the commonest value: never 0."""
            weights_of_outputs, row = self._weighing(points), self._rows(commonest, commonest + 1)[0]
            scatter = float(counts @ (weights_of_outputs - float(counts @ weights_of_outputs) / n) ** 2)
            return (scatter + float(row @ (weights_of_outputs - float(row @ weights_of_outputs)) ** 2)) / max(
                1, n - 1
            )

        def cumulated() -> Floats:
            return self._cumulated(counts / n) * n / max(1, n - 1)

        def grouped(chosen: Floats) -> tuple[float, float]:
            weights_of_outputs = self._weighing(chosen) ** 2
            return float(self._sent_by(np.flatnonzero(chosen)) @ weights_of_outputs), float(
                counts @ weights_of_outputs
            )

        moments = Moments(
            self.k,
            noise,
            combined=combined,
            cumulated=cumulated,
            inside=inside,
            outside=outside,
            grouped=grouped,
            contributions=self.contributions,
        )
        return Estimate(tally.n, frequencies * tally.n, moments, labels)

    def _weighing(self, points: Floats) -> Floats:
        """What each output adds to the estimated sum of shares with these weights."""
        return np.asarray(points @ self._decoder)

    def _sent_by(self, values: Integers) -> Floats:
        """How likely every output is, from people who are spread evenly over these values."""
        total, first, end = np.zeros(self.outputs), int(values.min()), int(values.max()) + 1
        step = max(1, _ROWS // self.outputs)
        for start in range(first, end, step):
            stop = min(start + step, end)
            total += np.isin(np.arange(start, stop), values).astype(np.float64) @ self._rows(start, stop)
        return total / values.size

    def _cumulated(self, shares: Floats) -> Floats:
        """The variance, for one report, of every sum of the first shares, by a running sum."""
        variances, weights_of_outputs = np.empty(self.k - 1), np.zeros(self.outputs)
        for value in range(self.k - 1):
            weights_of_outputs += self._decoder[value]
            variances[value] = shares @ (weights_of_outputs - shares @ weights_of_outputs) ** 2
        return variances

    @cached_property
    def _mean_squares(self) -> Floats:
        """The mean square of what the report of a person with a value adds to its own estimate."""
        rows = [
            (self._decoder[start:stop] ** 2 * self._rows(start, stop)).sum(axis=1)
            for start, stop in self._blocks()
        ]
        return np.concatenate(rows)

    def _inverse(self, shares: Floats) -> Floats:
        """Shares of values whose outputs have these shares."""
        return np.asarray(self._decoder @ shares)

    def _squares(self, shares: Floats) -> Floats:
        """The mean square of what a report adds to each value's estimate, if outputs have these shares."""
        return np.asarray(self._decoder_squared @ shares)

    @cached_property
    def _decoder(self) -> Floats:
        """What each output adds to each value's estimate."""
        if self.k > _DENSE:
            raise InvalidParameter(
                f"the channel of {self.k:,} values has no quick inverse, and tables are inverted up to "
                f"{_DENSE:,}; use fewer values, or mle, if it takes this many"
            )
        matrix = self.law.matrix()
        decoder = inverted(matrix)
        if not off(decoder, matrix) <= _SINGULAR:
            raise InvalidParameter(
                "different shares give the same reports here, so that nothing is unbiased for them; use mle"
            )
        return np.asarray(decoder)

    @cached_property
    def contributions(self) -> tuple[float, float]:
        """The least and the most that one report can add to a share, times the number of reports."""
        return float(self._decoder.min()), float(self._decoder.max())

    @property
    @abstractmethod
    def _key(self) -> tuple[object, ...]:
        """What makes it equal to another of its class."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetricMechanism) or type(other) is not type(self):
            return False
        return (other._key, other.kept) == (self._key, self.kept)

    def __hash__(self) -> int:
        return hash((self._key, self.kept))

    @cached_property
    def _decoder_squared(self) -> Floats:
        return np.asarray(self._decoder**2)

    @property
    def unit(self) -> str:
        """What its loss by distance is per."""
        return "unit of distance"

    def describe_loss(self) -> str:
        worst = format_loss(self.loss())
        return f"loss {format_up(self.loss_per())} per {self.unit} and {worst} in the worst case"

    def describe_guess(self) -> str:
        return super().describe_guess() if self.k <= _GUESSED else ""


@final
@dataclass(frozen=True, eq=False)
class Channel(Printed):
    """The law of a mechanism that does not treat all values alike: each output's chance from each input."""

    of: MetricMechanism

    def __str__(self) -> str:
        sizes = f"{format_count(self.k, 'value')}, {format_count(self.outputs, 'report')}"
        return f"Channel of {self.of.describe_name()}, {sizes}: {self.of.describe_loss()}"

    @property
    def k(self) -> int:
        """The number of inputs."""
        return self.of.k

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return self.of.outputs

    def matrix(self) -> Floats:
        """Rows of Pr(output | input), as floats: the numbers that are sampled, rounded once."""
        self._check_size(MOST_ENTRIES, "as floats")
        return self.of._rows(0, self.k)

    def exact(self) -> Matrix:
        """The probabilities as integers."""
        self._check_size(_EXACT_CELLS, "in integers")
        return Matrix(tuple(self.of._weights(value) for value in range(self.k)))

    def _check_size(self, most: int, how: str) -> None:
        if self.k * self.outputs > most:
            side = math.isqrt(most)
            raise InvalidParameter(
                f"a channel of {self.k:,} x {self.outputs:,} is too large to be written out {how}: at most "
                f"{most:,} entries are ({side:,} x {side:,}); forward gives its products without it"
            )

    def loss(self) -> float:
        """As the mechanism's."""
        return self.of.loss()

    def loss_at(self, distance: float) -> float:
        """As the mechanism's."""
        return self.of.loss_at(distance)

    def forward(self, shares: npt.ArrayLike) -> Floats:
        """How likely every output is, from people with these shares."""
        return self.of.forward(shares)

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        """How often the best guess of the value from one report is right."""
        weights = checked_prior(np.ones(self.k) if prior is None else prior, self.k)
        best = np.zeros(self.outputs)
        for start, stop in self.of._blocks():
            np.maximum(best, (self.of._rows(start, stop) * weights[start:stop, None]).max(axis=0), out=best)
        return float(best.sum())

    def variance(self, n: int, f: npt.ArrayLike | None = None, population: Convention = "sampled") -> Floats:
        """The variance of every estimated frequency from n reports of people with these shares (uniform
        unless given).

        All shares are needed: the noise of one value depends on how many people have its neighbors.
        """
        shares = checked_prior(np.ones(self.k) if f is None else f, self.k)
        noise = Moments(self.k, 0.0).variance(n, shares, population)
        return np.asarray(noise + np.maximum(self.of._squares(self.forward(shares)) - shares, 0.0) / n)

    def error(self, n: int, f: float | None = None) -> float:
        """The variance averaged over the values, for people who answered and are spread evenly over them.

        That is also what stands for the error at a frequency f, since the noise of one value depends on all
        shares.
        """
        return self._one_report / n

    def sum_errors(self, table: Floats) -> Floats:
        """The variances of weighted sums of shares, from one report of a person who may have any value."""
        seen = self.forward(np.full(self.k, 1 / self.k))
        squares = [float(seen @ self.of._weighing(row) ** 2) for row in table]
        return np.asarray(np.maximum(np.array(squares) - (table**2).mean(axis=-1), 0.0))

    @cached_property
    def _one_report(self) -> float:
        return float(self.variance(1, population="fixed").mean())

    @property
    def contributions(self) -> tuple[float, float]:
        """The least and the most that one report can add to a share, times the number of reports."""
        return self.of.contributions

    def log_likelihood(self, y: int) -> Floats:
        """ln Pr(y | x) for every input x."""
        whole_number("an output", y, 0, self.outputs - 1)
        column = np.concatenate([self.of._rows(start, stop)[:, y] for start, stop in self.of._blocks()])
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(column))


def steps_between(value: int, other: int, size: int) -> int:
    """How many steps two of `size` values on a line are apart; -1 is as far away as any value is."""
    if value == other:
        return 0
    if min(value, other) >= 0:
        return abs(value - other)
    known = max(value, other)
    return max(known, size - 1 - known)


def sides_between(
    cell: int, other: int, shape: tuple[int, int], steps: tuple[float, float]
) -> tuple[float, float]:
    """How far two cells of a grid are apart, down and across; -1 is as far away as any cell is."""
    rows, columns = shape
    (row, column), (down, across) = (
        (-1, -1) if code < 0 else divmod(code, columns) for code in (cell, other)
    )
    high, wide = steps
    return steps_between(row, down, rows) * high, steps_between(column, across, columns) * wide


def grid_neighbors(rows: int, columns: int) -> list[tuple[int, int]]:
    """The cells of a grid that have a side in common."""
    across = [(cell, cell + 1) for cell in range(rows * columns) if (cell + 1) % columns]
    return across + [(cell, cell + columns) for cell in range((rows - 1) * columns)]


def describe_metric(m: MetricMechanism, what: str, unit: str, bounded: bool = False) -> str:
    """A mechanism in words, with both of its losses; the one by distance may be a bound only."""
    by_distance = f"{'at most ' if bounded else ''}{m.loss_per():.6g} per {unit}"
    return f"{type(m).__name__}({what}: loses {by_distance}, {m.loss():.6g} in the worst case)"


def loss_by_units(m: MetricMechanism, distance: float) -> float:
    """A loss per unit times the distance, rounded up, and never more than that of the worst case."""
    return min(m.loss_per(distance), log_up(m.ratio))


def inverted(matrix: Floats) -> Floats:
    """What each output adds to each value's estimate, by least squares; not a number where rows depend on
    each other.

    Normal equations take a tenth of the time of a decomposition, and where they lose digits it takes over.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        if matrix.shape[0] == matrix.shape[1]:
            return np.asarray(np.linalg.inv(matrix).T)
        quick = np.asarray(cho_solve(cho_factor(matrix @ matrix.T), matrix))
        if off(quick, matrix) <= _DECODED:
            return quick
    except LinAlgError:
        pass
    orthogonal, triangle = np.linalg.qr(matrix.T)
    try:
        return np.asarray(np.linalg.solve(triangle, orthogonal.T))
    except LinAlgError:
        return np.full(matrix.shape, np.nan)


def off(decoder: Floats, matrix: Floats) -> float:
    """How far decoding is from giving every value back."""
    return float(np.abs(decoder @ matrix.T - np.eye(len(matrix))).max())
