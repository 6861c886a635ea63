"""Exact noise on counts that a keeper holds, and series of counts with it.

This is central differential privacy: the keeper sees the true counts. Published studies add it to counts over
time and to counts of unions; surveys need none of it.
"""

from deniable_papers.noise.gaussian import DiscreteGaussian
from deniable_papers.noise.laplace import CountNoise, DiscreteLaplace
from deniable_papers.noise.series import DELTA, PrivateSeries, private_series

__all__ = ["DELTA", "CountNoise", "DiscreteGaussian", "DiscreteLaplace", "PrivateSeries", "private_series"]
