"""Plans with groups that the collector knows anyway, answers to them, and plans that are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import deniable as dn
from deniable.study import Plan

TRIAL = dn.Study(
    {
        "arm": ["A", "B"],
        "smoker": ["yes", "no"],
        "age": dn.Range(18, 78, step=12, open_high=True),
    },
    epsilon=1.0,
    known=["arm"],
    survey=dn.Texts(
        questions={"arm": "Which letter is on your invitation?", "smoker": "Do you smoke?"},
        labels={"arm": {"de": ["A", "B"]}},
        pages=[["arm", "smoker"], ["age"]],
    ),
)
"""Two arms of an experiment, and two questions."""
ANSWERS: list[dict[str, Any]] = [
    {"arm": "B", "smoker": "yes", "age": 43},
    {"arm": "A", "smoker": "no", "age": "99"},
]


def plans() -> dict[str, Plan]:
    """Known groups beside every kind of record mechanism."""
    alone = dn.Study({"arm": ["A", "B"], "smoker": ["yes", "no"]}, epsilon=1.0, known=["arm"])
    asked = {"arm": ["A", "B"], "region": dn.Range(0, 3), "smoker": ["yes", "no"], "sex": ["f", "m"]}
    tables = dn.Study(asked, epsilon=1.0, known=["region", "arm"], together=[("sex", "smoker")])
    studies = {
        "one question": alone,
        "two questions": TRIAL,
        "no answer is a value": replace(TRIAL, missing="value"),
        "split, no answer is random": replace(TRIAL, missing="random", mechanism="split"),
        "faked": replace(TRIAL, mechanism="faked"),
        "two known, and a table": tables,
        "kept": replace(TRIAL, epsilon=None, epsilon_first=1.0, epsilon_forever=2.0, rounds=3),
    }
    return {name: study.plan(people=1000) for name, study in studies.items()}


def answers_of(plan: Plan) -> list[dict[str, Any]]:
    """A few people, one of whom does not answer where that is allowed."""
    if "age" not in plan.names:
        both = [{**one, "region": i, "sex": "fm"[i]} for i, one in enumerate(ANSWERS)]
        names = ("arm", "smoker") if plan.names == ("smoker",) else ("arm", "region", "smoker", "sex")
        return [{name: one[name] for name in names} for one in both]
    lacking = [] if plan.document.missing == "refuse" else [{**ANSWERS[0], "smoker": None}]
    return [*ANSWERS, *lacking]


def changes() -> Iterator[tuple[str, str, Plan, Callable[[Any], None]]]:
    """What is changed in a plan, why it is refused then, and how it is changed."""
    plan = TRIAL.plan(people=1000)

    def known(value: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            data["known"] = value

        return change

    def factor(**fields: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            data["known"][0] |= fields

        return change

    def texts(**fields: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            data["texts"] |= fields

        return change

    arm = {"name": "arm", "domain": {"kind": "categories", "labels": ["A", "B"]}}
    many = {"kind": "categories", "labels": [str(i) for i in range(257)]}
    grid = {"kind": "grid", "south": 0, "west": 0, "north": 10**8, "east": 10**8, "rows": 2, "columns": 2}
    for why, name, change in (
        ("type", "no list", known({})),
        ("known", "nothing", known([])),
        ("known", "a question twice", known([arm, arm])),
        ("known", "asked secretly, too", known([arm, {**arm, "name": "smoker"}])),
        ("known", "too many groups", known([{"name": "arm", "domain": many}])),
        ("kind", "a grid", factor(domain=grid)),
        ("fields", "an unknown field", factor(secret=True)),
        ("text", "no name", factor(name="")),
        ("texts", "a known question on no page", texts(pages=[["smoker"], ["age"]])),
    ):
        yield name, why, plan, change
