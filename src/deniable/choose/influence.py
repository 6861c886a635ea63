"""Warns in plain words where a few made-up reports would move the shares."""

from __future__ import annotations

import math

from deniable.choose.candidate import Considered, label, the_same

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
    least = 1 / math.tanh(considered.loss_record / 2) if considered.loss_record > 0 else math.inf
    moved = sorted(
        (
            (much, -j)
            for j, (much, part) in enumerate(zip(considered.influence, considered.parts, strict=True))
            if much > _MUCH * least and not (part.metric or part.numeric)
        ),
        reverse=True,
    )
    if not moved:
        return None
    worst, *others = (-j for _, j in moved)
    much = moved[0][0]
    return (
        f"Made-up reports of {label(considered.names, worst)} count for up to {much:,.0f} people each: 1 % "
        f"of fakes moves a share by up to {much:,.0f} points. {the_same(considered.names, sorted(others))}"
        "Where anybody may answer, set a cap on it (influence_cap = 5), or invite people."
    )
