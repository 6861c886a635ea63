"""Words figures and legends plainly, for people who do not read exponents."""

from __future__ import annotations

from collections.abc import Sequence

from deniable.formatting import format_points, round_digits, shorten_names

ASKED = {
    "new": "a new attribute",
    "any": "any attribute",
    "kept": "the same attribute",
    "all": "all attributes",
    "mixed": "some always, some at random",
}
"""Which attributes collections ask for."""
EVENLY = (
    "These figures are for people whose answers are spread evenly over all values: where some answers are "
    "more frequent, fewer guesses or more of them may be right."
)
"""Whom the guesses of an attacker who knows nothing else are about."""


def times_as_often(success: float, blind: float) -> str:
    """Compares a guess with a blind one.

    >>> times_as_often(0.0175, 0.00005), times_as_often(0.03, 0.02)
    ('350 times as often as blindly', '1.5 times as often as blindly')
    """
    times = round_digits(success / blind, 2)
    return (
        f"{times:,.0f} times as often as blindly" if times >= 10 else f"{times:g} times as often as blindly"
    )


def among_best(top: int) -> str:
    """Where a person's own record is looked for.

    >>> among_best(1), among_best(10)
    ('best match', 'among best 10')
    """
    return "best match" if top == 1 else f"among best {top}"


def mark_figure(cell: str, simulated: bool, bound: bool) -> str:
    """A figure with how it is known."""
    return f"{'<= ' if bound else ''}{'~' if simulated else ''}{cell}" if cell else ""


def legend(errors: Sequence[float], bound: bool, seed: int, answers: Sequence[float] = ()) -> str:
    """What the marks of a table say; `answers` are the errors that are numbers of answers, not shares.

    >>> legend([0.001], False, 1, [0.02])
    '~ is simulated from seed 1, standard error at most 0.1 points, of right on average 0.02 answers ...'
    """
    worst = [f"at most {format_points(max(errors), 2)}"] if errors else []
    worst += (
        [f"of right on average {'' if errors else 'at most '}{max(answers):.2g} answers"] if answers else []
    )
    marks = [f"~ is simulated from seed {seed}, standard error {', '.join(worst)}"] if worst else []
    marks += ["<= is at most"] if bound else []
    return " · ".join([*marks, "the rest is exact"]) if marks else "exact"


def exact_hits(names: Sequence[str]) -> list[str]:
    """What counts as right for metric attributes; nothing where there are none."""
    if not names:
        return []
    return [
        f"For {shorten_names(names)}, which are metric, only the exact bin or cell is right: guesses "
        "nearby are not counted."
    ]


def name_leveled(questions: Sequence[str]) -> list[str]:
    """That levels of one question are counted as several answers; nothing where there are none."""
    if not questions:
        return []
    return [
        f"Levels of {shorten_names(questions)} count as answers of their own, as if nothing tied them "
        "together. The finest level has all others, so that whole records are guessed more often than "
        "this, with reports and blindly."
    ]
