"""Finds what a plan carries on from those that it continues, and what reports to all of them lose together.

All that a device keeps for a value comes from one first answer. A question whose first round stays as it was
takes the words that the first plan of it keeps. So many plans lose no more of a value that never changes than
one does. What is carried on follows from the documents alone: a device finds it, and trusts nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise
from operator import mul
from typing import Protocol, TypeVar, cast

from deniable.domain import Categories
from deniable.exact import log_up, round_up, times_up
from deniable.mechanisms import Direct, Losses, Mechanism, Unary
from deniable.mechanisms.losses import add_losses
from deniable.plan.attribute import Attribute
from deniable.randomness import FULL
from deniable.randomness.words import First, Strand
from deniable.records import Faked, RecordMechanism
from deniable.records.base import quote_names
from deniable.rounds import Memoized, MemoizedMean, PooledMemoized
from deniable.rounds.carried import BIAS, can_turn, describe_first, find_move, is_fine, list_steps
from deniable.rounds.memoized import MemoizedBuckets

MOST_CONTINUED = 15
"""Plans that a plan can continue: a device reads all of them."""


class Linkable(Protocol):
    """What a plan has by which it is compared with those that it continues."""

    @property
    def id(self) -> str: ...
    @property
    def continues(self) -> Sequence[Linkable]: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def mechanism(self) -> RecordMechanism: ...
    @property
    def parts(self) -> tuple[Mechanism, ...]: ...
    @property
    def pairs(self) -> tuple[tuple[Attribute, Mechanism], ...]: ...
    @property
    def most_reports(self) -> int: ...
    def missing_of(self, attribute: Attribute) -> str: ...
    def extras(self, attribute: Attribute) -> tuple[str, ...]: ...


class Chained(Protocol):
    """What has an id, and continues others that have one."""

    @property
    def id(self) -> str: ...
    @property
    def continues(self) -> Sequence[Linkable]: ...


PlanT = TypeVar("PlanT", bound=Chained)
_Asked = tuple[Mechanism, int, tuple[int, ...]]  # the mechanism of a question, its rounds, removed answers


def list_last(plans: Sequence[PlanT]) -> list[PlanT]:
    """Plans that no other one of them continues, each once."""
    before = {document.id for plan in plans for document in plan.continues}
    return list({plan.id: plan for plan in plans if plan.id not in before}.values())


def list_breaks(before: Linkable, after: Linkable) -> tuple[str, ...]:
    """Why the later plan asks each of its questions anew, in words; empty where it carries it on."""
    if before.names != after.names:
        return (_explain_others(before.names, after.names),) * len(after.names)
    if _lay_out(before.mechanism) != _lay_out(after.mechanism):
        return (_explain_layout(before, after),) * len(after.names)
    breaks = tuple(_find_break(before, after, j) for j in range(len(after.names)))
    if not _has_fakes(after.mechanism):
        return breaks
    # fakes hide which answer is real, so that all of them are carried on or none is
    changed = "" if before.mechanism == after.mechanism else "fakes of another form hide which answer is real"
    return (max([*breaks, changed]),) * len(breaks)


def _has_fakes(mechanism: RecordMechanism) -> bool:
    return any(isinstance(member, Faked) for member, _, _ in mechanism.members)


def _lay_out(mechanism: RecordMechanism) -> object:
    """What must be equal: it decides which questions are drawn, and in which columns their words are."""
    numbers = tuple(getattr(mechanism, name) for name in (*mechanism.numbers, *mechanism.lists))
    parts = tuple(
        _lay_out(part) if isinstance(part, RecordMechanism) else part.words for part in mechanism.parts
    )
    return (mechanism.kind, numbers, parts if mechanism.d > 1 else ())


def _explain_others(before: Sequence[str], after: Sequence[str]) -> str:
    """In what the questions of two plans differ."""
    changes = {
        "added": [name for name in after if name not in before],
        "left out": [name for name in before if name not in after],
    }
    differ = [
        f"{quote_names(names)} {'is' if len(names) == 1 else 'are'} {what}"
        for what, names in changes.items()
        if names
    ]
    return " and ".join(differ) or "the questions are in another order"


def _explain_layout(before: Linkable, after: Linkable) -> str:
    """In what two mechanisms differ that take other random words for the same questions."""
    parts = zip(after.names, before.parts, after.parts, strict=True)
    changed = [name for name, old, new in parts if old.words != new.words]
    if before.mechanism.kind != after.mechanism.kind or not changed:
        return "which questions a report holds is decided in another way, or with other chances"
    return (
        f"another protocol hides {quote_names(changed)}, and takes another number of random words, so that "
        "those of the other questions move"
    )


def list_unlike(before: Linkable, after: Linkable) -> tuple[str, ...]:
    """Why the shares of each question in two plans are not of the same answers; empty where they are.

    They are where a question is carried on, unless people had answers that were removed. So are those of a
    question of which nothing is kept, if it is the same, or has more answers at the end.
    """
    return tuple(
        (why if _keeps(before, after, j) else _find_other_answers(before, after, j))
        or _explain_removed(before, after, j)
        for j, why in enumerate(list_breaks(before, after))
    )


def _keeps(before: Linkable, after: Linkable, j: int) -> bool:
    """Whether a device keeps something of a question, or fakes hide which answer is real."""
    return _has_fakes(after.mechanism) or before.parts[j].repeated or after.parts[j].repeated


def _find_break(before: Linkable, after: Linkable, j: int) -> str:
    (_, old_part), (_, new_part) = before.pairs[j], after.pairs[j]
    if why := _find_other_answers(before, after, j):
        return why
    if find_removed(before, after, j) and not all(map(_can_remove, (old_part, new_part))):
        return "answers were removed, and this protocol cannot keep the others"
    if _list_types(old_part) != _list_types(new_part):
        return "its protocol is another"
    if is_carried(old_part, new_part):
        return ""
    if _is_other_pool(old_part, new_part):
        return "its public pool has another number of functions"
    if not (old_part.repeated or new_part.repeated):
        return "nothing of it is kept, and its answers or the loss of a report are others"
    return "its first answers have another loss or form"


def _find_other_answers(before: Linkable, after: Linkable, j: int) -> str:
    """Why the answers to a question are others, and not only fewer, or more at the end; else empty."""
    old, new = before.pairs[j][0], after.pairs[j][0]
    if not asks_alike(before, after, j, j):
        return "other people are asked, or a missing answer means something else"
    if old.domain != new.domain:
        if not (isinstance(old.domain, Categories) and isinstance(new.domain, Categories)):
            return "its answers are others"
        labels = old.domain.labels
        after_labels = {*new.domain.labels}
        left = [label for label in labels if label in after_labels]
        if not left or [*new.domain.labels[: len(left)]] != left:
            return "its answers are others, and not only fewer, or more at the end"
        domains = [plan.pairs[j][0].domain for plan in after.continues]
        earlier = {label for each in domains if isinstance(each, Categories) for label in each.labels}
        if earlier & {*new.domain.labels[len(left) :]}:
            return "an answer was removed and came back"
        if after.extras(new) or after.missing_of(new) != "refuse":
            return "answers were added or removed, and no answer is a value or random"
    return ""


def _list_types(part: Mechanism) -> tuple[type, ...]:
    """The type of a mechanism, and that of its first round, which tells values from bits."""
    rounds = find_rounds(part)
    return (type(part),) if rounds is None else (type(part), type(rounds.first))


def find_removed(before: Linkable, after: Linkable, j: int) -> tuple[int, ...]:
    """The numbers of the answers to a question that only the earlier plan has."""
    old, new = before.pairs[j][0].domain, after.pairs[j][0].domain
    if not (isinstance(old, Categories) and isinstance(new, Categories)):
        return ()
    left = {*new.labels}
    return tuple(number for number, label in enumerate(old.labels) if label not in left)


def _explain_removed(before: Linkable, after: Linkable, j: int) -> str:
    """Why shares of a question are not those of the plan before it, although it is carried on: people had
    answers there that they have no more. Empty where they had none.
    """
    labels = getattr(before.pairs[j][0].domain, "labels", ())
    removed = [labels[number] for number in find_removed(before, after, j)]
    return f"answers were removed: {', '.join(removed)}" if removed else ""


def _can_remove(part: Mechanism) -> bool:
    return isinstance(part, Memoized) and isinstance(part.first, Direct) and is_fine(part.first)


def asks_alike(before: Linkable, after: Linkable, i: int, j: int) -> bool:
    """Whether attributes i and j of two plans ask the same people, and mean the same by a missing answer."""
    (old, _), (new, _) = before.pairs[i], after.pairs[j]
    alike = [replace(each, domain=new.domain, missing=None, answered=None) for each in (old, new)]
    return alike[0] == alike[1] and before.missing_of(old) == after.missing_of(new)


def is_carried(old: Mechanism, new: Mechanism) -> bool:
    """Whether what two mechanisms of one kind keep for a value comes from one root answer."""
    if old == new:
        return True
    before, after = find_rounds(old), find_rounds(new)
    if before is None or after is None or type(before.first) is not type(after.first):
        return False
    if _is_other_pool(old, new):
        return False
    if isinstance(before.first, Unary):
        is_same = replace(before.first, k=after.k) == after.first
        return before.k <= after.k and (is_same or can_turn(before.first, after.first))
    may_grow = isinstance(old, Memoized)  # buckets, and the bit of a number, are always as many
    is_changed = can_turn(before.first, after.first) and (may_grow or after.k == before.k)
    return is_changed or before.first == after.first


def _is_other_pool(old: Mechanism, new: Mechanism) -> bool:
    """Whether two mechanisms take functions of public pools, and one pool has more functions."""
    return (
        isinstance(old, PooledMemoized) and isinstance(new, PooledMemoized) and old.pool.size != new.pool.size
    )


def find_rounds(part: Mechanism) -> Memoized | None:
    """The two rounds of a mechanism, of its buckets or of its bit; None where nothing is fresh."""
    if isinstance(part, MemoizedBuckets):
        return part.buckets
    if isinstance(part, MemoizedMean):
        return part.bit
    return part if isinstance(part, Memoized) else None


def list_places(plans: Sequence[Linkable]) -> list[list[int]]:
    """For each attribute, the numbers of the plans whose kept words are used: the first that has the question
    as it is, then each at which a kept value may become another.
    """
    places = []
    for j, _ in enumerate(plans[-1].names):
        used = [0]
        for i in range(1, len(plans)):
            if list_breaks(plans[i - 1], plans[i])[j]:
                used = [i]
            elif _list_firsts(_follow(plans[i - 1 : i + 1], j))[1:]:
                used.append(i)
        places.append(used)
    return places


def list_strands(plans: Sequence[Linkable]) -> tuple[Strand, ...]:
    """The plans whose words are kept: for the record, and for each attribute of the last plan."""
    strands = [Strand(((0, plans[0].id),))]
    for j, places in enumerate(list_places(plans)):
        ids = tuple((place, plans[place].id) for place in places)
        firsts = _list_firsts(_follow([plans[place] for place in places], j))
        strands.append(Strand(ids, firsts if len(places) > 1 else ()))
    return tuple(strands)


def _follow(plans: Sequence[Linkable], j: int) -> list[_Asked]:
    """A question in plans that carry it on."""
    removed = [(), *(find_removed(before, after, j) for before, after in pairwise(plans))]
    return [
        (plan.mechanism.mechanisms[j], plan.most_reports, numbers)
        for plan, numbers in zip(plans, removed, strict=True)
    ]


def _list_firsts(strand: Sequence[_Asked]) -> tuple[First, ...]:
    """The first rounds of plans, of each whose one, or whose answers, differ from those before."""
    firsts: list[First] = []
    for part, _, removed in strand:
        rounds = find_rounds(part)
        if rounds is not None:
            first = describe_first(rounds.first)
            if removed or not firsts or firsts[-1][:2] != first:
                firsts.append((*first, removed))
    return tuple(firsts)


def count_bias(plans: Sequence[Linkable]) -> int:
    """Billionths of a nat that every figure of the last plan is more, where a kept value may have turned."""
    turned = any(len(places) > 1 for places in list_places(plans))
    return BIAS * len(plans) * len(plans[-1].names) if turned else 0


def bound_chain(plans: Sequence[Linkable]) -> Losses:
    """What all reports of a person to plans that continue each other lose together, rounded up."""
    mechanism, rounds = plans[-1].mechanism, sum(plan.most_reports for plan in plans)
    breaks = (list_breaks(before, after) for before, after in pairwise(plans))
    is_one = all(plan.mechanism == mechanism for plan in plans) and not any(map(any, breaks))
    if is_one and not count_bias(plans):
        return mechanism.losses(rounds, rounds)
    losses = [bound_question(plans, j) for j in range(mechanism.d)]
    one_report = max(plan.mechanism.losses(1, 1).one_report for plan in plans)
    together = add_losses(losses, mechanism.select_largest)
    return replace(together, one_report=one_report, reports=rounds, rounds=rounds)


def bound_question(plans: Sequence[Linkable], j: int) -> Losses:
    """The losses of one question in plans that continue each other: those of everything that was carried on,
    added up over its breaks.
    """
    strands: list[list[Linkable]] = []
    for i, plan in enumerate(plans):
        if i == 0 or list_breaks(plans[i - 1], plan)[j]:
            strands.append([])
        strands[-1].append(plan)
    return add_losses([_bound_strand(_follow(strand, j)) for strand in strands])


def _bound_strand(strand: Sequence[_Asked]) -> Losses:
    """The losses of a question whose first answer is the same in all of these plans.

    Reports of one kept answer that are made alike are those of one plan. What others add is bounded by what a
    fresh report of their kept answer loses. An answer that was raised or made worse is another one, and so it
    is where a later plan has the first round of an earlier one again.
    """
    last, total = strand[-1][0], sum(rounds for _, rounds, _ in strand)
    alike: dict[object, tuple[Mechanism, int]] = {}
    for number, (part, rounds, _) in zip(_number_kept(strand), strand, strict=True):
        second = None if (both := find_rounds(part)) is None else both.second
        key = number, replace(second, k=2) if isinstance(second, Unary) else second
        alike[key] = part, rounds + (alike[key][1] if key in alike else 0)
    if len(alike) == 1:
        return last.losses(total, total)
    groups = [(part.losses(rounds, rounds), _bound_fresh(part, rounds)) for part, rounds in alike.values()]
    whole = sum((fresh for _, fresh in groups), Fraction(0))
    changing = min(Fraction(losses.changing_values) + whole - fresh for losses, fresh in groups)
    forever = max(losses.one_value_forever for losses, _ in groups)
    answers = cast(Memoized, find_rounds(last)).k + sum(len(removed) for _, _, removed in strand)
    return replace(
        last.losses(1, total),
        same_value=min(log_up(_compose_ratio(strand)), forever),
        one_value_forever=forever,
        changing_values=round_up(changing),
        changing_values_exact=False,
        changing_values_usual=times_up(forever, min(total, answers)),
        reports=total,
    )


def _number_kept(strand: Sequence[_Asked]) -> list[int]:
    """The number of the kept answer that each plan reports: another one wherever the first round changes, or
    answers are removed.
    """
    changes = (bool(_list_firsts(pair)[1:]) for pair in pairwise(strand))
    return list(accumulate(changes, initial=0))


def _compose_ratio(strand: Sequence[_Asked]) -> Fraction:
    """At least the largest ratio after all reports of a value that never changed, rounded up.

    The worst are reports that all speak for one value. Once an added answer took over, they say nothing.
    Where a root answer was raised, what was said of the one before is made worse by as much.
    """
    chain = [(cast(Memoized, find_rounds(part)), rounds) for part, rounds, _ in strand]
    reports = sum(rounds for _, rounds in chain)
    numbers = _number_kept(strand)
    spoken = [[Fraction(1)] * 2 for _ in range(numbers[-1] + 1)]  # of each kept answer, by all reports of it
    for number, (part, rounds) in zip(numbers, chain, strict=True):
        spoken[number] = list(map(mul, spoken[number], part.second.speak(rounds)))
    steps = list_steps(_list_firsts(strand))
    raised = max((i for i, step in enumerate(steps) if step.before < step.odds), default=0)
    root = chain[numbers.index(raised)][0].first
    has_removed = any(step.removed for step in steps)
    if steps[raised].k > steps[0].k or has_removed:  # all is a part of the root answer
        return root.ratio
    together = []
    for powers in zip(*spoken, strict=True):  # of a value or a bit that is set, then of one that is clear
        ratio = later = Fraction(1)
        for i in reversed(range(raised, len(steps))):
            later *= _blur(powers[i], steps[i].move, steps[i].k)
            if i > raised:
                turn = Fraction(steps[i].share * (steps[i].k - steps[i - 1].k), FULL)
                later = (1 - turn) * later + turn
        for i in range(raised):
            after = steps[i + 1]
            ratio *= _blur(powers[i], steps[i].move, steps[i].k)
            ratio = _blur(ratio, find_move(after.odds, after.before, after.k), after.k)
        together.append(ratio * later)
    return root.ratio_given(together[0], together[1], reports)


def _blur(ratio: Fraction, move: Fraction, k: int) -> Fraction:
    """What a ratio says of an answer that became each of the others with this chance."""
    return ((1 - (k - 1) * move) * ratio + (k - 1) * move) / (move * ratio + 1 - move)


def _bound_fresh(part: Mechanism, reports: int) -> Fraction:
    """What so many reports lose beside what is kept."""
    rounds = find_rounds(part)
    assert rounds is not None, "a mechanism without a second round is equal in all plans"
    return reports * rounds.second.kept_parts * Fraction(log_up(rounds.second.part_ratio))
