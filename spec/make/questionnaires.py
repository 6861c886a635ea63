"""Plans with questions that are several attributes or apply only to some, answers to them, and wrong ones."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import deniable as dn
from deniable.study import Plan

TABLES = """\
[attributes.works]
yes_no = true

[attributes.hours]
low = 0
high = 60
step = 20
only_if = { works = "yes" }
missing = true

[attributes.media]
several = ["tv", "radio", "web"]
question = { en = "Which media do you use?", de = "Welche Medien nutzen Sie?" }
labels = { de = ["Fernsehen", "Radio", "Netz"] }
other = true

[attributes.mood]
scale = [1, 7]
ends = { en = ["not at all", "very much"], de = ["gar nicht", "sehr"] }
"""
"""Questions of a study file, to which a test adds one that is metric."""
WORK = dn.Study(
    {
        "works": {"yes_no": True},
        "hours": dn.Range(0, 60, step=20),
        "media": dn.Several(["tv", "web"]),
        "mood": dn.Range.scale(1, 5),
        "moved": dn.Range.dates("2024-11-01", "2025-02-28"),
    },
    epsilon=2.0,
    missing={"hours": True, "mood": "random"},
    only_if={"hours": {"works": "yes"}, "moved": {"media": "web"}},
    mechanism="split",
    protocol="grr",
    survey=dn.Texts(
        questions={"media": "Which?"},
        labels={"media": {"de": ["Fernsehen", "Netz"]}},
        ends={"mood": {"en": ["low", "high"], "de": ["schlecht", "gut"]}},
        pages=[["works", "hours"], ["media", "mood", "moved"]],
        other=["media"],
    ),
)
"""Every kind of question whose values are all alike."""
DISTANT = dn.Study(
    {
        "works": ["yes", "no"],
        "age": dn.Range(0, 100, step=20, privacy="metric", epsilon=0.05),
        "pay": dn.Number(0, 1000),
    },
    epsilon=2.0,
    missing={"age": True},
    only_if={"age": {"works": "yes"}, "pay": {"works": "no"}},
    mechanism="split",
)
"""Metric values and numbers that some people have not."""
ANSWERS: dict[str, list[dict[str, Any]]] = {
    "work": [
        {"works": "yes", "hours": 45, "media": ["tv", "web"], "mood": 5, "moved": "2025-01-31"},
        {"works": "no", "hours": None, "media": [], "mood": None, "moved": None},
        {"works": "yes", "hours": None, "media": "web; tv", "mood": "3", "moved": "2024-12"},
        {"works": "no", "hours": "not applicable", "media: tv": "yes", "media: web": "no", "mood": 1}
        | {"moved": None},
    ],
    "distant": [
        {"works": "yes", "age": 47, "pay": None},
        {"works": "yes", "age": None, "pay": None},
        {"works": "no", "age": None, "pay": 400},
    ],
}


EXPECTED = replace(
    WORK,
    missing={"hours": True, "media": True, "mood": "random"},
    answered={"hours": 0.4, "media": 0.9, "moved": 0.025},
)
"""The same questions, some of which only some people are expected to answer."""


def plans() -> dict[str, Plan]:
    studies = {"work": WORK, "distant": DISTANT, "expected": EXPECTED}
    return {name: study.plan(people=1000) for name, study in studies.items()}


REFUSED: list[dict[str, Any]] = [
    {"works": "no", "hours": 45, "media": [], "mood": 5},
    {"works": "yes", "hours": "not applicable", "media": [], "mood": 5},
    {"works": "yes", "hours": 45, "media": ["radio"], "mood": 5},
    {"works": "yes", "hours": 45, "media": ["tv"], "media: tv": "yes", "mood": 5},
    {"works": "yes", "hours": 45, "media": 3, "mood": 5},
    {"works": "yes", "hours": 45, "mood": 5},
    {"works": "yes", "hours": 45, "media": [], "mood": 4.5},
    {"works": "yes", "hours": 45, "media": [], "mood": 6},
    {"works": "yes", "hours": 45, "media": ["web"], "mood": 1, "moved": "2025-03"},
    {"works": "yes", "hours": 45, "media": ["web"], "mood": 1, "moved": "2025-13"},
    {"works": "yes", "hours": 45, "media": ["web"], "mood": 1, "moved": 2025},
    {"works": "yes", "hours": 45, "media": ["tv"], "mood": 1, "moved": "2025-01"},
]
"""Answers to the first plan that a client refuses."""


def changes() -> Iterator[tuple[str, str, Plan, Callable[[Any], None]]]:
    """What is changed in a plan, why it is refused then, and how it is changed."""
    work, distant, expected = plans().values()

    def attribute(name: str, **fields: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            one = next(one for one in data["attributes"] if one["name"] == name)
            for key, value in fields.items():
                one.pop(key, None)
                if value is not None:
                    one[key] = value

        return change

    def condition(name: str, *values: object) -> dict[str, Any]:
        return {"name": name, "values": list(values)}

    def texts(**fields: Any) -> Callable[[Any], None]:
        return lambda data: data["texts"].update(fields)

    yes = {"kind": "categories", "labels": ["no", "yes"]}
    for why, name, change in (
        ("canonical", "a policy that is the plan's", attribute("works", missing="refuse")),
        ("missing", "an unknown policy", attribute("works", missing="ask")),
        ("type", "a policy that is no text", attribute("works", missing=True)),
        ("fields", "an unknown field", attribute("works", optional=True)),
        ("only-if", "a condition on nobody", attribute("hours", only_if=condition("age", "yes"))),
        ("only-if", "a condition on a range", attribute("hours", only_if=condition("mood", "1"))),
        ("only-if", "a condition without values", attribute("hours", only_if=condition("works"))),
        ("only-if", "all values", attribute("hours", only_if=condition("works", "yes", "no"))),
        ("only-if", "a value twice", attribute("hours", only_if=condition("works", "yes", "yes"))),
        ("only-if", "another value", attribute("hours", only_if=condition("works", "maybe"))),
        ("type", "a value that is no text", attribute("hours", only_if=condition("works", 1))),
        ("fields", "a condition without a name", attribute("hours", only_if={"values": ["yes"]})),
        ("questions", "an option of another name", attribute("media: tv", several="medium")),
        ("questions", "an option with other values", attribute("media: tv", domain=yes)),
        ("questions", "one option", attribute("media: tv", several=None)),
        ("questions", "options with two policies", attribute("media: tv", missing="random")),
        ("questions", "an answer to nothing", attribute("works", answers="pay")),
        ("answered", "nobody answers", attribute("hours", answered=0)),
        ("answered", "everybody answers", attribute("hours", answered=1000)),
        ("answered", "more than everybody answers", attribute("hours", answered=1001)),
        ("answered", "some answer what everybody does", attribute("works", answered=400)),
        ("answered", "some answer, and nobody knows who", attribute("mood", answered=400)),
        ("type", "a share who answer that is a text", attribute("hours", answered="400")),
        ("type", "a share who answer that is true", attribute("hours", answered=True)),
        ("range", "an unknown unit", unit("mood", "week")),
        ("type", "a unit that is no text", unit("mood", 1)),
        ("range", "steps of two", unit("hours", "whole")),
        ("range", "years after 9999", unit("moved", "year", low=9998)),
        ("range", "months before the year 1", unit("moved", "month", low=11)),
        ("texts", "a question on two pages", texts(pages=[["works", "hours"], ["works"]])),
        ("texts", "a question on no page", texts(pages=[["works", "hours", "media"], ["mood"]])),
        ("type", "an empty page", texts(pages=[["works", "hours", "media", "mood", "moved"], []])),
        ("canonical", "no pages", texts(pages=[])),
        ("texts", "three ends", texts(attributes={"mood": {"ends": {"en": ["a", "b", "c"]}}})),
        ("texts", "ends of no scale", texts(attributes={"works": {"ends": {"en": ["a", "b"]}}})),
        ("language", "ends in another language", texts(attributes={"mood": {"ends": {"de": ["a", "b"]}}})),
        ("texts", "labels of too few options", texts(attributes={"media": {"labels": {"de": ["a"]}}})),
        ("canonical", "other that is false", texts(attributes={"works": {"other": False}})),
        ("type", "other that is a text", texts(attributes={"works": {"other": "else"}})),
        ("texts", "other of a scale", texts(attributes={"mood": {"other": True}})),
        ("texts", "a text of an option", texts(attributes={"media: tv": {"help": {"en": "a"}}})),
    ):
        yield name, why, work, change
    for why, name, change in (
        ("only-if", "in a circle", attribute("age: answered", only_if=condition("age: answered", "yes"))),
        ("no-answer", "no answer to a metric attribute", attribute("age", missing="value")),
        ("answered", "some say whether they answer", attribute("age: answered", answered=400)),
        ("questions", "an answer to another one", attribute("age: answered", answers="pay")),
        ("questions", "an answer that is always there", attribute("age", only_if=condition("works", "no"))),
    ):
        yield name, why, distant, change
    yield "options that others answer", "questions", expected, attribute("media: tv", answered=None)


def unit(name: str, to: object, **numbers: int) -> Callable[[Any], None]:
    """Another unit of a range, and perhaps other numbers."""

    def change(data: Any) -> None:
        domain = next(one["domain"] for one in data["attributes"] if one["name"] == name)
        domain |= {"unit": to, **numbers}

    return change


def changed(plan: Plan, change: Callable[[Any], None]) -> Mapping[str, Any]:
    """The document, changed, with losses that are enough for anything."""
    data = copy.deepcopy(json.loads(plan.to_json()))
    change(data)
    return data  # type: ignore[no-any-return]


SPELLED = dn.Study(
    {
        "works": ["yes", "no"],
        "hours": dn.Range(0, 60, step=20),
        "media": dn.Several(["tv", "5", "caf\u00e9"], exactly=2),
    },
    epsilon=3.0,
    only_if={"hours": {"works": "yes"}},
    missing={"media": "random"},
)
WORKS = {"works": "yes", "hours": 5, "media": ["tv", "5"]}
SPELLINGS: dict[str, dict[str, Any]] = {
    "a text": {"media": "tv; 5"},
    "numbers": {"media": ["tv", 5.0]},
    "another form of Unicode": {"media": ["tv", "cafe\u0301"]},
    "an option twice": {"media": ["tv", "tv", "5"]},
    "other white space": {"media": "\ufefftv\u2003;5"},
    "what is no white space": {"media": "\x1ctv;5"},
    "no option": {"media": []},
    "none of these": {"media": "none of these"},
    "no answer": {"media": None},
    "an unknown option": {"media": ["tv", "web"]},
    "too few": {"media": ["tv"]},
    "too many": {"media": ["tv", "5", "caf\u00e9"]},
    "no list": {"media": 5},
    "two ways": {"media: tv": "yes"},
    "no answer, two ways": {"media": None, "media: tv": "yes"},
    "an answer to nothing": {"shoes": 5},
    "no answer to nothing": {"shoes": None},
    "what does not apply": {"works": "no"},
    "what does not apply, by its name": {"works": "no", "hours": "not applicable"},
    "what applies": {"hours": "not applicable"},
    "what is not answered": {"hours": None},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "two of three options": {"media: tv": "yes", "media: 5": "yes", "media: caf\u00e9": "no"},
    "one of three options": {"media: tv": "yes", "media: 5": "no", "media: caf\u00e9": "no"},
    "one option, the others missing": {"media: tv": "yes"},
    "true for an option": {"media: tv": True, "media: 5": True, "media: caf\u00e9": False},
}


def spelled() -> Iterator[dict[str, Any]]:
    """Answers in all ways in which people give them; no report where they are refused."""
    plan, secret = SPELLED.plan(people=1000), bytes(range(32))
    without = {name: answer for name, answer in WORKS.items() if name != "media"}
    given = {name: {**WORKS, **changed} for name, changed in SPELLINGS.items()}
    given |= {name: {**without, **options} for name, options in OPTIONS.items()}
    for name, answers in given.items():
        try:
            report = dn.Client(plan, secret=secret).report(answers).to_bytes().hex()
        except dn.DeniableError:
            report = None
        case = {"name": f"answers, {name}", "plan": plan.to_json(), "secret": secret.hex(), "round": 1}
        yield {**case, "answers": answers, "report": report}
