"""Forecasts of series: the ridge is the usual one, and no row is forecast from itself or from later ones."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.errors import InvalidParameter
from deniable_papers.learn import ForecastScore, RidgeForecast, calendar_columns, score_forecast

ROWS, TRAINED = 300, 250


@pytest.fixture
def counts() -> np.ndarray:
    draw = np.random.default_rng(1)
    level = 500 + 100 * np.sin(2 * np.pi * np.arange(ROWS) / 24)[:, None] * np.array([1.0, 0.5])
    return np.asarray(np.rint(level + draw.normal(0, 10, (ROWS, 2))))


def test_the_ridge_is_the_usual_one(counts: np.ndarray) -> None:
    """Least squares of rows and of penalties, by another solver."""
    made = RidgeForecast.fit(counts[:TRAINED], lags=(1, 24), penalty=1e-2)
    columns = np.hstack([np.roll(counts, lag, axis=0) for lag in (1, 24)])
    past = columns[24:TRAINED]
    scaled = (columns - past.mean(axis=0)) / past.std(axis=0)
    offset = counts[24:TRAINED].mean(axis=0)
    rows = np.vstack([scaled[24:TRAINED], np.sqrt(1e-2 * len(past)) * np.eye(4)])
    targets = np.vstack([counts[24:TRAINED] - offset, np.zeros((4, 2))])
    usual = np.linalg.lstsq(rows, targets, rcond=None)[0]
    assert np.allclose(made.predict(counts, start=TRAINED), scaled[TRAINED:] @ usual + offset)


def test_a_row_is_forecast_from_the_rows_before_it(counts: np.ndarray) -> None:
    model = RidgeForecast.fit(counts[:TRAINED], lags=(1, 2, 24))
    changed = counts.copy()
    changed[270:] += 1000
    before, after = (model.predict(table, start=TRAINED) for table in (counts, changed))
    assert np.array_equal(before[:21], after[:21])
    assert not np.allclose(before[21], after[21])
    following = model.predict(counts[:270], start=270, stop=271)
    assert np.allclose(following, before[20])


def test_a_calendar_is_known_before(counts: np.ndarray) -> None:
    hours = np.eye(24)[np.arange(ROWS + 1) % 24]
    plain = RidgeForecast.fit(counts[:TRAINED], lags=(1,))
    timed = RidgeForecast.fit(counts[:TRAINED], hours, lags=(1,))
    truth = counts[TRAINED:]
    errors = [
        score_forecast(truth, model.predict(counts, calendar, start=TRAINED)).rmse
        for model, calendar in ((timed, hours), (plain, None))
    ]
    assert errors[0] < 0.8 * errors[1]
    assert timed.predict(counts, hours, start=ROWS, stop=ROWS + 1).shape == (1, 2)


def test_one_series_has_one_dimension(counts: np.ndarray) -> None:
    model = RidgeForecast.fit(counts[:TRAINED, 0], lags=(1, 24))
    assert model.predict(counts[:, 0], start=TRAINED).shape == (50,)
    assert repr(model) == "<RidgeForecast: 1 series from 2 columns>"


def test_the_future_is_forecast_from_forecasts(counts: np.ndarray) -> None:
    model = RidgeForecast.fit(counts[:TRAINED], lags=(1, 24))
    [following] = model.predict(counts, start=ROWS)
    ahead = model.predict(counts, start=ROWS, stop=ROWS + 30)
    assert np.array_equal(ahead[0], following)
    again = model.predict(np.vstack([counts, ahead[:29]]), start=ROWS, stop=ROWS + 30)
    assert np.allclose(again, ahead)
    hours = np.eye(24)[np.arange(ROWS + 2) % 24]
    timed = RidgeForecast.fit(counts[:TRAINED], hours, lags=(1,))
    assert timed.predict(counts, hours, start=ROWS, stop=ROWS + 2).shape == (2, 2)
    with pytest.raises(InvalidParameter, match=f"calendar has {ROWS + 2} rows for {ROWS + 3} time"):
        timed.predict(counts, hours, start=ROWS, stop=ROWS + 3)


def test_weekends_are_those_of_the_dates() -> None:
    times = np.arange("2020-09-14T00:00", "2020-09-21T00:00", 60, dtype="datetime64[m]")
    columns = calendar_columns(times, per_day=24)
    assert (columns.sum(axis=1) == 1).all()
    assert columns.argmax(axis=1).tolist() == [*list(range(24)) * 5, *list(range(24, 48)) * 2]


def test_scores_are_means_over_series() -> None:
    score = score_forecast([[0, 0], [0, 0]], [[3, 0], [3, 4]])
    assert score == ForecastScore((3 + np.sqrt(8)) / 2, 2.5)


@pytest.mark.parametrize(
    ("lags", "penalty", "rows", "problem"),
    [
        ((), 1.0, TRAINED, "at least one lag"),
        ((0,), 1.0, TRAINED, "a lag"),
        ((1,), 0.0, TRAINED, "penalty"),
        ((48,), 1.0, 49, "needs more than 49 time points"),
        ((1, 168), 1.0, 100, "a lag of 168 needs more than 169 time points, got 100"),
    ],
)
def test_wrong_settings_are_refused(
    counts: np.ndarray, lags: tuple[int, ...], penalty: float, rows: int, problem: str
) -> None:
    with pytest.raises(InvalidParameter, match=problem):
        RidgeForecast.fit(counts[:rows], lags=lags, penalty=penalty)


def test_wrong_forecasts_are_refused(counts: np.ndarray) -> None:
    model = RidgeForecast.fit(counts[:TRAINED], lags=(1, 24))
    with pytest.raises(InvalidParameter, match="start must be an integer from 24"):
        model.predict(counts, start=3)
    with pytest.raises(InvalidParameter, match="fitted to 4 columns"):
        model.predict(counts[:, 0], start=TRAINED)
    with pytest.raises(InvalidParameter, match="calendar has 2 rows"):
        model.predict(counts, [[1], [2]], start=TRAINED)
    with pytest.raises(InvalidParameter, match="finite"):
        RidgeForecast.fit(np.full((50, 2), np.nan), lags=(1,))
    with pytest.raises(InvalidParameter, match="row for each time point"):
        score_forecast(1.0, 2.0)
