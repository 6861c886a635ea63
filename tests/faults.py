"""Planted faults: right mechanisms with one thing wrong in what they send or claim. Every one was found in
real software.

A faulty mechanism claims the law and the loss of the right one; the generic checks must see that they are not
its own. (The one-line faults of bench/source_faults.toml are planted in the source itself, by `make faults`.)
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.arrays import Array, Floats
from deniable.estimate import MeanEstimate
from deniable.law.law import ReportLaw
from deniable.randomness import FULL
from deniable.randomness.simulated import fixed

UNTYPED: Any = object
"""A base by which types let a class pass for any mechanism."""


class Faulty(UNTYPED):  # type: ignore[misc]
    """All that it claims is what the right mechanism claims."""

    k: int

    def __init__(self, right: dn.mechanisms.Mechanism) -> None:
        self.right = right
        self.k = right.k

    @property
    def words(self) -> int:
        return self.right.words

    @property
    def report_bytes(self) -> int:
        return self.right.report_bytes

    @property
    def law(self) -> ReportLaw:
        return self.right.law

    def loss(self) -> float:
        return self.right.loss()

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        return self.right.success(prior)

    def privatize(self, values: npt.ArrayLike, words: dn.randomness.Words | None = None) -> Array:
        return self.right.privatize(values, words)

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        return self.right.support(reports)

    def likelihoods(self, reports: Array) -> Floats:
        return self.right.likelihoods(reports)

    def tally(self, reports: Array) -> dn.Tally:
        return self.right.tally(reports)

    def estimate(self, tally: dn.Tally) -> dn.Estimate | MeanEstimate:
        return self.right.estimate(tally)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.right, name)


def shape_of(mechanism: dn.mechanisms.Mechanism) -> dn.mechanisms.Mechanism:
    """The mechanism that this one claims to be."""
    return mechanism.right if isinstance(mechanism, Faulty) else mechanism


class StuckBit(Faulty):
    """One value's bit is never randomized: whoever has that value says so."""

    def __init__(self, right: dn.mechanisms.Unary, value: int) -> None:
        super().__init__(right)
        self.value = value

    def privatize(self, values: npt.ArrayLike, words: dn.randomness.Words | None = None) -> Array:
        reports = self.right.privatize(values, words)
        byte, bit = divmod(self.value, 8)
        reports[:, byte] &= np.uint8(0xFF ^ (1 << bit))
        reports[:, byte] |= (np.asarray(values) == self.value).astype(np.uint8) << np.uint8(bit)
        return reports


class UnresetBit(Faulty):
    """All bits are drawn with q; then the true one is set with p, but else keeps what it was: p + (1 - p) q
    in all.
    """

    def __init__(self, right: dn.mechanisms.Unary) -> None:
        super().__init__(right)
        self.zero = right.zero

    def privatize(self, values: npt.ArrayLike, words: dn.randomness.Words | None = None) -> Array:
        source = dn.randomness.system() if words is None else words
        true = np.asarray(values)
        reports = self.right.privatize(true, source)
        earlier = dn.randomness.chance(source.take(len(true)), self.zero)
        rows = np.arange(len(true))
        reports[rows, true >> 3] |= earlier.astype(np.uint8) << (true & 7).astype(np.uint8)
        return reports


class MovedP(Faulty):
    """The true value is supported more often than is claimed, by a share of p."""

    def __init__(self, right: dn.mechanisms.Mechanism, by: float) -> None:
        super().__init__(right)
        self.by = by

    def privatize(self, values: npt.ArrayLike, words: dn.randomness.Words | None = None) -> Array:
        return self._moved().privatize(values, words)

    def _moved(self) -> dn.mechanisms.Mechanism:
        def up(threshold: int) -> int:
            return min(FULL - 1, round(threshold * (1 + Fraction(self.by))))

        match self.right:
            case dn.mechanisms.Unary():
                return replace(self.right, one=up(self.right.one))
            case (
                dn.mechanisms.Direct()
                | dn.mechanisms.Subset()
                | dn.mechanisms.PackedSubset()
                | dn.mechanisms.Hashed()
                | dn.mechanisms.Pooled()
                | dn.mechanisms.Hadamard()
            ):
                return replace(self.right, keep=up(self.right.keep))
            case _:
                raise AssertionError(f"say what p is for {type(self.right).__name__}")


class TruthFirst(Faulty):
    """A subset written in the order it was made: the true value first, where it is a member."""

    def privatize(self, values: npt.ArrayLike, words: dn.randomness.Words | None = None) -> Array:
        reports = self.right.privatize(values, words)
        order = np.argsort(reports != np.asarray(values)[:, None], axis=1, kind="stable")
        return np.take_along_axis(reports, order, axis=1)


class SharedWords(Faulty):
    """A batch in which everybody gets the first person's words."""

    def privatize(self, values: npt.ArrayLike, words: dn.randomness.Words | None = None) -> Array:
        source = dn.randomness.system() if words is None else words
        count = len(np.asarray(values))
        first = source.take(self.words * count)[: self.words]
        return self.right.privatize(values, fixed(np.tile(first, count)))


class FloatLoss(Faulty):
    """A loss computed from probabilities as floats, rounded to nearest: now and then below what is spent."""

    def loss(self) -> float:
        match self.right:
            case dn.mechanisms.Unary(one=one, zero=zero):
                p, q = one / FULL, zero / FULL
                return math.log(p * (1 - q) / (q * (1 - p)))
            case dn.mechanisms.Direct(k=k, keep=keep):
                return math.log(keep / FULL * (k - 1) / (1 - keep / FULL))
            case _:
                raise AssertionError(f"no such formula for {type(self.right).__name__}")


def float_grr(k: int, epsilon: float) -> dn.mechanisms.Direct:
    """Randomized response with its textbook probability rounded to the nearest threshold."""
    return dn.mechanisms.Direct(k, round(math.exp(epsilon) / (math.exp(epsilon) + k - 1) * FULL))


def float_oue(k: int, epsilon: float) -> dn.mechanisms.Unary:
    """Optimized unary encoding with its textbook probability rounded to the nearest threshold."""
    return dn.mechanisms.Unary(k, FULL // 2, round(FULL / (math.exp(epsilon) + 1)))


def float_sue(k: int, epsilon: float) -> dn.mechanisms.Unary:
    """Symmetric unary encoding with its textbook probability rounded to the nearest threshold."""
    one = round(FULL * math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1))
    return dn.mechanisms.Unary(k, one, FULL - one)
