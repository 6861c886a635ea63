"""Estimates shares of ranges, cumulative shares and quantiles from reports of coarse and fine values."""

from deniable.ranges.estimate import CumulativeShares, RangeEstimate
from deniable.ranges.parts import plan_tree
from deniable.ranges.tree import LeastSquares, Tree
from deniable.ranges.variances import Scatter

__all__ = ["CumulativeShares", "LeastSquares", "RangeEstimate", "Scatter", "Tree", "plan_tree"]
