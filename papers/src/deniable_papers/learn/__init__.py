"""Learns from sanitized counts and places as published studies do: forecasts, days, unions, networks.

Networks are loaded when they are first used, so that nothing else needs JAX.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from deniable_papers.learn.days import DayEstimate, DaySets, day_sets, estimate_days
from deniable_papers.learn.demand import (
    DemandFeatures,
    PeriodCounts,
    count_periods,
    demand_features,
    forecast_seasonal_mean,
    forecast_total_by_share,
)
from deniable_papers.learn.entropy import CellFit, linear_program, maximum_entropy
from deniable_papers.learn.forecast import ForecastScore, RidgeForecast, calendar_columns, score_forecast
from deniable_papers.learn.gradients import GradientNoise
from deniable_papers.learn.places import NoisyPlaces, PlaceFeatures, privatize_places, remap_places
from deniable_papers.learn.synthetic import draw_people, round_counts
from deniable_papers.learn.unions import count_unions, list_unions, union_matrix
from deniable_papers.learn.visits import first_visits

if TYPE_CHECKING:
    from deniable_papers.learn.deep import NetworkForecast, SeriesScale

__all__ = [
    "CellFit",
    "DayEstimate",
    "DaySets",
    "DemandFeatures",
    "ForecastScore",
    "GradientNoise",
    "NetworkForecast",
    "NoisyPlaces",
    "PeriodCounts",
    "PlaceFeatures",
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
    "privatize_places",
    "remap_places",
    "round_counts",
    "score_forecast",
    "union_matrix",
]


def __getattr__(name: str) -> object:
    if name not in ("NetworkForecast", "SeriesScale"):
        raise AttributeError(f"module 'deniable_papers.learn' has no attribute {name!r}")
    found: object = getattr(import_module("deniable_papers.learn.deep"), name)
    return found
