"""How results print, what a notebook shows of them, and what their plots draw."""

from __future__ import annotations

import math
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
from deniable.plot.charts import Bars, Line, plot_bars
from deniable.plot.looks import BLUE, looks
from deniable.results import Estimates
from deniable.study.result import Result
from tests.cases import by_night
from tests.running import Run

N = 4000
MECHANISM = dn.oue(6, 1.0)
TALLY = MECHANISM.tally(MECHANISM.privatize(np.arange(N) % 3, dn.seeded(1)))


def lengths(figure: Any) -> list[float]:
    """How long the bars of the first axes are, from top to bottom."""
    return [float(patch.get_width()) for patch in figure.axes[0].patches]


def texts(figure: Any) -> str:
    """All that is written in a figure."""
    import matplotlib.text

    return " ".join(str(one.get_text()) for one in figure.findobj(matplotlib.text.Text))


def test_a_plot_of_an_estimate_draws_its_shares_and_intervals() -> None:
    estimate = MECHANISM.estimate(TALLY)
    figure: Any = estimate.plot(level=0.9)
    np.testing.assert_allclose(lengths(figure), estimate.frequencies)
    segments = figure.axes[0].collections[0].get_segments()
    drawn = np.array([segment[:, 0] for segment in segments])
    np.testing.assert_allclose(drawn, np.stack(estimate.interval(0.9), axis=1))
    assert "4,000 reports: estimated shares with 90 % intervals" in texts(figure)


@pytest.mark.long
def test_a_plot_of_likely_shares_has_intervals_only_where_they_are_asked_for() -> None:
    likely = dn.mle(MECHANISM, TALLY)
    np.testing.assert_allclose(lengths(likely.plot()), likely.frequencies)
    assert not likely.plot().axes[0].collections
    assert likely.plot(0.9).axes[0].collections


def test_a_plot_of_a_mean_draws_it_with_its_interval_on_its_line() -> None:
    m = dn.metric.piecewise(2.0)
    mean = m.estimate(m.tally(m.privatize(np.full(N, 0.5), dn.seeded(1)))).between(0, 100)
    figure: Any = mean.plot(level=0.9)
    axes = figure.axes[0]
    np.testing.assert_allclose(axes.collections[0].get_segments()[0][:, 0], mean.interval(0.9))
    assert axes.lines[0].get_xdata()[0] == mean.mean
    assert axes.get_xlim() == (0.0, 100.0)
    assert "4,000 reports: estimated mean with its 90 % interval" in texts(figure)


def test_of_very_many_bars_the_largest_are_plotted() -> None:
    values = np.arange(100) / 100
    figure = plot_bars(range(100), [Bars(values)], "All", "share")
    assert lengths(figure) == values[-40:].tolist()
    assert "All; the 40 largest of 100" in texts(figure)


def test_bars_side_by_side_have_a_legend_and_a_line() -> None:
    bars = [Bars(np.array([0.1, 0.2]), "blind"), Bars(np.array([0.3, 0.4]), "report")]
    words = texts(plot_bars(["a", "b" * 60], bars, "Guesses", "right", line=Line(0.5, "cap")))
    for word in ("blind", "report", "cap", "b" * 47 + "…"):
        assert word in words


@pytest.mark.parametrize("line", [None, Line(0.3, "the share of all people")])
@pytest.mark.parametrize(
    "names", [["yes", "no"], [f"{i} to under {i + 1}" for i in range(54, 59)], ["w" * 90] * 4]
)
def test_a_legend_of_many_names_stays_inside_and_below_the_axis(names: list[str], line: Line | None) -> None:
    bars = [Bars(np.array([0.2, 0.4]), name) for name in names]
    figure: Any = plot_bars(["f", "m"], bars, "Waiting", "share of people", line=line)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert len(legend.get_texts()) == len(bars) + (line is not None)
    box, inner = legend.get_window_extent(), figure.bbox
    assert 0 <= box.x0 < box.x1 <= inner.x1
    assert 0 <= box.y0 < box.y1 <= figure.axes[0].xaxis.label.get_window_extent().y0


def test_changes_are_drawn_in_points() -> None:
    plan = dn.Study({"color": ["red", "blue"]}, epsilon=1.0).plan(people=1000)
    first, later = (
        plan.estimate(plan.tally(plan.privatize({"color": ["red", "blue"] * 500}, dn.seeded(i))))
        for i in (1, 2)
    )
    figure: Any = later.change(first)["color"].plot()
    assert "in points" in texts(figure)
    assert figure.axes[0].xaxis.get_major_formatter()(0.07, 0) == "7"
    shares: Any = MECHANISM.estimate(TALLY).plot()
    assert shares.axes[0].xaxis.get_major_formatter()(0.07, 0) == "7 %"


def test_losses_of_many_reports_print_what_has_a_bound() -> None:
    losses = dn.rounds.l_sue(10, 1.0, 2.0).losses(reports=5, rounds=3)
    assert str(losses) == losses.explain()
    endless = dn.rounds.dbitflip(10, 1.0, 2).losses()
    assert math.isinf(endless.changing_values)
    assert "no bound: nothing is fresh" in str(endless)


def test_losses_of_a_plan_print_one_line_for_each_guarantee() -> None:
    ages = dn.Range(0, 100, step=5, privacy="metric", epsilon=0.1)
    loss = dn.Study({"color": ["red", "green"], "age": ages}, epsilon=1.0).plan(10_000).loss
    assert str(loss).splitlines()[:2] == ["0.5000 per step of 'age'", "1.0000 for all other attributes"]
    assert str(loss).count("at worst") == 2


def test_summaries_print_with_their_ends() -> None:
    mean = dn.summaries.mean_of(MECHANISM.estimate(TALLY), np.arange(6))
    assert (
        str(mean)
        == f"{mean.value:.6g}, from {mean.low:.6g} to {mean.high:.6g} (standard error {mean.stderr:.2g})"
    )
    assert str(dn.summaries.Summary(1.0, 0.5, 0.0, 2.0, within=2.5)).endswith(
        "; bins add up to 2.5 either way"
    )
    assert "beyond the open end" in str(dn.summaries.Summary(1.0, 0.5, 0.0, math.inf))
    assert (
        str(dn.summaries.Summary(1.0, math.nan, math.nan, math.nan)) == "1 (smoothed, so without error bars)"
    )


def test_a_mean_prints_with_its_interval() -> None:
    mean = dn.metric.MeanEstimate(100, 5.0, 1.0)
    low, high = mean.interval()
    assert str(mean) == f"mean 5, from {low:.6g} to {high:.6g} with 95 % confidence (100 reports)"


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_a_plot_refuses_levels_that_are_none(level: float) -> None:
    with pytest.raises(dn.InvalidParameter, match="a confidence level"):
        MECHANISM.estimate(TALLY).plot(level)


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


@pytest.mark.long
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
