"""Computes what a report says: the law of its support, its moments, or its matrix."""

from deniable.law.contract import ReportLaw
from deniable.law.law import Convention, Law, Marginal, Moments, binomial, checked_prior, finite
from deniable.law.matrix import Matrix

__all__ = [
    "Convention",
    "Law",
    "Marginal",
    "Matrix",
    "Moments",
    "ReportLaw",
    "binomial",
    "checked_prior",
    "finite",
]
