"""A week of visits: what reports lose is counted from the reports, and errors are the stated ones."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sizes import MOBILE_PEOPLE, MOBILE_RUNS

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable_papers.reproduce import reproduce_paper
from deniable_papers.studies.applications import mobility
from deniable_papers.studies.applications.mobility import reports
from deniable_papers.studies.applications.mobility.losses import WeekLoss, count_losses
from deniable_papers.studies.applications.mobility.reports import Method, Noise, make_reports, measure_errors
from deniable_papers.studies.applications.mobility.week import DURATION, Week
from deniable_papers.studies.plot.mobility import plot_mobility

KS = (2, 7, 12, 22, 11, 10)


def make_week(people: int = MOBILE_PEOPLE, seed: int = 1) -> Week:
    """People whose durations change from day to day, and whose other values do not."""
    rng = np.random.default_rng(seed)
    there = rng.random((people, 7)) < 0.3
    there[np.arange(people), rng.integers(0, 7, people)] = True
    there[0] = True
    person, day = np.nonzero(there)
    static = np.column_stack([rng.integers(0, k, people) for k in KS[:DURATION]])
    durations = rng.integers(0, KS[DURATION], person.size)
    return Week(person, day, np.column_stack([static[person], durations]), KS)


def lose(method: Method, noise: Noise, epsilon: float = 1.0) -> WeekLoss:
    week = make_week()
    return count_losses(week, make_reports(week, method, noise, epsilon, seed=2))


def test_fresh_noise_loses_epsilon_at_each_visit() -> None:
    week = make_week()
    most, mean = int(week.visits_of.max()), float(week.visits_of.mean())
    assert most == 7
    for found in (lose("sample", "fresh"), lose("split", "fresh")):
        assert found.worst == pytest.approx(7, rel=1e-8)
        assert found.mean == pytest.approx(mean, rel=1e-6)
    assert 1 - 1e-7 < lose("sample", "seventh").worst <= 1


def test_noise_that_is_kept_by_value_has_no_bound_if_values_change() -> None:
    assert lose("sample", "kept").worst == math.inf
    constant = make_week()
    values = constant.values.copy()
    first = np.unique(constant.person, return_index=True)[1]
    values[:, DURATION] = values[first, DURATION][constant.person]
    week = Week(constant.person, constant.day, values, KS)
    made = make_reports(week, "sample", "kept", 1.0, seed=2)
    found = count_losses(week, made)
    assert found.worst == math.inf  # a duration could have changed, though none did
    assert found.mean == pytest.approx(1)
    assert 1 - 1e-7 < count_losses(week, made[:DURATION]).worst <= 1


def test_fresh_noise_that_does_not_show_is_counted_as_fresh() -> None:
    """With a large epsilon all reports are true, so that no two of one value differ."""
    found = lose("sample", "fresh", 40.0)
    assert 7 * 40 - 0.01 < found.worst <= 7 * 40


def test_a_memory_that_forgets_is_found_by_what_it_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault is the published one: the noise that should be kept is drawn again."""
    kept = lose("sample", "kept")

    def forget(_person: Integers, values: Integers, _k: int, report: object) -> object:
        return report(values)  # type: ignore[operator]

    monkeypatch.setattr(reports, "remember", forget)
    forgotten = lose("sample", "kept")
    assert 7 - 1e-7 < forgotten.worst <= 7
    assert forgotten.mean > 1.5 * kept.mean


def test_two_buckets_lose_less_than_two_rounds_of_ten_values() -> None:
    """Both have a bound for any change; what does not change loses epsilon."""
    for epsilon in (0.5, 1.0, 4.0):
        rounds, buckets = (lose("sample", noise, epsilon).worst for noise in ("two rounds", "two buckets"))
        assert buckets < rounds < math.inf
        assert buckets < 7 * epsilon
    assert lose("sample", "two rounds", 0.5).worst > 7 * 0.5  # more than fresh noise


