"""Sums up estimates: means, quantiles and groups."""

from deniable.summaries.summaries import (
    Group,
    Summary,
    groups_of,
    mean_of,
    quantile_between,
    quantile_of,
    sum_of,
)

__all__ = ["Group", "Summary", "groups_of", "mean_of", "quantile_between", "quantile_of", "sum_of"]


def __dir__() -> list[str]:
    return sorted(__all__)
