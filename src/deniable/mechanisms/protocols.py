"""Lists the protocols people know, each a choice of numbers for a shape, in the table PROTOCOLS.

Every function takes the number of values k and the budget epsilon, and gives a mechanism whose exact loss is
at most epsilon and, for every row of the table up to epsilon = 20, less than 1e-9 below it. Formulas are for
the ideal probabilities; the thresholds are their nearest safe integers. In formulas e is e^epsilon and
variances are those of a value that nobody has (f = 0).
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, final, overload

from deniable.errors import InvalidParameter, not_among
from deniable.exact import PRIME, number, positive_epsilon
from deniable.formatting import Printed
from deniable.mechanisms import calibrate
from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.checks import checked_k
from deniable.mechanisms.robust import alh, ass, athe, aue
from deniable.mechanisms.sets import SetMechanism, name_shapes
from deniable.mechanisms.shapes import Direct, Hadamard, Hashed, Linear, PackedSubset, Pooled, Subset, Unary
from deniable.mechanisms.shapes.pooled import MOST_VALUES, find_pool
from deniable.randomness import FULL


def grr(k: int, epsilon: float) -> Direct:
    """Generalized randomized response: the true value, or else any other.

    p = e / (e + k - 1), q = 1 / (e + k - 1). Variance (e + k - 2) / (n (e - 1)^2). One small integer.
    Choose it for small domains (k below 3 e + 2) or where a report must be a plain value.

    >>> m = grr(k=5, epsilon=1.0)
    >>> round(m.law.p, 4), m.loss() <= 1.0
    (0.4046, True)

    Reference: kairouz2016.
    """
    return calibrate.direct(k, epsilon)


def rr(epsilon: float) -> Direct:
    """Warner's coin: the truth, or else the opposite; grr with two values.

    p = e / (e + 1), q = 1 / (e + 1). Variance e / (n (e - 1)^2). One bit in a byte.
    Choose it for a yes-or-no question.

    >>> round(rr(epsilon=1.0).law.p, 4)
    0.7311

    Reference: warner1965.
    """
    return calibrate.direct(2, epsilon)


def ue(k: int, epsilon: float, p: float) -> Unary:
    """Unary encoding with a chosen p: one bit per value, the true one set with p, the others with q.

    q = p / (e (1 - p) + p). Variance q (1 - q) / (n (p - q)^2). k bits.
    Choose it to try a p of your own; oue, sue and aue choose one for you.

    >>> round(ue(k=100, epsilon=1.0, p=0.6).law.q, 4)
    0.3556

    Reference: wang2017.
    """
    return calibrate.unary(k, epsilon, round(Fraction(number("p", p, 0.0, 1.0)) * FULL))


def sue(k: int, epsilon: float) -> Unary:
    """Symmetric unary encoding, basic one-time RAPPOR: every bit is true with the same probability.

    p = sqrt(e) / (sqrt(e) + 1), q = 1 - p. Variance sqrt(e) / (n (sqrt(e) - 1)^2). k bits.
    Choose it to compare with RAPPOR; oue errs less at the same loss.

    >>> m = sue(k=100, epsilon=1.0)
    >>> round(m.law.p, 4), m.law.p + m.law.q
    (0.6225, 1.0)

    Reference: erlingsson2014.
    """
    return calibrate.symmetric(k, epsilon)


def oue(k: int, epsilon: float) -> Unary:
    """Optimized unary encoding: unary bits with the p that errs least.

    p = 1/2, q = 1 / (e + 1). Variance 4 e / (n (e - 1)^2). k bits.
    Choose it for large domains where bandwidth does not matter; a guess is never better than (k + 1) / 2k.

    >>> m = oue(k=100, epsilon=1.0)
    >>> round(m.law.q, 4), m.report_bytes
    (0.2689, 13)

    Reference: wang2017.
    """
    return calibrate.unary(k, epsilon, FULL >> 1)


def the(k: int, epsilon: float, theta: float | None = None) -> Unary:
    """Thresholded histogram: Laplace noise on every cell; only one bit of each is sent, for "above theta".

    p = 1 - exp(-l (1 - theta)) / 2, q = exp(-l theta) / 2, where the inverse noise l makes the bits spend all
    of epsilon (as published, l = epsilon / 2, they spend less). theta, unless given, errs least with that
    noise. Variance as for ue. k bits. Choose it to compare with the papers; at theta = 1 it is oue.

    >>> m = the(k=100, epsilon=1.0)
    >>> round(m.law.p, 4), m.loss() <= 1.0 < m.loss() + 1e-9
    (0.5938, True)

    Reference: wang2017.
    """
    return calibrate.thresholded(k, epsilon, calibrate.best_theta(epsilon) if theta is None else theta)


def lh(k: int, epsilon: float, g: int) -> Hashed:
    """Local hashing: hash into g buckets by a random function, then randomized response among the buckets.

    p = e / (e + g - 1), q = 1 / g. Variance q (1 - q) / (n (p - q)^2). 9 to 12 bytes whatever k is.
    Choose it to try a g of your own; blh, olh and alh choose one for you.

    >>> m = lh(k=1000, epsilon=1.0, g=4)
    >>> round(m.law.p, 4), m.report_bytes
    (0.4754, 9)

    Reference: wang2017.
    """
    return calibrate.hashed(k, epsilon, g)


def blh(k: int, epsilon: float) -> Hashed:
    """Binary local hashing: a hash function and one bit.

    p = e / (e + 1), q = 1/2. Variance (e + 1)^2 / (n (e - 1)^2). 9 bytes.
    Choose it at small epsilon, or where the payload must be one bit.

    >>> round(blh(k=100, epsilon=1.0).law.p, 4)
    0.7311

    Reference: bassily2015.
    """
    return calibrate.hashed(k, epsilon, 2)


@overload
def olh(k: int, epsilon: float, pool: Literal[False] = False) -> Hashed: ...


@overload
def olh(k: int, epsilon: float, pool: bool | int) -> Hashed | Pooled: ...


def olh(k: int, epsilon: float, pool: bool | int = False) -> Hashed | Pooled:
    """Optimized local hashing: round(e^epsilon) + 1 buckets, the error of oue, a report of constant size.

    p = e / (e + g - 1), q = 1 / g. Variance 4 e / (n (e - 1)^2), but for g's rounding. 9 to 12 bytes.
    Choose it for large domains with little bandwidth; counting costs k hashes a report. With a `pool` it is
    plh, which is counted at once; a number is the most functions that the pool may have.

    >>> olh(k=100, epsilon=1.0).g
    4
    >>> olh(k=1000, epsilon=1.0, pool=1024).pool.size
    781

    Reference: wang2017.
    """
    if pool is not False:
        return plh(k, epsilon, None if pool is True else pool)
    if positive_epsilon(epsilon) > math.log(PRIME - 2):
        raise InvalidParameter(f"epsilon {epsilon} gives olh more buckets than it has hashes; use grr or oue")
    return calibrate.hashed(k, epsilon, round(math.exp(epsilon)) + 1)


def plh(k: int, epsilon: float, pool: int | None = None) -> Pooled:
    """Pooled local hashing: a hash function of a public pool, and a bucket by randomized response among g.

    p = e / (e + g - 1), q = c p + (1 - c) (1 - p) / (g - 1), where c, a little below 1 / g, is the share of
    functions under which two values collide: the same for any two. g is the prime with the least error, among
    those whose pool has at most `pool` functions if that is given. Variance q (1 - q) / (n (p - q)^2), at
    most 3 % above that of olh up to epsilon 5.5; beyond, g would have to be above 251. 1 to
    4 bytes. Choose it for large collections over large domains: reports are
    counted at once, and hashes are made only for the pool.

    >>> m = plh(k=1000, epsilon=1.0)
    >>> m.g, m.pool.size, m.report_bytes
    (3, 1093, 2)

    Reference: feldman2022.
    """
    k, epsilon = checked_k(k, MOST_VALUES, "pooled"), positive_epsilon(epsilon)
    return calibrate.pooled(k, epsilon, find_pool(k, epsilon, pool).g)


def linear(bits: int, epsilon: float) -> Linear:
    """Linear local hashing: a random linear hash of a code that nobody listed, and a bucket among g = 2^rows.

    p = e / (e + g - 1), q = 1 / g but for 2^-bits, rows = round(log2(e + 1)), at most 8. Variance that of
    olh, but for 0.2, 0.07 and 0.5 % at epsilon 1, 2 and 4. 2 to 10 bytes. Choose it for texts and long
    numbers: all codes with one prefix are counted at once, by a Walsh-Hadamard transform.

    >>> m = linear(bits=50, epsilon=2.0)
    >>> m.g, round(m.law.p, 4), round(m.law.q, 4)
    (8, 0.5135, 0.125)

    Reference: wang2017.
    """
    return calibrate.linear(bits, epsilon)


def ss(k: int, epsilon: float, size: int | None = None) -> Subset | PackedSubset:
    """Subset selection: a set of values that holds the true one with probability p.

    size = max(1, round(k / (e + 1))), p = size e / (size e + k - size), q = (p (size - 1) + (1 - p) size) /
    (k - 1). Variance q (1 - q) / (n (p - q)^2). size small integers or k bits, whichever is shorter.
    Choose it for the least error of all.

    >>> m = ss(k=100, epsilon=1.0)
    >>> m.size, round(m.law.p, 4)
    (27, 0.5013)

    Reference: ye2018.
    """
    if size is None:
        k = checked_k(k, 1 << 16, "subset")
        size = max(1, round(k / (math.exp(min(positive_epsilon(epsilon), 700.0)) + 1)))
    return calibrate.subset(k, epsilon, size)


def hr(k: int, epsilon: float) -> Hadamard:
    """Hadamard response: a column of a Hadamard matrix that agrees with the value's row with probability p.

    p = e / (e + 1), q = 1/2. Variance (e + 1)^2 / (n (e - 1)^2). One integer of about log2(k) bits.
    Choose it at small epsilon for large domains: small reports, counted all at once in k log k steps.

    >>> round(hr(k=100, epsilon=1.0).law.p, 4)
    0.7311

    Reference: acharya2019.
    """
    return calibrate.hadamard(k, epsilon)


def adaptive(
    k: int, epsilon: float, among: Iterable[str] | None = None, f: float | None = None
) -> SetMechanism:
    """Chooses the protocol with the least error (ADP), among all classical ones or among those named.

    The error is the variance averaged over the domain, the same for every true distribution; with f given,
    the variance at that frequency (the papers compare at f = 0). Ties go to the smaller report. p and q are
    those of what is chosen. Choose it where nothing but the error matters.

    >>> type(adaptive(k=3, epsilon=1.0)).__name__
    'Direct'
    >>> type(adaptive(k=100, epsilon=1.0, among=["grr", "oue"], f=0.0)).__name__
    'Unary'

    Reference: wang2017.
    """
    positive_epsilon(epsilon)
    names = [row.name for row in PROTOCOLS.values() if row.classical] if among is None else list(among)
    candidates: list[SetMechanism] = []
    refused = "name at least one protocol to choose among"
    for name in names:
        row = PROTOCOLS.get(name)
        if row is None or name == "adaptive":
            allowed = [known for known in PROTOCOLS if known != "adaptive"]
            raise InvalidParameter(not_among(name, "a protocol to choose among", allowed, MOVED))
        try:
            candidates.append(row.make(k, epsilon))
        except InvalidParameter as problem:  # k or epsilon is beyond this shape; another may do
            refused = str(problem)
    if not candidates:
        raise InvalidParameter(refused)

    def error(mechanism: Mechanism) -> tuple[float, int]:
        return float(f"{mechanism.law.error(1, f):.6e}"), mechanism.report_bytes

    return min(candidates, key=error)


class Row(Printed):
    """A row of a table of protocols, which is called as the function that makes its mechanisms."""

    function: Callable[..., Mechanism]

    def __str__(self) -> str:
        return f"Protocol {self.name}: {self.title}"

    @property
    def name(self) -> str:
        """What the function is called."""
        return self.function.__name__

    @property
    def title(self) -> str:
        """The first paragraph of the function's documentation."""
        return " ".join((self.function.__doc__ or "").split("\n\n", 1)[0].split())


