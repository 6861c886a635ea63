"""Draws which attributes of a record are reported, and groups people by them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.mechanisms.blocks import worth_compiling
from deniable.randomness import below
from deniable.randomness.words import Rows


def group_people(attributes: npt.NDArray[np.integer], columns: Integers) -> list[tuple[Integers, Integers]]:
    """For each attribute, who picked it, in order, and the values they have there."""
    if not worth_compiling(attributes.size, 1):
        d = len(columns)
        order = np.argsort(attributes, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(attributes, minlength=d))[:-1])
        return [(who, values[who]) for who, values in zip(groups, columns, strict=True)]
    from deniable.randomness import kernels

    who = np.empty(attributes.size, np.int64)
    values = np.empty(attributes.size, np.int64)
    ends = np.empty(len(columns), np.int64)
    kernels.group(attributes, columns, ends, who, values)
    return list(zip(np.split(who, ends[:-1]), np.split(values, ends[:-1]), strict=True))


def draw_weighted(rows: Rows, weights: Sequence[int]) -> npt.NDArray[np.unsignedinteger]:
    """Each row's one attribute: as likely as its weight, of the sum of all."""
    owners = np.arange(len(weights), dtype=_name_type(len(weights)))
    table = np.repeat(owners, weights)
    return np.asarray(table[draw_attributes(rows, table.size)])


def _name_type(d: int) -> type[np.uint8 | np.uint32]:
    return np.uint8 if d <= 256 else np.uint32


def draw_attributes(rows: Rows, d: int) -> npt.NDArray[np.unsignedinteger]:
    """Each row's attributes, all different, by Floyd's sampling."""
    attributes = np.empty((rows.n, rows.width), dtype=_name_type(d))
    if worth_compiling(rows.n, rows.width):
        from deniable.randomness import kernels

        kernels.draw_attributes(rows.address(), np.uint64(d), attributes)
        return attributes
    words = rows.array()
    for draw in range(rows.width):
        last = d - rows.width + draw
        drawn_attributes = below(words[:, draw], last + 1)
        taken = (attributes[:, :draw] == drawn_attributes[:, None]).any(axis=1)
        attributes[:, draw] = np.where(taken, last, drawn_attributes)
    return attributes
