"""The attack studies: their rows, their published numbers, what the command line prints, and the page for a plan."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import deniable as dn
from deniable import attack, data, plot, plot_attack, plot_risks
from deniable.cli import commands
from deniable.data import Dataset
from deniable.studies import attacked, revisited, risks, surveyed
from tests import statistics
from tests.test_attack import loaded

FIELDS = {"figure", "dataset", "protocol", "epsilon", "attack", "accuracy", "stderr", "runs"}
FIELDS |= {"surveys", "top", "background", "metric", "prior", "n", "seed"}


def invented(n: int = 1500, ks: tuple[int, ...] = (8, 5, 3, 4)) -> Dataset:
    draws = np.random.default_rng(1)
    shares = [np.arange(k, 0, -1) / (k * (k + 1) / 2) for k in ks]
    table = np.column_stack([draws.choice(k, n, p=one) for k, one in zip(ks, shares, strict=True)]).astype(np.uint8)
    labels = tuple(tuple(str(v) for v in range(k)) for k in ks)
    return Dataset("invented", tuple("abcd"[: len(ks)]), labels, table, "invented")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    people = invented(500)
    monkeypatch.setattr(data, "load", lambda _name: people)
    return people


def run(*arguments: str) -> str:
    result = CliRunner().invoke(commands, arguments, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0
    return result.stdout


def test_every_figure_has_its_rows(small: Dataset) -> None:
    found = json.loads(run("reproduce", "risks", "--quick", "--json", "--dataset", "nursery", "--epsilons", "4", "--runs", "1"))
    assert all(set(row) >= FIELDS for row in found)
    assert {row["figure"] for row in found} == set(risks.FIGURES)
    measured = [row for row in found if row["refused"] is None]
    assert all(row["accuracy"] is not None and 0 <= row["accuracy"] <= 1 and row["runs"] == 1 for row in measured)
    refused = {(row["figure"], row["protocol"], row["metric"]) for row in found if row["refused"] is not None}
    assert refused == {("reidentify", surveyed.FAKED, "uniform")}
    assert {row["attack"] for row in measured if row["protocol"] == surveyed.FAKED and row["surveys"]} == {"guess", "support"}
    assert all(row["n"] == small.n and row["seed"] == 1 for row in found)
    sampled = {row["attack"] for row in found if row["figure"] == "sampled-attribute"}
    assert sampled == {"NK-1n", "PK-0.1n", "HM-1n-0.1n", "bayes"}
    assert {row["prior"] for row in found if row["figure"] == "rsrfd"} == set(risks.PRIORS)
    people = [row for row in found if row["figure"] == "reidentify"]
    assert {row["attack"] for row in people} == {"guess", "support"}
    assert {row["surveys"] for row in people} == {2, 3, 4, 5}
    assert {(row["background"], row["metric"], row["top"]) for row in people if row["protocol"] == "GRR"} == {
        (background, metric, top) for background in surveyed.BACKGROUNDS for metric in surveyed.METRICS for top in surveyed.TOPS
    }


def test_runs_are_reproducible_and_choose_what_is_asked_for(small: Dataset) -> None:
    asked = ("reproduce", "risks", "--json", "--figure", "sampled-attribute", "--attack", "bayes", "--epsilons", "1,5")
    first, again = run(*asked, "--runs", "2"), run(*asked, "--runs", "2")
    assert first == again
    rows = json.loads(first)
    assert {(row["attack"], row["epsilon"]) for row in rows} == {("bayes", 1.0), ("bayes", 5.0)}
    assert all(row["stderr"] is not None for row in rows)
    some = json.loads(run(*asked, "--runs", "1", "--users", "100"))
    assert all(row["users"] == 100 and row["stderr"] is None for row in some)
    assert all(math.isclose(100 * row["accuracy"], round(100 * row["accuracy"])) for row in some)


def test_a_row_is_the_same_without_the_others() -> None:
    people, attacks = invented(400, (4, 3)), ["NK-1n", "NK-3n", "PK-0.1n", "bayes"]
    together = list(risks.reproduce([people], ["sampled-attribute"], [3.0], runs=1, users=100, attacks=attacks))
    for attack_name in attacks[1:]:
        alone = list(risks.reproduce([people], ["sampled-attribute"], [3.0], runs=1, users=100, attacks=[attack_name]))
        assert alone == [row for row in together if row.attack == attack_name]


def test_few_people_are_attacked_by_all() -> None:
    """Nobody is compromised and attacked, and somebody is left to attack."""
    knowledge = ["PK-0.1n", "PK-0.5n", "HM-1n-0.1n"]
    rows = list(risks.reproduce([invented(300, (4, 3))], ["sampled-attribute"], [3.0], runs=2, users=10, attacks=knowledge))
    assert len(rows) == len(attacked.FAKED) * len(knowledge)
    assert all(row.accuracy is not None and 0 <= row.accuracy <= 1 for row in rows)
    with pytest.raises(
        dn.InvalidParameter, match="users, of whom trained attackers learn, too, must be an integer of at least 10"
    ):
        risks.reproduce([invented()], ["sampled-attribute"], [3.0], users=5)


def test_rows_that_are_done_are_in_the_file_already(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_arguments: object, **_options: object) -> Iterator[risks.Row]:
        yield from list(risks_rows)[:2]
        raise KeyboardInterrupt

    risks_rows = list(risks.reproduce([small], ["value"], [1.0], runs=1))
    monkeypatch.setattr(risks, "reproduce", stopped)
    monkeypatch.setattr("deniable.commands.reproduce_attacks._WRITTEN_EVERY", -1.0)
    file = tmp_path / "rows.json"
    with pytest.raises((KeyboardInterrupt, click.Abort)):
        run("reproduce", "risks", "--figure", "value", "-o", str(file))
    assert len(json.loads(file.read_text(encoding="utf-8"))) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--dataset", "adlt"), "did you mean 'adult'"),
        (("--dataset", "adult", "--figure", "valu"), "did you mean 'value'"),
        (("--dataset", "adult", "--attack", "bays", "--figure", "value"), "did you mean 'bayes'"),
        (("--plot", "a.gif"), "a plot is written to a file ending in"),
    ],
)
def test_mistakes_are_refused(small: Dataset, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(dn.DeniableError, match=message):
        run("reproduce", "risks", *arguments)


def test_without_classifiers_the_rest_works(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.attack.trained.find_spec", lambda _name: None)
    with pytest.raises(dn.InvalidParameter, match=r"pip install 'deniable\[attack\]'"):
        run("reproduce", "risks", "--quick", "--dataset", "nursery")
    run("reproduce", "risks", "--quick", "--dataset", "nursery", "--figure", "value")
    run("reproduce", "risks", "--quick", "--dataset", "nursery", "--figure", "rsrfd", "--attack", "bayes")


def test_tables_and_plots(small: Dataset, tmp_path: Path) -> None:
    for figure in ("value", "reidentify"):
        table, drawing = tmp_path / f"{figure}.csv", tmp_path / f"{figure}.svg"
        where = ("-o", str(table), "--plot", str(drawing))
        text = run("reproduce", "risks", "--quick", "--figure", figure, "--users", "50", *where)
        assert "n = 500; 1 runs, seed 1" in text
        with table.open() as file:
            assert {row["figure"] for row in csv.DictReader(file)} == {figure}
        assert drawing.read_text().startswith("<?xml")


# What the rows say.


def test_exact_values_are_measured() -> None:
    people, runs = invented(), 20
    rows = list(risks.reproduce([people], ["value"], [2.0], runs=runs))
    for protocol in attacked.VALUES:
        for metric in ("uniform", "non-uniform"):
            by = {row.attack: row for row in rows if (row.protocol, row.metric) == (protocol.upper(), metric)}
            exact, seen = by["exact"].accuracy, by["guess"].accuracy
            assert exact is not None
            assert seen is not None
            error = math.sqrt(exact * (1 - exact) / (runs * people.n))
            statistics.deviation(seen, exact, error, f"value attack on {protocol}")
    olh = {row.attack: row.accuracy for row in rows if (row.protocol, row.metric) == ("OLH", "uniform")}
    assert abs((olh["published"] or 0) / (olh["exact"] or 1) - 1) > 0.1  # the formula is approximate


def test_trained_attacks_do_not_beat_the_best() -> None:
    rows = list(risks.reproduce([invented(4000)], ["sampled-attribute"], [4.0], runs=1, attacks=["NK-1n", "bayes"]))
    for protocol in attacked.FAKED:
        by = {row.attack: row.accuracy or 0.0 for row in rows if row.protocol == f"RS+FD[{protocol}]"}
        assert by["NK-1n"] < by["bayes"] + 5 * math.sqrt(0.25 / 4000)


def test_the_artefact_of_realistic_fakes() -> None:
    """Published attackers of RS+RFD stay near a blind guess where the best one finds most."""
    rows = list(risks.reproduce([invented(6000)], ["rsrfd"], [4.0], runs=2, attacks=["bayes", "bayes-uniform"]))
    for row in rows:
        if row.attack == "bayes" and row.prior in ("zipf", "exponential"):
            naive = next(
                one for one in rows if (one.protocol, one.prior, one.attack) == (row.protocol, row.prior, "bayes-uniform")
            )
            assert (row.accuracy or 0) > (naive.accuracy or 1) + 0.1


def test_supports_tell_more_than_guesses() -> None:
    rows = list(risks.reproduce([invented(2000, (20, 15, 30, 12))], ["reidentify"], [5.0], runs=1, users=1000))
    for protocol in ("SUE", "OUE", "OLH"):
        by = {
            row.attack: row.accuracy or 0.0
            for row in rows
            if (row.protocol, row.surveys, row.top, row.background, row.metric) == (protocol, 4, 10, "FK", "uniform")
        }
        assert by["support"] > 1.1 * by["guess"]
    grr = [row for row in rows if row.protocol == "GRR" and (row.top, row.background, row.metric) == (10, "FK", "uniform")]
    by_surveys = [row.accuracy or 0.0 for row in grr if row.attack == "guess"]
    assert by_surveys[0] < by_surveys[1] < by_surveys[2]
    same = {(row.surveys, row.attack): row.accuracy for row in grr}
    assert all(same[surveys, "guess"] == same[surveys, "support"] for surveys in (2, 3, 4, 5))


def test_census_as_published() -> None:
    """Attacks on RS+RFD that ignore the prior are where the study saw them, those that use it far above (ACS, GRR)."""
    people = loaded("acs-employment")
    rows = list(risks.reproduce([people], ["rsrfd"], [1.0], runs=2, attacks=["bayes", "bayes-uniform"]))
    found = {(row.prior, row.attack): 100 * (row.accuracy or 0) for row in rows if row.protocol == "RS+RFD[GRR]"}
    assert found["correct", "bayes-uniform"] == pytest.approx(4.87, abs=0.8)
    assert found["correct", "bayes"] == pytest.approx(13.3, abs=1.2)
    assert found["dirichlet", "bayes"] == pytest.approx(33.7, abs=6.0)  # priors are drawn anew for each run
    assert found["zipf", "bayes"] == pytest.approx(61.3, abs=4.0)
    assert found["exponential", "bayes"] == pytest.approx(62.2, abs=4.0)


def test_surveys_draw_half_of_the_attributes_or_more() -> None:
    for seed in range(20):
        chosen, known = surveyed.drawn_surveys(10, np.random.default_rng(seed))
        assert len(chosen) == surveyed.SURVEYS
        assert all(5 <= len(one) <= 9 and len(set(one.tolist())) == len(one) for one in (*chosen, np.array(sorted(known))))


# Error against attack.


def test_error_against_attack() -> None:
    rows = list(
        revisited.reproduce(epsilons=[1.0, 4.0], runs=5, methods=["GRR", "OLH", "SS", "AUE", "ASS", "THE as published"])
    )
    for row in rows:
        if row.attack == "guess":
            exact = next(r for r in rows if (r.protocol, r.epsilon, r.attack) == (row.protocol, row.epsilon, "exact"))
            assert exact.accuracy is not None
            assert row.accuracy is not None
            error = math.sqrt(exact.accuracy * (1 - exact.accuracy) / (row.n * row.runs))
            statistics.deviation(row.accuracy, exact.accuracy, error, f"success of {row.protocol}")
    by = {(row.protocol, row.epsilon, row.attack): row for row in rows}
    assert by["OLH", 4.0, "published"].accuracy == pytest.approx(0.279, abs=0.001)
    assert by["THE as published", 1.0, "exact"].loss == pytest.approx(0.896, abs=0.002)  # thresholding spends less
    assert by["ASS", 4.0, "exact"].accuracy == pytest.approx(0.116, abs=0.005)
    front = [(row.accuracy or 0, row.mse or 0) for row in rows if row.pareto]
    assert front
    assert not any(a < c and b < d for a, b in front for c, d in front)


def test_revisited_on_the_command_line(tmp_path: Path) -> None:
    drawing = tmp_path / "front.png"
    asked = ("reproduce", "revisited", "--epsilons", "4", "--runs", "1", "--users", "500")
    rows = json.loads(run(*asked, "--json", "--plot", str(drawing)))
    assert {row["attack"] for row in rows} == {"exact", "published", "guess"}
    assert {row["protocol"] for row in rows} == set(revisited.METHODS)
    assert drawing.stat().st_size > 10_000
    assert "nothing beats it" in run(*asked)
    assert plot_risks.revisited_plot([revisited.Row(**row) for row in rows]) is not None


# One page.


@pytest.fixture
def planned(tmp_path: Path) -> tuple[Path, Path]:
    study = dn.Study(
        {"town": list("abcdef"), "smokes": ["yes", "no"], "age": dn.Range(0, 60, step=10)}, epsilon=2.0, title="A study"
    )
    plan, people = tmp_path / "plan.json", tmp_path / "people.csv"
    study.plan(1000).write(plan)
    draws = np.random.default_rng(2)
    rows = zip(draws.choice(list("abcdef"), 1000), draws.choice(["yes", "no"], 1000), draws.integers(0, 60, 1000), strict=True)
    people.write_text("town,smokes,age\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows), encoding="utf-8")
    return plan, people


def test_the_page(planned: tuple[Path, Path], tmp_path: Path) -> None:
    plan, people = planned
    drawing = tmp_path / "page.png"
    text = run("attack", str(plan), "--data", str(people), "--users", "200", "--plot", str(drawing))
    for line in (
        "blind",
        "one report",
        "5 collections",
        "Find a person among 1,000 records",
        "In short: The most exposed answer is",
    ):
        assert line in text
    assert max(map(len, text.splitlines())) <= 120
    assert drawing.stat().st_size > 10_000
    without = run("attack", str(plan))
    assert "Find a person" not in without
    assert "whole record" in without


def test_the_page_for_machines(planned: tuple[Path, Path]) -> None:
    plan, people = planned
    found = json.loads(run("attack", str(plan), "--data", str(people), "--users", "1000", "--collections", "3", "--json"))
    assert found["people"] == found["users"] == 1000
    exact = attack.success(dn.Plan.read(plan), collections=3)
    assert [one["report"] for one in found["ignorant"]["attributes"]] == [one.report for one in exact.attributes]
    by = {(one["background"], one["collections"], one["top"]): one["success"] for one in found["found"]}
    assert by["all 3 attributes", 3, 10] > by["all 3 attributes", 1, 10] > 0.01
    assert by["all 3 attributes", 3, 10] > by["2 of 3 attributes", 3, 10]


def test_who_is_left_out_is_told() -> None:
    attributes = {"a": list("xyz"), "b": list("uvw")}
    codes = np.random.default_rng(1).integers(0, 3, (2, 300))
    codes[0, :40] = -1
    plan = dn.Study(attributes, epsilon=2.0).plan(300)
    left_out = attack.examine(plan, codes, collections=2, users=50)
    assert (left_out.people, left_out.dropped, left_out.filled) == (260, 40, 0)
    assert "40 rows left out" in left_out.text()
    plan = dn.Study(attributes, epsilon=2.0, missing="random").plan(300)
    filled = attack.examine(plan, codes, collections=2, users=50)
    assert (filled.people, filled.dropped, filled.filled) == (300, 0, 40)
    assert "40 missing answers drawn at random" in filled.text()


def test_the_page_has_several_collections_with_background() -> None:
    plan = dn.Study({"a": list("vwxyz"), "b": list("uvw")}, epsilon=2.0, protocol="grr").plan(300)
    draws = np.random.default_rng(1)
    codes = np.stack([draws.choice(5, 300, p=[0.6, 0.1, 0.1, 0.1, 0.1]), draws.integers(0, 3, 300)])
    found = attack.examine(plan, codes, collections=5, users=50)
    assert found.informed is not None
    one = found.informed.attributes[0]
    assert one.averaged is not None
    assert one.averaged > one.memoized > one.report > one.blind > 0.5
    assert one.reported > one.report
    section = found.text().split("2. The same")[1].split("3. Guess")[0]
    assert "5 x fresh noise" in section
    assert f"~{100 * one.averaged:.3g} %" in section
    assert "knows frequencies" in found.text()
    assert "their noise is drawn anew each time" in found.text()


KINDS = ["faked", "again", "single", "metric", "grid", "number"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_plan_has_a_page(kind: str) -> None:
    asked: dict[str, dn.Study] = {
        "faked": dn.Study({"a": list("xyz"), "b": list("uvw")}, epsilon=2.0, share="faked"),
        "again": dn.Study({"a": list("xyz"), "b": list("uvw")}, epsilon_first=1.0, epsilon_forever=2.0),
        "single": dn.Study({"a": list("xyz")}, epsilon=1.0),
        "metric": dn.Study({"a": dn.Range(0, 30, step=3, privacy="metric", epsilon=0.2), "b": list("uvw")}, epsilon=1.0),
        "grid": dn.Study({"home": dn.Grid(47.6, 6.8, 47.7, 6.95, 5, 6, epsilon=0.001)}),
        "number": dn.Study({"pay": dn.Number(0, 1000), "b": list("uvw")}, epsilon=2.0),
    }
    plan = asked[kind].plan(500)
    draws = np.random.default_rng(1)
    codes = np.stack([draws.integers(0, one.domain.k, 500) for one in plan.content.attributes])
    found = attack.examine(plan, codes, collections=3, users=100)
    assert ("Which attribute of a report is real" in found.text()) == (kind == "faked")
    assert (found.real_attribute is None) == (kind != "faked")
    assert plot.inline_svg(plot_attack.examined_plot(found), "page", "what an attacker learns").startswith("<svg")