def test_errors_are_those_of_the_estimates() -> None:
    """With a large epsilon all reports are true, and what is left is the choice of one attribute."""
    week = make_week()
    true = measure_errors(week, make_reports(week, "split", "fresh", 240.0, seed=3))
    assert max(true.values()) < 1e-9
    sampled = measure_errors(week, make_reports(week, "sample", "fresh", 40.0, seed=3))
    alone = reports.measure_sampling(week, seed=3)
    assert sampled["norm-sub"] == pytest.approx(alone, rel=1e-6)
    assert reports.measure_uniform(week) < alone  # these people are uniform


def test_errors_are_within_the_margins_of_the_specification_and_of_the_paper() -> None:
    rows = list(mobility.reproduce(["sample"], [2.0], runs=MOBILE_RUNS, processes=1))
    assert [row.consistency for row in rows] == ["norm-sub", "clip"]
    assert not any(row.differs or row.differs_from_paper for row in rows)
    assert rows[1].stated == 0.0091
    assert rows[1].paper == 0.0103
    other = next(mobility.reproduce(["seventh"], [2.0], runs=1, processes=1))
    assert abs(other.rmse / 0.0083 - 1) > 5  # a seventh of epsilon would be seen
    texts = [str(one) for _, one in mobility.state_guarantees()]
    assert "2.15 epsilon on average, up to 7 epsilon" in texts[0]
    assert "1.9 on average, up to 7; 53 % of people have several" in texts[1]


def test_the_command_prints_draws_and_writes(tmp_path: Path) -> None:
    asked = ["mobility", "--method", "kept", "--epsilons", "4", "--runs", "1"]
    written = tmp_path / "week.json"
    drawn = tmp_path / "week.svg"
    shown = CliRunner().invoke(reproduce_paper, [*asked, "--plot", str(drawn), "-o", str(written)])
    assert shown.exit_code == 0, shown.output
    assert "no bound" in shown.output
    assert "not protected: on which days a person is there" in shown.output
    assert drawn.stat().st_size > 1000
    rows = json.loads(written.read_text())
    assert [row["loss"] for row in rows] == [None, None]
    assert rows[0]["rmse"] == pytest.approx(0.0036, rel=0.2)


def test_lines_that_lose_the_same_are_all_seen() -> None:
    """Sample and split both lose seven times epsilon: the one below is wider, and both are named."""
    point = mobility.MobilityPoint(
        method="sample",
        noise="fresh",
        consistency="clip",
        epsilon=1.0,
        rmse=0.1,
        stderr=None,
        loss=7.0,
        loss_mean=2.0,
        people=10,
        runs=1,
        seed=1,
    )
    rows = [replace(point, epsilon=epsilon, loss=7 * epsilon) for epsilon in (1.0, 2.0)]
    rows += [replace(row, method="split") for row in rows]
    axes = plot_mobility(rows).axes[-1]
    widths = [line.get_linewidth() for line in axes.get_lines() if line.get_linestyle() == "-"]
    assert len(widths) == 2
    assert widths[0] > widths[1]
    assert "sample\nsplit" in [text.get_text() for text in axes.texts]


def test_a_day_alone_loses_epsilon_and_errs_as_few_people_do() -> None:
    """Of 87,098 people some 27,000 are there on a day: a share errs about twice as much as in all 28 unions.

    The median day errs by 0.028 and 0.034 over runs, whose standard deviation is 0.003.
    """
    rows = list(mobility.reproduce(runs=2, parts=["day"]))
    assert [row.figure for row in rows[::2]] == [f"day {day}" for day in range(1, 8)]
    assert {row.loss for row in rows} == {1.0}
    assert all(10_000 < row.people < 87_098 for row in rows)
    for step, expected in (("norm-sub", 0.028), ("clip", 0.034)):
        errors = [row.rmse for row in rows if row.consistency == step]
        assert np.median(errors) == pytest.approx(expected, abs=0.006)
    [panel] = plot_mobility(rows).axes
    assert panel.get_xlabel() == "day of the week"
    with pytest.raises(InvalidParameter, match="'month' is not a part of this study"):
        next(mobility.reproduce(parts=["month"]))


def test_wrong_methods_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="'keep' is not a method of this study"):
        next(mobility.reproduce(["keep"]))
    with pytest.raises(InvalidParameter, match="nothing to plot"):
        plot_mobility([])
