"""Drawing tallies directly has the law of counting reports; sweeps measure what the laws predict.

The two ways are compared by the means, variances and covariances of their counts together, in one chi-square
with the false-alarm rate of `statistics.ALPHA`. Each comparison is shown to fail on planted faults.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from sizes import COVERED_SWEEPS
from tests import statistics

import deniable as dn
from deniable.mechanisms import Protocol
from deniable.metric import MetricMechanism
from deniable_papers import distances
from deniable_papers.distances import METRICS
from deniable_papers.simulate import measure as simulate
from deniable_papers.simulate import population
from deniable_papers.simulate.drawn import draw_tally, is_drawn_directly
from deniable_papers.simulate.measure import Mean, SweepCell, sweep
from deniable_papers.simulate.population import Population

Counts = npt.NDArray[np.float64]

TRUE_COUNTS = np.array([2000, 1200, 500, 300, 0])
REPORTED, DRAWN = 2000, 10_000
"""Tallies counted from real reports, and drawn directly, of 4000 people each: p moved by 1 % is ten standard
errors.
"""

UNARY, SYMMETRIC = dn.oue(5, 1.0), dn.sue(5, 1.0)
DIRECT, COLUMNS, POOLED = (dn.grr(5, 1.0), dn.hr(5, 1.0), dn.mechanisms.plh(5, 1.0))


def reported(mechanism: dn.mechanisms.Mechanism, true_counts: npt.NDArray[np.int64], repeats: int) -> Counts:
    """The counts of real reports, one row per repeat."""
    words, block = dn.seeded(11), 200
    people = np.repeat(np.arange(mechanism.k), true_counts)
    rows = []
    for _ in range(repeats // block):
        reports = mechanism.privatize(np.tile(people, block), words)
        rows += [mechanism.tally(part).counts for part in np.split(reports, block)]
    return np.array(rows, dtype=np.float64)


def simulate_counts(mechanism: dn.mechanisms.Mechanism, true_counts: npt.NDArray[np.int64]) -> Counts:
    """The counts of tallies drawn directly, one row per repeat."""
    generator = np.random.default_rng(12)
    return np.array(
        [draw_tally(mechanism, true_counts, generator).counts for _ in range(DRAWN)], dtype=np.float64
    )


def compare(one: Counts, other: Counts, what: str) -> None:
    """Fail where means or covariances of two samples of counts differ: Hotelling's statistic over all of
    them.
    """
    center = np.concatenate([one, other]).mean(axis=0)
    upper = np.triu_indices(center.size)

    def features(counts: Counts) -> Counts:
        away = counts - center
        return np.hstack([away, (away[:, :, None] * away[:, None, :])[:, upper[0], upper[1]]])

    first, second = features(one), features(other)
    scale = second.std(axis=0)
    difference = (first.mean(axis=0) - second.mean(axis=0)) / scale
    spread = np.cov(first / scale, rowvar=False) / len(first) + np.cov(second / scale, rowvar=False) / len(
        second
    )
    values, vectors = np.linalg.eigh(spread)
    real = values > 1e-9 * values.max()  # counts that add up to n for sure leave fewer dimensions
    squares = float(((vectors.T @ difference)[real] ** 2 / values[real]).sum())
    statistics.spread(squares, int(real.sum()), what)


@pytest.fixture(scope="module")
def counted() -> Callable[[dn.mechanisms.Mechanism], Counts]:
    """Real counts of each mechanism, made once."""
    seen: dict[dn.mechanisms.Mechanism, Counts] = {}

    def get(mechanism: dn.mechanisms.Mechanism) -> Counts:
        if mechanism not in seen:
            seen[mechanism] = reported(mechanism, TRUE_COUNTS, REPORTED)
        return seen[mechanism]

    return get


@pytest.mark.parametrize(
    "mechanism", [UNARY, SYMMETRIC, DIRECT, COLUMNS, POOLED], ids=["oue", "sue", "grr", "hr", "plh"]
)
def test_both_ways_have_one_law(
    mechanism: dn.mechanisms.Mechanism, counted: Callable[[dn.mechanisms.Mechanism], Counts]
) -> None:
    assert is_drawn_directly(mechanism)
    compare(counted(mechanism), simulate_counts(mechanism, TRUE_COUNTS), repr(mechanism))


FAULTS: dict[str, tuple[dn.mechanisms.Mechanism, dn.mechanisms.Mechanism]] = {
    "unary p moved by 1 %": (UNARY, replace(UNARY, one=round(UNARY.one * 1.01))),
    "unary q moved by 1 %": (UNARY, replace(UNARY, zero=round(UNARY.zero * 1.01))),
    "direct p moved by 1 %": (DIRECT, replace(DIRECT, keep=round(DIRECT.keep * 1.01))),
    "hadamard p moved by 1 %": (COLUMNS, replace(COLUMNS, keep=round(COLUMNS.keep * 1.01))),
    "pooled p moved by 1 %": (POOLED, replace(POOLED, keep=round(POOLED.keep * 1.01))),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_moved_probabilities_are_seen(
    fault: str, counted: Callable[[dn.mechanisms.Mechanism], Counts]
) -> None:
    right, wrong = FAULTS[fault]
    with pytest.raises(AssertionError, match="of the variance"):
        compare(counted(right), simulate_counts(wrong, TRUE_COUNTS), fault)


@pytest.mark.parametrize("mechanism", [DIRECT, COLUMNS, POOLED], ids=["grr", "hr", "plh"])
def test_independent_counts_are_seen(
    mechanism: dn.mechanisms.Direct | dn.mechanisms.Hadamard | dn.mechanisms.Pooled,
    counted: Callable[[dn.mechanisms.Mechanism], Counts],
) -> None:
    generator = np.random.default_rng(13)
    law, n = mechanism.law, int(TRUE_COUNTS.sum())
    apart = generator.binomial(TRUE_COUNTS, law.p, (DRAWN, 5)) + generator.binomial(
        n - TRUE_COUNTS, law.q, (DRAWN, 5)
    )
    real = counted(mechanism)
    for value in range(5):  # each count alone has the right law: only their covariances tell
        error = real[:, value].std() / len(real) ** 0.5
        statistics.deviation(
            real[:, value].mean(), apart[:, value].mean(), error, f"the mean of value {value}"
        )
    with pytest.raises(AssertionError, match="of the variance"):
        compare(real, apart.astype(np.float64), "independent counts")


@pytest.mark.parametrize("mechanism", [dn.ss(20, 1.0), dn.olh(20, 1.0)], ids=["ss", "olh"])
def test_other_shapes_are_counted_from_real_reports(
    mechanism: dn.mechanisms.Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "deniable_papers.simulate.drawn._BLOCK_BYTES", 17 * mechanism.report_bytes
    )  # many blocks, cutting values in two
    true_counts = np.arange(20)
    tally = draw_tally(mechanism, true_counts, np.random.default_rng(3))
    words = dn.seeded(int(np.random.default_rng(3).integers(1 << 62)))
    assert not is_drawn_directly(mechanism)
    assert tally == mechanism.tally(mechanism.privatize(np.repeat(np.arange(20), true_counts), words))


@pytest.mark.parametrize("name", ["grr", "oue", "hr", "plh"])
def test_tallies_of_a_billion_people_take_less_than_a_second(name: str) -> None:
    mechanism = dn.PROTOCOLS[name].make(1000, 1.0)
    generator = np.random.default_rng(5)
    counts = population.zipf(1000).draw_counts(10**9, generator)
    start = time.process_time()
    tally = draw_tally(mechanism, counts, generator)
    assert time.process_time() - start < 1.0, "4 ms on a quiet core, 60 ms for plh"
    assert tally.n == 10**9
    errors = (mechanism.estimate(tally).frequencies - counts / 1e9) ** 2
    assert errors.mean() == pytest.approx(mechanism.law.error(10**9), rel=0.25)


def test_nobody_gives_an_empty_tally() -> None:
    for name in ("grr", "oue", "hr", "ss", "olh", "plh"):
        tally = draw_tally(
            dn.PROTOCOLS[name].make(4, 1.0), np.zeros(4, dtype=np.int64), np.random.default_rng(1)
        )
        assert tally.n == 0
        assert tally.counts.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "counts", [[1, 2], [1, 2, -3, 4], [1.0, 2.0, 3.0, 4.0], [10**18, 1, 0, 0], [[1, 2, 3, 4]]]
)
def test_true_counts_are_checked(counts: list[object]) -> None:
    with pytest.raises(dn.InvalidParameter, match="true counts are"):
        draw_tally(dn.grr(4, 1.0), np.asarray(counts), np.random.default_rng(1))


def test_more_reports_than_anyone_waits_for_are_refused() -> None:
    with pytest.raises(
        dn.InvalidParameter, match="one by one, for at most 100,000,000 people, got 4,000,000,000"
    ):
        draw_tally(dn.olh(4, 1.0), np.full(4, 10**9), np.random.default_rng(1))


@pytest.fixture(scope="module")
def rows() -> list[SweepCell]:
    return list(sweep(dn.PROTOCOLS, [1.0], [8], [2000], population.zipf, repeats=200, seed=4))


def test_measured_error_is_the_laws(rows: list[SweepCell]) -> None:
    assert [row.protocol for row in rows] == list(dn.PROTOCOLS)
    for row in rows:
        mse = row.metrics["mse"]
        assert row.expected_mse is not None
        assert mse.stderr is not None
        statistics.deviation(mse.mean, row.expected_mse, mse.stderr, f"mean squared error of {row.protocol}")
        with pytest.raises(AssertionError, match="standard errors off"):
            statistics.deviation(mse.mean, 1.4 * row.expected_mse, mse.stderr, "an error 40 % larger")


def test_intervals_cover_the_population(rows: list[SweepCell]) -> None:
    for row in rows:
        pairs = row.repeats * row.k
        covered = round(row.metrics["coverage"].mean * pairs)
        statistics.at_least(
            covered, pairs, 0.945, f"coverage of {row.protocol}"
        )  # a noisy sum's interval is approximate
    together = np.mean([row.metrics["coverage"].mean for row in rows])
    assert 0.945 < together < 0.965  # no more than promised either: too wide an interval says too little


def test_coverage_is_of_the_population_that_intervals_mean() -> None:
    """With little noise, the people's own shares are held by all intervals: 100 % was shown for 95 %."""
    [row] = sweep(["grr"], [6.0], [8], [2000], population.uniform, repeats=COVERED_SWEEPS, seed=4)
    assert row.coverage_of == "population"
    statistics.deviation(
        row.metrics["coverage"].mean, 0.955, math.sqrt(0.05 * 0.95 / row.repeats), "coverage of grr"
    )
    assert row.metrics["coverage"].mean < 0.98
    known = population.from_column(["a", "b", "b"] * 500)
    [row] = sweep(["grr"], [6.0], [2], [None], lambda _: known, repeats=50, seed=4)
    assert row.coverage_of == "people"
    assert row.metrics["coverage"].mean == 1


