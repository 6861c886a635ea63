"""Reports some attributes of a record, which are drawn at random and named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd, prod
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.formatting import format_count, format_percent
from deniable.mechanisms import Mechanism
from deniable.mechanisms.blocks import worth_compiling
from deniable.mechanisms.checks import in_domain
from deniable.randomness import below
from deniable.randomness.words import Rows
from deniable.records.base import Figure, Per, RecordMechanism, check_parts, quote_names
from deniable.records.reports import Cut, Records, Span, cut_evenly

MOST_WEIGHT = 1 << 16
"""How large all weights together are at most: a device looks up the attribute in a table of this length."""
_SHOWN = 6  # attributes whose chances a sentence has


@final
@dataclass(frozen=True)
class Sample(RecordMechanism):
    """Some attributes, drawn at random and named in the report, are reported (SMP: one of them).

    One attribute can be drawn by `weights`: whole numbers, of which each attribute's part of their sum is its
    chance. They have no common divisor, and are None where all are equal, so that there is one way to say it.

    >>> from deniable import grr
    >>> m = Sample((grr(4, 1.0), grr(2, 1.0)), weights=(6, 2))
    >>> m.weights, str(m.chance(0)), round(m.loss(), 4)
    ((3, 1), '3/4', 1.0)
    """

    kind = "sample"
    numbers = ("reported",)
    lists = ("weights",)
    nests = True
    _reads_all = False

    parts: tuple[Mechanism, ...] = ()
    reported: int = 1
    """How many attributes a report holds."""
    weights: tuple[int, ...] | None = None
    """How often each attribute is drawn, where not all are drawn equally often."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", check_parts(self.parts))
        what = "reported, the number of attributes in a report,"
        reported = whole_number(what, self.reported, 1, self.d, reason="reported")
        object.__setattr__(self, "reported", reported)
        object.__setattr__(self, "weights", self._reduced_weights())

    def _reduced_weights(self) -> tuple[int, ...] | None:
        """The weights without a common divisor; None where all are equal."""
        if self.weights is None:
            return None
        if self.reported != 1:
            text = f"weights are for one attribute a report, got reported = {self.reported}; leave them out"
            raise InvalidParameter(text, "weights")
        if not isinstance(self.weights, Iterable) or isinstance(self.weights, str | Mapping):
            raise InvalidParameter(f"weights are a list of whole numbers, got {self.weights!r}", "weights")
        what = "a weight, how often an attribute is drawn,"
        weights = tuple(whole_number(what, weight, 1, reason="weights") for weight in self.weights)
        if len(weights) != self.d:
            text = f"there are {self.d} attributes, got {format_count(len(weights), 'weight')}"
            raise InvalidParameter(text, "weights")
        divisor = gcd(*weights)
        weights = tuple(weight // divisor for weight in weights)
        if sum(weights) > MOST_WEIGHT:
            text = (
                f"weights add up to at most {MOST_WEIGHT:,} without their common divisor, got "
                f"{sum(weights):,}; round them"
            )
            raise InvalidParameter(text, "weights")
        return None if len(set(weights)) == 1 else weights

    @property
    def phrase(self) -> str:
        return f"{self.reported} of {self.d} attributes, drawn at random{self._chances(None)} and named"

    def _chances(self, names: Sequence[str] | None) -> str:
        """How likely each attribute is, in words that follow "drawn at random"; empty where all are alike."""
        if self.weights is None:
            return ""
        chances = [format_percent(float(self.chance(j)), 1) for j in range(min(self.d, _SHOWN))]
        if names is not None:
            chances = [f"{name!r} {chance}" for name, chance in zip(names, chances, strict=False)]
        more = ["..."] if self.d > _SHOWN else []
        return f" ({', '.join([*chances, *more])})"

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

    def chance(self, attribute: int) -> Fraction:
        if self.weights is None:
            return Fraction(self.reported, self.d)
        return Fraction(self.weights[attribute], sum(self.weights))

    @property
    def acronym(self) -> str:
        return "SMP" if self.reported == 1 else f"SMP-{self.reported}"

    def describe_reported(self, names: Sequence[str]) -> str:
        number = "one" if self.reported == 1 else f"{self.reported}"
        how = f"drawn at random{self._chances(names)} and named in the report (SMP)"
        return f"{number} of {quote_names(names)}, {how}"

    def explain(self, names: Sequence[str]) -> str:
        number = "one attribute" if self.reported == 1 else f"{self.reported} attributes"
        attributes = f"{number} of {self.d}, drawn at random{self._chances(names)} and named in the report"
        return f"Each person reports {attributes} ({self.acronym})."

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
        attributes = [j for j, piece in enumerate(pieces) if piece is not None]
        return np.array(attributes, dtype=self._name_type).tobytes() + super().join_body(pieces)

    def cut_bodies(self, bodies: Sequence[bytes], cut: Cut, first: int) -> Iterator[Cut]:
        """By the attributes that they name: there are few, and bodies that name the same are cut at once."""
        start = cut.end + self.name_bytes
        groups: dict[bytes, list[int]] = {}
        for i in cut.who.tolist():
            groups.setdefault(bodies[i][cut.end : start], []).append(i)
        for head, who in groups.items():
            if len(head) < self.name_bytes:
                continue
            attributes = np.frombuffer(head, dtype=self._name_type).tolist()
            if attributes[-1] >= self.d or any(a >= b for a, b in pairwise(attributes)):
                continue
            spans, end = list(cut.spans), start
            for j in attributes:
                spans.append(Span(first + j, end, end + self.parts[j].report_bytes))
                end += self.parts[j].report_bytes
            yield Cut(np.array(who, dtype=np.int64), tuple(spans), end)

    def can_hold(self, present: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        return np.asarray(present.sum(axis=0) == self.reported)

    def _draw(self, rows: Rows) -> npt.NDArray[np.unsignedinteger]:
        """Each row's attributes."""
        first = rows.columns(0, self.reported).recall()
        return draw_attributes(first, self.d) if self.weights is None else draw_weighted(first, self.weights)

    def draw_reported(self, rows: Rows) -> npt.NDArray[np.bool_]:
        is_held = np.zeros((self.d, rows.n), dtype=np.bool_)
        for attributes in self._draw(rows).T:
            is_held[attributes, np.arange(rows.n)] = True
        return is_held

    def encode(self, columns: Integers, rows: Rows) -> Records:
        picked = self._draw(rows)
        room = self.words // self.reported - 1
        groups = [group_people(picked[:, draw], columns) for draw in range(self.reported)]
        reports, reporters = [], []
        for j, part in enumerate(self.parts):
            blocks = []
            for draw in range(self.reported):
                (who, values), start = groups[draw][j], self.reported + draw * room
                checked = in_domain(values, part.k)  # the table itself may have changed since it was checked
                words_of_reporters = rows.pick(who).columns(start, start + part.words)
                blocks.append(part.encode(checked, words_of_reporters.key_noise(j, checked)))
            who = np.concatenate([group[j][0] for group in groups])
            order = np.argsort(who, kind="stable") if self.reported > 1 else slice(None)
            reports.append(np.concatenate(blocks)[order])
            reporters.append(who[order])
        return Records(rows.n, tuple(reports), tuple(reporters))


def count_name_bytes(reported: int, d: int) -> int:
    """How many bytes it takes to name this many of d attributes."""
    return reported * (((d - 1).bit_length() + 7) // 8)


def group_people(attributes: npt.NDArray[np.integer], columns: Integers) -> list[tuple[Integers, Integers]]:
    """For each attribute, who picked it, in order, and the values they have there."""
    if not worth_compiling(attributes.size, 1):
        d = len(columns)
        order = np.argsort(attributes, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(attributes, minlength=d))[:-1])
        return [(who, values[who]) for who, values in zip(groups, columns, strict=True)]
    from deniable.randomness import kernels

    who = np.empty(attributes.size, np.int64)
    values = np.empty(attributes.size, np.int64)
    ends = np.empty(len(columns), np.int64)
    kernels.group(attributes, columns, ends, who, values)
    return list(zip(np.split(who, ends[:-1]), np.split(values, ends[:-1]), strict=True))


def draw_weighted(rows: Rows, weights: Sequence[int]) -> npt.NDArray[np.unsignedinteger]:
    """Each row's one attribute: as likely as its weight, of the sum of all."""
    owners = np.arange(len(weights), dtype=_name_type(len(weights)))
    table = np.repeat(owners, weights)
    return np.asarray(table[draw_attributes(rows, table.size)])


def _name_type(d: int) -> type[np.uint8 | np.uint32]:
    return np.uint8 if d <= 256 else np.uint32


def draw_attributes(rows: Rows, d: int) -> npt.NDArray[np.unsignedinteger]:
    """Each row's attributes, all different, by Floyd's sampling."""
    attributes = np.empty((rows.n, rows.width), dtype=_name_type(d))
    if worth_compiling(rows.n, rows.width):
        from deniable.randomness import kernels

        kernels.draw_attributes(rows.address(), np.uint64(d), attributes)
        return attributes
    words = rows.array()
    for draw in range(rows.width):
        last = d - rows.width + draw
        drawn_attributes = below(words[:, draw], last + 1)
        taken = (attributes[:, :draw] == drawn_attributes[:, None]).any(axis=1)
        attributes[:, draw] = np.where(taken, last, drawn_attributes)
    return attributes
