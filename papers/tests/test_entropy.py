"""Sets of days from counts of unions: exact facts, the program that was published, and noise."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.arrays import Floats
from deniable.errors import InvalidParameter, InvalidValue
from deniable_papers import learn

CELLS = np.random.default_rng(5).gamma(0.5, 200.0, 127)
"""People in the sets of a week that nobody spent."""


def far_apart(one: Floats, other: Floats) -> float:
    return float(np.abs(one / one.sum() - other / other.sum()).sum() / 2)


@pytest.mark.parametrize("days", range(1, 9))
def test_unions_are_independent_of_each_other(days: int) -> None:
    matrix = learn.union_matrix(days)
    assert matrix.shape == (days * (days + 1) // 2, 2**days - 1)
    assert np.linalg.matrix_rank(matrix) == len(matrix)
    for row, (first, last) in zip(matrix, learn.list_unions(days), strict=True):
        inside = set(range(first, last + 1))
        for number, meets in enumerate(row, 1):
            members = {day + 1 for day in range(days) if number >> day & 1}
            assert bool(meets) == bool(members & inside)


def test_exact_counts_are_met_by_the_most_even_people() -> None:
    """No other people with the same counts have more entropy: moves that keep the counts lose some."""
    unions = learn.count_unions(CELLS)
    fit = learn.maximum_entropy(unions)
    np.testing.assert_allclose(fit.fitted, unions, rtol=1e-9)
    assert fit.filled == 127
    logs = np.log(fit.cells)
    _, _, rows = np.linalg.svd(learn.union_matrix())
    kept = rows[28:]  # directions that change no count
    assert np.abs(kept @ logs).max() < 1e-6
    assert np.abs(kept @ np.log(CELLS)).max() > 0.1  # which is no fact about all people


def test_a_base_is_kept_where_the_counts_allow_it() -> None:
    """People of last week who still have the same counts are found again."""
    fit = learn.maximum_entropy(learn.count_unions(CELLS), base=CELLS)
    np.testing.assert_allclose(fit.cells, CELLS, rtol=1e-6)


def test_empty_days_are_no_problem() -> None:
    cells = np.where(np.arange(1, 128) & 4, 0.0, CELLS)
    fit = learn.maximum_entropy(learn.count_unions(cells))
    assert fit.residual < 1e-6
    assert fit.cells[(np.arange(1, 128) & 4) > 0].sum() < 1e-6 * cells.sum()


def test_counts_in_another_order_are_by_first_and_last_day() -> None:
    unions = learn.count_unions(CELLS)
    named = dict(zip(learn.list_unions(), unions, strict=True))
    shuffled = dict(sorted(named.items(), key=lambda one: (one[0][1], -one[0][0])))
    assert np.array_equal(learn.maximum_entropy(shuffled).cells, learn.maximum_entropy(unions).cells)


def test_the_published_program_fits_with_few_sets() -> None:
    unions = learn.count_unions(CELLS)
    fit = learn.linear_program(unions)
    assert fit.residual < 1e-9
    assert fit.filled <= 28
    assert far_apart(fit.cells, CELLS) > far_apart(learn.maximum_entropy(unions).cells, CELLS)


def test_noise_is_met_as_far_as_it_goes_and_evenness_alone_forgets_the_counts() -> None:
    unions = learn.count_unions(CELLS)
    noise = np.random.default_rng(6).normal(0.0, 1.0, 28) * 100
    fit = learn.maximum_entropy(unions + noise, variance=1e4)
    assert (((fit.fitted - fit.unions) / 100) ** 2).sum() == pytest.approx(28, rel=1e-2)
    even = learn.maximum_entropy(unions + noise, variance=1e4, tau=1.0)
    assert (((even.fitted - even.unions) / 100) ** 2).sum() > 40
    assert far_apart(even.cells, np.ones(127)) < far_apart(fit.cells, np.ones(127))


def test_a_count_without_noise_is_met_exactly() -> None:
    unions = learn.count_unions(CELLS)
    variance = np.where([one == (1, 7) for one in learn.list_unions()], 0.0, 1e4)
    noise = np.sqrt(variance) * np.random.default_rng(7).normal(size=28)
    fit = learn.maximum_entropy(unions + noise, variance=variance)
    assert fit.cells.sum() == pytest.approx(CELLS.sum(), rel=1e-9)
    assert fit.tau > 0


def test_two_weeks_have_16383_sets() -> None:
    """A fit of 105 counts; it takes a fraction of a second."""
    cells = np.random.default_rng(8).gamma(0.3, size=2**14 - 1)
    unions = learn.count_unions(cells, days=14)
    assert learn.maximum_entropy(unions, days=14).residual < 1e-9
    noisy = unions + np.random.default_rng(9).normal(0.0, 20.0, 105)
    fit = learn.maximum_entropy(noisy, days=14, variance=400.0)
    assert (((fit.fitted - noisy) / 20) ** 2).sum() == pytest.approx(105, rel=1e-2)


def test_impossible_counts_are_refused() -> None:
    unions = learn.count_unions(CELLS)
    with pytest.raises(InvalidValue, match="give their variance"):
        learn.maximum_entropy(unions[::-1].copy() + np.arange(28) * 500)
    with pytest.raises(InvalidValue, match="is not negative, got -1"):
        learn.maximum_entropy(np.where(unions == unions.min(), -1, unions))
    with pytest.raises(InvalidParameter, match=r"each of the 28 unions of 7 days.*got 27 numbers"):
        learn.maximum_entropy(unions[:-1])
    with pytest.raises(InvalidParameter, match=r"none for \(1, 2\)"):
        learn.maximum_entropy({(1, 1): 3}, days=2)
    with pytest.raises(InvalidParameter, match="from 1 to 14, got 15"):
        learn.maximum_entropy(unions, days=15)
    for variance in (0.0, -1.0):
        with pytest.raises(InvalidParameter, match="leave it out if all counts are exact"):
            learn.maximum_entropy(unions, variance=variance)
    with pytest.raises(InvalidValue, match="count nobody"):
        learn.maximum_entropy(np.zeros(28))
    with pytest.raises(InvalidParameter, match="add a little to each"):
        learn.maximum_entropy(unions, base=np.zeros(127))
    with pytest.raises(InvalidParameter, match="tau"):
        learn.maximum_entropy(unions, variance=1.0, tau=0.0)
