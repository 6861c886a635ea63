"""The study of classifiers: small sizes run, planted faults are seen, and the command prints its rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sizes import HARDLY_RIGHT, PUPILS, PUPILS_RIGHT
from tests import statistics

from deniable.errors import InvalidParameter
from deniable.randomness.simulated import Seeded
from deniable_papers.reproduce import reproduce_paper
from deniable_papers.studies.applications import learning
from deniable_papers.studies.applications.learning import accuracy, models
from deniable_papers.studies.applications.learning.accuracy import Case, list_cases, measure_case
from deniable_papers.studies.applications.learning.attacks import list_attacked, measure_attacks
from deniable_papers.studies.applications.learning.people import divide_people
from deniable_papers.studies.plot.learning import plot_learning

BAYES = [case for case in list_cases((8.0,)) if case.model == "naive Bayes"]


def count_right(case: Case, most: int | None = None) -> tuple[int, int]:
    """How many of those who test are placed rightly, and how many there are."""
    people = len(divide_people(0, most).test)
    return round(measure_case((case, 0, most)) * people), people


def test_naive_bayes_is_as_accurate_as_stated() -> None:
    """At epsilon 8, where noise is small; where only reports are known, hardly more than a guess is right."""
    cases = {case.protocol: case for case in BAYES if "one report" in case.protocol}
    for name, case in cases.items():
        if case.stated is not None and case.spread is not None and "noisy" not in name:
            right, people = count_right(case)
            statistics.deviation(right / people, case.stated, case.spread, f"accuracy, {name}")
    right, people = count_right(cases["one report, noisy test"])
    statistics.at_least(people - right, people, 1 - HARDLY_RIGHT, "errors from reports")
    right, people = count_right(cases["one report"])
    with pytest.raises(AssertionError, match="were promised"):
        statistics.at_least(people - right, people, 1 - HARDLY_RIGHT, "errors from rows")


def test_trees_learn_from_raw_rows_and_with_four_columns_sanitized() -> None:
    cases = [case for case in list_cases((1.0,)) if case.protocol in ("raw rows", "GRR values")]
    for case in cases:
        if case.model == "LightGBM" and case.sanitized < 10:
            statistics.at_least(*count_right(case, PUPILS), PUPILS_RIGHT, case.protocol)


def test_labels_of_others_teach_nothing() -> None:
    """The planted fault: with shuffled labels, trees and naive Bayes are as good as a guess."""
    lesson = divide_people(0, PUPILS)
    labels = np.random.default_rng(1).permutation(lesson.train_labels)
    bayes = models.fit_bayes(lesson, lesson.train, labels, 8.0, models.make_words(1))
    trees = models.make_trees(1).fit(models.show_values(lesson.train, lesson.ks), labels)
    guesses = (
        bayes.predict(lesson.name_columns(lesson.test)),
        trees.predict(models.show_values(lesson.test, lesson.ks)),
    )
    for guessed in guesses:
        right = int((guessed == lesson.test_labels).sum())
        with pytest.raises(AssertionError, match="were promised"):
            statistics.at_least(right, len(lesson.test), PUPILS_RIGHT, "shuffled labels")


def test_no_two_parts_of_a_study_share_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above all, those who test are not privatized with the words of those who teach."""
    keys: list[int] = []
    begin = Seeded.__init__

    def record(self: Seeded, key: int, gamma: int) -> None:
        keys.append(key)
        begin(self, key, gamma)

    monkeypatch.setattr(Seeded, "__init__", record)
    cases = [case for case in list_cases((1.0, 8.0)) if case.epsilon is not None]
    monkeypatch.setattr(models, "score_trees", lambda *_: 0.5)
    for case in cases:
        measure_case((case, 0, 500))
    noisy = sum("noisy test" in case.protocol for case in cases)
    assert len(keys) == len(cases) + noisy
    assert len(set(keys)) == len(keys)


def test_the_specified_classifier_is_measured_and_ours_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, tuple[float, float]] = {}
    score = accuracy._score

    def record(model: Any, *rest: Any) -> float:
        seen[case.protocol] = model.damp, model.temper_
        return score(model, *rest)

    monkeypatch.setattr(accuracy, "_score", record)
    for case in BAYES:
        measure_case((case, 0, 500))
    ours = {name for name in seen if "damped" in name}
    assert len(ours) == 2
    assert {seen[name] for name in ours} == {(0.5, 0.5)}
    assert {seen[name] for name in seen if name not in ours} == {(0.0, 1.0)}


