"""States what every law can say, whatever its reports are: sets, outputs or numbers."""

from __future__ import annotations

from typing import Protocol

import numpy.typing as npt

from deniable.arrays import Floats
from deniable.law.checks import Convention


class ReportLaw(Protocol):
    """The law of a report: how many values it is about, and how far off estimates from n reports are."""

    @property
    def k(self) -> int:
        """The number of values."""

    def __hash__(self) -> int:
        """So that what is computed of a law can be kept."""

    @property
    def contributions(self) -> tuple[float, float]:
        """The least and the most that one report can add to a share, times the number of reports.

        A person with a value adds 1 to its share on average. A report that was made up adds what it likes,
        between these.
        """

    def variance(self, n: int, f: npt.ArrayLike = 0.0, population: Convention = "sampled") -> float | Floats:
        """The variance of an estimate from n reports where the truth is f."""

    def error(self, n: int, f: float | None = None) -> float:
        """The variance of an estimate from n reports, averaged over the values; with f, at that share."""

    def sum_errors(self, table: Floats) -> Floats:
        """The variances of weighted sums of shares from one report, a number for each row of weights.

        The person who reports may have any value; how people differ is not counted.
        """
