"""States what noisy gradients protect: a window of a series in a training, and not a person."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from deniable.exact import number, whole_number

_FINE = 1e-5  # steps of a loss below 0.1
_COARSE = 1e-3


@final
@dataclass(frozen=True)
class GradientNoise:
    """Noise on gradients: the gradient of each window is clipped, and normal noise is added to their sum.

    The noise has a deviation of `multiplier` times `clip`. It is floating-point noise: the epsilon of an
    accountant is for real numbers, and is no exact guarantee.

    >>> GradientNoise(multiplier=4.0, clip=0.5)
    GradientNoise(multiplier=4.0, clip=0.5)
    """

    multiplier: float
    clip: float

    def __repr__(self) -> str:
        return f"GradientNoise(multiplier={self.multiplier}, clip={self.clip})"

    def __post_init__(self) -> None:
        number("multiplier", self.multiplier, 0.0, math.inf, "a positive number")
        number("clip", self.clip, 0.0, math.inf, "a positive number")

    def window_epsilon(self, rows: int, batch: int, steps: int, delta: float = 1e-7) -> float:
        """The epsilon of one window, if each step draws every window with a chance of batch / rows.

        By the privacy loss distribution of Google's dp-accounting, rounded up by it.
        """
        whole_number("batch", batch, 1, whole_number("rows", rows, 1))
        whole_number("steps", steps, 1)
        number("delta", delta, 0.0, 1.0)
        import dp_accounting
        from dp_accounting.pld import PLDAccountant

        drawn = dp_accounting.PoissonSampledDpEvent(
            batch / rows, dp_accounting.GaussianDpEvent(self.multiplier)
        )
        expected = math.sqrt(steps) * batch / rows / self.multiplier
        interval = _FINE if expected < 0.05 else _COARSE
        accountant = PLDAccountant(value_discretization_interval=interval)
        accountant.compose(dp_accounting.SelfComposedDpEvent(drawn, steps))
        return float(accountant.get_epsilon(delta))

    def ordered_epsilon(self, epochs: int, delta: float = 1e-7) -> float:
        """About the epsilon of one window if batches have a fixed order: nothing is sampled."""
        return gaussian_epsilon(math.sqrt(whole_number("epochs", epochs, 1)) / self.multiplier, delta)

    def person_epsilon(self, batch: int, steps: int, delta: float = 1e-7) -> float:
        """About the epsilon of a person who is in all windows: a batch's gradients all move, by 2 clip each.

        It is for batches of a fixed size. One that is drawn window by window can be larger, and lose more.

        >>> round(GradientNoise(140.0, 1.0).person_epsilon(batch=10, steps=31_100), -1)
        450.0
        """
        return gaussian_epsilon(2 * batch * math.sqrt(steps) / self.multiplier, delta)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The epsilon of Gaussian noise on real numbers, whose mean moves by mu deviations; not exact.

    >>> round(gaussian_epsilon(0.0714, 1e-7), 2)
    0.31
    """
    from scipy.special import log_ndtr

    def spent(epsilon: float) -> float:
        lost = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
        return math.exp(float(log_ndtr(mu / 2 - epsilon / mu))) - math.exp(lost)

    low, high = 0.0, 1.0
    while spent(high) > delta:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) > delta else (low, middle)
    return high
