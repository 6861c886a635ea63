"""Estimates shares of ranges, cumulative shares and quantiles from reports of coarse and fine values."""

from deniable.ranges.cumulative import CumulativeShares
from deniable.ranges.estimate import RangeEstimate
from deniable.ranges.parts import plan_tree
from deniable.ranges.scatter import Scatter
from deniable.ranges.squares import LeastSquares
from deniable.ranges.tree import Tree

__all__ = ["CumulativeShares", "LeastSquares", "RangeEstimate", "Scatter", "Tree", "plan_tree"]
