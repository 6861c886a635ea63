"""Warns in plain words before reports nearly reveal the answers."""

from __future__ import annotations

import math

import numpy as np

from deniable.choose.candidate import Considered, label, most_revealed, the_same
from deniable.formatting import format_percent, format_percent_down
from deniable.mechanisms import ExactMechanism
from deniable.metric import MetricMechanism

_FAR = 0.5  # of the way from a blind guess to certainty
_SURE = 0.99  # from where on one of two values is revealed almost surely


def exposure(considered: Considered) -> str | None:
    """Warn before launch that a report nearly reveals the answer, or None.

    It does where the best guess of an answer that was reported is more than half of the way from a blind one,
    1 / k, to certainty: above 75 % for yes or no. No mechanism gets there with an epsilon up to ln(k + 1).
    Where people are asked again it is the guess from any number of reports of one value, which tell at most
    what is kept.

    >>> from deniable.choose import consider
    >>> print(exposure(consider({"smokes": 2, "town": 50}, epsilon=3.0, n=10_000)[0]))
    A report nearly reveals the answer: the best guess is right for 95.3 % of those who report 'smokes',
    a blind one for 50.0 %.
    A smaller epsilon hides more; up to ln(k + 1) = 1.09 no guess gets more than half of the way to certainty.
    """
    revealed = sorted(
        ((_way(part), -j) for j, part in enumerate(considered.parts) if _way(part) > _FAR), reverse=True
    )
    if not revealed:
        return None
    worst, *others = (-j for _, j in revealed)
    part, again = considered.parts[worst], considered.loss_forever is not None
    k = round(1 / part.blind)
    reveals = (
        "The reports of one person together nearly reveal an answer, even one that never changes"
        if again
        else "A report nearly reveals the answer"
    )
    return (
        f"{reveals}: the best guess is right for {format_percent(most_revealed(part), 1)} of those "
        f"who report {label(considered.names, worst)}, a blind one for {format_percent(1 / k, 1)}. "
        f"{the_same(considered.names, sorted(others), worst)}{_remedy(part, k, again)}"
    )


def warn_distant(considered: Considered) -> str | None:
    """Warn before launch that distant values of metric attributes do not hide each other, or None.

    They do not where a report almost surely reveals which of the two most distant values a person has, both
    being equally likely. That is what a loss by distance means, and not what everybody expects of it.
    Attributes of which `exposure` warns are left out.

    >>> from deniable.metric import geometric
    >>> from deniable.choose.objective import Objective
    >>> ages = Considered.of(geometric(99, 0.1), "", ["geometric"], 10_000, Objective(), names=("age",))
    >>> print(warn_distant(ages))
    Only nearby values of 'age' hide each other. 99.6 % of reports reveal which of the two most distant
    values a person has: the guarantee weakens with distance. To hide distant values, too, take a smaller
    epsilon of this attribute, or privacy = "equal".
    """
    metric = [
        (j, part)
        for j, part in enumerate(considered.parts)
        if isinstance(part, MetricMechanism) and part.metric and _way(part) <= _FAR
    ]
    revealed = sorted(((_guess_ends(part), -j) for j, part in metric), reverse=True)
    revealed = [pair for pair in revealed if pair[0] > _SURE]
    if not revealed:
        return None
    worst, *others = (-j for _, j in revealed)
    return (
        f"Only nearby values of {label(considered.names, worst)} hide each other. "
        f"{format_percent_down(revealed[0][0])} of reports reveal which of the two most distant values a "
        "person has: the guarantee weakens with distance. "
        f"{the_same(considered.names, sorted(others), worst)}To hide distant values, too, take a smaller "
        "epsilon of "
        f'{"these attributes" if others else "this attribute"}, or privacy = "equal".'
    )


def _way(part: ExactMechanism) -> float:
    """How far the best guess gets on the way from a blind one to certainty."""
    blind = 1 / round(1 / part.blind)
    return (most_revealed(part) - blind) / (1 - blind)


def _guess_ends(part: MetricMechanism) -> float:
    """How often a guess is right which of the first and the last value, the most distant, was reported."""
    ends = np.zeros((2, part.k))
    ends[0, 0] = ends[1, -1] = 1.0
    first, last = map(part.forward, ends)
    return float(np.maximum(first, last).sum()) / 2


def _remedy(part: ExactMechanism, k: int, again: bool) -> str:
    if part.metric:
        return (
            "A smaller epsilon of this attribute hides more; or larger steps, within which values look alike."
        )
    return (
        f"A smaller {'epsilon_forever' if again else 'epsilon'} hides more; up to ln(k + 1) = {_bound(k)} no "
        "guess gets more than half of the way to certainty."
    )


def _bound(k: int) -> str:
    """ln(k + 1), rounded down."""
    return f"{math.floor(100 * math.log(k + 1)) / 100:.2f}"
