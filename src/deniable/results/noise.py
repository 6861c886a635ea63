"""Says which results are too noisy to read, and what would mend that."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.estimate import Bins, normal_quantile
from deniable.formatting import Printed, find_most, format_count, format_people, round_digits
from deniable.results.possible_shares import Shares
from deniable.summaries import Summary

if TYPE_CHECKING:
    from deniable.choose import Precision
    from deniable.plan.document import PlanDocument
    from deniable.results.estimates import Estimates

What = Literal["value", "group", "block", "mean", "median"]
_WIDEST = 0.5  # of an interval, in shares or in parts of a range: half of all that is possible
_SHORTEST = 0.05  # an interval of a share that is no wider is worth reading, however rare the value
_LARGER = 5.0  # nobody is advised to an epsilon that is more times as large
_MOST_TIMES = 1e12  # as many people: errors are infinite where noise leaves nobody who answered
_MARGIN = 1.5  # times as many people as it takes on average: others scatter otherwise, and few by exact laws
_PRECISIONS = {"value": "share"}


@final
@dataclass(frozen=True)
class Noise(Printed):
    """Something about an attribute that is too noisy to read, and what it would take."""

    attribute: str
    what: What
    noisy: int
    """How many of the values, groups or blocks are too noisy."""
    count: int
    """How many values, groups or blocks there are."""
    now: int
    """How many people answered."""
    people: int
    """About how many people it takes to be readable at all, by what the plan expects of them."""
    epsilon: float | None
    """How many times as large an epsilon is enough; None where none helps, or it would protect nobody."""
    groups: int | None
    """How many groups could be read, at most; None where fewer groups are no help."""

    def __str__(self) -> str:
        is_ = "is" if self.noisy == 1 else "are"
        subject = f"{self.noisy:,} of {format_count(self.count, self.what)}"
        if self.count == 1:
            subject = f"the {self.what}"
        return f"{subject} {is_} too noisy to read: {self.ways}"

    @property
    def ways(self) -> str:
        """What would mend it, in words: to be useful, which a plan counts people for, takes more."""
        about = "about " if self.people <= find_most(self.now) else ""
        ways = [f"{about}{format_people(self.people, self.now)} people in place of {self.now:,}"]
        ways += [] if self.epsilon is None else [f"an epsilon up to {self.epsilon:g} times as large"]
        ways += [] if self.groups is None else [f"at most {format_count(self.groups, self.what)}"]
        return f"to be readable at all it takes {', or '.join(ways)}"

    def about(self) -> dict[str, Any]:
        about = {"attribute": self.attribute, "what": self.what, "noisy": self.noisy, "of": self.count}
        about |= {"n": self.now, "people": self.people, "epsilon_times": self.epsilon}
        return about | {"groups": self.groups, "text": str(self)}


def find_noisy(shares: Shares) -> npt.NDArray[np.bool_]:
    """Which shares are too noisy to read: their interval is wider than `_widest_readable`."""
    return np.asarray(shares.high - shares.low > _widest_readable(shares.share, 1 / shares.share.size))


def is_noisy(share: Summary, part: float) -> bool:
    """Whether the share of a range of values is too noisy to read; people who are spread evenly over all
    values would have this `part` of them.
    """
    return bool(share.high - share.low > _widest_readable(np.array([share.value]), part)[0])


def _widest_readable(share: Floats, average: float) -> Floats:
    """How wide an interval may be: twice its share or twice an average one, whichever is more; 5 points at
    least, and half of everything at most.
    """
    return np.asarray(np.clip(2 * np.maximum(share, average), _SHORTEST, _WIDEST))


def judge_shares(
    estimates: Estimates,
    name: str,
    shares: Shares,
    errors: Floats,
    what: What,
    level: float,
    regroup: Callable[[int], Shares] | None,
) -> Noise | None:
    """What would mend the noisiest of these shares, which have such standard errors; None if none is.

    `regroup` makes fewer groups: only as few are advised as can be read.
    """
    noisy = find_noisy(shares)
    if not noisy.any():
        return None
    size, reports = shares.share.size, estimates[name].n
    # a share that may be an average one is taken for that: no other has so narrow a limit for its scatter
    typical = np.clip(1 / size, shares.low, shares.high)
    allowed = _widest_readable(typical, 1 / size)
    noise = np.maximum(errors**2 * reports - shares.share * (1 - shares.share), 0.0)
    seen = float(((shares.high - shares.low) / _widest_readable(shares.share, 1 / size))[noisy].max())
    needed = _Needed.of(noise, typical * (1 - typical), allowed, reports, level)
    people = _people(estimates, name, what, float(allowed.min()), max(needed.times, seen**2), level)
    fewer = () if regroup is None else range(size - 1, 1, -1)
    groups = next((count for count in fewer if regroup and not find_noisy(regroup(count)).any()), None)
    return Noise(name, what, int(noisy.sum()), size, estimates.n, people, needed.epsilon, groups)


def judge_mean(
    estimates: Estimates,
    name: str,
    unbiased: Summary,
    possible: Summary,
    ends: tuple[float, float],
    level: float,
) -> Noise | None:
    """Judge a mean, as it was found and as it is shown: an interval of half of the range is too wide."""
    reach = ends[1] - ends[0]
    if not possible.high - possible.low > _WIDEST * reach:
        return None
    reports, most = estimates[name].n, (reach / 2) ** 2  # the largest variance that people can have
    noise = max(unbiased.stderr**2 * reports - most, 0.0)
    needed = _Needed.of(np.array([noise]), np.array([most]), np.array([_WIDEST * reach]), reports, level)
    # ends may have been cut
    width = max(unbiased.high - unbiased.low, 2 * normal_quantile(level) * unbiased.stderr)
    ratio = width / (_WIDEST * reach)
    people = _people(estimates, name, "mean", _WIDEST, _MARGIN * ratio**2, level)
    return Noise(name, "mean", 1, 1, estimates.n, people, needed.epsilon, None)


def is_wide(summary: Summary, bins: Bins) -> bool:
    """Whether a quantile is too noisy to read: its interval is half of the range, and a bin, or longer.

    An open end counts as the edge of its bin.
    """
    edges = bins.edges
    low, high = (min(max(end, edges[0]), edges[-1]) for end in (summary.low, summary.high))
    return bool(high - low > _WIDEST * (edges[-1] - edges[0]) + np.diff(edges).max())


def judge_median(estimates: Estimates, name: str, error: float, level: float) -> Noise:
    """What would mend a median that is too noisy, if cumulative shares near it have this error.

    Of people who are spread evenly, half are in half of the range.
    """
    reports, most = estimates[name].n, 0.25
    noise = max(min(error**2, _MOST_TIMES) * reports - most, 0.0)
    needed = _Needed.of(np.array([noise]), np.array([most]), np.array([_WIDEST]), reports, level)
    people = _people(estimates, name, "median", _WIDEST, max(needed.times, _MARGIN), level)
    return Noise(name, "median", 1, 1, estimates.n, people, needed.epsilon, None)


@final
@dataclass(frozen=True)
class _Needed:
    """How many times as many reports it takes, or how many times as large an epsilon; None if that is too
    large, or no help: how people scatter stays.
    """

    times: float
    epsilon: float | None

    @staticmethod
    def of(noise: Floats, scatter: Floats, widths: Floats, reports: int, level: float) -> _Needed:
        """From the variances of one report, by noise and by people, and how wide intervals may be.

        Noise falls at least as the square of epsilon grows, so that what is advised is enough.
        """
        limits = reports * (widths / (2 * normal_quantile(level))) ** 2 / _MARGIN
        times = float(((noise + scatter) / limits).max())
        if (limits <= scatter).any():
            return _Needed(times, None)
        larger = _round_up_to_two_digits(math.sqrt(float((noise / (limits - scatter)).max())) or 1.0)
        return _Needed(times, larger if 1 < larger <= _LARGER else None)


def _people(estimates: Estimates, name: str, what: What, width: float, times: float, level: float) -> int:
    """How many people it takes for intervals of this width, in shares or in parts of the range.

    The plan knows what its people give on average. What was found may need more; the larger number counts.
    """
    precision = _PRECISIONS.get(what, what)
    margin = width / 2 * normal_quantile(0.95) / normal_quantile(level)
    document = estimates.document
    rows = () if document is None else _list_precisions(_PlanKey(document.id, document))
    expected = [row.people_needed(margin) for row in rows if (row.attribute, row.what) == (name, precision)]
    seen = min(times, _MOST_TIMES) * estimates.n
    return int(_round_up_to_two_digits(max([seen, *(_MARGIN * n for n in expected)])))


def _round_up_to_two_digits(number: float) -> float:
    """The least number with two digits that is not below this one."""
    rounded = round_digits(number, 2)
    if rounded >= number:
        return rounded
    return round_digits(rounded + 10.0 ** (math.floor(math.log10(number)) - 1), 2)


@final
@dataclass(frozen=True)
class _PlanKey:
    """A plan, by its id."""

    plan_id: str
    document: PlanDocument = field(compare=False, repr=False)


@lru_cache(maxsize=32)
def _list_precisions(key: _PlanKey) -> tuple[Precision, ...]:
    from deniable.choose import list_precisions
    from deniable.explain.explain import reconsider

    return tuple(list_precisions(reconsider(key.document, ())))
