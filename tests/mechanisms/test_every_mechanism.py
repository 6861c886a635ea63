"""What must hold of every mechanism, checked for every row of PROTOCOLS: a new row is picked up with no edit
here.

The checks are plain functions of a mechanism, so that tests/mechanisms/test_faults.py can show that each of
them fails on the planted faults it is meant to find.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from operator import mul
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.arrays import Array
from deniable.mechanisms import SubsetShape
from deniable.randomness import FULL
from deniable.randomness.simulated import fixed
from spec.make.subsets import listed
from tests import statistics
from tests.cases import by_night
from tests.faults import shape_of

Maker = Callable[[int, float], dn.mechanisms.SetMechanism]

OTHERS: dict[str, Maker] = {
    "ue with p = 0.7": lambda k, epsilon: dn.mechanisms.ue(k, epsilon, 0.7),
    "lh with g = 5": lambda k, epsilon: dn.mechanisms.lh(k, epsilon, 5),
    "ss of half, listed": lambda k, epsilon: listed(dn.ss(k, epsilon, (k + 1) // 2)),
    "the at 0.75": lambda k, epsilon: dn.mechanisms.the(k, epsilon, 0.75),
}
"""Choices of numbers that no row makes: large subsets, a p above one half, a number of buckets that does not
divide 2^64.
"""

MAKERS: dict[str, Maker] = {name: row.make for name, row in dn.PROTOCOLS.items()} | OTHERS
EVERY = list(MAKERS)
ALIKE = ("sue", "the", "blh", "aue", "ass", "alh", "athe", "adaptive", "the at 0.75")
"""Rows whose reports have the form of another row: what depends on the form alone is tried on these by night.
"""

PRIME = 2**31 - 1
SMALL = [(2, 1.0), (3, 0.1), (4, 0.5), (4, 2.0), (5, 0.5), (5, 1.3)]
"""k and epsilon whose outcomes are all enumerated (at k = 4 and 5, epsilon = 0.5, subsets have two members).
"""
CORNERS = [(k, epsilon) for k in (2, 3, 10_000) for epsilon in (1e-4, 1e-3, 0.1, 1.0, math.log(3), 5.0, 20.0)]
SHARES = np.array([0.4, 0.25, 0.15, 0.1, 0.07, 0.03])


@cache
def made(name: str, k: int, epsilon: float) -> dn.mechanisms.SetMechanism:
    return MAKERS[name](k, epsilon)


def compile_loops(patch: pytest.MonkeyPatch, compiled: bool) -> None:
    """Send every batch, however small, to the compiled loops and to all cores; or none, however large."""
    patch.setattr("deniable.mechanisms.blocks.COMPILE", 1 if compiled else 1 << 62)
    patch.setattr("deniable.mechanisms.blocks.PARALLEL", 1 if compiled else 1 << 62)


def as_bytes(reports: Array) -> list[bytes]:
    return [report.tobytes() for report in reports]


# 1. The sampler follows its law.


def check_law(
    m: dn.mechanisms.Mechanism,
    words: dn.randomness.Words,
    reports: int = statistics.LAW_REPORTS,
    alpha: float = statistics.ALPHA,
) -> float:
    """Every value's reports, counted by what they support, against the law; gives the statistic."""
    sent = [m.privatize(np.full(reports, value), words) for value in range(m.k)]
    match shape_of(m):
        case dn.mechanisms.Hashed() as shape:
            return _check_buckets(m, shape, sent, alpha)
        case dn.mechanisms.Hadamard() as shape:
            return _check_columns(m, shape, sent, alpha)
        case dn.mechanisms.Pooled() as shape:
            return _check_pool(m, shape, sent, alpha)
    return _check_support_sets(m, sent, alpha)


