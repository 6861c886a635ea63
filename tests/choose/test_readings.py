"""A choice is judged by what will be read of each attribute, whatever its unit."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.choose import Objective, Precision, Question, consider, list_precisions, list_readings
from deniable.choose.objective import Reading, combine
from deniable.choose.ranking import best_of
from deniable.choose.task import Allowed, checked_task
from deniable.law.law import ReportLaw
from deniable.mechanisms import PROTOCOLS
from deniable.metric.means import averaged
from deniable.records import equal_part
from deniable.study import Result
from tests.statistics import REPEAT_REPORTS, REPEATS, spread

PLAIN = ("grr", "oue", "hr", "olh", "ss")
VOTE: dict[str, object] = {
    "vote": list("abcdefg"),
    "orientation": ["left", "rather left", "center", "rather right", "right"],
    "member": ["yes", "no"],
    "income": dn.Number(0, 10_000, open_high=True),
    "age": dn.Range(18, 98),
    "trust": list("12345"),
    "smokes": ["yes", "no"],
}


def weights(k: int) -> Floats:
    """Two groups and a mean."""
    first, second = (np.arange(k) < k // 3), (np.arange(k) >= k // 2) & (np.arange(k) < 3 * k // 4)
    return np.stack([first, second, (np.arange(k) + 0.5) / k - 0.5]).astype(np.float64)


@pytest.mark.parametrize("name", ["grr", "oue", "the", "ss", "olh", "blh", "hr"])
@pytest.mark.parametrize(("k", "epsilon"), [(5, 1.0), (24, 3.0)])
def test_the_noise_of_sums_is_that_of_each_pair(name: str, k: int, epsilon: float) -> None:
    """Against the variance for each true value, averaged."""
    law, table = PROTOCOLS[name].make(k, epsilon).law, weights(k)
    means = law.q * table.sum(axis=1, keepdims=True) + law.gain * table
    each = np.stack([law.pairs.squares(row) for row in table]) - means**2
    np.testing.assert_allclose(law.sum_errors(table), each.mean(axis=1) / law.gain**2, rtol=1e-9)


def test_the_noise_of_single_shares_is_the_error_of_the_law() -> None:
    for name in PLAIN:
        law = PROTOCOLS[name].make(9, 1.0).law
        assert law.sum_errors(np.eye(9)).mean() == pytest.approx(law.error(1), rel=1e-9)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_noise_of_many_hashed_values_is_nearly_exact(epsilon: float) -> None:
    law, table = dn.olh(400, epsilon).law, weights(400)
    means = law.q * table.sum(axis=1, keepdims=True) + law.gain * table
    exact = (np.stack([law.pairs.squares(row) for row in table]) - means**2).mean(axis=1) / law.gain**2
    np.testing.assert_allclose(law.sum_errors(table), exact, rtol=0.05)


@pytest.mark.parametrize("made", [dn.metric.geometric(23, 0.3), dn.metric.planar_geometric((4, 6), 0.5)])
def test_the_noise_of_metric_sums_is_that_of_the_inverse(made: dn.metric.MetricMechanism) -> None:
    channel, table = made.law.matrix(), weights(made.k)
    added = table @ np.linalg.pinv(channel.T)  # by each output
    exact = (channel @ (added**2).T).T - table**2
    np.testing.assert_allclose(made.law.sum_errors(table), exact.mean(axis=1), rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize(
    "asked",
    [
        {"age": dn.Range(0, 60), "smokes": ["yes", "no"]},
        {
            "age": dn.Range(0, 40, privacy="metric", epsilon=0.3),
            "vote": list("abc"),
            "sum": dn.Number(0, 100),
        },
    ],
)
def test_what_is_stated_is_what_scatters(asked: dict[str, object]) -> None:
    """Everybody's answers are drawn anew for each study, evenly over the values."""
    plan = dn.Study(asked, 2.0).plan(REPEAT_REPORTS)
    stated, draw = plan.precisions(), np.random.default_rng(5)
    found: list[list[float]] = [[] for _ in stated]
    for seed in range(REPEATS):
        answers = {name: _answers(plan, name, draw) for name in plan.names}
        result = plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(seed))))
        for one, values in zip(stated, found, strict=True):
            values.append(_read(plan, result, one))
    for one, values in zip(stated, found, strict=True):
        error = _error(plan, one)
        squares = float(((np.array(values) - np.mean(values)) ** 2).sum()) / error**2
        spread(squares, REPEATS - 1, f"{one.attribute}, {one.what}")


