"""Computes what an attacker can expect: from one report, from several, and of whole profiles.

What several reports of one value say is how many of them support each value. For bits these counts are
independent, for single values they are multinomial, and both are summed exactly where all values are equally
likely. What has no such sum is simulated and says so: the mean of what a report adds to the posterior of a
blind guess, which is unbiased and never below it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial, singledispatch
from numbers import Real
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers, list_blocks
from deniable.attack.inputs import checked_priors, leave_text
from deniable.attack.likelihoods import (
    CELLS,
    Priors,
    Source,
    by_cell,
    by_value,
    hidden_in,
    make_pool,
    members_of,
    names_of,
    parts_of,
    values_of,
)
from deniable.attack.results import PROFILE, Asked, AttributeSuccess, Chance, ProfileSuccess, Success
from deniable.attack.values import MOST_COLLECTIONS, among_fakes
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.explain.guesses import list_related_guesses
from deniable.law import checked_prior
from deniable.law.law import binomial_law
from deniable.mechanisms import Direct, Hashed, Mechanism, SetMechanism, Unary
from deniable.metric import Averaged
from deniable.plan.attribute import list_related
from deniable.randomness.simulated import numbers_from, remembering, seeded
from deniable.records import Faked
from deniable.records.near import Near
from deniable.rounds import BitFlip, HashedMemoized, Memoized, MemoizedMean
from deniable.rounds.memoized import MemoizedBuckets
from deniable.study import Plan

COLLECTIONS = 5
MOST_REPORTS = 100
_SIMULATED, _FEWEST = 20_000, 1000
_MOST_WORK = 1 << 27  # people times values times reports


def success(plan: Source, prior: object = None, collections: int = COLLECTIONS, seed: int = 1) -> Success:
    """Computes how often the best guess is right: for each attribute from one report, and for whole profiles
    after several collections.

    The attacker knows the plan and believes `prior` (by attribute; uniform unless given), and is right to. Of
    a number it is guessed in which half of its range it is. Text and codes that nobody listed are left out,
    with a note: they are too many to guess among, and the loss bounds what is learned of them. Everything is
    summed exactly, but for what says that it is simulated, from the seed, or a bound.

    >>> import deniable as dn
    >>> found = success(dn.smp([74, 7, 16], epsilon=2.0, protocol="grr"), collections=3)
    >>> [round(one.reported, 4) for one in found.attributes]
    [0.0919, 0.5519, 0.33]
    >>> [round(one.all_reported, 4) for one in found.profiles if one.asked == "new"]  # a product
    [0.0167]
    """
    whole_number("collections", collections, 1, MOST_REPORTS)
    whole_number("seed", seed, 0)
    left_out: tuple[str, ...] = ()
    if isinstance(plan, Plan):
        plan, _, left_out = leave_text(plan)
    believed, parts = checked_priors(plan, prior), parts_of(plan)
    blind = [float(shares.max()) for shares in believed]
    pairs = list(zip(parts, believed, strict=True))
    asks_again = any(part.repeated for part in parts)  # then nothing is kept of an answer with fresh noise
    kept, fresh = (
        [
            chances_after(part, collections, memoized and part.repeated is asks_again, shares, seed)
            for part, shares in pairs
        ]
        for memoized in (True, False)
    )
    fresh = _bound_joined(plan, fresh)
    attributes = list(_attributes(plan, kept, fresh, believed, seed))
    alone: list[str] = []
    if isinstance(plan, Plan):
        related = list_related_guesses(plan.document) if prior is None else {}
        names = [name for group in list_related(plan.document.attributes) for name in group]
        names += [level.name for levels in plan.document.levels.values() for level in levels]
        alone = [name for name in names if name not in related]
        for j, attribute in enumerate(attributes):
            if attribute.name in related:
                guesses = related[attribute.name]
                attributes[j] = replace(attribute, together=guesses.guess, together_blind=guesses.blind)
    profiles = _profiles(_find_draws(plan), kept, fresh, seed)
    return Success(tuple(attributes), tuple(profiles), math.prod(blind), seed, tuple(alone), left_out)


def _bound_joined(source: Source, fresh: Sequence[tuple[Chance, ...]]) -> list[tuple[Chance, ...]]:
    """The chances after fresh reports, of near reports as bounds from the second one on: what they say of all
    attributes together tells more about each than its own reports do.
    """
    bounded = list(fresh)
    for member, first, _ in members_of(source):
        for j in range(first, first + member.d) if isinstance(member, Near) else ():
            blind, loss = fresh[j][0].value, member.loss()
            least = ((1 - blind) * math.exp(-reports * loss) for reports in range(2, len(fresh[j])))
            bounds = (Chance(blind / (blind + other), bound=True) for other in least)
            bounded[j] = (*fresh[j][:2], *bounds)
    return bounded


_Chances = Sequence[Sequence[Chance]]


@final
@dataclass(frozen=True)
class _Draw:
    """Attributes of which each report holds some that are real: always all of them, or some at random."""

    attributes: tuple[int, ...]
    reported: int
    kept: bool
    """Whether those that were drawn once are reported in all collections."""
    secret: bool
    """Whether a report does not say which they are."""
    chances: tuple[Fraction, ...]
    """How likely a report holds each of them, and that it is real."""
    joined: bool = False
    """Whether one draw decides the reports of all of them, so that guesses of them are not independent."""

    @property
    def scales(self) -> list[float]:
        """How much likelier each of them is than if all were drawn equally often."""
        return [float(chance * len(self.attributes) / self.reported) for chance in self.chances]

    @property
    def all(self) -> bool:
        """Whether nothing is drawn."""
        return self.reported == len(self.attributes)


def _find_draws(source: Source) -> list[_Draw]:
    """The attributes that all reports hold, if any, and those of each part that draws some of its own."""
    members = members_of(source)
    if not members:
        return [_Draw((0,), 1, False, False, (Fraction(1),))]
    always, sampled = list[int](), list[_Draw]()
    for member, first, _ in members:
        attributes = tuple(range(first, first + member.d))
        chances = tuple(map(member.chance_real, range(member.d)))
        reported = round(sum(chances))
        if isinstance(member, Near):
            sampled.append(_Draw(attributes, member.d, False, False, chances, joined=True))
            continue
        if reported == member.d:
            always += attributes
            continue
        kept = member.repeated
        sampled.append(_Draw(attributes, reported, kept, chances[0] < member.chance(0), chances))
    sure = (Fraction(1),) * len(always)
    return [*([_Draw(tuple(always), len(always), False, False, sure)] if always else []), *sampled]


def _attributes(
    plan: Source, kept: _Chances, fresh: _Chances, believed: Priors, seed: int
) -> Iterator[AttributeSuccess]:
    times = len(kept[0]) - 1
    draws = {j: draw for draw in _find_draws(plan) for j in draw.attributes}
    single, together = dict[int, Chance](), dict[int, Chance]()
    for hidden in hidden_in(plan):
        shares = [believed[j] for j in hidden.attributes]
        if any(float(np.ptp(prior)) >= 1e-12 for prior in shares):
            chances = _among_fakes(hidden.mechanism, shares, 1, seed)
            single |= zip(hidden.attributes, chances, strict=True)
        if times <= MOST_COLLECTIONS:
            chances = _among_fakes(hidden.mechanism, shares, times, seed)
            together |= zip(hidden.attributes, chances, strict=True)
    for j, (name, part) in enumerate(zip(names_of(plan), parts_of(plan), strict=True)):
        draw, blind, reported = draws[j], kept[j][0], kept[j][1]
        real = float(draw.chances[draw.attributes.index(j)])
        from_report = single[j] if j in single else _mix_chances((1 - real, real), kept[j])
        if draw.kept or draw.all:
            often: Sequence[float] = [1 - real, *[0.0] * (times - 1), real]
        else:
            often = [math.comb(times, m) * real**m * (1 - real) ** (times - m) for m in range(times + 1)]
        after = _mix_chances(often, kept[j])
        known = {"report": from_report, "reported": reported, "memoized": after}
        known |= {"reported_memoized": kept[j][times], "reported_averaged": fresh[j][times]}
        if not draw.secret:
            known["averaged"] = _mix_chances(often, fresh[j])
        else:
            known["memoized"] = replace(after, bound=True)
            if j in together:
                known["averaged"] = together[j]
        yield AttributeSuccess(
            name=name,
            k=values_of(part),
            blind=blind.value,
            report=from_report.value,
            reported=reported.value,
            memoized=after.value,
            averaged=known["averaged"].value if "averaged" in known else None,
            reported_memoized=kept[j][times].value,
            reported_averaged=fresh[j][times].value,
            stderr={figure: chance.stderr for figure, chance in known.items() if not chance.exact},
            bounds=tuple(figure for figure, chance in known.items() if chance.bound),
        )


def _mix_chances(often: Sequence[float], chances: Sequence[Chance]) -> Chance:
    """Weighs chances by how often each applies. Simulated ones share their people: their errors add up."""
    used = [(weight, chance) for weight, chance in zip(often, chances, strict=False) if weight > 0]
    return Chance(
        math.fsum(weight * chance.value for weight, chance in used),
        math.fsum(weight * chance.stderr for weight, chance in used),
        exact=all(chance.exact for _, chance in used),
        bound=any(chance.bound for _, chance in used),
    )


def _among_fakes(mechanism: Faked, believed: Priors, times: int, seed: int) -> list[Chance]:
    """Where the guess depends on all attributes' reports at once: simulated people, drawn from the prior.

    To the chance of a blind guess, which is exact, is added what the best guess's posterior has more than the
    blind one's.
    """
    draws = numbers_from(seed, "among fakes", times, *(shares.tobytes() for shares in believed))
    n = _SIMULATED if times == 1 else _SIMULATED // 5
    people = np.column_stack([draws.choice(shares.size, n, p=shares) for shares in believed])
    collections = [mechanism.privatize(people, seeded(int(draws.integers(1 << 62)))) for _ in range(times)]
    blind, gains = [int(np.argmax(shares)) for shares in believed], np.empty((len(believed), n))
    for j, who, table in among_fakes(mechanism, collections, believed):
        gains[j, who] = (table.max(axis=1) - table[:, blind[j]]) / table.sum(axis=1)
    rows = zip(believed, gains, strict=True)
    return [
        Chance(float(shares.max() + gain.mean()), float(gain.std(ddof=1) / math.sqrt(n)), exact=False)
        for shares, gain in rows
    ]


def _profiles(draws: Sequence[_Draw], kept: _Chances, fresh: _Chances, seed: int) -> Iterator[ProfileSuccess]:
    times, bound = len(kept[0]) - 1, any(draw.secret or draw.joined for draw in draws)
    only = draws[0]
    selection: Asked = "mixed"
    if all(draw.all for draw in draws):
        selection = "all"
    elif len(draws) == 1:
        selection = "kept" if only.kept else "any"
    alike = len(set(only.chances)) == 1  # by weights, no attribute is the next that was not asked
    if selection == "any" and alike and only.reported == 1 and times <= len(only.attributes):
        yield _with_errors(_new, kept, True, bound, "new")
    for memoized, right in ((True, kept), (False, fresh)):
        yield _with_errors(partial(_combine_draws, draws, seed), right, memoized, bound, selection)


Right = Sequence[Sequence[float]]
"""How often each attribute is guessed after 0, 1, ... reports of it."""
_Figures = dict[str, Chance]
"""The figures of a profile by name: these three, and for some ways to draw the published one."""


def _with_errors(
    how: Callable[[Right], _Figures], chances: _Chances, memoized: bool, bound: bool, selection: Asked
) -> ProfileSuccess:
    """A profile, and how far it moves if each simulated chance is off by its standard error."""
    right = [[chance.value for chance in attribute] for attribute in chances]
    figures = how(right)
    squares = {name: figure.stderr**2 for name, figure in figures.items() if not figure.exact}
    for j, attribute in enumerate(chances):
        if all(chance.exact for chance in attribute):
            continue
        moved = how([*right[:j], [chance.value + chance.stderr for chance in attribute], *right[j + 1 :]])
        for name in figures:
            squares[name] = squares.get(name, 0.0) + (moved[name].value - figures[name].value) ** 2
    values = {name: figure.value for name, figure in figures.items()}
    return ProfileSuccess(
        *(len(chances[0]) - 1, selection, memoized),
        *(values["all_reported"], values["whole_record"], values["right"]),
        published=values.get("published"),
        bound=bound or any(chance.bound for attribute in chances for chance in attribute),
        stderr={name: math.sqrt(square) for name, square in squares.items()},
    )


def _combine_draws(draws: Sequence[_Draw], seed: int, right: Right) -> _Figures:
    """Parts that draw for themselves are independent: what is guessed of all of them is a product."""
    parts = [_of_draw(draw, seed, [right[j] for j in draw.attributes]) for draw in draws]
    if len(parts) == 1:
        return parts[0]
    combined = dict[str, Chance]()
    for name in PROFILE:
        chances = [figures[name] for figures in parts]
        values = [chance.value for chance in chances]
        added = name == "right"
        weights = [1.0 if added else math.prod(values[:i] + values[i + 1 :]) for i in range(len(chances))]
        errors = [weight * chance.stderr for weight, chance in zip(weights, chances, strict=True)]
        value = math.fsum(values) if added else math.prod(values)
        combined[name] = Chance(value, math.hypot(*errors), exact=all(chance.exact for chance in chances))
    return combined


def _of_draw(draw: _Draw, seed: int, right: Right) -> _Figures:
    if draw.joined:  # all of them are guessed no more often than the one that is guessed least
        least = min(chances[-1] for chances in right)
        return _figures(least, least, math.fsum(chances[-1] for chances in right))
    if draw.all or draw.kept:
        return _same_again(draw, right)
    return _any(draw, right) if draw.reported == 1 else _draws_simulated(draw.reported, seed, right)


def _figures(
    all_reported: float, whole_record: float, right: float, published: float | None = None
) -> _Figures:
    summed = dict(zip(PROFILE, (Chance(all_reported), Chance(whole_record), Chance(right)), strict=True))
    return summed if published is None else {**summed, "published": Chance(published)}


def _new(right: Right) -> _Figures:
    """Computes a profile's figures where each collection asks for an attribute that was not asked before."""
    d, times = len(right), len(right[0]) - 1
    known = profile([(1.0, chances[1]) for chances in right], times, False)
    record = profile([(chances[0], chances[1]) for chances in right], times, False)
    return _figures(known, record, times / d * math.fsum(chances[1] for chances in right), known)


