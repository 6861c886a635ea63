"""Two people who send linear hashes, by all hashes, buckets and codes; and parts of unlike ratios."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.crowd.bounds import find_support
from deniable.crowd.deltas import Blanket
from deniable.randomness import toeplitz
from deniable.records import Sample


def state_laws(local: dn.mechanisms.Linear) -> npt.NDArray[np.float64]:
    """For each code, how likely every hash with every bucket is."""
    bits, rows, g = local.bits, local.rows, local.g
    hashes = np.arange(1 << toeplitz.count_random(bits, rows), dtype=np.uint64)
    all_rows = toeplitz.list_rows(hashes, np.zeros_like(hashes), bits, rows)
    fair = toeplitz.are_fair(all_rows, bits)
    unfair = 1 - fair.mean()
    chances = np.where(fair, (1 + unfair) / len(hashes), 0.0)  # drawn, or drawn again
    chances[toeplitz.fix_hash(bits)] += unfair**2
    assert math.isclose(chances.sum(), 1)
    keep = local.keep / 2**64
    laws = []
    for code in range(1 << bits):
        own = toeplitz.hash_codes(all_rows, np.full(len(hashes), code, dtype=np.uint64))
        is_own = np.arange(g, dtype=np.uint64) == own[:, None]
        laws.append((chances[:, None] * np.where(is_own, keep, (1 - keep) / (g - 1))).ravel())
    return np.array(laws)


def worst_of_two(local: dn.mechanisms.Linear, epsilon: float) -> float:
    """The largest delta of a shuffled pair of reports, whichever codes both people have."""
    laws = state_laws(local)
    worst = 0.0
    for other in laws:
        pairs = [np.outer(one, other) for one in laws]
        shuffled = np.array([np.triu(pair + pair.T, 1).ravel() for pair in pairs])
        same = np.array([np.diag(pair) for pair in pairs])
        either = np.concatenate([shuffled, same], axis=1)
        for one in either:
            worst = max(worst, float(np.maximum(either - math.exp(epsilon) * one, 0).sum(axis=1).max()))
    return worst


@pytest.mark.parametrize(("bits", "rows", "keep"), [(3, 1, 0.75), (3, 2, 0.5), (4, 2, 0.6)])
@pytest.mark.parametrize("epsilon", [0.1, 0.3])
def test_a_linear_hash_hides_no_less_than_its_bound(
    bits: int, rows: int, keep: float, epsilon: float
) -> None:
    local = dn.mechanisms.Linear(bits, rows, int(keep * 2**64))
    support = find_support(local)
    assert support is not None
    worst = worst_of_two(local, epsilon)
    assert worst - 1e-12 <= Blanket(2, *support).delta(epsilon) <= 1.25 * worst


def test_the_mean_of_all_codes_would_state_too_little() -> None:
    """Codes that collide more rarely than the mean hide less: a bound from the mean is below the truth."""
    local = dn.mechanisms.Linear(3, 2, 1 << 63)
    mean = Blanket(2, local.ratio, Fraction(local.keep, 1 << 64), local.law.exact_q)
    assert mean.delta(0.1) < 0.96 * worst_of_two(local, 0.1)


def test_parts_of_smaller_ratios_count_as_if_they_had_the_largest() -> None:
    """Values of a protocol at a smaller loss are hidden as at the larger one, and no better."""
    weak, strong = dn.grr(10, 0.5), dn.grr(10, 2.0)
    found = find_support(Sample((weak, strong), weights=(1, 3)))
    alike = find_support(strong)
    assert found is not None
    assert alike is not None
    assert found.ratio == alike.ratio
    assert float(found.p) == pytest.approx(float(alike.p), rel=1e-9)
    assert float(found.q) == pytest.approx(float(alike.q), rel=1e-9)
