"""The API as spec/api.json describes it: every operation, status and reason, asked of a running collector.

After a change of operations, `python spec/make_api.py` writes spec/api.json again; a new operation, status or
reason needs a row in `exchanges`.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

import deniable as dn
from deniable.collect.intake import hash_invitation
from deniable.collect.openapi import OPERATIONS
from deniable.store.access import hash_token
from deniable.store.store import open_store
from deniable.study import Plan
from deniable.wire import Report, Wire, to_batch
from spec import make_api
from spec.make import vectors
from spec.make.keys import signing_key
from tests.cases import check_each
from tests.collector import BINARY, HTTP, JSON, OPERATOR, Running, collecting, small_plan, some_reports

ONE, AGAIN = small_plan("One round"), small_plan("Asked again", rounds=True)
TOGETHER = dn.Study(
    {"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}, 2.0, together=[("color", "smokes")]
).plan(people=1000)
TOGETHER_AGAIN = dn.Study(
    {"color": ["red", "green", "blue"], "smokes": ["yes", "no"]},
    epsilon_first=2.0,
    epsilon_forever=4.0,
    together=[("color", "smokes")],
).plan(people=1000)
WRITTEN = dn.Study({"color": dn.Text("a-z", longest=5), "smokes": ["yes", "no"]}, 2.0).plan(people=1000)
AGED = dn.Study({"color": dn.Range(0, 100, step=10), "smokes": ["yes", "no"]}, 2.0).plan(people=1000)
INVITED = small_plan("By invitation")
TICKETED = small_plan("With tickets").with_ticket_key(signing_key(0).public)
ADMITTING = {case["plan"]: Plan.from_json(case["plan"]) for _, case in vectors.read_file("invitations")}
"""The plans of the vectors of invitations and tickets, by their texts."""
BATCHED = Plan.from_json(vectors.read_file("batches")[0][1]["plan"])
MANY = 60
TOKENS = {"reader": "a-token-of-a-reader", "metrics": "a-token-of-metrics"}

DESCRIPTION: dict[str, Any] = json.loads(make_api.FILE.read_text("utf-8"))
ELSEWHERE = {"rate", "busy", "fault", "store"}
"""Reasons of a collector in trouble, which every operation has: test_serve, test_store_faults and others make
them.
"""
UNREACHED = {
    *(("show_survey", "path"), ("show_dashboard", "path"), ("show_openapi", "path")),
    *(("show_days", "application/json"), ("show_days", "few")),
}
"""What is refused only where the pages were not built; and days, which only tables of reports have
(test_warehouse).
"""


class Exchange(NamedTuple):
    """A request of an operation, and the answer: a reason, or the type of what comes."""

    operation: str
    status: int
    what: str
    answer: httpx.Response


@pytest.fixture(scope="module")
def collector() -> Iterator[Running]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = open_store(f"sqlite:///{folder}/here.db")
        for plan in (INVITED, TICKETED):
            store.register(plan.document, invited=True)
            store.set_round(plan.id, 1)
            store.invite(plan.id, [hash_invitation(code) for code in (b"first", b"second", b"third")])
        for plan in ADMITTING.values():
            store.register(plan.document, invited=True)
            store.set_round(plan.id, 1)
        for _, case in vectors.read_file("invitations"):
            codes = [hash_invitation(code.encode()) for code in case["invitations"]]
            store.invite(ADMITTING[case["plan"]].id, codes)
        for role, token in TOKENS.items():
            store.access.add(f"a-{role}", role, hash_token(token))
        store.close()
        asked = [ONE, AGAIN, TOGETHER, TOGETHER_AGAIN, WRITTEN, AGED, BATCHED]
        plans = [*asked, INVITED, TICKETED, *ADMITTING.values()]
        keys = {plan.ticket_key: plan.id for plan in plans}
        options = ["--minimum", "50", "--store", f"sqlite:///{folder}/here.db"]
        for number in range(2):
            key, file = signing_key(number), f"tickets-{number}.key"
            key.write(folder / file, keys[key.public])
            options += ["--ticket-key", file]
        with collecting(folder, plans, *options) as running:
            yield running
            assert "Traceback" not in running.errors()


def test_the_description_is_in_the_specification(collector: Running) -> None:
    served = HTTP.get(f"{collector.url}/openapi.json").json()
    assert make_api.write_text() == make_api.FILE.read_text("utf-8"), "run: python spec/make_api.py"
    assert served == DESCRIPTION, "run: make pages"


@pytest.mark.long
def test_every_status_and_reason_of_the_description_is_given(collector: Running) -> None:
    described = {
        (name, int(status), what)
        for name, operation in operations().items()
        for status, response in operation["responses"].items()
        for what in whats(response)
        if what not in ELSEWHERE and (name, what) not in UNREACHED
    }
    before, refusals, seen = collector.metrics(), Counter[str](), set()
    for name, status, what, answer in exchanges(collector):
        seen.add((name, status, what))
        refusals[what] += status >= 400
        assert answer.status_code == status, (name, what, answer.text[:200])
        kind = answer.headers.get("content-type", "")
        if status >= 400:
            assert (answer.json()["reason"], kind) == (what, "application/json")
            assert set(answer.json()) == {"reason", "detail"}
        elif status != 304 and what != "*/*":
            assert kind == what, name
    after = collector.metrics()
    for reason, times in (+refusals).items():
        name = f'deniable_refused_total{{reason="{reason}"}}'
        assert after[name] - before[name] == times
    assert seen - described == set(), "the description lacks these"
    assert described - seen == set(), "these are described, and no row of `exchanges` makes them"


def test_each_operation_says_when_it_is_in_trouble() -> None:
    for name, operation in operations().items():
        said = {what for response in operation["responses"].values() for what in whats(response)}
        assert {"rate", "busy", "fault"} <= said, name


def test_a_parameter_that_is_not_known_is_refused_with_those_that_are(collector: Running) -> None:
    for name, status, what, answer in of_queries(collector):
        assert (answer.status_code, answer.json()["reason"]) == (status, what), name
    estimates = f"/plans/{ONE.id}/estimates"
    for path, why in (
        (f"{estimates}?rond=2", "'rond' is not a parameter of /plans/{id}/estimates (round, level, "),
        (f"{estimates}?rond=2", "did you mean 'round'?"),
        (f"{estimates}?level=0.9&level=0.5", "level is given 2 times; give it once."),
        (f"{estimates}?{'x' * 999}=", "(round, level, smooth, weights, joined, format)"),
        ("/plans?nope", "'nope' is not a parameter of /plans, which has none."),
    ):
        answer = HTTP.get(f"{collector.url}{path}", headers=OPERATOR)
        assert (answer.status_code, answer.json()["reason"]) == (400, "parameter")
        assert why in answer.json()["detail"]
    for path in ("/", "/dashboard", "/assets/pages.css"):  # links to pages are given others' parameters
        assert HTTP.get(f"{collector.url}{path}?utm_source=letter&utm_source=mail").status_code == 200


def operations() -> dict[str, Any]:
    return {one["operationId"]: one for path in DESCRIPTION["paths"].values() for one in path.values()}


def whats(response: dict[str, Any]) -> list[str]:
    """The reasons that a status has, or the types of content."""
    return re.findall(r"`([a-z]+)`:", response["description"]) or list(response.get("content", {})) or [""]


def exchanges(running: Running) -> Iterator[Exchange]:
    yield from of_reports(running)
    yield from of_batches(running)
    yield from of_tickets(running)
    yield from of_operators(running)
    yield from of_everybody(running)
    yield from of_queries(running)


def of_queries(running: Running) -> Iterator[Exchange]:
    for operation in OPERATIONS:
        if not operation.takes_any_query:
            path = operation.path.replace("{id}", ONE.id).replace("{number}", "1")
            url = f"{running.url}{path}?nope=1"
            answer = HTTP.request(operation.method, url, headers={**OPERATOR, **BINARY})
            yield Exchange(operation.name, 400, "parameter", answer)


def of_reports(running: Running) -> Iterator[Exchange]:
    def sent(
        status: int, what: str, raw: bytes, kind: dict[str, str] = BINARY, allowed: str | None = None
    ) -> Exchange:
        headers = kind if allowed is None else {**kind, "Authorization": allowed}
        answer = HTTP.post(f"{running.url}/reports", content=raw, headers=headers)
        return Exchange("add_report", status, what, answer)

    report, later = some_reports(ONE, 2, seed=7)
    raw, receipt = report.to_bytes(), "application/json"
    yield sent(201, receipt, raw)
    yield sent(200, receipt, raw)
    yield sent(
        201, receipt, Wire(ONE.document).to_json(later), {"Content-Type": "Application/JSON; charset=utf-8"}
    )
    yield sent(400, "malformed", raw[:20])
    yield sent(400, "version", b"\x02" + raw[1:])
    yield sent(400, "size", raw + b"\0")
    yield sent(400, "form", raw[:29] + b"\xff" * len(report.body))
    yield sent(400, "round", report._replace(round=9).to_bytes())
    yield sent(404, "plan", report._replace(plan=bytes(8)).to_bytes())
    yield sent(409, "closed", some_reports(AGAIN, 1, number=3)[0].to_bytes())
    yield sent(413, "large", raw + bytes(1 << 20))
    for kind in ("text/plain", "multipart/form-data", "application/x-www-form-urlencoded"):
        yield sent(415, "type", raw, {"Content-Type": kind})
    yield sent(415, "type", raw, {})
    for plan, reason in ((INVITED, "invitation"), (TICKETED, "ticket")):
        yield sent(403, reason, some_reports(plan, 1)[0].to_bytes())
    first, second = (one.to_bytes() for one in some_reports(INVITED, 2))
    yield sent(201, receipt, first, allowed="Invitation first")
    yield sent(200, receipt, first, allowed="Invitation first")
    yield sent(403, "invitation", second, allowed="Invitation first")
    yield sent(403, "invitation", second, allowed="Invitation unknown")


def of_batches(running: Running) -> Iterator[Exchange]:
    def sent(status: int, what: str, raw: bytes, kind: dict[str, str] = BINARY) -> Exchange:
        answer = HTTP.post(f"{running.url}/reports/batch", content=raw, headers=kind)
        return Exchange("add_batch", status, what, answer)

    raw = to_batch(some_reports(ONE, MANY))
    yield sent(200, "application/json", raw)
    yield sent(200, "application/json", to_batch(some_reports(TOGETHER, MANY)))
    yield sent(200, "application/json", to_batch(some_reports(WRITTEN, MANY)))
    yield sent(200, "application/json", to_batch(list_aged(MANY)))
    path = f"{running.url}/plans/{TOGETHER_AGAIN.id}/rounds/2"
    assert HTTP.put(path, content=b"{}", headers={**OPERATOR, **JSON}).is_success
    for number in (1, 2):
        reports = some_reports(TOGETHER_AGAIN, MANY, seed=number, number=number)
        yield sent(200, "application/json", to_batch(reports))
    yield sent(400, "malformed", raw[:-1])
    yield sent(413, "large", bytes((4 << 20) + 1))
    yield sent(415, "type", raw, {"Content-Type": "text/csv"})


def list_aged(n: int) -> list[Report]:
    """Reports of people of two ages."""
    wire = Wire(AGED.document)
    made = AGED.privatize({"color": [15, 45] * (n // 2), "smokes": ["yes", "no"] * (n // 2)}, dn.seeded(1))
    return [
        Report(wire.prefix, 1, i.to_bytes(16, "little"), body) for i, body in enumerate(wire.bodies(made))
    ]


def of_tickets(running: Running) -> Iterator[Exchange]:
    blinded = (12345).to_bytes(256)

    def sent(
        status: int,
        what: str,
        raw: bytes = blinded,
        plan: str = TICKETED.id,
        kind: dict[str, str] = BINARY,
        allowed: str = "Invitation first",
    ) -> Exchange:
        headers = {**kind, "Authorization": allowed}
        answer = HTTP.post(f"{running.url}/plans/{plan}/signatures", content=raw, headers=headers)
        return Exchange("sign_blinded", status, what, answer)

    for wrong in (b"", bytes(255), bytes(256), signing_key(0).public.modulus.to_bytes(256)):
        yield sent(400, "form", raw=wrong)
    yield sent(400, "parameter", plan=ONE.id)
    yield sent(404, "plan", plan="0" * 64)
    yield sent(413, "large", raw=bytes(5000))
    yield sent(415, "type", kind=JSON)
    yield sent(403, "invitation", allowed="Invitation unknown")
    yield sent(200, "application/octet-stream")


def of_operators(running: Running) -> Iterator[Exchange]:
    json_type, parquet = "application/json", "application/vnd.apache.parquet"

    def asked(name: str, path: str, status: int, what: str, token: bool = True, **more: Any) -> Exchange:
        headers = {**(OPERATOR if token else {}), **more.pop("headers", {})}
        method = {"set_round": "PUT", "discover_values": "POST"}.get(name, "GET")
        return Exchange(
            name, status, what, HTTP.request(method, f"{running.url}{path}", headers=headers, **more)
        )

    reads = {
        "show_estimates": ("estimates", {"level": "2"}),
        "show_history": ("history", {"level": "no"}),
        "show_tallies": ("tallies", {"round": "one"}),
        "show_report_health": ("health", {"round": "one"}),
        "export_reports": ("reports", {"format": "csv"}),
    }
    pair = {"of": "smokes", "by": "color"}
    yield asked("show_cross", f"/plans/{TOGETHER.id}/cross", 200, json_type, params=pair)
    since = {"round": "2", "since": "1"}
    change = f"/plans/{TOGETHER_AGAIN.id}/cross/change"
    yield asked("show_cross_change", change, 200, json_type, params=pair | since | {"people": "same"})
    yield asked("show_cross_change", change, 400, "parameter", params=pair | {"round": "1", "since": "1"})
    yield asked("show_change", f"/plans/{TOGETHER_AGAIN.id}/change", 200, json_type, params=since)
    tables = {
        "show_cross": ("cross", {"of": "age", "by": "color"}),
        "show_cross_change": ("cross/change", {"of": "age", "by": "color"} | since),
        "show_change": ("change", since | {"people": "linked"}),
    }
    for name, (end, wrong) in (reads | tables).items():
        path = f"/plans/{ONE.id}/{end}"
        if name.endswith("_change"):
            yield asked(name, f"/plans/{AGAIN.id}/{end}", 409, "few", params=since)
        if name not in tables:
            yield asked(name, path, 200, parquet if name == "export_reports" else json_type)
        yield asked(name, path, 400, "parameter", params=wrong)
        yield asked(name, path, 401, "token", token=False)
        yield asked(name, f"/plans/{'0' * 64}/{end}", 404, "plan")
        if name != "show_history" and not name.endswith("_change"):  # of few reports there is none yet
            yield asked(name, f"/plans/{AGAIN.id}/{end}", 409, "few", params={"round": "1"})
    aged = f"/plans/{AGED.id}/range"
    yield asked("show_range", aged, 200, json_type, params={"low": "10", "high": "50"})
    yield asked("show_range", aged, 400, "parameter", params={"low": "15"})
    yield asked("show_range", aged, 401, "token", token=False)
    yield asked("show_range", f"/plans/{'0' * 64}/range", 404, "plan")
    yield asked("show_range", f"/plans/{AGAIN.id}/range", 409, "few", params={"round": "1"})
    texts = f"/plans/{WRITTEN.id}/discover"
    yield asked("show_limits", texts, 200, json_type)
    yield asked("show_limits", texts, 400, "parameter", params={"round": "one"})
    yield asked("show_limits", texts, 401, "token", token=False)
    yield asked("show_limits", f"/plans/{'0' * 64}/discover", 404, "plan")
    yield asked("show_limits", f"/plans/{AGAIN.id}/discover", 409, "few", params={"round": "1"})
    listed: dict[str, Any] = {"content": b'{"words":["red","pink"]}', "headers": JSON}
    yield asked("discover_values", texts, 200, json_type, params={"name": "color"}, **listed)
    yield asked("discover_values", texts, 400, "parameter", params={"name": "smokes"})
    for wish in (b'{"words":["Red"]}', b'{"words":"red"}', b'{"alpha":2}', b"{"):
        yield asked("discover_values", texts, 400, "parameter", content=wish)
    yield asked("discover_values", texts, 400, "parameter", params={"round": "7"})
    yield asked("discover_values", f"/plans/{ONE.id}/discover", 400, "parameter")
    yield asked("discover_values", texts, 401, "token", token=False)
    yield asked("discover_values", f"/plans/{'0' * 64}/discover", 404, "plan")
    yield asked("discover_values", f"/plans/{AGAIN.id}/discover", 409, "few")
    yield asked("discover_values", texts, 413, "large", content=bytes((1 << 20) + 1))
    codebook = f"/plans/{ONE.id}/codebook"
    yield asked("show_codebook", codebook, 200, json_type, token=False)
    yield asked("show_codebook", codebook, 200, "text/csv; charset=utf-8", params={"format": "csv"})
    yield asked("show_codebook", codebook, 400, "parameter", params={"format": "parquet"})
    yield asked("show_codebook", f"/plans/{'0' * 64}/codebook", 404, "plan")
    answered = f"/plans/{ONE.id}/participation"
    days = f"/plans/{ONE.id}/days"
    yield asked("show_days", days, 404, "path")
    yield asked("show_days", days, 401, "token", token=False)
    yield asked("show_days", f"/plans/{'0' * 64}/days", 404, "plan")
    yield asked("show_participation", answered, 200, json_type)
    yield asked("show_participation", answered, 401, "token", token=False)
    yield asked("show_participation", f"/plans/{'0' * 64}/participation", 404, "plan")
    estimates = f"/plans/{ONE.id}/estimates"
    yield asked("show_estimates", estimates, 200, "text/csv; charset=utf-8", params={"format": "csv"})
    yield asked("show_estimates", estimates, 200, parquet, params={"format": "parquet"})
    metrics = "text/plain; version=0.0.4; charset=utf-8"
    yield asked("show_metrics", "/metrics", 200, metrics)
    yield asked("show_metrics", "/metrics", 401, "token", token=False)
    path = f"/plans/{AGAIN.id}/rounds/1"
    yield asked("set_round", path, 200, json_type, content=b"{}", headers=JSON)
    yield asked("set_round", path, 401, "token", token=False, content=b"{}")
    yield asked("set_round", path, 400, "parameter", content=b"{")
    yield asked("set_round", path, 413, "large", content=bytes(5000))
    yield asked("set_round", f"/plans/{AGAIN.id}/rounds/9", 400, "round", content=b"{}")
    yield asked("set_round", f"/plans/{'0' * 64}/rounds/1", 404, "plan", content=b"{}")

    yield asked("show_access", "/access", 200, json_type)
    yield asked("show_access", "/access", 401, "token", token=False)
    yield asked("list_actions", "/actions", 200, json_type)
    yield asked("list_actions", "/actions", 401, "token", token=False)
    reader: dict[str, Any] = {"headers": {"Authorization": f"Bearer {TOKENS['reader']}"}}
    scraper: dict[str, Any] = {"headers": {"Authorization": f"Bearer {TOKENS['metrics']}"}}
    for name, (end, _) in reads.items():
        yield asked(name, f"/plans/{ONE.id}/{end}", 403, "role", **scraper)
    yield asked("show_cross", f"/plans/{TOGETHER.id}/cross", 403, "role", **scraper)
    yield asked("discover_values", texts, 403, "role", **reader)
    yield asked("show_range", aged, 403, "role", **scraper)
    yield asked("show_limits", texts, 403, "role", **scraper)
    yield asked("show_participation", answered, 403, "role", **scraper)
    yield asked("show_days", days, 403, "role", **scraper)
    yield asked("show_cross_change", change, 403, "role", **scraper)
    yield asked("show_change", change.replace("cross/", ""), 403, "role", **scraper)
    yield asked("set_round", path, 403, "role", **reader, content=b"{}")
    yield asked("list_actions", "/actions", 403, "role", **reader)
    yield asked("show_metrics", "/metrics", 403, "role", **reader)


def of_everybody(running: Running) -> Iterator[Exchange]:
    def asked(name: str, path: str, status: int, what: str, **headers: str) -> Exchange:
        return Exchange(name, status, what, HTTP.get(f"{running.url}{path}", headers=headers))

    json_type, html = "application/json", "text/html; charset=utf-8"
    for name, path in (
        ("list_plans", "/plans"),
        ("show_plan", f"/plans/{ONE.id}"),
        ("list_rounds", f"/plans/{ONE.id}/rounds"),
        ("show_health", "/health"),
        ("show_ready", "/ready"),
        ("show_openapi", "/openapi.json"),
    ):
        yield asked(name, path, 200, json_type)
    yield asked("show_plan", f"/plans/{ONE.id}", 304, "", **{"If-None-Match": f'"{ONE.id}"'})
    yield asked("show_plan", f"/plans/{'0' * 64}", 404, "plan")
    yield asked("list_rounds", f"/plans/{'0' * 64}/rounds", 404, "plan")
    yield asked("show_survey", "/", 200, html)
    yield asked("show_dashboard", "/dashboard", 200, html)
    style = asked("show_asset", "/assets/pages.css", 200, "*/*")
    yield style
    yield asked("show_asset", "/assets/pages.css", 304, "", **{"If-None-Match": style.answer.headers["etag"]})
    yield asked("show_asset", "/assets/none.svg", 404, "path")


def test_batches_in_both_forms_are_answered_as_the_vectors_say(collector: Running) -> None:
    seen: set[str] = set()

    def check(case: vectors.Case) -> None:
        kind, raw = batch_of(case)
        answer = HTTP.post(f"{collector.url}/reports/batch", content=raw, headers=kind)
        said = answer.json()
        if case["batch_refused"] is not None:
            status = 413 if case["batch_refused"] == "large" else 400
            assert (answer.status_code, said["reason"]) == (status, case["batch_refused"])
            return
        wanted = case["outcomes"] * case.get("many", {"number": 1})["number"]
        assert (answer.status_code, said["outcomes"]) == (200, wanted)
        assert said["counted"] == wanted.count("counted")
        seen.update(wanted)

    check_each(check, vectors.read_file("batches"))
    assert seen == {"counted", "counted before", "plan", "round", "size", "form"}


def batch_of(case: vectors.Case) -> tuple[dict[str, str], bytes]:
    """The batch of a vector, which may be a rule: a report, and how many there are with ids in a row."""
    if "bytes" in case:
        return BINARY, bytes.fromhex(case["bytes"])
    if "json" in case:
        return JSON, case["json"].encode()
    many = case["many"]
    ids = [number.to_bytes(16) for number in range(many["first_id"], many["first_id"] + many["number"])]
    if many["form"] == "bytes":
        model = Report.from_bytes(bytes.fromhex(many["report"]))
        return BINARY, to_batch([model._replace(id=name) for name in ids])
    return JSON, f"[{','.join(many['report'].replace('0' * 32, name.hex()) for name in ids)}]".encode()


def test_invitations_and_tickets_of_batches_are_used_as_the_vectors_say(collector: Running) -> None:
    def check(case: vectors.Case) -> None:
        for one in case["batches"]:
            allowed = {"Authorization": one["authorization"]} if one["authorization"] else {}
            raw, headers = bytes.fromhex(one["bytes"]), {**BINARY, **allowed}
            answer = HTTP.post(f"{collector.url}/reports/batch", content=raw, headers=headers)
            assert (answer.status_code, answer.json()["outcomes"]) == (200, one["outcomes"])

    check_each(check, vectors.read_file("invitations"))
