"""Warns in plain words where a few fake reports would move the shares."""

from __future__ import annotations

from collections.abc import Sequence

from deniable.choose.candidate import Considered, influence_of, label, one_in, the_same
from deniable.formatting import format_points
from deniable.records import RecordMechanism

MUCH = 5.0
"""Points that 1 % of fake reports may move a share by without a warning."""


def warn_influence(considered: Considered) -> str | None:
    """Warn before launch that a few fake reports would move a share by many points, or None.

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
    moved = [] if considered.mechanism is None else _list_moved(considered.mechanism)
    if not moved:
        return None
    worst, *others = (j for _, j in moved)
    return (
        "If anybody may answer, a few fake reports move the shares: 1 % of fake reports moves a share of "
        f"{label(considered.names, worst)} by up to {format_points(moved[0][0] / 100)}. "
        f"{the_same(considered.names, sorted(others))}What helps: invitations, a larger epsilon, fewer "
        "questions, or a cap (deniable plan --influence 5)."
    )


def warn_uninvited(mechanism: RecordMechanism, names: Sequence[str]) -> str | None:
    """Warn an operator of the same if anybody may answer, in one sentence; or None.

    >>> from deniable.mechanisms import grr
    >>> from deniable.records import Single
    >>> print(warn_uninvited(Single(grr(100, 1.0)), ["town"]))
    anybody may answer, and 1 % of fake reports moves a share of 'town' by up to 58.6 points: --invited takes
    only people whom you invited; a plan with a larger epsilon, or one by deniable plan --influence 5, lets
    fake reports count for less
    """
    moved = _list_moved(mechanism)
    if not moved:
        return None
    much, worst = moved[0]
    return (
        f"anybody may answer, and 1 % of fake reports moves a share of {label(names, worst)} by up to "
        f"{format_points(much / 100)}: --invited takes only people whom you invited; a plan with a larger "
        "epsilon, or one by deniable plan --influence 5, lets fake reports count for less"
    )


def _list_moved(mechanism: RecordMechanism) -> list[tuple[float, int]]:
    """The attributes whose shares 1 % of fake reports moves by many points, with how many, the worst first.

    Single values of metric attributes are left out: their shares scatter widely anyway, and nobody is shown
    them alone. So are numbers, of which there is only a mean.
    """
    found = [
        (influence_of(mechanism.marginal(j), one_in(part, mechanism.chance(j))), j)
        for j, part in enumerate(mechanism.mechanisms)
        if not (part.metric or part.numeric)
    ]
    return sorted(((much, j) for much, j in found if much > MUCH), key=lambda one: (-one[0], one[1]))
