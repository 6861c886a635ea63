"""Two rounds: what one report, several, and a sequence of changing values give away, by enumeration."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Array
from deniable.attack import success_after
from deniable.attack.chances import chances_after
from deniable.errors import InvalidParameter
from deniable.exact import log_up
from deniable.metric.means import LAST_POSITION
from deniable.randomness import FULL
from deniable.randomness.simulated import fixed, remembering
from deniable.randomness.words import DrawnRows
from deniable.rounds import (
    BitFlip,
    HashedMemoized,
    Memoized,
    MemoizedMean,
    Repeated,
    dbitflip,
    l_duchi,
    l_grr,
    l_osue,
    l_oue,
    l_plh,
    l_soue,
    l_sue,
    loloha,
)
from deniable.rounds.changes import MOST_ROUNDS, bound_changes
from tests import statistics
from tests.cases import by_night
from tests.client.test_remembering import crowd_words, exact_second
from tests.enumeration import (
    WORDS,
    Law,
    again,
    attribute_chances,
    bits_law,
    check_ratio,
    exact_log,
    log,
    mixture,
    outcomes,
    part_law,
    repeated_law,
    sampled_part_law,
    sequence_law,
    worst_ratio,
)
from tests.records.test_records import compile_loops, moved

Maker = Callable[[int, float, float], Memoized]

CHAINS: dict[str, Maker] = {
    "l-grr": l_grr,
    "l-grr, as published": lambda k, first, forever: l_grr(k, first, forever, "published"),
    "l-sue": l_sue,
    "l-oue": l_oue,
    "l-osue": l_osue,
    "l-soue": l_soue,
    "loloha, on its buckets": lambda k, first, forever: loloha(100, first, forever, g=k).buckets,
    "loloha, as published": lambda k, first, forever: loloha(100, first, forever, k, "published").buckets,
}
BUDGETS = [(0.5, 1.0), (1.0, 2.0), (0.3, 3.0)]


# What is lost, by enumeration.


@by_night("k", [2, 3, 4], 4)
@pytest.mark.parametrize("name", CHAINS)
def test_losses_of_reports_of_one_value(name: str, k: int) -> None:
    """One report and several, against all that can be sent."""
    first, forever = BUDGETS[k % len(BUDGETS)]
    m = CHAINS[name](k, first, forever)
    for reports in (1, 2, 3):
        truth = worst_ratio(repeated_law(m, value, reports) for value in range(k))
        check_ratio(m.ratio_after(reports), log_up(m.ratio_after(reports)), truth, f"{reports} reports")
        losses = m.losses(reports=reports)
        assert losses.reports == reports
        assert log(truth) <= losses.same_value <= log(truth) + 1e-9
    check_ratio(m.ratio, m.loss(), worst_ratio(part_law(m, value) for value in range(k)), "one report")
    assert m.losses().one_report == m.loss()


@pytest.mark.parametrize("name", CHAINS)
def test_many_reports_of_one_value_tend_to_the_permanent_answer(name: str) -> None:
    m = CHAINS[name](3, 0.5, 1.0)
    growing = [m.losses(reports=reports).same_value for reports in (1, 2, 3, 5, 10, 100, 1000)]
    assert growing == sorted(growing)
    assert growing[-1] <= m.losses().one_value_forever
    assert growing[-1] == pytest.approx(1.0, abs=1e-6)


def bit_law(m: Memoized, values: tuple[int, ...], bit: int) -> dict[tuple[bool, ...], Fraction]:
    """The law of one bit of a sequence of unary reports: a kept coin for every value, a fresh one for every
    report.
    """
    assert isinstance(m.first, dn.mechanisms.Unary)
    assert isinstance(m.second, dn.mechanisms.Unary)
    fresh = {True: Fraction(m.second.one, WORDS), False: Fraction(m.second.zero, WORDS)}
    found = {}
    for reports in itertools.product((False, True), repeat=len(values)):
        chance = Fraction(1)
        for value in set(values):
            kept = Fraction(m.first.one if value == bit else m.first.zero, WORDS)
            seen = [y for v, y in zip(values, reports, strict=True) if v == value]
            chance *= sum(
                weight * math.prod((fresh[state] if y else 1 - fresh[state] for y in seen), start=Fraction(1))
                for state, weight in ((True, kept), (False, 1 - kept))
            )
        found[reports] = chance
    return found


def worst_sequences(m: Memoized, rounds: int) -> dict[tuple[tuple[int, ...], tuple[int, ...]], Fraction]:
    """For each two sequences of values, the largest ratio over all sequences of reports."""
    sequences = list(itertools.product(range(m.k), repeat=rounds))
    if isinstance(m.first, dn.mechanisms.Direct):
        laws = {values: sequence_law(m, values) for values in sequences}
        chances = {values: [laws[values](reports) for reports in sequences] for values in sequences}
        return {
            (one, other): max(a / b for a, b in zip(chances[one], chances[other], strict=True))
            for one, other in itertools.product(sequences, repeat=2)
        }
    # bits are independent of each other once the values are known: the worst reports are the worst of every
    # bit
    bits = {(values, bit): bit_law(m, values, bit) for values in sequences for bit in range(m.k)}
    return {
        (one, other): math.prod(
            (max(bits[one, bit][y] / bits[other, bit][y] for y in bits[one, bit]) for bit in range(m.k)),
            start=Fraction(1),
        )
        for one, other in itertools.product(sequences, repeat=2)
    }


def pattern(values: tuple[int, ...]) -> tuple[int, ...]:
    """When a value is one that came before."""
    return tuple(values.index(value) for value in values)


SEQUENCES = [
    (name, k, rounds) for name in CHAINS for k, most in ((2, 4), (3, 3)) for rounds in range(1, most + 1)
]


@by_night(("name", "k", "rounds"), SEQUENCES, *(row for row in SEQUENCES if row[1:] in ((2, 4), (3, 3))))
def test_losses_of_changing_values(name: str, k: int, rounds: int) -> None:
    """The bound holds between any two sequences; the usual figure between those that change and repeat at the
    same times.
    """
    m = CHAINS[name](k, 0.5, 1.0)
    losses = m.losses(rounds=rounds)
    found = worst_sequences(m, rounds)
    assert losses.rounds == rounds
    truth = log(max(found.values()))
    assert truth <= losses.changing_values
    assert losses.changing_values_exact == (m.names_value or rounds == 1)
    assert not losses.changing_values_exact or losses.changing_values < truth + 1e-9
    assert losses.changing_values <= 1.8 * truth, "the bound on bits is not far above the truth"
    alike = max(ratio for (one, other), ratio in found.items() if pattern(one) == pattern(other))
    assert log(alike) <= losses.changing_values_usual


def test_the_usual_figure_is_exceeded() -> None:
    """The counterexample: two values, four rounds at 1 forever and 0.5 a report give 2.034,
    above 2 times 1.
    """
    m = l_grr(2, 0.5, 1.0)
    found = worst_sequences(m, 4)
    worst = log(max(found.values()))
    losses = m.losses(rounds=4)
    assert losses.changing_values_usual == pytest.approx(2.0, abs=1e-9)
    assert worst == pytest.approx(2.034, abs=5e-4)
    assert losses.changing_values_usual < worst <= losses.changing_values < worst + 1e-9


@pytest.mark.parametrize("k", [2, 3, 100])
@pytest.mark.parametrize("name", [*CHAINS, "dbitflip"])
def test_one_report_of_a_changing_value_is_one_report(name: str, k: int) -> None:
    """140.8 was stated for 100 bits at epsilon 1."""
    m = dbitflip(k, 1.0, 2) if name == "dbitflip" else CHAINS[name](k, 1.0, 2.0)
    losses = m.losses(rounds=1)
    assert losses.changing_values == m.loss() == losses.one_report
    assert losses.changing_values_exact
    if isinstance(m, Memoized):  # as the general rule has it, but for rounding
        assert bound_changes(m.first, m.second, 1).loss == pytest.approx(m.loss(), abs=1e-12)


@pytest.mark.parametrize(("k", "rounds"), [(2, 6), (2, 9), (3, 5), (4, 4)])
@pytest.mark.parametrize("budget", BUDGETS)
def test_the_exact_loss_of_longer_sequences(k: int, rounds: int, budget: tuple[float, float]) -> None:
    """By enumeration of counts: of the reports, and of those that each value has; in floats."""
    m = l_grr(k, *budget)
    losses = m.losses(rounds=rounds)
    assert losses.changing_values_exact
    assert losses.changing_values == pytest.approx(_worst_of_counts(m, rounds), abs=1e-9)


def _worst_of_counts(m: Memoized, rounds: int) -> float:
    kept, fresh = m.first.law, m.second.law
    ratio, least, most = fresh.p / fresh.q, dict[tuple[int, ...], float](), dict[tuple[int, ...], float]()
    cells = m.k * m.k
    for ends in itertools.combinations(range(rounds + cells - 1), cells - 1):
        flat = np.diff([-1, *ends, rounds + cells - 1]) - 1
        table = flat.reshape(m.k, m.k)  # by value and report
        powers = ratio ** table.astype(float)
        likely = float(np.log(kept.q * powers.sum(1) + (kept.p - kept.q) * powers.diagonal()).sum())
        histogram = tuple(sorted(table.sum(0).tolist()))
        least[histogram] = min(likely, least.get(histogram, math.inf))
        most[histogram] = max(likely, most.get(histogram, -math.inf))
    return max(most[histogram] - least[histogram] for histogram in most)


def test_a_bound_on_changes_says_that_it_is_one() -> None:
    exact, bound = l_grr(5, 1.0, 2.0).losses(rounds=10), l_osue(5, 1.0, 2.0).losses(rounds=10)
    assert "against any other sequence: 12.59 (exact)" in exact.explain()
    assert "against any other sequence: at most 38.92 (a bound)" in bound.explain()
    assert not l_grr(5, 1.0, 2.0).losses(rounds=MOST_ROUNDS + 1).changing_values_exact
    assert loloha(100, 1.0, 2.0).losses(rounds=10).changing_values_exact
    assert not loloha(3, 1.0, 2.0, g=4).losses(rounds=2).changing_values_exact  # one bucket is never reached
    both = dn.records.Split((l_grr(5, 1.0, 2.0), l_osue(5, 1.0, 2.0))).losses(rounds=10)
    assert not both.changing_values_exact  # one part has only a bound, and so has the whole


def test_the_bound_on_changing_values() -> None:
    """At most the loss of a fresh round with respect to what is kept, for each round: for bits, of all bits
    at once. After a dozen rounds just that for each further one. Rounded up.
    """
    for name, make in CHAINS.items():
        m = make(3, 0.5, 1.0)
        kept = [part_law(m.first, value) for value in range(m.k)]
        fresh = exact_log(worst_ratio(again(m.second, answer) for answer in kept[0]))
        forever = exact_log(worst_ratio(kept))
        before, dozen = Decimal(0), Decimal(m.losses(rounds=MOST_ROUNDS).changing_values)
        for rounds in range(1, 17):
            losses = m.losses(rounds=rounds)
            now = Decimal(losses.changing_values)
            assert before < now <= before + fresh + Decimal("1e-9"), f"{name}, {rounds} rounds"
            before = now
            if rounds > MOST_ROUNDS:
                further = (rounds - MOST_ROUNDS) * fresh
                assert abs(now - dozen - further) < Decimal("1e-9"), f"{name}, {rounds} rounds"
            usual = min(rounds, m.k) * forever
            assert 0 <= Decimal(losses.changing_values_usual) - usual < Decimal("1e-9"), (
                f"{name}, {rounds} rounds"
            )


def test_a_value_that_is_kept_for_nobody_loses_more() -> None:
    """A planted fault: where the permanent answer is redrawn, reports compose and soon exceed
    what is stated.
    """
    m = l_grr(3, 0.5, 1.0)
    once = [part_law(m, value) for value in range(3)]
    redrawn = worst_ratio(once) ** 3
    with pytest.raises(AssertionError, match="below the truth"):
        check_ratio(m.ratio_after(3), log_up(m.ratio_after(3)), redrawn, "three reports")


# What is sent.


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", CHAINS)
def test_the_sampler_follows_the_definition_to_the_last_word(name: str, k: int) -> None:
    m = CHAINS[name](k, 0.5, 1.0)
    for value in range(k):
        assert sampled_part_law(m, value) == part_law(m, value)


def test_a_hash_function_and_two_rounds_on_the_bucket() -> None:
    """The function comes from the first word, whatever the value; the bucket goes through two rounds."""
    m = loloha(7, 0.5, 1.0, g=3)
    prime = 2**31 - 1
    for word in dn.seeded(3).take(5).tolist():
        for value in range(7):
            a, b = (word >> 33) % (prime - 1) + 1, (word >> 2 & prime) % prime
            bucket = (a * (value + 1) + b) % prime % 3
            sent = _bucket_law(m, word, value, (a, b))
            assert sent == part_law(m.buckets, bucket)


def _bucket_law(m: HashedMemoized, word: int, value: int, function: tuple[int, int]) -> Law:
    """The law of the bucket that is sent with one hash function, asked of the code."""

    class OneFunction(type(m.buckets)):  # type: ignore[misc]
        """Two rounds on the bucket of a value under this function, seen through the whole mechanism."""

        def encode(self, values: Array, rows: Any) -> Array:
            first = np.full((rows.n, 1), word, dtype=np.uint64)
            reports = m.encode(values, DrawnRows(np.hstack([first, rows.array()])))
            assert set(zip(reports["a"].tolist(), reports["b"].tolist(), strict=True)) == {function}
            return np.asarray(reports["bucket"])

    return sampled_part_law(OneFunction(m.buckets.first, m.buckets.second), value)


# The law, and one estimator.


@pytest.mark.parametrize("name", CHAINS)
def test_the_law_is_that_of_all_outcomes(name: str) -> None:
    for k in (2, 3, 4):
        m = CHAINS[name](k, 0.5, 1.0)
        outcomes_ = part_law(m, 0)

        def holds(outcome: Any, value: int) -> bool:
            return bool(outcome == value if isinstance(outcome, int) else outcome[value])

        p, q = (sum(chance for y, chance in outcomes_.items() if holds(y, value)) for value in (0, k - 1))
        assert m.law.p == pytest.approx(float(p), abs=1e-15)
        assert m.law.q == pytest.approx(float(q), abs=1e-15)
        best = sum(max(part_law(m, value)[y] for value in range(k)) for y in outcomes_) / k
        assert m.success() == pytest.approx(float(best), abs=1e-12)
        assert m.law.ratio == m.ratio
        assert m.law.loss() == m.loss()


@pytest.mark.parametrize("name", [*CHAINS, "loloha"])
def test_one_estimator(name: str) -> None:
    """(N / n - q_s) / (p_s - q_s), and the two variances, by the papers' formulas."""
    k, n = 6, 5000
    m: Repeated = loloha(k, 0.5, 1.0, g=3) if name == "loloha" else CHAINS[name](k, 0.5, 1.0)
    rounds = m.buckets if isinstance(m, HashedMemoized) else m
    assert isinstance(rounds, Memoized)
    p1, q1, p2, q2 = rounds.first.law.p, rounds.first.law.q, rounds.second.law.p, rounds.second.law.q
    p, q = p1 * p2 + (1 - p1) * q2, q1 * p2 + (1 - q1) * q2
    assert p - q == pytest.approx((p1 - q1) * (p2 - q2), rel=1e-12)
    if isinstance(m, HashedMemoized):
        q = float(m.law.exact_q)
        assert q == pytest.approx(1 / m.g, abs=1e-9)
    counts = np.random.default_rng(1).integers(0, n, size=k)
    np.testing.assert_allclose(
        m.estimate(dn.Tally(n, counts)).frequencies, (counts / n - q) / (p - q), rtol=1e-12, atol=1e-12
    )
    f = np.array([0.5, 0.2, 0.1, 0.1, 0.06, 0.04])
    fixed = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2)
    g = q + f * (p - q)
    np.testing.assert_allclose(m.law.variance(n, f, "fixed"), fixed, rtol=1e-12)
    np.testing.assert_allclose(m.law.variance(n, f), g * (1 - g) / (n * (p - q) ** 2), rtol=1e-12)
    np.testing.assert_allclose(m.law.variance(n, f), fixed + f * (1 - f) / n, rtol=1e-9)


