"""Says what tallies tell: shares, means, quantiles, tables, change and health; holds the door `Result`."""

from deniable.results.change import MEAN, Change
from deniable.results.result import Result

__all__ = ["MEAN", "Change", "Result"]
