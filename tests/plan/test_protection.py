"""Tests how well a plan is said to protect answers."""

from __future__ import annotations

import math
from pathlib import Path

import deniable as dn
from deniable.commands.init import EXAMPLE
from deniable.explain.device_limit import warn_limit, warn_together
from deniable.messages import LANGUAGES, read_messages
from deniable.plan.losses import MOST_LITTLE, MOST_WELL, rate_loss
from deniable.study import Plan


def test_the_thresholds_are_guesses_of_75_and_90_in_100() -> None:
    for nanos, guess in ((MOST_WELL, 0.75), (MOST_LITTLE, 0.9)):
        assert math.isclose(1 / (1 + math.exp(-nanos / 1e9)), guess, abs_tol=1e-9)
    assert [rate_loss(one) for one in (MOST_WELL, MOST_WELL + 1, MOST_LITTLE, MOST_LITTLE + 1)] == [
        "well",
        "a little",
        "a little",
        "hardly",
    ]


def test_all_reports_are_rated_over_all_rounds() -> None:
    mood = {"mood": list("abcde")}
    weekly = [Plan.of(mood, dn.rounds.l_grr(5, 1.0, 2.0), 100, rounds=rounds) for rounds in (1, 2, 4)]
    assert [plan.protection.level for plan in weekly] == ["well", "hardly", "hardly"]
    two = {"mood": list("abcde"), "smokes": ["yes", "no"]}
    for made in (dn.spl([5, 2], 2.0, "grr"), dn.smp([5, 2], 2.0, "grr")):
        assert Plan.of(two, made, 100).protection.level == "a little", "one answer may tell the other"
    unbounded = Plan.of(mood, dn.rounds.dbitflip(5, 0.5, bits=3), 100, rounds=4)
    assert (unbounded.protection.level, unbounded.protection.loss) == ("hardly", None)


def test_ratings_are_said_in_every_language() -> None:
    names = ("rate_well", "rate_little", "rate_hardly", "picks")
    said = [read_messages(language, "pages")[name] for language in LANGUAGES for name in names]
    assert len(set(said)) == 4 * len(LANGUAGES)


def test_plans_of_one_link_that_devices_leave_out_are_warned_of() -> None:
    plans = [Plan.of({"mood": list("abcde")}, dn.grr(5, epsilon), 100) for epsilon in (3.0, 1.0, 2.0)]
    assert warn_together([plan.stated for plan in plans[:2]]) is None, "4 in all"
    text = warn_together([plans[0].stated, plans[2].stated])
    assert text is not None
    assert "together they give away 5, and a device whose person has set no limit allows 4 in all" in text
    assert warn_together([Plan.of({"mood": list("abcde")}, dn.grr(5, 5.0), 100).stated]) is None


def test_devices_answer_the_repeated_study_of_the_example(tmp_path: Path) -> None:
    lines = EXAMPLE[EXAMPLE.index("# [repeat]") :].splitlines()
    repeat = "\n".join(line.removeprefix("# ") for line in lines)
    file = tmp_path / "study.toml"
    file.write_text(f'{repeat}\n[attributes]\nmood = ["good", "middling", "bad"]\n', encoding="utf-8")
    plan = dn.Study.read(file).plan(people=1000)
    assert warn_limit(plan.document) is None
