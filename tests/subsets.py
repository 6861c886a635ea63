"""Lists the members of subsets that are written as bits elsewhere, for what only a list can do wrong."""

from __future__ import annotations

import deniable as dn
from deniable.mechanisms import SubsetShape


def listed(mechanism: SubsetShape) -> dn.Subset:
    """The same law, with reports that list their members."""
    return dn.Subset(mechanism.k, mechanism.size, mechanism.keep)


def packed(mechanism: SubsetShape) -> dn.PackedSubset:
    """The same law, with reports of a bit for each value."""
    return dn.PackedSubset(mechanism.k, mechanism.size, mechanism.keep)
