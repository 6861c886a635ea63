"""Studies on invented people: populations, tallies and sweeps that measure what the laws predict.

A tally is drawn directly where that has the very law of counting reports one by one (up to the rounding of a
probability to a float, and the words' bias of 2^-64), so that a billion people cost no more than a thousand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, singledispatch
from itertools import product
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from deniable import consistency
from deniable.errors import InvalidParameter, NotExact, not_among
from deniable.estimate import Estimate
from deniable.exact import positive_epsilon, whole_number
from deniable.fakes import Blank, Fake, Guessed, Imitated
from deniable.law import Floats, Integers, Law, Marginal
from deniable.mechanism import Mechanism, Tally
from deniable.metric import DISTANCED, Averaged, Metric
from deniable.metrics import METRICS
from deniable.population import MOST_PEOPLE, Population, checked_people, checked_size, numbers_from
from deniable.protocols import Protocol, named_protocol
from deniable.repeat import Memoized
from deniable.shape import Encoder
from deniable.shapes import Direct, Hadamard, Unary
from deniable.share import Faked, Sample, Share
from deniable.simulated import seeded
from deniable.summed import Summed

MOST_REPORTS = 10**8
"""More reports than this are not made one by one; it would take hours."""

_BLOCK_BYTES = 1 << 25


@singledispatch
def draw_tally(mechanism: Mechanism, true_counts: npt.ArrayLike, generator: np.random.Generator) -> Tally:
    """The tally of the reports of true_counts[v] people with each value v, drawn directly where that is exact.

    Subsets and hashes tie the values' counts together in a way that has no shortcut: their reports are really made and
    counted, block by block, from words that the generator seeds.
    """
    counts, n = _checked_counts(mechanism, true_counts)
    if n > MOST_REPORTS:
        raise InvalidParameter(
            f"subsets and hashes are made one by one, for at most {MOST_REPORTS:,} people, got {n:,}; "
            "ask fewer, or draw another shape directly (grr, oue, hr, ...)"
        )
    words = seeded(int(generator.integers(1 << 62)))
    total = mechanism.tally(mechanism.privatize(np.zeros(0, dtype=np.int64), seeded(0)))
    step = max(1, min(1 << 20, _BLOCK_BYTES // mechanism.report_bytes))
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    for start in range(0, n, step):
        values = np.repeat(np.arange(mechanism.k), np.diff(np.clip(ends, start, start + step)))
        total += mechanism.tally(mechanism.privatize(values, words))
    return total


@draw_tally.register
def _(mechanism: Unary, true_counts: npt.ArrayLike, generator: np.random.Generator) -> Tally:
    """Every bit is a coin of its own, so every count is two binomials of its own."""
    counts, n = _checked_counts(mechanism, true_counts)
    return Tally(n, _draw_bits(mechanism.law, counts, generator))


@draw_tally.register
def _(mechanism: Direct, true_counts: npt.ArrayLike, generator: np.random.Generator) -> Tally:
    """Some tell the truth for sure, with p - q; the others report any of the k values, all alike."""
    counts, n = _checked_counts(mechanism, true_counts)
    return Tally(n, _draw_values(mechanism.law, counts, generator))


@draw_tally.register
def _(mechanism: Memoized, true_counts: npt.ArrayLike, generator: np.random.Generator) -> Tally:
    """One collection: two rounds of bits, or of values, are one round with the chain's own p and q."""
    counts, n = _checked_counts(mechanism, true_counts)
    draw = _draw_bits if isinstance(mechanism.first, Unary) else _draw_values
    return Tally(n, draw(mechanism.law, counts, generator))


@draw_tally.register
def _(mechanism: Hadamard, true_counts: npt.ArrayLike, generator: np.random.Generator) -> Tally:
    """Who agrees with their row is a binomial; how many report each column, a tree of fair coins."""
    counts, n = _checked_counts(mechanism, true_counts)
    people = np.zeros(1 << mechanism.bits, dtype=np.int64)
    people[1 : mechanism.k + 1] = counts
    agreeing = generator.binomial(people, mechanism.law.p)
    return Tally(n, mechanism.support_counts(_draw_columns(agreeing, people - agreeing, generator), n))


