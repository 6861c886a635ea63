"""What `deniable estimate` tells of a plan's tallies beside single shares: groups, means, quantiles, what is
most likely.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.plan import metric_mechanism
from deniable.reports import Tallies
from deniable.results.estimates import Estimates
from deniable.results.findings import Findings, FindingsRequest
from deniable.show.plot import plot_findings
from deniable.show.text import write_text
from deniable.study import Plan
from deniable.summaries import groups_of
from deniable.summaries.totals import weigh
from deniable_papers.simulate.drawn import draw_tally
from tests.running import Run, run_in
from tests.statistics import ESTIMATE_REPORTS, deviation

AGES = dn.Range(0, 100, step=1, privacy="metric", epsilon=0.5)
TOWN = dn.Grid(47.6, 6.8, 47.7, 6.95, rows=12, columns=12, epsilon=0.01)
STUDY = """
title = "Ages and locations"
epsilon = 1.0
mechanism = "split"
[attributes.smokes]
values = ["yes", "no"]
[attributes.age]
low = 0
high = 100
step = 1
privacy = "metric"
epsilon = 0.5
[attributes.income]
mean = true
low = 0
high = 10_000
"""
PLANAR = metric_mechanism(TOWN)
assert PLANAR is not None
MANY: dict[str, tuple[dn.mechanisms.SetMechanism | dn.metric.MetricMechanism, dn.Range]] = {
    "geometric": (dn.metric.geometric(99, 0.5), AGES),
    "grr": (dn.grr(100, 5.0), dn.Range(0, 100, step=1)),
    "oue": (dn.oue(100, 3.0), dn.Range(0, 100, step=1)),
    "olh": (dn.olh(40, 3.0), dn.Range(0, 40, step=1)),
}


def bell(k: int, n: int) -> Any:
    """People around a third of the way, and some everywhere: an output that nobody sent would count as one in
    an error.
    """
    shares = 0.1 + np.exp(-(((np.arange(k) - k / 3) / (k / 6)) ** 2))
    return np.random.default_rng(5).multinomial(n, shares / shares.sum())


@pytest.mark.parametrize("name", MANY)
def test_groups_are_sums_with_errors_of_their_own(name: str) -> None:
    mechanism, domain = MANY[name]
    people = bell(domain.k, ESTIMATE_REPORTS if name != "olh" else 20_000)
    estimate = mechanism.estimate(draw_tally(mechanism, people, np.random.default_rng(1)))
    groups = groups_of(estimate, domain)
    assert [v for group in groups for v in group.values.tolist()] == list(range(domain.k))
    assert 5 <= len(groups) <= 12
    for _, values, share in groups:
        chosen = np.isin(np.arange(domain.k), values).astype(np.float64)
        assert share.value == pytest.approx(weigh(estimate, chosen).value, abs=1e-12)
        deviation(share.value, people[values].sum() / people.sum(), share.stderr, f"a group by {name}")
        assert share.low < share.value < share.high
    if name == "geometric":  # neighbors err in opposite ways: a group errs less than independent bins would
        apart = [math.sqrt(float((estimate.stderr[group.values] ** 2).sum())) for group in groups]
        assert max(group.share.stderr / alone for group, alone in zip(groups, apart, strict=True)) < 0.5


@pytest.mark.parametrize(
    ("domain", "labels"),
    [
        (dn.Range(18, 98, step=1), ["18 to under 20", "20 to under 30", "90 to under 98"]),
        (dn.Range(0, 100, step=1, open_high=True), ["0 to under 10", "10 to under 20", "90 or more"]),
        (
            dn.Range(-5, 5, step=0.25, open_low=True),
            ["under -4.00", "-4.00 to under -3.00", "4.00 to under 5.00"],
        ),
        (dn.Range(1, 64, step=3), ["1 to under 10", "10 to under 19", "64"]),
        (dn.Range(0, 20, step=1), []),
    ],
)
def test_groups_begin_at_round_numbers(domain: dn.Range, labels: list[str]) -> None:
    mechanism = dn.grr(domain.k, 3.0)
    found = [
        group.label
        for group in groups_of(mechanism.estimate(draw_tally(mechanism, bell(domain.k, 1000), RNG)), domain)
    ]
    assert found[:2] == labels[:2]
    assert not labels or found[-1].endswith(labels[-1])


RNG = np.random.default_rng(3)


def test_blocks_of_a_grid() -> None:
    assert PLANAR is not None
    estimate = PLANAR.estimate(draw_tally(PLANAR, bell(144, 20_000), RNG))
    groups = groups_of(estimate, TOWN)
    assert len(groups) == 16
    assert groups[1].label == "47.6000 to 47.6250 N, 6.8375 to 6.8750 E"
    assert groups[1].values.tolist() == [row * 12 + column for row in range(3) for column in range(3, 6)]
    assert sorted(v for group in groups for v in group.values.tolist()) == list(range(144))
    assert TOWN.labels[0].startswith("47.6000 to 47.6083 N, ")


@pytest.mark.parametrize("side", [7, 9, 10, 11, 13, 14, 45])
def test_blocks_are_as_even_as_can_be(side: int) -> None:
    """Ten rows were cut into 3, 3, 3 and 1."""
    grid = dn.Grid(47.6, 6.8, 47.7, 6.95, rows=side, columns=8)
    m = dn.grr(grid.k, 3.0)
    groups = groups_of(m.estimate(draw_tally(m, np.full(grid.k, 5), np.random.default_rng(1))), grid)
    sizes = {group.values.size // 2 for group in groups}  # blocks are two columns wide
    assert max(sizes) - min(sizes) <= 1
    assert sorted(v for group in groups for v in group.values.tolist()) == list(range(grid.k))
    bins = dn.Range(0, 3 * side, step=3)
    if bins.k > 20:  # no round numbers: groups are cut evenly, too
        ages = dn.grr(bins.k, 3.0)
        found = groups_of(ages.estimate(draw_tally(ages, np.full(bins.k, 5), np.random.default_rng(1))), bins)
        widths = {group.values.size for group in found}
        assert max(widths) - min(widths) <= 1


def test_no_answer_stays_on_its_own_and_fakes_have_groups() -> None:
    ages = dn.Range(0, 50, step=1)
    plan = Plan.of({"age": ages}, dn.grr(51, 3.0), 100, missing="value")
    result = plan.estimate(Tallies(plan.id, 1000, {"age": draw_tally(dn.grr(51, 3.0), bell(51, 1000), RNG)}))
    assert groups_of(result["age"], ages)[-1].label == "no answer"
    assert groups_of(result["age"], ages)[-1].values.tolist() == [50]
    mechanism = dn.rsfd([50, 2], 1.0, "grr")
    faked = Plan.of({"age": ages, "smokes": ["yes", "no"]}, mechanism, 100)
    drawn = faked.privatize({"age": [1] * 500, "smokes": ["no"] * 500}, dn.seeded(1))
    first, *others = (group.share for group in groups_of(faked.estimate(faked.tally(drawn))["age"], ages))
    assert abs(first.value - 1) < 5 * first.stderr
    assert all(abs(other.value) < 5 * other.stderr for other in others)


TRUE_AGES = np.clip(np.random.default_rng(7).normal(40, 12, 5000), 0, 99).astype(int)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan and reports of it in files, which no test changes."""
    made = tmp_path_factory.mktemp("reported")
    lines = [f"{'yes' if age % 3 else 'no'},{age},{age * 90}" for age in TRUE_AGES]
    (made / "study.toml").write_text(STUDY, encoding="utf-8")
    (made / "data.csv").write_text("\n".join(["smokes,age,income", *lines]) + "\n", encoding="utf-8")
    assert run_in(made, "plan", "study.toml", "--people", "5000", "-o", "plan.json").code == 0
    assert run_in(made, "privatize", "plan.json", "data.csv", "-o", "r.parquet", "--seed", "1").code == 0
    return made