def _any(draw: _Draw, right: Right) -> _Figures:
    """Computes a profile's figures where each collection asks for any attribute."""
    d, times = len(right), len(right[0]) - 1
    known = [(1.0, *chances[1:]) for chances in right]
    expected = math.fsum(
        math.comb(times, m) * float(chance) ** m * float(1 - chance) ** (times - m) * chances[m]
        for chance, chances in zip(draw.chances, right, strict=True)
        for m in range(1, times + 1)
    )
    once = [(1.0, chances[1], *[0.0] * (times - 1)) for chances in right]
    published = profile(_scaled(draw, once), times, True) if times <= d else 0.0
    reported, record = (profile(_scaled(draw, rates), times, True) for rates in (known, right))
    return _figures(reported, record, expected, published)


def _same_again(draw: _Draw, right: Right) -> _Figures:
    """Computes a profile's figures where each collection asks for the same attributes."""
    known = profile(_scaled(draw, [(1.0, chances[-1]) for chances in right]), draw.reported, False)
    record = profile(_scaled(draw, [(chances[0], chances[-1]) for chances in right]), draw.reported, False)
    pairs = zip(draw.scales, right, strict=True)
    expected = math.fsum(scale * chances[-1] for scale, chances in pairs)
    return _figures(known, record, draw.reported / len(right) * expected)


