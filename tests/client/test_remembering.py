"""Words that a person keeps: rows that can be picked before they are drawn, and two rounds from
one device.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.arrays import Array, Integers
from deniable.randomness import FULL
from deniable.randomness.draws import WordArray
from deniable.randomness.simulated import RememberingRows, fixed, remembering
from deniable.randomness.words import Device, Rows, SystemRows
from deniable.records import (
    Blank,
    Fake,
    Faked,
    Guessed,
    Imitated,
    Prior,
    RecordMechanism,
    Sample,
    Split,
    rsfd,
    rsrfd,
    smp,
)
from deniable.rounds import HashedMemoized, Memoized, Repeated, l_grr, l_osue, l_oue, l_soue, l_sue, loloha
from tests import statistics
from tests.cases import by_night
from tests.records.test_records import compile_loops

# Rows: columns, pick and array commute.


def kept_rows(n: int, width: int) -> Rows:
    return remembering(3, dn.seeded(4)).rows(n, width).recall()


def kept_rows_of_values(n: int, width: int) -> Rows:
    return remembering(3, dn.seeded(4)).rows(n, width).recall(np.arange(n) % 5)


ROWS: dict[str, Callable[[int, int], Rows]] = {
    "seeded": lambda n, width: dn.seeded(3).rows(n, width),
    "seeded, further on": lambda n, width: (source := dn.seeded(3), source.take(17), source.rows(n, width))[
        2
    ],
    "keyed": lambda n, width: dn.randomness.keyed(bytes(16), "rows").rows(n, width),
    "fixed": lambda n, width: fixed(dn.seeded(3).take(n * width)).rows(n, width),
    "remembering": lambda n, width: remembering(3, dn.seeded(4)).rows(n, width),
    "device": lambda n, width: Device(bytes(16), ["rows"], dn.seeded(4)).rows(n, width),
    "kept by a device": lambda n, width: (
        dn.randomness.device(bytes(16), "rows").rows(n, width).recall(np.arange(n) % 5)
    ),
    "kept": kept_rows,
    "kept for a value": kept_rows_of_values,
}

PICKS = st.one_of(
    st.lists(st.integers(0, 11), max_size=20).map(lambda some: np.array(some, dtype=np.int64)),
    st.tuples(st.integers(0, 12), st.integers(0, 12)).map(lambda ends: slice(min(ends), max(ends))),
    st.sampled_from([slice(None), slice(2, None), slice(None, 5), slice(0, 100)]),
)
SPANS = st.tuples(st.integers(0, 7), st.integers(0, 7)).map(sorted)


@by_night("name", ROWS, *list(ROWS)[4:])
def test_picking_and_drawing_commute(name: str) -> None:
    @settings(max_examples=60)
    @given(PICKS, SPANS, st.booleans(), st.integers(0, 3))
    def check(rows: slice | Integers, span: list[int], columns_first: bool, again: int) -> None:
        table = ROWS[name](12, 7)
        whole = table.array()
        assert whole.shape == (12, 7)
        start, stop = span
        found = (
            table.columns(start, stop).pick(rows) if columns_first else table.pick(rows).columns(start, stop)
        )
        expected = whole[rows][:, start:stop]
        assert (found.n, found.width) == expected.shape
        assert np.array_equal(found.array(), expected)
        # picking from what was picked
        more = np.arange(found.n)[::-1][: again + 1]
        assert np.array_equal(found.pick(more).array(), expected[more])
        assert np.array_equal(found.pick(slice(again, found.n)).array(), expected[again:]) or again > found.n
        assert np.array_equal(table.array(), whole), "drawing changed what is drawn"

    check()


@pytest.mark.parametrize(
    "rows", [slice(None, None, 2), slice(1, 9, 3), slice(None, None, -1), slice(-3, None), slice(5, 2)]
)
@pytest.mark.parametrize("name", ROWS)
def test_any_slice_picks_what_it_would_from_an_array(name: str, rows: slice) -> None:
    table = ROWS[name](12, 7)
    assert np.array_equal(table.pick(rows).array(), table.array()[rows])
    assert table.pick(rows).n == len(range(12)[rows])


def test_negative_numbers_of_rows_count_from_the_end() -> None:
    for name, make in ROWS.items():
        table = make(12, 7)
        index = np.array([-1, 3, -12, 3])
        assert np.array_equal(table.pick(index).array(), table.array()[index]), name
        assert np.array_equal(table.pick(index).pick(np.array([-1])).array(), table.array()[[3]]), name


def test_rows_of_the_operating_system_have_the_right_size() -> None:
    table = dn.randomness.system().rows(12, 7)
    assert isinstance(table, SystemRows)
    for rows, n in (
        (slice(2, 5), 3),
        (np.array([1, 1, 4]), 3),
        (slice(0, 100), 12),
        (slice(None, None, 5), 3),
    ):
        found = table.pick(rows).columns(2, 6)
        assert (found.n, found.width) == (n, 4)
        assert found.array().shape == (n, 4)
    assert not np.array_equal(table.array(), table.array())


def test_rows_without_a_memory_keep_nothing() -> None:
    for name in ("seeded", "keyed", "fixed"):
        table = ROWS[name](12, 7)
        for kept in (table.recall(), table.recall(np.zeros(12, dtype=np.int64)), table.forget()):
            assert np.array_equal(kept.array(), table.array())


# What is kept.


def test_kept_words_repeat_and_fresh_ones_do_not() -> None:
    fresh = dn.seeded(9)
    words = remembering(7, fresh)
    one, two = words.rows(50, 6), words.rows(50, 6)
    values = np.arange(50) % 3
    assert np.array_equal(one.recall().array(), two.recall().array())
    assert np.array_equal(one.recall(values).array(), two.recall(values).array())
    assert not (one.array() == two.array()).any()
    assert np.array_equal(one.array(), dn.seeded(9).rows(50, 6).array()), (
        "fresh words are those that were given"
    )
    assert np.array_equal(one.forget().array(), one.array())


def test_every_person_value_and_column_has_kept_words_of_its_own() -> None:
    table = remembering(7, dn.seeded(8)).rows(200, 6)
    kept = [table.recall().array(), *(table.recall(np.full(200, value)).array() for value in range(30))]
    everything = np.concatenate([*(words.reshape(-1) for words in kept), table.array().reshape(-1)])
    assert np.unique(everything).size == everything.size


def test_kept_words_belong_to_people_and_columns_not_to_positions() -> None:
    """Whichever rows and columns are picked first."""
    table = remembering(7, dn.seeded(8)).rows(60, 9)
    values = np.arange(60) % 4
    who = np.array([5, 17, 3, 59, 3])
    picked = table.pick(who).columns(2, 5)
    assert isinstance(picked, RememberingRows)
    assert np.array_equal(picked.recall(values[who]).array(), table.recall(values).array()[who, 2:5])
    assert np.array_equal(picked.recall().array(), table.recall().array()[who, 2:5])
    later = table.pick(slice(20, 40)).pick(np.array([0, 19]))
    assert np.array_equal(later.recall().array(), table.recall().array()[[20, 39]])
    # a crowd of another size has the same first people
    assert np.array_equal(
        remembering(7, dn.seeded(8)).rows(10, 9).recall().array(), table.recall().array()[:10]
    )


@pytest.mark.parametrize("width", [4, 128, 130, 256, 1 << 11, 1 << 14, (1 << 14) + 3])
def test_no_two_people_keep_the_same_words_however_wide_a_report(width: int) -> None:
    """Words are numbered up to 2^64, and people are far apart: no multiple of their distance may come around
    to zero.
    """
    people = np.array([0, *(1 << power for power in range(31)), 3 << 18, 5 << 20])
    table = remembering(7, dn.seeded(8)).rows(1, width)
    assert isinstance(table, RememberingRows)
    many = replace(table, starts=people << 32).columns(0, 3)
    kept = np.concatenate([many.recall().array(), many.recall(np.zeros(len(people), dtype=np.int64)).array()])
    assert np.unique(kept).size == kept.size, "two people keep the same words"


def test_kept_words_are_not_fresh_words_of_the_same_seed() -> None:
    """Nobody's permanent answer is to be read from somebody's fresh noise, whatever seeds were chosen."""
    for n, width in ((40, 3), (100, 130)):
        table = remembering(7, dn.seeded(7)).rows(n, width)
        fresh = table.array()
        for kept in (table.recall(), *(table.recall(np.full(n, value)) for value in range(5))):
            assert not np.isin(kept.array(), fresh).any()


def test_other_seeds_keep_other_words() -> None:
    one, two = (remembering(seed, dn.seeded(1)).rows(50, 4).recall().array() for seed in (1, 2))
    assert not np.isin(one, two).any()


@pytest.mark.parametrize("seed", [-1, 1.0, "7", None, True])
def test_a_wrong_seed_is_refused(seed: Any) -> None:
    with pytest.raises(dn.InvalidParameter, match="seed must be an integer of at least 0"):
        remembering(seed)


def test_fresh_words_come_from_the_operating_system_unless_given() -> None:
    one, two = (remembering(7).rows(20, 4) for _ in range(2))
    assert not np.isin(one.array(), two.array()).any()
    assert np.array_equal(one.recall().array(), two.recall().array())
    assert remembering(7).take(5).shape == (5,)


# Two rounds from one device.

N = 3000
CHAINS: dict[str, Callable[[], Memoized]] = {
    "l-grr": lambda: l_grr(6, 1.0, 2.0),
    "l-grr, as published": lambda: l_grr(6, 1.0, 2.0, "published"),
    "l-sue": lambda: l_sue(6, 1.0, 2.0),
    "l-oue": lambda: l_oue(6, 1.0, 2.0),
    "l-osue": lambda: l_osue(6, 1.0, 2.0),
    "l-soue": lambda: l_soue(6, 1.0, 2.0),
    "l-osue of many": lambda: l_osue(70, 1.0, 2.0),
}


@final
@dataclass(frozen=True)
class Forgetful(Rows):
    """A planted fault: rows that draw what they should keep anew at each collection."""

    inner: Rows

    @property
    def n(self) -> int:
        return self.inner.n

    @property
    def width(self) -> int:
        return self.inner.width

    def array(self) -> WordArray:
        return self.inner.array()

    def columns(self, start: int, stop: int) -> Rows:
        return Forgetful(self.inner.columns(start, stop))

    def pick(self, rows: slice | Integers) -> Rows:
        return Forgetful(self.inner.pick(rows))

    def forget(self) -> Rows:
        return self.inner.forget()

    def recall(self, values: Integers | None = None, plan: int = 0) -> Rows:
        return self.inner.forget()


class ForgetfulWords(dn.randomness.Words):
    """Words whose rows forget."""

    def __init__(self, words: dn.randomness.Words) -> None:
        self.words = words

    def take(self, count: int) -> WordArray:
        return self.words.take(count)

    def rows(self, n: int, width: int) -> Rows:
        return Forgetful(self.words.rows(n, width))


def crowd_words(right: bool = True) -> dn.randomness.Words:
    words = remembering(5, dn.seeded(6))
    return words if right else ForgetfulWords(words)


def permanent(m: Memoized, values: Array, words: dn.randomness.Words) -> Array:
    """The answers that are kept, as the mechanism would draw them at its next collection."""
    table = words.rows(len(values), m.words)
    return m.first.encode(values, table.columns(0, m.first.words).recall(values))


def agreement(m: Repeated, one: Array, other: Array) -> float:
    """How alike two rounds of the same people are: how often a value is supported in both or in neither."""
    return float((m.support(one) == m.support(other)).mean())


def expected_agreement(m: Memoized, redrawn: bool) -> float:
    """The same by the law: with one kept answer, two fresh rounds agree more often than two independent
    reports.
    """
    p1, q1, p2, q2 = m.first.law.p, m.first.law.q, m.second.law.p, m.second.law.q

    def alike(p: float) -> float:
        return p * p + (1 - p) * (1 - p)

    true, other = (
        (alike(m.law.p), alike(m.law.q))
        if redrawn
        else (x * alike(p2) + (1 - x) * alike(q2) for x in (p1, q1))
    )
    return (true + (m.k - 1) * other) / m.k


def check_kept_answers(m: Memoized, words: dn.randomness.Words) -> None:
    """Two collections of unchanged values have the same permanent answers."""
    values = np.arange(N) % m.k
    same = bool(
        (permanent(m, values, words) == permanent(m, values, words)).all()
    )  # a long diff of bytes would take minutes
    assert same, "the permanent answer was redrawn"


def check_two_rounds(m: Memoized, words: dn.randomness.Words) -> None:
    """Two collections of unchanged values differ, but agree as often as two rounds on one kept answer do."""
    values = np.arange(N) % m.k
    one, two = m.privatize(values, words), m.privatize(values, words)
    assert bool((one != two).any()), "the fresh noise was not redrawn"
    found, kept, redrawn = agreement(m, one, two), expected_agreement(m, False), expected_agreement(m, True)
    assert abs(found - kept) < abs(found - redrawn), (
        f"rounds agree in {found:.4f}, as if redrawn: {kept:.4f} was expected"
    )


@pytest.mark.parametrize("name", CHAINS)
def test_the_permanent_answer_repeats_and_the_noise_does_not(name: str) -> None:
    check_kept_answers(CHAINS[name](), crowd_words())
    check_two_rounds(CHAINS[name](), crowd_words())


@pytest.mark.parametrize("name", CHAINS)
def test_a_permanent_answer_that_is_sampled_again_is_seen(name: str) -> None:
    """In the answer itself, and in the reports alone."""
    with pytest.raises(AssertionError, match="permanent answer was redrawn"):
        check_kept_answers(CHAINS[name](), crowd_words(right=False))
    with pytest.raises(AssertionError, match="as if redrawn"):
        check_two_rounds(CHAINS[name](), crowd_words(right=False))


class Frozen(dn.randomness.Words):
    """A planted fault: fresh words that are the same at each collection."""

    def take(self, count: int) -> WordArray:
        return dn.seeded(1).take(count)


def test_noise_that_is_not_sampled_again_is_seen() -> None:
    for make in CHAINS.values():
        with pytest.raises(AssertionError, match="fresh noise was not redrawn"):
            check_two_rounds(make(), remembering(5, Frozen()))


def exact_second(m: Memoized) -> Memoized:
    """The same with a second round that changes next to nothing, so that reports show what is kept."""
    last = FULL - 1
    second = (
        dn.mechanisms.Direct(m.k, last)
        if isinstance(m.second, dn.mechanisms.Direct)
        else dn.mechanisms.Unary(m.k, last, 1)
    )
    return Memoized(m.first, second)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "numpy"])
@pytest.mark.parametrize("name", CHAINS)
def test_what_is_kept_goes_by_person_and_value(
    name: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new value has an answer of its own, an old one gets its old answer back, and people differ."""
    compile_loops(monkeypatch, compiled)
    m, words = exact_second(CHAINS[name]()), crowd_words()
    values = np.arange(N) % m.k
    changed = (values + 1) % m.k
    first, second, back = (m.privatize(some, words) for some in (values, changed, values))
    assert first.tobytes() == back.tobytes(), "an old value has a new answer"
    rows = (first == second) if first.ndim == 1 else (first == second).all(axis=1)
    assert rows.mean() < 0.5, "a new value has the old answer"
    # people with one value: as different as the law of the first round makes them
    same = m.privatize(np.zeros(N, dtype=int), words)
    seen = m.support(same).mean(axis=0)
    expected = np.array([m.first.law.p, *[m.first.law.q] * (m.k - 1)])
    assert np.abs(seen - expected).max() < 6 / np.sqrt(N)
    # and the one who changes does not change the others
    alone = values.copy()
    alone[7] = changed[7]
    third = m.privatize(alone, words)
    others = np.arange(N) != 7
    assert third[others].tobytes() == first[others].tobytes()
    assert third[7].tobytes() == second[7].tobytes()


