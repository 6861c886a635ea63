"""What attacks give back: frames with intervals, seeds that are followed, noisy sums, refusals in words, and
the page.

Simulations have the false-alarm rate of `statistics.ALPHA` for each comparison, with the people that each
test states."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

import deniable as dn
from deniable import attack
from deniable.attack.page import Examination, most_exposed, times_as_often
from deniable.audit import Audit
from deniable.cli import commands
from deniable.formatting import format_percent, format_points
from tests import statistics
from tests.cases import names
from tests.plot.test_charts import lengths, texts

KS = (3, 2, 4)
SKEWED = [[0.6, 0.3, 0.1], [0.8, 0.2], [0.55, 0.25, 0.15, 0.05]]

ROUNDS = dn.Study(
    {"town": list("abcdefghij"), "smokes": ["yes", "no"]}, epsilon_first=1.0, epsilon_forever=2.0, rounds=5
)
SAMPLED = dn.Study({"town": list("abcdefghij"), "smokes": ["yes", "no"]}, epsilon=2.0, mechanism="sample")


# Seeds.


SIMULATED: dict[str, tuple[dn.records.RecordMechanism | dn.mechanisms.Mechanism, Any]] = {
    "hashes": (dn.olh(10, 2.0), [v / 55 for v in range(10, 0, -1)]),
    "fakes": (dn.rsfd(KS, 1.0, "grr", "published"), SKEWED),
    "draws": (dn.smp(KS, 2.0, "grr", attributes=2), None),
}


@pytest.mark.parametrize("name", SIMULATED)
def test_what_is_simulated_follows_the_seed(name: str) -> None:
    source, prior = SIMULATED[name]
    one, same, other = (attack.success(source, prior, 2, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert (one.seed, other.seed) == (1, 2)
    compared = 0
    pairs: list[tuple[Any, Any]] = [*zip(one.attributes, other.attributes, strict=True)]
    for a, b in [*pairs, *zip(one.profiles, other.profiles, strict=True)]:
        assert set(a.stderr) == set(b.stderr)
        for figure in a.stderr:
            if a.stderr[figure] > 0:
                compared += getattr(a, figure) != getattr(b, figure)
                error = math.hypot(a.stderr[figure], b.stderr[figure])
                statistics.deviation(
                    getattr(a, figure), getattr(b, figure), error, f"{figure} from two seeds"
                )
    assert compared > 0
    chances = [attack.success_after(dn.ss(9, 1.0), 3, memoized=False, seed=seed) for seed in (1, 2)]
    assert chances[0] != chances[1]


# Frames.


def test_frames_of_success() -> None:
    found = attack.success(dn.rsfd(KS, 1.0, "grr", "published"), SKEWED, collections=2, seed=3)
    frame = found.frame(backend="polars")
    assert frame.columns == names("attribute figure success stderr low high exact bound seed")
    assert len(frame) == 3 * 7
    assert set(frame["seed"]) == {3}
    for row in frame.iter_rows(named=True):
        one = found.attributes[int(row["attribute"][-1])]
        assert row["success"] == getattr(one, row["figure"])
        assert row["bound"] == (row["figure"] == "memoized")
        assert row["exact"] == (row["figure"] not in one.stderr)
        if row["exact"]:
            assert row["low"] == row["success"] == row["high"]
        else:
            assert row["high"] - row["low"] == pytest.approx(
                2 * 1.959964 * one.stderr[row["figure"]], abs=1e-6
            )
    profiles = found.profiles[0].frame(level=0.5, backend="polars")
    columns = names("collections asked memoized figure value stderr low high exact bound")
    assert profiles.columns == columns
    assert profiles.rows() == [tuple(row.values()) for row in found.profiles[0].rows(0.5)]
    with pytest.raises(dn.InvalidParameter, match="a confidence level"):
        found.frame(level=2.0)


def test_counted_shares_have_exact_intervals() -> None:
    from scipy.stats import binomtest

    mechanism, n = dn.rsfd(KS, 2.0, "sue-z", "published"), 500
    table = np.column_stack([np.random.default_rng(4).choice(len(one), n, p=one) for one in SKEWED])
    records, truth = mechanism.privatize(table, dn.seeded(2)), attack.real_attributes(mechanism, n, 2)
    found = attack.sampled_attribute(mechanism, records)
    frame = found.frame("polars")
    assert frame.columns == ["person", "attribute", "guess", "posterior"]
    assert frame["guess"].to_list() == [found.names[t] for t in found.attributes]
    judged = found.judged(truth, level=0.9, backend="polars").row(0, named=True)
    exact = binomtest(int((found.attributes == truth).sum()), n).proportion_ci(0.9)
    assert (judged["low"], judged["high"]) == pytest.approx((exact.low, exact.high))
    assert judged["right"] == found.right(truth) == (found.attributes == truth).mean()
    assert judged["expected"] == found.expected
    guessed = attack.guess(mechanism, records, SKEWED)
    by_attribute = guessed.judged(table.T, backend="polars")
    assert by_attribute.columns == ["attribute", "n", "right", "stderr", "low", "high", "expected"]
    for row in by_attribute.iter_rows(named=True):
        assert row["right"] == guessed.right(table.T)[row["attribute"]]
        assert row["low"] < row["right"] < row["high"]


def test_frame_of_who_was_found() -> None:
    found = attack.Reidentification(np.array([0, 5, 9, 20]), np.array([1, 10, 4, 1]), 100, 10)
    frame = found.frame(backend="polars")
    assert frame.columns == ["top", "n", "records", "success", "stderr", "low", "high", "blind", "attributes"]
    assert frame["top"].to_list() == [1, 10]
    assert frame["success"].to_list() == [0.25, 0.4375]
    assert frame["stderr"].to_list() == [found.stderr(1), found.stderr()]
    assert found.stderr() == pytest.approx(np.std([1.0, 0.5, 0.25, 0.0], ddof=1) / 2)
    assert (frame["low"] < frame["success"]).all()
    assert (frame["success"] < frame["high"]).all()
    assert found.frame(tops=[1, 5, 50], backend="polars")["top"].to_list() == [1, 5, 50]
    assert attack.Reidentification(np.array([0]), np.array([2]), 9, 1).stderr() == 0.5
    nobody = (
        attack.Reidentification(np.full(50, 99), np.ones(50, dtype=np.int64), 100, 1)
        .frame(backend="polars")
        .row(0, named=True)
    )
    assert nobody["success"] == nobody["low"] == 0.0
    assert nobody["high"] == pytest.approx(1 - 0.025 ** (1 / 50))


# Refusals in words.


def test_nobody_reported_what_the_background_has() -> None:
    """One person of a plan that asks for one of two attributes: all records match as well."""
    plan = dn.Plan.of({"s": ["x", "y"], "t": list("abc")}, dn.smp((2, 3), 1.0, "grr"), 1)
    drawn = set()
    for seed in range(8):
        reports = plan.privatize({"s": ["y"], "t": ["a"]}, dn.seeded(seed))
        assert reports.records.reporters is not None
        told = bool(reports.records.reporters[0].size)
        drawn.add(told)
        found = attack.reidentify([plan], [reports], {"s": ["y"]})
        assert (found.above.tolist(), found.tied.tolist(), found.success()) == ([0], [1], 1.0)
        among = attack.reidentify([plan], [reports], {"s": ["x", "y", "x"]}, top=1, truth=[1])
        assert among.tied.tolist() == [1 if told else 3]
        assert told or among.success() == pytest.approx(1 / 3)
    assert drawn == {True, False}


def test_truths_of_another_size_are_refused() -> None:
    mechanism = dn.rsfd(KS, 2.0, "grr", "published")
    records = mechanism.privatize([[0, 0, 0]] * 5, dn.seeded(1))
    found = attack.sampled_attribute(mechanism, records)
    wrong: Any
    for wrong, why in (
        ([0, 1], ", got 2 numbers"),
        ([0, 1, 2, 9, 0], ", each from 0 to 2, got 9"),
        (3, ": values must"),
        ([[0, 1], [1]], ", in one list, got rows of different lengths"),
    ):
        for judge in (found.right, found.judged):
            with pytest.raises(dn.InvalidParameter, match=f"the attribute of each of 5 reports{why}"):
                judge(wrong)
    none = mechanism.privatize(np.zeros((0, 3), dtype=np.int64), dn.seeded(1))
    with pytest.raises(dn.InvalidReport, match="there are no reports to attack; sampled_success tells"):
        attack.sampled_attribute(mechanism, none, [[1 / k] * k for k in KS])


def test_what_is_not_what_is_asked_for_is_refused() -> None:
    guesses = attack.guess(dn.grr(3, 1.0), np.array([0, 1], dtype=np.uint8))
    for truth, told in (
        ([[0]], r"got int64 of shape \(1, 1\)"),
        ([[0, 1], [0]], "rows of different lengths"),
        ([["a", "b"]], "got"),
    ):
        with pytest.raises(
            dn.InvalidParameter, match=f"the truth .* has a row of numbers per attribute, 1 rows of 2.*{told}"
        ):
            guesses.right(truth)
    with pytest.raises(dn.InvalidParameter, match="seed must be an integer of at least 0, got -1"):
        attack.success(dn.grr(3, 1.0), seed=-1)
    with pytest.raises(dn.InvalidParameter, match="seed must be an integer of at least 0, got 'a'"):
        attack.success_after(dn.grr(3, 1.0), 2, seed="a")  # type: ignore[arg-type]
    with pytest.raises(dn.InvalidParameter, match="tops are how many of the best matches count"):
        attack.Reidentification(np.array([0]), np.array([2]), 9, 1).frame(tops=[])


def test_sampled_attributes_of_a_plan() -> None:
    mechanism = dn.rsfd(KS, 1.0, "grr")
    plan = dn.Plan.of(
        {name: [str(v) for v in range(k)] for name, k in zip("abc", KS, strict=True)}, mechanism, 1000
    )
    assert attack.real_attributes(plan, 50, 3).tolist() == attack.real_attributes(mechanism, 50, 3).tolist()
    with pytest.raises(dn.InvalidParameter, match="only among fakes"):
        attack.real_attributes(SAMPLED.plan(100), 50, 3)
    with pytest.raises(dn.InvalidParameter, match="number of people"):
        attack.real_attributes(plan, 0, 3)


def test_priors_by_label_and_what_is_wrong_with_them() -> None:
    plan = SAMPLED.plan(100)
    assert attack.success(plan, {"smokes": {"no": 0.8, "yes": 0.2}}) == attack.success(
        plan, {"smokes": [0.2, 0.8]}
    )
    assert attack.success(dn.grr(3, 1.0), [0.33, 0.33, 0.33]).attributes[0].blind == pytest.approx(
        1 / 3
    )  # rounded
    assert attack.success(dn.grr(2, 1.0), {"attribute 0": {0: 0.3, 1: 0.7}}).attributes[0].blind == 0.7
    for prior, why in (
        ([0.2, 0.7], "got shares that add up to 0.9; divide them by their sum"),
        ([2, 8], "add up to 10"),
        ([-0.2, 1.2], "none below 0, got -0.2 among them"),
        ([math.nan, 0.5], "got nan among them"),
        ([0.2, 0.3, 0.5], "got 3 of them"),
        ({"yes": 0.2, "maybe": 0.8}, "got one of 'maybe', which is not among 'yes', 'no'"),
        ({"yes": 0.2}, "got none of 'no'; give 0 where that is meant"),
        ({"yes": "x", "no": 0.8}, "is 2 shares of its values that add up to 1, got"),
    ):
        with pytest.raises(dn.InvalidParameter, match=why):
            attack.success(plan, {"smokes": prior})


# The page.


def run(*arguments: str) -> str:
    result = CliRunner().invoke(commands, arguments, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.long
def test_the_page_states_its_seed_and_follows_it(asked: Path, tmp_path: Path) -> None:
    plan, people = asked / "plan.json", asked / "whole.csv"
    command = ("attack", str(plan), "--data", str(people), "--users", "40", "--collections", "2", "--seed")
    first, second = run(*command, "7"), run(*command, "8")
    assert "~ is simulated from seed 7, standard error at most" in first
    assert "one simulated run, seed 7; its 95 % interval is" in first.replace("\n", " ")
    assert first.replace("seed 7", "seed 8") != second
    cells = [
        [word for word in page.split() if word.startswith("~") and len(word) > 1] for page in (first, second)
    ]
    assert cells[0] != cells[1]
    assert run(*command, "7") == first
    hashed = dn.Study({"town": list("abcdefghij")}, epsilon=2.0, protocol="olh").plan(100)
    without = run("attack", str(hashed.write(tmp_path / "hashed.json")), "--seed", "7")
    assert "~ is simulated from seed 7" in without


@cache
def examined(study: dn.Study, collections: int = 5, **how: Any) -> Examination:
    plan = study.plan(300)
    draws = np.random.default_rng(1)
    codes = np.stack([draws.integers(0, one.domain.k, 300) for one in plan.document.attributes])
    return attack.examine(plan, codes, collections, users=50, **how)


def test_it_is_said_where_related_answers_are_guessed_one_by_one() -> None:
    """With a prior, the guess from all of them was missing without a word."""
    asked = {"works": ["yes", "no"], "job": ["office", "shop"], "vote": ["left", "right"]}
    plan = dn.Study(asked, epsilon=2.0, only_if={"job": {"works": "yes"}}).plan(people=100)
    evenly, informed = attack.success(plan), attack.success(plan, {"works": {"yes": 0.7, "no": 0.3}})
    assert evenly.alone == ()
    assert "one by one" not in str(evenly)
    assert informed.alone == ("works", "job")
    assert informed["job"].together is None
    assert "Guessed one by one, although they depend on each other: works, job." in str(informed)
    assert informed.to_dict()["alone"] == ["works", "job"]
    assert json.loads(json.dumps(informed.to_dict())) == informed.to_dict()


def test_the_page_says_how_often_a_plan_asks() -> None:
    attributes = {"a": list("xyz"), "b": list("uvw")}
    once = examined(dn.Study(attributes, epsilon=2.0)).text()
    assert "This plan asks each person once." in once
    assert "5 x fresh noise" in once
    again = dn.Study(attributes, epsilon_first=1.0, epsilon_forever=2.0, rounds=3)
    text = examined(again, 3).text().replace("\n", " ")
    assert "This plan asks 3 times. Its clients make a first answer, keep it" in text
    assert "more than it asks" not in text
    assert "x fresh noise" not in text
    more = "for 5 collections, more than it asks: from 3 no attacker learns more than from these."
    assert more in examined(again).text().replace("\n", " ")
    single = examined(dn.Study({"a": list("xyz")}, epsilon=2.0), 1).text()
    assert "each person answers once" in single
    assert "noise" not in single.split("\n\n")[1]
    assert "Guess all answers" not in single
    many = examined(dn.Study(attributes, epsilon=2.0, mechanism="faked"), 9).text()
    assert "known for up to 8 collections among fakes" in many.replace("\n", " ")


@pytest.mark.parametrize("study", [ROUNDS, SAMPLED], ids=["rounds", "once"])
def test_more_reports_of_who_is_asked_tell_more(study: dn.Study) -> None:
    """A figure of everyone counts those who are never asked, and falls below that of one report that holds
    the answer.
    """
    plan, times = study.plan(10_000), 5
    again = study is ROUNDS
    for part, one in zip(
        plan.document.parts, attack.success(plan, collections=times).attributes, strict=True
    ):
        assert one.reported_memoized == pytest.approx(attack.success_after(part, times, True), abs=1e-12)
        assert one.reported_averaged == pytest.approx(attack.success_after(part, times, False), abs=1e-12)
        assert one.reported_averaged > one.reported + 0.05
        assert (one.reported_memoized > one.reported + 0.05) == again
        assert one.memoized < one.reported_averaged
    smokes = attack.success(plan, collections=times).attributes[1]
    assert smokes.memoized < smokes.reported  # which is why it is not the figure in short
    figure = "reported_memoized" if again else "reported_averaged"
    told = getattr(smokes, figure)
    page = attack.examine(plan, collections=times)
    text = page.text()
    assert "all 5 hold it" in text
    assert (
        text.split("In short:")[1]
        .replace("\n", " ")
        .endswith(f"from 5 reports that are known to hold it, for {format_percent(told)}.")
    )
    row = next(line for line in text.splitlines() if line.startswith("  smokes"))
    assert f"{format_percent(smokes.reported)}{format_percent(told):>{2 + len('all 5 hold it')}}" in row
    assert asdict(page)["ignorant"]["attributes"][1][figure] == told
    rows = attack.success(plan, collections=times).frame(backend="polars")
    assert {"reported_memoized", "reported_averaged"} < set(rows["figure"])
    once = attack.examine(plan, collections=1).text()
    assert "hold it, for" not in once
    assert "all 1 hold it" not in once


def test_real_attributes_have_an_error_where_they_are_simulated() -> None:
    study = dn.Study(
        {"a": [str(v) for v in range(14)], "b": list("uvw")}, epsilon=2.0, mechanism="faked", protocol="sue-z"
    )
    found = examined(study, 2, seed=5)
    assert [one.chance.exact for one in found.real_attributes] == [False]
    assert "(standard error" in found.text()
    assert "seed 5)" in found.text()


def test_figures_without_exponents() -> None:
    assert format_percent(3.1e-8) == "1 in 32,300,000"
    assert format_percent(1e-20) == "below 1 in 10^15"
    assert [format_points(gain) for gain in (1.11e-16, -1e-17, 3e-6, 0.01, 0.1221)] == [
        *("0 points", "0 points", "below 0.001 points", "1 point", "12.2 points")
    ]
    assert times_as_often(0.0175, 0.00005) == "350 times as often as blindly"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan that refuses missing answers, and people in three files: whole, with 49 empty cells, and without
    a column.
    """
    folder, n, draws = tmp_path_factory.mktemp("asked"), 500, np.random.default_rng(6)
    SAMPLED.plan(n).write(folder / "plan.json")
    rows = list(
        zip(draws.choice(list("abcdefghij"), n), draws.choice(["yes", "no"], n, p=[0.3, 0.7]), strict=True)
    )
    for name, head, lines in (
        ("whole", "town,smokes", [f"{town},{smokes}" for town, smokes in rows]),
        (
            "missing",
            "town,smokes",
            [f"{town},{'' if i < 49 else smokes}" for i, (town, smokes) in enumerate(rows)],
        ),
        ("part", "town", [town for town, _ in rows]),
        ("wrong", "town", ["z", *(town for town, _ in rows[1:])]),
        ("none", "city", [town for town, _ in rows]),
    ):
        (folder / f"{name}.csv").write_text("\n".join([head, *lines]), encoding="utf-8")
    return folder


