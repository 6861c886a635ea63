"""What comes out of a transformer: columns of their types, or indicators, a block at a time."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone

import deniable as dn
from deniable.learn import Privatizer, tables
from tests.learn.test_privatizer import COLORS, DOMAINS, PEOPLE


def test_columns_come_out_in_their_order_with_their_types() -> None:
    fitted = Privatizer(DOMAINS, 50.0).set_output(transform="pandas").fit(PEOPLE)
    found = fitted.transform(PEOPLE)
    pd.testing.assert_frame_equal(found, PEOPLE)  # at this epsilon nothing changes
    assert fitted.unprotected_ == ["height"]
    frame = pl.from_pandas(PEOPLE)
    as_polars = Privatizer(DOMAINS, 50.0).set_output(transform="polars")
    assert as_polars.fit_transform(frame).equals(frame)
    bare = Privatizer(DOMAINS, 50.0, passthrough=False).fit(PEOPLE)
    assert bare.unprotected_ == []
    assert bare.transform(PEOPLE).tolist() == PEOPLE[["color", "age"]].to_numpy().tolist()
    assert list(bare.get_feature_names_out()) == ["color", "age"]


def test_the_output_that_is_asked_for_comes_out() -> None:
    asked = Privatizer(DOMAINS, 50.0).set_output(transform="pandas")
    assert isinstance(clone(asked.set_output(transform=None)).fit_transform(PEOPLE), pd.DataFrame)
    with config_context(transform_output="polars"):
        assert isinstance(Privatizer(DOMAINS, 50.0).fit_transform(PEOPLE), pl.DataFrame)
        array = Privatizer(DOMAINS, 50.0).set_output(transform="default").fit_transform(PEOPLE)
    assert isinstance(array, np.ndarray)


def test_names_that_are_not_those_of_the_table_are_refused() -> None:
    fitted = Privatizer(DOMAINS, 1.0).fit(PEOPLE)
    assert fitted.get_feature_names_out(list(PEOPLE)).tolist() == ["color", "age", "height"]
    with pytest.raises(ValueError, match="is not equal to feature_names_in_"):
        fitted.get_feature_names_out(["color", "age", "weight"])


def test_columns_of_all_kinds_are_read_and_keep_their_type() -> None:
    table = pd.DataFrame(
        {
            "c": pd.Categorical(["a", "b", "a"]),
            "i": pd.array([0, 1, 2], dtype="Int64"),
            "b": [True, False, True],
            "m": ["2024-05", "2024-06", "2024-07"],
            "f": [0.5, 1.5, 0.5],
        }
    )
    months = dn.Range.dates("2024-01", "2024-12")
    domains = {"c": ["a", "b"], "i": 3, "b": [True, False], "m": months, "f": [0.5, 1.5]}
    for given in (table, pl.from_pandas(table)):
        fitted = Privatizer(domains, 150.0).set_output(transform="pandas").fit(given)
        found = fitted.transform(given)
        assert found.to_numpy().tolist() == table.to_numpy().tolist()
        assert [dtype.kind for dtype in found.dtypes[["i", "b", "f"]]] == ["i", "b", "f"]
    few = Privatizer(domains, 30.0, budget="sample", words=dn.seeded(8)).set_output(transform="pandas")
    sampled = few.fit_transform(pd.concat([table] * 40, ignore_index=True))
    assert (sampled.notna().sum(axis=1) == 1).all()
    assert set(sampled["b"].dropna()) == {True, False}


def test_indicators_are_named_by_their_values() -> None:
    domains = {"color": COLORS, "age": dn.Range(0, 60, step=20)}
    fitted = Privatizer(domains, 50.0, protocol="grr", output="support").set_output(transform="pandas")
    found = fitted.fit_transform(PEOPLE)
    ages = ["age=0", "age=20", "age=40"]
    assert list(found) == [*(f"color={color}" for color in COLORS), *ages, "height"]
    assert found[ages].to_numpy().tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert {str(dtype) for dtype in found[ages].dtypes} == {"uint8"}
    numbered = Privatizer({1: 3}, 1.0, output="support").fit([[0.5, 2]])
    assert list(numbered.get_feature_names_out()) == ["x0", "x1=0", "x1=1", "x1=2"]


def test_what_is_not_sampled_is_missing() -> None:
    people = pd.DataFrame({"color": ["red"] * 200, "age": [34] * 200})
    values = Privatizer(DOMAINS, 1.0, budget="sample").set_output(transform="pandas").fit_transform(people)
    missing = values.isna()
    assert (missing.sum(axis=1) == 1).all()
    assert 0 < missing["color"].sum() < 200
    bits = Privatizer(DOMAINS, 1.0, budget="sample", output="support").fit_transform(people)
    assert bits.dtype == np.int8
    colors, ages = (bits[:, :4] == -1).all(axis=1), (bits[:, 4:] == -1).all(axis=1)
    assert (colors != ages).all()
    assert ((bits == -1).sum(axis=1) == np.where(colors, 4, 100)).all()


def test_indicators_are_made_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(4).integers(0, 7, (1000, 2))
    made = []
    for cells in (1 << 21, 64):
        monkeypatch.setattr(tables, "_CELLS", cells)
        fitted = Privatizer({0: 7, 1: 7}, 2.0, protocol="oue", output="support", words=dn.seeded(5))
        made.append(fitted.fit_transform(table))
    assert np.array_equal(*made)


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_beside_the_indicators_there_is_only_a_block_of_them(output: str) -> None:
    """A second copy of them would take 30 MB more, and floats 240 MB."""
    table = np.full((300_000, 1), 4)
    fitted = Privatizer({0: 100}, 1.0, protocol="oue", output="support", words=dn.seeded(6))
    fitted.set_output(transform=output).fit_transform(table.copy())  # loads compiled loops, once
    tracemalloc.start()
    try:
        found = fitted.transform(table)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.shape == (300_000, 100)
    assert 30e6 < peak < 30e6 + 16e6