def check_hash(m: HashedMemoized, words: dn.randomness.Words) -> None:
    """Two collections with other values: the same functions, so the hash is no news; people's functions
    differ.
    """
    values = np.arange(N) % m.k
    one, two = m.privatize(values, words), m.privatize((values * 7 + 3) % m.k, words)
    for name in ("a", "b"):
        assert np.array_equal(one[name], two[name]), "the hash function was redrawn"
    assert np.unique(one["a"]).size > 0.99 * N
    assert not np.array_equal(one["bucket"], two["bucket"])


@pytest.mark.parametrize("g", [None, 2, 7])
def test_the_hash_function_repeats(g: int | None) -> None:
    check_hash(loloha(50, 1.0, 2.0, g), crowd_words())


def test_a_hash_function_that_is_sampled_again_is_seen() -> None:
    with pytest.raises(AssertionError, match="hash function was redrawn"):
        check_hash(loloha(50, 1.0, 2.0), crowd_words(right=False))


def test_what_is_kept_after_hashing_goes_by_the_bucket() -> None:
    """Two values of one bucket have one permanent answer between them, or the count of what is kept would be
    wrong.
    """
    right = loloha(50, 1.0, 2.0, g=2)
    m, words = HashedMemoized(50, exact_second(right.buckets)), crowd_words()
    values = np.zeros(N, dtype=int)
    reports = {value: m.privatize(values + value, words) for value in (0, 1)}
    a, b = reports[0]["a"].astype(np.int64), reports[0]["b"].astype(np.int64)
    buckets = {value: (a * (value + 1) + b) % (2**31 - 1) % 2 for value in (0, 1)}
    together = buckets[0] == buckets[1]
    assert 0.4 < together.mean() < 0.6
    answers = reports[0]["bucket"], reports[1]["bucket"]
    assert np.array_equal(answers[0][together], answers[1][together])
    assert (answers[0][~together] == answers[1][~together]).mean() < 0.6
    assert m.privatize(values, words)["bucket"].tobytes() == answers[0].tobytes()