def test_a_misspelt_column_of_the_people_is_named(asked: Path, tmp_path: Path) -> None:
    """The page looks safer without it: what may be a slip is warned of, what differs in case only
    is refused.
    """
    whole = (asked / "whole.csv").read_text(encoding="utf-8")

    def attacked(head: str) -> Any:
        (tmp_path / "people.csv").write_text(whole.replace("town,smokes", head), encoding="utf-8")
        command = f"attack {asked}/plan.json --users 50 --data {tmp_path}/people.csv --json"
        return CliRunner().invoke(commands, command.split())

    slip = attacked("town,smoks")
    assert json.loads(slip.stdout)["lacking"] == ["smokes"]
    assert slip.stderr.startswith("warning: the column 'smoks' of people.csv is left out")
    assert "did you mean 'smokes'?" in slip.stderr
    assert "warning" not in attacked("town,hobby").stderr + attacked("town,smokes").stderr
    refused = attacked("town,Smokes").exception
    assert isinstance(refused, dn.InvalidValue)
    assert str(refused).startswith(
        "people.csv has a column 'Smokes', and none 'smokes', which is asked for; rename it"
    )
    assert "did you mean 'twon'?" in str(
        attacked("twon,smoks").exception
    )  # and nothing beside the one sentence
    assert "warning" not in attacked("twon,smoks").stderr


