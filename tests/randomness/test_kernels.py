"""The compiled loops against plain Python and numpy, at the sizes where their blocks and lanes
begin and end."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.arrays import Array
from deniable.exact import PRIME
from deniable.mechanisms.shapes import bits
from deniable.randomness import FULL
from deniable.randomness.simulated import fixed
from spec.make.subsets import listed, packed
from tests.cases import by_night
from tests.mechanisms.test_every_mechanism import compile_loops


def both_ways(
    m: dn.mechanisms.Mechanism,
    values: Array,
    words: dn.randomness.Words,
    again: dn.randomness.Words,
    monkeypatch: pytest.MonkeyPatch,
) -> Array:
    """The reports by numpy, which must be those of the compiled loop; and their tallies, which must agree
    too.
    """
    compile_loops(monkeypatch, False)
    plain = m.privatize(values, words)
    tally = m.tally(plain)
    compile_loops(monkeypatch, True)
    fast = m.privatize(values, again)
    assert fast.dtype == plain.dtype
    assert fast.tobytes() == plain.tobytes()
    assert m.tally(fast) == tally
    return plain


@by_night("k", [2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 1000], 7, 9, 127, 129)
@by_night("n", [1, 7, 8, 9, 255, 256, 2050], 7, 9, 256)
def test_unary_at_every_edge(k: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(n) * 31 % k
    both_ways(dn.oue(k, 1.0), values, dn.seeded(1), dn.seeded(1), monkeypatch)


def test_unary_over_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a megabyte of reports, so that threads share the seeded words by their positions."""
    m = dn.oue(1000, 1.0)
    both_ways(m, np.arange(9000) % 1000, dn.seeded(2), dn.seeded(2), monkeypatch)


