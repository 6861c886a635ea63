"""Defines how one record of many attributes becomes one report, and what that report gives away.

There are two guarantees, and they differ: per record compares any two people, per attribute two people who
differ in one attribute only. One answer to a question may be several attributes: that is for plans to count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeVar, cast, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter, InvalidReport, InvalidValue
from deniable.exact import log_up, whole_number
from deniable.formatting import Printed, format_count, format_loss
from deniable.law import Marginal
from deniable.law.law import ReportLaw
from deniable.mechanisms import Losses, Mechanism, Tally, checked_values
from deniable.mechanisms.base import Per as Per
from deniable.mechanisms.base import checked_per
from deniable.mechanisms.checks import integers, refuse_masked
from deniable.mechanisms.losses import add_losses
from deniable.randomness import Words, checked_source
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows
from deniable.records.fakes import Fake
from deniable.records.reports import Cut, Records, Span, cut_evenly, join_pieces

Figure = TypeVar("Figure", int, float, Fraction)
_DESCRIBED = 12  # attributes with a line each
_NAMED = 6  # attributes that a sentence names
_ROWS = 128  # rows of a table that are compared at a time


class RecordMechanism(Printed, ABC):
    """A read-only recipe for records: one mechanism per attribute, and a guarantee that is computed."""

    kind: ClassVar[str]
    """What it is called in a plan."""
    part_field: ClassVar[str] = "parts"
    """What its parts are called in a plan; empty where its numbers say everything."""
    numbers: ClassVar[tuple[str, ...]] = ()
    """The numbers that a plan holds in addition to its parts, by name."""
    lists: ClassVar[tuple[str, ...]] = ()
    """The lists of numbers that a plan holds too, by name, where they are not None."""
    thresholds: ClassVar[tuple[str, ...]] = ()
    """The thresholds that a plan holds too, by name."""
    nests: ClassVar[bool] = False
    """Whether it can be a part of a split."""
    takes_records: ClassVar[bool] = False
    """Whether its parts can be record mechanisms."""
    _reads_all: ClassVar[bool] = True
    """Whether most answers of a record are read: then a table is turned into columns first."""

    @classmethod
    def build(cls, members: Sequence[Any], **numbers: Any) -> RecordMechanism:
        """One of this kind from its parts, as a plan lists them, its numbers and lists of numbers."""
        return cls(*([tuple(members)] if cls.part_field else []), **numbers)

    @property
    @abstractmethod
    def parts(self) -> tuple[Mechanism | RecordMechanism, ...]:
        """What it is put together from, in order."""

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanism of each attribute, in order."""
        return cast("tuple[Mechanism, ...]", self.parts)

    @property
    def members(self) -> tuple[tuple[RecordMechanism, int, int], ...]:
        """The independent parts of a report, each with the number of its first attribute and first word."""
        return ((self, 0, 0),)

    @property
    def reported(self) -> int:
        """How many attributes a report holds."""
        return self.d

    @property
    @abstractmethod
    def words(self) -> int:
        """How many 64-bit words one record takes."""

    @abstractmethod
    def ratio(self, per: Per = "record") -> Fraction:
        """The largest ratio of two people's probabilities of one report: any two, or one attribute apart."""

    def marginal(self, attribute: int) -> ReportLaw:
        """The law by which one attribute is estimated."""
        return self.mechanisms[attribute].law

    def chance(self, attribute: int) -> Fraction:
        """How likely a report holds this attribute."""
        return Fraction(1)

    def fake(self, attribute: int) -> Fake | None:
        """What a report holds for this attribute where another is real; None where there are no fakes."""
        return None

    def chance_real(self, attribute: int) -> Fraction:
        """How likely a report holds this attribute, made from the person's answer and not a fake."""
        return self.chance(attribute)

    def source(self, attribute: int) -> Mechanism | Marginal:
        """What the likelihood of an attribute's reports comes from: its mechanism, or a law with fakes."""
        return self.mechanisms[attribute]

    def ratio_among(self, attributes: Sequence[bool], per: Per = "record") -> Fraction:
        """A bound on the ratio for people who differ in these attributes only: exact without fakes."""
        return self.ratio(per) if any(attributes) else Fraction(1)

    def select_largest(self, figures: Sequence[Figure]) -> list[Figure]:
        """The figures, one per attribute, that one report can hold and whose sum is the largest."""
        return list(figures)

    @property
    def repeated(self) -> bool:
        """Whether it is made for asking again: part of its words are kept."""
        return any(part.repeated for part in self.mechanisms)

    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        """What a person's reports give away together, with `reports` reports of one record and `rounds`
        reports of changing ones. Which attributes they hold is drawn once and kept.
        """
        losses = [part.losses(reports, rounds) for part in self.mechanisms]
        return add_losses(losses, self.select_largest)

    @property
    def name_bytes(self) -> int:
        """How many bytes of a report name the attributes that it holds."""
        return 0

    @final
    @property
    def reports_all(self) -> bool:
        """Whether every report holds all attributes, and so names none."""
        return self.reported == self.d and not self.name_bytes

    @final
    @cached_property
    def lengths(self) -> range:
        """How many bytes a report can have; with sampled attributes, some lengths are impossible."""
        sizes = [part.report_bytes for part in self.mechanisms]
        least = -sum(self.select_largest([-size for size in sizes]))
        most = sum(self.select_largest(sizes))
        return range(self.name_bytes + least, self.name_bytes + most + 1)

    @cached_property
    def _layout(self) -> np.dtype[np.void]:
        """The reports of all attributes, one after the other."""
        blanks = [part.blank(0) for part in self.mechanisms]
        return np.dtype([(f"part {j}", like.dtype, like.shape[1:]) for j, like in enumerate(blanks)])

    def to_bodies(self, records: Records) -> list[bytes]:
        """The bytes of each record's report, without a header (spec/wire.md)."""
        joined = np.empty(records.n, dtype=self._layout)
        for j, column in enumerate(records.columns):
            joined[f"part {j}"] = column
        return cut_evenly(joined.tobytes(), self._layout.itemsize)

    def join_body(self, pieces: Sequence[bytes | None]) -> bytes:
        """The body of one report, from the bytes of each attribute; None where that is not reported."""
        return b"".join(piece for piece in pieces if piece is not None)

    def cut_bodies(self, bodies: Sequence[bytes], cut: Cut, first: int) -> Iterator[Cut]:
        """Cut bodies further: this mechanism's reports begin where the cut ends, and its attributes are
        numbered from `first` on. Bodies that cannot be cut are left out.
        """
        spans, end = list(cut.spans), cut.end
        for j, part in enumerate(self.mechanisms):
            spans.append(Span(first + j, end, end + part.report_bytes))
            end += part.report_bytes
        yield Cut(cut.who, tuple(spans), end)

    def can_hold(self, present: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which records, one per column, can report just the attributes, one per row, that are true."""
        return np.asarray(present.all(axis=0))

    @property
    def marked(self) -> range | None:
        """How many of its yes/no answers a report can say yes to, which is value 0; None where any number."""
        return None

    @property
    def form(self) -> str:
        """What reports of all attributes together are, in words, where some cannot have been sent."""
        return ""

    @final
    def find_possible(self, columns: Sequence[Array]) -> npt.NDArray[np.bool_]:
        """Which records can be reports of its attributes together, if each column is in canonical form."""
        is_possible = np.ones(len(columns[0]), dtype=np.bool_)
        if self.marked is not None:
            yes = (np.stack(columns) == 0).sum(axis=0)
            is_possible = (yes >= self.marked[0]) & (yes <= self.marked[-1])
        return is_possible

    @final
    def from_bodies(self, bodies: Sequence[bytes]) -> tuple[Records, npt.NDArray[np.bool_]]:
        """The reports of those bodies that are in canonical form, and which they are."""
        columns, sound = self._read_bodies(bodies)
        for part, (who, column) in zip(self.mechanisms, columns, strict=True):
            sound[who[~part.canonical(column)]] = False
        for member, first, _ in self.members:
            if member.marked is not None:
                who, _ = columns[first]
                reports = [column for _, column in columns[first : first + member.d]]
                sound[who[~member.find_possible(reports)]] = False
        if not sound.all():
            bodies = [body for body, good in zip(bodies, sound.tolist(), strict=True) if good]
            columns, _ = self._read_bodies(bodies)
        reporters = None if self.reports_all else tuple(who for who, _ in columns)
        return Records(len(bodies), tuple(column for _, column in columns), reporters), sound

    def _read_bodies(
        self, bodies: Sequence[bytes]
    ) -> tuple[list[tuple[Integers, Array]], npt.NDArray[np.bool_]]:
        """For each attribute, the bodies that hold it and their reports; and which bodies could be cut."""
        if self.reports_all and set(map(len, bodies)) <= {self.lengths[0]}:
            everyone, joined = np.arange(len(bodies)), np.frombuffer(b"".join(bodies), dtype=self._layout)
            columns = [np.ascontiguousarray(joined[name]) for name in self._layout.names or ()]
            return [(everyone, column) for column in columns], np.ones(len(bodies), dtype=bool)
        lengths = np.fromiter(map(len, bodies), np.int64, len(bodies))
        sound = np.zeros(len(bodies), dtype=bool)
        pieces: list[list[tuple[Integers, Array]]] = [[] for _ in self.mechanisms]
        for cut in self.cut_bodies(bodies, Cut(np.arange(len(bodies)), (), 0), 0):
            good = cut.who[lengths[cut.who] == cut.end]
            sound[good] = True
            kept_bodies = bodies if good.size == len(bodies) else [bodies[i] for i in good.tolist()]
            table = np.frombuffer(b"".join(kept_bodies), dtype=np.uint8).reshape(good.size, cut.end)
            for span in cut.spans:
                pieces[span.attribute].append((good, table[:, span.start : span.stop]))
        return [
            join_pieces(part, pieces_of_part)
            for part, pieces_of_part in zip(self.mechanisms, pieces, strict=True)
        ], sound

    @property
    @abstractmethod
    def phrase(self) -> str:
        """Which attributes a report holds, in a few words."""

    def describe(
        self, names: Sequence[str] | None = None, known_losses: Sequence[str | None] | None = None
    ) -> str:
        """What it is: a report's content, its losses and its size; then a line for each attribute.

        The losses of some attributes may be given in words, for those who know their unit.
        """
        sizes = self.lengths
        least = "" if len(sizes) == 1 else f"{sizes[0]:,} to "
        losses = f"loss {format_loss(self.loss())} per record"
        if self.d > 1:
            losses += f" and {format_loss(self.loss('attribute'))} per attribute"
        losses += " at worst" if any(part.metric for part in self.mechanisms) else ""
        size = f"{least}{format_count(sizes[-1], 'byte')} a report"
        title = f"{self.kind.capitalize()}: {self.phrase}, {losses}, {size}"
        lines = []
        for member, first, _ in self.members:
            nested = member is not self and member.d > 1
            lines += [f"  {member.kind.capitalize()}: {member.phrase}"] if nested else []
            for j in range(first, min(first + member.d, _DESCRIBED)):
                indent = "    " if nested else "  "
                name = f"{self._names(names)[j]}{self._when(j)}"
                loss = None if known_losses is None else known_losses[j]
                lines.append(f"{indent}{name}: {self.mechanisms[j].describe(loss)}")
        more = [f"  and {self.d - _DESCRIBED} more"] if self.d > _DESCRIBED else []
        return "\n".join([title, *lines, *more])

    def _when(self, attribute: int) -> str:
        """When the numbers of an attribute hold, in words; nothing where they always do."""
        if self.chance(attribute) < 1:
            return ", if reported"
        return ", if real" if self.chance_real(attribute) < 1 else ""

    def __str__(self) -> str:
        return self.describe()

    def _names(self, names: Sequence[str] | None) -> Sequence[str]:
        if names is not None and len(names) != self.d:
            raise InvalidParameter(f"there are {self.d} attributes, got {len(names)} names")
        return [f"attribute {j}" for j in range(self.d)] if names is None else names

    def draw_reported(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Which attributes, one per row, the report of each record, one per column, will hold: no answer is
        needed to know it.
        """
        return np.ones((self.d, rows.n), dtype=np.bool_)

    @abstractmethod
    def encode(self, columns: Integers, rows: Rows) -> Records:
        """Reports of records in the domain: one row of values per attribute, one row of words each."""

    @property
    def d(self) -> int:
        """The number of attributes."""
        return len(self.mechanisms)

    @property
    @abstractmethod
    def acronym(self) -> str:
        """Its name in the papers; empty for a single attribute."""

    @property
    def references(self) -> tuple[str, ...]:
        """The papers to cite for it, by the keys of docs/references.md."""
        return ("arcolezi2021",)

    @abstractmethod
    def describe_reported(self, names: Sequence[str]) -> str:
        """What each person reports, in words that follow "each person reports"."""

    def explain(self, names: Sequence[str]) -> str:
        """What each person reports, in plain words, for attributes of these names."""
        return f"Each person reports {self.describe_reported(names)}."

    def drop_claim(self) -> RecordMechanism:
        """The mechanism without the loss that it was asked to keep."""
        return self

    @final
    def loss(self, per: Per = "record") -> float:
        """The exact epsilon of one report, rounded up, per record or per attribute."""
        checked_per(per)
        return log_up(self.ratio(per))

    @final
    def privatize(self, table: npt.ArrayLike, words: Words | None = None) -> Records:
        """One report per row of a table of integers, one column per attribute."""
        columns = self._check_columns(table)
        return self.encode(columns, checked_source(words).rows(columns.shape[1], self.words))

    @final
    def tally(self, records: Records) -> tuple[Tally, ...]:
        """Count each attribute's reports."""
        if not isinstance(records, Records):
            raise InvalidReport(
                "a record mechanism counts what it has made, m.privatize(table), got "
                f"{type(records).__name__}"
            )
        if len(records.columns) != self.d:
            raise InvalidReport(
                f"these records have {len(records.columns)} attributes, the record mechanism has {self.d}"
            )
        tallies = tuple(
            part.tally(column) for part, column in zip(self.mechanisms, records.columns, strict=True)
        )
        for member, first, _ in self.members:
            if not member.find_possible(records.columns[first : first + member.d]).all():
                raise InvalidReport(f"a report is not in its canonical form: {member.form}")
        return tallies

    @final
    def tally_nothing(self) -> tuple[Tally, ...]:
        """The tallies of no reports."""
        return self.tally(Records(0, tuple(part.blank(0) for part in self.mechanisms)))

    @final
    def estimate(self, tallies: Sequence[Tally]) -> tuple[Any, ...]:
        """Unbiased frequencies with error bars, one estimate per attribute; of a number, its mean."""
        if not isinstance(tallies, Sequence):
            raise InvalidReport(
                f"estimates are made from tallies, m.estimate(m.tally(records)), got {type(tallies).__name__}"
            )
        if len(tallies) != self.d:
            raise InvalidReport(
                f"there are {len(tallies)} tallies, the record mechanism has {self.d} attributes"
            )
        return tuple(
            part.estimated(tally, self.marginal(j))
            for j, (part, tally) in enumerate(zip(self.mechanisms, tallies, strict=True))
        )

    def _check_columns(self, table: npt.ArrayLike) -> Integers:
        """The table as one row of integers per attribute; copied, unless most of it is not read."""
        refuse_masked(table)
        try:
            array = np.asarray(table)
        except (ValueError, TypeError) as problem:
            raise InvalidValue(
                f"a table has a row per record and {self.d} columns of integers: {problem}"
            ) from None
        if array.ndim != 2 or array.shape[1] != self.d:
            raise InvalidValue(f"a table has a row per record and {self.d} columns, got shape {array.shape}")
        if array.dtype.kind not in "iu":
            array = self._read_columns(table, array)
        integers = array.astype(np.int64 if array.dtype.kind == "i" else np.uint64, copy=False)
        turned = _turn_table(integers) if self._reads_all else integers.T
        columns = turned.view(np.uint64)  # a negative one is huge without its sign
        if (_find_largest(columns) >= np.array([part.k for part in self.mechanisms])).any():
            self._refuse(integers)
        return columns.view(np.int64)

    def _read_columns(self, table: Any, array: Array) -> Array:
        """A table of integers from columns of other kinds, each read as a mechanism alone reads it."""
        names = list(getattr(table, "columns", ()))
        framed = len(names) == self.d and all(isinstance(name, str) for name in names)
        columns = []
        for j, part in enumerate(self.mechanisms):
            try:
                columns.append(integers(table[names[j]] if framed else array[:, j], part.k))
            except InvalidValue as problem:
                raise InvalidValue(f"attribute {j}: {problem}") from None
        return np.stack([column.astype(np.int64) for column in columns], axis=1)

    def _refuse(self, table: Array) -> None:
        """Say which attribute of a table cannot be reported, and why."""
        for j, part in enumerate(self.mechanisms):
            try:
                checked_values(table[:, j], part.k)
            except InvalidValue as problem:
                raise InvalidValue(f"attribute {j}: {problem}") from None


def quote_names(names: Sequence[str]) -> str:
    """Names in quotes, those of a long list counted: 'age', 'color' and 'town'."""
    quoted = [repr(name) for name in names[:_NAMED]]
    if len(names) > _NAMED:
        quoted.append(f"{len(names) - _NAMED} more")
    return " and ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))


def _turn_table(table: Array) -> Array:
    """A row for each column, in blocks that stay in the nearest cache."""
    columns = np.empty(table.shape[::-1], dtype=table.dtype)
    for start in range(0, len(table), 1024):
        columns[:, start : start + 1024] = table[start : start + 1024].T
    return columns


def _find_largest(columns: WordArray) -> WordArray:
    """The largest value of each column (0 where there is none), many rows of a table at a time."""
    d, n = columns.shape
    many = n // _ROWS * _ROWS
    if columns.flags.c_contiguous or not columns.flags.f_contiguous or not many:
        return np.asarray(columns.max(axis=1, initial=0))
    most = columns[:, :many].T.reshape(-1, _ROWS * d).max(axis=0).reshape(_ROWS, d).max(axis=0)
    return np.asarray(np.maximum(most, columns[:, many:].max(axis=1, initial=0)))


def checked_sizes(ks: Sequence[int]) -> tuple[int, ...]:
    """The number of values of each attribute, as a list of integers."""
    if not isinstance(ks, Iterable) or isinstance(ks, str | Mapping):
        hint = (
            f"; for one attribute of {ks} values use the mechanism itself, such as dn.grr"
            if isinstance(ks, int)
            else ""
        )
        raise InvalidParameter(
            f"ks is a list with the number of values of each attribute, such as [3, 5, 4], got {ks!r}{hint}"
        )
    return tuple(whole_number("k, the number of values,", k, 2) for k in ks)


def list_parts(parts: object) -> tuple[Any, ...]:
    """The parts of a record mechanism as a tuple."""
    if not isinstance(parts, Iterable) or isinstance(parts, str | Mapping):
        raise InvalidParameter(f"parts are a list of mechanisms, got {type(parts).__name__}")
    return tuple(parts)


def check_parts(parts: object) -> tuple[Mechanism, ...]:
    """Two mechanisms or more, each with an exact loss."""
    mechanisms = list_parts(parts)
    for part in mechanisms:
        if not isinstance(part, Mechanism):
            raise InvalidParameter(
                f"a part of a record mechanism is a mechanism with an exact loss, got {type(part).__name__}"
            )
    if len(mechanisms) < 2:
        raise InvalidParameter(
            f"a record mechanism needs at least two attributes, got {len(mechanisms)}; use the mechanism "
            "itself for one",
            "parts",
        )
    return mechanisms