# By simulation.

SHARES = np.array([0.6, 0.15, 0.1, 0.1, 0.05])
SENDERS: dict[str, Callable[[], Repeated]] = {
    "l-grr": lambda: l_grr(5, 1.5, 2.0),
    "l-grr, as published": lambda: l_grr(5, 1.5, 2.0, "published"),
    "l-sue": lambda: l_sue(5, 1.5, 2.0),
    "l-oue": lambda: l_oue(5, 1.5, 3.0),
    "l-osue": lambda: l_osue(5, 1.5, 2.0),
    "l-soue": lambda: l_soue(5, 1.5, 3.0),
    "loloha": lambda: loloha(5, 1.5, 2.0),
    "loloha with two buckets": lambda: loloha(5, 1.5, 2.0, g=2),
    "l-plh": lambda: l_plh(5, 1.5, 2.0),
    "loloha, as published": lambda: loloha(5, 1.5, 2.0, g=4, calibration="published"),
}
BLOCKS, BLOCK = statistics.REPEATS, 2 * statistics.REPEAT_REPORTS
MOVED = 0.05


@cache
def crowd(population: str) -> Array:
    if population == "sampled":
        return np.random.default_rng(5).choice(5, size=BLOCKS * BLOCK, p=SHARES)
    return np.tile(np.repeat(np.arange(5), np.round(SHARES * BLOCK).astype(int)), BLOCKS)