@pytest.mark.parametrize(
    ("one", "zero"),
    [(FULL - 1, 1), (FULL // 2, 1), (FULL // 2 + 1, FULL // 2), (3 << 62, 1 << 62), (FULL - 1, FULL - 2)],
)
def test_unary_with_thresholds_of_few_digits_and_of_all(
    one: int, zero: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coins that fall at the first digit, and coins that need all 64."""
    m = dn.mechanisms.Unary(70, one, zero)
    both_ways(m, np.arange(500) % 70, dn.seeded(3), dn.seeded(3), monkeypatch)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "numpy"])
def test_unary_coins_fall_at_the_very_threshold(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number that a coin reads across the words is below its threshold, or not, to the last digit."""
    compile_loops(monkeypatch, compiled)
    one, zero = 0xDEADBEEF12345678, 0x0123456789ABCDEF
    m = dn.mechanisms.Unary(3, one, zero)
    for numbers, holds in (
        ((one - 1, zero - 1, zero - 1), [True, True, True]),
        ((one, zero, zero), [False, False, False]),
        ((one - 1, zero, zero - 1), [True, False, True]),
        ((0, FULL - 1, 0), [True, False, True]),
    ):
        words = [
            sum((number >> (63 - level) & 1) << i for i, number in enumerate(numbers)) for level in range(64)
        ]
        assert m.support(m.privatize([0], fixed(words))).tolist() == [holds]


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "numpy"])
def test_direct_at_the_very_threshold(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept below the threshold; else the other values in order, the true one left out."""
    compile_loops(monkeypatch, compiled)
    m = dn.grr(4, 1.0)
    third = -(-FULL // 3)  # the first word that `below` sends to 1
    words = [m.keep - 1, 0, m.keep, 0, m.keep, third - 1, m.keep, third, m.keep, FULL - 1, FULL - 1, FULL - 1]
    assert m.privatize([1] * 6, fixed(words)).tolist() == [1, 0, 0, 2, 3, 3]


@pytest.mark.parametrize("k", [2, 3, 255, 256, 257, 65536, 65537, 1 << 24])
def test_direct_of_every_width(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    m = dn.grr(k, 3.0)
    values = np.array([0, 1, k // 2, k - 1] * 200)
    if k < 1 << 20:
        reports = both_ways(m, values, dn.seeded(4), dn.seeded(4), monkeypatch)
    else:  # too many values to count
        compile_loops(monkeypatch, False)
        reports = m.privatize(values, dn.seeded(4))
        compile_loops(monkeypatch, True)
        assert m.privatize(values, dn.seeded(4)).tobytes() == reports.tobytes()
    assert reports.dtype.itemsize == (1 if k <= 256 else 2 if k <= 65536 else 4) == m.report_bytes
    assert int(reports.max()) < k


@pytest.mark.parametrize(
    ("k", "size"), [(2, 1), (4, 3), (64, 1), (64, 63), (65, 32), (129, 128), (300, 100), (1000, 40)]
)
def test_subsets_of_every_size(k: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    m = listed(dn.ss(k, 1.0, size))
    reports = both_ways(m, np.arange(600) % k, dn.seeded(5), dn.seeded(5), monkeypatch)
    assert (np.diff(reports.astype(np.int64), axis=1) > 0).all()
    assert int(reports.max()) < k
    bits = both_ways(packed(m), np.arange(600) % k, dn.seeded(5), dn.seeded(5), monkeypatch)
    assert (packed(m).support(bits) == m.support(reports)).all()
    assert packed(m).canonical(bits).all()


BUCKETS = [
    2,
    3,
    4,
    5,
    7,
    8,
    12,
    96,
    255,
    256,
    257,
    1000,
    65536,
    65537,
    (1 << 30) - 1,
    1 << 30,
    PRIME - 2,
    PRIME - 1,
]


@pytest.mark.parametrize("g", BUCKETS)
def test_hashed_with_every_kind_of_g(g: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Odd, even, powers of two, next to the prime: the compiled loops divide by multiplying."""
    m = dn.mechanisms.lh(40, 2.0, g)
    both_ways(m, np.arange(700) % 40, dn.seeded(6), dn.seeded(6), monkeypatch)


def test_hashed_with_the_largest_values(monkeypatch: pytest.MonkeyPatch) -> None:
    k = PRIME - 1
    m = dn.mechanisms.lh(k, 2.0, 11)
    values = np.array([0, k - 1, k // 2] * 100)
    compile_loops(monkeypatch, False)
    plain = m.privatize(values, dn.seeded(7))
    compile_loops(monkeypatch, True)
    assert m.privatize(values, dn.seeded(7)).tobytes() == plain.tobytes()


def hashed_reports(g: int, rows: list[tuple[int, int, int]]) -> Array:
    return np.array(rows, dtype=dn.mechanisms.lh(4, 1.0, g).privatize([], fixed([])).dtype)


@pytest.mark.parametrize("g", BUCKETS)
def test_hash_counts_in_python_integers(g: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions and buckets at the ends of their ranges, counted value by value."""
    k = 9
    m = dn.mechanisms.lh(k, 2.0, g)
    ends = [1, 2, PRIME // 2, PRIME - 2, PRIME - 1]
    rows = [(a, b, c) for a, b, c in itertools.product(ends, [0, *ends[:-1]], {0, 1, g // 2, g - 1})]
    counts = [sum((a * (v + 1) + b) % PRIME % g == c for a, b, c in rows) for v in range(k)]
    for compiled in (True, False):
        compile_loops(monkeypatch, compiled)
        assert m.tally(hashed_reports(g, rows)).counts.tolist() == counts


@settings(max_examples=40)
@given(st.integers(2, PRIME - 1), st.integers(1, PRIME - 1), st.integers(0, PRIME - 1), st.data())
def test_hash_counts_of_any_function(g: int, a: int, b: int, data: st.DataObject) -> None:
    """The bucket of some value, so that there is something to count."""
    k = 6
    v = data.draw(st.integers(0, k - 1))
    c = (a * (v + 1) + b) % PRIME % g
    counts = [(a * (u + 1) + b) % PRIME % g == c for u in range(k)]
    with pytest.MonkeyPatch.context() as patch:
        for compiled in (True, False):
            compile_loops(patch, compiled)
            assert dn.mechanisms.lh(k, 2.0, g).tally(hashed_reports(g, [(a, b, c)])).counts.tolist() == counts


@pytest.mark.parametrize("k", [2, 3, 4, 7, 8, 255, 256, 1000, 70_000])
def test_hadamard_of_every_width(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    m = dn.hr(k, 1.0)
    reports = both_ways(m, np.arange(900) % k, dn.seeded(8), dn.seeded(8), monkeypatch)
    assert int(reports.max()) < 1 << m.bits
    assert k < 1 << m.bits <= 2 * k
    counts = m.tally(reports).counts
    for v in {0, 1, k // 2, k - 1}:
        assert counts[v] == sum((int(column) & (v + 1)).bit_count() % 2 == 0 for column in reports)


@by_night("name", ["grr", "oue", "olh", "plh", "ss", "hr"], "oue", "olh", "plh", "hr")
@pytest.mark.parametrize("source", ["fixed", "keyed"])
def test_words_of_any_source_in_bulk(name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be reached by position is read in order."""
    m = dn.PROTOCOLS[name].make(70, 1.0)
    values = np.arange(300) % 70

    def words() -> dn.randomness.Words:
        return (
            dn.randomness.keyed(bytes(16)) if source == "keyed" else fixed(dn.seeded(9).take(300 * m.words))
        )

    both_ways(m, values, words(), words(), monkeypatch)


def test_seeded_words_in_bulk_and_by_list_make_the_same_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiled loop that mixes its own words gives what a list of the same words gives."""
    compile_loops(monkeypatch, True)
    for name in ("grr", "oue", "olh", "plh", "ss", "hr"):
        m = dn.PROTOCOLS[name].make(70, 1.0)
        values = np.arange(300) % 70
        by_list = m.privatize(values, fixed(dn.seeded(10).take(300 * m.words)))
        assert m.privatize(values, dn.seeded(10)).tobytes() == by_list.tobytes()


def test_a_refused_report_is_refused_from_any_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_loops(monkeypatch, True)
    m = dn.grr(200, 1.0)
    reports = np.zeros(3_000_000, dtype=np.uint8)
    assert m.tally(reports).counts[0] == 3_000_000
    reports[-1] = 201
    with pytest.raises(dn.InvalidReport, match="a report is a value from 0 to 199"):
        m.tally(reports)


@pytest.mark.parametrize(
    ("k", "n"),
    [
        (1, 100_001),  # one byte a report: narrow rows, joined
        (100, 40_001),
        (1000, 8 * (16 * 255 + 17) + 3),  # a second round of byte counters, rows left over, reports left over
        (8200, 8 * 33),  # wider than the table of counters
    ],
)
@pytest.mark.parametrize("every", [False, True])
def test_the_compiled_count_is_the_plain_one(k: int, n: int, every: bool) -> None:
    """Reports that set every bit fill each counter to its limit."""
    width = bits.count_bytes(k)
    draw = np.random.default_rng(k)
    reports = draw.integers(255 if every else 0, 256, (n, width), dtype=np.uint8)
    plain = bits.count_members(reports, k, False)
    assert (plain == n).all() == every
    assert np.array_equal(bits.count_members(reports, k, True), plain)
