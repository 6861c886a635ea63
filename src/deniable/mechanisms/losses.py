"""States what the reports of one person give away together, where they are asked again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from deniable.exact import round_up, times_up, whole_number
from deniable.formatting import Printed, format_count, format_up

MOST_REPORTS = 10_000  # of one value: powers of more have too many digits, and lose what any number does


@final
@dataclass(frozen=True)
class Losses(Printed):
    """What a person who answers again and again gives away, rounded up, and what each number assumes."""

    one_report: float
    same_value: float
    """After `reports` reports of a value that never changed."""
    one_value_forever: float
    """After any number of reports of a value that never changed."""
    changing_values: float
    """After `rounds` reports, compared with any other sequence of values: this always holds."""
    changing_values_usual: float
    """What the literature states instead: it holds only between sequences that change at the same times, to
    values that repeat at the same times.
    """
    reports: int
    rounds: int
    changing_values_exact: bool = False
    """Whether some two sequences of values lose all of `changing_values`; otherwise it is a bound."""

    def explain(self) -> str:
        """In plain words, a line each."""
        usual = format_up(self.changing_values_usual)
        lines = [f"{about}: {loss}" for about, loss in self._rows()]
        lines.append(
            f"the usual figure, {usual}, holds against sequences that change and come back at the same times"
        )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.explain()

    def _rows(self) -> list[tuple[str, str]]:
        """What is reported, and its loss."""
        if math.isinf(self.changing_values):
            changing = "no bound: nothing is fresh, so that a change shows"
        else:
            changes = format_up(self.changing_values)
            changing = f"{changes} (exact)" if self.changing_values_exact else f"at most {changes} (a bound)"
        forever = format_up(self.one_value_forever)
        if math.isinf(self.one_value_forever):
            forever = "no bound: fresh noise in every round averages away"
        return [
            ("one report", format_up(self.one_report)),
            (
                f"{format_count(self.reports, 'report')} of a value that does not change",
                format_up(self.same_value),
            ),
            ("any number of reports of a value that does not change", forever),
            (
                f"{format_count(self.rounds, 'report')} of values that change, against any other sequence",
                changing,
            ),
        ]


def lose_each_time(loss: float, reports: int, rounds: int) -> Losses:
    """The losses where nothing is kept: every report adds its whole loss."""
    whole_number("reports", reports, 1)
    changing = times_up(loss, whole_number("rounds", rounds, 1))
    return Losses(loss, times_up(loss, reports), math.inf, changing, changing, reports, rounds, True)


def lose_once(loss: float, answers: int, reports: int, rounds: int) -> Losses:
    """The losses where nothing is fresh: all reports of one value lose what one does, and each of so many
    answers adds as much.

    No bound holds against sequences that change at other times, since a change shows. One report has none.
    """
    changing = loss if rounds == 1 else math.inf
    usual = times_up(loss, min(rounds, answers))
    return Losses(loss, loss, loss, changing, usual, reports, rounds, True)


def add_losses(
    parts: Sequence[Losses], select: Callable[[Sequence[float]], Sequence[float]] = list
) -> Losses:
    """The losses of independent parts together, rounded up; of each figure, those that are selected count."""

    def together(figure: Callable[[Losses], float]) -> float:
        counted = select(list(map(figure, parts)))
        return math.inf if math.inf in counted else round_up(sum(map(Fraction, counted), Fraction(0)))

    return Losses(
        one_report=together(lambda losses: losses.one_report),
        same_value=together(lambda losses: losses.same_value),
        one_value_forever=together(lambda losses: losses.one_value_forever),
        changing_values=together(lambda losses: losses.changing_values),
        changing_values_usual=together(lambda losses: losses.changing_values_usual),
        reports=parts[0].reports,
        rounds=parts[0].rounds,
        changing_values_exact=all(losses.changing_values_exact for losses in parts),
    )
