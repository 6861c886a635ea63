"""What a report says about a value, and about being real: the likelihoods that every attack here is a function of.

A report of an attribute is a few times likelier from the values that it supports than from the others, so that one table of
reports by values, up to a factor for each report, holds all that there is to know. Beside a fake the factor matters, too: how
many times likelier a report is from a person than from the fake.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar, final

import numpy as np

from deniable.bitflip import BitFlip
from deniable.errors import InvalidParameter, InvalidReport
from deniable.fakes import Blank, Fake, Guessed, Imitated
from deniable.law import Floats, Integers, checked_prior
from deniable.likelihood.observed import layers, odds
from deniable.likelihood.rows import Supports
from deniable.mechanism import Array
from deniable.plan import Plan
from deniable.reports import records_of
from deniable.shape import BLOCK, Encoder
from deniable.shapes import Direct, Unary
from deniable.share import Faked, Records, Share

Source = Plan | Share | Encoder
"""What reports come from: a plan, or the share or the mechanism itself."""
Priors = Sequence[Floats]
_Share = TypeVar("_Share")


@final
@dataclass(frozen=True, eq=False)
class Clue:
    """Reports of one attribute: whose they are, in ascending order, and the mechanism that made them."""

    attribute: int
    part: Encoder
    who: Integers
    reports: Array

    def blocks(self) -> Iterator[tuple[Integers, Floats]]:
        """Some people at a time, and how likely their reports are for each value."""
        step = max(1, BLOCK // self.part.k)
        for start in range(0, len(self.who), step):
            some = slice(start, start + step)
            yield self.who[some], likelihoods(self.part, self.reports[some])


def share_of(source: Source) -> Share | Encoder:
    """How a record becomes a report."""
    if isinstance(source, Plan):
        return source.share
    if not isinstance(source, Share | Encoder):
        raise InvalidParameter(f"attack a plan, a share or a mechanism that sends sets of values, got {type(source).__name__}")
    return source


def parts_of(source: Source) -> tuple[Encoder, ...]:
    """One mechanism per attribute."""
    share = share_of(source)
    return share.parts if isinstance(share, Share) else (share,)


def names_of(source: Source) -> tuple[str, ...]:
    """What the attributes are called."""
    return source.names if isinstance(source, Plan) else tuple(f"attribute {j}" for j in range(len(parts_of(source))))


def records_from(source: Source, reports: object) -> Records:
    """The reports of one collection, whatever they are kept in."""
    if isinstance(source, Plan):
        return _joined(list(records_of(reports, source.id)))  # type: ignore[arg-type]
    if isinstance(source, Encoder):
        array = np.asarray(reports)
        source.tally(array)  # refuses what cannot have been sent
        return Records(len(array), (array,))
    if not isinstance(reports, Records) or len(reports.columns) != len(parts_of(source)):
        raise InvalidReport(f"reports of a share are what it has made, share.privatize(table), got {type(reports).__name__}")
    return reports


def _joined(blocks: Sequence[Records]) -> Records:
    """Blocks of reports as one."""
    if not blocks:
        raise InvalidReport("there are no reports to attack")
    if len(blocks) == 1:
        return blocks[0]
    starts = np.cumsum([0, *(block.n for block in blocks)])
    columns = tuple(np.concatenate(parts) for parts in zip(*(block.columns for block in blocks), strict=True))
    if blocks[0].reporters is None:
        return Records(int(starts[-1]), columns)
    moved = [[who + start for who in block.reporters or ()] for block, start in zip(blocks, starts[:-1], strict=True)]
    return Records(int(starts[-1]), columns, tuple(np.concatenate(parts) for parts in zip(*moved, strict=True)))


def clues(source: Source, records: Records) -> list[Clue]:
    """What was reported of each attribute, by whom."""
    everyone = np.arange(records.n)
    reporters = records.reporters or (everyone,) * len(records.columns)
    rows = zip(parts_of(source), reporters, records.columns, strict=True)
    return [Clue(j, part, who, column) for j, (part, who, column) in enumerate(rows)]


def checked_priors(source: Source, prior: object) -> list[Floats]:
    """What the attacker believes of each attribute beforehand: shares by name, or in order; uniform unless given."""
    parts, names = parts_of(source), names_of(source)
    if prior is None:
        return [np.full(part.k, 1 / part.k) for part in parts]
    if isinstance(prior, dict):
        unknown = set(prior) - set(names)
        if unknown:
            raise InvalidParameter(f"{sorted(unknown)[0]!r} is not an attribute; they are {', '.join(names)}")
        given = [prior.get(name) for name in names]
    else:
        given = [prior] if len(parts) == 1 and np.ndim(prior) == 1 else list(prior)  # type: ignore[arg-type,call-overload]
    if len(given) != len(parts):
        raise InvalidParameter(f"there are {len(parts)} attributes, but {len(given)} priors")
    return [
        np.full(part.k, 1 / part.k) if one is None else checked_prior(one, part.k)
        for part, one in zip(parts, given, strict=True)
    ]


def likelihoods(part: Encoder, reports: Array) -> Floats:
    """How likely each report is for each value, up to a factor of its own; for a block."""
    if isinstance(part, BitFlip):
        return Supports(part.k, layers(part, reports)).table(slice(None))
    return np.where(part.support(reports), odds(part), 1.0)


def expected(part: Encoder, reports: Array, shares: Floats) -> Floats:
    """How likely each report is if the value is drawn from these shares, up to the same factor; no table is made."""
    if isinstance(part, Direct):
        return np.asarray(1.0 + (odds(part) - 1.0) * shares)[reports]
    return Supports(part.k, layers(part, reports)).forward(shares)


def faked(fake: Fake, reports: Array) -> Floats:
    """How likely each report is from the fake, up to the same factor."""
    law = fake.part.law
    if isinstance(fake, Guessed):
        return np.asarray(fake.prior.shares / law.q)[reports]
    if isinstance(fake, Imitated):
        return expected(fake.part, reports, fake.prior.shares)
    if not isinstance(fake, Blank) or not isinstance(fake.part, Unary):
        raise InvalidParameter(f"how likely a report is from {type(fake).__name__} is not known here")
    return np.full(len(reports), float((1 - law.exact_q) / (1 - law.exact_p)))


def realness(share: Faked, records: Records, shares: Priors) -> Floats:
    """How many times likelier each report is from people with these shares than from its fake: attributes by people."""
    return np.stack(
        [
            expected(fake.part, column, believed) / faked(fake, column)
            for fake, column, believed in zip(share.fakes, records.columns, shares, strict=True)
        ]
    )