def test_people_in_a_file_that_is_none(asked: Path, tmp_path: Path) -> None:
    (tmp_path / "people.parquet").write_bytes(b"hello")
    with pytest.raises(dn.InvalidValue, match=r"cannot read people\.parquet"):
        run("attack", str(asked / "plan.json"), "--data", str(tmp_path / "people.parquet"))


def test_the_verdict_does_not_say_one_share_twice() -> None:
    """50.8 % instead of 50.8 % would read as a slip of the page."""
    rows = [
        attack.AttributeSuccess("town", 6, 0.5077, report, 0.51, 0.51, 0.51, 0.51, 0.51)
        for report in (0.5083, 0.52)
    ]
    little, more = (
        most_exposed(found := attack.Success((one,), (), 0.5), found, 1, False)[0] for one in rows
    )
    assert "is right for 50.8 % of people, hardly more often than blindly (0.06 points)" in little
    assert "is right for 52 % of people instead of 50.8 %, 1.23 points more" in more


def test_what_several_reports_tell_is_a_sentence() -> None:
    """Where one report tells nothing to who knows the frequencies, the verdict goes on to several."""
    alone = dn.Study({"use": ["never", "once", "often", "daily"]}, epsilon=1.5).plan(1000)
    codes = np.repeat([0, 1, 2, 3], [720, 140, 100, 40])[None]
    text = " ".join(attack.examine(alone, codes, users=50).text().split())
    assert re.search(
        r"remains the best guess; from 5 reports the guess of 'use' is right for [\d.]+ % of people\.", text
    )
    both = dn.Study(
        {"use": ["never", "once", "often"], "ill": ["yes", "no"]}, epsilon=0.7, mechanism="sample"
    ).plan(1000)
    codes = np.stack([np.repeat([0, 1, 2], [800, 140, 60]), np.repeat([0, 1], [100, 900])])
    text = " ".join(attack.examine(both, codes, users=50, collections=40).text().split())
    assert re.search(
        r"from 40 reports that are known to hold 'use' the guess of it is right for [\d.]+ % of people\.",
        text,
    )


