"""Refuses texts of operators that imitate what a survey page says itself: that a guarantee was verified.

Letters are compared as people see them. Case, accents, spaces and signs do not count, and letters of other
scripts that look like Latin ones are taken for these; so are digits. A small l is taken for an i.
"""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

from deniable.errors import InvalidParameter

_TABLE = json.loads(Path(__file__).with_name("imitation.json").read_text(encoding="utf-8"))
ALIKE: dict[str, str] = _TABLE["alike"]
"""Characters that look like a Latin letter, by that letter."""
FORMS: list[list[list[str]]] = _TABLE["forms"]
"""What the box of a survey page says, in its languages, and what is taken for that: one word of each."""
_ALPHABETS = (0x1F150, 0x1F170, 0x1F1E6)
"""Where letters in black circles, in black squares and in flags begin, from A to Z."""
_PAIRS = (("rn", "m"), ("vv", "w"), ("ci", "d"))
"""Two letters that look like one; the last is c and l."""

_LETTERS = (
    {ord(sign.lower()): letter for letter, signs in ALIKE.items() for sign in signs}
    | {start + i: "i" if i == 11 else chr(ord("a") + i) for start in _ALPHABETS for i in range(26)}
    | {ord("ß"): "ss"}
)
_PLAIN = frozenset("abcdefghijkmnopqrstuvwxyz")


def skeleton(text: str) -> str:
    """The Latin letters that a person sees in a text, and nothing else.

    >>> skeleton("V\u0435rified  on-this D\u00e9vice") == skeleton("verified on this device")
    True
    """
    if text.isascii():
        seen = text.lower().translate(_LETTERS)
    else:
        seen = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).lower()).translate(_LETTERS)
    return "".join(filter(_PLAIN.__contains__, seen))


_FORBIDDEN = re.compile(
    "|".join("".join(f"(?:{'|'.join(map(skeleton, words))})" for words in form) for form in FORMS)
)
_SHORTEST = min(sum(min(map(len, words)) for words in form) for form in FORMS)


def refuse_imitation(text: str, what: str) -> None:
    """Refuse a text that says what only the survey page itself says."""
    if len(text) < _SHORTEST:
        return
    bare = "".join(sign for sign in text if sign.isalpha())  # where signs stand between words
    seen = paired = skeleton(text)
    for pair, letter in _PAIRS:
        paired = paired.replace(pair, letter)
    if any(map(_FORBIDDEN.search, (seen, paired, skeleton(bare)))):
        raise InvalidParameter(
            f"{what} imitates what the survey page says of its own check, such as 'Verified on this device'; "
            "leave that to the page, and say it otherwise",
            "text",
        )
