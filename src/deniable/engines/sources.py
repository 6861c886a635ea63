"""Recognizes where reports are, and counts them there."""

from __future__ import annotations

import glob
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn, final

import numpy as np

from deniable.arrays import Array
from deniable.engines.databases import (
    POSTGRES,
    SPARK,
    DuckTable,
    Engine,
    EngineRows,
    SparkTable,
    find_duckdb,
    open_duckdb,
    open_postgres,
    require,
)
from deniable.engines.files import FilesCount, Key, merge_counted, open_files, open_frame
from deniable.engines.form import ID, Counted, TableForm, check_columns
from deniable.engines.pieces import DamagedFile, read_first, read_plan, warn_copies
from deniable.engines.query import Query, quote
from deniable.engines.rows import COUNTED, PackedWords, Rows
from deniable.errors import DeniableWarning, FileMissing, InvalidParameter
from deniable.formatting import format_members
from deniable.frames import Show, require_pyarrow

NAME_TABLE = 'name the table of reports in the database: table="reports", in the shell --table reports'
"""What to do about an address of a database whose table is not named."""

Since = tuple[str, Any]
"""A column, and its least value."""


def is_source(source: object) -> bool:
    """Whether something may hold a table of reports: a path, an address, or a table of an engine."""
    if isinstance(source, str | Path):
        return True
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(path, str | Path) for path in source)
    return _find_library(source) in ("duckdb", "_duckdb", "pyspark", "ibis", "polars", "pandas", "pyarrow")


def is_spark_frame(source: object) -> bool:
    """Whether something is a dataframe of Spark."""
    return _find_library(source) == "pyspark" and hasattr(source, "mapInArrow")


@final
@dataclass(frozen=True)
class Request:
    """What is asked of a table of reports: the counts of all rows, or by combination of keys."""

    form: TableForm
    keys: tuple[str, ...] = ()
    number: int | None = None
    """The round that is counted. Rounds are not added up: the same people answer in each, so error bars of
    the sum would be too narrow.
    """
    kept: bool = False
    """Whether counts are kept, to be added to others."""
    since: Since | None = None
    """Only rows in an engine with at least this value of a column, or none."""
    gathered: TableReports | None = None
    """Takes reports themselves, too."""
    show: Show | None = None

    @cached_property
    def by(self) -> tuple[str, ...]:
        """The keys, and the column of the known group."""
        return self.form.list_keys(self.keys)

    @cached_property
    def mixes_rounds(self) -> bool:
        """Whether a count could add up the reports of several rounds."""
        mixes = self.form.rounds > 1 and self.number is None and self.form.round_column not in self.by
        if mixes and self.kept:
            by = ",".join((*self.keys, self.form.round_column))
            raise InvalidParameter(
                "these reports are of rounds, which are not added up: choose one with --round (number=1 in "
                f"Python), or keep each by itself with --by {by}"
            )
        return mixes


def count_source(request: Request, source: object, table: str | None = None) -> dict[Key, Counted]:
    """Count a table of reports where it is; files that are damaged are set aside with a warning."""
    form, number, gathered = request.form, request.number, request.gathered
    if number is not None and not 1 <= number <= form.rounds:
        has = f"has rounds 1 to {form.rounds}" if form.rounds > 1 else "asks once, in round 1"
        raise InvalidParameter(f"plan {form.plan_id[:12]} has no round {number}: it {has}")
    inside = _open_inside(source, table)
    if inside is not None:
        return _count_inside(inside, request)
    require_pyarrow()
    mixes = request.mixes_rounds
    keys_read = (*request.by, form.round_column) if mixes else request.by

    def count(files: FilesCount) -> dict[Key, Counted]:
        sink = None if gathered is None else gathered.add
        counts = replace(files, keys=keys_read, sink=sink).run(request.show)
        return _join_rounds(counts) if mixes else counts

    if not isinstance(source, str | Path | list | tuple):
        return count(open_frame(form, source, request.by, number))
    paths = list_paths(source)
    damaged: dict[Path, DamagedFile] = {}
    while True:
        sound = [path for path in paths if path not in damaged]
        try:
            counts = count(open_files(form, sound, request.by, number))
        except DamagedFile as problem:
            damaged[problem.path] = problem
            if len(damaged) == len(paths):
                raise
            if gathered is not None:
                gathered.clear()
            continue
        for damage in damaged.values():
            warnings.warn(
                f"{damage}; it is set aside, and its reports are not counted: restore it, and count again",
                DeniableWarning,
                stacklevel=2,
            )
        return counts


