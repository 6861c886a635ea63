"""Computes what a crowd hides once its names are stripped, by the best of the bounds that are proven here.

Amplification by shuffling is a bound for the whole collection. It is true only if somebody strips identities
and order. All that a bound needs to know of a mechanism is how likely its reports support values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, singledispatch
from typing import Literal, NamedTuple, final

from deniable.crowd.deltas import Blanket, Clones, Coins
from deniable.errors import InvalidParameter, not_among
from deniable.exact import log_up, number, positive_epsilon, whole_number
from deniable.formatting import Printed, format_up
from deniable.mechanisms import Linear, Mechanism
from deniable.mechanisms.sets import SetShape
from deniable.randomness import FULL
from deniable.records import RecordMechanism, Sample, Single

Bound = Literal["least", "clones", "blanket", "exact", "closed"]
NAMES = {
    "clones": "stronger clones of Feldman, McMillan, Talwar 2023",
    "blanket": "privacy blanket of Balle and others 2019, of this mechanism",
    "exact": "enumeration of two values, the worst over what all others say",
    "closed": "Feldman, McMillan, Talwar 2021, closed form of Theorem 3.1",
}
"""What each bound is called where it is stated."""
_LARGEST = 300.0  # no crowd on earth has a clone at this loss
_EVERYBODY = 10**11  # more people than there are count as this many, since more hide more
_SMALLEST = 1e-10
_CLOSE = 1e-7
_NEVER = 1e-300


@final
@dataclass(frozen=True)
class Shuffled(Printed):
    """What a whole collection guarantees once shuffled: (epsilon, delta), and by which bound.

    Both are upper bounds. That of the blanket sums cases in groups, each by the case that hides least, and so
    may be above the sum over all cases.
    """

    epsilon: float
    delta: float
    bound: str

    def __str__(self) -> str:
        return f"Shuffled: epsilon {format_up(self.epsilon)} with delta {self.delta:g} ({self.bound})"


def shuffled(
    local: float | Mechanism | RecordMechanism, n: int, delta: float = 1e-6, bound: Bound = "least"
) -> Shuffled:
    """Computes the guarantee of n reports of one mechanism, once names and order are stripped.

    `local` is the mechanism, or only its loss, which knows less. All must be made by the same mechanism or
    record mechanism, one report each (a record is one report). The other n - 1 people must be honest. delta
    should be far below 1 / n.

    bound="least" takes the best of these: "clones" holds for every mechanism; "blanket" knows how this one
    spreads its reports; "exact" enumerates two values, with more than 10,000 people in groups. "closed" is a
    published closed form, which is weaker, and outside its range promises nothing beyond the local loss. None
    is above the local loss. These are floats, rounded up: an allowance for rounding, 1e-9 of what is summed,
    is part of delta.

    >>> shuffled(1.0, n=1_000_000, bound="closed").epsilon < 0.0235
    True
    >>> shuffled(1.0, n=1_000_000).epsilon < 0.0036
    True
    >>> from deniable.mechanisms import grr
    >>> shuffled(grr(100, 1.0), n=1_000_000).epsilon < 0.00055
    True

    Reference: feldman2023.
    """
    whole_number("n, the number of people,", n, 1)
    number("delta, a probability,", delta, 0.0, 1.0)
    if isinstance(local, int | float):
        loss = positive_epsilon(local)
    else:
        loss = local.loss("record") if isinstance(local, RecordMechanism) else log_up(local.ratio)
    known = ("least", *NAMES)
    if bound not in known:
        raise InvalidParameter(not_among(str(bound), "a bound", known))
    best = Shuffled(loss, delta, "none: no better than the local loss")
    for name, solve in _list_bounds(loss, local, min(n, _EVERYBODY), delta):
        if bound in ("least", name):
            epsilon = solve()
            if epsilon < best.epsilon:
                best = Shuffled(epsilon, delta, NAMES[name])
            if bound == name:
                return best
    if bound != "least":
        raise InvalidParameter(_explain_missing(bound))
    return best


def references(mechanism: RecordMechanism) -> list[str]:
    """What is to be cited where the least bound of a mechanism is stated."""
    return ["feldman2023", *(["balle2019"] if find_support(mechanism) is not None else [])]


def _find_single(local: float | Mechanism | RecordMechanism) -> Mechanism | None:
    """The mechanism of a report of one answer, where there is one."""
    if isinstance(local, Single):
        return _find_single(local.mechanisms[0])
    return local if isinstance(local, Mechanism) else None


def _list_bounds(
    loss: float, local: float | Mechanism | RecordMechanism, n: int, delta: float
) -> Iterator[tuple[str, Callable[[], float]]]:
    """The bounds that hold, the best for most mechanisms last, each with what computes its epsilon."""
    yield "closed", lambda: _bound_by_formula(loss, n, delta)
    if loss > _LARGEST:
        yield "clones", lambda: loss
        return
    yield "clones", lambda: _solve(Clones.among(loss, n).delta, loss, delta)
    support = find_support(local)
    if support is None:
        return
    yield "blanket", lambda: _solve(Blanket(n, *support).delta, loss, delta)
    mechanism = _find_single(local)
    if mechanism is not None and mechanism.k == 2 and support.p + support.q == 1:
        yield "exact", lambda: _enumerate(Coins(n, float(support.p)), loss, delta)


def _explain_missing(bound: str) -> str:
    if bound == "blanket":
        return (
            "bound='blanket' needs a mechanism whose report supports a set of values, or a sample of one of "
            "several; use bound='clones'"
        )
    return "bound='exact' needs a mechanism of two values; use bound='least'"


def _bound_by_formula(local: float, n: int, delta: float) -> float:
    """ln(1 + (e - 1) / (e + 1) (8 sqrt(e ln(4 / delta) / n) + 8 e / n)), for e = e^local up to n / (16 ln(2 /
    delta)).
    """
    if local > math.log(n / (16 * math.log(2 / delta))):
        return local
    e = math.exp(local)
    spread = 8 * math.sqrt(e * math.log(4 / delta) / n) + 8 * e / n
    return math.log1p(math.tanh(local / 2) * spread) * (1 + 1e-12)


def _solve(delta_at: Callable[[float], float], local: float, delta: float) -> float:
    """The smallest epsilon, to six digits and rounded up, whose delta is small enough."""
    from scipy.optimize import brentq

    def miss(epsilon: float) -> float:
        return math.log(max(delta_at(epsilon), _NEVER) / delta)

    low, high = _SMALLEST, local * (1 - _CLOSE)
    if high <= low:
        return local
    if miss(low) <= 0:  # a crowd so large that nothing is left to look for
        return low
    if miss(high) > 0:
        return local
    epsilon_found = float(brentq(miss, low, high, rtol=_CLOSE / 10, xtol=_SMALLEST / 10)) * (1 + _CLOSE)
    while miss(epsilon_found) > 0:
        epsilon_found *= 1 + _CLOSE
    return min(epsilon_found, local)


def _enumerate(coins: Coins, local: float, delta: float) -> float:
    """The epsilon of the worst crowd: the worst at one epsilon is solved, until no other is worse there."""
    ones, epsilon = 0, 0.0
    while True:
        epsilon = max(epsilon, _solve(partial(coins.delta_of, ones), local, delta))
        if epsilon >= local:
            return local
        worst, ones = coins.find_worst(epsilon)
        if worst <= delta:
            return epsilon


class Support(NamedTuple):
    """A report is `ratio` times as likely from a value that it supports as from another."""

    ratio: Fraction
    p: Fraction
    """Pr(a report supports the value of the person who sent it)."""
    q: Fraction
    """Pr(a report supports another value): of two that are supported together as rarely as any."""

    def strengthen(self, ratio: Fraction) -> Support:
        """The support of sets that a larger ratio favors: reports of the smaller ratio can be made of these.

        To make them, some reports are replaced by ones that no value moves.
        """
        blanket = Blanket(1, *self)
        stronger = 1 / (1 + (ratio - 1) * blanket.supported)
        both = (ratio - 1) * blanket.both
        return Support(ratio, ratio * stronger * blanket.supported, stronger * (blanket.supported + both))


@singledispatch
def find_support(_local: object) -> Support | None:
    """How reports support values; None where they do not, or not in one way."""
    return None


@find_support.register
def _find_of_shape(local: SetShape) -> Support:
    return Support(local.ratio, local.law.exact_p, local.law.exact_q)


@find_support.register
def _find_of_linear(local: Linear) -> Support:
    """By the codes that collide most rarely: what is supported together less often is hidden less."""
    return Support(local.ratio, Fraction(local.keep, FULL), local.bound_other[0])


@find_support.register
def _find_of_single(local: Single) -> Support | None:
    return find_support(local.mechanisms[0])


@find_support.register
def _find_of_sample(local: Sample) -> Support | None:
    """One named attribute: its name is drawn without looking, so it is a part of the report like any other.

    The worst two records differ in every attribute: where they agree, the same reports support both.
    """
    supports = [find_support(part) for part in local.parts]
    known = [support for support in supports if support is not None]
    if local.reported != 1 or len(known) < len(supports):
        return None
    ratio = max(support.ratio for support in known)
    parts = [support.strengthen(ratio) for support in known]
    p = sum((local.chance(j) * part.p for j, part in enumerate(parts)), Fraction(0))
    q = sum((local.chance(j) * part.q for j, part in enumerate(parts)), Fraction(0))
    return Support(ratio, p, q)
