"""Computes what a report says: the law of its support, its moments, or its matrix."""

from deniable.law.checks import Convention, checked_prior, finite
from deniable.law.contract import ReportLaw
from deniable.law.law import Law, binomial
from deniable.law.marginal import Marginal
from deniable.law.matrix import Matrix
from deniable.law.moments import Moments
from deniable.law.pairs import Mixed, Pairs, Walsh, nearer_sizes, nearer_sums, walsh_transform

__all__ = [
    "Convention",
    "Law",
    "Marginal",
    "Matrix",
    "Mixed",
    "Moments",
    "Pairs",
    "ReportLaw",
    "Walsh",
    "binomial",
    "checked_prior",
    "finite",
    "nearer_sizes",
    "nearer_sums",
    "walsh_transform",
]
