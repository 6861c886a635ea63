"""Builds noise on a plane of cells in integers, and computes what it loses per unit of distance."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.exact import log_up
from deniable.metric.certified import checked_budget, divided_up, largest_ratio, logarithms, square_root_down
from deniable.randomness import FULL
from deniable.randomness.draws import WordArray

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
ALL_PAIRS = 1 << 12  # cells of a grid on which all are
_ERROR = 2.0**-44  # more than a difference of two logarithms of words is off by
_CANDIDATES = 4096


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
        raise _too_fine(rows, columns)
    for position, more in ((most, left // times), ((0, 0), left % times)):
        words[position] = int(words[position]) + more
    return words


def _too_fine(rows: int, columns: int) -> InvalidParameter:
    return InvalidParameter(
        f"a grid of {rows} x {columns} cells is too fine for a table out of 2^64; use larger cells"
    )


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
    points, weights = (
        [np.arange(first, _ONE_BY_ONE, dtype=np.float64)],
        [np.ones(max(0, _ONE_BY_ONE - first))],
    )
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


def shell_loss(noise: WordArray, sums: list[WordArray], steps: tuple[float, float], epsilon: float) -> float:
    """The smallest epsilon per unit of distance, rounded up.

    On grids of up to 4,096 cells all pairs of cells are compared; on larger ones those up to eight cells
    apart, and for the others the bound stands that the table was made by, if it is the table that is made for
    epsilon.
    """
    rows, columns = noise.shape
    all_pairs = rows * columns <= ALL_PAIRS or math.isinf(epsilon) or not _is_as_made(noise, steps, epsilon)
    reach = (rows - 1, columns - 1) if all_pairs else (min(_NEAR, rows - 1), min(_NEAR, columns - 1))
    inside, top, side, corner = sums
    arrays = [_mirror(inside, True, True), _mirror(top, False, True), _mirror(side, True, False), corner]
    logs = [logarithms(words) for words in arrays]
    gaps = []
    for down, right in product(range(reach[0] + 1), range(-reach[1], reach[1] + 1)):
        if down == 0 and right <= 0:
            continue
        length = math.hypot(down * steps[0], right * steps[1])
        for number, log in enumerate(logs):
            first, other = _pair_shifted(log, down, right)
            if first.size:
                gaps.append((float(np.abs(first - other).max()), length, down, right, number))
    worst = max((gap - _ERROR) / length for gap, length, *_ in gaps)
    best, count = 0.0, 0
    for gap, length, down, right, number in gaps:
        if (gap + _ERROR) / length < worst:
            continue
        first, other = _pair_shifted(logs[number], down, right)
        at = np.nonzero(np.abs(first - other) >= gap - 2 * _ERROR)
        count += at[0].size
        if count > _CANDIDATES:
            return math.nextafter(max((gap + _ERROR) / length for gap, length, *_ in gaps), math.inf)
        words, others = (part[at].tolist() for part in _pair_shifted(arrays[number], down, right))
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
