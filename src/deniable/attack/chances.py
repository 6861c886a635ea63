"""What an attacker of a plan can expect, exactly: from one report, and of whole profiles after several collections."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from deniable.attack.evidence import Priors, Source, checked_priors, names_of, parts_of, share_of
from deniable.attack.guessing import averaged
from deniable.attack.mixed import MOST_COLLECTIONS
from deniable.attack.profiles import MOST_REPORTS, profile, success_after
from deniable.exact import whole_number
from deniable.population import numbers_from
from deniable.repeat import Repeated
from deniable.shape import Encoder
from deniable.share import Faked, Sample, Share
from deniable.simulated import seeded

COLLECTIONS = 5
_SIMULATED = 20_000

Drawn = Literal["new", "any", "kept", "all"]
"""Which attributes are asked for: always one that was not asked before; any at random; the first one again; all of them."""


@final
@dataclass(frozen=True)
class AttributeSuccess:
    """How often the best guess of one answer is right."""

    name: str
    k: int
    blind: float
    """Without any report."""
    report: float
    """From one whole report, in which the answer may not be."""
    reported: float
    """From one report that is known to hold the answer."""
    memoized: float
    """From all the collections, where an answer that is asked again is sent as before, or as the mechanism keeps it."""
    averaged: float | None
    """The same where noise, and among fakes the attribute, is drawn anew each time; None where it is not known (with a prior;
    among fakes, after more than 8 collections)."""
    simulated: bool = False
    """Whether `report` is the average posterior of simulated people instead of an exact sum; among fakes `averaged` is."""


@final
@dataclass(frozen=True)
class ProfileSuccess:
    """What several collections of one person tell together."""

    collections: int
    drawn: Drawn
    memoized: bool
    """Whether a repeated answer is sent as before; otherwise with fresh noise, which can be averaged away."""
    all_reported: float
    """How often all attributes that were reported are guessed."""
    whole_record: float
    """How often all attributes are, those that were not reported by blind guesses."""
    right: float
    """How many of the reported attributes are guessed, on average."""
    published: float | None = None
    """How often all collections ask for different attributes and all are guessed (the papers' figure)."""
    bound: bool = False
    """Whether this is an upper bound: of an attacker who is told which attribute of each report is real."""
    simulated: bool = False
    """Whether the draws of attributes are simulated."""


@final
@dataclass(frozen=True)
class Success:
    """How often an attacker who sees reports of one person is right."""

    attributes: tuple[AttributeSuccess, ...]
    profiles: tuple[ProfileSuccess, ...]
    blind_record: float
    """How often a whole record is guessed without any report."""

    @property
    def worst(self) -> AttributeSuccess:
        """The attribute whose best guess gains most over a blind one."""
        return max(self.attributes, key=lambda one: (one.reported - one.blind) / (1 - one.blind) if one.blind < 1 else 0.0)


def success(plan: Source, prior: object = None, collections: int = COLLECTIONS) -> Success:
    """How often the best guess is right: of each attribute from one report, and of whole profiles after some collections.

    The attacker knows the plan and believes `prior` (by attribute; uniform unless given), and is right to. Everything is
    summed exactly, but for what says that it is simulated.

    >>> import deniable as dn
    >>> found = success(dn.smp([74, 7, 16], epsilon=2.0, protocol="grr"), collections=3)
    >>> [round(one.reported, 4) for one in found.attributes]
    [0.0919, 0.5519, 0.33]
    >>> [round(one.all_reported, 4) for one in found.profiles if one.drawn == "new"]  # the product of the three
    [0.0167]
    """
    whole_number("collections", collections, 1, MOST_REPORTS)
    believed, parts = checked_priors(plan, prior), parts_of(plan)
    blind = [float(shares.max()) for shares in believed]
    reported = [part.success(None if prior is None else shares) for part, shares in zip(parts, believed, strict=True)]
    kept = [_times(part, b, a, collections, prior is None) for part, b, a in zip(parts, blind, reported, strict=True)]
    fresh = None
    if prior is None:  # with a prior, the success of several reports has no closed form here
        fresh = [
            (b, *(success_after(part, m + 1, False) for m in range(collections))) for part, b in zip(parts, blind, strict=True)
        ]
    attributes = _attributes(plan, reported, kept, fresh, None if prior is None else believed)
    return Success(tuple(attributes), tuple(_profiles(share_of(plan), kept, fresh)), math.prod(blind))


def _times(part: Encoder, blind: float, one: float, collections: int, uniform: bool) -> Sequence[float]:
    """How often a guess is right after 0, 1, ... reports that are kept; with a prior, where one is worth as much as many."""
    if uniform and isinstance(part, Repeated):
        return (blind, *(success_after(part, m + 1) for m in range(collections)))
    return (blind, *[one] * collections)


def _attributes(
    plan: Source,
    reported: Sequence[float],
    kept: Sequence[Sequence[float]],
    fresh: Sequence[Sequence[float]] | None,
    prior: Priors | None,
) -> Iterator[AttributeSuccess]:
    share = share_of(plan)
    simulated = _among_fakes(share, prior, 1) if isinstance(share, Faked) and prior is not None else None
    real = 1 / share.d if isinstance(share, Faked) else share.drawn / share.d if isinstance(share, Sample) else 1.0
    times = len(kept[0]) - 1
    together = None
    if isinstance(share, Faked) and times <= MOST_COLLECTIONS:
        together = _among_fakes(share, prior or [np.full(part.k, 1 / part.k) for part in share.parts], times)
    for j, (name, part) in enumerate(zip(names_of(plan), parts_of(plan), strict=True)):
        blind = kept[j][0]
        whole = real * reported[j] + (1 - real) * blind if simulated is None else max(blind, simulated[j])
        if isinstance(part, Repeated):  # the attribute is drawn once, and kept
            often = [1 - real, *[0.0] * (times - 1), real]
        else:
            often = [math.comb(times, m) * real**m * (1 - real) ** (times - m) for m in range(times + 1)]
        after = math.fsum(chance * right for chance, right in zip(often, kept[j], strict=True))
        again = None if fresh is None else math.fsum(a * b for a, b in zip(often, fresh[j], strict=True))
        if isinstance(share, Faked):
            again = None if together is None else max(whole, together[j])
        yield AttributeSuccess(name, part.k, blind, whole, reported[j], after, again, simulated is not None)


def _among_fakes(share: Faked, believed: Priors, times: int) -> list[float]:
    """Where the guess depends on all attributes' reports at once: the average posterior of people drawn from the prior."""
    draws = numbers_from(1, "among fakes", times, *(shares.tobytes() for shares in believed))
    n = _SIMULATED if times == 1 else _SIMULATED // 5
    people = np.column_stack([draws.choice(shares.size, n, p=shares) for shares in believed])
    collections = [share.privatize(people, seeded(int(draws.integers(1 << 62)))) for _ in range(times)]
    return list(averaged(share, collections, list(believed)).expected.values())


def _profiles(
    share: Share | Encoder, kept: Sequence[Sequence[float]], fresh: Sequence[Sequence[float]] | None
) -> Iterator[ProfileSuccess]:
    d, times = len(kept), len(kept[0]) - 1
    parts = share.parts if isinstance(share, Share) else (share,)
    repeated, bound = isinstance(parts[0], Repeated), isinstance(share, Faked)
    drawn = share.drawn if isinstance(share, Sample) else 1 if bound else d
    one = [right[1] for right in kept]
    if drawn == 1 < d and times <= d and not repeated:
        known = profile([(1.0, a) for a in one], times, False)
        whole = profile([(right[0], right[1]) for right in kept], times, False)
        yield ProfileSuccess(times, "new", True, known, whole, times / d * math.fsum(one), known, bound)
    for memoized, right in ((True, kept), (False, fresh)):
        if right is None:
            continue
        if drawn == d or repeated:
            yield _same_again(right, drawn, memoized)
        elif drawn > 1:
            yield _simulated(right, drawn, memoized)
        else:
            yield _any(right, one, memoized, bound)


def _any(right: Sequence[Sequence[float]], one: Sequence[float], memoized: bool, bound: bool) -> ProfileSuccess:
    """Any attribute each time."""
    d, times = len(right), len(right[0]) - 1
    known = [(1.0, *chances[1:]) for chances in right]
    often = [math.comb(times, m) * (1 / d) ** m * (1 - 1 / d) ** (times - m) for m in range(times + 1)]
    expected = math.fsum(often[m] * chances[m] for chances in right for m in range(1, times + 1))
    published = profile([(1.0, a, *[0.0] * (times - 1)) for a in one], times, True) if times <= d else 0.0
    return ProfileSuccess(
        times, "any", memoized, profile(known, times, True), profile(right, times, True), expected, published, bound
    )


def _same_again(right: Sequence[Sequence[float]], drawn: int, memoized: bool) -> ProfileSuccess:
    """The same attributes each time: all of them, or those that were drawn once."""
    d, times = len(right), len(right[0]) - 1
    known = profile([(1.0, chances[-1]) for chances in right], drawn, False)
    whole = profile([(chances[0], chances[-1]) for chances in right], drawn, False)
    expected = drawn / d * math.fsum(chances[-1] for chances in right)
    return ProfileSuccess(times, "all" if drawn == d else "kept", memoized, known, whole, expected)


def _simulated(right: Sequence[Sequence[float]], drawn: int, memoized: bool) -> ProfileSuccess:
    """Several attributes each time: the draws are simulated, what each of them tells is exact."""
    d, times = len(right), len(right[0]) - 1
    draws = numbers_from(1, "profiles", d, times, drawn)
    counts = np.zeros((_SIMULATED, d), dtype=np.int64)
    for _ in range(times):
        chosen = np.argsort(draws.random((_SIMULATED, d)), axis=1)[:, :drawn]
        np.put_along_axis(counts, chosen, np.take_along_axis(counts, chosen, axis=1) + 1, axis=1)
    table = np.array(right)
    chances = np.take_along_axis(table.T, counts, axis=0)
    known = np.where(counts > 0, chances, 1.0).prod(axis=1).mean()
    return ProfileSuccess(
        *(times, "any", memoized, float(known), float(chances.prod(axis=1).mean())),
        right=float(np.where(counts > 0, chances, 0.0).sum(axis=1).mean()),
        simulated=True,
    )
