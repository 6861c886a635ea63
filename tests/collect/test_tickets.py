"""Tickets: one for each invitation and one report for each ticket, whatever is repeated, changed or killed;
and what everything that a collector sees reveals about who sent which report.
"""

from __future__ import annotations

import asyncio
import csv
import json
import math
import os
import random
import re
import stat
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache, partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest

import deniable as dn
from deniable.client import NotSent, delivery
from deniable.collect.handlers import Signatures
from deniable.collect.intake import hash_invitation
from deniable.commands.shared.stores import register_plan
from deniable.errors import DeniableError, InvalidParameter
from deniable.plan import InvalidPlan, canonical
from deniable.store.store import Store, open_store
from deniable.study import Plan
from deniable.tickets import SigningKey, Ticket, message_of
from deniable.tickets.keys import EXPONENT
from spec.make.keys import signing_key
from tests import services
from tests.collect.test_store_faults import count_failures
from tests.collector import BINARY, HTTP, collecting, hook, small_plan
from tests.running import Run, run_in
from tests.store_worker import SPLIT, arrivals

ANSWERS = {"color": "red", "smokes": "no"}
KILLED_ONCE = """
import os
from pathlib import Path
marker = Path({marker!r})
if not marker.exists():
    from deniable.tickets import SigningKey
    def die(self, blinded):
        marker.touch()
        os._exit(1)
    SigningKey.sign = die
"""


@cache
def ticketed(title: str = "Colors", number: int = 0) -> Plan:
    return small_plan(title).with_ticket_key(signing_key(number).public)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/reports.db" if request.param == "sqlite" else services.cluster().url()


def invite(url: str, plan: Plan, *invitations: str) -> None:
    store = open_store(url)
    store.register(plan.document, invited=True)
    store.set_round(plan.id, 1)
    store.invite(plan.id, [hash_invitation(one.encode()) for one in invitations])
    store.close()


def device(plan: Plan, number: int) -> dn.Client:
    return dn.Client(plan, secret=sha256(f"device {number}".encode()).digest())


def refused(work: Callable[[], object]) -> tuple[int, str]:
    with pytest.raises(NotSent) as problem:
        work()
    return problem.value.status, problem.value.reason


# In a plan.


def test_a_plan_holds_the_key_of_its_tickets() -> None:
    """Plans without one keep their bytes; a plan with one is another plan, for all who have it."""
    plain, plan = small_plan(), ticketed()
    assert "ticket_key" not in json.loads(plain.to_json())
    assert plain.ticket_key is None
    assert plan.id != plain.id
    assert plan.id != small_plan().with_ticket_key(signing_key(1).public).id
    read = Plan.from_json(plan.to_json())
    assert (read, read.ticket_key) == (plan, signing_key(0).public)
    assert "a ticket that nobody can link to it" in " ".join(plan.explain().split())
    body = json.loads(plan.to_json())
    del body["id"]
    for wrong in (None, "", 7, "ff", body["ticket_key"].upper(), "0" + body["ticket_key"]):
        changed = body | {"ticket_key": wrong}
        text = canonical(changed | {"id": sha256(canonical(changed)).hexdigest()})
        with pytest.raises(InvalidPlan, match=r"ticket_key must be text|ticket key is an odd modulus"):
            Plan.from_json(text)


# In a store.


