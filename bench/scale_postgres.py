"""What one PostgreSQL does with 10^8 reports of random ids, in the store's own tables.

`python bench/scale_postgres.py --folder /disk/of/it` takes an hour and more, and 40 GB. Reports come by COPY
in sorted blocks, as a sweep moves them. At each size the store's own writer adds reports, sweeps them and
reads some in the order of an export. Each printed line is a measurement, which docs/scale.md has in a table.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import final

import numpy as np
import psycopg
from tests import services

import deniable as dn
from deniable.store.counting import Known
from deniable.store.store import Arrival, Store, open_store
from deniable.study import Plan
from origin import describe_origin

SIZES = 1_000_000, 10_000_000, 20_000_000, 50_000_000, 100_000_000
BLOCK = 100_000  # reports after which a store sweeps
BATCH = 1_000  # reports of a request to the collector
MINUTE = 300_000  # reports that come in a minute, after which the server's log is dropped
READ = 500_000  # reports that are read as an export does
LEFT = 20 << 30  # bytes of the disk that are left alone
SETTINGS = {
    # those of deploy/compose.yaml that change what is written
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "wal_recycle": "off",
}
UNSORTED = "ALTER TABLE reports DROP CONSTRAINT reports_pkey"
KEY = "ALTER TABLE reports ADD CONSTRAINT reports_pkey PRIMARY KEY (plan, round, id)"
COLUMNS = "plan integer NOT NULL, round integer NOT NULL, id bytea NOT NULL, body bytea"
LAYOUTS = {
    # statements, the last of which makes the index
    "one table, as the store has it": (UNSORTED, KEY),
    "pages of the index 70 % full": (UNSORTED, f"{KEY} WITH (fillfactor = 70)"),
    "a table for each round": (
        "DROP TABLE reports",
        f"CREATE TABLE reports ({COLUMNS}) PARTITION BY LIST (round)",
        "CREATE TABLE reports_1 PARTITION OF reports FOR VALUES IN (1)",
        "ALTER TABLE reports_1 ADD CONSTRAINT reports_pkey PRIMARY KEY (id)",
    ),
    "16 tables by id": (
        "DROP TABLE reports",
        f"CREATE TABLE reports ({COLUMNS}) PARTITION BY HASH (id)",
        *(
            f"CREATE TABLE reports_{n} PARTITION OF reports FOR VALUES WITH (MODULUS 16, REMAINDER {n})"
            for n in range(16)
        ),
        KEY,
    ),
}


@final
class Filled:
    """A store that is filled by COPY, with tallies that fit, and measured on the way."""

    def __init__(self, cluster: services.Cluster, url: str) -> None:
        self.cluster, self.url = cluster, url
        labels = [f"answer {value}" for value in range(100)]
        self.plan = Plan.of({"question": labels}, dn.grr(100, 1.0), people=10**9)
        self.known = Known(1, self.plan.document)
        codes = np.random.default_rng(1).integers(0, 100, (1, BLOCK))
        self.bodies = self.known.wire.bodies(self.plan.privatize_codes(codes, dn.seeded(1)))
        self.rows = 0

    def prepare(self, statements: tuple[str, ...]) -> None:
        """Make the store, and change its tables by these statements."""
        with closing(open_store(self.url)) as store:
            store.register(self.plan.document)
            store.set_round(self.plan.id, 1)
        self.run(*statements)

    def run(self, *statements: str) -> float:
        """Run statements, each by itself; seconds."""
        start = time.monotonic()
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())
        return time.monotonic() - start

    def log_position(self) -> int:
        """How many bytes the server's log ever had."""
        [(position,)] = self.cluster.sql("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
        return int(str(position))

    def gigabytes(self) -> dict[str, float]:
        """The sizes of the table of reports and of its index."""
        kinds = {"table": "r", "index": "i"}
        sql = (
            "SELECT coalesce(sum(pg_relation_size(oid)), 0)::bigint FROM pg_class WHERE relname LIKE "
            f"'reports%' AND relnamespace = '{self.url.rpartition('%3D')[2]}'::regnamespace AND relkind = "
        )
        return {
            name: int(str(self.cluster.sql(f"{sql}'{kind}'")[0][0])) / 1e9 for name, kind in kinds.items()
        }

    def copy(self, rows: int) -> dict[str, float]:
        """Fill the table: rows a second, and bytes of the log for a row."""
        body = np.frombuffer(b"".join(self.bodies), np.uint8).reshape(BLOCK, -1)
        numbers = [(name, ">i4") for name in ("of_plan", "plan", "of_round", "round", "of_id")]
        kind = np.dtype(
            [("columns", ">i2"), *numbers, ("id", "S16"), ("of_body", ">i4"), ("body", "u1", body.shape[1])]
        )
        block = np.zeros(BLOCK, kind)
        block["columns"] = block["of_plan"] = block["of_round"] = 4
        block["of_id"], block["of_body"] = 16, body.shape[1]
        block["plan"] = block["round"] = 1
        block["body"] = body
        raw, place = block.view("u1").reshape(BLOCK, -1), 2 + 4 * len(numbers)
        start, position, before = time.monotonic(), self.log_position(), self.rows
        with psycopg.connect(self.url, autocommit=True) as connection:
            while self.rows < rows:
                ids = np.frombuffer(os.urandom(16 * BLOCK), ">u8").reshape(BLOCK, 2)
                raw[:, place : place + 16] = ids[np.argsort(ids[:, 0])].view("u1").reshape(BLOCK, 16)
                with connection.cursor().copy("COPY reports FROM STDIN (FORMAT binary)") as copy:
                    copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8) + raw.tobytes() + b"\xff\xff")
                self.rows += BLOCK
                if shutil.disk_usage(self.cluster.folder).free < LEFT:
                    raise SystemExit(f"the disk is nearly full at {self.rows:,} rows")
            added = self.rows - before
            # all blocks have the reports of one, and each size is a collector of its own
            sums = self.known.count(self.known.wire.reports(self.bodies)) * (added // BLOCK)
            values = (1000 + before // BLOCK, self.known.sums.write(sums))
            connection.execute(b"INSERT INTO tallies VALUES (1, 1, %s, %s)", values)
        took, logged = time.monotonic() - start, self.log_position() - position
        return {"copied a second": added / took, "log bytes a row": logged / added}

    def fill(self, layout: tuple[str, ...], rows: int) -> dict[str, float]:
        """Fill the table before it has its index: seconds of both."""
        row = "1, 1, uuid_send(gen_random_uuid()), set_byte('\\x00', 0, (random() * 99)::int)"
        chunks = [SIZES[0]] * (rows // SIZES[0])
        inserts = [f"INSERT INTO reports SELECT {row} FROM generate_series(1, {n})" for n in chunks]
        *before, key = layout
        filled = self.run(*before, *inserts)
        indexed = self.run("SET maintenance_work_mem = '1GB'", key, "VACUUM (ANALYZE) reports")
        return {"filled": filled, "indexed": indexed}

    def write(self) -> dict[str, float]:
        """Add a minute's reports as a collector does: their rate, bytes of the log, seconds of a sweep."""
        with closing(open_store(self.url)) as store:
            self._add(store, BLOCK)  # the pool is full; a minute begins with a sweep by time
            store.sweep()
            position, seconds = self.log_position(), self._add(store, MINUTE)
            start = time.monotonic()
            store.sweep()
            seconds.append(time.monotonic() - start)
            logged = (self.log_position() - position) / MINUTE
        return {
            "written a second": MINUTE / sum(seconds),
            "log bytes a report": logged,
            "sweep": max(seconds),
        }

    def _add(self, store: Store, reports: int) -> list[float]:
        """Add so many reports, in batches; the seconds of each."""
        seconds = []
        for n in range(0, reports, BATCH):
            ids = [os.urandom(16) for _ in range(BATCH)]
            arrival = Arrival(self.plan.id, 1, ids, self.bodies[n % BLOCK : n % BLOCK + BATCH])
            start = time.monotonic()
            assert set(store.add([arrival], 0.0)) == {"counted"}
            seconds.append(time.monotonic() - start)
        return seconds

    def read(self) -> dict[str, float]:
        """Reports a second in the order of ids, as `deniable export` reads them."""
        n, start = 0, time.monotonic()
        with closing(open_store(self.url)) as store:
            for reports in store.reports(self.plan.id, 1, BLOCK):
                n += reports.n
                if n >= READ:
                    break
        return {"exported a second": n / (time.monotonic() - start)}


def measure(filled: Filled, sizes: Iterator[int]) -> Iterator[dict[str, object]]:
    """What one size after the other costs, and then what is done to all."""
    for rows in sizes:
        copied = filled.copy(rows)
        yield {"rows": rows, **copied, **filled.gigabytes(), **filled.write(), **filled.read()}
    set_and_restart(filled.cluster, shared_buffers="128MB")
    yield {"shared_buffers": "128MB", **filled.write(), **filled.read()}
    yield {"VACUUM": filled.run("VACUUM reports"), **filled.gigabytes()}
    yield {"VACUUM FULL": filled.run("VACUUM (FULL) reports"), **filled.gigabytes(), **filled.write()}
    refill = "ALTER INDEX reports_pkey SET (fillfactor = 70)", "REINDEX INDEX reports_pkey"
    yield {
        "fill factor 70": filled.run(*refill),
        **filled.gigabytes(),
        **filled.write(),
        **filled.gigabytes(),
    }


def measure_filled(filled: Filled, layout: tuple[str, ...], rows: int) -> Iterator[dict[str, object]]:
    """What a layout costs at one size, and with a log that is compressed."""
    yield {"rows": rows, **filled.fill(layout, rows), **filled.gigabytes()}
    yield {**filled.write(), **filled.gigabytes()}
    yield {"VACUUM": filled.run("VACUUM reports")}
    set_and_restart(filled.cluster, wal_compression="lz4")
    yield {"wal_compression": "lz4", **filled.write()}


def set_and_restart(cluster: services.Cluster, **settings: str) -> None:
    """Change settings of the server."""
    cluster.sql("CHECKPOINT")
    for name, value in settings.items():
        cluster.sql(f"ALTER SYSTEM SET {name} = '{value}'")
    cluster.restart()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=SIZES[-1])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--buffers", default="4GB")
    parser.add_argument("--layout", choices=[*LAYOUTS], default=next(iter(LAYOUTS)))
    parser.add_argument("--filled", action="store_true", help="one size, of which the index is made at last")
    options = parser.parse_args()
    print(f"{describe_origin()}: {options.layout}, shared_buffers = {options.buffers}", flush=True)
    cluster = services.cluster(options.folder)
    set_and_restart(cluster, **SETTINGS, shared_buffers=options.buffers, max_wal_size="4GB")
    filled = Filled(cluster, cluster.url())
    layout = LAYOUTS[options.layout]
    filled.prepare(() if options.filled else layout)
    sizes = (size for size in SIZES if size <= options.rows)
    points = measure_filled(filled, layout, options.rows) if options.filled else measure(filled, sizes)
    for point in points:
        print(json.dumps({**point, "load": os.getloadavg()[0]}), flush=True)


if __name__ == "__main__":
    main()
