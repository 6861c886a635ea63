"""Makes rows of results: every share with its standard error and its interval, exact ones with none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from deniable.estimate import clopper_pearson, normal_quantile
from deniable.exact import number

Columns = dict[str, Any]
"""Values of one row of a dataframe, by their columns."""
LEVEL = 0.95


def find_mean_interval(value: float, stderr: float | None, level: float, most: float = 1.0) -> Columns:
    """A mean, with a normal interval where it has an error; what is exact (None) is its own interval."""
    reach = normal_quantile(level) * (stderr or 0.0)
    ends = (
        {"low": max(0.0, value - reach), "high": min(most, value + reach)}
        if reach
        else {"low": value, "high": value}
    )
    return {"stderr": stderr or 0.0, **ends, "exact": stderr is None}


def find_share_interval(right: float, n: int, level: float, stderr: float | None = None) -> Columns:
    """A count out of n, with the interval of Clopper and Pearson; a part of one widens it at both ends."""
    tail = (1 - number("a confidence level", level, 0.0, 1.0)) / 2
    ends = np.array([math.floor(right + 1e-6), math.ceil(right - 1e-6)], dtype=np.float64)
    low, high = clopper_pearson(ends, n, tail)
    share = right / n
    error = math.sqrt(share * (1 - share) / n) if stderr is None else stderr
    return {"stderr": error, "low": float(low[0]), "high": float(high[1])}