@pytest.fixture
def reported(run: Run, folder: Path) -> Run:
    """A command, in a copy of that folder."""
    shutil.copytree(folder, Path.cwd(), dirs_exist_ok=True)
    return run


def test_an_ordered_attribute_on_the_command_line(reported: Run) -> None:
    found = reported("estimate", "plan.json", "r.parquet", "--mle", "--smooth", "--quantile", "0.5,0.9")
    assert found.code == 0, found.err
    assert (
        "age (5,000 reports), smoothed shares: 100 values in 10 groups; --bins shows every one" in found.out
    )
    assert "40 to under 50" in found.out
    assert "40 to under 41" not in found.out
    for words in (
        "mean ",
        "median ",
        "quantile 0.9 ",
        "mle banded interior point, certified; log-likelihood per report within",
    ):
        assert words in found.out
    assert ", and up to 0.5 more either way, since answers are counted in bins" in next(
        line for line in found.out.splitlines() if line.strip().startswith("mean ")
    )
    assert "smoothed smoothed" not in found.out
    assert " passes of EM that give " in found.out or "EM stopped early, after " in found.out


@pytest.fixture(scope="module")
def findings(folder: Path) -> dict[str, Any]:
    """What `estimate` gives as JSON, with everything that it can add for an ordered attribute."""
    asked = ("estimate", "plan.json", "r.parquet", "--quantile", "0.5", "--mle", "--smooth", "--json")
    return dict(json.loads(run_in(folder, *asked).out))


