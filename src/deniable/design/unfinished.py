"""Says what is still to be filled in of a question, in plain words: that is not yet an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from deniable.design.draft import Question

_CHOSEN = {"values": "answers", "several": "options"}
_PAIRS = {"scale": "the lowest and the highest number of the scale", "dates": "the first and the last date"}
_SIDES = ("south", "north", "west", "east")
_CELLS = {"rows": "the rows of cells", "columns": "the columns of cells"}
_NUMBERS = {"low": "the lowest number", "high": "the highest number"}
_CONDITION = "only_if"
_LANGUAGES = {"en": "English", "de": "German", "fr": "French", "es": "Spanish", "pt": "Portuguese"}


@final
@dataclass(frozen=True)
class Unfinished:
    """What is to be filled in, and the key that it is about."""

    text: str
    field: str


def find_unfinished(question: Question) -> Unfinished | None:
    """The first thing that nobody has filled in yet; None where what is there can be judged."""
    keys = question.keys
    if not question.name:
        return Unfinished("give the question a short name, for files and plots", "name")
    for key, what in _CHOSEN.items():
        if isinstance(keys.get(key), list) and len(keys[key]) < 2:
            return Unfinished(f"write at least two {what}, one per line", key)
    for key, what in _PAIRS.items():
        pair = keys.get(key)
        if isinstance(pair, list) and any(end == "" for end in pair):
            return Unfinished(f"write {what}", key)
    labels = keys.get("labels")
    for language, texts in labels.items() if isinstance(labels, Mapping) else ():
        if isinstance(texts, list) and any(text == "" for text in texts):
            return Unfinished(f"write every answer in {_LANGUAGES.get(language, language)}", "labels")
    if any(key in keys for key in (*_SIDES, *_CELLS)):
        return _find_side(keys)
    if "low" in keys or "high" in keys or "step" in keys:
        required = dict(_NUMBERS) | ({} if "mean" in keys else {"step": "the step"})
        lacking = [key for key in required if key not in keys]
        if lacking:
            return Unfinished(f"write {_join([required[key] for key in lacking])}", lacking[0])
    if "alphabet" in keys or "longest" in keys:
        return _find_letters(keys)
    if keys.get("privacy") == "metric" and "epsilon" not in keys:
        return Unfinished("write the epsilon of this question", "epsilon")
    return None


def find_open_condition(question: Question) -> Unfinished | None:
    """That nobody has chosen yet after which answers the question is asked."""
    condition = question.keys.get(_CONDITION)
    if not isinstance(condition, Mapping) or len(condition) != 1:
        return None
    [(name, values)] = condition.items()
    if values not in ([], "", None):
        return None
    return Unfinished(f"choose the answers to {name!r} after which this is asked", _CONDITION)


def _find_side(keys: Mapping[str, Any]) -> Unfinished | None:
    sides = [key for key in _SIDES if key not in keys]
    if sides:
        where = _join(sides)
        return Unfinished(f"write where the map ends in the {where}, in degrees", sides[0])
    for key in _SIDES:
        if isinstance(keys[key], str):
            return Unfinished(f"write the {key} as a number of degrees such as 6.95, got {keys[key]!r}", key)
    cells = [key for key in _CELLS if key not in keys]
    if cells:
        return Unfinished(f"write {_join([_CELLS[key] for key in cells])}", cells[0])
    if keys.get("privacy") == "equal" or "epsilon" in keys or ("level" in keys and "radius" in keys):
        return None
    lacking = "radius" if "level" in keys else "level"
    return Unfinished("write how much is lost at most, and within how many meters", lacking)


def _find_letters(keys: Mapping[str, Any]) -> Unfinished | None:
    if keys.get("alphabet", "") == "":
        return Unfinished("write the letters that a text may have, such as a-z", "alphabet")
    return None if "longest" in keys else Unfinished("write how many letters are kept", "longest")


def _join(parts: list[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
