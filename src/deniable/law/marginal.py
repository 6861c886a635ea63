"""States the law of one attribute among fakes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import NotExact
from deniable.formatting import format_count
from deniable.law.checks import Convention, check_convention, checked_shares
from deniable.law.pairs import Pairs, sum_errors


@final
@dataclass(frozen=True, eq=False)
class Marginal:
    """The law of one attribute among fakes: each value has its own p and q, and all have the same p - q.

    It estimates an attribute and guarantees nothing: what a report gives away is a matter of the whole
    record.
    """

    k: int
    p: Floats
    q: Floats
    gain: float
    pairs: Pairs = field(repr=False)
    """How likely a report supports two values at once."""

    def __str__(self) -> str:
        chances = (
            f"the true one with probability {self.p.min():.4f} to {self.p.max():.4f}, "
            f"any other with {self.q.min():.4f} to {self.q.max():.4f}"
        )
        return f"Marginal law, {format_count(self.k, 'value')}: a report supports {chances}"

    @property
    def contributions(self) -> tuple[float, float]:
        """The least and the most that one report can add to a share, times the number of reports."""
        ends = np.concatenate([-self.q, 1 - self.q]) / self.gain
        return float(ends.min()), float(ends.max())

    def loss(self) -> float:
        """Refused: ask the record mechanism."""
        raise NotExact(
            "an attribute among fakes guarantees nothing by itself; ask the record mechanism it came from"
        )

    def variance(self, n: int, f: npt.ArrayLike = 0.0, population: Convention = "sampled") -> Floats:
        """The variance of each value's estimated frequency from n reports where the truth is f."""
        check_convention(n, population)
        f = checked_shares(f)
        supported = self.q + f * self.gain
        variance_of_report = supported * (1 - supported) - (
            f * (1 - f) * self.gain**2 if population == "fixed" else 0.0
        )
        return np.asarray(variance_of_report / (n * self.gain**2))

    def error(self, n: int, f: float | None = None) -> float:
        """The variance averaged over the k values for the people who answered; with f, at that frequency."""
        return float(np.mean(self.variance(n, 1 / self.k, "fixed") if f is None else self.variance(n, f)))

    def sum_errors(self, table: Floats) -> Floats:
        """The variances of weighted sums of shares, from one report of a person who may have any value."""
        return sum_errors(self.pairs, np.asarray(self.q), self.gain, table)