def test_means_as_json(findings: dict[str, Any]) -> None:
    means = {one["attribute"]: one for one in findings["means"]}
    assert set(means) == {"age", "income"}
    assert means["age"]["low"] < TRUE_AGES.mean() + 0.5 < means["age"]["high"]
    assert (means["age"]["within"], means["income"]["within"]) == (0.5, 0)
    assert all((one["n"], one["level"]) == (5000, 0.95) for one in findings["means"])


def test_a_number_has_no_shares_and_is_in_means_only(findings: dict[str, Any]) -> None:
    assert {row["attribute"] for row in findings["rows"]} == {"smokes", "age"}
    assert "mean" not in findings["rows"][0]


def test_quantiles_as_json(findings: dict[str, Any]) -> None:
    (half,) = findings["quantiles"]
    assert (half["attribute"], half["share"], half["n"], half["level"]) == ("age", 0.5, 5000, 0.95)
    assert half["low"] <= np.median(TRUE_AGES) + 0.5 <= half["high"]


def test_groups_add_up_as_json(findings: dict[str, Any]) -> None:
    groups = findings["groups"]
    assert len(groups) == 10
    assert sum(one["mle"] for one in groups) == pytest.approx(1)
    assert sum(one["smoothed"] for one in groups) == pytest.approx(1)
    bins = [row for row in findings["rows"] if row["attribute"] == "age"]
    assert len(bins) == 100
    assert sum(row["smoothed"] for row in bins[40:50]) == pytest.approx(groups[4]["smoothed"])


def test_certificates_as_json(findings: dict[str, Any]) -> None:
    certificates = {(one["attribute"], one["of"]): one for one in findings["certificates"]}
    assert certificates["age", "mle"]["stop"] == "certified"
    assert certificates["age", "mle"]["gap"] <= 1e-9 < certificates["age", "smoothed"]["gap"]
    assert ("smokes", "smoothed") not in certificates


def test_smoothed_shares_err_less_than_half_as_much(findings: dict[str, Any]) -> None:
    bins = [row for row in findings["rows"] if row["attribute"] == "age"]
    truth = np.bincount(TRUE_AGES, minlength=100) / TRUE_AGES.size
    unbiased, smoothed = (np.array([row[of] for row in bins]) for of in ("unbiased", "smoothed"))
    assert np.abs(smoothed - truth).sum() < np.abs(unbiased - truth).sum() / 2


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (
            0.0,
            "smoothed EM stopped early, after 30 passes, chosen by held-out reports; neighbors are not "
            "averaged; log-",
        ),
        (
            0.2,
            "smoothed 30 passes of EM that give 0.2 of a share to either neighbor, chosen by held-out "
            "reports; log-",
        ),
    ],
)
def test_smoothing_is_described(weight: float, words: str) -> None:
    plan = dn.Study({"age": dn.Range(0, 30, step=1, privacy="metric", epsilon=1.0)}).plan(1000)
    tallies = plan.tally(plan.privatize({"age": [20] * 600 + [3] * 400}, dn.seeded(1)))
    soft = plan.mle(tallies, "age").smooth(weights=[weight], passes=[30])
    text = write_text(Findings(plan.estimate(tallies).numbers, smoothed={"age": soft}))
    assert words in text
    assert "log-likelihood per report within" in text


def test_every_bin_is_shown_on_demand(reported: Run) -> None:
    found = reported("estimate", "plan.json", "r.parquet", "--bins")
    assert "40 to under 41" in found.out
    assert "groups" not in found.out


