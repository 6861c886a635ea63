"""Labels and numbers to codes and back: exact bins, clear refusals, missing answers that are never lost."""

from __future__ import annotations

import math
import unicodedata
from decimal import Decimal
from fractions import Fraction
from typing import Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.domain import NO_ANSWER, Categories, Domain, Range, number_of
from deniable.domain.parsed import as_domain
from deniable.errors import InvalidParameter, InvalidValue
from deniable.mechanisms import grr
from deniable.study import Plan
from spec.make import vectors
from tests.cases import names

COLORS = Categories(["red", "green", "blue"])
AGE = Range(0, 100, step=10)


@pytest.mark.parametrize(
    "values",
    [
        ["blue", "red", "red"],
        ("blue", "red", "red"),
        np.array(["blue", "red", "red"]),
        np.array(["blue", "red", "red"], dtype=object),
        pd.Series(["blue", "red", "red"]),
        pd.Series(["blue", "red", "red"], dtype="category"),
        pl.Series(["blue", "red", "red"]),
        pa.array(["blue", "red", "red"]),
        pa.chunked_array([["blue", "red"], ["red"]]),
    ],
)
def test_every_array_like_is_encoded_alike(values: object) -> None:
    assert COLORS.encode(values, "color").tolist() == [2, 0, 0]


def test_a_wrong_label_is_named_with_the_nearest() -> None:
    with pytest.raises(InvalidValue) as problem:
        COLORS.encode(["red", "blu"], "color")
    assert str(problem.value) == "'blu' is not a value of 'color' (red, green, blue); did you mean 'blue'?"


def test_a_long_list_of_labels_is_not_recited() -> None:
    many = Categories([f"town {i}" for i in range(1000)])
    with pytest.raises(InvalidValue, match=r"town 7, and 992 more\)$"):
        many.encode(["town 1000"], "town")


def test_numbers_and_booleans_are_known_by_their_text() -> None:
    grades = Categories([1, 2, 3])
    assert grades.labels == ("1", "2", "3")
    for values in (
        [1, 3],
        np.array([1, 3], dtype=np.uint8),
        np.array([1.0, 3.0]),
        ["1", "3"],
        [np.int64(1), 3.0],
    ):
        assert grades.encode(values).tolist() == [0, 2]
    assert Categories([True, False]).encode(np.array([False, True])).tolist() == [1, 0]
    with pytest.raises(InvalidValue, match="True is not a value"):
        grades.encode([True])
    with pytest.raises(InvalidValue, match=r"1\.5 is not a value"):
        grades.encode(np.array([1.5]))


@pytest.mark.parametrize(
    "values", [[["red"]], [{"a": 1}], [object()], [b"red"], "red", 3, np.array([["red"]])]
)
def test_what_is_no_list_of_values_is_refused(values: object) -> None:
    with pytest.raises(InvalidValue):
        COLORS.encode(values, "color")


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (["red"], "at least two values, got 1"),
        ([], "at least two"),
        (["red", "blue", "red"], "'red' occurs twice"),
        ([1, "1"], "'1' occurs twice"),
        (["red", ""], "not empty"),
        (["red", "a\nb"], "control characters"),
        (["red", "\ud800"], "control characters"),
        ("red", "put it in a list"),
        (["red", " blue"], r"no white space at its ends, got ' blue'; strip it"),
        (["red", "blue\u00a0"], "no white space at its ends"),
        (["red", "bl\u200bue"], r"no invisible characters, got 'bl\\u200bue'; remove U\+200B"),
        (["red", "bl\u200due"], r"remove U\+200D"),
        (["red", "می\u200c"], r"remove U\+200C"),
        (["red", "\ufeffblue"], r"remove U\+FEFF"),
        (["red", "\u202eeulb"], r"remove U\+202E"),
        (["\u00e9", "e\u0301"], "'\u00e9' occurs twice"),
        ([1, float("nan")], "nan is a missing answer, not a value; missing='value'"),
        ([1, Decimal("NaN")], "is a missing answer"),
        ([1, None], "None is a missing answer"),
        ([1, pd.NA], "is a missing answer"),
        ([1, [2]], r"text, a number or a boolean, got \[2\]"),
        ([1, 1 << 20_000], "a number has at most 300 digits"),
    ],
)
def test_labels_that_cannot_be_distinguished_or_shown_are_refused(labels: list[object], reason: str) -> None:
    with pytest.raises(InvalidParameter, match=reason):
        Categories(labels)


