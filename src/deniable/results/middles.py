"""Reads means and quantiles off estimates: of those who answered."""

from __future__ import annotations

from dataclasses import replace

from deniable.domain import Range
from deniable.domain.grid import Grid
from deniable.errors import InvalidParameter
from deniable.estimate import Bins, MeanEstimate
from deniable.results.estimates import Estimates, bins_of
from deniable.results.respondents import mean_among, mean_answered, quantile_answered
from deniable.summaries import Summary, mean_of


def find_mean(
    estimates: Estimates, name: str, level: float = 0.95, ends: tuple[float, float] | None = None
) -> Summary:
    """The mean of a number, or of a range by the middles of its bins, with its standard error and interval.

    Where an end of the range is open, `ends` are the numbers that people in its first and last bin are taken
    to have.
    """
    if name in estimates.means:
        number = estimates.means[name]
        return Summary(number.mean, number.stderr, *number.interval(level))
    bins = _find_bins(estimates, name)
    middles = bins.middles.copy()
    if bins.open_low or bins.open_high:
        if ends is None:
            raise InvalidParameter(
                f"{name!r} has an open end, so it is not known where the people in its outermost bin "
                "are; give ends=(low, high), or ask for a quantile"
            )
        middles[0], middles[-1] = (
            (ends[0] if bins.open_low else middles[0]),
            (ends[1] if bins.open_high else middles[-1]),
        )
    if name in estimates.ranges:
        mean = estimates.ranges[name].weigh(middles, level)
    elif estimates.is_drawn(name):
        mean = mean_among(estimates, name, middles, level)
    elif estimates.shares[name].k == middles.size:
        mean = mean_of(estimates.shares[name], middles, level)
    else:
        mean = mean_answered(estimates.shares[name], middles, level)
    return replace(mean, within=bins.half)


def find_quantile(estimates: Estimates, name: str, share: float = 0.5, level: float = 0.95) -> Summary:
    """The number below which this share of the people is who answered, with its interval.

    On a scale of whole numbers it is between the first and the last of them.
    """
    bins = _find_bins(estimates, name)
    if name in estimates.ranges:
        quantile = estimates.ranges[name].quantile(share, level)
    else:
        quantile = quantile_answered(estimates, name, bins, share, level)
    domain = estimates.domains[name]
    if not isinstance(domain, Range) or domain.unit != "whole":
        return quantile
    first, last = float(domain.edges[:2].mean()), float(domain.edges[-2:].mean())
    value, low, high = (min(max(end, first), last) for end in (quantile.value, quantile.low, quantile.high))
    return replace(quantile, value=value, low=low, high=high)


def has_mean(estimates: Estimates, name: str) -> bool:
    """Whether it has a mean: a number, or a closed range."""
    domain = estimates.domains.get(name)
    if name not in (*estimates.shares, *estimates.ranges) or not isinstance(domain, Range):
        return name in estimates.means
    return not (domain.open_low or domain.open_high) and domain.unit != "month"


def has_quantiles(estimates: Estimates, name: str) -> bool:
    """Whether it has a median that people read: a range, but not of months."""
    domain = estimates.domains.get(name)
    known = name in estimates.shares or name in estimates.ranges
    return known and isinstance(domain, Range) and domain.unit != "month"


def _find_bins(estimates: Estimates, name: str) -> Bins:
    estimate, domain = estimates.look_up(name), estimates.domains.get(name)
    if isinstance(domain, Grid):
        raise InvalidParameter(
            f"{name!r} is a location: with grid = result.domains[{name!r}], ask "
            f"dn.mean_of(result[{name!r}], grid.centers[:, 0]) for its latitude, and [:, 1] for its "
            "longitude"
        )
    if isinstance(estimate, MeanEstimate) or not isinstance(domain, Range):
        raise InvalidParameter(f"{name!r} is not a range of numbers, so it has no mean and no quantiles")
    bins = bins_of(domain, domain.k)
    assert bins is not None
    return bins
