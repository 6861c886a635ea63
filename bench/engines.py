"""Tallies of tables where they are, beside what their engines do by themselves. Used by run.py.

`python bench/engines.py grr oue` measures and prints some rows only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn
from deniable.mechanisms import Mechanism
from deniable.records.reports import cut_evenly
from deniable.reports.reports import Reports
from deniable.wire import Report, Wire, to_batch
from deniable.wire.messages import block_messages
from side import Side, peers_python

HERE = Path(__file__).parent
MILLION = 10**6
SIZES = (1, 10, 100)  # millions of reports whose tallies must take the same memory
MOST = {
    "grr": 1.2,
    "postgres": 10.0,
    "spark": 3.0,
    "decode": 4.0,
    "stream": 4.0,
}  # times slower than what it is compared with
LEAST = {"oue": 40.0, "pool": 30.0}  # times faster; files of OUE are read with their checksums
MEMORY_BAR = 1024.0  # mebibytes of the process that tallies 10^7 unary reports
FLAT_BAR = 1.2  # how many times the memory of 10^6 reports any number of them may take
ERROR_BAR = 0.02  # how far the error of estimates may be from theory

Measured = dict[str, Any]


def one_question(mechanism: Mechanism) -> dn.Plan:
    return dn.Plan.of({"x": [str(value) for value in range(mechanism.k)]}, mechanism, people=MILLION)


def five_questions() -> dn.Plan:
    names = [f"q{j}" for j in range(5)]
    asked = {name: [str(value) for value in range(100)] for name in names}
    return dn.Plan.of(asked, dn.spl([100] * 5, 5.0, "grr"), people=10 * MILLION)


def write(plan: dn.Plan, path: Path, millions: int) -> Path:
    """A file of reports: the same million, again and again, since only their number matters here."""
    if not path.exists():
        codes = np.random.default_rng(1).integers(0, plan.table_form.mechanism.mechanisms[0].k, (5, MILLION))
        made = plan.privatize_codes(codes[: len(plan.names)], dn.seeded(7))

        def blocks() -> Iterator[Reports]:
            for _ in range(millions):
                yield made

        plan.write_reports(path, blocks())
    return path


def small_table(folder: Path, millions: int) -> tuple[dn.Plan, Path]:
    plan = one_question(dn.grr(16, 1.0))
    return plan, write(plan, folder / f"small-{millions}.parquet", millions)


def best(works: Mapping[str, Callable[[], object]], times: int) -> dict[str, tuple[float, float]]:
    """Seconds by the clock and of processor time of each work, at its best; they take turns."""
    found = dict.fromkeys(works, (np.inf, np.inf))
    for _ in range(times):
        for name, work in works.items():
            clock, processor = time.perf_counter(), time.process_time()
            work()
            spent = time.perf_counter() - clock, time.process_time() - processor
            found[name] = (min(found[name][0], spent[0]), min(found[name][1], spent[1]))
    return found


def peak() -> float:
    """The most mebibytes that this process has held; what started it does not count."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def grr(folder: Path) -> Measured:
    """Five attributes, beside a query of DuckDB that somebody wrote who knows the table."""
    import duckdb

    plan = five_questions()
    path = write(plan, folder / "five.parquet", 10)
    database = duckdb.connect()
    each = (
        f"SELECT {j} AS j, {name} AS value, COUNT(*) FROM '{path}' GROUP BY ALL"
        for j, name in enumerate(plan.names)
    )
    sql = " UNION ALL ".join(each)
    counted = plan.tally(path)
    for j, value, count in database.execute(sql).fetchall():
        assert counted.tallies[plan.names[j]].counts[value] == count
    works = {"ours": lambda: plan.tally(path), "theirs": lambda: database.execute(sql).fetchall()}
    spent = best(works, 5)
    return {"clock": spent["ours"][0] / spent["theirs"][0], "ratio": spent["ours"][1] / spent["theirs"][1]}


def oue(folder: Path) -> Measured:
    plan = one_question(dn.oue(100, 1.0))
    path = write(plan, folder / "unary.parquet", 10)
    plan.tally(path)
    clock, processor = best({"ours": lambda: plan.tally(path)}, 7)["ours"]
    return {"clock": clock / (10 * MILLION), "processor": processor / (10 * MILLION)}


def oue_memory(folder: Path) -> Measured:
    plan = one_question(dn.oue(100, 1.0))
    path = folder / "unary.parquet"
    plan.tally(path)
    return {"mebibytes": peak()}


