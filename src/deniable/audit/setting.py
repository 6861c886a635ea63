"""Sets which answers are compared, and what is claimed of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Literal, final

import numpy as np

from deniable.arrays import Integers
from deniable.audit.guessers import couples
from deniable.audit.turns import Answers, Side
from deniable.domain import Code, Domain, Range, Text, View
from deniable.domain.grid import Grid
from deniable.domain.number import Number
from deniable.errors import InvalidParameter
from deniable.exact import log_up, whole_number
from deniable.frames import column_names, columns_of, is_table
from deniable.mechanisms.base import Per, checked_per
from deniable.metric import MetricMechanism
from deniable.plan import NANO
from deniable.plan.document import PlanDocument
from deniable.records import Faked, RecordMechanism
from deniable.reports import settle_record
from deniable.study import Plan

Pair = tuple[Side, Side]
Named = Literal["ends", "every"]
"""Pairs by name: the first values of all attributes against the last; or every value against the next. Of
metric attributes also neighbors, alone: of some values, or of every value; and all others, alone.
"""

VALUE = "value"
"""What the only answer is called where no plan names it."""
ROUNDS = 10
"""How many rounds of a plan that asks again are looked at, at most, unless it is said otherwise."""

_MOST_COUPLES = 64  # couples of attributes that differ, at most
_IN_LINE = 64  # people that are compared at once, at most
_INNER = 4  # steps from the lowest number to the highest
_DEGREE = 112_000  # meters, at most
_DESCRIBED = 3  # pairs that are described one by one
_KILOMETER = 1e6  # in millimeters, which cells are measured by
_Records = list[tuple[Answers, Answers]]

Claimed = Callable[[Answers, Answers], float]
"""What is claimed of two answers to a mechanism that has no plan."""


@final
@dataclass(frozen=True)
class Setting:
    """Pairs of people to compare, and for each the epsilon that bounds how well they can be distinguished."""

    pairs: tuple[Pair, ...]
    per: Per
    rounds: int
    pair_claims: tuple[float, ...]
    """What is claimed of each pair."""
    planned: int
    """How many rounds the plan has."""
    line_ups: tuple[tuple[Side, ...], ...] = ()
    """People of whom any two are neighbors."""
    line_claim: float = 0.0
    """The claim for any two people of a line-up."""
    partly: tuple[tuple[str, int, int], ...] = ()
    """Attributes of which not all values are asked: how many are, and how many there are."""
    partial: int = 0
    """How many of the pairs, the last ones, differ in one or two attributes only, to find noise that
    attributes share.
    """
    couples: tuple[int, int] = (0, 0)
    """How many couples of attributes differ alone in those, and how many there are."""

    @property
    def sides(self) -> list[Side]:
        """Both sides of all pairs, one pair after the other."""
        return [side for pair in self.pairs for side in pair]

    @cached_property
    def claims(self) -> tuple[float, ...]:
        """The different claims, the largest first."""
        return tuple(sorted(set(self.pair_claims), reverse=True))

    @cached_property
    def groups(self) -> tuple[tuple[float, bool], ...]:
        """The claim of each group, and whether its pairs differ in one or two attributes only: those lose
        less than the claim, and would dilute the others.
        """
        return tuple(sorted(set(self._keys), key=lambda key: (-key[0], key[1])))

    @cached_property
    def group(self) -> Integers:
        """Which group is each pair's: pairs of one group are judged together."""
        return np.array([self.groups.index(key) for key in self._keys], dtype=np.int64)

    @property
    def _keys(self) -> list[tuple[float, bool]]:
        complete = len(self.pairs) - self.partial
        return [(claim, pair >= complete) for pair, claim in enumerate(self.pair_claims)]

    def pair_of(self, device: Integers) -> Integers:
        """Which pair each device belongs to, by its number: every second one to those that differ in one or
        two attributes only, where there are such pairs.
        """
        complete = len(self.pairs) - self.partial
        if not self.partial:
            return device % complete
        half = device // 2
        return np.where(device % 2 == 0, half % complete, complete + half % self.partial)

    def describe_pair(self, pair: int) -> str:
        """A pair in words: what is different in them."""
        first, second = (side[0] for side in self.pairs[pair])
        names = [name for name in {**first, **second} if first.get(name) != second.get(name)] or list(first)
        answers = [", ".join(_format_answer(side.get(name)) for name in names) for side in (first, second)]
        return (
            f"{names[0]} {' and '.join(answers)}"
            if len(names) == 1
            else f"{', '.join(names)}: {' against '.join(answers)}"
        )

    def describe_person(self, side: Side) -> str:
        """One of a line-up in words: what not all of them answer."""
        everyone = [person[0] for line in self.line_ups for person in line]
        return ", ".join(
            f"{name} {_format_answer(answer)}"
            for name, answer in side[0].items()
            if len({repr(person_answers[name]) for person_answers in everyone}) > 1
        )

    @property
    def compared(self) -> str:
        """Which people are compared, in words, and which are not."""
        more = f", and {len(self.pairs) - _DESCRIBED:,} more" if len(self.pairs) > _DESCRIBED else ""
        pairs = "; ".join(self.describe_pair(pair) for pair in range(min(_DESCRIBED, len(self.pairs))))
        lines = "".join(f"; in a line-up, {len(line)} people" for line in self.line_ups[:1])
        compared, couples = self.couples
        if compared < couples:
            lines += f"; of {couples:,} couples of attributes, {compared:,} differ alone"
        partial_values = ", ".join(
            f"{count:,} of {values:,} values of {name}" for name, count, values in self.partly
        )
        return f"{pairs}{more}{lines}{f'; asked were only {partial_values}' if partial_values else ''}"

    def codes(self, plan: Plan) -> list[Integers]:
        """For each round, the sides' answers as integers, a row per attribute."""
        return encode_sides(plan, self.sides)

    def most_votes(self, plan: Plan | None) -> list[int]:
        """Counts for each group the most positions where reports can take a side."""
        if plan is None:
            return [0] * len(self.groups)
        votes = np.zeros(len(self.pairs), dtype=np.int64)
        for codes in self.codes(plan):
            differ = (codes[:, ::2] != codes[:, 1::2]).T.astype(int).tolist()
            votes += [sum(plan.mechanism.select_largest(row)) for row in differ]
        return [int(votes[self.group == number].max()) for number in range(len(self.groups))]


