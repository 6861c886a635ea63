"""Says what is looked for: which question, by which list, at which chance of error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

LEAST = 50
"""People that a value must have at least, by its plain share, before it is shown."""


@final
@dataclass(frozen=True)
class Query:
    """What is looked for in the reports of one question of text or codes."""

    name: str | None = None
    """The question, where a plan has several."""
    words: Sequence[Any] | None = None
    """A public list, or nothing: then values are found by levels."""
    alpha: float = 0.05
    """The chance of any value that nobody has."""
    least: int = LEAST
