"""Plans with ranges whose shares are smooth, for the vectors and for tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import deniable as dn
from deniable.metric import SmoothWave
from deniable.study import Plan

INCOME = dn.Range(0, 65_536, step=1, queries="smooth")
AGE = dn.Range(18, 58, queries="smooth")
ANSWERS: list[dict[str, Any]] = [
    {"income": 0, "age": 18, "smokes": "no"},
    {"income": 65_535.99, "age": 57.5, "smokes": "yes"},
    {"income": "20000", "age": "31", "smokes": "no"},
    {"income": 255.5, "age": 44, "smokes": "yes"},
]


def plans() -> dict[str, Plan]:
    """Plans with one such range, with one of few values, and beside another question."""
    smokes = ["yes", "no"]
    return {
        "cells": dn.Study({"income": INCOME}, epsilon=1.0).plan(people=1000),
        "few values": dn.Study({"age": AGE}, epsilon=2.0).plan(people=1000),
        "beside another": dn.Study(
            {"income": INCOME, "smokes": smokes}, epsilon=1.0, mechanism="sample"
        ).plan(people=1000),
        "everything": dn.Study(
            {"income": INCOME, "age": AGE, "smokes": smokes},
            epsilon=3.0,
            mechanism="split",
            missing="random",
        ).plan(people=1000),
    }


def is_smooth(plan: Plan) -> bool:
    """Whether a plan has such a range."""
    return any(isinstance(part, SmoothWave) for part in plan.document.parts)


def answers_of(plan: Plan) -> list[dict[str, Any]]:
    """A few people, one of whom gives no answer where that is allowed."""
    found = [{name: one[name] for name in plan.names} for one in ANSWERS]
    return found if plan.document.missing == "refuse" else [*found, dict.fromkeys(plan.names)]


HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "a window of nothing": ({"window": 0}, "window"),
    "more bins than there are reports": ({"window": 4096}, "outputs"),
    "a window that is no likelier": ({"keep": "1"}, "likelier"),
    "a threshold that is a number": ({"keep": 5}, "threshold"),
    "one value": ({"k": 1}, "k"),
    "reports that are kept": ({"kept": True}, "fields"),
}
"""What a wave must not be: what is changed, and why a client refuses it."""


def hostile() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Documents that no device may answer, without their ids."""
    for name, (change, reason) in HOSTILE.items():
        data = json.loads(plans()["few values"].to_json())
        if reason == "outputs":  # with a threshold that leaves nothing else to refuse
            change = {**change, "keep": str((1 << 64) - (1 << 50))}
        data["mechanism"]["parts"][0] |= change
        yield name, data, reason