def test_an_invitation_is_exchanged_once(store_url: str) -> None:
    plan = SPLIT.with_ticket_key(signing_key(0).public)
    invite(store_url, plan, "one", "two", "three")
    store = open_store(store_url)
    one, two = hash_invitation(b"one"), hash_invitation(b"two")
    message, other = sha256(b"message").digest(), sha256(b"other").digest()
    assert store.exchange(plan.id, one, message)
    assert store.exchange(plan.id, one, message), "a lost answer is given again"
    assert not store.exchange(plan.id, one, other)
    assert not store.exchange(plan.id, hash_invitation(b"unknown"), message)
    assert (store.invitations_left(plan.id), store.exchanged(plan.id)) == (2, 1)
    some = [each._replace(plan_id=plan.id, invitation=two) for each in arrivals(SPLIT, 4, 1)]
    assert store.add(some[:1], 0.0) == ["ticket"], "an invitation itself lets nobody in"
    first, second, third, fourth = (
        each._replace(ticket=ticket)
        for each, ticket in zip(some, (message, message, other, None), strict=True)
    )
    assert store.add([first, second, third, fourth, first], 0.0) == [
        *("counted", "ticket", "counted", "ticket", "counted before")
    ]
    assert store.add([second, first], 0.0) == ["ticket", "counted before"]
    assert store.withdraw(plan.id) == 2
    assert not store.exchange(plan.id, one, message), "nor is anything given again after that"
    assert store.counted(plan.id) == 2
    assert store.check() == []
    with store._database.transaction(write=True):
        store._database.run("DELETE FROM tickets WHERE hash = ?", other)
    assert store.check() == [f"plan {plan.id[:12]}: the number of used tickets is 1, that of reports 2"]
    store.close()


def test_nothing_of_an_exchange_is_half_written(store_url: str) -> None:
    """Whichever statement is the last, the invitation is either whole or exchanged; and so are tickets."""
    plan = SPLIT.with_ticket_key(signing_key(0).public)
    invite(store_url, plan, "one")
    one, message = hash_invitation(b"one"), sha256(b"message").digest()
    [report] = [each._replace(plan_id=plan.id, ticket=message) for each in arrivals(SPLIT, 1, 1)]
    with closing(open_store(store_url)) as store:

        def show() -> tuple[int, int, int]:
            return store.invitations_left(plan.id), store.exchanged(plan.id), store.counted(plan.id)

        assert show() == (1, 0, 0)
        assert count_failures(store, lambda: store.exchange(plan.id, one, message), show) >= 4
        assert show() == (0, 1, 0)
        assert count_failures(store, lambda: store.add([report], 0.0), show) >= 5
        assert show() == (0, 1, 1)
        assert store.check() == []


def test_two_collectors_exchange_an_invitation_once(store_url: str) -> None:
    plan = SPLIT.with_ticket_key(signing_key(0).public)
    names = [f"invitation {n}" for n in range(20)]
    invite(store_url, plan, *names)
    stores = [open_store(store_url), open_store(store_url)]
    given: list[list[bool]] = [[], []]
    together = threading.Barrier(2)

    def work(number: int, store: Store) -> None:
        for name in names:
            together.wait()
            given[number].append(
                store.exchange(plan.id, hash_invitation(name.encode()), sha256(bytes([number])).digest())
            )

    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(work, range(2), stores)] == [None, None]
    assert [a + b for a, b in zip(*given, strict=True)] == [1] * 20
    for store in stores:
        store.close()


