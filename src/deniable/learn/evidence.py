"""Weighs the evidence of columns: how much of it counts, and what reports of a row say."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deniable.arrays import Floats
from deniable.exact import number
from deniable.records import Records
from deniable.study import Plan

LARGEST = 10.0
"""A larger temper or damp is a slip."""
_REPEATED = 0.12  # of a column's evidence is what another column says already, in tables of people
_LEAST_TEMPER = 0.5
_AT_ONCE = 1 << 22  # reports times values whose likelihoods are computed at once


def choose_temper(temper: float | None, columns: int) -> float:
    """As given, or by how much columns repeat each other in tables of people: as a design effect counts it.

    >>> [round(choose_temper(None, columns), 2) for columns in (1, 2, 6, 10, 30)]
    [1.0, 0.89, 0.62, 0.5, 0.5]
    """
    if temper is not None:
        return number("temper", temper, 0.0, LARGEST)
    return max(_LEAST_TEMPER, 1 / (1 + _REPEATED * (columns - 1)))


def score_records(
    plan: Plan, records: Records, classes: Floats, tables: Mapping[str, Floats], temper: float
) -> Floats:
    """The logarithm of each class's chance, up to what a row shares, of people of whom reports are known.

    The likelihood of a report is summed over the values that may be behind it.
    """
    score = np.tile(np.log(classes), (records.n, 1))
    for j, (name, part) in enumerate(zip(plan.names, plan.document.parts, strict=True)):
        column = records.columns[j]
        who = np.arange(records.n) if records.reporters is None else records.reporters[j]
        step = max(1, _AT_ONCE // part.k)
        for low in range(0, len(who), step):
            block = slice(low, low + step)
            likely = part.likelihoods(column[block]) @ tables[name].T
            score[who[block]] += temper * np.log(likely)
    return score


def normalize_scores(score: Floats) -> Floats:
    """Chances from their logarithms, up to what a row shares."""
    chances = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))
