"""Reports cells of a grid: a report is a cell near the true one, by tables of integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Protocol, final, runtime_checkable

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.exact import log_up, number, positive_epsilon, whole_number
from deniable.metric.base import ROUNDED_UP, MetricMechanism, describe_metric, loss_by_units, sides_between
from deniable.metric.certified import checked_budget, divided_up, largest_ratio, logarithms, square_root_down
from deniable.randomness import FULL
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows

if TYPE_CHECKING:
    from deniable.metric.loops import Guide

_MOST = 1 << 12  # rows or columns
_LARGEST_STEP = 40.0  # nats from a cell to the next: beyond this nobody moves in a table out of 2^64
# the least probability of a displacement: rounding one to words changes it by at most 2^-33 of itself
_FLOOR = 2.0**-32
# binary digits of a real probability that count: the last ones of floats differ between processors
_DIGITS = 36
# so the ratio of two moves by less than this: 2^-32 by words, below 2^-32 by digits that do not count
_ROUNDING = 2.0**-31
_BEYOND = 56.0  # all noise beyond e^-56 together is less than 2^-33 of the least probability, and left out
_NODES = 16
_ONE_BY_ONE = 32  # displacements that are not summed in blocks
_NEAR = 8  # on large grids, displacements of up to this many cells are compared one by one
_ALL_PAIRS = 1 << 12  # cells of a grid on which all are
_ERROR = 2.0**-44  # more than a difference of two logarithms of words is off by
_CANDIDATES = 4096


@runtime_checkable
class Cells(Protocol):
    """What a grid has to say: how many rows and columns, and how high and wide a cell is."""

    @property
    def rows(self) -> int:
        """The number of rows."""

    @property
    def columns(self) -> int:
        """The number of columns."""

    @property
    def steps(self) -> tuple[float, float]:
        """The distance from one row to the next, and from one column to the next."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class PlanarGeometric(MetricMechanism):
    """Noise by the distance as the crow flies, kept in the grid: one word, one integer for each cell."""

    noise: WordArray
    """noise[a, b]: how many words move a cell by a rows down and b columns right; the last ones, by that many
    or more.
    """
    steps: tuple[float, float]
    epsilon: float = math.inf
    """What no two cells lose more than, per unit of distance, if that is known; `loss` is computed from the
    words.
    """
    kept: bool = False

    def __post_init__(self) -> None:
        noise = np.array(self.noise, dtype=np.uint64)
        if noise.ndim != 2 or min(noise.shape) < 2 or noise.min() < 1:
            raise InvalidParameter(
                "noise is a positive number of words for every displacement, two rows and columns or more",
                "noise",
            )
        if sum(map(sum, _unfold(noise).tolist())) != FULL:
            raise InvalidParameter("the words of all displacements must add up to 2^64", "noise")
        noise.setflags(write=False)
        object.__setattr__(self, "noise", noise)

    words = 1

    @property
    def rows(self) -> int:
        """The number of rows of the grid."""
        return int(self.noise.shape[0])

    @property
    def columns(self) -> int:
        """The number of columns of the grid."""
        return int(self.noise.shape[1])

    @property
    def k(self) -> int:
        return int(self.noise.size)

    @property
    def outputs(self) -> int:
        return self.k

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.columns

    def distance(self, one: int, other: int) -> float:
        return ROUNDED_UP * math.hypot(*sides_between(one, other, self.shape, self.steps))

    @cached_property
    def _sums(self) -> list[WordArray]:
        """The words that send a cell this far: inside the grid, at top or bottom, at a side, in a corner."""
        down = np.cumsum(self.noise[::-1], axis=0, dtype=np.uint64)[::-1]
        across = np.cumsum(self.noise[:, ::-1], axis=1, dtype=np.uint64)[:, ::-1]
        corner = np.cumsum(down[:, ::-1], axis=1, dtype=np.uint64)[:, ::-1]
        high, wide = self.rows - 1 if self.rows > 2 else 0, self.columns - 1 if self.columns > 2 else 0
        return [self.noise[:high, :wide], down[:, :wide], across[:high], corner]

    @property
    def ratio(self) -> Fraction:
        return largest_ratio((int(words.max()), int(words.min())) for words in self._sums if words.size)

    def _loss_at(self, distance: float) -> float:
        return loss_by_units(self, distance)

    @cached_property
    def _unit_loss(self) -> float:
        return _shell_loss(self.noise, self._sums, self.steps, self.epsilon)

    def _weights(self, value: int) -> tuple[int, ...]:
        return tuple(self._words_from(value).ravel().tolist())

    def _rows(self, start: int, stop: int) -> Floats:
        return np.array([self._words_from(value).ravel() / float(FULL) for value in range(start, stop)])

    def _words_from(self, value: int) -> WordArray:
        row, column = divmod(value, self.columns)
        last, end = self.rows - 1, self.columns - 1
        down, across = np.abs(np.arange(self.rows) - row), np.abs(np.arange(self.columns) - column)
        _, top, side, corner = self._sums
        words: WordArray = self.noise[np.ix_(down, across)]
        words[0, 1:-1], words[-1, 1:-1] = top[row, across[1:-1]], top[last - row, across[1:-1]]
        words[1:-1, 0], words[1:-1, -1] = side[down[1:-1], column], side[down[1:-1], end - column]
        words[0, 0], words[0, -1] = corner[row, column], corner[row, end - column]
        words[-1, 0], words[-1, -1] = corner[last - row, column], corner[last - row, end - column]
        return words

    @cached_property
    def _ascending(self) -> WordArray:
        """Words below entry i move a cell by displacements 0 to i, row by row; the last needs no entry."""
        return np.cumsum(_unfold(self.noise).ravel(), dtype=np.uint64)[:-1]

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        position = np.searchsorted(self._ascending, words[:, 0], side="right")
        down, across = np.divmod(position, 2 * self.columns - 1)
        rows, columns = np.divmod(values, self.columns)
        rows = np.clip(rows + down - self.rows + 1, 0, self.rows - 1)
        reports[:] = rows * self.columns + np.clip(columns + across - self.columns + 1, 0, self.columns - 1)

    @cached_property
    def guide(self) -> Guide:
        """The table of cumulative chances, for compiled loops."""
        from deniable.metric.loops import guided

        return guided(self._ascending, 64, 12)

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable.metric import loops

        loops.planar(values, rows.address(), self.guide, self.rows, self.columns, reports)

    title = "Planar geometric noise"
    phrase = "a noisy cell"

    def describe_values(self) -> str:
        return f"{self.rows} x {self.columns} cells"

    def __repr__(self) -> str:
        return describe_metric(
            self, f"{self.rows} x {self.columns} cells", "unit of distance", bounded=self.k > _ALL_PAIRS
        )

    @property
    def _key(self) -> tuple[object, ...]:
        return self.noise.shape, self.noise.tobytes(), self.steps