def tallies(m: Repeated, sender: Repeated, population: str, words: dn.randomness.Words) -> list[dn.Tally]:
    return [m.tally(some) for some in np.split(sender.privatize(crowd(population), words), BLOCKS)]


def check_unbiased(m: Repeated, blocks: list[dn.Tally], population: Any) -> None:
    n = BLOCKS * BLOCK
    whole = m.estimate(sum(blocks[1:], blocks[0])).frequencies
    errors = np.sqrt(m.law.variance(n, SHARES, population))
    for value in (0, 4):
        statistics.deviation(whole[value], SHARES[value], errors[value], "estimate of a share")


def check_scatter(m: Repeated, blocks: list[dn.Tally], population: Any) -> None:
    found = np.array([m.estimate(tally).frequencies[0] for tally in blocks])
    variance = np.asarray(m.law.variance(BLOCK, SHARES, population))[0]
    statistics.spread(
        float(((found - SHARES[0]) ** 2 / variance).sum()), BLOCKS, f"scatter of an estimate, {population}"
    )


@by_night("population", ["sampled", "fixed"], "fixed")
@by_night("name", SENDERS, "l-soue", "l-plh", "loloha, as published")
def test_estimates_are_unbiased_and_scatter_as_they_say(name: str, population: str) -> None:
    m = SENDERS[name]()
    blocks = tallies(m, m, population, dn.seeded(31))
    check_unbiased(m, blocks, population)
    check_scatter(m, blocks, population)


