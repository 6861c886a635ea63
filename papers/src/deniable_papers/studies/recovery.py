"""Takes fakes out of estimates, under a model of them that is named: nothing is recovered silently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Literal, final, get_args

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Estimate
from deniable.exact import number
from deniable.formatting import format_percent
from deniable.law import Moments
from deniable.mechanisms import Direct, Hadamard, Hashed, Mechanism, Pooled, SubsetShape, checked_values
from deniable.rounds import HashedMemoized, PooledMemoized

FakeModel = Literal["random reports", "pushed values", "false answers"]
"""Reports drawn evenly from all that are possible; reports that support the targets, or as many of them as
one can, and nothing else but noise; or the mechanism's own reports of targets.
"""


@final
@dataclass(frozen=True, eq=False)
class Recovery:
    """The shares of honest people, if the fakes are as many and as the model says."""

    model: FakeModel
    fakes: float
    frequencies: Floats
    low: Floats
    high: Floats

    def __str__(self) -> str:
        return (
            f"Shares of honest people, if {format_percent(self.fakes)} of the reports are fakes of the model "
            f"{self.model!r}; if they are not, these shares are wrong"
        )


def recover_shares(
    mechanism: Mechanism,
    estimate: Estimate,
    fakes: float,
    model: FakeModel,
    targets: Sequence[int] = (),
    level: float = 0.95,
) -> Recovery:
    """Take this share of fakes out of an estimate.

    An estimate is linear in the reports, so that what fakes of a known kind add on average is subtracted, and
    the rest is scaled. The interval is that of the estimate, scaled as well.

    >>> from deniable.mechanisms import Tally, oue
    >>> m = oue(k=4, epsilon=1.0)
    >>> found = m.estimate(Tally(10_000, [5000, 3000, 3000, 2700]))
    >>> recovered = recover_shares(m, found, 0.05, "pushed values", targets=[0])
    >>> round(float(found.frequencies[0]), 2), round(float(recovered.frequencies[0]), 2)
    (1.0, 0.89)
    """
    share = number("fakes, the share of reports that were made up (0.01 is 1 %),", fakes, 0.0, 1.0)
    if model not in get_args(FakeModel):
        raise InvalidParameter(not_among(str(model), "a model of fakes", get_args(FakeModel)))
    if (model == "random reports") == bool(len(targets)):
        raise InvalidParameter(f"{model!r} has {'no targets' if len(targets) else 'targets: name them'}")
    added = _added(mechanism, estimate, model, checked_values(targets, estimate.k))
    ends = (
        (part - share * added) / (1 - share) for part in (estimate.frequencies, *estimate.interval(level))
    )
    return Recovery(model, share, *ends)


def _added(mechanism: Mechanism, estimate: Estimate, model: FakeModel, targets: Integers) -> Floats:
    """What a fake adds to every share, on average."""
    law, chosen = estimate.law, np.zeros(estimate.k, dtype=bool)
    if isinstance(law, Moments) or estimate.asked is not None:
        raise InvalidParameter("fakes are taken out of reports that support values, and these do not")
    chosen[targets] = True
    if model == "false answers":
        return np.asarray(chosen / chosen.sum())
    q = np.broadcast_to(law.q, estimate.k)
    if model == "pushed values":
        return np.asarray((supported_by_pushing(mechanism, chosen, q) - q) / law.gain)
    return np.asarray((supported_by_chance(mechanism) - q) / law.gain)


@singledispatch
def supported_by_pushing(_mechanism: Mechanism, chosen: Array, q: Floats) -> Floats:
    """How likely a report that pushes the chosen values supports each value: these, and others as noise."""
    return np.where(chosen, 1.0, q)


@supported_by_pushing.register
def _(_mechanism: Direct, chosen: Array, _q: Floats) -> Floats:
    """One of them at a time."""
    return np.asarray(chosen / chosen.sum())


@supported_by_pushing.register
def _(mechanism: SubsetShape, chosen: Array, _q: Floats) -> Floats:
    """As many as there is room for, and others in what is left."""
    pushed = int(chosen.sum())
    left = max(0, mechanism.size - pushed) / max(1, mechanism.k - pushed)
    return np.where(chosen, min(1.0, mechanism.size / pushed), left)


@singledispatch
def supported_by_chance(mechanism: Mechanism) -> float:
    """How likely a report that is drawn evenly from all that are possible supports a value."""
    if not (mechanism.bitwise or isinstance(mechanism, Hadamard)):
        raise InvalidParameter(f"reports of {mechanism.title} are not drawn evenly here")
    return 0.5  # of bits, and of columns, half


@supported_by_chance.register
def _(mechanism: Direct) -> float:
    return 1 / mechanism.k


@supported_by_chance.register
def _(mechanism: SubsetShape) -> float:
    return mechanism.size / mechanism.k


@supported_by_chance.register
def _(mechanism: Hashed | HashedMemoized | Pooled | PooledMemoized) -> float:
    return 1 / mechanism.g
