"""Continuous square waves: reports follow their densities, and numbers are counted in bins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests import statistics

import deniable as dn
from deniable.errors import NotExact
from deniable.likelihood import mle
from deniable_papers.mechanisms import ContinuousWave, mle_wave


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_densities_are_those_of_the_formula(epsilon: float) -> None:
    wave = ContinuousWave(epsilon)
    near, far = wave.densities
    assert math.isclose(near / far, math.exp(epsilon), rel_tol=1e-12)
    assert math.isclose(2 * wave.width * near + far, 1, rel_tol=1e-12)
    for bins, outputs in ((16, None), (10, 37), (1, 5)):
        np.testing.assert_allclose(wave.matrix(bins, outputs).sum(axis=1), 1, rtol=0, atol=1e-12)
    assert "no exact loss" in str(wave)


def test_masked_numbers_are_refused() -> None:
    with pytest.raises(dn.InvalidReport, match="reports are masked"):
        mle_wave(ContinuousWave(1.0), np.ma.array([0.1, 0.2], mask=[False, True]))


def test_numbers_of_a_continuous_wave_are_counted_in_bins() -> None:
    """By itself what the recipe with a histogram and a matrix gives, certified; means are those of the
    numbers.
    """
    wave, truth = ContinuousWave(1.0), np.random.default_rng(1).beta(2, 5, 20_000)
    reports = wave.privatize(truth, dn.seeded(1))
    found = mle_wave(wave, reports, 64)
    counts = np.histogram(reports, 128, (-wave.width, 1 + wave.width))[0]
    assert np.array_equal(
        found.frequencies, mle(wave.matrix(64, 128), dn.Tally(reports.size, counts)).frequencies
    )
    assert found.certified
    assert found.gap <= 1e-9
    mean = dn.summaries.mean_of(found, repeats=40)
    assert mean.low < float(truth.mean()) < mean.high
    assert mean.high - mean.low < 0.05
    assert abs(dn.summaries.mean_of(found.smooth()).value - 2 / 7) < 0.02
    assert [mle_wave(wave, reports[:n]).k for n in (10, 400, 20_000)] == [8, 20, 141]
    assert mle_wave(wave, reports.tolist(), 4).certified
    for data, bins, message in [
        (reports + 9, None, "are a list of numbers from -0.256083 to 1.25608"),
        (np.array([0.5, np.nan]), None, "are a list of numbers"),
        (["x"], None, "are a list of numbers"),
        (reports[:0], None, "no reports yet"),
        (reports, 1, "bins"),
    ]:
        with pytest.raises(dn.DeniableError, match=message):
            mle_wave(wave, data, bins)  # type: ignore[arg-type]


def test_continuous_wave_follows_its_matrix() -> None:
    wave, n = ContinuousWave(1.0), statistics.LAW_REPORTS
    for start in (0.0, 0.375, 0.875):
        values = start + (np.arange(n) + 0.5) / n / 8
        reports = wave.privatize(values, dn.seeded(3))
        seen, _ = np.histogram(reports, bins=20, range=(-wave.width, 1 + wave.width))
        statistics.goodness_of_fit(seen, wave.matrix(8, 20)[int(start * 8)] * n, "reports of a wave")
    with pytest.raises(NotExact, match="no exact loss"):
        wave.loss()
    with pytest.raises(dn.InvalidValue, match="from 0 to 1"):
        wave.privatize([1.5])
