"""Gives every method its color and marker: one table, so that a method looks the same in all figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deniable.plot import looks as plotted
from deniable.plot.looks import BLACK, BLUE, GRAY, GREEN, ORANGE, PINK, SKY, VERMILION

METHODS: dict[str, tuple[str, str]] = {
    "grr": (BLUE, "o"),
    "sue": (VERMILION, "s"),
    "oue": (GREEN, "^"),
    "olh": (PINK, "D"),
    "ss": (ORANGE, "v"),
    "hr": (SKY, "*"),
    "the": (GRAY, "X"),
    "blh": (BLUE, "P"),
    "aue": (GREEN, "s"),
    "ass": (ORANGE, "o"),
    "alh": (PINK, "^"),
    "athe": (GRAY, "D"),
    "plh": (SKY, "D"),
    "adaptive": (BLACK, "*"),
    "the as published": (GRAY, "p"),
    "aue as published": (GREEN, "v"),
    "alh as published": (PINK, "X"),
    "athe as published": (GRAY, "*"),
    "geometric": (VERMILION, "D"),
    "exponential": (GREEN, "X"),
    "exponential calibrated": (ORANGE, "*"),
    "blahut-arimoto": (PINK, "s"),
    "optimum": (BLACK, "o"),
    "square_wave": (SKY, "s"),
    "planar_geometric": (VERMILION, "X"),
    "l-sue": (VERMILION, "v"),
    "l-oue": (GREEN, "o"),
    "l-osue": (SKY, "^"),
    "l-soue": (PINK, "v"),
    "allomfree": (ORANGE, "D"),
    "allomfree-exact": (BLUE, "s"),
    "spl[adp]": (ORANGE, "s"),
    "smp[adp]": (BLACK, "^"),
    "rs+fd[grr]": (BLUE, "D"),
    "rs+fd[oue-z]": (GREEN, "D"),
    "rs+fd[oue-r]": (SKY, "o"),
    "rs+fd[adp]": (PINK, "o"),
    "rs+fd[sue-r]": (ORANGE, "^"),
    "rs+rfd[grr]": (BLACK, "s"),
    "rs+rfd[sue-r]": (ORANGE, "P"),
    "rs+rfd[oue-r]": (SKY, "P"),
    "guess": (SKY, "v"),
    "guess-bayes": (PINK, "*"),
    "bayes": (VERMILION, "o"),
    "bayes-uniform": (ORANGE, "p"),
    "support": (VERMILION, "^"),
    "exact": (BLUE, "^"),
    "published": (GRAY, "o"),
    "published-figure": (GRAY, "s"),
    "nk-1n": (BLUE, "v"),
    "nk-3n": (BLUE, "X"),
    "nk-5n": (BLUE, "*"),
    "pk-0.1n": (GREEN, "*"),
    "pk-0.3n": (GREEN, "p"),
    "pk-0.5n": (GREEN, "P"),
    "hm-1n-0.1n": (PINK, "p"),
    "hm-3n-0.3n": (PINK, "P"),
    "hm-5n-0.5n": (SKY, "p"),
    "mga, no defense": (VERMILION, "p"),
    "rpa, no defense": (BLUE, "p"),
    "ria, no defense": (GRAY, "v"),
    "mga, recovered": (SKY, "X"),
    "mga, normalized": (ORANGE, "X"),
    "mga, norm-sub": (GRAY, "^"),
}
"""Colors and markers by name, in lower case; two methods never share both."""


def looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """A color and a marker for each name: those of the table, whatever else is drawn.

    What is reported by a protocol, such as "SMP[GRR]", looks as the protocol does unless it has a look of its
    own. Names that are no methods take the looks that are left, in their order.
    """
    methods = list(names)
    return plotted.looks(methods, {name: look for name in methods if (look := _find(name)) is not None})


def _find(name: str) -> tuple[str, str] | None:
    plain = name.lower()
    return METHODS.get(plain) or METHODS.get(plain.partition("[")[2].removesuffix("]"))
