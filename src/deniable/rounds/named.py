"""Names the ways people know to ask again and again: two rounds, each with a budget.

epsilon_first bounds one report, epsilon_forever any number of reports of one value. Both are spent in full.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal, cast

import numpy.typing as npt

from deniable.errors import InvalidParameter, not_among
from deniable.exact import exp_down, positive_epsilon, whole_number
from deniable.mechanisms import Direct, Unary, calibrate, checked_k
from deniable.mechanisms.protocols import MOVED
from deniable.mechanisms.shapes.pooled import MOST_BUCKETS, MOST_VALUES, find_pool
from deniable.randomness import FULL
from deniable.records import Blank, Fake, Faked, Guessed, Imitated, Prior
from deniable.records.base import checked_sizes
from deniable.records.named import fake_nobody
from deniable.rounds.bitflip import BitFlip
from deniable.rounds.means import MemoizedMean
from deniable.rounds.memoized import HashedMemoized, Memoized, PooledMemoized

_HALF = FULL >> 1
_LARGEST = FULL - 1
_MOST_BUCKETS = 1 << 24  # as many values as GRR has


def l_grr(
    k: int, epsilon_first: float, epsilon_forever: float, calibration: Literal["exact", "published"] = "exact"
) -> Memoized:
    """GRR twice (L-GRR). One report is GRR at epsilon_first.

    Published, the second round counts two values only, whatever k is: it then spends a part of epsilon_first.

    >>> m = l_grr(10, epsilon_first=1.0, epsilon_forever=2.0)
    >>> m.loss() <= 1.0 < m.loss() + 1e-9, round(l_grr(10, 1.0, 2.0, "published").loss(), 3)
    (True, 0.699)

    Reference: arcolezi2022.
    """
    _checked_budgets(epsilon_first, epsilon_forever)
    if calibration not in ("exact", "published"):
        raise InvalidParameter(f"calibration is 'exact' or 'published', got {calibration!r}")
    exact = solve_second(calibrate.direct(k, epsilon_forever), epsilon_first)
    if calibration == "published":
        first, keep = cast(Direct, exact.first), cast(Direct, exact.second).keep
        a, c = exp_down(float(epsilon_forever)), exp_down(float(epsilon_first))
        r = (c * a - 1) / (a - c)
        keep = min(keep, int(r / (r + first.k - 1) * FULL))  # for k = 2 the two agree but for the last words
        return Memoized(first, Direct(first.k, keep))
    return exact


def solve_second(first: Direct, epsilon_first: float) -> Memoized:
    """Both rounds, the second being the most precise with which one report loses epsilon_first at most."""
    low = FULL // first.k + (FULL // first.k >> 50) + 2
    keep = calibrate.largest(
        lambda t: Memoized(first, Direct(first.k, t)).ratio, epsilon_first, low, _LARGEST
    )
    return Memoized(first, Direct(first.k, keep))


def l_sue(k: int, epsilon_first: float, epsilon_forever: float) -> Memoized:
    """SUE twice (L-SUE), which is basic RAPPOR. One report is SUE at epsilon_first.

    >>> round(l_sue(10, epsilon_first=1.0, epsilon_forever=2.0).law.p, 4)
    0.6225

    Reference: erlingsson2014.
    """
    return _symmetric_second(calibrate.symmetric(k, epsilon_forever), epsilon_first, epsilon_forever)


def l_osue(k: int, epsilon_first: float, epsilon_forever: float) -> Memoized:
    """OUE, then SUE (L-OSUE): the chain of unary encodings that errs least. One report is OUE at
    epsilon_first.

    >>> round(l_osue(10, epsilon_first=1.0, epsilon_forever=2.0).law.p, 4)
    0.5

    Reference: arcolezi2022.
    """
    return _symmetric_second(calibrate.unary(k, epsilon_forever, _HALF), epsilon_first, epsilon_forever)


def l_oue(k: int, epsilon_first: float, epsilon_forever: float) -> Memoized:
    """OUE twice (L-OUE); epsilon_first can be at most about two thirds of epsilon_forever.

    >>> l_oue(10, epsilon_first=1.0, epsilon_forever=2.0).loss() <= 1.0
    True

    Reference: arcolezi2022.
    """
    return _half_second(calibrate.unary(k, epsilon_forever, _HALF), epsilon_first, epsilon_forever)


def l_soue(k: int, epsilon_first: float, epsilon_forever: float) -> Memoized:
    """SUE, then OUE (L-SOUE); epsilon_first can be at most about two thirds of epsilon_forever.

    >>> l_soue(10, epsilon_first=1.0, epsilon_forever=2.0).loss() <= 1.0
    True

    Reference: arcolezi2022.
    """
    return _half_second(calibrate.symmetric(k, epsilon_forever), epsilon_first, epsilon_forever)


def loloha(
    k: int,
    epsilon_first: float,
    epsilon_forever: float,
    g: int | None = None,
    calibration: Literal["exact", "published"] = "exact",
) -> HashedMemoized:
    """Local hashing, then GRR twice on the bucket (LOLOHA): what is kept, and lost as values change, is per
    bucket.

    g is round(e^epsilon_first + 1), but at most 2^24, unless given; g = 2 is BiLOLOHA. A larger g gives away
    more as values change.

    >>> loloha(1000, epsilon_first=1.0, epsilon_forever=2.0).g
    4

    Reference: arcolezi2023loloha.
    """
    _checked_budgets(epsilon_first, epsilon_forever)
    buckets = min(_MOST_BUCKETS, max(2, round(math.exp(min(epsilon_first, 21.0)) + 1))) if g is None else g
    whole_number("g, the number of buckets,", buckets, 2, _MOST_BUCKETS)
    return HashedMemoized(k, l_grr(buckets, epsilon_first, epsilon_forever, calibration))


def l_plh(k: int, epsilon_first: float, epsilon_forever: float, g: int | None = None) -> PooledMemoized:
    """Pooled local hashing, then GRR twice on the bucket (L-PLH): LOLOHA by a function of a public pool.

    Counting takes no hash for a report. g is the prime number of buckets with which one report errs least,
    unless given. A larger g gives away more as values change.

    >>> m = l_plh(1000, epsilon_first=1.0, epsilon_forever=2.0)
    >>> m.g, m.pool.size, m.report_bytes
    (3, 1093, 2)

    Reference: arcolezi2023loloha.
    """
    _checked_budgets(epsilon_first, epsilon_forever)
    k = checked_k(k, MOST_VALUES, "pooled")
    buckets = find_pool(k, epsilon_first).g if g is None else g
    whole_number("g, the number of buckets,", buckets, 2, MOST_BUCKETS)
    return PooledMemoized(k, l_grr(buckets, epsilon_first, epsilon_forever))


def l_duchi(epsilon_first: float, epsilon_forever: float) -> MemoizedMean:
    """Whether a number is above a kept random line, by GRR twice (L-Duchi), for its mean.

    One report is Duchi's bit at epsilon_first. A number that moves by a tenth of its range changes what is
    kept for one person in ten.

    >>> m = l_duchi(epsilon_first=0.5, epsilon_forever=1.0)
    >>> m.loss() <= 0.5, round(float(m.one_round.of.scale), 3)
    (True, 4.083)

    Reference: duchi2018.
    """
    return MemoizedMean(l_grr(2, epsilon_first, epsilon_forever))


def dbitflip(k: int, epsilon: float, bits: int) -> BitFlip:
    """A few kept bits of a histogram (dBitFlipPM): each person is always asked about the same `bits` of the k
    values.

    p = sqrt(e) / (sqrt(e) + 1), q = 1 - p; with one bit, only one can differ, and p = e / (e + 1). There is
    no second round, so a change of the value shows as a change of the report.

    >>> m = dbitflip(100, epsilon=1.0, bits=4)
    >>> m.loss() <= 1.0, m.report_bytes
    (True, 5)

    Reference: ding2017.
    """
    sampled = whole_number("bits, the number of values that each person is asked about,", bits, 1)

    def make(threshold: int) -> BitFlip:
        return BitFlip(k, sampled, threshold, FULL - threshold)

    return make(calibrate.largest(lambda threshold: make(threshold).ratio, epsilon, _HALF + 1, _LARGEST))


def l_rsfd(
    ks: Sequence[int],
    epsilon_first: float,
    epsilon_forever: float,
    protocol: str = "adaptive",
    priors: Sequence[npt.ArrayLike] | None = None,
    mixed: float = 0.0,
    bits: int | None = None,
) -> Faked:
    """RS+FD for asking again: people keep which attribute is real, its first answer, and fakes.

    protocol is "l_grr", "l_osue-z", "l_osue-r", "l_sue-z", "l_sue-r" (fakes that keep no value, or a random
    one), "loloha", "l_plh" or "adaptive" (l_grr or l_osue-z, whichever errs less at f = 0). With priors,
    public shares of each attribute's values, fakes are realistic (RS+RFD), and the protocol is "l_grr",
    "l_osue-r" or "l_sue-r"; `mixed` spreads that part of each prior evenly. Both budgets are per record.

    "dbitflip" is there to be compared: each person is asked about the same `bits` values of each attribute,
    or all if they are fewer, any number of reports loses epsilon_first, and a change of the answer shows.

    >>> m = l_rsfd([3, 5, 4], epsilon_first=1.0, epsilon_forever=2.0)
    >>> m.loss() <= 1.0, m.permanent.loss() <= 2.0, round(m.permanent.loss(per="attribute"), 3)
    (True, True, 1.239)

    Reference: arcolezi2021.
    """
    sizes = checked_sizes(ks)
    known = [*FAKES_AGAIN, "dbitflip", "adaptive"] if priors is None else _REALISTIC
    if protocol not in known:
        which = "RS+FD" if priors is None else "RS+RFD"
        raise InvalidParameter(not_among(protocol, f"a protocol of {which} for asking again", known, MOVED))
    public = None if priors is None else Prior.of_all(priors, sizes, mixed)
    if (protocol == "dbitflip") != (bits is not None):
        raise InvalidParameter(
            "protocol 'dbitflip', and no other, takes bits, the number of values that each person is asked "
            "about, such as bits=4"
        )
    if bits is not None:
        most = whole_number("bits, the number of values that each person is asked about,", bits, 1)
        return Faked(tuple(Blank(dbitflip(k, epsilon_first, min(most, k))) for k in sizes))

    def best(k: int) -> Fake:
        names = ("l_grr", "l_osue-z") if protocol == "adaptive" else (protocol,)
        fakes = [fake_again(name, k, epsilon_first, epsilon_forever) for name in names]
        return min(fakes, key=lambda fake: float(Faked((fake,) * len(sizes)).marginal(0).error(1, 0.0)))

    if public is None:
        return Faked(tuple(map(best, sizes)))
    return Faked(
        tuple(fake_again(protocol, prior.k, epsilon_first, epsilon_forever, prior) for prior in public)
    )


PUBLISHED_AGAIN: dict[str, tuple[Callable[[int, float, float], Any], Callable[[Any, Prior], Fake]]] = {
    "l_grr": (l_grr, Guessed),
    "l_osue-z": (l_osue, fake_nobody),
    "l_osue-r": (l_osue, Imitated),
    "l_sue-z": (l_sue, fake_nobody),
    "l_sue-r": (l_sue, Imitated),
}
"""The protocols of RS+FD for asking again that a plan chooses among, unless others are named."""
FAKES_AGAIN = PUBLISHED_AGAIN | {"loloha": (loloha, fake_nobody), "l_plh": (l_plh, fake_nobody)}
"""The protocols of RS+FD for asking again: two rounds for k values, and the fake around them."""
_REALISTIC = ("l_grr", "l_osue-r", "l_sue-r")


def fake_again(
    name: str, k: int, epsilon_first: float, epsilon_forever: float, prior: Prior | None = None
) -> Fake:
    """One of FAKES_AGAIN; with a prior, its values go through the first round as if people had them."""
    make, around = FAKES_AGAIN[name]
    part = make(k, epsilon_first, epsilon_forever)
    return around(part, Prior.uniform(part.k)) if prior is None else Imitated(part, prior)


def _symmetric_second(first: Unary, epsilon_first: float, epsilon_forever: float) -> Memoized:
    _checked_budgets(epsilon_first, epsilon_forever)

    def chain(threshold: int) -> Memoized:
        return Memoized(first, Unary(first.k, threshold, FULL - threshold))

    return chain(
        calibrate.largest(lambda threshold: chain(threshold).ratio, epsilon_first, _HALF + 1, _LARGEST)
    )


def _half_second(first: Unary, epsilon_first: float, epsilon_forever: float) -> Memoized:
    _checked_budgets(epsilon_first, epsilon_forever)

    def chain(rest: int) -> Memoized:
        return Memoized(first, Unary(first.k, _HALF, FULL - rest))

    limit = chain(_LARGEST).loss()
    if epsilon_first > limit:
        raise InvalidParameter(
            f"epsilon_first must be at most {limit:.4g} for this pair of rounds and epsilon_forever = "
            f"{epsilon_forever}, got {epsilon_first}; l_osue has no such limit"
        )
    return chain(calibrate.largest(lambda rest: chain(rest).ratio, epsilon_first, _HALF + 1, _LARGEST))


def _checked_budgets(epsilon_first: float, epsilon_forever: float) -> None:
    if not positive_epsilon(epsilon_first) < positive_epsilon(epsilon_forever):
        raise InvalidParameter(
            f"epsilon_first, for one report, must be below epsilon_forever, got {epsilon_first} and "
            f"{epsilon_forever}"
        )
    if Fraction(epsilon_first) * 1000 > Fraction(epsilon_forever) * 999:
        raise InvalidParameter(
            "epsilon_first is too close to epsilon_forever for a second round; use a one-round protocol"
        )
