"""Each generic check fails on the planted faults it is meant to find (and test_every_mechanism.py: passes on
the right).
"""

from __future__ import annotations

import pytest

import deniable as dn
from deniable.mechanisms import SubsetShape
from spec.make.subsets import listed
from tests import statistics
from tests.cases import by_night
from tests.faults import (
    FloatLoss,
    MovedP,
    SharedWords,
    StuckBit,
    TruthFirst,
    UnresetBit,
    float_grr,
    float_oue,
    float_sue,
)
from tests.mechanisms.test_every_mechanism import (
    ALIKE,
    CORNERS,
    EVERY,
    SHARES,
    Maker,
    check_batch,
    check_budget,
    check_bytes,
    check_enumeration,
    check_law,
    check_same_reports,
    check_scatter,
    check_unbiased,
    made,
)

UNARY = [name for name in EVERY if isinstance(made(name, 4, 0.5), dn.mechanisms.Unary)]
LISTS = [name for name in EVERY if isinstance(made(name, 4, 0.5), dn.mechanisms.Subset)]


def unary(name: str, k: int, epsilon: float) -> dn.mechanisms.Unary:
    m = made(name, k, epsilon)
    assert isinstance(m, dn.mechanisms.Unary)
    return m


def test_faults_have_something_to_be_planted_in() -> None:
    assert {"sue", "oue", "the", "aue", "athe"} <= set(UNARY)
    assert "ss of half, listed" in LISTS


@pytest.mark.parametrize("value", [0, 3])
@by_night("name", UNARY, *(name for name in ALIKE if name in UNARY))
def test_one_bit_never_randomized(name: str, value: int) -> None:
    with pytest.raises(AssertionError, match="support sets: chi-square"):
        check_law(StuckBit(unary(name, 4, 0.5), value), dn.seeded(1))
    with pytest.raises(AssertionError, match="the bytes lose inf"):
        check_enumeration(StuckBit(unary(name, 4, 0.5), value))
    with pytest.raises(AssertionError, match="estimate of a share"):
        check_unbiased(StuckBit(unary(name, len(SHARES), 1.0), value), dn.seeded(5))
    with pytest.raises(AssertionError, match="lowest members: chi-square"):
        check_same_reports(StuckBit(unary(name, 130, 1.0), value), dn.seeded(14), dn.seeded(13))


@by_night("name", UNARY, *(name for name in ALIKE if name in UNARY))
def test_true_bit_not_reset(name: str) -> None:
    with pytest.raises(AssertionError, match="support sets: chi-square"):
        check_law(UnresetBit(unary(name, 4, 0.5)), dn.seeded(1))
    with pytest.raises(AssertionError, match="estimate of a share"):
        check_unbiased(UnresetBit(unary(name, len(SHARES), 1.0)), dn.seeded(5))


@by_night("epsilon", [0.5, 2.0], 2.0)
@by_night("name", EVERY, *ALIKE)
def test_p_moved_by_one_percent(name: str, epsilon: float) -> None:
    wrong = MovedP(made(name, 4, epsilon), statistics.MOVED_LAW)
    with pytest.raises(
        AssertionError, match=r"(support sets|buckets|sizes of supports): chi-square|support of .*off"
    ):
        check_law(wrong, dn.seeded(1))
    with pytest.raises(AssertionError, match="a threshold is not where"):
        check_enumeration(wrong)


@by_night("name", EVERY, *ALIKE)
def test_p_moved_a_little_biases_estimates(name: str) -> None:
    with pytest.raises(AssertionError, match="estimate of a share"):
        check_unbiased(MovedP(made(name, len(SHARES), 1.0), statistics.MOVED_ESTIMATE), dn.seeded(5))


@pytest.mark.parametrize("population", ["sampled", "fixed"])
@by_night("name", EVERY, *ALIKE)
def test_p_moved_a_little_widens_the_scatter(name: str, population: str) -> None:
    with pytest.raises(AssertionError, match="scatter of an estimate"):
        check_scatter(
            MovedP(made(name, len(SHARES), 1.0), statistics.MOVED_SCATTER), dn.seeded(6), population
        )


@pytest.mark.parametrize("name", ["ss", "ss of half, listed"])
def test_subset_whose_order_shows_the_truth(name: str) -> None:
    """Its supports follow the law, so only the bytes tell; and a collector refuses them."""
    right = made(name, 4, 0.5)
    assert isinstance(right, SubsetShape)
    wrong = TruthFirst(listed(right))
    check_law(wrong, dn.seeded(1))
    with pytest.raises(AssertionError, match="bytes tell more than the support"):
        check_bytes(wrong, dn.seeded(2))
    with pytest.raises(AssertionError, match="above the stated loss"):
        check_enumeration(wrong)
    with pytest.raises(dn.InvalidReport, match="ascending order"):
        wrong.tally(wrong.privatize([0, 1, 2, 3] * 10, dn.seeded(2)))


@pytest.mark.parametrize("make", [float_grr, float_oue, float_sue])
def test_thresholds_rounded_from_floats(make: Maker) -> None:
    """Half of them are on the wrong side of epsilon, by less than any float formula of the loss
    would show.
    """
    caught = 0
    for k, epsilon in CORNERS:
        try:
            check_budget(make, k, epsilon)
        except AssertionError as problem:
            caught += "is above epsilon" in str(problem)
    assert caught >= 3


@by_night("name", ["grr", "oue", "sue"], "oue", "sue")
def test_loss_computed_from_floats(name: str) -> None:
    caught = 0
    for epsilon in (0.1, 0.3, 0.5, 0.7, 1.0, 1.1, 1.3, 2.0):
        try:
            check_enumeration(FloatLoss(made(name, 4, epsilon)))
        except AssertionError as problem:
            caught += "above the stated loss" in str(problem)
    assert caught >= 1


@by_night("name", EVERY, *ALIKE)
def test_words_shared_by_a_batch(name: str) -> None:
    with pytest.raises(AssertionError, match="one by one"):
        check_batch(SharedWords(made(name, 5, 1.0)), seed=8)