def test_files_have_means_quantiles_and_groups(reported: Run) -> None:
    files = ["-o", "e.csv", "-o", "e.json", "-o", "e.parquet"]
    found = reported("estimate", "plan.json", "r.parquet", "--quantile", "0.5", *files)
    assert found.code == 0, found.err
    rows = list(csv.DictReader(Path("e.csv").read_text(encoding="utf-8").splitlines()))
    kinds = [(row["attribute"], row["kind"]) for row in rows]
    assert [kinds.count(("age", kind)) for kind in ("value", "group", "mean", "quantile")] == [100, 10, 1, 1]
    assert kinds.count(("income", "mean")) == 1
    for kind in ("value", "group"):
        chosen = [row for row in rows if row["attribute"] == "age" and row["kind"] == kind]
        assert sum(float(row["share"]) for row in chosen) == pytest.approx(1)
        assert sum(float(row["unbiased"]) for row in chosen) == pytest.approx(1)
    (half,) = (row for row in rows if row["kind"] == "quantile")
    assert half["value"] == "median"
    assert float(half["low"]) <= float(half["quantile"]) <= float(half["high"])
    assert list(json.loads(Path("e.json").read_text(encoding="utf-8"))["rows"][0]) == [
        "attribute",
        "value",
        *REST,
    ]


SHARE = ["share", "low", "high", "count", "noisy", "method"]
UNBIASED = ["unbiased", "stderr", "unbiased_low", "unbiased_high"]
REST = [*SHARE, *UNBIASED, "moved_from", "n", "level", "plan"]


def test_options_that_no_attribute_allows_are_refused(run: Run) -> None:
    Path("study.toml").write_text('epsilon = 1.0\n[attributes.a]\nvalues = ["x", "y"]\n', encoding="utf-8")
    Path("data.csv").write_text("a\n" + "x\ny\n" * 50, encoding="utf-8")
    run("plan", "study.toml", "--people", "100", "-o", "plan.json")
    run("privatize", "plan.json", "data.csv", "-o", "r.parquet", "--seed", "1")
    for option, words in (
        (["--quantile", "0.5"], "no attribute here is one"),
        (["--smooth"], "no attribute here is a range or a grid"),
        (["--quantile", "2"], "quantile"),
        (["--quantile", "half"], "'half' is not a number"),
    ):
        refused = run("estimate", "plan.json", "r.parquet", *option)
        assert refused.code == 2
        assert words in refused.err
        assert "Traceback" not in refused.err


def test_a_range_with_an_open_end_says_why_it_has_no_mean() -> None:
    ages = dn.Range(0, 30, step=1, open_high=True, privacy="metric", epsilon=1.0)
    plan = dn.Study({"age": ages}).plan(1000)
    tallies = plan.tally(plan.privatize({"age": [29] * 600 + [3] * 400}, dn.seeded(1)))
    found = Findings.read(plan.estimate(tallies).numbers, request=FindingsRequest([0.2, 0.9]))
    assert "mean not known, since an end of the range is open" in write_text(found)
    assert "median " in write_text(found)
    assert "quantile 0.9 beyond the open end" in write_text(found)
    (_, inside, beyond) = (one["quantile"] for one in found.about()["quantiles"])
    assert abs(inside - 3.5) < 0.1, (
        "two in five people are 3, so that a fifth ends in the middle of that year"
    )
    assert beyond is None
    json.dumps(found.about(), allow_nan=False)


def plot(
    parts: dict[str, Any],
    domains: dict[str, Any],
    bins: bool = False,
    likely: dict[str, dict[str, Any]] | None = None,
    share: float | None = None,
) -> Any:
    """The unbiased shares of these estimates, with other shares of their values by what they are."""
    others: dict[str, dict[str, Any]] = {
        of: {
            name: SimpleNamespace(frequencies=values, gap=0.0, method="em") for name, values in shares.items()
        }
        for of, shares in (likely or {}).items()
    }
    estimates = Estimates("", 5000, parts, title="People", domains=domains)
    request = FindingsRequest(() if share is None else [share])
    findings = Findings.read(estimates, request=request)
    findings = replace(findings, likely=others.get("mle", {}), smoothed=others.get("smoothed", {}))
    return plot_findings(findings, bins, unbiased=True)


