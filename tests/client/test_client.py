"""A device: it verifies before it answers, draws from the operating system only, and sends until a report has
arrived."""

from __future__ import annotations

import json
import math
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.audit.devices import client_of
from deniable.client import AboveCap, Client, Ledger, NotSent
from deniable.client import client as client_room
from deniable.errors import FileMissing, InvalidParameter, InvalidValue
from deniable.records import Sample
from deniable.study import Plan
from deniable.wire import Report, Wire
from spec.make import vectors
from tests import statistics
from tests.cases import check_each
from tests.running import Run
from tests.statistics import goodness_of_fit

ANSWER = vectors.ANSWERS[0]


def once() -> Plan:
    return vectors.of(dn.rsfd(vectors.KS, 1.0, "oue-z"))


def again() -> Plan:
    return vectors.of(Sample(tuple(dn.rounds.l_grr(k, 0.5, 1.0) for k in vectors.KS)), rounds=3)


def test_nothing_but_the_operating_system_can_be_reached() -> None:
    names = set(vars(client_room))
    assert not names & {"seeded", "fixed", "remembering", "keyed", "words"}
    with pytest.raises(TypeError):
        Client(once(), bytes(32), words=dn.seeded(1))  # type: ignore[call-arg]


def test_what_leaves_is_readable_in_labels() -> None:
    """Labels are those that the bytes support, whatever the mechanism; a number is the one it stands for."""
    colors = ["red", "green", "blue", "other"]
    for name in ("grr", "ss", "oue", "olh", "hr"):
        plan = dn.Study({"color": colors}, 1.0, protocol=name).plan(100)
        client = Client(plan, secret=bytes(32))
        report = client.report({"color": "green"})
        (part,) = plan.document.parts
        (column,) = Wire(plan.document).reports([report.body]).records.columns
        said = json.loads(client.readable(report))
        assert said["report"] == {"color": [colors[i] for i in np.flatnonzero(part.support(column)[0])]}
        assert (said["id"], said["round"]) == (report.id.hex(), 1)
    kept = dn.Study({"color": colors}, epsilon_first=2.0, epsilon_forever=2.0, protocol="dbitflip").plan(100)
    client = Client(kept, secret=bytes(32), plan_cap=math.inf)
    said = json.loads(client.readable(client.report({"color": "red"}, round=1)))["report"]["color"]
    assert set(said["set"]) <= set(said["about"]) <= set(colors)
    income = dn.Study({"income": dn.Number(0, 1000)}, 1.0, protocol={"income": "duchi"}).plan(100)
    client = Client(income, secret=bytes(32))
    number = json.loads(client.readable(client.report({"income": 400})))["report"]["income"]
    scale = (math.e + 1) / (math.e - 1)
    assert abs(number - 500) == pytest.approx(500 * scale, rel=1e-4)


def test_a_report_is_canonical_and_fresh() -> None:
    plan = once()
    client, wire = Client(plan, fresh=True), Wire(plan.document)
    one, two = client.report(ANSWER), Client(plan, fresh=True).report(ANSWER)
    assert client.report({**ANSWER, "color": "blue"}) == one, "a client without a ledger answered twice"
    for report in (one, two):
        assert wire.check(Report.from_bytes(report.to_bytes())) == report
        assert wire.reports([report.body]).records.n == 1
        assert wire.from_json(wire.to_json(report)) == report
    assert one.id != two.id
    assert (
        one.body != two.body
    )  # 14 bits that fell alike: once in thousands, with two of three attributes redrawn


def test_reports_follow_the_plan() -> None:
    """Estimates from 3000 devices are as far from the truth as their standard errors say."""
    plan = vectors.of(dn.smp(vectors.KS, 3.0, "grr"))
    wire = Wire(plan.document)
    bodies = [Client(plan, fresh=True).report(ANSWER).body for _ in range(3000)]
    result = plan.estimate(plan.tally(wire.reports(bodies)))
    for name, value in (("color", 0), ("age", 0), ("smokes", 1)):
        truth = np.eye(result[name].frequencies.size)[value]
        errors = np.sqrt(result[name].law.variance(result[name].n, truth))
        for found, true, error in zip(result[name].frequencies, truth, errors, strict=True):
            statistics.deviation(found, true, error, name, statistics.SYSTEM_ALPHA)


