"""The attack studies: their rows, their published numbers, what the command line prints, and the page for a
plan.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from sizes import ATTACKED, WEAKER
from tests import statistics

import deniable as dn
from deniable import attack
from deniable.cli import commands
from deniable.commands.shared import console
from deniable_papers import data
from deniable_papers.data import Dataset
from deniable_papers.reproduce import reproduce_paper, runner
from deniable_papers.reproduce.risks import EXPERIMENT
from deniable_papers.studies import accuracy, inference, reidentification, risks, tradeoffs
from deniable_papers.studies.plot import risks as plot_risks
from deniable_papers.trained import School, simulate_reports

FIELDS = {"figure", "dataset", "protocol", "epsilon", "attack", "accuracy", "stderr", "runs"}
FIELDS |= {"surveys", "top", "background", "metric", "prior", "n", "seed"}


def simulated(n: int = 1500, ks: tuple[int, ...] = (8, 5, 3, 4)) -> Dataset:
    draws = np.random.default_rng(1)
    shares = [np.arange(k, 0, -1) / (k * (k + 1) / 2) for k in ks]
    table = np.column_stack([draws.choice(k, n, p=one) for k, one in zip(ks, shares, strict=True)]).astype(
        np.uint8
    )
    labels = tuple(tuple(str(v) for v in range(k)) for k in ks)
    return Dataset("simulated", tuple("abcd"[: len(ks)]), labels, table, "simulated")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    people = simulated(500)
    monkeypatch.setattr(data, "load", lambda _name: people)
    return people


def run(*arguments: str) -> str:
    result = CliRunner().invoke(commands, arguments, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0
    return result.stdout


def measure_by(
    measure: Callable[..., Iterator[accuracy.AttackPoint]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let the command measure otherwise."""
    command = runner.make_command(replace(EXPERIMENT, measure=measure))
    monkeypatch.setitem(reproduce_paper.commands, "risks", command)


def test_every_figure_has_its_rows(small: Dataset) -> None:
    found = json.loads(
        run(
            "reproduce",
            "risks",
            "--quick",
            "--json",
            "--dataset",
            "nursery",
            "--epsilons",
            "4",
            "--runs",
            "1",
        )
    )
    assert all(set(row) >= FIELDS for row in found)
    assert {row["figure"] for row in found} == set(risks.FIGURES)
    assert all(0 <= row["accuracy"] <= 1 and row["runs"] == 1 and row["refused"] is None for row in found)
    assert {
        row["attack"] for row in found if row["protocol"] == reidentification.AMONG_FAKES and row["surveys"]
    } == {*("guess", "guess-bayes", "support")}
    assert all(row["n"] == small.n and row["seed"] == 1 for row in found)
    sampled = {row["attack"] for row in found if row["figure"] == "sampled-attribute"}
    assert sampled == {"NK-1n", "PK-0.1n", "HM-1n-0.1n", "bayes"}
    assert {row["prior"] for row in found if row["figure"] == "rsrfd"} == set(inference.PRIORS)
    people = [row for row in found if row["figure"] == "reidentify"]
    assert {row["attack"] for row in people} == {"guess", "guess-bayes", "support"}
    assert {row["protocol"] for row in people if row["attack"] == "guess-bayes"} == {
        reidentification.AMONG_FAKES
    }
    trained = [row for row in found if row["trained_on"] is not None]
    assert {row["attack"] for row in trained} == {"NK-1n", "PK-0.1n", "HM-1n-0.1n", "guess"}
    assert all(row["trained_on"] == small.n for row in trained)  # no more than there are
    assert {row["surveys"] for row in people} == {1, 2, 3, 4, 5}
    assert {(row["background"], row["metric"], row["top"]) for row in people if row["protocol"] == "GRR"} == {
        (background, metric, top)
        for background in reidentification.BACKGROUNDS
        for metric in reidentification.METRICS
        for top in reidentification.TOPS
    }


def test_runs_are_reproducible_and_choose_what_is_asked_for(small: Dataset) -> None:
    asked = (
        "reproduce",
        "risks",
        "--json",
        "--figure",
        "sampled-attribute",
        "--attack",
        "bayes",
        "--epsilons",
        "1,5",
    )
    first, again = run(*asked, "--runs", "2"), run(*asked, "--runs", "2")
    assert first == again
    rows = json.loads(first)
    assert {(row["attack"], row["epsilon"]) for row in rows} == {("bayes", 1.0), ("bayes", 5.0)}
    assert all(row["stderr"] is not None for row in rows)
    some = json.loads(run(*asked, "--runs", "1", "--users", "100"))
    assert all(row["users"] == 100 and row["stderr"] > 0 for row in some)
    assert all(math.isclose(100 * row["accuracy"], round(100 * row["accuracy"])) for row in some)


