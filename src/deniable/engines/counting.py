"""Describes how the reports of each mechanism are counted in a table: one description for every engine.

A report becomes a few small numbers, its cells. An engine counts rows by cell, and the counts of cells give
the tally. Expressions are SQL as DuckDB writes it, over the columns of the table form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import final

import numpy as np

from deniable.arrays import Integers
from deniable.engines.form import WORD_BYTES, Column
from deniable.errors import InvalidParameter
from deniable.exact import PRIME
from deniable.mechanisms import (
    Direct,
    ExactMechanism,
    Hadamard,
    Hashed,
    Linear,
    PackedSubset,
    Pooled,
    Subset,
    Tally,
    Unary,
)
from deniable.mechanisms.channels import ChannelMechanism
from deniable.rounds import BitFlip

MOST_LISTED = 512
"""Numbers of a list that an engine checks one by one."""


@final
@dataclass(frozen=True)
class Cells:
    """Numbers from 0 to size - 1 that rows are counted by, each row once for each of its numbers."""

    texts: tuple[str, ...]
    size: int


@final
@dataclass(frozen=True)
class Counting:
    """How reports of one attribute are counted."""

    columns: tuple[Column, ...]
    valid: str
    """What must hold of a row that reports the attribute: its report is in canonical form."""
    cells: tuple[Cells, ...]
    """What rows are counted by."""
    sums: tuple[str, ...]
    """Conditions: how many rows meet each is counted in place of cells."""
    finish: Callable[[Sequence[Integers], int], Tally]
    """The tally of n reports, from the counts of each cells, or of the sums."""


def count_by(columns: tuple[Column, ...], mechanism: ExactMechanism) -> Counting:
    """How the reports in these columns are counted."""
    report_mechanism = mechanism.one_round
    for column in columns:
        if column.length is not None and column.length > MOST_LISTED:
            raise InvalidParameter(
                f"a report lists {column.length:,} values, and engines count lists of up to "
                f"{MOST_LISTED}; tally the reports from Parquet files, which this machine does by itself"
            )
    return _count(report_mechanism, columns)


def quote(name: str) -> str:
    """The name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


@singledispatch
def _count(mechanism: ExactMechanism, columns: tuple[Column, ...]) -> Counting:  # noqa: ARG001
    raise InvalidParameter(
        f"{mechanism.title} cannot be counted by an engine; tally its reports from Parquet"
    )


@_count.register
def _count_direct(mechanism: Direct, columns: tuple[Column, ...]) -> Counting:
    return _count_numbers(columns, mechanism.k)


@_count.register
def _count_channel(mechanism: ChannelMechanism, columns: tuple[Column, ...]) -> Counting:
    return _count_numbers(columns, mechanism.outputs)


@_count.register
def _count_hadamard(mechanism: Hadamard, columns: tuple[Column, ...]) -> Counting:
    counting = _count_numbers(columns, 1 << mechanism.bits)

    def finish(counts: Sequence[Integers], n: int) -> Tally:
        return Tally(n, mechanism.support_counts(counts[0], n))

    return Counting(columns, counting.valid, counting.cells, (), finish)


@_count.register
def _count_linear(mechanism: Linear, columns: tuple[Column, ...]) -> Counting:
    """No engine tells hashes of full rank: rows with one are fetched, and none of them is counted inside."""
    return Counting(columns, "FALSE", (), (), lambda _counts, _n: mechanism.tally(mechanism.blank(0)))


@_count.register
def _count_pooled(mechanism: Pooled, columns: tuple[Column, ...]) -> Counting:
    """Rows are counted by function and bucket; values are hashed once for the whole pool."""
    counting = _count_numbers(columns, mechanism.pool.cells)

    def finish(counts: Sequence[Integers], n: int) -> Tally:
        return Tally(n, mechanism.support_counts(counts[0]))

    return Counting(columns, counting.valid, counting.cells, (), finish)


def _count_numbers(columns: tuple[Column, ...], size: int) -> Counting:
    """A report is one number."""
    text = quote(columns[0].name)

    def finish(counts: Sequence[Integers], n: int) -> Tally:
        return Tally(n, counts[0])

    return Counting(columns, f"{text} >= 0 AND {text} < {size}", (Cells((text,), size),), (), finish)


