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

from deniable.arrays import Array, Floats, Integers
from deniable.domain import Categories, Domain, Product, Range
from deniable.domain.parsed import as_domain
from deniable.errors import InvalidParameter, InvalidReport, not_among
from deniable.exact import positive_epsilon
from deniable.mechanisms import PROTOCOLS, ExactMechanism, adaptive
from deniable.records import RecordMechanism, Sample
from deniable.records.named import inexact
from deniable.study import Plan

Label = Literal["public", "protected"]
LABELS: tuple[Label, ...] = ("public", "protected")
_CLOSE = 1e-6  # how far shares that are written with a few digits may be from adding up to 1


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
        mechanism: RecordMechanism | ExactMechanism = parts[0] if len(parts) == 1 else Sample(parts)
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


def make_part(k: int, epsilon: float, protocol: str | Sequence[str]) -> ExactMechanism:
    """The mechanism of one column: a protocol by name, or the best of several."""
    if not isinstance(protocol, str):
        return adaptive(k, epsilon, among=list(protocol))
    exact = [row.name for row in PROTOCOLS.values() if row.exact]
    if protocol not in exact:
        raise InvalidParameter(inexact(protocol) or not_among(protocol, "an exact protocol", exact))
    return PROTOCOLS[protocol].make_exact(k, epsilon)


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
