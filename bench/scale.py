"""What a billion reports cost in each shape and engine, by slopes, and a day of a billion people.

`python bench/scale.py` takes some minutes; with `costs`, `engines` or `day` it makes one table. It writes
them into docs/scale.md, between their marks, and draws docs/images/scale.png. Seconds are processor time,
since the machine is shared.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import deniable as dn
import queueing
from deniable.engines.query import count_by
from deniable.mechanisms import Mechanism
from deniable.metric.means import averaged
from deniable.plot import figure
from deniable.reports import Tallies
from deniable.store.counting import Known
from deniable.store.store import Arrival, open_store
from deniable.study import Plan
from deniable.wire import Report
from origin import describe_origin

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "scale.md"
PICTURE = HERE.parent / "docs" / "images" / "scale.png"
BILLION = 10**9
EPSILON = 1.0
SIZES = 40_000, 240_000  # reports; a slope is a difference
DEVICES = 20, 120  # reports that are made one by one
BATCHES = 1000, 10_000  # reports that a collector counts at once; it takes no more
TURNS = 3
SEED = 1
SWEPT = 0.55  # of the rate without sweeps, docs/operating.md
CATEGORIES: dict[str, Mechanism] = {
    "direct, k = 100": dn.grr(100, EPSILON),
    "unary, k = 100": dn.oue(100, EPSILON),
    "unary, k = 1,000": dn.oue(1000, EPSILON),
    "subset, k = 100": dn.ss(100, EPSILON),
    "subset, k = 1,000": dn.ss(1000, EPSILON),
    "hashed, k = 100": dn.olh(100, EPSILON),
    "hashed, k = 1,000": dn.olh(1000, EPSILON),
    "pooled, k = 1,000": dn.mechanisms.plh(1000, EPSILON),
    "Hadamard, k = 1,000": dn.hr(1000, EPSILON),
}


@dataclass(frozen=True)
class Slopes:
    """What one more report costs: bytes and seconds; and the rows that a partition gives to the others."""

    wire: int
    parquet: float
    device: float
    collector: tuple[float, ...]
    tally: float
    rows: int


def make_plans() -> dict[str, tuple[Plan, object]]:
    """A plan of one question for each shape, and an answer to it."""
    plans: dict[str, tuple[Plan, object]] = {}
    for name, mechanism in CATEGORIES.items():
        labels = [f"answer {value}" for value in range(mechanism.k)]
        plans[name] = Plan.of({"question": labels}, mechanism, people=BILLION), labels[3]
    ages = {"question": dn.Range(0, 100, step=1)}
    plans["metric, k = 100"] = Plan.of(ages, dn.metric.geometric(99, 0.1), people=BILLION), 3
    numbers = {"question": dn.Number(0, 100)}
    plans["mean"] = Plan.of(numbers, averaged("piecewise", EPSILON), people=BILLION), 3
    return plans


def seconds(work: Callable[[], object]) -> float:
    """Processor time of this process and its threads, the best of some turns."""
    found = []
    for _ in range(TURNS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def slope(sizes: tuple[int, int], cost: Callable[[int], float]) -> float:
    """What one more costs: the difference of two sizes, so that whatever is paid once is left out."""
    small, large = sizes
    return (cost(large) - cost(small)) / (large - small)


def measure(plan: Plan, answer: object, folder: Path) -> Slopes:
    """The slopes of one plan; what is compiled or loaded once is run before."""
    [mechanism] = plan.mechanism.mechanisms
    codes = np.random.default_rng(SEED).integers(0, mechanism.k, (1, max(SIZES)))
    reports = plan.privatize_codes(codes, dn.seeded(SEED))
    known = Known(1, plan.document)
    bodies = known.wire.bodies(reports)

    def write(n: int) -> Path:
        path = folder / f"{plan.id}-{n}.parquet"
        if not path.exists():
            plan.write_reports(path, plan.privatize_codes(codes[:, :n], dn.seeded(SEED)))
        return path

    def make_reports(n: int) -> None:
        for _ in range(n):
            dn.Client(plan, secret=os.urandom(32), cap=100.0).report({"question": answer})

    def count_bodies(n: int, batch: int) -> None:
        for start in range(0, n, batch):
            read, sound = known.wire.sound(bodies[start : start + batch])
            assert sound.all()
            known.count(read)

    make_reports(1)
    count_bodies(max(BATCHES), max(BATCHES))
    plan.tally(write(SIZES[0]))
    countings = map(count_by, plan.table_form.columns, plan.mechanism.mechanisms)
    cells = sum(sum(each.size for each in one.cells) or 1 for one in countings)
    return Slopes(
        len(Report(known.wire.prefix, 1, bytes(16), bodies[0]).to_bytes()),
        slope(SIZES, lambda n: write(n).stat().st_size),
        slope(DEVICES, lambda n: seconds(lambda: make_reports(n))),
        tuple(
            slope(SIZES, lambda n: seconds(lambda: count_bodies(n, batch)))  # noqa: B023
            for batch in BATCHES
        ),
        slope(SIZES, lambda n: seconds(lambda: plan.tally(write(n)))),
        cells,
    )


def costs() -> list[str]:
    """The table per billion reports."""
    lines = [
        f"{describe_origin()}, CPython {platform.python_version()}, epsilon = {EPSILON:g}, one "
        "question. Seconds are processor time of one core, on a shared machine: the best of "
        f"{TURNS} turns. Each number is a slope between {SIZES[0]:,} and {SIZES[1]:,} reports "
        f"({DEVICES[0]} and {DEVICES[1]} on a device), times a billion.",
        "",
        "| a billion reports | on the wire, GB | in Parquet, GB | all devices, s | collectors, in batches "
        f"of {BATCHES[0]:,}, s | in batches of {BATCHES[1]:,}, s | tally from Parquet, s "
        "| rows of a partition to shuffle |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    with tempfile.TemporaryDirectory() as name:
        for shape, (plan, answer) in make_plans().items():
            found = measure(plan, answer, Path(name))
            lines.append(
                f"| {shape} | {found.wire:,} | {found.parquet:,.2f} | {format_seconds(found.device)} | "
                f"{' | '.join(map(format_seconds, found.collector))} | {format_seconds(found.tally)} | "
                f"{found.rows:,} |"
            )
            print(lines[-1], flush=True)
    return lines


PARTS = 1, 6  # files that engines count, of SIZES[1] reports each
COUNTED = ("direct, k = 100",)


def all_seconds() -> float:
    """Processor time of this process and of all that it started: servers, and the machine of Java."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):  # a server's helper has ended; its parent has its time
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def time_all(work: Callable[[], object]) -> float:
    """Processor time of everything, the best of some turns."""
    spent = []
    for _ in range(TURNS):
        start = all_seconds()
        work()
        spent.append(all_seconds() - start)
    return min(spent)


