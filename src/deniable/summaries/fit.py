"""Says how badly reports fit honest people, from their tally alone.

Whoever the people are, a count of support lies between two known laws: that of a value which nobody has, and
that of a value which everybody has. Fake reports that push values beyond show here. Fake reports that leave
all shares possible look like people to every test of a tally.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.estimate import Estimate
from deniable.formatting import Printed
from deniable.law import Moments

BADLY = 0.01
"""The p-value from which on reports are said to fit badly."""
_DRAWS = 1999  # studies of people who are all alike
_NORMAL = 25.0  # reports that support a value by chance, from which on a count is about normal
_MOST_VALUES = 256  # of more, the covariance takes longer than a page can wait


@final
@dataclass(frozen=True)
class Fit(Printed):
    """How often honest people, whoever they are, give reports that look at least as strange."""

    p_value: float

    @property
    def is_bad(self) -> bool:
        """Whether to say so."""
        return self.p_value <= BADLY

    def __str__(self) -> str:
        if self.is_bad:
            return f"These reports fit honest people badly: p = {self.p_value:.2g}"
        return f"These reports fit honest people: p = {self.p_value:.2g}"


def fit_of(estimate: Estimate) -> Fit | None:
    """The fit of one tally; None where reports are not counts of support.

    It is one look, at the level of this tally alone: twice the smaller of two p-values, of which the first is
    exact for every population.

    >>> from deniable.mechanisms import Tally, oue
    >>> counts = [2737, 1936, *[1990] * 18]
    >>> str(fit_of(oue(k=20, epsilon=1.0).estimate(Tally(8000, counts))))
    'These reports fit honest people badly: p = 1.7e-06'
    """
    if isinstance(estimate.law, Moments):
        return None
    bound = bound_counts(estimate)
    alike = compare_with_alike(estimate)
    return Fit(bound if alike is None else min(1.0, 2 * min(bound, alike)))


def fit_levels(estimates: list[Estimate]) -> Fit | None:
    """The fit of a question that is reported in levels: of all of them together."""
    fits = [fit for fit in map(fit_of, estimates) if fit is not None]
    return Fit(min(1.0, len(fits) * min(fit.p_value for fit in fits))) if fits else None


def bound_counts(estimate: Estimate) -> float:
    """How often any count is so far below that of nobody, or above that of everybody: at most this often."""
    from scipy.special import bdtr, bdtrc

    law = estimate.law
    assert not isinstance(law, Moments)
    about = np.broadcast_to(estimate.n if estimate.asked is None else estimate.asked, estimate.k)
    counts = estimate.support_counts.astype(np.float64)
    below = bdtr(counts, about, law.q)
    above = np.where(counts > 0, bdtrc(np.maximum(counts - 1, 0), about, law.p), 1.0)
    return min(1.0, 2 * estimate.k * float(min(below.min(), above.min())))


def compare_with_alike(estimate: Estimate) -> float | None:
    """How often people who all have the commonest value leave shares so far below 0 together.

    They leave most values at 0, so that no people do so more often. None where too few reports, or too many
    values, do not allow it.
    """
    law, n = estimate.law, estimate.n
    assert not isinstance(law, Moments)
    if estimate.asked is not None or estimate.k > _MOST_VALUES or n * float(np.min(law.q)) < _NORMAL:
        return None
    seen = _sum_squares(estimate.frequencies)
    if seen == 0:
        return 1.0
    simulated = _draw_alike(_Alike(estimate, int(np.argmax(estimate.frequencies))))
    return float(1 + np.count_nonzero(simulated >= seen)) / (1 + _DRAWS)


@final
class _Alike:
    """People who all have one value: equal for equal tallies, so that a page says the same twice."""

    def __init__(self, estimate: Estimate, value: int) -> None:
        self.estimate, self.value = estimate, value
        self.digest = sha256(np.ascontiguousarray(estimate.support_counts).tobytes()).digest()
        law = estimate.law
        self._key = (estimate.n, value, np.asarray(law.q).tobytes(), law.gain, self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Alike) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=256)
def _draw_alike(alike: _Alike) -> Floats:
    """The sums of squares of studies of such people."""
    law, k = alike.estimate.law, alike.estimate.k
    assert not isinstance(law, Moments)
    people = np.eye(k)[alike.value]
    supported = law.q + law.gain * people
    covariance = (law.pairs.joint(people) - np.outer(supported, supported)) / law.gain**2
    generator = np.random.default_rng(int.from_bytes(alike.digest[:8], "little"))
    return _sum_squares(people + draw_normal(covariance / alike.estimate.n, _DRAWS, generator))


def _sum_squares(shares: Floats) -> Floats:
    """How far below 0 shares are together."""
    return np.asarray((np.minimum(shares, 0.0) ** 2).sum(axis=-1))


def draw_normal(covariance: Floats, runs: int, generator: np.random.Generator) -> Floats:
    """Normal numbers around 0 with this covariance, a row for each run."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(values.clip(0.0, None))
    return np.asarray(generator.standard_normal((runs, len(values))) @ root.T)
