"""Holds the reports of a plan, and the tallies that they add up to; both know their plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from deniable.errors import InvalidParameter, InvalidReport
from deniable.exact import whole_number
from deniable.formatting import format_count
from deniable.mechanisms import Tally
from deniable.records import Records


@final
@dataclass(frozen=True, eq=False)
class Reports:
    """Reports of n records, and the id of the plan they were made for."""

    plan_id: str
    records: Records

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
class Tallies:
    """A tally for each attribute of a plan: all that estimates need, so that reports can be deleted."""

    plan_id: str
    n: int
    """How many records were reported; the tally of an attribute counts the records that report it."""
    tallies: Mapping[str, Tally]

    def __str__(self) -> str:
        title = f"Tallies of {format_count(self.n, 'record')} for plan {self.plan_id[:12]}"
        return "\n".join([title, *(f"  {name}: {tally}" for name, tally in self.tallies.items())])

    def __getitem__(self, name: str) -> Tally:
        return self.tallies[name]

    def __add__(self, other: Tallies) -> Tallies:
        if not isinstance(other, Tallies):
            return NotImplemented
        refuse_other_plan(other.plan_id, self.plan_id)
        return replace(
            self,
            n=self.n + other.n,
            tallies={name: tally + other.tallies[name] for name, tally in self.tallies.items()},
        )

    def __radd__(self, other: int) -> Tallies:
        """So that `sum` works."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: Tallies) -> Tallies:
        if not isinstance(other, Tallies):
            return NotImplemented
        refuse_other_plan(other.plan_id, self.plan_id)
        return replace(
            self,
            n=self.n - other.n,
            tallies={name: tally - other.tallies[name] for name, tally in self.tallies.items()},
        )

    def to_dict(self) -> dict[str, Any]:
        """Writes plain numbers, ready for JSON."""
        return {
            "plan": self.plan_id,
            "n": self.n,
            "tallies": {name: tally.to_dict() for name, tally in self.tallies.items()},
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Tallies:
        """Reads what `to_dict` wrote; a collector also gives the round."""
        if (
            not isinstance(data, Mapping)
            or set(data) - {"round"} != {"plan", "n", "tallies"}
            or not isinstance(data["tallies"], Mapping)
        ):
            raise InvalidParameter("the tallies of a plan are {'plan': ..., 'n': ..., 'tallies': {...}}")
        if not isinstance(data["plan"], str):
            raise InvalidParameter(f"tallies name their plan by its id, got {data['plan']!r}")
        n = whole_number("n, the number of records,", data["n"], 0)
        tallies = {name: _tally(name, given) for name, given in data["tallies"].items()}
        for name, tally in tallies.items():
            if tally.n > n:
                raise InvalidParameter(
                    f"the tally of {name!r} counts {tally.n} reports, and there are {n} records"
                )
        return Tallies(data["plan"], n, tallies)


def _tally(name: str, given: Any) -> Tally:
    try:
        return Tally.from_dict(given)
    except (TypeError, ValueError, OverflowError) as problem:
        raise InvalidParameter(f"the tally of {name!r}: {problem}") from None


def records_of(reports: object, plan_id: str) -> Iterator[Records]:
    """What is in reports, or in blocks of them, which must all have been made for this plan."""
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
        refuse_other_plan(block.plan_id, plan_id)
        yield block.records


def refuse_other_plan(given: str, expected: str) -> None:
    """Refuse what was made for another plan."""
    if given != expected:
        raise InvalidReport(f"reports were made for plan {given[:12]}, this plan is {expected[:12]}")


def _not_reports(given: object) -> str:
    return f"reports are what plan.privatize and plan.read_reports give, got {type(given).__name__}"