def test_labels_of_any_script_are_welcome() -> None:
    """A joiner that changes what is seen is part of a word; elsewhere nobody sees it."""
    many = ["می‌خواهم", "👨‍👩‍👧", "où", "❤️‍🔥", "क्‍ष", "not in universe"]
    assert Categories(many).encode(many[::-1]).tolist() == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_an_accent_is_the_same_however_it_is_typed(form: Literal["NFC", "NFD"]) -> None:
    labels = [unicodedata.normalize(form, label) for label in ("où", "café", "한국", "tea")]
    domain = Categories(labels)
    assert domain == Categories(["où", "café", "한국", "tea"])
    for other in ("NFC", "NFD"):
        answers = [unicodedata.normalize(other, label) for label in labels]
        assert domain.encode(answers).tolist() == domain.encode(np.array(answers)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("domain", [COLORS, AGE])
@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, "", np.float32("nan")])
def test_missing_answers_are_found_and_refused(domain: Domain, missing: object) -> None:
    known = domain.labels[1] if isinstance(domain, Categories) else 15
    assert domain.codes([known, missing]).tolist() == [1, NO_ANSWER]
    with pytest.raises(InvalidValue, match="1 of 2 answers to 'it' are missing"):
        domain.encode([known, missing], "it")


def test_missing_answers_of_dataframe_columns() -> None:
    for values in (
        pd.Series(["red", None]),
        pl.Series(["red", None]),
        pa.array(["red", None]),
        pd.array(["red", pd.NA]),
    ):
        assert COLORS.codes(values).tolist() == [0, NO_ANSWER]
    for values in (
        pd.Series([5, None]),
        pl.Series([5, None]),
        pa.array([5, None]),
        pd.array([5, pd.NA], dtype="Int64"),
    ):
        assert AGE.codes(values).tolist() == [0, NO_ANSWER]


def test_bins_are_half_open_and_what_falls_outside_is_refused() -> None:
    given = [0, 9.999, 10, 99, "42", " 7 ", Decimal("10.0"), Fraction(1, 2)]
    assert AGE.encode(given).tolist() == [0, 0, 1, 9, 4, 0, 1, 0]
    assert AGE.k == len(AGE.labels) == 10
    for wrong, hint in ((100, "open_high"), (-0.1, "open_low")):
        with pytest.raises(InvalidValue, match=rf"is not a value of 'age' \(0 to under 100\); .* {hint}"):
            AGE.encode([wrong], "age")


def test_open_ends_take_everything_on_their_side_only() -> None:
    both = Range(0, 100, 10, open_low=True, open_high=True)
    assert both.encode([-5, 1e300, 50]).tolist() == [0, 9, 5]
    assert (both.labels[0], both.labels[-1]) == ("under 10", "90 or more")
    with pytest.raises(InvalidValue, match=r"-1 is not a value of 'age' \(0 or more\); .* set open_low"):
        Range(0, 100, 10, open_high=True).encode([-1], "age")
    with pytest.raises(InvalidValue, match=r"100 is not a value of 'age' \(under 100\); .* set open_high"):
        Range(0, 100, 10, open_low=True).encode([100], "age")


