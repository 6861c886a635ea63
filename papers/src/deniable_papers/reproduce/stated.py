"""Shows numbers beside those that a specification states."""

from __future__ import annotations

from collections.abc import Sequence

from deniable.commands.shared import console
from deniable.formatting import format_count
from deniable_papers.experiment import DIFFERS, Column, Table
from deniable_papers.simulate.measure import with_error
from deniable_papers.studies.stated import UNITS, StatedPoint


def _format_value(row: StatedPoint) -> str:
    return with_error(row.value, row.stderr) if row.stderr else console.short(row.value)


_COLUMNS: tuple[Column, ...] = (
    ("figure", lambda row: row.figure),
    ("case", lambda row: row.case),
    ("method", lambda row: row.method),
    ("epsilon", lambda row: f"{row.epsilon:g}"),
    ("people", lambda row: "" if row.people is None else f"{row.people:,}"),
    ("ours", _format_value),
    ("specification", lambda row: "" if row.stated is None else f"{row.stated:,.10g}"),
    ("unit", lambda row: UNITS.get(row.figure, "")),
    ("", lambda row: DIFFERS if row.differs else ""),
)


def list_stated(title: str, rows: Sequence[StatedPoint]) -> list[Table]:
    """A table of all numbers, and how many differ by more than chance and rounding."""
    stated = [row for row in rows if row.stated is not None]
    differing = sum(row.differs for row in stated)
    after = (
        f"{differing} of {format_count(len(stated), 'number')} differ from the specification by more than "
        "chance and rounding"
    )
    return [Table(title=title, columns=_COLUMNS, rows=rows, after=after)]
