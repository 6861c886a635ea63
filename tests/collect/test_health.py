"""The health of reports as the collector shows it: by JSON and as metrics, honest and with fakes."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import msgspec
import numpy as np
import pytest

import deniable as dn
from deniable.collect import health, messages
from deniable.collect.app import Collector, Settings
from deniable.collect.health import MinuteCounts
from deniable.collect.intake import Served
from deniable.results.health import Arrivals
from deniable.store.store import open_store
from deniable.study import Plan
from deniable.wire import Report, Wire, to_batch
from tests.collector import BINARY, HTTP, Running, collecting
from tests.wire import test_fuzz
from tests.wire.test_fuzz import Request, ask

K, PEOPLE, FAKES = 20, 4000, 200
TOWN = 'The "town"'
HONEST = Plan.of({TOWN: list(range(K))}, dn.oue(K, 1.0), PEOPLE, title="Honest")
POISONED = Plan.of({TOWN: list(range(K))}, dn.oue(K, 1.0), PEOPLE, title="Poisoned")
FEW = Plan.of({TOWN: list(range(K))}, dn.oue(K, 1.0), PEOPLE, title="Few")


def reports_of(plan: Plan, n: int, fakes: int = 0, seed: int = 1) -> list[Report]:
    """Reports of n people. Fakes of maximal gain take the place of the first ones: they support four values,
    and as many others as honest reports do.
    """
    generator = np.random.default_rng(seed)
    made = plan.privatize({TOWN: generator.integers(0, K, n)}, dn.seeded(seed))
    bits = generator.random((fakes, K)) < 0.2
    bits[:, :4] = True
    made.records.columns[0][:fakes] = np.packbits(bits, axis=1, bitorder="little")
    wire = Wire(plan.document)
    ids = [generator.bytes(16) for _ in range(n)]
    return [Report(wire.prefix, 1, name, body) for name, body in zip(ids, wire.bodies(made), strict=True)]


def send(running: Running, reports: list[Report]) -> None:
    answer = HTTP.post(f"{running.url}/reports/batch", content=to_batch(reports), headers=BINARY)
    assert answer.json()["counted"] == len(reports)


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with collecting(tmp_path_factory.mktemp("health"), [HONEST, POISONED, FEW]) as running:
        send(running, reports_of(HONEST, PEOPLE))
        send(running, reports_of(POISONED, PEOPLE, FAKES))
        send(running, reports_of(FEW, 99))
        yield running


def health_of(running: Running, plan: Plan) -> dict[str, Any]:
    found = running.get(f"/plans/{plan.id}/health").json()
    msgspec.convert(found, messages.ReportHealth)  # as the OpenAPI description says
    return dict(found)


def checks_of(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in found["checks"]}


def metrics_of(running: Running, plan: Plan) -> dict[str, float]:
    """What is said of a plan, by name: without the labels of its plan and round."""
    labels = f'plan="{plan.id}",round="1"'
    return {name.replace(labels, ""): n for name, n in running.metrics().items() if labels in name}


def test_honest_reports_raise_no_alarm(collector: Running) -> None:
    """One seed in 1,000 would be unlucky."""
    found = health_of(collector, HONEST)
    assert (found["alarms"], found["n"], found["level"], found["advice"]) == (0, PEOPLE, 0.001, "")
    names = [one["name"] for one in found["checks"]]
    assert names == ["sum of shares", "possible shares", "sizes of reports", "pairs of values"]
    assert not any(one["alarm"] for one in found["checks"])


def test_fakes_raise_an_alarm(collector: Running) -> None:
    found = health_of(collector, POISONED)
    [pairs] = [one for one in found["checks"] if one["name"] == "pairs of values"]
    assert found["alarms"] >= 1
    assert pairs["alarm"]
    assert "supported together" in pairs["saw"]
    assert "push several values" in pairs["means"]
    assert "No report was removed" in found["advice"]
    assert collector.get(f"/plans/{POISONED.id}/tallies").json()["n"] == PEOPLE


def test_the_metrics_have_the_last_look(collector: Running) -> None:
    for plan in (HONEST, POISONED):
        seen, found = health_of(collector, plan), metrics_of(collector, plan)
        assert found["deniable_health_alarms{}"] == seen["alarms"]
        assert found["deniable_health_checks{}"] == len(seen["checks"])
        assert found["deniable_health_reports{}"] == PEOPLE
        assert abs(found["deniable_health_timestamp_seconds{}"] - time.time()) < 600
        for one in seen["checks"]:
            label = f'{{,attribute="The \\"town\\"",check="{one["name"]}"}}'
            assert found[f"deniable_health_p_value{label}"] == pytest.approx(one["p_value"], rel=1e-4)
    line = re.compile(r'[a-z_]+(\{[a-z]+="([^"\n\\]|\\.)*"(,[a-z]+="([^"\n\\]|\\.)*")*\})? [0-9.e+-]+')
    assert all(line.fullmatch(one) for one in collector.get("/metrics").text.splitlines() if one[0] != "#")


def test_few_reports_have_no_health(collector: Running) -> None:
    answer = collector.get(f"/plans/{FEW.id}/health")
    assert (answer.status_code, answer.json()["reason"]) == (409, "few")
    assert not any("health" in name for name in metrics_of(collector, FEW))


def test_a_scrape_begins_a_look_and_does_not_wait(tmp_path: Path) -> None:
    """Nobody opens the dashboard, and the alarm is there all the same. The store is then scrubbed."""
    with collecting(tmp_path, [POISONED]) as running:
        send(running, reports_of(POISONED, 2000, 200))
        assert not any("health" in name for name in metrics_of(running, POISONED))
        deadline = time.monotonic() + 20
        while "deniable_health_alarms{}" not in metrics_of(running, POISONED):
            assert time.monotonic() < deadline, "no look was taken"
            time.sleep(0.02)
        first = metrics_of(running, POISONED)
        assert first["deniable_health_alarms{}"] >= 1
        send(running, reports_of(POISONED, 50, seed=2))  # 2.5 % more
        assert health_of(running, POISONED)["n"] == 2000
        assert (
            metrics_of(running, POISONED)["deniable_health_timestamp_seconds{}"]
            == (first["deniable_health_timestamp_seconds{}"])
        )
        send(running, reports_of(POISONED, 50, seed=3))
        assert health_of(running, POISONED)["n"] == 2100
        store = open_store(f"sqlite:///{tmp_path / 'reports.db'}")
        store.scrub(POISONED.id)
        store.close()
        send(running, reports_of(POISONED, 900, seed=4))
        assert "pairs of values" in checks_of(health_of(running, POISONED)), "some reports are still there"
        assert running.stop() == 0
        running.start()
        store = open_store(f"sqlite:///{tmp_path / 'reports.db'}")
        store.scrub(POISONED.id)
        store.close()
        seen = set(checks_of(health_of(running, POISONED)))
        assert seen == {"sum of shares", "possible shares"}, "only the tallies are left"


@final
@dataclass(frozen=True)
class Shelf:
    """A store of reports whose ids are in order, fakes last."""

    blocks: list[list[bytes]]

    def bodies(self, plan_id: str, number: int) -> Iterator[list[bytes]]:
        return iter(self.blocks)


def test_chance_chooses_which_reports_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends fakes chooses their ids, so the first reports in order may have none of them.

    Of 8,000 reports about 2,000 are looked at, and of 400 fakes about 100: by 10 standard deviations, more
    than 10 of them.
    """
    monkeypatch.setattr(health, "LOOKED", 2000)
    reports = [one.body for one in reports_of(POISONED, 8000, 400)[::-1]]
    shelf: Any = Shelf([reports[i : i + 1000] for i in range(0, 8000, 1000)])
    blocks = health._sample(Served(POISONED), shelf.bodies(POISONED.id, 1), 8000)
    chosen = [body for block in blocks for body in Wire(POISONED.document).bodies(block)]
    assert 1600 < len(chosen) < 2400
    assert len(set(chosen) & set(reports[-400:]) - set(reports[:-400])) > 10