@draw_tally.register
def _(mechanism: Summed, true_counts: npt.ArrayLike, generator: np.random.Generator) -> Tally:
    """A Laplace number is the difference of two exponential ones, so a sum of n is that of two gamma numbers."""
    counts, n = _checked_counts(mechanism, true_counts)
    noise = generator.standard_gamma(n, size=mechanism.k) - generator.standard_gamma(n, size=mechanism.k)
    return Tally(n, counts + mechanism.scale * noise)


@draw_tally.register
def _(mechanism: Metric, true_counts: npt.ArrayLike, generator: np.random.Generator) -> Tally:
    """The people with one value report outputs by its row of the channel: a multinomial each."""
    counts, n = _checked_counts(mechanism, true_counts)
    found = np.zeros(mechanism.outputs, dtype=np.int64)
    for value in np.flatnonzero(counts).tolist():
        row = mechanism._rows(value, value + 1)[0]
        found += generator.multinomial(counts[value], row / row.sum())
    return Tally(n, found)


def is_drawn_directly(mechanism: Mechanism) -> bool:
    """Whether `draw_tally` has a shortcut for this mechanism, or makes its reports one by one."""
    return draw_tally.dispatch(type(mechanism)) is not draw_tally.dispatch(object)


def _draw_bits(law: Law, counts: Integers, generator: np.random.Generator) -> Integers:
    """Counts of independent bits, for one row of true counts or for many."""
    n = counts.sum(axis=-1, keepdims=True)
    return np.asarray(generator.binomial(counts, law.p) + generator.binomial(n - counts, law.q), dtype=np.int64)


def _draw_values(law: Law, counts: Integers, generator: np.random.Generator) -> Integers:
    """Counts of reported values, for one row of true counts or for many."""
    truthful = generator.binomial(counts, law.gain)
    others = generator.multinomial((counts - truthful).sum(axis=-1), np.full(law.k, 1 / law.k))
    return np.asarray(truthful + others, dtype=np.int64)


def _draw_columns(agreeing: Integers, disagreeing: Integers, generator: np.random.Generator) -> Integers:
    """How many people report each column of a Hadamard matrix: uniform in the half that agrees with their row, or not.

    The first bit of the column is a fair coin (but for the row of this bit alone, which decides it). Where row and column
    both have it, agreeing on the rest means the opposite. So each half of the columns is the same problem on half the rows.
    """
    agree, differ = agreeing[None, :], disagreeing[None, :]
    while agree.shape[1] > 1:
        half = agree.shape[1] // 2
        zero_agree, zero_differ = generator.binomial(agree, 0.5), generator.binomial(differ, 0.5)
        zero_agree[:, half], zero_differ[:, half] = agree[:, half], 0
        one_agree, one_differ = agree - zero_agree, differ - zero_differ
        zero = zero_agree[:, :half] + zero_agree[:, half:], zero_differ[:, :half] + zero_differ[:, half:]
        one = one_agree[:, :half] + one_differ[:, half:], one_differ[:, :half] + one_agree[:, half:]
        agree, differ = (np.stack(pair, axis=1).reshape(-1, half) for pair in zip(zero, one, strict=True))
    return np.asarray(agree[:, 0])


@final
@dataclass(frozen=True, eq=False)
class Draws:
    """Tallies of one attribute of a share, a row for each run."""

    n: Integers
    counts: Integers
    asked: Integers | None = None
    """How many of the reports are about each value, where not all are."""

    def tally(self, run: int) -> Tally:
        """The tally of one run."""
        return Tally(int(self.n[run]), self.counts[run], None if self.asked is None else self.asked[run])

    def frequencies(self, law: Law | Marginal) -> Floats:
        """The unbiased estimates of all runs, a row each."""
        about = np.broadcast_to(self.n[:, None], self.counts.shape) if self.asked is None else self.asked
        return Estimate(int(self.n.max()), self.counts, law, asked=about).frequencies


