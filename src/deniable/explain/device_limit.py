"""Compares what a plan gives away with what devices allow, before anybody is asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from deniable.choose import Considered, Objective, Precision, list_precisions, list_readings
from deniable.domain.grid import Grid
from deniable.formatting import format_count, format_up
from deniable.metric import MetricMechanism
from deniable.plan.attribute import Attribute
from deniable.plan.chain import bound_chain
from deniable.plan.document import PlanDocument
from deniable.plan.losses import NANO, Protection, Rated
from deniable.plan.metric_losses import metric_mechanism

DEFAULT_CAP = 4.0
"""The most that all studies together may give away on a device whose person has set no cap, in nats.

It is as much as a single study may take. A device cannot know whether two plans ask the same, so a collector
that splits one study into many plans must not get more than one study would.
"""

_MOST_FEWER = 12  # rounds that are tried: more lose at least as much
_LESS_FIRST = "A smaller epsilon_first helps."
_LEVEL = 2
_DIGITS = 2  # of an epsilon that is recommended
_MOST_NAMED = 3
_MOST_TRIES = 8
_MOST_CELLS = 1024  # noise on more takes longer than a warning should


def warn_limit(document: PlanDocument) -> str | None:
    """Warn that a device whose person has set no limit refuses the plan, or None."""
    stated = document.stated
    if stated.counted is None:  # answers are kept as they are, and nothing is fresh
        is_metric = any(part.metric for part in document.parts)
        other = 'privacy = "equal"' if is_metric else "another protocol"
        return (
            "Every device refuses this survey: if answers change from round to round, there is no bound on "
            "what the reports give away together. Ask once, with one epsilon and no rounds, or with "
            f"{other}."
        )
    chain = _warn_chain(document)
    if stated.counted <= DEFAULT_CAP * NANO:
        return chain
    refuses = (
        f"A device refuses this survey unless its person raises the limit from {DEFAULT_CAP:g} to "
        f"{round_limit(stated.counted):g}: that is what"
    )
    if stated.repeated is not None:
        return (
            f"{refuses} its reports give away together if answers change from round to round. You cannot "
            f"raise it for them. {_advise_rounds(document)}{f' {chain}' if chain else ''}"
        )
    worst = " in the worst case" if stated.metric else ""
    accepted = ", and ".join(map(str, find_accepted(document, DEFAULT_CAP)[:_MOST_NAMED]))
    advice = f" Devices accept an epsilon of up to {accepted}." if accepted else ""
    return f"{refuses} a report gives away{worst}. You cannot raise it for them. {_remedy(document)}{advice}"


def describe_room(document: PlanDocument) -> str | None:
    """What a device allows beside a plan with rounds and those that it continues; None where it refuses."""
    counted = document.stated.chained.counted
    if document.rounds is None or counted is None or counted > DEFAULT_CAP * NANO:
        return None
    more, what = _count_more(document), "round" if document.turns is None else "turn"
    pays = f"at least {more} more {what}s" if more == _MOST_FEWER else format_count(more, f"more {what}")
    return (
        f"A device allows {DEFAULT_CAP:g} in all: {_format_room(counted)} is left for plans that continue "
        f"this one, and for other studies. It pays for {pays if more else f'no other {what}'} of a plan that "
        "continues this one without any change."
    )


def _count_more(document: PlanDocument) -> int:
    """How many more reports a device allows to a plan that continues this one and asks the same, so many at
    most as are tried.
    """
    for more in range(1, _MOST_FEWER + 1):
        chain = bound_chain((*document.continues, document, replace(document, rounds=more, turns=None)))
        if chain.changing_values > DEFAULT_CAP:
            return more - 1
    return _MOST_FEWER


def _format_room(counted: int) -> str:
    """What a device allows beyond a loss, in nats, rounded down."""
    return f"{max(0, math.floor(DEFAULT_CAP * 100 - counted * 100 / NANO)) / 100:g}"


def _warn_chain(document: PlanDocument) -> str | None:
    """Warn that a device that answered the plans before refuses this one, or None."""
    total = document.stated.chained.counted
    if not document.continues or (total is not None and total <= DEFAULT_CAP * NANO):
        return None
    if total is None:
        return "A device that answered the plans before refuses this one: there is no bound on what all lose."
    refuses = (
        "A device that answered the plans before refuses this one unless its person raises the limit to "
        f"{round_limit(total):g}: that is what its reports to all of them give away if answers change."
    )
    accepted = 0
    for turns in range(1, min(document.most_reports, _MOST_FEWER + 1)):
        chain = bound_chain((*document.continues, replace(document, turns=turns)))
        if chain.changing_values > DEFAULT_CAP:
            break
        accepted = turns
    if accepted:
        return f"{refuses} It accepts turns = {accepted} in [repeat]."
    before = document.continues[-1].stated.chained.counted
    if before is None or before >= DEFAULT_CAP * NANO:
        return f"{refuses} What it answered before leaves nothing of the {DEFAULT_CAP:g} that it allows."
    return (
        f"{refuses} What it answered before leaves {_format_room(before)} of the {DEFAULT_CAP:g} that it "
        f"allows. {_LESS_FIRST}"
    )


def _advise_rounds(document: PlanDocument) -> str:
    """In how many rounds devices accept the plan, with everything else as it is."""
    for fewer in range(min(document.most_reports - 1, _MOST_FEWER), 0, -1):
        if document.mechanism.losses(fewer, fewer).changing_values <= DEFAULT_CAP:
            return (
                f"They accept it with {format_count(fewer, 'round')}, or if each device answers in so many "
                f"of the {document.rounds} (turns = {fewer} in [repeat]); a smaller epsilon_first and "
                "epsilon_forever allow more."
            )
    return "A smaller epsilon_first and epsilon_forever help."


def warn_together(plans: Sequence[Rated]) -> str | None:
    """Warn that devices leave out plans of one link that together give away more than they allow, or None."""
    total = Protection.together(plans).loss
    if len(plans) < 2 or total is None or total <= DEFAULT_CAP * NANO:
        return None  # of a plan alone, `warn_limit` says it
    return (
        f"A device leaves some of these plans out: together they give away {format_up(total / NANO)}, and a "
        f"device whose person has set no limit allows {DEFAULT_CAP:g} in all. Lower their epsilons, ask "
        "fewer rounds, or send links of their own to different people."
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


def _remedy(document: PlanDocument) -> str:
    """What helps: for a metric attribute, whose loss grows from one end of its values to the other, more."""
    metric = document.stated.metric
    if metric is None:
        return "A smaller epsilon helps."
    names = {unit.name for unit in metric.units}
    most, _, about = max(
        (part.loss(), -j, attribute)
        for j, (attribute, part) in enumerate(document.pairs)
        if attribute.name in names
    )
    is_map = isinstance(about.domain, Grid)
    smaller = "a smaller area" if is_map else "a shorter or coarser range"
    less = " (a smaller level, or a larger radius)" if is_map else ""
    helps = f'a smaller epsilon of this attribute{less}, {smaller}, or privacy = "equal"'
    if len(document.attributes) == 1:
        return f"What helps is {helps}."
    return (
        f"Between the most distant values of {about.name!r} alone it is {format_up(most)}: "
        f"what helps is {helps}."
    )


@final
@dataclass(frozen=True)
class Accepted:
    """An epsilon of a metric attribute that devices accept, and what is read best of it then."""

    attribute: str
    epsilon: float
    unit: str
    known: Precision

    def __str__(self) -> str:
        known = f"{self.known.describe()} to within {self.known.format_margin()}"
        if self.known.use == "noise":
            known = f"{self.known.describe()} would be noise"
        rate = f"{self.epsilon:g} per {self.unit} of {self.attribute!r}"
        if self.unit == "meter":  # the fields of a study are a level and a radius
            radius = math.ceil(_LEVEL / self.epsilon)
            rate += f", which is a level of {_LEVEL} within a radius of {radius:,} meters"
        return f"{rate} ({known})"


def find_accepted(document: PlanDocument, cap: float) -> list[Accepted]:
    """The largest epsilons, all lowered alike, with which a report loses at most the cap; none where that is
    not possible, or where a grid has many cells.
    """
    metric = [
        (j, attribute, part)
        for j, (attribute, part) in enumerate(document.pairs)
        if isinstance(part, MetricMechanism) and part.metric
    ]
    spent = sum(part.loss() for _, _, part in metric)
    left = cap - (document.stated.record / NANO - spent)
    if document.stated.metric is None or left <= 0 or max(part.k for _, _, part in metric) > _MOST_CELLS:
        return []
    rates = {unit.name: unit.loss / NANO for unit in document.stated.metric.units}
    scale = left / spent
    for _ in range(_MOST_TRIES):  # noise on a grid loses a little more than in proportion
        lowered = [_make(attribute, rates[attribute.name] * scale) for _, attribute, _ in metric]
        total = sum(part.loss() for _, part in lowered)
        if total <= left:
            break
        scale *= left / total * (1 - 1e-3)
    else:
        return []
    accepted = []
    for (j, attribute, _), (epsilon, part) in zip(metric, lowered, strict=True):
        people = max(1, round(document.people * float(document.mechanism.chance(j) * document.presence)))
        readings: Any = [list_readings(attribute.domain, part.k, attribute.turnout)]
        names = (attribute.name,)
        row = Considered.of(part, "", ["metric"], people, Objective(), names=names, readings=readings)
        known = min(list_precisions(row), key=lambda precision: precision.ratio)
        unit = "meter" if isinstance(attribute.domain, Grid) else "unit"
        accepted.append(Accepted(attribute.name, epsilon, unit, known))
    return accepted


def _make(attribute: Attribute, loss: float) -> tuple[float, MetricMechanism]:
    """A rounded epsilon that loses about this per step or kilometer, and its mechanism."""
    domain: Any = attribute.domain
    epsilon = _round_down(loss / (1000.0 if isinstance(domain, Grid) else float(domain.step)))
    mechanism = metric_mechanism(replace(domain, privacy="metric", epsilon=epsilon), attribute.name)
    assert mechanism is not None
    return epsilon, mechanism


def _round_down(epsilon: float) -> float:
    scale = 10.0 ** (math.floor(math.log10(epsilon)) - _DIGITS + 1)
    return float(f"{math.floor(epsilon / scale) * scale:.{_DIGITS}g}")
