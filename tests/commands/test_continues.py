"""Plans that continue others on the command line: made, verified and read together."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import deniable as dn
from deniable.study import Plan
from tests.running import Run

BUDGETS = "repeat.epsilon_first = 1.0\nrepeat.epsilon_forever = 2.0\nrepeat.rounds = 3\n"


def write_study(name: str, *values: str) -> None:
    text = f"{BUDGETS}[attributes.crash]\nvalues = {json.dumps(values)}\n"
    Path(name).write_text(text, encoding="utf-8")


def write_reports(name: str, answer: str) -> None:
    plan = Plan.read(f"{name}.json")
    reports = plan.privatize({"crash": ["no"] * 300 + [answer] * 100}, dn.remembering(1, round=1))
    plan.write_reports(f"{name}.parquet", [reports])


def test_a_plan_is_continued_and_read_with_the_one_before(run: Run) -> None:
    write_study("old.toml", "no", "app")
    write_study("new.toml", "no", "app", "driver")
    write_study("other.toml", "none", "app")
    run("plan", "old.toml", "--people", "1000", "-o", "old.json")
    planned = run("plan", "new.toml", "--people", "1000", "--continues", "old.json", "-o", "new.json")
    assert planned.err.endswith("next: deniable serve old.json new.json\n")
    shown = run("verify", "new.json").out
    for explained in (planned.out, shown):
        assert "'crash': carried on, with more answers: driver." in explained
    verified = json.loads(run("verify", "new.json", "--json").out)
    alone, together = verified["loss_counted"], verified["chain"]["changing_values"]
    assert alone < together - 0.5
    counted = [line.split()[4] for line in shown.splitlines() if line.startswith("loss of all ")]
    assert [float(figure) for figure in counted] == pytest.approx([alone, together], abs=1e-7)
    assert verified["best_pick"] == pytest.approx(1 / (1 + math.exp(-together)))
    attacked = " ".join(run("attack", "new.json").out.split())
    assert "It continues 1 other plan, whose reports are not looked at here" in attacked
    refused = run("verify", "new.json", "--cap", f"{(alone + together) / 2}").err
    assert "with the plans that it continues, if answers change, more than the cap of" in refused
    refused = run("plan", "other.toml", "--people", "1000", "--continues", "old.json").err
    assert "carries on nothing" in refused
    continuing = ("--people", "1000", "--continues", "old.json")
    twice = run("plan", "new.toml", *continuing, "--continues", "new.json")
    assert (twice.code, "--continues takes one plan, got old.json, new.json; " in twice.err) == (2, True)
    replaced = run("plan", "new.toml", *continuing, "-o", "old.json", "--force")
    assert replaced.code == 2
    assert "old.json is the plan that devices have" in replaced.err
    assert not Plan.read("old.json").document.continues
    Path("once.toml").write_text('epsilon = 1.0\nattributes.crash.values = ["no", "app"]\n', encoding="utf-8")
    once = run("plan", "once.toml", *continuing).err
    assert "only a plan with rounds continues another one with rounds" in once
    write_reports("old", "app")
    write_reports("new", "driver")
    both = ("estimate", "new.json", "new.parquet", "--continues", "old.json", "old.parquet")
    shown = run(*both).out
    plans = [Plan.read(f"{name}.json").id[:12] for name in ("old", "new")]
    assert f"joined by the numbers of people: 400 to plan {plans[0]} and 400 to plan {plans[1]}" in shown
    swapped = run("estimate", "old.json", "old.parquet", "--continues", "new.json", "new.parquet").err
    assert f"plan {plans[1]} continues plan {plans[0]}; name it first" in swapped
    in_round = ("estimate", "new.json", "new.parquet", "--continues", "old.json:1", "old.parquet")
    assert run(*in_round).out == run(*both).out
    assert "of two plans or more, each once" in run(*both, "--continues", "old.json", "old.parquet").err
    missing = run("estimate", "new.json", "new.parquet", "--continues", "old.json:2", "old.parquet").err
    assert "there are no reports" in missing
    assert "of round 2 in old.parquet" in missing
    rows = json.loads(run(*both, "--people", "others", "--json").out)["rows"]
    assert [row["value"] for row in rows] == ["no", "app", "driver"]
    assert "is about a change" in run(*both, "--people", "linked").err
    change = run("estimate", "new.json", "new.parquet", "--change-from", "old.parquet")
    assert "not compared of crash: driver, answers of one plan alone" in change.out
    Path("lake").mkdir()
    for name in ("old", "new"):
        Path(f"{name}.parquet").rename(f"lake/{name}.parquet")
    lake = run("estimate", "new.json", "--from", "lake", "--change-from", "old.json:1", "--json")
    rows = json.loads(lake.out)["rows"]
    assert [(row["value"], row["kind"]) for row in rows] == [("no", "value"), ("app", "value")]
    assert rows[1]["difference"] < -0.1
    run("tally", "new.json", "--from", "lake", "--by", "round", "--keep", "kept.json")
    kept = run("estimate", "new.json", "--from", "kept.json", "--change-from", "old.json:1", "--json")
    assert json.loads(kept.out)["rows"] == rows
    run("plan", "other.toml", "--people", "1000", "-o", "other.json")
    foreign = run("estimate", "new.json", "--from", "lake", "--change-from", "other.json").err
    assert "does not continue plan" in foreign
    linked = ("estimate", "new.json", "--from", "lake", "--change-from", "old.json", "--people", "linked")
    assert "--people linked is about one plan" in run(*linked).err


def test_the_printed_consent_counts_the_plans_before_as_that_of_the_plan_does(run: Run) -> None:
    write_study("old.toml", "no", "app")
    write_study("new.toml", "no", "app", "driver")
    study = Path("new.toml").read_text(encoding="utf-8")
    Path("new.toml").write_text(f"survey.consent = true\n{study}", encoding="utf-8")
    run("plan", "old.toml", "--people", "1000", "-o", "old.json")
    continuing = ("--people", "1000", "--continues", "old.json")
    run("plan", "new.toml", *continuing, "-o", "new.json")
    texts = Plan.read("new.json").document.texts
    assert texts is not None
    printed = json.loads(run("texts", "new.toml", *continuing, "--json").out)
    assert printed["consent"] == texts.consent
    alone = json.loads(run("texts", "new.toml", "--people", "1000", "--json").out)
    assert alone["consent"] != texts.consent