# The sampled attribute.

KS = (3, 4, 5)
SAMPLES: dict[str, Callable[[], RecordMechanism]] = {
    "smp": lambda: smp(KS, 1.0, "grr"),
    "two of three": lambda: smp(KS, 1.0, "grr", 2),
    "smp of unary": lambda: smp(KS, 1.0, "oue"),
    "kept": lambda: Sample(tuple(l_grr(k, 1.0, 2.0) for k in KS)),
    "sample of hashes": lambda: Sample(tuple(loloha(k, 1.0, 2.0) for k in KS)),
    "rsfd grr": lambda: rsfd(KS, 1.0, "grr"),
    "rsfd oue-z": lambda: rsfd(KS, 1.0, "oue-z"),
    "rsfd oue-r": lambda: rsfd(KS, 1.0, "oue-r"),
    "rsrfd": lambda: rsrfd(KS, 1.0, [np.arange(1, k + 1) for k in KS]),
}


def sure(mechanism: RecordMechanism) -> RecordMechanism:
    """With parts that send every value as it is, and fakes that are nobody's value: a report shows what was
    sampled.
    """
    if not isinstance(mechanism, Faked):
        return mechanism
    shown: list[Fake] = []
    for fake in mechanism.fakes:
        k = fake.part.k
        largest = Prior((*([1] * (k - 1)), FULL - k + 1))
        match fake:
            case Guessed():
                shown.append(Guessed(dn.mechanisms.Direct(k, FULL - 1), largest))
            case Imitated(part=dn.mechanisms.Direct()):
                shown.append(Imitated(dn.mechanisms.Direct(k, FULL - 1), largest))
            case Imitated():
                shown.append(Imitated(dn.mechanisms.Unary(k, FULL - 1, 1), largest))
            case Blank():
                shown.append(Blank(dn.mechanisms.Unary(k, FULL - 1, 1)))
    return Faked(tuple(shown))


