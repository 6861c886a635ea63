"""Rates how well a plan protects a person's answers: well, a little, or hardly.

The measure is an attacker's best guess. Two people with any answers seem equally likely beforehand, and one
answer may go with another; the attacker sees all reports, of every round, and picks one of the two. The loss L
of all of them lets this guess be right with probability e^L / (1 + e^L) at most, whatever answers change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final

from deniable.plan.losses import NANO, Loss, to_nanos

Level = Literal["well", "a little", "hardly"]

MOST_WELL = 1_098_612_289
"""Billionths of a nat, ln 3 rounded up: up to here a plan protects well, and 75 of 100 guesses are right."""
MOST_LITTLE = 2_197_224_578
"""Billionths of a nat, ln 9 rounded up: up to here a plan protects a little, and 90 of 100 guesses are right."""

_RATED: Mapping[Level, str] = {
    "well": "protects answers well",
    "a little": "protects answers a little",
    "hardly": "hardly protects answers",
}


@final
@dataclass(frozen=True)
class Protection:
    """How well a person's answers are protected, over all rounds."""

    level: Level
    loss: int | None
    """Of all reports together, whatever changes, in billionths of a nat; None without a bound."""

    @staticmethod
    def of(loss: Loss) -> Protection:
        """The rating of a plan with this loss."""
        nanos = to_nanos(loss.counted)
        return Protection(rate_loss(nanos), nanos)

    @property
    def guess(self) -> float:
        """How often an attacker who chooses between two answers is right, at most."""
        return 1.0 if self.loss is None else 1 / (1 + math.exp(-self.loss / NANO))

    @property
    def percent(self) -> int:
        """The guess out of 100, rounded up."""
        return math.ceil(round(100 * self.guess, 6))

    def __str__(self) -> str:
        return (
            f"{_RATED[self.level]}: of two answers that seem equally likely, whoever sees all reports of a "
            f"person picks the right one at most {self.percent} times in 100"
        )


def rate_loss(nanos: int | None) -> Level:
    """Rates the loss of all reports of a person together, in billionths of a nat.

    >>> rate_loss(10**9), rate_loss(2 * 10**9), rate_loss(4 * 10**9), rate_loss(None)
    ('well', 'a little', 'hardly', 'hardly')
    """
    if nanos is None or nanos > MOST_LITTLE:
        return "hardly"
    return "well" if nanos <= MOST_WELL else "a little"


RATINGS: Mapping[str, Mapping[Level, str]] = {
    "en": {
        "well": "This survey protects your answers well",
        "a little": "This survey protects your answers a little",
        "hardly": "This survey hardly protects your answers",
    },
    "de": {
        "well": "Diese Umfrage schützt Ihre Antworten gut",
        "a little": "Diese Umfrage schützt Ihre Antworten ein wenig",
        "hardly": "Diese Umfrage schützt Ihre Antworten kaum",
    },
    "fr": {
        "well": "Cette enquête protège bien vos réponses",
        "a little": "Cette enquête protège un peu vos réponses",
        "hardly": "Cette enquête ne protège guère vos réponses",
    },
    "es": {
        "well": "Esta encuesta protege bien sus respuestas",
        "a little": "Esta encuesta protege un poco sus respuestas",
        "hardly": "Esta encuesta apenas protege sus respuestas",
    },
    "pt": {
        "well": "Este inquérito protege bem as suas respostas",
        "a little": "Este inquérito protege um pouco as suas respostas",
        "hardly": "Este inquérito quase não protege as suas respostas",
    },
}
"""The rating in the languages of the survey page, whose box begins with it."""

PICKS: Mapping[str, str] = {
    "en": "Of two answers that seemed equally likely, anyone who sees all your reports picks yours at most {n} times in "
    "100.",
    "de": "Von zwei Antworten, die vorher gleich wahrscheinlich schienen, wählt jemand, der alle Ihre Berichte sieht, "
    "höchstens {n}-mal von 100 Ihre.",
    "fr": "Entre deux réponses qui semblaient aussi probables, une personne qui voit tous vos rapports choisit la vôtre "
    "au plus {n} fois sur 100.",
    "es": "Entre dos respuestas que parecían igual de probables, quien ve todos sus informes elige la suya como máximo "
    "{n} veces de cada 100.",
    "pt": "Entre duas respostas que pareciam igualmente prováveis, quem vê todos os seus relatórios escolhe a sua no "
    "máximo {n} vezes em 100.",
}
"""What the rating measures, in these languages."""