@pytest.mark.parametrize("bins", [False, True])
def test_plots_stay_small(bins: bool) -> None:
    """In inches: an age that has a hundred bins does not make the figure as tall as a hundred bars."""
    mechanism, planar = dn.metric.geometric(99, 0.5), PLANAR
    assert planar is not None
    age = mechanism.estimate(draw_tally(mechanism, bell(100, 5000), RNG))
    home = planar.estimate(draw_tally(planar, bell(144, 5000), RNG))
    likely = {"mle": {"age": np.full(100, 0.01), "home": np.full(144, 1 / 144)}}
    figure = plot({"age": age, "home": home}, {"age": AGES, "home": TOWN}, bins, likely)
    assert figure.get_figheight() < 5
    figure.canvas.draw()
    wide = figure.bbox.width
    for axes in figure.axes:  # a color bar's label was cut off at the edge
        box = axes.get_tightbbox()
        assert box is not None
        assert box.x0 >= 0
        assert box.x1 <= wide


def drawn_home() -> dn.Estimate:
    assert PLANAR is not None
    return PLANAR.estimate(draw_tally(PLANAR, bell(144, 5000), np.random.default_rng(8)))


def words_of(figure: Any) -> str:
    return "\n".join(item.get_text() for item in figure.findobj(lambda item: hasattr(item, "get_text")))


def test_a_map_shows_the_blocks_of_the_table() -> None:
    """All 144 cells, mostly noise, were drawn beside a table of 16 groups."""
    home = drawn_home()
    figure = plot({"home": home}, {"home": TOWN})
    cells = np.asarray(figure.axes[0].images[0].get_array())
    for group in groups_of(home, TOWN):
        np.testing.assert_allclose(cells.ravel()[group.values], 100 * group.share.value)
        ends = f"{100 * group.share.low:.0f} to {100 * group.share.high:.0f}"
        assert f"{100 * group.share.value:.1f}\n{ends}" in words_of(figure)
    for wanted in ("144 cells in 16 blocks", "share of people in a block, %", "with 95 % intervals"):
        assert wanted in words_of(figure)
    every = plot({"home": home}, {"home": TOWN}, bins=True)
    np.testing.assert_allclose(
        np.asarray(every.axes[0].images[0].get_array()).ravel(), 100 * home.frequencies
    )
    assert "block" not in words_of(every)


@pytest.mark.parametrize(("largest", "darkest"), [(0.01, 2 / 144), (0.2, 0.2)])
def test_the_darkest_color_is_at_least_twice_an_even_share(largest: float, darkest: float) -> None:
    """The only cell that could be read was the darkest, however few people were there."""
    shares = np.full(144, np.nan)
    shares[3] = largest
    likely = {"mle": {"home": shares}}
    figure = plot({"home": drawn_home()}, {"home": TOWN}, likely=likely)
    assert figure.axes[0].images[0].get_clim()[1] == pytest.approx(100 * darkest)


def test_every_kind_of_shares_has_a_map() -> None:
    """The smoothed shares were drawn nowhere beside the most likely ones."""
    home, generator = drawn_home(), np.random.default_rng(4)
    likely = {of: {"home": generator.dirichlet(np.ones(144))} for of in ("mle", "smoothed")}
    figure = plot({"home": home}, {"home": TOWN}, likely=likely)
    maps = {axes.get_title(loc="left"): axes.images[0].get_array() for axes in figure.axes if axes.images}
    assert len(maps) == 2
    for (title, drawn), (of, shares) in zip(maps.items(), likely.items(), strict=True):
        assert title.endswith(f"{of} shares")
        np.testing.assert_allclose(np.asarray(drawn).ravel(), 100 * shares["home"])


@pytest.mark.parametrize("bins", [False, True])
def test_keys_lie_over_nothing(bins: bool) -> None:
    """What marks mean is below the title and above the axes, and on the page."""
    age = dn.grr(100, 3.0)
    estimate = age.estimate(draw_tally(age, bell(100, 5000), np.random.default_rng(4)))
    likely = {of: {"age": np.full(100, 0.01)} for of in ("mle", "smoothed")}
    figure = plot({"age": estimate}, {"age": AGES}, bins, likely, share=0.9)
    figure.canvas.draw()
    axes = figure.axes[0]
    legend = axes.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 5
    box, inner = legend.get_window_extent(), axes.get_window_extent()
    title = next(item for item in axes.findobj() if getattr(item, "get_text", str)().startswith("age: "))
    assert inner.y1 <= box.y0
    assert box.y1 <= title.get_window_extent().y0
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width
    assert title.get_window_extent().y1 < figure.bbox.height


