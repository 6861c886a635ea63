"""Reports one attribute of a record among fakes of the others, without naming it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Protocol, cast, final

import numpy as np

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable.exact import log_up, power_up, whole_number
from deniable.law import Marginal
from deniable.law.pairs import Mixed
from deniable.mechanisms import Losses, Mechanism
from deniable.mechanisms.losses import MOST_REPORTS, lose_each_time
from deniable.randomness import cell
from deniable.randomness.words import Rows
from deniable.records.base import Per, RecordMechanism, check_parts, list_parts, quote_names
from deniable.records.fakes import Evidence, Fake
from deniable.records.reports import Records
from deniable.records.sample import draw_attributes, group_people


class _Kept(Protocol):
    """A mechanism for asking again."""

    def ratio_after(self, reports: int) -> Fraction:
        """The largest ratio after this many reports of one value, rounded up."""


@final
@dataclass(frozen=True)
class Faked(RecordMechanism):
    """One attribute, drawn at random and not named, is reported; the others are fakes (RS+FD, RS+RFD).

    Fakes cancel from every ratio: what is left is a sum, over the attributes, of how much likelier each
    report is from this person than from its fake. So the loss per record is that of the parts, whatever the
    fakes are.

    Where all parts have two rounds, people are asked again: which attribute is real, its first answer and the
    first answers of the fakes are drawn once and kept. They are one report by the first rounds, `permanent`,
    and any number of collections gives away what that one does, as long as the real answer does not change.
    """

    kind = "faked"
    part_field = "fakes"
    nests = True

    fakes: tuple[Fake, ...]
    claim: float | None = None
    """What it was asked to keep; with published parameters, what the papers say it keeps. `loss` says what is
    true.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "fakes", list_parts(self.fakes))
        for fake in self.fakes:
            if not isinstance(fake, Fake):
                raise InvalidParameter(
                    "a part of Faked is a fake, such as dn.records.Blank(mechanism), "
                    f"got {type(fake).__name__}"
                )
        check_parts(self.parts)
        if len({part.repeated for part in self.parts}) > 1:
            raise InvalidParameter("either all attributes are asked again and again, or none is", "rounds")
        if self.repeated and len({part.permanent is part for part in self.parts}) > 1:
            raise InvalidParameter(
                "fakes of reports that are kept whole (dbitflip) go with no others, whose reports are fresh",
                "rounds",
            )

    @cached_property
    def parts(self) -> tuple[Mechanism, ...]:
        return tuple(fake.part for fake in self.fakes)

    @property
    def _widths(self) -> list[int]:
        return [max(fake.words, fake.part.words) for fake in self.fakes]

    @property
    def phrase(self) -> str:
        return f"all {self.d} attributes, one real and not named, the others fakes"

    @property
    def words(self) -> int:
        return 1 + sum(self._widths)

    @cached_property
    def permanent(self) -> Faked:
        """The record mechanism whose report tells as much as any number of reports of one record."""
        return Faked(tuple(fake.keep() for fake in self.fakes)) if self.repeated else self

    def ratio(self, per: Per = "record") -> Fraction:
        return self._ratios[0] if per == "record" else self._ratios[1]

    def ratio_after(self, reports: int, per: Per = "record") -> Fraction:
        """The largest ratio after this many reports of one record, whose first answers are kept."""
        whole_number("reports", reports, 1, MOST_REPORTS)
        ratio = self._find_ratios(reports)[0 if per == "record" else 1]
        return min(ratio, self.permanent.ratio(per)) if self.repeated else power_up(ratio, reports)

    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        """The losses of `permanent` and of fresh reports. If nothing is kept, every report adds its loss.

        Given which attribute is real, the fakes of the others say nothing of anybody. So reports of answers
        that change lose at most what those of a single attribute do.
        """
        one_report = self.loss()
        if not self.repeated:
            return lose_each_time(one_report, reports, rounds)
        losses = [part.losses(reports, rounds) for part in self.parts]
        return Losses(
            one_report=one_report,
            same_value=log_up(self.ratio_after(reports)),
            one_value_forever=self.permanent.loss(),
            changing_values=one_report if rounds == 1 else max(figures.changing_values for figures in losses),
            changing_values_usual=max(figures.changing_values_usual for figures in losses),
            reports=reports,
            rounds=rounds,
            changing_values_exact=rounds == 1,
        )

    @cached_property
    def _ratios(self) -> tuple[Fraction, Fraction]:
        return self._find_ratios(1)

    def _find_ratios(self, reports: int) -> tuple[Fraction, Fraction]:
        """Per record and per attribute, of this many reports of what is kept; of one, where nothing is."""
        evidence = [fake.evidence(reports) for fake in self.fakes]
        if self.d > _MOST_EXACT:
            evidence = list(map(_shorten, evidence))
        fewest, most = cell(self.d)  # the words of an attribute: not quite as many for each
        slack = max(fake.slack(reports) for fake in self.fakes) * Fraction(most, fewest)
        known = (cast(_Kept, part).ratio_after(reports) for part in self.parts)
        bound = max(known if self.repeated else (part.ratio for part in self.parts))
        record = min(_find_largest_ratio(evidence) * slack, bound)
        return record, min(_find_largest_single_ratio(evidence) * slack, record)

    def marginal(self, attribute: int) -> Marginal:
        if attribute not in self._marginals:
            self._marginals[attribute] = _make_marginal(self.fakes[attribute], self.d)
        return self._marginals[attribute]

    @cached_property
    def _marginals(self) -> dict[int, Marginal]:
        """The marginals that were asked for before, by attribute."""
        return {}

    @property
    def acronym(self) -> str:
        return "RS+RFD" if any(fake.has_prior for fake in self.fakes) else "RS+FD"

    @property
    def references(self) -> tuple[str, ...]:
        known = super().references
        return (*known, "arcolezi2023") if any(fake.has_prior for fake in self.fakes) else known

    def describe_reported(self, names: Sequence[str]) -> str:
        quoted = quote_names(names)
        return f"one of {quoted}, drawn at random and not named, among fakes of the others ({self.acronym})"

    def explain(self, names: Sequence[str]) -> str:
        return (
            f"Each person reports one attribute of {self.d}, drawn at random and not named; the others are "
            f"fakes ({self.acronym})."
        )

    def fake(self, attribute: int) -> Fake:
        return self.fakes[attribute]

    def chance_real(self, attribute: int) -> Fraction:
        return Fraction(1, self.d)

    def source(self, attribute: int) -> Marginal:
        return self.marginal(attribute)

    def drop_claim(self) -> Faked:
        return replace(self, claim=None)

    def sampled_attribute(self, rows: Rows) -> Integers:
        """Which attribute each row of words reports: a secret of the person, who alone has the words."""
        return draw_attributes(rows.columns(0, 1).recall(), self.d)[:, 0].astype(np.int64)

    def encode(self, columns: Integers, rows: Rows) -> Records:
        groups = group_people(draw_attributes(rows.columns(0, 1).recall(), self.d)[:, 0], columns)
        reports, start = [], 1
        for j, (fake, width) in enumerate(zip(self.fakes, self._widths, strict=True)):
            who, values = groups[j]
            reports_of_part = fake.encode(rows.columns(start, start + fake.words).key_noise(j))
            words = rows.pick(who).columns(start, start + fake.part.words)
            reports_of_part[who] = fake.part.encode(values, words.key_noise(j, values))
            reports.append(reports_of_part)
            start += width
        return Records(rows.n, tuple(reports))


