"""Holds what the reports of a plan say: an estimate per attribute, with what it takes to read it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, final

from deniable.domain import Categories, Domain, Range
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Bins, Estimate, MeanEstimate
from deniable.formatting import format_count
from deniable.plan.attribute import Attribute
from deniable.plan.document import PlanDocument
from deniable.reports.reports import Tallies

if TYPE_CHECKING:
    from deniable.ranges import RangeEstimate
    from deniable.results.weights import Weighting

    Part = Estimate | MeanEstimate | RangeEstimate

MEAN = "mean"
"""The label and the kind of a row about a mean."""


class Unreported(NamedTuple):
    """An attribute without an estimate: how many reports there are, its values' names, and why."""

    n: int
    labels: tuple[str, ...]
    why: str


def bins_of(domain: Domain, k: int) -> Bins | None:
    """Where the values are on a line: of a range, unless having no answer is one of them."""
    if not isinstance(domain, Range) or domain.k != k:
        return None
    return Bins(domain.edges, domain.open_low, domain.open_high, bool(domain.unit))


@final
@dataclass(frozen=True, repr=False)
class Estimates(Mapping[str, Any]):
    """Estimates by attribute, as plain data: of shares, of means, and of ranges in levels."""

    plan_id: str
    n: int
    """How many records were reported."""
    parts: Mapping[str, Part]
    """What is estimated of each attribute, in the order of the plan, means last."""
    unreported: Mapping[str, Unreported] = field(default_factory=dict)
    """The attributes that nobody has reported yet, or of which it is not known who answered."""
    title: str = ""
    domains: Mapping[str, Domain] = field(default_factory=dict, compare=False)
    """What the attributes' values are."""
    kept: Mapping[str, float] = field(default_factory=dict, compare=False)
    """How much of the noise that people keep may be against a difference of two rounds, by attribute: 0 where
    that for different values is independent, up to 1; empty where a plan asks once.
    """
    document: PlanDocument | None = field(default=None, compare=False)
    """What the reports were made for, and with `tallies` what most likely shares are found from."""
    tallies: Tallies | None = field(default=None, compare=False)
    smooth: bool = False
    """Whether shares of ranges and grids are shown smoothed, as `plan.estimate(..., smooth=True)` asks."""
    weighting: Weighting | None = field(default=None, compare=False)
    """How known groups were weighted, if they were: then there are no `tallies` of all people."""
    plans: tuple[Estimates, ...] = field(default=(), compare=False)
    """The estimates of the plans that these are joined from, if they are: then there are no `tallies`."""

    @cached_property
    def shares(self) -> dict[str, Estimate]:
        """The attributes of which the shares of all values are estimated."""
        return {name: part for name, part in self.parts.items() if isinstance(part, Estimate)}

    @cached_property
    def means(self) -> dict[str, MeanEstimate]:
        """The attributes of which the mean is estimated, in their own unit."""
        return {name: part for name, part in self.parts.items() if isinstance(part, MeanEstimate)}

    @cached_property
    def ranges(self) -> dict[str, RangeEstimate]:
        """The questions that are reported in levels, each by least squares from all of them."""
        rest = (Estimate, MeanEstimate)
        return {name: part for name, part in self.parts.items() if not isinstance(part, rest)}

    def __getitem__(self, name: str) -> Any:
        if name in self.unreported:
            raise KeyError(
                f"{name!r} has {format_count(self.unreported[name].n, 'report')}: {self.unreported[name].why}"
            )
        if name not in self.parts:
            raise KeyError(self._point_to_table(name) or not_among(name, "an attribute", list(self)))
        return self.parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        names = ", ".join(list(self)[:8]) + (", …" if len(self) > 8 else "")
        return f"<Result of {format_count(self.n, 'record')} for plan {self.plan_id[:12]}: {names}>"

    def _point_to_table(self, name: str) -> str:
        from deniable.explain.question_pairs import point_to_table  # which takes the mathematics of tables

        return "" if self.document is None else point_to_table(self.document, name)

    @cached_property
    def levels(self) -> dict[str, Estimate]:
        """The estimates of all levels of questions that have some, by attribute: each by its own reports."""
        if self.document is None:
            return {}
        levels: dict[str, Estimate] = {}
        for name, attributes in self.document.levels.items():
            if name in self.ranges:
                pairs = zip(attributes, self.ranges[name].estimates, strict=True)
                levels |= {attribute.name: estimate for attribute, estimate in pairs}
        return levels

    @property
    def question_texts(self) -> Mapping[str, str]:
        """What people were asked, by question and by attribute, where the plan has its text."""
        return {} if self.document is None else self.document.question_texts

    def is_drawn(self, name: str) -> bool:
        """Whether random values stand for people without an answer."""
        return self.document is not None and find_condition(self.document, name) is not None

    def look_up(self, name: str) -> Any:
        """The estimate of a name that is a parameter, and is refused as one."""
        try:
            return self[name]
        except KeyError as problem:
            raise InvalidParameter(problem.args[0]) from None


def find_condition(document: PlanDocument, name: str) -> tuple[Attribute, list[int]] | None:
    """Which attribute says who answered this one, and by which codes; None where no random value takes the
    place of an answer that does not apply, or is not given.
    """
    attribute = document.by_name.get(name)
    if attribute is None or attribute.only_if is None or document.extras(attribute):
        return None
    parent = document.by_name[attribute.only_if.name]
    assert isinstance(parent.domain, Categories)
    return parent, [parent.domain.labels.index(value) for value in attribute.only_if.values]


def explain_unknown(document: PlanDocument, name: str, reported: Collection[str]) -> str | None:
    """Why it is not known who answered a question for which random values are reported; None where it is.

    Nobody can tell a random value from an answer. So what says who answered must be reported, and must hold
    no random values itself.
    """
    condition = find_condition(document, name)
    if condition is None:
        return None
    parent = condition[0]
    for attribute in (document.by_name[name], parent):
        if document.missing_of(attribute) == "random":
            return explain_random(attribute.name)
    if parent.name in reported:
        return None
    return f"nobody reported {parent.name!r} yet, which says who answered"


def explain_random(name: str) -> str:
    """Why it is not known who answered a question whose missing answers are random values."""
    return (
        f"a missing answer to {name!r} is a random value, so it is not known who answered; make a plan with "
        'missing = "value"'
    )