def test_rows_say_what_was_done(rows: list[SweepCell]) -> None:
    by_name = {row.protocol: row for row in rows}
    assert by_name["oue"].drawn == "directly"
    assert by_name["olh"].drawn == "by reports"
    for row in rows:
        mechanism = dn.PROTOCOLS[row.protocol].make(8, 1.0)
        assert (row.success, row.report_bytes) == (mechanism.success(), mechanism.report_bytes)
        assert row.expected_mse == mechanism.law.error(2000)
        assert row.loss is not None
        assert 1 - 1e-9 < row.loss <= 1
        assert set(row.metrics) == {*METRICS, "coverage"}


def test_a_cell_depends_on_the_seed_and_not_on_the_rest_of_the_sweep(rows: list[SweepCell]) -> None:
    def alone(seed: int) -> SweepCell:
        return next(sweep(["olh"], [1.0], [8], [2000], population.zipf, repeats=200, seed=seed))

    assert alone(4) == next(row for row in rows if row.protocol == "olh")
    assert alone(5).metrics != alone(4).metrics


def test_a_protocol_of_ones_own_needs_one_function() -> None:
    def third(k: int, epsilon: float) -> dn.mechanisms.Unary:
        return dn.mechanisms.ue(k, epsilon, p=1 / 3)

    row = next(sweep([Protocol("third", third)], [1.0], [10], [1000], population.uniform, repeats=2))
    assert (row.protocol, row.drawn) == ("third", "directly")


