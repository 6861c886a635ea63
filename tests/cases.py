"""Runs one check over many cases in one test, or leaves some of the cases to the night.

A door (the reader of plans, of bytes, of JSON) is one test, however many vectors are tried on it. All of
them are tried, and the failures are listed by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

import pytest

SHOWN = 20
"""Failures that a message shows."""

T = TypeVar("T")


def by_night(
    names: str | tuple[str, ...],
    cases: Iterable[T],
    *nightly: T,
    ids: Sequence[str] | Callable[[Any], str] | None = None,
) -> pytest.MarkDecorator:
    """Parameters of a test of which `make test` leaves the nightly cases to `make long`. A case that is added
    later is tried by day.
    """
    cases = list(cases)
    assert nightly, "name the cases that are left to the night"
    assert all(case in cases for case in nightly), f"{nightly} must be among {cases}"
    assert any(case not in nightly for case in cases), "at least one case must be tried by day"
    rows = [(case,) if isinstance(names, str) else cast("tuple[object, ...]", case) for case in cases]
    marks = [(pytest.mark.long,) if case in nightly else () for case in cases]
    marked = [pytest.param(*row, marks=mark) for row, mark in zip(rows, marks, strict=True)]
    return pytest.mark.parametrize(names, marked, ids=ids)


def names(text: str) -> list[str]:
    """The names of a text, with spaces between."""
    return text.split()


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
