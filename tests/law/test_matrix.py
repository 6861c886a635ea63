"""Any finite channel, exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from tests.exact.test_exact import precise_log

MANY = settings(max_examples=60)
ROWS = st.integers(2, 4).flatmap(
    lambda outputs: st.lists(
        st.lists(st.integers(1, 50), min_size=outputs, max_size=outputs), min_size=2, max_size=4
    )
)


def randomized_response(k: int, e: int) -> list[list[Fraction]]:
    """Randomized response with e^epsilon = e, in fractions."""
    return [[Fraction(e if y == x else 1, e + k - 1) for y in range(k)] for x in range(k)]


def apart(x: int, y: int) -> float:
    """All inputs at the same distance."""
    return 1.0


def worst_ratio(rows: list[list[int]]) -> Fraction:
    """By the definition: over all outputs and ordered pairs of inputs."""
    shares = [[Fraction(w, sum(row)) for w in row] for row in rows]
    return max(a[y] / b[y] for a in shares for b in shares for y in range(len(a)))


@MANY
@given(ROWS)
def test_loss_is_the_logarithm_of_the_worst_ratio_rounded_up(rows: list[list[int]]) -> None:
    loss = dn.law.Matrix.of(rows).loss()
    exact = precise_log(worst_ratio(rows)) if worst_ratio(rows) > 1 else 0
    assert loss >= exact
    assert loss == 0 or math.nextafter(loss, 0.0) < exact


def test_randomized_response_loses_the_logarithm_of_its_ratio() -> None:
    for k in (2, 3, 7):
        assert math.isclose(dn.law.Matrix.of(randomized_response(k, 5)).loss(), math.log(5), rel_tol=1e-15)
        assert dn.law.Matrix.of(randomized_response(k, 5)).ratio(0, 1) == 5


def test_rows_need_not_have_the_same_sum() -> None:
    """[1, 1] is the same row as [5, 5]."""
    assert dn.law.Matrix(((1, 1), (5, 5))).loss() == 0
    assert math.isclose(dn.law.Matrix(((2, 2), (9, 3))).loss(), math.log(2), rel_tol=1e-15)


def test_an_output_of_one_input_alone_loses_everything() -> None:
    lone = dn.law.Matrix(((1, 1, 0), (1, 0, 1)))
    assert lone.loss() == math.inf
    assert lone.loss_per(apart) == math.inf
    assert lone.ratio(0, 1) is None


def test_an_output_that_never_happens_loses_nothing() -> None:
    never = dn.law.Matrix(((1, 0, 2), (2, 0, 1)))
    assert math.isclose(never.loss(), math.log(2), rel_tol=1e-15)
    assert never.ratio(0, 1) == 2


@MANY
@given(ROWS)
def test_loss_with_a_distance(rows: list[list[int]]) -> None:
    """Distance 1 everywhere is the plain loss; on a line, steps of one need not be the worst."""
    matrix = dn.law.Matrix.of(rows)
    assert matrix.loss() <= matrix.loss_per(apart) <= matrix.loss() * (1 + 1e-15) + 1e-300
    pairs = [(x, y) for x in range(len(rows)) for y in range(len(rows)) if x != y]
    by_definition = max(
        float(precise_log(max(Fraction(1), _ratio(rows, x, y)))) / abs(x - y) for x, y in pairs
    )
    assert math.isclose(
        matrix.loss_per(lambda x, y: abs(x - y)), by_definition, rel_tol=1e-14, abs_tol=1e-300
    )


@pytest.mark.parametrize("distance", [0, -1, math.nan, math.inf, "1", None])
def test_two_inputs_are_a_positive_number_apart(distance: float) -> None:
    """A negative distance, or one that is not a number, must not pass for a loss of nothing."""
    with pytest.raises(dn.InvalidParameter, match=r"the distance of 0 and 1 must be a positive number"):
        dn.law.Matrix.of([[3, 1], [1, 3]]).loss_per(lambda _, __: distance)


def test_inputs_and_outputs_that_are_not_there_are_refused() -> None:
    matrix = dn.law.Matrix.of([[3, 1], [1, 3]])
    for ask in (lambda: matrix.ratio(0, 2), lambda: matrix.ratio(-1, 0), lambda: matrix.log_likelihood(2)):
        with pytest.raises(dn.InvalidParameter, match="must be an integer from 0 to 1"):
            ask()
    with pytest.raises(dn.InvalidParameter, match="an output must be an integer from 0 to 3"):
        dn.metric.geometric(3, 1.0).law.log_likelihood(4)


def _ratio(rows: list[list[int]], x: int, y: int) -> Fraction:
    a, b = rows[x], rows[y]
    return max(Fraction(p, sum(a)) / Fraction(q, sum(b)) for p, q in zip(a, b, strict=True))


def test_probabilities_and_likelihood() -> None:
    matrix = dn.law.Matrix(((1, 3), (2, 0)))
    assert matrix.probabilities.tolist() == [[0.25, 0.75], [1.0, 0.0]]
    assert (matrix.inputs, matrix.outputs) == (2, 2)
    assert matrix.log_likelihood(1).tolist() == [math.log(0.75), -math.inf]


@MANY
@given(ROWS, st.integers(0, 2**32 - 1))
def test_best_guess_for_any_prior(rows: list[list[int]], seed: int) -> None:
    """Against all guessing rules, one input for each output."""
    matrix = dn.law.Matrix.of(rows)
    prior = np.random.default_rng(seed).dirichlet(np.ones(len(rows)))
    best = sum(
        max(prior[x] * rows[x][y] / sum(rows[x]) for x in range(len(rows))) for y in range(len(rows[0]))
    )
    assert math.isclose(matrix.success(prior), best, rel_tol=1e-12)
    assert math.isclose(matrix.success(prior * 7), best, rel_tol=1e-12), "a prior need not be normalized"
    assert max(prior) - 1e-12 <= matrix.success(prior) <= 1 + 1e-12


def test_numbers_are_taken_for_what_they_are() -> None:
    """A float is a fraction of its own, not the decimal it was written as."""
    assert dn.law.Matrix.of([[0.5, Fraction(1, 2)], [1, 3]]).weights == ((1, 1), (1, 3))
    assert dn.law.Matrix.of([[0.1, 1], [1, 1]]).ratio(1, 0) == (1 + Fraction(0.1)) / (2 * Fraction(0.1))


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [[]],
        [[1, 2], [1]],
        [[0, 0], [1, 1]],
        [[-1, 2], [1, 1]],
        [[math.nan, 1], [1, 1]],
        [[math.inf, 1], [1, 1]],
        [[None, 1]],
        None,
        "ab",
    ],
)
def test_bad_matrices_are_refused(rows: list[list[float]]) -> None:
    with pytest.raises(dn.InvalidParameter, match="row"):
        dn.law.Matrix.of(rows)


@pytest.mark.parametrize("weights", [((0.5, 0.5), (1.0, 0.0)), ((True, 1), (1, 1)), ((1, -1), (1, 1))])
def test_weights_are_integers(weights: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(dn.InvalidParameter, match="non-negative integers"):
        dn.law.Matrix(weights)


@pytest.mark.parametrize(
    "prior",
    [
        [1, 2],
        [1, 1, -1],
        [0, 0, 0],
        [1, math.nan, 1],
        [1, math.inf, 1],
        [[1, 1, 1]],
        "abc",
        [[1], [1, 2], [1]],
    ],
)
def test_bad_priors_are_refused(prior: list[float]) -> None:
    with pytest.raises(dn.InvalidParameter, match="a prior is 3 non-negative weights"):
        dn.law.Matrix.of(randomized_response(3, 2)).success(prior)
