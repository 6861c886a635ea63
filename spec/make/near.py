"""Plans whose reports are near the truth, of options with a limit and of yes/no answers, and hostile ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import deniable as dn
from deniable.records import Split, near_bits, near_sets
from deniable.study import Plan

DISHES = [f"dish {number}" for number in range(10)]
YES_NO = ["yes", "no"]
WORDS = ((0, 0), (0, -1), (-1, 0), (-1, -1), (-1, 1 << 63))
"""The ends of both draws, and the middle of the second."""


def plans() -> dict[str, Plan]:
    exact = dn.Study({"dishes": dn.Several(DISHES, exactly=3)}, epsilon=4.0)
    some = dn.Study({"dishes": dn.Several(DISHES[:5], at_most=2)}, epsilon=1.0)
    beside = dn.Study(
        {"dishes": dn.Several(DISHES[:5], exactly=2), "diet": ["all", "some", "none"]}, epsilon=6.0
    )
    battery = {f"question {number}": YES_NO for number in range(5)}
    bits = dn.Study(battery, epsilon=2.0, mechanism="near")
    both = battery | {"diet": ["all", "some", "none"]}
    named = Split((near_bits(5, 4.0), dn.grr(3, 0.5)))
    near = {
        "three of ten": exact.plan(people=1000),
        "at most two of five": some.plan(people=1000),
        "two of five, beside a question": beside.plan(people=1000),
        "five answers": bits.plan(people=1000),
        "five answers, beside a question": Plan.of(both, named, people=1000),
        "five answers, no answer is random": Plan.of(battery, near_bits(5, 3.0), 1000, missing="random"),
        "three of ten, by sampling": dn.Study(
            {"dishes": dn.Several(DISHES, exactly=3)}, epsilon=1.0, mechanism="sample"
        ).plan(people=1000),
    }
    kinds = [near[name].mechanism.kind for name in near]
    assert kinds == ["near-sets", "near-sets", "split", "near-bits", "split", "near-bits", "sample"]
    return near


def answers_of(plan: Plan) -> list[dict[str, Any]]:
    """People with the first options, the last ones, and where that is allowed one or none."""
    options = [one for one in plan.document.attributes if one.several is not None]
    diet = {"diet": "some"} if "diet" in plan.names else {}
    if not options:
        first = dict(zip(plan.names, ["yes", "no", "no", "yes", "yes"], strict=False))
        lacking = {"question 2": None} if plan.document.missing == "random" else {}
        second = first | dict.fromkeys(("question 1", "question 4"), "no")
        return [first | diet, second | lacking | diet]
    most = options[0].exactly or options[0].at_most
    listed = [option.option for option in options]
    some = [listed[1::3][:most], listed[-(most or 0) :]]
    if options[0].at_most is not None:
        some += [listed[2:3], []]
    return [{"dishes": chosen} | diet for chosen in some]


REFUSED: list[dict[str, Any]] = [
    {"dishes": DISHES[:2]},
    {"dishes": DISHES[:4]},
    {"dishes": []},
    {f"dishes: {dish}": "no" for dish in DISHES},
]
"""Answers to the first plan that a client refuses, and to the last one as well."""


def changes() -> Iterator[tuple[str, str | None, Plan, Callable[[Any], None]]]:
    """What is changed in a plan, why it is refused then, and how it is changed."""
    made = plans()
    sets, free, bits = (made[name] for name in ("three of ten", "at most two of five", "five answers"))

    def mechanism(**fields: Any) -> Callable[[Any], None]:
        return lambda data: data["mechanism"].update(fields)

    def options(**fields: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            for one in data["attributes"]:
                one.update(fields)
                for name in [name for name, value in one.items() if value is None]:
                    del one[name]

        return change

    def first(**fields: Any) -> Callable[[Any], None]:
        return lambda data: data["attributes"][0].update(fields)

    for plan, name, why, change in (
        (sets, "one option", "near", mechanism(options=1)),
        (sets, "more options than a hundred", "near", mechanism(options=101)),
        (sets, "nothing is chosen", "near", mechanism(chosen=0)),
        (sets, "all are chosen", "near", mechanism(chosen=10)),
        (sets, "fewer than none are spare", "near", mechanism(spare=-1)),
        (sets, "more are spare than are chosen", "near", mechanism(spare=4)),
        (sets, "a report of nothing", "near", mechanism(size=0)),
        (sets, "a report of everything", "near", mechanism(size=10)),
        (sets, "nothing is near", "near", mechanism(least=3)),
        (sets, "everything is near", "near", mechanism(least=0)),
        (sets, "every report is near", "near", mechanism(size=9)),
        (sets, "more reports than a word picks from", "near", mechanism(options=100, size=20)),
        (sets, "a size that is no number", "type", mechanism(size="2")),
        (sets, "an unknown field", "fields", mechanism(parts=[])),
        (sets, "a threshold that is a number", "threshold", mechanism(keep=5)),
        (sets, "far is as likely as near", "likelier", mechanism(keep=str((3 << 64) // 45))),
        (sets, "far is not quite as likely", "near", _unlimited((3 << 64) // 45 + 64)),
        (sets, "another number is chosen", "near", options(exactly=2)),
        (sets, "fewer may be chosen", "near", options(exactly=None, at_most=3)),
        (sets, "no limit", "near", options(exactly=None)),
        (sets, "an answer may be random", "near", lambda data: data.update(missing="random")),
        (sets, "no answer is a value", "fit", lambda data: data.update(missing="value")),
        (sets, "fewer options than there are", "parts", mechanism(options=9)),
        (sets, "two limits", "questions", options(at_most=3)),
        (sets, "limits that differ", "questions", first(exactly=2)),
        (sets, "all options", "questions", options(exactly=10)),
        (sets, "no options", "questions", options(exactly=0)),
        (sets, "a limit that is a text", "type", first(exactly="3")),
        (free, "no option may be left free", "near", mechanism(spare=0)),
        (free, "just as they are", None, mechanism()),
        (bits, "one answer", "near", mechanism(answers=1)),
        (bits, "more answers than thirty-one", "near", mechanism(answers=32)),
        (bits, "nothing is near", "near", mechanism(least=6)),
        (bits, "everything is near", "near", mechanism(least=0)),
        (bits, "far is as likely as near", "likelier", mechanism(keep=str((6 << 64) // 32))),
        (bits, "an answer too few", "parts", mechanism(answers=4, least=4)),
        (bits, "a limit without options", "questions", first(at_most=1)),
        (bits, "just as they are", None, mechanism()),
    ):
        yield name, why, plan, change


def _unlimited(keep: int) -> Callable[[Any], None]:
    """A threshold that is just large enough, in a plan whose options have no limit."""

    def change(data: Any) -> None:
        data["mechanism"]["keep"] = str(keep)
        for one in data["attributes"]:
            del one["exactly"]

    return change


def marks() -> Iterator[tuple[str, Plan, list[int]]]:
    """Reports with too many options or too few, by the options that they name."""
    made = plans()
    exact, free = made["three of ten"], made["at most two of five"]
    for number in (0, 1, 3, 10):
        yield f"three of ten, a report of {number}", exact, list(range(number))
    yield "at most two of five, a report of two", free, [1, 3]


def special() -> tuple[Plan, dict[str, Any], list[list[int]]]:
    """A plan, an answer, and words whose reports are published with near sets."""
    full = 1 << 64
    answer = {"dishes": [DISHES[number] for number in (1, 4, 7)]}
    return plans()["three of ten"], answer, [[word % full for word in words] for words in WORDS]


def sizes() -> dict[str, Plan]:
    """Plans whose losses are compared as fractions: of other numbers of options and answers."""
    found = dict(plans())
    for options, chosen, at_most, epsilon in ((4, 2, False, 0.3), (20, 5, True, 2.0), (50, 3, False, 1.0)):
        names = [f"{number}" for number in range(options)]
        limit = {"at_most" if at_most else "exactly": chosen}
        study = dn.Study({"some": dn.Several(names, **limit)}, epsilon=epsilon, mechanism="near")
        found[f"{chosen} of {options}, epsilon {epsilon}"] = study.plan(people=1000)
    battery = {f"question {number}": YES_NO for number in range(31)}
    found["thirty-one answers"] = Plan.of(battery, near_bits(31, 5.0), people=1000)
    found["two answers"] = Plan.of({"a": YES_NO, "b": YES_NO}, near_bits(2, 2.5), people=1000)
    assert near_sets(50, 3, 1.0) == found["3 of 50, epsilon 1.0"].mechanism
    return found