@by_night("name", SENDERS, "l-soue", "l-plh", "loloha, as published")
def test_a_moved_p_is_seen_in_bias_and_in_scatter(name: str) -> None:
    """The planted fault: the last round keeps more than it says."""
    m = SENDERS[name]()
    wrong = moved(m, MOVED)
    assert isinstance(wrong, Repeated)
    blocks = tallies(m, wrong, "sampled", dn.seeded(32))
    with pytest.raises(AssertionError, match="standard errors off"):
        check_unbiased(m, blocks, "sampled")
    with pytest.raises(AssertionError, match="of the variance"):
        check_scatter(m, blocks, "sampled")


# Words, batches, bulk loops.

BULK: dict[str, Callable[[], Repeated]] = {
    **{
        f"{name}, k = {k}": lambda make=make, k=k: make(k, 0.5, 1.0)  # type: ignore[misc]
        for name, make in CHAINS.items()
        for k in (2, 9, 64, 130)
    },
    **{
        f"loloha, k = {k}, g = {g}": lambda k=k, g=g: loloha(k, 0.5, 1.0, g)  # type: ignore[misc]
        for k in (2, 130)
        for g in (2, 5)
    },
    **{f"l-plh, k = {k}": lambda k=k: l_plh(k, 0.5, 1.0) for k in (2, 130)},  # type: ignore[misc]
}