def test_hostile_plans_are_not_answered() -> None:
    def check(case: vectors.Case) -> None:
        with pytest.raises(dn.InvalidPlan) as refusal:
            Client(case["plan"], bytes(32))
        assert case["refused"] != "leaks" or "do not answer it" in str(refusal.value)

    check_each(check, vectors.hostile("plans", "plan"))


def test_a_plan_is_verified_before_it_is_answered() -> None:
    Client(once().to_json(), plan_cap=1.0, fresh=True)
    with pytest.raises(dn.InvalidPlan, match=r"cap is 0\.5"):
        Client(once(), plan_cap=0.5, fresh=True)
    with pytest.raises(dn.InvalidPlan, match=r"cap is 1\.1"):
        Client(again(), bytes(32), plan_cap=1.1)  # unchanged answers give away 1, others more
    for cap in (0, -1, float("nan")):
        with pytest.raises(dn.InvalidParameter, match="positive number"):
            Client(once(), bytes(32), plan_cap=cap)


def test_a_plan_with_rounds_needs_a_secret_and_keeps_by_it() -> None:
    with pytest.raises(dn.InvalidParameter, match="keep a secret"):
        Client(again())
    named = {
        Client(again(), bytes(range(32))).report(ANSWER, round=number).body[0] for number in (1, 2, 3) * 10
    }
    assert len(named) == 1, "the sampled attribute was redrawn"
    assert len({Client(again(), bytes([i]) * 32).report(ANSWER, round=1).body[0] for i in range(60)}) == 3
    for number in (0, 4):
        with pytest.raises(dn.InvalidParameter, match="from 1 to 3"):
            Client(again(), bytes(32)).report(ANSWER, round=number)


def test_answers_that_cannot_be_reported_are_refused() -> None:
    with pytest.raises(dn.InvalidValue, match="did you mean 'red'"):
        Client(once(), fresh=True).report({**ANSWER, "color": "redd"})
    with pytest.raises(dn.InvalidValue, match="smokes"):
        Client(once(), fresh=True).report({"color": "red", "age": 3})
    with pytest.raises(dn.InvalidParameter, match="dictionary"):
        Client(once(), fresh=True).report([ANSWER])  # type: ignore[arg-type]
    client = Client(once(), fresh=True)
    report = client.report(ANSWER)
    with pytest.raises(dn.InvalidParameter, match="did you mean 'color'"):
        client.report({**ANSWER, "colour": "red"})
    with pytest.raises(dn.InvalidValue, match="'purple' is not a value"):
        client.report({**ANSWER, "color": "purple"})  # although there is a report already
    with pytest.raises(dn.InvalidParameter, match="what is sent is a report"):
        client.send("http://localhost", report.to_bytes())  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", ["value", "random", "refuse"])