def test_intervals_of_people_found_stand_side_by_side() -> None:
    axes = examined(SAMPLED).plot().axes[1]
    firsts = [float(bar.lines[0].get_xdata()[0]) for bar in axes.containers]  # type: ignore[attr-defined]
    assert len(firsts) == len(set(firsts)) > 1
    assert np.mean(firsts) == pytest.approx(1.0)


def test_people_with_a_missing_answer_are_left_out_and_counted(asked: Path) -> None:
    command = ("attack", str(asked / "plan.json"), "--users", "50", "--data", str(asked / "missing.csv"))
    assert "49 rows left out: an answer is missing, which the plan refuses." in run(*command)
    found = json.loads(run(*command, "--json"))
    assert (found["dropped"], found["people"], found["lacking"]) == (49, 451, [])
    assert "left out" not in run(*command[:-1], str(asked / "whole.csv"))


def test_a_table_with_some_of_the_columns_is_a_background(asked: Path) -> None:
    command = ("attack", str(asked / "plan.json"), "--users", "50", "--data", str(asked / "part.csv"))
    text, found = run(*command).replace("\n", " "), json.loads(run(*command, "--json"))
    assert (
        "The table does not have smokes: no part of the background, and drawn evenly in the simulation."
        in text
    )
    assert "Not in the table, and guessed as before: smokes." in text
    assert "By this data" not in text  # which tells nothing of the most exposed answer
    assert (found["lacking"], found["dropped"], found["people"]) == (["smokes"], 0, 500)
    assert {tuple(one["attributes"]) for one in found["found"]} == {("town",)}
    town, smokes = found["informed"]["attributes"]
    assert town["blind"] > 0.1
    assert smokes == found["ignorant"]["attributes"][1]
    for name, why in (
        ("wrong", "line 2, column 'town'.*'z'"),
        ("none", "'town' is not a column of none.csv"),
    ):
        with pytest.raises(dn.InvalidValue, match=why):
            run(*command[:-1], str(asked / f"{name}.csv"))
    plan = SAMPLED.plan(500)
    with pytest.raises(dn.InvalidValue, match="answers to at least one of the attributes"):
        attack.examine(plan, np.full((2, 10), -1))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--collections", "1000"), "it must be a whole number from 1 to 100, got 1000"),
        (("--collections", "0"), "at least 1, got 0"),
        (("--top", "3"), r"--top is about people: name a file of them, too \(--data\)"),
        (("--users", "30"), r"--users is about people: name a file of them, too \(--data\)"),
    ],
)
def test_options_that_do_nothing_are_refused(asked: Path, options: tuple[str, ...], why: str) -> None:
    with pytest.raises(click.UsageError, match=why):
        run("attack", str(asked / "plan.json"), *options)