# Bursts.


class Seconds:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def bodies_of(n: int, seed: int = 1) -> list[bytes]:
    return [one.body for one in reports_of(POISONED, n, seed=seed)]


def show(minutes: MinuteCounts) -> Arrivals:
    found = asyncio.run(minutes.show(POISONED.id, 1))
    assert found is not None
    return found


def test_minutes_are_counted_for_a_day() -> None:
    clock = Seconds()
    minutes = MinuteCounts({POISONED.id: Served(POISONED)}, 100, clock)
    assert asyncio.run(minutes.show(POISONED.id, 1)) is None

    def seen() -> Arrivals:
        return show(minutes)

    clock.now = 150.0
    minutes.add(POISONED.id, 1, bodies_of(3))
    assert seen().minutes == (0, 0), "the minute that is running is not told"
    clock.now = 181.0
    minutes.add(POISONED.id, 1, bodies_of(120))
    minutes.add(POISONED.id, 1, bodies_of(1, seed=2))
    clock.now = 400.0
    assert seen() == Arrivals((0, 0, 3, 121, 0, 0), seen().busiest)
    busiest = seen().busiest
    assert busiest is not None
    wire = Wire(POISONED.document)
    assert busiest == POISONED.tally(wire.reports([*bodies_of(120), *bodies_of(1, seed=2)]))
    clock.now = 460.0
    minutes.add(POISONED.id, 1, bodies_of(110))
    clock.now = 520.0
    assert seen().busiest == busiest, "another minute had more"
    clock.now += 86_400
    assert seen() == Arrivals((0,) * 1440), "a day later nothing of it is known"


