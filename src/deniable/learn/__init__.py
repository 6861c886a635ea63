"""Learns from sanitized data: a scikit-learn transformer, models from reports, noise on series of counts.

A name is loaded when it is first used, so that a series needs no scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameter, suggest_install

if TYPE_CHECKING:
    from deniable.learn.bayes import PrivateNaiveBayes
    from deniable.learn.days import DayEstimate, DaySets, day_sets, estimate_days
    from deniable.learn.deep import NetworkForecast, SeriesScale
    from deniable.learn.demand import (
        DemandFeatures,
        PeriodCounts,
        count_periods,
        demand_features,
        forecast_seasonal_mean,
        forecast_total_by_share,
    )
    from deniable.learn.entropy import CellFit, linear_program, maximum_entropy
    from deniable.learn.forecast import ForecastScore, RidgeForecast, calendar_columns, score_forecast
    from deniable.learn.gaussian import DiscreteGaussian
    from deniable.learn.gradients import GradientNoise
    from deniable.learn.laplace import DiscreteLaplace
    from deniable.learn.noise import CountNoise
    from deniable.learn.places import NoisyPlaces, PlaceFeatures, privatize_places, remap_places
    from deniable.learn.privatizer import Privatizer
    from deniable.learn.series import PrivateSeries, private_series
    from deniable.learn.synthetic import draw_people, round_counts
    from deniable.learn.unions import count_unions, list_unions, union_matrix
    from deniable.learn.visits import first_visits

__all__ = [
    "CellFit",
    "CountNoise",
    "DayEstimate",
    "DaySets",
    "DemandFeatures",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ForecastScore",
    "GradientNoise",
    "NetworkForecast",
    "NoisyPlaces",
    "PeriodCounts",
    "PlaceFeatures",
    "PrivateNaiveBayes",
    "PrivateSeries",
    "Privatizer",
    "RidgeForecast",
    "SeriesScale",
    "calendar_columns",
    "count_periods",
    "count_unions",
    "day_sets",
    "demand_features",
    "draw_people",
    "estimate_days",
    "first_visits",
    "forecast_seasonal_mean",
    "forecast_total_by_share",
    "linear_program",
    "list_unions",
    "maximum_entropy",
    "private_series",
    "privatize_places",
    "remap_places",
    "round_counts",
    "score_forecast",
    "union_matrix",
]

_FILES = {
    "CellFit": "entropy",
    "CountNoise": "noise",
    "DayEstimate": "days",
    "DaySets": "days",
    "DemandFeatures": "demand",
    "DiscreteGaussian": "gaussian",
    "DiscreteLaplace": "laplace",
    "ForecastScore": "forecast",
    "GradientNoise": "gradients",
    "NetworkForecast": "deep",
    "NoisyPlaces": "places",
    "PeriodCounts": "demand",
    "PlaceFeatures": "places",
    "PrivateNaiveBayes": "bayes",
    "PrivateSeries": "series",
    "Privatizer": "privatizer",
    "RidgeForecast": "forecast",
    "SeriesScale": "deep",
    "calendar_columns": "forecast",
    "count_periods": "demand",
    "count_unions": "unions",
    "day_sets": "days",
    "demand_features": "demand",
    "draw_people": "synthetic",
    "estimate_days": "days",
    "first_visits": "visits",
    "forecast_seasonal_mean": "demand",
    "forecast_total_by_share": "demand",
    "linear_program": "entropy",
    "list_unions": "unions",
    "maximum_entropy": "entropy",
    "private_series": "series",
    "privatize_places": "places",
    "remap_places": "places",
    "round_counts": "synthetic",
    "score_forecast": "forecast",
    "union_matrix": "unions",
}
"""The file that each name is in."""


def __getattr__(name: str) -> object:
    if name not in _FILES:
        raise AttributeError(f"module 'deniable.learn' has no attribute {name!r}")
    try:
        found: object = getattr(import_module(f"deniable.learn.{_FILES[name]}"), name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] == "deniable":
            raise
        extra = "deep" if _FILES[name] == "deep" else "learn"
        raise InvalidParameter(f"{name} needs {missing.name}: {suggest_install(extra)}") from None
    globals()[name] = found  # so that it is looked for once
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