def _unfold(noise: WordArray) -> WordArray:
    """All displacements, up and left included."""
    right = np.concatenate([noise[:, :0:-1], noise], axis=1)
    return np.concatenate([right[:0:-1], right], axis=0)


def planar_geometric(grid: Cells | Sequence[int], epsilon: float) -> PlanarGeometric:
    """Noise on a grid: two cells at distance d lose at most d epsilon, in the grid's unit of distance.

    `grid` is a `Grid`, whose distances are in meters, or a number of rows and columns with a distance of 1
    between neighbors. Values are cells, row by row. A displacement z has a probability that falls as
    e^(-epsilon |z|), and one word finds it in one table.

    On up to 4,096 cells, the loss by distance is the smallest that holds for all pairs of cells. On more it
    is the bound that the table was made by. These are next to equal unless epsilon is so large that far cells
    have all but no words: at 40 per unit, 64 x 64 cells lose 20.3, and 65 x 64 state 40.

    >>> m = planar_geometric((20, 30), epsilon=0.5)
    >>> m
    PlanarGeometric(20 x 30 cells: loses 0.5 per unit of distance, ... in the worst case)
    >>> m.loss_at(1) <= 0.5, m.loss_at(4) <= 2
    (True, True)
    >>> from deniable.randomness.simulated import seeded
    >>> [divmod(cell, 30) for cell in m.privatize([10 * 30 + 15] * 3, seeded(1)).tolist()]
    [(13, 15), (14, 23), (9, 18)]

    Reference: andres2013
    """
    rows, columns, steps = _shape_of(grid)
    budget = positive_epsilon(epsilon)
    if isinstance(grid, Cells) and budget * max(steps) > _LARGEST_STEP:
        raise InvalidParameter(
            f"epsilon is per meter on a Grid, and its cells are {min(steps):.0f} m wide: {budget:g} per "
            "meter hides nothing; use per_meter(level=2.0, radius=200), or the like"
        )
    return PlanarGeometric(planar_noise(rows, columns, steps, budget), steps, budget)


def _shape_of(grid: Cells | Sequence[int]) -> tuple[int, int, tuple[float, float]]:
    steps = (1.0, 1.0)
    if isinstance(grid, Cells):
        rows, columns, steps = grid.rows, grid.columns, grid.steps
    elif isinstance(grid, Sequence) and len(grid) == 2:
        rows, columns = grid
    else:
        raise InvalidParameter(
            f"a grid is a Grid, or a number of rows and one of columns such as (20, 30), got {grid!r}"
        )
    down, across = (number("the size of a cell", step, 0.0, math.inf, "a positive number") for step in steps)
    return (
        whole_number("the number of rows", rows, 2, _MOST),
        whole_number("the number of columns", columns, 2, _MOST),
        (down, across),
    )


