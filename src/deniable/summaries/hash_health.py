"""Checks reports of hashed codes, and which levels of a question people report, whatever they answer.

Hash and level are drawn without looking at the answer. Buckets of codes other than 0 are even over all
hashes; code 0 is in bucket 0 of every hash, so that this bucket may hold more. Hashes that are not fair are
not sent, which moves all of it a little: counts are compared with the nearer end of what the law allows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.mechanisms import Linear
from deniable.randomness import FULL, toeplitz
from deniable.summaries.health import ONE_FUNCTION, Check
from deniable.summaries.tails import cells_noticed, compare_cells, pool_cells, several

ONE_BUCKET = "reports of one bucket, other than the first"
ONE_LEVEL = "reports that all name the level of whole values"
_EXPECTED = 10  # reports in a cell of buckets


@final
@dataclass
class HashBits:
    """How often each bit of a hash is set: in half of honest reports."""

    mechanism: Linear
    n: int = 0
    counts: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros(toeplitz.count_random(self.mechanism.bits, self.mechanism.rows))

    def look(self, reports: Array) -> None:
        """Count these reports, too."""
        bits = np.unpackbits(np.ascontiguousarray(reports["bits"]), axis=1, bitorder="little")
        self.counts += bits[:, : self.counts.size].sum(axis=0)
        self.n += len(reports)

    def check(self, attribute: str, tail: float) -> Check:
        """What the reports so far say; alarms are for p-values below this tail."""
        from scipy.special import chdtrc, chdtri, chndtrinc

        size = self.counts.size
        unfair = float(toeplitz.chance_dependent(self.mechanism.bits, self.mechanism.rows))
        moved = unfair * (1 + unfair) + unfair**2  # at most, of twice a share less 1
        wider = 1 + unfair + unfair**2 * size  # at most, of the variance in any direction
        away = np.abs(2 * self.counts / self.n - 1)
        beyond = np.maximum(away - moved, 0.0)
        worst = int(np.argmax(away))
        needed = float(chndtrinc(chdtri(size, tail), size, 0.1)) * wider
        return Check(
            attribute,
            "hash bits",
            float(chdtrc(size, self.n * float(beyond @ beyond) / wider)),
            f"bit {worst} of the hash is set in {100 * self.counts[worst] / self.n:.3g} % of reports, not "
            "in half",
            min(1.0, moved + math.sqrt(needed / (self.n * size))),
            ONE_FUNCTION,
        )


def check_buckets(attribute: str, mechanism: Linear, counts: Integers, tail: float) -> Check:
    """How many reports each bucket has; the first may have more than others, if people have code 0."""
    from scipy.special import bdtr, bdtrc

    n, first = int(counts.sum()), int(counts[0])
    low, high = map(float, mechanism.bound_other)
    fewer = float(bdtr(first, n, low))
    more = float(bdtrc(first - 1, n, mechanism.keep / FULL)) if first else 1.0
    others, noticed, at, even = _compare_others(mechanism, counts, (low, high), tail / 3)
    saw = f"bucket {at} has {100 * counts[at] / n:.3g} % of reports, others {100 * even:.3g} %"
    if others > min(fewer, more):
        usual = f"{100 * low:.3g} to {100 * mechanism.keep / FULL:.3g} %"
        saw = f"the first bucket has {100 * first / n:.3g} % of reports; {usual} are usual"
    return Check(attribute, "buckets", several(min(fewer, more, others), 3), saw, noticed, ONE_BUCKET)


def _compare_others(
    mechanism: Linear, counts: Integers, ends: tuple[float, float], tail: float
) -> tuple[float, float, int, float]:
    """How often all buckets but the first differ as much; the share of fakes in one of them that is noticed;
    and the fullest of them, with what others have.
    """
    from scipy.special import chdtrc

    n, rest = int(counts.sum()), int(counts[1:].sum())
    g, (low, high) = mechanism.g, ends
    even = 1 / max(1, g - 1)
    off = max(even - low / ((g - 2) * high + low), high / ((g - 2) * low + high) - even) if g > 2 else 0.0
    shift = 0
    while rest * even * ((1 << shift) - 1 or 1) < _EXPECTED and shift < mechanism.rows:
        shift += 1
    cells = np.arange(1, g) >> shift
    seen = np.bincount(cells, counts[1:])
    sizes = np.bincount(cells, minlength=seen.size)
    seen, sizes = seen[sizes > 0], sizes[sizes > 0]
    fullest = 1 + int(np.argmax(counts[1:]))
    usual = float(counts.sum() - counts[0] - counts[fullest]) / max(1, g - 2) / n if g > 2 else 0.0
    freedom = seen.size - 1
    if freedom < 1:
        return 1.0, 1.0, fullest, usual
    beyond = np.maximum(np.abs(seen - rest * even * sizes) - rest * off * sizes, 0.0)
    statistic = float((beyond**2 / (rest * even * sizes)).sum()) / (1 + off / even)
    inside = min(1.0, cells_noticed(float(sizes[-1]) * even, rest, freedom, tail) + off * float(sizes[-1]))
    part = rest / n  # fakes are among the reports of these buckets
    noticed = inside * part / (1 - inside + inside * part)
    return float(chdtrc(freedom, statistic)), noticed, fullest, usual


def check_levels(question: str, counts: Sequence[int], chances: Sequence[float], tail: float) -> Check:
    """How many people report each level of one question. They see the same question, so that nobody can skip
    a level; of several questions some may be skipped.
    """
    n, parts = sum(counts), np.array(chances) / math.fsum(chances)
    seen = np.array(counts, dtype=np.float64)
    cells = pool_cells(n * parts)
    worst = int(np.argmax(np.abs(seen - n * parts) / np.sqrt(n * parts)))
    return Check(
        question,
        "levels of a question",
        compare_cells(seen, n * parts, cells),
        f"level {worst + 1} of {len(counts)} has {100 * seen[worst] / n:.3g} % of reports, usual are "
        f"{100 * parts[worst]:.3g} %",
        cells_noticed(float(parts[-1]), n, int(cells.max()), tail),
        ONE_LEVEL,
    )
