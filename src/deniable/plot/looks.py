"""Gives everything that is drawn beside others its color and marker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

# Okabe and Ito's, which everybody can distinguish
BLUE, VERMILION, GREEN, PINK = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY, GRAY, BLACK = "#e69f00", "#56b4e9", "#8c8c8c", "#000000"
_COLORS = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, GRAY)
_MARKERS = "os^Dv*Xp"


def looks(
    names: Iterable[str], known: Mapping[str, tuple[str, str]] | None = None
) -> dict[str, dict[str, Any]]:
    """A color and a marker for each name: those that are known, and for others what is left, in order."""
    chosen = dict(known or {})
    left = _list_free(set(chosen.values()))
    return {
        name: dict(
            zip(("color", "marker"), chosen[name] if name in chosen else next(left), strict=True),
            markersize=4.0,
            linewidth=1.2,
        )
        for name in dict.fromkeys(names)
    }


def _list_free(taken: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Pairs that nothing has yet, all colors first."""
    for turn in range(len(_MARKERS)):
        markers = _MARKERS[turn:] + _MARKERS[:turn]
        yield from (pair for pair in zip(_COLORS, markers, strict=False) if pair not in taken)
    while True:  # more names than looks: they repeat
        yield from product(_COLORS, _MARKERS)
