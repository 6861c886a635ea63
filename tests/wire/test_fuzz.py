"""A hundred thousand requests that nobody should send: every one is answered, none by a fault, and memory
stays bounded.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import psutil
import pytest
import schemathesis
from hypothesis import HealthCheck

from deniable.collect.app import Collector, Settings
from deniable.collect.intake import Admission, Intake, Served
from deniable.collect.limits import Limits
from deniable.collect.messages import REASONS
from deniable.store.store import Store, open_store
from deniable.study import Plan
from deniable.wire import Report, Wire, to_batch
from spec.make import vectors
from tests.cases import names
from tests.collector import BINARY, HTTP, OPERATOR, TOKEN, collecting, small_plan, some_reports

PLAN = small_plan()
AT_ONCE = 250
AS_JSON = ((b"content-type", b"application/json"),)
EXPECTED = set(names("malformed version form size round plan large parameter token path method 200 201"))


class Answer(NamedTuple):
    status: int
    body: bytes


class Request(NamedTuple):
    method: str
    path: str
    body: bytes
    headers: Sequence[tuple[bytes, bytes]] = ((b"content-type", b"application/octet-stream"),)
    query: bytes = b""


@contextmanager
def collector(folder: Path, plans: Sequence[Plan]) -> Iterator[tuple[Collector, Store]]:
    """In this process, so that a hundred thousand requests take seconds."""
    url = f"sqlite:///{folder}/fuzz.db"
    store = open_store(url)
    for plan in plans:
        store.register(plan.document)
        store.set_round(plan.id, 1)
    made = Collector(
        store, open_store(url), [Served(plan) for plan in plans], Settings(TOKEN, 10, limits=Limits(rate=0.0))
    )
    made.start()
    try:
        yield made, store
    finally:
        asyncio.run(made.stop())


async def ask(app: Collector, request: Request) -> Answer:
    messages: list[Any] = []
    whole = {"type": "http.request", "body": request.body, "more_body": False}
    scope = {
        "type": "http",
        "method": request.method,
        "path": request.path,
        "raw_path": request.path.encode("utf-8", "replace"),
        "root_path": "",
        "query_string": request.query,
        "headers": list(request.headers),
        "client": ("127.0.0.1", 1),
    }

    async def receive() -> Any:
        return whole

    async def send(message: Any) -> None:
        messages.append(message)

    await app(scope, receive, send)
    return Answer(messages[0]["status"], b"".join(message.get("body", b"") for message in messages[1:]))


def judged(request: Request, answer: Answer) -> str:
    """What became of a request; whatever is not an answer that we describe is a failure."""
    assert answer.status < 500 or answer.status == 503, show(request, answer)
    assert b"Traceback" not in answer.body, show(request, answer)
    if answer.status >= 400:
        problem = json.loads(answer.body) if answer.body else {"reason": "path"}
        assert problem["reason"] != "fault", show(request, answer)
        assert answer.status == REASONS[problem["reason"]][0] or not answer.body, show(request, answer)
        return str(problem["reason"])
    return str(answer.status)


def show(request: Request, answer: Answer) -> str:
    return f"{request} gave {answer}"[:1000]


async def ask_all(app: Collector, requests: Iterator[Request]) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    while some := list(islice(requests, AT_ONCE)):
        for request, answer in zip(some, await asyncio.gather(*(ask(app, one) for one in some)), strict=True):
            outcomes[judged(request, answer)] += 1
    return outcomes


def mutated(chance: random.Random, raw: bytes) -> bytes:
    """A message with a few things changed, left out, doubled or swapped."""
    changed = bytearray(raw)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 5))):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(6):
            case 0 if at < len(changed):
                changed[at] ^= 1 << chance.randrange(8)
            case 1 if at < len(changed):
                changed[at] = chance.choice((0, 1, 2, 127, 128, 255))
            case 2:
                del changed[at : at + chance.randrange(1, 9)]
            case 3:
                changed[at:at] = chance.randbytes(chance.randrange(1, 9))
            case 4:
                changed[at:at] = changed[at : at + chance.randrange(40)]
            case _:
                del changed[at:]
    return bytes(changed)


def requests(
    count: int, seed: int, plans: Sequence[Plan], make: Callable[[Plan, int], Report]
) -> Iterator[Request]:
    chance = random.Random(seed)
    wires = [Wire(plan.document) for plan in plans]
    for number in range(count):
        position = chance.randrange(len(plans))
        report = make(plans[position], number)
        match chance.randrange(10):
            case 0:
                yield Request("POST", "/reports", chance.randbytes(chance.randrange(120)))
            case 1 | 2 | 3 | 4:
                yield Request("POST", "/reports", mutated(chance, report.to_bytes()))
            case 5:
                batch = to_batch([report, make(plans[position], number + count), report])
                yield Request("POST", "/reports/batch", mutated(chance, batch))
            case 6:
                yield Request("POST", "/reports", mutated(chance, wires[position].to_json(report)), AS_JSON)
            case 7:
                text = wires[position].to_json(report)
                yield Request(
                    "POST", "/reports/batch", mutated(chance, b"[" + text + b"," + text + b"]"), AS_JSON
                )
            case 8:
                yield Request(
                    "POST", chance.choice(("/reports", "/reports/batch")), nonsense(chance), AS_JSON
                )
            case _:
                yield elsewhere(chance, plans[position])


def nonsense(chance: random.Random) -> bytes:
    """JSON that is no report, or no JSON."""

    def value(depth: int) -> Any:
        match chance.randrange(8 if depth else 6):
            case 0:
                return chance.choice((None, True, False))
            case 1:
                return chance.choice((0, 1, -1, 2**31, 2**64, 10**30))
            case 2:
                return chance.choice((0.5, -0.0, 1e300))
            case 3 | 4 | 5:
                return chance.choice(
                    ("id", "plan", "report", "round", "", "\x00", "\U0001f600", "\ud800", "0" * 16)
                )
            case 6:
                return [value(depth - 1) for _ in range(chance.randrange(4))]
            case _:
                names = ["id", "plan", "report", "round", "version", "color", "\ud800", "x"]
                return {chance.choice(names): value(depth - 1) for _ in range(chance.randrange(7))}

    text = json.dumps(value(4)).encode()
    return chance.choice(
        (text, b"[" + text + b"]", mutated(chance, text), b"[" * chance.randrange(300), b'{"a":' * 60)
    )


def elsewhere(chance: random.Random, plan: Plan) -> Request:
    """Any path, method, query and header."""
    one = chance.choice((plan.id, plan.id, plan.id, plan.id[:-1], "%00", "..", "x" * 3000, "\ud800"))
    last = chance.choice(
        ("", "/rounds", "/rounds/1", "/rounds/-1", "/rounds/9999999999", "/estimates", "/history", "/tallies")
    )
    plain = chance.choice(("/plans", "/metrics", "/health", f"/assets/{one}", f"/{one}", "//", ""))
    path = chance.choice((f"/plans/{one}{last}", f"/plans/{one}{last}", plain))
    right = b"Bearer " + TOKEN.encode()
    token = chance.choice((right, right, right, b"Bearer \xff", b"Bearer", b"Invitation x", b"", bytes(300)))
    name = chance.choice((b"round", b"level", b"project", b"format", b"%ff", b""))
    values = b"1", b"0", b"-1", b"1e400", b"nan", b"csv", b"parquet", b"%00", b"\xff", b"&&==", b"x" * 999
    query = name + b"=" + chance.choice(values)
    times = (
        b'{"opens":null}',
        b'{"opens":"2020-01-01T00:00:00Z"}',
        b'{"opens":1}',
        b"{}",
        b"\xff",
        b"",
        nonsense(chance),
    )
    body = chance.choice(times)
    method = chance.choice(("GET", "GET", "GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "TRACE", "NONE"))
    headers = [(b"authorization", token), (b"origin", b"\xff"), (b"if-none-match", b'"\xff')]
    return Request(method, path, body, chance.sample(headers, chance.randrange(4)), query)


def test_thousands_of_bad_requests(tmp_path: Path) -> None:
    made = some_reports(PLAN, 5000)

    def make(_: Plan, number: int) -> Report:
        one = made[number % len(made)]
        return Report(one.plan, 1, number.to_bytes(16, "little"), one.body)

    process = psutil.Process()
    with collector(tmp_path, [PLAN]) as (app, store):
        outcomes = asyncio.run(ask_all(app, requests(4000, 1, [PLAN], make)))
        gc.collect()
        before = process.memory_info().rss
        for seed in (2, 3):
            outcomes += asyncio.run(ask_all(app, requests(4000, seed, [PLAN], make)))
        gc.collect()
        assert process.memory_info().rss - before < 60 << 20
        assert sum(outcomes.values()) == 12_000
        assert set(outcomes) >= EXPECTED, f"the requests are too tame: {outcomes}"
        assert outcomes["201"] > 100
        assert app.metrics.refused["fault"] == 0
        assert store.check() == []
        assert store.counted(PLAN.id) == app.metrics.counted


@pytest.mark.long
def test_bad_reports_of_every_shape(tmp_path: Path) -> None:
    reports: dict[str, list[Report]] = {}
    plans: dict[str, Plan] = {}
    for _, case in vectors.positive():
        plan = vectors.read_plan(case["plan"])
        plans[plan.id] = plan
        reports.setdefault(plan.id, []).append(Report.from_bytes(bytes.fromhex(case["bytes"])))
    assert len(plans) > 50
    chance = random.Random(5)

    def make(plan: Plan, _: int) -> Report:
        one = chance.choice(reports[plan.id])
        return Report(one.plan, 1, chance.randbytes(16), one.body)

    known = list(plans.values())
    with collector(tmp_path, known) as (app, store):
        outcomes = asyncio.run(ask_all(app, requests(3000, 3, known, make)))
        assert app.metrics.refused["fault"] == 0
        assert outcomes["201"] > 150
        assert store.check() == []


def test_a_fault_would_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Planted: a fault in reading one report in a thousand. It is no traceback to who asks, and the judge
    sees it.
    """
    right = Intake.one

    def wrong(self: Intake, raw: bytes, kind: bytes, admission: Admission | None) -> Any:
        if raw[:1] == b"\x07":
            raise ZeroDivisionError("the secret of the machine room")
        return right(self, raw, kind, admission)

    monkeypatch.setattr(Intake, "one", wrong)
    with collector(tmp_path, [PLAN]) as (app, _):
        request = Request("POST", "/reports", b"\x07")
        answer = asyncio.run(ask(app, request))
        assert (answer.status, json.loads(answer.body)["reason"]) == (503, "fault")
        assert b"secret" not in answer.body
        assert "ZeroDivisionError" in caplog.text
        with pytest.raises(AssertionError):
            judged(request, answer)


