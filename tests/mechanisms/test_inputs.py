"""What is not a value, a parameter or a report is refused with a message that says what was given; never
passed through.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.arrays import Array
from deniable.randomness import FULL
from deniable.randomness.simulated import fixed
from tests.cases import by_night, check_each
from tests.mechanisms.test_every_mechanism import ALIKE, EVERY, MAKERS, as_bytes, compile_loops, made

PRIME = 2**31 - 1
K = 10
SHAPES = ["grr", "oue", "ss", "ss of half, listed", "olh", "hr"]
"""One protocol of every shape."""

NOT_VALUES: dict[str, Any] = {
    "below": [0, -1],
    "k itself": [0, K],
    "far above": [0, 2**31],
    "beyond int64": [2**63],
    "beyond uint64": [2**64],
    "huge": [10**40],
    "negative and huge": [-1, 2**63],
    "largest uint64": np.array([2**64 - 1], dtype=np.uint64),
    "least int64": np.array([-(2**63)]),
    "floats": [1.0, 2.0],
    "one float among integers": [1, 2.0],
    "NaN": [1.0, math.nan],
    "infinity": [math.inf],
    "booleans": [True, False],
    "numpy booleans": np.array([True]),
    "one boolean among integers": [1, True],
    "text": ["1", "2"],
    "text and integers": ["1", 2],
    "bytes": [b"1"],
    "None": [None],
    "None among integers": [1, None],
    "objects": np.array([1, 2], dtype=object),
    "complex": [1j],
    "dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
    "durations": np.array([1], dtype="timedelta64[s]"),
    "records": np.array([(1,)], dtype=[("a", "i8")]),
    "one number": 3,
    "nothing": None,
    "a string": "123",
    "two dimensions": [[1, 2], [3, 4]],
    "two dimensions, empty": np.zeros((0, 2), dtype=int),
    "ragged": [[1], [2, 3]],
    "a set": {1, 2},
    "a dictionary": {1: 2},
    "a generator": (value for value in [1, 2]),
    "a masked array": np.ma.masked_array([1, 2], mask=[False, True]),
    "pandas with NA": pd.Series([1, None], dtype="Int64"),
    "pandas with NaN": pd.Series([1, None]),
    "pandas booleans": pd.Series([True, False]),
    "pandas text": pd.Series(["a"]),
    "pandas frame": pd.DataFrame({"a": [1, 2]}),
    "polars with null": pl.Series([1, None]),
    "polars text": pl.Series(["a"]),
    "polars floats": pl.Series([1.0]),
}

VALUES: dict[str, Any] = {
    **{
        kind: np.array([0, 3, K - 1], dtype=kind)
        for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4")
    },
    "list": [0, 3, K - 1],
    "tuple": (0, 3, K - 1),
    "numpy integers": [np.int8(0), np.uint8(3), np.int64(K - 1)],
    "strided": np.array([0, 9, 3, 9, K - 1, 9])[::2],
    "read-only": np.frombuffer(np.array([0, 3, K - 1]).tobytes(), dtype=np.int64),
    "range": range(0, K, 3),
    "pandas": pd.Series([0, 3, K - 1], index=[7, 8, 9]),
    "pandas nullable": pd.Series([0, 3, K - 1], dtype="Int64"),
    "pandas index": pd.Index([0, 3, K - 1]),
    "polars": pl.Series([0, 3, K - 1]),
    "polars small": pl.Series([0, 3, K - 1], dtype=pl.UInt8),
    "masked, nothing hidden": np.ma.masked_array([0, 3, K - 1], mask=False),
}


def named(*values: Any) -> list[tuple[str, Any]]:
    """Cases that are named as they are written."""
    return [(repr(value), value) for value in values]


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_not_a_value_is_refused(name: str) -> None:
    """And no word is taken for it."""

    def check(values: Any) -> None:
        source = dn.seeded(1)
        with pytest.raises(dn.InvalidValue):
            made(name, K, 1.0).privatize(values, source)
        assert source.take(2).tolist() == dn.seeded(1).take(2).tolist()

    check_each(check, NOT_VALUES.items())


@pytest.mark.parametrize("name", SHAPES)
def test_refusals_say_what_was_given(name: str) -> None:
    m = made(name, K, 1.0)
    for values, message in (
        ([3, -7], "-7 is not a value of this mechanism (0 to 9); it was not reported"),
        ([3, 1234], "1234 is not a value of this mechanism (0 to 9)"),
        ([0.5, math.nan], "got floating-point numbers (float64) with 1 NaN"),
        (["a"], "got text"),
        ([True], "got booleans"),
        ([[1]], "values must have one dimension, got 2; give one attribute at a time"),
        (4, "put a single value in a list"),
    ):
        with pytest.raises(dn.InvalidValue) as refused:
            m.privatize(values, dn.seeded(1))
        assert message in str(refused.value)


@pytest.mark.parametrize("name", SHAPES)
def test_values_of_every_integer_kind(name: str) -> None:
    m = made(name, K, 1.0)

    def check(values: Any) -> None:
        plain = [int(value) for value in values]
        assert as_bytes(m.privatize(values, dn.seeded(2))) == as_bytes(m.privatize(plain, dn.seeded(2)))

    check_each(check, VALUES.items())


@pytest.mark.parametrize("name", SHAPES)
def test_nobody_is_allowed(name: str) -> None:
    def check(nobody: Any) -> None:
        assert len(made(name, K, 1.0).privatize(nobody, fixed([]))) == 0

    check_each(check, named([], (), np.array([]), np.zeros(0, dtype=np.int8), pd.Series([], dtype="int64")))


@settings(max_examples=150)
@given(
    st.one_of(
        st.lists(st.integers(), min_size=1, max_size=5),
        st.lists(
            st.one_of(st.integers(0, K - 1), st.floats(), st.none(), st.booleans(), st.text(max_size=2)),
            min_size=1,
            max_size=4,
        ),
        st.lists(st.lists(st.integers(0, K - 1), max_size=3), min_size=1, max_size=3),
    )
)
def test_only_integers_of_the_domain_are_reported(values: Any) -> None:
    """Whatever is in the list: all of it are values, or nothing is reported."""
    valid = all(type(value) is int and 0 <= value < K for value in values)
    m = made("grr", K, 1.0)
    if valid:
        assert len(m.privatize(values, dn.seeded(3))) == len(values)
    else:
        with pytest.raises(dn.InvalidValue):
            m.privatize(values, dn.seeded(3))


def test_the_value_after_the_last_of_a_small_type() -> None:
    """k = 256 has no wrong uint8, k = 255 has one, and k = 300 is beyond the type of its values."""
    assert len(dn.grr(256, 1.0).privatize(np.array([255], dtype=np.uint8), dn.seeded(1))) == 1
    with pytest.raises(dn.InvalidValue, match="255 is not a value"):
        dn.grr(255, 1.0).privatize(np.array([255], dtype=np.uint8), dn.seeded(1))
    assert len(dn.grr(300, 1.0).privatize(np.array([127], dtype=np.int8), dn.seeded(1))) == 1
    with pytest.raises(dn.InvalidValue, match="-1 is not a value"):
        dn.grr(300, 1.0).privatize(np.array([-1], dtype=np.int8), dn.seeded(1))


# Parameters


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Fail instead of waiting for ever."""

    def late(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def made_or_refused(
    make: Callable[[int, float], dn.mechanisms.SetMechanism], k: int, epsilon: float
) -> dn.mechanisms.SetMechanism | None:
    """The mechanism; nothing, where it is refused in words that name the epsilon. Any other error
    is raised.
    """
    try:
        return make(k, epsilon)
    except dn.InvalidParameter as refused:
        message = str(refused)
    assert repr(epsilon) in message
    return None


def given_in(message: str, value: object) -> bool:
    return f"got {value!r}" in message or f"epsilon {value!r} " in message


@pytest.mark.parametrize("name", [*dn.PROTOCOLS, "ue with p = 0.7", "lh with g = 5"])
def test_k_is_an_integer_of_at_least_two(name: str) -> None:
    def check(k: Any) -> None:
        with pytest.raises(dn.InvalidParameter, match="k, the number of values,") as refused:
            MAKERS[name](k, 1.0)
        assert given_in(str(refused.value), k)

    check_each(check, named(1, 0, -3, True, 2.0, math.nan, "4", None, [4], np.float64(4)))


@pytest.mark.parametrize("name", EVERY)
def test_epsilon_is_a_positive_number(name: str) -> None:
    def check(epsilon: Any) -> None:
        with pytest.raises(dn.InvalidParameter, match="epsilon must be a positive number") as refused:
            MAKERS[name](K, epsilon)
        assert given_in(str(refused.value), epsilon)

    check_each(check, named(0, -1, 0.0, -0.5, math.nan, math.inf, "1", None, True, [1.0]))


@pytest.mark.parametrize("name", EVERY)
def test_epsilon_that_no_threshold_can_spend_is_refused(name: str) -> None:
    def check(epsilon: float) -> None:
        with pytest.raises(dn.InvalidParameter, match="epsilon") as refused:
            MAKERS[name](K, epsilon)
        assert repr(epsilon) in str(refused.value)

    check_each(check, named(1000, 1000.0, 1e10, 1e308))


@pytest.mark.parametrize("name", EVERY)
def test_large_epsilon_is_spent_safely_or_refused(name: str) -> None:
    """How large it may be depends on the shape; it is never exceeded, and what cannot be had is not given."""

    def check(epsilon: float) -> None:
        m = made_or_refused(MAKERS[name], 2, epsilon)
        if m is not None:
            assert 0.9 * epsilon < m.loss() <= epsilon
            assert m.law.p > m.law.q

    check_each(check, named(30.0, 45.0, 89.0))


@pytest.mark.parametrize("name", ["grr", "oue", "blh", "hr", "ss"])
def test_epsilon_of_45_is_too_large_for_two_values(name: str) -> None:
    """2^64 is about e^44.36."""
    with pytest.raises(
        dn.InvalidParameter, match=r"epsilon 45 is too large.*44\.36.*choose a smaller epsilon"
    ):
        MAKERS[name](2, 45)
    assert MAKERS[name](2, 44).loss() <= 44


@pytest.mark.parametrize("name", EVERY)
def test_epsilon_below_any_threshold_is_refused(name: str) -> None:
    def check(epsilon: float) -> None:
        with pytest.raises(dn.InvalidParameter, match="too small") as refused:
            MAKERS[name](K, epsilon)
        assert repr(epsilon) in str(refused.value)

    check_each(check, named(1e-300, 1e-100, 1e-20, 5e-324))


NUMPY_NUMBERS = [
    (np.int8(100), np.float32(1.5)),
    (np.uint8(200), np.float16(1.5)),
    (np.uint64(30), np.int8(2)),
    (np.int64(30), np.uint8(2)),
]


@by_night("name", EVERY, *ALIKE)
def test_numbers_of_numpy_do_not_overflow(name: str) -> None:
    """They are taken for the numbers they are, whatever their width. An overflow may never end."""

    def check(numbers: Any) -> None:
        k, epsilon = numbers
        with at_most(60):
            assert MAKERS[name](k, epsilon) == made(name, int(k), float(epsilon))

    check_each(check, named(*NUMPY_NUMBERS))


@pytest.mark.parametrize(
    ("make", "k"),
    [
        (dn.grr, 2**24 + 1),
        (dn.oue, 2**20 + 1),
        (dn.sue, 2**20 + 1),
        (dn.mechanisms.the, 2**20 + 1),
        (dn.ss, 2**16 + 1),
        (dn.mechanisms.ass, 2**16 + 1),
        (dn.hr, 2**20),
        (dn.olh, PRIME),
        (dn.mechanisms.blh, PRIME),
        (dn.mechanisms.aue, 2**20 + 1),
        (dn.grr, 10**30),
    ],
)
def test_k_too_large_for_the_shape_is_refused(
    make: Callable[[int, float], dn.mechanisms.Mechanism], k: int
) -> None:
    with pytest.raises(dn.InvalidParameter, match=rf"k = {k} is too large for \w+ encoding \(at most "):
        make(k, 1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dn.mechanisms.lh(K, 1.0, 1),
        lambda: dn.mechanisms.lh(K, 1.0, PRIME),
        lambda: dn.mechanisms.lh(K, 1.0, 2.0),  # type: ignore[arg-type]
        lambda: dn.ss(K, 1.0, 0),
        lambda: dn.ss(K, 1.0, K),
        lambda: dn.ss(K, 1.0, True),
        lambda: dn.mechanisms.ue(K, 1.0, 0.0),
        lambda: dn.mechanisms.ue(K, 1.0, 1.0),
        lambda: dn.mechanisms.ue(K, 1.0, math.nan),
        lambda: dn.mechanisms.the(K, 1.0, 0.4),
        lambda: dn.mechanisms.the(K, 1.0, 1.1),
        lambda: dn.mechanisms.the(K, 1.0, math.nan),
        lambda: dn.adaptive(K, 1.0, []),
        lambda: dn.adaptive(K, 1.0, ["grr", "nonsense"]),
        lambda: dn.adaptive(K, 1.0, ["she"]),
        lambda: dn.adaptive(K, 1.0, ["adaptive"]),
        lambda: dn.olh(K, 22.0),
        lambda: dn.mechanisms.Direct(K, 0),
        lambda: dn.mechanisms.Direct(K, FULL),
        lambda: dn.mechanisms.Direct(K, FULL // K),
        lambda: dn.mechanisms.Direct(1, FULL // 2),
        lambda: dn.mechanisms.Unary(K, FULL // 2, FULL // 2),
        lambda: dn.mechanisms.Unary(K, FULL // 2, 0),
        lambda: dn.mechanisms.Unary(K, FULL, 1),
        lambda: dn.mechanisms.Subset(K, 2, FULL * 2 // K),
        lambda: dn.mechanisms.Subset(K, K, FULL // 2),
        lambda: dn.mechanisms.Hashed(K, 4, FULL // 4),
        lambda: dn.mechanisms.Hashed(K, 1, FULL // 2),
        lambda: dn.mechanisms.Hadamard(K, FULL // 2),
        lambda: dn.mechanisms.Hadamard(K, FULL),
    ],
)
def test_other_parameters_are_checked(make: Callable[[], dn.mechanisms.Mechanism]) -> None:
    with pytest.raises(dn.InvalidParameter):
        make()


@pytest.mark.parametrize("threshold", [1.5e19, np.uint64(2**63 + 2**62), "1", None, True], ids=repr)
def test_thresholds_are_integers(threshold: Any) -> None:
    """A float near 2^64 is not the threshold it looks like; numpy's integers are taken for what they are, or
    refused.
    """
    makers: list[Callable[[], dn.mechanisms.Mechanism]] = [
        lambda: dn.mechanisms.Direct(4, threshold),
        lambda: dn.mechanisms.Unary(4, threshold, 2**60),
        lambda: dn.mechanisms.Subset(4, 2, threshold),
        lambda: dn.mechanisms.Hashed(4, 3, threshold),
        lambda: dn.mechanisms.Hadamard(4, threshold),
    ]
    for make in makers:
        try:
            m = make()
        except dn.InvalidParameter:
            continue
        assert isinstance(threshold, np.uint64)
        assert m.loss() > 0


@pytest.mark.parametrize(
    "options",
    [{"cap": math.nan}, {"cap": -1}, {"cap": 0}, {"cap": "0.1"}, {"weight": 2}, {"weight": math.nan}],
    ids=repr,
)
@pytest.mark.parametrize(
    "make", [dn.mechanisms.aue, dn.mechanisms.ass, dn.mechanisms.alh, dn.mechanisms.athe]
)
def test_objectives_are_checked(make: Any, options: dict[str, Any]) -> None:
    with at_most(60), pytest.raises(dn.InvalidParameter):
        make(5, 1.0, **options)


@pytest.mark.parametrize(
    "make", [dn.mechanisms.aue, dn.mechanisms.ass, dn.mechanisms.alh, dn.mechanisms.athe]
)
def test_numbers_of_people_are_checked(make: Any) -> None:
    for n in (0, -1, 1.5, "10"):
        with pytest.raises(
            dn.InvalidParameter, match="n, the number of people, must be an integer of at least 1, got"
        ):
            make(5, 1.0, n=n)


# Reports


def good(name: str) -> tuple[dn.mechanisms.Mechanism, Array]:
    m = made(name, K, 0.5)
    return m, m.privatize(np.arange(400) % K, dn.seeded(4))


def changed(reports: Array, change: Callable[[Array], None]) -> Array:
    copy = reports.copy()
    change(copy)
    return copy


def put(index: Any, value: Any) -> Callable[[Array], None]:
    def change(reports: Array) -> None:
        reports[index] = value

    return change


def put_field(field: str, value: int) -> Callable[[Array], None]:
    def change(reports: Array) -> None:
        reports[field][17] = value

    return change


HOSTILE: list[tuple[str, str, Callable[[Array], Array]]] = [
    ("grr", "out of range", lambda r: changed(r, put(17, K))),
    ("grr", "largest", lambda r: changed(r, put(399, 255))),
    ("grr", "wider type, out of range", lambda r: changed(r.astype(np.int64), put(17, 256))),
    ("grr", "negative", lambda r: changed(r.astype(np.int64), put(17, -1))),
    ("grr", "floats", lambda r: r.astype(np.float64)),
    ("grr", "two dimensions", lambda r: r.reshape(20, 20)),
    ("grr", "no dimension", lambda r: r[0]),
    ("grr", "objects", lambda r: r.astype(object)),
    ("oue", "first padding bit", lambda r: changed(r, put((17, -1), 0b100))),
    ("oue", "last padding bit", lambda r: changed(r, put((399, -1), 0x80))),
    ("oue", "short rows", lambda r: r[:, :1]),
    ("oue", "long rows", lambda r: np.hstack([r, r])),
    ("oue", "one dimension", lambda r: r.reshape(-1)),
    ("oue", "booleans", lambda r: r.astype(bool)),
    ("oue", "words", lambda r: r.astype(np.uint64)),
    ("ss of half, listed", "unsorted", lambda r: changed(r, put(17, [3, 1, 5, 7, 9]))),
    ("ss of half, listed", "duplicate", lambda r: changed(r, put(17, [1, 1, 5, 7, 9]))),
    ("ss of half, listed", "last two duplicate", lambda r: changed(r, put(399, [1, 5, 6, 7, 7]))),
    ("ss of half, listed", "out of range", lambda r: changed(r, put(17, [1, 5, 7, 8, K]))),
    ("ss of half, listed", "too few", lambda r: r[:, :-1]),
    ("ss of half, listed", "one dimension", lambda r: r.reshape(-1)),
    ("ss of half, listed", "wider type", lambda r: r.astype(np.uint16)),
    ("ss", "a member too few", lambda r: changed(r, put(17, [0b111, 0]))),
    ("ss", "a member too many", lambda r: changed(r, put(399, [0b11111, 0]))),
    ("ss", "a padding bit for a member", lambda r: changed(r, put(17, [0b111, 0b100]))),
    ("ss", "a padding bit beyond all members", lambda r: changed(r, put(399, [0b1111, 0x80]))),
    ("ss", "short rows", lambda r: r[:, :1]),
    ("olh", "a = 0", lambda r: changed(r, put_field("a", 0))),
    ("olh", "a = P", lambda r: changed(r, put_field("a", PRIME))),
    ("olh", "a above P", lambda r: changed(r, put_field("a", 2**32 - 1))),
    ("olh", "b = P", lambda r: changed(r, put_field("b", PRIME))),
    ("olh", "b above P", lambda r: changed(r, put_field("b", 2**32 - 1))),
    ("olh", "bucket = g", lambda r: changed(r, put_field("bucket", 3))),
    ("olh", "bucket = 255", lambda r: changed(r, put_field("bucket", 255))),
    ("olh", "no fields", lambda r: r["a"]),
    ("olh", "other fields", lambda r: r[["a", "b"]]),
    ("olh", "two dimensions", lambda r: r.reshape(20, 20)),
    ("hr", "column out of range", lambda r: changed(r, put(17, 16))),
    ("hr", "largest column", lambda r: changed(r, put(399, 255))),
    ("hr", "wider type, out of range", lambda r: changed(r.astype(np.uint16), put(17, 256 + 3))),
]


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "numpy"])
@pytest.mark.parametrize("name", SHAPES)
def test_hostile_reports_are_refused(name: str, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One among many is enough, on either path."""
    compile_loops(monkeypatch, compiled)
    m, reports = good(name)

    def check(spoil: Callable[[Array], Array]) -> None:
        assert m.tally(reports).n == 400
        with pytest.raises(dn.InvalidReport):
            m.tally(spoil(reports))

    check_each(check, [(what, spoil) for shape, what, spoil in HOSTILE if shape == name])


def test_hostile_reports_are_hostile_to_what_they_are_tried_on() -> None:
    """The sizes that the list above counts on."""
    ss, olh, hr = made("ss", K, 0.5), made("olh", K, 0.5), made("hr", K, 0.5)
    half = made("ss of half, listed", K, 0.5)
    assert isinstance(ss, dn.mechanisms.PackedSubset)
    assert isinstance(half, dn.mechanisms.Subset)
    assert isinstance(olh, dn.mechanisms.Hashed)
    assert isinstance(hr, dn.mechanisms.Hadamard)
    assert (ss.size, half.size, olh.g, hr.bits) == (4, 5, 3, 4)


def test_lists_of_other_things_than_whole_numbers_are_not_reports() -> None:
    for wrong in ([1.0, 2.0], ["1", "2"], [True, False], [None], 3):
        with pytest.raises(dn.InvalidReport, match="reports of this mechanism are uint8"):
            dn.grr(K, 1.0).tally(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n", "counts"),
    [
        (-1, [0, 0]),
        (2.0, [0, 0]),
        (True, [0, 0]),
        (3, [1]),
        (3, [[1, 2]]),
        (3, [4, 0]),
        (3, [-1, 0]),
        (3, ["1", "2"]),
        (3, [True, False]),
        (3, [math.nan, 1.0]),
        (3, [math.inf, 1.0]),
        (3, None),
    ],
)
def test_tallies_are_checked(n: Any, counts: Any) -> None:
    with pytest.raises(dn.InvalidParameter):
        dn.Tally(n, counts)
    with pytest.raises(dn.InvalidParameter):
        dn.Tally.from_dict({"n": n, "counts": counts})


@pytest.mark.parametrize(
    "data", [{}, {"n": 1}, {"n": 1, "counts": [0, 1], "more": 1}, {"n": 1, "counts": "01"}], ids=repr
)
def test_tallies_from_other_dictionaries_are_refused(data: dict[str, Any]) -> None:
    with pytest.raises(dn.InvalidParameter, match="a tally is"):
        dn.Tally.from_dict(data)


def test_tallies_of_other_sizes_do_not_mix() -> None:
    two, three = dn.Tally(1, np.array([0, 1])), dn.Tally(1, np.array([0, 1, 0]))
    for mix in (two.__add__, two.__sub__):
        with pytest.raises(dn.InvalidParameter, match="same values, got 2 and 3"):
            mix(three)
    with pytest.raises(dn.InvalidReport, match="counts 2 values, the mechanism has 3"):
        dn.grr(3, 1.0).estimate(two)
    with pytest.raises(dn.InvalidParameter, match="integer of at least 0, got -1"):
        two - dn.Tally(2, np.array([0, 1]))


def test_tallies_cannot_be_changed() -> None:
    counts = np.array([1, 2])
    tally = dn.Tally(3, counts)
    counts[0] = 3
    assert tally.counts.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        tally.counts[0] = 3