def test_what_one_protocol_refuses_does_not_stop_the_others() -> None:
    rows = list(sweep(["ss", "grr", "olh"], [1.0], [70_000], [10**9], population.uniform, repeats=1))
    assert [row.refused is None for row in rows] == [False, True, False]
    assert "too large for subset encoding" in (rows[0].refused or "")
    assert "one by one" in (rows[2].refused or "")
    assert rows[0].metrics == {}
    assert rows[1].metrics["mse"].stderr is None  # one repeat has no scatter


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"protocols": ["gr"]}, "did you mean 'grr'"),
        ({"epsilons": [-1.0]}, "epsilon must be a positive number, got -1.0"),
        ({"ks": [1]}, "k, the number of values, must be an integer of at least 2, got 1"),
        ({"ns": [0]}, "n, the number of people, must be an integer from 1"),
        ({"ns": [None]}, "the population 'zipf:1' has no people of its own"),
        ({"repeats": 0}, "repeats must be an integer of at least 1, got 0"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"project": "normsub"}, "did you mean 'norm-sub'"),
        ({"population": lambda _: population.uniform(3)}, "has 3 values, but k = 4 was asked for"),
    ],
)
def test_what_no_protocol_can_do_is_refused_at_once(changed: dict[str, object], message: str) -> None:
    asked: dict[str, object] = {
        "protocols": ["grr"],
        "epsilons": [1.0],
        "ks": [4],
        "ns": [10],
        "population": population.zipf,
    }
    with pytest.raises(dn.InvalidParameter, match=message):
        sweep(**(asked | changed))  # type: ignore[arg-type]


