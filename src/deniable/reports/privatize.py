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
    from deniable.plan.document import PlanDocument


def privatize_answers(
    document: PlanDocument, answers: object, words: Words | None, people: object
) -> Reports:
    """One report for each row of a table of answers."""
    source = checked_source(words)
    if document.rounds is not None and not source.remember:
        raise InvalidParameter(
            "this plan asks again and again, so that every person's first answer must be kept; simulate "
            "that with dn.remembering(seed), or let each device answer"
        )
    codes = encode_answers(document, answers, None)
    ids = None if people is None else people_of(people, codes.shape[1])
    return make_reports(document, codes, source, ids)


def encode_answers(document: PlanDocument, answers: object, names: Collection[str] | None) -> Integers:
    """Answers as integers, a row for each attribute, and the known group last, where there is one."""
    attributes = [attribute for attribute in document.attributes if names is None or attribute.name in names]
    columns = gather_columns(document, attributes, answers, document.locations)
    codes = encode_columns(document, attributes, columns)
    nothing = np.zeros_like(next(iter(codes.values())))
    rows = [codes.get(name, nothing) for name in document.names]
    if (known := document.known) is not None:
        read = columns_of(answers, known.names)
        rows.append(known.codes(dict(zip(known.names, read, strict=True))))
    return np.stack(rows)


def make_reports(
    document: PlanDocument, codes: Integers, words: Words | None, people: Sequence[str] | None
) -> Reports:
    """Reports of answers that are integers."""
    n, groups = codes.shape[1], None
    if document.known is not None and len(codes) > len(document.names):
        codes, groups = codes[:-1], codes[-1]
    rows = checked_source(words).rows(n, document.words)
    if people is not None:
        rows = rows.of(people)
    if document.draws:
        codes = codes.copy()
        for j, attribute in enumerate(document.attributes):
            absent = np.flatnonzero(codes[j] == NO_ANSWER)
            if absent.size:
                column = document.mechanism.words + j
                random_words = rows.pick(absent).columns(column, column + 1).recall().array()[:, 0]
                codes[j, absent] = attribute.domain.draw(random_words)
    rest = rows.columns(0, document.mechanism.words)
    encoded = document.mechanism.encode(np.ascontiguousarray(codes), rest)
    number = 1 if document.table_form.rounds == 1 else checked_source(words).round
    return Reports(document.id, encoded if groups is None else replace(encoded, groups=groups), number)
