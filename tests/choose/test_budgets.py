"""Unequal parts of epsilon in a split: as good as brute force, and never above epsilon."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from fractions import Fraction

import pytest

import deniable as dn
from deniable.choose import Considered, Objective, Question, consider
from deniable.choose.ranking import divide_epsilon
from tests.cases import by_night

SHARES = [step / 40 for step in range(2, 37)]
NEAR = 1.005
"""How much more than the best of a grid, each step of which is 2.5 % of epsilon, the choice may err."""
STUDIES = [
    ((2, 50), (3.0, 1.0)),
    ((2, 50), (1.0, 3.0)),
    ((3, 30, 300), (3.0, 1.0, 1.0)),
    ((2, 2, 2), (4.0, 1.0, 1.0)),
]


def split_rows(ks: Sequence[int], importance: Sequence[float], epsilon: float) -> dict[str, Considered]:
    """The best row of each kind."""
    asked = [Question(k, importance=weight) for k, weight in zip(ks, importance, strict=True)]
    rows = consider(asked, epsilon, 1000, Objective(tolerance=0.0), mechanisms="SPL")
    return {row.kind: row for row in reversed(rows) if row.why_not is None}


def mean_log(errors: Sequence[float], importance: Sequence[float]) -> float:
    """What a choice is judged by, as the logarithm of a standard error."""
    weighted = (weight * math.log(error) for error, weight in zip(errors, importance, strict=True))
    return math.fsum(weighted) / math.fsum(importance) / 2


def best_of_grid(ks: Sequence[int], importance: Sequence[float], epsilon: float) -> float:
    """The least over all parts on a grid, each attribute with the protocol that errs least."""
    least = [
        {
            share: min(
                row.units[0]
                for row in consider([k], share * epsilon, 1000, Objective(tolerance=0.0))
                if row.why_not is None
            )
            for share in SHARES
        }
        for k in ks
    ]
    return min(
        mean_log([errors[share] for errors, share in zip(least, shares, strict=True)], importance)
        for shares in itertools.product(SHARES, repeat=len(ks))
        if sum(shares) <= 1 + 1e-12
    )


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [1.0, 6.0])
@pytest.mark.parametrize(("ks", "importance"), STUDIES[:3])
def test_parts_are_as_good_as_the_best_of_a_grid(
    ks: tuple[int, ...], importance: tuple[float, ...], epsilon: float
) -> None:
    rows, best = split_rows(ks, importance, epsilon), best_of_grid(ks, importance, epsilon)
    unequal = mean_log(rows["SPL by importance"].units, importance)
    assert math.exp(unequal - best) <= NEAR
    equal = mean_log(rows["SPL"].units, importance)
    assert math.exp(equal - best) > NEAR  # so that equal parts in their place would be found


@by_night("epsilon", [0.1, 1.0, 3.3, 8.0], 0.1, 3.3)
@pytest.mark.parametrize(("ks", "importance"), STUDIES)
def test_a_record_loses_epsilon_and_hardly_less(
    ks: tuple[int, ...], importance: tuple[float, ...], epsilon: float
) -> None:
    row = split_rows(ks, importance, epsilon)["SPL by importance"]
    assert epsilon - 1e-7 < row.loss_record <= epsilon
    losses = [part.loss() for part in row.parts]
    assert losses.index(max(losses)) == importance.index(max(importance))


def test_parts_add_up_exactly() -> None:
    for epsilon in (0.1, 1 / 3, 1.0, 7.7):
        parts = divide_epsilon(epsilon, [1.0, 2.0, 5.0], lambda j, budget: (j + 1) / math.expm1(budget) ** 2)
        assert sum(map(Fraction, parts)) <= Fraction(epsilon)
        assert sum(parts) == pytest.approx(epsilon, rel=1e-7)


def test_equal_attributes_are_split_equally() -> None:
    assert not any("importance" in name for name in split_rows((2, 50), (1.0, 1.0), 1.0))
    asked = {"a": Question(2, importance=3.0), "b": Question(9)}
    for row in consider(asked, 1.0, 1000, per="attribute"):
        assert "importance" not in row.name
    for row in consider(asked, 1.0, 1000, Objective(worst=True)):
        assert "importance" not in row.name


def test_a_study_takes_it_where_it_errs_least() -> None:
    asked = {"smokes": ["yes", "no"], "age": dn.Range(0, 50)}
    plan = dn.Study(asked, epsilon=8.0, importance={"smokes": 3}).plan(people=10_000)
    assert plan.considered[0].name.startswith("SPL by importance")
    first, second = (part.loss() for part in plan.document.parts)
    assert first > 2 * second
    assert plan.loss.record <= 8.0
    assert "important ones with more of epsilon" in plan.explain()


def test_ten_attributes_are_planned_in_a_moment() -> None:
    """A fifth of this on a usual machine."""
    ks = (2, 3, 5, 8, 12, 20, 50, 4, 6, 100)
    asked = [Question(k, importance=1.0 + (k < 4)) for k in ks]
    started = time.process_time()
    consider(asked, 1.23, 10_000)
    assert time.process_time() - started < 2.0