def draw_share(
    share: Share, true_counts: Sequence[npt.ArrayLike], runs: int, generator: np.random.Generator
) -> tuple[Draws, ...]:
    """The tallies of many runs of a share, of which only how many people have each value of each attribute is known.

    The tallies of one attribute have the very law of counting real records. Those of different attributes are drawn
    apart: for `Split` that is their law too, for the others it is not, since a person who reports one attribute leaves
    out (or fakes) the rest. So errors of an attribute and their averages are right; do not look for correlations.
    """
    whole_number("runs", runs, 1)
    if len(true_counts) != share.d:
        raise InvalidParameter(f"the share has {share.d} attributes, but there are true counts of {len(true_counts)}")
    known = [_checked_counts(part, counts) for part, counts in zip(share.parts, true_counts, strict=True)]
    if len({n for _, n in known}) > 1:
        raise InvalidParameter(f"true counts of every attribute are of the same people, got {[n for _, n in known]}")
    return tuple(_draw_attribute(share, j, np.tile(counts, (runs, 1)), generator) for j, (counts, _) in enumerate(known))


def draw_share_tallies(share: Share, true_counts: Sequence[npt.ArrayLike], generator: np.random.Generator) -> tuple[Tally, ...]:
    """The tallies of one run of a share, one per attribute; see `draw_share` for how exact they are."""
    return tuple(draws.tally(0) for draws in draw_share(share, true_counts, 1, generator))


def _draw_attribute(share: Share, attribute: int, people: Integers, generator: np.random.Generator) -> Draws:
    """Whoever reports an attribute is drawn by a coin of their own, so the reporters with each value are a binomial."""
    part = share.parts[attribute]
    if isinstance(share, Sample):
        return _draw_reports(part, generator.binomial(people, share.drawn / share.d), generator)
    if isinstance(share, Faked):
        reporters = generator.binomial(people, 1 / share.d)
        real = _draw_reports(part, reporters, generator)
        faked = _draw_fakes(share.fakes[attribute], (people - reporters).sum(axis=1), generator)
        return Draws(people.sum(axis=1), real.counts + faked)
    return _draw_reports(part, people, generator)


def _draw_reports(part: Encoder, people: Integers, generator: np.random.Generator) -> Draws:
    """One tally of a mechanism for each row of people: all at once where a law does it, else one by one."""
    rounds = part.first if isinstance(part, Memoized) else part
    if isinstance(rounds, Unary | Direct):
        draw = _draw_bits if isinstance(rounds, Unary) else _draw_values
        return Draws(people.sum(axis=1), draw(part.law, people, generator))
    tallies = [draw_tally(part, row, generator) for row in people]
    about = [tally.asked for tally in tallies if tally.asked is not None]
    counts = np.array([tally.counts for tally in tallies])
    return Draws(people.sum(axis=1), counts, np.array(about) if about else None)


def _draw_fakes(fake: Fake, fakes: Integers, generator: np.random.Generator) -> Integers:
    """How many of so many fakes support each value, a row for each number of fakes."""
    if isinstance(fake, Blank):
        law = fake.part.law
        return np.asarray(generator.binomial(fakes[:, None], law.q, (fakes.size, law.k)), dtype=np.int64)
    if not isinstance(fake, Guessed | Imitated):
        raise InvalidParameter(f"there is no shortcut for fakes of {type(fake).__name__}; make the records instead")
    values = np.asarray(generator.multinomial(fakes, fake.prior.shares), dtype=np.int64)
    return values if isinstance(fake, Guessed) else _draw_reports(fake.part, values, generator).counts


