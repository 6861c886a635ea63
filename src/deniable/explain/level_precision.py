"""Says how well questions that are reported in levels will be known, before anybody has answered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.choose import HALF_WIDTH, Considered, Reading
from deniable.choose.objective import COMMON, FOUND
from deniable.domain import Coarse, Range
from deniable.domain.groups import list_groups
from deniable.estimate import Estimate
from deniable.explain.text_questions import find_unlisted
from deniable.formatting import format_count, format_percent, round_digits, shorten_names
from deniable.law import Law
from deniable.mechanisms import ExactMechanism
from deniable.plan.attribute import Attribute, list_levels
from deniable.plan.levels import find_divisor, find_tree
from deniable.ranges import RangeEstimate, Scatter
from deniable.records import Sample

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument

PEOPLE = 10**9
"""Whose reports are expected; variances of any other number follow."""
_CUTS = 400  # parts of a range, between which its median may be
_TENTH = 10
_Z = 1.96


def anticipate_levels(asked: Sequence[Attribute], row: Considered) -> Considered:
    """The same row, in which a question with levels has what is read of all of them together: shares of
    groups, and the median. The coarse levels have nothing that is read. Of values that nobody listed, it is
    how common they must be to be found, and the guess is between two of them.
    """
    unlisted = find_unlisted(asked, row.parts, row.chances)
    if not list_levels(asked) and not unlisted:
        return row
    names = [one.name for one in asked]
    variances, readings = list(row.variances), list(row.readings)
    success, reported = list(row.success), list(row.success_reported)
    bounds: list[Callable[[], float] | None] = [None] * len(names)
    for question in unlisted.values():
        for place, part in zip(question.places, question.mechanisms, strict=True):
            success[place], reported[place] = question.tell_two(), part.tell_two()
        limit = question.anticipate_limit(row.n)
        readings[question.final] = (Reading(FOUND, parts=COMMON, people=question.people_needed),)
        variances[question.final] = ((limit / HALF_WIDTH) ** 2,)
    for levels in list_levels(asked).values():
        own = levels[-1].domain
        places = [names.index(one.name) for one in levels]
        for place in places[:-1]:
            variances[place], readings[place] = (), ()
        if isinstance(own, Range):
            parts = [row.parts[place] for place in places]
            expected = expect_range(own, levels, parts, [row.chances[place] for place in places])
            readings[places[-1]] = _list_readings(own)
            variances[places[-1]] = _find_variances(own, expected, row.n)
            bounds[places[-1]] = partial(expected.bound_influence, PEOPLE)
    found = replace(row, success=tuple(success), success_reported=tuple(reported), bounds=tuple(bounds))
    return replace(found, variances=tuple(variances), readings=tuple(readings), names=name_levels(asked))


def name_levels(asked: Sequence[Attribute]) -> tuple[str, ...]:
    """What attributes are called where people read of them: levels by their groups, but for single values."""
    coarse = {one.name for levels in list_levels(asked).values() for one in levels[:-1]}
    found = []
    for one in asked:
        grouped = f"{one.columns[0]}, in {one.domain.k:,} groups"
        if not one.domain.listed:
            grouped = f"{one.columns[0]}, {(one.domain.k - 1).bit_length()} bits"
        found.append(grouped if one.name in coarse else one.name)
    return tuple(found)


def expect_range(
    own: Range, levels: Sequence[Attribute], parts: Sequence[ExactMechanism], chances: Sequence[Fraction]
) -> RangeEstimate:
    """What the reports of a thousand million people would say who are spread evenly over the values.

    Variances fall with the number of people, so that those of any other number follow.
    """
    found = []
    for one, part, chance in zip(levels, parts, chances, strict=True):
        assert isinstance(part.law, Law), "levels are reported as values, sets or hashes"
        ends = np.minimum(np.arange(one.domain.k + 1) * find_divisor(one), own.k)
        n = round(PEOPLE * chance)
        supported = part.law.q + part.law.gain * np.diff(ends) / own.k
        found.append(Estimate(n, n * supported, part.law))
    return RangeEstimate(find_tree(own, levels), found)


def _list_readings(own: Range) -> tuple[Reading, Reading]:
    ends = _list_ends(own)
    table = np.zeros((len(ends), own.k))
    for weights, (first, last) in zip(table, ends, strict=True):
        weights[first:last] = 1.0
    below = np.zeros((1, own.k))
    below[0, : own.k // 2] = 1.0
    what = "group" if list_groups(own) else "share"
    return Reading(what, table), Reading("median", below, float(own.step) * own.bins)


def _find_variances(own: Range, expected: RangeEstimate, n: int) -> tuple[float, ...]:
    """Of a group on average, and of the share below a median, wherever that is: without what people add to
    any share, who are some of many.
    """
    firsts, lasts = np.array(_list_ends(own)).T
    groups = _find_noise(own, expected, firsts, lasts)
    # the middle is an edge of all levels, where the share below is known better than anywhere else
    cuts = np.unique(np.rint(own.k * np.arange(1, _CUTS) / _CUTS).astype(np.int64).clip(1, own.k - 1))
    below = _find_noise(own, expected, np.zeros_like(cuts), cuts)
    return max(float(groups.mean()), 0.0) / n, max(float(below.max()), 0.0) / n


def _find_noise(own: Range, expected: RangeEstimate, firsts: Integers, lasts: Integers) -> Floats:
    """The variances of shares by the noise of one report."""
    parts = (lasts - firsts) / own.k
    return np.asarray(PEOPLE * expected.variances_of(firsts, lasts) - parts * (1 - parts))


def _list_ends(own: Range) -> list[tuple[int, int]]:
    """The groups that are shown, or single values where these are few."""
    found = [(int(values[0]), int(values[-1]) + 1) for _, values in list_groups(own)]
    return found or [(value, value + 1) for value in range(own.k)]


def explain_levels(document: PlanDocument) -> list[str]:
    """How each range with levels is reported, and what one without would tell: a line each."""
    found = []
    for name, levels in document.levels.items():
        own = levels[-1].domain
        if isinstance(own, Range):
            found.append(f"{_describe_levels(name, levels)} {_compare_flat(document, own, levels)}")
    return found


def explain_drawn(document: PlanDocument) -> str:
    """Which question a person reports, and that of some it is one level; empty where none has levels, or
    where several questions are reported.
    """
    levels, made = document.levels, document.mechanism
    if not levels or not isinstance(made, Sample):
        return ""
    chances: dict[str, Fraction] = {}
    for j, one in enumerate(document.attributes):
        name = one.columns[0] if one.columns[0] in levels else one.name
        chances[name] = chances.get(name, Fraction(0)) + made.chance(j)
    if len(chances) == 1:
        return f"Each person reports one level of {next(iter(levels))!r}, drawn at random and named (SMP)."
    told = [f"{name!r} {format_percent(float(chance), 1)}" for name, chance in chances.items()]
    which = shorten_names([*map(repr, levels)])
    return (
        f"Each person reports one question, drawn at random ({shorten_names(told)}), and of {which} one "
        "level. Both are named in the report (SMP)."
    )


def _describe_levels(name: str, levels: Sequence[Attribute]) -> str:
    sizes = [f"{one.domain.divisor:,}" for one in levels if isinstance(one.domain, Coarse)]
    return (
        f"{name!r} is reported in {format_count(len(levels), 'level')}: groups of {', '.join(sizes)} "
        "values, and single values. Each report holds one level, which is drawn without looking at the "
        "answer and named. All levels are combined by least squares, so that any range of values is known "
        "about as well as any other."
    )


def _compare_flat(document: PlanDocument, own: Range, levels: Sequence[Attribute]) -> str:
    """How well a tenth of the values is known, with levels and by reports of single values alone."""
    names = [one.name for one in document.attributes]
    places = [names.index(one.name) for one in levels]
    chances = [document.mechanism.chance(place) for place in places]
    expected = expect_range(own, levels, [document.parts[place] for place in places], chances)
    wide = max(1, own.k // _TENTH)
    start = (own.k - wide) // 2
    here = PEOPLE * expected.variance(start, start + wide) / document.people
    single = document.parts[places[-1]].law
    assert isinstance(single, Law), "levels are reported as values, sets or hashes"
    part = wide / own.k
    flat = Scatter.of(single).base * wide * (1 - part) + part * (1 - part)
    there = flat / (document.people * float(sum(chances)))
    return (
        f"The share of a tenth of them, {wide:,} values, will be known to within {_format_reach(here)}; "
        f"without levels, to within {_format_reach(there)}."
    )


def _format_reach(variance: float) -> str:
    return f"{round_digits(100 * _Z * math.sqrt(variance), 2):g} points"
