"""Which channel is best: the counterexample to the conjecture, exact risks against scatter, and certificates of optimality."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize

import deniable as dn
from deniable.channels import BestChannel, best_channel, channel_risks, lower_bound, optimum, risk, step_loss
from deniable.channels.candidates import blahut_arimoto, calibrated_exponential, direct, exponential, geometric
from deniable.channels.optimum import zigzags
from deniable.channels.risk import directions, information
from deniable.likelihood import GeometricChannel, mle
from deniable.studies import geometric as study
from tests.running import Run

UNIFORM = {n: np.full(n + 1, 1 / (n + 1)) for n in range(1, 101)}


def test_the_conjecture_is_false_for_small_epsilon() -> None:
    """n = 2, epsilon = 0.1, all values alike: the geometric is not even second."""
    best = best_channel(2, 0.1)
    assert [round(best.risks[name]) for name in ("geometric", "grr", "optimum")] == [3013, 581, 373]
    by_cdf = best_channel(2, 0.1, loss="cdf")
    assert [round(by_cdf.risks[name]) for name in ("geometric", "grr", "optimum")] == [1039, 387, 200]
    assert best.certified
    assert best.warning is not None
    assert "randomized response reconstructs better" in best.warning
    assert best.warning in str(best)
    four = best_channel(4, 0.1).risks
    assert [round(four[name], -1) for name in ("geometric", "grr", "optimum")] == [8120, 1890, 710]


@pytest.mark.parametrize(("epsilon", "l2", "cdf"), [(0.1, 12.2, 7.0), (0.5, 1.53, 1.16), (1.0, 1.026, 1.0), (2.0, 1.0, 1.0)])
def test_how_far_the_geometric_is_from_the_best(epsilon: float, l2: float, cdf: float) -> None:
    for loss, times in (("l2", l2), ("cdf", cdf)):
        found = optimum(8, epsilon, UNIFORM[8], loss)
        assert math.isclose(risk(geometric(8, epsilon), UNIFORM[8], loss) / found.risk, times, rel_tol=5e-3)
        assert found.bound <= found.risk <= found.bound * (1 + 1e-6)
        assert step_loss(found.channel) <= epsilon * (1 + 1e-9)
        assert np.abs(found.channel.sum(axis=1) - 1).max() < 1e-9


def test_the_geometric_is_certified_from_a_threshold_on() -> None:
    """All alike, n = 3: from about 1.36 for the shares, from about 0.99 for their sums; and n = 2: 1.54 and 1.08."""
    for n, loss, threshold in ((3, "l2", 1.36), (3, "cdf", 0.99), (2, "l2", 1.54), (2, "cdf", 1.08), (8, "l2", 1.36)):
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
            channel = np.hstack([columns * weights / (columns @ weights).max() * 0.7, geometric(n, epsilon) * extra])
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


def test_channels_keep_the_promise() -> None:
    for n in (2, 5, 20):
        for epsilon in (0.1, 1.0, 2.0):
            assert math.isclose(step_loss(geometric(n, epsilon)), epsilon, rel_tol=1e-9)
            assert math.isclose(step_loss(direct(n, epsilon)), epsilon, rel_tol=1e-9)
            assert math.isclose(step_loss(calibrated_exponential(n, epsilon)), epsilon, rel_tol=1e-6)
            assert step_loss(calibrated_exponential(n, epsilon)) <= epsilon
            assert step_loss(exponential(n, epsilon)) <= epsilon
            assert step_loss(blahut_arimoto(n, epsilon, UNIFORM[n])) <= epsilon
    assert step_loss(np.array([[1.0, 0.0], [0.5, 0.5]])) == math.inf


def test_known_risks() -> None:
    """n = 100: epsilon 1 and 0.1, all alike."""
    one, tenth = channel_risks(100, 1.0), channel_risks(100, 0.1)
    wanted = {"geometric": (9.6, 20.3), "exponential calibrated": (21.6, 24.7), "exponential": (105, 54), "grr": (3540, 60_100)}
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
        mle(channel, dn.Tally(people, generator.multinomial(people, channel.output(prior)))).frequencies - prior
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
    assert best_channel(20, 0.05).name == "grr"
    large = best_channel(100, 1.0)
    assert isinstance(large, BestChannel)
    assert large.bound is None
    assert not large.certified
    for call, message in (
        (lambda: best_channel(0, 1.0), "at least 1|from 1"),
        (lambda: best_channel(3, 0.0), "positive"),
        (lambda: best_channel(3, 1.0, [1, 0, 0, 0]), "every value must occur"),
        (lambda: best_channel(3, 1.0, loss="l1"), "'l1' is not a loss"),  # type: ignore[arg-type]
        (lambda: optimum(9, 1.0, UNIFORM[9], "l2"), "up to n = 8"),
        (lambda: lower_bound(geometric(13, 1.0), 1.0, UNIFORM[13], "l2"), "up to n = 12"),
    ):
        with pytest.raises(dn.InvalidParameter, match=message):
            call()


def test_the_study() -> None:
    heard: list[tuple[int, int]] = []
    rows = list(
        study.reproduce(priors=["uniform"], ns=(2, 9), epsilons=(0.1, 1.0), runs=2, progress=lambda *at: heard.append(at))
    )
    assert len(rows) == 2 * 2 * len(study.CHANNELS) == heard[-1][1] == len(heard)
    by_name = {(row.channel, row.n, row.epsilon): row for row in rows}
    small = by_name["geometric", 2, 0.1]
    assert small.l2 is not None
    assert small.best_l2 is not None
    assert (round(small.l2), round(small.best_l2)) == (3013, 373)
    assert by_name["optimum", 9, 0.1].refused == "the best channel is searched for up to n = 8, got 9"
    assert all(row.worst_gap is not None and row.worst_gap <= 1e-9 for row in rows if row.refused is None)
    again = list(study.reproduce(channels=["grr"], priors=["uniform"], ns=(2,), epsilons=(1.0,), runs=2))
    assert again == [by_name["grr", 2, 1.0]]
    with pytest.raises(dn.InvalidParameter, match="not a method of this study"):
        study.reproduce(channels=["laplace"])


def test_the_study_is_drawn() -> None:
    pytest.importorskip("matplotlib")
    from deniable import plot_geometric

    rows = list(study.reproduce(["geometric", "grr"], ["uniform", "zipf"], (2,), (0.5, 1.0), runs=2))
    figure = plot_geometric.geometric_plot(rows)
    assert len(figure.axes) == 2
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {"geometric", "grr"}


def test_the_study_of_the_conjecture_from_the_command_line(run: Run) -> None:
    outcome = run("reproduce", "geometric", "--quick", "--runs", "2", "--json")
    assert outcome.code == 0, outcome.err
    rows = json.loads(outcome.out)
    found = {(row["n"], row["epsilon"], row["channel"]): row["l2"] for row in rows}
    assert [round(found[2, 0.1, name]) for name in ("geometric", "grr", "optimum")] == [3013, 581, 373]