@final
@dataclass(frozen=True)
class Mean:
    """An average over repeats and its standard error, which one repeat alone does not give."""

    mean: float
    stderr: float | None


@final
@dataclass(frozen=True)
class ShareErrors:
    """MSE_avg: the squared error of a frequency, averaged over the values and then over the attributes."""

    unbiased: Mean
    projected: Mean
    """After a consistency step."""


def measure_share(
    share: Share,
    true_counts: Sequence[npt.ArrayLike],
    runs: int,
    generator: np.random.Generator,
    step: str = "norm-mul",
) -> ShareErrors:
    """How far a share's estimates are from the frequencies among the people who answered, over many runs.

    The standard errors take the attributes of one run to err independently, which they nearly do.
    """
    if step not in consistency.STEPS:
        raise InvalidParameter(not_among(step, "a consistency step", consistency.STEPS))
    project = consistency.STEPS[step]
    unbiased, projected = np.zeros((2, runs))
    for j, draws in enumerate(draw_share(share, true_counts, runs, generator)):
        counts = np.asarray(true_counts[j])
        truth = counts / counts.sum()
        part = share.parts[j]
        if isinstance(part, Metric):
            frequencies = np.array([part.estimated(draws.tally(run)).frequencies for run in range(runs)])
        else:
            frequencies = draws.frequencies(share.marginal(j))
        unbiased += ((frequencies - truth) ** 2).mean(axis=1) / share.d
        projected += ((np.array([project(row) for row in frequencies]) - truth) ** 2).mean(axis=1) / share.d
    return ShareErrors(_mean(unbiased), _mean(projected))


@final
@dataclass(frozen=True)
class Row:
    """One cell of a sweep: what was asked, what the law predicts, and what was measured; or why it was refused."""

    protocol: str
    epsilon: float
    k: int
    n: int
    population: str
    repeats: int
    seed: int
    project: str | None
    refused: str | None = None
    drawn: Literal["directly", "by reports"] | None = None
    loss: float | None = None
    """The exact loss of any two values; None for a mechanism that has none."""
    unit_loss: float | None = None
    """Where the loss depends on the distance: that of two values one step apart, which epsilon bounds."""
    expected_mse: float | None = None
    """The mean squared error of the unbiased estimates, by the law."""
    success: float | None = None
    report_bytes: int | None = None
    metrics: Mapping[str, Mean] = field(default_factory=dict)
    """The METRICS, and `coverage`: the share of values whose 95 % interval holds the share among the people who answered."""


_Cell = tuple[Protocol, Population, int | None, Row]


def sweep(
    protocols: Iterable[str | Protocol],
    epsilons: Iterable[float],
    ks: Iterable[int],
    ns: Iterable[int | None],
    population: Callable[[int], Population],
    repeats: int = 20,
    seed: int = 1,
    project: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Row]:
    """One row per cell, as they are done. In every repeat new people are drawn and asked (n = None: the known people).

    Errors are those of the unbiased estimates, or after the consistency step `project`. A cell depends on the seed and on
    its own parameters, not on the rest of the sweep; protocols and budgets are compared on the same people. A cell that a
    protocol refuses is a row that says why. `progress` hears how many repeats of how many are done.
    """
    rows = [_named(each) if isinstance(each, str) else each for each in protocols]
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    sizes = [n if n is None else checked_people(n) for n in ns]
    populations = [_of_size(population, k) for k in ks]
    whole_number("repeats", repeats, 1)
    whole_number("seed", seed, 0)
    if project is not None and project not in consistency.NAMES:
        raise InvalidParameter(not_among(project, "a consistency step", consistency.NAMES))
    cells = [
        (protocol, people, n, Row(protocol.name, epsilon, people.k, n or people.n, people.name, repeats, seed, project))
        for people, n, epsilon, protocol in product(populations, sizes, budgets, rows)
    ]
    return _measured_cells(cells, progress or (lambda _done, _total: None))