def _scaled(draw: _Draw, right: Right) -> Right:
    """Chances after m reports times a scale to the power m: `profile` itself draws all equally often."""
    pairs = zip(draw.scales, right, strict=True)
    return [[scale**m * chance for m, chance in enumerate(chances)] for scale, chances in pairs]


def _draws_simulated(reported: int, seed: int, right: Right) -> _Figures:
    """Several attributes each time: the draws are simulated, what each of them tells is not."""
    d, times = len(right), len(right[0]) - 1
    draws = numbers_from(seed, "profiles", d, times, reported)
    counts = np.zeros((_SIMULATED, d), dtype=np.int64)
    for _ in range(times):
        chosen = np.argsort(draws.random((_SIMULATED, d)), axis=1)[:, :reported]
        np.put_along_axis(counts, chosen, np.take_along_axis(counts, chosen, axis=1) + 1, axis=1)
    chances = np.take_along_axis(np.array(right).T, counts, axis=0)
    seen = (
        np.where(counts > 0, chances, 1.0).prod(axis=1),
        chances.prod(axis=1),
        np.where(counts > 0, chances, 0.0).sum(axis=1),
    )
    errors = [float(sample.std(ddof=1) / math.sqrt(_SIMULATED)) for sample in seen]
    rows = zip(PROFILE, seen, errors, strict=True)
    return {name: Chance(float(sample.mean()), error, exact=False) for name, sample, error in rows}