def _make_marginal(fake: Fake, d: int) -> Marginal:
    """The law of an attribute's reports, of which one in d is real."""
    law = fake.part.law
    return Marginal(
        law.k,
        (law.p + (d - 1) * fake.supported) / d,
        (law.q + (d - 1) * fake.supported) / d,
        law.gain / d,
        Mixed(law.pairs, 1 / d, fake.square),
    )


_MOST_EXACT = 16  # attributes whose fractions are summed as they are
_BITS = 512  # evidence is from 2^-160 to 2^160, so that this leaves more than 300 bits of each


def _shorten(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Evidence in units of 2^-512, one rounded up and the other down: what is lost is never understated.

    Exact sums of thousands of different fractions would take minutes.
    """
    unit = Fraction(1, 1 << _BITS)
    return [Evidence(ceil(larger / unit) * unit, floor(other / unit) * unit) for larger, other in evidence]


def _find_largest_ratio(evidence: Sequence[Sequence[Evidence]]) -> Fraction:
    """The largest (sum of ones) / (sum of others), a pair from each attribute, exactly (Dinkelbach)."""
    ratio = Fraction(1)
    while True:
        chosen = [max(pairs, key=lambda pair: pair.first - ratio * pair.other) for pairs in evidence]
        better = sum((pair.first for pair in chosen), Fraction(0)) / sum(pair.other for pair in chosen)
        if better <= ratio:
            return ratio
        ratio = better


def _find_largest_single_ratio(evidence: Sequence[Sequence[Evidence]]) -> Fraction:
    """The largest ratio where one attribute changes, and the others say as little as they can."""
    least = [min(pair.other for pair in pairs) for pairs in evidence]
    total = sum(least)
    worst = Fraction(1)
    for smallest, pairs in zip(least, evidence, strict=True):
        rest = total - smallest
        worst = max(worst, max((pair.first + rest) / (pair.other + rest) for pair in pairs))
    return worst