def sampled(mechanism: RecordMechanism, table: Array, words: dn.randomness.Words) -> Array:
    """Which attributes of each record are real, as a number; no value may be an attribute's largest, which
    fakes are.
    """
    shown = sure(mechanism)
    assert shown.words == mechanism.words
    records = shown.privatize(table, words)
    found = np.zeros(len(table), dtype=int)
    for j, (part, column) in enumerate(zip(shown.mechanisms, records.columns, strict=True)):
        real = (
            np.flatnonzero(part.support(column)[:, :-1].any(axis=1))
            if records.reporters is None
            else records.reporters[j]
        )
        np.bitwise_or.at(found, real, 1 << j)
    return found


def some_table(seed: int) -> Array:
    random = np.random.default_rng(seed)
    return np.column_stack([random.integers(0, k - 1, size=N) for k in KS])


def check_sampled(mechanism: RecordMechanism, words: dn.randomness.Words) -> None:
    """The same attributes at each collection, whatever the values have become."""
    one, two, three = (sampled(mechanism, some_table(seed), words) for seed in (1, 1, 2))
    assert np.array_equal(one, two), "the sampled attribute was redrawn"
    assert np.array_equal(one, three), "the sampled attribute goes by the values"
    drawn = mechanism.reported if isinstance(mechanism, Sample) else 1
    sets = [sum(1 << j for j in some) for some in itertools.combinations(range(len(KS)), drawn)]
    seen = np.bincount(one, minlength=8)[sets]
    statistics.goodness_of_fit(seen, np.full(len(sets), N / len(sets)), "sampled attributes")


