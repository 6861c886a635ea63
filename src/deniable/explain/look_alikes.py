"""Warns of values that people cannot tell apart, such as `yes` and the same word with a Cyrillic letter."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from deniable.domain import Categories
from deniable.plan.document import PlanDocument

_ALIKE = {
    **dict(zip("авеѕіјкмнорстухһԁԛԝ", "abesijkmhopctyxhdqw", strict=True)),  # Cyrillic
    **dict(zip("αβεζικμνορτυχγ", "abezikmvoptuxy", strict=True)),  # Greek
    **dict(zip("ıɑɡ01|‐‑‒–—−’‘`", "iagoll------'''", strict=True)),  # noqa: RUF001 - others
}
"""Letters in lower case and the Latin one that each looks like: the usual ones of Unicode's list, UTS 39."""
_MOST = 3  # pairs that are named


def warn_alike(document: PlanDocument) -> str | None:
    """Warn of values of one attribute, or names of attributes, that look the same; None if there are none."""
    pairs = [*_find_pairs("the questions", (attribute.name for attribute in document.attributes))]
    for attribute in document.attributes:
        if isinstance(attribute.domain, Categories):
            pairs += _find_pairs(repr(attribute.name), attribute.domain.labels)
    if not pairs:
        return None
    more = f" (and {len(pairs) - _MOST} more)" if len(pairs) > _MOST else ""
    return (
        f"People cannot tell some answers apart, but they count as two: {'; '.join(pairs[:_MOST])}{more}. "
        "Keep one of them, or write them so that they look different."
    )


def fold_looks(text: str) -> str:
    """Fold a text to what it looks like: without forms, case and spaces, in Latin letters.

    >>> fold_looks("y\\u0435s") == fold_looks("\\uff39es ") == "yes"
    True
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    shown = (letter for letter in folded if not letter.isspace() and unicodedata.category(letter) != "Cf")
    return "".join(_ALIKE.get(letter, letter) for letter in shown)


def _find_pairs(where: str, labels: Iterable[str]) -> Iterator[str]:
    """Each text that looks like an earlier one, and how they differ."""
    first: dict[str, str] = {}
    for label in labels:
        other = first.setdefault(fold_looks(label), label)
        if other != label:
            yield f"{other!r} and {label!r} of {where} {_tell_difference(other, label)}"


def _tell_difference(one: str, other: str) -> str:
    def squeeze(text: str) -> str:
        return "".join(text.casefold().split())

    if squeeze(one) == squeeze(other):
        return "differ in capital letters or spaces alone"
    foreign = [letter for letter in other if letter not in one] or [
        letter for letter in one if letter not in other
    ]
    if not foreign:
        return "look the same"
    return f"differ in {unicodedata.name(foreign[0], 'a sign without a name')}"
