"""Holds the usual text of a letter in the languages of the survey page."""

from __future__ import annotations

from typing import NamedTuple

from deniable.messages import LANGUAGES, read_messages


class LetterText(NamedTuple):
    """How a letter begins, what it says about the code, and about when to answer."""

    salutation: str
    invited: str
    text: str
    again: str
    """Where a plan is asked in several rounds: what the device keeps is in one browser."""
    round: str
    until: str
    opening: str
    """A time from which and a time until which a round is open."""
    opens: str
    moment: str
    """How a time is written, for strftime."""


TEXTS = {language: LetterText(**read_messages(language, "letters")) for language in LANGUAGES}
