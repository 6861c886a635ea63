"""Privatizes the columns of a table inside a scikit-learn pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, final

from sklearn import get_config
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter
from deniable.learn.columns import Budget, Column, Output, make_mechanism, name_outputs, read_columns
from deniable.learn.memory import Label, Memory, leave_behind, read_labels
from deniable.learn.tables import (
    Layout,
    allocate_array,
    allocate_columns,
    encode_table,
    is_frame,
    join_frame,
    make_layouts,
    read_column,
    refuse_same_names,
    refuse_unnamed,
)
from deniable.randomness import Words, checked_source
from deniable.study import Plan

_PEOPLE = 1000
"""The people of a transformer's plan: any number, since their number is not learned from the data."""
_REMEDY = "privatize once and keep the reports, or use memo='index'"
_name_inputs = OneToOneFeatureMixin.get_feature_names_out
"""The names of the columns that come in, checked as scikit-learn checks them."""
_CHOICES: dict[str, tuple[str | None, ...]] = {"output": ("value", "support"), "memo": (None, "index")}


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

    **Every transform is a new report** (`reports_made_`): a pipeline in a five-fold cross-validation warns,
    and makes five reports of each person, who then loses five times `loss_`. Privatize once, then
    cross-validate the model on the reports; or keep one report per row label with `memo="index"`. Options
    that are changed after `fit` need another `fit`.

    Columns without a domain, and the target, are not protected (`unprotected_`).
    """

    plan_: Plan
    """The plan of one row's report: `verify` recomputes its losses from the integers."""
    loss_: float
    """The exact loss of one row's report."""
    losses_: dict[str, float]
    """The exact loss of each column, where it is reported."""
    unprotected_: list[str]
    """The columns of this table that pass through as they are; not those that another step passes on."""
    n_features_in_: int
    """How many columns the table has."""
    _library: str | None = None
    """What `set_output` chose."""
    _clone = 0
    """Which of the clones of one transformer this is."""

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
        memo: "index" keeps one report for each row label, which is a person whose values never change.
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
        options = self.get_params(deep=False)
        _check_options(options)
        memory = self._remember()
        memory.start(self.memo is not None, self.words)  # a second fit does not undo reports
        memory.repeats.warn_moved(stacklevel=2)
        self._read(X, reset=True)
        names = [str(name) for name in _name_inputs(self)]
        self._columns: list[Column] = read_columns(self.domains, names, hasattr(self, "feature_names_in_"))
        mechanism = make_mechanism(self._columns, self.epsilon, self.budget, self.protocol, self.output)
        self.plan_ = Plan.of({column.name: column.domain for column in self._columns}, mechanism, _PEOPLE)
        self.loss_ = self.plan_.verify().record
        self.losses_ = {
            column.name: part.loss() for column, part in zip(self._columns, mechanism.mechanisms, strict=True)
        }
        protected = {column.position for column in self._columns}
        others = [name for position, name in enumerate(names) if position not in protected]
        self.unprotected_ = others if self.passthrough else []
        self._fitted_with = {name: value for name, value in options.items() if name != "words"}
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Replace the values by a new report of each row; all values are checked before any is reported."""
        self._check_fitted()
        table = self._read(X, reset=False)
        codes = encode_table(self._columns, table)
        layouts = make_layouts(self._columns, self.plan_.mechanism, self.output == "support", table)
        kept = range(self.n_features_in_) if self.passthrough else sorted(layouts)
        parts = [
            layouts[position] if position in layouts else read_column(table, position) for position in kept
        ]
        library = self._library or get_config()["transform_output"]
        if library == "default":
            result, places = allocate_array(parts, len(codes))
            self._report(X, codes, list(layouts.values()), places)
            return result
        places = allocate_columns(parts, len(codes))
        self._report(X, codes, list(layouts.values()), places)
        return join_frame(parts, places, library, getattr(table, "index", None))

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what comes out: "pandas", "polars", or "default", an array; None changes nothing."""
        super().set_output(transform=transform)
        self._library = transform or self._library
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns that come out: "age", or with indicators "age=34"."""
        self._check_fitted()
        names = _name_inputs(self, input_features)
        return name_outputs(self._columns, names, self.output == "support", self.passthrough)

    @property
    def reports_made_(self) -> int:
        """How many reports of rows this transformer and its clones have made, in this process.

        With a memo, one that is given again is not counted.
        """
        return self._remember().total

    @property
    def reports_by_loss_(self) -> dict[float, int]:
        """How many of these reports were made at each loss: several, after a search for an epsilon."""
        return self._remember().count_losses()

    @property
    def losses_by_label_(self) -> dict[Label, float]:
        """What each row label has lost with all its reports, at whatever epsilon, rounded up."""
        if self.memo is None:
            raise AttributeError("losses are counted by row label with memo='index' only")
        return self._remember().add_losses()

    def _report(
        self, table: Any, codes: Integers, layouts: Sequence[Layout], places: Sequence[Array]
    ) -> None:
        """Write the reports of all rows to their places, a block of rows after the other."""
        memory = self._remember()
        labels = None if self.memo is None else read_labels(table)
        memory.start(labels is not None, self.words)
        if labels is None:
            memory.repeats.warn_repeated(table, self._clone, self.loss_, _REMEDY, stacklevel=4)
        blocks = (
            memory.draw(self.plan_, self.loss_, codes, checked_source(self.words))
            if labels is None
            else memory.recall(self.plan_, self.loss_, codes, labels)
        )
        for block, records in blocks:
            reporters = records.reporters or (None,) * len(layouts)
            for layout, place, reports, who in zip(layouts, places, records.columns, reporters, strict=True):
                layout.write(place[block], reports, who)
        memory.repeats.notice(table, self._clone)

    def _read(self, X: Any, reset: bool) -> Any:  # noqa: N803
        """The table as it is, if it is a frame, or else as an array."""
        if not is_frame(X):
            return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        refuse_same_names(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        refuse_unnamed(X)
        return X

    def _check_fitted(self) -> None:
        check_is_fitted(self)
        _refuse_changes(self._fitted_with, self.get_params(deep=False))

    def _remember(self) -> Memory:
        """What this transformer and its clones have reported."""
        if not hasattr(self, "_memory"):
            self._memory = Memory()
        return self._memory

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "words": leave_behind(self.words)}

    def __sklearn_clone__(self) -> Privatizer:
        """An unfitted copy that draws from the same words: a copy of them would repeat their noise.

        It shares the memory too: all reports are counted together, and folds of a cross-validation give the
        same ones where there is a memo.
        """
        clone: Privatizer = super().__sklearn_clone__()
        clone.words = self.words
        if self._library is not None:
            clone.set_output(transform=self._library)
        clone._memory = self._remember()
        clone._clone = clone._memory.repeats.number_clone()
        if self.memo is not None:
            clone._memory.start(True, self.words)
        return clone

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _check_options(options: Mapping[str, object]) -> None:
    """Refuse an option that is none of its choices, and words that are no source."""
    for name, allowed in _CHOICES.items():
        if options[name] not in allowed:
            choices = " or ".join(map(repr, allowed))
            raise InvalidParameter(f"{name} is {choices}, got {options[name]!r}")
    checked_source(options["words"])  # type: ignore[arg-type]  # it is checked there


def _refuse_changes(fitted: Mapping[str, object], options: Mapping[str, object]) -> None:
    """Refuse options that were changed after fit: reports would not lose what the options say."""
    for name, before in fitted.items():
        if not _is_same(before, options[name]):
            raise InvalidParameter(
                f"{name} was changed after fit, and the mechanisms are of the old one; call fit again"
            )


def _is_same(first: object, second: object) -> bool:
    """Whether two options are equal; other arrays of equal values count as a change."""
    try:
        return first is second or bool(first == second)
    except ValueError:
        return False