def test_progress_counts_every_repeat_once() -> None:
    heard: list[tuple[int, int]] = []
    list(
        sweep(
            ["grr", "ss"],
            [1.0],
            [4],
            [50, 60],
            population.zipf,
            repeats=3,
            progress=lambda *pair: heard.append(pair),
        )
    )
    done = [pair[0] for pair in heard]
    assert done == sorted(done)
    assert set(done) == set(range(13))
    assert {pair[1] for pair in heard} == {12}


def test_projection_is_measured_when_asked_for() -> None:
    plain, projected = (
        next(sweep(["grr"], [0.5], [50], [500], population.zipf, repeats=5, project=step))
        for step in (None, "simplex")
    )
    assert projected.project == "simplex"
    assert projected.metrics["mse"].mean < plain.metrics["mse"].mean / 2
    assert projected.metrics["total_variation"].mean <= 1
    assert (
        projected.metrics["coverage"] == plain.metrics["coverage"]
    )  # intervals are those of the unbiased estimates


def test_the_known_people_are_asked_as_they_are() -> None:
    people = population.from_column([0, 0, 0, 1, 1, 2] * 500)
    row = next(
        sweep(
            [Protocol("almost the truth", lambda k, _: dn.grr(k, 30.0))], [1.0], [3], [None], lambda _: people
        )
    )
    assert row.n == 3000
    assert (
        row.metrics["max_error"].mean < 1e-9
    )  # with nothing hidden and nobody drawn anew the truth comes out
    resampled = next(
        sweep(
            [Protocol("almost the truth", lambda k, _: dn.grr(k, 30.0))], [1.0], [3], [600], lambda _: people
        )
    )
    assert resampled.n == 600
    assert (
        resampled.metrics["max_error"].mean < 1e-9
    )  # the truth is the frequency among the people who answered


@pytest.mark.parametrize("make", population.POPULATIONS.values(), ids=population.POPULATIONS)
@pytest.mark.parametrize("k", [2, 7, 1000])
def test_populations_are_distributions(make: Callable[[int], Population], k: int) -> None:
    people = make(k)
    assert people.k == k
    assert people.shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert people.shares.min() >= 0
    counts = people.draw_counts(12_345, np.random.default_rng(1))
    assert (counts.sum(), counts.size) == (12_345, k)


def test_populations_have_their_shapes() -> None:
    assert population.uniform(4).shares.tolist() == [0.25] * 4
    assert population.zipf(9, 2.0).shares[0] / population.zipf(9, 2.0).shares[2] == pytest.approx(9.0)
    assert population.geometric(9, 0.5).shares[3] / population.geometric(9, 0.5).shares[4] == pytest.approx(
        2.0
    )
    bell = population.normal(101, 0.1).shares
    assert np.allclose(bell, bell[::-1])
    assert bell[50] / bell[60] == pytest.approx(np.exp(0.5 * (10 / 10.1) ** 2))
    same, other = population.dirichlet(9, seed=1).shares, population.dirichlet(9, seed=2).shares
    assert np.array_equal(same, population.dirichlet(9, seed=1).shares)
    assert not np.array_equal(same, other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zip", "did you mean 'zipf'"),
        ("zipf:x", "must be like 1.5, got 'x'"),
        ("zipf:-1", "exponent must be a positive number, got -1.0"),
        ("zipf:inf", "exponent must be a positive number, got inf"),
        ("geometric:1.5", "ratio must be a positive number up to 1, got 1.5"),
        ("uniform:2", "takes no number"),
    ],
)
def test_misnamed_populations_are_refused(text: str, message: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=message):
        population.named_population(text)(5)


def test_a_seed_names_a_dirichlet_population() -> None:
    one, two = (
        population.named_population("dirichlet:0.5", 1)(6),
        population.named_population("dirichlet:0.5", 2)(6),
    )
    assert one.name == two.name == "dirichlet:0.5"
    assert not np.array_equal(one.shares, two.shares)


