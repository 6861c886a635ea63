"""Compiles questions that are reported in levels: one attribute a level, of which a person reports one.

Which level it is, is drawn without looking at the answer and named in the report, so that it gives nothing
away. The levels of a question are in a plan from the coarsest to the question's own values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import final

from deniable.discovery import WHOLE, cut_levels, divide_people
from deniable.domain import Coarse, Range, Unlisted
from deniable.errors import InvalidParameter
from deniable.mechanisms import Mechanism, linear
from deniable.plan.attribute import Attribute
from deniable.ranges import Tree, plan_tree
from deniable.ranges.tree import MOST_FANOUT

LONG = 4096
"""A range with so many values has levels unless its study says otherwise."""


@final
@dataclass(frozen=True)
class Leveled:
    """How a question is reported in levels."""

    divisors: tuple[int, ...]
    """Into groups of how many values each level divides the answers, but for the question's own."""
    weights: tuple[int, ...]
    """How often each level is drawn, the question's own last."""
    build: Callable[[float], Sequence[Mechanism]] = field(compare=False)
    """Makes the mechanism of each level, the question's own last; each loses at most this epsilon."""

    def divide(self, attribute: Attribute) -> list[Attribute]:
        """The levels of a question, from the coarsest to its own values."""
        base = attribute.domain.plain
        domains = [Coarse(attribute.name, base, divisor) for divisor in self.divisors]
        coarse = [Attribute(domain.name, domain, attribute.missing) for domain in domains]
        return [*coarse, replace(attribute, domain=base)]


def _cut_text(domain: Unlisted) -> Leveled:
    """Values that nobody listed: some people report prefixes, of which longer and longer ones are found.

    The final group, the question itself, has all bits. It extends the last prefixes, and decides. Where all
    codes can be counted, everybody is in it.
    """
    cuts = cut_levels(domain.bits) if domain.levels else ()
    bits = (*cuts, domain.bits)
    return Leveled(
        divisors=tuple(1 << (domain.bits - cut) for cut in cuts),
        weights=divide_people(bits, domain) if cuts else (1,),
        build=lambda epsilon: [linear(number, epsilon) for number in bits],
    )


def find_leveled(domain: object, name: str, obstacle: str) -> Leveled | None:
    """How a question is reported in levels, if it is.

    `obstacle` says what a study has that does not go with levels. It is an error where these are asked for;
    else the question is asked without.
    """
    if isinstance(domain, Unlisted):
        if obstacle:
            raise InvalidParameter(
                f"{name!r} is text or a code that nobody listed, which does not go with {obstacle}"
            )
        return _cut_text(domain)
    if not isinstance(domain, Range):
        return None
    wants_ranges = domain.queries == "ranges"
    if domain.privacy == "metric":
        if wants_ranges:
            raise InvalidParameter(
                f"{name!r}: queries = 'ranges' is for values that are all equally indistinguishable; leave "
                "it out for metric ones, whose noise falls with the distance"
            )
        return None
    if wants_ranges and obstacle:
        raise InvalidParameter(f"{name!r}: queries = 'ranges' does not go with {obstacle}")
    if obstacle or domain.queries == "values" or not (wants_ranges or domain.k >= LONG):
        return None
    tree = Tree(domain.k)  # any range of values is a sum of few of its nodes
    if tree.levels == 1:
        return None
    return Leveled(tree.divisors[:-1], (1,) * tree.levels, partial(plan_tree, domain.k))


def divide_levels(
    attributes: Mapping[str, Attribute], leveled: Mapping[str, Leveled]
) -> dict[str, Attribute]:
    """Attributes by name, with those of the levels in the place of their questions."""
    divided: dict[str, Attribute] = {}
    for name, attribute in attributes.items():
        for level in leveled[name].divide(attribute) if name in leveled else [attribute]:
            if level.name in divided or (level.name in attributes and level.name != name):
                raise InvalidParameter(f"two attributes would be called {level.name!r}; rename one of them")
            divided[level.name] = level
    return divided


def list_references(attributes: Iterable[Attribute]) -> list[str]:
    """What is to be cited for levels: ranges by least squares."""
    domains = [attribute.domain for attribute in attributes if isinstance(attribute.domain, Coarse)]
    return ["cormode2019"] if any(isinstance(domain.base, Range) for domain in domains) else []


def find_divisor(attribute: Attribute) -> int:
    """How many values of its question a value of a level holds."""
    return attribute.domain.divisor if isinstance(attribute.domain, Coarse) else 1


def check_combined(levels: Mapping[str, Sequence[Attribute]]) -> None:
    """Refuse levels of a question, the coarsest first, of which nothing could be read after a collection."""
    for name, attributes in levels.items():
        domain = attributes[-1].domain.plain
        if isinstance(domain, Range):
            find_tree(domain, attributes)
            continue
        assert isinstance(domain, Unlisted)
        bits = [0, *(domain.bits - find_divisor(level).bit_length() + 1 for level in attributes)]
        if any(longer - shorter > WHOLE for shorter, longer in pairwise(bits)):
            raise InvalidParameter(
                f"{name!r}: a search adds {WHOLE} bits at a time at most, and its levels have {bits[1:]}",
                "tables",
            )


def find_tree(domain: Range, levels: Sequence[Attribute]) -> Tree:
    """The tree whose levels these are, the coarsest first; refused where they are of no tree."""
    divisors = [find_divisor(level) for level in levels]
    fanout = divisors[-2]
    if fanout > MOST_FANOUT or list(Tree(domain.k, fanout).divisors) != divisors:
        raise InvalidParameter(
            "levels are combined where each divides the groups of the one above into as many, got "
            f"{divisors}",
            "tables",
        )
    return Tree(domain.k, fanout)
