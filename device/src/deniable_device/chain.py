"""Plans that continue each other: what a plan carries on, and what reports to all of them give away.

A question is carried on where its first answers are made as before. They then come from the words of the
first plan that has it. Where values were added to a direct one, a kept value may turn into a new one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from deniable_device.carried import Step, find_move, is_fine, list_steps
from deniable_device.changes import logarithm
from deniable_device.document import Json
from deniable_device.errors import Refused
from deniable_device.losses import (
    FIGURES,
    Figures,
    figures,
    largest,
    record_figures,
    summed,
)
from deniable_device.mechanisms import Direct, Mechanism, Repeated, Unary, down, pool_size, up
from deniable_device.records import Record, Sample, Split
from deniable_device.words import FULL, Strand

if TYPE_CHECKING:
    from deniable_device.plan import Plan

MOST_BEFORE = 15
"""How many plans a plan continues."""
MOST_ROUNDS = 10_000
"""Those of all plans that continue each other."""


def check_chain(plans: Sequence[Plan]) -> None:
    """Refuses a last plan that carries on nothing of the one before, or rounds that are too many."""
    rounds = [plan.rounds or 0 for plan in plans]
    if 0 in rounds or sum(rounds) > MOST_ROUNDS:
        raise Refused("continues", f"plans that continue each other have 1 to {MOST_ROUNDS} rounds")
    if not any(carried(plans[-2], plans[-1])):
        raise Refused("continues", "nothing of the plan before is carried on")


def carried(before: Plan, after: Plan) -> list[bool]:
    """Whether the later plan carries on each of its questions."""
    names = [[attribute.name for attribute in plan.attributes] for plan in (before, after)]
    records = [plan.tree["mechanism"] for plan in (before, after)]
    trees = [part_trees(record) for record in records]
    width, has_fakes = len(after.attributes), "faked" in kinds_of(before.record)
    if names[0] != names[1] or layout(before.record) != layout(after.record):
        return [False] * width
    each = [
        asks_alike(before, after, number) and keeps_alike(*pair) for number, pair in enumerate(zip(*trees))
    ]
    return [records[0] == records[1] and all(each)] * width if has_fakes else each


def kinds_of(record: Record) -> list[str]:
    """The kinds of a record mechanism and of the parts of a split."""
    parts = record.parts if isinstance(record, Split) else []
    return [record.kind, *(part.kind for part in parts)]


def layout(record: Record) -> Json:
    """What says which attributes are drawn, and in which columns the words of each are."""
    if isinstance(record, Split):
        return [part.words if part.kind == "single" else layout(part) for part in record.parts]
    if isinstance(record, Sample):
        return [record.reported, record.weights, [part.words for part in record.mechanisms]]
    return record.kind


def part_trees(tree: Json) -> list[Json]:
    """The mechanism of each attribute, or its fake, as the plan writes it."""
    if tree["kind"] == "split":
        return [part for each in tree["parts"] for part in part_trees(each)]
    return list(tree["fakes"] if tree["kind"] == "faked" else tree.get("parts", [tree]))


def asks_alike(before: Plan, after: Plan, number: int) -> bool:
    """Whether a question has the same answers and conditions, or more answers behind the others."""
    old, new = before.attributes[number], after.attributes[number]
    rest = [
        {name: value for name, value in each.tree.items() if name not in ("domain", "missing", "answered")}
        for each in (old, new)
    ]
    if rest[0] != rest[1] or old.missing != new.missing:
        return False
    if old.tree["domain"] == new.tree["domain"]:
        return True
    if (old.domain.kind, new.domain.kind) != ("categories", "categories") or new.may_not_apply:
        return False
    removed, added = set(removed_from(before, after, number)), list(new.domain.labels)
    left = [label for place, label in enumerate(old.domain.labels) if place not in removed]
    earlier = [plan.attributes[number].domain for plan in after.before]
    had = {label for domain in earlier if domain.kind == "categories" for label in domain.labels}
    if not left or added[: len(left)] != left or any(label in had for label in added[len(left) :]):
        return False
    parts = part_trees(before.tree["mechanism"])[number], part_trees(after.tree["mechanism"])[number]
    return new.missing == "refuse" and (not removed or all(map(can_remove, parts)))


def removed_from(before: Plan, after: Plan, number: int) -> tuple[int, ...]:
    """The numbers of the answers to a question that only the earlier plan has."""
    old, new = before.attributes[number].domain, after.attributes[number].domain
    if (old.kind, new.kind) != ("categories", "categories"):
        return ()
    left = set(new.labels)
    return tuple(place for place, label in enumerate(old.labels) if label not in left)


def can_remove(part: Json) -> bool:
    """Whether a mechanism keeps the others where answers are removed."""
    first = part.get("first", {"kind": ""})
    return bool(
        part["kind"] == "memoized" and first["kind"] == "direct" and is_fine(first["k"], int(first["keep"]))
    )


def keeps_alike(old: Json, new: Json) -> bool:
    """Whether two mechanisms of a plan keep the same for every value that both have."""
    if old == new or old["kind"] != new["kind"]:
        return bool(old == new)
    inside = {"hashed-memoized": "buckets", "pooled-memoized": "buckets", "memoized-mean": "bit"}.get(
        old["kind"]
    )
    if old["kind"] == "pooled-memoized":
        sizes = [pool_size(tree["k"], tree["buckets"]["first"]["k"]) for tree in (old, new)]
        if sizes[0] != sizes[1]:  # kept words give other functions
            return False
    first, later = [(part[inside] if inside else part).get("first") for part in (old, new)]
    if not first or first["kind"] != later["kind"]:
        return False
    if inside and first["k"] != later["k"]:
        return False
    if first["kind"] == "direct":
        return first == later or all(is_fine(each["k"], int(each["keep"])) for each in (first, later))
    (one, zero), (other, less) = [(int(each["one"]), int(each["zero"])) for each in (first, later)]
    is_alike = one == other == FULL >> 1 or (one + zero, other + less) == (FULL, FULL)
    may_turn = is_alike and is_fine(2, FULL - zero) and is_fine(2, FULL - less)
    return bool(first["k"] <= later["k"] and (may_turn or (one, zero) == (other, less)))


def first_of(mechanism: Mechanism | None) -> tuple[int, int] | None:
    """The number of values of a first round and its threshold; of bits, those of one that is not true."""
    if not isinstance(mechanism, Repeated):
        return None
    first = mechanism.rounds.first
    return (2, FULL - first.zero) if isinstance(first, Unary) else (first.k, first.keep)


Asked = tuple[Mechanism, int, tuple[int, ...]]
"""The mechanism of an attribute in a plan, its rounds, and the answers that the plan removed."""


class Chain:
    """Plans that continue each other, of which the last is looked at."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self.plans = plans
        self.carried = [carried(before, after) for before, after in zip(plans, plans[1:])]
        self.width = len(plans[-1].attributes)

    def used(self, number: int) -> list[int]:
        """The plans whose words an attribute takes."""
        used = [0]
        for later, carried_on in enumerate(self.carried, 1):
            if not carried_on[number]:
                used = [later]
            elif self.first(later - 1, number) != self.first(later, number) or self.removed(later, number):
                used.append(later)
        return used

    def removed(self, place: int, number: int) -> tuple[int, ...]:
        """The numbers of the answers that the plan before has, where an attribute is carried on."""
        is_carried = place > 0 and self.carried[place - 1][number]
        return removed_from(self.plans[place - 1], self.plans[place], number) if is_carried else ()

    def first(self, place: int, number: int) -> tuple[int, int] | None:
        """The first round of an attribute in a plan."""
        return first_of(self.plans[place].mechanisms[number])

    def strands(self) -> list[Strand]:
        """The words of the record, then those of each attribute."""
        strands = [Strand([self.plans[0].id], [])]
        for number in range(self.width):
            used = self.used(number)
            firsts = [
                (self.first(each, number), self.removed(each, number)) for each in used if len(used) > 1
            ]
            sizes = [(*first, removed) for first, removed in firsts if first]
            strands.append(Strand([self.plans[each].id for each in used], sizes))
        return strands

    def bias(self) -> int:
        """How many billionths each figure is more where a kept value may have become another."""
        turned = any(len(self.used(number)) > 1 for number in range(self.width))
        return len(self.plans) * self.width if turned else 0

    def figures(self) -> Figures:
        """The five losses of all reports to these plans."""
        plans, last = self.plans, self.plans[-1]
        rounds = sum(plan.turns or plan.rounds or 0 for plan in plans)
        is_one = all(all(carried_on) for carried_on in self.carried)
        is_one = is_one and not self.bias()
        if is_one and all(plan.tree["mechanism"] == last.tree["mechanism"] for plan in plans):
            return record_figures(last.record, rounds)
        losses = record_figures(last.record, rounds, [self.question(each) for each in range(self.width)])
        one = [record_figures(plan.record, 1)["one_report"] for plan in plans]
        return {**losses, "one_report": largest(one)}

    def question(self, number: int) -> Figures:
        """The losses of one attribute: those of all that was carried on, added up over its breaks."""
        strands: list[list[Asked]] = [[]]
        for place, plan in enumerate(self.plans):
            if place and not self.carried[place - 1][number]:
                strands.append([])
            rounds = plan.turns or plan.rounds or 0
            strands[-1].append((mechanism_at(plan, number), rounds, self.removed(place, number)))
        parts = [strand_figures(strand) for strand in strands]
        return {name: summed([part[name] for part in parts]) for name in FIGURES}