def highest_success(k: int, epsilon: npt.ArrayLike) -> Floats:
    """No mechanism of this loss lets a guess among k equally likely values be right more often: e / (e + k - 1)."""
    return np.asarray(1 / (1 + (k - 1) * np.exp(-np.asarray(epsilon, dtype=np.float64))))


def _measured_cells(cells: Sequence[_Cell], progress: Callable[[int, int], None]) -> Iterator[Row]:
    made = cache(lambda protocol, k, epsilon: protocol.make(k, epsilon))
    total = sum(asked.repeats for *_, asked in cells)
    done = 0
    for protocol, people, n, asked in cells:

        def tell(repeat: int, before: int = done) -> None:
            progress(before + repeat, total)

        try:
            yield _measured(made(protocol, asked.k, asked.epsilon), people, n, asked, tell)
        except InvalidParameter as problem:
            yield replace(asked, refused=str(problem))
        done += asked.repeats
        progress(done, total)


def _measured(mechanism: Mechanism, people: Population, n: int | None, asked: Row, tell: Callable[[int], None]) -> Row:
    who = numbers_from(asked.seed, "people", people.name, people.k, asked.n)
    noise = numbers_from(asked.seed, "reports", people.name, people.k, asked.n, asked.protocol, asked.epsilon)
    seen: dict[str, list[float]] = {name: [] for name in (*METRICS, "coverage")}
    for repeat in range(asked.repeats):
        tell(repeat)
        counts = people.draw_counts(n, who)
        truth = counts / asked.n
        estimate = mechanism.estimate(draw_tally(mechanism, counts, noise))
        shares = estimate.frequencies if asked.project is None else estimate.project(asked.project)
        for name, metric in METRICS.items():
            seen[name].append(metric(shares, truth))
        seen["coverage"].append(_covered(estimate, truth))
    return replace(
        asked,
        drawn="directly" if is_drawn_directly(mechanism) else "by reports",
        loss=_loss_or_none(mechanism),
        unit_loss=mechanism.loss(1) if isinstance(mechanism, Metric) else None,
        expected_mse=mechanism.law.error(asked.n),
        success=mechanism.success(),
        report_bytes=mechanism.report_bytes,
        metrics={name: _mean(values) for name, values in seen.items()},
    )


def _named(name: str) -> Protocol:
    """A protocol, or a mechanism that knows distances, for ordered values."""
    if name in DISTANCED:
        return DISTANCED[name].protocol
    return named_protocol(name, DISTANCED)


def _covered(estimate: Estimate, truth: Floats) -> float:
    low, high = estimate.interval(0.95)
    return float(((low <= truth) & (truth <= high)).mean())


def _mean(values: Sequence[float] | Floats) -> Mean:
    stderr = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
    return Mean(float(np.mean(values)), stderr)


def _loss_or_none(mechanism: Mechanism) -> float | None:
    try:
        return mechanism.loss()
    except NotExact:
        return None


def _of_size(population: Callable[[int], Population], k: int) -> Population:
    people = population(checked_size(k))
    if people.k != k:
        raise InvalidParameter(f"the population {people.name!r} has {people.k} values, but k = {k} was asked for")
    return people


def _checked_counts(mechanism: Mechanism, true_counts: npt.ArrayLike) -> tuple[Integers, int]:
    if isinstance(mechanism, Averaged):
        raise InvalidParameter("the mean of a number has no shares, so that there are no counts of its values to draw from")
    counts = np.asarray(true_counts)
    if counts.shape != (mechanism.k,) or counts.dtype.kind not in "iu" or counts.min() < 0:
        raise InvalidParameter(f"true counts are {mechanism.k} whole numbers of people, one for each value")
    n = sum(counts.tolist())
    if n > MOST_PEOPLE:
        raise InvalidParameter(f"true counts are of at most {MOST_PEOPLE:.0e} people, got {n}")
    return counts.astype(np.int64), n
