"""Compares the compiled count of packed reports with a plain one where its counters and tables end."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.mechanisms.shapes import bits


@pytest.mark.parametrize(
    ("k", "n"),
    [
        (1, 100_001),  # one byte a report: narrow rows, joined
        (100, 40_001),
        (1000, 8 * (16 * 255 + 17) + 3),  # a second round of byte counters, rows left over, reports left over
        (8200, 8 * 33),  # wider than the table of counters
    ],
)
@pytest.mark.parametrize("every", [False, True])
def test_the_compiled_count_is_the_plain_one(k: int, n: int, every: bool) -> None:
    """Reports that set every bit fill each counter to its limit."""
    width = bits.count_bytes(k)
    draw = np.random.default_rng(k)
    reports = draw.integers(255 if every else 0, 256, (n, width), dtype=np.uint8)
    plain = bits.count_members(reports, k, False)
    assert (plain == n).all() == every
    assert np.array_equal(bits.count_members(reports, k, True), plain)
