"""The fairness study: raw values give the published model, reports keep the budget, baselines are beside."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from deniable.errors import InvalidParameter
from deniable_papers import data
from deniable_papers.data import published as published_files
from deniable_papers.reproduce import fairness as reproduce_fairness
from deniable_papers.reproduce import reproduce_paper
from deniable_papers.studies.applications import fairness
from deniable_papers.studies.applications.fairness import attribute, model
from deniable_papers.studies.applications.fairness.cases import CASES
from deniable_papers.studies.applications.fairness.model import DROPPED, RAW, Fit, divide_budget, fit_model
from deniable_papers.studies.applications.fairness.published import SAME, compare
from deniable_papers.studies.plot.fairness import plot_fairness


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """LSAC and attacks with five trees, in this process: quick, and not what was published."""
    monkeypatch.setitem(CASES, "lsac", replace(CASES["lsac"], settings={"n_estimators": 5}))
    monkeypatch.setattr(attribute, "_TREES", 5)

    def run_here(
        work: Callable[[Any], Any], tasks: Sequence[Any], progress: Any, _processes: Any
    ) -> Iterator[Any]:
        for done, task in enumerate(tasks, 1):
            yield work(task)
            progress(done, len(tasks))

    monkeypatch.setattr(fairness, "run_tasks", run_here)


def ask(mechanism: str, epsilon: float | None = None, seed: int = 0) -> Fit:
    return Fit("lsac", mechanism, epsilon, "uniform", seed, 1)


def test_raw_values_give_the_published_model_to_the_digit() -> None:
    found = dict(zip(model.METRICS, fit_model(ask(RAW)).metrics, strict=True))
    known = compare("lsac", RAW, None, "uniform", 1)
    assert known is not None
    for name, value in found.items():
        assert abs(value - known.published[name]) <= SAME == known.margin[name], name


@pytest.mark.parametrize(
    ("key", "runs", "means"),
    [
        (("adult", RAW, None), 5, (0.8149, 0.3706, 0.2171)),
        (("adult", "GRR", 0.25), 5, (0.8040, 0.3427, 0.1872)),
        (("lsac", "GRR", 1.0), 10, (0.9432, 0.0864, 0.0675)),
        (("acs", "GRR", 1.0), 3, (0.8151, 0.1260, 0.0759)),
    ],
)
def test_published_means_are_those_of_the_specification(
    key: tuple[str, str, float | None], runs: int, means: tuple[float, ...]
) -> None:
    known = compare(*key, "uniform", runs)
    assert known is not None
    assert [known.published[name] for name in ("acc", "spd", "eod")] == pytest.approx(means, abs=1.1e-4)
    assert compare(*key, "uniform", 21) is None
    if key[2] is not None:
        assert compare(*key, "k_based", runs) is None
        wider = compare(*key, "uniform", 1)
        assert wider is not None
        ratio = wider.margin["acc"] / known.margin["acc"]
        assert ratio == pytest.approx(np.sqrt((1 + 1 / 20) / (1 / runs + 1 / 20)))


def test_metrics_are_differences_between_the_groups() -> None:
    predicted, truth = np.array([1, 1, 0, 1, 0, 0, 1, 0]), np.array([1, 0, 1, 1, 1, 0, 1, 0])
    group = np.array([1, 1, 1, 1, 0, 0, 0, 0])
    found = dict(zip(model.METRICS, model._measure(predicted, truth, group), strict=True))
    wanted = {"acc": 5 / 8, "f1": 2 / 3, "spd": 0.5, "di": 1 / 3, "eod": 2 / 3 - 1 / 2, "oad": -0.25}
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize(("mechanism", "epsilon"), [("GRR", 1.0), ("OUE", 4.0)])
def test_only_the_sensitive_inputs_are_sanitized(mechanism: str, epsilon: float) -> None:
    case = CASES["lsac"]
    train, _ = model.split_people(case, 0)
    raw = model.encode_raw(case, train)
    found, loss = model._sanitize(case, ask(mechanism, epsilon), train)
    assert found.shape == raw.shape == (16_341, 5 + 2 + 2 + 2 + 37 + 6)
    assert np.array_equal(found[:, 11:], raw[:, 11:])  # lsat and ugpa
    assert not np.array_equal(found[:, :11], raw[:, :11])
    if mechanism == "GRR":
        assert (found[:, :5].sum(axis=1) == 1).all()
    assert loss is not None
    assert epsilon - 1e-9 < loss <= epsilon
    other, _ = model._sanitize(case, ask(mechanism, epsilon, seed=1), train)
    assert not np.array_equal(other, found)  # each split has noise of its own
    assert model.encode_raw(case, train, dropped=True).shape == (16_341, 37 + 6)


@pytest.mark.parametrize("epsilon", [0.25, 0.3, 1.0, 10.0])
def test_budgets_are_divided_and_never_exceeded(epsilon: float) -> None:
    for ks in ([5, 2, 2, 2], [74, 41, 2, 5]):
        equal, by_values = (divide_budget(ks, epsilon, split) for split in fairness.SPLITS)
        assert list(equal.values()) == pytest.approx([epsilon / 4] * 4)
        assert list(by_values.values()) == pytest.approx([epsilon * k / sum(ks) for k in ks])
        assert max(sum(one.values()) for one in (equal, by_values)) <= epsilon * (1 + 1e-15)


@pytest.mark.usefixtures("small")
def test_baselines_are_always_there_and_differences_are_seen() -> None:
    rows = list(fairness.reproduce(["LSAC"], ["grr"], [1.0], runs=2, progress=lambda *_: None))
    models = [row for row in rows if isinstance(row, fairness.FairnessPoint)]
    assert [(row.mechanism, row.epsilon, row.loss is None) for row in models] == [
        (RAW, None, True),
        (DROPPED, None, False),
        ("GRR", 1.0, False),
    ]
    assert models[1].loss == 0.0
    assert models[0].differs  # five trees are not the published model
    assert models[1].published is None
    attacks = [row for row in rows if isinstance(row, fairness.AttributePoint)]
    assert [row.attribute for row in attacks] == ["race1", "gender", "fulltime"]
    assert all(row.accuracy > row.blind - 0.01 and row.auc > 0.55 for row in attacks)
    told = str(fairness.describe_guarantee("lsac", rows))
    assert "true (for one record): the same, given all other columns: the exact losses are 1 (GRR 1)" in told
    assert "race1: the other inputs alone find it in 94." in told
    assert [axes.get_title("left") for axes in plot_fairness(rows).axes] == [
        "lsac: accuracy",
        "lsac: parity difference (SPD)",
    ]


@pytest.mark.usefixtures("small")
def test_the_command_prints_and_writes_the_same(tmp_path: Path) -> None:
    asked = ["fairness", "--quick", "--runs", "1", "--epsilons", "1"]
    shown = CliRunner().invoke(reproduce_paper, asked)
    assert shown.exit_code == 0, shown.output
    assert "published: epsilon-LDP for the sensitive attributes" in shown.output
    assert "(raw values: 0.0005): 2 of 2 points" in shown.output
    figures = ["--json", "--plot", str(tmp_path / "fair.svg"), "--figures", str(tmp_path / "all")]
    printed = CliRunner().invoke(reproduce_paper, [*asked, *figures])
    assert "published: epsilon-LDP for the sensitive attributes" in printed.stderr
    rows = json.loads(printed.stdout)
    wanted = {
        "dataset",
        "mechanism",
        "epsilon",
        "split",
        "runs",
        "acc",
        "spd",
        "di",
        "eod",
        "oad",
        "f1",
        "loss",
    }
    assert all(wanted <= set(row) for row in rows)
    attacks = [row for row in rows if row["kind"] == "attack"]
    assert {(row["mechanism"], row["epsilon"], row["acc"]) for row in attacks} == {("attack", None, None)}
    assert {row["kind"] for row in rows} == {"model", "attack"}
    assert (tmp_path / "fair.svg").stat().st_size > 1000
    assert {file.name for file in (tmp_path / "all").iterdir()} == {"lsac.pdf", "lsac.svg", "lsac.png"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"datasets": ["lsca"]}, "'lsca' is not a table of this study .*did you mean 'lsac'"),
        ({"mechanisms": ["GRRR"]}, "'GRRR' is not a mechanism"),
        ({"mechanisms": ["SHE"]}, "'SHE' is not a mechanism"),
        ({"epsilons": [0.0]}, "epsilon"),
        ({"split": "equal"}, "'equal' is not a split of the budget"),
        ({"runs": 0}, "runs"),
    ],
)
def test_wrong_options_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        fairness.reproduce(**given)


def test_tables_whose_files_are_missing_are_left_out(
    alone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("deniable_papers.studies.applications.fairness.cases._load", data.load)  # not kept
    carried = Path(published_files.__file__).parent / "files" / "lsac.csv.xz"
    (alone / carried.name).write_bytes(carried.read_bytes())
    [tables, *_] = reproduce_fairness.EXPERIMENT.sizes
    assert tables.choose({}, is_quick=False) == ["lsac"]
    told = capsys.readouterr().err.splitlines()
    assert [line.split(" is not here")[0] for line in told] == [
        "left out, adult: adult-26k.csv",
        "left out, acs: acs-coverage.csv",
    ]