def encode_sides(plan: Plan, sides: Sequence[Side]) -> list[Integers]:
    """For each round, answers as integers, a row per attribute."""
    return [plan.encode(list(map(dict, records))) for records in zip(*sides, strict=True)]


def make_setting(
    plan: Plan | None,
    pairs: Named | Iterable[object],
    per: Per,
    rounds: int | None,
    claim: float | Claimed | None,
) -> Setting:
    """Checks the setting of an audit; the plan decides what its caller leaves out."""
    checked_per(per)
    if plan is not None and plan.document.known is not None:
        raise InvalidParameter(
            f"this plan sends {plan.document.known.name!r} as it is, which an audit would find at once; "
            "audit what it hides, by the same plan without known groups: plan.with_known({})"
        )
    most = 1 if plan is None else plan.document.most_reports
    asked_rounds = min(most, ROUNDS) if rounds is None else rounds
    if plan is not None and most == 1 and asked_rounds != 1:
        raise InvalidParameter(
            f"this plan asks once, so a device reports in one round, got rounds={asked_rounds!r}"
        )
    number = whole_number(
        "rounds, how often each device reports,", asked_rounds, 1, None if plan is None else most
    )
    all_pairs = (
        make_named_pairs(plan, pairs, per, number)
        if isinstance(pairs, str)
        else _check_pairs(plan, pairs, per, number)
    )
    if not all_pairs:
        raise InvalidParameter("there are no pairs of answers to tell apart")
    partial: tuple[Pair, ...] = ()
    if plan is not None and per == "record" and isinstance(pairs, str):
        partial = _make_partial_pairs(plan, number)
        all_pairs += partial
    if plan is not None:
        _refuse_one_code(plan, all_pairs)
    lines = _make_line_ups(plan, per, number) if plan is not None and isinstance(pairs, str) else ()
    if callable(claim):
        claims, lined = tuple(_add_rounds(claim, pair) for pair in all_pairs), 0.0
    elif claim is not None:
        claims = (_checked_claim(claim),) * len(all_pairs)
        lined = claims[0]
    elif plan is None:
        raise InvalidParameter("without a plan, say what is claimed: claim=1.0")
    elif plan.stated.metric is not None:
        claims = _find_claims_by_distance(plan, all_pairs, per)
        lined = max(_find_claims_by_distance(plan, [(line[0], line[1]) for line in lines], per), default=0.0)
    else:
        lined = _find_claim(plan, all_pairs, per, number)
        partial_claim = _find_claim_of_few(plan, partial, lined)
        claims = (lined,) * (len(all_pairs) - len(partial)) + (partial_claim,) * len(partial)
    everyone = [side for people in (*all_pairs, *lines) for side in people]
    counts = {} if plan is None else _count_values_asked(plan, everyone)
    partly = tuple((name, count, values) for name, (count, values) in counts.items() if count < values)
    alone = _count_couples(plan) if plan is not None and partial else (0, 0)
    return Setting(all_pairs, per, number, claims, most, lines, lined, partly, len(partial), alone)


