"""Makes tables of reports, with sound rows and broken ones, for record mechanisms of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import deniable as dn
from deniable.engines.form import Column, TableForm, to_columns
from deniable.mechanisms import Mechanism, grr, hr, olh, oue, plh, ss, sue
from deniable.metric.means import averaged
from deniable.records import RecordMechanism, Sample, Split, rsfd
from deniable.rounds import dbitflip, l_duchi, l_grr, l_osue, l_plh, loloha

PLAN_ID = "0123456789abcdef" * 4

PARTS: dict[str, Mechanism] = {
    "direct": grr(5, 1.0),
    "many values": grr(3000, 6.0),
    "unary": oue(13, 1.0),
    "several words": sue(130, 1.0),
    "whole bytes": oue(56, 1.0),
    "subset": ss(1000, 5.0),
    "packed subset": ss(480, 1.0),  # reports of more members than a byte counts
    "hashed": olh(40, 2.0),
    "pooled": plh(40, 1.0),
    "Hadamard": hr(20, 1.0),
    "metric": dn.metric.geometric(12, 0.5),
    "kept": l_grr(4, 0.5, 1.0),
    "kept bits": l_osue(9, 0.5, 1.0),
    "kept hash": loloha(30, 0.5, 1.0),
    "kept hash of a pool": l_plh(30, 0.5, 1.0),
    "few bits": dbitflip(20, 1.0, 3),
    "map": dn.metric.planar_geometric((4, 3), 1.0),
    "channel": dn.metric.square_wave(1.0, 5),
    "mean": averaged("piecewise", 1.0),
    "kept mean": l_duchi(0.5, 1.0),
}
"""A mechanism of every shape of reports."""


def cover_parts(generator: np.random.Generator, seed: int) -> tuple[Mechanism, ...]:
    """Up to four parts, the first of them by the seed."""
    sure = list(PARTS)[seed]
    others = generator.choice(sorted(set(PARTS) - {sure}), size=generator.integers(1, 4), replace=False)
    return tuple(PARTS[str(name)] for name in (sure, *others))


def draw_mechanism(generator: np.random.Generator, seed: int) -> RecordMechanism:
    """A record mechanism of up to four parts, of any kind; the first seeds have every part."""
    if seed >= len(PARTS):
        return rsfd([4, 3, 9], 1.0, ("oue-z", "olh", "plh", "hr", "ss")[(seed - len(PARTS)) % 5])
    parts = cover_parts(generator, seed)
    kind = generator.integers(3)
    if kind == 0:
        return Split(parts)
    if kind == 1:
        return Sample(parts, reported=int(generator.integers(1, len(parts))))
    return Split((parts[0], Sample((*parts[1:], grr(3, 1.0)))))


def draw_table(form: TableForm, n: int, generator: np.random.Generator) -> pa.Table:
    """Reports of n people who answer anything."""
    mechanism = form.mechanism
    answers = np.stack([generator.integers(0, part.k, n) for part in mechanism.mechanisms], axis=1)
    records = mechanism.privatize(answers, dn.remembering(int(generator.integers(1 << 30)), round=1))
    columns: dict[str, Any] = {}
    for j, mine in enumerate(form.columns):
        who = np.arange(n) if records.reporters is None else records.reporters[j]
        for column, content in zip(mine, to_columns(records.columns[j], mine), strict=True):
            cells: list[Any] = [None] * n
            for i, cell in zip(who.tolist(), content.tolist(), strict=True):
                cells[i] = cell
            columns[column.name] = pa.array(cells, arrow_type(column))
    if form.group is not None:
        columns[form.group[0]] = pa.array(generator.integers(0, form.group[1], n), pa.int16())
    return pa.table(columns)


def arrow_type(column: Column) -> pa.DataType:
    """The type of a column that can hold what is wrong, too."""
    return pa.int64() if column.length is None else pa.list_(pa.int64())


def break_rows(form: TableForm, table: pa.Table, generator: np.random.Generator) -> pa.Table:
    """The same table with rows that no device can have sent."""
    rows = table.to_pylist()
    columns = [column for mine in form.columns for column in mine]
    for row in rows:
        if generator.random() < 0.7:
            continue
        column = columns[generator.integers(len(columns))]
        wrong: list[Any] = [None, -1, column.limit, (1 << 63) - 1, -(1 << 63), 0]
        if column.length is not None:
            held = row[column.name] or [0] * column.length
            wrong = [None, held[:-1], [*held, 5], held[::-1], [None, *held[1:]], [-1, *held[1:]], []]
            wrong.append([*held[:-1], (1 << 63) - 1])
        row[column.name] = wrong[generator.integers(len(wrong))]
    return pa.Table.from_pylist(rows, schema=table.schema)