def test_a_question_that_is_left_out_has_no_answer(missing: Any) -> None:
    """At a large epsilon a report says what was answered: "no answer" is a value, the last; a random one is
    any.
    """
    asked = {"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}
    plan = dn.Study(asked, epsilon=50.0, mechanism="split", missing=missing, protocol="grr").plan(people=100)
    for answers in ({"color": "red"}, {"color": "red", "smokes": None}, {"color": "red", "smokes": ""}):
        client = Client(plan, bytes(32), plan_cap=200.0)
        if missing == "refuse":
            with pytest.raises(dn.InvalidValue) as refused:
                client.report(answers)
            told = "'smokes' has no answer, and this plan takes only records in which everything is answered"
            assert str(refused.value) == told
            continue
        result = plan.estimate(plan.tally(Wire(plan.document).reports([client.report(answers).body])))
        said = plan.labels["smokes"][int(np.argmax(result["smokes"].frequencies))]
        assert said in (["no answer"] if missing == "value" else ["yes", "no"])
        assert plan.labels["color"][int(np.argmax(result["color"].frequencies))] == "red"
    if missing == "value":
        assert Client(plan, bytes(32), plan_cap=200.0).report({}).to_bytes(), "a person may answer nothing"


def test_who_answers_reads_what_is_allowed_and_not_to_change_the_study() -> None:
    asked = {
        "age": dn.Range(0, 100, step=10),
        "income": dn.Number(0, 5000),
        "home": dn.Grid(
            south=47, west=6, north=48, east=7, rows=4, columns=4, privacy="metric", epsilon=0.001
        ),
    }
    plan = dn.Study(asked, epsilon=1.0).plan(people=1000)
    good: dict[str, Any] = {"age": 3, "income": 10, "home": (47.5, 6.5)}
    for name, wrong, told in (
        ("age", 1000, "1000 is not a value of 'age' (0 to under 100)"),
        ("income", -1, "-1 is not a value of 'income' (0 to 5000)"),
        (
            "home",
            (0.0, 0.0),
            "(0.0, 0.0) is not in the box of 'home' (latitude 47.0 to 48.0, longitude 6.0 to 7.0)",
        ),
    ):
        with pytest.raises(dn.InvalidValue) as refused:
            Client(plan, bytes(32), plan_cap=10_000.0).report(good | {name: wrong})
        assert str(refused.value) == told
        with pytest.raises(dn.InvalidValue, match="widen"):
            plan.encode([good | {name: wrong}])


def test_a_plan_is_given_as_it_is_as_its_text_or_by_its_file(tmp_path: Path) -> None:
    path = once().write(tmp_path / "plan.json")
    for given in (once(), once().to_json(), once().to_json().encode(), path.read_text(), path):
        assert Client(given, bytes(32)).plan == once()
    with pytest.raises(
        dn.InvalidPlan, match=r"got 'plan\.json'; if that is a file, read it: dn\.Plan\.read\('plan\.json'\)"
    ):
        Client("plan.json")
    with pytest.raises(
        FileMissing, match=r"there is no file .*none\.json; plan\.write, or `deniable plan`, writes one"
    ):
        Client(tmp_path / "none.json")
    with pytest.raises(dn.InvalidPlan, match="a plan is a JSON object"):
        Client("[]")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Of a device that has answered one study once, and another in two rounds."""
    made = Ledger(tmp_path / "ledger.json")
    Client(once(), ledger=made).report(ANSWER)
    for number in (1, 2):
        Client(again(), ledger=made).report(ANSWER, round=number)
    return made


def test_a_ledger_answers_a_round_once(ledger: Ledger) -> None:
    report = Client(once(), ledger=ledger).report(ANSWER)
    changed = {**ANSWER, "color": "blue"}
    assert Client(once(), ledger=ledger).report(changed) == report


def test_a_ledger_adds_up_losses(ledger: Ledger, tmp_path: Path) -> None:
    lifetime = Ledger(tmp_path / "ledger.json").lifetime()
    assert (lifetime.studies, lifetime.reports) == (2, 3)
    assert lifetime.unchanged == once().stated.record + again().stated.repeated[1]  # type: ignore[index, operator]
    assert lifetime.unchanged is not None
    assert lifetime.changing is not None
    assert lifetime.changing > lifetime.unchanged


def test_a_cap_counts_all_answers_before(ledger: Ledger) -> None:
    third = vectors.of(dn.rsfd(vectors.KS, 0.5, "grr"))
    before = ledger.lifetime().changing
    assert before is not None
    total = before / 1e9 + 0.5
    Client(third, ledger=ledger, cap=total + 0.1)
    with pytest.raises(
        dn.InvalidPlan, match=rf"up to 0\.5, with all answers before {total:.6g}, and this device's cap is"
    ):
        Client(third, ledger=ledger, cap=total - 0.1)
    report = Client(once(), ledger=ledger).report(ANSWER)
    assert Client(once(), ledger=ledger, cap=0.1).report(ANSWER) == report, (
        "what was given costs nothing again"
    )


def test_a_ledger_keeps_no_answer_and_is_read_by_its_owner_only(ledger: Ledger, tmp_path: Path) -> None:
    text = (tmp_path / "ledger.json").read_text()
    assert "red" not in text.replace('"report"', "")
    assert (tmp_path / "ledger.json").stat().st_mode & 0o077 == 0


def test_a_ledger_that_forgets_has_a_new_secret(ledger: Ledger, tmp_path: Path) -> None:
    secret = ledger.secret
    ledger.forget()
    assert ledger.secret != secret
    assert Ledger(tmp_path / "ledger.json").entries == ()


def test_programs_that_share_a_ledger_draw_once_and_keep_the_cap(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    one, two = Ledger(path), Ledger(path)
    report = Client(once(), ledger=one).report(ANSWER)
    assert Client(once(), ledger=two).report(ANSWER) == report, "a second program drew another report"
    first = Client(again(), ledger=one, cap=4.1)
    other = vectors.of(dn.rsfd(vectors.KS, 1.0, "grr"))
    second = Client(other, ledger=two, cap=4.1)  # nothing is answered yet
    first.report(ANSWER, round=1)
    with pytest.raises(AboveCap, match=r"with all answers before 4\.\d+, and this device's cap is 4\.1"):
        second.report(ANSWER)
    assert {entry.plan for entry in Ledger(path).entries} == {once().id, again().id}, (
        "one program erased the other's entries"
    )


def test_a_secret_of_nothing_is_refused() -> None:
    for secret in (b"", b"short"):
        with pytest.raises(dn.InvalidParameter, match="at least 16 bytes"):
            Client(once(), secret=secret)


def test_a_damaged_ledger_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    for text in (
        "",
        "[]",
        '{"version": 2}',
        '{"version": 3}',
        '{"version": 1, "secret": "xyz", "entries": []}',
    ):
        path.write_text(text)
        with pytest.raises(dn.DeniableError, match="ledger"):
            Ledger(path)
        assert path.read_text() == text


@contextmanager
def collector(answers: list[tuple[int, dict[str, str]]]) -> Iterator[tuple[str, list[tuple[bytes, Any]]]]:
    """A socket that gives these answers one after the other, and what it was sent. (0, {}) hangs up."""
    arrived: list[tuple[bytes, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            arrived.append((self.rfile.read(int(self.headers["Content-Length"])), self.headers))
            status, headers = answers[min(len(arrived), len(answers)) - 1]
            if not status:
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            said = {201: b'{"outcome":"counted"}', 200: b'{"outcome":"counted before"}'}.get(status, b"why")
            said = headers.get("Said", "").encode() or said
            self.wfile.write(b"<html>" if "Portal" in headers else said)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", arrived
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_report_is_sent_until_it_has_arrived() -> None:
    client = Client(once(), fresh=True)
    report = client.report(ANSWER)
    with collector([(0, {}), (503, {"Retry-After": "0"}), (429, {}), (201, {})]) as (url, arrived):
        assert client.send(url, report, invitation="abc") == "counted"
    assert [raw for raw, _ in arrived] == [report.to_bytes()] * 4
    assert all(headers["Authorization"] == "Invitation abc" for _, headers in arrived)
    with collector([(200, {})]) as (url, _):
        assert client.send(url, report) == "counted before"


def test_a_page_of_somebody_else_is_no_receipt() -> None:
    """A portal or a proxy answers 200, or sends elsewhere: the report has not arrived, and the invitation is
    not handed on.
    """
    client = Client(once(), fresh=True)
    report = client.report(ANSWER)
    with collector([(201, {})]) as (elsewhere, handed_on):
        answers = [(200, {"Portal": "yes"}), (302, {"Location": elsewhere})]
        with collector(answers) as (url, _), pytest.raises(NotSent, match="did not arrive in 2 attempts"):
            client.send(url, report, invitation="secret", attempts=2)
        assert handed_on == []


def test_what_is_not_http_is_tried_again_and_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            for _ in range(2):
                connection, _address = server.accept()
                with connection:
                    connection.recv(1000)
                    connection.sendall(b"nonsense\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        client = Client(once(), fresh=True)
        with pytest.raises(NotSent, match="cannot be read"):
            client.send(f"http://127.0.0.1:{server.getsockname()[1]}", client.report(ANSWER), attempts=2)
        thread.join()


def test_a_refusal_is_not_tried_again_and_silence_is_reported() -> None:
    client = Client(once(), fresh=True)
    report = client.report(ANSWER)
    with collector([(422, {})]) as (url, arrived):
        with pytest.raises(NotSent, match="refused the report: 422 why"):
            client.send(url, report)
        assert len(arrived) == 1
    with pytest.raises(NotSent, match="send the same report again later"):
        client.send(url, report, attempts=2)
    with pytest.raises(dn.InvalidParameter, match="a collector's address is like http"):
        client.send("file:///etc", report)


def test_a_refusal_is_in_the_collectors_own_sentence() -> None:
    client = Client(once(), fresh=True)
    report = client.report(ANSWER)
    for said, told, reason in (
        (
            '{"reason":"closed","detail":"The round is not open."}',
            "refused the report: The round is not open",
            "closed",
        ),
        ('{"reason":"closed"}', 'refused the report: 409 {"reason":"closed"}', "closed"),
        ('{"reason":5,"detail":[]}', 'refused the report: 409 {"reason":5,"detail":[]}', ""),
        ("[]", "refused the report: 409 []", ""),
        ("[" * 9000, f"refused the report: 409 {'[' * 1000}", ""),
    ):
        with collector([(409, {"Said": said})]) as (url, _), pytest.raises(NotSent) as refused:
            client.send(url, report)
        assert str(refused.value) == f"the collector {told}"
        assert (refused.value.status, refused.value.reason) == (409, reason)
    busy = '{"reason":"busy","detail":"There is more to do than can be done now."}'
    with (
        collector([(503, {"Said": busy})]) as (url, _),
        pytest.raises(NotSent, match="more to do than can be done now\\)") as late,
    ):
        client.send(url, report, attempts=1)
    assert (late.value.status, late.value.reason) == (503, "busy")
    with pytest.raises(NotSent) as silent:
        client.send(url, report, attempts=1)
    assert (silent.value.status, silent.value.reason) == (0, "")


def test_one_form_of_a_ledger_entry(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json")
    report = Client(once(), ledger=ledger).report(ANSWER)
    data = json.loads((tmp_path / "ledger.json").read_text())
    assert data["entries"][0]["report"] == report.to_bytes().hex()
    assert set(data["entries"][0]) == {
        "plan",
        "title",
        "round",
        "report",
        "unchanged",
        "changing",
        "since",
        "lost",
        "token",
    }


@pytest.mark.parametrize("kept", ["memory", "file"])
def test_threads_of_a_device_give_one_report(kept: str, tmp_path: Path) -> None:
    """The plan is drawn from slowly, so that whoever does not wait for the first is caught."""
    ledger = Ledger(None if kept == "memory" else tmp_path / "ledger.json")
    plan, began = once(), threading.Barrier(4)

    def draw(secret: bytes) -> bytes:
        time.sleep(0.02)
        return secrets.token_bytes(29)

    def work(_: int) -> object:
        began.wait()
        return ledger.once(plan, 1, draw)

    with ThreadPoolExecutor(4) as pool:
        assert len({*pool.map(work, range(4))}) == 1


@pytest.mark.parametrize(
    "url", ["http://localhost:abc", "http://", "ftp://x", "localhost:8000", "http://x:99999"]
)
def test_an_address_that_cannot_be_is_refused_at_once(url: str) -> None:
    client = Client(once(), secret=bytes(32))
    with pytest.raises(dn.InvalidParameter, match="a collector's address"):
        client.send(url, client.report(ANSWER))


@pytest.mark.parametrize("invitation", ["\u20ac", "a\nb", "", " "])
def test_an_invitation_that_cannot_be_is_refused_at_once(invitation: str) -> None:
    client = Client(once(), secret=bytes(32))
    with pytest.raises(dn.InvalidParameter, match="an invitation is a code"):
        client.send("http://localhost:1", client.report(ANSWER), invitation=invitation)


@pytest.mark.parametrize("number", [0, 6, 1.0, "1", True])
def test_a_round_is_a_whole_number_of_the_plan(number: Any) -> None:
    with pytest.raises(dn.InvalidParameter, match="round must be a whole number from 1 to 3"):
        Client(again(), secret=bytes(32)).report(ANSWER, round=number)


def test_a_plan_with_rounds_is_told_the_round() -> None:
    client = Client(again(), secret=bytes(32))
    with pytest.raises(dn.InvalidParameter, match="this plan has rounds 1 to 3: say which one"):
        client.report(ANSWER)
    with pytest.raises(dn.InvalidParameter, match="this plan has rounds 1 to 3: say which one"):
        client.report(ANSWER, None)  # a collector offers None while no round is open
    assert client.report(ANSWER, 3).round == 3
    assert Client(once(), secret=bytes(32)).report(ANSWER).round == 1, "there is only one"


def test_an_attempt_ends_in_time_though_the_answer_comes_byte_by_byte() -> None:
    """A collector that sends a byte every 50 ms; the margin is 18 seconds of processor time for others."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 201 Created\r\nx: ")
                while not ended.wait(0.05):
                    connection.sendall(b"y")

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        client = Client(once(), bytes(32))
        started = time.monotonic()
        with pytest.raises(NotSent, match=r"no whole answer within 0\.5 seconds"):
            client.send(
                f"http://127.0.0.1:{server.getsockname()[1]}", client.report(ANSWER), attempts=1, timeout=0.5
            )
        assert time.monotonic() - started < 18
        ended.set()
        thread.join(10)


