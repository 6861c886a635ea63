"""Finds the most likely shares behind reports, with a certificate: by formulas, interior points or EM."""

from deniable.likelihood.fitting import mle, mle_record
from deniable.likelihood.result import Likelihood
from deniable.metric.line import GeometricChannel

__all__ = ["GeometricChannel", "Likelihood", "mle", "mle_record"]


def __dir__() -> list[str]:
    return sorted(__all__)
