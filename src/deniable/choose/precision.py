"""Says how well everything that will be read of a study will be known, question by question."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, final

from deniable.choose.candidate import Considered, label, one_in
from deniable.choose.objective import FOUND
from deniable.formatting import (
    find_most,
    format_count,
    format_digits,
    format_people,
    format_percent,
    round_digits,
    say_found,
)

HALF_WIDTH = 1.959964
"""Standard errors on either side, for 95 %."""
_CLEAR, _USEFUL = (0.25, 0.05), (0.5, 0.1)  # of an average share or a quarter of a range, and at most
_ROUGH = 1.0, 1.0
_QUARTER = 0.25
_MANY = 1000.0  # from here on, a margin has no decimals

Use = Literal["clear", "useful", "rough", "noise"]
"""Whether it is worth reading, the best first."""


@final
@dataclass(frozen=True)
class Precision:
    """How well one thing will be known that is read of an attribute, by people who are drawn at random."""

    attribute: str
    what: str
    """What it is: "share", "group", "block", "mean", "median", "cell" or "row share"; or "found", of values
    that nobody listed, whose margin is the share that is found about half of the time.
    """
    count: int
    """How many of them there are."""
    people: int
    stderr: float
    """The standard error that it has on average: a share, or a part of the range."""
    width: float | None = None
    """The width of the range in the attribute's own unit, where it is a mean or a median."""
    answered: float = 1.0
    """The share of people who are expected to answer, of whom it is."""
    counted: Callable[[float], int] | None = field(default=None, compare=False, repr=False)
    """How many people a margin takes, where the error does not fall with the root of their number."""

    @property
    def margin(self) -> float:
        """The half of a 95 % interval: in shares, or in the attribute's own unit."""
        return HALF_WIDTH * self.stderr * (self.width or 1.0)

    @property
    def is_known(self) -> bool:
        """Whether the margin is below all that is possible, so that anything will be known."""
        return HALF_WIDTH * self.stderr < 1

    @property
    def use(self) -> Use:
        """Whether it is worth reading, by the margin: of shares in points, else in hundredths of the range.

        Clear is a quarter of an average share, and at most 5; useful is half of one, and at most 10; up to
        an average share, or a quarter of the range, it is rough.
        """
        margin = HALF_WIDTH * self.stderr
        if margin <= self._limit(_CLEAR):
            return "clear"
        if margin <= self._limit(_USEFUL):
            return "useful"
        return "rough" if self.ratio <= 1.0 else "noise"

    def _limit(self, limit: tuple[float, float]) -> float:
        part, most = limit
        return min(part * self._typical, most)

    @property
    def ratio(self) -> float:
        """The margin beside an average share, or a quarter of the range: above 1 it is noise."""
        return HALF_WIDTH * self.stderr / self._typical

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        figures = {name: value for name, value in vars(self).items() if name != "counted"}
        return figures | {"margin": self.margin, "use": self.use, "sentence": self.judge()}

    def people_needed(self, margin: float) -> int:
        """How many people it takes for this margin, in shares or in parts of the range."""
        if self.counted is not None:
            return self.counted(margin)
        people = self.people * (HALF_WIDTH * self.stderr / margin) ** 2
        return max(1, math.ceil(people)) if math.isfinite(people) else 0

    def people_enough(self) -> int:
        """How many people it takes to be useful: half of an average share, or a tenth of the range, at most
        10 points.
        """
        return self.people_needed(self.useful_margin)

    @property
    def useful_margin(self) -> float:
        """From which margin on it is useful, in shares or in parts of the range."""
        return self._limit(_USEFUL)

    def margin_for(self, use: Use) -> float:
        """From which margin on it is as good as this word says; a margin that is noise has no limit."""
        limits = {"clear": _CLEAR, "useful": _USEFUL, "rough": _ROUGH}
        return self._limit(limits[use]) if use in limits else math.inf

    @property
    def is_reachable(self) -> bool:
        """Whether the people that it takes to be useful may be had."""
        return self.people_enough() <= find_most(self.people)

    def refuse_people(self) -> str:
        """What is said where more people are no way out."""
        return (
            f"More people than can be expected would make it useful, {self.format_people()}: it takes a "
            "larger epsilon, or fewer values."
        )

    def format_people(self) -> str:
        """How many people it takes to be useful, as all that is said of it has it."""
        return format_people(self.people_enough(), self.people)

    @property
    def _typical(self) -> float:
        return 1 / self.count if self.width is None else _QUARTER

    def format_margin(self) -> str:
        """As people read it: points of a share, or the attribute's own unit, up to all that is possible."""
        if self.what == FOUND:
            return f"from {100 * self.margin:.2g} %" if self.is_known else "no share is enough"
        if not self.is_known:
            return "all 100 points" if self.width is None else "the whole range"
        return (
            f"{round_digits(100 * self.margin, 2):g} points"
            if self.width is None
            else f"{round_digits(self.margin, 3):,g}"
            if self.margin < _MANY
            else f"{round_digits(self.margin, 3):,.0f}"
        )

    def describe(self) -> str:
        """What is read, in words: "shares of 7 values"."""
        among = "" if self.answered == 1.0 else f", if {format_percent(self.answered)} answer"
        if self.width is not None:
            return f"the {self.what}{among}"
        if self.what == FOUND:
            return "values that are found"
        if self.what == "row share":
            return f"shares of {format_count(self.count, 'value')} in each row{among}"
        return f"shares of {format_count(self.count, {'share': 'value'}.get(self.what, self.what))}{among}"

    def judge(self) -> str:
        """One sentence on whether it is useful."""
        if self.width is not None:
            return self._judge_middle()
        if self.what == FOUND:
            return say_found(self.margin, f"{100 * self.margin:.2g} %")
        typical = f"an average share is {100 / self.count:.3g} %"
        if self.use == "noise":
            if not self.is_reachable:
                return f"Too noisy to read: {typical}. {self.refuse_people()}"
            return (
                f"Too noisy to read: {typical}. {self.format_people()} people make it useful: differences "
                f"of {self._show(_USEFUL)} show."
            )
        words = {
            "clear": f"Clear: {typical}, and differences of {self._show(_CLEAR)} show.",
            "useful": f"Useful: {typical}, and differences of {self._show(_USEFUL)} show.",
            "rough": f"Rough: {typical}, and only shares that are much larger or smaller stand out.",
        }
        return words[self.use]

    def _show(self, limit: tuple[float, float]) -> str:
        return f"{format_digits(100 * self._limit(limit), 2)} points"

    def _judge_middle(self) -> str:
        part = f"{format_digits(100 * min(1.0, HALF_WIDTH * self.stderr), 2)} % of the range"
        if self.use == "noise":
            if not self.is_reachable:
                return f"Too noisy to read: it may be off by {part}. {self.refuse_people()}"
            return (
                f"Too noisy to read: it may be off by {part}. {self.format_people()} people make it "
                "useful: off by a tenth at most."
            )
        return f"{self.use.capitalize()}: it may be off by {part}."


def list_precisions(considered: Considered) -> Iterator[Precision]:
    """How well everything will be known that is read of a choice."""
    for j, (part, chance, readings) in enumerate(
        zip(considered.parts, considered.chances, considered.readings, strict=True)
    ):
        name = label(None, j) if considered.names is None else considered.names[j]
        unasked = 1.0 if considered.objective.about_everyone else one_in(part, chance)
        for reading, variance in zip(readings, considered.variances[j], strict=True):
            # people differ, and those who answer are some of many
            reports = considered.n * float(considered.presence)
            error = math.sqrt(variance + reading.spread(part.law) * unasked / reports)
            count, about = reading.count(part.law), (reading.width, reading.answered)
            yield Precision(name, reading.what, count, considered.n, error, *about, reading.people)
