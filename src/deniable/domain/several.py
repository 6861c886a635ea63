"""Lists the options of a question to which all answers that apply are given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from deniable.domain.categories import Categories
from deniable.errors import InvalidParameter
from deniable.formatting import format_count, shorten_names

_MOST = 100
_SHOWN = 8


@final
@dataclass(frozen=True)
class Several:
    """Options of which all that apply are chosen, or none. A study asks about each with yes or no.

    Each option is an attribute, so that it takes its part of epsilon, or of the sampling: ask about few.

    >>> print(Several(["tv", "radio", "web"]))
    all that apply of 3 options: tv, radio, web
    """

    options: tuple[str, ...]

    def __init__(self, options: Iterable[object]) -> None:
        try:
            known = Categories(options).labels
        except InvalidParameter as problem:
            raise InvalidParameter(
                str(problem).replace("label", "option").replace("an attribute", "a question")
            ) from None
        if len(known) > _MOST:
            raise InvalidParameter(f"a question has at most {_MOST} options, got {len(known)}")
        for option in known:
            if ";" in option or option == "none of these":
                raise InvalidParameter(
                    f"an option is not called {option!r}: tables have ';' between options, and 'none of "
                    "these' where none applies"
                )
        object.__setattr__(self, "options", known)

    def __str__(self) -> str:
        listed = shorten_names(self.options, _SHOWN)
        return f"all that apply of {format_count(len(self.options), 'option')}: {listed}"