ASKED = {
    "color": ["red", "green", "blue"],
    "smokes": ["yes", "no"],
    "age": dn.Range(0, 100, step=10),
    "town": ["A", "B", "C", "D"],
}
ANSWERS = {"color": "blue", "smokes": "no", "age": 42, "town": "B"}
KS = [3, 2, 10, 4]
SECRETS = [bytes([i]) * 32 for i in range(40)]
MECHANISMS = {
    "one": dn.smp(KS, 1.0, "grr"),
    "two": dn.smp(KS, 1.0, "grr", attributes=2),
    "weights": dn.smp(KS, 1.0, "grr", weights=[5, 1, 1, 1]),
    "nested": dn.records.Split((dn.grr(3, 0.5), dn.smp([2, 10], 0.5, "grr"), dn.grr(4, 0.5))),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_report_is_that_of_all_answers(name: str) -> None:
    """The same words draw and report: what is not asked has no influence, and what is asked is reported."""
    plan = Plan.of(ASKED, MECHANISMS[name], people=1000)
    sampled = plan.with_ask("sampled")
    for secret in SECRETS:
        client = dn.Client(sampled, secret=secret)
        asked = client.questions
        report = client.report({one: ANSWERS[one] for one in asked})
        held = json.loads(client.readable(report))["report"]
        assert tuple(held) == asked
        codes = sampled.encode([ANSWERS])
        made = sampled.privatize_codes(codes, dn.randomness.device(secret, sampled.id, round=1))
        assert Wire(sampled.document).bodies(made) == [report.body]
    assert dn.Client(plan, secret=bytes(32)).questions == tuple(ASKED)


def test_only_drawn_questions_are_taken() -> None:
    plan = Plan.of(ASKED, MECHANISMS["one"], people=1000).with_ask("sampled")
    client = dn.Client(plan, secret=bytes(32))
    [asked] = client.questions
    other = next(name for name in ASKED if name != asked)
    with pytest.raises(InvalidParameter, match=f"'{other}' was not drawn by this device, which asks only"):
        client.report({asked: ANSWERS[asked], other: ANSWERS[other]})
    with pytest.raises(InvalidValue, match=f"'{asked}' has no answer"):
        client.report({})
    with pytest.raises(InvalidParameter, match="is not asked in this plan"):
        client.report({asked: ANSWERS[asked], "height": 3})


def test_a_missing_answer_to_a_drawn_question_is_as_the_plan_says() -> None:
    for missing in ("value", "random"):
        study = dn.Study(ASKED, epsilon=1.0, mechanism="sample", missing=missing, ask="sampled")
        client = dn.Client(study.plan(people=1000), secret=bytes(32))
        assert client.report({}).to_bytes() == client.report(dict.fromkeys(client.questions)).to_bytes()


def test_questions_are_drawn_as_often_as_weights_say() -> None:
    """4,000 people tell weights of 5 and 1 from equal ones, whatever the seed."""
    mechanism = MECHANISMS["weights"]
    held = mechanism.draw_reported(dn.seeded(7).rows(4000, mechanism.words))
    assert (held.sum(axis=0) == 1).all()
    goodness_of_fit(held.sum(axis=1), np.array([2500, 500, 500, 500]), "questions drawn by weights")
    with pytest.raises(AssertionError, match="chi-square"):
        goodness_of_fit(held.sum(axis=1), np.full(4, 1000), "questions drawn by equal weights")


def test_a_study_that_asks_only_some_chooses_a_sample() -> None:
    two = {"color": ["red", "green"], "smokes": ["yes", "no"]}
    plain = dn.Study(two, epsilon=4.0).plan(people=1000)
    plan = dn.Study(two, epsilon=4.0, ask="sampled").plan(people=1000)
    assert plan.mechanism.kind == "sample"
    assert json.loads(plan.to_json())["ask"] == "sampled"
    assert "ask" not in json.loads(plain.to_json())
    assert Plan.from_json(plan.to_json()) == plan
    for mechanism, reason in (("split", "every report holds all"), ("faked", "fake data hide")):
        with pytest.raises(InvalidParameter, match=reason):
            dn.Study(two, epsilon=4.0, mechanism=mechanism, ask="sampled").plan(people=1000)
    with pytest.raises(InvalidParameter, match="every report holds all"):
        dn.Study({"color": ["red", "green"]}, epsilon=4.0, ask="sampled").plan(people=1000)
    with pytest.raises(InvalidParameter, match="ask is 'all' or 'sampled', got 'some'"):
        dn.Study(two, epsilon=4.0, ask="some")  # type: ignore[arg-type]  # misspelt


def test_a_file_says_it_and_verify_shows_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'epsilon = 1\n[survey]\nask = "sampled"\n[attributes]\na = [1, 2]\nb = [1, 2, 3]\n', encoding="utf-8"
    )
    run("plan", str(tmp_path / "study.toml"), "--people", "1000", "-o", str(tmp_path / "plan.json"))
    said = run("verify", str(tmp_path / "plan.json")).out
    assert "a device asks only the questions that it has drawn for its report" in said


def test_the_draw_is_the_same_in_every_round() -> None:
    study = dn.Study(ASKED, epsilon_first=0.5, epsilon_forever=1.0, rounds=3, ask="sampled")
    client = dn.Client(study.plan(people=1000), secret=bytes(32), plan_cap=20.0)
    asked = client.questions
    for number in (1, 2, 3):
        held = json.loads(client.readable(client.report({one: ANSWERS[one] for one in asked}, number)))
        assert tuple(held["report"]) == asked


def test_an_audit_asks_what_was_drawn() -> None:
    plan = Plan.of(ASKED, MECHANISMS["one"], people=1000).with_ask("sampled")
    assert len(client_of(plan)(ANSWERS, bytes(32), 1)) > 29
