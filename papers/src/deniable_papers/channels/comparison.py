"""Finds the channel on ordered values that reconstructs a distribution best.

All channels that are compared make the same promise to neighbors. It was conjectured that the truncated
geometric is the best of them. That is true above an epsilon of 1 to 3, depending on the prior. It is false
for small epsilon: at n * epsilon below 2, randomized response already has the smaller error of the histogram.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import DeniableWarning, InvalidParameter
from deniable.exact import positive_epsilon, whole_number
from deniable.law import checked_prior
from deniable_papers.channels import candidates
from deniable_papers.channels.candidates import Candidate, MatrixCandidate
from deniable_papers.channels.optimum import MOST_SEARCHED, MOST_TESTED, lower_bound, optimum
from deniable_papers.channels.risk import LOSSES, Loss, checked_loss

MOST_VALUES = 2000
# below this epsilon the rounding of floats is larger than the gap of a tight bound
_LEAST = 1e-8
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
    """The same for all compared channels; infinite where the reports do not determine the shares."""
    losses: dict[str, float]
    """What neighbors lose at most in each of these channels: all of epsilon, or less."""
    unspent: dict[str, str]
    """For each channel that spends less than epsilon, why."""
    bound: float | None
    """No channel with the same promise has a smaller risk; None where that is not known."""
    loss: str
    warning: str | None

    @property
    def certified(self) -> bool:
        """Whether no channel with the same promise is better, by more than a part in a million."""
        return self.bound is not None and self.risk <= self.bound * (1 + _TIGHT)

    def __str__(self) -> str:
        lines = [
            f"{self.name}, {'the best there is' if self.certified else 'the best of these'} ({self.loss} "
            "risk times n)"
        ]
        for name, value in sorted(self.risks.items(), key=lambda pair: pair[1]):
            reason = (
                f"  spends only {self.losses[name]:.3g}: {self.unspent[name]}" if name in self.unspent else ""
            )
            lines.append(f"{name:>24} {value:12.5g}{reason}")
        if self.bound is not None:
            lines.append(f"{'no channel is below':>24} {self.bound:12.5g}")
        return "\n".join([*lines, self.warning] if self.warning else lines)


def best_channel(
    n: int, epsilon: float, prior: npt.ArrayLike | None = None, loss: Loss = "l2"
) -> BestChannel:
    """Finds the channel on values 0 to n that reconstructs shares best, where neighbors lose at most epsilon.

    Compared are the geometric, randomized response, the exponential (as proven, and calibrated) and Blahut
    and Arimoto's, all by their exact risk for many reports: `l2` of the shares, `cdf` of the cumulative
    shares, or `kl`. Up to n = 8 the best of all channels is among them, with its certificate; up to n = 12
    the geometric is tested against all others. `losses` says what each channel spends, `unspent` why that is
    less than epsilon, where it is. If channels differ by less than a part in a million, the geometric is
    preferred.

    >>> best = best_channel(n=4, epsilon=1.0)
    >>> best.name, best.certified
    ('optimum', True)
    >>> {name: round(risk, 3) for name, risk in best.risks.items() if name in ("geometric", "grr", "optimum")}
    {'geometric': 6.386, 'grr': 12.23, 'optimum': 6.128}
    >>> best_channel(n=8, epsilon=2.0).name
    'geometric'

    Where n * epsilon is below 2 this warns (`DeniableWarning`): randomized response reconstructs the
    histogram better than the geometric there, or (from about 1.6 on) nearly as well, and `warning` says by
    how much.

    Reference: kacem2018.
    """
    shares, epsilon, loss_name = _check_prior(n, prior), _check_epsilon(epsilon), checked_loss(loss)
    channels = _build_candidates(n, epsilon, shares)
    risks = {name: channel.risk(shares, loss_name) for name, channel in channels.items()}
    bound = None
    if n <= MOST_TESTED:
        bound = lower_bound(channels["geometric"].matrix(), epsilon, shares, loss_name)
    if n <= MOST_SEARCHED and bound is not None and risks["geometric"] > bound * (1 + _TIGHT):
        best = optimum(n, epsilon, shares, loss_name)
        channels["optimum"] = MatrixCandidate(best.channel)
        risks["optimum"] = best.risk
        bound = max(bound, best.bound)
    name = _pick_least(risks)
    losses = {name: channel.loss for name, channel in channels.items()}
    reasons = {name: channel.unspent(epsilon) for name, channel in channels.items()}
    unspent = {name: reason for name, reason in reasons.items() if reason is not None}
    l2 = {name: channels[name].risk(shares, "l2") for name in ("geometric", "grr")}
    warning = _write_warning(n, epsilon, l2)
    if warning is not None:
        warnings.warn(warning, DeniableWarning, stacklevel=2)
    return BestChannel(
        name, channels[name].matrix(), risks[name], risks, losses, unspent, bound or None, loss_name, warning
    )


def channel_risks(n: int, epsilon: float, prior: npt.ArrayLike | None = None) -> dict[str, dict[str, float]]:
    """Every loss of every channel that has a formula."""
    shares = _check_prior(n, prior)
    channels = _build_candidates(n, _check_epsilon(epsilon), shares)
    return {name: {loss: channel.risk(shares, loss) for loss in LOSSES} for name, channel in channels.items()}


def _check_prior(n: int, prior: npt.ArrayLike | None) -> Floats:
    whole_number("n, the largest value,", n, 1, MOST_VALUES)
    shares = checked_prior(np.ones(n + 1) if prior is None else prior, n + 1)
    if (shares <= 0).any():
        raise InvalidParameter(
            "every value must occur in the prior: where one does not, its error has no finite scale"
        )
    return shares


def _check_epsilon(epsilon: float) -> float:
    budget = positive_epsilon(epsilon)
    if budget < _LEAST:
        raise InvalidParameter(
            f"epsilon {epsilon} is too small to compare channels in floating point; use {_LEAST} or more"
        )
    return budget


def _build_candidates(n: int, epsilon: float, prior: Floats) -> dict[str, Candidate]:
    return {
        "geometric": candidates.geometric(n, epsilon),
        "grr": candidates.direct(n, epsilon),
        "exponential": candidates.exponential(n, epsilon),
        "exponential calibrated": candidates.calibrated_exponential(n, epsilon),
        "blahut-arimoto": candidates.blahut_arimoto(n, epsilon, prior),
    }


def _pick_least(risks: dict[str, float]) -> str:
    """Name the least risk; the geometric, which is first, wins within a part in a million."""
    least = min(risks.values())
    return next(name for name, risk in risks.items() if risk <= least * (1 + _TIGHT))


def _write_warning(n: int, epsilon: float, l2: dict[str, float]) -> str | None:
    if n == 1 or n * epsilon >= 2 or not all(map(math.isfinite, l2.values())):
        return None
    times = l2["geometric"] / l2["grr"]
    better = f"better than the geometric (l2 risk {times:.3g} times smaller)"
    worse = f"with {1 / times:.3g} times the geometric's l2 risk"
    return (
        f"n * epsilon = {n * epsilon:.3g} is below 2: at the same promise to neighbors, randomized response "
        f"reconstructs the histogram {better if times > 1 else worse}, and it keeps that promise for all "
        "pairs of values"
    )
