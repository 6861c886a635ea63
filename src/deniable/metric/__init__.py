"""Reports metric values: ordered ones, cells, numbers. What they lose depends on their distance.

Small letters make a mechanism, capitals are what they make. Begin with `geometric`, `planar_geometric` or
`piecewise`.
"""

from deniable.estimate import MeanEstimate
from deniable.metric.base import Channel, MetricMechanism
from deniable.metric.globe import PlanarLaplace, great_circle, per_meter, planar_laplace
from deniable.metric.means import Averaged, Duchi, Hybrid, Mean, Piecewise, duchi, hybrid, piecewise
from deniable.metric.ordered import Geometric, geometric
from deniable.metric.planar import PlanarGeometric, planar_geometric
from deniable.metric.remapping import optimal_remap, remap_to
from deniable.metric.tabled import Tabled, exponential, tight_constraints
from deniable.metric.waves import SquareWave, square_wave

__all__ = [
    "Averaged",
    "Channel",
    "Duchi",
    "Geometric",
    "Hybrid",
    "Mean",
    "MeanEstimate",
    "MetricMechanism",
    "Piecewise",
    "PlanarGeometric",
    "PlanarLaplace",
    "SquareWave",
    "Tabled",
    "duchi",
    "exponential",
    "geometric",
    "great_circle",
    "hybrid",
    "optimal_remap",
    "per_meter",
    "piecewise",
    "planar_geometric",
    "planar_laplace",
    "remap_to",
    "square_wave",
    "tight_constraints",
]


def __dir__() -> list[str]:
    return sorted(__all__)
