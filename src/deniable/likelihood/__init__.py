"""Finds the most likely shares behind reports, with a certificate: by formulas, interior points or EM."""

from deniable.likelihood.fitting import METHODS, mle, mle_groups, mle_record, mle_rounds
from deniable.likelihood.result import Likelihood
from deniable.likelihood.smoothing import Smoothing
from deniable.likelihood.solution import Progress, Solution, Stop
from deniable.metric.line import GeometricChannel

__all__ = [
    "METHODS",
    "GeometricChannel",
    "Likelihood",
    "Progress",
    "Smoothing",
    "Solution",
    "Stop",
    "mle",
    "mle_groups",
    "mle_record",
    "mle_rounds",
]
