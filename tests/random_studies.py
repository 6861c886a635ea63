"""Study files of mixed kinds, drawn from a seed: what several surfaces state of one plan is compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import deniable as dn
from deniable.errors import DeniableError
from deniable.study import Plan
from tests.cases import names

_KINDS = tuple(names("labels labels labels scale range levels metric several number text code"))
_REPEATED = ("labels", "labels", "scale", "range", "several")


class DrawnStudy(NamedTuple):
    """A study in a file, for how many people it is planned, and its plan."""

    file: Path
    people: int
    plan: Plan


def draw_studies(count: int, folder: Path, seed: int = 1) -> Iterator[DrawnStudy]:
    """So many studies that can be planned; what cannot be asked so is refused, and drawn again."""
    draws, made = np.random.default_rng(seed), 0
    while made < count:
        people = int(10 ** draws.uniform(2, 6.5))
        file = folder / f"study-{made}.toml"
        file.write_text(_draw_study(draws), encoding="utf-8")
        try:
            plan = dn.Study.read(file).plan(people=people)
        except DeniableError:
            continue
        made += 1
        yield DrawnStudy(file, people, plan)


def _draw_study(draws: np.random.Generator) -> str:
    is_repeated = draws.random() < 0.2
    kinds = draws.choice(_REPEATED if is_repeated else _KINDS, int(draws.integers(1, 5))).tolist()
    questions = {f"{kind}{j}": _draw_question(draws, kind) for j, kind in enumerate(kinds)}
    labels = [name for name, question in questions.items() if "values" in question]
    lines = []
    if len(labels) >= 2:
        first, second = labels[:2]
        relation = int(draws.integers(4))
        if relation == 0:
            lines.append(f'together = [["{first}", "{second}"]]')
        elif relation == 1:
            questions[second]["only_if"] = {first: questions[first]["values"][0]}
        elif relation == 2:
            questions[first]["known"] = True
    if draws.random() < 0.3:
        lines.append(f'mechanism = "{draws.choice(["split", "sample", "faked"])}"')
    if draws.random() < 0.3:
        lines.append(f'protocol = "{draws.choice(["grr", "oue", "sue", "olh", "hr", "ss"])}"')
    epsilon = round(float(draws.uniform(0.3, 4.0)), 2)
    if is_repeated:
        lines += ["[repeat]", f"epsilon_first = {round(epsilon / 2, 3)}", f"epsilon_forever = {epsilon}"]
        lines.append(f"rounds = {draws.integers(2, 6)}")
    else:
        lines.insert(0, f"epsilon = {epsilon}")
    lines += ["[attributes]", *(f"{name} = {_write(question)}" for name, question in questions.items())]
    return "\n".join(lines) + "\n"


def _draw_question(draws: np.random.Generator, kind: str) -> dict[str, Any]:
    size = int(draws.integers(2, 9))
    step = int(draws.choice([1, 5, 10]))
    questions: dict[str, dict[str, Any]] = {
        "labels": {"values": [f"v{i}" for i in range(size)]},
        "scale": {"scale": [1, size + 1]},
        "range": {"low": 0, "high": 10 * size, "step": step},
        "levels": {"low": 0, "high": 256, "step": 1, "queries": "ranges"},
        "metric": {"low": 0, "high": 10 * size, "step": 10, "privacy": "metric", "epsilon": 0.02},
        "several": {"several": [f"o{i}" for i in range(min(size, 4))]},
        "number": {"low": 0, "high": 100 * size, "mean": True},
        "text": {"alphabet": "a-z", "longest": size},
        "code": {"bits": 4 * size},
    }
    return questions[kind]


def _write(value: object) -> str:
    """A value as TOML has it."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_write(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_write, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
