"""Noise by a target for re-identification: the corrected bound, and the published one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import deniable as dn
from deniable_papers.pie import pie_alpha, pie_epsilon


def test_pie_as_corrected_and_as_published() -> None:
    assert pie_alpha(0.5, 1024) == pytest.approx(4.0)
    assert pie_alpha(0.5, 1024, corrected=False) == pytest.approx(6.0)
    assert pie_alpha(0.95, 9044) == pytest.approx(0.05 * math.log2(9044) - 1)
    grid = [pie_alpha(beta, 9044) for beta in np.arange(0.95, 0.49, -0.05)]  # as published
    assert [alpha < 0 for alpha in grid] == [beta > 0.924 for beta in np.arange(0.95, 0.49, -0.05)]
    for k in (None, 5):
        with pytest.raises(
            dn.InvalidParameter, match=r"is -0.34\d+: no report keeps that target.*smaller beta"
        ):
            pie_epsilon(grid[0], 9044, k)
    assert pie_alpha(0.95, 9044, corrected=False) > 1
    for k in (5, 16, 74):
        epsilon = pie_epsilon(1.0, 9044, k)
        most = min(math.log2(9044), math.log2(k))
        assert math.exp(epsilon) == pytest.approx(((k - 1) + most) / (most - 1))
    assert pie_epsilon(3.0, 9044) == pytest.approx(3 * math.log(2))
    assert math.isinf(pie_epsilon(2.5, 9044, 5))
