"""Writes plans with a range in levels, with what the Python library says is guessed of its groups."""

import json

import deniable as dn
from deniable.domain import Coarse
from deniable.explain.guesses import bound_group

INCOME = dn.Range(0, 4096, queries="ranges")
STUDIES = [
    dn.Study(questions, epsilon)
    for epsilon in (1.0, 3.0)
    for questions in (
        {"income": INCOME},
        {"income": INCOME, "smokes": ["yes", "no"], "word": dn.Text("a-z", longest=3)},
        {"income": dn.Range(0, 5000, queries="ranges")},
    )
]

for study in STUDIES:
    plan = study.plan(10_000)
    coarsest, *_, own = plan.document.levels["income"]
    domain, place = coarsest.domain, plan.document.attributes.index(coarsest)
    assert isinstance(domain, Coarse)
    part, chance = plan.document.parts[place], float(plan.mechanism.chance(place))
    print(
        json.dumps(
            {
                "plan": plan.to_json(),
                "bound": bound_group(plan.document, "income"),
                "report": part.blind + chance * (part.success() - part.blind),
                "reported": part.success(),
                "blind": domain.divisor / own.domain.k,
                "groups": domain.k,
            }
        )
    )
