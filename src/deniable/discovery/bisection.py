"""Finds where a condition begins to hold, by halving."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array

_HALVINGS = 64


def bisect(holds: Callable[[Array], npt.ArrayLike], low: npt.ArrayLike, high: npt.ArrayLike) -> Array:
    """The least numbers above `low` for which a condition holds, which holds from there up to `high`.

    Whole numbers are found exactly, others as well as floats allow.

    >>> int(bisect(lambda x: x * x >= 50, 0, 100)), round(float(bisect(lambda x: x * x >= 50, 0.0, 100.0)), 6)
    (8, 7.071068)
    """
    under, over = np.asarray(low), np.asarray(high)
    is_integer = over.dtype.kind == "i"
    for _ in range(_HALVINGS):
        if is_integer and (over - under <= 1).all():
            break
        middle = (under + over) // 2 if is_integer else (under + over) / 2
        above = holds(middle)
        under, over = np.where(above, under, middle), np.where(above, middle, over)
    return over
