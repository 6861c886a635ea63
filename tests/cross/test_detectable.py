"""What a test that finds nothing would have found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import chdtri, chndtr

from deniable.arrays import Floats
from deniable.cross import CrossTable
from deniable.cross.independence import Test, find_dependence, find_power
from deniable.mechanisms import Tally, grr

SHARES = np.outer([0.15, 0.2, 0.25, 0.25, 0.15], [0.3, 0.7])


def table(n: int, shares: Floats = SHARES) -> CrossTable:
    """As many reports of each kind as are expected; of independent answers, unless others are given."""
    mechanism = grr(10, 1.0)
    counts = np.rint(n * (mechanism.law.q + mechanism.law.gain * shares.ravel())).astype(np.int64)
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
    assert str(table(50_000).test()).endswith(" points off is found in four studies of five")
    assert " row has too few reports to find a difference in it (p = " in str(table(500).test())
    assert "points" not in str(Test(100.0, 4, 1000, detectable=0.1))
    assert "points" not in str(Test(1.0, 4, 1000))


def test_the_stated_change_is_found_in_four_studies_of_five() -> None:
    """By the power of the test itself, where the share that is hardest to see moves this much."""
    before = table(50_000)
    missed = before.change(before, "others").test().detectable
    assert missed is not None
    assert str(before.change(before, "others").test()).endswith(" points is found in four studies of five")
    powers = []
    for a in range(5):
        moved = SHARES.copy()
        moved[a] += missed * SHARES[a].sum() * np.array([1.0, -1.0])
        test = table(50_000, moved).change(before, "others").test()
        assert test.degrees == 9
        powers.append(1 - float(chndtr(chdtri(9, 0.05), 9, test.statistic)))
    assert min(powers) == pytest.approx(0.8, abs=0.05)
    assert max(powers) > 0.85


def test_a_trend_says_where_it_goes() -> None:
    rows = np.array([0.2, 0.25, 0.3, 0.35, 0.4])
    rising = table(10**6, 0.2 * np.column_stack([1 - rows, rows]))
    falling = table(10**6, 0.2 * np.column_stack([rows, 1 - rows]))
    assert rising.trend().direction == "columns moves toward no from a to e"
    assert falling.trend().direction == "columns moves toward yes from a to e"
    assert str(falling.trend(columns=[0, 10])).startswith("a trend is found at 5 % (p < 0.001): ")
    assert str(falling.trend(columns=[0, 10])).endswith("; columns falls from a to e")
    assert falling.trend(rows=[5, 4, 3, 2, 1], columns=[0, 10]).direction == "columns rises from e to a"
    assert str(table(50_000).trend()).startswith("no trend is found at 5 % (p = ")
