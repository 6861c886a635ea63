"""A warning in plain words before reports nearly tell the answers."""

from __future__ import annotations

import math

from deniable.choose.considered import Considered, label, most_told
from deniable.metric import Metric
from deniable.shape import Encoder

_FAR = 0.5  # of the way from a blind guess to certainty


def exposure(considered: Considered) -> str | None:
    """In plain words, before launch, that a report nearly tells the answer; or None.

    It does where the best guess of an answer that was reported is more than half of the way from a blind one, 1 / k, to
    certainty: above 75 % for yes or no. No mechanism gets there with an epsilon up to ln(k + 1). Where people are asked again
    it is the guess from any number of reports of one value, which tell at most what is kept.

    >>> from deniable.choose import consider
    >>> print(exposure(consider({"smokes": 2, "town": 50}, epsilon=3.0, n=10_000)[0]))
    A report nearly tells the answer. Of those who report 'smokes' the best guess is right for 95.3 %, a blind one for 50.0 %.
    A smaller epsilon hides more; up to ln(k + 1) = 1.09 no guess gets more than half of the way to certainty.
    """
    ks = [round(1 / part.blind) for part in considered.parts]
    guesses = [most_told(part) for part in considered.parts]
    far = [(guess - 1 / k) / (1 - 1 / k) for guess, k in zip(guesses, ks, strict=True)]
    worst = max(range(len(ks)), key=far.__getitem__, default=None)
    if worst is None or far[worst] <= _FAR:
        return None
    again = considered.loss_forever is not None
    others = sum(one > _FAR for one in far) - 1
    return (
        f"{'The reports of one person together' if again else 'A report'} nearly tell{'' if again else 's'} the answer. "
        f"Of those who report {label(considered.names, worst)} the best guess is right for {100 * guesses[worst]:.1f} %, "
        f"a blind one for {100 / ks[worst]:.1f} %. "
        + (f"The same goes for {others} more of {len(ks)} attributes. " if others else "")
        + _remedy(considered.parts[worst], ks[worst], again)
    )


def _remedy(part: Encoder, k: int, again: bool) -> str:
    if isinstance(part, Metric):
        return "A smaller epsilon of this attribute hides more; or larger steps, within which nothing is told apart."
    return (
        f"A smaller {'epsilon_forever' if again else 'epsilon'} hides more; up to ln(k + 1) = {_bound(k)} no guess "
        "gets more than half of the way to certainty."
    )


def _bound(k: int) -> str:
    """ln(k + 1), rounded down."""
    return f"{math.floor(100 * math.log(k + 1)) / 100:.2f}"
