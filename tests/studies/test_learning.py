"""The study of classifiers: small sizes run, planted faults are seen, and the command prints its rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from deniable.commands.reproduce import reproduce_paper
from deniable.errors import InvalidParameter
from deniable.studies.applications import learning
from deniable.studies.applications.learning import accuracy, models
from deniable.studies.applications.learning.accuracy import Case, list_cases, measure_case
from deniable.studies.applications.learning.attacks import list_attacked, measure_attacks
from deniable.studies.applications.learning.people import divide_people
from deniable.studies.plot.learning import plot_learning
from tests import statistics

BAYES = [case for case in list_cases((8.0,)) if case.model == "naive Bayes"]


def test_naive_bayes_is_as_accurate_as_stated() -> None:
    """At epsilon 8, where noise is small: one run is within four standard deviations of what is stated."""
    cases = [case for case in BAYES if "one report" in case.protocol]
    found = {case.protocol: measure_case((case, 0, None)) for case in cases}
    for case in cases:
        if case.stated is not None and "noisy" not in case.protocol:
            assert abs(found[case.protocol] - case.stated) < 4 * accuracy.SPREADS["one report"][3]
    assert found["one report, noisy test"] < 0.65 < 0.75 < found["one report"]


def test_trees_learn_from_raw_rows_and_hardly_from_noisy_ones() -> None:
    cases = [case for case in list_cases((1.0,)) if case.protocol in ("raw rows", "GRR values")]
    few = statistics.PUPILS
    found = {(case.protocol, case.sanitized): measure_case((case, 0, few)) for case in cases}
    assert found["raw rows", 0] > 0.72
    assert found["GRR values", 4] > 0.72
    assert found["GRR values", 10] < 0.7


def test_labels_of_others_teach_nothing() -> None:
    """The planted fault: with shuffled labels naive Bayes is as good as the majority."""
    lesson = divide_people(0, statistics.PUPILS)
    labels = np.random.default_rng(1).permutation(lesson.train_labels)
    model = models.fit_bayes(lesson, lesson.train, labels, 8.0, 1)
    right = (model.predict(lesson.name_columns(lesson.test)) == lesson.test_labels).mean()
    assert right < 0.6


def test_a_number_that_differs_is_marked() -> None:
    case = Case("naive Bayes", "one report", 10, 1.0, 0.743, 0.02)
    near = accuracy.summarize_case(case, np.array([0.74, 0.75, 0.73]), 1)
    assert not near.differs
    assert replace(near, accuracy=0.69).differs
    assert near.stderr == pytest.approx(0.01 / 3**0.5)
    alone = accuracy.summarize_case(case, np.array([0.70]), 1)
    assert not alone.differs, "one run scatters more than the mean of three"
    assert (alone.margin or 0) > (near.margin or 1)


def test_attacks_are_measured_beside_accuracy() -> None:
    victims = list_attacked(1, (1.0,), statistics.PUPILS, shadows=2)
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
