"""Builds the channels of metric mechanisms: in the form with the quickest products, or as a table."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch

import numpy as np

from deniable.arrays import Array
from deniable.errors import DeniableError, InvalidParameter, InvalidReport
from deniable.likelihood.geometric import GeometricChannel, GridChannel
from deniable.likelihood.lines import Window
from deniable.likelihood.problem import Counted, Table
from deniable.likelihood.sources import check_outputs
from deniable.mechanisms import Tally, checked_values
from deniable.metric import Geometric, MetricMechanism, ProductGeometric, SquareWave
from deniable.metric.base import MOST_ENTRIES
from deniable.randomness import FULL

_DENSE = 1000  # cells whose table is small


@singledispatch
def build_channel(mechanism: MetricMechanism) -> Table | Window | GeometricChannel | GridChannel:
    """The channel of a mechanism: a table, unless its rows have a quicker form."""
    return _build_table(mechanism)


def _build_table(mechanism: MetricMechanism) -> Table:
    if mechanism.k * mechanism.outputs > MOST_ENTRIES:
        raise InvalidParameter(
            f"the likelihood of {mechanism.k:,} values and {mechanism.outputs:,} outputs takes a table "
            f"of at most {MOST_ENTRIES:,} numbers; use fewer values or larger cells, or on a grid "
            "measure='manhattan', which needs none"
        )
    return Table(mechanism.law.matrix())


@build_channel.register
def _build_line(mechanism: Geometric) -> Table | GeometricChannel:
    return _idealize(mechanism) if mechanism.is_geometric else _build_table(mechanism)


@build_channel.register
def _build_grid(mechanism: ProductGeometric) -> Table | GridChannel:
    sides = mechanism.down, mechanism.across
    if mechanism.k > _DENSE and all(side.is_geometric for side in sides):
        return GridChannel(*map(_idealize, sides))
    return _build_table(mechanism)


@build_channel.register
def _build_window(mechanism: SquareWave) -> Table | Window:
    inside = Fraction(mechanism.keep, FULL * mechanism.window)
    far = Fraction(FULL - mechanism.keep, FULL * (mechanism.k - 1))
    window = Window(mechanism.k, mechanism.window, float(inside), float(far))
    if mechanism.k * mechanism.outputs > MOST_ENTRIES:
        return window
    return Table(mechanism.law.matrix(), window)


def _idealize(mechanism: Geometric) -> GeometricChannel:
    """The sampled table differs from it by single words of 2^64, less than any certificate resolves."""
    return GeometricChannel(mechanism.n, mechanism.rate)


def count_outputs(
    channel: Table | Window | GeometricChannel | GridChannel, data: Tally | Array, shape: tuple[int, ...]
) -> Counted:
    """How many reports have each output of a channel, from their tally or from the reports themselves."""
    size = channel.size if isinstance(channel, Table | Window) else channel.k
    if isinstance(data, Tally):
        if data.counts.size != size:
            raise InvalidReport(f"this tally counts {data.counts.size} outputs, the channel has {size}")
        return Counted(channel, check_outputs(data), shape)
    try:
        reports = checked_values(data, size)
    except DeniableError as problem:
        raise InvalidReport(
            f"reports are outputs of the channel, 0 to {size - 1} (counts go in a Tally): {problem}"
        ) from None
    tally = Tally(reports.size, np.bincount(reports, minlength=size))
    return Counted(channel, check_outputs(tally), shape)
