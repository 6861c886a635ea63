"""Reads one number a day from the tallies of days: the share of a value, or a mean, and how it errs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, final

import numpy as np

from deniable.arrays import Floats
from deniable.domain import Range
from deniable.domain.number import Number
from deniable.errors import InvalidParameter
from deniable.estimate import Interval
from deniable.estimate.intervals import clopper_pearson, reach_of
from deniable.law import Law, Marginal
from deniable.plan.attribute import Attribute, list_domains
from deniable.results.estimates import MEAN, find_condition
from deniable.results.respondents import find_mean, has_mean
from deniable.results.unbiased import estimate_tallies

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument
    from deniable.reports.reports import Tallies
    from deniable.rounds.differences import People

_MOST_VALUES = 100  # of an attribute, of which each is followed
_FEW_STEPS = 12  # of a range: of more, single values are known far less well than the mean


class Moments(NamedTuple):
    """The variance of one report in two, and its third moment: what is drawn anew, and what people keep."""

    fresh: Floats
    kept: Floats
    skewness: Floats


@final
@dataclass(frozen=True)
class Chances:
    """How likely a report supports a value: of people who have it, and of others; and by what they keep."""

    p: float
    q: float
    first: tuple[float, float] | None = None
    """The same of the answer that a person keeps; None where none is kept."""
    is_kept: bool = False
    """Whether the same people may answer on several days."""

    def moments(self, share: Floats) -> Moments:
        """The variance of one report where this share of people has the value."""
        noise, skewness = _find_noise(self.p, self.q, share)
        sampling = share * (1 - share)
        if not self.is_kept:
            return Moments(noise + sampling, np.zeros_like(share), skewness)
        kept = 0.0 if self.first is None else np.minimum(_find_noise(*self.first, share)[0], noise)
        return Moments(noise - kept, kept + sampling, skewness)


def _find_noise(p: float, q: float, share: Floats) -> tuple[Floats, Floats]:
    """The variance of one report about fixed people, and the third moment of one about drawn people."""
    supported = q + (p - q) * share
    variance = supported * (1 - supported) / (p - q) ** 2
    return variance - share * (1 - share), (1 - 2 * supported) * variance / (p - q)


@final
@dataclass(frozen=True, eq=False)
class Line:
    """One number a day, unbiased, with how many reports it is from; no number on a day without reports."""

    attribute: str
    value: str
    kind: Literal["value", "mean"]
    """What the value names: a "value", or the "mean"."""
    numbers: Floats
    n: Floats
    chances: Chances | None = None
    """None of a mean, whose error is seen."""
    squares: Floats = field(default_factory=lambda: np.zeros(0), repr=False)
    """Of a mean: the variance of one report, every day."""
    is_kept: bool = False
    """Whether all of a mean's error may be in several days at once."""

    @property
    def title(self) -> str:
        """The attribute and the value."""
        return f"{self.attribute}: {self.value}"

    @property
    def is_share(self) -> bool:
        """Whether this is a share, and no mean."""
        return self.chances is not None

    def interval(self, level: float) -> Interval:
        """Where the true number of each day is, with this confidence each."""
        tail, n = (1 - level) / 2, np.maximum(self.n, 1)
        if self.chances is None:
            reach = reach_of(tail) * np.sqrt(self.squares / n)
            return Interval(self.numbers - reach, self.numbers + reach)
        p, q = self.chances.p, self.chances.q
        counts = np.rint(n * (q + (p - q) * np.nan_to_num(self.numbers)))
        ends = clopper_pearson(counts, n.astype(np.int64), tail)
        low, high = (np.where(self.n > 0, np.clip((end - q) / (p - q), 0.0, 1.0), np.nan) for end in ends)
        return Interval(low, high)

    def moments(self, number: Floats, square: Floats) -> Moments:
        """The variance of one report where the number is this one, or of a mean, where it was this one."""
        if self.chances is not None:
            return self.chances.moments(np.clip(number, 0.0, 1.0))
        nothing = np.zeros_like(square)
        return Moments(nothing, square, nothing) if self.is_kept else Moments(square, nothing, nothing)