def test_what_a_store_refuses(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/reports.db")
    with pytest.raises(InvalidParameter, match="register it with invited=True"):
        store.register(ticketed().document)
    store.register(ticketed().document, invited=True)
    with pytest.raises(InvalidParameter, match="have the same ticket key"):
        store.register(ticketed("Other colors").document, invited=True)
    with pytest.raises(InvalidParameter, match=r"with a key of its own$"):
        register_plan(store, ticketed("Other colors"), True)
    store.register(ticketed("Other colors", 1).document, invited=True)
    store.register(small_plan("Plain").document, invited=True)
    with pytest.raises(InvalidParameter, match="without tickets"):
        store.exchange(small_plan("Plain").id, bytes(32), bytes(32))
    store.close()


# Over a collector.


@pytest.mark.long
def test_the_whole_way(store_url: str, tmp_path: Path) -> None:
    """Exchanged through a kill, sent, sent again, spent twice, forged, and taken from another plan."""
    plan, other = ticketed(), ticketed("Other colors", 1)
    invite(store_url, plan, "first", "second", "third")
    invite(store_url, other, "elsewhere")
    for number in range(2):
        signing_key(number).write(tmp_path / f"{number}.key", (plan, other)[number].id)
    options = ["--store", store_url, "--ticket-key", "0.key", "--ticket-key", "1.key"]
    environment = {"PYTHONPATH": hook(tmp_path, KILLED_ONCE.format(marker=str(tmp_path / "killed")))}
    with collecting(tmp_path, [plan, other], *options, **environment) as running:
        assert "(by invitation, with tickets)" in running.said
        url, one, two = running.url, device(plan, 1), device(plan, 2)
        report = one.report(ANSWERS)
        # it is killed between the exchange and its answer
        assert refused(lambda: one.exchange(url, "first", attempts=1)) == (0, "")
        assert running.process.wait(20) == 1
        running.kill()
        running.start()
        assert refused(lambda: two.exchange(url, "first")) == (403, "invitation")
        ticket = one.exchange(url, "first")
        assert ticket == device(plan, 1).exchange(url, "first"), "as often as a device asks"
        link = f"{url}/#plan={plan.id}&invitation=first"
        assert ticket == one.exchange(url, link), "a link has its code"
        assert one.send(url, report, ticket=ticket) == "counted"
        assert one.send(url, report, ticket=ticket) == "counted before"
        assert one.send(url, report) == "counted before"
        again = two.report(ANSWERS)
        assert refused(lambda: two.send(url, again, ticket=ticket)) == (403, "ticket")
        assert refused(lambda: two.send(url, again)) == (403, "ticket")
        foreign = device(other, 2).exchange(url, "elsewhere")
        forged = Ticket(bytes(32) + message_of(plan.id), signing_key(1).sign(bytes([1]) * 256))
        for wrong in (foreign, forged, Ticket(ticket.prepared[:-1], ticket.signature)):
            assert refused(partial(two.send, url, again, ticket=wrong)) == (403, "ticket")
        assert two.send(url, again, "second", wait=0) == "counted", "exchanged and sent by one call"
        header = {**BINARY, "Authorization": "Invitation third"}
        address, blinded = f"{url}/plans/{plan.id}/signatures", bytes([1]) * 256
        assert HTTP.post(address, content=blinded, headers=header).headers["connection"] == "close"
        assert HTTP.post(address, content=bytes([2]) * 256, headers=header).status_code == 403, "it is used"
        counts = {name: n for name, n in running.metrics().items() if f'{{plan="{plan.id}"}}' in name}
        counts = {name.partition("{")[0]: n for name, n in counts.items()}
        unused = {"deniable_invitations_unused": 0}
        assert counts == unused | {"deniable_exchanges": 3, "deniable_tickets_used": 2}
        assert running.stop() == 0
    store = open_store(store_url)
    assert store.check() == []
    assert (store.counted(plan.id), store.invitations_left(plan.id), store.exchanged(plan.id)) == (2, 0, 3)
    store.close()


def test_repeated_exchanges_are_signed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One at a time: 13 ms of one core each, which nobody can ask for again and again by one invitation."""
    right, now, most, made = SigningKey.sign, list[bytes](), list[int](), list[bytes]()

    def watch(self: SigningKey, blinded: bytes) -> bytes:
        now.append(blinded)
        made.append(blinded)
        time.sleep(0.01)
        most.append(len(now))
        now.remove(blinded)
        return right(self, blinded)

    monkeypatch.setattr(SigningKey, "sign", watch)
    messages = [bytes([number]) * 256 for number in (1, 2, 3)]

    async def ask() -> list[bytes]:
        signatures = Signatures()
        return await asyncio.gather(*(signatures.sign(signing_key(0), one) for one in messages * 5))

    assert asyncio.run(ask()) == [right(signing_key(0), one) for one in messages] * 5
    assert (sorted(made), max(most)) == (messages, 1)


def test_everything_that_a_collector_sees_fits_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All messages of eight devices are recorded, as a changed collector could. With invitations they name
    the sender of each report. With tickets each report fits each exchange, by exactly one factor.
    """
    plain, plan = small_plan("Plain"), ticketed()
    names = [f"invitation {n}" for n in range(8)]
    url = f"sqlite:///{tmp_path}/reports.db"
    for each in (plain, plan):
        invite(url, each, *names)
    signing_key(0).write(tmp_path / "tickets.key", plan.id)
    seen: list[tuple[delivery.Message, bytes]] = []
    post = delivery._post

    def record(message: delivery.Message) -> delivery.Response:
        response = post(message)
        seen.append((message, response.body))
        return response

    monkeypatch.setattr(delivery, "_post", record)
    order = random.Random(1).sample(range(8), 8)
    with collecting(tmp_path, [plain, plan], "--invited", "--ticket-key", "tickets.key") as running:
        for number in order:
            client = device(plain, number)
            assert client.send(running.url, client.report(ANSWERS), names[number]) == "counted"
        linked = [message.headers["Authorization"] for message, _ in seen]
        assert linked == [f"Invitation {names[number]}" for number in order], "all are linked"
        seen.clear()
        clients = [device(plan, number) for number in range(8)]
        tickets = [client.exchange(running.url, name) for client, name in zip(clients, names, strict=True)]
        for number in order:
            report = clients[number].report(ANSWERS)
            assert clients[number].send(running.url, report, ticket=tickets[number]) == "counted"
    modulus = signing_key(0).public.modulus
    exchanges, reports = seen[:8], seen[8:]
    for (asked, signed), (sent, _) in product(exchanges, reports):
        assert asked.headers["Authorization"].startswith("Invitation ")
        ticket = Ticket.from_text(sent.headers["Authorization"].removeprefix("Ticket "))
        signature = int.from_bytes(ticket.signature)
        factor = int.from_bytes(signed) * pow(signature, -1, modulus) % modulus
        explained = pow(signature * factor, EXPONENT, modulus)
        assert explained == int.from_bytes(asked.body), "the only factor by which both are of one device"
    known = b"".join(message.body + str(message.headers).encode() for message, _ in reports)
    assert not any(name.encode() in known or name.encode().hex().encode() in known for name in names)


# On a device.


def test_a_device_waits_between_exchange_and_report(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """By default 60 to 600 seconds at random; as long as is asked for; not at all for a ticket."""
    plan, pauses = ticketed(), list[float]()
    client = device(plan, 1)
    report = client.report(ANSWERS)

    def answer(message: delivery.Message) -> delivery.Response:
        if message.url.endswith("/signatures"):
            return delivery.Response(200, signing_key(0).sign(message.body), delivery.BINARY)
        return delivery.Response(201, b'{"outcome":"counted"}')

    monkeypatch.setattr(delivery, "_post", answer)
    monkeypatch.setattr("deniable.client.client.time.sleep", pauses.append)
    for _ in range(20):
        assert client.send("http://localhost", report, "invitation") == "counted"
    assert all(60 <= pause <= 600 for pause in pauses)
    # 20 draws of one half of the range have a chance of 2 in a million
    assert min(pauses) < 330 < max(pauses)
    pauses.clear()
    caplog.clear()
    assert client.send("http://localhost", report, "invitation", wait=7.5) == "counted"
    (line,) = caplog.messages
    assert re.search(
        r"leaves at \d\d:\d\d:\d\d, in 8 seconds, .* send\(\.\.\., wait=0\) does not wait$", line
    )
    ticket = client.exchange("http://localhost", "invitation")
    assert client.send("http://localhost", report, ticket=ticket) == "counted"
    assert client.send("http://localhost", report, ticket=ticket.to_text()) == "counted"
    assert pauses == [7.5]
    assert client.send("http://localhost", report, "invitation", wait=0) == "counted"
    assert caplog.messages == [line], "nothing is waited for, and nothing is said"
    with pytest.raises(InvalidParameter, match="send the ticket alone"):
        client.send("http://localhost", report, "invitation", ticket=ticket)
    wrong: Any
    for wrong in (-1, "5", True, math.nan):
        with pytest.raises(InvalidParameter, match=f"seconds from 0 on, got {wrong!r}"):
            client.send("http://localhost", report, "invitation", wait=wrong)
    for wrong in (None, 7, b"code", ""):
        with pytest.raises(InvalidParameter, match="an invitation is a code of letters and digits, got"):
            client.exchange("http://localhost", wrong)
    with pytest.raises(InvalidParameter, match="a ticket is a message and its signature"):
        client.send("http://localhost", report, ticket="text")
    with pytest.raises(InvalidParameter, match="or its text, got bytes"):
        client.send("http://localhost", report, ticket=cast(Any, b"text"))
    fresh = dn.Client(plan, fresh=True)
    with pytest.raises(InvalidParameter, match="lost when the program ends; give the client a secret"):
        fresh.send("http://localhost", fresh.report(ANSWERS), "invitation", wait=0)
    plain = device(small_plan(), 1)
    with pytest.raises(InvalidParameter, match="sent with the report"):
        plain.exchange("http://localhost", "invitation")
    with pytest.raises(InvalidParameter, match="this one has none"):
        plain.send("http://localhost", plain.report(ANSWERS), ticket=ticket)


def test_a_device_refuses_a_signature_of_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector that gives each person another key would mark them; only the plan's counts. It is not asked
    again, as a portal is, which answers in between by a page.
    """
    other, kinds = signing_key(1), iter(["text/html", delivery.BINARY])

    def answer(message: delivery.Message) -> delivery.Response:
        number = int.from_bytes(message.body) % other.public.modulus
        return delivery.Response(200, other.sign(number.to_bytes(other.public.size)), next(kinds))

    monkeypatch.setattr(delivery, "_post", answer)
    with pytest.raises(DeniableError, match="no signature by the key in the plan; no report was sent"):
        device(ticketed(), 1).exchange("http://localhost", "invitation")
    assert next(kinds, None) is None


# By commands.


def test_commands(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text('epsilon = 1.0\n[attributes]\ncolor = ["red", "green", "blue"]\n')
    made = ("plan", "study.toml", "--people", "1000", "--ticket-key", "tickets.key", "-o")
    outcome = run(*made, "plan.json")
    assert outcome.code == 0, outcome.err
    assert "wrote tickets.key; deniable serve needs it" in outcome.err
    assert stat.S_IMODE(Path("tickets.key").stat().st_mode) == 0o600
    run(*made, "again.json")
    plan = Plan.read("plan.json")
    assert plan == Plan.read("again.json"), "the same key gives the same plan"
    Path("study.toml").write_text('epsilon = 2.0\n[attributes]\ncolor = ["red", "green", "blue"]\n')
    outcome = run(*made, "other.json")
    assert outcome.code != 0
    assert f"tickets.key is the ticket key of plan {plan.id[:12]}" in outcome.err
    assert "name a new file" in outcome.err
    assert not Path("other.json").exists()
    assert plan.ticket_key == SigningKey.read(Path("tickets.key")).public
    outcome = run("tokens", "plan.json", "--count", "2", "--url", "https://example.org", "-o", "list.csv")
    assert "serve the plan with --ticket-key" in outcome.err
    with Path("list.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            assert row["link"] == f"https://example.org/#plan={plan.id}&invitation={row['invitation']}"
    for options, words in (
        ([], "takes tickets; name the file of the key that it was made with: --ticket-key FILE"),
        (["--ticket-key", "absent.key"], "there is no file absent.key"),
        (["--ticket-key", "list.csv"], "is not a ticket key"),
        (
            ["--ticket-key", "tickets.key", "--ticket-key", "other.key"],
            "other.key is the ticket key of no plan",
        ),
    ):
        if "other.key" in options:
            signing_key(0).write(Path("other.key"), ticketed().id)
        outcome = run_in(tmp_path, "serve", "plan.json", *options)
        assert outcome.code != 0
        assert words in " ".join(outcome.err.split())
    os.chmod("tickets.key", 0o644)
    outcome = run_in(
        tmp_path, "serve", "plan.json", "--ticket-key", "tickets.key", "--ticket-key", "other.key"
    )
    assert "others on this machine may read tickets.key" in outcome.err
