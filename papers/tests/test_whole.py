"""The study of whole reports: its rows, its errors against what they average, and its command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from deniable_papers import data
from deniable_papers.data import Dataset
from deniable_papers.reproduce import reproduce_paper
from deniable_papers.studies import whole
from deniable_papers.studies.plot.whole import plot_gains


def few(n: int = 3000) -> Dataset:
    people = data.load("synthetic-1")
    generator = np.random.default_rng(1)
    skewed = np.minimum(generator.geometric(0.6, (n, people.d)) - 1, 9)
    return replace(people, name="few", table=skewed)


def test_rows_are_measured_and_depend_on_their_own_parameters() -> None:
    rows = list(whole.reproduce([few()], ["RS+FD[GRR]", "RS+RFD[GRR]"], [1.0, 4.0], runs=2))
    assert [(row.method, row.epsilon) for row in rows][:2] == [("RS+FD[GRR]", 1.0), ("RS+FD[GRR]", 4.0)]
    assert rows[1] == next(whole.reproduce([few()], ["RS+FD[GRR]"], [4.0], runs=2))
    for row in rows:
        assert row.refused is None
        assert row.mse_composite is not None
        assert row.mse_whole is not None
        assert row.gain == pytest.approx(1 - row.mse_whole / row.mse_composite)
        assert (row.gap or 1.0) < 1e-9
        assert (row.held or 0.0) > 0.8
    assert (rows[1].variance_gain or 0.0) > 0.1, "uniform fakes of skewed people can be told apart"
    assert abs(rows[3].variance_gain or 1.0) < 0.05, "fakes that look like people cannot"
    assert [axes.get_title() for axes in plot_gains(rows).axes]


def test_the_command_prints_and_writes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = few(500)
    monkeypatch.setattr(data, "load", lambda _: people)
    asked = ["whole", "--quick", "--dataset", "synthetic-1", "--method", "RS+FD[GRR]", "--epsilons", "2"]
    shown = CliRunner().invoke(reproduce_paper, asked)
    assert shown.exit_code == 0, shown.output
    assert "RS+FD[GRR]" in shown.output
    printed = CliRunner().invoke(reproduce_paper, [*asked, "--json", "--plot", str(tmp_path / "gains.svg")])
    [row] = json.loads(printed.stdout)
    assert f"{row['mse_whole']:.3g}" in shown.output
    assert (tmp_path / "gains.svg").stat().st_size > 1000
