"""A table of people as the numbers that reports are compared with."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.attack.likelihoods import cells_of
from deniable.domain import NO_ANSWER
from deniable.errors import DeniableError, DeniableWarning, InvalidParameter, InvalidValue, not_among
from deniable.mechanisms import integers
from deniable.metric import Averaged
from deniable.plan import Plan
from deniable.tables import DEGREES, column_names, columns_of, split_places

_NEAR = 0.75
"""How alike a column's and an attribute's names are, by difflib, for the one to be taken for a slip of the
other.
"""


@final
@dataclass(frozen=True, eq=False)
class Background:
    """A table of people that reports are matched with, by number."""

    names: Sequence[str]
    """The attributes that it has."""
    columns: Array
    """Their values by number, a column per record: a row per attribute, or several where surveys number its
    values apart.
    """
    own: Integers
    """Which record is whose: one for each person who reported."""
    asked: Sequence[Sequence[int]] | None = None
    """For each survey, the row of each of its attributes (-1: none); unless given, all of them go by the
    order of the names.
    """

    @property
    def records(self) -> int:
        """How many people are in it."""
        return int(self.columns.shape[1])

    def rows(self, survey: int, names: Sequence[str]) -> Sequence[int]:
        """Where the attributes of a survey are; -1 where they are not."""
        if self.asked is not None:
            return self.asked[survey]
        return [self.names.index(name) if name in self.names else -1 for name in names]


def checked_numbers(what: str, given: npt.ArrayLike, size: int) -> Integers:
    """Integers from 0 to size - 1."""
    try:
        numbers = integers(given, size)
    except DeniableError as problem:
        raise InvalidParameter(f"{what}: {str(problem).split(';')[0]}") from None
    wrong = numbers[(numbers < 0) | (numbers >= size)]
    if wrong.size:
        raise InvalidParameter(f"{what}, each from 0 to {size - 1}, got {wrong[0]}")
    return numbers.astype(np.int64)


def checked_truth(truth: npt.ArrayLike, n: int, names: Sequence[str]) -> Integers:
    """The attribute of each of n reports, by number or by name."""
    what = f"truth is the attribute of each of {n} reports"
    try:
        given = np.asarray(truth)
    except ValueError:
        raise InvalidParameter(f"{what}, in one list, got rows of different lengths") from None
    if given.dtype.kind == "U":
        truth = [_numbered(name, names) for name in given.ravel().tolist()]
    true = checked_numbers(what, truth, len(names))
    if true.size != n:
        raise InvalidParameter(f"{what}, got {true.size} numbers")
    return true


def _numbered(name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise InvalidParameter(not_among(name, "an attribute", names))
    return names.index(name)


def coded_background(plans: Sequence[Plan], background: object) -> tuple[list[str], Array, list[list[int]]]:
    """The attributes that the background has, its values by number, and for each plan the rows of its
    attributes (-1: none).

    A place may have two columns, as wherever people are read. Plans may number the values of an attribute
    differently, by other labels or steps: then it has a row for each way.
    """
    asked = list(dict.fromkeys(name for plan in plans for name in plan.names))
    places = {name for plan in plans for name in plan.places}
    there = column_names(background)
    names = _present(asked, there, places)
    for slip in misspelt(asked, there, places):
        warnings.warn(slip, DeniableWarning, stacklevel=3)  # whoever called reidentify
    if not names:
        raise InvalidParameter(f"the background has none of the attributes asked for: {', '.join(asked)}")
    answers = dict(zip(names, columns_of(background, names, places), strict=True))
    coded: dict[object, Integers] = {}
    rows = []
    for plan in plans:
        rows.append([-1] * len(plan.names))
        for j, (one, part) in enumerate(zip(plan.content.attributes, plan.content.parts, strict=True)):
            if one.name in answers:
                way = one, isinstance(part, Averaged), plan.content.missing == "value"
                if way not in coded:
                    coded[way] = _numbers_of(plan, j, answers[one.name])
                rows[-1][j] = list(coded).index(way)
    columns = np.stack(list(coded.values()))
    if not columns.size:
        raise InvalidParameter("the background has no rows; give a table with a record per row")
    return names, compact(columns), rows


def _numbers_of(plan: Plan, j: int, answers: object) -> Integers:
    """The answers to an attribute as the values that its reports are compared with."""
    one, part = plan.content.attributes[j], plan.content.parts[j]
    codes = one.domain.codes(answers, one.name)
    if (codes == NO_ANSWER).any():
        if plan.content.missing != "value":
            raise InvalidValue(
                f"the background has no {one.name!r} in some rows; fill them in, or leave the column out"
            )
        codes = np.where(codes == NO_ANSWER, one.domain.k, codes)
    return cells_of(part, codes)


def misspelt(
    asked: Sequence[str], there: Sequence[str], places: Container[str], where: str = "the background"
) -> list[str]:
    """What looks like a slip among the columns that nothing asks for: they are left out, and one that was
    meant to count would make the risk look smaller.

    A column may as well be another thing, so that this is to warn of. What differs in case and marks only is
    refused.
    """
    names = _present(asked, there, places)
    used = {column for name in names for column in split_places([name], there, places, where)}
    absent = [column for name in asked if name not in names for column in _columns_for(name, places)]
    plain = {_plain(name): name for name in absent if _plain(name)}
    found = []
    for column in there:
        given = _plain(column)
        if column in used:
            continue
        if given in plain:
            raise InvalidValue(
                f"{where} has a column {column!r}, and none {plain[given]!r}, which is asked for; rename it, "
                "or leave it out of the table"
            )
        alike = [
            name for name in plain if _digits(name) == _digits(given)
        ]  # question 1 is no slip of question 2
        near = difflib.get_close_matches(given, alike, n=1, cutoff=_NEAR)
        if near:
            found.append(
                f"the column {column!r} of {where} is left out: it is not an attribute that is asked for; "
                f"did you mean {plain[near[0]]!r}?"
            )
    return found


def _present(asked: Sequence[str], there: Sequence[str], places: Container[str]) -> list[str]:
    """Those that have a column, or the two of a place."""
    return [name for name in asked if any(one in there for one in split_places([name], there, places))]


def _columns_for(name: str, places: Container[str]) -> list[str]:
    """What the columns of an attribute may be called."""
    return [name, *(f"{name}.{degrees}" for degrees in DEGREES)] if name in places else [name]


def _plain(name: object) -> str:
    return "".join(letter for letter in str(name).casefold() if letter.isalnum())


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def compact(columns: Array) -> Array:
    """The smallest numbers that hold the values: a background is read again for every target."""
    return np.ascontiguousarray(columns, dtype=np.uint8 if columns.max(initial=0) < 256 else np.uint32)
