"""Rows of stored tallies: batches add up to cells, and counts of values are made once, when they are read."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Integers
from deniable.collect.counting import Sums
from deniable.mechanisms import Pooled, hr, plh
from deniable.records import Split

PLAN = dn.Plan.of({"town": list("abcdefghij"), "job": list("klmno")}, Split((plh(10, 1.0), hr(5, 1.0))), 300)
BATCHES = 4


def test_batches_are_counted_without_hashing_all_values(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = []
    finish = Pooled.support_counts

    def count(self: Pooled, cells: Integers) -> Integers:
        hashed.append(len(cells))
        return finish(self, cells)

    monkeypatch.setattr(Pooled, "support_counts", count)
    generator = np.random.default_rng(1)
    sums, total = Sums(PLAN), Sums(PLAN).zero()
    batches = []
    for number in range(BATCHES):
        codes = np.stack([generator.integers(0, 10, 50), generator.integers(0, 5, 50)])
        batches.append(PLAN.privatize_codes(codes, dn.seeded(number)))
        total = total + sums.count(batches[-1].records)
    assert not hashed
    read = sums.tallies(sums.read(sums.write(total)), 1)
    assert len(hashed) == 1
    assert read == PLAN.tally(batches)
    assert sums.tallies(sums.zero(), 1) == PLAN.tally([])