@final
@dataclass(frozen=True)
class Protocol(Printed):
    """A row of the table: what a protocol is called, how it is made, what may be done with it."""

    name: str
    make: Callable[[int, float], SetMechanism]
    classical: bool = True
    """It is a fixed choice of numbers, so that `adaptive` compares it with the others."""

    def __str__(self) -> str:
        return f"Protocol {self.name}: {self.title}"

    @property
    def title(self) -> str:
        """The first paragraph of its documentation."""
        return " ".join((self.make.__doc__ or "").split("\n\n", 1)[0].split())

    @property
    def reference(self) -> str | None:
        """The key of what is to be cited for it, from its documentation."""
        return reference_of(self.make)


PROTOCOLS: dict[str, Protocol] = {
    row.name: row
    for row in (
        Protocol("grr", grr),
        Protocol("sue", sue),
        Protocol("oue", oue),
        Protocol("the", the),
        Protocol("blh", blh),
        Protocol("olh", olh),
        Protocol("plh", plh, classical=False),
        Protocol("ss", ss),
        Protocol("hr", hr),
        Protocol("aue", aue, classical=False),
        Protocol("ass", ass, classical=False),
        Protocol("alh", alh, classical=False),
        Protocol("athe", athe, classical=False),
        Protocol("adaptive", adaptive, classical=False),
    )
}
"""Every protocol that needs only k and epsilon, for the command line, simulations, plans and tests."""
MOVED = {
    name: f"no plan can hold it, and it is in the package for papers: deniable_papers.mechanisms.{name}"
    for name in ("she", "exponential", "tight_constraints", "planar_laplace")
}
"""Where those are that were protocols, or were listed with them."""


