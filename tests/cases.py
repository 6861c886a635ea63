"""Runs one check over many cases in one test, and names every case that fails.

A door (the reader of plans, of bytes, of JSON) is one test, however many vectors are tried on it. All of
them are tried, and the failures are listed by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

SHOWN = 20
"""Failures that a message shows."""

T = TypeVar("T")


def check_each(check: Callable[[T], object], cases: Iterable[tuple[str, T]]) -> None:
    """Check every case, then fail with the names of those that failed, or if there was no case."""
    count = 0
    failures = []
    for name, case in cases:
        count += 1
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:
            failures.append(f"{name}: {type(error).__name__}: {error}")
    assert count > 0, "there is no case to check"
    assert not failures, "\n\n".join([f"{len(failures)} of {count} cases fail", *failures[:SHOWN]])