@pytest.mark.parametrize("name", BULK)
def test_a_batch_is_its_reports_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_loops(monkeypatch, False)
    m = BULK[name]()
    values = dn.randomness.below(dn.seeded(1).take(30), m.k)
    batch = m.privatize(values, dn.seeded(2))
    words = dn.seeded(2)
    single = np.concatenate([m.privatize(values[i : i + 1], words) for i in range(30)])
    assert batch.tobytes() == single.tobytes()
    assert batch.nbytes == 30 * m.report_bytes
    listed = fixed(dn.seeded(2).take(30 * m.words))
    assert m.privatize(values, listed).tobytes() == batch.tobytes(), "not the declared number of words"


@pytest.mark.parametrize("name", BULK)
def test_compiled_loops_equal_numpy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m = BULK[name]()
    values = dn.randomness.below(dn.seeded(3).take(3000), m.k)
    compile_loops(monkeypatch, False)
    plain = m.privatize(values, dn.seeded(4))
    tally = m.tally(plain)
    compile_loops(monkeypatch, True)
    fast = m.privatize(values, dn.seeded(4))
    assert plain.dtype == fast.dtype
    assert plain.tobytes() == fast.tobytes()
    assert m.tally(fast) == tally
    assert tally.counts.tolist() == m.support(plain).sum(axis=0).tolist()


def test_reports_look_like_those_of_one_round() -> None:
    m = l_osue(9, 0.5, 1.0)
    assert m.report_bytes == dn.oue(9, 1.0).report_bytes
    report = m.privatize([3], dn.seeded(1))
    assert outcomes(m, report) == outcomes(dn.oue(9, 1.0), report)
    assert loloha(1000, 0.5, 1.0, g=4).report_bytes == dn.mechanisms.lh(1000, 1.0, 4).report_bytes


# Kept bits without a second round.


def kept_bits_law(m: BitFlip, value: int) -> Law:
    """By the definition: some values are drawn whatever the value is, and a coin falls for each of them."""
    found = []
    for picked, chance in attribute_chances(m.k, m.bits).items():
        about = tuple(sorted(picked))
        coins = bits_law(m.one, m.zero, [v == value for v in about])
        found.append((chance, {(about, bits): weight for bits, weight in coins.items()}))
    return mixture(found)


