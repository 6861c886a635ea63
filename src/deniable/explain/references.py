"""Cites the work that a plan uses, as BibTeX; the keys are those of docs/references.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, singledispatch
from pathlib import Path

from deniable import crowd
from deniable.mechanisms import PROTOCOLS, Direct, Linear, Mechanism, Unary, linear
from deniable.mechanisms.protocols import recognize, reference_of
from deniable.metric import (
    Averaged,
    Geometric,
    PlanarGeometric,
    duchi,
    geometric,
    hybrid,
    piecewise,
    planar_geometric,
    square_wave,
)
from deniable.randomness import FULL
from deniable.records import RecordMechanism, near_bits, near_sets
from deniable.records.near import Tick
from deniable.rounds import (
    BitFlip,
    HashedMemoized,
    Memoized,
    MemoizedMean,
    PooledMemoized,
    dbitflip,
    l_duchi,
    l_grr,
    l_osue,
    l_oue,
    l_plh,
    l_soue,
    l_sue,
    loloha,
)


@singledispatch
def name_protocol(part: Mechanism) -> str:
    """The name people know a mechanism by; where no protocol makes it, what it is."""
    if type(part) in _NAMES:
        return _NAMES[type(part)]
    row = recognize(part)
    if row is not None:
        return row.name
    return part.outline


@name_protocol.register
def _(part: Memoized) -> str:
    if not part.bitwise:
        return "l_grr"
    first, second = _unary_kind(part.first), _unary_kind(part.second)
    return f"l_{first if first != second else ''}{second}ue"


@name_protocol.register
def _(part: Tick) -> str:
    return "near_bits" if part.one + part.zero == FULL else "near_sets"


@name_protocol.register
def _(part: Averaged) -> str:
    return type(part.of).__name__.lower()


def _reference(part: Mechanism) -> str | None:
    """The key of what is to be cited for a mechanism; None where no protocol makes it."""
    name = name_protocol(part)
    if name in PROTOCOLS:
        return PROTOCOLS[name].reference
    return reference_of(_OTHERS[name]) if name in _OTHERS else None


def keys(mechanism: RecordMechanism, more: Iterable[str] = ()) -> list[str]:
    """The references of a record mechanism and of its parts, in order of appearance, and more after them."""
    parts = mechanism.mechanisms
    cited = [key for key in map(_reference, parts) if key is not None]
    cited += [*mechanism.references, *more]
    if not any(part.repeated or part.metric for part in parts):
        cited += crowd.references(mechanism)  # what a shuffler would add is explained for one report each
    return list(dict.fromkeys([*cited, "clopper1934"]))


def bibliography(mechanism: RecordMechanism, more: Iterable[str] = ()) -> str:
    """BibTeX entries, with a blank line between them."""
    entries = read_entries()
    return "\n\n".join(entries[key] for key in keys(mechanism, more))


def _unary_kind(part: Direct | Unary) -> str:
    """Optimized, symmetric, or neither."""
    law = part.law
    if law.exact_p * 2 == 1:
        return "o"
    return "s" if law.exact_p + law.exact_q == 1 else ""


@cache
def read_entries() -> dict[str, str]:
    """The BibTeX entries of all work that a plan may use, by key."""
    text = (Path(__file__).parent / "references.bib").read_text(encoding="utf-8")
    entries = text.strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}


_NAMES: dict[type[Mechanism], str] = {
    HashedMemoized: "loloha",
    PooledMemoized: "l_plh",
    MemoizedMean: "l_duchi",
    BitFlip: "dbitflip",
    Geometric: "geometric",
    PlanarGeometric: "planar_geometric",
    Linear: "linear",
}
"""Mechanisms that are made in one way only."""
_OTHERS: Mapping[str, Callable[..., object]] = {
    protocol.__name__: protocol
    for protocol in (
        l_duchi,
        l_grr,
        l_sue,
        l_oue,
        l_plh,
        l_osue,
        l_soue,
        loloha,
        dbitflip,
        geometric,
        planar_geometric,
        duchi,
        piecewise,
        hybrid,
        linear,
        square_wave,
        near_sets,
        near_bits,
    )
}
"""What makes the mechanisms that are not in the table of protocols."""
