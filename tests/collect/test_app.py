"""Every endpoint and every refusal, asked of a real collector over a socket."""

from __future__ import annotations

import csv
import io
import json
import re
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyarrow import parquet

import deniable as dn
from deniable.collect import files, reading
from deniable.collect.messages import REASONS
from deniable.collect.openapi import OPERATIONS
from deniable.reports import Tallies
from deniable.results.findings import Findings
from deniable.store.reading import fetch_tallies
from deniable.study import Plan
from deniable.wire import Report, Wire, to_batch
from tests.collector import BINARY, HTTP, JSON, OPERATOR, Running, collecting, small_plan, some_reports

ONE = small_plan("One round")
AGAIN = small_plan("Asked again", rounds=True)
N = 400
REPORTS = some_reports(ONE, N)
SITE = "https://survey.example"


@pytest.fixture(scope="module")
def collector() -> Iterator[Running]:
    """With N reports of the first plan and a hundred of the second plan's first round."""
    options = ("--minimum", "200", "--allow-origin", SITE, "--store", "sqlite:///here.db")
    with tempfile.TemporaryDirectory() as folder, collecting(Path(folder), [ONE, AGAIN], *options) as running:
        for reports in (REPORTS, some_reports(AGAIN, 100)):
            answer = HTTP.post(f"{running.url}/reports/batch", content=to_batch(reports), headers=BINARY)
            assert answer.json()["counted"] == len(reports)
        yield running
        assert running.metrics()['deniable_refused_total{reason="fault"}'] == 0
        assert running.stop() == 0
        assert "Traceback" not in running.errors()


def send(
    collector: Running, content: bytes, headers: dict[str, str] = BINARY, path: str = "/reports"
) -> httpx.Response:
    return HTTP.post(f"{collector.url}{path}", content=content, headers=headers)


def refused(answer: httpx.Response, reason: str) -> str:
    """Assert a refusal, and give its sentence."""
    assert (answer.status_code, answer.json()["reason"]) == (REASONS[reason][0], reason), answer.text
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.json()) == {"reason", "detail"}
    detail: str = answer.json()["detail"]
    return detail


def fresh(plan: Plan = ONE, seed: int = 1000, number: int = 1) -> Report:
    return some_reports(plan, 1, seed, number)[0]


# Reports.


def test_a_report_is_counted_once_in_either_form(collector: Running) -> None:
    before = collector.get(f"/plans/{ONE.id}/tallies").json()["n"]
    for seed, first, second in ((11, BINARY, JSON), (12, JSON, BINARY)):
        report = fresh(seed=seed)
        forms = {id(BINARY): report.to_bytes(), id(JSON): Wire(ONE.document).to_json(report)}
        answer = send(collector, forms[id(first)], first)
        assert (answer.status_code, answer.json()) == (201, {"outcome": "counted"})
        answer = send(collector, forms[id(second)], second)
        assert (answer.status_code, answer.json()) == (200, {"outcome": "counted before"})
    assert collector.get(f"/plans/{ONE.id}/tallies").json()["n"] == before + 2


def changed(report: Report, **fields: Any) -> bytes:
    return report._replace(**fields).to_bytes()


REPORT = fresh(seed=99)


def test_each_report_of_a_batch_is_judged_by_itself(collector: Running) -> None:
    good = some_reports(ONE, 3, seed=21)
    raw = [
        good[0].to_bytes(),
        changed(good[1], body=b"\xff" + good[1].body[1:]),
        b"short",
        changed(good[1], round=9),
        b"\x03" + good[1].to_bytes()[1:],
        REPORTS[0].to_bytes(),
        good[2].to_bytes(),
        good[0].to_bytes(),
    ]
    batch = b"".join(len(one).to_bytes(4, "little") + one for one in raw)
    answer = send(collector, batch, path="/reports/batch")
    expected = ["counted", "form", "malformed", "round", "version"]
    expected += ["counted before", "counted", "counted before"]
    assert answer.status_code == 200
    assert answer.json() == {"counted": 2, "outcomes": expected}


@pytest.mark.parametrize(
    ("content", "headers", "reason"),
    [
        (b"\xff\xff\xff\xff" + REPORT.to_bytes(), BINARY, "malformed"),
        (bytes(4) * 10_001, BINARY, "large"),
        (b"[" + b"1," * 10_000 + b"1]", JSON, "malformed"),
        (b"[" * 5000, JSON, "malformed"),
    ],
)
def test_a_batch_that_cannot_be_taken_apart_is_refused_whole(
    collector: Running, content: bytes, headers: dict[str, str], reason: str
) -> None:
    refused(send(collector, content, headers, "/reports/batch"), reason)