def profile(right: Sequence[Sequence[float] | float], collections: int, replacement: bool) -> float:
    """Computes the expected product over the attributes of right[j][m], m being how often attribute j was
    among the collections.

    Each collection asks for one attribute at random: any, or one that was not asked before. Elementary
    symmetric polynomials are the case of right[j] = (1, a_j, 0, ...), for which the numbers a_j do where no
    attribute is asked for again.

    >>> round(profile([(1, 0.5), (1, 0.2), (1, 0.1)], collections=2, replacement=False), 4)  # 0.17 / 3
    0.0567
    >>> round(profile([0.5, 0.2, 0.1], collections=2, replacement=False), 4)
    0.0567
    """
    times = whole_number("collections", collections, 0, MOST_REPORTS)
    what = (
        "right[j] is a list for attribute j: how often it is guessed after 0, 1, ... reports, such as (1, "
        "0.5, 0.5)"
    )
    lists = _lists(right, what, singly=not replacement)
    d = len(lists)
    if not replacement and times > d:
        raise InvalidParameter(
            f"there are {d} attributes, so that {times} collections ask for some of them again"
        )
    series = np.zeros(times + 1)
    series[0] = 1.0
    for chances in lists:
        factor = np.zeros(times + 1)
        many = min(len(chances), times + 1) if replacement else min(len(chances), 2, times + 1)
        factor[:many] = chances[:many]
        # as binomial convolutions, so that no factorial overflows
        series = _multiply_series(series, factor) if replacement else np.convolve(series, factor)[: times + 1]
    return float(series[times] / d**times if replacement else series[times] / math.comb(d, times))


