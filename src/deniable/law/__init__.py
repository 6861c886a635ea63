"""Computes what a report says: the law of its support, its moments, or its matrix."""

from deniable.law.checks import checked_prior, finite
from deniable.law.law import Law
from deniable.law.marginal import Marginal
from deniable.law.matrix import Matrix
from deniable.law.moments import Moments

__all__ = [
    "Law",
    "Marginal",
    "Matrix",
    "Moments",
    "checked_prior",
    "finite",
]


def __dir__() -> list[str]:
    return sorted(__all__)
