"""Groups neighboring values: single bins or cells scatter widely, and their groups are known far better."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deniable.arrays import Integers
from deniable.domain import Domain
from deniable.domain.groups import list_groups
from deniable.estimate import Estimate
from deniable.summaries.summaries import Summary, sum_of


class Group(NamedTuple):
    """Some neighboring values: their common name, their numbers, and their share with its own error."""

    label: str
    values: Integers
    share: Summary


def groups_of(estimate: Estimate, domain: Domain | None, level: float = 0.95) -> list[Group]:
    """About ten groups of the bins of a long range, or sixteen blocks of a large grid; else no groups.

    "No answer", where it is a value, stays on its own.

    >>> from deniable.metric import geometric
    >>> from deniable.domain import Range
    >>> ages, m = Range(18, 98, step=1), geometric(79, 0.5)
    >>> found = groups_of(m.estimate(m.tally(m.privatize([2] * 50 + [40] * 50))), ages)
    >>> [group.label for group in found[:2]], len(found), found[0].values.tolist()
    (['18 to under 20', '20 to under 30'], 9, [0, 1])
    """
    members = list_groups(domain)
    if domain is None or not members:
        return []
    if estimate.k > domain.k and estimate.labels is not None:
        members = [*members, *((str(estimate.labels[v]), np.array([v])) for v in range(domain.k, estimate.k))]
    return [Group(label, values, sum_of(estimate, values, level)) for label, values in members]
