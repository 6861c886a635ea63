"""Warns in plain words where a few fake reports would move the shares."""

from __future__ import annotations

from deniable.choose.candidate import Considered, label, the_same
from deniable.formatting import format_points

MUCH = 5.0
"""Points that 1 % of fake reports may move a share by without a warning."""


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
    up to 58.6 points. What helps: invitations, a larger epsilon, fewer questions, or a cap (deniable plan
    --influence 5).
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
    helps = ["invitations", "a larger epsilon"]
    if not alone:
        helps.append("fewer questions")
    if _takes_cap(considered):
        helps.append("a cap (deniable plan --influence 5)")
    *others, last = helps
    return f"{', '.join(others)}{',' if len(others) > 1 else ''} or {last}"


def _takes_cap(considered: Considered) -> bool:
    """Whether a cap has a choice: levels have none, and neither have values that nobody listed."""
    return all(considered.readings) and all(part.listed for part in considered.parts)


def warn_uninvited(considered: Considered) -> str | None:
    """Warn an operator of the same if anybody may answer, in one sentence; or None.

    >>> from deniable.mechanisms import grr
    >>> from deniable.choose.objective import Objective
    >>> towns = Considered.of(grr(100, 1.0), "", ["grr"], 10_000, Objective(), names=("town",))
    >>> print(warn_uninvited(towns))
    anybody may answer, and 1 % of fake reports moves a share of 'town' by up to 58.6 points: --invited takes
    only people whom you invited; a plan with a larger epsilon, or one by deniable plan --influence 5, lets
    fake reports count for less
    """
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
