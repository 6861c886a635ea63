"""Forecasts of demand err as specified, and the command writes what it measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sizes import SHARE_EXCESS

from deniable.errors import InvalidParameter
from deniable.mechanisms import oue
from deniable.randomness.simulated import numbers_from
from deniable_papers.data.calls import REAL, load_calls
from deniable_papers.learn import forecast_seasonal_mean, forecast_total_by_share
from deniable_papers.reproduce import reproduce_paper
from deniable_papers.studies.applications import demand
from deniable_papers.studies.applications.demand_data import simulate_demand
from deniable_papers.studies.plot.demand import plot_demand


def test_simulated_days_are_as_specified() -> None:
    days = simulate_demand(1)
    assert days.counts.shape == (2192, 15)
    assert round(days.totals.mean()) == 83
    assert days.means is not None
    shares = days.means.sum(axis=0) / days.means.sum()
    assert shares[0] / shares[14] == pytest.approx(8**0.9, rel=0.02)
    weekdays = [days.totals[day::7].mean() for day in range(7)]
    assert [int(np.argmin(weekdays)), int(np.argmax(weekdays))] == [6, 5]
    grown = days.totals[-365:].mean() / days.totals[:365].mean()
    assert grown == pytest.approx(1.33 / 1.03, rel=0.03)
    again = simulate_demand(1)
    assert np.array_equal(days.counts, again.counts)
    assert not np.array_equal(days.counts, simulate_demand(2).counts)


def test_forecasts_are_within_their_margin() -> None:
    rows = list(demand.reproduce(["synthetic"], ["oue"], [1.0], runs=1, processes=1))
    found = {(row.model, row.protocol): row for row in rows}
    assert set(found) == {
        ("oracle", "none"),
        *((model, protocol) for model in demand.MODELS for protocol in ("none", "oue")),
    }
    assert not [row for row in rows if row.differs]
    assert all(row.stated is not None for row in rows if row.model not in ("last week", "XGBoost"))
    assert found["XGBoost", "none"].mae == pytest.approx(found["LightGBM", "none"].mae, abs=0.03)
    assert found["last week", "none"].mae > found["weekday mean", "none"].mae
    assert found["weekday mean", "none"].mae == pytest.approx(2.32, abs=0.07)
    assert found["total x share", "oue"].noise_floor == pytest.approx(17.5, abs=0.2)
    assert [axes.get_title(loc="left") for axes in plot_demand(rows).axes] == [
        "synthetic, OUE: MAE",
        "synthetic, OUE: RMSE",
    ]
    assert rows == list(demand.reproduce(["synthetic"], ["oue"], [1.0], runs=1, processes=1))


def excess_of_shares(history: int | None = None, seed: int = 3) -> float:
    """How much more than the oracle a forecast from shares errs, of all history or of some days of it."""
    days = simulate_demand(seed)
    counts = demand.sanitize_counts(days, oue(15, 1.0), numbers_from(seed, "excess")).counts
    if history is not None:
        counts[: -days.test - history] = 0
        totals = days.totals.copy()
        totals[: -days.test - history] = 0
    else:
        totals = days.totals
    ahead = forecast_seasonal_mean(days.totals, cycles=8)
    forecast = forecast_total_by_share(counts, totals, ahead)[-days.test :]
    assert days.means is not None
    best = np.abs(days.means[-days.test :] - days.truth).mean()
    return float(np.abs(forecast - days.truth).mean() - best)


def test_shares_of_all_history_err_little_more_than_an_oracle() -> None:
    low, high = SHARE_EXCESS
    assert low < excess_of_shares() < high
    assert excess_of_shares(history=30) > high, "the planted fault: most of the history is lost"


def test_montgomery_is_within_its_margin() -> None:
    rows = list(demand.reproduce(["montgomery"], None, [0.5, 4.0], runs=1, processes=1))
    assert [row.protocol for row in rows] == ["none"] * 2 + ["oue"] * 4
    assert {row.dataset for row in rows} == {load_calls().name}
    assert not [row for row in rows if row.differs]
    is_real = load_calls().name == REAL
    assert [row.stated is None for row in rows[:1]] == [not is_real], "a stand-in has no stated errors"
    assert rows[0].mae == pytest.approx(0.743, abs=0.002 if is_real else 0.1)
    by_share, by_profile = (row.mae for row in rows[2:4])
    assert rows[0].mae < by_share < by_profile, "noise costs a forecast of each region most"


def test_wrong_choices_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="not a dataset of this study"):
        next(demand.reproduce(["berlin"]))
    with pytest.raises(InvalidParameter, match="not a protocol of this study"):
        next(demand.reproduce(["synthetic"], ["olh"]))


def test_the_command_prints_the_guarantee_and_writes_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    asked = ["demand", "--quick", "--dataset", "montgomery", "--epsilons", "1"]
    shown = CliRunner().invoke(reproduce_paper, asked)
    assert shown.exit_code == 0, shown.output
    assert "true (for one record): epsilon for the region of one record" in shown.output
    assert "not protected: the time of a record" in shown.output
    printed = CliRunner().invoke(reproduce_paper, [*asked, "--json", "--plot", str(tmp_path / "demand.svg")])
    rows = json.loads(printed.stdout)
    assert {row["model"] for row in rows} == {"total x share", "profile of each"}
    assert {row["dataset"] for row in rows} == {load_calls().name}
    assert (tmp_path / "demand.svg").stat().st_size > 1000
