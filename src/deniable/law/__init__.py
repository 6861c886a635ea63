"""Computes what a report says: the law of its support, its moments, or its matrix."""

from deniable.law.law import Law, Marginal, Moments, checked_prior, finite
from deniable.law.matrix import Matrix

__all__ = ["Law", "Marginal", "Matrix", "Moments", "checked_prior", "finite"]


def __dir__() -> list[str]:
    return sorted(__all__)
