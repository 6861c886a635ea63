"""Says what a store offers: its plans, and when their rounds are open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from deniable.collect.counting import is_open
from deniable.errors import InvalidParameter
from deniable.study import Plan


@final
@dataclass(frozen=True)
class Registered:
    """A plan that is collected."""

    plan: Plan
    invited: bool
    """Whether every report takes an invitation."""


@dataclass(frozen=True)
class Times:
    """When a round is open: from `opens` until before `closes` (seconds since 1970; None: no limit)."""

    number: int
    opens: float | None
    closes: float | None

    def is_open(self, now: float) -> bool:
        """Whether reports are taken."""
        return is_open(self.opens, self.closes, now)


@final
@dataclass(frozen=True)
class Round(Times):
    """A round, and how many reports it has."""

    counted: int
    scrubbed: int
    """How many of the counted reports have no body any more."""


@final
@dataclass(frozen=True)
class Offer:
    """What is public about a plan: whether it takes invitations, and its rounds in order."""

    invited: bool
    rounds: list[Times]


def no_round(plan: Plan, number: int) -> InvalidParameter:
    """The message for a missing round: it was not opened yet, or the plan has no such round."""
    rounds = plan.document.rounds or 1
    if 1 <= number <= rounds:
        return InvalidParameter(
            f"round {number} of plan {plan.id[:12]} was not opened yet; deniable rounds opens it"
        )
    has = f"has rounds 1 to {rounds}" if rounds > 1 else "asks once, in round 1"
    return InvalidParameter(f"plan {plan.id[:12]} has no round {number}: it {has}")
