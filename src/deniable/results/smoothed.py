"""Finds most likely shares and smoothed ones, where these were asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, final

from deniable.domain import Domain, Range
from deniable.domain.grid import Grid
from deniable.errors import DeniableWarning, InvalidParameter
from deniable.mechanisms import Mechanism
from deniable.metric import MetricMechanism
from deniable.results.most_likely import maximize_likelihood
from deniable.results.possible_shares import SearchKey

if TYPE_CHECKING:
    from deniable.likelihood import Likelihood
    from deniable.results.estimates import Estimates

_DRAWN = (
    "most likely shares are of all reports, and values of people without an answer are random; what is shown "
    "is of the others"
)
Progress = Callable[[int, int], None]
"""Hears how much is found, and of how much."""


_LEVELED = (
    "most likely shares (mle) and smoothed ones are not shown: it is reported in levels, which are combined "
    "by least squares; result.range(...) has the share of any range, result.cdf(...) a curve that never falls"
)


class SearchedShares(NamedTuple):
    """What was found beside the shares that are shown, and why it was not, by attribute."""

    likely: dict[str, Likelihood]
    smoothed: dict[str, Likelihood]
    refused: dict[str, str]


def search_shares(
    estimates: Estimates,
    mle: bool,
    include_slow: bool,
    likely: Mapping[str, Likelihood] | None,
    progress: Progress | None,
) -> SearchedShares:
    """The most likely shares of every attribute, and the smoothed ones of ranges and grids, as asked for.

    Those that were found from reports already are `likely`.
    """
    searched, smooth = SearchedShares({}, {}, {}), estimates.smooth
    if smooth:
        refuse_unordered(estimates.domains.values())
    names = [
        name
        for name in estimates.shares
        if (mle or (smooth and has_neighbors(estimates.domains[name])))
        and (include_slow or not isinstance(estimates.domains[name], Grid))
    ]
    if mle or smooth:
        searched.refused.update(dict.fromkeys(estimates.ranges, _LEVELED))
    for position, name in enumerate(names):
        advance = partial(_advance, progress, position, len(names))
        advance(0, 1)
        try:
            if mle:
                _refuse_drawn(estimates, name)
                known = (likely or {}).get(name)
                searched.likely[name] = _search_likely(estimates, name) if known is None else known
            if smooth and has_neighbors(estimates.domains[name]):
                searched.smoothed[name] = smooth_shares(estimates, name, advance)
                advance(1, 1)
        except InvalidParameter as problem:
            searched.refused[name] = str(problem)
    return searched


def _advance(progress: Progress | None, position: int, positions: int, done: int, most: int) -> None:
    """Tell how much is done of an attribute, which is one of several: in thousandths of each."""
    if progress is not None:
        progress(1000 * position + 1000 * done // most, 1000 * positions)


def _search_likely(estimates: Estimates, name: str, **options: Any) -> Likelihood:
    document, tallies = estimates.document, estimates.tallies
    if document is None or tallies is None:
        raise InvalidParameter("most likely shares are found from tallies, and this result has none")
    _refuse_drawn(estimates, name)
    ordered = isinstance(estimates.domains[name], Range) or None
    return maximize_likelihood(document, tallies, name, ordered=ordered, **options)


def _refuse_drawn(estimates: Estimates, name: str) -> None:
    if estimates.is_drawn(name):
        raise InvalidParameter(_DRAWN)


def has_neighbors(domain: Domain) -> bool:
    """Whether values of it are next to each other: of a range or a grid."""
    return isinstance(domain, Range | Grid)


def refuse_unordered(domains: Iterable[Domain]) -> None:
    """Refuse to smooth where no attribute has neighboring values."""
    if not any(map(has_neighbors, domains)):
        raise InvalidParameter(
            "only shares of ordered values can be smoothed, and no attribute here is a range or a grid"
        )


def list_smoothable(estimates: Estimates) -> list[str]:
    """The attributes whose shares can be smoothed."""
    domains = estimates.domains
    names = [name for name in estimates.shares if name in domains and has_neighbors(domains[name])]
    return [name for name in names if find_obstacle(estimates, name) is None]


def find_obstacle(estimates: Estimates, name: str) -> str | None:
    """Why shares of an attribute with neighboring values cannot be smoothed, and what to do; or None."""
    document, tallies = estimates.document, estimates.tallies
    if document is None or tallies is None:
        return f"{name!r} cannot be smoothed: that takes tallies, and this result has none"
    if estimates.is_drawn(name):
        why = "people without an answer reported a random value, and smoothing would count these as answers"
        return f"{name!r} cannot be smoothed: {why}"
    if estimates.shares[name].k > estimates.domains[name].k:
        return f'{name!r} cannot be smoothed: "no answer" is one of its values, and has no neighbors'
    source = document.mechanism.source(document.names.index(name))
    if isinstance(source, MetricMechanism) or (isinstance(source, Mechanism) and source.names_value):
        return None
    return (
        f"{name!r} cannot be smoothed: its reports do not name one value each, and smoothing needs to know "
        "how many named each value; for that, ask it with protocol='grr' or privacy='metric' in a new plan"
    )


def smooth_shares(estimates: Estimates, name: str, progress: Progress | None = None) -> Likelihood:
    """The smoothed shares of one attribute, without intervals; refused with a reason where there are none."""
    obstacle = find_obstacle(estimates, name)
    if obstacle is not None:
        raise InvalidParameter(obstacle)
    document, tallies = estimates.document, estimates.tallies
    assert document is not None
    assert tallies is not None
    return _smooth(_SmoothingKey(SearchKey.of(document, name, tallies[name]), estimates, progress))


@final
@dataclass(frozen=True)
class _SmoothingKey:
    """What is smoothed: that of equal tallies is found once, and read each time a result is shown."""

    search: SearchKey
    estimates: Estimates = field(compare=False, repr=False)
    progress: Progress | None = field(compare=False, repr=False)


@lru_cache(maxsize=64)
def _smooth(key: _SmoothingKey) -> Likelihood:
    quick = {"method": "em", "iterations": 1} if isinstance(key.search.source, MetricMechanism) else {}
    # smoothing begins with even shares, whatever was searched before: the best of 2,000 cells takes a minute
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeniableWarning)  # that one step is not the best
        unsmoothed = _search_likely(key.estimates, key.search.name, **quick)
    smoothed = unsmoothed.smooth(progress=key.progress)
    smoothed.frequencies.setflags(write=False)
    return smoothed
