"""Reads shares between two numbers, and cumulative shares, off the results of a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.domain import Range
from deniable.domain.decimals import MOST_DIGITS, plain_number
from deniable.domain.range import number_counted
from deniable.errors import InvalidParameter, InvalidValue, not_among
from deniable.estimate import normal_quantile
from deniable.formatting import Printed, ungroup
from deniable.ranges import CumulativeShares
from deniable.results.noise import is_noisy
from deniable.results.possible_shares import find_moved
from deniable.results.respondents import cumulative_shares, mean_among, mean_answered
from deniable.summaries import Summary, sum_of
from deniable.summaries.totals import rising

if TYPE_CHECKING:
    from deniable.results.estimates import Estimates

_EVEN = 0.5  # the share whose errors stand for those of all


@final
@dataclass(frozen=True)
class RangeQuery(Printed):
    """A share that is asked for: of the people from one number to under another."""

    low: object
    high: object
    """None is an end of the range."""
    name: str | None = None
    """Which range is meant; needed where there are several."""

    @staticmethod
    def read(text: str) -> RangeQuery:
        """From "income=20000:40000"; the name may be left out, and so may an end.

        >>> RangeQuery.read("income=20000:")
        RangeQuery(low='20000', high=None, name='income')
        """
        name, sign, ends = text.rpartition("=")
        low, between, high = ends.partition(":")
        if not between:
            raise InvalidParameter(
                f"a range is two numbers, such as 20000:40000 or income=20000:40000, got {text!r}"
            )
        return RangeQuery(low.strip() or None, high.strip() or None, name if sign else None)

    def __str__(self) -> str:
        low, high = _write_end(self.low), _write_end(self.high)
        if self.low is None:
            return "all values" if self.high is None else f"under {high}"
        return f"{low} or more" if self.high is None else f"{low} to under {high}"


def answer_queries(
    estimates: Estimates, queries: Sequence[RangeQuery], level: float
) -> dict[str, dict[RangeQuery, Summary]]:
    """The shares that were asked for, by question."""
    known = [name for name in estimates if isinstance(estimates.domains.get(name), Range)]
    shares: dict[str, dict[RangeQuery, Summary]] = {}
    for query in queries:
        if query.name is None and len(known) != 1:
            listed = ", ".join(known) or "none of them is a range"
            ends = f"{_write_end(query.low)}:{_write_end(query.high)}"
            raise InvalidParameter(f"which question has the range {query}? Name it: NAME={ends} ({listed})")
        name = known[0] if query.name is None else query.name
        if name not in estimates:
            raise InvalidParameter(not_among(name, "a range that was reported", known))
        shares.setdefault(name, {})[query] = estimate_range(estimates, name, query.low, query.high, level)
    return shares


def _write_end(end: object) -> str:
    """An end as the bins are written, without commas and powers of ten; nothing where it is left out."""
    read = _read_number(end)
    if read is None:
        return ""
    if not isinstance(read, Decimal) or abs(read.adjusted()) > MOST_DIGITS:
        return str(end)
    return format(read, "f")


def find_bins(domain: Range, name: str, low: object, high: object) -> tuple[int, int]:
    """The first bin from `low` on, and the first from `high` on; None is an end of the range.

    >>> find_bins(Range(0, 100, step=10), "age", 20, 40)
    (2, 4)
    """
    _check_inside(domain, name, low, high)
    first = 0 if low is None else _find_edge(domain, name, low)
    last = domain.k if high is None else _find_edge(domain, name, high)
    for end, stated, is_open in ((0, low, domain.open_low), (domain.k, high, domain.open_high)):
        if stated is not None and is_open and end in (first, last):
            raise InvalidParameter(
                f"{name!r} has an open end at {stated!r}, and nobody knows who is beyond; give None for it"
            )
    if last <= first:
        raise InvalidParameter(
            f"a range of {name!r} goes from one number up to under another, got {low!r} to {high!r}"
        )
    return first, last


def _check_inside(domain: Range, name: str, low: object, high: object) -> None:
    """Refuse ends that are outside, and say which range has the same people."""
    first = Fraction(0) if low is None else _find_place(domain, name, low)
    last = Fraction(domain.k) if high is None else _find_place(domain, name, high)
    for place, stated in ((first, low), (last, high)):
        if (domain.open_low and place < 0) or (domain.open_high and place > domain.k):
            raise InvalidParameter(
                f"{name!r} has an open end, and {_write_end(stated)} is beyond it, where nothing is "
                "known; leave an end out, for all who are beyond"
            )
    if (not domain.open_high and first >= domain.k) or (not domain.open_low and last <= 0):
        raise InvalidParameter(
            f"the range {RangeQuery(low, high)} is outside {name!r} ({domain}), so that nobody is in it"
        )
    if first < 0 or last > domain.k:
        meant = RangeQuery(None if first < 0 else low, None if last > domain.k else high)
        raise InvalidParameter(
            f"{_write_end(low if first < 0 else high)} is outside {name!r} ({domain}); leave that end out, "
            f"for {meant}"
        )


def _find_place(domain: Range, name: str, end: object) -> Fraction:
    """How many bins a number is from the low end of the range."""
    try:
        plain = ungroup(end) if isinstance(end, str) else end
        [at] = number_counted([plain], domain.unit, name) if domain.unit else [_read_number(end)]
        exact = Fraction(str(plain_number(at, f"an end of a range of {name!r}"))) * 10**domain.digits
    except InvalidValue as problem:
        raise InvalidParameter(str(problem)) from None
    return Fraction(exact - domain.scaled_low, domain.scaled_step)


def _find_edge(domain: Range, name: str, end: object) -> int:
    """Which bin begins at a number; at the end of the range, one more than the last."""
    place = _find_place(domain, name, end)
    if place.denominator != 1:
        raise InvalidParameter(
            f"{end!r} is not an edge of the bins of {name!r}, {domain}; where people are in a bin is not "
            "known"
        )
    return int(place)


def _read_number(text: object) -> object:
    """A number that may be written as text."""
    if not isinstance(text, str):
        return text
    try:
        decimal = Decimal(ungroup(text))
    except InvalidOperation:
        return text
    return decimal if decimal.is_finite() else text


def estimate_range(estimates: Estimates, name: str, low: object, high: object, level: float) -> Summary:
    """The share of people between two numbers, with its interval: of those who answered."""
    domain = find_range(estimates, name)
    first, last = find_bins(domain, name, low, high)
    if name in estimates.ranges:
        return estimates.ranges[name].range(first, last, level)
    if (first, last) == (0, domain.k):
        return Summary(1.0, 0.0, 1.0, 1.0)
    estimate, inside = estimates.shares[name], np.zeros(domain.k)
    inside[first:last] = 1.0
    if estimates.is_drawn(name):
        return mean_among(estimates, name, inside, level)
    if estimate.k != domain.k:
        return mean_answered(estimate, inside, level)
    return sum_of(estimate, np.arange(first, last), level)


@final
@dataclass(frozen=True)
class ShownShare:
    """The share between two numbers as it is shown: a possible one, and whether it can be read at all."""

    share: Summary
    noisy: bool
    moved_from: float | None
    """The unbiased share, where it is more than two standard errors from the one that is shown."""

    @staticmethod
    def of(estimates: Estimates, name: str, query: RangeQuery, raw: Summary) -> ShownShare:
        domain = find_range(estimates, name)
        first, last = find_bins(domain, name, query.low, query.high)
        possible = raw.cut()
        moved_from = find_moved(possible.value, raw.value, raw.stderr)
        return ShownShare(possible, is_noisy(possible, float(last - first) / domain.k), moved_from)


def cumulate(estimates: Estimates, name: str, level: float) -> CumulativeShares:
    """The share of people below each edge of the bins of a range, with intervals."""
    domain = find_range(estimates, name)
    if name in estimates.ranges:
        return replace(estimates.ranges[name].cdf(level), name=name)
    reach = normal_quantile(level)
    estimate, curve = estimates.shares[name], cumulative_shares(estimates, name, _EVEN)
    # nobody is below the first edge, and everybody is below the last
    below, spread = (np.pad(column, 1) for column in curve)
    below[-1] = 1.0
    possible = np.append(np.zeros(1), rising(curve.below))
    ends = below - reach * spread, below + reach * spread
    return CumulativeShares(estimate.n, domain.edges, possible, below, *ends, level, name)


def find_range(estimates: Estimates, name: str) -> Range:
    """The values of a question, if these are a range that has been estimated."""
    estimates.look_up(name)
    domain = estimates.domains.get(name)
    if not isinstance(domain, Range):
        raise InvalidParameter(f"{name!r} is not a range of numbers, so that nothing is between two of them")
    return domain