def planar_noise(rows: int, columns: int, steps: tuple[float, float], epsilon: float) -> WordArray:
    """Words for a displacement of 0 to rows - 1 down and 0 to columns - 1 right, the last ones standing for
    all beyond.

    The real law falls as e^(-epsilon |z|) and is private by the triangle inequality, whatever is put together
    at the edges. Where it is below 2^-32 somewhere, it is mixed with a little noise that is nearly flat on
    the grid, and private, too. The rate is lower than epsilon by what rounding to words can change, so that
    the words keep epsilon.
    """
    least = min(steps)
    checked_budget(epsilon * least, " between neighboring cells")
    rate = epsilon - _ROUNDING / least
    if rate <= 0.999 * epsilon:
        raise InvalidParameter(
            f"epsilon {epsilon} is too small for cells of size {least:g}; use larger cells"
        )
    noise = _digits(_folded_sums(rows, columns, steps, rate))
    noise /= _total(noise)
    if _least(noise) < _FLOOR:
        sides = [
            _flat(size, rate * step / math.sqrt(2)) for size, step in zip((rows, columns), steps, strict=True)
        ]
        flat = _digits(sides[0])[:, None] * _digits(sides[1])
        weight = _FLOOR / _least(flat)
        if weight > 0.01:
            raise InvalidParameter(
                f"epsilon {epsilon:g} is too small for a grid of {rows} x {columns} cells of size {least:g}, "
                "with a table out of 2^64; use a larger epsilon or larger cells"
            )
        noise = (1 - weight) * noise + weight * flat
    words = np.rint(noise * float(FULL)).astype(np.uint64)
    left, most = FULL - _exact_total(words), np.unravel_index(words.argmax(), words.shape)
    times = (1 if most[0] == 0 else 2) * (1 if most[1] == 0 else 2)  # how many displacements are alike
    if abs(left) // times > int(words[most]) >> 33:  # more than rounding changes any other by
        raise InvalidParameter(
            f"a grid of {rows} x {columns} cells is too fine for a table out of 2^64; use larger cells"
        )
    for position, more in ((most, left // times), ((0, 0), left % times)):
        words[position] = int(words[position]) + more
    return words


def _digits(values: Floats) -> Floats:
    """Rounded, so that a grid has (nearly) the same words everywhere; the rest is exact on all processors."""
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(mantissas * 2.0**_DIGITS), exponents - _DIGITS))


def _least(noise: Floats) -> float:
    """The least probability; that of staying counts a fourth, since rounding may add three words to it."""
    return min(float(noise.min()), float(noise[0, 0]) / 4)


def _is_as_made(noise: WordArray, steps: tuple[float, float], epsilon: float) -> bool:
    """Whether these words are those made for epsilon, up to the last digit: then its bound holds."""
    rows, columns = noise.shape
    ideal = planar_noise(rows, columns, steps, epsilon)
    return bool((np.abs(noise / ideal.astype(np.float64) - 1) < 4 * 2.0**-_DIGITS).all())


def _folded_sums(rows: int, columns: int, steps: tuple[float, float], rate: float) -> Floats:
    """Sums of e^(-rate |z|) over displacements, the last row and column with all that lie beyond them."""
    (below, many), (beside, much) = (
        _far(size - 1, rate * step) for size, step in zip((rows, columns), steps, strict=True)
    )
    down = steps[0] * np.concatenate([np.arange(rows - 1), below])
    across = steps[1] * np.concatenate([np.arange(columns - 1), beside])
    times = np.concatenate([np.ones(rows - 1), many])
    sums = np.zeros((rows, columns))
    for row, distance in enumerate(down):
        line = np.exp(-rate * np.hypot(distance, across))
        line[columns - 1] = line[columns - 1 :] @ much
        sums[min(row, rows - 1)] += times[row] * line[:columns]
    return sums


def _far(first: int, rate: float) -> tuple[Floats, Floats]:
    """Points and weights that sum e^(-rate |z|) over all whole numbers from `first` on, in any row.

    Near ones are taken one by one. Farther on the function changes little from one number to the next: blocks
    as wide as they are far away, and not so wide that it falls by more than e^2, are summed by Gauss's rule
    for whole numbers, which is exact for polynomials of degree 31.
    """
    points = [np.arange(first, _ONE_BY_ONE, dtype=np.float64)]
    weights = [np.ones(max(0, _ONE_BY_ONE - first))]
    start = max(first, _ONE_BY_ONE)
    while rate * start < _BEYOND or start == first:
        size = max(_NODES, min(start, math.ceil(2 / rate)))
        nodes, counts = _gauss(size)
        points.append(start + nodes)
        weights.append(counts)
        start += size
    return np.concatenate(points), np.concatenate(weights)


