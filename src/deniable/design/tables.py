"""Shows what tables would look like: of simulated people, beside what is true of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain import Product
from deniable.errors import InvalidParameter
from deniable.explain import question_pairs
from deniable.explain.question_pairs import find_domain, find_margins
from deniable.study import Plan
from deniable.study.result import Result

_MOST = 12  # tables: a page is no book


def list_tables(
    plan: Plan, result: Result, answers: Mapping[str, Integers], level: float
) -> list[dict[str, Any]]:
    """In each row the share of the first column, of the tables that the reports hold; ready for JSON."""
    tables = []
    for by, of in question_pairs.list_tables(plan.document)[:_MOST]:
        try:
            table = result.cross(of, by, level)
        except InvalidParameter:  # of few people, none may have reported about it
            continue
        true = _count(plan, answers, of, by)
        bases = true.sum(axis=1)
        rows = [
            {
                "value": row,
                "share": float(table.shown[a, 0]),
                "low": float(table.low[a, 0]),
                "high": float(table.high[a, 0]),
                "noisy": not table.is_known[a, 0],
                "truth": float(true[a, 0] / bases[a]) if bases[a] else 0.0,
            }
            for a, row in enumerate(table.rows)
        ]
        tables.append({"of": of, "by": by, "column": table.columns[0], "rows": rows})
    return tables


def _count(plan: Plan, answers: Mapping[str, Integers], of: str, by: str) -> Floats:
    """How many simulated people are in each cell."""
    codes = [_find_codes(plan, answers, name) for name in (by, of)]
    sizes = [find_domain(plan.document, name).k for name in (by, of)]
    is_answered = (codes[0] >= 0) & (codes[1] >= 0)
    cells = np.zeros(sizes)
    np.add.at(cells, (codes[0][is_answered], codes[1][is_answered]), 1.0)
    rows, columns = find_margins(plan.document, of, by)
    return np.asarray(rows.sums @ cells @ columns.sums.T)


def _find_codes(plan: Plan, answers: Mapping[str, Integers], name: str) -> Integers:
    """The answers to a question, wherever it is asked; below 0 where there is none."""
    document = plan.document
    if document.known is not None and name in document.known.names:
        parts = np.unravel_index(answers[document.known.name], document.known.shape)
        return np.asarray(parts[document.known.names.index(name)])
    attribute = next(other for other in document.attributes if name in other.columns)
    codes = answers[attribute.name]
    if not isinstance(attribute.domain, Product):
        return np.where(codes < attribute.domain.k, codes, -1)
    parts = np.unravel_index(np.clip(codes, 0, attribute.domain.k - 1), attribute.domain.shape)
    is_cell = (codes >= 0) & (codes < attribute.domain.k)
    return np.where(is_cell, parts[attribute.domain.names.index(name)], -1)