def _add_rounds(claimed: Claimed, pair: Pair) -> float:
    """What is claimed of reports that have nothing to do with each other, one for each round."""
    losses = [claimed(first, second) for first, second in zip(*pair, strict=True)]
    return losses[0] if len(losses) == 1 else math.nextafter(math.fsum(losses), math.inf)


def _refuse_one_code(plan: Plan, pairs: Sequence[Pair]) -> None:
    """Two answers may be one to the plan: a label and its number, or two numbers in one bin."""
    for pair in pairs:
        if any(value is None for side in pair for record in side for value in record.values()):
            continue  # no answer may be drawn again
        if all((codes[:, 0] == codes[:, 1]).all() for codes in encode_sides(plan, pair)):
            raise InvalidParameter(
                f"both sides of a pair are the same to the plan: {dict(pair[0][0])} and {dict(pair[1][0])}; "
                "compare answers that it tells apart"
            )


def _checked_claim(claim: object) -> float:
    if isinstance(claim, bool) or not isinstance(claim, float | int | Real) or not float(claim) >= 0:
        raise InvalidParameter(f"a claim is an epsilon, a number from 0 on, got {claim!r}")
    return float(claim)


def _format_answer(answer: object) -> str:
    if isinstance(answer, list | tuple):
        return f"({', '.join(map(_format_answer, answer))})"
    return "no answer" if answer is None else f"{answer:.6g}" if isinstance(answer, float) else str(answer)


def _find_claim(plan: Plan, pairs: Sequence[Pair], per: Per, rounds: int) -> float:
    """Finds what the plan states, or what its integers say of fewer rounds or one attribute."""
    if rounds == 1:
        return (plan.stated.record if per == "record" else plan.stated.attribute) / NANO
    changes = any(dict(records) != dict(side[0]) for pair in pairs for side in pair for records in side)
    if per == "attribute":
        bound = max(_bound_attribute(member, rounds, changes) for member, _, _ in plan.mechanism.members)
        if math.isfinite(bound):
            return bound
    else:
        stated = (
            plan.stated
            if rounds == plan.document.most_reports
            else replace(plan.document, rounds=rounds, turns=None, claimed=None).stated
        )
        assert stated.repeated is not None
        _, same, _, changing, _ = stated.repeated
        nanos = changing if changes else same
        if nanos is not None:
            return nanos / NANO
    raise InvalidParameter(
        "there is no bound on what changing answers give away in this plan; say what is claimed"
    )


def _bound_attribute(mechanism: RecordMechanism, rounds: int, changes: bool) -> float:
    """Bounds what reports of people who differ in one attribute lose, whose answers change or do not."""
    if isinstance(mechanism, Faked) and not changes:
        return log_up(mechanism.ratio_after(rounds, "attribute"))
    part_losses = [part.losses(rounds, rounds) for part in mechanism.mechanisms if part.repeated]
    return max(losses.changing_values if changes else losses.same_value for losses in part_losses)


def _find_claim_of_few(plan: Plan, pairs: Sequence[Pair], record: float) -> float:
    """Finds what the plan's integers say of the worst of these pairs, which differ in one or two attributes:
    at most what is claimed of a record.
    """
    if not pairs or plan.document.rounds is not None:
        return record
    ratios = []
    for first, second in pairs:
        differ = _find_changed(plan.document, first[0], second[0])
        ratios.append(plan.mechanism.ratio_among(differ, "record" if sum(differ) > 1 else "attribute"))
    return min(record, math.ceil(log_up(max(ratios)) * NANO) / NANO)