def test_a_collector_counts_new_reports_in_their_minute_and_repeated_ones_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "MINUTE", 1e9)  # so that none ends meanwhile
    reports = reports_of(POISONED, 5)
    requests = [Request("POST", "/reports/batch", to_batch(reports[:4]))]
    requests += [Request("POST", "/reports", report.to_bytes()) for report in (reports[0], reports[4])]
    with test_fuzz.collector(tmp_path, [POISONED]) as (app, _):

        async def send_all() -> list[int]:
            return [(await ask(app, request)).status for request in requests]

        assert asyncio.run(send_all()) == [200, 200, 201]
        [minutes] = app._minutes._rounds.values()
        assert minutes._bodies == [report.body for report in reports]


def test_the_busiest_minute_of_a_round_is_added_up() -> None:
    """Reports of a plan with rounds are added up only if they say their round."""
    study = dn.Study({"mood": ["good", "bad"]}, epsilon_first=0.5, epsilon_forever=1.0, rounds=3)
    plan, clock = study.plan(people=1000), Seconds()
    minutes = MinuteCounts({plan.id: Served(plan)}, 100, clock)
    made = plan.privatize({"mood": ["good"] * 150}, dn.remembering(1, round=2))
    minutes.add(plan.id, 2, Wire(plan.document).bodies(made))
    clock.now = 61.0
    found = asyncio.run(minutes.show(plan.id, 2))
    assert found is not None
    assert found.busiest == plan.tally(made)


def test_minutes_keep_no_single_report() -> None:
    """A minute with few reports is never added up, and one that ended leaves no report behind."""
    clock = Seconds()
    minutes = MinuteCounts({POISONED.id: Served(POISONED)}, 100, clock)
    minutes.add(POISONED.id, 1, bodies_of(99))
    clock.now = 61.0
    minutes.add(POISONED.id, 1, bodies_of(150))
    [one] = minutes._rounds.values()
    assert len(one._bodies) == 150
    clock.now = 121.0
    found = show(minutes)
    assert found.busiest is not None
    assert found.busiest.n == 150
    assert one._bodies == []


def test_a_full_minute_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    some = bodies_of(150)
    monkeypatch.setattr(health, "_HELD", 120 * len(some[0]))
    clock = Seconds()
    minutes = MinuteCounts({POISONED.id: Served(POISONED)}, 100, clock)
    minutes.add(POISONED.id, 1, some)
    clock.now = 61.0
    found = show(minutes)
    assert found.minutes == (150,)
    assert found.busiest == POISONED.tally(Wire(POISONED.document).reports(some[:120]))


def test_a_minute_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last reports of a night are forgotten, too: none come after them, and nobody asks. A minute takes
    0.5 seconds here, so that a slow machine adds within one.
    """
    monkeypatch.setattr(health, "MINUTE", 0.5)
    url = f"sqlite:///{tmp_path}/reports.db"
    some = bodies_of(150)

    async def last_of_a_night() -> bool:
        app = Collector(open_store(url), open_store(url), [Served(POISONED)], Settings("token"))
        events: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        told: asyncio.Queue[Any] = asyncio.Queue()
        serving = asyncio.create_task(app({"type": "lifespan"}, events.get, told.put))
        await events.put({"type": "lifespan.startup"})
        await told.get()
        app._minutes.add(POISONED.id, 1, some)
        [one] = app._minutes._rounds.values()
        held, deadline = len(one._bodies), time.monotonic() + 10
        while one._bodies and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        forgotten = held == 150 and not one._bodies
        await events.put({"type": "lifespan.shutdown"})
        await serving
        return forgotten

    assert asyncio.run(last_of_a_night())


@final
class Waiting:
    """A plan whose tallies wait until somebody has done something else, for 20 seconds at most."""

    def __init__(self) -> None:
        self.beside, self.waited = threading.Event(), True

    def tally(self, reports: Any) -> Any:
        self.waited = self.beside.wait(20.0)
        return POISONED.tally(reports)


def test_nobody_waits_while_a_minute_is_added_up() -> None:
    plan, clock = Waiting(), Seconds()
    served: Any = type("Slow", (), {"plan": plan, "wire": Wire(POISONED.document)})
    minutes = MinuteCounts({POISONED.id: served}, 100, clock)
    minutes.add(POISONED.id, 1, bodies_of(150))
    clock.now = 61.0
    minutes.add(POISONED.id, 1, bodies_of(1, seed=2))
    plan.beside.set()
    found = show(minutes)
    assert plan.waited, "who sent the next report waited for the tally"
    assert found.busiest is not None
    assert found.busiest.n == 150
