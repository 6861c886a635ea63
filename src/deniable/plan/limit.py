"""Compares what a plan gives away with what devices allow, before anybody is asked."""

from __future__ import annotations

import math

from deniable.domain.grid import Grid
from deniable.formatting import format_up
from deniable.plan.acceptance import advise_accepted, find_accepted
from deniable.plan.document import Content
from deniable.plan.losses import NANO, Stated

DEFAULT_CAP = 4.0
"""The most that a plan may give away on a device whose owner has set no cap, in nats."""


def bound_losses(stated: Stated) -> tuple[int | None, int | None]:
    """Bound what all reports of a plan give away, in billionths: for an unchanged answer, and in any case."""
    if stated.repeated is None:
        return stated.record, stated.record
    _, _, unchanged, changing, _ = stated.repeated
    return unchanged, changing


def warn_limit(content: Content, stated: Stated) -> str | None:
    """Warn that a device whose person has set no limit refuses the plan, or None."""
    alone, _ = bound_losses(stated)
    if alone is None:
        return (
            "Every device refuses this survey: there is no bound on what its reports give away together. "
            "Ask fewer times."
        )
    if alone <= DEFAULT_CAP * NANO:
        return None
    what = "its reports of one answer give away together" if stated.repeated else "a report gives away"
    worst = " in the worst case" if stated.metric else ""
    return (
        f"A device refuses this survey unless its person raises the limit from {DEFAULT_CAP:g} to "
        f"{round_limit(alone):g}: that is what {what}{worst}. You cannot raise it for them. "
        f"{_remedy(content, stated)}{advise_accepted(find_accepted(content, stated, DEFAULT_CAP))}"
    )


def round_limit(nanos: int) -> float:
    """The least limit, in hundredths, that allows a loss; a device multiplies it as a float.

    >>> round_limit(10_900_000_001), round_limit(5_000_000_000)
    (10.91, 5.0)
    """
    hundredths = math.ceil(nanos * 100 / NANO)
    while hundredths / 100 * NANO < nanos:
        hundredths += 1
    return hundredths / 100


def _remedy(content: Content, stated: Stated) -> str:
    """What helps: for a metric attribute, whose loss grows from one end of its values to the other, more."""
    if stated.metric is None:
        return "A smaller epsilon helps."
    named = {one.name for one in stated.metric.units}
    most, _, about = max(
        (part.loss(), -j, one)
        for j, (one, part) in enumerate(zip(content.attributes, content.parts, strict=True))
        if one.name in named
    )
    is_map = isinstance(about.domain, Grid)
    smaller = "a smaller area" if is_map else "a shorter or coarser range"
    less = " (a smaller level, or a larger radius)" if is_map else ""
    helps = f'a smaller epsilon of this attribute{less}, {smaller}, or privacy = "equal"'
    if len(content.attributes) == 1:
        return f"What helps is {helps}."
    return (
        f"Between the most distant values of {about.name!r} alone it is {format_up(most)}: "
        f"what helps is {helps}."
    )
