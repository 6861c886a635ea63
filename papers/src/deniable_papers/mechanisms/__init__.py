"""Mechanisms of publications that no plan can hold: in floats, or for any table of distances."""

from deniable_papers.mechanisms.waves import ContinuousWave, mle_wave

__all__ = ["ContinuousWave", "mle_wave"]
