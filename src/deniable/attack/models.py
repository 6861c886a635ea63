"""Reads what a trained classifier says about rows: the chance that it gives each row's own label.

Attacks on models need nothing else: `predict_proba` and `classes_`, as every classifier of scikit-learn has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats
from deniable.errors import InvalidParameter, not_among

_CLOSEST = 1e-9  # to 0 or 1 that a chance is taken for


class Classifier(Protocol):
    """What is attacked: it gives every class of a row a chance."""

    @property
    def classes_(self) -> Any:
        """The classes, in the order of the columns of chances."""

    def predict_proba(self, X: Any) -> Any:  # noqa: N803  # as in scikit-learn
        """A row of chances for each row."""


def read_chances(model: Classifier, rows: object, labels: Array) -> Floats:
    """The chance that a model gives the label of each row."""
    for name in ("predict_proba", "classes_"):
        if not hasattr(model, name):
            raise InvalidParameter(
                f"{type(model).__name__} has no {name}; what is attacked is a fitted classifier with "
                "predict_proba and classes_"
            )
    classes = np.asarray(model.classes_)
    chances = np.asarray(model.predict_proba(rows), dtype=np.float64)
    known = labels[:, None] == classes[None, :]
    if chances.shape != known.shape:
        raise InvalidParameter(f"predict_proba gave a table of {chances.shape} for {known.shape}")
    return np.asarray(np.where(known, chances, 0.0).sum(axis=1))


def find_confidence(chances: Floats) -> Floats:
    """The logarithm of the odds of the label: near normal where chances are near 0 or 1."""
    kept = np.clip(chances, _CLOSEST, 1 - _CLOSEST)
    return np.asarray(np.log(kept) - np.log1p(-kept))


def take_rows(rows: Any, where: npt.NDArray[Any]) -> Any:
    """Some rows of a dataframe, a dictionary of columns, or an array."""
    if hasattr(rows, "iloc"):
        return rows.iloc[np.flatnonzero(where) if where.dtype == bool else where]
    if isinstance(rows, Mapping):
        return {name: np.asarray(column)[where] for name, column in rows.items()}
    return np.asarray(rows)[where]


def take_column(rows: Any, column: str | int) -> Array:
    """One column of a table."""
    if isinstance(rows, np.ndarray):
        return np.asarray(rows[:, column])  # type: ignore[index]  # an array has no names
    names = list(rows) if isinstance(rows, Mapping) else list(rows.columns)
    if column not in names:
        raise InvalidParameter(not_among(column, "a column of the rows", map(str, names)))
    return np.asarray(rows[column])


def replace_column(rows: Any, column: str | int, value: object) -> Any:
    """Returns the rows with one value for all of them in this column."""
    if isinstance(rows, np.ndarray):
        changed = rows.copy()
        changed[:, column] = value  # type: ignore[index]  # an array has no names
        return changed
    if isinstance(rows, Mapping):
        return {**rows, column: np.full(len(rows[column]), value)}
    return rows.assign(**{str(column): value})


def check_people(labels: object, members: object) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Labels and whether each row was learned from, of one length; both members and others are needed."""
    known = np.asarray(labels)
    inside = np.asarray(members)
    if inside.dtype != bool or inside.shape != known.shape or inside.ndim != 1:
        raise InvalidParameter(
            "members is a list with True for each row that the model learned from, and False for others, "
            f"one for each label, got {inside.dtype} of shape {inside.shape} for {known.shape}"
        )
    if inside.all() or not inside.any():
        raise InvalidParameter("an attack is judged on members and on others, and all rows are the same")
    return known, np.asarray(inside, dtype=np.bool_)


def count_rows(rows: Any) -> int:
    """How many rows a table has."""
    if isinstance(rows, Mapping):
        return len(next(iter(rows.values())))
    return len(rows)


def check_shares(shares: Sequence[float] | Floats | None, k: int) -> Floats:
    """What an attacker believes of each value: all alike unless given."""
    if shares is None:
        return np.full(k, 1 / k)
    weights = np.asarray(shares, dtype=np.float64)
    if weights.shape != (k,) or not (weights >= 0).all() or not weights.sum() > 0:
        raise InvalidParameter(f"prior has a share for each of {k} values, got {shares!r}")
    return np.asarray(weights / weights.sum())
