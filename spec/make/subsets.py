"""Lists the members of subsets that are written as bits elsewhere, for what only a list can do wrong."""

from __future__ import annotations

import deniable as dn
from deniable.mechanisms import SubsetShape


def listed(mechanism: SubsetShape) -> dn.mechanisms.Subset:
    """The same law, with reports that list their members."""
    return dn.mechanisms.Subset(mechanism.k, mechanism.size, mechanism.keep)


def packed(mechanism: SubsetShape) -> dn.mechanisms.PackedSubset:
    """The same law, with reports of a bit for each value."""
    return dn.mechanisms.PackedSubset(mechanism.k, mechanism.size, mechanism.keep)
