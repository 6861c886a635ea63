"""Holds the reports of a plan, and the tallies that they add up to; both know their plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import add, sub
from pathlib import Path
from typing import Any, final

import numpy as np

from deniable.engines.form import REASONS, refuse_other_plan
from deniable.errors import InvalidParameter, InvalidReport
from deniable.exact import whole_number
from deniable.formatting import Printed, format_count, format_members
from deniable.mechanisms import Tally
from deniable.plan.document import PlanDocument
from deniable.plan.known_groups import add_groups
from deniable.randomness.words import Pseudonyms
from deniable.records import Records


@final
@dataclass(frozen=True, eq=False)
class Reports:
    """Reports of n records, and the id of the plan they were made for."""

    plan_id: str
    records: Records
    round: int | None = None
    """The round that they are of, 1 where the plan asks once; None where nobody said it."""
    people: Pseudonyms | None = None
    """The pseudonym of each record's person, in a linked plan; None where nobody said it."""
    ids: Pseudonyms | None = None
    """The id of each report, where it was received with one."""

    @property
    def n(self) -> int:
        """How many records were reported."""
        return self.records.n

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"<Reports of {format_count(self.n, 'record')} for plan {self.plan_id[:12]}>"


@final
@dataclass(frozen=True)
class Tallies(Printed):
    """A tally for each attribute of a plan: all that estimates need, so that reports can be deleted."""

    plan_id: str
    n: int
    """How many records were reported; the tally of an attribute counts the records that report it."""
    tallies: Mapping[str, Tally]
    groups: tuple[Mapping[str, Tally], ...] = ()
    """The tallies of each known group alone, where groups are known."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """How many rows of a table were not counted, by reason: of another `plan` or `round`, not in canonical
    `form`, or `repeated`."""
    round: int | None = None
    """The round that they are of, 1 where the plan asks once; None where nobody said it."""

    def __str__(self) -> str:
        title = f"Tallies of {format_count(self.n, 'record')} for plan {self.plan_id[:12]}"
        lines = [f"  {name}: {tally}" for name, tally in self.tallies.items()]
        more = [f"  {format_count(n, 'row')} refused: {why}" for why, n in self.refused.items()]
        return "\n".join([title, *lines, *more])

    def __getitem__(self, name: str) -> Tally:
        return self.tallies[name]

    def __add__(self, other: Tallies) -> Tallies:
        if not isinstance(other, Tallies):
            return NotImplemented
        refused = add_refused(self.refused, other.refused)
        return replace(self._join(other, add), n=self.n + other.n, refused=refused)

    def __radd__(self, other: int) -> Tallies:
        """So that `sum` works."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: Tallies) -> Tallies:
        if not isinstance(other, Tallies):
            return NotImplemented
        return replace(self._join(other, sub), n=self.n - other.n)

    def _join(self, other: Tallies, join: Callable[[Tally, Tally], Tally]) -> Tallies:
        """All tallies of the same plan and round joined, by name.

        The same people answer in every round, so that rounds are not added up.
        """
        refuse_other_plan(other.plan_id, self.plan_id)
        rounds = [tallies.round for tallies in (self, other) if tallies.n]
        refuse_rounds(rounds)
        if len(self.groups) != len(other.groups):
            raise InvalidReport("some of these tallies do not say which known group reports are of")

        def join_all(first: Mapping[str, Tally], second: Mapping[str, Tally]) -> dict[str, Tally]:
            return {name: join(tally, second[name]) for name, tally in first.items()}

        tallies, groups = join_all(self.tallies, other.tallies), map(join_all, self.groups, other.groups)
        number = rounds[0] if rounds else self.round
        return replace(self, tallies=tallies, groups=tuple(groups), round=number)

    def to_dict(self) -> dict[str, Any]:
        """Writes plain numbers, ready for JSON."""
        fields: dict[str, Any] = {"plan": self.plan_id, "n": self.n, "tallies": _write(self.tallies)}
        fields |= {} if self.round is None else {"round": self.round}
        fields |= {"groups": [_write(group) for group in self.groups]} if self.groups else {}
        return fields | ({"refused": dict(self.refused)} if self.refused else {})

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Tallies:
        """Reads what `to_dict` wrote."""
        if (
            not isinstance(data, Mapping)
            or set(data) - {"round", "groups", "refused"} != {"plan", "n", "tallies"}
            or not all(isinstance(group, Mapping) for group in (data["tallies"], *(data.get("groups") or ())))
        ):
            raise InvalidParameter("the tallies of a plan are {'plan': ..., 'n': ..., 'tallies': {...}}")
        if not isinstance(data["plan"], str):
            raise InvalidParameter(f"tallies name their plan by its id, got {data['plan']!r}")
        n = whole_number("n, the number of records,", data["n"], 0)
        tallies = _read(data["tallies"])
        groups = tuple(map(_read, data.get("groups") or ()))
        if groups and (any(set(group) != set(tallies) for group in groups) or add_groups(groups) != tallies):
            raise InvalidParameter("the tallies of known groups do not add up to those of everybody")
        for name, tally in tallies.items():
            if tally.n > n:
                raise InvalidParameter(
                    f"the tally of {name!r} counts {tally.n} reports, and there are {n} records"
                )
        number = data.get("round")
        return Tallies(
            data["plan"],
            n,
            tallies,
            groups,
            _read_refused(data.get("refused", {})),
            None if number is None else whole_number("round", number, 1),
        )


