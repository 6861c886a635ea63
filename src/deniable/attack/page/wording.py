"""Figures and tables in plain words, for people who do not read exponents."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from deniable.attack.results import shortened

DRAWN = {
    "new": "a new attribute",
    "any": "any attribute",
    "kept": "the same attribute",
    "all": "all attributes",
}
"""Which attributes collections ask for."""
EVENLY = (
    "These figures are for people whose answers are spread evenly over all values: where some answers are "
    "more frequent, fewer guesses or more of them may be right."
)
"""Whom guesses by who knows nothing else are about."""

_WIDTH = 110
_NOTHING = 1e-9


def filled(text: str) -> str:
    """A paragraph; no line begins with the sign of a percentage."""
    return fill(text.replace(" %", "\N{NO-BREAK SPACE}%"), _WIDTH).replace("\N{NO-BREAK SPACE}", " ")


def percent(share: float | None) -> str:
    """Three digits; what is rare as one in so many.

    >>> percent(0.12345), percent(0.99999), percent(2.5e-8), percent(0.0)
    ('12.3 %', '100 %', '1 in 40,000,000', '0 %')
    """
    if share is None:
        return ""
    if share <= 0:
        return "0 %"
    if share < 1e-15:
        return "below 1 in 10^15"
    return (
        f"1 in {_rounded(1 / share, 3):,.0f}"
        if share < 1e-5
        else f"{100 * share:.3g} %"
        if share < 0.9995
        else "100 %"
    )


def points(gain: float, digits: int = 3) -> str:
    """A difference of two shares; what only the rounding of floats makes is none.

    >>> points(0.1221), points(1.11e-16), points(0.000002)
    ('12.2 points', '0 points', 'below 0.001 points')
    """
    if gain < _NOTHING:
        return "0 points"
    if gain < 1e-5:
        return "below 0.001 points"
    shown = f"{100 * gain:.{digits}g}"
    return f"{shown} point{'' if shown == '1' else 's'}"


def times_as_often(success: float, blind: float) -> str:
    """Beside a blind guess.

    >>> times_as_often(0.0175, 0.00005), times_as_often(0.03, 0.02)
    ('350 times as often as blindly', '1.5 times as often as blindly')
    """
    times = _rounded(success / blind, 2)
    return (
        f"{times:,.0f} times as often as blindly" if times >= 10 else f"{times:g} times as often as blindly"
    )


def among_best(top: int) -> str:
    """Where a person's own record is looked for.

    >>> among_best(1), among_best(10)
    ('best match', 'among best 10')
    """
    return "best match" if top == 1 else f"among best {top}"


def _rounded(number: float, digits: int) -> float:
    return float(f"{number:.{digits}g}")


def marked(cell: str, simulated: bool, bound: bool) -> str:
    """A figure with how it is known."""
    return f"{'<= ' if bound else ''}{'~' if simulated else ''}{cell}" if cell else ""


def legend(errors: Sequence[float], bound: bool, seed: int, answers: Sequence[float] = ()) -> str:
    """What the marks of a table say; `answers` are the errors of what is a number of answers, not a share.

    >>> legend([0.001], False, 1, [0.02])
    '~ is simulated from seed 1, standard error at most 0.1 points, of right on average 0.02 answers ...'
    """
    worst = [f"at most {points(max(errors), 2)}"] if errors else []
    worst += (
        [f"of right on average {'' if errors else 'at most '}{max(answers):.2g} answers"] if answers else []
    )
    told = [f"~ is simulated from seed {seed}, standard error {', '.join(worst)}"] if worst else []
    told += ["<= is at most"] if bound else []
    return " · ".join([*told, "the rest is exact"]) if told else "exact"


def between(low: float, high: float) -> str:
    """An interval of shares.

    >>> between(0.001, 0.0213), between(0.0, 3e-6)
    ('0.1 to 2.13 %', '0 to 0.0003 %')
    """
    return f"{100 * low:.3g} to {100 * high:.3g} %"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligned columns, the first one and other words to the left; those that are empty throughout are left
    out.
    """
    shown = [j for j in range(len(headers)) if any(row[j] for row in rows)]
    widths = {j: max(len(headers[j]), *(len(row[j]) for row in rows)) for j in shown}
    left = {0, *(j for j, header in enumerate(headers) if header in ("client", "attacker"))}

    def line(cells: Sequence[str]) -> str:
        return (
            "  "
            + "  ".join(
                cells[j].ljust(widths[j]) if j in left else cells[j].rjust(widths[j]) for j in shown
            ).rstrip()
        )

    return [line(headers), *map(line, rows)]


def exact_hits(names: Sequence[str]) -> list[str]:
    """What counts as right where values have distances; nothing where none have."""
    if not names:
        return []
    return [
        f"Of {shortened(names)}, which have distances, only the exact bin or cell is right: guesses nearby "
        "are not counted."
    ]
