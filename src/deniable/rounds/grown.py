"""Keeps a value for ever where plans add answers: it stays, or becomes one of the new answers.

It turns with the chance by which the kept value has the law of the longer list, at the same loss. That does
not look at the truth, so that nothing more is lost. Thresholds are whole, and the law is off by a few of 2^64
words: plans state `BIAS` for it.
"""

from __future__ import annotations

import numpy as np

from deniable.arrays import Array, Integers
from deniable.mechanisms import Direct, Unary
from deniable.randomness import FULL, below, chance
from deniable.randomness.words import Rows

BIAS = 1
"""Billionths of a nat that a plan adds to each of its figures, for each attribute and each plan of its chain.

A kept answer is as likely as stated but for a part of 2^19 / 2^64 for each plan before. Both likelihoods of a
ratio are products of as many as there are rounds: at most 10,000 together, and 1,000 of a plan.
"""
_MOST = 1 << 16  # the odds of the kept value, and the number of values


def grow(first: Direct, k: int) -> Direct | None:
    """The first round of a longer list, at the same odds; None where its thresholds would be too coarse."""
    odds, rest = first.keep * (first.k - 1), FULL - first.keep
    if odds > _MOST * rest or k > _MOST:
        return None
    return Direct(k, FULL * odds // (odds + rest * (k - 1)))


def find_turn(first: Direct, k: int) -> int:
    """The threshold by which a kept value becomes one of the new ones."""
    odds, rest = first.keep * (first.k - 1), FULL - first.keep
    return -(-FULL * (k - first.k) * rest // (odds + rest * (k - 1)))


def keep_first(first: Direct | Unary, values: Integers, rows: Rows) -> Array:
    """The first answer that is kept for each value, with the words of the plans that have had the value."""
    if not rows.firsts:
        return first.encode(values, rows.recall(values))
    kept = first.blank(len(values))
    plans = [Direct(*numbers) for numbers in rows.firsts]
    for i, plan in enumerate(plans):
        known = 0 if i == 0 else plans[i - 1].k
        new = np.flatnonzero((values >= known) & (values < plan.k))
        kept[new] = plan.encode(values[new], rows.pick(new).recall(values[new], i))
        old = np.flatnonzero(values < known)
        if old.size:
            words = rows.pick(old).recall(values[old], i).array()
            turned = chance(words[:, 0], find_turn(plans[i - 1], plan.k))
            kept[old] = np.where(turned, known + below(words[:, 1], plan.k - known), kept[old])
    return kept
