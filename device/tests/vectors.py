"""The vectors of the specification, for tests that need nothing but this package."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from deniable_device import Plan, Refused

ROOT = Path(__file__).parents[2]
Case = dict[str, Any]
SHOWN = 5


def read_vectors(*files: str) -> list[Case]:
    """All vectors of some files."""
    folder = ROOT / "spec" / "vectors"
    return [case for file in files for case in json.loads((folder / f"{file}.json").read_text("utf-8"))]


read_plan = lru_cache(maxsize=None)(Plan)
"""A verified plan; most vectors share theirs with others."""


def reason_of(action: Callable[[], object]) -> str | None:
    """For which reason something is refused."""
    try:
        action()
    except Refused as refusal:
        return refusal.reason
    return None


def check_each(check: Callable[[Case], object], cases: list[Case]) -> None:
    """Checks every case, then fails with the names of those that failed, or if there was none."""
    failures = []
    for case in cases:
        try:
            check(case)
        except Exception as error:  # noqa: PERF203
            failures.append(f"{case['name']}: {type(error).__name__}: {error}")
    assert cases
    assert not failures, "\n".join([f"{len(failures)} of {len(cases)} fail", *failures[:SHOWN]])
