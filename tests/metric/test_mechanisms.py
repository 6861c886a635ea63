"""Mechanisms that know distances: tables in integers, held against their budget; samplers against their law;
estimates.

Sizes and rates of statistical tests are those of tests/statistics.py. Losses are enumerated here with
fractions, from words that are put through the sampler, and from none of the formulas of the library.
"""

from __future__ import annotations

import itertools
import json
import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.metric import (
    Geometric,
    MetricMechanism,
    PlanarGeometric,
    SquareWave,
    geometric,
    planar_geometric,
    square_wave,
)
from deniable.metric.waves import half_window
from deniable.randomness import FULL
from deniable.randomness.simulated import fixed
from deniable.randomness.words import DrawnRows
from tests import statistics
from tests.cases import by_night
from tests.enumeration import exact_log
from tests.mechanisms.test_every_mechanism import check_batch, check_compiled, compile_loops

Distance = Callable[[int, int], float]
Ends = list[list[tuple[int, int, int]]]


def line(x: int, y: int) -> float:
    return abs(x - y)


def anywhere(x: int, y: int) -> float:
    return 0.0 if x == y else 1.0


def on_grid(columns: int, measure: str, steps: tuple[float, float] = (1.0, 1.0)) -> Distance:
    def distance(x: int, y: int) -> float:
        down, right = (x // columns - y // columns) * steps[0], (x % columns - y % columns) * steps[1]
        return math.hypot(down, right) if measure == "euclidean" else abs(down) + abs(right)

    return distance


class Oblong:
    """A grid whose cells are higher than they are wide."""

    rows, columns, steps = 3, 5, (2.5, 1.0)


MAKERS: dict[str, tuple[Callable[[], MetricMechanism], Distance, float]] = {
    "geometric": (lambda: geometric(5, 0.5), line, 0.5),
    "geometric of two": (lambda: geometric(1, 1.0), line, 1.0),
    "geometric with a flat tail": (lambda: geometric(40, 3.0), line, 3.0),
    "geometric of a tiny epsilon": (lambda: geometric(7, 1e-6), line, 1e-6),
    "planar": (lambda: planar_geometric((3, 4), 0.8), on_grid(4, "euclidean"), 0.8),
    "planar with a floor": (lambda: planar_geometric((4, 5), 6.0), on_grid(5, "euclidean"), 6.0),
    "planar of two": (lambda: planar_geometric((2, 2), 1.0), on_grid(2, "euclidean"), 1.0),
    "planar of oblong cells": (
        lambda: planar_geometric(Oblong(), 0.6),
        on_grid(5, "euclidean", (2.5, 1.0)),
        0.6,
    ),
    "square wave": (lambda: square_wave(1.0, 9), anywhere, 1.0),
    "narrow square wave": (lambda: square_wave(5.0, 6), anywhere, 5.0),
}
EVERY = list(MAKERS)
SLACK = {"planar with a floor": 1e-5, "planar of two": 0.1}
"""Losses that are stated below what was asked for: noise is mixed, or every cell is a corner."""


@cache
def made(name: str) -> MetricMechanism:
    return MAKERS[name][0]()


# The exact law, asked of the sampler.


def ends_of(m: MetricMechanism) -> Ends:
    """For each word of a report: ranges of words with one and the same effect, as first, last and
    how many.
    """
    match m:
        case Geometric():
            sides = [[0, *map(int, m.tails[:0:-1])], [FULL - int(tail) for tail in m.tails[1:]]]
            return [ranges([*sides[0], *sides[1]])]
        case PlanarGeometric():
            return [ranges([0, *map(int, m._ascending)])]
        case SquareWave():
            cuts = {-(-FULL * j // bound) for bound in (m.window, m.k - 1) for j in range(bound)}
            return [ranges([0, m.keep]), ranges(sorted(cuts))]
    raise AssertionError(f"say how {type(m).__name__} samples")


def ranges(starts: list[int]) -> list[tuple[int, int, int]]:
    ends = sorted({start for start in starts if start < FULL})
    return [(start, stop - 1, stop - start) for start, stop in itertools.pairwise([*ends, FULL])]


def sampled(m: MetricMechanism, ends: Ends | None = None) -> list[dict[int, Fraction]]:
    """For each value the probability of every output: one word of each range through the sampler, weighed by
    the range.
    """
    choices = list(itertools.product(*(ends or ends_of(m))))
    weights = [Fraction(math.prod(word[2] for word in choice), FULL ** len(choice)) for choice in choices]
    firsts, lasts = (
        np.array([[word[end] for word in choice] for choice in choices], dtype=np.uint64) for end in (0, 1)
    )
    found = []
    for value in range(m.k):
        values = np.full(len(choices), value)
        reports = [m.encode(values, DrawnRows(words)) for words in (firsts, lasts)]
        assert reports[0].tolist() == reports[1].tolist(), "words of one range have different effects"
        law: dict[int, Fraction] = {}
        for report, weight in zip(reports[0].tolist(), weights, strict=True):
            law[report] = law.get(report, Fraction(0)) + weight
        found.append(law)
    return found


def smallest_epsilon(laws: list[dict[int, Fraction]], distance: Distance) -> tuple[Decimal, Fraction]:
    """The largest logarithm of a ratio per unit of distance, and the largest ratio; infinite where an output
    tells.
    """
    worst, largest = Decimal(0), Fraction(1)
    for x, y in itertools.permutations(range(len(laws)), 2):
        assert laws[x].keys() == laws[y].keys(), (
            "an output is possible from one value only: the loss is infinite"
        )
        ratio = max(laws[x][output] / laws[y][output] for output in laws[x])
        worst = max(worst, exact_log(ratio) / Decimal(distance(x, y)))
        largest = max(largest, ratio)
    return worst, largest


def check_exact(
    m: MetricMechanism, distance: Distance, epsilon: float, slack: float = 1e-9, ends: Ends | None = None
) -> None:
    laws = sampled(m, ends)
    worst, largest = smallest_epsilon(laws, distance)
    assert worst <= Decimal(epsilon) * (1 + Decimal("1e-25")), f"the words lose {worst}, above {epsilon}"
    assert Decimal(m.loss_at(1)) >= worst * (1 - Decimal("1e-25")), (
        "the stated loss is below that of the words"
    )
    assert m.loss_at(1) - float(worst) < 1e-9
    assert m.loss_at(1) <= epsilon
    assert epsilon - m.loss_at(1) < slack
    assert m.ratio >= largest
    assert m.loss() >= float(exact_log(largest)) - 1e-12
    assert m.loss() - float(exact_log(largest)) < 1e-9


@by_night("compiled", [False, True], True, ids=["numpy", "compiled"])
@pytest.mark.parametrize("name", EVERY)
def test_smallest_epsilon_is_the_nominal_one_or_below(
    name: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_loops(monkeypatch, compiled)
    _, distance, epsilon = MAKERS[name]
    check_exact(made(name), distance, epsilon, SLACK.get(name, 1e-9))


@pytest.mark.parametrize("name", EVERY)
def test_law_is_what_is_sampled(name: str) -> None:
    check_sampled_law(made(name))


def check_sampled_law(m: MetricMechanism, ends: Ends | None = None) -> None:
    laws, matrix, exact = sampled(m, ends), m.law.matrix(), m.law.exact()
    assert matrix.shape == (m.k, m.outputs)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-12)
    for value, law in enumerate(laws):
        total = sum(exact.weights[value])
        assert {y: Fraction(weight, total) for y, weight in enumerate(exact.weights[value])} == law
        np.testing.assert_allclose(matrix[value], [float(law[y]) for y in range(m.outputs)], rtol=1e-12)
    assert math.isclose(m.success(), exact.success(), rel_tol=1e-12)
    prior = np.random.default_rng(1).dirichlet(np.ones(m.k))
    assert math.isclose(m.success(prior), exact.success(prior), rel_tol=1e-12)
    np.testing.assert_allclose(m.law.forward(prior), prior @ matrix, rtol=1e-10)
    np.testing.assert_allclose(m.law.log_likelihood(1), np.log(matrix[:, 1]))


@settings(max_examples=60)
@given(n=st.integers(1, 25), epsilon=st.floats(1e-4, 12.0))
def test_any_geometric_keeps_its_epsilon(n: int, epsilon: float) -> None:
    m = geometric(n, epsilon)
    weights = m.law.exact().weights
    assert {sum(row) for row in weights} == {FULL}
    for one, other in itertools.pairwise(weights):
        ratio = max(max(Fraction(a, b), Fraction(b, a)) for a, b in zip(one, other, strict=True))
        assert exact_log(ratio) <= Decimal(epsilon)
    assert epsilon - m.loss_at(1) < 1e-9


@pytest.mark.parametrize(
    "tails", [[1000, 600, 590, 581, 573, 572, 571], [1000, 800, 799, 798], [1000, 900], [1000, 500, 400]]
)
def test_loss_at_every_distance_of_any_table(tails: list[int]) -> None:
    """What counts up to so far apart lose: the two ends may lose less than their neighbors."""
    words = [tail * FULL // (tails[0] + tails[1]) for tail in tails]
    m = Geometric(np.array([FULL - words[1], *words[1:]], dtype=np.uint64))
    laws, ratio = m.law.exact().weights, Fraction(1)
    assert m.loss_at(0) == 0
    for distance in range(1, m.n + 1):
        pairs = [(laws[x], laws[x + distance]) for x in range(m.k - distance)]
        found = max(
            max(Fraction(a, b), Fraction(b, a))
            for one, other in pairs
            for a, b in zip(one, other, strict=True)
        )
        ratio = max(ratio, found)
        assert exact_log(ratio) <= Decimal(m.loss_at(distance)) < exact_log(ratio) + Decimal("1e-9")


def test_no_distance_loses_more_than_the_worst_case() -> None:
    for m in (planar_geometric((3, 4), 1.0),):
        assert m.loss_at(1e6) == m.loss()
        assert m.loss_at(1) <= 1 < m.loss()
        assert m.loss_at(1) == m.loss_per(1)
        assert math.isclose(m.loss_per(1e6), 1e6 * m.loss_per(1)), (
            "what is stated per unit is a rate, whatever the worst case"
        )


@pytest.mark.parametrize(("n", "epsilon"), [(1000, 0.1), (1000, 2.0), (100_000, 0.01), (100, 20.0)])
def test_large_tables_in_integers(n: int, epsilon: float) -> None:
    """All ratios of neighbors, by the same integers that are sampled: multiplied out, no float."""
    m = geometric(n, epsilon)
    numerator, denominator = Fraction(Decimal(epsilon).exp()).limit_denominator(10**25).as_integer_ratio()
    limit = Fraction(numerator, denominator) * (1 + Fraction(1, 10**20))
    for words in (m.tails.tolist(), m.steps.tolist()):
        assert all(
            b >= 1 and a >= b and a * limit.denominator <= b * limit.numerator
            for a, b in itertools.pairwise(words)
        )
    assert int(m.tails[0]) + int(m.tails[1]) == FULL
    assert 0 <= epsilon - m.loss_at(1) < 1e-9


def test_both_losses_are_shown() -> None:
    for name in EVERY:
        assert "loses" in repr(made(name))
    assert repr(geometric(10, 0.5)) == "Geometric(counts 0 to 10: loses 0.5 per unit, 5 in the worst case)"


# Vectors of the specification.


def test_vector_of_the_specification() -> None:
    """a = 1/2, n = 3."""
    m = geometric(3, math.log(2))
    rows = np.array([[8, 2, 1, 1], [4, 4, 2, 2], [2, 2, 4, 4], [1, 1, 2, 8]]) / 12
    inverse = [[2, -1, 0, 0], [-2, 5, -2, 0], [0, -2, 5, -2], [0, 0, -1, 2]]
    np.testing.assert_allclose(m.law.matrix(), rows, atol=1e-15)
    np.testing.assert_allclose(np.linalg.inv(m.law.matrix()), inverse, atol=1e-13)
    np.testing.assert_allclose(m._inverse(np.array([0.4, 0.3, 0.2, 0.1])), [0.2, 0.7, 0.3, -0.2], atol=1e-14)


def test_geometric_is_noise_that_is_clamped() -> None:
    m, a = geometric(100, 0.5), math.exp(-0.5)
    i, j = np.indices((101, 101))
    ideal = np.where((j == 0) | (j == 100), 1 / (1 + a), (1 - a) / (1 + a)) * a ** np.abs(i - j)
    np.testing.assert_allclose(m.law.matrix(), ideal, rtol=0, atol=2.0**-50)


def test_planar_is_noise_that_is_clamped() -> None:
    """The law by its definition: e^(-epsilon |z|) on the whole plane, clamped."""
    rows, columns, epsilon, reach = 3, 4, 0.8, 70
    z = np.arange(-reach, reach + 1)
    noise = np.exp(-epsilon * np.hypot(z[:, None], z))
    noise /= noise.sum()
    matrix = made("planar").law.matrix().reshape(rows, columns, rows, columns)
    for r, c in itertools.product(range(rows), range(columns)):
        wanted = np.zeros((rows, columns))
        at = np.clip(r + z, 0, rows - 1), np.clip(c + z, 0, columns - 1)
        np.add.at(wanted, (at[0][:, None], at[1][None, :]), noise)
        np.testing.assert_allclose(matrix[r, c], wanted, rtol=1e-8)


def test_floor_of_a_plane_costs_little() -> None:
    """What is mixed in is nearly nothing, and every cell is possible from every other."""
    m = planar_geometric((30, 40), 2.0)
    assert isinstance(m, PlanarGeometric)
    near = m.noise[:5, :5] / FULL
    ideal = np.exp(-2.0 * np.hypot(np.arange(5)[:, None], np.arange(5)))
    np.testing.assert_allclose(near / near[0, 0], ideal / ideal[0, 0], rtol=1e-2)
    np.testing.assert_allclose(near[:2, :2] / near[0, 0], ideal[:2, :2], rtol=1e-5)
    assert m.noise.min() >= 2**32 - 1
    assert 0 <= 2.0 - m.loss_at(1) < 1e-6


@pytest.mark.long
def test_large_planes_state_a_bound_that_holds() -> None:
    """Beyond 4,096 cells far pairs are bounded, not compared: compare some of them here; a table that was
    changed, all.
    """
    m = planar_geometric((140, 30), 0.7)
    assert isinstance(m, PlanarGeometric)
    assert 0 <= 0.7 - m.loss_at(1) < 1e-9
    distance = on_grid(30, "euclidean")
    pairs = np.random.default_rng(3).integers(0, m.k, size=(150, 2))
    for x, y in pairs[pairs[:, 0] != pairs[:, 1]].tolist():
        one, other = m._weights(x), m._weights(y)
        assert sum(one) == sum(other) == FULL
        ratio = max(Fraction(a, b) for a, b in zip(one, other, strict=True))
        assert exact_log(ratio) <= Decimal(m.loss_at(1)) * Decimal(distance(x, y)) * (1 + Decimal("1e-15"))
    noise = m.noise.copy()
    noise[0, 0], noise[20, 10] = noise[0, 0] - 4 * noise[20, 10], 2 * noise[20, 10]
    assert PlanarGeometric(noise, m.steps, m.epsilon).loss_at(1) > 1.2, (
        "a table with a bump is not what was made"
    )


# Samplers follow their law.


def check_law(
    m: MetricMechanism,
    words: dn.randomness.Words,
    law: MetricMechanism,
    reports: int = statistics.LAW_REPORTS,
) -> float:
    """Some values' reports against how likely every output is by a law."""
    values = sorted({0, m.k // 3, m.k // 2, m.k - 1})
    seen = [np.bincount(m.privatize(np.full(reports, value), words), minlength=m.outputs) for value in values]
    wanted = law.law.matrix()[values] * reports
    return statistics.goodness_of_fit(np.array(seen), wanted, "outputs", groups=len(values))


MOVED: dict[str, Callable[[float], MetricMechanism]] = {
    "geometric": lambda by: geometric(5, 0.5 * by),
    "planar": lambda by: planar_geometric((3, 4), 0.8 * by),
    "square wave": lambda by: SquareWave(9, made("square wave").window, int(made("square wave").keep * by)),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("name", MOVED)
def test_a_moved_law_is_found(name: str) -> None:
    """A rate, or a probability, that is off by twice the stated one percent."""
    check_law(made(name), dn.seeded(1), made(name))
    with pytest.raises(AssertionError, match="outputs"):
        check_law(MOVED[name](1 + 2 * statistics.MOVED_LAW), dn.seeded(1), made(name))


@pytest.mark.parametrize("name", ["geometric", "planar", "square wave"])
def test_system_words_follow_the_law(name: str) -> None:
    m, reports = made(name), statistics.SYSTEM_REPORTS
    seen = np.bincount(m.privatize(np.full(reports, 1), dn.randomness.system()), minlength=m.outputs)
    wanted = m.law.matrix()[1] * reports
    statistics.goodness_of_fit(seen, wanted, "outputs", alpha=statistics.SYSTEM_ALPHA)


# The far tail, where probabilities are a few words of 2^64.


def plain_table(n: int, epsilon: float) -> Geometric:
    """The planted fault: probabilities times 2^64, rounded down. The far tail has none."""
    a = Decimal(-epsilon).exp()
    tails = [int(FULL * a**m / (1 + a)) for m in range(n + 1)]
    tails[0] = FULL - tails[1]
    m = object.__new__(Geometric)
    object.__setattr__(m, "tails", np.array(tails, dtype=np.uint64))
    return m


def check_tail(m: Geometric, law: Geometric, words: int = 64) -> float:
    """Reports of the largest count from the lowest words only, against the law given that a word is one of
    them.
    """
    reports = statistics.LAW_REPORTS
    low = np.random.default_rng(8).integers(0, words, size=reports, dtype=np.uint64)
    seen = np.bincount(m.privatize(np.full(reports, m.n), fixed(low)), minlength=m.k)
    tails = np.minimum(np.append(law.tails, np.uint64(0)), np.uint64(words)).astype(float)
    wanted = (tails[:-1] - tails[1:])[::-1] / words * reports
    return statistics.goodness_of_fit(seen, wanted, "far tail")


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_far_tail_follows_its_law(epsilon: float) -> None:
    m = geometric(100, epsilon)
    assert m.steps.min() >= 1
    check_tail(m, m)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_plain_table_is_found(epsilon: float) -> None:
    """A plain table of 64 bits: by the far tail's law, by the exact loss, and by the class itself."""
    plain = plain_table(100, epsilon)
    assert int(plain.tails[-1]) == 0
    with pytest.raises(AssertionError, match="far tail"):
        check_tail(plain, geometric(100, epsilon))
    with pytest.raises(AssertionError, match="the loss is infinite"):
        smallest_epsilon(sampled(plain), line)
    with pytest.raises(dn.InvalidParameter, match="every output must be possible"):
        Geometric(plain.tails)


def test_plain_table_without_zeros_is_found() -> None:
    """Rounded to the nearest word where all are positive: rounding alone breaks the ratio."""
    a = Decimal(-1).exp()
    tails = [int(FULL * a**m / (1 + a)) for m in range(41)]
    tails[0] = FULL - tails[1]
    m = object.__new__(Geometric)
    object.__setattr__(m, "tails", np.array(tails, dtype=np.uint64))
    with pytest.raises(AssertionError, match="above 1"):
        check_exact(m, line, 1.0)


# Batches, bulk loops, tallies.


@pytest.mark.parametrize("name", EVERY)
def test_batch_equals_one_by_one(name: str) -> None:
    check_batch(made(name), seed=8)


@pytest.mark.parametrize(
    "maker",
    [
        lambda: geometric(1, 0.3),
        lambda: geometric(100, 0.05),
        lambda: geometric(300, 2.0),
        lambda: geometric(70_000, 0.001),
        lambda: planar_geometric((20, 17), 0.3),
        lambda: square_wave(1.0, 300),
    ],
)
def test_compiled_loops_equal_numpy(
    maker: Callable[[], MetricMechanism], monkeypatch: pytest.MonkeyPatch
) -> None:
    check_loops(maker(), monkeypatch)


def check_loops(m: MetricMechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, tally = check_compiled(m, 2 * (1 << 17) + 17, monkeypatch)
    assert tally.counts.tolist() == np.bincount(plain, minlength=m.outputs).tolist()
    extreme = np.array([0, 1, 2**63 - 1, 2**63, FULL - 2, FULL - 1] * 2 * m.words, dtype=np.uint64).reshape(
        -1, m.words
    )
    some = np.arange(len(extreme)) % m.k
    slow = m.blank(len(some))
    m._encode(some, extreme, slow)
    quick = m.blank(len(some))
    m._encode_compiled(some, DrawnRows(extreme), quick)
    assert slow.tolist() == quick.tolist()


def test_tallies_and_reports_that_cannot_be() -> None:
    m = made("geometric")
    reports = m.privatize([0, 1, 2, 3, 4, 5] * 50, dn.seeded(2))
    a, b = m.tally(reports[:100]), m.tally(reports[100:])
    assert a + b == m.tally(reports)
    assert a + b - b == a
    with pytest.raises(dn.InvalidReport, match="from 0 to 5"):
        m.tally(np.array([6], dtype=np.uint8))
    with pytest.raises(dn.InvalidReport, match="uint8"):
        m.tally(np.array([1], dtype=np.float64))
    for wrong in ([6], [-1], [1.0], [True]):
        with pytest.raises(dn.InvalidValue):
            m.privatize(wrong)
    with pytest.raises(dn.InvalidReport, match="made from a tally"):
        m.estimate(reports)  # type: ignore[arg-type]
    with pytest.raises(dn.InvalidReport, match="6 outputs"):
        m.estimate(dn.Tally(3, np.array([1, 2])))


def test_support_of_a_square_wave() -> None:
    m = square_wave(1.0, 9)
    holds = m.support(np.arange(m.outputs, dtype=np.uint8))
    assert (holds == (m.law.matrix() > m.law.matrix().mean()).T).all()


@pytest.mark.parametrize("name", EVERY)
def test_values_of_mechanisms(name: str) -> None:
    """They are compared by their integers, can be looked up, and pickled."""
    m = made(name)
    again = pickle.loads(pickle.dumps(m))
    assert again == m == MAKERS[name][0]()
    assert hash(again) == hash(m)
    assert m not in [made(other) for other in EVERY if other != name]
    assert again.loss_at(1) == m.loss_at(1)


# Estimates.


def check_estimates(
    m: MetricMechanism, shares: np.ndarray[tuple[int], np.dtype[np.float64]], population: str, by: float = 1.0
) -> None:
    """Scatter about the truth, as a share of the stated variance (times `by`)."""
    assert population in ("sampled", "fixed")
    repeats, n = statistics.REPEATS, statistics.REPEAT_REPORTS
    if population == "fixed":
        values = np.tile(np.repeat(np.arange(m.k), np.round(shares * n).astype(int)), repeats)
        variance = m.law.variance(n, shares, "fixed")
    else:
        values = np.random.default_rng(4).choice(m.k, size=repeats * n, p=shares)
        variance = m.law.variance(n, shares)
    found = np.array(
        [
            m.estimate(m.tally(part)).frequencies
            for part in np.split(m.privatize(values, dn.seeded(6)), repeats)
        ]
    )
    if m.k == m.outputs:
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-9)
    squares = ((found - shares) ** 2 / (variance * by)).sum(axis=0)
    for value, one in enumerate(squares.tolist()):
        statistics.spread(one, repeats, f"scatter of the estimate of {value}, {population}")
        error = math.sqrt(variance[value] / repeats)
        statistics.deviation(
            float(found[:, value].mean()), shares[value], error, f"mean of the estimates of {value}"
        )


SHARES = {6: np.array([0.4, 0.25, 0.15, 0.1, 0.07, 0.03])}
SHARES[12] = np.repeat(SHARES[6], 2) / 2
SHARES[9] = np.array([0.2, 0.16, 0.14, 0.12, 0.1, 0.1, 0.08, 0.06, 0.04])
ESTIMATED = ["geometric", "planar", "square wave"]


@by_night("population", ["sampled", "fixed"], "fixed")
@pytest.mark.parametrize("name", ESTIMATED)
def test_estimates_scatter_as_they_say(name: str, population: str) -> None:
    m = made(name)
    shares = np.round(SHARES[m.k] * statistics.REPEAT_REPORTS) / statistics.REPEAT_REPORTS
    check_estimates(m, shares / shares.sum(), population)


def test_a_wrong_variance_is_found() -> None:
    with pytest.raises(AssertionError, match="of the variance"):
        check_estimates(made("geometric"), SHARES[6], "sampled", by=2.0)


def test_estimate_has_errors_and_intervals() -> None:
    m = geometric(50, 1.0)
    values = dn.randomness.below(dn.seeded(1).take(100_000), 20)
    estimate = m.estimate(m.tally(m.privatize(values, dn.seeded(2))))
    truth = np.where(np.arange(51) < 20, 0.05, 0.0)
    stated = np.sqrt(m.law.variance(estimate.n, truth))
    np.testing.assert_allclose(estimate.stderr[:25], stated[:25], rtol=0.1)
    assert (estimate.stderr > 0).all(), "a count that nobody reports still has an error"
    low, high = estimate.interval(0.999999, simultaneous=True)
    assert ((low <= truth) & (truth <= high)).all()
    assert estimate.project("isotonic").min() >= 0
    assert len(estimate.frame(backend="pandas")) == 51
    assert "95 % Wilson intervals" in str(estimate)


@pytest.mark.parametrize(("n", "epsilon"), [(1, 1.0), (2, 0.2), (100, 0.1), (1000, 0.5)])
def test_inverse_of_the_table_in_linear_time(n: int, epsilon: float) -> None:
    """The inverse is that of the table, not of the ideal: the table's outputs give the shares back."""
    m = geometric(n, epsilon)
    shares = np.random.default_rng(1).dirichlet(np.ones(n + 1))
    outputs = m.forward(shares)
    np.testing.assert_allclose(outputs, m.law.forward(shares), atol=1e-15)
    np.testing.assert_allclose(m._inverse(outputs), shares, atol=1e-13 / epsilon**2)
    dense = np.linalg.inv(m.law.matrix()).T ** 2 @ outputs
    np.testing.assert_allclose(m._squares(outputs), dense, rtol=1e-6)


def staircase(n: int, width: int, epsilon: float) -> Geometric:
    """A table that falls only every few steps: private, but not geometric."""
    heights = np.exp(-epsilon * (np.arange(n) // width))
    chances = np.append(heights, heights[-1] / epsilon)
    words = [int(chance * 2.0**62 / chances.sum()) for chance in chances.tolist()]
    tails = np.cumsum(words[::-1])[::-1].tolist()
    return Geometric(np.array([FULL - tails[1], *tails[1:]], dtype=np.uint64))


def test_any_falling_table_is_estimated_by_itself() -> None:
    """Formulas of geometric noise are for tables that are geometric but for rounding: these are, and a
    staircase is not.
    """
    for n, epsilon in itertools.product(
        (1, 2, 10, 100, 4095, 100_000), (1e-12, 1e-6, 1e-3, 0.1, 1.0, 12.0, 40.0)
    ):
        assert geometric(n, epsilon).is_geometric
    m = staircase(30, 3, 1.0)
    assert not m.is_geometric
    shares, points = np.random.default_rng(1).dirichlet(np.ones(31)), np.arange(31.0)
    matrix = m.law.matrix()
    np.testing.assert_allclose(m._inverse(shares @ matrix), shares, atol=1e-9)
    inverse = np.linalg.inv(matrix)
    np.testing.assert_allclose(m._squares(shares), inverse.T**2 @ shares, rtol=1e-9)
    np.testing.assert_allclose(m._weighing(points), inverse @ points, rtol=1e-9)


def test_tiny_epsilons_keep_their_digits() -> None:
    """Nothing is left of 1 - a where a is rounded first."""
    for epsilon in (1e-9, 1e-13, 1e-15, 1e-17):
        m = geometric(3, epsilon)
        assert math.isclose(m.rate, epsilon, rel_tol=1e-2 if epsilon < 1e-16 else 1e-3)
        tally = dn.Tally(4, np.array([1, 1, 1, 1]))
        assert np.isfinite(m.estimate(tally).frequencies).all()
        ideal = -math.exp(-epsilon) / -math.expm1(-2 * epsilon)
        assert math.isclose(m._ideal.kernel.diagonals[1][0], ideal, rel_tol=1e-2 if epsilon < 1e-16 else 1e-3)
    assert math.isclose(geometric(3, 20.0).rate, 20.0, rel_tol=1e-9)


def test_estimate_of_many_counts() -> None:
    """100,001 values: no matrix is ever made."""
    m = geometric(100_000, 0.5)
    values = dn.randomness.below(dn.seeded(1).take(200_000), m.k)
    estimate = m.estimate(m.tally(m.privatize(values, dn.seeded(2))))
    assert math.isclose(estimate.frequencies.sum(), 1, rel_tol=1e-9)
    truth = np.bincount(values.astype(np.int64), minlength=m.k) / values.size
    z = (estimate.frequencies - truth) / np.sqrt(m.law.of._squares(np.full(m.k, 1 / m.k)) / values.size)
    assert 0.9 < np.mean(z**2) < 1.1
    with pytest.raises(
        dn.InvalidParameter, match=r"out as floats: at most 16,777,216 entries are \(4,096 x 4,096\)"
    ):
        m.law.matrix()


@pytest.mark.parametrize("m", [geometric(60, 3.0), planar_geometric([4, 5], 1.0)])
def test_products_are_those_of_the_matrix(m: MetricMechanism) -> None:
    shares = np.random.default_rng(1).dirichlet(np.ones(m.k))
    assert np.allclose(m.law.forward(shares), shares @ m.law.matrix(), rtol=1e-12)
    with pytest.raises(dn.InvalidParameter, match=f"shares are {m.k} numbers"):
        m.forward(shares[1:])


def test_products_of_tables_that_are_not_geometric_are_exact() -> None:
    """A Fourier transform of all of it would give negative chances."""
    steps = [int(2**60 * math.exp(-((m / 4) ** 2) / 2)) + 1 for m in range(1, 41)]
    tails = [sum(steps[m:]) for m in range(40)]
    m = Geometric(np.array([FULL - tails[0], *tails], dtype=np.uint64))
    assert not m.is_geometric
    shares = np.eye(m.k)[0]
    assert np.allclose(m.law.forward(shares), m.law.matrix()[0], rtol=1e-14, atol=0)


# What is refused.


def old_loss(m: Any, *given: float, **named: float) -> object:
    return m.loss(*given, **named)


def test_parameters_that_are_refused() -> None:
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: geometric(0, 1.0), "n, the largest count"),
        (lambda: geometric(10, 0.0), "positive"),
        (lambda: geometric(10, 41.0), "too large"),
        (lambda: geometric(10, 1e-70), "too small"),
        (lambda: geometric(10, 1e-19), "too small"),
        (lambda: geometric(10, 0.5).loss_at(11), "from 1 to 10"),
        (lambda: old_loss(geometric(10, 0.5), distance=1), "give the distance to loss_at"),
        (lambda: old_loss(geometric(10, 0.5), 1), "give the distance to loss_at"),
        (lambda: Geometric(np.array([2**63, 2**63], dtype=np.uint64)), "must be positive, and fall"),
        (lambda: planar_geometric(5, 1.0), "a number of rows and one of columns"),  # type: ignore[arg-type]
        (lambda: planar_geometric((1, 5), 1.0), "number of rows"),
        (
            lambda: planar_geometric((5, 5), 1e-5),
            "too small for a grid of 5 x 5 cells.* use a larger epsilon",
        ),
        (lambda: square_wave(1.0, 1), "bins"),
        (lambda: SquareWave(9, 3, 5), "likelier than the rest"),
    ]
    for make, message in cases:
        with pytest.raises(dn.InvalidParameter, match=message):
            make()


# Square waves by their formulas.


@pytest.mark.parametrize(("epsilon", "b"), [(0.5, 0.358155), (1.0, 0.256083), (2.0, 0.129337)])
def test_square_wave_formulas(epsilon: float, b: float) -> None:
    assert round(half_window(epsilon), 6) == b
    m = square_wave(epsilon, 64)
    half = int(b * 64)
    assert (m.window, m.outputs) == (2 * half + 1, 64 + 2 * half)
    bottom = (2 * half + 1) * math.exp(epsilon) + 63
    matrix = m.law.matrix()
    assert math.isclose(matrix.max(), math.exp(epsilon) / bottom, rel_tol=1e-9)
    assert math.isclose(matrix.min(), 1 / bottom, rel_tol=1e-9)


def test_half_window_has_no_cliff() -> None:
    widths = [half_window(epsilon) for epsilon in (1e-8, 1e-4, 1e-2, 1.999999, 2.000001, 20.0, 100.0)]
    assert math.isclose(widths[0], 0.5, rel_tol=1e-7)
    assert math.isclose(widths[3], widths[4], rel_tol=1e-5)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] > 0


@pytest.mark.parametrize(
    "m", [dn.metric.geometric(4, 1.0), dn.grr(5, 1.0), dn.metric.square_wave(1.0, 20), dn.hr(5, 1.0)]
)
def test_reports_that_went_through_a_list_are_counted_alike(m: Any) -> None:
    reports = m.privatize(np.arange(100) % m.k, dn.seeded(1))
    for again in (
        reports.tolist(),
        reports.astype(np.int64),
        reports.astype(np.uint16),
        json.loads(json.dumps(reports.tolist())),
    ):
        assert m.tally(again) == m.tally(reports)
    assert m.tally([]).n == 0
    assert m.tally([]) + m.tally(reports) == m.tally(reports)
    first = reports[:1].astype(np.int64)
    for wrong in (
        first * 0 - 1,
        first * 0 + 256 * 256,
        first.astype(float),
        first.astype(str),
        [[1], [2, 3]],
        [None],
        first + 300,
    ):
        with pytest.raises(dn.InvalidReport):
            m.tally(wrong)
    with pytest.raises(dn.InvalidReport, match="got 256"):
        m.tally(first * 0 + 256)
