"""Series of counts: noise is added once, and the guarantee of each unit is that of the noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sizes import SERIES_TRIALS
from tests import statistics

import deniable as dn
from deniable.errors import InvalidParameter, InvalidValue
from deniable_papers.noise import DiscreteGaussian, DiscreteLaplace, PrivateSeries, private_series

COUNTS = np.arange(60).reshape(20, 3) + 100


def make(per: str = "person", **more: object) -> PrivateSeries:
    asked: dict[str, object] = {"appearances": 2, "words": dn.seeded(3), **more}
    return private_series(COUNTS, 2.0, per=per, **asked)  # type: ignore[arg-type]


def test_noise_is_that_of_the_unit() -> None:
    assert make().moved() == 40
    assert make("event").moved() == 2
    assert make("window", window=5).moved() == 10
    sigmas = [
        make(per, window=window).sigma for per, window in (("event", None), ("window", 5), ("person", None))
    ]
    assert sigmas == sorted(sigmas)
    assert sigmas[2] == DiscreteGaussian.calibrate(2.0, 1e-7, 40).deviation
    assert make(each=3).sigma == pytest.approx(3 * make().sigma, rel=1e-3)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.7])
def test_the_loss_is_at_most_what_was_asked(noise: str, epsilon: float) -> None:
    made = private_series(COUNTS, epsilon, per="person", appearances=1, noise=noise)  # type: ignore[arg-type]
    assert epsilon * 0.999 < made.loss <= epsilon
    assert made.curve(epsilon) <= made.delta
    assert made.epsilon("event") < made.loss
    assert made.delta == (1e-7 if noise == "gaussian" else 0.0)


def test_a_time_point_that_is_claimed_for_a_person_is_found() -> None:
    """The fault of the published study: noise for one time point, and a claim for a person over all."""
    honest = make("event")
    claimed = replace(honest, per="person")
    assert honest.loss <= 2.0
    assert claimed.loss > 8.0
    assert claimed.curve(2.0) > 0.1
    assert "epsilon 2 at" not in str(claimed)


def test_a_distinguisher_finds_no_more_than_the_loss_and_finds_the_fault() -> None:
    """Sums of the counts a person is in, with and without that person: a lower bound of the true loss."""
    times, delta = 50, 1e-3
    empty = np.zeros(times, dtype=np.int64)

    def bound(sigma_of: int) -> float:
        noise = DiscreteGaussian.calibrate(1.0, delta, sigma_of)
        drawn = noise.draw(times * SERIES_TRIALS, dn.seeded(4)).reshape(-1, times)
        without = (empty + drawn[::2]).sum(axis=1)
        present = (empty + 1 + drawn[1::2]).sum(axis=1)
        edge = noise.deviation**2 - times / 2 + times  # where the loss is 1, the person being present
        hits, misses = int((present > edge).sum()), int((without > edge).sum())
        low = stats.beta.ppf(statistics.ALPHA, hits, len(present) - hits + 1) if hits else 0.0
        high = stats.beta.ppf(1 - statistics.ALPHA, misses + 1, len(without) - misses)
        return math.log((low - delta) / high) if low > delta else 0.0

    assert bound(times) <= 1.0
    assert bound(1) > 1.5


def test_noise_is_added_once_to_every_count() -> None:
    made = make()
    assert made.counts.shape == COUNTS.shape
    assert made.counts.dtype == np.int64
    assert (made.counts - COUNTS).std() == pytest.approx(made.sigma, rel=0.3)
    assert np.array_equal(made.counts, make().counts)
    assert not np.array_equal(made.counts, make(words=None).counts)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_dataframes_come_back_as_they_were(library: str) -> None:
    module = pytest.importorskip(library)
    columns = {"town": COUNTS[:, 0].tolist(), "station": COUNTS[:, 1].tolist()}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    made = private_series(frame, 2.0, per="person", appearances=2, words=dn.seeded(3))
    same = private_series(COUNTS[:, :2], 2.0, per="person", appearances=2, words=dn.seeded(3))
    assert type(made.counts) is type(frame)
    noisy = made.counts.to_pydict() if library == "pyarrow" else made.counts
    assert list(noisy["town"]) == same.counts[:, 0].tolist()
    assert list(noisy["station"]) == same.counts[:, 1].tolist()


def test_pandas_keeps_its_times() -> None:
    pandas = pytest.importorskip("pandas")
    times = pandas.date_range("2026-11-01", periods=20, freq="30min", name="time")
    column = pandas.Series(COUNTS[:, 0], index=times, name="town")
    made = private_series(column, 1.0, per="event", words=dn.seeded(1)).counts
    assert made.index.equals(times)
    assert made.name == "town"
    whole = private_series(column.to_frame(), 1.0, per="event", words=dn.seeded(1)).counts
    assert whole.index.equals(times)


def test_the_guarantee_is_in_the_sentence() -> None:
    shown = str(make("window", window=5))
    assert "epsilon 2 at delta 1e-07 for one person within any 5 time points in a row" in shown
    assert "one person is in 2 counts at a time point at most" in shown
    assert "one person over all 20 time points epsilon" in shown
    assert "Laplace" in str(make(noise="laplace"))
    assert repr(make()) == "<PrivateSeries: 20 x 3, epsilon 2 per person>"
    assert isinstance(make(noise="laplace").noise, DiscreteLaplace)


@pytest.mark.parametrize(
    ("counts", "more", "problem"),
    [
        (COUNTS, {"appearances": None}, "in how many of the 3 counts one person can be"),
        (COUNTS, {"appearances": 4}, "from 1 to 3"),
        (COUNTS, {"per": "persn"}, "did you mean 'person'"),
        (COUNTS, {"per": "window"}, "needs window"),
        (COUNTS, {"per": "window", "window": 21}, "window must be an integer from 1 to 20"),
        (COUNTS, {"noise": "normal"}, "is not a kind of noise"),
        (COUNTS, {"noise": "laplace", "delta": 1e-6}, "delta of 0"),
        (COUNTS, {"delta": 0.0}, "delta"),
        (COUNTS[:, :, None], {}, "3 dimensions"),
        (COUNTS[:0], {}, "no counts"),
        ({"town": [1]}, {}, "an array or a dataframe"),
        (COUNTS - 101, {}, "integers from 0"),
        (COUNTS + 0.5, {}, "integers from 0"),
        (np.where(COUNTS > 150, np.nan, COUNTS), {}, "replace what is missing"),
        (COUNTS.astype(str), {}, "integers from 0"),
    ],
)
def test_wrong_inputs_are_refused(counts: object, more: dict[str, object], problem: str) -> None:
    asked = {"per": "person", "appearances": 2, **more}
    with pytest.raises((InvalidParameter, InvalidValue), match=problem):
        private_series(counts, 1.0, **asked)  # type: ignore[arg-type]
