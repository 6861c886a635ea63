"""Plans that ask questions together, answers to them, and plans that are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import deniable as dn
from deniable.study import Plan

SMOKING = dn.Study(
    {
        "age": dn.Range(18, 78, step=12, open_high=True),
        "smoker": ["yes", "no"],
        "sex": ["f", "m"],
        "mood": dn.Range.scale(1, 5),
    },
    epsilon=1.0,
    together=[("age", "smoker"), ("sex", "smoker")],
    survey=dn.Texts(
        questions={"smoker": "Do you smoke?"},
        labels={"sex": {"de": ["w", "m"]}},
        pages=[["age", "sex"], ["smoker", "mood"]],
    ),
)
"""Two tables that share a question, and a question beside them."""
BITS = {name: ["0", "1"] for name in "abc"}
ANSWERS: list[dict[str, Any]] = [
    {"age": 43, "smoker": "yes", "sex": "m", "mood": 5},
    {"age": "99", "smoker": "no", "sex": "f", "mood": "1"},
]


def plans() -> dict[str, Plan]:
    """Every way to ask together, and what a missing answer may mean."""
    studies = {
        "two tables": SMOKING,
        "no answer is a value": replace(SMOKING, missing="value"),
        "no answer is random": replace(SMOKING, missing="random", mechanism="split"),
        "a view of three": dn.Study(BITS, epsilon=1.0, together=[("a", "b", "c")]),
        "kept": replace(SMOKING, epsilon=None, epsilon_first=1.0, epsilon_forever=2.0, rounds=3),
        "faked": replace(SMOKING, mechanism="faked"),
    }
    return {name: study.plan(people=1000) for name, study in studies.items()}


def answers_of(plan: Plan) -> list[dict[str, Any]]:
    """A few people, one of whom gives half of an answer where that is allowed."""
    if "a x b x c" in plan.names:
        return [{"a": "0", "b": "1", "c": "1"}, {"a": "1", "b": "0", "c": "1"}]
    lacking = [] if plan.document.missing == "refuse" else [{**ANSWERS[0], "smoker": None}]
    return [*ANSWERS, *lacking]


def changes() -> Iterator[tuple[str, str, Plan, Callable[[Any], None]]]:
    """What is changed in a plan, why it is refused then, and how it is changed."""
    plan = SMOKING.plan(people=1000)

    def attribute(at: int, **fields: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            data["attributes"][at] |= fields

        return change

    def factor(which: int, table: int = 0, **fields: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            data["attributes"][table]["domain"]["factors"][which] |= fields

        return change

    def factors(change: Callable[[list[Any]], list[Any]]) -> Callable[[Any], None]:
        def apply(data: Any) -> None:
            domain = data["attributes"][0]["domain"]
            domain["factors"] = change(domain["factors"])

        return apply

    def texts(**fields: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            data["texts"] |= fields

        return change

    other = {"kind": "categories", "labels": ["no", "yes"]}
    many = {"kind": "categories", "labels": [str(i) for i in range(15_000)]}
    grid = {"kind": "grid", "south": 0, "west": 0, "north": 10**8, "east": 10**8, "rows": 2, "columns": 2}
    for why, name, change in (
        ("product", "one factor", factors(lambda some: some[:1])),
        ("product", "a factor twice", factors(lambda some: [*some, some[0]])),
        ("product", "too many cells", factor(1, domain=many)),
        ("kind", "a grid in a table", factor(1, domain=grid)),
        ("kind", "a table in a table", factor(0, domain={"kind": "product", "factors": []})),
        ("fields", "an unknown field", factor(1, known=True)),
        ("text", "a factor without a name", factor(1, name="")),
        ("type", "a name that is no text", factor(1, name=1)),
        ("type", "factors that are no list", attribute(0, domain={"kind": "product", "factors": {}})),
        ("tables", "another name", attribute(0, name="smoker x age")),
        ("tables", "a question with other values", factor(1, 1, domain=other)),
        ("tables", "a question with another policy", attribute(1, missing="random")),
        ("texts", "a text of a table", texts(attributes={"age x smoker": {"help": {"en": "a"}}})),
        ("texts", "a table on a page", texts(pages=[["age x smoker", "sex x smoker"], ["mood"]])),
    ):
        yield name, why, plan, change
