"""Mechanisms that know distances: ordered values, places, numbers. What they lose depends on how far apart
two values are.
"""

from deniable.metric.base import MOST_ENTRIES as MOST_ENTRIES
from deniable.metric.base import Channel as Channel
from deniable.metric.base import MetricMechanism as MetricMechanism
from deniable.metric.globe import PlanarLaplace as PlanarLaplace
from deniable.metric.globe import great_circle as great_circle
from deniable.metric.globe import per_meter as per_meter
from deniable.metric.globe import planar_laplace as planar_laplace
from deniable.metric.means import Duchi as Duchi
from deniable.metric.means import Hybrid as Hybrid
from deniable.metric.means import Mean as Mean
from deniable.metric.means import MeanEstimate as MeanEstimate
from deniable.metric.means import Piecewise as Piecewise
from deniable.metric.means import duchi as duchi
from deniable.metric.means import hybrid as hybrid
from deniable.metric.means import piecewise as piecewise
from deniable.metric.numbers import Averaged as Averaged
from deniable.metric.numbers import Averages as Averages
from deniable.metric.numbers import averaged as averaged
from deniable.metric.ordered import Geometric as Geometric
from deniable.metric.ordered import geometric as geometric
from deniable.metric.planar import PlanarGeometric as PlanarGeometric
from deniable.metric.planar import ProductGeometric as ProductGeometric
from deniable.metric.planar import planar_geometric as planar_geometric
from deniable.metric.remapping import optimal_remap as optimal_remap
from deniable.metric.remapping import remap_to as remap_to
from deniable.metric.table import DISTANCED as DISTANCED
from deniable.metric.table import Distanced as Distanced
from deniable.metric.tabled import Tabled as Tabled
from deniable.metric.tabled import exponential as exponential
from deniable.metric.tabled import tight_constraints as tight_constraints
from deniable.metric.waves import ContinuousWave as ContinuousWave
from deniable.metric.waves import SquareWave as SquareWave
from deniable.metric.waves import square_wave as square_wave
