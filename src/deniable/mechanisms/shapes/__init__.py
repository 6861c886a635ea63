"""Defines the set-valued shapes: what a report looks like, how words become one, how reports are counted.

A shape holds thresholds out of 2^64, nothing else; law, loss and error bars are computed from them. A
protocol is a choice of these numbers (protocols.py). Large batches go to compiled loops that give the same
reports.
"""

from deniable.mechanisms.shapes.common import keep_ratio
from deniable.mechanisms.shapes.direct import Direct
from deniable.mechanisms.shapes.hadamard import Hadamard
from deniable.mechanisms.shapes.hashed import Hashed
from deniable.mechanisms.shapes.linear import Linear
from deniable.mechanisms.shapes.pooled import Pooled
from deniable.mechanisms.shapes.subset import PackedSubset, Subset, SubsetShape
from deniable.mechanisms.shapes.unary import Unary

__all__ = [
    "Direct",
    "Hadamard",
    "Hashed",
    "Linear",
    "PackedSubset",
    "Pooled",
    "Subset",
    "SubsetShape",
    "Unary",
    "keep_ratio",
]
