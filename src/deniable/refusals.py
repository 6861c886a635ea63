"""Which answers of a column are refused, and where: one row for each kind of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from deniable.answer import listed
from deniable.domain import NO_ANSWER, Domain
from deniable.errors import InvalidValue


def refused_rows(domain: Domain, answers: Sequence[Any], missing: bool) -> Iterator[int]:
    """The first row of every kind of answer that a domain refuses; with `missing`, of a missing answer, too."""
    seen: dict[str, int] = {}
    for row, answer in enumerate(answers):
        seen.setdefault(repr(answer), row)
    rows = list(seen.values())

    def refused(start: int, stop: int) -> bool:
        try:
            codes = domain.codes([answers[row] for row in rows[start:stop]])
        except InvalidValue:
            return True
        return missing and bool((codes == NO_ANSWER).any())

    start = 0
    while refused(start, len(rows)):
        start += bisect_left(range(start + 1, len(rows) + 1), True, key=lambda stop: refused(start, stop)) + 1
        yield rows[start - 1]


def reason_of(domain: Domain, answer: Any, name: str) -> str | None:
    """Why an answer is refused; None where it is not, or is missing."""
    try:
        domain.codes([answer], name)
    except InvalidValue as problem:
        return str(problem)
    return None


def located(problem: InvalidValue, domain: Domain, column: object, name: str) -> InvalidValue:
    """The same problem with its row, where there are several."""
    answers = listed(column, name)
    row = next(refused_rows(domain, answers, missing=False), None) if len(answers) > 1 else None
    return problem if row is None else InvalidValue(f"row {row}, counting from 0: {reason_of(domain, answers[row], name)}")
