"""Response times are harder to predict from noisier places, and features of true places would be seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sizes import PLACES_RISE

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable_papers.data.calls import REAL, load_calls
from deniable_papers.reproduce import reproduce_paper
from deniable_papers.studies.applications import emergencies, response_time
from deniable_papers.studies.applications.response_time import Case, ResponsePoint, measure_case
from deniable_papers.studies.plot.response_time import plot_response_time


@pytest.fixture(scope="module")
def rows() -> list[ResponsePoint]:
    return list(response_time.reproduce(["LightGBM", "mean"], [1000.0], runs=1, processes=1))


def rise() -> float:
    """How much the error grows from true places to a radius of 1 km."""
    true = measure_case(Case(("LightGBM",)))[1]["LightGBM"][1]
    return measure_case(Case(("LightGBM",), "planar_laplace", 1000.0))[1]["LightGBM"][1] - true


def test_calls_are_as_specified() -> None:
    known = emergencies.load_emergencies(1)
    assert len(np.asarray(known.facts.stations)) == (35 if known.calls.name == REAL else 33)
    assert known.history.n / (known.history.n + known.calls.n) == pytest.approx(0.3, abs=0.02)
    nearest = known.facts.compute(known.calls.locations)[:, 2]
    assert nearest.mean() == pytest.approx(1.9, abs=0.05 if known.calls.name == REAL else 0.1)
    assert known.training == int(0.8 * known.calls.n)
    assert not set(emergencies.DROPPED) & {"hour", "weekday", "kind"}


def test_errors_are_within_their_margin(rows: list[ResponsePoint]) -> None:
    assert {row.dataset for row in rows} == {load_calls().name}
    assert not [row for row in rows if row.differs]
    compared = [row for row in rows if row.stated is not None and row.protocol == "planar_laplace"]
    assert bool(compared) == (load_calls().name == REAL), "a stand-in is not compared with the real calls"
    moved = {(row.protocol, row.remapped): row for row in rows}
    laplace = moved["planar_laplace", False]
    assert laplace.moved == pytest.approx(2 * 1000 / np.log(2), rel=0.03)
    assert moved["planar_laplace", True].moved < laplace.moved
    assert laplace.loss is None
    assert moved["planar_geometric", False].loss == pytest.approx(np.log(2) * (1 + np.sqrt(2)), rel=0.01)
    assert moved["planar_geometric", False].moved == pytest.approx(laplace.moved, rel=0.03)
    panels = plot_response_time(rows).axes
    assert [axes.get_ylabel() for axes in panels] == ["RMSE, minutes", "MAPE", "RMSE, minutes"]
    assert all(0.15 < row.mape < 0.6 for row in rows)


def test_route_and_travel_time_are_made_from_the_given_place() -> None:
    known = emergencies.load_emergencies(1)
    station = np.tile(np.asarray(known.facts.stations)[:1], (known.calls.n, 1))
    true, moved = known.describe(known.calls.locations), known.describe(station)
    nearest, route, travel = (
        emergencies.COLUMNS.index(name) for name in ("nearest station", "route distance", "travel time")
    )
    assert np.allclose(true[:, route], 1.35 * true[:, nearest])
    assert np.allclose(moved[:, [route, travel]], 0.0, atol=0.01)  # at a station, wherever the call was
    away = true[true[:, route] > 0]
    slowness = away[:, travel] / away[:, route]
    assert {round(float(minutes), 3) for minutes in slowness} == {1.2, 1.6, 2.0, 2.667}


def test_errors_rise_with_the_noise_unless_features_use_the_true_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert rise() > PLACES_RISE

    def leak(known: emergencies.Emergencies, *_ignored: Any) -> Floats:
        return known.calls.locations

    monkeypatch.setattr(emergencies, "sanitize_places", leak)
    assert rise() < PLACES_RISE, "the planted fault: features of the true place"


def test_every_model_learns() -> None:
    """From true places, each errs less than the mean by a quarter at least."""
    scores = measure_case(Case(response_time.MODELS))[1]
    errors = {name: error for name, (_, error, _, _) in scores.items()}
    mean = errors.pop("mean")
    assert max(errors.values()) < 0.75 * mean


def test_wrong_choices_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="not a model of this study"):
        next(response_time.reproduce(["SVM"]))
    with pytest.raises(InvalidParameter, match="a radius must be"):
        next(response_time.reproduce(radii=[-1.0]))


def test_the_command_prints_the_guarantee_and_writes_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    asked = ["response-time", "--quick", "--model", "LASSO", "--radii", "300"]
    figure = tmp_path / "minutes.svg"
    printed = CliRunner().invoke(reproduce_paper, [*asked, "--json", "--plot", str(figure)])
    assert printed.exit_code == 0, printed.output
    rows = json.loads(printed.stdout)
    assert {row["protocol"] for row in rows} == {"none", "planar_laplace", "planar_geometric"}
    assert figure.stat().st_size > 1000
    assert {row["dataset"] for row in rows} == {load_calls().name}
    assert "not protected: the response time" in str(response_time.GUARANTEE)
