"""Summed histograms: Laplace noise in floats follows its law; guesses and estimates scatter as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats
from sizes import MOVED_NOISE
from tests import statistics

import deniable as dn
from deniable.arrays import Array
from deniable.errors import NotExact
from deniable_papers.mechanisms import Summed, she

SHARES = np.array([0.4, 0.25, 0.15, 0.1, 0.07, 0.03])


def check_noise(m: Summed, moved: float = 0.0) -> None:
    """The shape of each cell's noise, and no correlation between cells; the true cell may be moved."""
    n, cells = statistics.LAW_REPORTS, 32
    for value in range(m.k):
        noise = m.privatize(np.full(n, value), dn.seeded(1)).astype(np.float64)
        noise[:, value] += moved - 1
        scaled = np.abs(noise) / m.scale
        # the distribution function of the Laplace law makes the noise uniform
        uniform = np.where(noise < 0, np.exp(-scaled) / 2, 1 - np.exp(-scaled) / 2)
        seen = np.array(
            [np.bincount((uniform[:, cell] * cells).astype(int), minlength=cells) for cell in range(m.k)]
        )
        statistics.goodness_of_fit(seen, np.full(seen.shape, n / cells), "noise", groups=m.k)
        together = float((noise[:, 0] * noise[:, 1]).mean())
        statistics.deviation(together, 0.0, m.law.noise / math.sqrt(n), "correlation of two cells")


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_noise_follows_its_law(epsilon: float) -> None:
    check_noise(she(4, epsilon))


def test_a_true_cell_that_is_moved_is_found() -> None:
    with pytest.raises(AssertionError, match="noise: chi-square"):
        check_noise(she(4, 0.5), MOVED_NOISE)


@pytest.mark.parametrize(
    ("k", "epsilon"), [(2, 0.5), (4, 1.0), (10, 4.0), (100, 4.0), (1000, 10.0), (10_000, 20.0)]
)
def test_the_best_guess_is_the_largest_cell(k: int, epsilon: float) -> None:
    """How often the true cell is the largest, by the three ranges of its noise."""
    t = math.exp(-epsilon / 2)
    middle, _ = integrate.quad(
        lambda u: (1 - u / 2) ** (k - 1) / u**2, t, 1, points=[min(1.0, t + 2 / k)], limit=500
    )
    closed = t / (k * 2.0 ** min(k, 1000)) + t / 2 * middle + (1 - (1 - t / 2) ** k) / (k * t)
    assert math.isclose(she(k, epsilon).success(), closed, rel_tol=1e-6)


def test_guesses_of_reports_are_right_as_often_as_it_says() -> None:
    k, n = 8, 100_000
    m = she(k, 3.0)
    values = np.arange(n) % k
    reports = m.privatize(values, dn.seeded(1))
    assert (m.likelihoods(reports).argmax(axis=1) == values).mean() == pytest.approx(m.success(), abs=0.01)
    right = int((reports.argmax(axis=1) == values).sum())
    error = math.sqrt(n * m.success() * (1 - m.success()))
    statistics.deviation(right, n * m.success(), error, "attack on noisy sums")


def test_likelihoods_are_those_of_laplace_noise() -> None:
    m = she(5, 1.7)
    reports = m.privatize(np.arange(5).repeat(20), dn.seeded(1))
    exact = np.stack(
        [stats.laplace.logpdf(reports, np.arange(5) == v, m.scale).sum(axis=1) for v in range(5)], axis=1
    )
    logs = np.log(m.likelihoods(reports))
    assert logs - logs[:, :1] == pytest.approx(exact - exact[:, :1], abs=1e-5)
    assert np.isfinite(np.log(she(5, 900.0).likelihoods(reports))).all()


def test_estimates_scatter_as_they_say() -> None:
    m, repeats, n = she(6, 1.0), statistics.REPEATS, statistics.REPEAT_REPORTS
    values = np.random.default_rng(4).choice(6, size=repeats * n, p=SHARES)
    parts = np.split(m.privatize(values, dn.seeded(6)), repeats)
    shares = np.array([m.estimate(m.tally(part)).frequencies for part in parts])
    squares = ((shares - SHARES) ** 2 / m.law.variance(n, SHARES)).sum(axis=0)
    for value, total in enumerate(squares.tolist()):
        statistics.spread(total, repeats, f"scatter of the estimate of {value}")


def test_there_is_no_exact_loss_and_what_cannot_be_is_refused() -> None:
    m = she(4, 1.0)
    assert m.report_bytes == 16
    assert str(m).endswith("no exact loss (epsilon 1 without rounding)")
    with pytest.raises(NotExact, match="floating-point noise has no exact loss"):
        m.loss()
    with pytest.raises(dn.InvalidParameter, match="too large for summed encoding"):
        she(2**20 + 1, 1.0)
    reports: Array = m.privatize([0, 1, 2, 3], dn.seeded(1))
    for wrong in (reports * np.nan, reports.astype(np.float64), reports[:, 1:]):
        with pytest.raises(dn.InvalidReport, match=r"finite float32 of shape \(n, 4\)"):
            m.tally(wrong)
    with pytest.raises(dn.InvalidReport, match=r"made from a tally.*got list"):
        she(4, 1.0).estimate([1, 2])  # type: ignore[arg-type]
    with pytest.raises(dn.InvalidReport, match="counts 2 values"):
        m.estimate(dn.Tally(3, np.array([1, 2])))
