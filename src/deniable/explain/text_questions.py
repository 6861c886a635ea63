"""Finds the questions of a plan whose values nobody listed, and how common a value must be to be found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, final

from deniable.discovery import WHOLE, detection_limit, listed_limit
from deniable.domain import Text, Unlisted
from deniable.formatting import say_found
from deniable.mechanisms import Linear, Mechanism

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable.plan.attribute import Attribute
    from deniable.plan.document import PlanDocument

_SURE = 0.5  # limits below fall with the root of the number of people
_MANY = 10**6
_MOST_PEOPLE = 10**15
PUBLIC_WORDS = 1000
"""Words of the public list that a plan compares itself with."""


@final
@dataclass(frozen=True)
class UnlistedQuestion:
    """A question whose values nobody listed, and the attributes by which it is reported."""

    name: str
    domain: Unlisted
    levels: tuple[int, ...]
    """The attributes that report prefixes, the shortest first and the whole code last, by their places."""
    final: int
    """The attribute that decides, which no level has seen."""
    mechanisms: tuple[Linear, ...]
    """Of the levels, and last of the final group."""
    chances: tuple[float, ...]
    """How likely a report holds each."""

    @property
    def places(self) -> tuple[int, ...]:
        """The attributes of the levels and, last, of the final group."""
        return (*self.levels, self.final)

    @property
    def chance(self) -> float:
        """How likely a report holds any of them."""
        return min(1.0, math.fsum(self.chances))

    @property
    def is_searchable(self) -> bool:
        """Whether values can be found without a list: by levels, or since all codes can be counted."""
        return bool(self.levels) or self.domain.bits <= WHOLE

    def tell_two(self) -> float:
        """How often whoever sees a report is right which of two answers it is of, at most.

        That most answers are possible says nothing of a guess: nobody thinks all texts equally likely.
        """
        pairs = zip(self.chances, self.mechanisms, strict=True)
        return 0.5 + math.fsum(chance * (part.tell_two() - 0.5) for chance, part in pairs)

    def find_limit(self, people: Sequence[int], alpha: float = 0.05, words: int | None = None) -> float:
        """The share at which half of all values are found, by how many people report to each place.

        With a number of words it is that of a public list, of which all whole codes are counted.
        """
        if words is None and self.is_searchable:
            weights = [max(1, n) for n in people]
            return detection_limit(self.mechanisms, weights, max(1, sum(people)), alpha, self.domain)
        last = self.mechanisms[-1]
        reports = sum(n for n, part in zip(people, self.mechanisms, strict=True) if part == last)
        return listed_limit(last, max(1, reports), words or PUBLIC_WORDS, alpha)

    def expect(self, people: int) -> list[int]:
        return [round(people * chance) for chance in self.chances]

    def anticipate_limit(self, people: int) -> float:
        """The limit with this many people, above 1 where even what everybody has is found less often."""
        limit = self.find_limit(self.expect(people))
        if limit < _SURE:
            return limit
        return max(limit, self.find_limit(self.expect(_MANY)) * math.sqrt(_MANY / people))

    def people_needed(self, limit: float) -> int:
        """The least number of people with whom values of this share are found about half of the time."""
        return _count_people(self, limit)

    def explain_limit(self, people: int) -> str:
        """How common a value must be to be found, beside what a public list would find; in sentences."""
        what = "texts" if isinstance(self.domain, Text) else "codes"
        # the limit of a public list, if all who report to any level reported whole codes
        listed = listed_limit(self.mechanisms[-1], max(1, round(people * self.chance)), PUBLIC_WORDS)
        levels = " without levels" if self.levels else ""
        limit = self.find_limit(self.expect(people))
        if limit >= 1:
            more = f"A public list of {PUBLIC_WORDS:,} would find {format_limit(listed)}{levels}."
            more = more if listed < 1 else "A public list does not help."
            return f"{self.name!r}: {say_found(limit, '')} {more}"
        if not self.is_searchable:
            return (
                f"{self.name!r}: of a public list of {PUBLIC_WORDS:,} {what}, those with a share above "
                f"{format_limit(listed)} are found about half of the time. The list may be made after the "
                "collection, but not from these reports."
            )
        cut = ""
        if isinstance(self.domain, Text) and self.domain.cut:
            cut = f"Longer texts are cut to {self.domain.longest} letters: what is found is their beginning."
        return (
            f"{self.name!r}: {what} with a share above {format_limit(limit)} are found about half of the "
            f"time; a public list of {PUBLIC_WORDS:,} would find {format_limit(listed)}{levels}. {cut}"
        )


@lru_cache(maxsize=256)
def _count_people(question: UnlistedQuestion, limit: float) -> int:
    """By halving: the limit falls a little faster or slower than with the root of the number of people."""
    about = _MANY * (question.find_limit(question.expect(_MANY)) / limit) ** 2
    if about > _MOST_PEOPLE:
        return math.ceil(about)
    low, high = 0, max(1, round(about))
    while question.anticipate_limit(high) > limit:
        low, high = high, 2 * high
    step = high // 2
    while low == 0 and step and question.anticipate_limit(step) <= limit:
        high, step = step, step // 2
    low = max(low, step)
    while high - low > 1:
        middle = (low + high) // 2
        if question.anticipate_limit(middle) <= limit:
            high = middle
        else:
            low = middle
    return high


def list_unlisted(document: PlanDocument) -> dict[str, UnlistedQuestion]:
    """The questions of a plan whose values nobody listed, by name."""
    chances = [document.mechanism.chance(j) for j in range(len(document.parts))]
    return find_unlisted(document.attributes, document.parts, chances)


def find_unlisted(
    attributes: Sequence[Attribute], parts: Sequence[Mechanism], chances: Sequence[Fraction]
) -> dict[str, UnlistedQuestion]:
    """The questions whose values nobody listed, from attributes, their mechanisms, and how likely a report
    holds each.
    """
    places: dict[str, list[int]] = {}
    for j, attribute in enumerate(attributes):
        if not attribute.domain.listed:
            places.setdefault(attribute.columns[0], []).append(j)
    questions = {}
    for name, places_of_name in places.items():
        final = next(j for j in places_of_name if not attributes[j].domain.is_level)
        others = (j for j in places_of_name if j != final)
        levels = tuple(sorted(others, key=lambda j: attributes[j].domain.k))
        domain = attributes[final].domain
        assert isinstance(domain, Unlisted)
        mechanisms = tuple(part for j in (*levels, final) if isinstance(part := parts[j], Linear))
        held_by = tuple(float(chances[j]) for j in (*levels, final))
        questions[name] = UnlistedQuestion(name, domain, levels, final, mechanisms, held_by)
    return questions


def format_limit(share: float) -> str:
    """A share as people read it, two digits of it.

    >>> format_limit(0.00818), format_limit(0.0033), format_limit(1.0)
    ('0.82 %', '0.33 %', '100 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"
