"""Takes an attribute's answers by their labels, and gives its shares with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Array
from deniable.domain import NO_ANSWER, Domain, refuse_missing
from deniable.estimate import Estimate, MeanEstimate
from deniable.mechanisms import ExactMechanism, Tally
from deniable.plan.attribute import NO_ANSWER_LABEL
from deniable.plan.metric_losses import describe_unit_loss
from deniable.randomness import Words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True)
class LabeledMechanism:
    """The mechanism of one attribute of a plan, for answers as people give them."""

    name: str
    domain: Domain
    mechanism: ExactMechanism
    labels: tuple[str, ...]
    """The values' names; the last one is "no answer", where that is a value."""

    @property
    def has_no_answer(self) -> bool:
        """Whether a missing answer is a value of its own."""
        return self.labels[-1:] == (NO_ANSWER_LABEL,)

    def privatize(self, answers: object, words: Words | None = None) -> Array:
        """One report per answer; without words, from the operating system's.

        >>> from deniable import Study
        >>> color = Study({"color": ["red", "green", "blue"]}, epsilon=1.0).plan(1000).attribute("color")
        >>> len(color.privatize(["red", "blue"]))
        2
        """
        codes = self.domain.codes(answers, self.name)
        if self.has_no_answer:
            codes = np.where(codes == NO_ANSWER, self.mechanism.k - 1, codes)
        refuse_missing(codes, self.name, self.domain.has_no_answer)
        return self.mechanism.privatize(codes, words)

    def tally(self, reports: Array) -> Tally:
        """Count the reports."""
        return self.mechanism.tally(reports)

    def estimate(self, tally: Tally) -> Estimate | MeanEstimate:
        """Unbiased shares with error bars, by label; of a number, its mean, from -1 to 1."""
        return self.mechanism.estimated(tally, None, self.labels)

    def describe(self) -> str:
        """What it is, in a line."""
        return f"{self.name}: {self.mechanism.describe(describe_unit_loss(self.mechanism, self.name))}"

    def __str__(self) -> str:
        return self.describe()

    def plot(self) -> Figure:
        """A figure of matplotlib: what reports look like."""
        return self.mechanism.plot()
