"""Chooses protocols that trade error against an attacker's guess, at one epsilon and by a stated objective.

The objective is weight * success + (1 - weight) * error: success is the attacker's best guess from one
report, error the variance with n people at frequency f (0 as published; None averages over the domain). With
a cap on success, it is the least error under that cap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from deniable.errors import InvalidParameter
from deniable.exact import PRIME, number, positive_epsilon, whole_number
from deniable.mechanisms import calibrate
from deniable.mechanisms.calibrate import least, minimum
from deniable.mechanisms.checks import checked_k
from deniable.mechanisms.sets import SetShape
from deniable.mechanisms.shapes import Hashed, PackedSubset, Subset, Unary
from deniable.randomness import FULL

S = TypeVar("S", bound=SetShape)
Score = Callable[[SetShape], float]


def aue(
    k: int,
    epsilon: float,
    *,
    n: int = 1,
    weight: float = 0.5,
    cap: float | None = None,
    f: float | None = 0.0,
) -> Unary:
    """Attack-aware unary encoding: the p with the best balance of error and attack, q on a logarithmic scale.

    p >= 1/2 (below, an error at f = 0 says nothing about the values people have), q = p / (e (1 - p) + p). k
    bits. Choose it when epsilon must be large and a single guess must still stay hard.

    >>> round(aue(k=100, epsilon=4.0).success(), 2)  # oue: 0.23
    0.11

    Reference: revisiting2025.
    """
    k = checked_k(k, 1 << 20, "unary")
    epsilon = positive_epsilon(epsilon)
    e = math.exp(-min(epsilon, 700.0))

    def make(log_odds: float) -> Unary:  # of q; those of p are epsilon more
        return calibrate.unary(k, epsilon, FULL - max(1, round(FULL / (1 + math.exp(log_odds) / e))))

    def choose(score: Score) -> Unary:
        return make(
            minimum(lambda log_odds: score(make(log_odds)), -min(epsilon, 20.0), min(20.0, 40.0 - epsilon))
        )

    return _balance(choose, n, weight, cap, f)


def ass(
    k: int,
    epsilon: float,
    *,
    n: int = 1,
    weight: float = 0.5,
    cap: float | None = None,
    f: float | None = 0.0,
) -> Subset | PackedSubset:
    """Attack-aware subset selection: the size with the best balance of error and attack.

    p and q as for ss, and so is a report. Choose it for the best balance of all; the size tends to sqrt(k)
    as epsilon grows.

    >>> ass(k=100, epsilon=4.0).size
    7

    Reference: revisiting2025.
    """
    k, epsilon = checked_k(k, 1 << 16, "subset"), positive_epsilon(epsilon)

    def choose(score: Score) -> Subset | PackedSubset:
        return calibrate.subset(
            k, epsilon, least(lambda size: score(calibrate.subset(k, epsilon, size)), 1, k - 1)
        )

    return _balance(choose, n, weight, cap, f)


def alh(
    k: int,
    epsilon: float,
    *,
    n: int = 1,
    weight: float = 0.5,
    cap: float | None = None,
    f: float | None = 0.0,
) -> Hashed:
    """Attack-aware local hashing: the number of buckets with the best balance of error and attack.

    p and q as for lh. 9 to 12 bytes. Choose it when reports must be small too. The balance takes the law's
    success (an ideal hash, as published); a cap is held against the exact one.

    >>> alh(k=100, epsilon=4.0).g
    13

    Reference: revisiting2025.
    """
    k, epsilon = checked_k(k, PRIME - 1, "hashed"), positive_epsilon(epsilon)
    most = min(PRIME - 1, max(k - 1, 3, round(math.exp(min(epsilon, 21.0))) + 1))

    def choose(score: Score) -> Hashed:
        return calibrate.hashed(k, epsilon, least(lambda g: score(calibrate.hashed(k, epsilon, g)), 2, most))

    return _balance(choose, n, weight, cap, f)


def athe(
    k: int,
    epsilon: float,
    *,
    n: int = 1,
    weight: float = 0.5,
    cap: float | None = None,
    f: float | None = 0.0,
) -> Unary:
    """Attack-aware thresholded histogram: the theta from 0.5 to 1 with the best balance of error and attack.

    p and q as for the. k bits. Choose it to compare with the papers: what it can reach, aue reaches too.

    >>> round(athe(k=100, epsilon=4.0).success(), 2)  # the: 0.19
    0.11

    Reference: revisiting2025.
    """

    def choose(score: Score) -> Unary:
        theta = minimum(lambda theta: score(calibrate.thresholded(k, epsilon, theta)), 0.5, 1.0)
        return calibrate.thresholded(k, epsilon, theta)

    return _balance(choose, n, weight, cap, f)


def _balance(choose: Callable[[Score], S], n: int, weight: float, cap: float | None, f: float | None) -> S:
    whole_number("n, the number of people,", n, 1)
    share = number("weight, between error alone and attack alone,", weight, -1e-9, 1.0 + 1e-9)
    if cap is None:
        return choose(lambda m: share * m.law.success() + (1 - share) * m.law.error(n, f))
    target = most = number("cap, the highest guess allowed,", cap, 0.0, 1.0 + 1e-9)
    while True:
        mechanism = choose(partial(_cap_error, target, n, f))
        guess = _guess(mechanism)
        if guess > target:
            if most < mechanism.blind:
                raise InvalidParameter(
                    f"a blind guess is already right for {100 * mechanism.blind:.4g} %; the cap is "
                    f"{100 * most:.4g} %"
                )
            raise InvalidParameter(
                f"no choice keeps a guess at or below {most:g}; the lowest is {mechanism.success():.4g}"
            )
        if mechanism.success() <= most:
            return mechanism
        target = min(target, guess) * min(0.99, most / mechanism.success())


def _guess(mechanism: SetShape) -> float:
    """The exact success where it is quick to compute, else that of the law, to be checked in the end."""
    return mechanism.success() if mechanism.k <= 1024 else mechanism.law.success()


def _cap_error(cap: float, n: int, f: float | None, mechanism: SetShape) -> float:
    """The error under a cap on the guess; above it, more than any error, and the more the further above."""
    guess = _guess(mechanism)
    return mechanism.law.error(n, f) if guess <= cap else 1e30 * (1 + guess)