def pool(folder: Path) -> Measured:  # noqa: ARG001 - every row has a folder
    """A public pool of hash functions, beside functions of everybody's own; and the error of estimates."""
    k, n = 1000, 10 * MILLION
    own, public = dn.olh(k, 1.0), dn.olh(k, 1.0, pool=1024)
    generator = np.random.default_rng(1)
    shares = 1 / np.arange(1, k + 1)
    people = generator.choice(k, n, p=shares / shares.sum())
    some = own.privatize(people[:MILLION], dn.seeded(7))
    reports = public.privatize(people, dn.seeded(7))
    spent = best({"public": lambda: public.tally(reports)}, 3)["public"]
    slow = best({"own": lambda: own.tally(some)}, 3)["own"]
    # a run has 1,000 errors, so that its mean square is off by 4.5 %, and that of twelve by 1.3 %
    squares = []
    for seed in range(12):
        found = public.estimate(public.tally(public.privatize(people, dn.seeded(seed))))
        off = found.frequencies - np.bincount(people, minlength=k) / n
        squares.append(np.mean(off**2) / np.mean(found.standard_errors() ** 2))
    error = float(np.sqrt(np.mean(squares)))
    return {"clock": 10 * slow[0] / spent[0], "ratio": 10 * slow[1] / spent[1], "error": error}


def postgres(folder: Path) -> Measured:  # noqa: ARG001 - every row has a folder
    """Inside the server, beside the compiled loop on the same reports in memory."""
    import psycopg

    sys.path.insert(0, str(HERE.parent))
    from tests import services

    plan = one_question(dn.olh(100, 1.0))
    codes = np.random.default_rng(1).integers(0, 100, (1, MILLION))
    reports = plan.privatize_codes(codes, dn.seeded(7))
    made = reports.records.columns[0]
    address = services.cluster().url()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            'CREATE TABLE reports ("x.a" integer, "x.b" integer, "x.bucket" smallint, plan text)'
        )
        with connection.cursor().copy("COPY reports FROM STDIN") as copy:
            for row in made.tolist():
                copy.write_row((*row, plan.id))
        connection.execute("VACUUM ANALYZE reports")
    inside = plan.tally(address, "reports")
    outside = plan.tally(reports)
    assert (inside.tallies["x"].counts == outside.tallies["x"].counts).all()
    works = {"ours": lambda: plan.tally(address, "reports"), "theirs": lambda: plan.tally(reports)}
    spent = best(works, 3)
    return {"clock": spent["ours"][0] / spent["theirs"][0], "seconds": spent["ours"][0]}


def spark(folder: Path) -> Measured:
    """Two worker processes, beside counting rows per value by the dataframe's own method."""
    import pyspark
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import lit

    plan, path = small_table(folder, 10)
    home = str(Path(pyspark.__file__).parent)
    os.environ |= {"SPARK_HOME": home, "SPARK_SCALA_VERSION": "2.13", "SPARK_LOCAL_IP": "127.0.0.1"}
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.local.dir", str(folder))
        .getOrCreate()
    )
    try:
        frame = session.read.parquet(str(path))
        named = frame.withColumn("plan", lit(plan.id))
        counted = plan.tally(named)
        for value, count in frame.groupBy("x").count().collect():
            assert counted.tallies["x"].counts[value] == count
        works = {
            "ours": lambda: plan.tally(named),
            "theirs": lambda: frame.groupBy("x").count().collect(),
        }
        spent = best(works, 3)
    finally:
        session.stop()
    return {"clock": spent["ours"][0] / spent["theirs"][0], "seconds": spent["ours"][0]}


def write_messages(plan: dn.Plan, path: Path) -> Path:
    """A million reports as bytes, each after its length, as a gateway may keep them."""
    codes = np.random.default_rng(1).integers(0, 100, (5, MILLION))
    wire, ids = Wire(plan.document), np.random.default_rng(2).bytes(16 * MILLION)
    bodies = wire.bodies(plan.privatize_codes(codes, dn.seeded(7)))
    named = zip(cut_evenly(ids, 16), bodies, strict=True)
    path.write_bytes(to_batch(Report(wire.prefix, 1, name, body) for name, body in named))
    return path


