"""Searches prefixes level by level, and decides which candidates are real.

Those who decide are a group of people that did not choose the candidates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.discovery.codes import EVERY, WHOLE, Codes, find_passage
from deniable.discovery.decode import Progress, count_codes, find_survivors, list_supported
from deniable.errors import InvalidParameter, InvalidValue
from deniable.estimate.intervals import clopper_pearson
from deniable.exact import number, round_up
from deniable.frames.answers import Show
from deniable.mechanisms import Linear

_PARTS = 100  # of a level's progress
_HALVINGS = 64


def discover(
    levels: Sequence[tuple[Linear, Array]],
    final: tuple[Linear, Array],
    *,
    alpha: float = 0.05,
    codes: Codes = EVERY,
    show: Show | None = None,
) -> Decision:
    """Which codes many people have, from reports of prefixes, and of whole codes by a final group.

    `levels` are the mechanism and the reports of each level, the shortest prefix first. The final group
    extends the prefixes that survive and decides which codes are real: its people chose no prefix. Where the
    last level reports whole codes, it decides which of them are. Codes that no value has are no candidates.

    >>> from deniable import seeded
    >>> from deniable.mechanisms import linear
    >>> levels = [linear(bits, 4.0) for bits in (10, 20)]
    >>> people = np.array([77_777] * 600 + [123_456] * 400)
    >>> sent = [(m, m.privatize(people >> (20 - m.bits), seeded(m.bits))) for m in levels]
    >>> found = discover(sent[:-1], sent[-1])
    >>> found.codes[found.shown]
    array([ 77777, 123456])
    """
    bits = [*(level.bits for level, _ in levels), final[0].bits]
    _check_bits(bits)
    passage, prefixes, before = find_passage(bits), np.zeros(1, dtype=np.int64), 0
    for done, (level, reports) in enumerate(levels):
        level.tally(reports)  # refuses what was never sent
        progress = _tell(show, done, len(bits))
        sent = (level, reports)
        prefixes = find_survivors(sent, prefixes, level.bits - before, passage, codes, progress).codes
        before = level.bits
    progress = _tell(show, len(levels), len(bits))
    if before == bits[-1]:
        decision = decide(*final, prefixes, alpha)
    else:
        decision = decide_extensions(final, prefixes, bits[-1] - before, alpha, codes, progress)
    progress(1.0)
    return decision


def _tell(show: Show | None, done: int, groups: int) -> Callable[[float], None]:
    """Shows how much is done, from what part of one group is."""

    def progress(part: float) -> None:
        if show is not None:
            show(int(_PARTS * (done + part)), _PARTS * groups)

    return progress


def _check_bits(bits: Sequence[int]) -> None:
    """Each level must extend the one before, and all must end in whole codes that can be searched."""
    if len(bits) == 1 and bits[0] > WHOLE:
        raise InvalidParameter(
            f"codes of more than {WHOLE} bits are not searched without levels, got {bits[0]}; "
            "decide_listed takes a public list"
        )
    levels = list(bits[:-1])
    if sorted(set(levels)) != levels or (levels and levels[-1] > bits[-1]):
        raise InvalidParameter(
            f"levels report longer and longer prefixes of all {bits[-1]} bits, got {levels}"
        )


@final
@dataclass(frozen=True, eq=False)
class Decision:
    """Candidates, how many reports of the final group support each, and which of them are shown.

    A code that nobody has is shown with probability `alpha` at most, all candidates together. Shares of those
    shown are conditional: a count is only looked at where it reached the threshold, and a plain share would
    be too large.
    """

    mechanism: Linear
    codes: Integers
    counts: Integers
    n: int
    """Reports of the final group."""
    alpha: float = 0.05
    least: int = 0
    """A count that a candidate must reach besides, by a rule that looks at no report."""
    unlisted: int = 0
    """Candidates that are not among `codes`, since chance reaches their counts."""

    @property
    def candidates(self) -> int:
        """How many codes the final group was asked about."""
        return len(self.codes) + self.unlisted

    @cached_property
    def beyond_chance(self) -> int:
        """The count that chance reaches in `alpha` / m of cases at most, for one of m candidates."""
        return find_threshold(self.mechanism, self.n, self.alpha / max(1, self.candidates))

    @property
    def threshold(self) -> int:
        return max(self.beyond_chance, self.least)

    @property
    def hidden(self) -> int:
        """How many candidates are not shown although chance hardly reaches their counts."""
        return int((self.counts >= self.beyond_chance).sum() - self.shown.sum())

    def require(self, share: Fraction) -> Decision:
        """The decision, if a candidate must also have at least this share: the plain share of all.

        It is a rule on counts that is known beforehand, so that intervals are conditional on it, too.
        """
        return replace(self, least=count_share(self.mechanism, self.n, share))

    @property
    def shown(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.counts >= self.threshold)

    @property
    def shares(self) -> Floats:
        return _to_shares(self.mechanism, self.counts / max(1, self.n), self.mechanism.law.q)

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """Ends of intervals of all candidates that hold at once, with probability 1 - alpha."""
        tail = self.alpha / (2 * max(1, self.candidates))
        low, high = clopper_pearson(self.counts.astype(np.float64), max(1, self.n), tail)
        least, most = map(float, self.mechanism.bound_other)
        return _to_shares(self.mechanism, low, most), _to_shares(self.mechanism, high, least)

    @property
    def low(self) -> Floats:
        return self.ends[0]

    @property
    def high(self) -> Floats:
        return self.ends[1]

    @cached_property
    def conditional(self) -> tuple[Floats, Floats, Floats]:
        """Shares of the candidates that are shown, with 95 % intervals, given that they are shown."""
        return state_shown(self.mechanism, self.counts[self.shown], self.n, self.threshold)


def state_shown(
    mechanism: Linear, counts: npt.ArrayLike, n: int, threshold: int
) -> tuple[Floats, Floats, Floats]:
    """Shares of candidates whose counts reached a threshold, and both ends of their 95 % intervals.

    Such a count follows a binomial law that is cut off below the threshold. The share is the one whose median
    is the count; all are cut at 0 and 1.

    >>> from deniable.mechanisms import linear
    >>> [round(float(share), 6) for share in state_shown(linear(50, 2.0), 2178, 16_000, 2128)]
    [0.027157, 0.004977, 0.042513]
    """
    values = np.asarray(counts, dtype=np.float64)
    seen, places = np.unique(values.ravel(), return_inverse=True)  # many counts are equal
    least, most = map(float, mechanism.bound_other)

    def beyond(reached: Floats, chance: Floats) -> Floats:
        """How likely a count reaches this, given that it reaches the threshold."""
        return np.asarray(reach(reached, n, chance) / reach(np.full_like(seen, threshold), n, chance))

    def solve(tail: Callable[[Floats], Floats], chance_wanted: float) -> Floats:
        """Where tails, which grow with the chance of support, pass a probability: from q to p."""
        low, high = np.full_like(seen, least), np.full_like(seen, mechanism.law.p)
        return bisect(lambda chance: tail(chance) > chance_wanted, low, high)

    middle = solve(lambda chance: (beyond(seen, chance) + beyond(seen + 1, chance)) / 2, 0.5)
    low = solve(lambda chance: beyond(seen, chance), 0.025)
    high = solve(lambda chance: beyond(seen + 1, chance), 0.975)
    ends = ((middle, mechanism.law.q), (low, most), (high, least))
    value, under, over = (np.clip(_to_shares(mechanism, at, q), 0.0, 1.0) for at, q in ends)
    value, under, over = (end[places].reshape(values.shape) for end in (value, under, over))
    return value, under, over


def _to_shares(mechanism: Linear, supported: Floats, q: float) -> Floats:
    return np.asarray((supported - q) / (mechanism.law.p - q))


def reach(counts: Array, n: int, chance: Floats | float) -> Floats:
    """How likely a binomial count of n is at least these."""
    from scipy.special import betainc

    inside = np.clip(counts, 1, max(1, n))
    tails = betainc(inside, n - inside + 1, chance)
    return np.where(counts <= 0, 1.0, np.where(counts > n, 0.0, tails))


def find_threshold(mechanism: Linear, n: int, tail: float) -> int:
    """The least count that a code nobody has reaches with this probability at most."""
    chance = min(1.0, round_up(mechanism.bound_other[1]))
    return int(bisect(lambda count: reach(count, n, chance) <= tail, -1, n + 1))


def count_share(mechanism: Linear, n: int, share: Fraction) -> int:
    """The least count of n reports whose plain share is at least this.

    >>> from deniable.mechanisms import linear
    >>> count_share(linear(50, 2.0), 16_000, Fraction(1, 50))
    2125
    """
    law = mechanism.law
    p, q = law.exact_p, law.exact_q
    return min(n + 1, math.ceil(n * (q + share * (p - q))))


def decide(mechanism: Linear, reports: Array, codes: npt.ArrayLike, alpha: float = 0.05) -> Decision:
    """Which of some candidates are real, by reports that did not choose them."""
    alpha = number("alpha, the chance of any value that nobody has,", alpha, 0.0, 1.0)
    candidates = np.asarray(codes)
    if candidates.size == 0:
        candidates = candidates.astype(np.int64)
    if candidates.ndim != 1 or candidates.dtype.kind not in "iu":
        raise InvalidValue("candidates are a list of codes, which are whole numbers")
    if candidates.size and not 0 <= int(candidates.min()) <= int(candidates.max()) < mechanism.k:
        raise InvalidValue(f"candidates are codes of {mechanism.bits} bits, from 0 to {mechanism.k - 1}")
    if len(np.unique(candidates)) < candidates.size:
        raise InvalidParameter("a candidate is named twice; list each once")
    mechanism.tally(reports)  # refuses what was never sent
    candidates = candidates.astype(np.int64)
    counts = count_codes(mechanism, reports, candidates)
    order = np.lexsort((candidates, -counts))
    return Decision(mechanism, candidates[order], counts[order], len(reports), alpha)


def decide_extensions(
    final: tuple[Linear, Array],
    prefixes: Integers,
    step: int,
    alpha: float = 0.05,
    codes: Codes = EVERY,
    progress: Progress | None = None,
) -> Decision:
    """Which codes that extend some prefixes by `step` bits are real, by reports that chose no prefix.

    All possible extensions are candidates, and those that chance does not explain are listed.
    """
    mechanism, reports = final
    alpha = number("alpha, the chance of any value that nobody has,", alpha, 0.0, 1.0)
    mechanism.tally(reports)  # refuses what was never sent
    m = len(prefixes) * codes.count_possible(mechanism.bits - step, mechanism.bits)
    limit = find_threshold(mechanism, len(reports), alpha / max(1, m))
    extended, counts = list_supported((mechanism, reports), prefixes, step, limit, codes, progress=progress)
    return Decision(mechanism, extended, counts, len(reports), alpha, unlisted=m - len(extended))


def decide_listed(final: tuple[Linear, Array], codes: npt.ArrayLike, alpha: float = 0.05) -> Decision:
    """Which values of a public list are real; the list may be made after the collection.

    The list must not be chosen from these reports: chance is counted for what it names, and nothing else.

    >>> from deniable import seeded
    >>> from deniable.mechanisms import linear
    >>> m = linear(bits=30, epsilon=4.0)
    >>> made = decide_listed((m, m.privatize([5] * 100, seeded(1))), range(10))
    >>> made.codes[made.shown], bool(made.low[0] <= 1.0 <= made.high[0])
    (array([5]), True)
    """
    mechanism, reports = final
    listed = list(codes) if isinstance(codes, range) else codes
    if np.size(listed) == 0:
        raise InvalidParameter("a public list names at least one value")
    return decide(mechanism, reports, listed, alpha)


def bisect(holds: Callable[[Array], npt.ArrayLike], low: npt.ArrayLike, high: npt.ArrayLike) -> Array:
    """The least numbers above `low` for which a condition holds, which holds from there up to `high`.

    Whole numbers are found exactly, others as well as floats allow.

    >>> int(bisect(lambda x: x * x >= 50, 0, 100)), round(float(bisect(lambda x: x * x >= 50, 0.0, 100.0)), 6)
    (8, 7.071068)
    """
    under, over = np.asarray(low), np.asarray(high)
    is_integer = over.dtype.kind == "i"
    for _ in range(_HALVINGS):
        if is_integer and (over - under <= 1).all():
            break
        middle = (under + over) // 2 if is_integer else (under + over) / 2
        above = holds(middle)
        under, over = np.where(above, under, middle), np.where(above, middle, over)
    return over
