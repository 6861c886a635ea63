"""Writes plans whose questions depend on each other, with the best guesses by all their reports together."""

import json
from typing import Any

import deniable as dn
from deniable.explain.guesses import bound_related, guess_related
from deniable.plan.attribute import list_related

WORK: dict[str, Any] = {"works": ["full", "part", "none"], "job": ["shop", "farm"], "boss": ["yes", "no"]}
CHAIN: dict[str, Any] = {name: ["yes", "no"] for name in "abc"}
AGE = dn.Range(0, 20, step=5, privacy="metric", epsilon=0.1)
STUDIES = [
    *(
        dn.Study(
            WORK,
            epsilon,
            mechanism=mechanism,
            only_if={"job": {"works": ["full", "part"]}, "boss": {"works": "full"}},
        )
        for mechanism in ("split", "sample", "faked")
        for epsilon in (0.3, 3.0)
    ),
    dn.Study(CHAIN, 0.5, mechanism="split", only_if={"b": {"a": "yes"}, "c": {"b": "yes"}}),
    dn.Study({"works": ["yes", "no"], "age": AGE}, 1.0, mechanism="split", only_if={"age": {"works": "yes"}}),
]

for study in STUDIES:
    plan = study.plan(1000)
    (names,) = list_related(plan.document.attributes)
    exact = guess_related(plan.document, names)
    print(
        json.dumps(
            {
                "plan": plan.to_json(),
                "exact": exact and {one.attribute: one.guess for one in exact},
                "bounds": {one.attribute: float(one.bound) for one in bound_related(plan.document, names)},
                "blind": {one.attribute: float(one.blind) for one in bound_related(plan.document, names)},
            }
        )
    )
