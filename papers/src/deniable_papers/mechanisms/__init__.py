"""Mechanisms of publications that no plan can hold: in floats, or for any table of distances."""

from deniable_papers.mechanisms.laplace import PlanarLaplace, planar_laplace
from deniable_papers.mechanisms.remapping import optimal_remap, remap_to
from deniable_papers.mechanisms.summed import Summed, she
from deniable_papers.mechanisms.tabled import Tabled, exponential, tight_constraints
from deniable_papers.mechanisms.waves import ContinuousWave, mle_wave

__all__ = [
    "ContinuousWave",
    "PlanarLaplace",
    "Summed",
    "Tabled",
    "exponential",
    "mle_wave",
    "optimal_remap",
    "planar_laplace",
    "remap_to",
    "she",
    "tight_constraints",
]
