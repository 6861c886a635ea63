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
from deniable.mechanisms import Mechanism
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


def anticipate_levels(attributes: Sequence[Attribute], row: Considered) -> Considered:
    """A row in which a question with levels has what is read of all of them together: shares of
    groups, and the median. The coarse levels have nothing that is read. Of values that nobody listed, it is
    how common they must be to be found, and the guess is between two of them.
    """
    unlisted = find_unlisted(attributes, row.parts, row.chances)
    if not list_levels(attributes) and not unlisted:
        return row
    names = [attribute.name for attribute in attributes]
    variances, readings = list(row.variances), list(row.readings)
    success, reported = list(row.success), list(row.success_reported)
    bounds: list[Callable[[], float] | None] = [None] * len(names)
    for question in unlisted.values():
        for place, part in zip(question.places, question.mechanisms, strict=True):
            success[place], reported[place] = question.tell_two(), part.tell_two()
        limit = question.anticipate_limit(row.n)
        readings[question.final] = (Reading(FOUND, parts=COMMON, people=question.people_needed),)
        variances[question.final] = ((limit / HALF_WIDTH) ** 2,)
    for levels in list_levels(attributes).values():
        domain = levels[-1].domain
        places = [names.index(attribute.name) for attribute in levels]
        for place in places[:-1]:
            variances[place], readings[place] = (), ()
        if isinstance(domain, Range):
            parts = [row.parts[place] for place in places]
            expected = expect_range(domain, levels, parts, [row.chances[place] for place in places])
            readings[places[-1]] = _list_readings(domain)
            variances[places[-1]] = _find_variances(domain, expected, row.n)
            bounds[places[-1]] = partial(expected.bound_influence, PEOPLE)
    anticipated = replace(row, success=tuple(success), success_reported=tuple(reported), bounds=tuple(bounds))
    return replace(
        anticipated, variances=tuple(variances), readings=tuple(readings), names=name_levels(attributes)
    )


def name_levels(attributes: Sequence[Attribute]) -> tuple[str, ...]:
    """What attributes are called where people read of them: levels by their groups, but for single values."""
    coarse = {attribute.name for levels in list_levels(attributes).values() for attribute in levels[:-1]}
    names = []
    for attribute in attributes:
        grouped = f"{attribute.columns[0]}, in {attribute.domain.k:,} groups"
        if not attribute.domain.listed:
            grouped = f"{attribute.columns[0]}, {(attribute.domain.k - 1).bit_length()} bits"
        names.append(grouped if attribute.name in coarse else attribute.name)
    return tuple(names)


def expect_range(
    domain: Range, levels: Sequence[Attribute], parts: Sequence[Mechanism], chances: Sequence[Fraction]
) -> RangeEstimate:
    """What the reports of a thousand million people would say who are spread evenly over the values.

    Variances fall with the number of people, so that those of any other number follow.
    """
    estimates = []
    for level, part, chance in zip(levels, parts, chances, strict=True):
        assert isinstance(part.law, Law), "levels are reported as values, sets or hashes"
        ends = np.minimum(np.arange(level.domain.k + 1) * find_divisor(level), domain.k)
        n = round(PEOPLE * chance)
        supported = part.law.q + part.law.gain * np.diff(ends) / domain.k
        estimates.append(Estimate(n, n * supported, part.law))
    return RangeEstimate(find_tree(domain, levels), estimates)


