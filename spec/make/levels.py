"""Plans with questions that are reported in levels, answers to them, and plans that are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import deniable as dn
from deniable.study import Plan

INCOME = dn.Range(0, 1000, step=10, open_high=True, queries="ranges")
ALONE = dn.Study({"income": INCOME}, epsilon=1.0)
"""Four levels, whose last groups are smaller than the others."""
BESIDE = dn.Study({"income": INCOME, "sex": ["f", "m"]}, epsilon=1.0, importance={"income": 3})
"""With a question that has none."""
BIRTH = dn.Range.dates("1950-01", "2009-12", by="month", queries="ranges")
ANSWERS: list[dict[str, Any]] = [
    {"income": 0, "sex": "f", "born": "1950-01"},
    {"income": 640, "sex": "m", "born": "1999-12"},
    {"income": "12345", "sex": "f", "born": "2009-12"},
]


def plans() -> dict[str, Plan]:
    """Every way to report levels, and what a missing answer may mean."""
    studies = {
        "alone": ALONE,
        "beside another": BESIDE,
        "in a split": replace(BESIDE, mechanism="split"),
        "no answer is random": replace(BESIDE, missing="random"),
        "two of them": dn.Study({"born": BIRTH, "income": INCOME}, epsilon=2.0),
    }
    return {name: study.plan(people=1000) for name, study in studies.items()}


def answers_of(plan: Plan) -> list[dict[str, Any]]:
    """A few people, one of whom gives no answer where that is allowed."""
    asked = [name for name in ANSWERS[0] if name in plan.names]
    some = [{name: answers[name] for name in asked} for answers in ANSWERS]
    return some if plan.document.missing == "refuse" else [*some, {**some[0], "income": None}]


def changes() -> Iterator[tuple[str, str, Plan, Callable[[Any], None]]]:
    """What is changed in a plan, why it is refused then, and how it is changed."""
    plan = ALONE.plan(people=1000)

    def attribute(at: int, **fields: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            data["attributes"][at] |= fields

        return change

    def domain(**fields: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            data["attributes"][0]["domain"] |= fields

        return change

    def base(**fields: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            data["attributes"][0]["domain"]["factors"][0]["domain"] |= fields

        return change

    def rename(data: Any) -> None:
        data["attributes"][0]["name"] = "income by 32"
        data["attributes"][0]["domain"]["divisor"] = 32

    def no_tree(data: Any) -> None:
        data["attributes"].pop(1)
        data["mechanism"]["parts"].pop(1)

    def hold_two(data: Any) -> None:
        data["mechanism"]["reported"] = 2

    def drop_own(data: Any) -> None:
        data["attributes"].pop()
        data["mechanism"]["parts"].pop()

    factor = {"name": "income", "domain": {"kind": "categories", "labels": ["a", "b", "c"]}}
    for why, name, change in (
        ("coarse", "a level of nothing", domain(factors=[])),
        ("coarse", "a divisor of one", domain(divisor=1)),
        ("coarse", "a divisor of all values", domain(divisor=100)),
        ("type", "a divisor that is no integer", domain(divisor="32")),
        ("fields", "a level with a shape", domain(shape=[4])),
        ("kind", "a level of labels", domain(factors=[factor])),
        ("tables", "a wrong divisor", domain(divisor=50)),
        ("fit", "a wrong divisor in its name, too", rename),
        ("tables", "another name", attribute(0, name="income in 4")),
        ("tables", "a level of another range", base(low=10)),
        ("tables", "a level with another policy", attribute(0, missing="random")),
        ("tables", "no level of single values", drop_own),
        ("tables", "levels of no tree", no_tree),
        ("tables", "two levels in a report", hold_two),
    ):
        yield name, why, plan, change
