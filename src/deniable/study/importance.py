"""Reads how much the errors of questions and of their tables weigh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations

from deniable.choose import Reading
from deniable.domain import Product
from deniable.domain.view import name_product
from deniable.errors import InvalidParameter, not_among
from deniable.exact import number
from deniable.plan.attribute import Attribute


def read_importance(importance: object) -> dict[str, float]:
    """The importance of some attributes and tables, by name."""
    if not isinstance(importance, Mapping):
        raise InvalidParameter(f'importance is by name, such as {{"age": 3}}, got {importance!r}')
    for name, weight in importance.items():
        number(f"the importance of {name!r}", weight, 0.0, 1000.0, "a positive number, 1 unless given")
    return dict(importance)


def check_weighed(
    importance: Mapping[str, float],
    attributes: Mapping[str, Attribute],
    questions: Sequence[str],
    together: Sequence[Sequence[str]],
) -> None:
    """Refuse the importance of what is not asked, and that of a table in both orders of its questions."""
    for pair in list_pairs(together):
        name, turned = name_product(pair), name_product(pair[::-1])
        if name in importance and turned in importance:
            raise InvalidParameter(
                f"the importance of {name!r} is given twice: leave out that of {turned!r}, the same table"
            )
    known = list(dict.fromkeys((*questions, *list_weighed(together))))
    for name in importance:
        attribute = attributes.get(name)
        if name not in known and (attribute is None or isinstance(attribute.domain, Product)):
            raise InvalidParameter(not_among(str(name), "an attribute, or a table that is wanted", known))


def weigh_attribute(attribute: Attribute, importance: Mapping[str, float]) -> float:
    """How much an attribute weighs, by its own name or by that of its question."""
    return max(importance.get(attribute.name, importance.get(name, 1.0)) for name in attribute.questions)


def list_pairs(together: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Every pair that is wanted, once."""
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for pair in chain.from_iterable(combinations(names, 2) for names in together):
        pairs.setdefault(frozenset(pair), pair)
    return list(pairs.values())


def weigh_pairs(
    together: Sequence[Sequence[str]], importance: Mapping[str, float]
) -> dict[frozenset[str], float]:
    """How much each wanted pair weighs: by its own name, that of the table it was asked for in, or as much as
    the more important of both questions.
    """
    weights: dict[frozenset[str], float] = {}
    for table in together:
        for pair in combinations(table, 2):
            keys = [name_product(pair), name_product(pair[::-1]), name_product(table)]
            usual = max(importance.get(name, 1.0) for name in pair)
            weight = next((importance[name] for name in keys if name in importance), usual)
            weights[frozenset(pair)] = max(weight, weights.get(frozenset(pair), 0.0))
    return weights


def list_weighed(together: Sequence[Sequence[str]]) -> list[str]:
    """What tables and pairs are called where their importance is given."""
    names = [name_product(table) for table in together]
    pairs = list_pairs(together)
    return [*names, *(name_product(turned) for pair in pairs for turned in (pair, pair[::-1]))]


def weigh_readings(
    domain: Product, readings: Sequence[Reading], weights: Mapping[frozenset[str], float]
) -> tuple[tuple[Reading, ...], float]:
    """What is read of a table, each pair with its part of the importance of the whole; and that of the whole,
    which is the largest.
    """
    pairs = list(combinations(domain.names, 2))
    most = max(weights.get(frozenset(pair), 0.0) for pair in pairs)
    if len(readings) < len(pairs):  # too many cells to read pairs apart
        return tuple(readings), most
    parts = [weights.get(frozenset(pair), 0.0) / most for pair in pairs]
    pairs_read = zip(readings, parts, strict=False)
    weighed = [reading if part == 1.0 else replace(reading, importance=part) for reading, part in pairs_read]
    return (*weighed, *readings[len(pairs) :]), most
