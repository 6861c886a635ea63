"""Checks what laws are asked with: numbers of reports, shares and priors."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.exact import whole_number

Convention = Literal["sampled", "fixed"]
"""Whom the truth is about: people `sampled` from a larger population, or the `fixed` people who answered."""


def check_convention(n: int, population: str) -> None:
    """Refuse a number of reports that is none, and people who are neither sampled nor fixed."""
    whole_number("n, the number of reports,", n, 1)
    if population not in ("sampled", "fixed"):
        raise InvalidParameter(f"population is 'sampled' or 'fixed', got {population!r}")


def checked_shares(f: npt.ArrayLike) -> Floats:
    """Shares of the people, each from 0 to 1."""
    shares = np.asarray(f, dtype=np.float64)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise InvalidParameter(f"f, a share of the people, is from 0 to 1, got {f!r}")
    return shares


def checked_prior(prior: npt.ArrayLike, k: int) -> Floats:
    """The attacker's beliefs as k probabilities."""
    allowed = f"a prior is {k} non-negative weights, not all zero"
    weights = finite(prior, allowed)
    if weights.shape != (k,) or (weights < 0).any() or weights.sum() <= 0:
        raise InvalidParameter(allowed)
    return np.asarray(weights / weights.sum())


def finite(values: npt.ArrayLike, allowed: str) -> Floats:
    """A table or list of finite numbers; anything else is refused with what is allowed."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(f"{allowed}, got {values!r:.60}") from None
    if not np.isfinite(numbers).all():
        raise InvalidParameter(f"{allowed}; all must be finite")
    return numbers