@pytest.mark.long
def test_what_the_description_says_is_so(tmp_path: Path) -> None:
    """Requests that schemathesis makes of the OpenAPI description, right ones and wrong ones,
    over a socket.
    """
    checks = schemathesis.checks
    wanted = [
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    with collecting(tmp_path, [PLAN], "--minimum", "10") as running:
        HTTP.post(f"{running.url}/reports/batch", content=to_batch(some_reports(PLAN, 50)), headers=BINARY)
        document = HTTP.get(f"{running.url}/openapi.json").json()
        for path in document["paths"].values():  # half of what is made should get past the plan's name
            for operation in path.values():
                for parameter in operation["parameters"]:
                    if parameter["name"] == "id":
                        parameter["schema"] = {"enum": [PLAN.id, "0" * 64]}
        schema = schemathesis.openapi.from_dict(document)
        schema.config.update(base_url=running.url)
        seen: Counter[int] = Counter()
        modes = list(schemathesis.GenerationMode)
        for found in schema.get_all_operations():
            made: Any = found
            operation = made.ok()
            for mode in modes:
                try_operation(operation, mode, wanted, seen)
        assert set(seen) <= {200, 201, 304, 400, 401, 403, 404, 405, 409, 413, 415}, seen
        assert seen[200] > 8
        assert seen[400] > 8
        assert running.metrics()['deniable_refused_total{reason="fault"}'] == 0
        assert "Traceback" not in running.errors()


def try_operation(operation: Any, mode: Any, wanted: list[Any], seen: Counter[int]) -> None:
    @hypothesis.settings(
        max_examples=5,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def tried(case: Any) -> None:
        answer = case.call(headers=OPERATOR)
        seen[answer.status_code] += 1
        assert answer.status_code < 500, answer.text
        if answer.status_code not in (404, 405):  # a path that was made wrong may be another's, or nobody's
            case.validate_response(answer, checks=wanted)

    try:
        tried()
    except hypothesis.errors.Unsatisfiable:  # nothing about this operation can be wrong
        return
