"""Finds the answers of a column that are refused, where they are, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from deniable.domain.answer import is_missing, to_list
from deniable.domain.categories import Categories
from deniable.domain.domain import NO_ANSWER, Domain
from deniable.errors import InvalidValue

_TOGETHER = 64  # answers that are tried at once, since most are not refused


def refused_rows(domain: Domain, answers: Sequence[Any], missing: bool) -> Iterator[int]:
    """The rows whose answer a domain refuses; with `missing`, also those of missing answers."""
    for start in range(0, len(answers), _TOGETHER):
        block = answers[start : start + _TOGETHER]
        if _refuses_any(domain, block, missing):
            yield from (
                start + i for i, answer in enumerate(block) if _refuses_any(domain, [answer], missing)
            )


def _refuses_any(domain: Domain, answers: Sequence[Any], missing: bool) -> bool:
    """Whether a domain refuses any of these. Names are looked up, since computing hints takes long."""
    if isinstance(domain, Categories):
        return not all(map(domain.knows, answers)) or (missing and any(map(is_missing, answers)))
    try:
        codes = domain.codes(answers)
    except InvalidValue:
        return True
    return missing and bool((codes == NO_ANSWER).any())


def problem_of(domain: Domain, answer: Any, name: str) -> InvalidValue | None:
    """Why an answer is refused; None where it is not, or is missing."""
    try:
        domain.codes([answer], name)
    except InvalidValue as problem:
        return problem
    return None


def locate_refusal(problem: InvalidValue, domain: Domain, column: object, name: str) -> InvalidValue:
    """Name the row of a refused answer, where there are several: it is not shown, since errors end in logs.

    One answer alone is that of a person on their own device, who may see it.
    """
    answers = to_list(column, name)
    row = next(refused_rows(domain, answers, missing=False), None) if len(answers) > 1 else None
    if row is None:
        return problem
    refusal = problem_of(domain, answers[row], name)
    return InvalidValue(
        f"row {row}, counting from 0: the answer to {name!r} is not in its domain ({domain})",
        (refusal or problem).remedy,
    )
