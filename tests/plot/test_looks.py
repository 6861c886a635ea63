"""Figures for print: a look per method that never changes, bars that stay in their panel, files by figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from deniable.plot.charts import Curve, draw_curves
from deniable.plot.looks import BLUE, looks
from tests.running import Run


def test_other_names_take_what_is_left() -> None:
    found = looks(["grr", *(f"other {i}" for i in range(70))], {"grr": (BLUE, "o")})
    pairs = [(look["color"], look["marker"]) for look in found.values()]
    assert len(set(pairs[:56])) == 56
    assert all(one != pairs[0] for one in pairs[1:56])


@pytest.mark.parametrize("log", [True, False])
def test_bars_stay_in_their_panel_and_end_in_arrows(log: bool) -> None:
    axes = Figure().subplots()
    look: dict[str, Any] = looks(["grr"])["grr"]
    curve = Curve([1, 2, 3, 4], [0.5, 0.01, 0.2, 0.0], [0.05, 0.5, 0.19, 0.1], "grr", look)
    low = 0.001 if log else 0.0
    draw_curves(axes, [curve], (low, 0.6), log=log)
    container: Any = axes.containers[0]
    segments = [piece for piece in container.lines[2][0].get_segments() if piece.ndim == 2]
    ends = np.array([piece[:, 1] for piece in segments])
    assert ends.min() >= low
    assert ends.max() <= 0.6
    below = {line.get_marker(): np.asarray(line.get_xdata()).tolist() for line in axes.lines[1:]}
    arrows = {marker: at for marker, at in below.items() if marker in ("v", "^")}
    assert arrows == {"v": [2, 3, 4] if log else [2, 4]}
    if log:  # no bar is longer than to a quarter of its point
        assert (ends[:, 0] * 4.0001 >= [0.5, 0.01, 0.2]).all()


def test_every_attribute_has_files_of_its_own(run: Run) -> None:
    run("init", "study.toml", "--data", "data.csv")
    run("plan", "study.toml", "--people", "50_000", "-o", "plan.json")
    run("privatize", "plan.json", "data.csv", "-o", "r.parquet", "--seed", "1")
    made = run("estimate", "plan.json", "r.parquet", "--figures", "figures")
    assert made.code == 0, made.err
    names = sorted(path.name for path in Path("figures").iterdir())
    endings = (".pdf", ".png", ".svg")
    attributes = ("minutes", "satisfied", "transport")
    assert names == [f"{name}{ending}" for name in attributes for ending in endings]
    assert all(path.stat().st_size > 3000 for path in Path("figures").iterdir())
    again = run("estimate", "plan.json", "r.parquet", "--figures", "figures")
    assert (again.code, "holds files already" in again.err) == (2, True)
