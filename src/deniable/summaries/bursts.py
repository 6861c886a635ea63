"""Checks whether reports that came in one minute came as people do, and say what the others say."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.estimate import Estimate
from deniable.formatting import format_count, format_digits
from deniable.law import Moments
from deniable.mechanisms import Tally
from deniable.summaries.health import Check
from deniable.summaries.tails import POWER, normal_noticed, several

AROUND = 5
"""Minutes before and after one that it is compared with; fewer near the start and the end."""
WAITED = 2
"""Minutes after a start that are not judged: devices that waited for the collector come in them at once."""
TIMES = 3.0
"""How many times the mean rate of the minutes before, or of those after, a minute of honest people may have.
A wave that decays exponentially stays below that if it takes 1.7 minutes or more to halve.
"""
LEAST = 30
"""Minutes that must have passed before any is judged."""
_QUARTILE = 1.3233  # of a chi-square with one degree of freedom: three quarters are below
_WORDS = ("", "minute", "two minutes", "three minutes", "four minutes", "five minutes")
_WORST = 8  # values whose exact p-values are computed
ONE_MINUTE = "reports that all come in one minute, even where most others come"
ONE_MINUTE_ONE_VALUE = "reports that all come in the busiest minute and support one value"


def check_minutes(counts: Sequence[int], n: int, tail: float) -> Check | None:
    """Whether too many reports came in one minute; counts are of complete minutes, the oldest first.

    The rate of a minute is at most TIMES the mean rate of the minutes before, or of those after. If people
    come independently of each other, the p-value then holds for any rates. If counts scatter more, that is
    measured and allowed for, which is good for a variance of up to four means. While the minutes after one
    come, it is judged up to AROUND times, and the p-value counts them all.
    """
    came = np.asarray(counts, dtype=np.float64)
    if came.size < LEAST:
        return None
    factor = _overdispersion(came)
    judged = np.arange(WAITED, came.size - 1)
    start, end = np.maximum(0, judged - AROUND), np.minimum(came.size, judged + AROUND + 1)
    sums, now = np.concatenate([[0.0], np.cumsum(came)]), came[judged]
    before, after = sums[judged] - sums[start], sums[end] - sums[judged + 1]
    minutes_before, minutes_after = judged - start, end - judged - 1
    p_values = np.maximum(
        _tail(now, before, minutes_before, factor), _tail(now, after, minutes_after, factor)
    )
    worst, tries = int(np.argmin(p_values)), AROUND * now.size
    most = float(np.maximum(before, after).max())
    return Check(
        "",
        "reports in one minute",
        several(float(p_values[worst]), tries),
        f"{now[worst]:,.0f} reports came in one minute, {format_count(came.size - judged[worst], 'minute')} "
        f"ago; in the {_WORDS[minutes_before[worst]]} before there were "
        f"{format_digits(before[worst] / minutes_before[worst], 3)} a minute, and in the "
        f"{_WORDS[minutes_after[worst]]} after {format_digits(after[worst] / minutes_after[worst], 3)}",
        _minute_noticed(most, factor, n, tail / tries),
        ONE_MINUTE,
    )


def _overdispersion(came: Floats) -> float:
    """How much more than Poisson numbers neighboring minutes differ; a few bursts do not matter."""
    pairs = came[: came.size // 2 * 2].reshape(-1, 2)
    sums = pairs.sum(axis=1)
    apart = (pairs[:, 0] - pairs[:, 1])[sums > 0] ** 2 / sums[sums > 0]
    return max(1.0, float(np.quantile(apart, 0.75)) / _QUARTILE) if apart.size else 1.0


def _tail(now: Floats, around: Floats, minutes: Integers | int, factor: float) -> Floats:
    """How often so many of these reports come in the one minute, if its rate is TIMES that of the others."""
    from scipy.special import betainc

    share = TIMES / (TIMES + minutes)
    return np.where(now > 0, betainc(np.maximum(now, 1) / factor, around / factor + 1, share), 1.0)


def _minute_noticed(around: float, factor: float, n: int, tail: float) -> float:
    """The share of the reports that is noticed if it comes in one minute among so many others."""
    tried = np.geomspace(1, max(2.0, float(n)), 500)
    quiet = np.flatnonzero(_tail(tried, np.full(tried.size, around), AROUND, factor) >= tail)
    most = tried[min(quiet[-1] + 1, tried.size - 1)] if quiet.size else tried[0]
    return min(1.0, float(most + POWER * math.sqrt(factor * most) - around / AROUND) / n)


def check_burst(attribute: str, burst: Tally, others: Tally, estimate: Estimate, tail: float) -> Check | None:
    """Whether the reports of the busiest minute support other values than all others.

    If the people of that minute are like the others, a value's count among them is a hypergeometric number,
    whatever people answer: the p-value is exact.
    """
    if isinstance(estimate.law, Moments) or not burst.n or not others.n:
        return None
    k, (in_burst, elsewhere) = burst.counts.size, (_count_asked(tally) for tally in (burst, others))
    p_value, worst = _least(burst.counts, in_burst, burst.counts + others.counts, in_burst + elsewhere)
    label = repr(estimate.labels[worst]) if estimate.labels is not None else f"value {worst}"
    seen, usual = burst.counts / np.maximum(1, in_burst), others.counts / np.maximum(1, elsewhere)
    typical = int(np.argsort(usual)[k // 2])
    error = math.sqrt(usual[typical] * (1 - usual[typical]) * (1 / burst.n + 1 / others.n))
    share_noticed = normal_noticed(error, 1 - float(usual[typical]), tail / (2 * k))
    return Check(
        attribute,
        "answers of one minute",
        several(p_value, 2 * k),
        f"{100 * seen[worst]:.3g} % of the {burst.n:,} reports of the busiest minute support {label}, "
        f"{100 * usual[worst]:.3g} % of the others do",
        1.0 if share_noticed >= 1 else share_noticed * burst.n / (burst.n + others.n),
        ONE_MINUTE_ONE_VALUE,
    )


def _count_asked(tally: Tally) -> Integers:
    """How many reports are about each value."""
    return np.full(tally.counts.size, tally.n) if tally.asked is None else tally.asked


def _least(counts: Integers, sampled: Integers, totals: Integers, n: Integers) -> tuple[float, int]:
    """The least p-value of any value, on one side, and which value that is: of all n reports so many support
    it, and of those drawn so many.
    """
    from scipy.stats import hypergeom

    shares = totals / np.maximum(1, n)
    scatter = np.sqrt(
        np.maximum(sampled * shares * (1 - shares) * (n - sampled) / np.maximum(1, n - 1), 1e-12)
    )
    chosen = np.argsort(-np.abs(counts - sampled * shares) / scatter, kind="stable")[:_WORST]
    parameters = n[chosen], totals[chosen], sampled[chosen]
    p_values = np.minimum(
        hypergeom.sf(counts[chosen] - 1, *parameters), hypergeom.cdf(counts[chosen], *parameters)
    )
    worst = int(np.argmin(p_values))
    return float(p_values[worst]), int(chosen[worst])
