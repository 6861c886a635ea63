"""Plans the question of a classifier: each person reports one column, with the label beside it or inside it.

A public label is a known group of the plan. A protected one is half of each value: a report is of one cell of
the table of label and column, at the whole epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from deniable.arrays import Array, Floats, Integers
from deniable.domain import NO_ANSWER, Categories, Domain, Product, Range
from deniable.domain.parsed import as_domain
from deniable.domain.refusals import locate_refusal
from deniable.errors import InvalidParameter, InvalidReport, InvalidValue, not_among
from deniable.exact import positive_epsilon
from deniable.frames import column_names, columns_of, is_table
from deniable.mechanisms import PROTOCOLS, Mechanism, adaptive
from deniable.mechanisms.protocols import MOVED
from deniable.records import RecordMechanism, Sample
from deniable.study import Plan

Label = Literal["public", "protected"]
LABELS: tuple[Label, ...] = ("public", "protected")
_CLOSE = 1e-6  # how far shares that are written with a few digits may be from adding up to 1
_WIDEST = 1 << 16  # whole numbers that are looked up in a table, from the smallest to the largest
_LARGEST = 1 << 62


@final
@dataclass(frozen=True)
class Questions:
    """The columns that a classifier learns from, and the label, each with its values."""

    columns: tuple[tuple[str, Domain], ...]
    target: str
    classes: Domain
    values: tuple[Any, ...]
    """The classes as the caller wrote them, in the order of their codes."""
    texts: bool = False
    """Whether a domain was given, which keeps the texts of values alone."""

    @staticmethod
    def of(domains: object, target: str) -> Questions:
        """Reads what a caller gave: domains by name, the label's among them."""
        if not isinstance(domains, Mapping):
            raise InvalidParameter(
                'domains are the values of each column by name, such as {"smoker": ["yes", "no"]}, got '
                f"{type(domains).__name__}; they are public, and never read from the data"
            )
        if target not in domains:
            raise InvalidParameter(not_among(target, "a column with a domain", map(str, domains)))
        read = {name: _read_domain(values, name) for name, values in domains.items()}
        labels = domains[target]
        classes = read.pop(target)
        if not read:
            raise InvalidParameter(f"there are no columns beside the label {target!r}; give their domains")
        values = _list_classes(labels, classes)
        return Questions(tuple(read.items()), target, classes, values, isinstance(labels, Domain))

    def name_classes(self, labels: object) -> Questions:
        """The questions, with classes of the labels' type where a domain keeps nothing but their texts."""
        if labels is None or not self.texts:
            return self
        kind = np.asarray(labels).dtype.kind
        parsed = [_PARSE[kind](text) for text in self.values] if kind in _PARSE else list(self.values)
        return self if None in parsed else replace(self, values=tuple(parsed))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(name for name, _ in self.columns)

    @cached_property
    def order(self) -> Integers:
        """The classes' codes in the order of their values, as scikit-learn lists classes."""
        return np.argsort(np.array(self.values), kind="stable")

    @property
    def sorted_classes(self) -> Array:
        """The classes, in that order."""
        return np.array(self.values)[self.order]

    def plan(self, epsilon: float, label: str, protocol: str | Sequence[str], people: int) -> Plan:
        """What people are asked, and how they answer."""
        positive_epsilon(epsilon)
        if label not in LABELS:
            raise InvalidParameter(not_among(label, "what a label can be", LABELS))
        domains: dict[str, Domain] = dict(self.columns)
        if label == "protected":
            tables = [Product([(self.target, self.classes), column]) for column in self.columns]
            domains = {table.name: table for table in tables}
        parts = tuple(make_part(domain.k, epsilon, protocol) for domain in domains.values())
        mechanism: RecordMechanism | Mechanism = parts[0] if len(parts) == 1 else Sample(parts)
        plan = Plan.of(domains, mechanism, people)
        return plan if label == "protected" else plan.with_known({self.target: self.classes})

    def find_label(self, plan: Plan) -> Label | None:
        """How a plan asks for the label; None where it asks for the columns alone. Others are refused."""
        known = plan.document.known
        domains = {attribute.name: attribute.domain for attribute in plan.document.attributes}
        tables = {Product([(self.target, self.classes), column]).name for column in self.columns}
        if set(domains) == tables and known is None:
            self._refuse_sizes(plan)
            return "protected"
        if set(domains) != set(self.names):
            raise InvalidReport(
                f"this plan asks for {', '.join(domains)}; the classifier needs {', '.join(self.names)}, or "
                f"each of them in a table with {self.target!r}"
            )
        for name, domain in self.columns:
            if domains[name].labels != domain.labels:
                raise InvalidReport(f"the values of {name!r} in this plan are not those of its domain")
        self._refuse_sizes(plan)
        if known is None:
            return None
        if known.names != (self.target,) or known.labels != self.classes.labels:
            raise InvalidReport(
                f"the known groups of this plan are of {known.name!r}; a classifier needs those of "
                f"{self.target!r}, one for each class"
            )
        return "public"

    def _refuse_sizes(self, plan: Plan) -> None:
        """Refuse answers beside those of the domains, such as "no answer"."""
        for attribute, part in zip(plan.document.attributes, plan.document.parts, strict=True):
            if part.k != attribute.domain.k:
                raise InvalidReport(
                    f"{attribute.name!r} has answers beside its values in this plan (missing or not "
                    "applicable); a classifier needs a plan that refuses missing answers"
                )

    def read_prior(self, prior: object) -> dict[str, Floats]:
        """The public shares of some columns' values, as arrays that add up to 1."""
        if prior is None:
            return {}
        if not isinstance(prior, Mapping):
            raise InvalidParameter(
                'prior has public shares by column, such as {"smoker": [0.2, 0.8]}, or is None, got '
                f"{type(prior).__name__}"
            )
        domains = dict(self.columns)
        for name in prior:
            if name not in domains:
                raise InvalidParameter(not_among(name, "a column with a prior", domains))
        return {name: _read_shares(shares, domains[name], name) for name, shares in prior.items()}


