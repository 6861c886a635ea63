"""Categorical columns, tables of locations, and what is said where a column does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from deniable.choose import people_needed
from deniable.frames.answers import read_categories
from deniable.results.findings import Findings
from deniable.show.text import write_text

LABELS = ["b", "c", "a", "b"]
COLUMNS: dict[str, Any] = {
    "pandas series": pd.Series(LABELS, dtype="category"),
    "pandas array": pd.Categorical(LABELS),
    "pandas index": pd.CategoricalIndex(LABELS),
    "polars categorical": pl.Series(LABELS, dtype=pl.Categorical),
    "polars enum": pl.Series(LABELS, dtype=pl.Enum(["a", "b", "c"])),
    "arrow": pa.DictionaryArray.from_arrays([1, 2, 0, 1], ["a", "b", "c"]),
    "arrow, two chunks": pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays([1, 2], ["a", "b", "c"]),
            pa.DictionaryArray.from_arrays([0, 1], ["a", "b", "c"]),
        ]
    ),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_categorical_columns_are_their_codes(kind: str) -> None:
    m = dn.grr(3, 1.0)
    made = m.privatize(COLUMNS[kind], dn.seeded(1))
    np.testing.assert_array_equal(made, m.privatize([1, 2, 0, 1], dn.seeded(1)))


@pytest.mark.parametrize("kind", COLUMNS)
def test_domains_read_categorical_columns_by_their_labels(kind: str) -> None:
    assert dn.Categories(["c", "b", "a"]).encode(COLUMNS[kind]).tolist() == [1, 0, 2, 1]


@pytest.mark.parametrize(
    "dtype",
    [pd.CategoricalDtype(["a", "b", "c"]), pl.Enum(["a", "b", "c"]), pd.Categorical([], ["a", "b", "c"])],
)
def test_a_question_takes_its_values_from_a_dtype(dtype: object) -> None:
    assert dn.Study({"letter": dtype}, epsilon=1.0) == dn.Study({"letter": ["a", "b", "c"]}, epsilon=1.0)


def test_categories_that_are_numbers_are_values() -> None:
    m, column = dn.grr(3, 1.0), pd.Series([2, 0, 2], dtype="category")
    np.testing.assert_array_equal(m.privatize(column, dn.seeded(1)), m.privatize([2, 0, 2], dn.seeded(1)))


def test_other_categories_than_values_are_refused() -> None:
    with pytest.raises(dn.InvalidValue, match="'a', 'b', 'c', and the mechanism has 4 values; list them all"):
        dn.grr(4, 1.0).privatize(COLUMNS["pandas series"])
    with pytest.raises(dn.InvalidValue, match=r"^1 of 3 answers are missing; leave them out"):
        dn.grr(2, 1.0).privatize(pd.Series(["a", None, "b"], dtype="category"))
    assert dn.grr(4, 1.0).privatize(pd.Series([], dtype="category")).size == 0


def test_an_empty_arrow_column_has_no_categories() -> None:
    nothing = read_categories(pa.chunked_array([], type=pa.dictionary(pa.int8(), pa.string())))
    assert nothing is not None
    assert nothing.categories == nothing.codes.tolist() == []
    assert read_categories(["a"]) is None


GRID = dn.Grid(south=40, west=-4, north=41, east=-3, rows=4, columns=4)
PAIRS = [(40.5, -3.5), (40.2, -3.2)]


@pytest.mark.parametrize("names", [("latitude", "longitude"), ("lat", "lon"), ("Lat", "LNG")])
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_grids_take_tables(names: tuple[str, str], library: Any) -> None:
    table = library({names[1]: [-3.5, -3.2], names[0]: [40.5, 40.2]})
    assert GRID.encode(table).tolist() == GRID.encode(PAIRS).tolist() == [10, 3]


def test_grids_say_which_columns_they_need() -> None:
    with pytest.raises(
        dn.InvalidValue, match="latitude and longitude, or lat and lon, got x, y; rename them"
    ):
        GRID.encode(pd.DataFrame({"x": [40.5], "y": [-3.5]}))


def test_a_range_has_steps_of_one_unless_it_says_otherwise() -> None:
    assert dn.Range(0, 10) == dn.Range(0, 10, step=1)
    assert dn.Range(0, 10).encode([0, 9]).tolist() == [0, 9]
    with pytest.raises(dn.InvalidParameter, match=r"step 1 does not divide .* 0 to 2.5 .*; give a step"):
        dn.Range(0, 2.5)


def test_people_are_found_for_a_study() -> None:
    study = dn.Study({"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}, epsilon=1.0)
    assert people_needed([3, 2], 0.01, 1.0) == study.people_needed(0.01) == 31290
    with pytest.raises(dn.InvalidParameter, match=r"of a study, use study\.people_needed\(error\)"):
        people_needed(study, 0.01)  # type: ignore[arg-type]
    for given in (study, 3):
        with pytest.raises(
            dn.InvalidParameter,
            match=r"give the numbers of values .*, got (Study|int); of a study, use study",
        ):
            people_needed(given, 0.01, 1.0)  # type: ignore[arg-type]


GRADES = ["low", "middle", "high"]
TABLES = {
    "pandas": pd.DataFrame({"grade": pd.Categorical(["high", "low"] * 20, categories=GRADES, ordered=True)}),
    "polars": pl.DataFrame({"grade": pl.Series(["high", "low"] * 20, dtype=pl.Enum(GRADES))}),
}


@pytest.mark.parametrize("library", TABLES)
def test_categories_of_frames_are_read_and_written_in_their_order(library: str) -> None:
    """Also those that nobody has."""
    table = TABLES[library]
    study = dn.Study({"grade": GRADES}, epsilon=8.0)
    plan = study.plan(people=1000)
    reports = [plan.privatize(each, dn.seeded(1)) for each in (table, {"grade": ["high", "low"] * 20})]
    one, other = (plan.estimate(plan.tally(each)) for each in reports)
    assert one["grade"].frequencies.tolist() == other["grade"].frequencies.tolist()
    frame = one.frame(backend=library)  # type: ignore[arg-type]
    assert list(frame["value"]) == GRADES
    assert "plan" not in frame.columns


def test_print_shows_what_the_shell_shows() -> None:
    """Groups of a long range, and the first rows of many categories; each says where the rest is."""
    plan = dn.Study(
        {"age": dn.Range(0, 100, step=1), "word": [f"w{i}" for i in range(30)]},
        epsilon=6.0,
        mechanism="split",
    ).plan(people=1000)
    answers = {"age": [30.5] * 200, "word": ["w1"] * 200}
    result = plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(1))))
    shown, shell = str(result), write_text(Findings(result.numbers))
    assert (
        "age (200 reports), nearest possible shares: 100 values in 10 groups; frame(bins=True) has" in shown
    )
    assert "--bins shows every one" in shell
    grouped = [line for line in shell.splitlines() if " to under " in line]
    assert len(grouped) == 10
    assert grouped == [line for line in shown.splitlines() if " to under " in line]
    assert "... and 10 more; frame() has them all" in shown
    assert "w29" in shell
    assert "--" not in shown
