"""Builds integer tables that keep a guarantee: every ratio is compared with the budget, tails included."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.exact import exp_down, log_up, positive_epsilon
from deniable.randomness import FULL
from deniable.randomness.draws import WordArray

FLOOR = 1 << 34
"""Outputs of a table have at least this many of the 2^64 words: rounding one moves a loss by less than 1e-10.
"""
LARGEST = 40.0
"""A larger epsilon leaves too few words to everything but the truth."""

_SHIFT = 128
_MASK = (1 << _SHIFT) - 1
_NEAR = 2.0**-44  # far above the error of a difference of two logarithms of words, and far below a loss
_CANDIDATES = 4096
_COMPILE = 1 << 26


def checked_budget(epsilon: float, unit: str = "") -> float:
    """An epsilon that a table out of 2^64 can hold."""
    checked = positive_epsilon(epsilon)
    if checked > LARGEST:
        raise InvalidParameter(
            f"epsilon {epsilon}{unit} is too large for a table out of 2^64; use one of at most {LARGEST:g}"
        )
    return checked


def geometric_tails(n: int, epsilon: float) -> WordArray:
    """tails[m], for m from 0 to n: how many of the 2^64 words go m steps or more to one side (no step counted
    in, for m = 0).

    The number of words for exactly m steps is t(m) = tails[m] - tails[m + 1]. Each t is the last one over
    e^epsilon, rounded up, so that it falls by at most e^epsilon, and ends flat: at one word, or at 1 /
    epsilon of them. The tail behind the last is as large as all ratios of tails need. What is left over goes
    there, too.
    """
    budget = exp_down(checked_budget(epsilon))
    if budget <= 1:
        raise InvalidParameter(f"epsilon {epsilon} is too small: e^epsilon cannot be distinguished from 1")
    fall = -(-(budget.denominator << _SHIFT) // budget.numerator)  # 1 / e^epsilon, rounded up
    # 1 / (e^epsilon - 1), rounded up
    rest = -(-(budget.denominator << _SHIFT) // (budget.numerator - budget.denominator))
    share = (budget - 1) / (budget + 1)
    first = int(FULL * share) & ~1
    while first > 0:
        steps, flat, last = _falling(first, n, fall, rest)
        excess = first + 2 * (sum(steps) - first + flat * steps[-1] + last) - FULL
        if excess <= 0:
            words = np.array([*steps, *[steps[-1]] * flat, last - excess // 2], dtype=np.uint64)
            return np.ascontiguousarray(np.cumsum(words[::-1], dtype=np.uint64)[::-1])
        first -= max(2, math.ceil(excess * share) + 1 & ~1)
    raise InvalidParameter(f"epsilon {epsilon} is too small for a table of {n + 1} values out of 2^64")


def _falling(first: int, n: int, fall: int, rest: int) -> tuple[list[int], int, int]:
    """Numbers of words that fall by at most e^epsilon, how often the last repeats, and the least tail."""
    steps = [first]
    while len(steps) < n:
        following = (steps[-1] * fall + _MASK) >> _SHIFT
        if following == steps[-1]:
            break
        steps.append(following)
    flat = n - len(steps)
    # a tail must be at least t / (e^epsilon - 1): then adding t to it is at most e^epsilon times it
    last, behind = max(1, (steps[-1] * rest + _MASK) >> _SHIFT), flat * steps[-1]
    for words in reversed(steps):
        last = max(last, ((words * rest + _MASK) >> _SHIFT) - behind)
        behind += words
    return steps, flat, last


def largest_ratio(pairs: Iterable[tuple[int, int]]) -> Fraction:
    """The largest quotient, in integers."""
    best, over = 1, 1
    for numerator, other in pairs:
        if numerator * over > best * other:
            best, over = numerator, other
    return Fraction(best, over)


def divided_up(number: Fraction, by: Fraction) -> float:
    """A quotient as a float, rounded up."""
    exact = number / by
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def times_up(number: float, by: float) -> float:
    """A product as a float, rounded up."""
    return divided_up(Fraction(number) * Fraction(by), Fraction(1))


def square_root_down(number: Fraction) -> Fraction:
    """A rational just below a square root."""
    scale = 1 << 2 * max(0, 200 - number.numerator.bit_length() + number.denominator.bit_length())
    return Fraction(math.isqrt(number.numerator * scale // number.denominator), math.isqrt(scale))


def floored(rows: Floats, floor: float = FLOOR / FULL) -> Floats:
    """Rows scaled to sum to one with no entry below the floor; columns of zeros stay as they are.

    A constant floor changes no ratio for the worse: where both entries are below it, they become the same.
    """
    if floor * rows.shape[1] > 0.5:
        raise InvalidParameter(f"{rows.shape[1]:,} outputs are too many for a table out of 2^64")
    used = rows.max(axis=0) > 0
    raised = np.zeros(rows.shape, dtype=bool)
    while True:
        free = np.where(raised | ~used, 0.0, rows).sum(axis=1)
        scale = (1 - floor * raised.sum(axis=1)) / free
        more = used & ~raised & (rows * scale[:, None] < floor)
        if not more.any():
            return np.where(raised, floor, rows * scale[:, None])
        raised |= more


def to_words(rows: Floats) -> WordArray:
    """Rows of probabilities as words that sum to 2^64: each rounded, the rest given to the largest."""
    words = (rows * float(FULL)).astype(np.uint64)
    missing = (np.uint64(0) - words.sum(axis=1, dtype=np.uint64)).view(np.int64)
    at = np.arange(len(words)), rows.argmax(axis=1)
    words[at] = (words[at].view(np.int64) + missing).view(np.uint64)
    return words


def unit_loss(weights: WordArray, distances: Floats) -> float:
    """The smallest epsilon per unit of distance of a table, rounded up.

    Logarithms as floats say which pairs can be the worst; those are compared in fractions.
    """
    logs = logarithms(weights)
    worst = _worst_gaps(logs)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(np.eye(len(logs), dtype=bool), 0.0, worst / distances)
        slack = np.where(np.eye(len(logs), dtype=bool), 0.0, _NEAR / distances)
    if np.isinf(rates).any():
        return math.inf
    top = float((rates - slack).max())
    pairs = np.argwhere(rates + slack >= top)
    if len(pairs) > _CANDIDATES:  # all of them alike: the last digits of logarithms are not worth the time
        return divided_up(Fraction(float((rates + slack).max())), Fraction(1))

    def exact(x: int, other: int) -> float:
        gaps = _gaps(logs, x)[other]
        candidates = np.flatnonzero(gaps >= gaps.max() - 2 * _NEAR)
        ratio = largest_ratio((int(weights[x, y]), int(weights[other, y])) for y in candidates.tolist())
        return divided_up(Fraction(log_up(ratio)), Fraction(float(distances[x, other])))

    return max((exact(x, other) for x, other in pairs.tolist()), default=0.0)


def rate(rows: Floats, distances: Floats) -> float:
    """The smallest epsilon per unit of distance of rows of probabilities, in floats."""
    return _steepest(_worst_gaps(logarithms(rows)), distances)


def rate_at_peaks(rows: Floats, distances: Floats) -> float:
    """The `rate` of channels in which every value's own output is the worst, as in exponential ones."""
    logs = logarithms(rows)
    return _steepest(np.diagonal(logs)[:, None] - logs.T, distances)