def test_a_row_is_the_same_without_the_others() -> None:
    people, attacks = simulated(400, (4, 3)), ["NK-1n", "NK-3n", "PK-0.1n", "bayes"]
    together = list(
        risks.reproduce([people], ["sampled-attribute"], [3.0], runs=1, users=100, attacks=attacks)
    )
    for attack_name in attacks[1:]:
        alone = list(
            risks.reproduce([people], ["sampled-attribute"], [3.0], runs=1, users=100, attacks=[attack_name])
        )
        assert alone == [row for row in together if row.attack == attack_name]


def test_few_people_are_attacked_by_all() -> None:
    """Nobody is compromised and attacked, and somebody is left to attack."""
    knowledge = ["PK-0.1n", "PK-0.5n", "HM-1n-0.1n"]
    people = simulated(300, (4, 3))
    rows = list(risks.reproduce([people], ["sampled-attribute"], [3.0], runs=2, users=10, attacks=knowledge))
    assert len(rows) == len(inference.RSFD) * len(knowledge)
    assert all(row.accuracy is not None and 0 <= row.accuracy <= 1 for row in rows)
    assert all((row.users, row.trained_on, row.n) == (10, 300, 300) for row in rows)
    everybody = risks.reproduce(
        [people], ["sampled-attribute"], [3.0], runs=1, attacks=["PK-0.5n", "bayes"], training=100
    )
    assert {(row.attack, row.users, row.trained_on) for row in everybody} == {
        ("PK-0.5n", 250, 100),
        ("bayes", 300, None),
    }
    with pytest.raises(
        dn.InvalidParameter, match="the people that attackers learn from, must be an integer of at least 10"
    ):
        risks.reproduce([simulated()], ["sampled-attribute"], [3.0], training=5)


def school(people: int | None = None, n: int = 800) -> School:
    crowd = simulated(n)
    mechanism = dn.rsfd(crowd.ks, 4.0, "sue-z", "published")
    records, truth = (
        mechanism.privatize(crowd.table.astype(np.int64), dn.seeded(3)),
        attack.real_attributes(mechanism, n, 3),
    )
    return School(mechanism, records, truth, seed=5, people=people)


def test_who_is_attacked_does_not_change_what_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attacker of some people is the attacker of all: the same model, that finds the same of them."""
    simulated_people = list[int]()

    def counting(mechanism: dn.records.Faked, marginals: list[np.ndarray], n: int, seed: int) -> object:
        simulated_people.append(n)
        return simulate_reports(mechanism, marginals, n, seed)

    monkeypatch.setattr("deniable_papers.trained.simulate_reports", counting)
    some = np.array([3, 40, 41, 700])
    for knowledge in ("NK-1n", "NK-3n"):
        simulated_people.clear()
        everybody, few = school().attack(knowledge), school().attack(knowledge, whom=some)
        assert few.whom.tolist() == some.tolist()
        assert few.attributes.tolist() == everybody.attributes[some].tolist()
        assert set(simulated_people) == {800}
    for knowledge in ("PK-0.5n", "HM-1n-0.1n"):
        assert school().attack(knowledge, whom=some).whom.tolist() == some.tolist()
    assert (
        len(school().attack("PK-0.5n", whom=np.arange(500)).whom) == 400
    )  # the others are compromised first
    assert len(school(people=100).attack("NK-1n").whom) == 800
    assert simulated_people[-1] == 100
    side_by_side = school().attack_all(["NK-1n", "PK-0.3n"], some)
    for one in side_by_side:
        alone = school().attack(one.knowledge, whom=some)
        assert (one.accuracy, one.attributes.tolist()) == (alone.accuracy, alone.attributes.tolist())


def test_users_are_a_part_of_all_targets() -> None:
    """In the rows, too: with as many users as there are people nothing changes, with fewer only who is
    attacked.
    """
    people, asked = simulated(400, (4, 3)), {"runs": 1, "attacks": ["NK-1n"], "seed": 2}
    all_of_them = list(risks.reproduce([people], ["sampled-attribute"], [3.0], **asked))  # type: ignore[arg-type]
    assert all_of_them == list(risks.reproduce([people], ["sampled-attribute"], [3.0], users=400, **asked))  # type: ignore[arg-type]
    found = []
    for users in (None, 150):
        wanted = accuracy.Asked(1, users, ("NK-1n",), 2, 1)
        cell = next(iter(inference.sampled_cells("sampled-attribute", people, [3.0], wanted)))
        found.append(cell.run(0, np.random.default_rng(6))[0])
    whole, part = found
    draws = np.random.default_rng(6)
    draws.integers(1 << 31)
    draws.integers(1 << 62)
    assert part.tolist() == whole[accuracy.targets(400, draws, 150)].tolist()


def test_rows_that_are_done_are_in_the_file_already(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(**_options: object) -> Iterator[accuracy.AttackPoint]:
        yield from list(risks_rows)[:2]
        raise KeyboardInterrupt

    risks_rows = list(risks.reproduce([small], ["value"], [1.0], runs=1))
    measure_by(stopped, monkeypatch)
    monkeypatch.setattr("deniable_papers.reproduce.runner._WRITTEN_EVERY", -1.0)
    file = tmp_path / "rows.json"
    with pytest.raises((KeyboardInterrupt, click.Abort)):
        run("reproduce", "risks", "--figure", "value", "-o", str(file))
    assert len(json.loads(file.read_text(encoding="utf-8"))) == 2


def test_a_file_that_is_written_again_and_again_is_named_once(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable_papers.reproduce.runner._WRITTEN_EVERY", -1.0)
    file = tmp_path / "rows.csv"
    asked = [
        "reproduce",
        "risks",
        "--figure",
        "value",
        "--dataset",
        "nursery",
        "--epsilons",
        "1",
        "--runs",
        "1",
        "-o",
    ]
    result = CliRunner().invoke(commands, [*asked, str(file)], catch_exceptions=False, standalone_mode=False)
    assert result.stderr.count("wrote ") == 1


def test_rows_are_printed_as_they_are_done(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it is what it would be at the end; what is stopped is rows, in an array that is not closed."""

    def stopped(**_options: object) -> Iterator[accuracy.AttackPoint]:
        yield from rows[:2]
        raise KeyboardInterrupt

    asked = (
        "reproduce",
        "risks",
        "--figure",
        "value",
        "--epsilons",
        "1",
        "--runs",
        "1",
        "--dataset",
        "nursery",
        "--json",
    )
    rows = list(risks.reproduce([small], ["value"], [1.0], runs=1))
    assert run(*asked) == console.json_text([asdict(row) for row in rows])
    measure_by(stopped, monkeypatch)
    printed = CliRunner().invoke(commands, asked).stdout
    assert json.loads(printed + "]") == [asdict(row) for row in rows[:2]]
    measure_by(lambda **_options: iter([replace(rows[0], refused="for a reason")]), monkeypatch)
    assert run(*asked) == "[]\n"


