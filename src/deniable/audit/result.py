"""Says what an audit found, for people and for machines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.audit.bound import Event, lower_epsilon
from deniable.audit.setting import Setting
from deniable.formatting import Printed, format_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_PROOF = (
    "a pass is no proof: an audit finds leaks that its guesses can see, in the pairs that it was given; it "
    "does not see rare leaks, leaks under a key, or leaks in time and order"
)
_FEASIBLE = 10**8  # devices for each answer: no audit has more


@final
@dataclass(frozen=True)
class Audit(Printed):
    """A lower bound on the epsilon of a client's reports, next to its claim.

    The bound is above the true epsilon with a probability of at most `1 - level`, whatever the client is.
    """

    setting: Setting
    trials: int
    """Devices per answer (arm), over all pairs."""
    level: float
    events: tuple[Event, ...]
    """All guesses that were tried; each has its part of 1 - level."""
    faults: tuple[str, ...]
    """What is wrong whatever the bound is: reports that a collector refuses, and what should never come
    twice.
    """
    notes: tuple[str, ...] = ()
    """What was looked at, and what was not, where one could think otherwise."""

    @property
    def best(self) -> Event:
        """The event that comes closest to its claim, or is farthest above it; one of records that differ in
        one or two attributes only if it is above its claim.
        """
        return max(
            self.events,
            key=lambda event: (event.above or not event.partial, event.bound - event.claim, event.bound),
        )

    @property
    def lower_bound(self) -> float:
        """The empirical lower bound on epsilon."""
        return self.best.bound

    @property
    def claim(self) -> float:
        """What is claimed of the pairs of the best event: their epsilon should be at most this."""
        return self.best.claim

    @property
    def claims(self) -> tuple[float, ...]:
        """All claims: metric values have several, and records that differ in one or two attributes may have
        one of their own.
        """
        return self.setting.claims

    @property
    def ceiling(self) -> float:
        """The largest bound that these trials can show, if every guess were right."""
        pairs = 2 * self.trials
        return max(
            max(event.ceiling, float(lower_epsilon(pairs, pairs, event.alpha))) for event in self.events
        )

    @property
    def noticeable(self) -> float:
        """How far above its claim an event must come to be noticed 19 times in 20.

        The worst of several claims; claims that the trials do not reach are left out, and it is infinite
        if all are.
        """
        reached = [claim for claim in self.claims if self._can_reach(claim)]
        return max(
            (min(event.noticeable for event in self._of(claim)) for claim in reached), default=math.inf
        )

    @property
    def noticeable_alone(self) -> float:
        """How far above its claim an event must come to be noticed where one pair of several leaks, and the
        others do not.
        """
        return max([self.noticeable, *(event.noticeable for event in self.events if event.alone)])

    @property
    def passed(self) -> bool:
        """Nothing above a claim was shown, nothing else is wrong, and nothing is suspicious."""
        return not self.failed and not self.suspicious

    @property
    def failed(self) -> bool:
        """More than a claim was shown, or something else is wrong."""
        return bool(self.faults) or any(event.above for event in self.events)

    @property
    def suspicious(self) -> bool:
        """Some guess shows far less than it would of a right client: reports do not follow the plan, so that
        the guesses do not say what they give away.
        """
        return any(event.unusual for event in self.events)

    @property
    def expected(self) -> tuple[float, float] | None:
        """Between what the lower bound of a right client is, by the fixed guess that shows most of it; None
        where that is not known.
        """
        ranges = [event.expected for event in self.events if event.expected and not event.partial]
        return max(ranges, default=None)

    @property
    def conclusive(self) -> bool:
        """Whether the verdict says something: FAIL and SUSPICIOUS always do, a PASS if the trials could have
        shown leaks that are above all claims by what is noticeable.
        """
        return not self.passed or all(map(self._can_reach, self.claims))

    def _can_reach(self, claim: float) -> bool:
        return any(event.noticeable < event.ceiling - claim for event in self._of(claim))

    def _of(self, claim: float) -> list[Event]:
        """The events of a claim that are about all of its pairs."""
        return [event for event in self.events if event.claim == claim and not event.alone]

    @property
    def verdict(self) -> str:
        """PASS, FAIL, or SUSPICIOUS where nothing is shown, but less than a right client would show."""
        return "FAIL" if self.failed else "SUSPICIOUS" if self.suspicious else "PASS"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        setting = self.setting
        return {
            "verdict": self.verdict,
            "lower_bound": self.lower_bound,
            "expected": None if self.expected is None else list(self.expected),
            "suspicious": self.suspicious,
            "claim": self.claim,
            "claims": list(self.claims),
            "ceiling": self.ceiling,
            "noticeable": _finite(self.noticeable),
            "noticeable_alone": _finite(self.noticeable_alone),
            "conclusive": self.conclusive,
            "per": setting.per,
            "rounds": setting.rounds,
            "trials": self.trials,
            "level": self.level,
            "pairs": [[[dict(record) for record in side] for side in pair] for pair in setting.pairs],
            "partly": {name: [count, values] for name, count, values in setting.partly},
            "events": [
                {
                    "event": event.name,
                    "guesses": event.guesses,
                    "right": event.right,
                    "alpha": event.alpha,
                    "lower_bound": event.bound,
                    "claim": event.claim,
                    "expected": None if event.expected is None else list(event.expected),
                }
                for event in self.events
            ],
            "faults": list(self.faults),
            "notes": list(self.notes),
        }

    @property
    def summary(self) -> str:
        """The verdict and its reasons, in words, and what was not looked at."""
        lines = [f"{'FAIL' if self.failed else 'PASS'}: {reason}" for reason in self._reasons()]
        if self.suspicious:
            lines = [*(lines if self.failed else []), *self._suspicions()]
        beyond = [claim for claim in self.claims if not self._can_reach(claim)]
        if self.passed:
            lines += self._not_shown(beyond)
        if self.passed and len(beyond) < len(self.claims):
            lines.append(
                f"less than {self.noticeable:.3f} above {self._claim_name} "
                f"may go unnoticed{self._in_one_pair}"
            )
        lines += [f"compared: {self.setting.compared}", *self.notes]
        if self.passed:
            lines.append(NO_PROOF)
        return "\n".join(lines)

    def _not_shown(self, beyond: Sequence[float]) -> list[str]:
        """Why nothing above these claims can be shown, or not surely, and what helps."""
        # it grows with the logarithm of the trials
        most = self.ceiling + math.log(max(1.0, _FEASIBLE / self.trials))
        never = [claim for claim in beyond if claim > most]
        above = [claim for claim in beyond if self.ceiling < claim <= most]
        below = [claim for claim in beyond if claim <= self.ceiling]
        trials, lines = format_count(self.trials, "trial"), []
        if never:
            audited = "; the nearer pairs are what is audited" if len(never) < len(self.claims) else ""
            lines.append(
                f"but no feasible number of trials can show more than a claim of {_each(never)}: {trials} "
                f"show {self.ceiling:.3f} at most, and {_FEASIBLE:,} about {most:.1f}{audited}"
            )
        if above:
            limit = f"{trials} cannot show more than {self.ceiling:.3f}, nor that with few guesses"
            lines.append(f"but {limit}: too little for a claim of {_each(above)}; ask for more of them")
        if below:
            lines.append(
                f"but {trials} may well miss any leak above a claim of {_each(below)}; ask for more of them"
            )
        return lines

    @property
    def _in_one_pair(self) -> str:
        """What is noticed where only one pair of several leaks."""
        alone = [event for event in self.events if event.alone]
        if any(event.noticeable > self.ceiling - event.claim for event in alone):
            return ", and a leak in one pair alone may go unnoticed at all"
        return f", and less than {self.noticeable_alone:.3f} if only one of the pairs leaks" if alone else ""

    @property
    def _claim_name(self) -> str:
        return "the claim" if len(self.claims) == 1 else "another claim" if not self.conclusive else "a claim"

    def _suspicions(self) -> list[str]:
        """What is far below what it should be."""
        return [
            f"SUSPICIOUS: '{event.name}' shows {event.bound:.4f}, but {event.expected[0]:.4f} to "
            f"{event.expected[1]:.4f} of a right client: these reports do not follow the plan, and guesses "
            "may not see what they give away"
            for event in self.events
            if event.unusual and event.expected is not None
        ]

    def _describe_group(self, event: Event) -> str:
        """Which pairs an event was tried on, where there are several claims."""
        if event.partial:
            return "records that differ in one or two attributes"
        if len({claim for claim, partial in self.setting.groups if not partial}) == 1:
            return "whole records"
        return "answers at this distance"

    @property
    def group(self) -> str:
        """Which pairs `claim` is about, in words; empty where there is one claim only."""
        return "" if len(self.claims) == 1 else self._describe_group(self.best)

    def _reasons(self) -> list[str]:
        reasons = list(self.faults)
        for claim in self.claims:
            best = max(
                (event for event in self.events if event.claim == claim), key=lambda event: event.bound
            )
            if best.above:
                whose = "" if len(self.claims) == 1 else f" for {self._describe_group(best)}"
                by = f" (by the guess '{best.name}')"
                reasons.append(
                    f"epsilon is at least {best.bound:.4f}, above the claim of {claim:.4f}{whose}{by}"
                )
        several = "" if len(self.claims) == 1 else "s"
        return reasons or [f"nothing above the claim{several} of {_each(self.claims)} was found"]

    def __str__(self) -> str:
        return self.summary

    def plot(self) -> Figure:
        """A figure of matplotlib: for each way to guess, the lower bound on epsilon next to the claim."""
        from deniable.plot.charts import Bars, Line, plot_bars

        bounds = np.array([event.bound for event in self.events])
        bars = [Bars(bounds, "lower bound", numbers=[f"{bound:.3f}" for bound in bounds])]
        line = Line(self.claim, f"claim {self.claim:.4f}") if len(self.claims) == 1 else None
        if line is None:
            bars.append(Bars(np.array([event.claim for event in self.events]), "claim"))
        title = f"{self.verdict}: epsilon is at least {self.lower_bound:.4f}, claimed {self.claim:.4f}"
        names = [event.name for event in self.events]
        return plot_bars(names, bars, title, "epsilon (nats)", ticks=None, line=line)

    def __repr__(self) -> str:
        faults = f"{format_count(len(self.faults), 'fault')}, " if self.faults else ""
        bound = f"epsilon >= {self.lower_bound:.4f}, claim {self.claim:.4f}"
        return f"<Audit {self.verdict}: {faults}{bound}, per {self.setting.per}>"


def _each(claims: Sequence[float]) -> str:
    return ", ".join(f"{claim:.4f}" for claim in claims)


def _finite(value: float) -> float | None:
    """What JSON can hold; None where no leak is large enough to be noticed."""
    return value if math.isfinite(value) else None
