"""Finds what people reported to the plans before a plan while one of its rounds was open."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol, final

from deniable.collect.messages import NotJoined, Outdated, Refusal
from deniable.formatting import format_count, format_members
from deniable.plan.document import PlanDocument
from deniable.reports import Tallies
from deniable.results.joined import Joining, find_begun
from deniable.store.schedule import Offer, do_overlap, list_opened


@final
@dataclass(frozen=True)
class Before:
    """What people reported to the plans that a plan continues, to be joined with what they report to it."""

    tallies: tuple[Tallies, ...] = ()
    people: Joining = "same"
    """Whether they may be the same as those who report to the plan, or are others."""
    not_joined: tuple[NotJoined, ...] = ()
    """The plans that are left out, and why."""


ALONE = Before()
"""Nothing: results are of a plan alone."""


@final
@dataclass(frozen=True)
class Shown:
    """What results are of: a round of a plan, or a day in tables of reports."""

    number: int | None
    """The round; None of a day on which reports of several came."""
    tallies: Tallies
    before: Before = ALONE
    """What is joined with the tallies: reports to the plans before, and of a day those of other rounds."""
    day: date | None = None
    outdated: Outdated | None = None
    """Why results are old: tables of reports cannot be read."""

    @property
    def n(self) -> int:
        """How many reports to the plan there are."""
        same_plan = (part.n for part in self.before.tallies if part.plan_id == self.tallies.plan_id)
        return self.tallies.n + sum(same_plan)


class Rounds(Protocol):
    """What has tallies of rounds."""

    def offers(self) -> dict[str, Offer]:
        """What all plans offer now, by their ids."""

    def tallied(self, plan_id: str, number: int | None = None) -> tuple[int | None, Tallies]:
        """The number of a round and its tallies."""


@final
@dataclass(frozen=True)
class Joiner:
    """Finds rounds to join, of plans that continue each other and are collected at one place."""

    rounds: Rounds
    served: Collection[str]
    """The ids of the plans that are collected."""
    minimum: int
    """Rounds with fewer reports are left out."""

    def find_before(self, document: PlanDocument, number: int, now: float) -> Before:
        """The tallies of each plan before this one, of a round that was open at the same time as this round.

        Of several such rounds of a plan it is the last one with enough reports: the same people may have
        answered all of them, and nobody is to count twice. Where nothing is joined, it is refused.
        """
        earlier = [plan.id for plan in document.continues if plan.id in self.served]
        if not document.continues:
            raise Refusal("parameter", "This plan continues no other one, so there is nothing to join.")
        if not earlier:
            serve = "deniable serve old.json new.json"
            raise Refusal("parameter", f"The plans that this one continues are not collected here: {serve}")
        offers = self.rounds.offers()
        opened = list_opened(offers[document.id].rounds, now)
        times = next((times for times in opened if times.number == number), None)
        joined: list[Tallies] = []
        not_joined: list[NotJoined] = []
        reason = "parameter"
        for plan_id in earlier:
            breaks = list_breaks(document, plan_id)
            others = list_opened(offers[plan_id].rounds, now)
            numbers = [other.number for other in others if times is not None and do_overlap(times, other)]
            last = self._find_last(plan_id, numbers)
            if len(breaks) == len(document.names):
                not_joined.append(NotJoined(plan_id, None, next(iter(breaks.values()))))
            elif not numbers:
                why = f"none of its rounds was open at the same time as round {number} of this plan"
                not_joined.append(NotJoined(plan_id, None, why))
            elif last is None:
                which, have = format_members("round", numbers), "has" if len(numbers) == 1 else "have"
                few = f"its {which} {have} fewer than {format_count(self.minimum, 'report')}"
                not_joined.append(NotJoined(plan_id, None, few))
                reason = "few"
            else:
                joined.append(last)
        if not joined:
            reasons = "; ".join(f"of plan {left.plan[:12]}, {left.why}" for left in not_joined)
            raise Refusal(reason, f"Nothing can be joined: {reasons}.")
        return Before(tuple(joined), "same", tuple(not_joined))

    def _find_last(self, plan_id: str, numbers: Sequence[int]) -> Tallies | None:
        """The tallies of the last of these rounds that has enough reports."""
        for number in reversed(numbers):
            tallies = self.rounds.tallied(plan_id, number)[1]
            if tallies.n >= self.minimum:
                return tallies
        return None


def list_breaks(document: PlanDocument, plan_id: str) -> dict[str, str]:
    """The questions whose answers to this earlier plan are not joined, and why, by name."""
    if plan_id == document.id:
        return {}
    place = [plan.id for plan in document.continues].index(plan_id)
    return {name: why for name, (begun, why) in find_begun(document).items() if place < begun}
