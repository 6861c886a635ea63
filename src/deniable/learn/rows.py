"""Reads the rows of a classifier: columns by name, whatever holds them, and the codes of their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from deniable.arrays import Integers
from deniable.domain import NO_ANSWER, Domain, Product
from deniable.domain.refusals import locate_refusal
from deniable.errors import InvalidValue
from deniable.frames import column_names, columns_of, is_table
from deniable.learn.questions import Questions
from deniable.study import Plan

_WIDEST = 1 << 16  # whole numbers that are looked up in a table, from the smallest to the largest
_LARGEST = 1 << 62


def read_rows(
    model: BaseEstimator,
    X: object,  # noqa: N803
    questions: Questions,
    reset: bool,
    may_lack: bool = False,
) -> dict[str, Any]:
    """A column for each name, from a dataframe, a dictionary of columns, or an array.

    Columns that a table may lack are left out, as long as it has one. The columns of an array are in the
    order of the table that the model was fitted with, as scikit-learn has it, or else in that of the domains.
    """
    names = questions.names
    if is_table(X):
        present = column_names(X)
        _refuse_columns(present, questions)
        used = [name for name in names if name in present or not may_lack] or names
        columns = columns_of(X, used)
        if not isinstance(X, Mapping):
            if len(used) == len(names):
                validate_data(model, X, reset=reset, skip_check_array=True)
        elif reset:
            model.feature_names_in_ = np.array(present, dtype=object)
        return dict(zip(used, columns, strict=True))
    array = check_array(X, dtype=None, ensure_all_finite=False, estimator=model)
    if array.shape[1] != len(names):
        raise InvalidValue(
            f"X has {array.shape[1]} features, but {type(model).__name__} is expecting {len(names)} "
            f"features as input: {', '.join(names)}"
        )
    validate_data(model, array, reset=reset, skip_check_array=True)
    order = [str(name) for name in getattr(model, "feature_names_in_", names)]
    by_name = dict(zip(order, array.T, strict=True))
    return {name: by_name[name] for name in names}


def encode_people(plan: Plan, questions: Questions, columns: Mapping[str, Any], labels: object) -> Integers:
    """The answers of people to a plan that `questions` made; all are checked before any is reported."""
    read = [*questions.columns, (questions.target, questions.classes)]
    answers = {**columns, questions.target: labels}
    codes = {name: _encode_known(answers[name], domain, name) for name, domain in read}
    rows = []
    for attribute in plan.document.attributes:
        if isinstance(attribute.domain, Product):
            pair = tuple(codes[name] for name in attribute.domain.names)
            rows.append(np.ravel_multi_index(pair, attribute.domain.shape))
        else:
            rows.append(codes[attribute.name])
    if plan.document.known is not None:
        rows.append(codes[questions.target])
    return np.stack(rows)


def encode_column(values: Any, domain: Domain, name: str) -> Integers:
    """The code of each value, -1 where there is none. Whole numbers that are near each other are looked up.

    >>> from deniable.domain import Categories
    >>> encode_column(np.array([7, 5, 7]), Categories([5, 6, 7]), "size").tolist()
    [2, 0, 2]
    """
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu" and values.size:
        low, high = int(values.min()), int(values.max())
        if high - low < _WIDEST and abs(low) < _LARGEST:
            positions = values.astype(np.int64) - low
            present = np.flatnonzero(np.bincount(positions))
            table = np.zeros(high - low + 1, dtype=np.int64)
            try:
                table[present] = domain.codes(present + low, name)
            except InvalidValue as problem:
                raise locate_refusal(problem, domain, values, name) from None
            return table[positions]
    try:
        return domain.codes(values, name)
    except InvalidValue as problem:
        raise locate_refusal(problem, domain, values, name) from None


def _encode_known(values: Any, domain: Domain, name: str) -> Integers:
    codes = encode_column(values, domain, name)
    missing = codes == NO_ANSWER
    if missing.any():
        raise InvalidValue(
            f"row {int(np.argmax(missing))}, column {name!r}: there is no value",
            "fill it in, leave the row out, or give the domain a value of its own for it",
        )
    return codes


def _refuse_columns(names: list[str], questions: Questions) -> None:
    extra = [name for name in names if name not in questions.names]
    if questions.target in extra:
        raise InvalidValue(f"X holds the label, {questions.target!r}; leave the column out, and give it as y")
    if extra:
        raise InvalidValue(f"{extra[0]!r} has no domain; give it one, or leave the column out of X")
