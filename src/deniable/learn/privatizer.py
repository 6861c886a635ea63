"""Privatizes the columns of a table inside a scikit-learn pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, final

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from deniable.arrays import Array, Integers
from deniable.errors import DeniableWarning, InvalidParameter
from deniable.learn.budgets import Budget, Output, make_mechanism
from deniable.learn.columns import Column, read_columns
from deniable.learn.memory import Label, Memory, read_labels
from deniable.learn.tables import (
    Layout,
    allocate_array,
    allocate_columns,
    is_frame,
    join_frame,
    read_column,
)
from deniable.mechanisms import ExactMechanism, SetMechanism
from deniable.plan import Plan
from deniable.words import Words, checked_source

_ROWS = 1 << 17  # that are reported at a time
_PEOPLE = 1000
"""The people of a transformer's plan: any number, since their number is not learned from the data."""


@final
class Privatizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Replaces the values of protected columns by reports, a row at a time, with an exact loss.

    >>> import deniable as dn
    >>> import pandas as pd
    >>> people = pd.DataFrame({"smokes": ["yes", "no", "no"], "age": [34, 51, 19], "height": [1.7, 1.8, 1.6]})
    >>> privatizer = Privatizer({"smokes": ["yes", "no"], "age": dn.Range(0, 120)}, epsilon=2.0)
    >>> reports = privatizer.fit_transform(people)
    >>> reports.shape, privatizer.unprotected_
    ((3, 3), ['height'])
    >>> privatizer.loss_ <= 2.0, {name: round(loss, 4) for name, loss in privatizer.losses_.items()}
    (True, {'smokes': 1.0, 'age': 1.0})

    **Every transform is a new report** (`reports_made_`): a pipeline in a five-fold cross-validation makes
    five reports of each person, who then loses five times `loss_`. Privatize once, then cross-validate the
    model on the reports; or keep one report per row label with `memo="index"`.

    Columns without a domain, and the target, are not protected (`unprotected_`).
    """

    plan_: Plan
    """The plan of one row's report: `verify` recomputes its losses from the integers."""
    loss_: float
    """The exact loss of one row's report."""
    losses_: dict[str, float]
    """The exact loss of each column, where it is reported."""
    unprotected_: list[str]
    """The columns that pass through as they are."""
    n_features_in_: int
    """How many columns the table has."""

    def __init__(
        self,
        domains: Mapping[Any, object],
        epsilon: float | None = None,
        *,
        protocol: str | Mapping[str, str] = "adaptive",
        budget: Budget = "split",
        output: Output = "value",
        passthrough: bool = True,
        memo: Literal["index"] | None = None,
        words: Words | None = None,
    ) -> None:
        """Take the domains and the budget; nothing is checked before `fit`, as scikit-learn wants it.

        domains: the values of every protected column: {column: list of values, dn.Categories, dn.Range, or
        the number k of values 0 to k - 1}. Columns of an array are numbered from 0.
        epsilon: what the report of one row may lose; with budgets by column, at least their sum.
        protocol: its name, for all columns or by column; "adaptive" errs least.
        budget: "split" reports every column at an equal part of epsilon. "sample" reports one column of each
        row, drawn at random, at the whole epsilon: the others are missing. {column: epsilon} is each one's.
        output: "value" is one reported value per column (generalized randomized response), "support" an
        indicator per value. What is not reported is NaN (None among texts), or -1 as an indicator.
        passthrough: whether columns without a domain are kept, unprotected, or dropped.
        memo: "index" keeps one report for each row label and value.
        words: where random words come from: the operating system, unless `dn.seeded` is given in simulations.
        """
        self.domains = domains
        self.epsilon = epsilon
        self.protocol = protocol
        self.budget = budget
        self.output = output
        self.passthrough = passthrough
        self.memo = memo
        self.words = words

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: N803 - as scikit-learn calls it
        """Make the mechanisms; of the data only the names and the number of columns are looked at."""
        self._check_options()
        self._read(X, reset=True)
        names = [str(name) for name in _check_feature_names_in(self)]
        self._columns: list[Column] = read_columns(self.domains, names, hasattr(self, "feature_names_in_"))
        mechanism = make_mechanism(self._columns, self.epsilon, self.budget, self.protocol, self.output)
        self.plan_ = Plan.of({one.name: one.domain for one in self._columns}, mechanism, _PEOPLE)
        self.loss_ = self.plan_.verify().record
        self.losses_ = {
            one.name: part.loss() for one, part in zip(self._columns, mechanism.mechanisms, strict=True)
        }
        protected = {one.position for one in self._columns}
        others = [name for position, name in enumerate(names) if position not in protected]
        self.unprotected_ = others if self.passthrough else []
        if not hasattr(self, "_memory"):
            self._memory = Memory()  # a second fit does not undo reports
        if self.memo is not None:
            self._memory.keep_secret(self.words)
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Replace the values by a new report of each row; all values are checked before any is reported."""
        check_is_fitted(self)
        table = self._read(X, reset=False)
        codes = self._encode(table)
        mechanism = self.plan_.mechanism
        layouts = {
            column.position: Layout(
                column, _as_set(part), self.output == "support", not mechanism.reports_all
            )
            for column, part in zip(self._columns, mechanism.mechanisms, strict=True)
        }
        kept = range(self.n_features_in_) if self.passthrough else sorted(layouts)
        parts = [
            layouts[position] if position in layouts else read_column(table, position) for position in kept
        ]
        library = _get_output_config("transform", self)["dense"]
        if library == "default":
            result, places = allocate_array(parts, len(codes))
            self._report(X, codes, list(layouts.values()), places)
            return result
        places = allocate_columns(parts, len(codes))
        self._report(X, codes, list(layouts.values()), places)
        return join_frame(parts, places, library, getattr(table, "index", None))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns that come out: "age", or with indicators "age=34"."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        protected = {one.position: one for one in self._columns}
        found: list[str] = []
        for position, name in enumerate(names):
            column = protected.get(position)
            if column is not None and self.output == "support":
                found += [f"{name}={text}" for text in column.texts]
            elif column is not None or self.passthrough:
                found.append(str(name))
        return np.array(found, dtype=object)

    @property
    def reports_made_(self) -> int:
        """How many reports of rows were made so far; with a memo, one that is given again is not counted."""
        check_is_fitted(self)
        return self._memory.total

    @property
    def reports_by_label_(self) -> dict[Label, int]:
        """How many different reports each row label has given; each of them loses `loss_`."""
        check_is_fitted(self)
        if self.memo is None:
            raise AttributeError("reports are counted by row label with memo='index' only")
        return self._memory.count_labels()

    def _encode(self, table: Any) -> Integers:
        """The codes of all protected columns; every value is checked before any is reported."""
        largest = max(one.domain.k for one in self._columns) - 1
        codes = None
        for j, column in enumerate(self._columns):
            found = column.encode(read_column(table, column.position))
            if codes is None:
                codes = np.empty((len(found), len(self._columns)), dtype=np.min_scalar_type(largest))
            codes[:, j] = found
        assert codes is not None
        return codes

    def _report(
        self, given: Any, codes: Integers, layouts: Sequence[Layout], places: Sequence[Array]
    ) -> None:
        """Write the reports of all rows to their places, a block of rows after the other."""
        labels = None if self.memo is None else read_labels(given)
        if labels is not None:
            self._memory.keep_secret(self.words)
        elif self._memory.notice(given):
            warnings.warn(
                "this table was privatized before: these are second reports of the same people, who lose "
                f"{self.loss_:.4g} more; keep the first ones, or use memo='index'",
                DeniableWarning,
                stacklevel=4,
            )
        words = checked_source(self.words)
        mechanism = self.plan_.mechanism
        for low in range(0, len(codes), _ROWS):
            here = slice(low, low + _ROWS)
            if labels is None:
                records = mechanism.privatize(codes[here], words)
                self._memory.total += records.n
            else:
                records = self._memory.privatize(self.plan_.id, mechanism, codes[here], labels[here])
            reporters = records.reporters or (None,) * len(layouts)
            for layout, place, reports, who in zip(layouts, places, records.columns, reporters, strict=True):
                layout.write(place[here], reports, who)

    def _read(self, X: Any, reset: bool) -> Any:  # noqa: N803
        """The table as it is, if it is a frame, or else as an array."""
        if not is_frame(X):
            return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        if len(set(X.columns)) < len(X.columns):
            raise InvalidParameter("two columns have the same name; a domain would be for one of them only")
        validate_data(self, X, reset=reset, skip_check_array=True)
        unnamed = [name for name in X.columns if not isinstance(name, str)]
        if unnamed and unnamed != list(range(len(X.columns))):
            raise InvalidParameter(f"name the columns of a frame by text: one is called {unnamed[0]!r}")
        if not len(X):
            raise InvalidParameter("the table has 0 samples; a minimum of 1 is required")
        return X

    def _check_options(self) -> None:
        for name, allowed in (("output", ("value", "support")), ("memo", (None, "index"))):
            if getattr(self, name) not in allowed:
                shown = " or ".join(map(repr, allowed))
                raise InvalidParameter(f"{name} is {shown}, got {getattr(self, name)!r}")
        checked_source(self.words)

    def __sklearn_clone__(self) -> Privatizer:
        """An unfitted copy that draws from the same words: a copy of them would repeat their noise.

        With a memo it shares that too, so that folds of a cross-validation give the same reports.
        """
        params = self.get_params(deep=False)
        copies = {name: one if name == "words" else clone(one, safe=False) for name, one in params.items()}
        made = Privatizer(**copies)
        for name in ("_metadata_request", "_sklearn_output_config"):
            if hasattr(self, name):
                setattr(
                    made, name, dict(getattr(self, name)) if name.endswith("config") else getattr(self, name)
                )
        if self.memo is not None:
            if not hasattr(self, "_memory"):
                self._memory = Memory()
            made._memory = self._memory
            made._memory.keep_secret(self.words)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _as_set(part: ExactMechanism) -> SetMechanism:
    """A mechanism of a transformer, whose reports support sets of values: no other is made."""
    assert isinstance(part, SetMechanism)
    return part