@pytest.mark.parametrize(
    "wrong", [True, "ten", "nan", "1_0", "inf inf", [1], b"1", np.bool_(True), "inf", float("-inf"), "1e999"]
)
def test_what_is_no_number_is_refused(wrong: object) -> None:
    for ages in (AGE, Range(0, 100, 10, open_low=True, open_high=True)):
        with pytest.raises(InvalidValue, match="is not a number"):
            ages.encode([wrong], "age")
        with pytest.raises(InvalidValue, match="inf is not a number"):
            ages.encode(np.array([1.0, np.inf]), "age")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((0, 100, 0), "positive step"),
        ((0, 100, -10), "positive step"),
        ((100, 0, 10), "positive step"),
        ((0, 100, 30), "whole bins"),
        ((0, 10, 10), "2 bins or more"),
        ((0, 1e9, 1), "at most 1,048,576 values"),
        ((0, float("inf"), 1), "must be a number"),
        ((0, float("nan"), 1), "must be a number"),
        ((0, True, 1), "must be a number"),
        (("0", 10, 1), "must be a number"),
        ((0, 10**17, 10**16), "15 digits"),
        ((0, 1e300, 1), r"15 digits, got 0 to 1e\+300 by 1; round them"),
        ((-1e308, 1e308, 1e307), "15 digits"),
        ((0, 10**400, 1), "high must be a number of at most 15 digits"),
        ((0, 1e-20, 1e-21), "15 digits"),
        ((0, 1e-15, 5e-16), "15 digits"),
        ((0, 5e-324, 5e-324), "15 digits"),
        ((0, Decimal("sNaN"), 1), "must be a number"),
    ],
)
def test_ranges_that_make_no_bins_are_refused(arguments: tuple[float, float, float], reason: str) -> None:
    with pytest.raises(InvalidParameter, match=reason):
        Range(*arguments)
    with pytest.raises(InvalidParameter, match="open_low is true or false"):
        Range(0, 10, 1, open_low=1)  # type: ignore[arg-type]


def test_decimal_edges_are_where_they_are_written() -> None:
    tenths = Range(0, 1, step=0.1)
    assert (tenths.digits, tenths.scaled_low, tenths.scaled_step, tenths.bins) == (1, 0, 1, 10)
    assert tenths.encode([i / 10 for i in range(10)]).tolist() == list(range(10))
    assert tenths.labels[3] == "0.3 to under 0.4"


@given(
    low=st.integers(-(10**9), 10**9),
    step=st.integers(1, 10**6),
    bins=st.integers(2, 50),
    digits=st.integers(0, 5),
    at=st.integers(0, 49),
)
def test_a_range_is_its_integers(low: int, step: int, bins: int, digits: int, at: int) -> None:
    made = Range.from_integers(low, step, bins, digits, False, True)
    shrink = 10 ** (digits - made.digits)
    assert (made.scaled_low * shrink, made.scaled_step * shrink, made.bins) == (low, step, bins)
    again = Range.from_integers(made.scaled_low, made.scaled_step, made.bins, made.digits, False, True)
    assert again == made
    i = at % bins
    edge = (low + i * step) / 10**digits
    assert made.encode([edge]).tolist() == [i]
    if i:
        assert made.encode([np.nextafter(edge, -np.inf)]).tolist() == [i - 1]


@given(
    low=st.integers(-(10**16), 10**16) | st.integers(-100, 100),
    step=st.integers(1, 10**15) | st.integers(1, 100),
    bins=st.integers(2, 9),
    digits=st.integers(0, 25),
    open_high=st.booleans(),
)
@settings(max_examples=300)
def test_every_range_that_is_accepted_survives_a_plan(
    low: int, step: int, bins: int, digits: int, open_high: bool
) -> None:
    first, last, width = (float(Fraction(number, 10**digits)) for number in (low, low + bins * step, step))
    try:
        made = Range(first, last, width, open_high=open_high)
    except InvalidParameter:
        assert digits or max(abs(low), abs(low + bins * step)) > 10**15
        return
    plan = Plan.of({"a": made}, grr(made.k, 1.0), 10)
    read = Plan.from_json(plan.to_json())
    assert read == plan
    assert read.document.attributes[0].domain == made


@pytest.mark.parametrize(
    "wrong", [10**400, 10**5000, Fraction(10**400, 3)], ids=["large", "larger", "a fraction"]
)
def test_numbers_beyond_every_float_are_refused(wrong: object) -> None:
    for domain in (COLORS, AGE):
        with pytest.raises(InvalidValue):
            domain.encode([wrong], "it")


@given(st.lists(st.sampled_from(["red", "green", "blue"]), max_size=50))
def test_decode_undoes_encode(values: list[str]) -> None:
    assert COLORS.decode(COLORS.encode(values)) == values


def test_decode_refuses_what_is_no_code() -> None:
    for codes in ([3], [-1], [0.5]):
        with pytest.raises(InvalidValue):
            COLORS.decode(codes)


