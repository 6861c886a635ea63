"""Reports every part of a record, each with its own part of the budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable.law import Marginal
from deniable.law.law import ReportLaw
from deniable.mechanisms import Losses, Mechanism
from deniable.mechanisms.losses import add_losses
from deniable.randomness.words import Rows
from deniable.records.base import Figure, Per, RecordMechanism, list_parts, quote_names
from deniable.records.fakes import Fake
from deniable.records.reports import Cut, Records
from deniable.records.single import as_record_mechanism


@final
@dataclass(frozen=True)
class Split(RecordMechanism):
    """Every part is reported, each with its own part of the budget (SPL).

    A part is the mechanism of one attribute, or a record mechanism of several: a `Sample` or a `Faked`. The
    parts are independent, so that their ratios per record multiply, and per attribute the largest counts.

    >>> from deniable import grr
    >>> from deniable.records import Sample
    >>> m = Split((grr(4, 1.0), Sample((grr(3, 0.5), grr(2, 0.5)))))
    >>> m.d, m.reported, round(m.loss(), 4), round(m.loss(per="attribute"), 4)
    (3, 2, 1.5, 1.0)
    """

    kind = "split"
    takes_records = True

    parts: tuple[Mechanism | RecordMechanism, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", list_parts(self.parts))
        if len(self.parts) < 2:
            raise InvalidParameter(
                f"a split needs at least two parts, got {len(self.parts)}; use the part itself for one",
                "parts",
            )
        for part in self.parts:
            if isinstance(part, RecordMechanism) and not part.nests:
                raise InvalidParameter(
                    f"a part of a split is a mechanism, a sample or a faked one, got a {part.kind}; write "
                    "its parts directly"
                )
        len(self._members)  # made now, so that what is wrong with a part is said now

    @cached_property
    def _members(self) -> tuple[RecordMechanism, ...]:
        """The parts, each of them a record mechanism."""
        return tuple(map(as_record_mechanism, self.parts))

    @cached_property
    def _owners(self) -> tuple[tuple[RecordMechanism, int], ...]:
        """For each attribute, the part that reports it, and its number there."""
        return tuple((member, j) for member in self._members for j in range(member.d))

    @cached_property
    def members(self) -> tuple[tuple[RecordMechanism, int, int], ...]:
        parts, first, start = [], 0, 0
        for member in self._members:
            parts.append((member, first, start))
            first += member.d
            start += member.words
        return tuple(parts)

    @cached_property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        return tuple(mechanism for member in self._members for mechanism in member.mechanisms)

    @property
    def reported(self) -> int:
        return sum(member.reported for member in self._members)

    @property
    def phrase(self) -> str:
        return f"{'all' if self.reported == self.d else f'{self.reported} of'} {self.d} attributes"

    @property
    def words(self) -> int:
        return sum(member.words for member in self._members)

    def ratio(self, per: Per = "record") -> Fraction:
        return _combine([member.ratio(per) for member in self._members], per)

    def ratio_among(self, attributes: Sequence[bool], per: Per = "record") -> Fraction:
        pairs = ((member, attributes[first : first + member.d]) for member, first, _ in self.members)
        return _combine([member.ratio_among(among, per) for member, among in pairs], per)

    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        return add_losses([member.losses(reports, rounds) for member in self._members])

    def select_largest(self, figures: Sequence[Figure]) -> list[Figure]:
        return [
            figure
            for member, first, _ in self.members
            for figure in member.select_largest(figures[first : first + member.d])
        ]

    def marginal(self, attribute: int) -> ReportLaw:
        member, j = self._owners[attribute]
        return member.marginal(j)

    def chance(self, attribute: int) -> Fraction:
        member, j = self._owners[attribute]
        return member.chance(j)

    def fake(self, attribute: int) -> Fake | None:
        member, j = self._owners[attribute]
        return member.fake(j)

    @property
    def acronym(self) -> str:
        inside = dict.fromkeys(member.acronym for member in self._members if member.acronym)
        return "+".join(["SPL", *inside])

    @property
    def references(self) -> tuple[str, ...]:
        inside = (key for member in self._members for key in member.references)
        return tuple(dict.fromkeys([*super().references, *inside]))

    def describe_reported(self, names: Sequence[str]) -> str:
        """The attributes that everybody reports, then what each part with several attributes reports."""
        parts = [(member, names[first : first + member.d]) for member, first, _ in self.members]
        everybody = [names_of_part[0] for member, names_of_part in parts if member.d == 1]
        several = [member.describe_reported(names_of_part) for member, names_of_part in parts if member.d > 1]
        phrases = [*([quote_names(everybody)] if everybody else []), *several]
        if len(phrases) < 3:
            return ", and ".join(phrases)
        return "; ".join([*phrases[:-1], f"and {phrases[-1]}"])

    def explain(self, names: Sequence[str]) -> str:
        if all(member.d == 1 for member in self._members):
            return "Each person reports all attributes, each with a part of the budget (SPL)."
        return super().explain(names)

    def chance_real(self, attribute: int) -> Fraction:
        member, j = self._owners[attribute]
        return member.chance_real(j)

    def source(self, attribute: int) -> Mechanism | Marginal:
        member, j = self._owners[attribute]
        return member.source(j)

    def drop_claim(self) -> Split:
        kept = (part.drop_claim() if isinstance(part, RecordMechanism) else part for part in self.parts)
        return replace(self, parts=tuple(kept))

    @property
    def name_bytes(self) -> int:
        return sum(member.name_bytes for member in self._members)

    def draw_reported(self, rows: Rows) -> npt.NDArray[np.bool_]:
        parts = [
            member.draw_reported(rows.columns(start, start + member.words))
            for member, _, start in self.members
        ]
        return np.concatenate(parts)

    def encode(self, columns: Integers, rows: Rows) -> Records:
        pieces = []
        for member, first, start in self.members:
            words = rows.columns(start, start + member.words).shift_attributes(first)
            pieces.append(member.encode(columns[first : first + member.d], words))
        return Records.join(rows.n, pieces)

    def to_bodies(self, records: Records) -> list[bytes]:
        if self.reports_all:
            return super().to_bodies(records)
        bodies_of_parts = [
            member.to_bodies(records.select(first, first + member.d)) for member, first, _ in self.members
        ]
        return [b"".join(pieces) for pieces in zip(*bodies_of_parts, strict=True)]

    def join_body(self, pieces: Sequence[bytes | None]) -> bytes:
        return b"".join(
            member.join_body(pieces[first : first + member.d]) for member, first, _ in self.members
        )

    def cut_bodies(self, bodies: Sequence[bytes], cut: Cut, first: int) -> Iterator[Cut]:
        cuts = [cut]
        for member, start, _ in self.members:
            cuts = [
                longer
                for cut_before in cuts
                for longer in member.cut_bodies(bodies, cut_before, first + start)
            ]
        yield from cuts

    def can_hold(self, present: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        holds = [member.can_hold(present[first : first + member.d]) for member, first, _ in self.members]
        return np.asarray(np.logical_and.reduce(holds))


def _combine(ratios: Sequence[Fraction], per: Per) -> Fraction:
    """The ratio of independent reports together."""
    return max(ratios) if per == "attribute" else Fraction(prod(ratios))