@pytest.mark.parametrize("name", SAMPLES)
def test_the_sampled_attribute_repeats(name: str) -> None:
    check_sampled(SAMPLES[name](), crowd_words())


@pytest.mark.parametrize("name", SAMPLES)
def test_an_attribute_that_is_sampled_again_is_seen(name: str) -> None:
    with pytest.raises(AssertionError, match="sampled attribute was redrawn"):
        check_sampled(SAMPLES[name](), crowd_words(right=False))


@pytest.mark.parametrize("name", SAMPLES)
def test_reports_of_a_kept_attribute_are_new_each_time(name: str) -> None:
    mechanism, words, table = SAMPLES[name](), crowd_words(), some_table(1)
    one, two = mechanism.privatize(table, words), mechanism.privatize(table, words)
    assert any(a.tobytes() != b.tobytes() for a, b in zip(one.columns, two.columns, strict=True))
    if one.reporters is not None:
        assert two.reporters is not None
        assert all(np.array_equal(a, b) for a, b in zip(one.reporters, two.reporters, strict=True))


@pytest.mark.parametrize("name", ["smp", "kept", "rsfd grr"])
def test_the_sampled_attribute_says_nothing_of_the_values(name: str) -> None:
    """Over many people, attribute and value are independent: chi-square of the table of both."""
    mechanism = SAMPLES[name]()
    n = 30_000
    random = np.random.default_rng(8)
    table = np.column_stack([random.integers(0, k - 1, size=n) for k in KS])
    found = sampled(mechanism, table, remembering(11, dn.seeded(12)))
    for j, k in enumerate(KS):
        for value in range(k - 2):
            has = table[:, j] == value
            counts = [np.bincount(found[some], minlength=8) for some in (has, ~has)]
            statistics.same_law(counts[0], counts[1], f"attribute drawn by people with value {value} of {j}")


