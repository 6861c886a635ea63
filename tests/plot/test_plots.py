"""Plots of results are drawn in order, are the same every time, and leave matplotlib's state alone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.errors import suggest_install
from deniable.plot import figure as plot
from deniable.plot.looks import BLUE, looks
from deniable.results import Estimates
from deniable.study.result import Result
from tests.cases import by_night
from tests.running import Run

COLORS = Result(
    Estimates("0" * 64, 10, {"color": dn.grr(3, 1.0).estimate(dn.Tally(10, np.array([5, 3, 2])))})
)


LONG = "How do you usually get to work on an ordinary weekday morning, all things considered?"


def test_shares_are_plotted_in_the_order_of_the_plan_with_bars_of_one_thickness() -> None:
    asked: dict[str, Any] = {
        LONG: ["car", "train", "bus"],
        "age": dn.Range(0, 100, step=5),
        "income": dn.Number(0, 5000),
        "town": [f"a rather long name of a town, {i}" for i in range(8)],
        "late": ["yes", "no"],
    }
    plan = dn.Study(asked, epsilon=8.0, title=" ".join(["A title"] * 30)).plan(people=500)
    answers = {
        LONG: ["car"] * 500,
        "age": [3] * 500,
        "income": [10] * 500,
        "town": asked["town"][:5] * 100,
        "late": ["no"] * 500,
    }
    figure = plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(3)))).plot()
    titles = [" ".join(axes.get_title(loc="left").split()) for axes in figure.axes]
    assert [title.rpartition(":")[0] for title in titles] == list(asked)
    figure.canvas.draw()
    boxes = [axes.get_window_extent() for axes in figure.axes]
    order = sorted(range(len(boxes)), key=lambda i: (round(boxes[i].x0), -boxes[i].y0))
    assert order == list(range(len(boxes))), "down one column, then the next"
    bars = [patch.get_window_extent().height for axes in figure.axes for patch in axes.patches]
    assert len(bars) == 3 + 20 + 8 + 2
    assert max(bars) - min(bars) < 0.01 * max(bars)
    page = figure.bbox
    drawn = [axes.get_tightbbox() for axes in figure.axes] + [
        text.get_window_extent() for text in figure.texts
    ]
    for one in drawn:
        assert one is not None
        assert page.x0 <= one.x0 <= one.x1 <= page.x1
        assert page.y0 <= one.y0 <= one.y1 <= page.y1
    for i, one in enumerate(drawn):
        assert not any(one.overlaps(other) for other in drawn[:i] if other is not None and one is not None)


@by_night(
    ("suffix", "start"),
    [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".PDF", b"%PDF")],
    (".png", b"\x89PNG"),
    (".PDF", b"%PDF"),
)
def test_files_are_the_same_every_time(suffix: str, start: bytes, tmp_path: Path) -> None:
    one, two = (plot.save(COLORS.plot(), tmp_path / "new" / f"{name}{suffix}").read_bytes() for name in "ab")
    assert one.startswith(start)
    assert one == two


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(dn.InvalidParameter, match=r"ending in \.png, \.svg, \.pdf; got 'x\.gif'"):
        plot.save(COLORS.plot(), tmp_path / "x.gif")
    assert not list(tmp_path.iterdir())


def test_without_the_library_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    plot.require_matplotlib()
    monkeypatch.setattr("deniable.plot.figure.find_spec", lambda _: None)
    with pytest.raises(
        dn.DeniableError,
        match=f"^plots need matplotlib; install it with: {re.escape(suggest_install('plot'))}$",
    ):
        plot.require_matplotlib()
    with pytest.raises(dn.DeniableError, match=r"^plots need matplotlib; install it"):
        COLORS.plot()


def test_global_state_is_left_alone(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
import matplotlib
before = matplotlib.rcParams.copy()
import deniable as dn
from deniable.plot.figure import save
plan = dn.Study({"late": ["yes", "no"]}, epsilon=1.0).plan(people=9)
reports = plan.privatize({"late": ["yes"] * 9}, dn.seeded(1))
save(plan.estimate(plan.tally(reports)).plot(), Path(sys.argv[1]))
assert matplotlib.rcParams.copy() == before
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path / "x.svg")], check=True, timeout=60
    )


def test_other_names_take_what_is_left() -> None:
    found = looks(["grr", *(f"other {i}" for i in range(70))], {"grr": (BLUE, "o")})
    pairs = [(look["color"], look["marker"]) for look in found.values()]
    assert len(set(pairs[:56])) == 56
    assert all(one != pairs[0] for one in pairs[1:56])


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
