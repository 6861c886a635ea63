"""What an operator is shown of a plan's tallies, and as what: estimates as JSON, CSV or Parquet."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import msgspec

from deniable.collect.messages import Estimates, Mean, Refusal, Row
from deniable.errors import DeniableError, InvalidParameter
from deniable.grid import Grid
from deniable.grouped import group_rows, groups_of
from deniable.plan import Plan, Result, Tallies
from deniable.spreadsheet import csv_bytes


def enough(tallies: Tallies, minimum: int) -> Tallies:
    """Refuse to show what too few people have said."""
    if tallies.n < minimum:
        raise Refusal("few", f"There are {tallies.n:,} reports yet; results are shown from {minimum:,} on.")
    return tallies


def estimated(plan: Plan, tallies: Tallies, number: int | None, level: float, project: str | None = None) -> Estimates:
    """All rows of a plan's estimates."""
    try:
        result = plan.estimate(tallies)
    except InvalidParameter as problem:  # an attribute, or a value of it, that nobody has reported yet
        raise Refusal("few", f"There are {tallies.n:,} reports yet: {problem}") from None
    try:
        rows = _rows(result, level, project)
        ordered = _ordered(plan, result)
        means = _means(result, ordered, level)
        groups = [row for name in ordered for row in _groups(result, name, level, project)]
    except DeniableError as problem:
        raise Refusal("parameter", str(problem)) from None
    return Estimates(tallies.plan_id, number, tallies.n, level, project, rows, means, groups)


def _rows(result: Result, level: float, project: str | None) -> list[Row]:
    """All shares; those of places, which are many, also with what is sure of all of them at once."""
    places = [name for name, domain in result.domains.items() if isinstance(domain, Grid) and name in result.estimates]
    sure = {name: iter(result[name].interval(level, simultaneous=True).low.tolist()) for name in places}
    rows = result.rows(level, project)
    return [
        Row(**row, n=result[row["attribute"]].n, low_together=next(sure.get(row["attribute"], iter((None,))))) for row in rows
    ]


def _ordered(plan: Plan, result: Result) -> list[str]:
    """The attributes whose values have distances on a line: the mean, or many bins together, is known far better than one."""
    units = () if plan.stated.metric is None else plan.stated.metric.units
    return [one.name for one in units if one.unit == "step" and one.name in result]


def _means(result: Result, ordered: Sequence[str], level: float) -> list[Mean]:
    bounded = [name for name in ordered if result.has_mean(name)]
    found = ((name, result.mean(name, level)) for name in (*bounded, *result.means))
    return [Mean(name, mean.value, mean.stderr, mean.low, mean.high) for name, mean in found]


def _groups(result: Result, name: str, level: float, project: str | None) -> list[Row]:
    """The shares of about ten groups of neighboring bins, each with its own interval."""
    estimate = result[name]
    groups = groups_of(estimate, result.domains.get(name), level)
    more = {} if project is None else {"projected": estimate.project(project)}
    return [Row(**row, n=estimate.n) for row in group_rows(name, estimate, groups, more)]


def as_csv(found: Estimates) -> bytes:
    """The table, with a header."""
    return csv_bytes(_table(found))


def as_parquet(found: Estimates) -> bytes:
    """The table as a Parquet file."""
    pa, parquet = require_pyarrow()
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(_table(found)), sink)
    return sink.getvalue()


def require_pyarrow() -> tuple[Any, Any]:
    """Parquet needs an extra; whoever asks for it without gets told."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise Refusal("parameter", "This collector writes no Parquet; it needs: pip install 'deniable[frames]'") from None
    return pa, parquet


def _table(found: Estimates) -> list[dict[str, Any]]:
    """Rows that say by themselves what they are, wherever they are pasted to."""
    about = {"level": found.level, "plan": found.plan, "round": found.round}
    rows = [msgspec.to_builtins(row) for row in found.rows]
    named = {name: None for row in rows for name in row}  # all have the same columns, though only a number has a mean
    return [named | row | about for row in rows]