def test_marks_of_those_who_are_asked() -> None:
    """What the page says in short is drawn, and nothing is written over the lines."""
    page = examined(SAMPLED)
    figure = page.plot()
    answers, people = figure.axes
    lines = {str(line.get_label()): np.asarray(line.get_xdata()) for line in answers.lines}
    assert lines["5 reports, known to hold it"] == pytest.approx(
        [one.reported_averaged for one in page.ignorant.attributes]
    )
    assert lines["one report, known to hold it"] == pytest.approx(
        [one.reported for one in page.ignorant.attributes]
    )
    assert not people.texts
    assert {"blind, best match", "blind, among best 10"} <= {str(line.get_label()) for line in people.lines}
    alone = examined(dn.Study({"a": list("xyz")}, epsilon=1.0)).plot().axes[0]
    assert not any("known to hold" in str(line.get_label()) for line in alone.lines)


@pytest.mark.parametrize("kind", ["alone", "with people"])
def test_plots_state_what_they_are_of(kind: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    plan = dn.Study({"a": list("xyz"), "b": list("uvw")}, epsilon=2.0).plan(300)
    found = (
        attack.examine(plan, collections=2, seed=9)
        if kind == "alone"
        else examined(dn.Study({"a": list("xyz")}, epsilon=1.0), top=2)
    )
    figure = found.plot()
    title = figure.get_suptitle()
    assert title.endswith(
        "by the plan alone, 2 collections, one run, seed 9"
        if kind == "alone"
        else "300 people, 50 looked for, 5 collections, one run, seed 1"
    )
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    for half in figure.subfigs:  # no legend is cut off
        box = half.legends[0].get_window_extent(renderer)
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
    written = [label.get_text() for axes in figure.axes for label in axes.get_yticklabels(which="both")]
    assert not any("10^" in label for label in written)  # no exponents on the axes
    labels = [text.get_text() for text in figure.subfigs[0].legends[0].get_texts()]
    assert ("one report, knows shares" in labels) == (kind == "with people")


# A location in two columns, names that were meant, frequencies of numbers, and what a row is known by.

DETAILED: Mapping[str, Any] = {
    "vote": ["yes", "no"],
    "age": dn.Range(18, 80, step=2, privacy="metric", epsilon=0.5),
    "home": dn.Grid(47.6, 6.8, 47.7, 6.95, 6, 6, epsilon=0.001),
    "pay": dn.Number(0, 5000, open_high=True),
}


def detailed(n: int = 1000) -> dict[str, Any]:
    """People whose homes are in two columns, and 9 of 10 of whom earn less than half."""
    draws = np.random.default_rng(6)
    return {
        "vote": draws.choice(["yes", "no"], n, p=[0.6, 0.4]).tolist(),
        "age": draws.integers(18, 80, n),
        "home.latitude": draws.uniform(47.6, 47.7, n),
        "home.longitude": draws.uniform(6.8, 6.95, n),
        "pay": np.where(np.arange(n) % 10 == 0, 4000, 1000),
    }


def test_a_location_in_two_columns_finds_people_as_one_of_pairs_does() -> None:
    people = detailed()
    pairs = list(zip(people["home.latitude"], people["home.longitude"], strict=True))
    joined = {name: column for name, column in people.items() if "home" not in name} | {"home": pairs}
    plan = dn.Study(DETAILED, epsilon=2.0, mechanism="split").plan(1000)
    reports = [plan.privatize(people, dn.seeded(seed)) for seed in (1, 2)]
    apart, together = (attack.reidentify([plan] * 2, reports, table) for table in (people, joined))
    assert apart.attributes == together.attributes == ("vote", "age", "home", "pay")
    assert apart.chance().tolist() == together.chance().tolist()
    without = {name: column for name, column in people.items() if "home" not in name}
    assert apart.success() > 2 * attack.reidentify([plan] * 2, reports, without).success()
    with pytest.raises(dn.InvalidValue, match=r"'home\.longitude' is not a column"):
        attack.reidentify([plan] * 2, reports, {name: people[name] for name in ("vote", "home.latitude")})


@pytest.mark.parametrize("fakes", [False, True])
def test_who_was_found_says_by_which_attributes(fakes: bool) -> None:
    study = dn.Study(
        {"a": list("xyz"), "b": list("uvw")},
        epsilon=2.0,
        **({"mechanism": "faked"} if fakes else {}),  # type: ignore[arg-type]
    )
    plan, people = study.plan(60), {"a": list("xyz") * 20, "b": list("uvw") * 20}
    reports = plan.privatize(people, dn.seeded(1))
    found = attack.reidentify([plan], [reports], {"hobby": ["chess"] * 60, "b": people["b"]})
    assert found.attributes == ("b",)
    assert "among 60 records by b: top-10" in repr(found)
    assert found.frame(backend="polars")["attributes"].to_list() == ["b", "b"]
    both = attack.reidentify([plan], [reports], people)
    assert both.frame(backend="polars")["attributes"].to_list() == ["a, b"] * 2


def test_a_slip_in_a_name_is_warned_of_and_another_name_is_not() -> None:
    plan = dn.Study({"transport": list("xyz"), "question 1": list("uvw")}, epsilon=2.0).plan(30)
    people = {"transport": list("xyz") * 10, "question 1": list("uvw") * 10}
    reports = plan.privatize(people, dn.seeded(1))
    with pytest.warns(
        dn.DeniableWarning, match="'trasport' of the background is left out.*did you mean 'transport'?"
    ) as told:
        attack.reidentify(
            [plan], [reports], {"trasport": people["transport"], "question 1": people["question 1"]}
        )
    assert told[0].filename == __file__  # it points at who called
    for other in ("question 2", "name", "?"):  # warnings are errors here
        attack.reidentify([plan], [reports], {"transport": people["transport"], other: ["x"] * 30})
    attack.reidentify(
        [plan], [reports], people | {"trasport": ["x"] * 30}
    )  # nothing is missing that it could be


@cache
def looked_at(*missing: str) -> Examination:
    plan = dn.Study(DETAILED, epsilon=2.0, mechanism="split").plan(1000)
    codes = plan.encode(detailed())
    codes[[plan.names.index(name) for name in missing]] = -1
    return attack.examine(plan, codes, users=100)


def test_the_page_says_whom_it_is_about_and_what_a_hit_is() -> None:
    page = looked_at()
    assert page.distanced == ("age", "home")
    first, rest = (" ".join(part.split()) for part in page.text().split("2. The same"))
    assert "These figures are for people whose answers are spread evenly over all values" in first
    assert (
        "For age, home, which are metric, only the exact bin or cell is right: guesses nearby are not "
        "counted." in first
    )
    assert "spread evenly" not in rest
    plain = attack.examine(dn.Study({"town": list("abc")}, epsilon=1.0).plan(100)).text()
    assert "spread evenly" in plain
    assert "nearby" not in plain


def test_frequencies_of_a_number_are_those_of_its_halves() -> None:
    page, plan = looked_at(), dn.Study(DETAILED, epsilon=2.0, mechanism="split").plan(1000)
    exact = attack.success(plan, {"pay": [0.9, 0.1]})
    with pytest.raises(
        dn.InvalidParameter, match="is 2 shares of the halves of its range that add up to 1, got 5"
    ):
        attack.success(plan, {"pay": [0.2] * 5})
    assert page.informed is not None
    pay, alone = page.informed.attributes[3], exact.attributes[3]
    assert pay.blind == pytest.approx(0.9)
    assert pay.report == pytest.approx(alone.report)
    ignorant = page.ignorant.attributes[3]
    assert ignorant.report - ignorant.blind > 0.05 > pay.report - pay.blind
    text = page.text()
    row = next(line for line in text.split("2. The same")[1].splitlines() if line.startswith("  pay"))
    assert row.split()[1:3] == ["90", "%"]
    assert "How many people are in each half of the range is known of pay." in text
    ticks = {str(line.get_label()): line for line in page.plot().axes[0].lines}
    assert np.asarray(ticks["the most frequent answer, without a report"].get_xdata())[3] == pytest.approx(
        0.9
    )


def test_nothing_is_learned_by_frequencies_that_the_table_lacks() -> None:
    page = looked_at("home", "pay")
    rows = page.text().split("2. The same")[1].split("3. Guess")[0].splitlines()
    assert {
        line.split()[0]: line.endswith(("points", "point")) for line in rows if line.startswith("  ")
    } == {"answer": False, "vote": True, "age": True, "home": False, "pay": False}
    assert "each half of the range" not in page.text()
    answers = page.plot().axes[0]
    bars = {str(group.get_label()): [bar.get_width() for bar in group] for group in answers.containers}
    for kind in ("one report, knows shares", "5, fresh noise, knows shares"):
        assert [width > 0 for width in bars[kind]] == [True, True, False, False]
    ticks = next(line for line in answers.lines if "most frequent" in str(line.get_label()))
    assert np.isnan(np.asarray(ticks.get_xdata(), dtype=np.float64)).tolist() == [False, False, True, True]


def test_the_page_and_the_plot_name_a_part_of_the_attributes() -> None:
    page = looked_at()
    half = next(one for one in page.found if one.background == "2 of 4 attributes")
    assert len(half.attributes) == 2
    assert f"2 of 4 attributes: {', '.join(half.attributes)}" in page.text().replace("\n", " ")
    assert f"2 of 4 attributes: {', '.join(half.attributes)}" in page.plot().axes[1].get_xlabel()
    part = looked_at("home", "pay").text().replace("\n", " ")
    assert "With a background of 2 of 4 attributes (vote, age) and" in part


def test_every_row_of_people_has_its_own_interval() -> None:
    page = looked_at()
    lines = page.text().split("4. Find")[1].splitlines()
    for one in page.found:
        assert one.low < one.success < one.high
        assert any(f"{100 * one.low:.3g} to {100 * one.high:.3g} %" in line for line in lines)
    reach = {round(one.high - one.low, 6) for one in page.found}
    assert len(reach) > 2
    found = attack.Reidentification(np.array([0, 5, 9, 20]), np.array([1, 10, 4, 1]), 100, 10)
    row = found.frame(tops=[10], backend="polars").row(0, named=True)
    assert found.interval() == (row["low"], row["high"])
    assert found.interval(level=0.5)[0] > row["low"]


def test_a_table_of_people_may_lack_questions_that_are_asked_together() -> None:
    plan = dn.Study(
        {"ward": ["a", "b"], "drugs": ["yes", "no"], "mood": ["good", "bad"]},
        epsilon=2.0,
        together=[["ward", "drugs"]],
    ).plan(people=500)
    people = {"mood": ["good", "bad"] * 20}
    assert dn.attack.examine(plan, people, collections=1, users=5).lacking == ("ward x drugs",)


PLAN = dn.Study({"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}, epsilon=2.0).plan(10_000)
SIXTY = {"color": ["red", "green", "blue"] * 20, "smokes": ["yes", "no"] * 30}
REPORTS = PLAN.privatize(SIXTY, dn.seeded(1))


@pytest.fixture(scope="module")
def audited() -> Audit:
    return dn.audit.lower_bound(PLAN, trials=100)


def test_success_prints_and_draws_blind_and_informed_guesses() -> None:
    found = dn.attack.success(PLAN)
    assert str(found).splitlines()[1].split("  ")[0] == "answer"
    assert f"{100 * found['color'].reported:.3g} %" in str(found)
    drawn = [one for figure in ("blind", "report", "reported") for one in _figures(found, figure)]
    assert lengths(found.plot()) == pytest.approx(drawn)


def _figures(found: Any, figure: str) -> list[float]:
    return [getattr(one, figure) for one in found.attributes]


def test_guesses_print_and_draw_what_the_attacker_expects() -> None:
    found = dn.attack.guess(PLAN, REPORTS)
    assert "best guesses of answers, 60 people" in str(found)
    assert lengths(found.plot()) == pytest.approx(list(found.expected.values()))


def test_reidentification_prints_and_draws_intervals_and_blind_lists() -> None:
    found = dn.attack.reidentify([PLAN], [REPORTS], SIXTY, top=5)
    assert "60 targets looked for among 60 records" in str(found)
    assert "among the best 5" in str(found)
    figure: Any = found.plot()
    assert lengths(figure) == pytest.approx([found.success(1), found.success(5), 1 / 60, 5 / 60])
    ends = np.array([segment[:, 0] for segment in figure.axes[0].collections[0].get_segments()])
    np.testing.assert_allclose(ends, [found.interval(1), found.interval(5)])


def test_an_examination_prints_its_page() -> None:
    found = dn.attack.examine(PLAN)
    assert str(found) == found.text()
    assert "what an attacker learns" in texts(found.plot())


@pytest.mark.long
def test_an_audit_prints_its_verdict_and_draws_bounds_against_the_claim(audited: Audit) -> None:
    assert str(audited) == audited.summary
    figure = audited.plot()
    assert lengths(figure) == pytest.approx([event.bound for event in audited.events])
    assert f"claim {audited.claim:.4f}" in texts(figure)