def _steepest(gaps: Floats, distances: Floats) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(np.eye(len(gaps), dtype=bool), 0.0, gaps / distances).max())


def logarithms(weights: Floats | WordArray) -> Floats:
    """Natural logarithms; of zero, minus infinity."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights.astype(np.float64)))


def _worst_gaps(logs: Floats) -> Floats:
    """For every pair of inputs, the largest log ratio of an output's probabilities."""
    if logs.size * len(logs) < _COMPILE:
        return np.array([_gaps(logs, x).max(axis=1) for x in range(len(logs))])
    from deniable.metric.loops import worst_gaps

    worst = np.zeros((len(logs), len(logs)))
    worst_gaps(logs, worst)
    return worst


def _gaps(logs: Floats, x: int) -> Floats:
    """Log ratios of every output from x against every other input; 0 for what neither can send."""
    with np.errstate(invalid="ignore"):
        gaps = logs[x] - logs
    return np.where(np.isnan(gaps), 0.0, gaps)


Real = Callable[[float], Floats]
Rate = Callable[[Floats, Floats], float]


def _excess(b: float, real: Real, measure: Rate, distances: Floats, target: float) -> float:
    return measure(real(b), distances) - target


def calibrated(real: Real, distances: Floats, epsilon: float, low: float, measure: Rate = rate) -> WordArray:
    """The integer table of a family of channels that spends epsilon per unit of distance, and not more.

    `real` gives rows of probabilities for a rate up to epsilon, with no entry below the floor. The rate is
    found in floats, a little below epsilon for the rounding to words; the words themselves are then held
    against epsilon.
    """
    from scipy.optimize import brentq

    least = float(distances[~np.eye(len(distances), dtype=bool)].min())
    margin = 2.0**-33 / least
    if epsilon <= 4 * margin:
        raise InvalidParameter(
            f"epsilon {epsilon} is too small for values {least:g} apart, with a table out of 2^64"
        )
    for _ in range(40):
        target = epsilon - margin
        # half of epsilon is low enough for any metric, but for others?
        while measure(real(low), distances) >= target:
            low /= 2
        if measure(real(epsilon), distances) <= target:
            chosen_rate = epsilon
        else:
            bounds = real, measure, distances, target
            chosen_rate = float(brentq(_excess, low, epsilon, bounds, xtol=margin / 16, rtol=1e-14))
        words = to_words(real(chosen_rate))
        if unit_loss(words, distances) <= epsilon:
            return words
        margin, measure = 2 * margin, rate
    raise InvalidParameter(
        f"no table out of 2^64 keeps epsilon {epsilon} for these distances; are they a metric?"
    )
