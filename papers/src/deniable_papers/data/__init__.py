"""Loads public datasets, and the published visits, calls and series that papers measure on."""

from deniable_papers.data.datasets import NAMES, Dataset, load, read_people
from deniable_papers.data.published import DataUnavailable

__all__ = ["NAMES", "DataUnavailable", "Dataset", "load", "read_people"]
