"""Sums up estimates: means, quantiles, groups and distances."""

from deniable.summaries.distances import (
    circle_wasserstein,
    cost_wasserstein,
    grid_wasserstein,
    line_wasserstein,
    sliced_wasserstein,
    smoothed_kl,
    total_variation,
)
from deniable.summaries.summaries import (
    Group,
    Summary,
    groups_of,
    mean_of,
    quantile_between,
    quantile_of,
    sum_of,
)

__all__ = [
    "Group",
    "Summary",
    "circle_wasserstein",
    "cost_wasserstein",
    "grid_wasserstein",
    "groups_of",
    "line_wasserstein",
    "mean_of",
    "quantile_between",
    "quantile_of",
    "sliced_wasserstein",
    "smoothed_kl",
    "sum_of",
    "total_variation",
]


def __dir__() -> list[str]:
    return sorted(__all__)