def test_a_list_of_labels_is_a_domain() -> None:
    assert as_domain(["red", "green", "blue"], "color") == COLORS
    assert as_domain(AGE, "age") is AGE
    with pytest.raises(InvalidParameter, match="'color' needs a list"):
        as_domain(3, "color")
    with pytest.raises(InvalidParameter, match=r"'color': .* twice"):
        as_domain(["a", "a"], "color")


def test_a_mapping_says_what_a_toml_file_says() -> None:
    assert as_domain({"low": 0, "high": 100, "step": 10}, "age") == AGE
    assert as_domain({"values": ["red", "green", "blue"]}, "color") == COLORS
    for table, reason in (
        ({"low": 0, "high": 100}, r"attributes.age has no 'step'; .* low, high and mean = true$"),
        ({"low": 0, "high": 100, "stpe": 10}, "attributes.age.stpe: .* did you mean 'step'"),
        ({"red": 1, "green": 2}, "attributes.age.red: an attribute has values, or low, high and step"),
        ({"values": "red"}, "attributes.age.values must be a list"),
        ({1: 2}, "attributes.age.1: an attribute has values"),
        ({"a\nb": 2}, r"attributes.age.'a\\nb': an attribute has values"),
    ):
        with pytest.raises(InvalidParameter, match=reason):
            as_domain(table, "age")


def test_what_may_mean_two_things_is_refused() -> None:
    for some in ({"red", "blue"}, frozenset(["red", "blue"])):
        with pytest.raises(InvalidParameter, match=r"'color': a set has no order.*; give a list"):
            as_domain(some, "color")
    for pair in ((0, 100), (0.5, 2), (np.int64(0), np.int64(9))):
        with pytest.raises(InvalidParameter, match=r"may be two values or a range; write \[.*\] or Range\("):
            as_domain(pair, "age")
    assert as_domain(("red", "blue"), "color").labels == ("red", "blue")
    assert as_domain([0, 1], "smokes").labels == ("0", "1")
    assert as_domain((1, 2, 3), "grade").labels == ("1", "2", "3")
    assert as_domain({"red": 1, "blue": 2}.keys(), "color").labels == ("red", "blue")  # these have an order


@pytest.mark.parametrize(
    "text",
    ["sNaN", "-sNaN12", "nan", "1_0", "\u0664\u0667", "\uff14\uff17", "47\x85", "47\x1c", "inf", "1e999"],
)
def test_a_text_that_is_no_number_is_refused_by_all_domains_alike(text: str) -> None:
    town = dn.Grid(0, 0, 60, 60, rows=2, columns=2)
    for domain in (dn.Range(0, 100, step=1), dn.Number(0, 100)):
        with pytest.raises(dn.InvalidValue, match=r"is not a number, as .* asks for$"):
            domain.codes([text])
    for location in (f"{text}, 6.86", f"6.86, {text}", (text, 6.86)):
        with pytest.raises(dn.InvalidValue, match=r"pairs of (latitude|degrees)"):
            town.codes([location])


def test_what_may_be_around_a_number_is_written_down() -> None:
    """The characters that JavaScript's trim takes off (ECMAScript: white space and line terminators), and no
    others.
    """
    around = {chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000 and _is_around(chr(code))}
    assert around == set(vectors.BLANK)
    text = (vectors.FOLDER.parent / "wire.md").read_text(encoding="utf-8")
    for name in names("U+0009 U+000D U+0020 U+00A0 U+1680 U+2000 U+200A U+2028 U+2029 U+202F U+205F"):
        assert name in text


def _is_around(character: str) -> bool:
    return not math.isnan(number_of(f"{character}47{character}")) and not character.isdigit()


def test_advice_about_missing_answers_can_be_followed() -> None:
    for domain in (
        dn.Grid(0, 0, 60, 60, rows=2, columns=2),
        dn.Number(0, 1),
        dn.Range(0, 9, step=1, privacy="metric", epsilon=1),
    ):
        with pytest.raises(dn.InvalidValue, match="missing='random'") as refused:
            domain.encode([None])
        assert "missing='value'" not in str(refused.value)
    with pytest.raises(dn.InvalidValue, match="missing='value'"):
        dn.Range(0, 9, step=1).encode([None])