def read_column(path: Path) -> Iterator[Any]:
    """The messages of a file as blocks of one binary column, without a look into any."""
    import pyarrow as pa

    for messages in block_messages(path):
        ends = np.append(0, np.cumsum(messages.lengths)).astype(np.int32)
        raw = messages.take(np.arange(len(messages)), 0, int(messages.lengths[0])).tobytes()
        arrays = [None, pa.py_buffer(ends), pa.py_buffer(raw)]
        yield pa.record_batch([pa.BinaryArray.from_buffers(pa.binary(), len(messages), arrays)], ["value"])


def decode(folder: Path) -> Measured:
    """From bytes to Parquet, beside the same bytes as one binary column."""
    import pyarrow as pa
    from pyarrow import parquet

    plan = five_questions()
    path, out, plain = (
        write_messages(plan, folder / "five.bin"),
        folder / "ours.parquet",
        folder / "plain.parquet",
    )

    def copy() -> None:
        with parquet.ParquetWriter(plain, pa.schema([("value", pa.binary())])) as writer:
            for batch in read_column(path):
                writer.write_batch(batch)

    works = {"ours": lambda: plan.write_reports(out, plan.read_wire(path), True), "theirs": copy}
    spent = best(works, 5)
    assert plan.tally(out).n == parquet.read_metadata(plain).num_rows == MILLION
    return {name: spent["ours"][i] / spent["theirs"][i] for i, name in enumerate(("clock", "ratio"))}


def stream(folder: Path) -> Measured:
    """A stream of five files that is counted to its end, beside counting equal values of the same column."""
    import pyarrow as pa
    from pyarrow import parquet
    from pyspark.sql import SparkSession

    from deniable.results.kept_tallies import KeptTallies

    plan, messages, turns = five_questions(), folder / "messages", iter(range(100))
    messages.mkdir()
    for i, batch in enumerate(read_column(write_messages(plan, folder / "five.bin"))):
        times = np.full(batch.num_rows, np.datetime64("2026-11-17T12:00", "us"))
        table = pa.Table.from_batches([batch]).append_column(
            "timestamp", pa.array(times, pa.timestamp("us", "UTC"))
        )
        parquet.write_table(table, messages / f"{i}.parquet")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "2g")
        .config("spark.local.dir", str(folder))
        .getOrCreate()
    )
    try:

        def read() -> Any:
            return session.readStream.schema("value BINARY, timestamp TIMESTAMP").parquet(str(messages))

        def ours() -> None:
            turn = next(turns)
            into, checkpoint = folder / f"{turn}.json", folder / f"ours-{turn}"
            rows, within = plan.decode(read(), beside=["timestamp"]), ("timestamp", "1 hour")
            plan.tally_stream(rows, into, checkpoint, within=within, availableNow=True).awaitTermination()
            assert KeptTallies.read(into, plan.document).n == MILLION

        def theirs() -> None:
            counts = read().groupBy("value").count().writeStream.outputMode("update").format("noop")
            counts = counts.option("checkpointLocation", str(folder / f"theirs-{next(turns)}"))
            counts.trigger(availableNow=True).start().awaitTermination()

        spent = best({"ours": ours, "theirs": theirs}, 3)
    finally:
        session.stop()
    return {"clock": spent["ours"][0] / spent["theirs"][0], "seconds": spent["ours"][0]}


def memory(folder: Path, millions: int) -> Measured:
    """The memory of a process that tallies a file, whatever its length."""
    plan, path = one_question(dn.grr(16, 1.0)), folder / f"small-{millions}.parquet"
    clock = time.perf_counter()
    assert plan.tally(path).n == millions * MILLION
    return {"mebibytes": peak(), "seconds": time.perf_counter() - clock}


def alone(folder: str, name: str, *more: object) -> Measured:
    """A row in a process of its own."""
    command = [sys.executable, __file__, "row", folder, name, *map(str, more)]
    # the last line: an engine may print others
    found: Measured = json.loads(
        subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL).splitlines()[-1]
    )
    return found


def rows(unary: float, names: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    """The table in Markdown, and the bars that were missed; unary is what a peer takes to count a report."""
    lines = ["| work | ratio by the clock | of processor time | bar | memory, MiB |", "|---|--:|--:|--:|--:|"]
    missed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="deniable-bench-") as folder:
        for name, describe in ROWS.items():
            if not names or name in names:
                line, fault = describe(folder, unary)
                lines += line
                missed += fault
    return lines, missed


