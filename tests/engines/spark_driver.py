"""Does cases of tests on a Spark cluster, in a process of its own: `python -m tests.engines.spark_driver
ADDRESS FOLDER OPTIONS`. Each line of input is a case; what it finds is a file in the folder.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from traceback import format_exc
from typing import Any

import pyarrow as pa

import deniable as dn
from deniable.engines.databases import SparkTable
from deniable.reports.spark import _privatize_blocks
from deniable.results.windows import tally_chain
from tests.engines.test_counts import Faulty, count_inside

_SECONDS = 600  # that a task waits at most


def main() -> None:
    """Do what the input says, until it ends."""
    from pyspark.sql import SparkSession

    address, folder, options = sys.argv[1:]
    cases: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_read_cases, args=(cases,), daemon=True).start()
    session = (
        SparkSession.builder.master(address)
        .config("spark.driver.extraJavaOptions", options)
        .config("spark.executor.extraJavaOptions", options)
        .config("spark.executor.memory", "512m")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.task.maxFailures", "2")
        .config("spark.sql.warehouse.dir", folder)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    while True:
        case = cases.get()
        problem, result = None, None
        try:
            result = CASES[case["case"]](session, **case["given"])
        except Exception:
            problem = format_exc()
        name = Path(folder) / f"{case['number']}.pickle"
        name.with_suffix(".new").write_bytes(pickle.dumps((problem, result)))
        name.with_suffix(".new").rename(name)


def _read_cases(cases: queue.Queue[dict[str, Any]]) -> None:
    for line in sys.stdin:
        cases.put(json.loads(line))
    os._exit(0)  # even while a case is done: whoever asked is gone


def count_tables(session: Any, folder: str, seeds: list[int], fault: list[str] | None = None) -> Any:
    """What Spark counts in random tables; with a fault, if it misreads its queries so.

    The first table is counted by compiled code, the others without it: for a thousand rows each, to compile
    takes half of the time, and both ways must count the same.
    """
    found = {}
    for seed in seeds:
        compiles = seed == seeds[0]
        session.conf.set("spark.sql.codegen.wholeStage", str(compiles).lower())
        session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if compiles else "NO_CODEGEN")
        engine = SparkTable(session.read.parquet(f"{folder}/{seed}"))
        found[seed] = count_inside(engine if fault is None else Faulty(engine, fault[0], fault[1]), seed)
    for name in ("wholeStage", "factoryMode"):
        session.conf.unset(f"spark.sql.codegen.{name}")
    return found


def count_chains(session: Any, folder: str, seeds: list[int]) -> Any:
    """What Spark counts of all plans in tables of reports to plans that continue each other."""
    from tests.engines.test_chains import count, draw_chain

    return {seed: count(draw_chain(seed)[0], session.read.parquet(f"{folder}/{seed}")) for seed in seeds}


def count_slowly(session: Any, folder: str, seed: int, signs: str) -> Any:
    """What Spark counts in a table whose tasks wait until a file says that they may go on."""
    table = session.read.parquet(f"{folder}/{seed}").repartition(4)
    return count_inside(SparkTable(wait_in_tasks(table, signs)), seed)


def count_together(session: Any, folder: str, seeds: list[int], view: str | None = None) -> Any:
    """What Spark counts in two tables at once, each in a thread; under one name of a view, if it is given.

    Both views are there before either is asked.
    """
    meeting = threading.Barrier(2, timeout=_SECONDS)

    def count(seed: int) -> Any:
        frame = Met(session.read.parquet(f"{folder}/{seed}"), meeting)
        try:
            return count_inside(SparkTable(frame) if view is None else SparkTable(frame, view), seed)
        except dn.DeniableError as problem:
            return str(problem)

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(seeds, pool.map(count, seeds), strict=True))


class Met:
    """A dataframe whose view is there when that of another is."""

    def __init__(self, frame: Any, meeting: threading.Barrier) -> None:
        self.frame = frame
        self.meeting: threading.Barrier | None = meeting
        self.dtypes, self.sparkSession = frame.dtypes, frame.sparkSession

    def createOrReplaceTempView(self, name: str) -> None:  # noqa: N802  # as Spark calls it
        self.frame.createOrReplaceTempView(name)
        if self.meeting is not None:
            self.meeting.wait()
            self.meeting = None


def wait_in_tasks(frame: Any, signs: str) -> Any:
    """The same frame, but each task writes which process runs it, and waits until there is a file `go`."""

    def wait(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        task = f"{context.stageId()}-{context.partitionId()}-{context.taskAttemptId()}"
        daemon = os.getppid()
        executor = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
        (Path(signs) / f"{task}.new").write_text(str(executor))
        (Path(signs) / f"{task}.new").rename(Path(signs) / f"{task}.task")
        deadline = time.monotonic() + _SECONDS
        while not (Path(signs) / "go").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        yield from batches

    plain = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))  # names with dots are not found there
    return plain.mapInArrow(wait, plain.schema).toDF(*frame.columns)


def privatize(session: Any, plan: str, answers: str, into: str) -> dict[str, Any]:
    """Reports of a table of answers, kept by executors and in a folder, and the refusals of others."""
    from pyspark.sql import functions

    read = dn.Plan.read(plan)
    people = session.read.parquet(answers).repartition(2)
    kept = read.privatize(people)
    work = partial(_privatize_blocks, read.to_json(), tuple(people.columns))
    plain = people.toDF(*(f"c{i}" for i in range(len(people.columns))))
    lazy = plain.mapInArrow(work, ", ".join(f"r{i} {kind}" for i, (_, kind) in enumerate(kept.dtypes)))
    written = read.privatize(people, into=into)
    day = people.withColumn("day", functions.length("name") % 2).withColumn("hour", functions.rand())
    beside = read.privatize(day, into=f"{into}-beside", beside=["day"])
    return {
        "columns": kept.columns,
        "kept": [sorted(map(tuple, kept.collect()), key=repr) for _ in range(2)],
        "lazy": [sorted(map(tuple, lazy.collect()), key=repr) for _ in range(2)],
        "tally": read.tally(kept),
        "days": {key: one.n for key, one in read.tally(beside, by="day").items()},
        "answers": _refuse(lambda: read.privatize(day, beside=["color"])),
        "times": _refuse(lambda: read.privatize(day, beside=["hour"])),
        "written": read.tally(written),
        "again": _refuse(lambda: read.privatize(people, into=into)),
        "words": _refuse(lambda: read.privatize(people, dn.seeded(1))),
        "unknown": _refuse(lambda: read.privatize(people.replace("red", "blu"), into=f"{into}-refused")),
        "absent": _refuse(lambda: read.privatize(people.drop("color"))),
        "views": [table.name for table in session.catalog.listTables()],
    }


def _refuse(work: Callable[[], Any]) -> str:
    try:
        work()
    except dn.DeniableError as problem:
        return f"{type(problem).__name__}: {problem}"
    return "not refused"


def run_commands(session: Any, commands: list[list[str]]) -> list[tuple[int, str]]:
    """How commands of the shell end in this process, which has a session, and what they print."""
    from click.testing import CliRunner

    from deniable.cli import commands as shell

    assert session is not None
    results = [CliRunner().invoke(shell, one) for one in commands]
    return [(one.exit_code, f"{one.output}{one.exception or ''}") for one in results]


def privatize_again(session: Any, plan: str, answers: str, into: str, signs: str) -> None:
    """Write reports of a table in two parts, each of which is read in vain once."""
    people = session.read.parquet(answers).repartition(2).toDF("name", "color", "smokes", "age")

    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        failed = Path(signs) / str(context.partitionId())
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if not failed.exists():
                failed.touch()
                raise OSError("this task fails once")
            yield batch.slice(batch.num_rows // 2)

    read = people.mapInArrow(fail_once, people.schema).withColumnRenamed("age", "age.years")
    dn.Plan.read(plan).privatize(read, into=into)


def count_messages(
    session: Any,
    plan: str,
    messages: str,
    into: str,
    checkpoint: str,
    within: list[str] | None,
    by: list[str],
) -> dict[str, Any]:
    """What Spark counts in a column of messages, at once and as a stream of one file after the other."""
    read = dn.Plan.read(plan)
    frame = session.read.parquet(messages)
    rows = read.decode(frame, beside=["day"])
    stream = session.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1).parquet(messages)
    query = read.tally_stream(
        read.decode(stream, beside=["day", "timestamp"]),
        into,
        checkpoint,
        by=by,
        within=None if within is None else (within[0], within[1]),
        availableNow=True,
    )
    query.awaitTermination()
    return {
        "table": tally_chain(read.document, rows, None, by[0], None, None),
        "refused": [tuple(row) for row in rows.groupBy("refused").count().collect()],
        "again": _refuse(lambda: read.tally(stream)),
        "other": _refuse(
            lambda: read.tally_stream(
                read.decode(stream, beside=["day"]),
                into,
                f"{checkpoint}-other",
                by=by,
                within=None,
            )
        ),
    }


CASES: dict[str, Callable[..., Any]] = {
    "count messages": count_messages,
    "count": count_tables,
    "count slowly": count_slowly,
    "count chains": count_chains,
    "count together": count_together,
    "privatize": privatize,
    "privatize again": privatize_again,
    "run": run_commands,
}

if __name__ == "__main__":
    main()
