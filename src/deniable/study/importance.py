"""Reads how much the errors of questions and of their tables weigh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from deniable.choose import Reading
from deniable.domain import Product
from deniable.domain.view import name_product
from deniable.errors import InvalidParameter, not_among
from deniable.exact import number
from deniable.plan.attribute import Attribute


def read_importance(given: object) -> dict[str, float]:
    """The importance of some attributes and tables, by name."""
    if not isinstance(given, Mapping):
        raise InvalidParameter(f'importance is by name, such as {{"age": 3}}, got {given!r}')
    for name, weight in given.items():
        number(f"the importance of {name!r}", weight, 0.0, 1000.0, "a positive number, 1 unless given")
    return dict(given)


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
        one = attributes.get(name)
        if name not in known and (one is None or isinstance(one.domain, Product)):
            raise InvalidParameter(not_among(str(name), "an attribute, or a table that is wanted", known))


def weigh_attribute(one: Attribute, importance: Mapping[str, float]) -> float:
    """How much an attribute weighs, by its own name or by that of its question."""
    return max(importance.get(one.name, importance.get(name, 1.0)) for name in one.questions)


def list_pairs(together: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Every pair that is wanted, once."""
    found: dict[frozenset[str], tuple[str, str]] = {}
    for some in together:
        for pair in combinations(some, 2):
            found.setdefault(frozenset(pair), pair)
    return list(found.values())


def weigh_pairs(
    together: Sequence[Sequence[str]], importance: Mapping[str, float]
) -> dict[frozenset[str], float]:
    """How much each wanted pair weighs: by its own name, that of the table it was asked for in, or as much as
    the more important of both questions.
    """
    found: dict[frozenset[str], float] = {}
    for some in together:
        for pair in combinations(some, 2):
            named = [name_product(pair), name_product(pair[::-1]), name_product(some)]
            usual = max(importance.get(name, 1.0) for name in pair)
            own = next((importance[name] for name in named if name in importance), usual)
            found[frozenset(pair)] = max(own, found.get(frozenset(pair), 0.0))
    return found


def list_weighed(together: Sequence[Sequence[str]]) -> list[str]:
    """What tables and pairs are called where their importance is given."""
    found = [name_product(some) for some in together]
    pairs = list_pairs(together)
    return [*found, *(name_product(turned) for pair in pairs for turned in (pair, pair[::-1]))]


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
    weighed = [
        one if part == 1.0 else replace(one, importance=part)
        for one, part in zip(readings, parts, strict=False)
    ]
    return (*weighed, *readings[len(pairs) :]), most