def mechanism_at(plan: Plan, number: int) -> Mechanism:
    """The mechanism of an attribute of a plan with rounds, which has one for each."""
    mechanism = plan.mechanisms[number]
    assert mechanism is not None
    return mechanism


def strand_figures(strand: list[Asked]) -> Figures:
    """The losses of an attribute whose first answers are the same in all of these plans."""
    last, total = strand[-1][0], sum(rounds for _, rounds, _ in strand)
    alike: dict[Json, tuple[Mechanism, int]] = {}
    for number, (part, rounds, _) in zip(kept_numbers(strand), strand):
        second = part.rounds.second if isinstance(part, Repeated) else None
        key = number, (second.one, second.zero) if isinstance(second, Unary) else second and second.keep
        alike[key] = part, rounds + (alike[key][1] if key in alike else 0)
    if len(alike) == 1:
        return figures(last, total)
    assert isinstance(last, Repeated)
    fresh = [fresh_loss(part, rounds) for part, rounds in alike.values()]
    whole = [figures(part, rounds)["changing_values"] or 0 for part, rounds in alike.values()]
    forever = max(figures(part, 1)["one_value_forever"] or 0 for part, _ in alike.values())
    answers = last.rounds.k + sum(len(removed) for _, _, removed in strand)
    return {
        **figures(last, 1),
        "same_value": min(logarithm(same_ratio(strand)), forever),
        "one_value_forever": forever,
        "changing_values": min(loss + sum(fresh) - own for loss, own in zip(whole, fresh)),
        "changing_values_usual": forever * min(total, answers),
    }


