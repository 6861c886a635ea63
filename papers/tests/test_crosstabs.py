"""The study of tables: what is exact equals the specification, what is simulated is within its margin."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from deniable.errors import InvalidParameter
from deniable_papers.reproduce import reproduce_paper
from deniable_papers.studies import crosstabs
from deniable_papers.studies.crosstabs.classifier import train
from deniable_papers.studies.crosstabs.people import measure_people
from deniable_papers.studies.plot.crosstabs import plot_crosstabs
from deniable_papers.studies.stated import StatedPoint, compare

ROUNDED_TWICE = {("cell", 1.3), ("share, age known", 1.7)}
"""1.248 and 1.646 are stated as 1.3 and 1.7."""


def test_exact_numbers_are_those_of_the_specification() -> None:
    rows = list(crosstabs.reproduce(["designs", "example"]))
    assert {(row.method, row.stated) for row in rows if row.differs} == ROUNDED_TWICE
    assert len(rows) == 84
    assert [axes.get_title() for axes in plot_crosstabs(rows).axes]


def test_simulated_numbers_are_within_their_margin() -> None:
    """Few runs, so that only what is far off would be seen: the naive test is, where it is taken for ours."""
    rows = list(crosstabs.reproduce(["tests"], runs=100, seed=3))
    assert not [row for row in rows if row.differs]
    assert rows[5] == list(crosstabs.reproduce(["tests"], runs=100, seed=3))[5]
    naive, ours = rows[:2]
    assert (naive.method, ours.method) == ("naive chi-square", "with the noise")
    assert replace(ours, value=naive.value).differs


def test_differences_beyond_rounding_are_seen() -> None:
    asked: dict[str, Any] = {"figure": "f", "case": "c", "method": "m", "epsilon": 1.0}
    assert not StatedPoint(**asked, **compare(2.0774, "2.077")).differs
    assert StatedPoint(**asked, **compare(2.0784, "2.077")).differs
    assert not StatedPoint(**asked, **compare(2.0784, "2.077", stderr=0.001)).differs


def test_the_command_prints_and_writes_the_same(tmp_path: Path) -> None:
    asked = ["crosstabs", "--quick", "--part", "intervals", "--runs", "20"]
    shown = CliRunner().invoke(reproduce_paper, asked)
    assert shown.exit_code == 0, shown.output
    assert "of 20 numbers differ from the specification" in shown.output
    printed = CliRunner().invoke(reproduce_paper, [*asked, "--json", "--plot", str(tmp_path / "held.svg")])
    rows = json.loads(printed.stdout)
    assert {row["figure"] for row in rows} == {"coverage", "widths"}
    assert (tmp_path / "held.svg").stat().st_size > 1000


def test_parts_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="'test' is not a part of this study"):
        next(crosstabs.reproduce(["test"]))


def test_simulated_people_train_a_classifier() -> None:
    """Few people at a large epsilon; those whose answers were shuffled, the planted fault, teach nothing."""
    rows = {row.method: row.value for row in measure_people(1, 1, epsilons=(4.0,), most=3000)}
    assert rows["real people"] > 0.84
    assert rows["real people"] > rows["simulated, pairs of the target"] > 0.8
    assert rows["simulated, single answers"] < 0.65


def test_the_classifier_is_the_usual_one() -> None:
    """Weights of two answers to one question differ as much as those of another program."""
    sklearn = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(2)
    people = {"a": rng.integers(0, 3, 500), "b": rng.integers(0, 2, 500)}
    people["t"] = (rng.random(500) < 0.2 + 0.3 * people["b"] + 0.1 * people["a"]).astype(np.int64)
    weights = train(people, {"a": 3, "b": 2, "t": 2}, "t")
    inputs = np.hstack([np.eye(3)[people["a"]], np.eye(2)[people["b"]]])
    (other,) = sklearn.LogisticRegression(tol=1e-10, max_iter=1000).fit(inputs, people["t"]).coef_
    np.testing.assert_allclose(np.concatenate([weights["a"], weights["b"]]), other, atol=1e-4)
