"""Linear hashing of codes that nobody listed: its numbers, its law, its reports, and what it refuses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.randomness import FULL, toeplitz
from deniable.randomness.simulated import fixed
from tests import statistics
from tests.cases import check_each
from tests.mechanisms.test_every_mechanism import compile_loops

SMALL = dn.mechanisms.Linear(4, 2, FULL // 2)
"""Of 32 hashes 28 have independent rows."""


def list_fair() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """The fair hashes of SMALL, and their rows."""
    every = np.arange(1 << 5, dtype=np.uint64)
    rows = toeplitz.list_rows(every, np.zeros_like(every), 4, 2)
    fair = toeplitz.are_fair(rows, 4)
    return every[fair], rows[:, fair]


def state_law(code: int) -> npt.NDArray[np.float64]:
    """How likely every hash and bucket of SMALL is from this code, a row for each hash."""
    every, rows = list_fair()
    again = float(toeplitz.chance_dependent(4, 2))
    hashes = np.full(every.size, (1 - again**2) / every.size)
    hashes[every == 8] += again**2
    buckets = np.full((every.size, 4), 0.5 / 3)
    buckets[np.arange(every.size), toeplitz.hash_codes(rows, np.array(code)).astype(np.int64)] = 0.5
    return np.asarray(hashes[:, None] * buckets)


@pytest.mark.parametrize(
    ("epsilon", "g", "keep", "variance"),
    [
        (1.0, 4, 8768971294881393556, 3.691655),
        (2.0, 8, 9472756646864840604, 0.724591),
        (4.0, 64, 8564404289315331810, 0.076412),
    ],
)
def test_numbers_are_those_of_the_specification(epsilon: float, g: int, keep: int, variance: float) -> None:
    m = dn.mechanisms.linear(50, epsilon)
    assert (m.g, m.keep) == (g, keep)
    assert m.law.variance(1) == pytest.approx(variance, abs=5e-7)
    assert m.ratio == dn.grr(g, epsilon).ratio
    assert epsilon - 1e-9 < m.loss() <= epsilon
    assert m.success() == pytest.approx(m.law.success(), rel=1e-12)


def test_losses_stay_below_epsilon() -> None:
    for bits in (1, 2, 8, 30, 62):
        for epsilon in (0.001, 0.1, 0.7, 1.0, 3.0, 5.0, 9.0, 20.0):
            m = dn.mechanisms.linear(bits, epsilon)
            assert epsilon - 1e-9 < m.loss() <= epsilon
            low, high = m.bound_other
            assert low <= m.law.exact_q <= high
            assert bits < 8 or high < m.law.exact_p


def check_sampler(m: dn.mechanisms.Linear) -> None:
    every, _ = list_fair()
    for code in (0, 1, 11):
        sent = m.privatize(np.full(statistics.LAW_REPORTS, code), dn.seeded(7 + code))
        hashes = np.searchsorted(every, sent["bits"][:, 0].astype(np.uint64))
        counts = np.bincount(hashes * 4 + sent["bucket"], minlength=every.size * 4)
        expected = state_law(code).reshape(-1) * statistics.LAW_REPORTS
        statistics.goodness_of_fit(counts, expected, f"reports of code {code}")


def test_every_report_is_as_likely_as_its_law_says() -> None:
    check_sampler(SMALL)


def test_a_threshold_that_is_moved_is_found_out() -> None:
    with pytest.raises(AssertionError, match="reports of code"):
        check_sampler(dn.mechanisms.Linear(4, 2, round(FULL * (0.5 - statistics.MOVED_LAW))))


def test_hashes_do_not_depend_on_the_code() -> None:
    words = dn.seeded(3).take(6 * 1000)
    one, other = (SMALL.privatize(np.full(1000, code), fixed(words)) for code in (0, 13))
    assert np.array_equal(one["bits"], other["bits"])
    assert not np.array_equal(one["bucket"], other["bucket"])


@pytest.mark.parametrize("bits", [1, 3, 20, 57, 62])
def test_loops_and_numpy_make_the_same_reports(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(bits)
    for epsilon in (0.5, 2.0, 6.0):
        m = dn.mechanisms.linear(bits, epsilon)
        values = generator.integers(0, m.k, 1500)
        plain = m.privatize(values, dn.seeded(5))
        with monkeypatch.context() as patch:
            compile_loops(patch, True)
            compiled = m.privatize(values, dn.seeded(5))
        assert compiled.tobytes() == plain.tobytes()
        one_by_one = dn.seeded(5)
        assert plain[:3].tobytes() == b"".join(m.privatize([v], one_by_one).tobytes() for v in values[:3])
        assert m.canonical(plain).all()
        assert m.tally(plain).counts.sum() == 1500


def test_words_that_make_no_fair_hash_are_passed_over() -> None:
    m = dn.mechanisms.linear(20, 2.0)
    good, coin = 0xB0000, [0, 0]
    first = m.privatize([5], fixed([good, 0, 0, 0, *coin]))
    second = m.privatize([5], fixed([0, 0, good, 0, *coin]))
    neither = m.privatize([5], fixed([0, 0, 0, 0, *coin]))
    assert first.tobytes() == second.tobytes()
    assert first["bits"].tolist() == [[0, 0, 0x0B]]
    assert neither["bits"].tolist() == [[0, 0, 1 << 3]]
    sparse = m.privatize([5], fixed([0b1011, 0, good, 0, *coin]))
    assert sparse.tobytes() == first.tobytes(), "rows that are independent in the last bits only"


def test_reports_support_the_codes_of_their_bucket() -> None:
    m = dn.mechanisms.linear(8, 2.0)
    values = np.arange(256)
    sent = m.privatize(values, dn.seeded(9))
    table = m.support(sent)
    assert (table.sum(axis=1) == 1 << (8 - m.rows)).all()
    assert np.array_equal(m.supports(sent, values), table[values, values])
    some = np.array([0, 17, -1])
    assert np.array_equal(m.supports_each(sent, some)[:2], table[:, [0, 17]].T)
    assert not m.supports_each(sent, some)[2].any()
    assert not m.supports(sent, np.full(256, -1)).any()
    likely = m.likelihoods(sent)
    assert likely[table].min() > likely[~table].max() == 1.0


def test_reports_that_were_never_sent_are_refused() -> None:
    m = dn.mechanisms.linear(20, 2.0)

    def check(case: tuple[list[int], int]) -> None:
        report = m.privatize([3])
        report["bits"], report["bucket"] = case
        with pytest.raises(dn.InvalidReport, match=r"first 16 bits of a code, unused bits 0, .* below 8"):
            m.tally(report)

    cases = [
        ("no hash", ([0, 0, 0], 0)),
        ("equal rows", ([255, 255, 63], 0)),
        ("rows of the last bits", ([4, 0, 0], 0)),
        ("a row of bits that do not lead", ([32, 0, 0], 0)),
        ("a bit beyond the last", ([0, 0, 8 + 64], 0)),
        ("a bucket beyond the last", ([0, 0, 8], 8)),
    ]
    check_each(check, cases)
    least = m.privatize([3])
    least["bits"], least["bucket"] = [64, 0, 0], 7
    assert m.canonical(least).all(), "the sparsest hash that is allowed"


def test_what_cannot_be_is_refused() -> None:
    def check(case: tuple[int, int, str]) -> None:
        bits, rows, message = case
        with pytest.raises(dn.InvalidParameter, match=message):
            dn.mechanisms.Linear(bits, rows, FULL - 1)

    wrong = [(63, 3, "bits"), (0, 1, "bits"), (20, 9, "rows"), (2, 3, "rows"), (20, 0, "rows")]
    cases = [(f"{bits} bits, {rows} rows", (bits, rows, what)) for bits, rows, what in wrong]
    check_each(check, cases)
    with pytest.raises(dn.InvalidParameter, match="keep"):
        dn.mechanisms.Linear(20, 3, FULL // 8)
    m = dn.mechanisms.linear(50, 2.0)
    sent = m.privatize([1 << 49])
    with pytest.raises(dn.InvalidParameter, match=r"plan\.discover\(reports\)"):
        m.estimate(m.tally(sent))
    with pytest.raises(dn.InvalidParameter, match="too many to list"):
        m.support(sent)
    with pytest.raises(dn.InvalidParameter, match="leave the prior out"):
        m.success([0.5, 0.5])
    with pytest.raises(dn.InvalidValue):
        m.privatize([1 << 50])


def test_it_says_what_it_is() -> None:
    assert str(dn.mechanisms.linear(50, 2.0)) == (
        "Linear hashing, codes of 50 bits: a report is a linear hash and one of 8 buckets, loss 2.0000, "
        "8 bytes a report"
    )
    assert not dn.mechanisms.Linear.listed
    assert dn.mechanisms.Direct.listed
    assert dn.mechanisms.linear(50, 2.0).law.exact_q < Fraction(1, 8)
