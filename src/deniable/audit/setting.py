"""Sets which answers are compared, and what is claimed of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import final

import numpy as np

from deniable.arrays import Integers
from deniable.audit.devices import Answers, Side
from deniable.audit.pairs import (
    Named,
    Pair,
    check_pairs,
    count_couples,
    count_values_asked,
    find_changed,
    make_line_ups,
    make_named_pairs,
    make_partial_pairs,
    metric_parts,
)
from deniable.errors import InvalidParameter
from deniable.exact import log_up, whole_number
from deniable.mechanisms.base import Per, checked_per
from deniable.plan import NANO
from deniable.records import Faked, RecordMechanism
from deniable.study import Plan

ROUNDS = 10
"""How many rounds of a plan that asks again are looked at, at most, unless it is said otherwise."""

_DESCRIBED = 3  # pairs that are described one by one
_KILOMETER = 1e6  # in millimeters, which cells are measured by

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
    most = 1 if plan is None else plan.document.rounds or 1
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
        else check_pairs(plan, pairs, per, number)
    )
    if not all_pairs:
        raise InvalidParameter("there are no pairs of answers to tell apart")
    partial: tuple[Pair, ...] = ()
    if plan is not None and per == "record" and isinstance(pairs, str):
        partial = make_partial_pairs(plan, number)
        all_pairs += partial
    if plan is not None:
        _refuse_one_code(plan, all_pairs)
    lines = make_line_ups(plan, per, number) if plan is not None and isinstance(pairs, str) else ()
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
    counts = {} if plan is None else count_values_asked(plan, everyone)
    partly = tuple((name, count, values) for name, (count, values) in counts.items() if count < values)
    alone = count_couples(plan) if plan is not None and partial else (0, 0)
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
            if rounds == plan.document.rounds
            else replace(plan.document, rounds=rounds, claimed=None).stated
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
        differ = find_changed(plan.document, first[0], second[0])
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
