"""Reads the published counts of MS-FIMU: people by value of each attribute, and by union of days."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from deniable.arrays import Integers
from deniable.data.published import FILES, expected, find
from deniable.errors import DataUnavailable
from deniable.words import Words

FOREIGN = "Foreign tourist"
UNKNOWN = "NR"
"""The value of people whose network does not know theirs."""


def read_marginals() -> dict[str, dict[str, int]]:
    """How many people have each value of each attribute."""
    file = FILES["ms-fimu-marginals.json"]
    path = find(file)
    try:
        marginals = {
            str(name): {str(label): int(n) for label, n in of.items()}
            for name, of in _read_json()["attributes"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise DataUnavailable(
            f"{path} is not the counts of {file.columns} attributes in JSON: {problem!r}"
        ) from None
    people = {name: sum(of.values()) for name, of in marginals.items()}
    if list(people.values()) != [file.rows] * file.columns:
        raise DataUnavailable(f"{path} counts {people}; {expected(file)}")
    return marginals


def read_union_counts() -> dict[tuple[int, int], int]:
    """How many people were there on each union of consecutive days, by its first and last day."""
    path = find(FILES["ms-fimu-marginals.json"])
    try:
        return {
            _read_ends(str(name)): int(n) for name, n in _read_json()["union_of_consecutive_days"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise DataUnavailable(f"{path} has no counts of unions of consecutive days: {problem!r}") from None


def _read_json() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(find(FILES["ms-fimu-marginals.json"]).read_text(encoding="utf-8"))
    return loaded


def _read_ends(name: str) -> tuple[int, int]:
    """Of `3-1`, or `3` for a day alone: the first day, and the last."""
    last, _, first = name.partition("-")
    return int(first or last), int(last)


def deal_values(counts: Mapping[str, int], words: Words) -> list[str]:
    """The values of all people, as often as they are counted, in random order."""
    values = list(Counter(counts).elements())
    return [values[position] for position in shuffle(len(values), words)]


def shuffle(n: int, words: Words) -> Integers:
    """A random order."""
    return np.argsort(words.take(n), kind="stable")
