"""Tests what only the store in PostgreSQL does: many reports at once, and the choice of those that leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deniable.collect import sweeping
from deniable.collect.database import Pool
from deniable.collect.postgres import _MANY, Packed, Postgres, _choose_positions
from deniable.collect.store import Arrival, open_store
from tests import services
from tests.store_worker import SPLIT, arrivals


def test_many_reports_at_once_find_those_that_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some are among the arrivals, some among the older reports, in any mixture."""
    url = services.cluster().url()
    store = open_store(url)
    store.register(SPLIT)
    store.set_round(SPLIT.id, 1)
    some = [Arrival(*one[:4]) for one in arrivals(SPLIT, 5 * _MANY, 1)]
    older, newer, *fresh = (some[_MANY * i : _MANY * (i + 1)] for i in range(5))
    sql: list[str] = []
    run = Postgres.run

    def note(self: Postgres, text: str, *values: object) -> list[Any]:
        sql.append(text)
        return run(self, text, *values)

    monkeypatch.setattr(Postgres, "run", note)
    assert store.add(older, 0.0) == ["counted"] * _MANY
    assert not any("CONFLICT" in text for text in sql), "new ones are inserted without looking for conflicts"
    monkeypatch.setattr(sweeping, "POOL", 0)
    assert store.sweep()
    assert store.add(newer, 0.0) == ["counted"] * _MANY
    before, new = ["counted before"] * 3, ["counted"] * _MANY
    assert store.add([*older[:3], *fresh[0]], 0.0) == [*before, *new]
    assert store.add([*newer[:3], *fresh[1]], 0.0) == [*before, *new]
    assert store.add([*older[:3], *newer[:3], *fresh[2]], 0.0) == [*before, *before, *new]
    assert store.counted(SPLIT.id) == 5 * _MANY
    assert store.check() == []
    store.close()
    messages = (services.cluster().folder / "log").read_text()
    named = [one.ids[0].hex() for one in some if one.ids[0].hex() in messages]
    assert not named, "the server's messages have no id of a repeated report"


def test_many_reports_need_no_function() -> None:
    """Where an operator allows no temporary functions, reports are counted all the same."""
    cluster = services.cluster()
    url = cluster.url()
    name = url.rsplit("%3D", 1)[1]
    cluster.sql("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    cluster.sql(f"CREATE ROLE {name} LOGIN")
    cluster.sql(f"GRANT ALL ON SCHEMA {name} TO {name}")
    try:
        store = open_store(url.replace("postgres@", f"{name}@"))
        store.register(SPLIT)
        store.set_round(SPLIT.id, 1)
        some = [Arrival(*one[:4]) for one in arrivals(SPLIT, 2 * _MANY, 1)]
        assert store.add(some, 0.0) == ["counted"] * len(some)
        assert store.add(some, 0.0) == ["counted before"] * len(some)
        store.close()
    finally:
        cluster.sql("GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")


def test_those_that_stay_are_chosen_among_their_pool() -> None:
    pools = [Pool(1, 1, 5, 5), Pool(1, 2, 1000, 400), Pool(2, 1, 7, 0)]
    first, second = (np.array(_choose_positions(pools)) for _ in range(2))
    for found in (first, second):
        assert len(set(found.tolist())) == 405
        assert set(range(1, 6)) <= set(found.tolist())
        assert found.max() <= 1005
    assert set(first.tolist()) != set(second.tolist()), "two choices of 400 of 1,000 are never the same"


def test_bytes_are_packed_as_the_server_reads_them() -> None:
    given = [b"", b"\x00", bytes(range(256)), b"NULL"]
    database = Postgres(services.cluster().url())
    with database.transaction(write=True):
        rows = database.run("SELECT value FROM unnest(?) AS given (value)", Packed.of(given))
    database.close()
    assert [value for (value,) in rows] == given
