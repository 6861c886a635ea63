"""Loads public datasets."""

from deniable.data.datasets import NAMES, Dataset, load

__all__ = ["NAMES", "Dataset", "load"]


def __dir__() -> list[str]:
    return sorted(__all__)
