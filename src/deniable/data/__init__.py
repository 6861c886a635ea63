"""Loads public datasets."""

from deniable.data.datasets import NAMES, Dataset, load

__all__ = ["NAMES", "Dataset", "load"]