def test_a_leak_from_value_to_attribute_is_seen() -> None:
    """A planted fault: people with value 0 of attribute 0 report it a little more often."""
    random = np.random.default_rng(8)
    has = random.random(30_000) < 0.5
    found = np.where(random.random(30_000) < np.where(has, 0.37, 0.33), 1, random.choice([2, 4], size=30_000))
    with pytest.raises(AssertionError, match="between two samples"):
        statistics.same_law(
            np.bincount(found[has], minlength=8), np.bincount(found[~has], minlength=8), "attribute"
        )


def test_permanent_answers_inside_a_record_mechanism() -> None:
    """Each attribute of a record has its own; in a sample, that of the attribute that was drawn."""
    parts = tuple(exact_second(l_grr(6, 1.0, 2.0)) for _ in range(3))
    table = np.zeros((N, 3), dtype=int)
    for mechanism in (Split(parts), Sample(parts), Sample(parts, 2)):
        words = crowd_words()
        one, two = mechanism.privatize(table, words), mechanism.privatize(table, words)
        assert all(a.tobytes() == b.tobytes() for a, b in zip(one.columns, two.columns, strict=True))
    columns = Split(parts).privatize(table, crowd_words()).columns
    # one value in three attributes, three independent answers
    for a, b in itertools.combinations(columns, 2):
        p, q = parts[0].first.law.p, parts[0].first.law.q
        expected = p * p + 5 * q * q
        assert abs(float((a == b).mean()) - expected) < 5 * np.sqrt(expected * (1 - expected) / N)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_mechanism_with_a_memory_is_its_records_one_by_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled or not, the same reports; a person's are the same in a crowd as alone."""
    mechanism, table = SAMPLES[name](), some_table(3)
    found = []
    for compiled in (False, True):
        compile_loops(monkeypatch, compiled)
        found.append(mechanism.privatize(table, crowd_words()))
    plain, fast = found
    assert all(a.tobytes() == b.tobytes() for a, b in zip(plain.columns, fast.columns, strict=True))
    rows = crowd_words().rows(N, mechanism.words)
    for i in (0, 5, N - 1):
        alone = mechanism.encode(np.ascontiguousarray(table[i : i + 1].T), rows.pick(np.array([i])))
        for j, column in enumerate(plain.columns):
            who = np.arange(N) if plain.reporters is None else plain.reporters[j]
            assert alone.columns[j].tobytes() == column[who == i].tobytes()