def test_the_order_of_a_list_in_a_batch_can_carry_nothing(tmp_path: Path) -> None:
    """A unary report lists its values in ascending order; any other order is a way to say more."""
    plan = Plan.of({"city": [f"city {v}" for v in range(20)]}, dn.oue(20, 1.0), people=100)
    wire = Wire(plan.document)
    report = next(
        report
        for report in (Report(wire.prefix, 1, bytes(16), bytes([v, 1, 0])) for v in range(3, 9))
        if len(json.loads(wire.to_json(report))["report"]["city"]) > 1
    )
    data = json.loads(wire.to_json(report))
    data["report"]["city"].reverse()
    text = json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
    with collecting(tmp_path, [plan]) as running:
        refused(send(running, text, JSON), "form")
        assert send(running, b"[" + text + b"]", JSON, "/reports/batch").json()["outcomes"] == ["form"]
        assert send(running, b"[" + wire.to_json(report) + b"]", JSON, "/reports/batch").json()[
            "outcomes"
        ] == ["counted"]


# Plans and rounds.


def test_plans_are_listed_and_shown_to_everybody(collector: Running) -> None:
    listed = HTTP.get(f"{collector.url}/plans").json()["plans"]
    assert listed == [
        {
            "id": plan.id,
            "title": plan.document.title,
            "titles": {},
            "invited": False,
            "round": 1,
            "open": [1],
            "rounds": plan.document.rounds,
            "continues": [],
        }
        for plan in (ONE, AGAIN)
    ]
    answer = HTTP.get(f"{collector.url}/plans/{ONE.id}")
    assert answer.content == ONE.to_json().encode()
    assert answer.headers["etag"] == f'"{ONE.id}"'
    assert "immutable" in answer.headers["cache-control"]
    again = HTTP.get(f"{collector.url}/plans/{ONE.id}", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for path in ("/plans/none", "/plans/none/rounds", f"/plans/{ONE.id[:-1]}0"):
        refused(HTTP.get(f"{collector.url}{path}"), "plan")


def put(
    collector: Running, number: object, headers: dict[str, str] = OPERATOR, **times: Any
) -> httpx.Response:
    return HTTP.put(f"{collector.url}/plans/{AGAIN.id}/rounds/{number}", json=times, headers=headers)


def test_rounds_open_and_close(collector: Running) -> None:
    report = fresh(AGAIN, 31, 2)
    refused(send(collector, report.to_bytes()), "closed")
    answer = put(collector, 2, opens="2020-01-01T00:00:00Z", closes="2999-12-31T23:59:59+01:00")
    assert answer.json()["rounds"][1] == {
        "number": 2,
        "opens": "2020-01-01T00:00:00Z",
        "closes": "2999-12-31T22:59:59Z",
        "open": True,
    }
    assert send(collector, report.to_bytes()).status_code == 201
    put(collector, 2, opens=None, closes="2020-01-02T00:00:00Z")
    assert send(collector, report.to_bytes()).status_code == 200, "it was counted while the round was open"
    refused(send(collector, fresh(AGAIN, 32, 2).to_bytes()), "closed")
    shown = HTTP.get(f"{collector.url}/plans/{AGAIN.id}/rounds").json()
    assert [(one["number"], one["open"]) for one in shown["rounds"]] == [(1, True), (2, False)]


def test_rounds_that_are_refused(collector: Running) -> None:
    refused(put(collector, 2, headers={}), "token")
    for number in (0, 4, 2**31):
        assert put(collector, number).status_code == 400
    refused(put(collector, "x"), "parameter")
    refused(put(collector, 2, opens="2020-01-02T00:00:00Z", closes="2020-01-01T00:00:00Z"), "parameter")
    refused(put(collector, 2, opens="2020-01-02T00:00:00"), "parameter")
    refused(put(collector, 2, opens="0001-01-01T00:00:00+23:00"), "parameter")
    refused(put(collector, 2, other=1), "parameter")
    url = f"{collector.url}/plans/{AGAIN.id}/rounds/2"
    refused(HTTP.put(url, content=b"\xff", headers=OPERATOR), "parameter")
    refused(HTTP.put(url, content=b" " * 5000, headers=OPERATOR), "large")


# What the operator sees.


def test_results_are_those_of_the_dashboard(collector: Running) -> None:
    results = dn.Results(f"{collector.url}/dashboard", OPERATOR["Authorization"].split()[1])
    assert "token" not in repr(results)
    assert results.list_plans() == {ONE.id: "One round", AGAIN.id: "Asked again"}
    shown = collector.get(f"/plans/{ONE.id}/estimates").json()
    for named in (ONE, ONE.id, ONE.id[:12]):
        result = results.read(named)
        assert result.n == shown["n"]
        assert [row["unbiased"] for row in shown["rows"]] == pytest.approx(
            [share for estimate in result.estimates.values() for share in estimate.frequencies]
        )
    with pytest.raises(dn.InvalidParameter, match=r"an address such as .*, got 'localhost'"):
        dn.Results("localhost")
    for unknown in (None, "0" * 12):
        with pytest.raises(dn.InvalidParameter, match=rf"by its id, got .*{ONE.id[:12]} \(One round\), "):
            results.read(unknown)


def tallied(reports: list[Report], plan: Plan = ONE) -> Tallies:
    return plan.tally(Wire(plan.document).reports([report.body for report in reports]))


@pytest.fixture(scope="module")
def alone() -> Iterator[Running]:
    """A collector with exactly N reports, whose results can be compared."""
    with (
        tempfile.TemporaryDirectory() as folder,
        collecting(Path(folder), [ONE], "--minimum", str(N)) as running,
    ):
        for start in range(0, N, 50):
            send(running, to_batch(REPORTS[start : start + 50]), path="/reports/batch")
        yield running


def found_rows(level: float = 0.95) -> list[dict[str, Any]]:
    """What the reports say, without what an answer says once."""
    rows = Findings(ONE.estimate(tallied(REPORTS)).numbers, level).rows.values
    return [{name: cell for name, cell in row.items() if name not in ("level", "plan")} for row in rows]


def test_estimates_are_those_of_the_reports(alone: Running) -> None:
    expected = found_rows(0.9)
    shown = alone.get(f"/plans/{ONE.id}/estimates", level=0.9, round=1).json()
    # these values have no distances, and are known well
    lists = (
        "means",
        "groups",
        "quantiles",
        "noise",
        "smoothable",
        "respondents",
        "among",
        "plans",
        "not_joined",
    )
    nothing: dict[str, object] = {name: [] for name in lists}
    nothing |= {"smooth": False, "refused": {}, "questions": {}, "weights": None, "day": None}
    nothing |= {"outdated": None, "fit": shown["fit"]}
    assert [(fit["attribute"], fit["badly"]) for fit in shown["fit"]] == [("color", False), ("smokes", False)]
    assert shown == {"plan": ONE.id, "round": 1, "n": N, "level": 0.9, "rows": expected} | nothing
    table = parquet.read_table(
        io.BytesIO(alone.get(f"/plans/{ONE.id}/estimates", format="parquet", level=0.9).content)
    )
    assert table["low"].to_pylist() == [row["low"] for row in expected]
    answer = alone.get(f"/plans/{ONE.id}/estimates", format="csv", level=0.9, round=1)
    rows = list(csv.DictReader(answer.text.splitlines()))
    about = {
        "kind": "value",
        "level": 0.9,
        "plan": ONE.id,
        "round": 1,
    }  # every row says what it is, wherever it is pasted to
    assert rows == [
        {name: "" if cell is None else str(cell) for name, cell in (row | about).items()} for row in expected
    ]
    assert table["plan"].to_pylist() == [ONE.id] * 5
    assert "attachment" in answer.headers["content-disposition"]


def test_history_narrows(alone: Running) -> None:
    shown = alone.get(f"/plans/{ONE.id}/history").json()
    assert [one["n"] for one in shown["snapshots"]] == [N], "no snapshot of fewer than the minimum is shown"
    assert shown["snapshots"][0]["rows"] == found_rows()


def test_history_of_a_busy_round(collector: Running) -> None:
    rows = collector.get(f"/plans/{ONE.id}/history").json()["snapshots"]
    widths = [one["rows"][0]["high"] - one["rows"][0]["low"] for one in rows]
    assert len(rows) >= 1
    assert widths == sorted(widths, reverse=True)


def test_tallies_are_fetched_from_a_collector_and_from_its_store(
    alone: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLE_TOKEN", OPERATOR["Authorization"].split()[1])
    token = reading.find_token(None, alone.url)
    for address in (
        alone.url,
        f"{alone.url}/",
        f"{alone.url}/dashboard",
        f"{alone.url}/dashboard#token={token}",
    ):
        assert fetch_tallies(ONE.document, address, 1, token) == (1, tallied(REPORTS))
    assert fetch_tallies(ONE.document, alone.url, None, token) == (1, tallied(REPORTS)), (
        "the collector says which round it is"
    )
    assert fetch_tallies(ONE.document, f"sqlite:///{alone.folder}/reports.db") == (1, tallied(REPORTS))
    assert ONE.tally(f"sqlite:///{alone.folder}/reports.db") == tallied(REPORTS)
    with pytest.raises(dn.InvalidParameter, match="has counted its reports together, got by='day'"):
        ONE.tally(f"sqlite:///{alone.folder}/reports.db", by="day")
    with pytest.raises(dn.DeniableError, match="not its operator's token, or not any more"):
        fetch_tallies(ONE.document, alone.url, None, "another")
    with pytest.raises(dn.DeniableError, match="refused: No such plan"):
        fetch_tallies(AGAIN.document, alone.url, None, token)
    with pytest.raises(dn.DeniableError, match="cannot be reached"):
        fetch_tallies(ONE.document, "http://127.0.0.1:9", None, token)
    with pytest.raises(dn.DeniableError, match="no store at"):
        fetch_tallies(ONE.document, f"sqlite:///{alone.folder}/none.db")
    monkeypatch.delenv("DENIABLE_TOKEN")
    with pytest.raises(dn.InvalidParameter, match="--token-file"):
        reading.find_token(None, alone.url)


SHOWN = ("estimates", "history", "tallies", "reports")


@pytest.mark.parametrize("what", SHOWN)
def test_nothing_is_shown_of_too_few(collector: Running, what: str) -> None:
    answer = collector.get(f"/plans/{AGAIN.id}/{what}", round=1)
    if what == "history":
        assert answer.json()["snapshots"] == []
    else:
        assert "from 200 on" in refused(answer, "few")


@pytest.mark.parametrize(
    "query",
    [
        {"round": "x"},
        {"round": "-1"},
        {"round": "9"},
        {"level": "1"},
        {"level": "nan"},
        {"format": "exe"},
        {"project": "norm-sub"},  # retired: without it, answers would say something else than was asked
    ],
)
def test_parameters_that_are_refused(alone: Running, query: dict[str, str]) -> None:
    refused(alone.get(f"/plans/{ONE.id}/estimates", **query), "parameter")


@pytest.mark.parametrize("operation", [one for one in OPERATIONS if one.roles], ids=lambda one: one.name)
def test_the_operators_things_are_behind_the_token(collector: Running, operation: Any) -> None:
    url = collector.url + operation.path.replace("{id}", ONE.id).replace("{number}", "1")
    right = OPERATOR["Authorization"]
    for given in (
        None,
        "Bearer",
        "Bearer wrong",
        right[:-1],
        right + "x",
        right.replace("Bearer", "Basic"),
        "Invitation x",
        "Bearer \u00e9",
    ):
        headers = {} if given is None else {b"authorization": given.encode()}
        answer = HTTP.request(operation.method, url, headers=headers)
        refused(answer, "token")
        assert answer.headers["www-authenticate"] == "Bearer"
    assert HTTP.request(operation.method, url, headers={"Authorization": right}).status_code != 401


def test_everything_else_is_for_everybody(collector: Running) -> None:
    public = {one.path for one in OPERATIONS if not one.roles}
    assert public == {
        "/plans", "/plans/{id}", "/plans/{id}/codebook", "/plans/{id}/rounds", "/plans/{id}/signatures",
        "/reports", "/reports/batch", "/health", "/ready", "/openapi.json", "/", "/dashboard",
        "/assets/{name}",
    }  # fmt: skip


# Health, metrics, pages, headers.


def test_health_and_readiness(collector: Running) -> None:
    for path in ("/health", "/ready"):
        assert HTTP.get(f"{collector.url}{path}").json() == {"status": "ok"}


def test_metrics_are_well_formed(collector: Running) -> None:
    answer = collector.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    line = re.compile(r'[a-z_]+(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? [0-9.e+-]+')
    lines = answer.text.splitlines()
    assert all(line.fullmatch(one) for one in lines if not one.startswith("# "))
    assert answer.text.endswith("\n")
    found = collector.metrics()
    assert {f'deniable_refused_total{{reason="{reason}"}}' for reason in REASONS} <= set(found)
    assert found[f'deniable_reports{{plan="{AGAIN.id}",round="1"}}'] == 100
    assert found["deniable_commit_seconds_count"] == found['deniable_commit_seconds_bucket{le="+Inf"}'] > 0
    assert found["deniable_queue_length"] == 0
    assert not re.search(r"127\.0\.0\.1|python|httpx", answer.text), "nothing is said about who asked"


def test_pages_that_are_there_are_served(collector: Running) -> None:
    there = files.read_files()
    for path, name in [
        ("/", "survey.html"),
        ("/dashboard", "dashboard.html"),
        *((f"/assets/{name}", name) for name in there),
    ]:
        answer = HTTP.get(f"{collector.url}{path}")
        if name in there:
            assert answer.content == there[name].content
            assert answer.headers["content-type"] == there[name].kind
            again = HTTP.get(f"{collector.url}{path}", headers={"If-None-Match": answer.headers["etag"]})
            assert again.status_code == 304
        else:
            refused(answer, "path")


@pytest.mark.parametrize(
    "name", ["..%2fapp.py", "%2e%2e/app.py", "../app.py", "app.py", "", "%00", "..%5capp.py"]
)
def test_no_other_file_is_served(collector: Running, name: str) -> None:
    host, port = collector.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:  # a client would tidy the path up
        raw.sendall(f"GET /assets/{name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.split()[1] == b"404"


def test_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "survey.html").write_text("<p>Hello</p>")
    (tmp_path / "secret.py").write_text("x")
    (tmp_path / "folder.js").mkdir()
    assert set(files.read_files(tmp_path)) == {"survey.html"}
    assert files.read_files(tmp_path / "none") == {}


def test_headers_that_protect(collector: Running) -> None:
    for path in ("/", "/dashboard", "/plans", "/nowhere", "/openapi.json"):
        headers = HTTP.get(f"{collector.url}{path}").headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        allowed = "geolocation=(self)" if path == "/" else "geolocation=()"  # only the survey asks for places
        assert allowed in headers["permissions-policy"]
        assert "server" not in headers
        assert "set-cookie" not in headers
    assert send(collector, REPORTS[0].to_bytes()).headers["x-content-type-options"] == "nosniff"


def test_pages_of_other_sites_may_send_if_they_are_listed(collector: Running) -> None:
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    answer = HTTP.options(f"{collector.url}/reports", headers={"Origin": SITE} | asked)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == SITE
    assert "PUT" not in answer.headers["access-control-allow-methods"]
    for path, content in (("/reports", REPORTS[0].to_bytes()), ("/reports", b"wrong")):
        answer = send(collector, content, BINARY | {"Origin": SITE}, path)
        assert answer.headers["access-control-allow-origin"] == SITE
    assert (
        HTTP.get(f"{collector.url}/plans", headers={"Origin": SITE}).headers["access-control-allow-origin"]
        == SITE
    )
    other = HTTP.options(f"{collector.url}/reports", headers={"Origin": "https://other.example"} | asked)
    refused(other, "method")
    assert "access-control-allow-origin" not in other.headers
    assert other.headers["vary"] == "origin"


def test_what_is_not_there(collector: Running) -> None:
    for path in (
        "/nowhere",
        "/plans/",
        "/reports/",
        "/reports/batch/x",
        "/assets/none.js",
        "/assets/client.mjs",
    ):
        refused(HTTP.get(f"{collector.url}{path}"), "path")
    for method, path in (
        ("POST", "/plans"),
        ("DELETE", f"/plans/{ONE.id}"),
        ("PATCH", "/"),
        ("PUT", "/health"),
    ):
        answer = HTTP.request(method, f"{collector.url}{path}")
        refused(answer, "method")
        assert "GET" in answer.headers["allow"]
    for path in ("/reports", "/reports/batch"):
        answer = HTTP.get(f"{collector.url}{path}")
        refused(answer, "method")
        assert answer.headers["allow"] == "POST"
    head = HTTP.head(f"{collector.url}/plans/{ONE.id}")
    assert (head.status_code, head.content) == (200, b"")


def test_the_description_names_every_operation(collector: Running) -> None:
    found = HTTP.get(f"{collector.url}/openapi.json").json()
    assert found["openapi"] == "3.1.0"
    assert found["components"]["schemas"]["Summary"]["properties"]["open"]["description"].startswith(
        "All rounds that are open"
    )
    assert "1,048,576 bytes" in found["paths"]["/reports"]["post"]["requestBody"]["description"]
    assert "10,000 reports" in found["paths"]["/reports/batch"]["post"]["requestBody"]["description"]
    named = {one["operationId"] for path in found["paths"].values() for one in path.values()}
    assert named == {one.name for one in OPERATIONS}
    used = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(found)))
    assert used <= set(found["components"]["schemas"])
