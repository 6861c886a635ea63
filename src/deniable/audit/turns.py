"""Says in which rounds devices are asked, and what is wrong with when they answer."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple, final

from deniable.formatting import format_count
from deniable.randomness import device
from deniable.reports.privatize import draw_turns
from deniable.study import Plan
from deniable.wire import PREFIX

Answers = Mapping[str, object]
Side = tuple[Answers, ...]
"""What one person answers, report after report."""

_ROUND = slice(1 + PREFIX, 1 + PREFIX + 4)


class Question(NamedTuple):
    """What a device is asked in one round."""

    answers: Answers
    round: int
    is_turn: bool
    """Whether it must answer; else it must be silent."""


@final
class Turns:
    """The rounds in which devices are asked.

    These are 1, 2, and so on. Where a plan has turns they are the device's own, which follow from its secret,
    and one more at random, in which a device that answers gives away more than is claimed.
    """

    def __init__(self, plan: Plan | None) -> None:
        document = None if plan is None or plan.document.turns is None else plan.document
        self._document = document
        self._devices = self._reports = self._beyond = self._missing = 0

    @property
    def are_drawn(self) -> bool:
        """Whether a device is silent in some rounds."""
        return self._document is not None

    def ask(self, side: Side, secret: bytes) -> list[Question]:
        """What a device with this secret is asked, in order."""
        document = self._document
        if document is None:
            return [Question(answers, number, True) for number, answers in enumerate(side, 1)]
        [turns] = draw_turns(document, device(secret, document.id).rows(1, 0)).tolist()
        others = sorted({*range(1, (document.rounds or 1) + 1)} - {*turns})
        questions = [Question(answers, number, True) for answers, number in zip(side, turns, strict=False)]
        questions.append(Question(side[-1], secrets.choice(others), False))
        return sorted(questions, key=lambda question: question.round)

    def keep(self, questions: Sequence[Question], reports: Sequence[bytes]) -> list[bytes]:
        """The reports of a device's turns, as if these were rounds 1, 2, and so on; empty where it is silent.

        What it sends in another round, or does not send in its own, is counted.
        """
        if not self.are_drawn:
            return list(reports)
        kept: list[bytes] = []
        for question, report in zip(questions, reports, strict=True):
            if question.is_turn:
                kept.append(_renumber(report, question.round, len(kept) + 1))
            else:
                self._beyond += bool(report)
        self._devices += 1
        self._reports += len(kept)
        self._missing += sum(not report for report in kept)
        return kept

    def faults(self) -> list[str]:
        """What was wrong with when devices answered, in words."""
        document, faults = self._document, []
        if document is not None and self._beyond:
            faults.append(
                f"{format_count(self._beyond, 'device')} of {self._devices:,} answered in a round that is "
                f"not their turn: a device answers in {document.turns} of {document.rounds} rounds, which it "
                "draws from its secret, and what is claimed is of that many reports"
            )
        if document is not None and self._missing:
            faults.append(
                f"{format_count(self._missing, 'report')} of {self._reports:,} are missing: devices were "
                "silent in a round that is their turn"
            )
        return faults


def _renumber(report: bytes, asked: int, number: int) -> bytes:
    """A report with another number of its round in the header; with none where it is not of the asked one."""
    if type(report) is not bytes or len(report) < _ROUND.stop:
        return report
    is_right = int.from_bytes(report[_ROUND], "little") == asked
    written = (number if is_right else 0).to_bytes(4, "little")
    return report[: _ROUND.start] + written + report[_ROUND.stop :]