def _lists(argument: object, what: str, singly: bool = False) -> list[list[float]]:
    """Lists of numbers; a number can stand for itself after one report if they are given `singly`."""
    if isinstance(argument, str) or not isinstance(argument, Iterable):
        raise InvalidParameter(f"{what}, in a list of them all, got {argument!r}")
    lists = [
        _numbers((1.0, entry) if singly and isinstance(entry, Real) else entry, what) for entry in argument
    ]
    if not lists:
        raise InvalidParameter(f"{what}, got none")
    return lists


def _numbers(argument: object, what: str) -> list[float]:
    numbers = list(argument) if isinstance(argument, Iterable) and not isinstance(argument, str) else []
    if not numbers or not all(isinstance(value, Real) for value in numbers):
        raise InvalidParameter(f"{what}, got {argument!r}")
    return [float(value) for value in numbers]


def _multiply_series(series: Floats, other: Floats) -> Floats:
    """Coefficients of a product of exponential generating functions."""

    def coefficient(n: int) -> float:
        indices = (i for i in range(n + 1) if series[i] and other[n - i])
        return float(sum(math.comb(n, i) * series[i] * other[n - i] for i in indices))

    return np.array(list(map(coefficient, range(series.size))))


def success_after(part: Mechanism, reports: int, memoized: bool = True, seed: int = 1) -> float:
    """Computes how often the best guess from several reports of one unchanged value is right, if all values
    are equally likely.

    A client that memoizes sends its old report again, or, with a mechanism for repeated collections, fresh
    noise on an answer that it keeps. With memoized=False all is drawn again each time, and averages away.
    What has to be simulated is drawn from the seed.

    >>> import deniable as dn
    >>> [round(success_after(dn.grr(4, 1.0), reports, memoized=False), 3) for reports in (0, 1, 5, 50)]
    [0.25, 0.475, 0.635, 0.992]
    """
    if not isinstance(part, Mechanism):
        raise InvalidParameter(
            f"this is of one mechanism, such as dn.grr(4, 1.0), got {type(part).__name__}; success takes "
            "plans"
        )
    whole_number("reports", reports, 0, MOST_REPORTS)
    whole_number("seed", seed, 0)
    return chances_after(part, reports, memoized, None, seed)[reports].value


