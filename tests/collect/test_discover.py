"""A collector of text: it takes canonical reports only, keeps them, and finds values for its operator."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

import deniable as dn
from deniable.wire import Report, Wire
from tests.collector import BINARY, HTTP, OPERATOR, Running, collecting

PLAN = dn.Study({"word": dn.Text("a-z", longest=5), "smokes": ["yes", "no"]}, epsilon=4.0).plan(people=2000)
REPORTS = PLAN.privatize({"word": ["cat"] * 700 + ["dog"] * 300, "smokes": ["yes"] * 1000}, dn.seeded(2))


ALONE = dn.Study({"word": dn.Text("a-z", longest=7)}, epsilon=4.0).plan(people=2000)


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with collecting(tmp_path_factory.mktemp("text"), [PLAN, ALONE], "--minimum", "50") as running:
        running.take(PLAN, Wire(PLAN.document).bodies(REPORTS))
        running.take(
            ALONE, Wire(ALONE.document).bodies(ALONE.privatize({"word": ["cat"] * 1000}, dn.seeded(3)))
        )
        yield running


def test_a_plan_of_text_alone_has_a_health(collector: Running) -> None:
    """Reports are seeded, so that no chance raises an alarm."""
    answer = collector.get(f"/plans/{ALONE.id}/health")
    assert answer.status_code == 200, answer.text
    checks = [(one["attribute"], one["name"]) for one in answer.json()["checks"]]
    assert ("word", "levels of a question") in checks
    assert {name for _, name in checks} >= {"buckets", "hash bits"}
    assert answer.json()["alarms"] == 0


def test_a_public_list_may_be_sent(collector: Running) -> None:
    body = '{"words":["cat","ant"],"least":10,"alpha":0.01}'
    answer = HTTP.post(f"{collector.url}/plans/{PLAN.id}/discover", content=body, headers=OPERATOR)
    assert answer.status_code == 200, answer.text
    assert [one["value"] for one in answer.json()["found"]] == ["cat"]


def test_reports_that_support_every_word_are_refused(collector: Running) -> None:
    """t = 0 and bucket 0 would count for every word."""
    wire = Wire(PLAN.document)
    at = PLAN.names.index("word")
    part = PLAN.document.parts[at]
    body = bytes([at]) + bytes(part.report_bytes)
    report = Report(wire.prefix, 1, secrets.token_bytes(16), body).to_bytes()
    answer = HTTP.post(f"{collector.url}/reports", content=report, headers=BINARY)
    assert (answer.status_code, answer.json()["reason"]) == (400, "form")


def test_the_other_questions_are_estimated(collector: Running) -> None:
    shown = collector.get(f"/plans/{PLAN.id}/estimates").json()
    assert {row["attribute"] for row in shown["rows"]} == {"smokes"}
    assert collector.get(f"/plans/{PLAN.id}/health").status_code == 200
    assert collector.get(f"/plans/{PLAN.id}/history").status_code == 200