def _answers(plan: dn.Plan, name: str, draw: np.random.Generator) -> object:
    domain = plan.document.attributes[plan.names.index(name)].domain
    if isinstance(domain, dn.Number | dn.Range):
        return draw.uniform(domain.low, domain.high, REPEAT_REPORTS)
    return draw.choice(domain.labels, REPEAT_REPORTS)


def _table(plan: dn.Plan, one: Precision) -> Floats:
    j = plan.names.index(one.attribute)
    k = plan.mechanism.mechanisms[j].k
    table = list_readings(plan.document.attributes[j].domain, k)[0].table
    return np.eye(k) if table is None else table


def _read(plan: dn.Plan, result: Result, one: Precision) -> float:
    """The mean, or the share in the middle."""
    if one.what == "mean":
        return float(result.mean(one.attribute).value)
    table = _table(plan, one)
    return float(table[len(table) // 2] @ result[one.attribute].frequencies)


def _error(plan: dn.Plan, one: Precision) -> float:
    """What is stated: of a share, that of the one in the middle, of which the others are checked to be the
    average.
    """
    if one.what == "mean":
        return one.stderr * (one.width or 1.0)
    j, table = plan.names.index(one.attribute), _table(plan, one)
    often = float(plan.mechanism.chance(j)) * REPEAT_REPORTS
    variances = (plan.mechanism.marginal(j).sum_errors(table) + table.var(axis=1)) / often
    assert one.stderr**2 == pytest.approx(variances.mean(), rel=1e-9)
    return math.sqrt(variances[len(table) // 2])


def test_the_unit_of_no_attribute_matters() -> None:
    """An unreadable histogram of years decided for all once: splitting, with twice the error of others."""
    plan = dn.Study(VOTE, epsilon=2.0).plan(3000)
    best = plan.considered[0]
    assert best.kind == "SMP"
    errors = dict(zip(plan.names, best.standard_errors, strict=True))
    assert 100 * errors["vote"] == pytest.approx(3.5, abs=0.1)
    assert 100 * errors["orientation"] == pytest.approx(3.4, abs=0.1)
    assert 100 * errors["smokes"] == pytest.approx(3.0, abs=0.1)
    assert 10_000 * errors["income"] == pytest.approx(256, abs=1)
    wide = dn.Study({**VOTE, "income": dn.Number(0, 10**9)}, epsilon=2.0).plan(3000)
    assert wide.mechanism == plan.mechanism


def test_an_important_attribute_decides() -> None:
    """Of many values, sampling tells more at this epsilon; of two, splitting does."""
    rows = {}
    for weight in (0.01, 100.0):
        rows[weight] = consider([Question(2), Question(2), Question(100, importance=weight)], 6.0, 1000)[0]
    assert (rows[0.01].kind, rows[100.0].kind) == ("SPL by importance", "SMP")
    assert rows[0.01].errors[0] < rows[100.0].errors[0]
    assert rows[100.0].errors[2] < rows[0.01].errors[2]


def test_an_important_attribute_is_drawn_more_often() -> None:
    plan = dn.Study({"vote": list("abcd"), "a": list("abcd"), "b": list("abcd")}, 1.0, importance={"vote": 3})
    made = plan.plan(1000).mechanism
    assert [str(made.chance(j)) for j in range(3)] == ["3/5", "1/5", "1/5"]
    assert made.loss() <= 1.0
    plain = dn.Study({"vote": list("abcd"), "a": list("abcd"), "b": list("abcd")}, 1.0).plan(1000).mechanism
    assert [str(plain.chance(j)) for j in range(3)] == ["1/3"] * 3


@pytest.mark.parametrize("weight", [0.0001, 999.37])
def test_any_importance_gives_weights_that_a_plan_takes(weight: float) -> None:
    asked = {"vote": list("abcd"), "a": list("abcd"), "b": list("abcd")}
    plan = dn.Study(asked, 1.0, importance={"vote": weight}).plan(1000)
    assert plan.verify() == plan.loss
    assert (plan.mechanism.chance(0) > plan.mechanism.chance(1)) == (weight > 1)


@pytest.mark.parametrize("k", [1000, 65_536])
def test_of_nearly_equal_choices_the_smallest_report_wins(k: int) -> None:
    least = consider([k], 1.0, 1000, Objective(tolerance=0.0))[0]
    small = consider([k], 1.0, 1000)[0]
    assert (least.name, small.name) == ("ss", "olh")
    assert small.report_bytes.most == 9 < least.report_bytes.most
    assert 1.0 < small.score <= 1.03
    text = dn.Study({"town": [str(v) for v in range(1000)]}, 1.0).plan(10_000).explain()
    assert "ss would err" in text
    assert "bytes a report instead of 9" in " ".join(text.split())


def test_metric_attributes_come_from_everybody() -> None:
    asked = {
        "vote": list("abcde"),
        "age": dn.Range(0, 50, privacy="metric", epsilon=0.2),
        "smokes": ["yes", "no"],
        "trust": list("1234"),
    }
    plan = dn.Study(asked, epsilon=1.0).plan(10_000)
    assert plan.considered[0].kind == "SPL+SMP"
    # one of the others is sampled, so that these lie together
    assert plan.names == ("vote", "smokes", "trust", "age")
    assert plan.considered[0].names == tuple(asked)
    assert [float(plan.mechanism.chance(j)) for j in range(4)] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])
    assert plan.verify() == plan.loss
    sampled = next(row for row in plan.considered if row.kind == "SMP")
    assert all(a <= b for a, b in zip(plan.considered[0].units, sampled.units, strict=True))
    draw = np.random.default_rng(1)
    people = {name: draw.choice(values, 500) for name, values in asked.items() if isinstance(values, list)}
    result = plan.estimate(plan.tally(plan.privatize({**people, "age": draw.integers(0, 50, 500)})))
    assert result["age"].n == 500


def some_studies(count: int) -> Iterator[tuple[list[Question], float]]:
    """Questions of all kinds: categories, long and short ranges, numbers and metric ranges."""
    draw = np.random.default_rng(11)
    for _ in range(count):
        asked = []
        for _ in range(draw.integers(2, 6)):
            kind, importance = draw.integers(4), float(draw.choice([1.0, 1.0, 3.0]))
            k = int(draw.choice([2, 3, 5, 8, 12, 30, 50]))
            if kind == 0:
                asked.append(Question(k, importance=importance))
            elif kind == 1:
                asked.append(Question(k, list_readings(dn.Range(0, k), k), importance))
            elif kind == 2:
                asked.append(Question(2, (Reading("mean", width=1.0),), importance, numeric=True))
            else:
                made = dn.metric.geometric(k - 1, float(draw.choice([0.05, 0.5]))) if k > 2 else None
                readings = list_readings(dn.Range(0, k), k)
                asked.append(Question(k, readings, importance, made))
        yield asked, float(draw.choice([0.3, 1.0, 2.0, 4.0]))


def everything(asked: Sequence[Question], epsilon: float, n: int) -> Iterator[list[float]]:
    """The error of each attribute in every record mechanism with the protocol that is best for it there."""
    d, sharing = len(asked), [one.mechanism is None for one in asked]
    metric = [j for j in range(d) if not sharing[j]]
    numbers = [j for j in range(d) if asked[j].numeric]
    ways = [([1.0] * d, sum(sharing))]  # the chance of each, and how many share epsilon
    ways += [([r / d] * d, min(r, sum(sharing))) for r in range(1, d)]
    for everybody in (metric, sorted(metric + numbers)):
        rest = d - len(everybody)
        if everybody and rest > 1:
            chances = [1.0 if j in everybody else 1 / rest for j in range(d)]
            ways.append((chances, 1 + sum(sharing[j] for j in everybody)))
    for everybody in ([], metric, sorted(metric + numbers)):  # one of the rest is drawn by importance
        others = [j for j in range(d) if j not in everybody]
        if len(others) > 1:
            total = sum(asked[j].importance for j in others)
            chances = [1.0 if j in everybody else asked[j].importance / total for j in range(d)]
            parts = sum(sharing[j] for j in everybody) + any(sharing[j] for j in others)
            ways.append((chances, parts))
    for chances, parts in ways:
        budget = equal_part(epsilon, max(parts, 1))
        yield [_least(one, chance, budget) / n for one, chance in zip(asked, chances, strict=True)]


def _least(question: Question, chance: float, budget: float) -> float:
    def error(law: ReportLaw) -> float:
        found = []
        for reading in question.readings:
            noise = law.error(1) if reading.table is None else float(law.sum_errors(reading.table).mean())
            found.append(noise / chance + reading.spread(law) * (1 / chance - 1))
        return combine(found)

    if question.mechanism is not None:
        return error(question.mechanism.law)
    if question.numeric:
        made = [averaged(name, budget) for name in ("duchi", "piecewise", "hybrid")]
        return min(error(one.law) for one in made)
    return min(error(PROTOCOLS[name].make(question.k, budget).law) for name in PLAIN)


@pytest.mark.long
def test_the_choice_against_all_of_them_in_60_studies() -> None:
    """By brute force over every record mechanism that does not draw fakes, which never wins."""
    for asked, epsilon in some_studies(60):
        importance = [one.importance for one in asked]

        def score(errors: Sequence[float], importance: Sequence[float] = importance) -> float:
            logs = (weight * math.log(error) / 2 for error, weight in zip(errors, importance, strict=True))
            return math.exp(sum(logs) / sum(importance))

        best = min(map(score, everything(asked, epsilon, 1000)))
        free = [j for j, one in enumerate(asked) if one.mechanism is None and not one.numeric]
        for objective in (Objective(tolerance=0.0), Objective()):
            task = checked_task(
                asked, epsilon, 1000, objective, Allowed(protocols=dict.fromkeys(free, PLAIN))
            )
            assert score(best_of(task).units) <= 1.0001 * (1 + objective.tolerance) * best


def test_ten_attributes_are_planned_at_once() -> None:
    """In seconds of the processor, as the bar is 2: it takes about 0.7."""
    asked: dict[str, object] = {f"q{j}": [str(v) for v in range(3 + j)] for j in range(6)}
    asked |= {"age": dn.Range(0, 100), "minutes": dn.Range(0, 480), "income": dn.Number(0, 1)}
    asked |= {"home": dn.Grid(47.6, 6.8, 47.7, 6.95, rows=12, columns=12, epsilon=0.01)}
    start = time.process_time()
    dn.Study(asked, epsilon=2.0).plan(5000)
    assert time.process_time() - start < 2.0


def test_precisions_say_what_is_useful() -> None:
    rows = consider({"town": 50, "smokes": 2}, 1.0, 5000)
    town, smokes = list_precisions(rows[0])
    assert (town.use, smokes.use) == ("noise", "clear")
    assert town.judge().startswith("Too noisy to read: an average share is 2 %.")
    enough = town.people_enough()
    better = next(iter(list_precisions(consider({"town": 50, "smokes": 2}, 1.0, enough)[0])))
    assert better.use == "useful"
    assert better.margin == pytest.approx(0.01, rel=1e-3)
    assert next(iter(list_precisions(consider({"town": 50, "smokes": 2}, 1.0, enough - 5)[0]))).margin > 0.01


@pytest.mark.parametrize("wrong", [0, -1, float("inf"), float("nan"), True, "3"])
def test_importance_is_a_positive_number(wrong: object) -> None:
    with pytest.raises(dn.InvalidParameter, match="importance"):
        Question(3, importance=wrong)  # type: ignore[arg-type]
    with pytest.raises(dn.InvalidParameter, match="the importance of 'smokes'"):
        dn.Study({"smokes": ["yes", "no"]}, 1.0, importance={"smokes": wrong})  # type: ignore[dict-item]


@pytest.mark.parametrize("wrong", [-0.1, 1.5, True, "3 %", float("nan")])
def test_a_tolerance_is_a_share(wrong: object) -> None:
    with pytest.raises(dn.InvalidParameter, match="tolerance is how much more error"):
        Objective(tolerance=wrong)  # type: ignore[arg-type]


def test_every_combination_of_readings_has_a_table_of_its_own_size() -> None:
    for domain, extra in product([dn.Range(0, 100), dn.Grid(0, 0, 1, 1, rows=10, columns=10)], (0, 1)):
        for reading in list_readings(domain, domain.k + extra):
            assert reading.table is not None
            assert reading.table.shape[1] == domain.k + extra
