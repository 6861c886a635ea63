"""Checks the options of a transformer: what they may be, and that they are those that were fitted."""

from __future__ import annotations

from collections.abc import Mapping

from deniable.errors import InvalidParameter
from deniable.randomness import checked_source

_CHOICES: dict[str, tuple[str | None, ...]] = {"output": ("value", "support"), "memo": (None, "index")}


def check_options(options: Mapping[str, object]) -> None:
    """Refuse an option that is none of its choices, and words that are no source."""
    for name, allowed in _CHOICES.items():
        if options[name] not in allowed:
            choices = " or ".join(map(repr, allowed))
            raise InvalidParameter(f"{name} is {choices}, got {options[name]!r}")
    checked_source(options["words"])  # type: ignore[arg-type]  # it is checked there


def refuse_changes(fitted: Mapping[str, object], options: Mapping[str, object]) -> None:
    """Refuse options that were changed after fit: reports would not lose what the options say."""
    for name, before in fitted.items():
        if not _is_same(before, options[name]):
            raise InvalidParameter(
                f"{name} was changed after fit, and the mechanisms are of the old one; call fit again"
            )


def _is_same(first: object, second: object) -> bool:
    """Whether two options are equal; other arrays of equal values count as a change."""
    try:
        return first is second or bool(first == second)
    except ValueError:
        return False