def gather_source(
    form: TableForm, source: object, places: Sequence[int], table: str | None = None, show: Show | None = None
) -> tuple[list[Array], Counted]:
    """The reports of some attributes in a table, by their places, and what else its rows were."""
    gathered = TableReports(form, tuple(places))
    counted = count_source(Request(form, gathered=gathered, show=show), source, table).values()
    return gathered.join(), sum(counted, Counted(0, form.mechanism.tally_nothing(), {}))


def find_plan(form: TableForm, source: object, table: str | None = None) -> str | None:
    """The plan that the first report of a table was made for, as its row, file or folder says."""
    inside = _open_inside(source, table)
    if inside is not None:
        name = quote(form.plan_column)
        with inside as engine:
            first = f'SELECT {name} FROM {engine.source} AS "reports" LIMIT 1'
            rows = list(engine.run(f'WITH "first" AS ({first}) SELECT {name} FROM "first"'))
        return rows[0][0] if rows else None
    if isinstance(source, str | Path | list | tuple):
        return next(filter(None, (read_plan(path, form) for path in list_paths(source))), None)
    return read_first(open_frame(form, source).pieces[0], form.plan_column)


def count_before(source: object, table: str | None, since: Since) -> int:
    """How many rows of a table have a smaller value of a column."""
    inside = _open_inside(source, table)
    assert inside is not None
    with inside as engine:
        where = f"{quote(since[0])} < {_write_value(since[1])}"
        ((rows,),) = engine.run(f'SELECT COUNT(*) AS "n" FROM {engine.source} AS "reports" WHERE {where}')
    return int(rows)


def _open_inside(source: object, table: str | None) -> AbstractContextManager[Engine] | None:
    """The table of an engine, or None where this machine counts by itself."""
    if isinstance(source, str) and source.startswith(POSTGRES):
        if table is None:
            raise InvalidParameter(NAME_TABLE)
        return open_postgres(source, tuple(table.split(".")))
    if isinstance(source, str) and source.startswith(SPARK):
        from deniable.engines.spark import open_spark  # and sockets, which a device does not need

        if table is None:
            raise InvalidParameter(
                'name the table of reports of the cluster, or its path: table="lake.reports" or '
                '"/lake/reports", in the shell --table lake.reports'
            )
        return open_spark(source, table)
    database = find_duckdb(source)
    if database is not None:
        if table is None:
            raise InvalidParameter(NAME_TABLE)
        return open_duckdb(database, tuple(table.split(".")))
    if isinstance(source, str) and "://" in source:  # which may hold a password
        scheme = source.partition("://")[0]
        collector = "; dn.Results reads a collector" if scheme in ("http", "https") else ""
        raise InvalidParameter(
            f"reports are read from postgresql://, spark:// and duckdb:/// addresses, got {scheme}://{collector}"
        )
    if table is not None:
        raise InvalidParameter(f"only a database has tables, got table={table!r} for what is none")
    engine = _recognize(source)
    return None if engine is None else nullcontext(engine)