def chances_after(
    part: Mechanism, reports: int, memoized: bool, prior: npt.ArrayLike | None = None, seed: int = 1
) -> tuple[Chance, ...]:
    """Computes how often the best guess is right after 0, 1, ... up to `reports` reports."""
    shares = None
    if prior is not None:
        believed = checked_prior(prior, values_of(part))
        if float(np.ptp(believed)) > 1e-12:  # one that is uniform is as good as none
            shares = tuple(believed.tolist())
    return _chances_after(part, reports, memoized, shares, seed)


_Shares = tuple[float, ...]


@lru_cache(maxsize=1 << 10)
def _chances_after(
    part: Mechanism, reports: int, memoized: bool, prior: _Shares | None, seed: int
) -> tuple[Chance, ...]:
    blind = 1 / values_of(part) if prior is None else max(prior)
    if reports == 0:
        return (Chance(blind),)
    once = _once(part, prior, blind, seed)
    if reports == 1 or (memoized and not isinstance(part, _KEPT)):
        return (Chance(blind), *[once] * reports)
    sums = [_sum_reports(part, m, memoized) for m in range(2, reports + 1)] if prior is None else [None]
    if None not in sums:
        return (Chance(blind), once, *(Chance(chance) for chance in sums if chance is not None))
    return (Chance(blind), once, *_simulate_chances(part, reports, memoized, prior, seed)[1:])


def _once(part: Mechanism, prior: _Shares | None, blind: float, seed: int) -> Chance:
    """One report. Hashes are summed only where all values are equally likely, a few bits of
    all not at all.
    """
    if (prior is not None and isinstance(part, _WITHOUT_PRIOR)) or _reports_some_bits(part):
        return _simulate_chances(part, 1, True, prior, seed)[0]
    if prior is not None and isinstance(part, Averaged | MemoizedMean):
        return Chance(float((part.law.table(2) * np.array(prior)[:, None]).max(axis=0).sum()))
    return Chance(max(blind, part.success(prior)))


_KEPT = (Memoized, MemoizedBuckets, MemoizedMean)
"""Mechanisms with fresh noise on what is kept."""
_WITHOUT_PRIOR = (Hashed, HashedMemoized)
"""Mechanisms whose exact chance is known only where all values are equally likely."""


def _reports_some_bits(part: Mechanism) -> bool:
    return isinstance(part, BitFlip) and part.bits < part.k


@singledispatch
def _sum_reports(part: Mechanism, reports: int, memoized: bool) -> float | None:  # noqa: ARG001
    """The exact chance after several reports, all values being equally likely; None where it has no sum."""
    return None


@_sum_reports.register(Direct)
@_sum_reports.register(Unary)
@_sum_reports.register(BitFlip)
def _sum_fresh_reports(part: SetMechanism, reports: int, memoized: bool) -> float | None:  # noqa: ARG001
    """Independent reports of one value; a few bits of all have no sum."""
    if _reports_some_bits(part):
        return None
    law = part.law
    if part.names_value:
        return _plurality(part.k, law.p, law.q, reports)
    return _most_supported(binomial_law(reports, law.p), binomial_law(reports, law.q), part.k)


@_sum_reports.register
def _sum_kept_reports(part: Memoized, reports: int, memoized: bool) -> float | None:
    """Fresh rounds on a kept answer reveal that answer, and no more."""
    if not memoized:
        return _sum_fresh_reports(part, reports, memoized)
    if part.names_value:
        return _find_kept_value(part, reports)
    first, second = part.first.law, part.second.law
    ones, zeros = binomial_law(reports, second.p), binomial_law(reports, second.q)
    return _most_supported(
        first.p * ones + (1 - first.p) * zeros, first.q * ones + (1 - first.q) * zeros, part.k
    )


@_sum_reports.register
def _sum_hashed_reports(part: MemoizedBuckets, reports: int, memoized: bool) -> float | None:
    """Reports of a kept bucket rank all buckets, and the best guess is the first of them that holds a value.

    With two buckets that is known where the first one holds none. With more it depends on how many are
    empty, of which only the mean is known.
    """
    if not memoized or part.g != 2:
        return None
    right, full = _find_kept_value(part.buckets, reports), part.occupied
    return (full * right + (2 - full) * (1 - right)) / part.k


@_sum_reports.register
def _sum_reports_of_numbers(part: MemoizedMean, reports: int, memoized: bool) -> float | None:
    """The kept bit of a number is right about its half three times in four, numbers being spread evenly."""
    if not memoized:
        return None
    right = _find_kept_value(part.bit, reports)
    return 0.25 + right / 2


