"""Says how many people it takes to find a change from one round of a plan to another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from deniable.choose.candidate import one_in
from deniable.choose.objective import Reading
from deniable.errors import InvalidParameter, not_among
from deniable.exact import number
from deniable.explain.explain import reconsider
from deniable.explain.table_precision import REACH
from deniable.formatting import format_count
from deniable.rounds.differences import Kind, find_against

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument

_STAYS = 0.9  # of answers, from one round to the next
_KINDS: Mapping[str, Kind] = {"share": "value", "group": "group", "mean": "mean"}


@final
@dataclass(frozen=True)
class PeopleForChange:
    """How many people a change takes, if all answers are as likely: in each of both rounds, or of whom some
    answer in each where devices draw their rounds.
    """

    what: str
    """What changes: "share", "group" or "mean"."""
    count: int
    """How many of them there are."""
    population: int
    """People who find a change of the population that they are drawn from."""
    same: int | None
    """People who find their own change; None where it cannot be read."""
    others: int
    """People who find a change of the population, if other people answer in each round."""
    linked: int | None = None
    """People who answer both rounds and find their own change, if nine in ten keep their answers; None where
    reports are not linked, or where it is not known what of their noise is kept.
    """

    def describe(self) -> str:
        """What changes, in words: "a share of 7 values"."""
        if self.what == "mean":
            return "the mean"
        return f"a share of {format_count(self.count, 'value' if self.what == 'share' else self.what)}"

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return dict(vars(self))


def count_people_for_change(document: PlanDocument, of: str, change: float) -> list[PeopleForChange]:
    """How many people it takes to find a change of a question, for all that is read of it.

    The change is in shares, or in parts of the range of a mean. A test at 5 % finds it in four studies
    of five, between any two rounds.

    >>> from deniable import Plan
    >>> from deniable.rounds import l_grr
    >>> plan = Plan.of({"smokes": ["yes", "no"]}, l_grr(2, 1.0, 2.0), people=1000, rounds=4)
    >>> [shares] = count_people_for_change(plan.document, "smokes", 0.05)
    >>> shares.population, shares.others, shares.same
    (8921, 7351, 5782)
    >>> [shares] = count_people_for_change(plan.with_linked().document, "smokes", 0.05)
    >>> shares.linked
    5073
    """
    number("a change", change, 0.0, 1.0)
    names = [attribute.name for attribute in document.attributes]
    if of not in names:
        raise InvalidParameter(not_among(of, "a question", names))
    if document.rounds is None:
        raise InvalidParameter(
            "this plan asks once; a change takes one that asks again, by epsilon_first, epsilon_forever and "
            "rounds"
        )
    j = names.index(of)
    readings = reconsider(document, ()).readings[j]
    people = (REACH / change) ** 2 * one_in(document.parts[j], document.mechanism.chance(j))
    people /= float(document.presence)
    counts = [_count(document, j, reading, people) for reading in readings if reading.what in _KINDS]
    if not counts:
        raise InvalidParameter(f"of {of!r} neither shares nor a mean are read, so it has no change")
    return counts


def _count(document: PlanDocument, j: int, reading: Reading, people: float) -> PeopleForChange:
    """The people for one reading, where so many are needed for a variance of 1."""
    record, law = document.mechanism, document.mechanism.marginal(j)
    against = find_against(record, j, _KINDS[reading.what])
    noise, drawn = 2 * reading.noise(law) * (1 + against), reading.spread(law)
    linked = None
    if document.linked and record.fake(j) is None:
        part = document.parts[j]
        moved = reading.spread(law) * part.k / (part.k - 1)  # by who changes to any other value
        kept = reading.noise(part.permanent.law) if part.repeated else 0.0
        linked = 2 * (reading.noise(law) - _STAYS * kept + (1 - _STAYS) * moved)
        if document.turns is not None:  # of those who answer in one round, as many answer in the other
            both = (document.turns - 1) / ((document.rounds or 1) - 1)
            linked = linked / both if both else None
    return PeopleForChange(
        linked=None if linked is None else math.ceil(people * linked),
        what=reading.what,
        count=reading.count(law),
        population=math.ceil(people * (noise + 4 * drawn)),
        same=None if find_against(record, j) == 1.0 else math.ceil(people * noise),
        others=math.ceil(people * 2 * (reading.noise(law) + drawn)),
    )
