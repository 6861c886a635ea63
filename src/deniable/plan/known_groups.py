"""Holds the questions whose answers the collector knows anyway: each report names them as they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from deniable.arrays import Integers
from deniable.domain import NO_ANSWER, Categories, Domain, Range, checked_text
from deniable.domain.view import join_labels, name_product
from deniable.errors import InvalidParameter, InvalidValue, not_among
from deniable.mechanisms import Tally
from deniable.plan.attribute import Attribute
from deniable.records import Records

MOST_GROUPS = 256
"""A byte of each report names the group."""


@final
@dataclass(frozen=True)
class Known:
    """Questions whose answers put each person in a group that the collector knows anyway.

    >>> known = Known((("arm", Categories(["A", "B"])),))
    >>> known.name, known.labels, known.codes({"arm": ["B", "A"]}).tolist()
    ('arm', ('A', 'B'), [1, 0])
    """

    factors: tuple[tuple[str, Domain], ...]

    def __post_init__(self) -> None:
        names = list(self.names)
        if not names or len(set(names)) < len(names):
            raise InvalidParameter(f"known questions are one or more different ones, got {names}", "known")
        for name, domain in self.factors:
            checked_text(name, "a question's name")
            if not isinstance(domain, Categories | Range) or domain.privacy == "metric":
                raise InvalidParameter(
                    f"{name!r} cannot be known: groups are a list of values, or a range without distances",
                    "known",
                )
        if self.size > MOST_GROUPS:
            raise InvalidParameter(
                f"there are at most {MOST_GROUPS} known groups, and {self.name} has {self.size:,}; ask for "
                "fewer values, or make fewer questions known",
                "known",
            )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.factors)

    @property
    def name(self) -> str:
        """What the group is called in reports."""
        return name_product(self.names)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(domain.k for _, domain in self.factors)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The groups, the last question's answers changing first."""
        return join_labels(self.factors)

    def codes(self, columns: Mapping[str, Any]) -> Integers:
        """The group of each person, from a column for each question; everybody is in one."""
        all_codes = []
        for name, domain in self.factors:
            codes = domain.codes(columns[name], name)
            if (codes == NO_ANSWER).any():
                row = f"row {int(np.argmax(codes == NO_ANSWER))}, counting from 0: " if codes.size > 1 else ""
                raise InvalidValue(
                    f"{row}{name!r} has no answer, and it is known: it names a person's group, one of "
                    f"{', '.join(domain.labels[:10])}"
                )
            all_codes.append(codes)
        return np.asarray(np.ravel_multi_index(all_codes, self.shape), dtype=np.int64)

    def describe(self) -> str:
        """What is known, in words that follow "known and sent as it is:".

        >>> Known((("arm", Categories(["A", "B"])),)).describe()
        "'arm' (2 values)"
        """
        return " and ".join(f"{name!r} ({domain.k} values)" for name, domain in self.factors)

    def split(self, records: Records) -> Iterator[Records]:
        assert records.groups is not None
        for group in range(self.size):
            inside = records.groups == group
            if records.reporters is None:
                columns = tuple(column[inside] for column in records.columns)
                yield Records(int(inside.sum()), columns)
                continue
            pairs = zip(records.columns, records.reporters, strict=True)
            columns = tuple(column[inside[who]] for column, who in pairs)
            yield Records(int(inside.sum()), columns, tuple(np.zeros(0, dtype=np.int64) for _ in columns))


def check_known(known: Known, attributes: Sequence[Attribute]) -> None:
    """Refuse a known question that is asked secretly, too."""
    taken = {name for attribute in attributes for name in (attribute.name, *attribute.questions)}
    for name in (*known.names, known.name):
        if name in taken:
            raise InvalidParameter(
                f"{name!r} is known and sent as it is, so that it cannot be asked secretly, too; call one of "
                "them otherwise",
                "known",
            )


def add_groups(groups: Sequence[Mapping[str, Tally]]) -> dict[str, Tally]:
    """The tallies of everybody."""
    first, *rest = groups
    return {name: sum((group[name] for group in rest), tally) for name, tally in first.items()}


def read_known(names: object, questions: Mapping[str, object]) -> tuple[str, ...]:
    """The names of known questions of a study, at least one other of which is asked."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InvalidParameter(f'known is a list of questions, such as ["arm"], got {names!r}')
    for name in names:
        if not isinstance(name, str):
            raise InvalidParameter(
                f'known is a list of questions, such as ["arm"], got {name!r} among them; name each of them'
            )
        if name not in questions:
            raise InvalidParameter(not_among(name, "a question that can be known", questions))
        if not isinstance(questions[name], Domain):
            raise InvalidParameter(f"{name!r} cannot be known: a person is in one group only")
    if len(set(names)) < len(names):
        raise InvalidParameter(f"known names a question twice: {list(names)}")
    if len(names) == len(questions):
        raise InvalidParameter("all questions are known, so that there is nothing to ask")
    return tuple(names)
