"""A file with questions that are asked once and questions that are asked again, in the shell."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import deniable as dn
from deniable.advise.changes import keep_questions
from deniable.design.draft import Draft
from deniable.design.rewrite import keep_part, rewrite_draft
from deniable.plan import NANO
from tests.running import Run

TEXT = """\
title = "Work and mood"
epsilon = 1.0  # of what is asked once

[survey]
consent = true

[repeat]
epsilon_first = 0.5
epsilon_forever = 1.0

[attributes.mood]
values = ["good", "so-so", "bad"]
repeat = 4  # every week

[attributes.smokes]
values = ["yes", "no"]

[attributes.work]
values = ["none", "part time", "full time"]
"""


@pytest.fixture(autouse=True)
def _file(run: Run) -> None:
    Path("study.toml").write_text(TEXT, encoding="utf-8")


def test_plan_writes_both_or_none_and_says_one_sum(run: Run) -> None:
    command = ("plan", "study.toml", "--people", "2000", "-o", "plan.json")
    Path("plan-repeated.json").touch()
    refused = run(*command)
    assert "plan-repeated.json exists already" in refused.err
    assert not Path("plan.json").exists()
    made = run(*command, "--force")
    assert made.code == 0, made.err
    plans = once, again = dn.Plan.read("plan.json"), dn.Plan.read("plan-repeated.json")
    assert plans == dn.Study.read("study.toml").plans(2000)
    assert (once.names, again.names) == (("smokes", "work"), ("mood",))
    # what the survey page adds up, from the same integers (js/pages/survey/plans_parts.ts)
    total = sum(plan.stated.counted or 0 for plan in plans)
    said = made.out[made.out.index("What all reports give away together") :]
    assert f"{total / NANO:.9f} per record" in said
    assert f"more than {math.ceil(10 * math.exp(total / NANO)) / 10:g} times likelier" in said
    assert made.out.count(f"Plan {once.id[:12]}") == made.out.count(f"Plan {again.id[:12]}") == 1
    assert made.err.splitlines()[-1] == "next: deniable serve plan.json plan-repeated.json"
    assert json.loads(run("plan", "study.toml", "--people", "2000", "--json").out) == [
        json.loads(plan.to_json()) for plan in plans
    ]
    keyed = run(*command, "--force", "--ticket-key", "key.pem")
    assert keyed.code == 0, keyed.err
    assert keyed.err.splitlines()[-1].endswith("--ticket-key key.pem --ticket-key key-repeated.pem")
    printed = run("texts", "study.toml", "--people", "2000", "--json")
    assert json.loads(printed.out)["consent"] == once.document.texts.consent  # type: ignore[union-attr]
    assert "a study, not a plan" in run("verify", "study.toml").err


def test_people_are_counted_for_both(run: Run) -> None:
    once, again = dn.Study.read("study.toml").divide()
    facts = json.loads(run("people", "study.toml", "--error", "10", "--json").out)
    needed = [
        max(precision.people_needed(0.1) for precision in part.plan(facts["people"]).precisions())
        for part in (once, again)
    ]
    assert facts["people"] == max(needed)
    assert min(needed) < max(needed)
    assert [row["attribute"] for row in facts["questions"]] == ["smokes", "work", "mood"]
    text = run("people", "study.toml", "--people", "2000").out
    assert "Work and mood, asked once" in text
    assert "Work and mood, asked in 4 rounds" in text
    assert (
        "no report holds 'work' and 'mood'"
        in run("people", "study.toml", "--difference", "10", "--of", "work", "--by", "mood").err
    )
    assert "'work' is asked once" in run("people", "study.toml", "--change", "9", "--of", "work").err
    assert run("people", "study.toml", "--change", "9", "--of", "mood").code == 0


def test_advice_is_on_both_and_is_written_into_the_file(run: Run) -> None:
    once, again = dn.Study.read("study.toml").divide()
    parts = [part.advise(1_000) for part in (once, again)]
    facts = json.loads(run("advise", "study.toml", "--people", "1000", "--json").out)
    assert [row["change"] for row in facts["proposals"]] == [row.describe() for part in parts for row in part]
    assert facts["people_needed"] == max(row.to_dict()["people_needed"] for row in parts)
    numbers = [
        [row.changes[0].kind for row in part].index("epsilon") + 1 + before
        for part, before in zip(parts, (0, len(parts[0])), strict=True)
    ]
    command = ("advise", "study.toml", "--people", "1000", "--apply", ",".join(map(str, numbers)))
    applied = run(*command, "-o", "better.toml")
    assert applied.code == 0, applied.err
    assert dn.Study.read("better.toml").divide() == (
        parts[0][numbers[0] - 1].study,
        parts[1][numbers[1] - len(parts[0]) - 1].study,
    )
    assert "repeat = 4  # every week" in Path("better.toml").read_text(encoding="utf-8")
    wanted = run("advise", "study.toml", "--people", "1000", "--want", "mood x work=10")
    assert "no table of questions that are asked equally often" in wanted.err


def test_whoever_is_asked_apart_gets_a_file_of_their_own() -> None:
    """Also where both parts have tables, weights and pages."""
    tables = 'together = [["smokes", "work"], ["mood", "sleep"]]\n'
    pages = 'pages = [["mood", "sleep", "calm"], ["smokes", "work", "town"]]\n'
    weights = "[importance]\nsmokes = 2\nmood = 3\n"
    more = "[attributes.town]\nvalues = ['a', 'b', 'c', 'd', 'e']\n"
    again = "".join(f"[attributes.{name}]\nyes_no = true\nrepeat = 4\n" for name in ("sleep", "calm"))
    text = tables + TEXT.replace("consent = true\n", f"consent = true\n{pages}{weights}") + more + again
    Path("study.toml").write_text(text, encoding="utf-8")
    study, draft = dn.Study.read("study.toml"), Draft.read(text)
    for part, name in zip(study.divide(), ("town", "calm"), strict=True):
        alone = keep_questions(part, [name])
        file = rewrite_draft(keep_part(draft, part), part, alone, Path()).write(text)
        Path("new.toml").write_text(file, encoding="utf-8")
        assert dn.Study.read("new.toml") == alone


def test_invitations_are_to_both_and_say_which(run: Run) -> None:
    region = '\n[attributes.region]\nvalues = ["north", "south"]\nknown = true\n'
    Path("study.toml").write_text(TEXT + region, encoding="utf-8")
    assert run("plan", "study.toml", "--people", "2000", "-o", "plan.json").code == 0
    Path("people.csv").write_text("region\nnorth\nsouth\n", encoding="utf-8")
    options = ["--addresses", "people.csv", "--url", "https://survey.example", "-o", "list.csv"]
    made = run("tokens", "plan.json", "plan-repeated.json", *options)
    assert made.err.count("a code that is typed does not name 'region'") == 1
    for part in ("asked once", "asked in 4 rounds"):
        assert f"2 invitations to Work and mood, {part} are unused" in made.err