def list_paths(source: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files that are named, by themselves, by folders, or by patterns such as `reports/*.parquet`."""
    paths: list[Path] = []  # a file that is named twice is counted once
    for pattern in [source] if isinstance(source, str | Path) else source:
        names = sorted(glob.glob(str(pattern), recursive=True)) or [str(pattern)]
        for name in names:
            path = Path(name)
            paths += _list_folder(path) if path.is_dir() else [path]
    missing = [path for path in paths if not path.exists()]
    if missing and set(str(missing[0])) & set("*?["):
        raise FileMissing(f"no file of reports has a name like {missing[0]}; put quotes around a pattern")
    if missing:
        is_address = re.fullmatch(r"[\w.-]+:\d+(/.*)?", str(missing[0]))
        files = "name files of reports, their folder, or 'folder/*.parquet'"
        advice = "the address of a collector begins with http:// or https://" if is_address else files
        raise FileMissing(f"there is no file {missing[0]}; {advice}")
    if not paths:
        raise FileMissing(f"there is no Parquet file of reports in {source}")
    once = list({path.resolve(): path for path in paths}.values())
    warn_copies(once)
    return once


def _list_folder(folder: Path) -> list[Path]:
    """The files in a folder; names that begin with a dot or a line are of files that are being written.

    Names of folders such as `_day=1` are not: they tell what is in them.
    """
    return sorted(
        path
        for path in folder.rglob("*.parquet")
        if not any(part.startswith((".", "_")) and "=" not in part for part in path.relative_to(folder).parts)
    )


def _count_inside(opened: AbstractContextManager[Engine], request: Request) -> dict[Key, Counted]:
    """Count what an engine can count; rows with hashes of text are fetched, and counted here."""
    form, keys, number = request.form, request.by, request.number
    with opened as engine:
        kinds = engine.kinds
        check_columns(form, kinds, keys, number)
        source = _restrict(engine.source, request.since)
        parts = zip(form.columns, form.mechanism.mechanisms, strict=True)
        hashes = [column.name for columns, part in parts if not part.listed for column in columns]
        if hashes:
            return _count_hashes(engine, request, source, hashes)
        query = Query(form, source, form.more_columns & set(kinds), number, keys)
        if not request.mixes_rounds:
            return query.run(engine.run)
        return _join_rounds(replace(query, keys=(*keys, form.round_column)).run(engine.run))


def _count_hashes(engine: Engine, request: Request, source: str, hashes: Sequence[str]) -> dict[Key, Counted]:
    """Count a table of a plan with text. It asks once, so that there are no rounds to be kept apart."""
    require_pyarrow()
    form, keys, number = request.form, request.by, request.number
    extra = form.more_columns & set(engine.kinds)
    absent = " AND ".join(f"{quote(name)} IS NULL" for name in hashes)
    counted: dict[Key, Counted] = {}
    rest = source
    if ID not in extra:  # an id may come twice, in a row with a hash and in one without
        others = f'(SELECT * FROM {source} AS "others" WHERE {absent})'
        merge_counted(counted, Query(form, others, extra, number, keys).run(engine.run))
        rest = f'(SELECT * FROM {source} AS "hashes" WHERE NOT ({absent}))'
    files = FilesCount(form, (EngineRows(engine, rest),), extra, keys, number)
    if request.gathered is not None:
        files = replace(files, sink=request.gathered.add)
    merge_counted(counted, files.run(request.show))
    return counted


def _restrict(source: str, since: Since | None) -> str:
    """The rows of a table with at least this value of a column, or none; all of them where none is given."""
    if since is None:
        return source
    column, value = quote(since[0]), _write_value(since[1])
    return f"(SELECT * FROM {source} WHERE {column} >= {value} OR {column} IS NULL)"


def _write_value(value: object) -> str:
    """A value of a window in SQL."""
    if isinstance(value, date):
        return f"CAST('{value.isoformat()}' AS DATE)"
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def _join_rounds(counts: Mapping[Key, Counted]) -> dict[Key, Counted]:
    """Counts without the round, which is the last key; refuses several rounds where one is meant."""
    joined: dict[Key, Counted] = {}
    rounds: dict[Key, list[int]] = {}
    for (*values, number), counted in counts.items():
        key = tuple(values)
        if counted.n and isinstance(number, int):
            counted = replace(counted, round=number)
            rounds.setdefault(key, []).append(number)
        joined[key] = joined[key] + counted if key in joined else counted
    several = max(rounds.values(), key=len, default=[])
    if len(several) > 1:
        refuse_several(several)
    return joined


def refuse_several(rounds: Sequence[int]) -> NoReturn:
    """Refuse reports of several rounds where those of one are meant."""
    names = format_members("round", sorted(rounds))
    raise InvalidParameter(
        f"the same people answered in {names}, which are not added up; choose one with --round "
        "(number=1 in Python), or see each by itself with --by round, or by a column, such as --by day"
    )


def _recognize(source: Any) -> Engine | None:
    """The engine that holds a table, or None where this machine counts it itself."""
    library, table = _find_library(source), source
    if library in ("duckdb", "_duckdb"):
        require("duckdb", "duckdb")
        return DuckTable(table)
    if library == "pyspark":
        require("pyspark", "spark")
        if table.isStreaming:
            raise InvalidParameter(
                "a stream has no end; count it as it comes: plan.tally_stream(plan.decode(stream), ...)"
            )
        return SparkTable(table)
    if library == "ibis":
        raise InvalidParameter(
            "tables of Ibis are retired; write their rows to Parquet (table.to_parquet) and count the file"
        )
    return None


def _find_library(source: Any) -> str:
    return type(source).__module__.split(".", 1)[0]


@final
@dataclass
class TableReports:
    """The reports of some attributes, of all rows that are counted; rows of several threads may be added."""

    form: TableForm
    places: tuple[int, ...]
    _blocks: dict[int, list[Array]] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def add(self, rows: Rows) -> None:
        """Keep what these rows report."""
        counted = rows.states == COUNTED
        for place in self.places:
            who, reports = rows.reports[place]
            kept = reports[counted[who]]
            block = kept.to_reports() if isinstance(kept, PackedWords) else kept
            with self._lock:
                self._blocks.setdefault(place, []).append(block)

    def clear(self) -> None:
        """Forget all rows: they are to be read again, without those of a damaged file."""
        self._blocks.clear()

    def join(self) -> list[Array]:
        """The reports of each attribute."""
        parts = self.form.mechanism.mechanisms
        return [
            np.concatenate([parts[place].blank(0), *self._blocks.get(place, [])]) for place in self.places
        ]
