"""Chooses how a record is reported in which some questions have levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.choose import Considered, consider
from deniable.choose.ranking import round_chances
from deniable.domain import Unlisted
from deniable.errors import InvalidParameter
from deniable.explain.level_precision import anticipate_levels
from deniable.explain.references import name_protocol
from deniable.mechanisms import ExactMechanism
from deniable.plan.attribute import Attribute
from deniable.plan.levels import Leveled
from deniable.records import RecordMechanism, Sample, Single, Split, equal_part
from deniable.records.sample import MOST_WEIGHT
from deniable.study.importance import weigh_attribute

if TYPE_CHECKING:
    from deniable.study.study import Study


def find_obstacle(study: Study, name: str) -> str:
    """What a study has that does not go with levels of a question, and what to do; empty where nothing."""
    wanted = study.objective
    protocols = study.protocol if isinstance(study.protocol, Mapping) else {}
    is_unlisted = isinstance(study.attributes[name], Unlisted)
    if name in study.known:
        if is_unlisted:
            return "known, whose values are a list; leave it out of known"
        return "known: it is sent as it is; leave queries out"
    if any(name in some for some in study.inquiry.together):
        return "together: a table has cells of a shorter range; give it a larger step, without queries"
    one = study.inquiry.whole.get(name)
    if one is None:  # of several options
        return ""
    if one.only_if is not None or one.missing == "value":
        return (
            "only_if, or with missing = 'value': everybody must have one of its values; ask a yes/no "
            "question beside it"
        )
    if study.epsilon_first is not None or study.epsilon_forever is not None:
        if is_unlisted:
            return "asking again: devices do not keep its hashes and buckets; ask once, with epsilon"
        return "asking again, since levels are drawn once and not kept; ask once, with epsilon"
    if study.mechanism == "faked":
        return "mechanism 'faked', whose fakes hide what is reported; use 'sample' or 'split'"
    if name in protocols or isinstance(study.protocol, str | tuple | list):
        if is_unlisted:
            return "a protocol of its own: a linear hash is the only one for it; leave the protocol out"
        return "a protocol of its own: each level has the one that errs least; leave the protocol out"
    if (wanted.success_cap, wanted.bytes_cap, wanted.influence_cap) != (None, None, None):
        if is_unlisted:
            return "caps of an objective: it has no choice of protocols; leave the caps out"
        return "caps of an objective: levels have no choice of protocols; leave the caps out"
    return ""


def consider_levels(study: Study, people: int) -> Considered:
    """The one way to ask that a study has with levels: one of all levels and other questions is reported.

    With mechanism "split", every question is, each with its part of epsilon.
    """
    asked, leveled = list(study.inquiry.attributes.values()), study.inquiry.leveled
    is_split = study.mechanism == "split" and len(study.inquiry.whole) > 1
    sharing = sum(one.domain.privacy != "metric" for one in study.inquiry.whole.values())
    divided = is_split and study.per == "record"
    budget = equal_part(study.inquiry.budget, sharing) if divided else study.inquiry.budget
    own = {name: iter(one.build(budget)) for name, one in leveled.items()}
    parts: list[ExactMechanism] = []
    for one in asked:
        [question] = one.questions if len(one.questions) == 1 else [one.name]
        parts.append(next(own[question]) if question in own else _choose_part(study, one, budget, people))
    made: RecordMechanism
    if is_split:
        made = _split_levels(asked, parts, leveled)
    elif len(parts) == 1:  # values that nobody listed, without levels
        made = Single(parts[0])
    else:
        made = Sample(tuple(parts), weights=weigh_levels(asked, leveled, study.importance))
    protocols = list(map(name_protocol, parts))
    names = tuple(one.name for one in asked)
    row = Considered.of(made, made.acronym, protocols, people, study.objective, names=names)
    return replace(anticipate_levels(asked, row), score=1.0, per=study.per)


def _choose_part(study: Study, one: Attribute, epsilon: float, people: int) -> ExactMechanism:
    """The mechanism of a question without levels: what it would have by itself at this epsilon."""
    protocols = study.protocol if isinstance(study.protocol, Mapping) else {}
    named = next((protocols[key] for key in (one.name, one.several) if key and key in protocols), None)
    found = consider(
        {one.name: study.inquiry.question(one)}, epsilon, people, study.objective, None, named, study.per
    )
    best = found[0]
    if best.mechanism is None or best.why_not is not None:
        raise InvalidParameter(f"nothing fits {one.name!r}: {best.why_not}")
    return best.parts[0]


def _split_levels(
    asked: Sequence[Attribute], parts: Sequence[ExactMechanism], leveled: Mapping[str, Leveled]
) -> Split:
    """Every question by itself; of one with levels, one level."""
    blocks: dict[str, list[ExactMechanism]] = {}
    for one, part in zip(asked, parts, strict=True):
        question = one.columns[0] if one.columns[0] in leveled else one.name
        blocks.setdefault(question, []).append(part)
    return Split(
        tuple(
            Sample(tuple(some), weights=leveled[name].weights) if len(some) > 1 else some[0]
            for name, some in blocks.items()
        )
    )


def weigh_levels(
    asked: Sequence[Attribute], leveled: Mapping[str, Leveled], importance: Mapping[str, float]
) -> tuple[int, ...]:
    """How often each attribute is drawn: by the importance of its question, which its levels divide."""
    chances = [Fraction(str(weigh_attribute(one, importance))) for one in asked]
    for name, own in leveled.items():
        here = [j for j, one in enumerate(asked) if one.questions == (name,)]
        for j, weight in zip(here, own.weights, strict=True):
            chances[j] *= Fraction(weight, sum(own.weights))
    scale = math.lcm(*(chance.denominator for chance in chances))
    weights = [int(chance * scale) for chance in chances]
    least = math.gcd(*weights)
    if sum(weights) // least <= MOST_WEIGHT:
        return tuple(weight // least for weight in weights)
    return round_chances([float(chance / sum(chances)) for chance in chances], MOST_WEIGHT)