def read_lines(
    document: PlanDocument, days: Sequence[Tallies | None], people: People | None
) -> tuple[list[Line], dict[str, str]]:
    """The lines of all attributes, and why others have none."""
    is_kept = document.rounds is not None if people is None else people != "others"
    lines: list[Line] = []
    others: dict[str, str] = {}
    for j, attribute in enumerate(document.attributes):
        name = attribute.name
        if attribute.domain.is_level:
            continue
        if find_condition(document, name) is not None:
            others[name] = "random values stand for people without an answer"
        elif not isinstance(document.mechanism.marginal(j), Law | Marginal) or not document.parts[j].listed:
            continue
        elif document.size(attribute) > (_FEW_STEPS if isinstance(attribute.domain, Range) else _MOST_VALUES):
            others[name] = f"it has {document.size(attribute):,} values"
        else:
            lines += _read_values(document, j, attribute, days, is_kept)
    lines += _read_means(document, days, is_kept)
    followed = {line.attribute for line in lines}
    names = [attribute.name for attribute in document.attributes if not attribute.domain.is_level]
    names = [name for name in names if name not in followed]
    return lines, {name: others.get(name, "it has neither counts of values nor a mean") for name in names}


def _read_values(
    document: PlanDocument, j: int, attribute: Attribute, days: Sequence[Tallies | None], is_kept: bool
) -> list[Line]:
    """A line for each value; of two values, for the rarer one, which says all."""
    law, part = document.mechanism.marginal(j), document.parts[j]
    assert isinstance(law, Law | Marginal)
    kept = part.permanent.law
    labels = document.labels_of(attribute)
    counts, n = np.zeros((len(labels), len(days))), np.zeros((len(labels), len(days)))
    for t, tallies in enumerate(days):
        if tallies is not None:
            tally = tallies[attribute.name]
            counts[:, t] = tally.counts
            n[:, t] = tally.n if tally.asked is None else tally.asked
    q, gain = np.broadcast_to(law.q, len(labels)), np.broadcast_to(law.gain, len(labels))
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = (counts / n - q[:, np.newaxis]) / gain[:, np.newaxis]
    lines = []
    for v, label in enumerate(labels):
        chances = Chances(float(q[v] + gain[v]), float(q[v]), None, is_kept)
        if is_kept and document.rounds is not None:
            first = chances.p, chances.q
            if document.mechanism.fake(j) is None and isinstance(kept, Law):
                first = kept.p, kept.q
            chances = replace(chances, first=first)
        lines.append(Line(attribute.name, str(label), "value", shares[v], n[v], chances))
    if len(lines) == 2:
        return [min(lines, key=lambda line: float(np.nansum(line.numbers * line.n)))]
    return lines


def _read_means(document: PlanDocument, days: Sequence[Tallies | None], is_kept: bool) -> list[Line]:
    """A line for the mean of each number, and of each range without open ends."""
    names = [
        name
        for name, domain in list_domains(document.attributes).items()
        if isinstance(domain, Number | Range) and find_condition(document, name) is None
    ]
    rows = np.zeros((len(names), 3, len(days)))
    rows[:, 0] = np.nan
    for t, tallies in enumerate(days if names else ()):
        if tallies is None:
            continue
        try:
            estimates = estimate_tallies(document, tallies, False)
        except InvalidParameter:  # nobody has reported any of the attributes
            continue
        for i, name in enumerate(names):
            if has_mean(estimates, name):
                mean, n = find_mean(estimates, name), estimates[name].n
                rows[i, :, t] = mean.value, n, mean.stderr**2 * n
    return [
        Line(name, MEAN, "mean", numbers, n, None, squares, is_kept)
        for name, (numbers, n, squares) in zip(names, rows, strict=True)
        if n.any()
    ]
