"""Shows what the attack studies measured: some rows of every figure, with accuracies and their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from deniable.formatting import format_percent
from deniable_papers.experiment import Asked, Column, Table
from deniable_papers.studies.accuracy import AttackPoint, describe_measurement

_SHOWN = 40  # rows of a table; all of them are in --json and -o
_NOBODY = 1e-7  # a share of this or less is shown as 0
QUICK = "Try few epsilons, runs, people and attacks."


def warn_if_fewer(asked: Asked, sizes: Iterable[tuple[str, int]], happens: str) -> Iterator[str]:
    """Say that a dataset has no more people than this, where more were asked for."""
    users = asked.given["users"]
    for name, people in dict.fromkeys(sizes):
        if users is not None and users > people:
            yield f"{name} has {people:,} people, fewer than --users {users:,}: all {people:,} are {happens}"


def _select_rows(rows: Sequence[AttackPoint]) -> list[AttackPoint]:
    """As many rows as a table has; where these are not all, some of every figure."""
    ranks: dict[str, int] = {}
    ranked = []
    for number, row in enumerate(rows):
        ranks[row.figure] = ranks.get(row.figure, -1) + 1
        ranked.append((ranks[row.figure], number))
    return [rows[number] for number in sorted(number for _, number in sorted(ranked)[:_SHOWN])]


def _format_interval(row: AttackPoint) -> str:
    if row.accuracy is None or row.low is None or row.high is None or not row.stderr:
        return ""
    low, high = (0.0 if end < _NOBODY else 100 * end for end in (row.low, row.high))
    return f"{low:.3g} to {high:.3g} %"


ACCURACY: tuple[Column, ...] = (
    ("accuracy", lambda row: "refused" if row.accuracy is None else format_percent(row.accuracy)),
    ("95 %", _format_interval),
)
"""How often an attack is right, and the interval."""


def list_points(rows: Sequence[AttackPoint], columns: Sequence[Column]) -> list[Table]:
    """Say what was measured on whom, and some of it as a table."""
    parts: dict[str, list[AttackPoint]] = {}
    for row in rows:
        values = "" if row.k is None else f", k = {row.k}"
        parts.setdefault(f"{row.figure}, {row.dataset}{values}", []).append(row)
    title = "\n".join(f"{what}: {describe_measurement(part)}" for what, part in parts.items())
    more = len(rows) - _SHOWN
    after = f"\u2026 and {more:,} more; -o writes all, and --json prints them" if more > 0 else ""
    return [Table(title=title, columns=columns, rows=_select_rows(rows), sparse=True, after=after)]


def list_notes(rows: Sequence[AttackPoint], _asked: Asked) -> list[str]:
    """What some rows are, where their names do not say all."""
    notes = dict.fromkeys((row.protocol, row.metric, row.note) for row in rows if row.note is not None)
    return [f"note ({protocol}, {metric} metric): {note}" for protocol, metric, note in notes]
