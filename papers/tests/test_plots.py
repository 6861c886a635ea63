"""Plots of sweeps and histograms show the numbers of the rows and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer

import deniable as dn
from deniable_papers.simulate import drawn, plot, population
from deniable_papers.simulate.measure import SweepCell, sweep

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
        assert wanted in " ".join(shown.split())
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


def test_nothing_to_plot_and_too_much_to_plot_are_refused(rows: list[SweepCell]) -> None:
    with pytest.raises(dn.InvalidParameter, match="every row was refused"):
        plot.error_plot([replace(row, refused="no") for row in rows])
    with pytest.raises(dn.InvalidParameter, match="room for 12 choices of k and n, got 13"):
        plot.error_plot([replace(rows[0], n=n) for n in range(1, 14)])
