"""How far a difference of two rounds may be off: vectors of the specification, and what is known of noise."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

import deniable as dn
from deniable.mechanisms import Tally
from deniable.records import Single
from deniable.rounds import dbitflip, l_duchi, l_grr, l_osue, l_rsfd, loloha
from deniable.rounds.differences import Kind, Spread, combine_reaches, find_against, find_correlation


def test_vectors() -> None:
    """450 of 1,000, then 430 of 900."""
    m = dn.grr(2, 1.0)
    rounds = [m.estimate(Tally(n, np.array([yes, n - yes]))) for n, yes in ((1000, 450), (900, 430))]
    assert rounds[1].frequencies[0] - rounds[0].frequencies[0] == pytest.approx(0.060110, abs=5e-7)
    noise = [estimate.standard_errors("fixed") for estimate in rounds]
    assert np.hypot(*noise)[0] == pytest.approx(0.044087, abs=5e-7)
    before, after = (
        Spread(fixed**2, estimate.stderr**2 - fixed**2) for fixed, estimate in zip(noise, rounds, strict=True)
    )
    correlation = find_correlation(before, after, against=0.0)
    error = combine_reaches(rounds[0].stderr, rounds[1].stderr, correlation)
    assert error[0] == pytest.approx(0.054491, abs=5e-7)


def test_what_is_kept_of_noise_is_against_nobody_but_where_hashes_or_fakes_may_be() -> None:
    parts = l_grr(9, 1.0, 2.0), l_osue(9, 1.0, 2.0), l_duchi(1.0, 2.0), dn.grr(9, 1.0), dbitflip(9, 1.0, 3)
    assert [find_against(Single(part), 0) for part in parts] == [0.0, 0.0, 0.0, 0.0, 1.0]
    for epsilon, expected in ((1.0, 0.0301), (2.0, 0.0282)):
        hashed = Single(loloha(40, epsilon, 2 * epsilon))
        assert find_against(hashed, 0) == pytest.approx(expected, abs=5e-5)
        assert find_against(hashed, 0, "group") == 1.0
    even = l_rsfd([2, 3], 1.0, 2.0, "l_grr")
    uneven = l_rsfd([2, 3], 1.0, 2.0, "l_grr", priors=[[0.9, 0.1], [0.2, 0.2, 0.6]])
    assert [find_against(even, 1, kind) for kind in get_args(Kind)] == [0.0, 0.0, 1.0]
    assert find_against(uneven, 1) == 1.0


def test_where_nothing_is_known_errors_add_up_and_where_nobody_is_drawn_they_are_independent() -> None:
    noise, drawn = np.array([1.0, 4.0]), np.array([2.0, 1.0])
    before, after = Spread(noise, noise), Spread(drawn, drawn)
    np.testing.assert_array_equal(find_correlation(before, after, against=1.0), [-1.0, -1.0])
    np.testing.assert_array_equal(find_correlation(Spread(noise, 0 * drawn), after, against=0.0), 0.0)