def _slower(work: str, name: str) -> Callable[[str, float], tuple[list[str], list[str]]]:
    def describe(folder: str, unary: float) -> tuple[list[str], list[str]]:  # noqa: ARG001
        found = alone(folder, name)
        processor = f"{found['ratio']:.2f} x" if "ratio" in found else "-"
        judged: float = found["ratio"] if "ratio" in found else found["clock"]
        line = f"| {work} | {found['clock']:.2f} x | {processor} | at most {MOST[name]:g} x | - |"
        return [line], [f"{work}: {judged:.2f} x"] if judged > MOST[name] else []

    return describe


def _unary(folder: str, unary: float) -> tuple[list[str], list[str]]:
    found, held = alone(folder, "oue"), alone(folder, "oue_memory")
    clock, processor = unary / found["clock"], unary / found["processor"]
    work = "10^7 OUE reports, k = 100, Parquet, faster than multi-freq-ldpy's aggregator in memory"
    line = (
        f"| {work} | {clock:.0f} x | {processor:.0f} x | at least {LEAST['oue']:g} x by the clock, "
        f"{MEMORY_BAR:g} MiB | {held['mebibytes']:.0f} |"
    )
    missed = [f"{work}: {clock:.0f} x by the clock"] if clock < LEAST["oue"] else []
    if held["mebibytes"] > MEMORY_BAR:
        missed.append(f"{work}: {held['mebibytes']:.0f} MiB")
    return [line], missed


def _pool(folder: str, unary: float) -> tuple[list[str], list[str]]:  # noqa: ARG001
    found = alone(folder, "pool")
    work = "10^7 OLH reports, k = 1,000, a public pool of 1,024, faster than the loop for own functions"
    line = (
        f"| {work} (error {found['error']:.3f} x theory) | {found['clock']:.0f} x | {found['ratio']:.0f} x | "
        f"at least {LEAST['pool']:g} x, error within {ERROR_BAR:.0%} | - |"
    )
    missed = [f"{work}: {found['ratio']:.0f} x"] if found["ratio"] < LEAST["pool"] else []
    if abs(found["error"] - 1) > ERROR_BAR:
        missed.append(f"{work}: an error of {found['error']:.3f} x theory")
    return [line], missed


def _memory(folder: str, unary: float) -> tuple[list[str], list[str]]:  # noqa: ARG001
    lines, held = [], []
    for millions in SIZES:
        small_table(Path(folder), millions)
        found = alone(folder, "memory", millions)
        held.append(found["mebibytes"])
        work = f"{millions}{'0' * 6} GRR reports, Parquet: {found['seconds']:.1f} s with the start"
        lines.append(f"| {work} | - | - | at most {FLAT_BAR:g} x the first | {held[-1]:.0f} |")
        (Path(folder) / f"small-{millions}.parquet").unlink()
    growth = max(held) / held[0]
    return lines, [f"memory of long tables: {growth:.2f} x"] if growth > FLAT_BAR else []


ROWS: dict[str, Callable[[str, float], tuple[list[str], list[str]]]] = {
    "grr": _slower(
        "10^7 GRR reports, 5 attributes, Parquet, beside DuckDB with SQL written by hand, both on all cores",
        "grr",
    ),
    "oue": _unary,
    "pool": _pool,
    "postgres": _slower(
        "10^6 OLH reports, k = 100, inside PostgreSQL, beside the loop in memory", "postgres"
    ),
    "spark": _slower(
        "10^7 GRR reports, Parquet, Spark with two workers, beside its own groupBy().count()", "spark"
    ),
    "decode": _slower(
        "10^6 reports of 5 attributes, from bytes to Parquet, beside the same bytes as one binary column",
        "decode",
    ),
    "stream": _slower(
        "10^6 reports of 5 attributes, a stream of Spark, beside its own groupBy().count() of the bytes",
        "stream",
    ),
    "memory": _memory,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["row"]:
        _, _, where, called, *rest = sys.argv
        print(json.dumps(globals()[called](Path(where), *map(int, rest))))
    else:
        per_report = 0.0
        if len(sys.argv) == 1 or "oue" in sys.argv:
            peers = Side([peers_python(), "peers.py"])
            peers.measure("multi tally oue many 100")
            per_report = peers.best["multi tally oue many 100"]
        table, below = rows(per_report, tuple(sys.argv[1:]))
        print("\n".join([*table, *(f"missed: {line}" for line in below)]))
