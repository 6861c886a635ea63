"""What a test that finds nothing would have found."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.cross import CrossTable
from deniable.cross.hypothesis import Test, find_dependence, find_power
from deniable.mechanisms import Tally, grr

SHARES = np.outer([0.15, 0.2, 0.25, 0.25, 0.15], [0.3, 0.7])


def table(n: int) -> CrossTable:
    """Reports of independent answers, as many of each as are expected."""
    mechanism = grr(10, 1.0)
    counts = np.rint(n * (mechanism.law.q + mechanism.law.gain * SHARES.ravel())).astype(np.int64)
    rows, columns = list("abcde"), ["yes", "no"]
    return CrossTable.of_estimate(mechanism.estimate(Tally(int(counts.sum()), counts)), rows, columns)


def test_the_stated_difference_is_found_in_four_studies_of_five() -> None:
    """Of the row and column in which it is hardest to find; elsewhere more often."""
    found = table(50_000)
    test = found.test()
    assert test.detectable is not None
    powers = []
    for a in range(5):
        for b in range(2):
            moved = SHARES.copy()
            moved[a, b] += test.detectable * SHARES[a].sum()
            moved[a, 1 - b] -= test.detectable * SHARES[a].sum()
            effect, degrees = find_dependence(moved, found.spread)
            powers.append(find_power(effect, degrees, found.n))
    assert min(powers) == pytest.approx(0.8, abs=0.05)
    assert max(powers) > 0.9


def test_only_a_test_that_finds_nothing_says_what_it_would_have_found() -> None:
    assert str(table(50_000).test()).endswith(" points off are found in four studies of five")
    assert str(table(500).test()).endswith("; so few reports find hardly any difference")
    assert "points" not in str(Test(100.0, 4, 1000, detectable=0.1))
    assert "points" not in str(Test(1.0, 4, 1000))
