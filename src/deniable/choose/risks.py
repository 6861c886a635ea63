"""Warns in plain words before reports nearly reveal the answers, or a few fake reports move the shares."""

from __future__ import annotations

import math

import numpy as np

from deniable.choose.candidate import Considered, label, most_revealed, the_same
from deniable.formatting import format_percent, format_percent_down, format_points
from deniable.mechanisms import Mechanism
from deniable.metric import MetricMechanism

_FAR = 0.5  # of the way from a blind guess to certainty
_SURE = 0.99  # from where on one of two values is revealed almost surely
MUCH = 5.0
"""Points that 1 % of fake reports may move a share by without a warning."""


def exposure(considered: Considered) -> str | None:
    """Warn before launch that a report nearly reveals the answer, or None.

    It does where the best guess of an answer that was reported is more than half of the way from a blind one,
    1 / k, to certainty: above 75 % for yes or no. No mechanism gets there with an epsilon up to ln(k + 1).
    Where people are asked again it is the guess from all reports that a plan takes of one value, which tell
    at most what is kept.

    >>> from deniable.choose import consider
    >>> print(exposure(consider({"smokes": 2, "town": 50}, epsilon=3.0, n=10_000)[0]))
    A report nearly reveals the answer: the best guess is right for 95.3 % of those who report 'smokes',
    a blind one for 50.0 %.
    A smaller epsilon hides more; up to ln(k + 1) = 1.098 no guess gets more than half of the way to
    certainty.
    """
    again = considered.loss_forever is not None
    guesses = [
        considered.revealed[j] if again and part.repeated else most_revealed(part)
        for j, part in enumerate(considered.parts)
    ]
    ways = [_way(part, guess) for part, guess in zip(considered.parts, guesses, strict=True)]
    revealed = sorted(((way, -j) for j, way in enumerate(ways) if way > _FAR), reverse=True)
    if not revealed:
        return None
    worst, *others = (-j for _, j in revealed)
    part = considered.parts[worst]
    k = round(1 / part.blind)
    reveals = (
        "The reports of one person together nearly reveal an answer, even one that never changes"
        if again
        else "A report nearly reveals the answer"
    )
    return (
        f"{reveals}: the best guess is right for {format_percent(guesses[worst], 1)} of those "
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
        if isinstance(part, MetricMechanism) and part.metric and _way(part, most_revealed(part)) <= _FAR
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


def _way(part: Mechanism, guess: float) -> float:
    """How far a guess gets on the way from a blind one to certainty."""
    blind = 1 / round(1 / part.blind)
    return (guess - blind) / (1 - blind)


def _guess_ends(part: MetricMechanism) -> float:
    """How often a guess is right which of the first and the last value, the most distant, was reported."""
    ends = np.zeros((2, part.k))
    ends[0, 0] = ends[1, -1] = 1.0
    first, last = map(part.forward, ends)
    return float(np.maximum(first, last).sum()) / 2


def _remedy(part: Mechanism, k: int, again: bool) -> str:
    if again and part.repeated and math.exp(part.losses(1, 1).one_value_forever) <= k + 1:
        return "Reports to the plans before reveal it, whatever this plan loses: what is kept is the same."
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
    return f"{math.floor(1000 * math.log(k + 1)) / 1000:.3f}"


def warn_influence(considered: Considered, alone: bool = False) -> str | None:
    """Warn before launch that a few fake reports would move a share by many points, or None.

    A question that is `alone` is not advised to be one of fewer.

    Whoever sends a fake report chooses what it says, without noise. The estimate takes the noise out again by
    a multiplication, and so multiplies the fake report, too: by more with a smaller epsilon, by more where
    only some people report an attribute, and by most with direct reports of many values.

    >>> from deniable.mechanisms import grr
    >>> from deniable.choose.objective import Objective
    >>> towns = Considered.of(grr(100, 1.0), "", ["grr"], 10_000, Objective(), names=("town",))
    >>> print(warn_influence(towns))
    If anybody may answer, a few fake reports move the shares: 1 % of fake reports moves a share of 'town' by
    up to 58.6 points. What helps: invitations, fewer questions, a cap (deniable plan --influence 5), or a
    larger epsilon, which hides less.
    """
    moved = _find_much(considered)
    if not moved:
        return None
    worst, *others = moved
    return (
        f"If anybody may answer, a few fake reports move the shares: {_describe(considered, worst)} by up to "
        f"{format_points(moved[worst] / 100)}. "
        f"{the_same(considered.names, sorted(others), worst)}What helps: {_list_helps(considered, alone)}."
    )


def _describe(considered: Considered, place: int) -> str:
    return (
        f"1 % of fake reports moves {describe_moved(considered, place)} of {label(considered.names, place)}"
    )


def describe_moved(considered: Considered, place: int) -> str:
    """What fake reports move: of an attribute with levels, the share of a range, whichever it is."""
    is_bound = bool(considered.bounds) and considered.bounds[place] is not None
    return "the share of a range" if is_bound else "a share"


def _list_helps(considered: Considered, alone: bool) -> str:
    helps = ["invitations"]
    if not alone:
        helps.append("fewer questions")
    if _takes_cap(considered):
        helps.append("a cap (deniable plan --influence 5)")
    return f"{', '.join(helps)}{',' if len(helps) > 1 else ''} or a larger epsilon, which hides less"


def _takes_cap(considered: Considered) -> bool:
    """Whether a cap has a choice: levels have none, and neither have values that nobody listed."""
    return all(considered.readings) and all(part.listed for part in considered.parts)


def warn_uninvited(considered: Considered) -> str | None:
    """Warn an operator of the same if anybody may answer, in one sentence; or None."""
    moved = _find_much(considered)
    if not moved:
        return None
    worst = next(iter(moved))
    cap = ", or one by deniable plan --influence 5," if _takes_cap(considered) else ""
    return (
        f"anybody may answer, and {_describe(considered, worst)} by up to "
        f"{format_points(moved[worst] / 100)}: --invited takes only people whom you invited; a plan "
        f"with a larger epsilon{cap} lets fake reports count for less"
    )


def _find_much(considered: Considered) -> dict[int, float]:
    """The attributes to warn of."""
    moved = find_moved(considered, metric=False)
    return {place: much for place, much in moved.items() if much > MUCH}


def find_moved(considered: Considered, metric: bool = True) -> dict[int, float]:
    """How many points 1 % of fake reports moves a share of each attribute by, the worst first.

    Of a range with levels it is a bound for the shares of all its ranges, at the place of its own values.
    Numbers are left out, of which there is only a mean, and prefixes of texts, which are not shown. So are
    metric attributes, unless wanted: single values scatter widely anyway, and nobody is shown them alone.
    """
    moved: dict[int, float] = {}
    for j, (part, much) in enumerate(zip(considered.parts, considered.influence, strict=True)):
        is_read = bool(considered.readings[j]) or part.listed
        if is_read and not part.numeric and (metric or not part.metric):
            # levels go from the coarsest to the question's own values
            places = range(j, len(considered.parts))
            finest = next((place for place in places if considered.readings[place]), j)
            moved[finest] = max(much, moved.get(finest, 0.0))
    return dict(sorted(moved.items(), key=lambda pair: (-pair[1], pair[0])))