@pytest.mark.parametrize(
    ("values", "labels", "counts"),
    [
        ([10, 9, 9, 2], ("2", "9", "10"), [1, 2, 1]),
        (np.array([3, 1, 1]), ("1", "3"), [2, 1]),
        (["b", "a", "b"], ("a", "b"), [1, 2]),
    ],
)
def test_a_column_becomes_people(
    values: Iterable[object], labels: tuple[str, ...], counts: list[int]
) -> None:
    people = population.from_column(values)
    assert people.labels == labels
    assert people.draw_counts(None, np.random.default_rng(1)).tolist() == counts
    assert people.n == sum(counts)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,answer\n1,yes\n2,no\n", None),
        (b"\xef\xbb\xbfanswer\nyes\nno\n", None),
        (b"id,anser\n1,yes\n", r"'answer' is not a column of people.csv \(id, anser\); did you mean 'anser'"),
        (b"id,answer\n1,yes\n2,\n3,no\n4\n", "column 'answer' is empty in 2 of 4 rows, first in row 2"),
        (b"answer\nyes\nyes\n", "'answer' has 1 different values"),
        (b"answer\n\xff\xfe\n", "people.csv is not a CSV file in UTF-8"),
        (b"", "'answer' is not a column of people.csv"),
    ],
)
def test_a_file_is_read_or_refused(content: bytes, message: str | None, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    if message is None:
        assert population.read_column(path, "answer").labels == ("no", "yes")
    else:
        with pytest.raises(dn.InvalidParameter, match=message):
            population.read_column(path, "answer")


def test_metrics_by_hand() -> None:
    estimates, truth = np.array([0.5, 0.4, 0.1]), np.array([0.5, 0.2, 0.3])
    seen = {name: metric(estimates, truth) for name, metric in METRICS.items()}
    assert seen == pytest.approx(
        {
            "mse": 0.08 / 3,
            "max_error": 0.2,
            "total_variation": 0.2,
            "wasserstein": 0.2,
            "kl": 0.2 * np.log(0.5) + 0.3 * np.log(3),
        },
        abs=1e-5,
    )
    too_much = np.array(
        [0.6, 0.4, 0.1]
    )  # unbiased estimates need not add up to one; the last step is not a step
    assert distances.wasserstein(too_much, truth) == pytest.approx(0.1 + 0.3)
    assert distances.kullback_leibler(np.array([1.2, -0.2]), np.array([0.5, 0.5])) == pytest.approx(
        0.5 * np.log(0.5) + 0.5 * np.log(0.5 / (1e-6 / 1.2)), abs=1e-4
    )


def test_no_guess_is_better_than_the_budget_allows(rows: list[SweepCell]) -> None:
    assert simulate.highest_success(50, 2.0) == pytest.approx(dn.grr(50, 2.0).success())
    limit = float(simulate.highest_success(8, 1.0)) * (1 + 1e-9)
    assert all(row.success is not None and 1 / 8 < row.success <= limit for row in rows)
    assert simulate.highest_success(8, 800.0) == 1.0


def test_one_repeat_has_a_mean_without_an_error() -> None:
    row = next(sweep(["grr"], [1.0], [4], [100], population.uniform, repeats=1))
    assert row.metrics["mse"] == Mean(row.metrics["mse"].mean, None)


@pytest.mark.parametrize("mechanism", [dn.metric.geometric(9, 0.4), dn.metric.square_wave(1.0, 10)])
def test_tallies_of_channels_have_the_law_of_reports(mechanism: MetricMechanism) -> None:
    people = np.arange(10) * 4000
    drawn = draw_tally(mechanism, people, np.random.default_rng(4))
    assert drawn.n == people.sum() == drawn.counts.sum()
    expected = people @ mechanism.law.matrix()
    statistics.goodness_of_fit(drawn.counts, expected, f"tallies of {mechanism}")
    with pytest.raises(AssertionError):
        statistics.goodness_of_fit(
            drawn.counts, people[::-1] @ mechanism.law.matrix(), "people in another order"
        )


@pytest.mark.parametrize("name", dn.rounds.REPEATED)
def test_protocols_for_asking_again_are_measured(name: str) -> None:
    [row] = sweep([name], [2.0], [6], [20_000], population.zipf, repeats=40)
    spent = 2.0 if name == "dbitflip" else 1.0
    assert row.loss == pytest.approx(spent, abs=1e-9)
    mse = row.metrics["mse"]
    assert mse.stderr is not None
    statistics.deviation(mse.mean, row.expected_mse or 0.0, mse.stderr, f"the error of {name}")
