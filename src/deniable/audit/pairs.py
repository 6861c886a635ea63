"""Makes pairs of people to compare: those that are given, and those that have a name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from deniable.audit.devices import Answers, Side
from deniable.audit.guessers import couples
from deniable.domain import Code, Domain, Range, Text, View
from deniable.domain.grid import Grid
from deniable.domain.number import Number
from deniable.errors import InvalidParameter
from deniable.frames import column_names, columns_of, is_table
from deniable.mechanisms.base import Per
from deniable.metric import MetricMechanism
from deniable.plan import Attribute
from deniable.plan.document import PlanDocument
from deniable.reports import settle_record
from deniable.study import Plan

Pair = tuple[Side, Side]
Named = Literal["ends", "every"]
"""Pairs by name: the first values of all attributes against the last; or every value against the next. Of
metric attributes also neighbors, alone: of some values, or of every value; and all others, alone.
"""

VALUE = "value"
"""What the only answer is called where no plan names it."""

_MOST_COUPLES = 64  # couples of attributes that differ, at most
_IN_LINE = 64  # people that are compared at once, at most
_INNER = 4  # steps from the lowest number to the highest
_DEGREE = 112_000  # meters, at most
_Records = list[tuple[Answers, Answers]]


def make_named_pairs(plan: Plan | None, name: str, per: Per, rounds: int) -> tuple[Pair, ...]:
    """Pairs by name, each with the same answers in all rounds."""
    if name not in ("ends", "every"):
        raise InvalidParameter(f"pairs are 'ends', 'every' or a list of two records each, got {name!r}")
    if plan is None:
        raise InvalidParameter(
            "without a plan, say which answers are compared: pairs=[({'color': 'red'}, {'color': 'blue'})], "
            f"or pairs=[('red', 'blue')] for the only answer, called {VALUE!r}"
        )
    document = plan.document
    values = _list_answers(document)
    first, last = ({name: listed[end] for name, listed in values.items()} for end in (0, -1))
    far = metric_parts(plan)
    alike = {name: listed for name, listed in values.items() if name not in far}
    records: _Records = (
        [(first, last)] if per == "record" else [(first, first | {name: last[name]}) for name in values]
    )
    if (
        far and alike and per == "record"
    ):  # else only the worst case would be claimed of any pair that differs in these
        records.append((first, first | {name: last[name] for name in alike}))
    if name == "every":
        records = [*(records if far else []), *_each_with_the_next(first, alike, per)]
    for name_, part in far.items():
        steps = part.neighbors() if name == "every" else part.some_neighbors()
        listed = values[name_]
        records += [
            (first | {name_: listed[before]}, first | {name_: listed[after]}) for before, after in steps
        ]
    settled = [(settle_record(document, before), settle_record(document, after)) for before, after in records]
    if per == "attribute":  # where one answer decides what applies, several change at once
        settled = [pair for pair in settled if _differ_in_one(document, *pair)]
    return tuple(((before,) * rounds, (after,) * rounds) for before, after in settled)


def list_names(document: PlanDocument) -> tuple[str, ...]:
    """Under which names a record has answers: those of attributes, and of the questions that views have."""
    return tuple(dict.fromkeys(name for attribute in document.attributes for name in attribute.columns))


def _list_answers(document: PlanDocument) -> dict[str, list[object]]:
    """Answers for each value, by the name under which they are given."""
    answers: dict[str, list[object]] = {}
    for attribute in document.attributes:
        no_answer = document.missing_of(attribute) == "value"
        factors = (
            attribute.domain.factors
            if isinstance(attribute.domain, View)
            else ((attribute.name, attribute.domain),)
        )
        for name, domain in factors:
            answers.setdefault(name, _answers(domain, no_answer))
    return answers


def find_changed(document: PlanDocument, first: Answers, second: Answers) -> list[bool]:
    """Which attributes differ between two records."""
    return [
        any(first.get(name) != second.get(name) for name in attribute.columns)
        for attribute in document.attributes
    ]


def _differ_in_one(document: PlanDocument, first: Answers, second: Answers) -> bool:
    """Whether two records differ in one attribute only; the levels of a question are one."""
    changed = zip(document.attributes, find_changed(document, first, second), strict=True)
    names = {
        attribute.columns if attribute.domain.is_level else (attribute.name,)
        for attribute, differs in changed
        if differs
    }
    return len(names) == 1


def make_partial_pairs(plan: Plan, rounds: int) -> tuple[Pair, ...]:
    """Pairs of records that differ in one attribute, or in two, and agree in all others.

    Records that differ everywhere do not show noise that attributes share. Metric attributes differ alone in
    pairs of neighbors. Of many couples, each attribute has as many.
    """
    document = plan.document
    values = _list_answers(document)
    first, last = ({name: listed[end] for name, listed in values.items()} for end in (0, -1))
    far = metric_parts(plan)
    names = [name for name in values if name not in far]
    differ: list[tuple[str, ...]] = [(name,) for name in names]
    differ += [(names[i], names[j]) for i, j in couples(len(names), _MOST_COUPLES)]
    return tuple(
        (
            (settle_record(document, first),) * rounds,
            (settle_record(document, first | {name: last[name] for name in group}),) * rounds,
        )
        for group in differ
        if len(group) < len(names)  # else it is a pair already
    )


def count_couples(plan: Plan) -> tuple[int, int]:
    """How many couples of attributes differ alone in some pair, and how many there are."""
    names = len(list_names(plan.document)) - len(metric_parts(plan))
    return min(_MOST_COUPLES, names * (names - 1) // 2), names * (names - 1) // 2


def make_line_ups(plan: Plan, per: Per, rounds: int) -> tuple[tuple[Side, ...], ...]:
    """People of whom any two are neighbors: per record, as different as they can be; per attribute, those of
    each one.

    Two values are a pair, and no line-up. Metric values, of which different things are claimed, stay
    as they are.
    """
    document = plan.document
    values = _list_answers(document)
    first = {name: listed[0] for name, listed in values.items()}
    far = metric_parts(plan)
    alike = {name: listed for name, listed in values.items() if name not in far}
    groups = [alike] if per == "record" else [{name: listed} for name, listed in alike.items()]
    sizes = [min(_IN_LINE, max(map(len, group.values()), default=0)) for group in groups]
    return tuple(
        tuple(
            (
                settle_record(
                    document,
                    {**first, **{name: _spread(listed, size, i) for name, listed in group.items()}},
                ),
            )
            * rounds
            for i in range(size)
        )
        for size, group in zip(sizes, groups, strict=True)
        if size > 2
    )


def metric_parts(plan: Plan) -> dict[str, MetricMechanism]:
    """The mechanisms of attributes with metric values, by name."""
    rows = zip(plan.names, plan.document.parts, strict=True)
    return {name: part for name, part in rows if isinstance(part, MetricMechanism) and part.metric}


def count_values_asked(plan: Plan, sides: Iterable[Side]) -> dict[str, tuple[int, int]]:
    """For each attribute with a list of values: how many of them some side has, and how many there are.

    No answer is one of them where the plan says so.
    """
    document = plan.document
    by_name = {attribute.name: attribute for attribute in document.attributes}
    values: dict[str, set[str]] = {}
    for side in sides:
        for record in side:
            for name, answer in record.items():
                if name not in by_name:  # of a view, whose values are others
                    continue
                if answer is not None or document.missing_of(by_name[name]) == "value":
                    values.setdefault(name, set()).add(repr(answer))
    sizes = {
        attribute.name: document.size(attribute)
        for attribute in plan.document.attributes
        if _is_listed(attribute)
    }
    return {name: (len(values.get(name, ())), count) for name, count in sizes.items()}


def _is_listed(attribute: Attribute) -> bool:
    return attribute.domain.listed and not isinstance(attribute.domain, Number | View)


def _spread(listed: list[object], size: int, i: int) -> object:
    """The i-th of that many values, all over the list; a shorter list is gone through again and again."""
    return listed[i % len(listed) if len(listed) <= size else i * len(listed) // size]


def _each_with_the_next(first: Answers, values: Mapping[str, list[object]], per: Per) -> _Records:
    """Moves all attributes on at once per record, or one by one; the last value wraps around."""
    if per == "record":
        most = max(map(len, values.values()), default=0)
        moved = [{name: listed[i % len(listed)] for name, listed in values.items()} for i in range(most + 1)]
        return [({**first, **before}, {**first, **after}) for before, after in pairwise(moved)]
    return [
        ({**first, name: value}, {**first, name: listed[(i + 1) % len(listed)]})
        for name, listed in values.items()
        for i, value in enumerate(listed)
    ]


def _answers(domain: Domain, no_answer: bool) -> list[object]:
    """An answer for each value: a label, a number in the middle of a bin, a location in the middle of a cell.

    Numbers that are not in bins, texts and codes are too many: both ends, and some between them.
    """
    answers: list[object]
    if isinstance(domain, Range) and domain.unit:
        answers = list(domain.labels)
    elif isinstance(domain, Range):
        answers = [
            _short(float(low + high) / 2, float(high - low)) for low, high in pairwise(domain.edges.tolist())
        ]
    elif isinstance(domain, Grid):
        width = min(domain.steps) / _DEGREE
        answers = [[_short(degrees, width) for degrees in center] for center in domain.centers.tolist()]
    elif isinstance(domain, Number):
        width = domain.high - domain.low
        answers = [domain.low, *(domain.low + width * i / _INNER for i in range(1, _INNER)), domain.high]
    elif isinstance(domain, Text):
        first, last = domain.letters[0], domain.letters[-1]
        answers = [first, first * domain.longest, domain.letters[: domain.longest], last * domain.longest]
    elif isinstance(domain, Code):
        answers = [0, 1, domain.k // 3, domain.k - 1]
    else:
        answers = list(domain.labels)
    return [*answers, None] if no_answer else answers


def _short(middle: float, width: float) -> float:
    """Without the dust of floats, wherever that is far from the ends."""
    rounded = round(middle, 9)
    return rounded if abs(rounded - middle) < width / 100 else middle


def check_pairs(plan: Plan | None, pairs: Iterable[object], per: Per, rounds: int) -> tuple[Pair, ...]:
    """Pairs that somebody gives, checked; a single one needs no list. In a table of people, each row and the
    next one are a pair.

    Where there is one attribute only, its values are as good as records. With two rounds, a list of two
    tuples is two pairs, and a tuple of two lists is one, with an answer for each round.
    """
    names = (VALUE,) if plan is None else list_names(plan.document)
    if is_table(pairs):
        return _pair_rows(pairs, column_names(pairs) if plan is None else names, plan, per, rounds)
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
        raise InvalidParameter(
            f"pairs are 'ends', 'every', a list of two records each, or a table of people, got {pairs!r}"
        )
    listed = list(pairs)
    by_round = isinstance(pairs, tuple) and all(
        isinstance(entry, list) and len(entry) == rounds > 1 for entry in listed
    )
    if len(listed) == 2 and (by_round or not any(isinstance(entry, list | tuple) for entry in listed)):
        listed = [tuple(listed)]
    if len(listed) > 2 and all(isinstance(entry, Mapping) for entry in listed):
        listed = list(pairwise(listed))
    return tuple(_check_pair(entry, rounds, per, names) for entry in listed)


def _pair_rows(
    table: object, names: Sequence[str], plan: Plan | None, per: Per, rounds: int
) -> tuple[Pair, ...]:
    """Each row of a table and the next one."""
    columns = columns_of(table, names, () if plan is None else plan.locations)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    if len(rows) < 2:
        raise InvalidParameter(
            f"a table of pairs has two rows at least, each compared with the next, got {len(rows)}"
        )
    return tuple(_check_pair(pair, rounds, per, names) for pair in pairwise(rows))


def _check_pair(pair: object, rounds: int, per: Per, names: Sequence[str]) -> Pair:
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise InvalidParameter(
            f"a pair is two records, ({{'color': 'red'}}, {{'color': 'blue'}}), got {pair!r}"
        )
    first, second = (_check_side(side, rounds, names) for side in pair)
    _refuse_alike(first, second, per)
    return first, second


def _check_side(side: object, rounds: int, names: Sequence[str]) -> Side:
    """One record for all rounds, or a list with one for each; of one attribute a value is a record."""
    if isinstance(side, Mapping):
        return (_unwrap_numbers(side),) * rounds
    if (
        isinstance(side, Sequence)
        and len(side) == rounds
        and all(isinstance(record, Mapping) for record in side)
    ):
        return tuple(map(_unwrap_numbers, side))
    if len(names) == 1 and not (
        isinstance(side, Sequence) and any(isinstance(record, Mapping) for record in side)
    ):
        values = side if isinstance(side, list) and len(side) == rounds > 1 else [side] * rounds
        return tuple(_unwrap_numbers({names[0]: value}) for value in values)
    raise InvalidParameter(
        f"a side is a record, {{{names[0]!r}: ...}}, or a list with one for each of {rounds} rounds, got "
        f"{side!r}"
    )


def _unwrap_numbers(answers: Answers) -> Answers:
    """Numbers of an array as numbers that JSON has, for programs and results."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in answers.items()}


def _refuse_alike(first: Side, second: Side, per: Per) -> None:
    rounds = zip(first, second, strict=True)
    differ = {
        name for before, after in rounds for name in {*before, *after} if before.get(name) != after.get(name)
    }
    if not differ:
        raise InvalidParameter(f"both sides of a pair are the same: {dict(first[0])}")
    if per == "attribute" and len(differ) > 1:
        raise InvalidParameter(
            "per attribute, two people differ in one attribute only; these differ in "
            f"{', '.join(sorted(differ))}; compare them per record"
        )
