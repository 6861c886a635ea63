"""Plots show the numbers of the rows and nothing else, are the same every time, and can be read
by everybody.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer

import deniable as dn
from deniable.errors import suggest_install
from deniable.results import Estimates
from deniable.simulate import plot, population
from deniable.simulate import tallies as drawn
from deniable.simulate.measure import SweepCell, sweep
from deniable.study.result import Result
from tests.cases import by_night

NAMES = ["grr", "oue", "hr"]
EPSILONS = [0.5, 1.0, 2.0]


@pytest.fixture(scope="module")
def rows() -> list[SweepCell]:
    return list(sweep(NAMES, EPSILONS, [10], [1000], population.zipf, repeats=4, seed=9))


@pytest.fixture(scope="module")
def estimate() -> dn.Estimate:
    mechanism = dn.grr(4, 1.0)
    return mechanism.estimate(
        drawn.draw_tally(mechanism, np.array([50, 30, 15, 5]), np.random.default_rng(1))
    )


def heights(line: Any) -> list[float]:
    return [float(y) for y in line.get_ydata()]


def texts(figure: Any) -> str:
    return "\n".join(item.get_text() for item in figure.findobj(lambda item: hasattr(item, "get_text")))


def test_errors_are_plotted_where_the_rows_say(rows: list[SweepCell]) -> None:
    axes = plot.error_plot(rows).axes[0]
    points = {
        bars.get_label(): bars.lines[0] for bars in axes.containers if isinstance(bars, ErrorbarContainer)
    }
    assert set(points) == set(NAMES)
    for name in NAMES:
        mine = [row for row in rows if row.protocol == name]
        assert [float(x) for x in np.asarray(points[name].get_xdata())] == EPSILONS
        assert heights(points[name]) == [row.metrics["mse"].mean for row in mine]
        lines = [heights(line) for line in axes.lines]
        assert [row.expected_mse for row in mine] in lines
    assert axes.get_yscale() == "log"
    assert len({to_hex(line.get_color()) for line in points.values()}) == 3


def test_titles_and_axes_say_what_is_shown(rows: list[SweepCell]) -> None:
    shown = texts(plot.error_plot([replace(row, project="clip") for row in rows]))
    for wanted in (
        "k = 10 values",
        "n = 1,000 people",
        "4 repeats",
        "seed 9",
        "zipf:1",
        "after clip",
        "epsilon (nats)",
        *NAMES,
    ):
        assert wanted in shown
    assert "mean squared error" in shown


def test_attacks_lie_between_blind_guessing_and_the_limit(rows: list[SweepCell]) -> None:
    axes = plot.attack_plot(rows).axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    assert set(lines) == {*NAMES, "upper limit", "blind, 1 / k"}
    for name in NAMES:
        assert heights(lines[name]) == [row.success for row in rows if row.protocol == name]
        limit = np.interp(
            EPSILONS, np.asarray(lines["upper limit"].get_xdata()), heights(lines["upper limit"])
        )
        assert (np.array(heights(lines[name])) <= limit * 1.001).all()
    assert set(heights(lines["blind, 1 / k"])) == {0.1}


def test_the_histogram_shows_truth_estimates_and_intervals(estimate: dn.Estimate) -> None:
    truth = [0.5, 0.3, 0.15, 0.05]
    figure = plot.histogram_plot(estimate, truth, ["a", "b", "<c>", "d"], ", seed 1")
    axes = figure.axes[0]
    bars = next(item for item in axes.containers if isinstance(item, BarContainer))
    assert [bar.get_height() for bar in bars] == truth
    points = next(item for item in axes.containers if isinstance(item, ErrorbarContainer))
    assert heights(points.lines[0]) == list(estimate.frequencies)
    ends = np.array([segment[:, 1] for segment in points.lines[2][0].get_segments()])
    assert np.allclose(ends, np.stack(estimate.interval(0.95), axis=1))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b", "<c>", "d"]
    for wanted in ("n = 100 people", "k = 4 values", "seed 1", "95 % interval", "truth", "share of people"):
        assert wanted in texts(figure)


def test_values_without_names_are_whole_numbers(estimate: dn.Estimate) -> None:
    figure = plot.histogram_plot(estimate, [0.25] * 4)
    figure.draw_without_rendering()
    ticks = figure.axes[0].get_xticks()
    assert [one for one in ticks if -0.5 < one < 3.5] == [0, 1, 2, 3]


def test_every_k_and_n_has_a_panel_and_a_protocol_one_color() -> None:
    some = list(sweep(["ss", "grr"], [1.0], [4, 70_000], [100], population.uniform, repeats=1))
    figure = plot.error_plot(some)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "k = 4 values, n = 100 people",
        "k = 70,000 values, n = 100 people",
    ]
    colors = [
        {
            bars.get_label(): to_hex(bars.lines[0].get_color())
            for bars in axes.containers
            if isinstance(bars, ErrorbarContainer)
        }
        for axes in figure.axes
    ]
    assert set(colors[0]) == {"ss", "grr"}
    assert colors[1] == {"grr": colors[0]["grr"]}  # ss is refused at this k, which moves nobody's color


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


def test_nothing_to_plot_and_too_much_to_plot_are_refused(rows: list[SweepCell]) -> None:
    with pytest.raises(dn.InvalidParameter, match="every row was refused"):
        plot.error_plot([replace(row, refused="no") for row in rows])
    with pytest.raises(dn.InvalidParameter, match="room for 12 choices of k and n, got 13"):
        plot.error_plot([replace(rows[0], n=n) for n in range(1, 14)])


@by_night(
    ("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".PDF", b"%PDF")], (".svg", b"<?xml")
)
def test_files_are_the_same_every_time(
    suffix: str, start: bytes, rows: list[SweepCell], tmp_path: Path
) -> None:
    one, two = (
        plot.save(plot.error_plot(rows), tmp_path / "new" / f"{name}{suffix}").read_bytes() for name in "ab"
    )
    assert one.startswith(start)
    assert one == two


def test_other_endings_are_refused(estimate: dn.Estimate, tmp_path: Path) -> None:
    with pytest.raises(dn.InvalidParameter, match=r"ending in \.png, \.svg, \.pdf; got 'x\.gif'"):
        plot.save(plot.histogram_plot(estimate, [0.25] * 4), tmp_path / "x.gif")
    assert not list(tmp_path.iterdir())


def test_a_drawing_in_a_page_has_the_pages_ink_a_description_and_ids_of_its_own(
    rows: list[SweepCell],
) -> None:
    drawings = [plot.inline_svg(plot.error_plot(rows), name, 'what "it" <shows>') for name in ("one", "two")]
    ids: list[str] = []
    for name, drawing in zip(("one", "two"), drawings, strict=True):
        root = ElementTree.fromstring(drawing)
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"] == 'what "it" <shows>'
        mine = [item.attrib["id"] for item in root.iter() if "id" in item.attrib]
        assert all(identity.startswith(f"{name}-") for identity in mine)
        referred = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', drawing))
        assert referred
        assert referred <= set(mine)
        ids += mine
        assert plot.INK not in drawing
        assert "currentColor" in drawing
    assert len(ids) == len(set(ids))


def test_without_the_library_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    plot.require_matplotlib()
    monkeypatch.setattr("deniable.plot.figure.find_spec", lambda _: None)
    with pytest.raises(
        dn.DeniableError,
        match=f"^plots need matplotlib; install it with: {re.escape(suggest_install('plot'))}$",
    ):
        plot.require_matplotlib()
    estimate = dn.grr(3, 1.0).estimate(dn.Tally(10, np.array([5, 3, 2])))
    with pytest.raises(dn.DeniableError, match=r"^plots need matplotlib; install it"):
        Result(Estimates("0" * 64, 10, {"color": estimate})).plot()


def test_global_state_is_left_alone() -> None:
    code = """
import sys
import matplotlib
before = matplotlib.rcParams.copy()
from deniable import grr
from deniable.simulate import plot
from deniable.mechanisms import Tally
plot.inline_svg(plot.histogram_plot(grr(2, 1.0).estimate(Tally(9, [3, 6])), [0.5, 0.5]), "x", "y")
assert matplotlib.rcParams.copy() == before
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)
