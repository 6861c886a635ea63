"""Makes reports of answers: encodes them as integers, draws what is missing, and privatizes records."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from deniable.arrays import Integers
from deniable.domain import NO_ANSWER, people_of
from deniable.errors import InvalidParameter
from deniable.frames import columns_of
from deniable.randomness import Words, checked_source
from deniable.reports.answers import encode_columns, gather_columns
from deniable.reports.reports import Reports

if TYPE_CHECKING:
    from deniable.study.plan import Plan


def privatize_answers(plan: Plan, answers: object, words: Words | None, people: object) -> Reports:
    """One report for each row of a table of answers."""
    source = checked_source(words)
    if plan.content.rounds is not None and not source.remember:
        raise InvalidParameter(
            "this plan asks again and again, so that every person's first answer must be kept; simulate "
            "that with dn.remembering(seed), or let each device answer"
        )
    codes = plan.encode(answers)
    return plan.privatize_codes(codes, source, None if people is None else people_of(people, codes.shape[1]))


def encode_answers(plan: Plan, answers: object, asked: Collection[str] | None) -> Integers:
    """Answers as integers, a row for each attribute, and the known group last, where there is one."""
    attributes = [one for one in plan.content.attributes if asked is None or one.name in asked]
    columns = gather_columns(plan.content, attributes, answers, plan.locations)
    codes = encode_columns(plan.content, attributes, columns)
    nothing = np.zeros_like(next(iter(codes.values())))
    rows = [codes.get(name, nothing) for name in plan.names]
    if (known := plan.content.known) is not None:
        read = columns_of(answers, known.names)
        rows.append(known.codes(dict(zip(known.names, read, strict=True))))
    return np.stack(rows)


def make_reports(plan: Plan, codes: Integers, words: Words | None, people: Sequence[str] | None) -> Reports:
    """Reports of answers that are integers."""
    n, groups = codes.shape[1], None
    if plan.content.known is not None and len(codes) > len(plan.names):
        codes, groups = codes[:-1], codes[-1]
    rows = checked_source(words).rows(n, plan.words)
    if people is not None:
        rows = rows.of(people)
    if plan.content.draws:
        codes = codes.copy()
        for j, attribute in enumerate(plan.content.attributes):
            absent = np.flatnonzero(codes[j] == NO_ANSWER)
            if absent.size:
                column = plan.mechanism.words + j
                drawn = rows.pick(absent).columns(column, column + 1).recall().array()[:, 0]
                codes[j, absent] = attribute.domain.draw(drawn)
    enough = rows.columns(0, plan.mechanism.words)
    made = plan.mechanism.encode(np.ascontiguousarray(codes), enough)
    number = 1 if plan.table_form.rounds == 1 else checked_source(words).round
    return Reports(plan.id, made if groups is None else replace(made, groups=groups), number)