def test_a_title_promises_only_intervals_that_are_plotted() -> None:
    home, smokes = drawn_home(), dn.grr(2, 1.0).estimate(dn.Tally(100, np.array([40, 60])))
    likely = {"mle": {"home": np.full(144, 1 / 144)}}
    alone = words_of(plot({"home": home}, {"home": TOWN}, likely=likely))
    assert "most likely shares, without intervals" in alone
    assert "95 %" not in alone
    both = plot({"home": home, "smokes": smokes}, {"home": TOWN}, likely=likely)
    assert "unbiased shares with 95 % intervals; maps without intervals" in words_of(both)


@pytest.mark.parametrize("bins", [False, True])
def test_means_and_quantiles_are_marked(bins: bool) -> None:
    plan = dn.Study({"age": AGES}).plan(5000)
    ages = np.random.default_rng(3).normal(42, 9, 5000).clip(0, 99)
    result = plan.estimate(plan.tally(plan.privatize({"age": ages}, dn.seeded(1))))
    found = Findings.read(result.numbers, request=FindingsRequest([0.9]))
    mean, high = found.means["age"].value, found.quantiles["age"][0.9].value
    lines = {line.get_label(): line for line in plot_findings(found, bins).axes[0].lines}
    for name, position in ((f"mean {mean:.4g}", mean), (f"quantile 0.9 {high:.4g}", high)):
        drawn = lines[name].get_xdata() if bins else lines[name].get_ydata()
        expected = position if bins else position / 10 - 0.5  # ten bars, of ten years each, at 0 to 9
        assert np.asarray(drawn)[0] == pytest.approx(expected)


def test_little_of_a_page_is_empty() -> None:
    """One tall panel and short ones were drawn in three columns, with a third of the page or more empty below
    the short.
    """
    m = dn.metric.geometric(99, 0.5)
    estimates = {"age": m.estimate(draw_tally(m, bell(100, 5000), RNG))}
    estimates |= {
        name: dn.grr(2, 1.0).estimate(dn.Tally(100, np.array([40, 60]))) for name in ("smokes", "drinks")
    }
    figure = plot(estimates, {"age": AGES})
    assert len({round(axes.get_window_extent().x0) for axes in figure.axes}) == 2
    figure.canvas.draw()
    bottoms = [min(box.y0 for box in column) for column in columns_of(figure)]
    assert max(bottoms) < 0.3 * figure.bbox.height


def columns_of(figure: Any) -> list[list[Any]]:
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    positions = [round(axes.get_window_extent().x0) for axes in figure.axes]
    return [
        [box for box, at in zip(boxes, positions, strict=True) if at == position]
        for position in sorted(set(positions))
    ]


def test_what_is_refused_twice_says_both_reasons_and_unreported_ranges_are_ranges() -> None:
    """The reason for no quantiles had replaced that for no smoothing; and a range nobody told of was said not
    to be one.
    """
    asked: dict[str, Any] = {"age": dn.Range(0, 30, step=1), "color": ["red", "green"]}
    faked = dn.Study(asked, epsilon=2.0, mechanism="faked").plan(1000)
    drawn = faked.privatize({"age": [3] * 40, "color": ["red"] * 40}, dn.seeded(1))
    heard: list[tuple[int, int]] = []
    request = FindingsRequest([0.5], progress=lambda done, most: heard.append((done, most)))
    found = Findings.read(faked.estimate(faked.tally(drawn), smooth=True).numbers, request=request)
    assert "'age' cannot be smoothed: its reports do not name one value each" in found.refused["age"]
    assert heard[:2] == [(0, 1000)], "only the range is looked at"
    sampled = dn.Study(asked, epsilon=2.0, mechanism="sample").plan(1000)
    one = next(
        tallies
        for seed in range(20)
        if (tallies := sampled.tally(sampled.privatize({"age": [3], "color": ["red"]}, dn.seeded(seed))))[
            "age"
        ].n
        == 0
    )
    none = Findings.read(sampled.estimate(one, smooth=True).numbers, request=FindingsRequest([0.5]))
    assert (none.smoothed, none.quantiles) == ({}, {})
    assert "age" in none.estimates.unreported
