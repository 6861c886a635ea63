"""States what was published of noise on counts and on gradients, and what is true of it."""

from __future__ import annotations

import math

from deniable.formatting import format_up
from deniable_papers.learn.gradients import GradientNoise, gaussian_epsilon
from deniable_papers.noise import DELTA, DiscreteGaussian
from deniable_papers.studies.applications.forecasting_models import APPEARANCES
from deniable_papers.studies.applications.guarantee import Guarantee

PUBLISHED = {0.0357: 160.1, 0.0650: 88.0}
"""The published epsilons, each of one count at one time, and their sigmas."""
TIMES = 3456
PERSON = TIMES * APPEARANCES
"""How many counts a person is in."""
_WINDOWS = 7
"""How many windows a half hour is in: six as a lag, one as what is forecast."""


def state_guarantees() -> list[tuple[str, Guarantee]]:
    """What was published of noise on the counts and on gradients, and what is true of it."""
    counts = [(f"noise on the counts, sigma {sigma:g}", _guarantee_of(sigma)) for sigma in PUBLISHED.values()]
    return [*counts, ("noise on gradients, sigma 140, batches of 10", _guarantee_of_gradients())]


def _guarantee_of_gradients() -> Guarantee:
    """As published: 100 epochs over the 3,114 windows before the test week, in 312 batches."""
    noise = GradientNoise(140.0, 1.0)
    window = format_up(noise.ordered_epsilon(100), 3)
    person = format_up(noise.person_epsilon(10, 100 * 312), 3)
    point = format_up(gaussian_epsilon(2 * _WINDOWS * math.sqrt(100) / noise.multiplier, DELTA), 3)
    return Guarantee(
        published="epsilon 0.03 for each window, as if batches were drawn at random",
        true=f"about epsilon {window} at delta {DELTA:g}, since batches had a fixed order; the published "
        "notebook seems to add no noise at all (it was read, not run)",
        unit="window",
        unprotected=(
            f"a half hour, which is in {_WINDOWS} windows: about epsilon {point} if one batch has them all",
            f"a person, who is in all windows: about epsilon {person}, for batches of a fixed size",
        ),
    )


def _guarantee_of(sigma: float) -> Guarantee:
    noise = DiscreteGaussian.of(sigma)
    claimed = next(epsilon for epsilon, known in PUBLISHED.items() if known == sigma)
    point, person, all_counts = (
        format_up(noise.epsilon(DELTA, counts)) for counts in (APPEARANCES, PERSON, 6 * TIMES)
    )
    return Guarantee(
        published=f"epsilon {claimed:g} for each count; added up over {TIMES:,} half hours "
        f"{claimed * TIMES:.1f}",
        true=f"epsilon {person} at delta {DELTA:g} over 72 days, in two counts each half hour "
        f"(in all six {all_counts}); one half hour {point}",
        unit="person",
        unprotected=("a second phone of the same person, who then is in twice as many counts",),
    )
