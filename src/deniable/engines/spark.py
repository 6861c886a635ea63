"""Opens Spark clusters, and computes tables of reports on them exactly once."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from deniable.engines.databases import SPARK, SparkTable, plain_spark_errors, require
from deniable.engines.form import ID, TableForm
from deniable.engines.parquet import join_forms, reports_schema
from deniable.errors import DeniableError, InvalidParameter

if TYPE_CHECKING:
    import pyarrow as pa

Work = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]
"""What a task does with its blocks of rows."""

_ANSWERS = 10  # seconds that a master has to answer
_COMMITTER = "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version"
_WORKS = 60  # seconds that a cluster has to give the first executor
_NAME = "deniable: name"  # of a row, which no column of a table has
_LISTED = "ARRAY<{}>"
_TYPES = {2: "SMALLINT", 4: "INT", 8: "BIGINT"}


def list_names(form: TableForm) -> list[str]:
    """The columns of a table of reports that is made on a cluster: the plan is the last one."""
    return [*form.column_names, form.plan_column]


def map_once(
    frame: Any,
    columns: Sequence[str],
    work: Work,
    form: TableForm,
    into: str | None,
    beside: Sequence[str] = (),
) -> Any:
    """The dataframe that tasks make of these columns, computed now and never again; `beside` are the last
    columns of both.

    Spark computes a dataframe at every action. Reports that are made twice have two noises, whose mean says
    more than either; so they are kept, in a folder or by the executors, and what is lost is not replaced.
    """
    if frame.isStreaming:
        raise InvalidParameter("a stream has no end; privatize its batches, in foreachBatch")
    session = frame.sparkSession
    if into is None and session.conf.get("spark.speculation", "false") == "true":
        raise InvalidParameter(
            "this cluster runs copies of slow tasks (spark.speculation), and each would keep other reports "
            'of the same people; name a folder, into="reports", where only one copy is written'
        )
    if into is not None and session.conf.get(_COMMITTER, "1") != "1":
        raise InvalidParameter(
            f"{_COMMITTER} is 2, by which a repeated task may leave two reports of a person; set it to 1"
        )
    read = enumerate([*columns, *beside])
    plain = frame.select(*(frame[_quote(name)].alias(f"c{i}") for i, name in read))
    names = list_names(form)
    kinds = [*list_kinds(reports_schema(form), _LISTED), "STRING"]
    types = dict(frame.dtypes)
    kinds += [types[name] for name in beside]
    schema = ", ".join(f"r{i} {kind}" for i, kind in enumerate(kinds))
    reports = plain.mapInArrow(work, schema).toDF(*names, *beside)
    with plain_spark_errors():
        if into is None:
            return reports.localCheckpoint(eager=True)
        _write_once(session, reports, into)
        return session.read.parquet(into)


def drop_repeated(frame: Any, names: Sequence[str], within: tuple[str, str]) -> Any:
    """The rows of a stream, of which those with the same values of these columns come once; without the ids.

    Rows are compared within so much of the time in a column, and so long Spark keeps what it compares. Rows
    that have no id are refused, and all of them stay.
    """
    from pyspark.sql import functions

    about = (
        "within is a column with the time of each message, and how long ids are kept, "
        '("timestamp", "2 hours")'
    )
    if isinstance(within, str) or len(within) != 2:
        raise InvalidParameter(f"{about}; got {within!r}")
    column, delay = within
    if dict(frame.dtypes).get(column) not in ("timestamp", "timestamp_ntz"):
        raise InvalidParameter(f"{about}; {column!r} is no column of times among {', '.join(frame.columns)}")
    parts = [part for name in names for part in (frame[_quote(name)].cast("string"), functions.lit("/"))]
    name = functions.coalesce(functions.concat(*parts), functions.expr("uuid()"))
    identified = frame.withColumn(_NAME, name).withWatermark(column, delay)
    return identified.dropDuplicatesWithinWatermark([_NAME]).drop(_NAME, ID)


def _write_once(session: Any, reports: Any, into: str) -> None:
    """Write a folder of Parquet; where that fails, none is left."""
    from pyspark.errors import AnalysisException

    try:
        reports.write.parquet(into)
    except AnalysisException as problem:
        if "PATH_ALREADY_EXISTS" not in str(problem):
            raise
        raise InvalidParameter(f"{into} exists; name a new folder, or remove this one") from None
    except Exception:
        with suppress(Exception):  # empty by now, if Spark could clear it
            path = session._jvm.org.apache.hadoop.fs.Path(into)
            path.getFileSystem(session._jsc.hadoopConfiguration()).delete(path, False)
        raise


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def list_kinds(schema: pa.Schema, listed: str = "{}[]") -> list[str]:
    """The types of the columns of reports, in SQL: numbers, and lists of them as the engine writes those."""
    is_listed = [hasattr(field.type, "value_type") for field in schema]
    plain = [
        field.type.value_type if lists else field.type for field, lists in zip(schema, is_listed, strict=True)
    ]
    kinds = [_TYPES[kind.bit_width // 8] for kind in plain]
    return [listed.format(kind) if lists else kind for kind, lists in zip(kinds, is_listed, strict=True)]


def map_messages(
    frame: Any, columns: Sequence[str], work: Work, forms: Sequence[TableForm], refused: str
) -> Any:
    """The dataframe that tasks make of the messages in the first of these columns; the others stay as they
    are. It may be computed again, as the same messages make the same rows.
    """
    from pyspark.sql import functions

    plain = frame.select(*(frame[_quote(name)].alias(f"c{i}") for i, name in enumerate(columns)))
    form, of_reports = forms[0], join_forms(forms)
    has_ids = ID in form.more_columns
    kinds = [*list_kinds(of_reports, _LISTED), "BIGINT", *(["STRING"] if has_ids else []), "STRING"]
    names = [*of_reports.names, form.round_column, *([ID] if has_ids else []), refused]
    number = f"r{len(names)}"
    kinds.append("SMALLINT")
    types = dict(plain.dtypes)
    kinds += [types[f"c{i}"] for i in range(1, len(columns))]
    schema = ", ".join(f"r{i} {kind}" for i, kind in enumerate(kinds))
    rows = plain.mapInArrow(work, schema)
    # the id of a plan is longer than most reports: it is not sent along with each
    plan = functions.lit(None).cast("string")
    for i, form_of_plan in enumerate(forms):
        plan = functions.when(rows[number] == i, functions.lit(form_of_plan.plan_id)).otherwise(plan)
    return rows.withColumn("plan", plan).drop(number).toDF(*names, *columns[1:], form.plan_column)


@contextmanager
def open_spark(address: str, table: str) -> Iterator[SparkTable]:
    """A table of a cluster by its name, or Parquet by its path."""
    with open_session(address) as session, plain_spark_errors():
        files = "/" in table or table.endswith(".parquet")
        yield SparkTable(session.read.parquet(table) if files else session.table(table))


@contextmanager
def open_session(address: str) -> Iterator[Any]:
    """A session at this master, which ends afterwards, unless it was there before."""
    require("pyspark", "spark")
    from pyspark.sql import SparkSession

    there = SparkSession.getActiveSession()
    if there is not None:
        if there.sparkContext.master != address:
            raise InvalidParameter(
                f"this process has a session at {there.sparkContext.master}, and not at {address}; give its "
                "dataframe, or stop it"
            )
        yield there
        return
    _require_java()
    if address.startswith(SPARK):
        _require_master(address)
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = _start_quietly(address)
    try:
        _require_executor(session, address)
        yield session
    finally:
        session.stop()


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and os.path.exists(os.path.join(home, "bin", "java"))):
        raise DeniableError(
            "Spark needs Java, and there is none; install Java 17 (Debian: default-jre-headless)"
        )


def _require_master(address: str) -> None:
    """Refuse an address where no master listens, which Spark would try for a minute."""
    problem: Exception | None = None
    for endpoint in address.removeprefix(SPARK).split(","):
        host, _, port = endpoint.rpartition(":")
        if not host or not port.isdecimal():
            raise InvalidParameter(f"the address of a Spark master is spark://host:7077, got {address!r}")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWERS):
                return
        except (OSError, OverflowError) as found:
            problem = found
    raise DeniableError(f"no Spark master answers at {address}: {problem}")


def _start_quietly(address: str) -> Any:
    """Start a session whose Java writes its log to a file, not between the lines of this program."""
    from pyspark.sql import SparkSession

    sys.stderr.flush()
    with tempfile.TemporaryFile() as log, plain_spark_errors():
        kept = os.dup(2)
        try:
            os.dup2(log.fileno(), 2)
            session = (
                SparkSession.builder.master(address)
                .appName("deniable")
                .config("spark.ui.showConsoleProgress", "false")
                .getOrCreate()
            )
        finally:
            os.dup2(kept, 2)
            os.close(kept)
    return session


def _require_executor(session: Any, address: str) -> None:
    """Refuse a cluster that gives nobody to work, which Spark would wait for without an end."""
    if (
        not address.startswith(SPARK)
        or session.conf.get("spark.dynamicAllocation.enabled", "false") == "true"
    ):
        return
    deadline = time.monotonic() + _WORKS
    while session._jsc.sc().getExecutorMemoryStatus().size() < 2:  # the driver is one
        if time.monotonic() > deadline:
            raise DeniableError(
                f"the cluster at {address} gave no executor in {_WORKS} seconds; are its workers running, "
                "with free cores and memory?"
            )
        time.sleep(0.1)
