"""Makes the shares and means that people read: possible ones, each inside an interval that holds.

An unbiased share may be negative, and so may be the ends of its interval. Nobody has a share of -3 %. What is
shown is the most likely distribution, or the nearest possible one, and the unbiased interval cut to 0..1. It
reaches at least as far as that of nobody would: else the shortest intervals were the least reliable ones.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, NamedTuple, final

import numpy as np

from deniable.arrays import Floats
from deniable.domain import Range
from deniable.domain.number import Number
from deniable.errors import DeniableWarning, InvalidParameter
from deniable.estimate.consistency import simplex
from deniable.formatting import format_digits
from deniable.mechanisms import Mechanism, Tally
from deniable.metric import Geometric
from deniable.summaries import Group, Summary

if TYPE_CHECKING:
    from deniable.law import Marginal
    from deniable.likelihood import Likelihood
    from deniable.plan.document import PlanDocument
    from deniable.results.estimates import Estimates

Method = Literal["most likely", "smoothed", "projected", "unbiased"]
"""How shares were made possible, if they were."""
_MOST_CELLS = 256  # of more, the search takes longer than a second on one core
_MOST_ON_A_LINE = 1 << 12
_MOVED = 2.0  # standard errors between what is shown and the unbiased share, from which on it is said


class Likely(NamedTuple):
    """Possible shares of single values, how they were found, and how far the likelihood is from the best."""

    frequencies: Floats
    method: Method
    search: str
    gap: float | None


@final
@dataclass(frozen=True, eq=False)
class Shares:
    """What is shown of values, or of groups: shares that add up to 1, each inside its interval."""

    share: Floats
    low: Floats
    high: Floats
    method: Method


def find_shown_likely(estimates: Estimates, name: str) -> Likely | None:
    """The certified most likely shares of an attribute's values; None where its tally has no likelihood.

    Counts of support have none: they do not say which values were supported together. For more than 256
    cells of a grid, or 4,096 values on a line, the search would take longer than a page can wait.
    """
    document, tallies, estimate = estimates.document, estimates.tallies, estimates.shares[name]
    if document is None or tallies is None:
        return None
    part = document.mechanism.mechanisms[document.names.index(name)]
    most = _MOST_ON_A_LINE if isinstance(part, Geometric) or part.names_value else _MOST_CELLS
    if estimate.k > most:
        return None
    return _search(SearchKey.of(document, name, tallies[name]))


@final
@dataclass(frozen=True)
class SearchKey:
    """What is searched: equal for equal tallies of a plan, so that a page that asks again costs nothing."""

    plan_id: str
    name: str
    n: int
    digest: bytes
    document: PlanDocument = field(compare=False, repr=False)
    tally: Tally = field(compare=False, repr=False)

    @staticmethod
    def of(document: PlanDocument, name: str, tally: Tally) -> SearchKey:
        parts = (tally.counts, np.zeros(0) if tally.asked is None else tally.asked)
        digest = sha256(b"".join(array.tobytes() for array in parts)).digest()
        return SearchKey(document.id, name, tally.n, digest, document, tally)

    @property
    def source(self) -> Mechanism | Marginal:
        """What the attribute's reports were made by."""
        return self.document.mechanism.source(self.document.names.index(self.name))


@lru_cache(maxsize=256)
def _search(key: SearchKey) -> Likely | None:
    from deniable.likelihood import mle
    from deniable.likelihood.certificate import NEGLIGIBLE_GAIN

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeniableWarning)  # the gap is looked at below
            likelihood = mle(key.source, key.tally)
    except InvalidParameter:
        return None
    if likelihood.method == "composite" or likelihood.gap * likelihood.n > NEGLIGIBLE_GAIN:
        return None
    likelihood.frequencies.setflags(write=False)
    search = f"{likelihood.method}, {likelihood.stop}"
    return Likely(likelihood.frequencies, "most likely", search, likelihood.gap)


def as_smoothed(likelihood: Likelihood) -> Likely:
    """Shares that were smoothed because that was asked for."""
    gap = likelihood.gap if math.isfinite(likelihood.gap) else None
    return Likely(likelihood.frequencies, "smoothed", likelihood.method, gap)


def read_values(
    unbiased: tuple[Floats, ...], likely: Likely | None, edges: tuple[Floats, Floats] | None = None
) -> Shares:
    """The shares of single values, from unbiased ones, their errors and the ends of their intervals.

    `edges` are the lower ends if everybody were seen to have a value, and the upper ends if nobody were.
    """
    value, error, low, high = unbiased
    columns = (column.tolist() for column in (value, error, low, high))
    summaries = [Summary(*row) for row in zip(*columns, strict=True)]
    if edges is not None:
        pairs = zip(edges[0].tolist(), edges[1].tolist(), strict=True)
        summaries = [replace(summary, edges=pair) for summary, pair in zip(summaries, pairs, strict=True)]
    return _bound(summaries, likely, None if likely is None else likely.frequencies)


def read_groups(groups: list[Group], likely: Likely | None) -> Shares:
    """The shares of groups: sums of what is most likely, else the nearest possible to the groups' own."""
    sums = None
    if likely is not None:
        sums = np.array([float(likely.frequencies[group.values].sum()) for group in groups])
    return _bound([group.share for group in groups], likely, sums)


def _bound(unbiased: list[Summary], likely: Likely | None, likely_shares: Floats | None) -> Shares:
    """Cut intervals to 0..1, each as long as it takes to hold the share that is shown."""
    value = np.array([summary.value for summary in unbiased])
    point = np.clip(simplex(value) if likely_shares is None else likely_shares, 0.0, 1.0)
    cut = [summary.cut() for summary in unbiased]
    low, high = (np.array([getattr(summary, end) for summary in cut]) for end in ("low", "high"))
    method: Method = "projected" if likely is None else likely.method
    return Shares(point, np.minimum(low, point), np.maximum(high, point), method)


def find_moved(possible: float, unbiased: float, stderr: float) -> float | None:
    """The unbiased number, where what is shown differs from it by more than two standard errors.

    Chance hardly does that to honest reports. None where it does not differ so much.
    """
    return unbiased if abs(possible - unbiased) > _MOVED * stderr else None


def describe_move(moved_from: float) -> str:
    """What was done to an unbiased share, in words.

    >>> describe_move(12.183), describe_move(0.3)
    ('cut from 1,220 %', 'moved from 30 %')
    """
    verb = "moved" if 0.0 <= moved_from <= 1.0 else "cut"
    return f"{verb} from {format_digits(100 * moved_from, 3)} %"


def possible_mean(estimates: Estimates, name: str) -> tuple[float, float]:
    """The least and the largest mean that there can be: a number's ends, or the middles of the outer bins."""
    domain = estimates.domains[name]
    if isinstance(domain, Range):
        middles = (domain.edges[1:] + domain.edges[:-1]) / 2
        return float(middles[0]), float(middles[-1])
    assert isinstance(domain, Number)
    return float(domain.low), float(domain.high)
