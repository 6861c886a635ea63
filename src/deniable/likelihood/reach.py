"""How far each share can move before the reports speak against it: where they tell little, repeats alone would not show it.

A most likely distribution sits in a corner when the likelihood is nearly flat, and so do those of repeats: shares that are
always 0 have no scatter, though nobody knows them. So intervals also hold what the likelihood itself does not refuse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deniable.law import Floats
from deniable.likelihood.lines import Decay
from deniable.likelihood.problem import Listed
from deniable.likelihood.rows import Rows, Stacked, Supports

_MOST_CELLS = 1 << 20  # of a table of outputs by values that is searched
_HALVINGS = 20
_ALL = 1 - 1e-6  # a share beside which the rest is too small to say who is in it


class Reach(NamedTuple):
    """The lowest and the highest share of each value that the reports do not refuse."""

    low: Floats
    high: Floats


def unrefused(problem: Listed, shares: Floats, nats: float) -> Reach:
    """From these shares straight on towards everybody with a value, or nobody, while all reports lose no more than `nats`.

    It is a part of what they do not refuse: other ways may lead further. A table that is too large is not searched.
    """
    rows, loss = problem.rows, nats / problem.n
    if flat(problem, shares, nats):
        return Reach(np.zeros(rows.k), np.ones(rows.k))
    if rows.size * rows.k > _MOST_CELLS:
        return Reach(shares, shares)
    likely, table = rows.forward(shares), _table(rows)
    high = shares + (1 - shares) * _far(table, likely, problem.outputs, loss)
    others = (table.sum(axis=0) - table) / (rows.k - 1)
    rest = np.where(shares < _ALL, 1 - shares, np.inf)[:, None]
    without = np.where(np.isfinite(rest), np.maximum(likely - shares[:, None] * table, 0.0) / rest, others)
    targets = [others, without]
    if problem.shape == (rows.k,):
        beside = table[[1, *range(rows.k - 1)]] + table[[*range(1, rows.k), rows.k - 2]]
        targets.append(beside / 2)
    moved = np.max([_far(target, likely, problem.outputs, loss) for target in targets], axis=0)
    return Reach(shares * (1 - moved), high)


def flat(problem: Listed, shares: Floats, nats: float) -> bool:
    """Whether all reports together prefer these shares to any others by no more than `nats`: then they tell next to nothing.

    The likelihood is concave, so that it is lowest where all people have one value; on a line, one of the ends. Elsewhere a
    table that is too large is not looked at.
    """
    rows = problem.rows
    if isinstance(rows, Decay):
        people = np.zeros((2, rows.k))
        people[[0, 1], [0, -1]] = 1.0
        table = rows.forward(people)
    elif rows.size * rows.k <= _MOST_CELLS:
        table = _table(rows)
    else:
        return False
    return bool((_lost(table, rows.forward(shares), problem.outputs) <= nats / problem.n).all())


def _far(targets: Floats, likely: Floats, outputs: Floats, loss: float) -> Floats:
    """What part of the way to each target can be gone; the likelihood is concave on it."""
    near, far = np.zeros(len(targets)), np.ones(len(targets))
    near[_lost(targets, likely, outputs) <= loss] = 1.0
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        held = _lost(likely + middle[:, None] * (targets - likely), likely, outputs) <= loss
        near, far = np.where(held, middle, near), np.where(held, far, middle)
    return near


def _lost(made: Floats, likely: Floats, outputs: Floats) -> Floats:
    """How much less likely a report is on average."""
    seen = outputs > 0
    with np.errstate(divide="ignore"):
        return np.asarray(-(np.log(np.maximum(made[:, seen], 0.0) / likely[seen]) @ outputs[seen]))


def _table(rows: Rows) -> Floats:
    """Values by outputs."""
    if isinstance(rows, Stacked):
        return np.concatenate([_table(part) for part in rows.parts], axis=1)
    return rows.table(slice(0, rows.size)).T if isinstance(rows, Supports) else rows.forward(np.eye(rows.k))