def reference_of(make: Callable[..., object]) -> str | None:
    """The key that the documentation of a function ends with: `Reference: wang2017.`

    >>> reference_of(oue), reference_of(print)
    ('wang2017', None)
    """
    match = re.search(r"^\s*Reference: (\w+)", make.__doc__ or "", re.MULTILINE)
    return match and match.group(1)


@lru_cache(maxsize=1024)
def recognize(part: Mechanism) -> Protocol | None:
    """The protocol that makes this very mechanism at the epsilon that it loses; None where none does.

    Thresholds may differ by their rounding. Fixed choices of numbers are tried first, then those that search.

    >>> recognize(ss(100, 1.0)).name, recognize(ss(100, 1.0, size=20))
    ('ss', None)
    """
    loss = part.loss()
    budgets = dict.fromkeys([loss, float(f"{loss:.9g}"), loss * (1 - 1e-9), loss * (1 + 1e-9)])
    known = [row for row in PROTOCOLS.values() if row.name != "adaptive" and _may_make(row, type(part))]
    for row in sorted(known, key=lambda row: not row.classical):
        if any(_is_made_by(row, part, epsilon) for epsilon in budgets):
            return row
    return None


@name_shapes
def _name_protocol(part: Mechanism) -> str | None:
    """The name of the protocol that makes this very mechanism."""
    protocol = recognize(part)
    return None if protocol is None else protocol.name.upper()


def _may_make(row: Protocol, shape: type) -> bool:
    """Whether a protocol says that it makes something else: then it need not be tried."""
    said = inspect.get_annotations(row.make, eval_str=False).get("return", shape.__name__)
    return shape.__name__ in str(said)


def _is_made_by(row: Protocol, part: Mechanism, epsilon: float) -> bool:
    try:
        mechanism = row.make(part.k, epsilon)
    except InvalidParameter:
        return False
    # a set is the same protocol however it is written
    return mechanism.title == part.title and all(
        _nearly_same(name, number, vars(mechanism)[name])
        for name, number in vars(part).items()
        if name in _NUMBERS
    )


def _nearly_same(name: str, number: object, other: object) -> bool:
    """Sizes are the same; thresholds are, but for their rounding."""
    if name not in _THRESHOLDS:
        return number == other
    assert isinstance(number, int)
    assert isinstance(other, int)
    return abs(number - other) << 40 <= min(number, FULL - number)


_THRESHOLDS = ("keep", "one", "zero")
_NUMBERS = ("k", "g", "size", *_THRESHOLDS)
