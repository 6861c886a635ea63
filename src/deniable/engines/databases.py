"""Counts reports inside engines that take SQL: DuckDB, PostgreSQL and Spark.

One text, in DuckDB's words, is translated by sqlglot. Nothing but counts comes back, unless rows are fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, final
from uuid import uuid4

from deniable.engines.query import quote
from deniable.errors import DeniableError, FileMissing, InvalidParameter, InvalidValue, suggest_install

if TYPE_CHECKING:
    import pyarrow as pa

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "UTINYINT", "USMALLINT", "UINT")
_TEXTS = ("TEXT", "VARCHAR", "CHAR", "NCHAR", "NVARCHAR", "BPCHAR")
_KINDS = {
    **dict.fromkeys(_INTEGERS, "integer"),
    **dict.fromkeys(_TEXTS, "text"),
    "DATE": "date",
    "BOOLEAN": "bool",
}
FETCHED = 1 << 16
"""Rows that are fetched at a time."""
_DUCK = "deniable: reports"
"""The name of a relation in queries, which no table of a database has."""
_SPARK_ROW = re.compile(r"^row [\d,]+, counting from 0: ")  # of a block, which nobody can find
_SPARK_CAUSE = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Invalid\w+|Exception)): (.+)$", re.MULTILINE)
POSTGRES = ("postgresql://", "postgres://")
SPARK = "spark://"
DUCKDB = "duckdb:///"
_DUCKDB_FILES = (".duckdb", ".ddb")


class Engine(Protocol):
    """A table in an engine."""

    @property
    def kinds(self) -> Mapping[str, str]:
        """What each column holds: "integer", "list" (of integers), "text", "date", "bool" or "other"."""

    @property
    def source(self) -> str:
        """What follows FROM, in DuckDB's words."""

    def run(self, sql: str) -> Iterable[Sequence[Any]]:
        """The rows that a query gives."""

    def stream(self, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows that a query gives, in blocks: there may be more rows than the memory holds."""


@final
@dataclass(frozen=True)
class DuckTable:
    """A relation of DuckDB."""

    relation: Any

    @property
    def kinds(self) -> Mapping[str, str]:
        types = zip(self.relation.columns, map(str, self.relation.types), strict=True)
        return {name: name_kind(kind, "duckdb") for name, kind in types}

    @property
    def source(self) -> str:
        return quote(_DUCK)

    def run(self, sql: str) -> Iterable[Sequence[Any]]:
        with self._plain_errors():
            return list(self.relation.query(_DUCK, sql).fetchall())

    def stream(self, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self._plain_errors():
            relation = self.relation.query(_DUCK, sql)
            # the latter before DuckDB 2
            read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
            for batch in read(FETCHED):
                yield batch.cast(schema)

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.Error as problem:
            raise DeniableError(f"DuckDB refused to count: {_first_line(problem)}") from None


@final
@dataclass(frozen=True)
class PostgresTable:
    """A table, or view, of a PostgreSQL database."""

    connection: Any
    name: tuple[str, ...]

    @property
    def kinds(self) -> Mapping[str, str]:
        description = self.connection.execute(f"SELECT * FROM {self.source} LIMIT 0").description
        names = self.connection.execute(
            "SELECT oid::bigint, format_type(oid, NULL) FROM pg_type WHERE oid = ANY(%s)",
            [[field.type_code for field in description]],
        )
        types = dict(names.fetchall())
        return {field.name: name_kind(types[field.type_code], "postgres") for field in description}

    @property
    def source(self) -> str:
        return ".".join(map(quote, self.name))

    def run(self, sql: str) -> Iterable[Sequence[Any]]:
        return list(self.connection.execute(translate(sql, "postgres")).fetchall())

    def stream(self, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        # a cursor with a name is kept by the server, which sends as many rows as are fetched
        with self.connection.cursor(name=f"deniable_{uuid4().hex}") as cursor:
            cursor.execute(translate(sql, "postgres"), binary=True)
            while rows := cursor.fetchmany(FETCHED):
                yield to_batch(rows, schema)


@final
@dataclass(frozen=True)
class SparkTable:
    """A dataframe of Spark.

    Spark lists the files of a dataframe once, so that all queries see the same ones.
    """

    frame: Any
    view: str = field(default_factory=lambda: f"deniable_{uuid4().hex}")
    """Its name in queries: its own, since others may be counted at the same time."""

    @property
    def kinds(self) -> Mapping[str, str]:
        return {name: name_kind(kind, "spark") for name, kind in self.frame.dtypes}

    @property
    def source(self) -> str:
        return quote(self.view)

    def run(self, sql: str) -> Iterable[Sequence[Any]]:
        with self._ask(sql) as answer:
            return [tuple(row) for row in answer.collect()]

    def stream(self, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self._ask(sql) as answer:
            rows = answer.toLocalIterator()
            while block := list(islice(rows, FETCHED)):
                yield to_batch(block, schema)

    @contextmanager
    def _ask(self, sql: str) -> Iterator[Any]:
        """The dataframe that answers a query, as long as the view is there."""
        session = self.frame.sparkSession
        with plain_spark_errors():
            self.frame.createOrReplaceTempView(self.view)
            try:
                yield session.sql(translate(sql, "spark"))
            finally:
                session.catalog.dropTempView(self.view)


@contextmanager
def plain_spark_errors() -> Iterator[None]:
    """Say in one line what Spark says on pages."""
    from pyspark.errors import PySparkException

    try:
        yield
    except DeniableError:
        raise
    except Exception as problem:
        from py4j.protocol import Py4JError

        if not isinstance(problem, PySparkException | Py4JError):
            raise
        causes = _SPARK_CAUSE.findall(str(problem))
        name, text = next((cause for cause in causes if cause[0].startswith("deniable.")), ("", ""))
        if name:
            text = _SPARK_ROW.sub("", text)
            raise (InvalidValue if name.endswith("InvalidValue") else DeniableError)(text) from None
        if "No module named 'deniable'" in str(problem):
            raise DeniableError(
                "the workers of this cluster do not have deniable; install it for their Python "
                f"(PYSPARK_PYTHON): {suggest_install('spark')}"
            ) from None
        first = next((line for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
        raise DeniableError(f"Spark refused: {(causes[-1][1] if causes else first).strip()}") from None


def to_batch(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as columns."""
    import pyarrow as pa

    return pa.record_batch([*map(list, zip(*rows, strict=True))], schema=schema)


def name_kind(kind: str, dialect: str) -> str:
    """What a column of this type holds: "integer", "list" (of them), "text", "date", "bool" or "other"."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        parsed = exp.DataType.build(kind, dialect=dialect)
    except (SqlglotError, AttributeError, ValueError):  # a type that only this engine knows
        return "other"
    if parsed.this == exp.DataType.Type.ARRAY and parsed.expressions:
        return "list" if parsed.expressions[0].this.value in _INTEGERS else "other"
    return _KINDS.get(getattr(parsed.this, "value", ""), "other")


def translate(sql: str, dialect: Any) -> str:
    """A query in another engine's words."""
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(sql, read="duckdb")
    # it counts bits of bit strings and bytes, not of integers
    if isinstance(sqlglot.Dialect.get_or_raise(dialect), sqlglot.dialects.Postgres):
        bits = exp.DataType.build("BIT(64)", dialect="postgres")
        for call in tree.find_all(exp.Anonymous):
            if call.name == "BIT_COUNT":
                call.set("expressions", [exp.cast(call.expressions[0], bits)])
    return str(tree.sql(dialect=dialect))


@contextmanager
def open_duckdb(path: Path, name: tuple[str, ...]) -> Iterator[DuckTable]:
    """A table of the database in this file; only read from."""
    require("duckdb", "duckdb")
    import duckdb

    if not path.is_file():
        raise FileMissing(f"there is no DuckDB database {path}")
    try:
        connection = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as problem:
        raise DeniableError(f"the database cannot be opened: {_first_line(problem)}") from None
    with connection:
        try:
            relation = connection.sql(f"SELECT * FROM {'.'.join(map(quote, name))}")
        except duckdb.CatalogException:
            raise InvalidParameter(f"there is no table {'.'.join(name)!r} in {path}") from None
        yield DuckTable(relation)


@contextmanager
def open_postgres(address: str, name: tuple[str, ...]) -> Iterator[PostgresTable]:
    """A table of the database at this address; only read from."""
    require("psycopg", "postgres")
    import psycopg

    try:
        connection = psycopg.connect(address, prepare_threshold=None, connect_timeout=10)
    except psycopg.ProgrammingError:  # what it says may quote the password
        raise InvalidParameter(
            "this is not the address of a PostgreSQL database: postgresql://USER:PASSWORD@HOST:PORT/NAME, "
            "with signs such as @ and / in a password written as %40 and %2F"
        ) from None
    except psycopg.Error as problem:
        why = _hide_password(_first_line(problem), address)
        raise DeniableError(f"the database cannot be opened: {why}") from None
    with connection:
        # all queries see the reports of one moment
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        try:
            yield PostgresTable(connection, name)
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            table = ".".join(name)
            raise InvalidParameter(
                f"there is no table {table!r} in the database; one of another schema is named with it: "
                "schema.table"
            ) from None
        except psycopg.Error as problem:
            raise DeniableError(f"the database refused to count: {_first_line(problem)}") from None


def _first_line(problem: Exception) -> str:
    """What a database says, without the text of the query."""
    return str(problem).strip().partition("\nLINE ")[0]


def _hide_password(text: str, address: str) -> str:
    """The text without any part of the address that may be of a password."""
    secret = address.partition("://")[2].rpartition("@")[0].partition(":")[2]
    for part in filter(None, re.split("[@:/?#]", secret)):
        text = text.replace(part, "…")
    return text


def require(module: str, extra: str) -> None:
    """Refuse in one line where an engine's library is missing."""
    for name in (module, "sqlglot"):
        if find_spec(name) is None:
            raise DeniableError(f"this needs {name}; install it with: {suggest_install(extra)}")


@final
@dataclass(frozen=True)
class EngineRows:
    """Rows of a table of an engine, which are read as those of a file are."""

    engine: Engine
    source: str
    """What follows FROM."""

    @cached_property
    def rows(self) -> int:
        """How many rows there are, as the engine counts them."""
        rows = f'SELECT 1 AS "one" FROM {self.source} AS "reports"'
        ((n,),) = self.engine.run(f'WITH "rows" AS ({rows}) SELECT COUNT(*) AS "n" FROM "rows"')
        return int(n)

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns of its rows, in blocks."""
        import pyarrow as pa

        types = {
            "integer": pa.int64(),
            "list": pa.list_(pa.int64()),
            "text": pa.string(),
            "date": pa.date32(),
            "bool": pa.bool_(),
        }
        kinds = self.engine.kinds
        columns = ", ".join(map(quote, names))
        first = f'SELECT {columns} FROM {self.source} AS "reports"'
        schema = pa.schema([(name, types[kinds[name]]) for name in names])
        return self.engine.stream(f'WITH "rows" AS ({first}) SELECT {columns} FROM "rows"', schema)


def is_address(address: object) -> bool:
    """Whether something is the address of an engine, and not the name of files of reports."""
    return isinstance(address, str | Path) and (
        str(address).startswith((*POSTGRES, SPARK)) or find_duckdb(address) is not None
    )


def find_duckdb(address: object) -> Path | None:
    """The file of a DuckDB database, by its ending or by its address; None of anything else.

    >>> str(find_duckdb("lake.duckdb")), str(find_duckdb("duckdb:///lake.db")), find_duckdb("lake")
    ('lake.duckdb', 'lake.db', None)
    """
    if not isinstance(address, str | Path):
        return None
    text = str(address)
    if text.startswith(DUCKDB):
        return Path(text.removeprefix(DUCKDB))
    return Path(text) if text.lower().endswith(_DUCKDB_FILES) else None


def hide_password(source: str) -> str:
    """An address as it may be shown: without what is secret in it.

    >>> hide_password("postgresql://me:secret@host:5432/db?password=x")
    'postgresql://host:5432/db'
    """
    scheme, sign, rest = source.partition("://")
    return f"{scheme}{sign}{rest.rpartition('@')[2].partition('?')[0]}" if sign else source