def test_more_users_than_there_are_is_reported(small: Dataset) -> None:
    asked = (
        "reproduce",
        "risks",
        "--figure",
        "value",
        "--dataset",
        "nursery",
        "--epsilons",
        "4",
        "--runs",
        "1",
        "--json",
    )
    result = CliRunner().invoke(commands, [*asked, "--users", "99999999"], catch_exceptions=False)
    assert result.stderr == "simulated has 500 people, fewer than --users 99,999,999: all 500 are attacked\n"
    assert {row["users"] for row in json.loads(result.stdout)} == {500}
    assert CliRunner().invoke(commands, [*asked, "--users", "500"], catch_exceptions=False).stderr == ""
    more = ("reproduce", "revisited", "--epsilons", "4", "--runs", "1", "--users", "1e6")
    result = CliRunner().invoke(commands, more, catch_exceptions=False)
    assert (
        "synthetic has 50,000 people, fewer than --users 1,000,000: all 50,000 are asked\n" in result.stderr
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--dataset", "adlt"), "did you mean 'adult'"),
        (("--dataset", "adult", "--figure", "valu"), "did you mean 'value'"),
        (("--dataset", "adult", "--attack", "bays", "--figure", "value"), "did you mean 'bayes'"),
        (
            ("--dataset", "adult", "--attack", "bayes", "--figure", "value"),
            "none of these figures has bayes: value has guess, exact",
        ),
        (("--plot", "a.gif"), "a plot is written to a file ending in"),
    ],
)
def test_mistakes_are_refused(small: Dataset, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(dn.DeniableError, match=message):
        run("reproduce", "risks", *arguments)


def test_an_epsilon_that_is_named_twice_is_one(small: Dataset) -> None:
    twice, once = (
        list(risks.reproduce([small], ["value"], budgets, runs=1)) for budgets in ([1.0, 1.0], [1.0])
    )
    assert twice == once


def test_tables_and_plots(small: Dataset, tmp_path: Path) -> None:
    for figure in ("value", "reidentify"):
        table, drawing = tmp_path / f"{figure}.csv", tmp_path / f"{figure}.svg"
        where = ("-o", str(table), "--plot", str(drawing))
        text = run("reproduce", "risks", "--quick", "--figure", figure, "--users", "50", *where)
        assert f"{figure}, simulated: n = 500, 50 attacked, 1 run, seed 1" in text
        with table.open() as file:
            assert {row["figure"] for row in csv.DictReader(file)} == {figure}
        assert drawing.read_text().startswith("<?xml")


def test_a_table_has_no_empty_column_and_few_rows(small: Dataset) -> None:
    asked = (
        "reproduce",
        "risks",
        "--quick",
        "--epsilons",
        "4",
        "--runs",
        "1",
        "--users",
        "50",
        "--attack",
        "guess,support,exact",
    )
    text = run(*asked, "--figure", "reidentify")
    (headers,) = (line.split() for line in text.splitlines() if "protocol" in line)
    assert {"background", "metric", "surveys", "top"} <= set(headers)
    assert "prior" not in headers
    assert len([line for line in text.splitlines() if line.strip().startswith("reidentify ")]) == 40
    more = len(json.loads(run(*asked, "--figure", "reidentify", "--json"))) - 40
    assert f"\n\u2026 and {more:,} more; -o writes all, and --json prints them\n" in text
    text = run(*asked, "--figure", "value")
    (headers,) = (line.split() for line in text.splitlines() if "protocol" in line)
    assert "metric" in headers
    assert not {"background", "top", "prior"} & set(headers)
    assert "more; -o" not in text


def test_a_table_that_is_cut_has_some_rows_of_every_figure(small: Dataset) -> None:
    asked = (
        "--quick",
        "--epsilons",
        "4",
        "--runs",
        "1",
        "--users",
        "20",
        "--attack",
        "bayes,guess-bayes,support,exact",
    )
    lines = run("reproduce", "risks", *asked).splitlines()
    shown = {figure: sum(line.strip().startswith(f"{figure} ") for line in lines) for figure in risks.FIGURES}
    assert sum(shown.values()) == 40
    assert min(shown.values()) >= 5
    assert any("more; -o writes all" in line for line in lines)


def test_one_epsilon_is_plotted_as_a_list(small: Dataset) -> None:
    """Every series has a place of its own, and its name beside it; with two epsilons there are lines and a
    legend.
    """
    rows = list(
        risks.reproduce(
            [small], ["reidentify", "value"], [4.0], runs=1, users=50, attacks=["guess", "support", "exact"]
        )
    )
    drawn = plot_risks.risks_plot(rows)
    assert "Epsilon 4:" in drawn.get_suptitle()
    assert not drawn.legends
    shown = [axes for axes in drawn.axes if axes.axison]
    assert shown
    for axes in shown:
        names = [label.get_text() for label in axes.get_yticklabels()]
        heights = [float(np.ravel(bars.lines[0].get_ydata())[0]) for bars in axes.containers]  # type: ignore[attr-defined]
        assert len(names) == len(set(names)) > 1
        assert sorted(heights) == list(range(len(names)))
    two = plot_risks.risks_plot(list(risks.reproduce([small], ["value"], [2.0, 4.0], runs=1, users=50)))
    assert two.legends


def test_the_words_of_the_study_are_explained() -> None:
    text = " ".join(run("reproduce", "risks", "--help").split())
    for word in (
        "FK (full knowledge)",
        "PK (partial knowledge)",
        "the uniform metric",
        "the non-uniform one",
    ):
        assert word in text


# What the rows say.


def test_exact_values_are_measured() -> None:
    people, runs = simulated(), 20
    rows = list(risks.reproduce([people], ["value"], [2.0], runs=runs))
    for protocol in accuracy.CLASSICAL:
        for metric in ("uniform", "non-uniform"):
            by = {row.attack: row for row in rows if (row.protocol, row.metric) == (protocol.upper(), metric)}
            exact, seen = by["exact"].accuracy, by["guess"].accuracy
            assert exact is not None
            assert seen is not None
            error = math.sqrt(exact * (1 - exact) / (runs * people.n))
            statistics.deviation(seen, exact, error, f"value attack on {protocol}")
    olh = {row.attack: row.accuracy for row in rows if (row.protocol, row.metric) == ("OLH", "uniform")}
    assert abs((olh["published"] or 0) / (olh["exact"] or 1) - 1) > 0.1  # the formula is approximate


def test_subset_selection_is_printed_by_the_text_and_by_the_figure(small: Dataset) -> None:
    """The study's text has (e + 1) / 2k for subset selection; its figure shows the exact values."""
    rows = list(risks.reproduce([small], ["value"], [1.0, 5.0], runs=1, attacks=accuracy.COMPUTED))
    shown = [row for row in rows if row.attack == "published-figure"]
    assert {row.protocol for row in shown} == {"SS"}
    by = {(row.protocol, row.metric, row.epsilon, row.attack): row for row in rows}
    for row in shown:
        text, exact = (by["SS", row.metric, row.epsilon, attack] for attack in ("published", "exact"))
        assert row.accuracy == exact.accuracy != text.accuracy
        assert row.note == text.note
        assert "its figure shows" in (row.note or "")
        assert exact.note is None
    uniform = by["SS", "uniform", 1.0, "published"].accuracy
    assert uniform == pytest.approx(math.prod(min(1.0, (math.e + 1) / (2 * k)) for k in small.ks[:3]))
    attacks = "published,published-figure"
    asked = ("--dataset", "nursery", "--figure", "value", "--attack", attacks, "--epsilons", "1")
    printed = " ".join(run("reproduce", "risks", *asked).split())
    assert "published-figure is what its figure shows: the exact values" in printed


@pytest.fixture(scope="module")
def both() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Whom Bayes and a trained attacker find, the same people by the same reports."""
    people = simulated(ATTACKED)
    asked = accuracy.Asked(1, None, ("NK-1n", "bayes"), 1, 1)
    found = {}
    for cell in inference.sampled_cells("sampled-attribute", people, [4.0], asked):
        trained, best = cell.run(0, np.random.default_rng(8))
        found[cell.asked[0].protocol] = best, trained
    return found


def test_trained_attacks_do_not_beat_the_best(both: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    assert set(both) == {f"RS+FD[{protocol}]" for protocol in inference.RSFD}
    for protocol, (best, trained) in both.items():
        statistics.not_beaten(best, trained, f"Bayes against NK-1n on {protocol}")
    best, trained = map(np.concatenate, zip(*both.values(), strict=True))
    statistics.not_beaten(best, trained, "Bayes against NK-1n")


def test_a_weaker_best_attack_is_seen_to_be_beaten(both: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Of all protocols together: on single ones the trained attack is itself weaker by as much."""
    best, trained = map(np.concatenate, zip(*both.values(), strict=True))
    lost = np.random.default_rng(9).choice(np.flatnonzero(best), round(WEAKER * best.size), replace=False)
    best[lost] = False
    with pytest.raises(AssertionError, match="beaten"):
        statistics.not_beaten(best, trained, "a weakened attack")


def test_the_artefact_of_realistic_fakes() -> None:
    """Published attackers of RS+RFD stay near a blind guess where the best one finds most."""
    rows = list(
        risks.reproduce([simulated(6000)], ["rsrfd"], [4.0], runs=2, attacks=["bayes", "bayes-uniform"])
    )
    for row in rows:
        if row.attack == "bayes" and row.prior in ("zipf", "exponential"):
            naive = next(
                one
                for one in rows
                if (one.protocol, one.prior, one.attack) == (row.protocol, row.prior, "bayes-uniform")
            )
            assert (row.accuracy or 0) > (naive.accuracy or 1) + 0.1


def test_supports_tell_more_than_guesses() -> None:
    rows = list(
        risks.reproduce([simulated(2000, (20, 15, 30, 12))], ["reidentify"], [5.0], runs=1, users=1000)
    )
    for protocol in ("SUE", "OUE", "OLH"):
        by = {
            row.attack: row.accuracy or 0.0
            for row in rows
            if (row.protocol, row.surveys, row.top, row.background, row.metric)
            == (protocol, 4, 10, "FK", "uniform")
        }
        assert by["support"] > 1.1 * by["guess"]
    grr = [
        row
        for row in rows
        if row.protocol == "GRR" and (row.top, row.background, row.metric) == (10, "FK", "uniform")
    ]
    by_surveys = [row.accuracy or 0.0 for row in grr if row.attack == "guess"]
    assert by_surveys[0] < by_surveys[1] < by_surveys[2]
    same = {(row.surveys, row.attack): row.accuracy for row in grr}
    assert all(same[surveys, "guess"] == same[surveys, "support"] for surveys in (2, 3, 4, 5))


SPEC_ACS = {"grr": (20.4, 24.0), "sue-r": (16.2, 24.1), "oue-r": (16.1, 18.3)}


@pytest.mark.parametrize("protocol", SPEC_ACS)
def test_sampled_attribute_of_the_census(protocol: str) -> None:
    people = data.load("acs-employment")
    for epsilon, wanted in zip((1.0, 10.0), SPEC_ACS[protocol], strict=True):
        mechanism, right = dn.rsfd(people.ks, epsilon, protocol, "published"), []
        for seed in range(4):
            records = mechanism.privatize(people.table, dn.seeded(seed))
            right.append(
                dn.attack.sampled_attribute(mechanism, records).right(
                    dn.attack.real_attributes(mechanism, people.n, seed)
                )
            )
        assert 100 * np.mean(right) == pytest.approx(
            wanted, abs=0.9
        )  # a run of 10,336 people scatters by 0.4


def test_census_as_published() -> None:
    """Attacks on RS+RFD that ignore the prior are where the study saw them, those that use it far above (ACS,
    GRR).
    """
    people = data.load("acs-employment")
    rows = list(risks.reproduce([people], ["rsrfd"], [1.0], runs=2, attacks=["bayes", "bayes-uniform"]))
    found = {
        (row.prior, row.attack): 100 * (row.accuracy or 0) for row in rows if row.protocol == "RS+RFD[GRR]"
    }
    assert found["correct", "bayes-uniform"] == pytest.approx(4.87, abs=0.8)
    assert found["correct", "bayes"] == pytest.approx(13.3, abs=1.2)
    assert found["dirichlet", "bayes"] == pytest.approx(33.7, abs=6.0)  # priors are drawn anew for each run
    assert found["zipf", "bayes"] == pytest.approx(61.3, abs=4.0)
    assert found["exponential", "bayes"] == pytest.approx(62.2, abs=4.0)


def test_surveys_draw_half_of_the_attributes_or_more() -> None:
    for seed in range(20):
        chosen, known = reidentification.draw_surveys(10, np.random.default_rng(seed))
        assert len(chosen) == reidentification.SURVEYS
        assert all(
            5 <= len(one) <= 9 and len(set(one.tolist())) == len(one)
            for one in (*chosen, np.array(sorted(known)))
        )


def test_among_fakes_the_published_attacker_is_trained() -> None:
    """`guess` finds the real attribute by NK-1n, learned from all reports, and `guess-bayes` by
    another way.
    """
    people, asked = simulated(600), accuracy.Asked(1, None, ("guess", "guess-bayes"), 1, 600)
    draws = np.random.default_rng(3)
    survey = reidentification._Survey.of(people, 4.0, np.array([0, 1, 3]), draws)
    whom = np.arange(100, 400)
    trained, likeliest = survey.trained(asked, whom), survey.likeliest(whom)
    alone = School(survey.mechanism, survey.records, survey.truth, seed=survey.seed % (1 << 31)).attack(
        "NK-1n"
    )
    assert trained.tolist() == alone.attributes[whom].tolist()
    assert trained.tolist() != likeliest.tolist()


def test_among_fakes_both_metrics_are_one_measurement() -> None:
    """As in the published code, which draws with replacement by either; rows of the uniform metric say so."""
    rows = list(risks.reproduce([simulated(300)], ["reidentify"], [4.0], runs=2, users=50))
    among = [row for row in rows if row.protocol == reidentification.AMONG_FAKES]
    uniform, other = ([row for row in among if row.metric == metric] for metric in reidentification.METRICS)
    assert len(uniform) == len(other) == 5 * 2 * 3 * 2
    assert all(row.note == reidentification.AS_PUBLISHED for row in uniform)
    assert [replace(row, metric="non-uniform", note=None) for row in uniform] == other
    assert all(row.note is None for row in rows if row not in uniform)
    assert {row.metric for row in rows if row.protocol == "GRR"} == set(reidentification.METRICS)


def test_what_was_refused_is_no_row_for_machines(
    small: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise dn.InvalidParameter("nothing to learn from")

    monkeypatch.setattr("deniable_papers.trained.School.attack", refuse)
    asked = (
        "reproduce",
        "risks",
        "--figure",
        "reidentify",
        "--dataset",
        "nursery",
        "--epsilons",
        "4",
        "--runs",
        "1",
    )
    table = tmp_path / "rows.json"
    result = CliRunner().invoke(
        commands, [*asked, "--users", "20", "--json", "-o", str(table)], catch_exceptions=False
    )
    rows = json.loads(result.stdout)
    assert rows == json.loads(table.read_text(encoding="utf-8"))
    assert all(0 <= row["accuracy"] <= 1 for row in rows)
    assert {row["attack"] for row in rows if row["protocol"] == reidentification.AMONG_FAKES} == {
        "guess-bayes",
        "support",
    }
    assert "40 rows left out" in result.stderr
    assert f"refused ({reidentification.AMONG_FAKES}): " in result.stderr
    assert "nothing to learn from" in result.stderr


# How far chance may have moved a row.


def chanced(right: list[float], users: int = 500) -> accuracy.AttackPoint:
    row = accuracy.AttackPoint(
        figure="value",
        dataset="simulated",
        protocol="GRR",
        epsilon=1.0,
        attack="guess",
        runs=len(right),
        n=users,
        users=users,
        d=3,
        seed=1,
        baseline=0.1,
    )
    return accuracy.add_chance(row, np.array(right))


def test_few_runs_that_agree_are_not_exact() -> None:
    one, twice = chanced([0.3]), chanced([0.3, 0.3])
    assert one.stderr == pytest.approx(math.sqrt(0.3 * 0.7 / 500), rel=0.01)
    assert twice.stderr == pytest.approx(math.sqrt(0.3 * 0.7 / 1000), rel=0.01)
    for row in (one, twice, chanced([0.0]), chanced([1.0, 1.0])):
        assert row.low is not None
        assert row.high is not None
        assert 0 <= row.low <= (row.accuracy or 0.0) <= row.high <= 1
        assert row.high - row.low > 0.001
        assert row.stderr
    scattered = chanced([0.2, 0.4])
    assert scattered.stderr == pytest.approx(0.1)
    assert (scattered.low, scattered.high) == (0.0, 1.0)  # two runs: Student's 12.7 standard errors


def test_what_is_computed_has_no_error() -> None:
    rows = list(risks.reproduce([simulated(200)], ["value"], [2.0], runs=2))
    front = list(tradeoffs.reproduce(epsilons=[1.0], runs=1, users=300, methods=["GRR", "OLH"]))
    assert {row.attack for row in (*rows, *front)} == {"guess", *accuracy.COMPUTED}
    for row in (*rows, *front):
        if row.attack == "guess":
            assert row.stderr
        else:
            assert (row.stderr, row.low, row.high) == (0.0, row.accuracy, row.accuracy)
    assert all(
        (row.mse_stderr, row.mse_low, row.mse_high) == (0.0, row.mse, row.mse)
        for row in front
        if row.attack != "guess"
    )
    text = run("reproduce", "revisited", "--epsilons", "4", "--runs", "1", "--users", "500")
    assert "+- 0" not in text


def test_intervals_hold_the_truth() -> None:
    """95 % of the intervals, over runs whose people have one chance, or one that differs from run to run."""
    draws, repeats = np.random.default_rng(12), statistics.COVERAGE_REPEATS
    for wobble in (0.0, 0.05):
        covered = 0
        for _ in range(repeats):
            row = chanced((draws.binomial(300, 0.3 + wobble * draws.uniform(-1, 1, 4)) / 300).tolist(), 300)
            covered += bool((row.low or 0) <= 0.3 <= (row.high or 0))
        statistics.at_least(covered, repeats, 0.95, f"intervals, runs that differ by {wobble}")


def test_rows_are_a_frame() -> None:
    rows = list(risks.reproduce([simulated(200)], ["value"], [2.0], runs=2))
    table = risks.frame(rows, backend="pandas")
    assert list(table.columns) == list(accuracy.AttackPoint.__dataclass_fields__)
    assert len(table) == len(rows)
    measured = table[table.attack == "guess"]
    assert (measured.low <= measured.accuracy).all()
    assert (measured.accuracy <= measured.high).all()
    assert (measured.low < measured.high).all()
    front = tradeoffs.frame(
        tradeoffs.reproduce(epsilons=[1.0], runs=2, users=300, methods=["GRR"]), backend="pandas"
    )
    guessed = front[front.attack == "guess"].iloc[0]
    assert guessed.low < guessed.accuracy < guessed.high
    assert guessed.mse_low <= guessed.mse <= guessed.mse_high


def test_how_long_it_takes_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter([5.0, 5.0, 9.0, 25.0, 40.0])  # what is done before the first part does not count
    monkeypatch.setattr("deniable_papers.reproduce.runner.time.monotonic", lambda: next(now))
    shown = list[tuple[int, int]]()
    step = runner.announce_duration(lambda done, total: shown.append((done, total)))
    for done in (1, 5, 11, 20):
        step(done, 10_000)
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "this takes about 6 hours more, by the first 20 seconds\n")
    assert shown == [(1, 10_000), (5, 10_000), (11, 10_000), (20, 10_000)]


def test_a_log_has_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every half minute, and none of short work; a terminal has a bar instead."""
    now = [100.0]
    monkeypatch.setattr("deniable.commands.shared.console.time.monotonic", lambda: now[0])
    with console.progress("measuring") as show:
        for done in range(1, 101):
            now[0] += 0.75
            show(done, 100)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "measuring: 40 % after 30 seconds\nmeasuring: 80 % after 60 seconds\n"
    with console.progress("measuring") as show:
        for done in range(1, 101):
            now[0] += 0.25
            show(done, 100)
    assert capsys.readouterr().err == ""


def test_remaining_time_is_estimated_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first cell that waits for a compiler says nothing of classifiers, and these nothing of the rest."""
    now = [0.0]
    monkeypatch.setattr("deniable_papers.studies.accuracy.time.perf_counter", lambda: now[0])
    asked = accuracy.Asked(1, None, ("guess", "NK-1n"), 1, 1)

    def cell(figure: str, attack_name: str, seconds: float, work: float) -> accuracy.Cell:
        def spend(_run: int, _draws: np.random.Generator) -> list[np.ndarray]:
            now[0] += seconds
            return [np.ones(10)]

        trained = 100 if attack_name == "NK-1n" else None
        row = asked.row(figure, simulated(100), "GRR", 1.0, attack_name, baseline=0.1, trained_on=trained)
        return accuracy.Cell((row,), spend, work)

    cells = [
        cell("value", "guess", 15.0, 0.01),
        *(cell("sampled-attribute", "NK-1n", 20.0, 10.0) for _ in range(3)),
    ]
    shown = list[tuple[int, int]]()
    list(
        accuracy.measure(
            [*cells, cell("reidentify", "support", 5.0, 5.0)], asked, lambda *step: shown.append(step)
        )
    )
    seconds = [(done / 1000, total / 1000) for done, total in shown]
    assert seconds == [(15.0, 50.0), (35.0, 80.0), (55.0, 80.0), (75.0, 80.0), (80.0, 80.0)]


def test_quick_is_small_and_says_so() -> None:
    rows = list(
        risks.reproduce(
            [simulated(1200)], ["value", "rsrfd"], [5.0], runs=1, attacks=["NK-1n", "guess"], quick=True
        )
    )
    assert {row.users for row in rows} == {500}
    assert {row.trained_on for row in rows if row.attack == "NK-1n"} == {1000}
    assert {
        row.users
        for row in risks.reproduce([simulated(1200)], ["value"], [5.0], runs=1, users=600, quick=True)
    } == {600}


# Error against attack.


def test_error_against_attack() -> None:
    methods = ["GRR", "OLH", "SS", "AUE", "ASS", "THE as published"]
    rows = list(tradeoffs.mark_front(list(tradeoffs.reproduce(epsilons=[1.0, 4.0], runs=5, methods=methods))))
    for row in rows:
        if row.attack == "guess":
            exact = next(
                r for r in rows if (r.protocol, r.epsilon, r.attack) == (row.protocol, row.epsilon, "exact")
            )
            assert exact.accuracy is not None
            assert row.accuracy is not None
            error = math.sqrt(exact.accuracy * (1 - exact.accuracy) / (row.n * row.runs))
            statistics.deviation(row.accuracy, exact.accuracy, error, f"success of {row.protocol}")
    by = {(row.protocol, row.epsilon, row.attack): row for row in rows}
    assert by["OLH", 4.0, "published"].accuracy == pytest.approx(0.279, abs=0.001)
    assert by["THE as published", 1.0, "exact"].loss == pytest.approx(
        0.896, abs=0.002
    )  # thresholding spends less
    assert by["ASS", 4.0, "exact"].accuracy == pytest.approx(0.116, abs=0.005)
    front = [(row.accuracy or 0, row.mse or 0) for row in rows if row.pareto]
    assert front
    assert not any(a < c and b < d for a, b in front for c, d in front)


@pytest.mark.parametrize(
    ("epsilon", "spent"), [(0.5, 0.472), (1.0, 0.896), (2.0, 1.636), (4.0, 2.859), (8.0, 4.965)]
)
def test_thresholded_histograms_as_published_spend_less(epsilon: float, spent: float) -> None:
    """At the threshold that errs least with noise of scale 2 / epsilon, found here once more on a
    fine grid.
    """
    made = tradeoffs.METHODS["THE as published"](10, epsilon)
    assert made.loss() == pytest.approx(spent, abs=0.0006)
    theta = np.linspace(0.5, 1.0, 100_001)
    p, q = 1 - np.exp(epsilon * (theta - 1) / 2) / 2, np.exp(-epsilon * theta / 2) / 2
    best = int(np.argmin(q * (1 - q) / (p - q) ** 2))
    assert made.loss() == pytest.approx(
        math.log(p[best] * (1 - q[best]) / ((1 - p[best]) * q[best])), abs=1e-4
    )


def test_revisited_on_the_command_line(tmp_path: Path) -> None:
    drawing = tmp_path / "front.png"
    asked = ("reproduce", "revisited", "--epsilons", "4", "--runs", "1", "--users", "500")
    rows = json.loads(run(*asked, "--json", "--plot", str(drawing)))
    assert {row["attack"] for row in rows} == {"exact", "published", "guess"}
    assert {row["protocol"] for row in rows} == set(tradeoffs.METHODS)
    assert drawing.stat().st_size > 10_000
    assert "nothing beats it" in run(*asked)
    title = plot_risks.tradeoffs_plot([accuracy.AttackPoint(**row) for row in rows]).get_suptitle()
    assert "Error against attack, epsilon 4 filled: exact" in " ".join(title.split())


# One page.


@pytest.fixture
def planned(tmp_path: Path) -> tuple[Path, Path]:
    study = dn.Study(
        {"town": list("abcdef"), "smokes": ["yes", "no"], "age": dn.Range(0, 60, step=10)},
        epsilon=2.0,
        title="A study",
    )
    plan, people = tmp_path / "plan.json", tmp_path / "people.csv"
    study.plan(1000).write(plan)
    draws = np.random.default_rng(2)
    rows = zip(
        draws.choice(list("abcdef"), 1000),
        draws.choice(["yes", "no"], 1000),
        draws.integers(0, 60, 1000),
        strict=True,
    )
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
    found = json.loads(
        run("attack", str(plan), "--data", str(people), "--users", "1000", "--collections", "3", "--json")
    )
    assert found["people"] == found["users"] == 1000
    exact = attack.success(dn.Plan.read(plan), collections=3)
    assert [one["report"] for one in found["ignorant"]["attributes"]] == [
        one.report for one in exact.attributes
    ]
    by = {(one["background"], one["collections"], one["top"]): one["success"] for one in found["found"]}
    assert by["all 3 attributes", 3, 10] > by["all 3 attributes", 1, 10] > 0.01
    assert by["all 3 attributes", 3, 10] > by["2 of 3 attributes", 3, 10]


def test_who_is_left_out_is_reported() -> None:
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
    assert "knows shares" in found.text()
    assert "their noise is drawn again each time" in found.text()


KINDS = ["faked", "again", "single", "metric", "grid", "number"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_plan_has_a_page(kind: str) -> None:
    asked: dict[str, dn.Study] = {
        "faked": dn.Study({"a": list("xyz"), "b": list("uvw")}, epsilon=2.0, mechanism="faked"),
        "again": dn.Study({"a": list("xyz"), "b": list("uvw")}, epsilon_first=1.0, epsilon_forever=2.0),
        "single": dn.Study({"a": list("xyz")}, epsilon=1.0),
        "metric": dn.Study(
            {"a": dn.Range(0, 30, step=3, privacy="metric", epsilon=0.2), "b": list("uvw")}, epsilon=1.0
        ),
        "grid": dn.Study({"home": dn.Grid(47.6, 6.8, 47.7, 6.95, 5, 6, epsilon=0.001)}),
        "number": dn.Study({"pay": dn.Number(0, 1000), "b": list("uvw")}, epsilon=2.0),
    }
    plan = asked[kind].plan(500)
    draws = np.random.default_rng(1)
    codes = np.stack([draws.integers(0, one.domain.k, 500) for one in plan.document.attributes])
    found = attack.examine(plan, codes, collections=3, users=100)
    assert ("Which attribute of a report is real" in found.text()) == (kind == "faked")
    assert bool(found.real_attributes) == (kind == "faked")