def kept_numbers(strand: list[Asked]) -> list[int]:
    """The number of the kept answer that each plan reports: another one wherever the first round changes, or
    answers are removed."""
    firsts = [(first_of(part), removed) for part, _, removed in strand]
    changes = (old != new or bool(removed) for (old, _), (new, removed) in zip(firsts, firsts[1:]))
    return list(accumulate(changes, initial=0))


def fresh_loss(part: Mechanism, reports: int) -> int:
    """What so many reports give away beside what is kept."""
    assert isinstance(part, Repeated)
    second = part.rounds.second
    if isinstance(second, Direct):
        return reports * logarithm(second.ratio())
    return reports * second.k * logarithm(max(up(second.one, second.zero), down(second.one, second.zero)))


def same_ratio(strand: list[Asked]) -> Fraction:
    """At least how much all reports of one value give away, which all speak for it.

    Once an added answer took over, they say nothing. What was said of an answer before it was raised is made
    worse by as much."""
    chain = [(part.rounds, rounds) for part, rounds, _ in strand if isinstance(part, Repeated)]
    total, numbers = sum(rounds for _, rounds in chain), kept_numbers(strand)
    powers = [(Fraction(1), Fraction(1))] * (numbers[-1] + 1)
    for number, (part, rounds) in zip(numbers, chain):
        (more, less), (rise, fall) = powers[number], part.powers(rounds)
        powers[number] = more * rise, less * fall
    starts = [chain[numbers.index(number)][0] for number in range(len(powers))]
    removed = [strand[numbers.index(number)][2] for number in range(len(powers))]
    firsts = [first_of(strand[numbers.index(number)][0]) for number in range(len(powers))]
    steps = list_steps([(*first, lost) for first, lost in zip(firsts, removed) if first])
    up_to = max((place for place, step in enumerate(steps) if step.odds > step.before), default=0)
    root = starts[up_to]
    if steps[up_to].k > steps[0].k or any(removed):
        return root.first.ratio()
    rise, fall = (composed(speaking, steps, up_to) for speaking in zip(*powers))
    return root.after_powers(rise, fall, total)


def composed(powers: Sequence[Fraction], steps: Sequence[Step], up_to: int) -> Fraction:
    """How much reports of all kept answers say of the root answer of a step."""
    spoken = [blurred(power, step.move, step.k) for power, step in zip(powers, steps)]
    later = early = Fraction(1)
    for place in range(len(steps) - 1, up_to - 1, -1):
        later *= spoken[place]
        if place > up_to:
            chance = Fraction(steps[place].share * (steps[place].k - steps[place - 1].k), FULL)
            later = (1 - chance) * later + chance
    for said, step in zip(spoken, steps[1 : up_to + 1]):
        early = blurred(early * said, find_move(step.odds, step.before, step.k), step.k)
    return later * early


def blurred(ratio: Fraction, move: Fraction, k: int) -> Fraction:
    """What a ratio says of an answer that became each of the others with this chance."""
    return ((1 - (k - 1) * move) * ratio + (k - 1) * move) / (move * ratio + 1 - move)
