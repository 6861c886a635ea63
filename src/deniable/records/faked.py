"""Reports one attribute of a record among fakes of the others, without naming it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable.law import Marginal, Mixed
from deniable.mechanisms import ExactMechanism
from deniable.records.base import Per, RecordMechanism, check_parts, list_parts, quote_names
from deniable.records.fakes import Evidence, Fake
from deniable.records.reports import Records
from deniable.records.sampling import draw_attributes, group_people
from deniable.words import Rows, cell


@final
@dataclass(frozen=True)
class Faked(RecordMechanism):
    """One attribute, drawn at random and not named, is reported; the others are fakes (RS+FD, RS+RFD).

    Fakes cancel from every ratio: what is left is a sum, over the attributes, of how much likelier each
    report is from this person than from its fake. So the loss per record is that of the parts, whatever the
    fakes are.
    """

    kind = "faked"
    part_field = "fakes"
    nests = True
    _reads_all = True

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
                    f"a part of Faked is a fake, such as dn.Blank(mechanism), got {type(fake).__name__}"
                )
        check_parts(self.parts)

    @staticmethod
    def build(members: Sequence[Any], **_numbers: Any) -> Faked:
        return Faked(tuple(members))

    @cached_property
    def parts(self) -> tuple[ExactMechanism, ...]:
        return tuple(fake.part for fake in self.fakes)

    @property
    def mechanisms(self) -> tuple[ExactMechanism, ...]:
        return self.parts

    @property
    def _widths(self) -> list[int]:
        return [max(fake.words, fake.part.words) for fake in self.fakes]

    @property
    def phrase(self) -> str:
        return f"all {self.d} attributes, one real and not named, the others fakes"

    @property
    def words(self) -> int:
        return 1 + sum(self._widths)

    def ratio(self, per: Per = "record") -> Fraction:
        return self._ratios[0] if per == "record" else self._ratios[1]

    def ratio_among(self, attributes: Sequence[bool], per: Per = "record") -> Fraction:
        return self.ratio(per) if any(attributes) else Fraction(1)

    @cached_property
    def _ratios(self) -> tuple[Fraction, Fraction]:
        evidence = [fake.evidence() for fake in self.fakes]
        fewest, most = cell(self.d)  # the words of an attribute: not quite as many for each
        slack = max(fake.slack for fake in self.fakes) * Fraction(most, fewest)
        record = min(_find_largest_ratio(evidence) * slack, max(part.ratio for part in self.parts))
        return record, min(_find_largest_single_ratio(evidence) * slack, record)

    def marginal(self, attribute: int) -> Marginal:
        if attribute not in self._marginals:
            self._marginals[attribute] = _make_marginal(self.fakes[attribute], self.d)
        return self._marginals[attribute]

    @cached_property
    def _marginals(self) -> dict[int, Marginal]:
        """Those that were asked for."""
        return {}

    @property
    def acronym(self) -> str:
        return "RS+RFD" if any(fake.has_prior for fake in self.fakes) else "RS+FD"

    @property
    def references(self) -> tuple[str, ...]:
        known = super().references
        return (*known, "arcolezi2023") if any(fake.has_prior for fake in self.fakes) else known

    def describe_reported(self, names: Sequence[str]) -> str:
        some = quote_names(names)
        return f"one of {some}, drawn at random and not named, among fakes of the others ({self.acronym})"

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
            made = fake.encode(rows.columns(start, start + fake.words).key_noise(j))
            own = rows.pick(who).columns(start, start + fake.part.words)
            made[who] = fake.part.encode(values, own.key_noise(j, values))
            reports.append(made)
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


def _find_largest_ratio(evidence: Sequence[Sequence[Evidence]]) -> Fraction:
    """The largest (sum of ones) / (sum of others), a pair from each attribute, exactly (Dinkelbach)."""
    ratio = Fraction(1)
    while True:
        chosen = [max(pairs, key=lambda pair: pair.one - ratio * pair.other) for pairs in evidence]
        better = sum((pair.one for pair in chosen), Fraction(0)) / sum(pair.other for pair in chosen)
        if better <= ratio:
            return ratio
        ratio = better


def _find_largest_single_ratio(evidence: Sequence[Sequence[Evidence]]) -> Fraction:
    """The same where one attribute changes and the others, which do not, say as little as they can."""
    least = [min(min(pair) for pair in pairs) for pairs in evidence]
    worst = Fraction(1)
    for j, pairs in enumerate(evidence):
        rest = sum(least) - least[j]
        worst = max(worst, max((pair.one + rest) / (pair.other + rest) for pair in pairs))
    return worst
