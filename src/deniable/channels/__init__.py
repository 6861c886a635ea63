"""Which channel on ordered values reconstructs a distribution best, among those with the same promise to neighbors.

It was conjectured that the truncated geometric does. That is true above an epsilon of 1 to 3, depending on the prior, and
false for small epsilon: at n * epsilon below 2, randomized response already has the smaller error of the histogram.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.channels import candidates
from deniable.channels.candidates import step_loss
from deniable.channels.optimum import MOST_SEARCHED, MOST_TESTED, lower_bound, optimum
from deniable.channels.risk import LOSSES, Loss, risk
from deniable.errors import InvalidParameter
from deniable.exact import positive_epsilon, whole_number
from deniable.law import Floats, checked_prior

__all__ = ["LOSSES", "BestChannel", "best_channel", "channel_risks", "lower_bound", "optimum", "risk", "step_loss"]

MOST_VALUES = 2000
_MOST_ARIMOTO = 60
_TIGHT = 1e-6


@final
@dataclass(frozen=True, eq=False)
class BestChannel:
    """The best channel that was found, how the others compare, and whether none can be better."""

    name: str
    matrix: Floats = field(repr=False)
    """Rows of Pr(output | value)."""
    risk: float
    """n times the expected loss of the most likely shares from n reports, for large n."""
    risks: dict[str, float]
    """The same for every channel that was compared; infinite where the reports do not determine the shares."""
    bound: float | None
    """No channel with the same promise has a smaller risk; None where that was not found out."""
    loss: str
    warning: str | None

    @property
    def certified(self) -> bool:
        """Whether no channel with the same promise is better, by more than a part in a million."""
        return self.bound is not None and self.risk <= self.bound * (1 + _TIGHT)

    def __str__(self) -> str:
        lines = [f"{self.name}, {'the best there is' if self.certified else 'the best of these'} ({self.loss} risk times n)"]
        lines += [f"{name:>24} {value:12.5g}" for name, value in sorted(self.risks.items(), key=lambda pair: pair[1])]
        if self.bound is not None:
            lines.append(f"{'no channel is below':>24} {self.bound:12.5g}")
        return "\n".join([*lines, self.warning] if self.warning else lines)


def best_channel(n: int, epsilon: float, prior: npt.ArrayLike | None = None, loss: Loss = "l2") -> BestChannel:
    """The channel on values 0 to n that reconstructs their shares best, neighbors being told apart by at most epsilon.

    Compared are the geometric, randomized response, the exponential (as proven, and calibrated) and Blahut and Arimoto's,
    all by their exact risk for many reports: `l2` of the shares, `cdf` of the cumulative shares, or `kl`. Up to n = 8 the
    best of all channels is among them, with its certificate; up to n = 12 the geometric is tested against all others.

    >>> best = best_channel(n=2, epsilon=0.1)
    >>> best.name, best.certified
    ('optimum', True)
    >>> {name: round(risk) for name, risk in best.risks.items() if name in ("geometric", "grr", "optimum")}
    {'geometric': 3013, 'grr': 581, 'optimum': 373}
    >>> best_channel(n=8, epsilon=2.0).name
    'geometric'

    Reference: kacem2018.
    """
    shares, epsilon = _checked(n, prior), positive_epsilon(epsilon)
    made = _made(shares.size - 1, epsilon, shares)
    risks = {name: risk(channel, shares, loss) for name, channel in made.items()}
    bound = None
    if n <= MOST_TESTED:
        bound = lower_bound(made["geometric"], epsilon, shares, loss)
    if n <= MOST_SEARCHED and bound is not None and risks["geometric"] > bound * (1 + _TIGHT):
        found = optimum(n, epsilon, shares, loss)
        made["optimum"], risks["optimum"], bound = found.channel, found.risk, max(bound, found.bound)
    name = min(risks, key=lambda name: risks[name])
    if bound == 0.0:
        bound = None
    return BestChannel(name, made[name], risks[name], risks, bound, loss, _warning(n, epsilon, risks, loss))


def channel_risks(n: int, epsilon: float, prior: npt.ArrayLike | None = None) -> dict[str, dict[str, float]]:
    """Every loss of every channel that has a formula."""
    shares = _checked(n, prior)
    made = _made(n, positive_epsilon(epsilon), shares)
    return {name: {loss: risk(channel, shares, loss) for loss in LOSSES} for name, channel in made.items()}


def _checked(n: int, prior: npt.ArrayLike | None) -> Floats:
    whole_number("n, the largest value,", n, 1, MOST_VALUES)
    shares = checked_prior(np.ones(n + 1) if prior is None else prior, n + 1)
    if (shares <= 0).any():
        raise InvalidParameter("every value must occur in the prior: where one does not, its error has no finite scale")
    return shares


def _made(n: int, epsilon: float, prior: Floats) -> dict[str, Floats]:
    channels = {
        "geometric": candidates.geometric(n, epsilon),
        "grr": candidates.direct(n, epsilon),
        "exponential": candidates.exponential(n, epsilon),
        "exponential calibrated": candidates.calibrated_exponential(n, epsilon),
    }
    if n <= _MOST_ARIMOTO:
        channels["blahut-arimoto"] = candidates.blahut_arimoto(n, epsilon, prior)
    return channels


def _warning(n: int, epsilon: float, risks: dict[str, float], loss: str) -> str | None:
    if n * epsilon >= 2 or risks["grr"] >= risks["geometric"] or math.isinf(risks["geometric"]):
        return None
    times = risks["geometric"] / risks["grr"]
    return (
        f"n * epsilon = {n * epsilon:.3g} is below 2: at the same promise to neighbors, randomized response reconstructs "
        f"better than the geometric ({loss} risk {times:.3g} times smaller), and it keeps that promise for all pairs of values"
    )