def _find_claims_by_distance(plan: Plan, pairs: Sequence[Pair], per: Per) -> tuple[float, ...]:
    """For each pair what the plan promises of it: distances times the losses per unit, and that of all other
    attributes.

    Never more than the worst case, which is stated, too.
    """
    metric = plan.stated.metric
    assert metric is not None
    units = {unit.name: unit for unit in metric.units}
    worst = plan.stated.record if per == "record" else plan.stated.attribute
    parts = metric_parts(plan)
    rest_of_all = metric.rest
    if per == "attribute":
        others = [name not in units for name in plan.names]
        rest_of_all = math.ceil(log_up(plan.mechanism.ratio_among(others, per)) * NANO)
    sides = [side[0] for pair in pairs for side in pair]
    codes = plan.encode(list(map(dict, sides)))
    claims = []
    for first, second in zip(codes.T[::2].tolist(), codes.T[1::2].tolist(), strict=True):
        lost, rest = 0, False
        for name, a, b in zip(plan.names, first, second, strict=True):
            if name in units:
                size = _KILOMETER if units[name].unit == "kilometer" else 1
                lost += math.ceil(parts[name].distance(a, b) / size * units[name].loss)
            else:
                rest = rest or a != b
        lost += rest_of_all * rest
        claims.append(min(lost, worst) / NANO)
    return tuple(claims)


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
    # else only the worst case would be claimed of any pair that differs in these
    if far and alike and per == "record":
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


def _find_changed(document: PlanDocument, first: Answers, second: Answers) -> list[bool]:
    """Which attributes differ between two records."""
    return [
        any(first.get(name) != second.get(name) for name in attribute.columns)
        for attribute in document.attributes
    ]


def _differ_in_one(document: PlanDocument, first: Answers, second: Answers) -> bool:
    """Whether two records differ in one attribute only; the levels of a question are one."""
    changed = zip(document.attributes, _find_changed(document, first, second), strict=True)
    names = {
        attribute.columns if attribute.domain.is_level else (attribute.name,)
        for attribute, differs in changed
        if differs
    }
    return len(names) == 1


def _make_partial_pairs(plan: Plan, rounds: int) -> tuple[Pair, ...]:
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
    usual = settle_record(document, first)
    others = (
        settle_record(document, first | {name: last[name] for name in group})
        for group in differ
        if len(group) < len(names)  # else it is a pair already
    )
    return tuple(((usual,) * rounds, (other,) * rounds) for other in others if other != usual)


def _count_couples(plan: Plan) -> tuple[int, int]:
    """How many couples of attributes differ alone in some pair, and how many there are."""
    names = len(list_names(plan.document)) - len(metric_parts(plan))
    return min(_MOST_COUPLES, names * (names - 1) // 2), names * (names - 1) // 2


def _make_line_ups(plan: Plan, per: Per, rounds: int) -> tuple[tuple[Side, ...], ...]:
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
    lines = []
    for group in groups:
        size = min(_IN_LINE, max(map(len, group.values()), default=0))
        moved = ({name: _spread(listed, size, i) for name, listed in group.items()} for i in range(size))
        if size > 2:
            lines.append(tuple((settle_record(document, first | answers),) * rounds for answers in moved))
    return tuple(lines)


def metric_parts(plan: Plan) -> dict[str, MetricMechanism]:
    """The mechanisms of attributes with metric values, by name."""
    rows = zip(plan.names, plan.document.parts, strict=True)
    return {name: part for name, part in rows if isinstance(part, MetricMechanism) and part.metric}


def _count_values_asked(plan: Plan, sides: Iterable[Side]) -> dict[str, tuple[int, int]]:
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
        if attribute.domain.listed and not isinstance(attribute.domain, Number | View)
    }
    return {name: (len(values.get(name, ())), count) for name, count in sizes.items()}


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


def _check_pairs(plan: Plan | None, pairs: Iterable[object], per: Per, rounds: int) -> tuple[Pair, ...]:
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
