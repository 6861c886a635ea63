"""Reports metric values: ordered ones, cells, numbers. What they lose depends on their distance.

Small letters make a mechanism, capitals are what they make. Begin with `geometric`, `planar_geometric` or
`piecewise`.
"""

from deniable.estimate import MeanEstimate
from deniable.metric.base import Channel, MetricMechanism
from deniable.metric.globe import great_circle, per_meter
from deniable.metric.means import Averaged, Duchi, Hybrid, Mean, Piecewise, duchi, hybrid, piecewise
from deniable.metric.ordered import Geometric, geometric
from deniable.metric.planar import PlanarGeometric, planar_geometric
from deniable.metric.protocols import ORDERED, OrderedProtocol
from deniable.metric.waves import SquareWave, square_wave

__all__ = [
    "ORDERED",
    "Averaged",
    "Channel",
    "Duchi",
    "Geometric",
    "Hybrid",
    "Mean",
    "MeanEstimate",
    "MetricMechanism",
    "OrderedProtocol",
    "Piecewise",
    "PlanarGeometric",
    "SquareWave",
    "duchi",
    "geometric",
    "great_circle",
    "hybrid",
    "per_meter",
    "piecewise",
    "planar_geometric",
    "square_wave",
]


def __dir__() -> list[str]:
    return sorted(__all__)
