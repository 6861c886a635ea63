"""Warns in plain words where a few made-up reports would move the shares."""

from __future__ import annotations

import math
from collections.abc import Sequence

from deniable.choose.candidate import Considered, influence_of, label, one_in, the_same
from deniable.records import RecordMechanism

_MUCH = 5.0  # times what the protocol that leaves fakes least would allow


def warn_influence(considered: Considered) -> str | None:
    """Warn before launch that reports that were made up count for many people, or None.

    Noise is undone by a factor, and a fake is multiplied by it, too. With yes-or-no reports about halves of
    the values (`hr`), the factor is (e^epsilon + 1) / (e^epsilon - 1). Direct reports of many values have a
    far larger one.

    >>> from deniable.mechanisms import grr
    >>> from deniable.choose.objective import Objective
    >>> towns = Considered.of(grr(100, 1.0), "", ["grr"], 10_000, Objective(), names=("town",))
    >>> print(warn_influence(towns))
    Made-up reports of 'town' count for up to 59 people each: 1 % of fakes moves a share by up to 59 points.
    Where anybody may answer, set a cap on it (influence_cap = 5), or invite people.
    """
    moved = [] if considered.mechanism is None else _list_moved(considered.mechanism)
    if not moved:
        return None
    worst, *others = (j for _, j in moved)
    much = moved[0][0]
    return (
        f"Made-up reports of {label(considered.names, worst)} count for up to {much:,.0f} people each: 1 % "
        f"of fakes moves a share by up to {much:,.0f} points. {the_same(considered.names, sorted(others))}"
        "Where anybody may answer, set a cap on it (influence_cap = 5), or invite people."
    )


def warn_uninvited(mechanism: RecordMechanism, names: Sequence[str]) -> str | None:
    """Warn an operator of the same if anybody may answer, in one sentence; or None.

    >>> from deniable.mechanisms import grr
    >>> from deniable.records import Single
    >>> print(warn_uninvited(Single(grr(100, 1.0)), ["town"]))
    anybody may answer, and a made-up report of 'town' counts for up to 59 people: --invited takes only
    people whom you invited, and deniable plan --influence 5 makes a plan in which fakes count for less
    """
    moved = _list_moved(mechanism)
    if not moved:
        return None
    much, worst = moved[0]
    return (
        f"anybody may answer, and a made-up report of {label(names, worst)} counts for up to {much:,.0f} "
        "people: --invited takes only people whom you invited, and deniable plan --influence 5 makes a plan "
        "in which fakes count for less"
    )


def _list_moved(mechanism: RecordMechanism) -> list[tuple[float, int]]:
    """The attributes in which a fake counts for many people, with how many, the worst first."""
    loss = mechanism.loss()
    least = 1 / math.tanh(loss / 2) if loss > 0 else math.inf
    found = [
        (influence_of(mechanism.marginal(j), one_in(part, mechanism.chance(j))), j)
        for j, part in enumerate(mechanism.mechanisms)
        if not (part.metric or part.numeric)
    ]
    return sorted(((much, j) for much, j in found if much > _MUCH * least), key=lambda one: (-one[0], one[1]))
