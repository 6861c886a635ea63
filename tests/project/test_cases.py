"""A check over many cases names every one that fails, and only named cases are left to the night."""

from __future__ import annotations

import pytest

from tests.cases import by_night, check_each


def test_every_failure_is_named() -> None:
    def check(number: int) -> None:
        with pytest.raises(ValueError, match="odd"):
            raise_if_odd(number)

    with pytest.raises(AssertionError, match="2 of 4 cases fail") as failure:
        check_each(check, [("one", 1), ("two", 2), ("three", 3), ("four", 4)])
    assert "two: Failed" in str(failure.value)
    assert "four: Failed" in str(failure.value)
    assert "one" not in str(failure.value)


def raise_if_odd(number: int) -> None:
    if number % 2:
        raise ValueError(f"{number} is odd")


def test_no_case_is_a_failure() -> None:
    with pytest.raises(AssertionError, match="no case"):
        check_each(raise_if_odd, [])


def test_only_named_cases_are_left_to_the_night() -> None:
    _, cases = by_night(("k", "name"), [(1, "a"), (2, "b"), (3, "c")], (2, "b")).args
    assert [case.values for case in cases] == [(1, "a"), (2, "b"), (3, "c")]
    assert [[mark.name for mark in case.marks] for case in cases] == [[], ["long"], []]
    for nightly in [(), (4,), (1, 2)]:
        with pytest.raises(AssertionError):
            by_night("k", [1, 2], *nightly)