def _find_kept_value(part: Memoized, reports: int) -> float:
    """How often the value that most reports name is the true one, where a value is kept and named again."""
    kept, majority = part.first.law.p, _plurality(part.k, part.second.law.p, part.second.law.q, reports)
    return kept * majority + (1 - kept) * (1 - majority) / (part.k - 1)


def _simulate_chances(
    part: Mechanism, reports: int, memoized: bool, prior: _Shares | None, seed: int
) -> list[Chance]:
    """Simulates chances after 1, 2, ... reports: a blind guess exactly, and the mean gain."""
    draws = numbers_from(seed, "reports of one value", repr(part), memoized, prior)
    shares = np.full(values_of(part), 1 / values_of(part)) if prior is None else np.array(prior)
    cells, blind = by_cell(part, shares), int(np.argmax(shares))
    people = min(_SIMULATED, max(_FEWEST, _MOST_WORK // (cells.size * reports)))
    gains = np.empty((reports, people))
    for block in list_blocks(people, (1 << 21) // cells.size):
        values = _values(part, draws.choice(cells.size, block.stop - block.start, p=cells), draws)
        together, kept = make_pool(part, values.size, memoized), int(draws.integers(1 << 62))
        for m in range(reports):
            memory = kept if memoized else int(draws.integers(1 << 62))
            sent = part.privatize(values, remembering(memory, seeded(int(draws.integers(1 << 62)))))
            together.add(np.arange(values.size), sent)
            table = by_value(part, together.table() * cells)
            gains[m, block] = (table.max(axis=1) - table[:, blind]) / table.sum(axis=1)
    errors = gains.std(axis=1, ddof=1) / math.sqrt(people)
    pairs = zip(gains.mean(axis=1).tolist(), errors.tolist(), strict=True)
    return [Chance(float(shares[blind]) + gain, error, exact=False) for gain, error in pairs]


def _values(part: Mechanism, cells: Integers, draws: np.random.Generator) -> Integers:
    """Values in these cells."""
    if not part.numeric:
        return cells
    size = (part.k - 1) // CELLS
    return np.asarray(cells * size + draws.integers(0, size, cells.size))


def _most_supported(true: Floats, other: Floats, k: int) -> float:
    """Pr(the true value's count is the largest of k independent ones), ties drawn: sum over c of Pr(true = c)
    times (F(c)^k - F(c - 1)^k) / (k Pr(other = c)), written so that nothing cancels.
    """
    below = np.minimum(np.cumsum(other), 1.0)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        part = np.minimum(other / below, 1.0)
        tied = np.where(part > 0, -np.expm1(k * np.log1p(-part)) / (k * part), 1.0)
        terms = true * below ** (k - 1) * tied
    return float(np.nansum(np.where(below > 0, terms, 0.0)))


def _plurality(k: int, p: float, q: float, reports: int) -> float:
    """Pr(the true value is named most often in some single values), ties drawn.

    Named a Poisson number of times each, the values are independent; the coefficient of all reports together
    undoes that.
    """
    n, total = reports, 0.0
    true, other = _poisson(n * p, n), _poisson(n * q, n)
    for c in range(1, n + 1):
        fewer = np.where(np.arange(n - c + 1) < c, other[: n - c + 1], 0.0)  # another value, named less often
        for ties in range(min(k - 1, (n - c) // c) + 1):
            left = n - c - ties * c
            rest = _power(fewer[: left + 1], k - 1 - ties)[left]
            total += true[c] * math.comb(k - 1, ties) * other[c] ** ties * rest / (ties + 1)
    return float(total / _poisson(n, n)[n])


def _poisson(mean: float, most: int) -> Floats:
    counts = np.arange(most + 1)
    logs = np.array([math.lgamma(count + 1) for count in counts])
    return np.asarray(np.exp(counts * math.log(mean) - mean - logs))


def _power(series: Floats, exponent: int) -> Floats:
    """A power of a series, cut off where the series is."""
    size, result, base = series.size, np.zeros(series.size), series.copy()
    result[0] = 1.0
    while exponent:
        if exponent & 1:
            result = np.convolve(result, base)[:size]
        exponent >>= 1
        if exponent:
            base = np.convolve(base, base)[:size]
    return result
