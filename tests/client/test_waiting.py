"""Reports that wait on a device that is offline: in both Python clients, and with a real collector."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
import deniable_device
from deniable.client import NotSent
from deniable.client import client as client_room
from deniable.client import waiting as waiting_room
from deniable.rounds import l_grr
from deniable.study import Plan
from deniable_device import ledger as light_ledger
from deniable_device import sending as light_sending
from tests.collector import collecting
from tests.running import run_in
from tests.statistics import goodness_of_fit

PLAN = Plan.of({"crashed": ["yes", "no"]}, l_grr(2, 1.0, 2.0), people=1000, title="Crashes", rounds=40)
ANSWERS = {"crashed": "yes"}
ORDERS = 600
"""Deliveries of three reports: where one order in six is missing, chi-square is beyond 100."""
Open = Callable[[Path], Any]


def open_library(path: Path) -> Any:
    return dn.Client(PLAN, ledger=dn.Ledger(path), cap=100.0)


def open_light(path: Path) -> Any:
    ledger = deniable_device.Ledger(str(path))
    return deniable_device.Client.open(PLAN.to_json(), ledger=ledger, cap=100.0)


clients = pytest.mark.parametrize("open_client", [open_library, open_light])


def postpone(client: Any, *rounds: int) -> None:
    for number in rounds:
        client.postpone(client.report(ANSWERS, number))


def set_day(monkeypatch: pytest.MonkeyPatch, day: int) -> None:
    for module in (waiting_room, light_ledger):
        monkeypatch.setattr(module.time, "time", lambda: day * 86_400.0)


@clients
def test_reports_wait_for_a_collector_that_was_stopped(open_client: Open, tmp_path: Path) -> None:
    """Twice offline, and once refused: other programs go on with the ledger, and nothing counts twice."""
    ledger = tmp_path / "device" / "ledger.json"
    with collecting(tmp_path, [PLAN]) as running:
        for number in ("1", "2"):
            assert run_in(tmp_path, "rounds", "plan-0.json", "--open", number).code == 0
        postpone(open_client(ledger), 1, 2, 3)
        running.stop()
        delivery = open_client(ledger).send_waiting(running.url, wait=0, attempts=1)
        assert (delivery.arrived, delivery.waiting, list(delivery.lost)) == (0, 3, [])
        running.start()
        delivery = open_client(ledger).send_waiting(running.url, wait=0, most=1, attempts=1)
        assert delivery.arrived + len(delivery.lost) == 1
        last = open_client(ledger).send_waiting(running.url, wait=0)
        assert delivery.arrived + last.arrived == 2
        lost = [*delivery.lost, *last.lost]
        assert len(lost) == 1
        assert lost[0].startswith("Round 3")
        assert lost[0].endswith("is lost: the collector takes no more reports of it.")
        assert last.waiting == 0
        again = open_client(ledger)
        assert again.send(running.url, again.report(ANSWERS, 2)) == "counted before"
        shown = json.loads(run_in(tmp_path, "rounds", "plan-0.json", "--json").out)
    assert [part["reports"] for part in shown] == [1, 1]


@clients
def test_too_old_and_too_many_reports_are_dropped_and_counted(
    open_client: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = open_client(tmp_path / "ledger.json")
    set_day(monkeypatch, 20_000)
    postpone(client, 1, 2)
    set_day(monkeypatch, 20_010)
    postpone(client, *range(3, 35))
    set_day(monkeypatch, 20_040)  # the oldest two were dropped for the number, and no other is too old yet
    late = open_client(tmp_path / "ledger.json")
    refused = "http://127.0.0.1:9"
    assert late.send_waiting(refused, wait=0, most=1, attempts=1).waiting == 32
    set_day(monkeypatch, 20_041)
    delivery = late.send_waiting(refused, wait=0, attempts=1)
    assert (delivery.arrived, delivery.waiting, len(delivery.lost)) == (0, 0, 32)
    assert "is lost: its report waited for more than 30 days." in delivery.lost[0]
    everything = late._ledger.lost if isinstance(late, dn.Client) else late.ledger.lost(late.plan)
    assert len(everything) == 34
    assert "more than 32 reports waited, and its report was the oldest" in everything[0]


def check_orders(orders: list[tuple[int, ...]]) -> None:
    possible = list(itertools.permutations((1, 2, 3)))
    counts = np.array([orders.count(order) for order in possible])
    goodness_of_fit(counts, np.full(6, len(orders) / 6), "orders of reports that waited")


@pytest.mark.parametrize("is_light", [False, True])
def test_neither_order_nor_time_tells_when_a_report_was_made(
    is_light: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every order is as likely; each report leaves by itself, after a pause of its own of 1 to 10 minutes."""
    pauses: list[float] = []
    sent: list[int] = []
    client: Any

    def count(body: bytes) -> str:
        sent.append(body[9])
        return "counted"

    monkeypatch.setattr(time, "sleep", pauses.append)
    if is_light:
        monkeypatch.setattr(light_sending, "send", lambda _, body, *__: count(body))
        client = deniable_device.Client.open(PLAN.to_json(), ledger=deniable_device.Ledger(), cap=100.0)
    else:
        monkeypatch.setattr(client_room, "deliver", lambda _, message, *__: count(message.body))
        client = dn.Client(PLAN, ledger=dn.Ledger(), cap=100.0)
    orders = []
    for _ in range(ORDERS):
        postpone(client, 1, 2, 3)
        assert client.send_waiting("http://127.0.0.1:9", apart=True).arrived == 3
        orders.append(tuple(sent[-3:]))
    check_orders(orders)
    assert len(pauses) == 3 * ORDERS
    assert min(pauses) >= 60
    assert max(pauses) <= 600
    edges = np.histogram(pauses, bins=9, range=(60, 600))[0]
    goodness_of_fit(edges, np.full(9, len(pauses) / 9), "pauses before reports that waited")
    with pytest.raises(AssertionError, match="orders of reports"):  # as they were made
        check_orders([(1, 2, 3)] * ORDERS)


@clients
def test_what_cannot_wait_is_refused_and_a_refusal_loses_nothing(open_client: Open, tmp_path: Path) -> None:
    client = open_client(tmp_path / "ledger.json")
    other = open_client(tmp_path / "other.json")
    with pytest.raises(Exception, match="only a report that was made with this ledger can wait in it"):
        client.postpone(other.report(ANSWERS, 5))
    postpone(client, 5)
    elsewhere = Plan.of({"crashed": ["yes", "no"]}, l_grr(2, 1.0, 2.0), people=7, rounds=2)
    (tmp_path / "collector").mkdir()
    refused = pytest.raises((NotSent, deniable_device.NotSent), match="plan")
    with collecting(tmp_path / "collector", [elsewhere]) as running, refused:
        client.send_waiting(running.url, wait=0)
    assert client.send_waiting(running.url, wait=0, attempts=1).waiting == 1
