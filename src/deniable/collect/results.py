"""What an operator is shown of a plan's tallies, and as what: estimates as JSON, CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import msgspec

from deniable.collect.messages import Estimates, Refusal, Row
from deniable.errors import DeniableError, InvalidParameter
from deniable.plan import Plan, Tallies


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
        rows = [Row(**row) for row in result.rows(level, project)]
    except DeniableError as problem:
        raise Refusal("parameter", str(problem)) from None
    return Estimates(tallies.plan_id, number, tallies.n, level, project, rows)


def as_csv(rows: Sequence[Row]) -> bytes:
    """The table, with a header."""
    plain = _plain(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in plain for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain)
    return text.getvalue().encode()


def as_parquet(rows: Sequence[Row]) -> bytes:
    """The table as a Parquet file."""
    pa, parquet = require_pyarrow()
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(_plain(rows)), sink)
    return sink.getvalue()


def require_pyarrow() -> tuple[Any, Any]:
    """Parquet needs an extra; whoever asks for it without gets told."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise Refusal("parameter", "This collector writes no Parquet; it needs: pip install 'deniable[frames]'") from None
    return pa, parquet


def _plain(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(row) for row in rows]
