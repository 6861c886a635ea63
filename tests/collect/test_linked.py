"""Linked reports at a collector: the change of those who answered both rounds, and how many they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.collect.results import Comparison, pair_rounds
from deniable.reports import Reports
from deniable.store import reading
from deniable.store.counting import Arrival
from deniable.store.store import Store, open_store
from deniable.wire import Report, Wire, to_batch
from tests.collector import BINARY, TOKEN, collecting
from tests.running import Run

PLAN = dn.Study(
    {"arm": ["A", "B"], "mood": ["good", "fair", "bad"], "ill": ["yes", "no"]},
    epsilon_first=3.0,
    epsilon_forever=4.0,
    rounds=2,
    known=["arm"],
    together=[("mood", "ill")],
    linked=True,
).plan(people=400)
MADE = {"both": 300, "dropped": 100, "joined": 50}


def make_reports(number: int, people: Sequence[int]) -> Reports:
    draw = np.random.default_rng(number)
    answers: dict[str, Any] = {
        "arm": ["AB"[person % 2] for person in people],
        "mood": draw.choice(["good", "fair", "bad"], len(people)),
        "ill": draw.choice(["yes", "no"], len(people)),
    }
    return PLAN.privatize(answers, dn.remembering(1, round=number), people=people)


ROUNDS = make_reports(1, range(400)), make_reports(2, range(100, 450))


def list_parts(reports: Reports) -> tuple[list[bytes], list[bytes]]:
    assert reports.people is not None
    return [name.ljust(16, b"\0") for name in reports.people.tolist()], Wire(PLAN.document).bodies(reports)


def test_shell_and_collector_compare_those_who_answered_both(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From files, from a store and from a collector, whose file of reports may be longer than tallies are."""
    monkeypatch.setenv("DENIABLE_TOKEN", TOKEN)
    monkeypatch.setattr(reading, "_LONGEST", 4096)
    PLAN.write(Path("plan.json"))
    for number, reports in enumerate(ROUNDS, 1):
        PLAN.write_reports(Path(f"{number}.parquet"), reports)
    change = PLAN.compare_rounds(*ROUNDS)
    wanted = [(row["low"], row["high"]) for row in change.rows()]

    def check(*asked: str) -> None:
        told = json.loads(run("estimate", "plan.json", *asked, "--json").out)
        assert {name: told[name] for name in MADE} == MADE
        assert [(row["low"], row["high"]) for row in told["rows"]] == wanted

    assert "all reports of a person carry one pseudonym" in run("verify", "plan.json").out
    assert json.loads(run("verify", "plan.json", "--json").out)["linked"] is True
    check("2.parquet", "--change-from", "1.parquet")
    same = json.loads(run("estimate", "plan.json", "1.parquet", "--change-from", "1.parquet", "--json").out)
    assert {row["difference"] for row in same["rows"]} == {0.0}
    folder = tmp_path / "collector"
    folder.mkdir()
    with collecting(folder, [PLAN], "--minimum", "50") as collector:
        assert (
            run("rounds", "plan.json", "--open", "2", "--store", f"sqlite:///{folder}/reports.db").code == 0
        )
        for number, reports in enumerate(ROUNDS, 1):
            sent = [
                Report(Wire(PLAN.document).prefix, number, name, body)
                for name, body in zip(*list_parts(reports), strict=True)
            ]
            answer = collector.http.post(
                f"{collector.url}/reports/batch", content=to_batch(sent), headers=BINARY
            )
            assert answer.json()["counted"] == reports.n, answer.text
        check("--from", collector.url, "--round", "2", "--change-from", "1")
        check("--from", f"sqlite:///{folder}/reports.db", "--round", "2", "--change-from", "1")
        series = run(
            "estimate", "plan.json", "--from", collector.url, "--change-from", "1", "--every-round", "--json"
        )
        assert json.loads(series.out)["people"] == "linked"
        path, pair = f"/plans/{PLAN.id}", {"round": 2, "since": 1}
        told = collector.get(f"{path}/change", **pair).json()
        assert [told[name] for name in MADE] == [*MADE.values()]
        assert [(row["low"], row["high"]) for row in told["rows"]] == wanted
        answered = collector.get(f"{path}/participation").json()["rounds"]
        assert answered == [{"since": 1, "round": 2, **MADE}]
        cells = collector.get(f"{path}/cross/change", of="ill", by="mood", **pair).json()
        assert cells["people"] == "linked"
        table = change.cross("ill", "mood").about()
        assert cells["cells"] == json.loads(json.dumps(table["cells"]))
        known = collector.get(f"{path}/cross/change", of="ill", by="arm", **pair).json()
        assert known["people"] == "population"  # a table by what is known is not of linked reports
        for wrong in ({"people": "linked", "weights": '{"arm": {"A": 1, "B": 1}}'}, {"people": "all"}):
            assert collector.get(f"{path}/change", **pair, **wrong).status_code == 400


def test_reports_that_are_scrubbed_meanwhile_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/a.db")) as store:
        store.register(PLAN.document)
        for number, reports in enumerate(ROUNDS, 1):
            store.set_round(PLAN.id, number)
            store.add([Arrival(PLAN.id, number, *list_parts(reports))], 0.0)
        tallies = [store.tallies(PLAN.id, number) for number in (1, 2)]
        comparison = Comparison(1, tallies[0], 2, tallies[1], 0.95, None)
        pairs = pair_rounds(store, PLAN, comparison)
        assert pairs is not None
        assert pairs.rounds[0].n == MADE["both"]
        read = Store.reports

        def scrub_first(self: Store, plan_id: str, number: int) -> Any:
            store.scrub(PLAN.id, 2)
            return read(self, plan_id, number)

        monkeypatch.setattr(Store, "reports", scrub_first)
        assert pair_rounds(store, PLAN, comparison) is None
