"""One small exception tree. Every message says what was given, what is allowed and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DeniableError(Exception):
    """The root: catch this to catch everything the library refuses."""


class InvalidParameter(DeniableError, ValueError):
    """A parameter that no mechanism can be built from (k < 2, epsilon <= 0, an unknown name...)."""


class InvalidValue(DeniableError, ValueError):
    """A value that is not in the domain. It is never passed on: a value sent as it is discloses itself."""

    def __init__(self, message: str = "", remedy: str = "") -> None:
        super().__init__(f"{message}; {remedy}" if remedy else message)
        self.message = message
        """What is wrong, without the remedy: that is for who makes the study, and no matter of who answers
        it.
        """
        self.remedy = remedy
        """What can be done; answers with one remedy are refused for one reason."""


class InvalidReport(DeniableError, ValueError):
    """A report that the mechanism cannot have sent, or that is not in its canonical form."""


class FileMissing(DeniableError, FileNotFoundError):
    """A file that was named is not there, or is a folder."""


class DeniableWarning(UserWarning):
    """Something that is allowed, and that somebody should know about."""


class NotExact(DeniableError):
    """An exact guarantee was asked of something that has none (floating-point noise, a mixture's
    marginal).
    """


class WordsExhausted(DeniableError):
    """A finite list of words was too short for what was asked of it."""


class DataUnavailable(DeniableError):
    """A public dataset whose file is not here and cannot be fetched, or is not what it should be."""


def not_among(given: object, what: str, allowed: Iterable[str]) -> str:
    """A name that is not on a list, or no name at all: what was given, what is allowed, and the nearest."""
    names = list(allowed)
    near = difflib.get_close_matches(str(given), names, n=1)
    return f"{given!r} is not {what} ({', '.join(names)})" + (f"; did you mean {near[0]!r}?" if near else "")
