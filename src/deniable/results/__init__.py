"""Says what tallies tell: shares, means, quantiles, tables, change and health, as plain data."""

from deniable.results.estimates import MEAN, Estimates

__all__ = ["MEAN", "Estimates"]
