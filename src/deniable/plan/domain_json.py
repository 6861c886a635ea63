"""Writes the values of attributes in a plan, as labels or integers, and reads them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deniable.domain import Categories, Coarse, Code, Domain, Product, Range, Text, checked_text
from deniable.domain.grid import Grid
from deniable.domain.number import Number
from deniable.errors import InvalidParameter
from deniable.plan.strict_json import (
    InvalidPlan,
    Json,
    checked_boolean,
    checked_fields,
    checked_integer,
    checked_kind,
    checked_list,
    checked_string,
)


def domain_to_dict(domain: Domain) -> Json:
    """A domain as its labels or its integers."""
    if isinstance(domain, Categories):
        return {"kind": "categories", "labels": list(domain.labels)}
    if isinstance(domain, Range | Number):
        ends = {"open_low": domain.open_low, "open_high": domain.open_high, "digits": domain.digits}
        if isinstance(domain, Number):
            return {"kind": "number", "low": domain.scaled_low, "high": domain.scaled_high, **ends}
        unit = {"unit": domain.unit} if domain.unit else {}
        numbers = {"low": domain.scaled_low, "step": domain.scaled_step, "bins": domain.bins}
        return {"kind": "range", **numbers, **ends, **unit}
    if isinstance(domain, Grid):
        return {"kind": "grid", **domain.corners, "rows": domain.rows, "columns": domain.columns}
    if isinstance(domain, Text):
        return {"kind": "text", "alphabet": domain.letters, "longest": domain.longest, "cut": domain.cut}
    if isinstance(domain, Code):
        return {"kind": "code", "bits": domain.bits}
    if isinstance(domain, Product):
        return {"kind": "product", "factors": factors_to_dict(domain.factors)}
    if isinstance(domain, Coarse):
        return {"kind": "coarse", "divisor": domain.divisor, "factors": factors_to_dict(domain.factors)}
    raise InvalidParameter(f"a plan cannot hold the domain {type(domain).__name__}")


def factors_to_dict(factors: Sequence[tuple[str, Domain]]) -> list[Json]:
    """Questions with their domains, in order."""
    return [{"name": name, "domain": domain_to_dict(domain)} for name, domain in factors]


_DOMAINS = ("categories", "range", "number", "grid", "product", "coarse", "text", "code")


def domain_from_dict(data: object) -> Domain:
    """Back from `domain_to_dict`."""
    kind = checked_kind(data, "a domain", _DOMAINS)
    if kind == "code":
        fields = checked_fields(data, "a code", ("kind", "bits"))
        return Code(checked_integer(fields["bits"], "bits"))
    if kind == "text":
        fields = checked_fields(data, "text", ("kind", "alphabet", "longest", "cut"))
        return Text(
            letters=checked_string(fields["alphabet"], "alphabet"),
            longest=checked_integer(fields["longest"], "longest"),
            cut=checked_boolean(fields["cut"], "cut"),
        )
    if kind == "product":
        fields = checked_fields(data, "a product", ("kind", "factors"))
        return Product(factors_from_dict(fields["factors"], "factors"))
    if kind == "coarse":
        return _read_coarse(data)
    if kind == "categories":
        labels = checked_list(checked_fields(data, "categories", ("kind", "labels"))["labels"], "labels")
        return Categories([checked_string(label, "a label") for label in labels])
    if kind == "grid":
        numbers, _ = _numbers(data, "a grid", ("south", "west", "north", "east", "rows", "columns"))
        return Grid.from_integers(*numbers)
    if kind == "number":
        numbers, ends = _numbers(data, "a number", ("low", "high", "digits"), ("open_low", "open_high"))
        low, high, digits = numbers
        return Number.from_integers(low, high, digits, *ends)
    unit: Any = ""
    if isinstance(data, dict) and "unit" in data:
        unit = checked_string(data["unit"], "unit")
        data = {name: value for name, value in data.items() if name != "unit"}
    numbers, ends = _numbers(data, "a range", ("low", "step", "bins", "digits"), ("open_low", "open_high"))
    low, step, bins, digits = numbers
    open_low, open_high = ends
    return Range.from_integers(low, step, bins, digits, open_low, open_high, unit)


def _read_coarse(data: object) -> Coarse:
    fields = checked_fields(data, "a level", ("kind", "divisor", "factors"))
    factors = factors_from_dict(fields["factors"], "factors", _LEVELED)
    if len(factors) != 1:
        raise InvalidPlan(f"a level is of one question, got {len(factors)}", "coarse")
    [(name, base)] = factors
    return Coarse(name, base, checked_integer(fields["divisor"], "divisor"))


_TABULATED = ("categories", "range")
_LEVELED = ("range", "text", "code")
"""The kinds of domains that tables hold, and that levels divide."""


def factors_from_dict(data: object, what: str, kinds: Sequence[str] = _TABULATED) -> list[tuple[str, Domain]]:
    """Back from `factors_to_dict`, for domains of these kinds."""
    factors = []
    for item in checked_list(data, what):
        factor = checked_fields(item, "a factor", ("name", "domain"))
        name = checked_text(checked_string(factor["name"], "name"), "a question's name")
        checked_kind(factor["domain"], "a factor's domain", kinds)
        factors.append((name, domain_from_dict(factor["domain"])))
    return factors


def _numbers(
    data: object, what: str, names: Sequence[str], ends: Sequence[str] = ()
) -> tuple[list[int], list[bool]]:
    """Integers, and whether ends are open."""
    fields = checked_fields(data, what, ("kind", *names, *ends))
    integers = [checked_integer(fields[name], name) for name in names]
    return integers, [checked_boolean(fields[end], end) for end in ends]
