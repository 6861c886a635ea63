"""Explains public pools of hash functions: how reports are counted by them, and what that costs in people."""

from __future__ import annotations

import math

from deniable.formatting import format_count
from deniable.mechanisms import Pooled, olh
from deniable.plan.document import PlanDocument


def explain_pools(document: PlanDocument) -> list[str]:
    """A sentence for each attribute whose values are hashed by the functions of a pool."""
    found = []
    for attribute, part in zip(document.attributes, document.parts, strict=True):
        one = part.one_round
        if isinstance(one, Pooled) and not attribute.domain.is_level:
            pool = one.pool
            found.append(
                f"{attribute.name!r} is hashed by one of {pool.size:,} public functions, and its reports are "
                f"counted by function and bucket: {format_count(pool.cells, 'number')}, however many people "
                f"answer. {_compare_people(one)}"
            )
    return found


def _compare_people(mechanism: Pooled) -> str:
    """How many more people it takes than functions that every device draws itself, by both laws."""
    ratio = compare_variances(mechanism)
    than = "than with functions that devices draw themselves"
    if ratio <= 1:
        return f"It takes no more people {than}."
    return f"It takes {math.ceil(1000 * (ratio - 1)) / 10:.1f} % more people {than}."


def compare_variances(mechanism: Pooled) -> float:
    """The variance of the share of a value that nobody has, over that of local hashing of the same loss."""
    alone = olh(mechanism.k, mechanism.loss())
    return float(mechanism.law.variance(1, 0.0)) / float(alone.law.variance(1, 0.0))
