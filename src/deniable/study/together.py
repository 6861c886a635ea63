"""Makes one attribute of questions whose answers are wanted together, so that tables of them can be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from deniable.choose import Alone, Wanted, choose_views
from deniable.domain import Product, Range
from deniable.domain.number import Number
from deniable.errors import InvalidParameter, not_among
from deniable.plan.attribute import Attribute
from deniable.study.importance import list_pairs, weigh_attribute, weigh_pairs
from deniable.study.questionnaire import list_extras

Together = tuple[tuple[str, ...], ...]


def read_together(together: object, questions: Sequence[str]) -> Together:
    """The questions that are wanted together: pairs, or more of which every pair is wanted."""
    if isinstance(together, str) or not isinstance(together, Sequence):
        raise InvalidParameter(_explain(together))
    tables = []
    for table in together:
        if isinstance(table, str) or not isinstance(table, Sequence) or len(table) < 2:
            raise InvalidParameter(_explain(together))
        for name in table:
            if name not in questions:
                raise InvalidParameter(
                    "together: " + not_among(str(name), "a question of this study", questions)
                )
        if len(set(table)) < len(table):
            raise InvalidParameter(f"together: {list(table)} names a question twice")
        tables.append(tuple(table))
    return tuple(tables)


def read_target(
    target: object, together: Sequence[Sequence[str]], known: Sequence[str], questions: Sequence[str]
) -> Sequence[Sequence[str]]:
    """What is asked together: the pairs of a target with each other question, where one is named."""
    if target is None:
        return together
    if target not in questions:
        raise InvalidParameter(not_among(str(target), "a question that can be the target", questions))
    if together:
        raise InvalidParameter("a target has its own tables: give target or together, not both")
    if known:
        raise InvalidParameter(f"people are not simulated with known groups ({known[0]!r}); leave out target")
    if len(questions) < 2:
        raise InvalidParameter("a target needs other questions beside it, got none")
    return tuple((str(target), name) for name in questions if name != target)


def _explain(together: object) -> str:
    return f'together is a list of pairs of questions, such as [["age", "smoker"]], got {together!r}'


def join_attributes(
    attributes: Mapping[str, Attribute],
    together: Sequence[Sequence[str]],
    views: Wanted,
    importance: Mapping[str, float],
    whole: bool = False,
) -> dict[str, Attribute]:
    """Joins attributes that are wanted together into tables, by which these err least, or into just those
    that are wanted, if they are wanted `whole`; leaves the others.

    `views` has what is asked of all of them.
    """
    pairs = list_pairs(together)
    names_in_tables = list(dict.fromkeys(name for pair in pairs for name in pair))
    for name in names_in_tables:
        _refuse_unfit(name, attributes)
    ordered = [name for name in attributes if name in names_in_tables]
    # a question that others depend on is asked by itself, too: its answer decides what applies
    parents = {attribute.only_if.name for attribute in attributes.values() if attribute.only_if is not None}
    by_itself = [name for name in attributes if name not in names_in_tables or name in parents]
    alone = {name: attributes[name] for name in by_itself}
    weights = weigh_pairs(together, importance)
    views = replace(
        views,
        sizes=tuple(attributes[name].domain.k for name in ordered),
        pairs=tuple((ordered.index(attribute), ordered.index(other)) for attribute, other in pairs),
        weights=tuple(weights[frozenset(pair)] for pair in pairs),
        alone=tuple(_stand_alone(attribute, importance) for attribute in alone.values()),
        beside=tuple(len(list_extras(attributes[name])) for name in ordered),
    )
    # a table is called as it was asked for
    pairs_by_names = {frozenset(pair): pair for pair in pairs}
    tables: Iterable[Sequence[str]] = together
    if not whole:
        chosen = (tuple(ordered[j] for j in table) for table in choose_views(views).tables)
        tables = (pairs_by_names.get(frozenset(names), names) for names in chosen)
    joined: dict[str, Attribute] = {}
    for names in tables:
        attribute = _join([attributes[name] for name in names])
        if attribute.name in attributes:
            raise InvalidParameter(f"two attributes would be called {attribute.name!r}; rename one of them")
        joined[attribute.name] = attribute
    return joined | alone


def _stand_alone(attribute: Attribute, importance: Mapping[str, float]) -> Alone:
    """What a question takes that is asked by itself; the mean of a number is known about as well as a share
    of two.
    """
    k = 2 if isinstance(attribute.domain, Number) else attribute.domain.k + len(list_extras(attribute))
    return Alone(k, weigh_attribute(attribute, importance))


def _refuse_unfit(name: str, attributes: Mapping[str, Attribute]) -> None:
    """Refuse what no table can hold."""
    attribute = attributes.get(name)
    if attribute is None:
        raise InvalidParameter(
            f"{name!r} asks for all that apply, so that it is no column of a table; ask a yes/no question "
            "for each option that is wanted in one. By known groups, every option has a table"
        )
    if attribute.only_if is not None:
        raise InvalidParameter(
            f"{name!r} cannot be in a table, since it applies only to some; ask it of everybody, with an "
            "answer for those to whom it does not apply. By known groups, it has a table of those to whom it "
            "applies"
        )
    if isinstance(attribute.domain, Range) and attribute.domain.queries == "ranges":
        raise InvalidParameter(
            f"{name!r} cannot be in a table, since queries = 'ranges' asks for levels, which are no cells of "
            "one; give it fewer values, by a larger step, and queries = 'values', or ask for it by itself"
        )


def _join(members: Sequence[Attribute]) -> Attribute:
    domain = Product([(attribute.name, attribute.domain) for attribute in members])
    policies = {attribute.missing for attribute in members}
    if len(policies) > 1:
        names = " and ".join(repr(attribute.name) for attribute in members)
        raise InvalidParameter(
            f"{names} are asked together, so that a missing answer must mean the same for all of "
            "them; give them the same missing"
        )
    return Attribute(domain.name, domain, policies.pop())