DEVICES: dict[str, Callable[[], RecordMechanism]] = {
    "each attribute": lambda: Split(tuple(exact_second(l_grr(6, 1.0, 2.0)) for _ in range(3))),
    "one of three": lambda: Sample(tuple(exact_second(l_osue(6, 1.0, 2.0)) for _ in range(3))),
    "two of three": lambda: Sample(tuple(exact_second(l_grr(6, 1.0, 2.0)) for _ in range(3)), 2),
}


def device_report(mechanism: RecordMechanism, secret: bytes, label: str, value: int = 0) -> tuple[bytes, ...]:
    """What a device reports of a record in one round, without the noise of the round."""
    records = mechanism.privatize([[value] * mechanism.d], dn.randomness.device(secret, label))
    return tuple(column.tobytes() for column in records.columns)


@pytest.mark.parametrize("name", DEVICES)
def test_a_device_keeps_its_answers_by_a_secret(name: str) -> None:
    """Nothing is stored but a key, and every round repeats the attribute and the permanent answer of every
    value.
    """
    mechanism = DEVICES[name]()
    one, two = bytes(range(32)), bytes(range(1, 33))
    answers = [device_report(mechanism, one, "study", value) for value in range(6)]
    assert answers == [device_report(mechanism, one, "study", value) for value in range(6)], (
        "the permanent answer was redrawn"
    )
    assert answers != [device_report(mechanism, two, "study", value) for value in range(6)]
    assert answers != [device_report(mechanism, one, "another", value) for value in range(6)]


def test_devices_answer_by_the_law() -> None:
    """Over many secrets a device's kept answers have the first round's probabilities (expected to fail 1 time
    in 10^6).
    """
    m = exact_second(l_grr(4, 1.0, 2.0))
    answers = [
        m.privatize([2], dn.randomness.device(number.to_bytes(16, "little")))[0] for number in range(1500)
    ]
    counts, p = np.bincount(answers, minlength=4), m.first.law.p
    expected = np.array([(1 - p) / 3, (1 - p) / 3, p, (1 - p) / 3]) * 1500
    assert float(((counts - expected) ** 2 / expected).sum()) < 30.7  # chi-square with 3 degrees of freedom


def test_words_that_a_device_keeps_are_those_of_the_key_stream() -> None:
    """As the specification of the wire has it: number c of the stream labelled with the value + 1, or 0 for
    none.
    """
    rows = dn.randomness.device(bytes(32), "study").rows(1, 11)
    for start, stop in ((0, 11), (3, 4), (5, 11), (8, 8)):
        some = rows.columns(start, stop)
        assert np.array_equal(
            some.recall().array()[0], dn.randomness.keyed(bytes(32), "study", 0).take(11)[start:stop]
        )
        kept = some.recall(np.array([4])).array()[0]
        assert np.array_equal(kept, dn.randomness.keyed(bytes(32), "study", 5).take(11)[start:stop])
    with pytest.raises(dn.InvalidParameter, match="at least 16 bytes"):
        dn.randomness.device(b"short")
