"""Estimates shares from counts, with error bars, and makes distributions of them on request."""

from deniable.estimate.estimate import Bins, Estimate, Interval, MeanEstimate
from deniable.estimate.intervals import (
    bounded,
    clopper_pearson,
    exact_low,
    normal_quantile,
    reach_of,
    scattered,
    scored,
    seen_squares,
    student,
)

__all__ = [
    "Bins",
    "Estimate",
    "Interval",
    "MeanEstimate",
    "bounded",
    "clopper_pearson",
    "exact_low",
    "normal_quantile",
    "reach_of",
    "scattered",
    "scored",
    "seen_squares",
    "student",
]
