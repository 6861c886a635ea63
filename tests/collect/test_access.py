"""Tokens of colleagues: what each role may do, how an access ends, and the log of what operators did."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from deniable.collect.messages import REASONS
from deniable.collect.openapi import OPERATIONS
from deniable.errors import DeniableError, InvalidParameter
from deniable.store.access import MAIN, Actor, draw_token, hash_token
from deniable.store.reading import fetch_tallies
from deniable.store.store import Store, open_store
from tests import services
from tests.collector import BINARY, HTTP, OPERATOR, Running, collecting, small_plan, some_reports
from tests.running import Run

PLAN = small_plan(rounds=True)
BY = Actor("zoe", "shell")
MAY = {
    "reader": {
        *("show_estimates", "show_cross", "show_change", "show_cross_change", "show_history"),
        *("show_range", "show_limits", "show_report_health", "show_access", "show_participation"),
        "show_days",
    },
    "metrics": {"show_metrics", "show_access"},
}


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path}/reports.db" if request.param == "sqlite" else services.cluster().url()
    opened = open_store(url)
    opened.register(PLAN.document, invited=True)
    yield opened
    opened.close()


def ask(running: Running, token: str, path: str, method: str = "GET", **options: object) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return HTTP.request(method, running.url + path, headers=headers, **options)  # type: ignore[arg-type]


def test_a_token_allows_what_its_role_does_and_ends_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/reports.db"
    with (
        collecting(tmp_path, [PLAN], "--store", url, "--minimum", "10") as running,
        closing(open_store(url)) as store,
    ):
        for report in some_reports(PLAN, 30):
            HTTP.post(f"{running.url}/reports", content=report.to_bytes(), headers=BINARY).raise_for_status()
        tokens = {role: draw_token() for role in (*MAY, "operator")}
        for role, token in tokens.items():
            assert ask(running, token, "/access").status_code == 401
            store.access.add(f"a-{role}", role, hash_token(token), BY)
            assert ask(running, token, "/access").json() == {"name": f"a-{role}", "role": role}
        assert HTTP.get(f"{running.url}/access", headers=OPERATOR).json() == {
            "name": MAIN,
            "role": "operator",
        }

        for operation in OPERATIONS:
            path = operation.path.replace("{id}", PLAN.id).replace("{number}", "2")
            for role, token in tokens.items():
                answer = ask(running, token, path, operation.method, json={"opens": None, "closes": None})
                if role == "operator" or not operation.roles or operation.name in MAY[role]:
                    assert answer.status_code not in (401, 403), (operation.name, role, answer.text)
                else:
                    assert (answer.status_code, answer.json()["reason"]) == (403, "role"), operation.name
                    assert f"a-{role} ({role}) does not allow this" in answer.json()["detail"]
        with pytest.raises(DeniableError, match=r"a-reader \(reader\) does not allow this; ask an operator"):
            fetch_tallies(PLAN.document, running.url, 1, tokens["reader"])
        assert fetch_tallies(PLAN.document, running.url, 1, tokens["operator"]).tallies.n == 30
        rounds = HTTP.get(f"{running.url}/plans/{PLAN.id}/rounds").json()["rounds"]
        assert [one["number"] for one in rounds] == [1, 2], "the operator alone has opened the second"

        log = ask(running, tokens["operator"], "/actions").json()["actions"]
        assert [(one["who"], one["what"], one["detail"]) for one in log[:2]] == [
            ("a-operator", "exported reports", "round 1"),
            ("a-operator", "opened a round", "round 2"),
        ]
        assert {one["through"] for one in log[:2]} == {"web"}
        assert log[-1]["what"] == "opened a round", "by whoever has started the collector"

        for role, token in tokens.items():
            store.access.revoke(f"a-{role}", BY)
            assert ask(running, token, "/access").json()["reason"] == "token"
        assert HTTP.get(f"{running.url}/access", headers=OPERATOR).status_code == 200
        assert REASONS["role"][0] == 403
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("reports.db*"))
    assert not any(token.encode() in kept for token in tokens.values()), "the store has hashes alone"


def test_every_deed_is_in_the_log_with_it_or_not_at_all(store: Store) -> None:
    store.set_round(PLAN.id, 1, by=BY)
    store.set_round(PLAN.id, 2, 1e9, 4e9, BY)
    store.set_round(PLAN.id, 2, 1e9, 1.1e9, BY)
    store.invite(PLAN.id, [bytes([number]) * 32 for number in range(20)], BY)
    store.withdraw(PLAN.id, BY)
    store.scrub(PLAN.id, by=BY)
    store.access.add("anna", "reader", b"a" * 32, BY)
    store.access.revoke("anna", Actor("ben", "web"))
    before = store.access.actions()
    assert [(one.who, one.through, one.what, one.detail) for one in reversed(before)] == [
        ("zoe", "shell", "opened a round", "round 1"),
        ("zoe", "shell", "opened a round", "round 2, from 2001-09-09T01:46:40Z, until 2096-10-02T07:06:40Z"),
        ("zoe", "shell", "closed a round", "round 2, from 2001-09-09T01:46:40Z, until 2004-11-09T11:33:20Z"),
        ("zoe", "shell", "made invitations", "20"),
        ("zoe", "shell", "withdrew invitations", "20"),
        ("zoe", "shell", "scrubbed reports", "all rounds"),
        ("zoe", "shell", "gave access", "to anna, as reader"),
        ("ben", "web", "revoked access", "of anna, reader"),
    ]
    assert {one.plan for one in before[:2]} == {None}
    assert {one.plan for one in before[2:]} == {PLAN.id}
    for refused in (
        lambda: store.set_round(PLAN.id, 99, by=BY),
        lambda: store.invite("0" * 64, [bytes(32)], BY),
        lambda: store.access.revoke("anna", BY),
        lambda: store.access.add("an na", "reader", b"b" * 32, BY),
        lambda: store.access.add(MAIN, "reader", b"b" * 32, BY),
        lambda: store.access.add("ben", "king", b"b" * 32, BY),
    ):
        with pytest.raises(InvalidParameter):
            refused()
    assert store.access.actions() == before
    assert store.access.actions(2) == before[:2]
    store.set_round(PLAN.id, 1)
    assert store.access.actions() == before, "a program that names nobody is not logged"


def test_names_are_taken_once_and_free_again(store: Store) -> None:
    store.access.add("anna", "reader", b"a" * 32)
    with pytest.raises(InvalidParameter, match="has access already"):
        store.access.add("anna", "operator", b"b" * 32)
    found = store.access.find(b"a" * 32)
    assert found is not None
    assert (found.name, found.role, store.access.find(b"b" * 32)) == ("anna", "reader", None)
    with pytest.raises(InvalidParameter, match="'ben' has no access here; those who have: anna"):
        store.access.revoke("ben")
    store.access.revoke("anna")
    store.access.add("anna", "operator", b"b" * 32)
    assert [(one.name, one.role) for one in store.access.everybody()] == [("anna", "operator")]
    assert store.access.find(b"a" * 32) is None


def test_access_from_the_shell(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "zoe")
    for verb in ("list", "log"):
        assert "there is no store" in run("access", verb).err
    link = run("access", "add", "anna", "--url", "https://survey.example.org/")
    assert link.out.startswith("https://survey.example.org/dashboard#token=")
    assert link.err.startswith("anna reads estimates, their health and the dashboard, and changes nothing")
    token = run("access", "add", "prometheus", "--role", "metrics").out.strip()
    assert len(token) == 43
    with closing(sqlite3.connect("reports.db")) as database:
        kept = dict(database.execute("SELECT name, hash FROM access").fetchall())
    given = link.out.strip().partition("#token=")[2]
    assert kept == {"anna": hash_token(given), "prometheus": hash_token(token)}
    listed = json.loads(run("access", "list", "--json").out)
    assert [(one["name"], one["role"]) for one in listed] == [("anna", "reader"), ("prometheus", "metrics")]
    assert "anna" in run("access", "list").out
    for wrong, problem in [
        (("add", "anna"), "'anna' has access already; revoke it first"),
        (("add", "main"), "'main' is who has the collector's own token"),
        (("add", "ben", "--url", "survey.example.org"), "begins with http:// or https://"),
        (("add", "ben", "--role", "metrics", "--url", "https://a.b"), "metrics have no page"),
        (("add", "ben", "--role", "king"), "'king' is not one of"),
        (("revoke", "ben"), "'ben' has no access here; those who have: anna, prometheus"),
    ]:
        outcome = run("access", *wrong)
        assert (outcome.code, problem in outcome.err) == (2, True), outcome.err
    assert "revoked the access of anna (reader)" in run("access", "revoke", "anna").out
    log = json.loads(run("access", "log", "--json").out)
    assert [(one["who"], one["what"], one["detail"]) for one in log] == [
        ("zoe", "revoked access", "of anna, reader"),
        ("zoe", "gave access", "to prometheus, as metrics"),
        ("zoe", "gave access", "to anna, as reader"),
    ]
    assert len(json.loads(run("access", "log", "--last", "1", "--json").out)) == 1
    assert "gave access" in run("access", "log").out
    run("access", "revoke", "prometheus")
    assert "nobody has access but main" in run("access", "list").out


def test_the_shells_deeds_are_logged(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "z\x1b\noe")
    plan = small_plan(rounds=True)
    plan.write(Path("plan.json"))
    for command in (
        "tokens plan.json --count 5 -o list.csv",
        "rounds plan.json --open 1",
        "rounds plan.json --open 2 --until 2099-01-01T00:00+00:00",
        "rounds plan.json --close 1",
        "tokens plan.json --withdraw --yes",
        "export --round 1 -o reports.parquet",
        "store scrub --yes --round 2",
    ):
        assert run(*command.split()).code == 0, command
    log = json.loads(run("access", "log", "--json").out)
    assert {(one["who"], one["through"], one["plan"]) for one in log} == {("zoe", "shell", plan.id)}
    said = [f"{one['what']}: {one['detail'].partition(', from')[0]}" for one in reversed(log)]
    assert said[3].startswith("closed a round: round 1, until 20")
    assert said[:3] + said[4:] == [
        "made invitations: 5",
        "opened a round: round 1",
        "opened a round: round 2, until 2099-01-01T00:00:00Z",
        "withdrew invitations: 5",
        "exported reports: round 1",
        "scrubbed reports: round 2",
    ]
