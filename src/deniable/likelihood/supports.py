"""Packs reports of sets into bits, and computes how likely each is from people, and from fakes.

These are up to one factor of the report, so that their ratio says how much the report speaks for being real.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch

import numpy as np

from deniable.arrays import Array, Floats, Integers, list_blocks
from deniable.errors import InvalidParameter
from deniable.estimate.consistency import simplex
from deniable.likelihood.rows import Supports, pack_bits
from deniable.mechanisms import SetMechanism, Tally
from deniable.records import Blank, Fake, Guessed, Imitated
from deniable.rounds import BitFlip

MOST_BYTES = 1 << 30
"""More packed supports than this are not kept; the tally's composite likelihood needs none."""
EVEN = 0.01
"""How much of all values alike the first guess of a search has."""
_AT_ONCE = 1 << 21
_SAMPLED = 4096


@singledispatch
def pack_layers(mechanism: SetMechanism, reports: Array) -> list[tuple[Array, float]]:
    """The sets that reports support, as bits, and how much likelier such a report is, minus 1."""
    _refuse_many(mechanism, reports, 1)
    return [(mechanism.packed_support(reports), mechanism.odds - 1)]


@pack_layers.register
def _pack_nested_layers(mechanism: BitFlip, reports: Array) -> list[tuple[Array, float]]:
    """Two nested sets with a factor each: values whose bit is set, and these with all that have no bit."""
    _refuse_many(mechanism, reports, 2)
    k = mechanism.k
    bits = np.empty((2, (k + 7) // 8, len(reports)), dtype=np.uint8)
    for block in list_blocks(len(reports), _AT_ONCE // k):
        holds = mechanism.support(reports[block])
        bits[0, :, block] = pack_bits(holds)
        bits[1, :, block] = pack_bits(holds | ~mechanism.asked(reports[block]))
    law = mechanism.law
    up = law.exact_p / law.exact_q
    down = (1 - law.exact_q) / (1 - law.exact_p)
    return [(bits[0], float((up - 1) * down)), (bits[1], float(down - 1))]


def _refuse_many(mechanism: SetMechanism, reports: Array, layers: int) -> None:
    if len(reports) * ((mechanism.k + 7) // 8) * layers > MOST_BYTES:
        raise InvalidParameter(
            f"{len(reports):,} different reports about {mechanism.k:,} values do not fit in memory; give the "
            "tally instead, which has a composite likelihood"
        )


def merge_equal(reports: Array) -> tuple[Array, Integers]:
    """Equal reports once, with how often they came, where a look at some says that sorting is worth it."""
    width = reports.dtype.itemsize * int(np.prod(reports.shape[1:], dtype=np.int64))
    raw = reports.reshape(len(reports), -1).view(np.dtype((np.void, width))).reshape(-1)
    if len(reports) > _SAMPLED and np.unique(raw[:: len(reports) // _SAMPLED]).size > 0.9 * _SAMPLED:
        return reports, np.ones(len(reports), dtype=np.int64)
    _, first, times = np.unique(raw, return_index=True, return_counts=True)
    return reports[first], times.astype(np.int64)


def guess_shares(mechanism: SetMechanism, tally: Tally) -> Floats:
    """Shares near the maximum, none of them 0, to begin a search with."""
    guess = np.full(mechanism.k, 1.0 / mechanism.k)
    if tally.asked is None or tally.asked.min() > 0:
        guess = (1 - EVEN) * simplex(mechanism.estimate(tally).frequencies) + EVEN * guess
    return np.asarray(guess / guess.sum())


def prepare_likelihoods(part: SetMechanism, reports: Array) -> Callable[[Floats], Floats]:
    """How likely each report is, up to a factor, as a function of the shares that values are drawn from."""
    if part.names_value and reports.ndim == 1:
        positions = reports.astype(np.intp)
        return lambda shares: np.asarray(1.0 + (part.odds - 1.0) * shares)[positions]
    return Supports(part.k, pack_layers(part, reports)).forward


@singledispatch
def compute_fake_likelihoods(fake: Fake, reports: Array) -> Floats:  # noqa: ARG001 - those of every fake take reports
    """Computes how likely each report is from the fake, up to the same factor."""
    raise InvalidParameter(f"how likely a report is from {type(fake).__name__} is not known here")


@compute_fake_likelihoods.register
def _(fake: Guessed, reports: Array) -> Floats:
    return np.asarray(fake.supported / fake.part.law.q)[reports]


@compute_fake_likelihoods.register
def _(fake: Imitated, reports: Array) -> Floats:
    return prepare_likelihoods(fake.part, reports)(fake.prior.shares)


@compute_fake_likelihoods.register
def _(fake: Blank, reports: Array) -> Floats:
    """As many times likelier as any report that does not support its value is less likely from a person."""
    return np.full(len(reports), float((1 - fake.nobody.share) / (1 - fake.part.law.exact_p)))