def tally_reports(document: PlanDocument, reports: object) -> Tallies:
    """Counts each attribute's reports, or blocks of them, which must be of this plan and of one round; or of
    any rounds, where each device reports in one of them only.
    """
    nothing = Records(0, tuple(part.blank(0) for part in document.parts))
    if document.known is not None:
        nothing = replace(nothing, groups=np.zeros(0, dtype=np.int64))
    blocks = blocks_of(reports, document.id)
    first = _tally_block(document, next(blocks, Reports(document.id, nothing)))
    tallies = (_tally_block(document, block) for block in blocks)
    return add_rounds(chain([first], tallies)) if document.most_reports == 1 else sum(tallies, first)


def _tally_block(document: PlanDocument, reports: Reports) -> Tallies:
    records, number = reports.records, 1 if document.table_form.rounds == 1 else reports.round
    if document.known is None or records.groups is None:
        return Tallies(document.id, records.n, _count(document, records), round=number)
    groups = tuple(_count(document, part) for part in document.known.split(records))
    return Tallies(document.id, records.n, add_groups(groups), groups, round=number)


def _count(document: PlanDocument, records: Records) -> dict[str, Tally]:
    return dict(zip(document.names, document.mechanism.tally(records), strict=True))


def _read_refused(refused: object) -> dict[str, int]:
    if not isinstance(refused, Mapping) or set(refused) - set(REASONS[1:]):
        raise InvalidParameter(f"rows are refused for {', '.join(REASONS[1:])}, got {refused!r}")
    return {why: whole_number(f"rows refused for {why}", n, 0) for why, n in refused.items()}


def add_rounds(rounds: Iterable[Tallies]) -> Tallies:
    """The tallies of all reports to a plan in several rounds; who answered in two of them counts twice."""
    rest = iter(rounds)
    total = next(rest)
    numbers = {total.round} if total.n else set()
    for tallies in rest:
        numbers |= {tallies.round} if tallies.n else set()
        total = replace(total, round=1) + replace(tallies, round=1)
    return replace(total, round=None if len(numbers) > 1 else next(iter(numbers), total.round))


def add_refused(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """How many rows both refused, by reason."""
    return {why: first.get(why, 0) + second.get(why, 0) for why in dict.fromkeys((*first, *second))}


def _write(tallies: Mapping[str, Tally]) -> dict[str, Any]:
    return {name: tally.to_dict() for name, tally in tallies.items()}


def _read(tallies: Mapping[str, Any]) -> dict[str, Tally]:
    return {name: _tally(name, tally) for name, tally in tallies.items()}


def _tally(name: str, fields: Any) -> Tally:
    try:
        return Tally.from_dict(fields)
    except (TypeError, ValueError, OverflowError) as problem:
        raise InvalidParameter(f"the tally of {name!r}: {problem}") from None


def refuse_rounds(rounds: Iterable[int | None]) -> None:
    """Refuse reports or tallies that are to be added up, and are of several rounds, or do not say of which.

    The same people answer in every round: error bars of the sum would be too narrow.
    """
    numbers = list(rounds)
    if len(numbers) > 1 and None in numbers:
        raise InvalidReport(
            "reports are added up only where all of them say that they are of one round, which is 1 where a "
            "plan asks once: make them with dn.remembering(seed, round=1), or say it: "
            "dataclasses.replace(reports, round=1)"
        )
    if len(set(numbers)) > 1:
        listed = format_members("round", sorted(set(numbers), key=str))
        raise InvalidReport(
            f"the same people answered in {listed}, which are not added up; estimate each by itself, and "
            "compare them: later.change(earlier). Where each device answers in one round, plan.join adds up"
        )


def records_of_round(reports: object, document: PlanDocument) -> Iterator[Records]:
    """What is in reports, or in blocks of them: of one round, or of rounds in which other people answered."""
    if document.most_reports == 1:
        return records_of(reports, document.id)
    return (block.records for block in blocks_of_round(reports, document))


def blocks_of_round(reports: object, document: PlanDocument) -> Iterator[Reports]:
    """Reports of a plan, or blocks of them, which must all be of one round."""
    before: Reports | None = None
    for block in blocks_of(reports, document.id):
        if document.table_form.rounds > 1 and block.n:
            refuse_rounds([block.round] if before is None else [before.round, block.round])
            before = block
        yield block


def records_of(reports: object, plan_id: str) -> Iterator[Records]:
    """What is in reports, or in blocks of them, which must all have been made for this plan."""
    return (block.records for block in blocks_of(reports, plan_id))


def blocks_of(reports: object, plan_id: str, *others: str) -> Iterator[Reports]:
    """Reports, or blocks of them, which must all have been made for this plan, or for one of the others."""
    if isinstance(reports, str | Path):
        raise InvalidReport(
            "reports are what plan.privatize gives; read a file of them: "
            f"plan.tally(plan.read_reports({str(reports)!r}))"
        )
    if not isinstance(reports, Reports | Iterable) or isinstance(reports, Mapping):
        raise InvalidReport(_not_reports(reports))
    for block in [reports] if isinstance(reports, Reports) else reports:
        if not isinstance(block, Reports):
            raise InvalidReport(_not_reports(block))
        if block.plan_id not in others:
            refuse_other_plan(block.plan_id, plan_id)
        yield block


def _not_reports(value: object) -> str:
    kind = type(value).__name__
    return f"reports are what plan.privatize, plan.read_reports or client.report give, got {kind}"