def _gauss(size: int) -> tuple[Floats, Floats]:
    """Points and weights that sum polynomials of degree 31 over 0 to size - 1, by Gram's recurrence."""
    k = np.arange(1, _NODES)
    beside = np.sqrt(k**2 * (float(size) ** 2 - k**2) / (4 * (4 * k**2 - 1)))
    points, vectors = np.linalg.eigh(np.diag(beside, 1) + np.diag(beside, -1))
    return points + (size - 1) / 2, size * vectors[0] ** 2


def _flat(size: int, rate: float) -> Floats:
    """Geometric noise in one direction, folded at the end: as flat as a rate of 1 / size makes it."""
    a = math.exp(-min(rate, 1 / size))
    chances = (1 - a) / (1 + a) * a ** np.arange(size)
    chances[-1] = a ** (size - 1) / (1 + a)
    return np.asarray(chances)


def _total(noise: Floats) -> float:
    """Over all displacements, up and left included."""
    total, top, side = (math.fsum(part.ravel()) for part in (noise, noise[0], noise[:, 0]))
    return 4 * total - 2 * top - 2 * side + float(noise[0, 0])


def _exact_total(words: WordArray) -> int:
    total, top, side = (sum(map(int, part.ravel())) for part in (words, words[0], words[:, 0]))
    return 4 * total - 2 * top - 2 * side + int(words[0, 0])


def _shell_loss(noise: WordArray, sums: list[WordArray], steps: tuple[float, float], epsilon: float) -> float:
    """The smallest epsilon per unit of distance, rounded up.

    On grids of up to 4,096 cells all pairs of cells are compared; on larger ones those up to eight cells
    apart, and for the others the bound stands that the table was made by, if it is the table that is made for
    epsilon.
    """
    rows, columns = noise.shape
    all_pairs = rows * columns <= _ALL_PAIRS or math.isinf(epsilon) or not _is_as_made(noise, steps, epsilon)
    reach = (rows - 1, columns - 1) if all_pairs else (min(_NEAR, rows - 1), min(_NEAR, columns - 1))
    inside, top, side, corner = sums
    arrays = [_mirror(inside, True, True), _mirror(top, False, True), _mirror(side, True, False), corner]
    logs = [logarithms(words) for words in arrays]
    gaps = []
    for down, right in product(range(reach[0] + 1), range(-reach[1], reach[1] + 1)):
        if down == 0 and right <= 0:
            continue
        length = math.hypot(down * steps[0], right * steps[1])
        for kind, log in enumerate(logs):
            first, other = _pair_shifted(log, down, right)
            if first.size:
                gaps.append((float(np.abs(first - other).max()), length, down, right, kind))
    worst = max((gap - _ERROR) / length for gap, length, *_ in gaps)
    best, count = 0.0, 0
    for gap, length, down, right, kind in gaps:
        if (gap + _ERROR) / length < worst:
            continue
        first, other = _pair_shifted(logs[kind], down, right)
        at = np.nonzero(np.abs(first - other) >= gap - 2 * _ERROR)
        count += at[0].size
        if count > _CANDIDATES:
            return math.nextafter(max((gap + _ERROR) / length for gap, length, *_ in gaps), math.inf)
        words, others = (part[at].tolist() for part in _pair_shifted(arrays[kind], down, right))
        ratio = largest_ratio((max(pair), min(pair)) for pair in zip(words, others, strict=True))
        squared = (down * Fraction(steps[0])) ** 2 + (right * Fraction(steps[1])) ** 2
        best = max(best, divided_up(Fraction(log_up(ratio)), square_root_down(squared)))
    if all_pairs:
        return best
    least = Fraction(min(steps))
    bound = Fraction(epsilon) - Fraction(_ROUNDING) / least + Fraction(_ROUNDING) / (least * (_NEAR + 1))
    return max(best, divided_up(bound, Fraction(1)))


def _mirror(words: WordArray, up: bool, left: bool) -> WordArray:
    """Words by displacement in both directions, where both are possible."""
    if up:
        words = np.concatenate([words[:0:-1], words], axis=0)
    return np.concatenate([words[:, :0:-1], words], axis=1) if left else words


def _pair_shifted(
    array: WordArray | Floats, down: int, right: int
) -> tuple[WordArray | Floats, WordArray | Floats]:
    """All pairs of entries that are so far apart."""
    rows, columns = array.shape
    if down >= rows or abs(right) >= columns:
        return array[:0], array[:0]
    first, other = array[: rows - down], array[down:]
    if right >= 0:
        return first[:, : columns - right], other[:, right:]
    return first[:, -right:], other[:, : columns + right]
