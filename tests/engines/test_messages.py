"""Every engine counts the same reports in the same bytes, and so does a stream that is killed on the way."""

from __future__ import annotations

import random
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
from deniable.reports.reports import Tallies
from deniable.results.kept_tallies import KeptTallies
from deniable.results.streams import StreamCount
from deniable.results.windows import Windows, join_refused, name_values, tally_chain
from deniable.study import Plan
from deniable.wire import Report, Wire
from tests import services, spark
from tests.cases import by_night
from tests.engines.test_chains import list_chains
from tests.engines.test_counts import copy_table, require
from tests.random_studies import draw_studies
from tests.wire.test_received import break_bytes

PLANS = 66
"""Random plans, and chains of plans, whose bytes every engine counts: three of them by day."""
BY = ["day", "round"]

Rounds = dict[tuple[str, int | None], Tallies]
"""The tallies of each plan and round that has reports."""


def draw_plans(seed: int, folder: Path) -> list[Plan]:
    """A random plan, or plans that continue each other, the newest last."""
    if seed % 3 == 2:
        chains = list(list_chains().values())
        return chains[seed // 3 % len(chains)]
    [study] = draw_studies(1, folder, seed)
    return [study.plan]


def draw_messages(plan: Plan, n: int, seed: int) -> list[bytes]:
    """Messages of n simulated people, each of one round, some of them broken, and some of them twice."""
    draw, numbers, wire = random.Random(seed), np.random.default_rng(seed), Wire(plan.document)
    sizes = [min(part.k, 1 << 62) for part in plan.document.parts]
    sizes += [] if plan.document.known is None else [plan.document.known.size]
    codes = np.stack([numbers.integers(0, size, n) for size in sizes])
    bodies = wire.bodies(plan.privatize_codes(codes, dn.remembering(seed, round=1)))
    rounds = [draw.randint(1, wire.rounds) for _ in bodies]
    sent = [
        Report(wire.prefix, number, draw.randbytes(16), body).to_bytes()
        for number, body in zip(rounds, bodies, strict=True)
    ]
    messages = [*sent[n // 4 :], *(break_bytes(raw, draw) for raw in sent[: n // 4]), *sent[-n // 10 :]]
    draw.shuffle(messages)
    return messages


def draw_chain_messages(plans: list[Plan], n: int, seed: int) -> list[bytes]:
    """Messages to all plans, in random order."""
    messages = [raw for i, plan in enumerate(plans) for raw in draw_messages(plan, n, seed + 1000 * i)]
    random.Random(seed).shuffle(messages)
    return messages


def expect_rounds(plans: list[Plan], messages: list[bytes]) -> Rounds:
    """What each plan reads by itself, as the newest one of those that it reads."""
    rounds = {}
    for plan in plans:
        blocks = [block for block in plan.read_wire(messages) if block.plan_id == plan.id]
        for number in {block.round for block in blocks if block.n}:
            rounds[plan.id, number] = plan.tally([block for block in blocks if block.round == number])
    return rounds


def sum_rounds(windows: list[Windows]) -> Rounds:
    """The tallies of each plan and round over all days."""
    rounds: Rounds = {}
    for tallies in (tallies for each in windows for tallies in each.values() if tallies.n):
        key = tallies.plan_id, tallies.round
        rounds[key] = rounds[key] + tallies if key in rounds else tallies
    return rounds


def check(windows: list[Windows], expected: Rounds, messages: int) -> None:
    """The same reports are counted for each plan, and every other message is refused."""
    counted = sum_rounds(windows)
    assert {key: (part.n, part.tallies, part.groups) for key, part in counted.items()} == {
        key: (part.n, part.tallies, part.groups) for key, part in expected.items()
    }
    plan_id = next(part.plan_id for part in windows[-1].values())
    refused = sum(join_refused(plan_id, windows).values())
    assert sum(part.n for part in counted.values()) + refused == messages


@by_night("seed", range(PLANS), *range(3, PLANS))
def test_engines_count_the_same_bytes(seed: int, tmp_path: Path) -> None:
    """DuckDB decodes itself; files, Polars and PostgreSQL have what `write_reports` wrote of each half."""
    plans = draw_plans(seed, tmp_path)
    plan, messages = plans[-1], draw_chain_messages(plans, 400, seed)
    received, expected = plan.read_wire(messages), expect_rounds(plans, messages)
    n = sum(block.n for block in received)
    assert 300 * len(plans) <= n == sum(part.n for part in expected.values()) == received.n
    assert n + sum(received.refused.values()) == len(messages)

    def count(source: object, table: str | None = None) -> list[Windows]:
        return tally_chain(plan.document, source, table, "day", None, None)

    with require("duckdb").connect() as lake:
        for each in plans:  # the newest one takes the place of others
            each.add_decoder(lake)
        lake.register("messages", pa.table({"value": pa.array(messages, pa.binary())}))
        rows = lake.sql("SELECT 'monday' AS day, unnest(decode_report(value)) FROM messages")
        check(count(rows), expected, len(messages))
    half = len(messages) // 2
    for i, part in enumerate((messages[:half], messages[half:])):
        plan.write_reports(tmp_path / "lake" / f"day={i}" / "0.parquet", plan.read_wire(part))
    paths = sorted((tmp_path / "lake").rglob("*.parquet"))
    written = sum(parquet.read_metadata(path).num_rows for path in paths)
    check(count(tmp_path / "lake"), expected, written)
    tables = [parquet.ParquetFile(path).read().replace_schema_metadata() for path in paths]
    table = pa.concat_tables([each.append_column("day", pa.array([1] * len(each))) for each in tables])
    if len(plans) == 1:
        table = table.append_column("plan", pa.array([plan.id] * len(table)))
    check(count(pl.from_arrow(table)), expected, written)
    if all(part.listed for part in plan.document.parts):
        url = services.cluster().url()
        with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
            copy_table(connection, table)
        check(count(url, "t"), expected, written)


BATCH = dn.Study({"smokes": ["yes", "no"], "age": dn.Range(0, 50, step=10)}, epsilon=2.0).plan(people=100)


def decode_table(plan: Plan, messages: list[bytes], day: str = "") -> pa.Table:
    """A batch of a stream, as a table."""
    with require("duckdb").connect() as lake:
        plan.add_decoder(lake)
        lake.register("messages", pa.table({"value": pa.array(messages, pa.binary())}))
        return lake.sql(f"SELECT '{day}' AS day, unnest(decode_report(value)) FROM messages").to_arrow_table()


def test_a_batch_is_counted_once(tmp_path: Path) -> None:
    """By its number; the tallies of another stream, and those by other windows, are not added to."""
    messages = draw_messages(BATCH, 100, 1)
    batches = [decode_table(BATCH, messages[:50]), decode_table(BATCH, messages[50:])]
    into = tmp_path / "tallies.json"
    count = StreamCount(BATCH.document, into)
    for batch, number in ((0, 0), (0, 0), (1, 1), (0, 0), (1, 1)):
        count.add(batches[batch], number, "stream")
    kept = KeptTallies.read(into, BATCH.document).tally()
    assert kept == sum(BATCH.tally(batch) for batch in batches)
    for other, query, why in (
        (count, "other", "are of another stream"),
        (replace(count, by=("day",)), "stream", "kept by nothing"),
    ):
        with pytest.raises(dn.InvalidParameter, match=why):
            other.add(batches[0], 2, query)
    assert KeptTallies.read(into, BATCH.document).tally() == kept


def test_a_new_plan_goes_on_with_a_stream(tmp_path: Path) -> None:
    """Each batch is counted once, by the plan that comes to it first, and all rows are accounted for. The
    file has the tallies that `deniable tally` keeps of the same reports.
    """
    plans, days = list_chains()["more values"], ["2026-11-16", "2026-11-17"]
    halves = [draw_chain_messages(plans[:2], 100, 1), draw_chain_messages(plans, 100, 2)]
    halves[0].append(Report(Wire(plans[1].document).prefix, 0, bytes(16), b"").to_bytes())  # of no round
    into, newest = tmp_path / "tallies.json", plans[-1].document
    for plan, half, number in ((plans[1], 0, 0), (plans[3], 0, 0), (plans[3], 1, 1), (plans[3], 1, 1)):
        count = StreamCount(plan.document, into, tuple(BY))
        count.add(decode_table(plan, halves[half], days[half]), number, "stream")
    kept = KeptTallies.read(into, newest)
    expected = expect_rounds(plans, [*halves[0], *halves[1]])
    check(read_tallies(plans[-1], into), expected, len(halves[0]) + len(halves[1]))
    for day, sent in zip(days, halves, strict=True):
        plans[-1].write_reports(tmp_path / "lake" / f"day={day}" / "0.parquet", plans[-1].read_wire(sent))
    KeptTallies.update(tmp_path / "files.json", newest, tmp_path / "lake", by=BY)
    of_stream, of_files = (
        [
            {tuple(name_values(key)): (part.n, part.tallies) for key, part in windows.items() if part.n}
            for windows in each.list_windows("day")
        ]
        for each in (kept, KeptTallies.read(tmp_path / "files.json", newest))
    )
    assert len(of_stream) == len(plans)
    assert of_stream == of_files
    received = plans[-1].read_wire([*halves[0], *halves[1]])
    assert sum(block.n for block in received) == kept.n
    assert kept.refused["plan"] == received.refused["plan"] > 0
    with pytest.raises(dn.InvalidReport, match="were made for plan"):
        StreamCount(plans[0].document, into, tuple(BY)).add(None, 2, "stream")


def write_messages(messages: list[bytes], folder: Path, minutes: range) -> Path:
    """A file of messages for each minute, with the time at which each came, and its day."""
    folder.mkdir(exist_ok=True)
    for i in minutes:
        part = messages[i - minutes.start :: len(minutes)]
        times = [datetime(2026, 11, 17, 12, i, tzinfo=UTC)] * len(part)
        columns = {
            "value": pa.array(part, pa.binary()),
            "timestamp": pa.array(times, pa.timestamp("us", "UTC")),
            "day": [f"day {i % 2}" for _ in part],
        }
        parquet.write_table(pa.table(columns), folder / f"{i}.parquet")
    return folder


def read_tallies(plan: Plan, into: str | Path) -> list[Windows]:
    """What a stream has counted of each plan."""
    return [part.tally_windows(BY) for part in KeptTallies.read(into, plan.document).chain]


@pytest.mark.long
@pytest.mark.parametrize("seeds", [range(start, start + 11) for start in range(0, PLANS, 11)], ids=str)
def test_spark_counts_the_same_bytes_and_streams(seeds: range, tmp_path: Path) -> None:
    """At once, and as a stream of four batches that compares ids over all of them."""
    spark.require_spark()
    driver = spark.SparkDriver("local[2]", tmp_path)
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        plans = draw_plans(seed, folder)
        plan, messages = plans[-1], draw_chain_messages(plans, 400, seed)
        received, expected = plan.read_wire(messages), expect_rounds(plans, messages)
        n = sum(block.n for block in received)
        given = {"plan": str(plan.write(folder / "plan.json")), "into": str(folder / "tallies.json")}
        given["messages"] = str(write_messages(messages, folder / "messages", range(4)))
        given["checkpoint"] = str(folder / "checkpoint")
        found = driver.call("count messages", **given, within=["timestamp", "1 hour"], by=BY)
        check(found["table"], expected, len(messages))
        whys = {why: n for why, n in received.refused.items() if why != "repeated"}
        assert {why: n for why, n in found["refused"] if why is not None} == whys
        check(read_tallies(plan, given["into"]), expected, n + sum(whys.values()))
        assert "a stream has no end" in found["again"]
        assert "are of another stream" in found["other"]
    driver.stop()


@pytest.mark.long
def test_a_stream_that_is_killed_counts_every_report_once(tmp_path: Path) -> None:
    """Spark is killed when the first of three batches is counted. A new plan goes on with the stream, and has
    three batches more. Then its last word on the last batch is taken from the checkpoint, as if it were
    killed between the count and that word, and it repeats the batch.
    """
    spark.require_spark()
    plans = list_chains()["more values"]
    earlier, later = draw_chain_messages(plans[:2], 200, 3), draw_chain_messages(plans, 200, 4)
    repeated = [*later, *earlier[:50]]
    expected = expect_rounds(plans, [*earlier, *later])
    into, checkpoint = tmp_path / "tallies.json", tmp_path / "checkpoint"
    given: dict[str, Any] = {"plan": str(plans[1].write(tmp_path / "old.json")), "into": str(into)}
    given["messages"] = str(write_messages(earlier, tmp_path / "messages", range(3)))
    given |= {"checkpoint": str(checkpoint), "within": ["timestamp", "1 hour"], "by": BY}
    killed = spark.SparkDriver("local[2]", tmp_path)
    running = killed.begin("count messages", **given)
    killed.wait_for(into.exists)
    killed.kill()
    assert not killed.is_done(running)
    first = KeptTallies.read(into, plans[1].document)
    assert 0 < first.n < sum(part.n for part in expect_rounds(plans, earlier).values())
    write_messages(repeated, tmp_path / "messages", range(3, 6))
    given["plan"] = str(plans[-1].write(tmp_path / "new.json"))
    for _ in range(2):
        driver = spark.SparkDriver("local[2]", tmp_path)
        driver.call("count messages", **given)
        driver.stop()
        counted = sum_rounds(read_tallies(plans[-1], into))
        assert {key: (part.n, part.tallies) for key, part in counted.items()} == {
            key: (part.n, part.tallies) for key, part in expected.items()
        }
        commits = [int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit()]
        for name in (f"{max(commits)}", f".{max(commits)}.crc"):
            (checkpoint / "commits" / name).unlink()