@pytest.mark.parametrize(("k", "bits"), [(2, 1), (2, 2), (3, 1), (3, 2), (4, 2), (4, 3), (4, 4)])
def test_losses_of_kept_bits(k: int, bits: int) -> None:
    """One report says as much as any number of them; with one bit, only one can differ."""
    m = dbitflip(k, 1.0, bits)
    truth = worst_ratio(kept_bits_law(m, value) for value in range(k))
    check_ratio(m.ratio, m.loss(), truth, f"{bits} of {k} bits")
    assert 1.0 - 1e-9 < m.loss() <= 1.0
    assert m.law.p == pytest.approx(
        math.exp(1) / (math.exp(1) + 1) if bits == 1 else math.sqrt(math.e) / (math.sqrt(math.e) + 1)
    )
    losses = m.losses(rounds=100)
    assert losses.same_value == losses.one_value_forever == m.loss()
    assert losses.changing_values == math.inf
    assert losses.changing_values_usual == pytest.approx(min(bits + 1, k))


@pytest.mark.parametrize(("k", "bits"), [(2, 1), (5, 2), (12, 9), (9, 9), (300, 4)])
def test_bits_are_sampled_once_and_kept_by_what_is_asked(k: int, bits: int) -> None:
    """The same values are asked about for ever; two values that nobody asks about have one report between
    them.
    """
    m, words = dbitflip(k, 1.0, bits), remembering(3, dn.seeded(4))
    values = np.arange(2000) % k
    one, two, back = (m.privatize(some, words) for some in (values, (values + 1) % k, values))
    assert one.tobytes() == back.tobytes(), "a kept report was redrawn"
    assert np.array_equal(one["about"], two["about"]), "the values that are asked about were redrawn"
    asked = (one["about"] == values[:, None]).any(axis=1) | (one["about"] == ((values + 1) % k)[:, None]).any(
        axis=1
    )
    assert np.array_equal(one["bits"][~asked], two["bits"][~asked])
    assert not np.array_equal(one["bits"][asked], two["bits"][asked])


def test_estimates_from_kept_bits() -> None:
    """Among those who are asked about a value: unbiased, and with the stated variance; a moved p is seen."""
    m = dbitflip(5, 1.5, 2)
    wrong = replace(m, one=round(m.one * (1 + Fraction(MOVED))))
    blocks = tallies(m, m, "sampled", dn.seeded(41))
    for tally in blocks:
        assert tally.asked is not None
        assert int(tally.asked.sum()) == 2 * tally.n
    first = blocks[0]
    expected = (first.counts / np.asarray(first.asked) - m.law.q) / (m.law.p - m.law.q)
    np.testing.assert_allclose(m.estimate(first).frequencies, expected, rtol=1e-12, atol=1e-12)
    _check_kept_bits(m, blocks)
    with pytest.raises(AssertionError, match="standard errors off"):
        _check_kept_bits(m, tallies(m, wrong, "sampled", dn.seeded(42)))


def _check_kept_bits(m: BitFlip, blocks: list[dn.Tally]) -> None:
    def error(tally: dn.Tally) -> float:
        assert tally.asked is not None
        return math.sqrt(m.law.variance(int(tally.asked[0]), float(SHARES[0])))

    whole = sum(blocks[1:], blocks[0])
    statistics.deviation(m.estimate(whole).frequencies[0], SHARES[0], error(whole), "estimate of a share")
    squares = sum(((m.estimate(tally).frequencies[0] - SHARES[0]) / error(tally)) ** 2 for tally in blocks)
    statistics.spread(float(squares), len(blocks), "scatter of an estimate")


# In words, and what is refused.


def test_losses_are_explained_in_plain_words() -> None:
    text = l_osue(4, 1.0, 2.0).losses(reports=3, rounds=5).explain()
    lines = text.splitlines()
    assert len(lines) == 5
    assert lines[0] == "one report: 1"
    assert lines[1] == "3 reports of a value that does not change: 1.9"
    assert lines[2].endswith("does not change: 2")
    assert lines[3].startswith("5 reports of values that change, against any other sequence: ")
    assert "holds against sequences that change and come back at the same times" in lines[4]
    single = l_osue(4, 1.0, 2.0).losses(reports=1, rounds=1).explain()
    assert single.splitlines()[1].startswith("1 report of a value that does not change: ")


def test_rounds_that_do_not_fit_are_refused() -> None:
    for first, second in (
        (dn.grr(3, 1.0), dn.grr(4, 1.0)),
        (dn.grr(3, 1.0), dn.oue(3, 1.0)),
        (dn.oue(3, 1.0), dn.grr(3, 1.0)),
    ):
        with pytest.raises(dn.InvalidParameter, match="same shape and the same number of values"):
            Memoized(first, second)
    with pytest.raises(dn.InvalidParameter, match="direct ones"):
        HashedMemoized(10, l_osue(3, 0.5, 1.0))
    for k in (1, 0, 2.0, "3"):
        with pytest.raises(dn.InvalidParameter, match="k, the number of values"):
            replace(loloha(10, 0.5, 1.0), k=k)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True])
