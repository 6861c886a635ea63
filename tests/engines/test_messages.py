"""Every engine counts the same reports in the same bytes, and so does a stream that is killed on the way."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet

import deniable as dn
from deniable.engines import Request
from deniable.reports.reports import Tallies
from deniable.results.kept_tallies import KeptTallies
from deniable.results.streams import StreamCount
from deniable.study import Plan
from deniable.wire import Report, Wire
from tests import services, spark
from tests.cases import by_night
from tests.engines.test_counts import copy_table, require
from tests.random_studies import draw_studies
from tests.wire.test_received import break_bytes

PLANS = 60
"""Random plans whose bytes every engine counts: three of them by day."""


def draw_plan(seed: int, folder: Path) -> Plan:
    [study] = draw_studies(1, folder, seed)
    return study.plan


def draw_messages(plan: Plan, n: int, seed: int) -> list[bytes]:
    """Messages of n simulated people, each of one round, some of them broken, and some of them twice."""
    draw, numbers, wire = random.Random(seed), np.random.default_rng(seed), Wire(plan.document)
    sizes = [min(part.k, 1 << 62) for part in plan.document.parts]
    sizes += [] if plan.document.known is None else [plan.document.known.size]
    codes = np.stack([numbers.integers(0, size, n) for size in sizes])
    reports = plan.privatize_codes(codes, dn.remembering(seed, round=1))
    sent = [Report(wire.prefix, 1, draw.randbytes(16), body).to_bytes() for body in wire.bodies(reports)]
    broken = [break_bytes(raw, draw) for raw in sent[: n // 4]]
    messages = [*sent[n // 4 :], *(raw for raw in broken if raw[9:13] == sent[0][9:13]), *sent[-n // 10 :]]
    draw.shuffle(messages)
    return messages


def check(tally: Tallies, expected: Tallies, messages: int) -> None:
    """The same reports are counted, and every other message is refused."""
    assert (tally.n, tally.tallies, tally.groups) == (expected.n, expected.tallies, expected.groups)
    assert tally.n + sum(tally.refused.values()) == messages


@by_night("seed", range(PLANS), *range(3, PLANS))
def test_engines_count_the_same_bytes(seed: int, tmp_path: Path) -> None:
    """DuckDB decodes itself; files, Polars and PostgreSQL have what `write_reports` wrote of each half."""
    plan = draw_plan(seed, tmp_path)
    messages = draw_messages(plan, 400, seed)
    received = plan.read_wire(messages)
    expected = plan.tally(received)
    assert 300 <= expected.n == len(messages) - sum(received.refused.values())
    with require("duckdb").connect() as lake:
        plan.add_decoder(lake)
        lake.register("messages", pa.table({"value": pa.array(messages, pa.binary())}))
        check(
            plan.tally(lake.sql("SELECT unnest(decode_report(value)) FROM messages")), expected, len(messages)
        )
    for i, half in enumerate((messages[:200], messages[200:])):
        plan.write_reports(tmp_path / "lake" / f"{i}.parquet", plan.read_wire(half))
    written = sum(parquet.read_metadata(path).num_rows for path in (tmp_path / "lake").iterdir())
    check(plan.tally(tmp_path / "lake"), expected, written)
    table = parquet.read_table(tmp_path / "lake").replace_schema_metadata()
    table = table.append_column("plan", pa.array([plan.id] * len(table)))
    polars = pl.from_arrow(table)
    check(plan.tally(polars), expected, written)
    if all(part.listed for part in plan.document.parts):
        url = services.cluster().url()
        with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
            copy_table(connection, table)
        check(plan.tally(url, "t"), expected, written)


BATCH = dn.Study({"smokes": ["yes", "no"], "age": dn.Range(0, 50, step=10)}, epsilon=2.0).plan(people=100)


def decode_table(messages: list[bytes]) -> pa.Table:
    """A batch of a stream, as a table."""
    with require("duckdb").connect() as lake:
        BATCH.add_decoder(lake)
        lake.register("messages", pa.table({"value": pa.array(messages, pa.binary())}))
        return lake.sql("SELECT unnest(decode_report(value)) FROM messages").to_arrow_table()


def test_a_batch_is_counted_once(tmp_path: Path) -> None:
    """By its number; the tallies of another stream, and those by other windows, are not added to."""
    messages = draw_messages(BATCH, 100, 1)
    batches = [decode_table(messages[:50]), decode_table(messages[50:])]
    into = tmp_path / "tallies.json"
    count = StreamCount(BATCH.document, into, Request(BATCH.table_form, kept=True))
    for batch, number in ((0, 0), (0, 0), (1, 1), (0, 0), (1, 1)):
        count.add(batches[batch], number, "stream")
    kept = KeptTallies.read(into, BATCH.document).tally()
    assert kept == sum(BATCH.tally(batch) for batch in batches)
    for other, query, why in (
        (count, "other", "are of another stream"),
        (replace(count, request=Request(BATCH.table_form, ("day",), kept=True)), "stream", "kept by nothing"),
    ):
        with pytest.raises(dn.InvalidParameter, match=why):
            other.add(batches[0], 2, query)
    assert KeptTallies.read(into, BATCH.document).tally() == kept


def write_messages(plan: Plan, messages: list[bytes], folder: Path, files: int) -> Path:
    """Files of messages with the time at which each came, and its day."""
    folder.mkdir()
    for i in range(files):
        part = messages[i::files]
        times = [datetime(2026, 11, 17, 12, i, tzinfo=UTC)] * len(part)
        columns = {
            "value": pa.array(part, pa.binary()),
            "timestamp": pa.array(times, pa.timestamp("us", "UTC")),
            "day": [f"day {i % 2}" for _ in part],
        }
        parquet.write_table(pa.table(columns), folder / f"{i}.parquet")
    return folder


def sum_windows(windows: Mapping[Any, Tallies]) -> Tallies:
    return sum(windows.values(), start=0)  # type: ignore[return-value]  # there is one


@pytest.mark.long
@pytest.mark.parametrize("seeds", [range(start, start + 10) for start in range(0, PLANS, 10)], ids=str)
def test_spark_counts_the_same_bytes_and_streams(seeds: range, tmp_path: Path) -> None:
    """At once, and as a stream of four batches that compares ids over all of them."""
    spark.require_spark()
    driver = spark.SparkDriver("local[2]", tmp_path)
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        plan = draw_plan(seed, folder)
        messages = draw_messages(plan, 400, seed)
        received = plan.read_wire(messages)
        expected = plan.tally(received)
        given = {"plan": str(plan.write(folder / "plan.json")), "into": str(folder / "tallies.json")}
        given["messages"] = str(write_messages(plan, messages, folder / "messages", 4))
        given["checkpoint"] = str(folder / "checkpoint")
        found = driver.call("count messages", **given, within=["timestamp", "1 hour"], by="day")
        check(sum_windows(found["table"]), expected, len(messages))
        whys = {why: n for why, n in received.refused.items() if why != "repeated"}
        assert {why: n for why, n in found["refused"] if why is not None} == whys
        windows = KeptTallies.read(given["into"], plan.document).tally_windows("day")
        check(sum_windows(windows), expected, expected.n + sum(whys.values()))
        assert "a stream has no end" in found["again"]
        assert "are of another stream" in found["other"]
    driver.stop()


@pytest.mark.long
def test_a_stream_that_is_killed_counts_every_report_once(tmp_path: Path) -> None:
    """Spark is killed when the first of six batches is counted. Then its last word on the last batch is taken
    from the checkpoint, as if it were killed between the count and that word, and it repeats the batch.
    """
    spark.require_spark()
    messages = draw_messages(BATCH, 600, 3)
    expected = BATCH.tally(BATCH.read_wire(messages))
    into, checkpoint = tmp_path / "tallies.json", tmp_path / "checkpoint"
    given: dict[str, Any] = {"plan": str(BATCH.write(tmp_path / "plan.json")), "into": str(into)}
    given["messages"] = str(write_messages(BATCH, messages, tmp_path / "messages", 6))
    given |= {"checkpoint": str(checkpoint), "within": ["timestamp", "1 hour"], "by": "day"}
    killed = spark.SparkDriver("local[2]", tmp_path)
    running = killed.begin("count messages", **given)
    killed.wait_for(into.exists)
    killed.kill()
    assert not killed.is_done(running)
    first = KeptTallies.read(into, BATCH.document)
    assert first.n < expected.n
    for _ in range(2):
        driver = spark.SparkDriver("local[2]", tmp_path)
        driver.call("count messages", **given)
        driver.stop()
        windows = KeptTallies.read(into, BATCH.document).tally_windows("day")
        assert sum_windows(windows).n == expected.n
        assert sum_windows(windows).tallies == expected.tallies
        commits = [int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit()]
        for name in (f"{max(commits)}", f".{max(commits)}.crc"):
            (checkpoint / "commits" / name).unlink()
