"""Tests whether the truncated geometric reconstructs best among channels with the same promise to neighbors.

Kacem and Palamidessi (2018) saw it win in simulations. Every channel here tells neighbors apart by at most
epsilon, and each row says by how much: all of epsilon for the geometric, randomized response, the calibrated
exponential and the optimum; less for the exponential as it is proven, and for Blahut and Arimoto's where no
rate spends all of it. The risk for many reports is exact, and so is the best possible one (up to 8 steps).
The error of a number of people is measured, with the most likely shares up to their certificate. The
conjecture is false for small epsilon, and true from an epsilon of 1 to 3 on, which depends on the prior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.exact import positive_epsilon, whole_number
from deniable.likelihood import GeometricChannel, mle
from deniable.likelihood.rows import few_threads
from deniable.mechanisms import Tally
from deniable.randomness.simulated import numbers_from
from deniable_papers.channels import candidates, lower_bound, optimum
from deniable_papers.channels.candidates import Candidate, MatrixCandidate
from deniable_papers.channels.optimum import MOST_SEARCHED, MOST_TESTED, Optimum
from deniable_papers.distances import line_wasserstein, mean_squared_error, smoothed_kl
from deniable_papers.simulate.population import checked_people, uniform, zipf
from deniable_papers.studies.sweep import Progress, checked_methods

__all__ = [
    "CHANNELS",
    "EPSILONS",
    "NS",
    "PEOPLE",
    "PRIORS",
    "QUICK_NS",
    "QUICK_RUNS",
    "RUNS",
    "UNDETERMINED",
    "ChannelPoint",
    "reproduce",
]

NS = (2, 4, 8, 20, 100)
EPSILONS = (0.1, 0.5, 1.0, 2.0)
PEOPLE = 10_000
RUNS = 40
QUICK_NS, QUICK_RUNS = (2, 4), 3
UNDETERMINED = "infinite"
"""The error of a channel that gives up outputs: its reports do not determine the shares."""
_SAME = 1e-6  # what certified shares are compared by


def _bimodal(k: int) -> Floats:
    x = (np.arange(k) + 0.5) / k
    shares = np.exp(-(((x - 0.3) / 0.1) ** 2) / 2) + 0.6 * np.exp(-(((x - 0.7) / 0.12) ** 2) / 2) + 1e-3
    return np.asarray(shares / shares.sum())


@lru_cache(
    maxsize=1
)  # the bound of all channels is found with the best one, and their rows follow each other
def _best(n: int, epsilon: float, prior: tuple[float, ...]) -> Optimum:
    return optimum(n, epsilon, np.array(prior), "l2")


PRIORS: dict[str, Callable[[int], Floats]] = {
    "uniform": lambda k: uniform(k).shares,
    "zipf": lambda k: zipf(k).shares,
    "bimodal": _bimodal,
}
"""The true shares of k values among the people asked."""

CHANNELS: dict[str, Callable[[int, float, Floats], Candidate]] = {
    "geometric": lambda n, epsilon, _: candidates.geometric(n, epsilon),
    "grr": lambda n, epsilon, _: candidates.direct(n, epsilon),
    "exponential": lambda n, epsilon, _: candidates.exponential(n, epsilon),
    "exponential calibrated": lambda n, epsilon, _: candidates.calibrated_exponential(n, epsilon),
    "blahut-arimoto": candidates.blahut_arimoto,
    "optimum": lambda n, epsilon, prior: MatrixCandidate(
        _best(_check_searched(n), epsilon, tuple(prior.tolist())).channel
    ),
}
"""The channels that are compared; the last is the best of all for the squared error."""


@final
@dataclass(frozen=True)
class ChannelPoint:
    """One channel for one prior; or why there is none."""

    channel: str
    prior: str
    n: int
    epsilon: float
    people: int
    runs: int
    seed: int
    refused: str | None = None
    step_loss: float | None = None
    """What neighbors lose at most in this channel: epsilon, or less."""
    unspent: str | None = None
    """Why that is less than epsilon, where it is."""
    l2: float | None = None
    """People times the squared error of all shares together, for many people."""
    cdf: float | None = None
    """The same of the cumulative shares."""
    kl: float | None = None
    best_l2: float | None = None
    """No channel with the same promise is below this (up to 8 steps, or where the geometric is proven best,
    up to 12).
    """
    mse: float | None = None
    """Measured: the mean squared error of a share, with the most likely shares from `people` people."""
    mse_stderr: float | None = None
    w1: float | None = None
    """The distance on the line, in steps."""
    w1_stderr: float | None = None
    kl_one_more: float | None = None
    """The surprise in nats, after one more report that is spread over all values."""
    kl_one_more_stderr: float | None = None
    hits: float | None = None
    """How often an attacker who knows the prior guesses a value from its report, at best."""
    guess_distance: float | None = None
    """How far the guess that is nearest on average is from the value, in steps."""
    worst_gap: float | None = None
    """The largest certificate of all runs: how far a mean log-likelihood can be from the best."""


def reproduce(
    channels: Iterable[str] | None = None,
    priors: Iterable[str] | None = None,
    ns: Iterable[int] = NS,
    epsilons: Iterable[float] = EPSILONS,
    people: int = PEOPLE,
    runs: int = RUNS,
    seed: int = 1,
    progress: Progress | None = None,
) -> Iterator[ChannelPoint]:
    """A row per prior, n, epsilon and channel, as they are done. A row depends on the seed and its own
    parameters only.
    """
    names = checked_methods(channels, CHANNELS, runs, seed, "a channel")
    whom = checked_methods(priors, PRIORS, runs, seed, "a prior")
    sizes = [whole_number("n, the largest value,", n, 1, 1000) for n in ns]
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    checked_people(people)
    cells = [
        ChannelPoint(name, prior, n, epsilon, people, runs, seed)
        for prior in whom
        for n in sizes
        for epsilon in budgets
        for name in names
    ]
    return _measure_all(cells, progress)


def _measure_all(cells: list[ChannelPoint], progress: Progress | None) -> Iterator[ChannelPoint]:
    least = cache(_least)
    for done, asked in enumerate(cells, 1):
        try:
            with few_threads(float(asked.n + 1) ** 3):
                row = _row(asked, least(asked.n, asked.epsilon, asked.prior))
        except InvalidParameter as problem:
            row = replace(asked, refused=str(problem))
        yield row
        if progress is not None:
            progress(done, len(cells))


def _row(asked: ChannelPoint, best: float | None) -> ChannelPoint:
    prior = PRIORS[asked.prior](asked.n + 1)
    made = CHANNELS[asked.channel](asked.n, asked.epsilon, prior)
    asked = replace(asked, step_loss=made.loss, unspent=made.unspent(asked.epsilon), best_l2=best)
    l2, cdf, kl = (made.risk(prior, loss) for loss in ("l2", "cdf", "kl"))
    if not np.isfinite(l2):
        return replace(asked, refused=UNDETERMINED)
    channel = made.matrix()
    asked = replace(asked, hits=find_hits(channel, prior), guess_distance=find_guess_distance(channel, prior))
    draws = numbers_from(asked.seed, "geometric", asked.channel, asked.prior, asked.n, asked.epsilon)
    chances = prior @ channel
    source = GeometricChannel(asked.n, asked.epsilon) if asked.channel == "geometric" else channel
    found = np.empty((asked.runs, 4))
    for run in range(asked.runs):
        result = mle(source, Tally(asked.people, draws.multinomial(asked.people, chances / chances.sum())))
        shares = result.frequencies
        found[run] = (
            mean_squared_error(shares, prior),
            line_wasserstein(shares, prior),
            smoothed_kl(shares, prior, asked.people),
            result.gap,
        )
    means = found.mean(axis=0)
    errors = found.std(axis=0, ddof=1) / np.sqrt(asked.runs) if asked.runs > 1 else [None] * 4
    return replace(
        asked,
        l2=l2,
        cdf=cdf,
        kl=kl,
        mse=float(means[0]),
        mse_stderr=_scatter(errors[0], means[0]),
        w1=float(means[1]),
        w1_stderr=_scatter(errors[1], means[1]),
        kl_one_more=float(means[2]),
        kl_one_more_stderr=_scatter(errors[2], means[2]),
        worst_gap=float(found[:, 3].max()),
    )


def find_hits(channel: Floats, prior: Floats) -> float:
    """How often the likeliest value of a report is the true one; each row of the channel is for a value."""
    return float((prior[:, None] * channel).max(axis=0).sum())


def find_guess_distance(channel: Floats, prior: Floats) -> float:
    """The expected distance, in steps, of the guess that is nearest on average: the posterior's median.

    Under d-privacy nearby values may be told apart less than far ones, so this says more than hits do.
    """
    values = np.arange(prior.size, dtype=np.float64)
    distances = np.abs(values[:, None] - values)
    return float((distances @ (prior[:, None] * channel)).min(axis=0).sum())


def _least(n: int, epsilon: float, prior: str) -> float | None:
    """The smallest squared error of any channel, where it is known."""
    shares = PRIORS[prior](n + 1)
    if n <= MOST_SEARCHED:
        return _best(n, epsilon, tuple(shares.tolist())).bound
    if n > MOST_TESTED:
        return None
    made = candidates.geometric(n, epsilon)
    bound = lower_bound(made.matrix(), epsilon, shares, "l2")
    return bound if made.risk(shares, "l2") <= bound * (1 + 1e-6) else None


def _check_searched(n: int) -> int:
    if n > MOST_SEARCHED:
        raise InvalidParameter(f"known up to n = {MOST_SEARCHED}")
    return n


def _scatter(stderr: float | None, mean: float) -> float | None:
    """A standard error; none at all where all runs gave the same, as nearly as they are certified."""
    if stderr is None:
        return None
    return float(stderr) if stderr > _SAME * abs(mean) else 0.0