@_count.register
def _count_unary(mechanism: Unary, columns: tuple[Column, ...]) -> Counting:
    return _count_bits(mechanism.k, columns, "")


@_count.register
def _count_packed(mechanism: PackedSubset, columns: tuple[Column, ...]) -> Counting:
    members = " + ".join(f"BIT_COUNT({quote(column.name)})" for column in columns)
    return _count_bits(mechanism.k, columns, f" AND {members} = {mechanism.size}")


def _count_bits(k: int, columns: tuple[Column, ...], more: str) -> Counting:
    """A report is packed bits: rows are counted by each of its bytes."""
    width = -(-k // 8)
    limits = [1 << min(8 * WORD_BYTES, k - 8 * WORD_BYTES * word) for word in range(len(columns))]
    valid = " AND ".join(
        f"{quote(column.name)} >= 0 AND {quote(column.name)} < {limit}"
        for column, limit in zip(columns, limits, strict=True)
    )
    cells = []
    for byte in range(width):
        word, shift = divmod(byte, WORD_BYTES)
        cells.append(Cells((f"(({quote(columns[word].name)} >> {8 * shift}) & 255)",), 256))

    def finish(counts: Sequence[Integers], n: int) -> Tally:
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
        return Tally(
            n, np.concatenate([bytes_counted @ bits.astype(np.int64) for bytes_counted in counts])[:k]
        )

    return Counting(columns, valid + more, tuple(cells), (), finish)


@_count.register
def _count_subset(mechanism: Subset, columns: tuple[Column, ...]) -> Counting:
    text = quote(columns[0].name)

    def finish(counts: Sequence[Integers], n: int) -> Tally:
        return Tally(n, counts[0])

    cells = Cells(tuple(f"{text}[{i}]" for i in range(1, mechanism.size + 1)), mechanism.k)
    return Counting(columns, _ascends(text, mechanism.size, mechanism.k), (cells,), (), finish)


def _ascends(text: str, size: int, k: int) -> str:
    """A list has this many different numbers below k, in ascending order."""
    steps = [f"{text}[{i}] < {text}[{i + 1}]" for i in range(1, size)]
    return " AND ".join(
        [f"ARRAY_LENGTH({text}) = {size}", f"{text}[1] >= 0", *steps, f"{text}[{size}] < {k}"]
    )


@_count.register
def _count_hashed(mechanism: Hashed, columns: tuple[Column, ...]) -> Counting:
    a, b, bucket = (quote(column.name) for column in columns)
    function = f"{a} >= 1 AND {a} < {PRIME} AND {b} >= 0 AND {b} < {PRIME}"
    valid = f"{function} AND {bucket} >= 0 AND {bucket} < {mechanism.g}"
    sums = tuple(
        f"(({a} * {value + 1} + {b}) % {PRIME}) % {mechanism.g} = {bucket}" for value in range(mechanism.k)
    )

    def finish(counts: Sequence[Integers], n: int) -> Tally:
        return Tally(n, np.asarray(counts[0]))

    return Counting(columns, valid, (), sums, finish)


@_count.register
def _count_flips(mechanism: BitFlip, columns: tuple[Column, ...]) -> Counting:
    """Each value that a report is about is counted with its bit."""
    about, words = quote(columns[0].name), columns[1:]
    k, bits = mechanism.k, mechanism.bits
    limits = [1 << min(8 * WORD_BYTES, bits - 8 * WORD_BYTES * word) for word in range(len(words))]
    valid = " AND ".join(
        [
            _ascends(about, bits, k),
            *(
                f"{quote(column.name)} >= 0 AND {quote(column.name)} < {limit}"
                for column, limit in zip(words, limits, strict=True)
            ),
        ]
    )
    texts = []
    for i in range(bits):
        word, shift = divmod(i, 8 * WORD_BYTES)
        texts.append(f"(2 * {about}[{i + 1}] + (({quote(words[word].name)} >> {shift}) & 1))")

    def finish(counts: Sequence[Integers], n: int) -> Tally:
        pairs = counts[0].reshape(k, 2)
        return Tally(n, pairs[:, 1], pairs.sum(axis=1))

    return Counting(columns, valid, (Cells(tuple(texts), 2 * k),), (), finish)
