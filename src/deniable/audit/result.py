"""What an audit found, for people and for machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from deniable.audit.bound import Event, ceiling
from deniable.audit.setting import Setting
from deniable.errors import counted

NO_PROOF = "a pass is no proof: an audit finds leaks that its guesses can see, in the pairs that it was given"


@final
@dataclass(frozen=True)
class Audit:
    """A lower bound on the epsilon of a client's reports, beside what is claimed of it.

    The bound is above the true epsilon with a probability of at most `1 - level`, whatever the client is.
    """

    setting: Setting
    trials: int
    """Devices per answer (arm), over all pairs."""
    level: float
    events: tuple[Event, ...]
    """All guesses that were tried; each has its part of 1 - level."""
    faults: tuple[str, ...]
    """What is wrong whatever the bound is: reports that a collector refuses, and what should never come twice."""

    @property
    def best(self) -> Event:
        """The event that shows most."""
        return max(self.events, key=lambda event: event.bound)

    @property
    def lower_bound(self) -> float:
        """The empirical lower bound on epsilon."""
        return self.best.bound

    @property
    def claim(self) -> float:
        """What is claimed: epsilon should be at most this."""
        return self.setting.claim

    @property
    def ceiling(self) -> float:
        """The largest bound that so many trials can show, if every guess were right."""
        return max(ceiling(2 * self.trials, event.alpha) for event in self.events)

    @property
    def noticeable(self) -> float:
        """How far above the claim the loss of the best event must be to be noticed 19 times in 20."""
        return self.best.noticeable

    @property
    def passed(self) -> bool:
        """Nothing above the claim was shown, and nothing else is wrong."""
        return not self.faults and self.lower_bound <= self.claim

    @property
    def conclusive(self) -> bool:
        """Whether a leak above the claim could have been shown at all with so many trials."""
        return self.claim < self.ceiling

    @property
    def verdict(self) -> str:
        """PASS or FAIL."""
        return "PASS" if self.passed else "FAIL"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        setting = self.setting
        return {
            "verdict": self.verdict,
            "lower_bound": self.lower_bound,
            "claim": self.claim,
            "ceiling": self.ceiling,
            "noticeable": self.noticeable,
            "conclusive": self.conclusive,
            "per": setting.per,
            "rounds": setting.rounds,
            "trials": self.trials,
            "level": self.level,
            "pairs": [[[dict(record) for record in side] for side in pair] for pair in setting.pairs],
            "events": [
                {"event": one.name, "guesses": one.guesses, "right": one.right, "alpha": one.alpha, "lower_bound": one.bound}
                for one in self.events
            ],
            "faults": list(self.faults),
        }

    @property
    def summary(self) -> str:
        """The verdict and its reasons, in words."""
        lines = [f"{self.verdict}: {reason}" for reason in self._reasons()]
        if self.passed and not self.conclusive:
            lines.append(f"but {counted(self.trials, 'trial')} cannot show more than {self.ceiling:.3f}: ask for more of them")
        if self.passed:
            lines.append(NO_PROOF)
        return "\n".join(lines)

    def _reasons(self) -> list[str]:
        reasons = list(self.faults)
        if self.lower_bound > self.claim:
            reasons.append(f"epsilon is at least {self.lower_bound:.4f}, above the claim of {self.claim:.4f}")
        return reasons or [f"nothing above the claim of {self.claim:.4f} was found"]

    def __repr__(self) -> str:
        return f"<Audit {self.verdict}: epsilon >= {self.lower_bound:.4f}, claim {self.claim:.4f}, per {self.setting.per}>"
