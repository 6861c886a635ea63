"""Finds most likely shares and smoothed ones, where these were asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from deniable.domain import Domain, Range
from deniable.domain.grid import Grid
from deniable.errors import DeniableWarning, InvalidParameter

if TYPE_CHECKING:
    from deniable.likelihood import Likelihood
    from deniable.plan.result import Result

_DRAWN = (
    "most likely shares are of all reports, and values of people without an answer are random; what is shown "
    "is of the others"
)
Progress = Callable[[int, int], None]
"""Hears how much is found, and of how much."""


class Asked(NamedTuple):
    """What was found beside the shares that are shown, and why it was not, by attribute."""

    likely: dict[str, Likelihood]
    smoothed: dict[str, Likelihood]
    refused: dict[str, str]


def search_shares(result: Result, mle: bool, smooth: bool, progress: Progress | None, cells: bool) -> Asked:
    """The most likely shares of every attribute, and the smoothed ones of ranges and grids, as asked for."""
    found = Asked({}, {}, {})
    if smooth:
        refuse_unordered(result.domains.values())
    names = [
        name
        for name in result.estimates
        if (mle or (smooth and has_neighbors(result.domains[name])))
        and (cells or not isinstance(result.domains[name], Grid))
    ]
    for position, name in enumerate(names):
        heard = partial(_hear, progress, position, len(names))
        heard(0, 1)
        try:
            if mle:
                found.likely[name] = _search_likely(result, name)
            if smooth and has_neighbors(result.domains[name]):
                found.smoothed[name] = smooth_shares(result, name, heard)
        except InvalidParameter as problem:
            found.refused[name] = str(problem)
    return found


def _hear(progress: Progress | None, position: int, positions: int, done: int, most: int) -> None:
    """So much is done of one attribute, which is one of several: in thousandths of each."""
    if progress is not None:
        progress(1000 * position + 1000 * done // most, 1000 * positions)


def _search_likely(result: Result, name: str, **options: Any) -> Likelihood:
    plan, tallies = result.plan, result.tallies
    if plan is None or tallies is None:
        raise InvalidParameter("most likely shares are found from tallies, and this result has none")
    if result.is_drawn(name):
        raise InvalidParameter(_DRAWN)
    ordered = isinstance(result.domains[name], Range) or None
    return plan.mle(tallies, name, ordered=ordered, **options)


def has_neighbors(domain: Domain) -> bool:
    """Whether values of it are next to each other: of a range or a grid."""
    return isinstance(domain, Range | Grid)


def refuse_unordered(domains: Iterable[Domain]) -> None:
    """Refuse to smooth where no attribute has neighboring values."""
    if not any(map(has_neighbors, domains)):
        raise InvalidParameter(
            "only shares of ordered values can be smoothed, and no attribute here is a range or a grid"
        )


def smooth_shares(result: Result, name: str, progress: Progress | None = None) -> Likelihood:
    """The smoothed shares of one attribute, without intervals; refused with a reason where there are none."""
    if not result.is_drawn(name) and result.estimates[name].k > result.domains[name].k:
        raise InvalidParameter("shares are not smoothed where no answer is a value of its own")
    quick = {"method": "em", "iterations": 1} if result.domains[name].privacy == "metric" else {}
    # smoothing begins with even shares, whatever was found before: the best of 2,000 cells takes a minute
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeniableWarning)  # that one step is not the best
        begun = _search_likely(result, name, **quick)
    return begun.smooth(progress=progress)