def test_numbers_of_reports_and_rounds_are_checked(wrong: Any) -> None:
    for m in (l_grr(3, 0.5, 1.0), l_osue(3, 0.5, 1.0), loloha(3, 0.5, 1.0), dbitflip(3, 0.5, 2)):
        with pytest.raises(
            dn.InvalidParameter, match=r"reports must be an integer (of at least 1|from 1 to 10000)"
        ):
            m.losses(reports=wrong)
        with pytest.raises(dn.InvalidParameter, match="rounds must be an integer of at least 1"):
            m.losses(rounds=wrong)


@pytest.mark.parametrize("name", SENDERS)
def test_values_outside_the_domain_are_refused(name: str) -> None:
    m = SENDERS[name]()
    for wrong in ([5], [-1], [0.0], ["a"], 3, [[1]]):
        with pytest.raises(dn.InvalidValue):
            m.privatize(wrong, dn.seeded(1))


@pytest.mark.parametrize("name", SENDERS)
def test_reports_that_cannot_have_been_sent_are_refused(name: str) -> None:
    m = SENDERS[name]()
    reports = m.privatize([0, 1, 2], dn.seeded(1))
    if reports.dtype.names:
        reports["bucket"] = 200
    else:
        reports[:] = 255
    with pytest.raises(dn.InvalidReport):
        m.tally(reports)
    with pytest.raises(dn.InvalidReport, match="counts 4 values, the mechanism has 5"):
        m.estimate(dn.Tally(1, np.zeros(4, dtype=int)))


@pytest.mark.parametrize(
    "make", [dn.rounds.l_grr, dn.rounds.l_sue, dn.rounds.l_osue, dn.rounds.l_oue, dn.rounds.l_soue]
)
@by_night("reports", [1, 5, 30, 200, 1000], 1, 30, 200)
def test_many_reports_are_rounded_up_by_next_to_nothing(
    make: Callable[[int, float, float], dn.rounds.Memoized], reports: int
) -> None:
    m = make(10, 0.05, 1.0)
    if isinstance(m.first, dn.mechanisms.Direct):
        a, r = m.first.ratio, m.second.ratio**reports
        exact = (a * r + 9) / (a + r + 8) * Fraction(FULL, FULL - 40 * (reports + 1))
    else:
        p1, q1, p2, q2 = m.first.law.exact_p, m.first.law.exact_q, m.second.law.exact_p, m.second.law.exact_q
        ones = (p1 * p2**reports + (1 - p1) * q2**reports) / (q1 * p2**reports + (1 - q1) * q2**reports)
        up, down = (1 - q2) ** reports, (1 - p2) ** reports
        exact = ones * (q1 * down + (1 - q1) * up) / (p1 * down + (1 - p1) * up)
    stated = m.ratio_after(reports)
    assert exact <= stated <= exact * (1 + Fraction(1, 10**60))
    if reports <= 30:
        assert stated == exact


def test_ten_thousand_reports_take_no_time() -> None:
    started = time.process_time()
    assert dn.rounds.l_osue(100, 1.0, 2.0).losses(reports=10_000).same_value <= 2.0
    assert time.process_time() - started < 0.5, "0.01 s; in exact powers it is 4 s and more"


@pytest.mark.parametrize(
    "m", [dn.rounds.l_grr(5, 1.0, 2.0), dn.rounds.l_rsfd([3, 4], 1.0, 2.0), dn.rsfd([3, 4], 1.0)]
)
def test_reports_beyond_counting_are_refused(m: dn.rounds.Memoized | dn.records.Faked) -> None:
    """A billion took more than 100 s, and loses what any number does."""
    with pytest.raises(dn.InvalidParameter, match="reports must be an integer from 1 to 10000"):
        m.ratio_after(10**9)


@pytest.mark.parametrize(
    "m",
    [
        dn.rounds.l_grr(5, 1.0, 2.0),
        dn.rounds.loloha(9, 1.0, 2.0),
        dn.rounds.dbitflip(9, 1.0, bits=3),
        dn.oue(5, 1.0),
    ],
)
def test_a_loss_takes_nothing(m: Any) -> None:
    assert m.loss() == log_up(m.ratio)
    with pytest.raises(dn.InvalidParameter, match="takes nothing; leave the argument out"):
        m.loss(per="record")


PEOPLE = 4000
POSITIONS = (0, 1, 1 << 31, (3 << 30) + 7, LAST_POSITION)


def chances_of(m: MemoizedMean, values: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """How likely each sequence of reports is: over all lines, which matter only by the values above them."""
    found = dict.fromkeys(itertools.product((0, 1), repeat=len(values)), Fraction(0))
    ends = sorted({0, *values, LAST_POSITION})
    for start, stop in itertools.pairwise(ends):
        law = sequence_law(m.bit, [int(start < value) for value in values])
        for reports in found:
            found[reports] += Fraction(stop - start, LAST_POSITION) * law(reports)
    return found


def worst_loss(m: MemoizedMean, sequences: list[tuple[int, ...]]) -> float:
    laws = [chances_of(m, values) for values in sequences]
    return log(max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0]))