def test_guarantees_tell_what_a_prior_is_made_of() -> None:
    """A model with exact shares of the training rows has no bound on membership."""
    stated = dict(learning.list_guarantees())
    assert {one.unit for one in stated.values()} == {"record"}
    bounded = [name for name, one in stated.items() if "membership has an advantage of at most" in one.true]
    assert bounded == ["naive Bayes, one report, no prior, label protected"]
    for name in ("naive Bayes, one report, and a prior", next(one for one in stated if "OUE bits" in one)):
        assert any("exact shares" in one for one in stated[name].unprotected)
    assert all(one.published == "nothing" for name, one in stated.items() if name.startswith("naive Bayes"))


def test_a_number_that_differs_is_marked() -> None:
    case = Case("naive Bayes", "one report", 10, 1.0, 0.743, 0.02)
    near = accuracy.summarize_case(case, np.array([0.74, 0.75, 0.73]), 1)
    assert not near.differs
    assert replace(near, accuracy=0.69).differs
    assert near.stderr == pytest.approx(0.01 / 3**0.5)
    alone = accuracy.summarize_case(case, np.array([0.70]), 1)
    assert not alone.differs, "one run scatters more than the mean of three"
    assert (alone.margin or 0) > (near.margin or 1)


def test_every_line_has_a_color_of_its_own() -> None:
    """Among nine lines, two pairs once had one."""
    rows = [
        accuracy.summarize_case(case, np.array([0.6 + i / 100]), 1) for i, case in enumerate(list_cases())
    ]
    for axes in plot_learning(rows).axes:
        lines = [one for one in axes.get_lines() if len(np.unique(one.get_xdata())) == len(accuracy.EPSILONS)]
        marked = [one for one in lines if one.get_linestyle() != "None"]
        assert len(marked) >= 2
        assert len({one.get_color() for one in marked}) == len(marked)


def test_attacks_are_measured_beside_accuracy() -> None:
    victims = list_attacked(1, (1.0,), PUPILS, shadows=2)
    rows = list(measure_attacks([victims[0], victims[-1]], processes=1))
    assert [row.figure for row in rows[:4]] == [
        "membership, loss",
        "membership, likelihood ratio",
        "inference of gender",
        "inference of marital-status",
    ]
    assert {row.bound is None for row in rows if "protected" in row.protocol} == {True, False}
    raw = next(row for row in rows if row.figure.endswith("ratio"))
    assert raw.model == "LightGBM"
    assert (raw.low or 0) > 0, "trees learn rows by heart"
    told = [row for row in rows if row.epsilon is not None and row.auc is not None]
    assert all(row.low is not None and row.low < 0 < (row.high or 0) for row in told)
    assert [axes.get_title(loc="left") for axes in plot_learning(rows).axes]


def test_the_command_prints_rows_and_guarantees(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def few(_epsilons: Any) -> list[Case]:
        return [case for case in BAYES if "one report" in case.protocol][:2]

    monkeypatch.setattr(learning, "list_cases", few)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    asked = ["learning", "--part", "accuracy", "--quick"]
    shown = CliRunner().invoke(reproduce_paper, asked)
    assert shown.exit_code == 0, shown.output
    for text in ("one report", "label protected", "true (for one record)", "not protected: the label"):
        assert text in shown.output
    assert "0 of 2 stated numbers marked as different: farther off than 1.5 standard" in shown.output
    plot = tmp_path / "learning.svg"
    printed = CliRunner().invoke(reproduce_paper, [*asked, "--json", "--plot", str(plot)])
    rows = json.loads(printed.stdout)
    assert rows[0]["epsilon"] == 8.0
    assert plot.stat().st_size > 1000


def test_parts_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="'attack' is not a part of this study"):
        next(learning.reproduce(["attack"]))
    with pytest.raises(InvalidParameter, match="epsilon must be a positive number"):
        next(learning.reproduce(["accuracy"], epsilons=(0.0,)))
