"""The quick search finds what plain halving finds, to the last word, and asks for few ratios."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.exact import solve
from deniable.mechanisms import Direct, Subset, Unary, calibrate
from deniable.randomness import FULL
from deniable.rounds import Memoized

FIRST = calibrate.symmetric(20, 30.0)
RATIOS: dict[str, tuple[Callable[[int], Fraction], int]] = {
    "direct": (lambda t: Direct(50, t).ratio, FULL // 50 + FULL // 50 // 2**50 + 2),
    "subset": (lambda t: Subset(50, 7, t).ratio, FULL * 7 // 50 + FULL // 2**50),
    "half": (lambda t: Unary(9, FULL >> 1, FULL - t).ratio, (FULL >> 1) + 1),
    "symmetric": (lambda t: Unary(9, t, FULL - t).ratio, (FULL >> 1) + 1),
    "chain": (lambda t: Memoized(FIRST, Unary(20, t, FULL - t)).ratio, (FULL >> 1) + 1),
}


@pytest.mark.parametrize("name", RATIOS)
@given(st.one_of(st.floats(1e-4, 25.0), st.floats(1e-12, 1e-4), st.floats(25.0, 60.0)))
@settings(max_examples=40)
def test_the_quick_search_is_exact(name: str, epsilon: float) -> None:
    ratio, low = RATIOS[name]
    try:
        expected: int | str = solve(ratio, epsilon, low, FULL - 1)
    except dn.InvalidParameter as problem:
        expected = str(problem)
    try:
        found: int | str = calibrate.largest(ratio, epsilon, low, FULL - 1)
    except dn.InvalidParameter as problem:
        found = str(problem)
    assert found == expected


@pytest.mark.parametrize("name", RATIOS)
def test_the_quick_search_is_quick(name: str) -> None:
    ratio, low = RATIOS[name]
    for epsilon in (0.01, 0.3, 1.0, 4.0, 10.0):
        counted = Mock(side_effect=ratio)
        calibrate.largest(counted, epsilon, low, FULL - 1)
        assert counted.call_count <= 24  # halving asks 66 times


def test_what_was_found_once_is_found_again() -> None:
    assert calibrate.direct(7, 1.25) is calibrate.direct(7, 1.25)
    assert calibrate.best_theta(1.25) == calibrate.best_theta(1.25)
    with pytest.raises(dn.InvalidParameter):
        calibrate.direct(7, True)  # looked up, it would be 1.0
    with pytest.raises(dn.InvalidParameter):
        calibrate.direct([7], 1.0)  # type: ignore[arg-type]
