"""Which answers are compared, and what is claimed of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, final

import numpy as np

from deniable.audit.devices import Answers, Side
from deniable.document import Attribute
from deniable.domain import Range
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.law import Integers
from deniable.plan import Plan
from deniable.shape import Per, checked_per
from deniable.share import Sample
from deniable.stated import NANO, Stated

Pair = tuple[Side, Side]
Named = Literal["ends", "every"]
"""Pairs by name: the first values of all attributes against the last; or every value against the next."""


@final
@dataclass(frozen=True)
class Setting:
    """Pairs of people who are to be told apart, and the epsilon that says how badly that can be done."""

    pairs: tuple[Pair, ...]
    per: Per
    rounds: int
    claim: float

    @property
    def sides(self) -> list[Side]:
        """Both sides of all pairs, one pair after the other."""
        return [side for pair in self.pairs for side in pair]

    def codes(self, plan: Plan) -> list[Integers]:
        """For each round, the sides' answers as integers, a row per attribute."""
        return [plan.encode(list(map(dict, records))) for records in zip(*self.sides, strict=True)]

    def most_votes(self, plan: Plan) -> int:
        """In how many places at most, attributes and rounds, a device's reports can take one side against the other."""
        reported = plan.share.drawn if isinstance(plan.share, Sample) else len(plan.names)
        differ = (np.minimum((codes[:, ::2] != codes[:, 1::2]).sum(axis=0), reported) for codes in self.codes(plan))
        return int(np.max(np.add.reduce(list(differ))))


def setting_of(
    plan: Plan | None,
    pairs: Named | Iterable[tuple[object, object]],
    per: Per,
    rounds: int | None,
    claim: float | None,
) -> Setting:
    """What is asked for, checked; what is not given is the plan's."""
    checked_per(per)
    most = 1 if plan is None else plan.content.rounds or 1
    number = whole_number(
        "rounds, how often each device reports,", 1 if rounds is None else rounds, 1, None if plan is None else most
    )
    found = _named(plan, pairs, per, number) if isinstance(pairs, str) else tuple(_pair(one, number) for one in pairs)
    if not found:
        raise InvalidParameter("there are no pairs of answers to tell apart")
    for first, second in found:
        _refuse_alike(first, second, per)
    if claim is None:
        if plan is None:
            raise InvalidParameter("without a plan, say what is claimed: claim=1.0")
        claim = _claim(plan, found, per, number)
    if not claim >= 0:
        raise InvalidParameter(f"a claim is an epsilon, from 0 on, got {claim}")
    return Setting(found, per, number, float(claim))


def _claim(plan: Plan, pairs: Sequence[Pair], per: Per, rounds: int) -> float:
    """What the plan states; of fewer rounds than it has, what its integers say of them."""
    if rounds == 1:
        return (plan.stated.record if per == "record" else plan.stated.attribute) / NANO
    repeated = Stated.of(replace(plan.content, rounds=rounds).loss()).repeated
    assert repeated is not None
    changes = any(dict(records) != dict(side[0]) for pair in pairs for side in pair for records in side)
    _, same, _, changing, _ = repeated
    found = changing if changes else same
    if found is None:
        raise InvalidParameter("there is no bound on what changing answers give away in this plan; say what is claimed")
    return found / NANO


def _named(plan: Plan | None, name: str, per: Per, rounds: int) -> tuple[Pair, ...]:
    if name not in ("ends", "every"):
        raise InvalidParameter(f"pairs are 'ends', 'every' or a list of two records each, got {name!r}")
    if plan is None:
        raise InvalidParameter("without a plan, say which answers are compared: pairs=[({'color': 'red'}, {'color': 'blue'})]")
    values = {attribute.name: _answers(attribute, plan.content.missing == "value") for attribute in plan.content.attributes}
    first = {name: listed[0] for name, listed in values.items()}
    last = {name: listed[-1] for name, listed in values.items()}
    records: list[tuple[Answers, Answers]] = []
    if name == "ends":
        records = [(first, last)] if per == "record" else [(first, first | {name: last[name]}) for name in values]
    elif per == "record":
        for i in range(max(map(len, values.values()))):
            one, next_one = ({name: listed[(i + step) % len(listed)] for name, listed in values.items()} for step in (0, 1))
            records.append((one, next_one))
    else:
        for name, listed in values.items():
            records += [(first | {name: one}, first | {name: listed[(i + 1) % len(listed)]}) for i, one in enumerate(listed)]
    return tuple(((one,) * rounds, (other,) * rounds) for one, other in records)


def _answers(attribute: Attribute, no_answer: bool) -> list[object]:
    """An answer for each value: a label, or a number in the middle of a bin."""
    domain = attribute.domain
    if isinstance(domain, Range):
        found: list[object] = [float(low + high) / 2 for low, high in pairwise(domain.edges.tolist())]
    else:
        found = list(domain.labels)
    return [*found, None] if no_answer else found


def _pair(given: object, rounds: int) -> Pair:
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
        raise InvalidParameter(f"a pair is two records, ({{'color': 'red'}}, {{'color': 'blue'}}), got {given!r}")
    return _side(given[0], rounds), _side(given[1], rounds)


def _side(given: object, rounds: int) -> Side:
    """One record for all rounds, or a list with one for each."""
    if isinstance(given, Mapping):
        return (given,) * rounds
    if isinstance(given, Sequence) and len(given) == rounds and all(isinstance(one, Mapping) for one in given):
        return tuple(given)
    raise InvalidParameter(
        f"a side is a record, {{'color': 'red'}}, or a list with one for each of {rounds} rounds, got {given!r}"
    )


def _refuse_alike(first: Side, second: Side, per: Per) -> None:
    rounds = zip(first, second, strict=True)
    differ = {name for one, other in rounds for name in {*one, *other} if one.get(name) != other.get(name)}
    if not differ:
        raise InvalidParameter(f"both sides of a pair are the same: {dict(first[0])}")
    if per == "attribute" and len(differ) > 1:
        raise InvalidParameter(
            f"per attribute, two people differ in one answer only; these differ in {', '.join(sorted(differ))}; "
            "compare them per record"
        )
