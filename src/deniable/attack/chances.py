"""What an attacker of a plan can expect: from one report, and of whole profiles after several collections.

Every figure is summed exactly, unless it is named in `stderr`, which has the error of its simulation, or in `bounds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, final

import numpy as np

from deniable.attack.evidence import Chance, Priors, Source, checked_priors, names_of, parts_of, share_of, values_of
from deniable.attack.mixed import MOST_COLLECTIONS, among_fakes
from deniable.attack.profiles import MOST_REPORTS, chances_after, profile
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
    """The same where noise, and among fakes the attribute, is drawn anew each time; None where it is not known (among fakes,
    after more than 8 collections)."""
    stderr: Mapping[str, float] = field(default_factory=dict)
    """The standard errors of those of these figures that are simulated; the others are exact."""
    bounds: tuple[str, ...] = ()
    """Those of these figures that are upper bounds."""

    @property
    def simulated(self) -> bool:
        """Whether any of it is."""
        return bool(self.stderr)


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
    """Whether this is an upper bound: among fakes, of who is told which attribute is real; or made of bounds."""
    stderr: Mapping[str, float] = field(default_factory=dict)
    """The standard errors of those of these figures that are simulated, or made of simulated ones; the others are exact."""

    @property
    def simulated(self) -> bool:
        """Whether any of it is."""
        return bool(self.stderr)


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

    The attacker knows the plan and believes `prior` (by attribute; uniform unless given), and is right to. Of a number it is
    guessed in which half of its range it is. Everything is summed exactly, but for what says that it is simulated or a bound.

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
    kept, fresh = (
        [chances_after(part, collections, memoized, shares) for part, shares in zip(parts, believed, strict=True)]
        for memoized in (True, False)
    )
    attributes = _attributes(plan, kept, fresh, believed)
    return Success(tuple(attributes), tuple(_profiles(share_of(plan), kept, fresh)), math.prod(blind))


_Chances = Sequence[Sequence[Chance]]


def _attributes(plan: Source, kept: _Chances, fresh: _Chances, believed: Priors) -> Iterator[AttributeSuccess]:
    share, times = share_of(plan), len(kept[0]) - 1
    real = 1 / share.d if isinstance(share, Faked) else share.drawn / share.d if isinstance(share, Sample) else 1.0
    single = together = None
    if isinstance(share, Faked):
        uniform = all(float(np.ptp(shares)) < 1e-12 for shares in believed)
        single = None if uniform else _among_fakes(share, believed, 1)
        together = _among_fakes(share, believed, times) if times <= MOST_COLLECTIONS else None
    for j, (name, part) in enumerate(zip(names_of(plan), parts_of(plan), strict=True)):
        blind, reported = kept[j][0], kept[j][1]
        whole = _mixed((1 - real, real), kept[j]) if single is None else single[j]
        if isinstance(part, Repeated):  # the attribute is drawn once, and kept
            often: Sequence[float] = [1 - real, *[0.0] * (times - 1), real]
        else:
            often = [math.comb(times, m) * real**m * (1 - real) ** (times - m) for m in range(times + 1)]
        after: Chance | None = _mixed(often, kept[j])
        again: Chance | None = _mixed(often, fresh[j])
        if isinstance(share, Faked):
            after = replace(_mixed(often, kept[j]), bound=True)
            again = None if together is None else together[j]
        figures = {"report": whole, "reported": reported, "memoized": after, "averaged": again}
        known = {figure: chance for figure, chance in figures.items() if chance is not None}
        yield AttributeSuccess(
            *(name, values_of(part), blind.value, whole.value, reported.value, known["memoized"].value),
            averaged=None if again is None else again.value,
            stderr={figure: chance.stderr for figure, chance in known.items() if not chance.exact},
            bounds=tuple(figure for figure, chance in known.items() if chance.bound),
        )


def _mixed(often: Sequence[float], chances: Sequence[Chance]) -> Chance:
    """One of some chances, each so often. Simulated ones are of the same people, so that their errors add up."""
    used = [(weight, chance) for weight, chance in zip(often, chances, strict=False) if weight > 0]
    return Chance(
        math.fsum(weight * chance.value for weight, chance in used),
        math.fsum(weight * chance.stderr for weight, chance in used),
        exact=all(chance.exact for _, chance in used),
        bound=any(chance.bound for _, chance in used),
    )


def _among_fakes(share: Faked, believed: Priors, times: int) -> list[Chance]:
    """Where the guess depends on all attributes' reports at once: simulated people, drawn from the prior.

    To the chance of a blind guess, which is exact, is added what the best guess's posterior has more than the blind one's.
    """
    draws = numbers_from(1, "among fakes", times, *(shares.tobytes() for shares in believed))
    n = _SIMULATED if times == 1 else _SIMULATED // 5
    people = np.column_stack([draws.choice(shares.size, n, p=shares) for shares in believed])
    collections = [share.privatize(people, seeded(int(draws.integers(1 << 62)))) for _ in range(times)]
    blind, gains = [int(np.argmax(shares)) for shares in believed], np.empty((len(believed), n))
    for j, who, table in among_fakes(share, collections, believed):
        gains[j, who] = (table.max(axis=1) - table[:, blind[j]]) / table.sum(axis=1)
    rows = zip(believed, gains, strict=True)
    return [
        Chance(float(shares.max() + gain.mean()), float(gain.std(ddof=1) / math.sqrt(n)), exact=False) for shares, gain in rows
    ]


def _profiles(share: Share | Encoder, kept: _Chances, fresh: _Chances) -> Iterator[ProfileSuccess]:
    d, times = len(kept), len(kept[0]) - 1
    parts = share.parts if isinstance(share, Share) else (share,)
    repeated, bound = isinstance(parts[0], Repeated), isinstance(share, Faked)
    drawn = share.drawn if isinstance(share, Sample) else 1 if bound else d
    if drawn == 1 < d and times <= d and not repeated:
        yield _with_errors(_new, kept, True, bound, "new")
    for memoized, right in ((True, kept), (False, fresh)):
        if drawn == d or repeated:
            yield _with_errors(partial(_same_again, drawn), right, memoized, bound, "all" if drawn == d else "kept")
        elif drawn > 1:
            yield _with_errors(partial(_draws_simulated, drawn), right, memoized, bound, "any")
        else:
            yield _with_errors(_any, right, memoized, bound, "any")


Right = Sequence[Sequence[float]]
"""How often each attribute is guessed after 0, 1, ... reports of it."""


@final
@dataclass(frozen=True)
class _Profile:
    all_reported: float
    whole_record: float
    right: float
    published: float | None = None
    stderr: Mapping[str, float] = field(default_factory=dict)
    """Of draws that are simulated."""


def _with_errors(
    how: Callable[[Right], _Profile], chances: _Chances, memoized: bool, bound: bool, drawn: Drawn
) -> ProfileSuccess:
    """A profile, and how far it moves if each simulated chance is off by its standard error."""
    right = [[chance.value for chance in one] for one in chances]
    found, squares = how(right), dict[str, float]()
    names = ("all_reported", "whole_record", "right")
    for name, error in found.stderr.items():
        squares[name] = error**2
    for j, one in enumerate(chances):
        if all(chance.exact for chance in one):
            continue
        moved = how([*right[:j], [chance.value + chance.stderr for chance in one], *right[j + 1 :]])
        for name in names:
            squares[name] = squares.get(name, 0.0) + (getattr(moved, name) - getattr(found, name)) ** 2
    return ProfileSuccess(
        *(len(chances[0]) - 1, drawn, memoized, found.all_reported, found.whole_record, found.right, found.published),
        bound=bound or any(chance.bound for one in chances for chance in one),
        stderr={name: math.sqrt(square) for name, square in squares.items()},
    )


def _new(right: Right) -> _Profile:
    """One that was not asked before, each time."""
    d, times = len(right), len(right[0]) - 1
    known = profile([(1.0, chances[1]) for chances in right], times, False)
    whole = profile([(chances[0], chances[1]) for chances in right], times, False)
    return _Profile(known, whole, times / d * math.fsum(chances[1] for chances in right), known)


def _any(right: Right) -> _Profile:
    """Any attribute each time."""
    d, times = len(right), len(right[0]) - 1
    known = [(1.0, *chances[1:]) for chances in right]
    often = [math.comb(times, m) * (1 / d) ** m * (1 - 1 / d) ** (times - m) for m in range(times + 1)]
    expected = math.fsum(often[m] * chances[m] for chances in right for m in range(1, times + 1))
    published = profile([(1.0, chances[1], *[0.0] * (times - 1)) for chances in right], times, True) if times <= d else 0.0
    return _Profile(profile(known, times, True), profile(right, times, True), expected, published)


def _same_again(drawn: int, right: Right) -> _Profile:
    """The same attributes each time: all of them, or those that were drawn once."""
    known = profile([(1.0, chances[-1]) for chances in right], drawn, False)
    whole = profile([(chances[0], chances[-1]) for chances in right], drawn, False)
    return _Profile(known, whole, drawn / len(right) * math.fsum(chances[-1] for chances in right))


def _draws_simulated(drawn: int, right: Right) -> _Profile:
    """Several attributes each time: the draws are simulated, what each of them tells is not."""
    d, times = len(right), len(right[0]) - 1
    draws = numbers_from(1, "profiles", d, times, drawn)
    counts = np.zeros((_SIMULATED, d), dtype=np.int64)
    for _ in range(times):
        chosen = np.argsort(draws.random((_SIMULATED, d)), axis=1)[:, :drawn]
        np.put_along_axis(counts, chosen, np.take_along_axis(counts, chosen, axis=1) + 1, axis=1)
    chances = np.take_along_axis(np.array(right).T, counts, axis=0)
    seen = {
        "all_reported": np.where(counts > 0, chances, 1.0).prod(axis=1),
        "whole_record": chances.prod(axis=1),
        "right": np.where(counts > 0, chances, 0.0).sum(axis=1),
    }
    errors = {name: float(one.std(ddof=1) / math.sqrt(_SIMULATED)) for name, one in seen.items()}
    mean = {name: float(one.mean()) for name, one in seen.items()}
    return _Profile(mean["all_reported"], mean["whole_record"], mean["right"], stderr=errors)
