"""Says which results are too noisy to read, and what would mend that."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.estimate import normal_quantile
from deniable.formatting import format_count, round_digits
from deniable.plan.readable import Shares
from deniable.summaries import Summary

if TYPE_CHECKING:
    from deniable.choose import Precision
    from deniable.plan.plan import Plan
    from deniable.plan.result import Result

What = Literal["value", "group", "block", "mean", "median"]
_WIDEST = 0.5  # of an interval, in shares or in parts of a range: half of all that is possible
_SHORTEST = 0.05  # an interval of a share that is no wider is worth reading, however rare the value
_LARGER = 5.0  # nobody is advised to an epsilon that is more times as large
_PRECISIONS = {"value": "share"}


@final
@dataclass(frozen=True)
class Noise:
    """Something about an attribute that is too noisy to read, and what it would take."""

    attribute: str
    what: What
    noisy: int
    """How many of them are."""
    count: int
    now: int
    """How many people answered."""
    people: int
    """About how many it takes, by what the plan expects of them."""
    epsilon: float | None
    """Or how many times as large an epsilon at most; None where that would protect nobody."""
    groups: int | None
    """Or how few groups at most; None where that is no help."""

    def __str__(self) -> str:
        many = format_count(self.count, self.what)
        subject = f"the {self.what} is" if self.count == 1 else f"{self.noisy:,} of {many} are"
        ways = [f"about {self.people:,} people in place of {self.now:,}"]
        ways += [] if self.epsilon is None else [f"an epsilon up to {self.epsilon:g} times as large"]
        ways += [] if self.groups is None else [f"at most {format_count(self.groups, self.what)}"]
        return f"{subject} too noisy to read: it takes {', or '.join(ways)}"

    def about(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "attribute": self.attribute,
            "what": self.what,
            "noisy": self.noisy,
            "of": self.count,
            "n": self.now,
            "people": self.people,
            "epsilon_times": self.epsilon,
            "groups": self.groups,
            "text": str(self),
        }


def find_noisy(shares: Shares) -> npt.NDArray[np.bool_]:
    """Which shares are too noisy to read: their interval is wider than `_allow` lets it be."""
    return np.asarray(shares.high - shares.low > _allow(shares.share))


def _allow(share: Floats) -> Floats:
    """How wide an interval may be: twice its share or twice an average one, whichever is more; 5 points at
    least, and half of everything at most.
    """
    return np.asarray(np.clip(2 * np.maximum(share, 1 / share.size), _SHORTEST, _WIDEST))


def judge_shares(
    result: Result, name: str, shares: Shares, widths: Floats, what: What, level: float
) -> Noise | None:
    """What would mend the noisiest of these shares, whose unbiased intervals are so wide; None if none is."""
    noisy = find_noisy(shares)
    if not noisy.any():
        return None
    ratios = np.where(noisy, widths / _allow(shares.share), 0.0)
    worst = int(np.argmax(ratios))
    allowed = float(_allow(shares.share)[worst])
    fewer = math.floor(2 / float(widths[noisy].max()))
    groups = fewer if what != "value" and 2 <= fewer < shares.share.size else None
    needed = _people(result, name, what, allowed, float(ratios[worst]), level)
    return _noise(result, name, what, (int(noisy.sum()), shares.share.size), needed, groups)


def judge_middle(
    result: Result, name: str, found: Summary, shown: Summary, ends: tuple[float, float], level: float
) -> Noise | None:
    """The same of a mean, as it was found and as it is shown: half of the range is too wide."""
    reach = ends[1] - ends[0]
    if not shown.high - shown.low > _WIDEST * reach:
        return None
    ratio = (found.high - found.low) / (_WIDEST * reach)
    needed = _people(result, name, "mean", _WIDEST, ratio, level)
    return _noise(result, name, "mean", (1, 1), needed, None)


def _noise(
    result: Result, name: str, what: What, noisy: tuple[int, int], needed: float, groups: int | None
) -> Noise:
    people = int(_round_up(needed))
    times = _round_up(math.sqrt(needed / result.n))
    return Noise(name, what, *noisy, result.n, people, times if times <= _LARGER else None, groups)


def _people(result: Result, name: str, what: What, width: float, ratio: float, level: float) -> float:
    """How many people it takes for intervals of this width, in shares or in parts of the range.

    The plan knows what its people give on average. Where it expected better than was found, or is not known,
    what was found counts: intervals are half as wide with four times as many people.
    """
    seen = result.n * ratio**2
    wanted = _PRECISIONS.get(what, what)
    margin = width / 2 * normal_quantile(0.95) / normal_quantile(level)
    plan = result.plan
    rows = () if plan is None else _list_precisions(_Planned(plan.id, plan))
    expected = [row.people_needed(margin) for row in rows if (row.attribute, row.what) == (name, wanted)]
    return next((float(n) for n in expected if n > result.n), seen)


def _round_up(number: float) -> float:
    """Two digits, never less."""
    rounded = round_digits(number, 2)
    if rounded >= number:
        return rounded
    return round_digits(rounded + 10.0 ** (math.floor(math.log10(number)) - 1), 2)


@final
@dataclass(frozen=True)
class _Planned:
    """A plan, by its id."""

    key: str
    plan: Plan = field(compare=False, repr=False)


@lru_cache(maxsize=32)
def _list_precisions(planned: _Planned) -> tuple[Precision, ...]:
    return tuple(planned.plan.precisions())
