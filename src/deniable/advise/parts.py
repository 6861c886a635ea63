"""Advises on a study of which some questions are asked once and others again: on each part by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Generic, final

from deniable.advise.advice import Advice, Proposal, advise_study
from deniable.advise.changes import S
from deniable.advise.needs import find_pair
from deniable.errors import InvalidParameter, not_among
from deniable.formatting import Printed, format_people
from deniable.frames import Show


@final
@dataclass(frozen=True, eq=False)
class AdviceOnParts(Printed, Generic[S]):
    """Advice on each part of a study, with proposals that are numbered through."""

    parts: tuple[Advice[S], ...]

    @property
    def people_needed(self) -> int:
        """How many people it takes until everything that is asked, once or again, is as it is wanted."""
        return max(Proposal((), part.now, part.people, 0.0).people_needed for part in self.parts)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def combine(self, numbers: Iterable[int]) -> list[tuple[S, Proposal[S]]]:
        """Each part that these proposals change, with all their changes to it; proposals count from 1."""
        numbers = list(numbers)
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(self):
                there = f"1 to {len(self)}" if len(self) else "none"
                raise InvalidParameter(f"proposals are numbered, and there are {there}; got {number!r}")
        if not numbers:
            raise InvalidParameter("name at least one proposal by its number, such as 1")
        changed = []
        for part, before in zip(self.parts, self._count_before(), strict=True):
            of_part = [number - before for number in numbers if before < number <= before + len(part)]
            if of_part:
                changed.append((part.now.study, part.combine(of_part)))
        return changed

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: of several parts, readings and proposals one after the other."""
        first, *others = [part.to_dict() for part in self.parts]
        if not others:
            return first
        return {
            "people": first["people"],
            "is_enough": all(part.is_enough for part in self.parts),
            "people_needed": self.people_needed,
            "summary": self.summarize(),
            "readings": [row for part in (first, *others) for row in part["readings"]],
            "proposals": [row for part in (first, *others) for row in part["proposals"]],
        }

    def summarize(self) -> str:
        """In a few sentences, what works and what it would take."""
        once, again = (part.summarize() for part in self.parts)
        needed = format_people(self.people_needed)
        return f"What is asked once: {once} What is asked again: {again} Both take {needed} people."

    def __str__(self) -> str:
        if len(self.parts) == 1:
            return str(self.parts[0])
        once, again = (
            part.describe(before + 1) for part, before in zip(self.parts, self._count_before(), strict=True)
        )
        return (
            f"What is asked once:\n{once}\n\nWhat is asked again:\n{again}\n\n"
            f"Both take {format_people(self.people_needed)} people as they are."
        )

    def _count_before(self) -> list[int]:
        """How many proposals there are before those of each part."""
        return list(accumulate(map(len, self.parts[:-1]), initial=0))


def advise_parts(
    study: Any,
    people: object,
    want: str | Mapping[str, str | float] = "useful",
    may_know: Sequence[str] = (),
    show: Show | None = None,
) -> AdviceOnParts[Any]:
    """Advice on what is asked once and on what is asked again; of other studies, on all that is asked."""
    parts = study.divide()
    if len(parts) == 1:
        return AdviceOnParts((advise_study(study, people, want, may_know, show),))
    for name in may_know:
        if name not in study.attributes:
            raise InvalidParameter(
                "may_know: " + not_among(str(name), "a question of this study", study.attributes)
            )
    names = want if isinstance(want, Mapping) else {}
    for name in names:
        if not any(_asks(part, name) for part in parts):
            raise InvalidParameter(
                f"want: {name!r} is no question that is asked, and no table of questions that are asked "
                "equally often"
            )
    return AdviceOnParts(
        tuple(
            advise_study(
                part,
                people,
                {name: how for name, how in names.items() if _asks(part, name)} or _usual(want),
                [name for name in may_know if name in part.attributes],
                show,
            )
            for part in parts
        )
    )


def _usual(want: str | Mapping[str, str | float]) -> str:
    return want if isinstance(want, str) else "useful"


def _asks(part: Any, name: str) -> bool:
    return name in part.attributes or find_pair(name, part) is not None
