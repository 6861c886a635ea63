"""Which channel is best: the counterexample to the conjecture, exact risks against scatter, and certificates
of optimality.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.running import Run
from threadpoolctl import threadpool_info, threadpool_limits

import deniable as dn
from deniable.arrays import Floats
from deniable.likelihood import GeometricChannel, mle
from deniable_papers import mechanisms
from deniable_papers.channels import (
    BestChannel,
    best_channel,
    candidates,
    channel_risks,
    lower_bound,
    optimum,
    risk,
    step_loss,
)
from deniable_papers.channels.candidates import blahut_arimoto, calibrated_exponential, direct, exponential
from deniable_papers.channels.comparison import _pick_least
from deniable_papers.channels.optimum import Optimum, zigzags
from deniable_papers.channels.risk import directions, information
from deniable_papers.simulate.population import zipf
from deniable_papers.studies import geometric as study

UNIFORM = {n: np.full(n + 1, 1 / (n + 1)) for n in range(1, 101)}


def geometric(n: int, epsilon: float) -> Floats:
    return candidates.geometric(n, epsilon).matrix()


def test_the_conjecture_is_false_for_small_epsilon() -> None:
    """n = 2, epsilon = 0.1, all values alike: the geometric is not even second."""
    with pytest.warns(dn.DeniableWarning, match="randomized response reconstructs the histogram better"):
        best = best_channel(2, 0.1)
    assert [round(best.risks[name]) for name in ("geometric", "grr", "optimum")] == [3013, 581, 373]
    with pytest.warns(dn.DeniableWarning):
        by_cdf = best_channel(2, 0.1, loss="cdf")
    assert [round(by_cdf.risks[name]) for name in ("geometric", "grr", "optimum")] == [1039, 387, 200]
    assert best.certified
    assert best.warning is not None
    assert "l2 risk 5.18 times smaller" in best.warning
    assert best.warning == by_cdf.warning
    assert best.warning in str(best)
    with pytest.warns(dn.DeniableWarning):
        four = best_channel(4, 0.1).risks
    assert [round(four[name], -1) for name in ("geometric", "grr", "optimum")] == [8120, 1890, 710]


@pytest.mark.parametrize(
    ("epsilon", "l2", "cdf"), [(0.1, 12.2, 7.0), (0.5, 1.53, 1.16), (1.0, 1.026, 1.0), (2.0, 1.0, 1.0)]
)
def test_how_far_the_geometric_is_from_the_best(epsilon: float, l2: float, cdf: float) -> None:
    for loss, times in (("l2", l2), ("cdf", cdf)):
        found = optimum(8, epsilon, UNIFORM[8], loss)
        assert math.isclose(risk(geometric(8, epsilon), UNIFORM[8], loss) / found.risk, times, rel_tol=5e-3)
        assert found.bound <= found.risk <= found.bound * (1 + 1e-6)
        assert step_loss(found.channel) <= epsilon
        assert np.abs(found.channel.sum(axis=1) - 1).max() < 1e-9


def test_the_geometric_is_certified_from_a_threshold_on() -> None:
    """All alike, n = 3: from about 1.36 for the shares, from about 0.99 for their sums; and n = 2: 1.54 and
    1.08.
    """
    for n, loss, threshold in (
        (3, "l2", 1.36),
        (3, "cdf", 0.99),
        (2, "l2", 1.54),
        (2, "cdf", 1.08),
        (8, "l2", 1.36),
    ):
        for epsilon, is_best in ((threshold - 0.03, False), (threshold + 0.03, True)):
            bound = lower_bound(geometric(n, epsilon), epsilon, UNIFORM[n], loss)
            assert (risk(geometric(n, epsilon), UNIFORM[n], loss) <= bound * (1 + 1e-6)) == is_best
    assert best_channel(12, 1.5).certified
    assert best_channel(12, 1.5).name == "geometric"


def test_no_channel_is_below_the_bound() -> None:
    """Random channels that keep the promise, and scipy's own search over weights of zigzags."""
    generator = np.random.default_rng(5)
    n, epsilon = 3, 0.4
    columns = zigzags(n, epsilon)
    assert columns.shape == (4, 8)
    assert len({tuple(column) for column in columns.T.round(12).tolist()}) == 8
    found = optimum(n, epsilon, UNIFORM[n], "l2")
    tried = 0
    for _ in range(300):
        weights = generator.dirichlet(np.full(8, 0.5))
        rest = 1 - columns @ weights / (columns @ weights).max() * 0.7
        extra = np.linalg.solve(geometric(n, epsilon), rest)
        if (extra >= 0).all():
            channel = np.hstack(
                [columns * weights / (columns @ weights).max() * 0.7, geometric(n, epsilon) * extra]
            )
            assert np.allclose(channel.sum(axis=1), 1)
            assert step_loss(channel) <= epsilon * (1 + 1e-9)
            assert risk(channel, UNIFORM[n], "l2") >= found.bound
            tried += 1
    assert tried > 20
    start = np.linalg.lstsq(columns, np.ones(4), rcond=None)[0]
    solved = minimize(
        lambda weights: risk(columns * np.maximum(weights, 1e-12), UNIFORM[n], "l2"),
        np.maximum(start, 1e-3),
        bounds=[(1e-9, 1)] * 8,
        constraints=[{"type": "eq", "fun": lambda weights: columns @ weights - 1}],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert math.isclose(float(solved.fun), found.risk, rel_tol=1e-3)
    assert solved.fun >= found.bound * (1 - 1e-6)


@pytest.mark.parametrize("prior", ["uniform", "zipf", "bimodal"])
@pytest.mark.parametrize("n", [2, 8, 20])
def test_channels_keep_the_promise_and_say_what_they_spend(n: int, prior: str) -> None:
    shares = study.PRIORS[prior](n + 1)
    for epsilon in (0.1, 1.0, 2.0):
        for make in (candidates.geometric, direct, calibrated_exponential):
            made = make(n, epsilon)
            assert math.isclose(made.loss, epsilon, rel_tol=1e-9)
            assert math.isclose(step_loss(made.matrix()), epsilon, rel_tol=1e-9)
            assert made.unspent(epsilon) is None
        assert calibrated_exponential(n, epsilon).loss <= epsilon
        assert epsilon / 2 < exponential(n, epsilon).loss <= epsilon
        arimoto = blahut_arimoto(n, epsilon, shares)
        assert arimoto.loss <= epsilon
        assert math.isclose(step_loss(arimoto.matrix()), arimoto.loss, rel_tol=1e-9, abs_tol=1e-12)
        assert (arimoto.unspent(epsilon) is None) == (arimoto.loss > epsilon * (1 - 1e-6))
    assert step_loss(np.array([[1.0, 0.0], [0.5, 0.5]])) == math.inf


@pytest.mark.parametrize("n", [2, 8, 20, 50])
def test_blahut_arimoto_spends_all_of_epsilon_where_a_rate_does(n: int) -> None:
    """Zipf, epsilon 1: halving as if the loss grew with the rate ended at 0.823, 0.949, 0.900 and 0.890 of
    epsilon.
    """
    assert blahut_arimoto(n, 1.0, zipf(n + 1).shares).loss >= 1 - 1e-6


@pytest.mark.parametrize(
    ("n", "epsilon", "prior"),
    [(8, 1.0, "zipf"), (8, 0.5, "zipf"), (20, 1.0, "uniform"), (20, 2.0, "bimodal")],
)
def test_no_larger_rate_of_blahut_arimoto_keeps_the_promise(n: int, epsilon: float, prior: str) -> None:
    """All other rates on a grid of their own, by the iteration itself; where epsilon is not spent, the loss
    jumps over it.
    """
    shares = study.PRIORS[prior](n + 1)
    made = blahut_arimoto(n, epsilon, shares)
    for rate in np.linspace(made.rate * (1 + 1e-4), 1.2 * epsilon, 97):
        assert candidates._least_informative(n, float(rate), shares).loss > epsilon
    if made.unspent(epsilon) is not None:
        after = candidates._least_informative(n, made.rate * (1 + 1e-4), shares)
        before, sent = np.flatnonzero(made.outputs), np.flatnonzero(after.outputs)
        assert sent[0] < before[0] or sent[-1] > before[-1]
        assert after.loss > 1.9 * made.rate


@pytest.mark.parametrize("rate", [0.3, 0.6, 0.9, 1.5])
def test_blahut_arimoto_is_where_its_iteration_converges(rate: float) -> None:
    n, shares = 8, zipf(9).shares
    positions = np.arange(n + 1)
    kernel = np.exp(-rate * np.abs(positions[:, None] - positions))
    outputs = np.full(n + 1, 1 / (n + 1))
    for _ in range(20_000):
        outputs = outputs * (kernel @ (shares / (kernel @ outputs)))
    assert np.abs(outputs - candidates._least_informative(n, rate, shares).outputs).max() < 2e-4
    assert math.isclose(
        float(shares @ np.log(kernel @ outputs)),
        float(shares @ np.log(candidates._least_informative(n, rate, shares).scales)),
        abs_tol=1e-7,
    )


def test_the_calibrated_exponential_is_the_one_that_is_sampled() -> None:
    for n, epsilon in ((2, 0.1), (8, 1.0), (20, 2.0)):
        sampled = mechanisms.exponential(lambda x, y: abs(x - y), epsilon, k=n + 1).law.matrix()
        assert np.abs(calibrated_exponential(n, epsilon).matrix() - sampled).max() < 1e-8


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_risks_by_inverses_are_those_of_fisher_information(n: int) -> None:
    shares = np.random.default_rng(n).dirichlet(np.full(n + 1, 2.0))
    for epsilon in (0.01, 0.5, 3.0):
        for make in (candidates.geometric, direct, exponential, calibrated_exponential):
            made = make(n, epsilon)
            for loss in ("l2", "cdf", "kl"):
                assert math.isclose(made.risk(shares, loss), risk(made.matrix(), shares, loss), rel_tol=1e-6)
    made = blahut_arimoto(n, 3.0, shares)
    assert math.isclose(made.risk(shares, "l2"), risk(made.matrix(), shares, "l2"), rel_tol=1e-6)


def test_far_rows_do_not_underflow_and_nobody_waits() -> None:
    """Every row adds up to 1, 2,000 steps from its output, too; risks from matrices take far longer."""
    best_channel(400, 1.0)  # loads compiled loops
    start = time.process_time()
    best = best_channel(2000, 1.0)
    assert time.process_time() - start < 8, "0.5 s on a quiet core"
    assert np.abs(best.matrix.sum(axis=1) - 1).max() < 1e-9
    assert best.losses["geometric"] == 1.0
    assert best.name == "geometric"


def test_known_risks() -> None:
    """n = 100: epsilon 1 and 0.1, all alike."""
    one, tenth = channel_risks(100, 1.0), channel_risks(100, 0.1)
    wanted = {
        "geometric": (9.6, 20.3),
        "exponential calibrated": (21.6, 24.7),
        "exponential": (105, 54),
        "grr": (3540, 60_100),
    }
    for name, (l2, cdf) in wanted.items():
        assert math.isclose(one[name]["l2"], l2, rel_tol=5e-3)
        assert math.isclose(one[name]["cdf"], cdf, rel_tol=5e-3)
    assert math.isclose(tenth["geometric"]["l2"], 53_700, rel_tol=5e-3)
    assert math.isclose(tenth["grr"]["l2"], 915_000, rel_tol=5e-3)
    assert risk(np.full((3, 3), 1 / 3), UNIFORM[2]) == math.inf


def test_risks_are_the_scatter_of_the_maximum() -> None:
    """Squared errors of 300 studies of 20,000 people, within 25 % of what Fisher information says."""
    n, epsilon, people, studies = 4, 1.0, 20_000, 300
    channel = GeometricChannel(n, epsilon)
    generator = np.random.default_rng(6)
    prior = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    off = [
        mle(channel, dn.Tally(people, generator.multinomial(people, channel.output(prior)))).frequencies
        - prior
        for _ in range(studies)
    ]
    for loss, errors in (("l2", np.array(off)), ("cdf", np.cumsum(off, axis=1))):
        measured = people * float((errors**2).sum(axis=1).mean())
        assert math.isclose(measured, risk(channel.matrix(), prior, loss), rel_tol=0.25)
    info = information(channel.matrix(), prior)
    assert np.allclose(directions(5).T @ np.ones(5), 0)
    assert np.allclose(info, info.T)


def test_warnings_and_refusals() -> None:
    assert best_channel(8, 2.0).warning is None
    with pytest.warns(dn.DeniableWarning, match="n \\* epsilon = 1 is below 2"):
        assert best_channel(20, 0.05).name == "grr"
    with pytest.warns(
        dn.DeniableWarning, match="n \\* epsilon = 1.9 is below 2.* with 1.11 times the geometric's l2 risk"
    ):
        assert best_channel(10, 0.19).risks["geometric"] < best_channel(10, 0.19).risks["grr"]
    large = best_channel(100, 1.0)
    assert isinstance(large, BestChannel)
    assert large.bound is None
    assert not large.certified
    for call, message in (
        (lambda: best_channel(0, 1.0), "at least 1|from 1"),
        (lambda: best_channel(3, 0.0), "positive"),
        (lambda: best_channel(14, 1e-16), "too small to compare channels"),
        (lambda: best_channel(1, 1e-9), "too small to compare channels in floating point; use 1e-08 or more"),
        (lambda: best_channel(3, 1.0, [1, 0, 0, 0]), "every value must occur"),
        (lambda: best_channel(3, 1.0, loss="l1"), "'l1' is not a loss"),  # type: ignore[arg-type]
        (lambda: channel_risks(2001, 1.0), "2000"),
        (lambda: optimum(9, 1.0, UNIFORM[9], "l2"), "up to n = 8"),
        (lambda: lower_bound(geometric(13, 1.0), 1.0, UNIFORM[13], "l2"), "up to n = 12"),
    ):
        with pytest.raises(dn.InvalidParameter, match=message):
            call()


def test_the_geometric_is_preferred_where_nothing_tells_channels_apart() -> None:
    best = best_channel(8, 20.0)
    assert best.name == "geometric"
    assert best.certified
    assert best.risks["geometric"] <= min(best.risks.values()) * (1 + 1e-6)
    assert _pick_least({"geometric": 1 + 5e-7, "grr": 1.0}) == "geometric"
    assert _pick_least({"geometric": 1 + 2e-6, "grr": 1.0}) == "grr"


@pytest.mark.filterwarnings("ignore::deniable.DeniableWarning")
def test_no_channel_loses_more_than_epsilon() -> None:
    """Not even by rounding; the best one stays certified, and its rows are distributions."""
    for epsilon in (0.05, 0.3, 0.7, 1.0):
        for prior in ([0.5, 0.2, 0.1, 0.1, 0.1], [0.2] * 5, [0.01, 0.01, 0.9, 0.04, 0.04]):
            best = best_channel(4, epsilon, prior=prior)
            assert best.name == "optimum"
            assert best.certified
            assert max(best.losses.values()) <= epsilon
            assert step_loss(best.matrix) == best.losses["optimum"] > epsilon * (1 - 1e-9)
            assert math.isclose(risk(best.matrix, np.array(prior)), best.risk, rel_tol=1e-7)


def test_what_is_not_spent_is_said() -> None:
    best = best_channel(4, 1.0)
    assert set(best.unspent) == {"exponential", "blahut-arimoto"}
    assert math.isclose(best.losses["exponential"], 0.684, abs_tol=1e-3)
    assert "spends only 0.684: as proven" in str(best)
    assert all(
        math.isclose(best.losses[name], 1.0, rel_tol=1e-6) for name in set(best.losses) - set(best.unspent)
    )


def test_the_study() -> None:
    heard: list[tuple[int, int]] = []
    rows = list(
        study.reproduce(
            priors=["uniform"], ns=(2, 9), epsilons=(0.1, 1.0), runs=2, progress=lambda *at: heard.append(at)
        )
    )
    assert len(rows) == 2 * 2 * len(study.CHANNELS) == heard[-1][1] == len(heard)
    by_name = {(row.channel, row.n, row.epsilon): row for row in rows}
    small = by_name["geometric", 2, 0.1]
    assert small.l2 is not None
    assert small.best_l2 is not None
    assert (round(small.l2), round(small.best_l2)) == (3013, 373)
    assert by_name["optimum", 9, 0.1].refused == "known up to n = 8"
    arimoto = by_name["blahut-arimoto", 9, 1.0]
    assert arimoto.refused == study.UNDETERMINED
    assert arimoto.unspent is not None
    assert arimoto.step_loss is not None
    assert math.isclose(arimoto.step_loss, math.log(2), rel_tol=1e-4)  # where the ends come in, for all alike
    spent = [row for row in rows if row.step_loss is not None and row.unspent is None]
    assert all(math.isclose(row.step_loss or 0.0, row.epsilon, rel_tol=1e-6) for row in spent)
    assert {row.channel for row in spent} - {"blahut-arimoto"} == set(study.CHANNELS) - {
        "exponential",
        "blahut-arimoto",
    }
    assert all(row.worst_gap is not None and row.worst_gap <= 1e-9 for row in rows if row.refused is None)
    again = list(study.reproduce(channels=["grr"], priors=["uniform"], ns=(2,), epsilons=(1.0,), runs=2))
    assert again == [by_name["grr", 2, 1.0]]
    with pytest.raises(dn.InvalidParameter, match="not a channel of this study"):
        study.reproduce(channels=["laplace"])
    with pytest.raises(dn.InvalidParameter, match="'zpf' is not a prior of this study"):
        study.reproduce(priors=["zpf"])


def test_the_risk_of_d_privacy_is_the_best_guess_and_how_far_it_is_off() -> None:
    uniform, skewed = np.full(5, 0.2), np.array([0.1, 0.1, 0.5, 0.2, 0.1])
    assert study.find_hits(np.eye(5), skewed) == pytest.approx(1.0)
    assert study.find_guess_distance(np.eye(5), skewed) == 0.0
    nothing = np.full((5, 5), 0.2)  # a report says nothing: the mode and the median of the prior are left
    assert study.find_hits(nothing, skewed) == pytest.approx(0.5)
    assert study.find_guess_distance(nothing, skewed) == pytest.approx(0.1 * 2 + 0.1 + 0.2 + 0.1 * 2)
    direct_channel = direct(4, 1.0).matrix()
    assert study.find_hits(direct_channel, uniform) == pytest.approx(dn.grr(5, 1.0).success())
    near, far = (
        {
            row.channel: row
            for row in study.reproduce(["geometric", "grr"], ["uniform"], [8], [epsilon], runs=1)
        }
        for epsilon in (2.0, 0.5)
    )
    for rows in (near, far):  # at equal loss between neighbors, geometric noise tells where a value is
        assert (rows["geometric"].guess_distance or 9) < (rows["grr"].guess_distance or 0)
    assert (near["geometric"].guess_distance or 9) < (far["geometric"].guess_distance or 0)
    assert (near["geometric"].hits or 0) > (far["geometric"].hits or 1)


def test_one_thread_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that wait for each other on a busy machine make small matrices 15 times slower."""
    seen = list[int]()

    def counting(*arguments: Floats) -> Floats:
        seen.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        return np.asarray(solve(*arguments))

    solve = np.linalg.solve
    monkeypatch.setattr(np.linalg, "solve", counting)
    with threadpool_limits(2, "blas"):
        optimum(3, 0.5, UNIFORM[3], "l2")
    assert set(seen) == {1}


def test_the_best_channel_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For its own row and for the bound in those of the others."""
    study._best.cache_clear()
    searched = list[tuple[int, float]]()

    def counting(n: int, epsilon: float, prior: np.ndarray, loss: str) -> Optimum:
        searched.append((n, epsilon))
        return optimum(n, epsilon, prior, loss)

    monkeypatch.setattr(study, "optimum", counting)
    rows = list(study.reproduce(priors=["uniform"], ns=(3,), epsilons=(0.3, 0.7), runs=1))
    assert searched == [(3, 0.3), (3, 0.7)]
    assert all(row.best_l2 is not None for row in rows)


def test_runs_that_agree_have_no_scatter() -> None:
    """Where the most likely shares are the same in all runs, rounding is not a standard error."""
    assert study._scatter(9e-18, 0.217) == 0.0
    assert study._scatter(2e-3, 0.217) == 2e-3
    assert study._scatter(None, 0.217) is None


def test_the_study_is_plotted() -> None:
    pytest.importorskip("matplotlib")
    from deniable_papers.studies.plot import geometric as plot_geometric

    rows = list(study.reproduce(["geometric", "grr"], ["uniform", "zipf"], (2,), (0.5, 1.0), runs=2))
    figure = plot_geometric.geometric_plot(rows)
    assert len(figure.axes) == 2
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {"geometric", "grr"}


def test_what_is_expected_far_above_the_panel_is_a_triangle_at_its_edge() -> None:
    pytest.importorskip("matplotlib")
    from deniable_papers.studies.plot import geometric as plot_geometric

    base = study.ChannelPoint("geometric", "uniform", 2, 1.0, 10_000, 2, 1, l2=3.0, mse=1e-4, mse_stderr=1e-5)
    far = [
        replace(base, channel="blahut-arimoto", l2=3e12),
        replace(base, channel="blahut-arimoto", epsilon=0.5),
    ]
    refused = replace(base, channel="grr", refused=study.UNDETERMINED, mse=None, l2=None)
    figure = plot_geometric.geometric_plot([base, *far, refused])
    figure.draw_without_rendering()  # lays it out, which warns where there is no room
    axes = figure.axes[0]
    assert math.isclose(axes.get_ylim()[1], 4e-4)
    triangles = [line.get_xydata() for line in axes.get_lines() if line.get_marker() == "^"]
    assert [np.asarray(points).tolist() for points in triangles if np.size(points)] == [
        [[1.0, axes.get_ylim()[1]]]
    ]
    assert "not drawn, infinite: grr at 1" in axes.get_title(loc="left")
    assert not axes.texts, "nothing is printed over the data"


def test_the_study_of_the_conjecture_from_the_command_line(run: Run) -> None:
    outcome = run("reproduce", "geometric", "--quick", "--runs", "2", "--json")
    assert outcome.code == 0, outcome.err
    rows = json.loads(outcome.out)
    found = {(row["n"], row["epsilon"], row["channel"]): row["l2"] for row in rows}
    assert [round(found[2, 0.1, name]) for name in ("geometric", "grr", "optimum")] == [3013, 581, 373]


def test_the_table_says_what_is_spent_and_why_a_row_is_empty(run: Run) -> None:
    outcome = run("reproduce", "geometric", "--quick", "--runs", "2")
    assert outcome.code == 0, outcome.err
    lines = [line.split() for line in outcome.out.splitlines()]
    proven = next(
        line for line in lines if line[:4] == ["uniform", "4", "1", "exponential"] and line[4] != "calibrated"
    )
    assert proven[4:6] == ["0.684", "(1)"]
    given_up = next(line for line in lines if line[:4] == ["uniform", "4", "1", "blahut-arimoto"])
    assert given_up[4:7] == ["0.693", "(3)", "infinite"]
    assert "infinite: the channel gives up some outputs" in outcome.out
    assert "(1) less than epsilon is spent (exponential): as proven" in outcome.out


def test_the_study_takes_other_numbers_from_the_command_line(run: Run) -> None:
    """Python took them, the command did not."""
    asked = "--quick --n 3 --epsilons 0.5,1 --prior zipf --channel geometric,grr --people 1e3 --runs 2 --json"
    rows = json.loads(run("reproduce", "geometric", *asked.split()).out)
    assert [(row["prior"], row["n"], row["epsilon"], row["channel"], row["people"]) for row in rows] == [
        ("zipf", 3, epsilon, channel, 1000) for epsilon in (0.5, 1.0) for channel in ("geometric", "grr")
    ]
    assert "did you mean 'zipf'" in run("reproduce", "geometric", "--prior", "zpf").err