@by_night(("first", "forever"), [(0.5, 1.0), (1.0, 2.0), (0.3, 3.0)], (1.0, 2.0), (0.3, 3.0))
def test_losses_are_those_of_a_bit_for_any_numbers(first: float, forever: float) -> None:
    m = l_duchi(first, forever)
    assert m.loss() <= first < m.loss() + 1e-9
    for rounds in (1, 2, 3):
        losses = m.losses(rounds, rounds)
        same = worst_loss(m, [(value,) * rounds for value in POSITIONS])
        assert same <= losses.same_value < same + 1e-9
        changing = worst_loss(m, list(itertools.product(POSITIONS, repeat=rounds)))
        assert changing <= losses.changing_values < changing + 1e-9
        assert losses.changing_values_exact
    assert forever - 1e-9 < m.losses().one_value_forever <= forever
    assert m.losses().one_value_forever == m.permanent.loss()


def test_a_report_is_right_on_average() -> None:
    m = l_duchi(0.5, 1.0)
    p = m.bit.law.exact_p
    for value in POSITIONS:
        share = Fraction(value, LAST_POSITION)
        assert chances_of(m, (value,))[1,] == share * p + (1 - share) * (1 - p)
    no, yes = m.one_round.of.numbers(np.arange(2))
    assert (-no, yes) == pytest.approx((float(1 / (2 * p - 1)),) * 2, rel=1e-14)


@pytest.mark.parametrize("line", [0, 5, LAST_POSITION - 1])
def test_the_code_compares_with_the_line(line: int) -> None:
    """A number is above the line from the next position on; the words after it keep both rounds' truth."""
    m = l_duchi(0.5, 1.0)
    values = np.array([0, line, line + 1, LAST_POSITION])
    words = np.zeros((4, m.words), dtype=np.uint64)
    words[:, 0] = (line << 32) + 7
    assert m.encode(values, DrawnRows(words)).tolist() == [0, 0, 1, 1]


def check_line(words: dn.randomness.Words) -> None:
    """Two collections of the same numbers, with a second round that changes next to nothing."""
    m = MemoizedMean(exact_second(l_duchi(1.0, 2.0).bit))
    values = np.linspace(0, LAST_POSITION, PEOPLE).astype(np.int64)
    one, two = m.privatize(values, words), m.privatize(values, words)
    assert np.array_equal(one, two), "the line was redrawn"
    moved = m.privatize(np.minimum(values + LAST_POSITION // 10, LAST_POSITION), words)
    p = float(m.bit.first.law.exact_p)
    # a tenth crosses the line, less those near the end; of these, kept answers agree as two draws do
    cross = float(np.mean(np.minimum(LAST_POSITION // 10, LAST_POSITION - values))) / LAST_POSITION
    expected = cross * (1 - 2 * p * (1 - p))
    error = (expected * (1 - expected) / PEOPLE) ** 0.5
    statistics.deviation(float((one != moved).mean()), expected, error, "answers that change")


def test_the_line_repeats() -> None:
    check_line(crowd_words())


def test_a_line_that_is_drawn_again_is_seen() -> None:
    with pytest.raises(AssertionError, match="the line was redrawn"):
        check_line(crowd_words(right=False))


def test_only_two_values_in_direct_rounds() -> None:
    for bit in (dn.rounds.l_grr(3, 0.5, 1.0), dn.rounds.l_sue(2, 0.5, 1.0)):
        with pytest.raises(InvalidParameter, match="direct ones of two values"):
            MemoizedMean(bit)


def test_many_reports_show_the_half_no_better_than_the_kept_answer() -> None:
    m = l_duchi(0.5, 1.0)
    guesses = [success_after(m, reports) for reports in (0, 1, 2, 5, 20, 100)]
    assert guesses == sorted(guesses)
    assert guesses[1] == pytest.approx(m.success())
    assert guesses[-1] == pytest.approx(m.permanent.success(), abs=1e-6)
    believed = chances_after(m, 5, True, [0.5, 0.5 + 1e-9])[5]
    assert not believed.exact
    statistics.deviation(believed.value, guesses[3], believed.stderr, "simulated, against the sum")


def test_the_ratio_of_one_report_is_not_below_that_of_its_chance() -> None:
    m = l_duchi(0.5, 1.0)
    p = m.bit.law.exact_p
    assert m.ratio >= p / (1 - p)
    assert log_up(m.ratio) == m.loss()
    assert m.one_round == dn.metric.Averaged(dn.metric.Duchi(round(p * FULL)))
