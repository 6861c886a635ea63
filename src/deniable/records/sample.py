"""Reports some attributes of a record, which are drawn at random and named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.exact import whole_number
from deniable.law import ReportLaw
from deniable.mechanisms import ExactMechanism, in_domain
from deniable.records.base import Figure, Per, RecordMechanism, check_parts, quote_names
from deniable.records.reports import Cut, Records, Span, cut_evenly
from deniable.records.sampling import draw_attributes, group_people
from deniable.words import Rows


@final
@dataclass(frozen=True)
class Sample(RecordMechanism):
    """Some attributes, drawn at random and named in the report, are reported (SMP: one of them)."""

    kind = "sample"
    numbers = ("reported",)
    nests = True
    _reads_all = False

    parts: tuple[ExactMechanism, ...] = ()
    reported: int = 1
    """How many attributes a report holds."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", check_parts(self.parts))
        what = "reported, the number of attributes in a report,"
        reported = whole_number(what, self.reported, 1, self.d, reason="reported")
        object.__setattr__(self, "reported", reported)

    @staticmethod
    def build(members: Sequence[Any], **numbers: int) -> Sample:
        return Sample(tuple(members), **numbers)

    @property
    def mechanisms(self) -> tuple[ExactMechanism, ...]:
        return self.parts

    @property
    def phrase(self) -> str:
        return f"{self.reported} of {self.d} attributes, drawn at random and named"

    @property
    def words(self) -> int:
        return self.reported * (1 + max(part.words for part in self.parts))

    def ratio(self, per: Per = "record") -> Fraction:
        """Which attributes are named does not depend on the record, so only those that are reported count."""
        return self.ratio_among((True,) * self.d, per)

    def ratio_among(self, attributes: Sequence[bool], per: Per = "record") -> Fraction:
        pairs = zip(self.parts, attributes, strict=True)
        ratios = [part.ratio if among else Fraction(1) for part, among in pairs]
        return max(ratios) if per == "attribute" else Fraction(prod(self.select_largest(ratios)))

    def select_largest(self, figures: Sequence[Figure]) -> list[Figure]:
        return sorted(figures, reverse=True)[: self.reported]

    def marginal(self, attribute: int) -> ReportLaw:
        return self.parts[attribute].law

    def chance(self, attribute: int) -> Fraction:
        return Fraction(self.reported, self.d)

    @property
    def acronym(self) -> str:
        return "SMP" if self.reported == 1 else f"SMP-{self.reported}"

    def describe_reported(self, names: Sequence[str]) -> str:
        number = "one" if self.reported == 1 else f"{self.reported}"
        return f"{number} of {quote_names(names)}, drawn at random and named in the report (SMP)"

    def explain(self, names: Sequence[str]) -> str:
        number = "one attribute" if self.reported == 1 else f"{self.reported} attributes"
        drawn = f"{number} of {self.d}, drawn at random and named in the report"
        return f"Each person reports {drawn} ({self.acronym})."

    @property
    def name_bytes(self) -> int:
        return count_name_bytes(self.reported, self.d)

    @property
    def _name_type(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The integers that name attributes in bytes."""
        return np.dtype("<u1" if self.d <= 256 else "<u2")

    def to_bodies(self, records: Records) -> list[bytes]:
        assert records.reporters is not None
        names: list[list[bytes]] = [[] for _ in range(records.n)]
        said: list[list[bytes]] = [[] for _ in range(records.n)]
        for j, (who, column) in enumerate(zip(records.reporters, records.columns, strict=True)):
            name = np.array(j, dtype=self._name_type).tobytes()
            rows = cut_evenly(np.ascontiguousarray(column).tobytes(), self.parts[j].report_bytes)
            for i, row in zip(who.tolist(), rows, strict=True):
                names[i].append(name)
                said[i].append(row)
        return [b"".join(name + part) for name, part in zip(names, said, strict=True)]

    def join_body(self, pieces: Sequence[bytes | None]) -> bytes:
        named = [j for j, piece in enumerate(pieces) if piece is not None]
        return np.array(named, dtype=self._name_type).tobytes() + super().join_body(pieces)

    def cut_bodies(self, bodies: Sequence[bytes], cut: Cut, first: int) -> Iterator[Cut]:
        """By the attributes that they name: there are few, and bodies that name the same are cut at once."""
        start = cut.end + self.name_bytes
        groups: dict[bytes, list[int]] = {}
        for i in cut.who.tolist():
            groups.setdefault(bodies[i][cut.end : start], []).append(i)
        for head, who in groups.items():
            if len(head) < self.name_bytes:
                continue
            named = np.frombuffer(head, dtype=self._name_type).tolist()
            if named[-1] >= self.d or any(a >= b for a, b in pairwise(named)):
                continue
            spans, end = list(cut.spans), start
            for j in named:
                spans.append(Span(first + j, end, end + self.parts[j].report_bytes))
                end += self.parts[j].report_bytes
            yield Cut(np.array(who, dtype=np.int64), tuple(spans), end)

    def can_hold(self, here: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        return np.asarray(here.sum(axis=0) == self.reported)

    def encode(self, columns: Integers, rows: Rows) -> Records:
        picked = draw_attributes(rows.columns(0, self.reported).recall(), self.d)
        room = self.words // self.reported - 1
        groups = [group_people(picked[:, draw], columns) for draw in range(self.reported)]
        reports, reporters = [], []
        for j, part in enumerate(self.parts):
            made = []
            for draw in range(self.reported):
                (who, values), start = groups[draw][j], self.reported + draw * room
                checked = in_domain(values, part.k)  # the table itself may have changed since it was checked
                own = rows.pick(who).columns(start, start + part.words)
                made.append(part.encode(checked, own.key_noise(j, checked)))
            who = np.concatenate([group[j][0] for group in groups])
            order = np.argsort(who, kind="stable") if self.reported > 1 else slice(None)
            reports.append(np.concatenate(made)[order])
            reporters.append(who[order])
        return Records(rows.n, tuple(reports), tuple(reporters))


def count_name_bytes(reported: int, d: int) -> int:
    """How many bytes it takes to name this many of d attributes."""
    return reported * (((d - 1).bit_length() + 7) // 8)
