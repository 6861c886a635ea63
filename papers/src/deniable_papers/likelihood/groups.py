"""Finds the most likely shares of several groups of people together, each with a budget of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from deniable.arrays import Array
from deniable.errors import InvalidParameter
from deniable.likelihood import Likelihood
from deniable.likelihood.fitting import fit
from deniable.likelihood.problem import Counted, Grouped, Reported
from deniable.likelihood.sources import Source, build_problem
from deniable.mechanisms import Tally


def mle_groups(
    groups: Iterable[tuple[Source, Tally | Array]],
    *,
    method: str = "auto",
    tolerance: float = 1e-9,
    iterations: int | None = None,
    ordered: bool | None = None,
) -> Likelihood:
    """Finds the most likely shares of several groups together, each with a budget or mechanism of its own.

    Tallies of direct encoding, geometric noise or a matrix, and reports of sets, can be mixed. Counts of
    support cannot: they have no likelihood that others could be added to. Groups in which nobody has reported
    yet are left out; they must be about the same values, too. Reports of continuous square waves are counted
    in the same bins first: `wave.count(reports, bins)` is such a group.

    >>> from deniable.mechanisms import grr
    >>> strict, loose = grr(3, 0.5), grr(3, 3.0)
    >>> both = mle_groups([(strict, Tally(60, [30, 20, 10])), (loose, Tally(40, [30, 8, 2]))])
    >>> both.n, both.k, both.stop
    (100, 3, 'certified')
    """
    pairs = _check_groups(groups)
    parts: list[Counted | Reported] = []
    sizes: list[int] = []
    for mechanism, data in pairs:
        if (data.n if isinstance(data, Tally) else np.size(data)) == 0:
            sizes.append(_count_values(mechanism))
            continue
        part = build_problem(mechanism, data, ordered)
        if not isinstance(part, Counted | Reported):
            raise InvalidParameter(
                "a group of sets of values needs its reports: counts of support have no likelihood to add"
            )
        parts.append(part)
        sizes.append(part.k)
    if len(set(sizes)) > 1:
        raise InvalidParameter(f"all groups must have the same values, got {sizes}")
    if not pairs:
        raise InvalidParameter("give at least one group: pairs of a mechanism and its tally or reports")
    if not parts:
        raise InvalidParameter("there are no reports yet in any group, so there is nothing to estimate")
    return fit(Grouped(tuple(parts)), method, tolerance, iterations)


def _check_groups(groups: Iterable[tuple[Source, Tally | Array]]) -> Sequence[tuple[Source, Tally | Array]]:
    if not isinstance(groups, Iterable):
        raise InvalidParameter(
            "groups are a list of pairs, as in mle_groups([(a, tally_a), (b, tally_b)]), got "
            f"{type(groups).__name__}"
        )
    pairs = list(groups)
    for group in pairs:
        if not isinstance(group, tuple | list) or len(group) != 2:
            raise InvalidParameter(
                f"a group is a pair of a mechanism and its tally or reports, got {type(group).__name__}; as "
                "in mle_groups([(a, tally_a), (b, tally_b)])"
            )
    return pairs


def _count_values(source: object) -> int:
    """How many values there are, also where nobody has reported."""
    known = getattr(source, "k", None)
    if isinstance(known, int):
        return known
    if np.ndim(channel := np.asarray(source)) != 2:
        raise InvalidParameter(f"a group has a mechanism or a table of chances, got {type(source).__name__}")
    return len(channel)
