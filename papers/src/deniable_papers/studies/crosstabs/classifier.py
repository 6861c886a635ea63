"""Trains a logistic regression of a yes or no on answers, and measures how well it ranks people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deniable.arrays import Floats, Integers

_RIDGE = 1.0  # the usual penalty: half of the squared weights, beside the sum of all losses
_STEPS = 50
_CLOSE = 1e-8


def train(people: Mapping[str, Integers], sizes: Mapping[str, int], target: str) -> dict[str, Floats]:
    """The weight of each answer to each question but the target, by Newton's steps."""
    names = [name for name in sizes if name != target]
    inputs = _encode(people, sizes, names)
    truth = people[target].astype(np.float64)
    ridge = np.diag([*[_RIDGE] * (inputs.shape[1] - 1), 0.0])
    weights = np.zeros(inputs.shape[1])
    loss = _lose(inputs, truth, weights, ridge)
    for _ in range(_STEPS):
        chances = _squash(inputs @ weights)
        slope = inputs.T @ (chances - truth) + ridge @ weights
        curve = (inputs * (chances * (1 - chances))[:, None]).T @ inputs + ridge
        curve[-1, -1] += _CLOSE  # of a target that all share
        step = np.linalg.solve(curve, slope)
        while (later := _lose(inputs, truth, weights - step, ridge)) > loss + _CLOSE:
            step /= 2
        weights, loss = weights - step, later
        if np.abs(step).max() < _CLOSE:
            break
    ends = np.cumsum([sizes[name] for name in names])
    return dict(zip(names, np.split(weights[:-1], ends[:-1]), strict=True))


def measure_auc(weights: Mapping[str, Floats], people: Mapping[str, Integers], target: str) -> float:
    """How often one person with the target ranks above one without it; a tie counts half.

    >>> some = {"a": np.array([0, 1, 1, 0]), "t": np.array([0, 1, 0, 0])}
    >>> round(measure_auc({"a": np.array([0.0, 2.0])}, some, "t"), 3)
    0.833
    """
    scores = np.sum([some[people[name]] for name, some in weights.items()], axis=0)
    _, at, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[at]
    is_target = people[target] == 1
    with_it, without = int(is_target.sum()), int((~is_target).sum())
    return float((ranks[is_target].sum() - with_it * (with_it + 1) / 2) / (with_it * without))


def _encode(people: Mapping[str, Integers], sizes: Mapping[str, int], names: Sequence[str]) -> Floats:
    """A column for each answer, and one for all people."""
    columns = [np.eye(sizes[name])[people[name]] for name in names]
    return np.hstack([*columns, np.ones((len(columns[0]), 1))])


def _squash(scores: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -500, 500))))


def _lose(inputs: Floats, truth: Floats, weights: Floats, ridge: Floats) -> float:
    scores = inputs @ weights
    return float((np.logaddexp(0.0, scores) - truth * scores).sum() + weights @ ridge @ weights / 2)
