"""Says in words how questions are reported that have levels, and what that gains."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.domain import Coarse, Range
from deniable.explain.level_precision import PEOPLE, expect_range
from deniable.formatting import format_count, format_percent, round_digits, shorten_names
from deniable.law import Law
from deniable.plan.attribute import Attribute
from deniable.ranges import Scatter
from deniable.records import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable.plan.document import PlanDocument

_TENTH = 10
_Z = 1.96


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