def _check_support_sets(m: dn.mechanisms.Mechanism, sent: list[Array], alpha: float) -> float:
    """All 2^k sets for every value; a set that the law rules out must never be seen."""
    assert isinstance(m.law, dn.law.Law)
    powers = 1 << np.arange(m.k)
    likelihoods = [m.law.log_likelihood(size) for size in range(m.k + 1)]
    seen, wanted = [], []
    for value, reports in enumerate(sent):
        seen.append(np.bincount(m.support(reports) @ powers, minlength=1 << m.k))
        inside = [
            math.exp(likelihoods[code.bit_count()][0 if code >> value & 1 else 1]) for code in range(1 << m.k)
        ]
        assert math.isclose(sum(inside), 1.0, rel_tol=1e-12)
        wanted.append(np.array(inside) * len(reports))
    return statistics.goodness_of_fit(
        np.array(seen), np.array(wanted), "support sets", groups=m.k, alpha=alpha
    )


def _check_buckets(
    m: dn.mechanisms.Mechanism, shape: dn.mechanisms.Hashed, sent: list[Array], alpha: float
) -> float:
    """The function is uniform whatever the value; around its bucket the report is randomized response over
    all g.
    """
    assert isinstance(m.law, dn.law.Law)
    g, p, own = shape.g, m.law.p, 0
    seen, wanted = [], []
    for value, reports in enumerate(sent):
        a, b = reports["a"].astype(np.int64), reports["b"].astype(np.int64)
        assert a.min() >= 1
        assert max(a.max(), b.max()) < PRIME
        for cells, what in ((a * 16 // PRIME * 16 + b * 16 // PRIME, "high"), (a % 16 * 16 + b % 16, "low")):
            expected = np.full(256, len(reports) / 256)
            statistics.goodness_of_fit(
                np.bincount(cells, minlength=256), expected, f"{what} bits of a and b", alpha=alpha
            )
        true = (a * (value + 1) + b) % PRIME % g
        table = np.bincount(true * g + reports["bucket"], minlength=g * g).reshape(g, g)
        seen.append(table)
        wanted.append(table.sum(axis=1, keepdims=True) * np.where(np.eye(g), p, (1 - p) / (g - 1)))
        counts = m.tally(reports).counts
        own += counts[value]
        for other in range(m.k):
            mean = p if other == value else m.law.q
            error = math.sqrt(len(reports) * mean * (1 - mean))
            statistics.deviation(
                counts[other], mean * len(reports), error, f"support of {other} by {value}", alpha
            )
    n = sum(map(len, sent))
    statistics.deviation(own, n * p, math.sqrt(n * p * (1 - p)), "support of the true value", alpha)
    return statistics.goodness_of_fit(
        np.array(seen), np.array(wanted), "buckets", groups=m.k * g, alpha=alpha
    )


def _check_columns(
    m: dn.mechanisms.Mechanism, shape: dn.mechanisms.Hadamard, sent: list[Array], alpha: float
) -> float:
    """Every column for every value; then sizes of supports, averaged over values, against the law."""
    assert isinstance(m.law, dn.law.Law)
    columns, p = 1 << shape.bits, m.law.p
    seen, wanted = [], []
    sizes = np.zeros((2, m.k + 1))
    for value, reports in enumerate(sent):
        agrees = np.array([((value + 1) & column).bit_count() % 2 == 0 for column in range(columns)])
        seen.append(np.bincount(reports, minlength=columns))
        wanted.append(np.where(agrees, 2 * p / columns, 2 * (1 - p) / columns) * len(reports))
        holds = m.support(reports)
        np.add.at(sizes, ((~holds[:, value]).astype(int), holds.sum(axis=1)), 1)
    expected = np.zeros((2, m.k + 1))
    expected[:, m.law.sizes] = m.law.inside, m.law.outside
    statistics.goodness_of_fit(sizes, expected * sizes.sum(), "sizes of supports", alpha=alpha)
    return statistics.goodness_of_fit(np.array(seen), np.array(wanted), "columns", groups=m.k, alpha=alpha)


def _check_pool(
    m: dn.mechanisms.Mechanism, shape: dn.mechanisms.Pooled, sent: list[Array], alpha: float
) -> float:
    """Every function and bucket for every value, by the definition of the pool; and what reports support."""
    assert isinstance(m.law, dn.law.Law)
    g, p = shape.g, m.law.p
    functions = pool_functions(shape)
    seen, wanted = [], []
    for value, reports in enumerate(sent):
        digits = [value // g**place % g for place in range(len(functions[0]))]
        true = np.array([sum(map(mul, one, digits)) % g for one in functions])
        seen.append(np.bincount(reports, minlength=len(functions) * g).reshape(-1, g))
        held = true[:, None] == np.arange(g)
        wanted.append(np.where(held, p, (1 - p) / (g - 1)) * len(reports) / len(functions))
        counts = m.tally(reports).counts
        for other in range(m.k):
            mean = p if other == value else m.law.q
            error = math.sqrt(len(reports) * mean * (1 - mean))
            statistics.deviation(
                counts[other], mean * len(reports), error, f"support of {other} by {value}", alpha
            )
    return statistics.goodness_of_fit(np.array(seen), np.array(wanted), "buckets", groups=m.k, alpha=alpha)


def pool_functions(shape: dn.mechanisms.Pooled) -> list[tuple[int, ...]]:
    """The functions of a pool by their multiples of digits, the last of which that is not 0 is 1, in order of
    the numbers that the multiples are in base g.
    """
    digits = 2
    while shape.g**digits < shape.k:
        digits += 1
    every = (tuple(reversed(some)) for some in itertools.product(range(shape.g), repeat=digits))
    return [some for some in every if any(some) and [one for one in some if one][-1] == 1]


@by_night("epsilon", [0.5, 2.0], 2.0)
@by_night("name", EVERY, *ALIKE)
def test_sampler_follows_its_law(name: str, epsilon: float) -> None:
    check_law(made(name, 4, epsilon), dn.seeded(1))


@by_night("name", EVERY, *ALIKE)
def test_bulk_reports_from_system_words_follow_the_law(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled loops, with words from the operating system; no seed, so a lower rate of false alarms."""
    compile_loops(monkeypatch, True)
    check_law(made(name, 4, 0.5), dn.randomness.system(), statistics.SYSTEM_REPORTS, statistics.SYSTEM_ALPHA)


def check_same_reports(
    m: dn.mechanisms.Mechanism,
    words: dn.randomness.Words,
    plain: dn.randomness.Words,
    alpha: float = statistics.ALPHA,
) -> float:
    """With more values than one group of coins holds: the lowest member of the support, from two sources of
    words.
    """
    values = np.full(statistics.SAMPLE_REPORTS, m.k - 30)
    counts = []
    for mechanism, source in ((m, words), (shape_of(m), plain)):
        holds = mechanism.support(mechanism.privatize(values, source))
        lowest = np.where(holds.any(axis=1), holds.argmax(axis=1), m.k)
        counts.append(np.bincount(lowest, minlength=m.k + 1))
    return statistics.same_law(counts[0], counts[1], "lowest members", alpha)


@by_night("name", EVERY, *ALIKE)
def test_system_and_seeded_words_give_the_same_law_of_reports(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_loops(monkeypatch, True)
    check_same_reports(made(name, 130, 1.0), dn.randomness.system(), dn.seeded(13), statistics.SYSTEM_ALPHA)


# 2. Bytes carry only the support.


def check_bytes(m: dn.mechanisms.Mechanism, words: dn.randomness.Words, reports: int = 4000) -> None:
    """Whatever the value, reports with the same support (and the same public function) are the same bytes."""
    known: dict[tuple[bytes, bytes], bytes] = {}
    # few functions, so that every one of them meets every value
    shape = shape_of(m)
    functions = (
        words.take((m.words - 2) * 8).reshape(8, m.words - 2)
        if isinstance(shape, dn.mechanisms.Hashed | dn.mechanisms.Pooled)
        else None
    )
    for value in range(m.k):
        drawn = words.take(reports * m.words).reshape(reports, m.words)
        if functions is not None:
            drawn = drawn.copy()
            drawn[:, :-2] = functions[np.arange(reports) % 8]
        sent = m.privatize(np.full(reports, value), fixed(drawn.reshape(-1)))
        supports = m.support(sent)
        public: Array = np.zeros(reports, dtype=np.uint8)
        if functions is not None:
            public = sent // shape.g if isinstance(shape, dn.mechanisms.Pooled) else sent[["a", "b"]]
        for report, holds, seed in zip(sent, supports, public, strict=True):
            if functions is not None and not holds.any():
                continue  # empty buckets differ in their number, which no value makes likelier than another
            what = report.tobytes()
            before = known.setdefault((holds.tobytes(), seed.tobytes()), what)
            assert before == what, (
                f"bytes tell more than the support: {what.hex()} and {before.hex()} both support {holds}"
            )


@by_night("k", [4, 12], 12)
@by_night("name", EVERY, *ALIKE)
def test_bytes_carry_only_the_support(name: str, k: int) -> None:
    check_bytes(made(name, k, 0.5), dn.seeded(2))


# 3. The loss is what the sampler loses, and never more than the budget.


def check_budget(make: Maker, k: int, epsilon: float) -> None:
    """The loss is at most epsilon and within 1e-9 of it; p > q; the law sums to one."""
    m = make(k, epsilon)
    loss = m.loss()
    assert loss <= epsilon, f"loss {loss!r} is above epsilon {epsilon!r} (k = {k})"
    assert epsilon - loss < 1e-9, f"loss {loss!r} leaves much of epsilon {epsilon!r} unspent (k = {k})"
    law = m.law
    assert isinstance(law, dn.law.Law)
    assert law.loss() == loss
    assert law.exact_p > law.exact_q
    assert abs(law.inside.sum() + law.outside.sum() - 1) < 1e-12
    assert math.isclose(law.inside.sum(), law.p, rel_tol=1e-9)
    supported = float((law.sizes * (law.inside + law.outside)).sum())
    assert math.isclose(supported, law.p + (k - 1) * law.q, rel_tol=1e-9)


@by_night("name", EVERY, *ALIKE)
def test_loss_spends_epsilon_and_no_more_at_the_corners(name: str) -> None:
    quick = name in OTHERS or dn.PROTOCOLS[name].classical
    for k, epsilon in CORNERS if quick else CORNERS[::2]:  # the first and the last of them are in either list
        check_budget(MAKERS[name], k, epsilon)


@pytest.mark.parametrize("name", EVERY)
def test_loss_spends_epsilon_and_no_more_anywhere(name: str) -> None:
    quick = name in OTHERS or dn.PROTOCOLS[name].classical

    @settings(max_examples=15 if quick else 4)
    @given(
        st.floats(math.log(2), math.log(10_000)).map(lambda x: round(math.exp(x))),
        st.floats(math.log(1e-4), math.log(20)).map(math.exp),
    )
    def check(k: int, epsilon: float) -> None:
        check_budget(MAKERS[name], k, epsilon)

    check()


Cells = list[tuple[int, int]]
"""Ranges of words (first and last) in which every word has the same effect."""


def _ranges(*cuts: int) -> Cells:
    edges = sorted({0, FULL, *cuts})
    return [(first, stop - 1) for first, stop in itertools.pairwise(edges)]


def _below_cuts(bound: int) -> list[int]:
    """Where floor(word * bound / 2^64) steps up: the first word that gives j is j 2^64 / bound,
    rounded up.
    """
    return [-(-j * FULL // bound) for j in range(bound + 1)]


def _choices(shape: dn.mechanisms.Mechanism) -> list[Cells]:
    """The choices that one report makes, by the definition of its shape: `word < t`, or the high half of
    `word * m`.
    """
    match shape:
        case dn.mechanisms.Direct(k=k, keep=keep):
            return [_ranges(keep), _ranges(*_below_cuts(k - 1))]
        case dn.mechanisms.Unary(k=k, one=one, zero=zero):
            return [_ranges(one, zero)] * k
        case SubsetShape(k=k, size=size, keep=keep):
            # the draw number t is among k - size + t others, or one more where the true value is kept
            draws = [_ranges(*_below_cuts(k - size + t), *_below_cuts(k - size + t + 1)) for t in range(size)]
            return [_ranges(keep), *draws]
        case dn.mechanisms.Hashed(g=g, keep=keep):
            return [_ranges(keep), _ranges(*_below_cuts(g - 1))]
        case dn.mechanisms.Pooled(g=g, keep=keep):
            return [
                _ranges(*_below_cuts(len(pool_functions(shape)))),
                _ranges(keep),
                _ranges(*_below_cuts(g - 1)),
            ]
        case dn.mechanisms.Hadamard(bits=bits, keep=keep):
            return [_ranges(keep), _ranges(*(column << (64 - bits) for column in range(1 << bits)))]
    raise AssertionError(f"say which choices {type(shape).__name__} makes")


def _as_words(
    shape: dn.mechanisms.Mechanism, numbers: tuple[int, ...], function: tuple[int, ...], rest: int
) -> list[int]:
    """The words that make these choices. A unary report reads its coins' numbers digit by digit, across 64
    words.
    """
    if isinstance(shape, dn.mechanisms.Hashed):
        return [*function, *numbers]
    if isinstance(shape, dn.mechanisms.Unary):
        others = rest << shape.k  # what the unused positions hold must not matter
        return [
            others | sum((number >> (63 - level) & 1) << i for i, number in enumerate(numbers))
            for level in range(64)
        ]
    return list(numbers)


def channel(m: dn.mechanisms.Mechanism, function: tuple[int, ...] = ()) -> tuple[dn.law.Matrix, Array]:
    """The sampler's own outcomes with their exact weights, from one word of every kind; and what they
    support.

    The first and the last word of every range must give the same report: that is where a threshold would be
    off.
    """
    shape = shape_of(m)
    assert m.k < 64
    choices = list(itertools.product(*_choices(shape)))
    weights = [math.prod(last - first + 1 for first, last in cells) for cells in choices]
    unused = (1 << (64 - m.k)) - 1
    firsts = [_as_words(shape, tuple(first for first, _ in cells), function, 0) for cells in choices]
    lasts = [_as_words(shape, tuple(last for _, last in cells), function, unused) for cells in choices]
    rows: list[dict[bytes, int]] = []
    known: dict[bytes, Array] = {}
    for value in range(m.k):
        one = m.privatize(np.full(len(choices), value), fixed(itertools.chain.from_iterable(firsts)))
        two = m.privatize(np.full(len(choices), value), fixed(itertools.chain.from_iterable(lasts)))
        row: dict[bytes, int] = {}
        for i, (report, again, weight) in enumerate(zip(as_bytes(one), as_bytes(two), weights, strict=True)):
            assert report == again, "a threshold is not where the law says it is"
            row[report] = row.get(report, 0) + weight
            known[report] = m.support(one[i : i + 1])[0]
        rows.append(row)
    outcomes = sorted(known)
    matrix = dn.law.Matrix(tuple(tuple(row.get(outcome, 0) for outcome in outcomes) for row in rows))
    return matrix, np.array([known[outcome] for outcome in outcomes])


def functions(shape: dn.mechanisms.Mechanism) -> list[tuple[int, ...]]:
    """The words for a few hash functions, which come before the last two of a hashed report; other shapes
    have none.
    """
    if not isinstance(shape, dn.mechanisms.Hashed):
        return [()]
    return [tuple(dn.seeded(seed).take(shape.words - 2).tolist()) for seed in range(8)]


def check_enumeration(m: dn.mechanisms.Mechanism) -> None:
    """The loss that is stated is that of the exact outcomes: never below it, and at most 1e-9 above."""
    shape = shape_of(m)
    losses = []
    for function in functions(shape):
        matrix, supports = channel(m, function)
        losses.append(matrix.loss())
        assert losses[-1] <= m.loss(), f"the bytes lose {losses[-1]!r}, above the stated loss {m.loss()!r}"
        assert isinstance(m.law, dn.law.Law)
        assert m.law.ratio is not None
        for x, y in itertools.permutations(
            range(m.k), 2
        ):  # in fractions, where the bias of `below` still shows
            ratio = matrix.ratio(x, y)
            assert ratio is not None
            assert ratio <= m.law.ratio, "the law's ratio leaves out a bias of the sampler"
        if not isinstance(shape, dn.mechanisms.Hashed):  # one hash function alone treats values differently
            _check_exact_law(m, matrix, supports)
    assert m.loss() - max(losses) < 1e-9, (
        f"the stated loss {m.loss()!r} is above that of the bytes, {max(losses)!r}"
    )


def _check_exact_law(m: dn.mechanisms.Mechanism, matrix: dn.law.Matrix, supports: Array) -> None:
    assert isinstance(m.law, dn.law.Law)
    expected = np.full((m.k, m.k), m.law.q)
    np.fill_diagonal(expected, m.law.p)
    np.testing.assert_allclose(matrix.probabilities @ supports, expected, rtol=0, atol=1e-12)
    for size in range(m.k + 1):
        holding = supports[supports.sum(axis=1) == size]
        chances = matrix.probabilities[:, supports.sum(axis=1) == size].T
        # averaged over values, since a block design's sets are not all equally likely
        inside = float((chances * holding).sum()) / m.k
        outside = float((chances * ~holding).sum()) / m.k
        at = np.flatnonzero(m.law.sizes == size)
        assert math.isclose(inside, m.law.inside[at].sum(), rel_tol=0, abs_tol=1e-12)
        assert math.isclose(outside, m.law.outside[at].sum(), rel_tol=0, abs_tol=1e-12)


@by_night(("k", "epsilon"), SMALL, (4, 2.0), (5, 0.5))
@pytest.mark.parametrize("name", EVERY)
def test_stated_loss_is_that_of_all_outcomes(name: str, k: int, epsilon: float) -> None:
    check_enumeration(made(name, k, epsilon))


@by_night(("k", "epsilon"), SMALL, (4, 2.0), (5, 0.5))
@by_night("name", EVERY, *ALIKE)
def test_best_guess_is_that_of_all_outcomes(name: str, k: int, epsilon: float) -> None:
    """For the uniform prior and others; a hash function's buckets are averaged in
    tests/randomness/test_hashing.py.
    """
    m = made(name, k, epsilon)
    if isinstance(m, dn.mechanisms.Hashed):
        bound = math.exp(m.loss()) / (math.exp(m.loss()) + k - 1)
        assert 1 / k < m.success() <= bound + 1e-12
        return
    matrix, _ = channel(m)
    assert math.isclose(m.success(), matrix.success(), abs_tol=1e-12)
    for seed in range(5):
        prior = np.random.default_rng(seed).dirichlet(np.ones(k))
        assert math.isclose(m.success(prior), matrix.success(prior), abs_tol=1e-12), f"prior {prior}"


# 4. Estimates are unbiased and scatter as they say.


def check_unbiased(m: dn.mechanisms.Mechanism, words: dn.randomness.Words) -> float:
    """The estimate of a known population, in its own standard errors; gives the largest deviation."""
    n = statistics.ESTIMATE_REPORTS
    counts = np.round(SHARES * n).astype(int)
    estimate = m.estimate(m.tally(m.privatize(np.repeat(np.arange(m.k), counts), words)))
    assert isinstance(estimate, dn.Estimate)
    errors = np.sqrt(m.law.variance(n, counts / n, "fixed"))
    pairs = zip(estimate.frequencies, counts / n, errors, strict=True)
    return max(
        abs(statistics.deviation(found, true, error, "estimate of a share")) for found, true, error in pairs
    )


def check_scatter(m: dn.mechanisms.Mechanism, words: dn.randomness.Words, population: str) -> float:
    """The scatter about the truth over many populations, as a share of the stated variance; the same people,
    or new ones.
    """
    assert population in ("sampled", "fixed")
    repeats, n = statistics.REPEATS, statistics.REPEAT_REPORTS
    if population == "fixed":
        values = np.tile(np.repeat(np.arange(m.k), np.round(SHARES * n).astype(int)), repeats)
        variance = m.law.variance(n, SHARES, "fixed")
    else:
        values = np.random.default_rng(4).choice(m.k, size=repeats * n, p=SHARES)
        variance = m.law.variance(n, SHARES, "sampled")
    reports = m.privatize(values, words)
    estimates: list[Any] = [m.estimate(m.tally(part)) for part in np.split(reports, repeats)]
    found = [estimate.frequencies for estimate in estimates]
    squares = ((np.array(found) - SHARES) ** 2 / variance).sum(axis=0)
    return max(
        statistics.spread(float(one), repeats, f"scatter of an estimate, {population}") for one in squares
    )


@pytest.mark.parametrize("name", EVERY)
def test_estimates_are_unbiased(name: str) -> None:
    check_unbiased(made(name, len(SHARES), 1.0), dn.seeded(5))


@by_night("population", ["sampled", "fixed"], "fixed")
@by_night("name", EVERY, *ALIKE)
def test_estimates_scatter_as_they_say(name: str, population: str) -> None:
    check_scatter(made(name, len(SHARES), 1.0), dn.seeded(6), population)


# 6. Batches, bulk loops and tallies.


def check_batch(m: dn.mechanisms.Mechanism, seed: int, reports: int = 60) -> None:
    """A batch is its reports one by one, from the same words."""
    values = dn.randomness.below(dn.seeded(7).take(reports), m.k)
    batch = m.privatize(values, dn.seeded(seed))
    source = dn.seeded(seed)
    single = np.concatenate([m.privatize(values[i : i + 1], source) for i in range(reports)])
    assert as_bytes(batch) == as_bytes(single), "a batch differs from its reports one by one"
    assert batch.nbytes == reports * m.report_bytes
    listed = dn.seeded(seed).take(reports * m.words)
    assert as_bytes(m.privatize(values, fixed(listed))) == as_bytes(batch), "not the declared number of words"


@pytest.mark.parametrize("k", [2, 5, 64, 100])
@by_night("name", EVERY, *ALIKE)
def test_batch_equals_one_by_one(name: str, k: int) -> None:
    check_batch(made(name, k, 1.0), seed=8)


def check_compiled(
    m: dn.mechanisms.Mechanism, reports: int, patch: pytest.MonkeyPatch
) -> tuple[Array, dn.Tally]:
    """Compiled loops give what numpy gives, bit for bit, from the same words: the reports and their tally."""
    values = dn.randomness.below(dn.seeded(9).take(reports), m.k)
    compile_loops(patch, False)
    source = dn.seeded(10)
    plain, after = m.privatize(values, source), source.take(3)
    tally = m.tally(plain)
    compile_loops(patch, True)
    source = dn.seeded(10)
    fast, after_fast = m.privatize(values, source), source.take(3)
    assert plain.dtype == fast.dtype
    assert plain.tobytes() == fast.tobytes()
    assert after.tolist() == after_fast.tolist()
    assert m.tally(fast) == tally
    return plain, tally


@by_night("k", [2, 63, 64, 65, 100, 300], 63, 100)
@by_night("name", EVERY, *ALIKE)
def test_compiled_loops_equal_numpy(name: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over more than one block of work."""
    m = made(name, k, 1.0)
    check_compiled(m, 2 * (1 << 17) // m.words + 17, monkeypatch)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "numpy"])
@pytest.mark.parametrize("name", EVERY)
def test_tallies(name: str, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tally counts supports; tallies commute, and what was added can be taken away."""
    compile_loops(monkeypatch, compiled)
    m = made(name, 21, 1.0)
    values = dn.randomness.below(dn.seeded(11).take(1003), m.k)
    reports = m.privatize(values, dn.seeded(12))
    parts = [m.tally(part) for part in np.split(reports, [100, 101, 101, 777])]
    a, b, *_ = parts
    whole = m.tally(reports)
    assert whole.n == 1003
    assert whole.counts.tolist() == m.support(reports).sum(axis=0).tolist()
    assert sum(parts[1:], parts[0]) == whole
    assert a + b - b == a
    assert a + b == b + a
    empty = m.tally(reports[:0])
    assert empty.n == 0
    assert not empty.counts.any()
    assert dn.Tally.from_dict(whole.to_dict()) == whole


@pytest.mark.parametrize("name", EVERY)
def test_nobody_gives_an_empty_batch(name: str) -> None:
    m = made(name, 4, 1.0)
    reports = m.privatize([], fixed([]))
    assert len(reports) == 0
    assert m.tally(reports).n == 0


def test_exact_thresholds_are_what_the_law_is_made_of() -> None:
    """p is a threshold out of 2^64, not a float near one."""
    m = dn.grr(5, 1.0)
    assert m.law.exact_p == Fraction(m.keep, 2**64)
    u = dn.sue(5, 1.0)
    assert (u.law.exact_p, u.law.exact_q) == (Fraction(u.one, 2**64), Fraction(u.zero, 2**64))