def _list_readings(domain: Range) -> tuple[Reading, Reading]:
    ends = _list_ends(domain)
    table = np.zeros((len(ends), domain.k))
    for weights, (first, last) in zip(table, ends, strict=True):
        weights[first:last] = 1.0
    below = np.zeros((1, domain.k))
    below[0, : domain.k // 2] = 1.0
    what = "group" if list_groups(domain) else "share"
    return Reading(what, table), Reading("median", below, float(domain.step) * domain.bins)


def _find_variances(domain: Range, expected: RangeEstimate, n: int) -> tuple[float, ...]:
    """Variances of a group on average, and of the share below a median, wherever that is: without what
    people add to any share, who are some of many.
    """
    firsts, lasts = np.array(_list_ends(domain)).T
    groups = _find_noise(domain, expected, firsts, lasts)
    # the middle is an edge of all levels, where the share below is known better than anywhere else
    cuts = np.unique(np.rint(domain.k * np.arange(1, _CUTS) / _CUTS).astype(np.int64).clip(1, domain.k - 1))
    below = _find_noise(domain, expected, np.zeros_like(cuts), cuts)
    return max(float(groups.mean()), 0.0) / n, max(float(below.max()), 0.0) / n


def _find_noise(domain: Range, expected: RangeEstimate, firsts: Integers, lasts: Integers) -> Floats:
    """The variances of shares by the noise of one report."""
    parts = (lasts - firsts) / domain.k
    return np.asarray(PEOPLE * expected.variances_of(firsts, lasts) - parts * (1 - parts))


def _list_ends(domain: Range) -> list[tuple[int, int]]:
    """The groups that are shown, or single values where these are few."""
    ends = [(int(values[0]), int(values[-1]) + 1) for _, values in list_groups(domain)]
    return ends or [(value, value + 1) for value in range(domain.k)]


def explain_levels(document: PlanDocument) -> list[str]:
    """How each range with levels is reported, and what one without would tell: a line each."""
    return [
        f"{_describe_levels(name, levels)} {_compare_flat(document, domain, levels)}"
        for name, levels in document.levels.items()
        if isinstance(domain := levels[-1].domain, Range)
    ]


def explain_drawn(document: PlanDocument) -> str:
    """Which question a person reports, and that of some it is one level; empty where none has levels, or
    where several questions are reported.
    """
    levels, mechanism = document.levels, document.mechanism
    if not levels or not isinstance(mechanism, Sample):
        return ""
    chances: dict[str, Fraction] = {}
    for j, attribute in enumerate(document.attributes):
        name = attribute.columns[0] if attribute.columns[0] in levels else attribute.name
        chances[name] = chances.get(name, Fraction(0)) + mechanism.chance(j)
    if len(chances) == 1:
        return f"Each person reports one level of {next(iter(levels))!r}, drawn at random and named (SMP)."
    shares = [f"{name!r} {format_percent(float(chance), 1)}" for name, chance in chances.items()]
    which = shorten_names([*map(repr, levels)])
    return (
        f"Each person reports one question, drawn at random ({shorten_names(shares)}), and of {which} one "
        "level. Both are named in the report (SMP)."
    )


def _describe_levels(name: str, levels: Sequence[Attribute]) -> str:
    sizes = [f"{level.domain.divisor:,}" for level in levels if isinstance(level.domain, Coarse)]
    return (
        f"{name!r} is reported in {format_count(len(levels), 'level')}: groups of {', '.join(sizes)} "
        "values, and single values. Each report holds one level, which is drawn without looking at the "
        "answer and named. All levels are combined by least squares, so that any range of values is known "
        "about as well as any other."
    )


def _compare_flat(document: PlanDocument, domain: Range, levels: Sequence[Attribute]) -> str:
    """How well a tenth of the values is known, with levels and by reports of single values alone."""
    places = [document.names.index(level.name) for level in levels]
    chances = [document.mechanism.chance(place) for place in places]
    expected = expect_range(domain, levels, [document.parts[place] for place in places], chances)
    wide = max(1, domain.k // _TENTH)
    start = (domain.k - wide) // 2
    variance = PEOPLE * expected.variance(start, start + wide) / document.people
    single = document.parts[places[-1]].law
    assert isinstance(single, Law), "levels are reported as values, sets or hashes"
    part = wide / domain.k
    flat = Scatter.of(single).base * wide * (1 - part) + part * (1 - part)
    there = flat / (document.people * float(sum(chances)))
    return (
        f"The share of a tenth of them, {wide:,} values, will be known to within {_format_reach(variance)}; "
        f"without levels, to within {_format_reach(there)}."
    )


def _format_reach(variance: float) -> str:
    return f"{round_digits(100 * _Z * math.sqrt(variance), 2):g} points"
