"""The study of forecasting: its numbers are those of the specification, and its guarantees are true."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from deniable.errors import InvalidParameter
from deniable_papers.data.series import load_paris
from deniable_papers.reproduce import reproduce_paper
from deniable_papers.studies.applications import forecasting
from deniable_papers.studies.applications.forecasting_guarantee import TIMES, state_guarantees
from deniable_papers.studies.plot.forecasting import plot_forecasting


def test_the_counts_lack_a_day() -> None:
    series = load_paris()
    assert series.counts.shape == (TIMES, 6)
    steps = np.diff(series.times).astype(int)
    assert sorted(set(steps.tolist())) == [30, 24 * 60 + 30]
    assert str(series.times[int(steps.argmax()) + 1]) == "2020-09-18T00:00"
    assert not series.counts.flags.writeable


def test_persistence_and_ridge_are_those_of_the_specification() -> None:
    rows = list(forecasting.reproduce(["baselines", "ridge"], processes=1))
    assert not [row for row in rows if row.differs]
    errors = {(row.model, row.calendar): row for row in rows}
    persistence = errors["persistence", "dates"]
    assert (round(persistence.rmse, 1), round(persistence.mae, 1)) == (1503.6, 1107.1)
    assert errors["ridge", "dates"].rmse < errors["ridge", "rows"].rmse
    assert replace(persistence, rmse=1504.0).differs


def test_a_person_is_protected_at_a_small_cost() -> None:
    rows = list(forecasting.reproduce(["input"], runs=2, epsilons=(1.0,), processes=1))
    assert not [row for row in rows if row.differs]
    noisy = {(row.model, row.calendar, round(row.epsilon or 0, 2)): row for row in rows}
    assert round(noisy["ridge", "rows", 1.0].sigma or 0) == 389
    assert {2.59, 5.02} <= {epsilon for _, _, epsilon in noisy}
    assert noisy["ridge", "dates", 1.0].rmse < 1215
    again = list(forecasting.reproduce(["input"], runs=2, epsilons=(1.0,), processes=1))
    assert [row.rmse for row in again] == [row.rmse for row in rows]
    assert [axes.get_xlabel() for axes in plot_forecasting(rows).axes] == ["epsilon of a person, delta 1e-7"]


def test_guarantees_are_stated_as_published_and_as_true() -> None:
    (_, first), (_, second), (_, gradients) = state_guarantees()
    assert "123.4" in first.published
    assert "224.6" in second.published
    assert all(number in first.true for number in ("2.595", "4.751", "0.03445"))
    assert all(number in second.true for number in ("5.019", "0.0649"))
    assert first.unit == "person"
    assert gradients.unit == "window"
    assert "about epsilon 0.31" in gradients.true
    assert "a half hour, which is in 7 windows: about epsilon 5." in gradients.unprotected[0]
    assert "a person, who is in all windows: about epsilon 449" in gradients.unprotected[1]
    assert "for batches of a fixed size" in gradients.unprotected[1]


def test_margins_are_those_of_the_specification() -> None:
    """Five percent, and two standard errors of our own runs, whatever these have found."""
    cases = [case.point for case in forecasting.PARTS["gradients"](4, ())]
    far = next(case for case in cases if case.stated == 1792.0)
    assert far.margin == pytest.approx(0.05 * 1792)
    assert forecasting.widen_margin(far, None, 1) == far.margin
    assert forecasting.widen_margin(far, 70.0, 4) == pytest.approx(0.05 * 1792 + 70)
    assert replace(far, rmse=1614.0).differs
    assert forecasting.widen_margin(replace(far, noise="input"), 70.0, 4) == far.margin
    assert sum("own units" in case.model for case in cases) == 2


def test_the_command_prints_and_writes_the_same(tmp_path: Path) -> None:
    asked = ["forecasting", "--part", "baselines", "--part", "ridge", "--quick"]
    shown = CliRunner().invoke(reproduce_paper, asked)
    assert shown.exit_code == 0, shown.output
    assert "published: epsilon 0.0357 for each count" in shown.output
    assert "true (for one person): epsilon 2.595" in shown.output
    assert "differs" not in shown.output
    printed = CliRunner().invoke(reproduce_paper, [*asked, "--json", "--plot", str(tmp_path / "errors.svg")])
    assert "true (for one person): epsilon 2.595" in printed.stderr
    rows = json.loads(printed.stdout)
    assert {row["model"] for row in rows} >= {"persistence", "ridge", "weekday mean"}
    assert (tmp_path / "errors.svg").stat().st_size > 1000


def test_parts_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="'tree' is not a part of this study"):
        next(forecasting.reproduce(["tree"]))
