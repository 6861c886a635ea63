"""Ledgers in files, reports that are sent, and plans that take long."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import threading
import time
import tracemalloc
from collections.abc import Iterator
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from tests.cases import by_night
from vectors import ROOT, read_vectors

from deniable_device import (
    Client,
    CopiedLedger,
    DeviceError,
    InvalidParameter,
    Ledger,
    NotSent,
    Refused,
    document,
)
from deniable_device.__main__ import main
from deniable_device.carried import redrawn
from deniable_device.plan import Plan

PLAN = next(case["plan"] for case in read_vectors("rounds"))
SECRET = bytes(range(32))
ANSWERS = {"city": "city 1"}


def rewritten(plan: str, **changes: object) -> str:
    """A plan with other fields, and the id that belongs to them."""
    tree = {**json.loads(plan), **changes}
    del tree["id"]
    name = hashlib.sha256(document.write(tree).encode()).hexdigest()
    return document.write({**tree, "id": name})


def test_a_ledger_remembers_what_another_program_wrote(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.json")
    first = Client.open(PLAN, ledger=Ledger(path, secret=SECRET))
    sent = first.report(ANSWERS).to_bytes()
    again = Client.open(PLAN, ledger=Ledger(path))
    assert again.report({"city": "city 3"}).to_bytes() == sent
    changed = again.report({"city": "city 3"}, change=True).to_bytes()
    assert changed != sent
    assert first.report(ANSWERS).to_bytes() == changed
    assert Ledger(path).total() == 2 * json.loads(PLAN)["losses"]["record"]
    assert (tmp_path / "ledger.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("loss", ["copied", "copied with its marker", "older", "gone"])
def test_a_ledger_that_lost_reports_is_refused(tmp_path: Path, loss: str) -> None:
    path, moved = tmp_path / "ledger.json", tmp_path / "other" / "ledger.json"
    moved.parent.mkdir()
    client = Client.open(PLAN, ledger=Ledger(str(path), secret=SECRET))
    client.report(ANSWERS)
    kept = shutil.copy(path, moved)
    if loss == "copied with its marker":
        shutil.copy(tmp_path / ".ledger.json.marker", moved.parent)
    if loss == "older":
        client.report({"city": "city 3"}, change=True)
        shutil.copy(kept, path)
    if loss == "gone":
        path.unlink()
    with pytest.raises(CopiedLedger):
        Ledger(str(moved if loss.startswith("copied") else path))
    assert Ledger(str(moved), take_over=True).total() == json.loads(PLAN)["losses"]["record"]


def test_a_ledger_goes_on_where_it_was_moved_or_a_program_stopped(tmp_path: Path) -> None:
    path, marker = tmp_path / "ledger.json", tmp_path / ".ledger.json.marker"
    client = Client.open(PLAN, ledger=Ledger(str(path), secret=SECRET))
    before = marker.read_text()
    sent = client.report(ANSWERS).to_bytes()
    marker.write_text(before)
    moved = tmp_path / "other"
    moved.mkdir()
    for file in (path, marker):
        file.rename(moved / file.name)
    again = Client.open(PLAN, ledger=Ledger(str(moved / path.name)))
    assert again.report({"city": "city 3"}).to_bytes() == sent


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"version":1}', "-"])
def test_a_ledger_that_was_edited_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ledger.json"
    path.write_text(text)
    with pytest.raises(InvalidParameter, match="was edited"):
        Ledger(str(path))
    assert path.read_text() == text


def test_a_negative_loss_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    Client.open(PLAN, ledger=Ledger(str(path))).report(ANSWERS)
    tree = json.loads(path.read_text())
    next(iter(tree["plans"].values()))["counted"] = -1
    path.write_text(json.dumps(tree))
    with pytest.raises(InvalidParameter, match="was edited"):
        Ledger(str(path))


def test_a_client_needs_a_ledger_or_a_secret() -> None:
    for keeps in ({}, {"ledger": Ledger(), "secret": bytes(32)}):
        with pytest.raises(InvalidParameter):
            Client.open(PLAN, **keeps)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="needs a ledger"):
        Client.open(PLAN, secret=bytes(32)).report(ANSWERS, change=True)
    with pytest.raises(Refused, match=r"this plan would give away .* nats; the cap is 0\.5$"):
        Client.open(PLAN, secret=bytes(32), cap=0.5)
    asked_again = next(case["plan"] for case in read_vectors("rounds") if json.loads(case["plan"])["rounds"])
    with pytest.raises(InvalidParameter, match="say which round"):
        Client.open(asked_again, secret=bytes(32), cap=1e9).report(ANSWERS)


Answer = tuple[int, dict[str, str], bytes]


class Collector(BaseHTTPRequestHandler):
    """Answers as a script says, and keeps what came."""

    answers: ClassVar[list[Answer]] = []
    received: ClassVar[list[tuple[str, str | None, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append((self.path, self.headers["Authorization"], body))
        status, headers, answer = self.answers.pop(0)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(answer))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    Collector.received.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


COUNTED: Answer = (201, {}, b'{"outcome":"counted"}')
BUSY: Answer = (503, {"Retry-After": "0"}, b"")


def test_a_report_is_sent_until_it_has_arrived(collector: str) -> None:
    client = Client.open(PLAN, secret=bytes(32))
    report = client.report(ANSWERS)
    Collector.answers = [BUSY, (200, {"Retry-After": "0"}, b"{}"), COUNTED]
    assert client.send(collector, report, invitation="abc") == "counted"
    assert Collector.received == [("/reports", "Invitation abc", report.to_bytes())] * 3


def test_what_is_refused_is_not_sent_again(collector: str) -> None:
    client = Client.open(PLAN, secret=bytes(32))
    report = client.report(ANSWERS)
    Collector.answers = [(409, {}, b'{"reason":"closed","detail":"The round is closed."}')]
    with pytest.raises(NotSent, match="The round is closed") as problem:
        client.send(collector, report)
    assert (problem.value.status, problem.value.reason) == (409, "closed")
    Collector.answers = [(302, {"Location": "/elsewhere"}, b"")]
    with pytest.raises(NotSent) as problem:
        client.send(collector, report, attempts=1)
    assert (problem.value.status, [path for path, _, _ in Collector.received]) == (0, ["/reports"] * 2)


def test_an_invitation_is_exchanged_for_a_ticket(collector: str) -> None:
    key = json.loads((ROOT / "spec/vectors/rfc9474.json").read_text("utf-8"))["key"]
    client = Client.open(rewritten(PLAN, ticket_key=key["n"]), secret=bytes(32))
    report = client.report(ANSWERS)
    blinded = blinded_message(client, key["n"])
    n = int(key["n"], 16)
    signed = pow(int.from_bytes(blinded, "big"), int(key["d"], 16), n).to_bytes(len(blinded), "big")
    Collector.answers = [BUSY, (200, {}, signed), COUNTED, (200, {}, signed[::-1])]
    assert client.send(collector, report, invitation="abc", wait=0) == "counted"
    (first, _, sent), again, (path, ticket, body) = Collector.received
    assert (first, sent) == (f"/plans/{client.plan.id}/signatures", blinded)
    assert again == Collector.received[0]
    assert (path, body) == ("/reports", report.to_bytes())
    assert str(ticket).startswith("Ticket ")
    assert "abc" not in str(ticket)
    with pytest.raises(Refused, match="signature"):
        client.exchange(collector, "abc")
    Collector.received.clear()
    with pytest.raises(InvalidParameter, match="send the ticket alone"):
        client.send(collector, report, invitation="abc", ticket="text", wait=0)
    with pytest.raises(InvalidParameter, match="a collector's address is like"):
        client.exchange("notaurl", "abc")
    with pytest.raises(InvalidParameter, match="a ticket is for plans with tickets, and this one has none"):
        Client.open(PLAN, secret=bytes(32)).send(collector, report, ticket="text")
    assert Collector.received == []


def blinded_message(client: Client, key: str) -> bytes:
    from deniable_device.tickets import blinding

    return blinding(int(key, 16), client.plan.id, client.secret, "abc").message()


def hostile_texts() -> dict[str, str]:
    """Texts that would take long, or much memory, if they were read carelessly."""
    deep, digits = "[" * (1 << 21), "9" * (1 << 21)
    labels = json.dumps([f"a{number}" for number in range(1 << 18)])
    return {
        "depth": deep,
        "depth in an object": '{"a":' * (1 << 19),
        "an integer": f'{{"version":{digits}}}',
        "a fraction": f'{{"version":0.{digits}}}',
        "an exponent": f'{{"version":1e{digits[:1000]}}}',
        "escapes": '"' + "\\" * (1 << 21),
        "labels": f'{{"labels":{labels}}}',
        "marks": "[]," * (1 << 20),
        "quotes": '"' * (1 << 21),
    }


@by_night("name", hostile_texts(), "marks", "quotes", "depth", "a fraction", "an exponent")
def test_a_hostile_text_is_refused_in_bounded_time_and_memory(name: str) -> None:
    text = hostile_texts()[name]
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(Refused):
        Plan(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.process_time() - start < 20, name
    assert peak < 400 << 20, name


def test_the_largest_plans_are_answered_in_bounded_time() -> None:
    """Plans just inside of a rule, and the reports of those that name labels."""
    inside = [case for case in read_vectors("refusals") if case["refused"] is None]
    start = time.process_time()
    for case in inside:
        plan = Plan(case["plan"] + " " * case.get("spaces", 0))
        try:
            Client(plan, None, bytes(32), 1e9).report({"city": "city 1"}, 1)
        except DeviceError:
            continue  # its questions are others
    assert time.process_time() - start < 60


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"city":"city 1"}', 'line 2: a line is {"answers"'),
        ("nonsense", "line 2: a line is"),
        (f'{{"answers":[],"secret":"{SECRET.hex()}"}}', "line 2: a line is"),
        ('{"answers":{"city":"city 1"},"secret":"12"}', "line 2: a secret has at least 16 bytes, got 1"),
        (f'{{"answers":{{"city":"nope"}},"secret":"{SECRET.hex()}"}}', "line 2: 'nope' is not one of"),
        (f'{{"answers":{{"city":"city 1"}},"secret":"{SECRET.hex()}","round":2}}', "line 2: "),
    ],
)
def test_the_program_names_the_line_that_it_cannot_answer(
    line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(PLAN, "utf-8")
    sound = json.dumps({"answers": ANSWERS, "secret": SECRET.hex()})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{sound}\n{line}\n".encode())))
    assert main([str(path)]) == 1
    out, err = capsys.readouterr()
    assert out == f"{Client.open(PLAN, secret=SECRET).report(ANSWERS).to_bytes().hex()}\n"
    assert err.startswith(said)
    assert SECRET.hex() not in err


def test_coins_that_64_digits_leave_open_are_decided_by_the_words_behind() -> None:
    chances = (Fraction(0), Fraction(5, 1 << 65), Fraction(1, 1 << 64), Fraction(1, 2))
    for last, kept, drawn in ((2, [1, 2], [2]), (0, [1], [1, 2])):
        halves = [0] * 62 + [2, 0], [last] + [0] * 63
        assert redrawn(3, 2, kept, chances, [half.__getitem__ for half in halves]) == drawn


def test_the_program_says_how_a_plan_above_the_cap_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(PLAN, "utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    assert main([str(path), "--cap", "0.01"]) == 1
    assert capsys.readouterr().err.endswith("; the cap is 0.01; --cap allows more\n")
    assert main([str(path), "--cap", "4"]) == 0
