"""Says in words what the short names of a choice mean, such as SPL+SMP[grr]."""

from __future__ import annotations

from collections.abc import Sequence

from deniable.choose import Considered
from deniable.formatting import shorten_names
from deniable.mechanisms import PROTOCOLS

_BLOCKS = "SPL+SMP"
_MOST_NAMED = 3
_KINDS = {
    "SPL": "everybody reports all questions",
    "SPL by importance": "everybody reports all questions, important ones with more of epsilon",
    "SMP": "everybody reports one question, drawn at random",
    _BLOCKS: "everybody reports metric questions, maybe numbers, and one of the others, drawn at random",
    "RS+FD": "everybody reports all questions: one is real, and the others are fakes",
    "RS+RFD": "everybody reports all questions: one is real, and the others are fakes from public shares",
}

_REPEATED = {
    "l_grr": "generalized randomized response with kept answers",
    "l_sue": "symmetric unary encoding with kept answers",
    "l_oue": "optimized unary encoding with kept answers",
    "l_osue": "optimized unary encoding of kept answers, symmetric in each round",
    "l_soue": "symmetric unary encoding of kept answers, optimized in each round",
    "loloha": "local hashing with kept answers",
    "l_duchi": "the side of a kept line, with kept answers",
    "dbitflip": "some bits of a histogram, kept",
}


def explain_name(row: Considered) -> str:
    """A choice in words, or empty where its name has no short ones: SMP[grr] is "everybody reports ...".

    >>> from deniable.choose import consider
    >>> print(explain_name(consider([2, 3], epsilon=1.0, n=1000, mechanisms="SMP", protocols="grr")[0]))
    everybody reports one question, drawn at random; grr: generalized randomized response
    """
    told = [_name_protocol(name) for name in dict.fromkeys(row.protocols)]
    return "; ".join(filter(None, [explain_kind(row), *told]))


def explain_kind(row: Considered) -> str:
    """The record mechanism of a choice in words: also which questions everybody reports, where some are."""
    always = list_always(row)
    if row.kind != _BLOCKS or not always:
        return _explain_kind(row.kind)
    return f"everybody reports {shorten_names(always, _MOST_NAMED)}, and one of the others, drawn at random"


def list_always(row: Considered) -> list[str]:
    """The attributes that everybody reports; none where nothing can be built."""
    if row.mechanism is None:
        return []
    names = row.names or [f"attribute {j}" for j in range(len(row.chances))]
    return [repr(name) for name, chance in zip(names, row.chances, strict=True) if chance == 1]


def explain_kinds(rows: Sequence[Considered]) -> list[str]:
    """A line for each record mechanism of these choices."""
    told: dict[str, str] = {}
    for row in rows:
        words = explain_kind(row)
        alike = told.setdefault(row.kind, words) == words
        told[row.kind] = words if alike else _explain_kind(row.kind)
    return [f"{kind}: {words}" for kind, words in told.items() if words]


def _explain_kind(kind: str) -> str:
    name, _, count = kind.rpartition("-")
    if name == "SMP" and count.isdigit():
        return f"everybody reports {count} questions, drawn at random"
    return _KINDS.get(kind, "")


def _name_protocol(name: str) -> str:
    full = name_protocol_in_full(name)
    return f"{name}: {full}" if full else ""


def name_protocol_in_full(name: str) -> str:
    """The full name of a protocol of the papers; empty for others, which are words already."""
    if name in _REPEATED:
        return _REPEATED[name]
    row = PROTOCOLS.get(name)
    if row is None or name == "adaptive":
        return ""
    full = row.title.partition(":")[0].partition(",")[0]
    return f"{full[0].lower()}{full[1:]}"
