"""Reports that wait on a device that is offline: in both Python clients, and with a real collector."""

from __future__ import annotations

import inspect
import itertools
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, final

import httpx
import numpy as np
import pytest

import deniable as dn
import deniable_device
from deniable.arrays import Integers
from deniable.client import NotSent, delivery
from deniable.client import client as client_room
from deniable.client import waiting as waiting_room
from deniable.collect.intake import hash_invitation
from deniable.rounds import l_grr
from deniable.store.store import open_store
from deniable.study import Plan
from deniable.wire import Wire, from_batch
from deniable_device import ledger as light_ledger
from deniable_device import sending as light_sending
from spec.make.keys import signing_key
from tests.collector import HTTP, collecting
from tests.running import run_in
from tests.statistics import goodness_of_fit

PLAN = Plan.of({"crashed": ["yes", "no"]}, l_grr(2, 1.0, 2.0), people=1000, title="Crashes", rounds=40)
SINGLE = dn.Study({"crashed": ["yes", "no"]}, epsilon=1.0).plan(people=1000)
ANSWERS = {"crashed": "yes"}
ORDERS = 600
"""Deliveries of three reports: where one order in six is missing, chi-square is beyond 100."""
Open = Callable[[Path], Any]
REFUSED = dn.InvalidParameter, deniable_device.InvalidParameter


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
def test_reports_that_leave_apart_do_not_tell_by_order_or_time_when_they_were_made(
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
    foreign = "only a report that was made with this ledger can wait in it"
    with pytest.raises(Exception, match=foreign):
        client.postpone(other.report(ANSWERS, 5))
    postpone(client, 5)
    with pytest.raises(Exception, match=foreign):  # though a report of this round can
        client.postpone(other.report(ANSWERS, 5))
    elsewhere = Plan.of({"crashed": ["yes", "no"]}, l_grr(2, 1.0, 2.0), people=7, rounds=2)
    (tmp_path / "collector").mkdir()
    refused = pytest.raises((NotSent, deniable_device.NotSent), match="plan")
    with collecting(tmp_path / "collector", [elsewhere]) as running, refused:
        client.send_waiting(running.url, wait=0)
    assert client.send_waiting(running.url, wait=0, attempts=1).waiting == 1


@pytest.mark.parametrize(
    "forgetful",
    [
        dn.Client(SINGLE, secret=bytes(32)),
        dn.Client(SINGLE, fresh=True),
        deniable_device.Client.open(SINGLE.to_json(), secret=bytes(32)),
    ],
)
def test_no_report_waits_where_a_restart_would_lose_it(forgetful: Any) -> None:
    missing = pytest.raises(
        REFUSED, match=r"reports wait in a ledger, and this client has none.*make it with"
    )
    with missing:
        forgetful.postpone(forgetful.report(ANSWERS))
    with missing:
        forgetful.send_waiting("http://127.0.0.1:9", wait=0)


WRONG: dict[str, tuple[str, list[object]]] = {
    "url": (
        "a collector's address is like http://localhost:8000 or https://example.org, got",
        [
            None,
            "",
            "notaurl",
            "ftp://x.org",
            "http://x.org/#plan=1",
            "http://a@x.org",
            "http://",
            "http://a b",
            "http://x.org/\u00e4",
            f"http://{'a' * 64}",
        ],
    ),
    "wait": ("wait is a number of seconds from 0 on, got", [-1, "1", True, float("nan"), float("inf")]),
    "most": ("most must be an integer of at least 1, got", [0, -1, 1.5, "1", True]),
    "attempts": ("attempts must be an integer of at least 1, got", [0, -1, 1.5, "1", True, None]),
    "timeout": ("timeout is a number of seconds above 0, got", [0, -1, "1", True, float("inf")]),
}


@clients
def test_what_cannot_be_sent_is_refused_before_anything_leaves(
    open_client: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alike in both clients, whether or not a report waits."""
    client = open_client(tmp_path / "ledger.json")
    network = connect(monkeypatch, counted)
    calls = {client.send: {"url", "attempts", "timeout"}, client.send_waiting: set(WRONG)}
    for waits in (False, True):
        if waits:
            postpone(client, 1, 2)
        for call, names in calls.items():
            first = {"report": client.report(ANSWERS, 1)} if call == client.send else {"wait": 0}
            for name in names & set(inspect.signature(call).parameters):
                sentence, values = WRONG[name]
                for value in values:
                    with pytest.raises(REFUSED, match=re.escape(f"{sentence} {value!r}")):
                        call(**{"url": "http://127.0.0.1:9", **first, name: value})
    with pytest.raises(REFUSED, match="wait is for plans with tickets, and this one has none"):
        client.send("http://127.0.0.1:9", client.report(ANSWERS, 1), wait=0)
    for value in ("x", None, client.report(ANSWERS, 1).to_bytes()):
        sentence = rf"what is sent is a report, client.report\(answers\), got {type(value).__name__}"
        for give in (client.postpone, lambda report: client.send("http://127.0.0.1:9", report)):
            with pytest.raises(REFUSED, match=sentence):
                give(value)
    assert network.requests == []


@final
class Network:
    """What lies between a device and a collector: it notes requests, and may lose or replace answers."""

    def __init__(self, answers: Callable[[str, bytes], httpx.Response | None]) -> None:
        self._answers = answers
        self.requests: list[tuple[str, bytes, str]] = []

    def carry(self, url: str, body: bytes, token: str) -> httpx.Response:
        """The answer to a request, or an error where there is none."""
        self.requests.append((url, body, token))
        response = self._answers(url, body)
        if response is None:
            raise OSError("the answer was lost")
        return response

    def post(self, message: delivery.Message) -> delivery.Response:
        """Take the place of the library's own post."""
        response = self.carry(message.url, message.body, message.headers.get("Authorization", ""))
        return delivery.Response(response.status_code, response.content, delivery.BINARY)

    def post_light(self, address: str, body: bytes, authorization: str) -> light_sending.Answer:
        """Take the place of the light device's own post."""
        try:
            response = self.carry(address, body, authorization)
        except OSError:
            return light_sending.Answer(0, b"")
        return light_sending.Answer(response.status_code, response.content)


def connect(
    monkeypatch: pytest.MonkeyPatch, answers: Callable[[str, bytes], httpx.Response | None]
) -> Network:
    """Both Python clients on one network; nobody waits."""
    network = Network(answers)
    monkeypatch.setattr(delivery, "_post", network.post)
    monkeypatch.setattr(light_sending, "post", network.post_light)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    return network


def counted(_: str, body: bytes) -> httpx.Response:
    return httpx.Response(200, json={"outcomes": ["counted"] * len(list(from_batch(body)))})


@clients
def test_a_batch_tells_how_many_reports_waited_and_nothing_else(
    open_client: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is answered, whenever each was made: the same number of reports is a request of one size, with
    the reports in the order of their bytes.
    """
    network = connect(monkeypatch, counted)
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    sizes: set[int] = set()
    for number, answers in enumerate(itertools.product(("yes", "no"), repeat=3)):
        client = open_client(tmp_path / f"{number}.json")
        rounds = [(3, 1, 2), (30, 2, 17), (40, 39, 38)][number % 3]
        for round_number, answer in zip(rounds, answers, strict=True):
            client.postpone(client.report({"crashed": answer}, round_number))
        assert client.send_waiting("http://127.0.0.1:9").arrived == 3
        url, body, token = network.requests[-1]
        assert (url, token) == ("http://127.0.0.1:9/reports/batch", "")
        reports = list(from_batch(body))
        assert reports == sorted(reports)
        assert sorted(raw[9] for raw in reports) == sorted(rounds)
        sizes.add(len(body))
    assert len(network.requests) == 8, "one request each"
    assert sizes == {3 * (4 + 30)}
    assert len(pauses) == 8
    assert all(60 <= pause <= 600 for pause in pauses), "one pause for each request"


@clients
def test_a_lost_answer_to_a_batch_neither_loses_a_report_nor_doubles_it(
    open_client: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collector counts, the answer is lost, the program ends: another one sends the same bytes again."""
    ledger = tmp_path / "device" / "ledger.json"
    answers: Iterator[bool] = iter([False, True])

    def forward(url: str, body: bytes) -> httpx.Response | None:
        response = HTTP.post(url, content=body, headers={"Content-Type": delivery.BINARY})
        return response if next(answers) else None

    with collecting(tmp_path, [PLAN]) as running:
        for number in ("1", "2", "3"):
            assert run_in(tmp_path, "rounds", "plan-0.json", "--open", number).code == 0
        network = connect(monkeypatch, forward)
        postpone(open_client(ledger), 1, 2, 3, 4)
        lost = open_client(ledger).send_waiting(running.url, attempts=1)
        assert (lost.arrived, lost.waiting) == (0, 4)
        delivered = open_client(ledger).send_waiting(running.url, attempts=1)
        assert (delivered.arrived, delivered.waiting) == (3, 0)
        assert [sentence[:7] for sentence in delivered.lost] == ["Round 4"], "it is closed, alone of all"
        assert network.requests[0] == network.requests[1]
        assert open_client(ledger).send_waiting(running.url).arrived == 0
        shown = json.loads(run_in(tmp_path, "rounds", "plan-0.json", "--json").out)
    assert [part["reports"] for part in shown] == [1, 1, 1]


@clients
def test_a_refused_report_of_a_batch_stops_no_other_one(
    open_client: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes by itself then, for the collector's sentence on it, and waits on."""

    def refuse_third(url: str, body: bytes) -> httpx.Response:
        if not url.endswith("/batch"):
            return httpx.Response(403, json={"reason": "invitation", "detail": "It is not known here."})
        return httpx.Response(200, json={"outcomes": ["counted", "counted before", "invitation"]})

    client = open_client(tmp_path / "ledger.json")
    postpone(client, 1, 2, 3)
    network = connect(monkeypatch, refuse_third)
    with pytest.raises((NotSent, deniable_device.NotSent), match="not known here"):
        client.send_waiting("http://127.0.0.1:9")
    assert [url.rpartition("/")[2] for url, *_ in network.requests] == ["batch", "reports"]
    connect(monkeypatch, lambda *_: None)
    assert client.send_waiting("http://127.0.0.1:9", attempts=1).waiting == 1


@clients
@pytest.mark.parametrize("status", [404, 405, 413])
def test_reports_leave_one_by_one_where_no_batch_is_taken(
    status: int, open_client: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take_single(url: str, _: bytes) -> httpx.Response:
        single = httpx.Response(201, json={"outcome": "counted"})
        return httpx.Response(status) if url.endswith("/batch") else single

    client = open_client(tmp_path / "ledger.json")
    postpone(client, 1, 2, 3)
    network = connect(monkeypatch, take_single)
    assert client.send_waiting("http://127.0.0.1:9").arrived == 3
    assert len(network.requests) == 4
    postpone(client, 4, 5)
    connect(monkeypatch, lambda *_: httpx.Response(200, text="<html>log in here</html>"))
    assert client.send_waiting("http://127.0.0.1:9", attempts=1).waiting == 2, "a portal is no collector"


@clients
def test_a_report_waits_with_its_ticket_which_lets_in_no_other(open_client: Open, tmp_path: Path) -> None:
    """Exchanged while there is a network, sent after a program has ended, and after an answer was lost."""
    plan = PLAN.with_ticket_key(signing_key(0).public)
    names = ["invitation-1", "invitation-2"]
    store = open_store(f"sqlite:///{tmp_path}/reports.db")
    store.register(plan.document, invited=True)
    store.set_round(plan.id, 1)
    store.set_round(plan.id, 2)
    store.invite(plan.id, [hash_invitation(name.encode()) for name in names])
    store.close()
    signing_key(0).write(tmp_path / "tickets.key", plan.id)
    client: Any
    path = tmp_path / "device" / "ledger.json"

    def open_again() -> Any:
        if open_client is open_library:
            return dn.Client(plan, ledger=dn.Ledger(path), cap=100.0)
        return deniable_device.Client.open(
            plan.to_json(), ledger=deniable_device.Ledger(str(path)), cap=100.0
        )

    with collecting(tmp_path, [plan], "--invited", "--ticket-key", "tickets.key") as running:
        client = open_again()
        reports = [client.report(ANSWERS, number) for number in (1, 2)]
        for options in ({}, {"invitation": names[0]}):
            with pytest.raises(Exception, match="exchange its invitation while there is a network"):
                client.postpone(reports[0], **options)
        tickets = [client.exchange(running.url, name) for name in names]
        client.postpone(reports[0], ticket=tickets[0])
        with pytest.raises(Exception, match="which lets in one"):
            client.postpone(reports[1], ticket=tickets[0])
        client.postpone(reports[1], ticket=tickets[1])
        running.stop()
        assert open_again().send_waiting(running.url, wait=0, attempts=1).waiting == 2
        running.start()
        delivery_of_both = open_again().send_waiting(running.url, wait=0)
        assert (delivery_of_both.arrived, delivery_of_both.waiting) == (2, 0)
        with pytest.raises(Exception, match="which lets in one"):  # it was spent
            open_again().postpone(open_again().report(ANSWERS, 2), ticket=tickets[0])
        again = open_again()
        assert again.send(running.url, again.report(ANSWERS, 2), ticket=tickets[1]) == "counted before"


def measure_reports(plan: Plan, answers: Integers) -> list[int]:
    """How long the reports are of people with these answers, each of whom draws the same words every time."""
    words = dn.seeded(1) if plan.document.rounds is None else dn.remembering(1, round=1)
    reports = plan.with_turns(None).privatize_codes(answers, words)
    return list(map(len, plan.mechanism.to_bodies(reports.records)))


def test_no_answer_changes_how_long_a_report_is() -> None:
    """Of all plans of the vectors, which have every mechanism and record mechanism: the reports of a plan
    have one length, or one for each question that a device may draw, which is the same in all of its rounds.
    """
    cases = json.loads(Path("spec/vectors/devices.json").read_text(encoding="utf-8"))
    plans = [Plan.from_json(text) for text in dict.fromkeys(case["plan"] for case in cases)]
    various = [plan for plan in plans if len(set(Wire(plan.document).lengths)) > 1]
    assert 3 < len(various) < len(plans)
    rng, drawn = np.random.default_rng(5), 0
    for plan in various:
        sizes = [min(attribute.domain.k, 2**31) for attribute in plan.document.attributes]
        these, others = (np.array([rng.integers(size, size=200) for size in sizes]) for _ in range(2))
        measured = measure_reports(plan, these)
        assert measured == measure_reports(plan, others), plan.document.title
        drawn += len(set(measured)) > 1
    assert drawn > 3