def export_slope(plan: Plan, bodies: list[bytes], folder: Path) -> float:
    """Seconds to read one more report from PostgreSQL and write it to Parquet, as `deniable export` does."""
    from tests import services

    with closing(open_store(services.cluster().url())) as store:
        store.register(plan.document)
        spent = []
        store.set_round(plan.id, 1)
        for n, before in zip(SIZES, (0, SIZES[0]), strict=True):
            for start in range(before, n, BATCHES[1]):
                block = bodies[start : start + BATCHES[1]]
                store.add([Arrival(plan.id, 1, [os.urandom(16) for _ in block], block)], 0.0)
            path = folder / f"{plan.id}-exported-{n}.parquet"
            spent.append(time_all(lambda: plan.write_reports(path, store.reports(plan.id, 1, 100_000), True)))  # noqa: B023
    return (spent[1] - spent[0]) / (SIZES[1] - SIZES[0])


def fill_table(database: Any, table: Any, parts: tuple[int, ...]) -> None:
    """Tables of PostgreSQL with the reports of a relation, each as often as its name says."""
    kinds = {"TINYINT": "smallint", "SMALLINT": "smallint", "INTEGER": "integer", "BIGINT": "bigint"}
    kinds |= {"VARCHAR": "text", "UTINYINT": "smallint", "USMALLINT": "integer", "UINTEGER": "bigint"}
    columns = ", ".join(
        f'"{name}" {kinds[str(kind)]}' for name, kind in zip(table.columns, table.types, strict=True)
    )
    for n in parts:
        database.execute(f"CREATE TABLE reports_{n} ({columns})")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "reports.csv"
        table.write_csv(str(path), header=False)
        with (
            path.open("rb") as file,
            database.cursor().copy("COPY reports_1 FROM STDIN (FORMAT csv)") as copy,
        ):
            while block := file.read(1 << 20):
                copy.write(block)
    for n in parts[1:]:
        database.execute(
            f"INSERT INTO reports_{n} SELECT reports_1.* FROM reports_1, generate_series(1, {n})"
        )


