"""Finds how many people a study needs, and how many each part of it would need if it were asked alone.

Where one question of a study is sampled, needs are additive. If question i alone is useful with N_i people
and is drawn with chance c_i, the study takes the largest N_i / c_i people; with chances in proportion to
needs, it takes the sum of the N_i. So sets of changes can be counted without a plan of each. What is
proposed is always planned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple, final, get_args

from deniable.advise.changes import Asked, Planned, S, keep_questions
from deniable.choose import Precision, Use
from deniable.domain import Categories, Range
from deniable.domain.number import Number
from deniable.domain.view import name_product
from deniable.errors import InvalidParameter, not_among
from deniable.explain.table_precision import expect_tables
from deniable.plan.attribute import Attribute

_PARTED = " by "  # of the name of a table
_MOST_POINTS = 100.0
_FEW_BINS = 20  # of a range whose groups do not depend on where it begins
_ROW = "row share"
COMMON = "question"
"""What a question is called whose needs are those of all that are like it."""

Pair = frozenset[str]
WANTED: tuple[Use, ...] = ("useful", "clear", "rough")


@final
@dataclass(frozen=True)
class Wants:
    """How well everything must be known: by a word, and some questions and tables otherwise."""

    use: Use = "useful"
    questions: tuple[tuple[str, Use | float], ...] = ()
    tables: tuple[tuple[Pair, Use | float], ...] = ()
    """All tables that will be read, by their two questions."""

    @staticmethod
    def read(want: object, study: Asked) -> Wants:
        """What is wanted of a study: "useful", "clear" or "rough", or that or points by name."""
        pairs = dict.fromkeys(list_pairs(study))
        if isinstance(want, str):
            use = _read_use(want, "want")
            return Wants(use, (), tuple((pair, use) for pair in pairs))
        if not isinstance(want, Mapping):
            raise InvalidParameter(
                "want is 'useful', 'clear' or 'rough', or that by question or table, or points either way "
                f"such as {{'harassed by sex': 10}}; got {want!r}"
            )
        questions, tables = {}, dict.fromkeys(pairs, _read_limit("useful", "want"))
        for name, limit in want.items():
            table = find_pair(str(name), study)
            pair = None if table is None else frozenset(table)
            if pair is None and name not in study.attributes:
                raise InvalidParameter(
                    not_among(str(name), "a question, or a table such as 'a by b'", study.attributes)
                )
            if pair is None and name in study.known:
                raise InvalidParameter(
                    f"{name!r} is known, so that its shares are exact; leave it out of want"
                )
            if pair is None:
                questions[str(name)] = _read_limit(limit, f"want of {name!r}")
            else:
                tables[pair] = _read_limit(limit, f"want of {name!r}")
        return Wants("useful", tuple(questions.items()), tuple(tables.items()))

    @property
    def pairs(self) -> list[Pair]:
        """The two questions of each table that will be read."""
        return [pair for pair, _ in self.tables]

    def among(self, names: Sequence[str]) -> Wants:
        """What is wanted of these questions."""
        return replace(
            self,
            questions=tuple((name, limit) for name, limit in self.questions if name in names),
            tables=tuple((pair, limit) for pair, limit in self.tables if pair <= set(names)),
        )

    def find_margin(self, precision: Precision, attribute: Attribute, pair: Pair | None) -> float:
        """The margin that something must have, in shares or in parts of its range."""
        limit: Use | float = self.use
        if pair is not None:
            limit = dict(self.tables).get(pair, self.use)
        else:
            for name, stated in self.questions:
                if name in (attribute.name, *attribute.questions):
                    limit = stated
        return precision.margin_for(limit) if isinstance(limit, str) else limit


def _read_use(want: str, what: str) -> Use:
    for use in get_args(Use):
        if want == use and use in WANTED:
            return use  # type: ignore[no-any-return]
    raise InvalidParameter(f"{what}: {not_among(want, 'how well answers can be known', WANTED)}")


def _read_limit(limit: object, what: str) -> Use | float:
    if isinstance(limit, str):
        return _read_use(limit, what)
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < _MOST_POINTS:
        raise InvalidParameter(
            f"{what} is 'useful', 'clear' or 'rough', or points either way, above 0 and below 100, such as "
            f"10; got {limit!r}"
        )
    return limit / _MOST_POINTS


def find_pair(name: str, study: Asked) -> tuple[str, str] | None:
    """The two questions of a table that is called as in "harassed by sex"; None where it is none."""
    if name in study.attributes:
        return None
    for place in range(len(name)):
        if name.startswith(_PARTED, place):
            of, by = name[:place], name[place + len(_PARTED) :]
            if of in study.attributes and by in study.attributes and of != by:
                return of, by
    return None


def list_pairs(study: Asked) -> list[Pair]:
    """The pairs of questions whose tables a study asks for."""
    if study.target is not None:
        return [frozenset((study.target, name)) for name in study.attributes if name != study.target]
    return list(dict.fromkeys(frozenset(pair) for table in study.together for pair in combinations(table, 2)))


class Read(NamedTuple):
    """Something that will be read of an attribute of a plan, and the margin that it must have."""

    attribute: int
    name: str
    precision: Precision
    margin: float

    @property
    def people(self) -> float:
        """How many people it takes; infinitely many where no number is enough."""
        return self.precision.people_needed(self.margin) or math.inf

    @property
    def is_enough(self) -> bool:
        """Whether the people of the plan are enough."""
        return self.people <= self.precision.people


def list_read(plan: Planned, wants: Wants) -> list[Read]:
    """Everything that will be read of a plan: of each question, and of each table that is wanted."""
    document, pairs = plan.document, dict.fromkeys(wants.pairs)
    places = {name: j for j, name in enumerate(document.names)}
    read = []
    for precision in plan.precisions():
        j = places[precision.attribute]
        attribute, pair = document.attributes[j], None
        name = attribute.several or precision.attribute
        if precision.what == _ROW:
            by, of = attribute.columns
            pair, name = frozenset((by, of)), f"{of}{_PARTED}{by}"
            pairs.pop(pair, None)
        if precision.what != "cell":
            read.append(Read(j, name, precision, wants.find_margin(precision, attribute, pair)))
    names = {name for attribute in document.attributes for name in attribute.columns} | set(
        document.known_names
    )
    if any(pair <= names and not pair <= set(document.known_names) for pair in pairs):
        for table in expect_tables(document):
            pair = frozenset((table.of, table.by))
            if pair in pairs:
                j = _find_holder(document.attributes, pair - set(document.known_names))
                margin = wants.find_margin(table.share, document.attributes[j], pair)
                read.append(Read(j, table.share.attribute, table.share, margin))
    return read


def _find_holder(attributes: Sequence[Attribute], names: Pair) -> int:
    """The attribute that has answers to these questions, the one with the fewest."""
    holders = [j for j, attribute in enumerate(attributes) if names <= set(attribute.columns)]
    return min(holders, key=lambda j: attributes[j].domain.k)


def count_people(plan: Planned, wants: Wants) -> float:
    """How many people a plan takes until everything that will be read is as it is wanted."""
    return max((read.people for read in list_read(plan, wants)), default=1)


class Need(NamedTuple):
    """What a question or a table, asked alone, takes."""

    keys: tuple[str, ...]
    """Under which names its importance is given."""
    draws: int
    """How many attributes it has, each of which is drawn as often as another question."""
    people: float
    is_apart: bool
    """Whether it has an epsilon of its own, so that everybody reports it."""


def list_needs(plan: Planned, wants: Wants) -> list[Need]:
    """What every question and table of a plan would need if it were asked alone."""
    document = plan.document
    needs: dict[tuple[str, ...], Need] = {}
    people = [0.0] * len(document.attributes)
    for read in list_read(plan, wants):
        people[read.attribute] = max(people[read.attribute], read.people)
    groups: dict[tuple[str, ...], list[int]] = {}
    for j, attribute in enumerate(document.attributes):
        groups.setdefault(attribute.questions, []).append(j)
    for questions, places in groups.items():
        chance = min(1.0, sum(float(document.mechanism.chance(j)) for j in places))
        needs[questions] = Need(
            _list_keys(questions),
            1 if questions[0] in document.levels else len(places),
            max(people[j] for j in places) * chance,
            all(document.parts[j].metric for j in places),
        )
    return list(needs.values())


def _list_keys(questions: Sequence[str]) -> tuple[str, ...]:
    if len(questions) == 1:
        return tuple(questions)
    return tuple(name_product(pair) for pair in combinations(questions, 2))


def weigh(needs: Sequence[Need], tables: Sequence[Sequence[str]]) -> dict[str, float]:
    """The importance of questions and of tables in proportion to what each draw of them needs."""
    called = {frozenset(pair): name_product(pair) for table in tables for pair in combinations(table, 2)}
    shares: dict[str, float] = {}
    for need in needs:
        if need.is_apart or not need.people or math.isinf(need.people):
            continue
        for key in need.keys:
            name = called.get(frozenset(key.split(" x ")), key)
            shares[name] = max(shares.get(name, 0.0), need.people / need.draws)
    if len(shares) < 2:
        return {}
    least, most = min(shares.values()), max(shares.values())
    scale = max(least, most / 1000)
    return {name: float(f"{share / scale:.3g}") for name, share in shares.items()}


@final
@dataclass(frozen=True)
class Part:
    """Questions of a study that need people together: a question, or those of connected tables."""

    names: tuple[str, ...]
    study: Any
    """The study of these questions alone, and of what is known of them."""
    wants: Wants


def list_parts(study: Asked, wants: Wants) -> list[Part]:
    """The parts of a study, which depend on each other by tables and by conditions."""
    linked: dict[str, set[str]] = {name: {name} for name in study.attributes if name not in study.known}
    edges = [tuple(pair) for pair in wants.pairs]
    edges += [(child, parent) for child, condition in study.only_if.items() for parent in condition]
    for first, second in edges:
        if first in linked and second in linked:
            joined = linked[first] | linked[second]
            linked |= dict.fromkeys(joined, joined)
    groups = dict.fromkeys(
        tuple(name for name in study.attributes if name in group) for group in linked.values()
    )
    return [_make_part(study, names, wants) for names in groups]


def _make_part(study: S, names: tuple[str, ...], wants: Wants) -> Part:
    known = [name for name in study.known if any(name in pair and pair & set(names) for pair in wants.pairs)]
    alone = keep_questions(study, [*names, *known])
    alone = replace(alone, title="", survey=None, maps={}, importance={})
    wants = wants.among([*names, *known])
    if len(names) > 1 or known:
        return Part(names, alone, wants)
    return Part(names, *_rename(alone, names[0], wants))


def _rename(study: S, name: str, wants: Wants) -> tuple[S, Wants]:
    """The study of a question under a common name and labels, so that like questions are planned once."""
    question = study.attributes[name]
    if isinstance(question, Categories):
        question = Categories(map(str, range(question.k)))
    elif isinstance(question, Number):
        question = Number(0, 1, question.open_low, question.open_high)
    elif isinstance(question, Range) and _is_common(question):
        question = Range(0, question.k, 1, question.open_low, question.open_high)

    def rename(stated: Any) -> Any:
        return {COMMON: stated[name]} if isinstance(stated, Mapping) and name in stated else stated

    fields = {key: rename(getattr(study, key)) for key in ("missing", "protocol", "answered")}
    renamed = replace(study, attributes={COMMON: question}, **fields)
    return renamed, replace(wants, questions=tuple((COMMON, limit) for _, limit in wants.questions))


def _is_common(question: Range) -> bool:
    """Whether what is read of a range does not depend on where it begins."""
    is_plain = question.privacy == "equal" and question.queries is None
    return is_plain and question.unit in ("", "whole") and question.k <= _FEW_BINS


@lru_cache(maxsize=1 << 12)
def measure(study: Any, wants: Wants, people: int) -> tuple[Need, ...]:
    """What the questions of a small study need; those that are like others are planned once."""
    return tuple(list_needs(study.plan(people), wants))
