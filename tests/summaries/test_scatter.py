"""Summaries scatter as they say, and their intervals cover."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.likelihood import mle
from deniable.metric.line import GeometricChannel
from deniable.summaries import mean_of, quantile_of
from tests import statistics

Floats = npt.NDArray[np.float64]
STUDIES, PEOPLE = 400, 500
"""Studies whose means are compared with their standard errors: the limits are then about 1 +- 0.36 of the
variance.
"""
COVERED = 200
"""Studies whose 95 % intervals must hold the truth in at least 90 %."""


# --- summaries
# -----------------------------------------------------------------------------------------------------------

MADE: dict[str, Callable[[int, float], dn.mechanisms.SetMechanism | dn.metric.MetricMechanism]] = {
    "grr": dn.grr,
    "oue": dn.oue,
    "ss": lambda k, e: dn.ss(k, e, 3),
    "olh": dn.olh,
}


@pytest.mark.parametrize("name", MADE)
def test_means_scatter_as_they_say(name: str) -> None:
    """Bias and variance of the mean over studies whose people are drawn anew; hashes have the ideal's errors,
    nearly.
    """
    mechanism, positions = MADE[name](8, 1.0), np.array([0.0, 1, 2, 3, 5, 8, 13, 21])
    truth = np.array([0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05])
    generator = np.random.default_rng(8)
    values = generator.choice(8, size=(STUDIES, PEOPLE), p=truth)
    reports = mechanism.privatize(values.reshape(-1), dn.seeded(31))
    found = [
        mean_of(mechanism.estimate(mechanism.tally(part)), positions) for part in np.split(reports, STUDIES)
    ]
    error = math.sqrt(np.mean([each.stderr**2 for each in found]))
    off = np.array([each.value for each in found]) - truth @ positions
    statistics.deviation(float(off.mean()), 0.0, error / math.sqrt(STUDIES), f"mean by {name}")
    statistics.spread(float((off**2).sum() / error**2), STUDIES, f"scatter of means by {name}")
    statistics.at_least(
        sum(each.low <= truth @ positions <= each.high for each in found),
        STUDIES,
        0.93,
        f"intervals by {name}",
    )


def test_a_wrong_standard_error_would_be_found() -> None:
    """Errors of the shares taken for independent: for direct encoding, whose counts add up to n, they are
    not.
    """
    mechanism, positions = dn.grr(8, 1.0), np.arange(8.0)
    values = np.random.default_rng(8).integers(0, 8, (STUDIES, PEOPLE))
    reports = mechanism.privatize(values.reshape(-1), dn.seeded(32))
    estimates = [mechanism.estimate(mechanism.tally(part)) for part in np.split(reports, STUDIES)]
    off = np.array([mean_of(each, positions).value - 3.5 for each in estimates])
    independent = math.sqrt(np.mean([(each.stderr**2 * positions**2).sum() for each in estimates]))
    with pytest.raises(AssertionError, match="of the variance"):
        statistics.spread(float((off**2).sum() / independent**2), STUDIES, "errors taken for independent")


def test_quantiles_of_many_counts_are_quick() -> None:
    """Each of 4,096 cumulative shares has an error of its own: 11 s if each takes a handful of Fourier
    transforms.
    """
    m = dn.metric.geometric(4095, 0.1)
    reports = m.privatize(np.random.default_rng(1).binomial(4095, 0.3, 100_000), dn.seeded(1))
    estimate = m.estimate(m.tally(reports))
    start = time.process_time()
    median = quantile_of(estimate, 0.5)
    assert time.process_time() - start < 4, "0.4 s on two busy cores"
    assert 1200 < median.low <= 0.3 * 4095 + 1 <= median.high < 1260


def test_quantiles_cover() -> None:
    mechanism, truth = dn.oue(20, 1.5), np.full(20, 1 / 20)
    generator = np.random.default_rng(3)
    held = 0
    for study in range(COVERED):
        values = generator.integers(0, 20, 2000)
        tally = mechanism.tally(mechanism.privatize(values, dn.seeded(study)))
        found = quantile_of(mechanism.estimate(tally), 0.52)
        held += int(found.low <= 10 <= found.high)
        assert found.low <= found.value <= found.high
    assert np.searchsorted(np.cumsum(truth), 0.52) == 10
    statistics.at_least(held, COVERED, 0.9, "quantile intervals")


def test_summaries_of_likelihoods() -> None:
    channel = GeometricChannel(20, 1.0)
    truth = np.exp(-(((np.arange(21) - 7) / 3.0) ** 2) / 2)
    truth /= truth.sum()
    counts = np.random.default_rng(2).multinomial(20_000, channel.output(truth))
    result = mle(channel, dn.Tally(20_000, counts))
    mean, median = mean_of(result, repeats=60), quantile_of(result, 0.5, repeats=60)
    assert mean.low <= truth @ np.arange(21) <= mean.high
    assert 0 < mean.stderr < 0.1
    assert median.low <= 7 <= median.high
    positions = np.arange(21) * 10.0
    assert math.isclose(mean_of(result, positions, repeats=60).value, 10 * mean.value)


def test_summaries_refuse_what_they_do_not_know() -> None:
    estimate = dn.grr(3, 1.0).estimate(dn.Tally(9, np.array([3, 3, 3])))
    cases: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: mean_of(estimate, [1, 2]), "3 numbers"),
        (lambda: quantile_of(estimate, 0.5, [3, 2, 1]), "ascending"),
        (lambda: quantile_of(estimate, 1.5), "share"),
        (lambda: mean_of(estimate, level=1.0), "confidence"),
    )
    for call, message in cases:
        with pytest.raises(dn.InvalidParameter, match=message):
            call()