@contextmanager
def spark(folder: Path) -> Iterator[Any]:
    """A session of Spark with two threads."""
    import pyspark
    from pyspark.sql import SparkSession

    os.environ |= {"SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_LOCAL_IP": "127.0.0.1"}
    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(folder),
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def engines() -> list[str]:
    """The table of export and of engines per billion reports."""
    import duckdb
    import psycopg
    from tests import services

    lines = [
        f"{describe_origin()}. Processor seconds of all that takes part, as above: slopes between "
        f"{PARTS[0] * SIZES[1]:,} and {PARTS[1] * SIZES[1]:,} reports, of exports between {SIZES[0]:,} and "
        f"{SIZES[1]:,}.",
        "",
        "| a billion reports, s | `deniable export` | Parquet files | DuckDB | PostgreSQL | Spark |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    plans = make_plans()
    with tempfile.TemporaryDirectory() as name, spark(Path(name)) as session, duckdb.connect() as lake:
        for shape in COUNTED:
            plan, folder = plans[shape][0], Path(name) / plans[shape][0].id
            [mechanism] = plan.mechanism.mechanisms
            codes = np.random.default_rng(SEED).integers(0, mechanism.k, (1, SIZES[1]))
            reports = plan.privatize_codes(codes, dn.seeded(SEED))
            plan.write_reports(folder / "part-0.parquet", reports)
            for part in range(1, PARTS[1]):
                others = plan.privatize_codes(codes, dn.seeded(SEED + part))
                plan.write_reports(folder / f"part-{part}.parquet", others)
            files = {n: [str(folder / f"part-{part}.parquet") for part in range(n)] for n in PARTS}
            tables = {
                n: lake.sql(f"SELECT *, '{plan.id}' AS plan FROM read_parquet({files[n]})") for n in PARTS
            }
            address = services.cluster().url()
            with psycopg.connect(address, autocommit=True) as database:
                fill_table(database, tables[1], PARTS)
            from pyspark.sql.functions import lit

            frames = {n: session.read.parquet(*files[n]).withColumn("plan", lit(plan.id)) for n in PARTS}
            ways: list[Callable[[int], Tallies]] = [
                lambda n: plan.tally(files[n]),  # noqa: B023
                lambda n: plan.tally(tables[n]),  # noqa: B023
                lambda n: plan.tally(address, f"reports_{n}"),  # noqa: B023
                lambda n: plan.tally(frames[n]),  # noqa: B023
            ]
            expected = plan.tally(reports).tallies["question"].counts
            for way in ways:
                counted = way(1).tallies["question"].counts
                assert (counted == expected).all(), shape
            spent = [export_slope(plan, Known(1, plan.document).wire.bodies(reports), folder)]
            spent += [
                (time_all(lambda: way(PARTS[1])) - time_all(lambda: way(PARTS[0])))  # noqa: B023
                / (SIZES[1] * (PARTS[1] - PARTS[0]))
                for way in ways
            ]
            lines.append(f"| {shape} | {' | '.join(map(format_seconds, spent))} |")
            print(lines[-1], flush=True)
    return lines


def format_seconds(each: float) -> str:
    """Of a billion, with two digits: the machine gives no more."""
    digits = 1 - int(np.floor(np.log10(each * BILLION)))
    return f"{round(each * BILLION, digits):,.0f}"


def read_load() -> tuple[int, int]:
    """Reports a second of one collector, and of one PostgreSQL, from bench/LOAD.md."""
    text = (HERE / "LOAD.md").read_text(encoding="utf-8")
    found = []
    for row in ("single binary, 64 connections", "batches of 1,000, PostgreSQL"):
        line = re.search(rf"^\| {re.escape(row)} \| ([\d,]+) \|", text, re.MULTILINE)
        assert line is not None, f"bench/LOAD.md has no row {row!r}"
        found.append(int(line.group(1).replace(",", "")))
    return found[0], found[1]


def day() -> list[str]:
    """The table of the simulated day, and its picture."""
    single, store = read_load()
    rate = int(SWEPT * single)
    setting = queueing.Setting(1, rate, store)
    peak = int(queueing.draw_arrivals(setting, np.random.default_rng(SEED)).max())
    days = queueing.try_collectors(replace(setting, collectors=-(-peak // rate)), SEED)
    days[max(days) + 1] = queueing.simulate_day(replace(setting, collectors=max(days) + 1), SEED)
    lines = [
        f"A collector takes {rate:,} reports a second: {SWEPT:g} of the {single:,} single reports of "
        f"`bench/LOAD.md`, to leave room for sweeps. The store of all takes {store:,}. At most {peak:,} "
        f"people come in a second, {peak / (BILLION / setting.seconds):.2f} times the mean. Seed {SEED}.",
        "",
        "| collectors | counted at the first try | 99 % wait at most, s | longest wait, s "
        "| most wait at once | wait at midnight |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for number, found in days.items():
        assert np.array_equal(found.arrived, found.counted + found.waiting)
        assert int(found.waits.sum()) == found.counted[-1]
        at_once = "below 1" if found.percentile(0.99) == 0 else f"{found.percentile(0.99):,}"
        lines.append(
            f"| {number} | {found.waits[0] / BILLION:.3%} | {at_once} | {found.oldest.max():,} | "
            f"{found.most.max():,} | {found.waiting[-1]:,} |"
        )
    draw(days)
    return lines


def draw(days: dict[int, queueing.Day]) -> None:
    """Who comes, who is counted and who waits, with one collector fewer than needed and with enough."""
    from matplotlib.figure import Figure

    few, enough = sorted(days)[-3:-1]
    with figure.style():
        drawing = Figure(figsize=(8, 4.6), layout="constrained")
        above, below = drawing.subplots(2, 1, sharex=True)
        hours = np.arange(1, len(days[few].arrived) + 1) / 60
        per_second = [np.diff(each, prepend=0) / 60 for each in (days[few].arrived, days[few].counted)]
        above.plot(hours, per_second[1], color=figure.ESTIMATE, label=f"counted, {few} collectors")
        above.plot(hours, per_second[0], color=figure.INK, linewidth=1, label="people who come")
        above.set_ylabel("a second")
        below.fill_between(
            hours, days[few].most / 1e6, color=figure.ESTIMATE, label=f"wait, {few} collectors"
        )
        below.plot(hours, days[enough].most / 1e6, color=figure.TRUTH, label=f"wait, {enough} collectors")
        below.set_ylabel("million people")
        below.set_xlabel("hour of the day; one collector is lost from 20 to 21")
        below.set_xticks(range(0, 25, 4))
        for axes in (above, below):
            axes.set_ylim(bottom=0)
            axes.set_xlim(0, 24)
            axes.legend(loc="upper left")
        figure.save(drawing, PICTURE)


def replace_marked(text: str, mark: str, lines: list[str]) -> str:
    """The text with these lines between the two marks of this name."""
    begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    assert found, f"docs/scale.md has no mark {mark!r}"
    assert ended, f"docs/scale.md does not end {mark!r}"
    return before + begin + "\n" + "\n".join(lines) + "\n\n" + end + after


def main() -> None:
    makers = {"costs": costs, "engines": engines, "day": day}
    for mark in sys.argv[1:] or makers:
        lines = makers[mark]()
        PAGE.write_text(replace_marked(PAGE.read_text(encoding="utf-8"), mark, lines), encoding="utf-8")


if __name__ == "__main__":
    main()
