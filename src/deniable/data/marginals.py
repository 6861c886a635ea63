"""Reads the published counts of MS-FIMU: people by value of each attribute."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

import numpy as np

from deniable.arrays import Integers
from deniable.data.published import FILES, expected, find, read_text
from deniable.errors import DataUnavailable
from deniable.randomness import Words

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
            for name, of in json.loads(read_text(file))["attributes"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise DataUnavailable(
            f"{path} is not the counts of {file.columns} attributes in JSON: {problem!r}"
        ) from None
    people = {name: sum(of.values()) for name, of in marginals.items()}
    if list(people.values()) != [file.rows] * file.columns:
        raise DataUnavailable(f"{path} counts {people}; {expected(file)}")
    return marginals


def deal_values(counts: Mapping[str, int], words: Words) -> list[str]:
    """The values of all people, as often as they are counted, in random order."""
    values = list(Counter(counts).elements())
    return [values[position] for position in shuffle(len(values), words)]


def shuffle(n: int, words: Words) -> Integers:
    """A random order."""
    return np.argsort(words.take(n), kind="stable")