def _list_classes(labels: Any, classes: Domain) -> tuple[Any, ...]:
    """The classes as they were written: in a list, an array, a section of a file, or a type of categories."""
    if isinstance(labels, Mapping):
        return tuple(labels.get("values", classes.labels))
    if isinstance(labels, Domain):
        return classes.labels
    return tuple(getattr(labels, "categories", labels))


def _parse_number(text: str) -> float | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


_PARSE: dict[str, Callable[[str], object]] = {
    "i": _parse_number,
    "u": _parse_number,
    "f": _parse_number,
    "b": {"True": True, "False": False}.get,
}
"""How the text of a class becomes a value of a type of numpy's; None where it cannot."""


def make_part(k: int, epsilon: float, protocol: str | Sequence[str]) -> Mechanism:
    """The mechanism of one column: a protocol by name, or the best of several."""
    if not isinstance(protocol, str):
        return adaptive(k, epsilon, among=list(protocol))
    if protocol not in PROTOCOLS:
        raise InvalidParameter(not_among(protocol, "a protocol", PROTOCOLS, MOVED))
    return PROTOCOLS[protocol].make(k, epsilon)


def _read_domain(values: object, name: object) -> Domain:
    if not isinstance(name, str):
        raise InvalidParameter(f"a column's name is a text, got {name!r}")
    domain = as_domain(values, name)
    if not isinstance(domain, Categories | Range) or domain.privacy == "metric":
        raise InvalidParameter(
            f"{name!r} cannot be learned from: that takes a list of values, or a range whose values are all "
            "equally indistinguishable"
        )
    return domain.plain


def _read_shares(shares: object, domain: Domain, name: str) -> Floats:
    if isinstance(shares, Mapping):
        unknown = [str(label) for label in shares if str(label) not in domain.labels]
        if unknown:
            raise InvalidParameter(not_among(unknown[0], f"a value of {name!r}", domain.labels))
        by_label = {str(label): share for label, share in shares.items()}
        shares = [by_label.get(label, 0.0) for label in domain.labels]
    try:
        prior = np.array(list(shares), dtype=np.float64)  # type: ignore[call-overload]  # or refused here
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"the prior of {name!r} has a share for each value, such as [0.2, 0.8], got {shares!r}"
        ) from None
    if prior.shape != (domain.k,) or not (prior >= 0).all() or abs(prior.sum() - 1) > _CLOSE:
        raise InvalidParameter(
            f"the prior of {name!r} has a share for each of its {domain.k} values, and they add up to 1, got "
            f"{prior.size} that add up to {prior.sum():g}"
        )
    return np.asarray(prior / prior.sum())


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
