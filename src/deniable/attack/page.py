"""One page for who is responsible: what an attacker learns from a plan's reports, beside blind guessing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import final

import numpy as np

from deniable.attack.background import compact
from deniable.attack.chances import COLLECTIONS, Success, success
from deniable.attack.matching import Progress, match_surveys
from deniable.attack.sampled import sampled_success
from deniable.errors import InvalidValue, counted
from deniable.exact import whole_number
from deniable.law import Floats, Integers
from deniable.plan import Plan
from deniable.population import numbers_from
from deniable.share import Faked
from deniable.simulated import remembering, seeded

USERS = 2000
"""How many people are looked for in the background, drawn at random."""
TOP = 10
_WIDTH = 110


@final
@dataclass(frozen=True)
class Found:
    """How many people are found in a background table."""

    background: str
    attributes: tuple[str, ...]
    """The columns of the background."""
    collections: int
    top: int
    success: float
    stderr: float
    blind: float


@final
@dataclass(frozen=True)
class Examined:
    """What an attacker learns from the reports of a plan."""

    plan: str
    title: str
    collections: int
    seed: int
    ignorant: Success
    """Who thinks that all answers are equally likely."""
    people: int | None = None
    users: int | None = None
    informed: Success | None = None
    """Who knows how frequent the answers are."""
    real_attribute: float | None = None
    """Among fakes: how often it is found which attribute is real, by who knows how frequent the answers are."""
    found: tuple[Found, ...] = ()

    def text(self) -> str:
        """The page."""
        parts = [self._opening(), self._answers(), self._informed(), self._fakes(), self._records(), self._people()]
        return "\n\n".join(part for part in (*parts, self._verdict()) if part)

    def _opening(self) -> str:
        title = f" · {self.title}" if self.title else ""
        about = (
            "The attacker knows the plan, sees reports of a person, and guesses as well as anyone can. "
            "Blind is how often a guess is right without any report: only what is above it was learned from reports."
        )
        return f"What an attacker learns from plan {self.plan[:12]}{title}\n{fill(about, _WIDTH)}"

    def _answers(self) -> str:
        times = f"{self.collections} collections"
        bound = any(one.bound for one in self.ignorant.profiles)
        after = f"{times}, at most" if bound else times
        headers = ["answer", "values", "blind", "one report", "known to hold it", after, "noise drawn anew"]
        rows = [
            [one.name, f"{one.k:,}", *map(_percent, (one.blind, one.report, one.reported, one.memoized, one.averaged))]
            for one in self.ignorant.attributes
        ]
        about = (
            "one report: from a whole report, in which the answer may not be · known to hold it: if the attacker knows that it "
            f"is · {times}: from all of them, if the client keeps its noise"
            + (", by who is told which attribute of each is real" if bound else "")
            + " · noise drawn anew: if it averages away"
        )
        how = "exact, the last column simulated" if bound else "exact"
        heading = f"1. Guess one answer, knowing nothing else: how often it is right ({how})"
        return "\n".join([heading, *_table(headers, rows), fill(about, _WIDTH)])

    def _informed(self) -> str:
        if self.informed is None:
            return ""
        rows = [
            [one.name, *map(_percent, (one.blind, one.report, one.reported)), f"{100 * (one.report - one.blind):.3g} points"]
            for one in self.informed.attributes
        ]
        heading = "2. The same, knowing how frequent the answers are among these people"
        return "\n".join([heading, *_table(["answer", "blind", "one report", "known to hold it", "learned"], rows)])

    def _fakes(self) -> str:
        if self.real_attribute is None:
            return ""
        blind = 1 / len(self.ignorant.attributes)
        return (
            f"Which attribute of a report is real is found for {_percent(self.real_attribute)}, blindly for {_percent(blind)}."
        )

    def _records(self) -> str:
        headers = ["collections ask for", "client", "all reported answers", "the whole record", "answers right, on average"]
        rows = [
            [
                _DRAWN[one.drawn] + (" (at most)" if one.bound else ""),
                "keeps its noise" if one.memoized else "draws anew",
                *(_percent(one.all_reported), _percent(one.whole_record), f"{one.right:.2f}"),
            ]
            for one in self.ignorant.profiles
        ]
        heading = f"3. Guess all answers of a person after {counted(self.collections, 'collection')}"
        blind = f"blind: the whole record {_percent(self.ignorant.blind_record)}"
        return "\n".join([heading, *_table(headers, rows), blind])

    def _people(self) -> str:
        if not self.found:
            return ""
        headers = [
            "background has",
            "collections",
            *(f"{kind}top {top}" for top in _tops(self.found) for kind in ("", "blind ")),
        ]
        rows = []
        for background in dict.fromkeys(one.background for one in self.found):
            for times in dict.fromkeys(one.collections for one in self.found):
                here = [one for one in self.found if (one.background, one.collections) == (background, times)]
                cells = [cell for one in here for cell in (_percent(one.success), _percent(one.blind))]
                rows.append([background, str(times), *cells])
        heading = f"4. Find a person among {self.people:,} records, by all that the reports say ({self.users:,} looked for)"
        most = _tops(self.found)[-1]
        about = f"top {most}: how often the person's own record is among the {most} that match best, ties being drawn"
        return "\n".join([heading, *_table(headers, rows), about])

    def _verdict(self) -> str:
        worst = self.ignorant.worst
        lines = [
            f"The most exposed answer is {worst.name!r}: whoever sees a report that holds it is right for "
            f"{_percent(worst.reported)} of people, blindly for {_percent(worst.blind)}."
        ]
        if worst.averaged is not None and worst.averaged > worst.memoized + 0.01:
            lines.append(
                f"After {self.collections} collections it is {_percent(worst.memoized)} if clients keep their noise, and "
                f"{_percent(worst.averaged)} if they do not."
            )
        if self.found:
            most = max(self.found, key=lambda one: one.success / one.blind if one.blind else 0.0)
            times = most.success / most.blind
            lines.append(
                f"With a background of {most.background}, {counted(most.collections, 'collection')} put the right person among "
                f"{most.top} for {_percent(most.success)}: {times:.2g} times as often as blindly."
            )
        return fill("In short: " + " ".join(lines), _WIDTH)


_DRAWN = {
    "new": "one that was not asked before",
    "any": "any attribute",
    "kept": "the same attribute",
    "all": "all attributes",
}


def examine(
    plan: Plan,
    codes: Integers | None = None,
    collections: int = COLLECTIONS,
    top: int = TOP,
    users: int = USERS,
    seed: int = 1,
    progress: Progress | None = None,
) -> Examined:
    """What an attacker learns from one report and from several collections; with people, also by background data.

    `codes` are the answers of people as `plan.encode` makes them. They are asked so many times in a simulation from the seed,
    and `users` of them are looked for among all of them.
    """
    known = success(plan, None, collections)
    if codes is None:
        return Examined(plan.id, plan.content.title, collections, seed, known)
    people = codes[:, (codes >= 0).all(axis=0)]
    n = people.shape[1]
    if n < 2:
        raise InvalidValue("a background needs at least two people with all answers")
    shares: list[Floats] = [
        np.bincount(row, minlength=part.k) / n for row, part in zip(people, plan.content.parts, strict=True)
    ]
    real = sampled_success(plan, shares).value if isinstance(plan.share, Faked) else None
    whom = np.sort(numbers_from(seed, "whom").choice(n, min(n, whole_number("users", users, 1)), replace=False))
    found = _looked_for(plan, people, whom, collections, top, seed, progress)
    return Examined(
        *(plan.id, plan.content.title, collections, seed, known, n, whom.size),
        informed=success(plan, shares, collections),
        real_attribute=real,
        found=tuple(found),
    )


def _looked_for(
    plan: Plan, people: Integers, whom: Integers, collections: int, top: int, seed: int, progress: Progress | None
) -> list[Found]:
    """With all attributes as background, and with half of them: after one collection, and after all."""
    d, n = people.shape
    again = plan.content.rounds is not None
    surveys = [
        plan.privatize_codes(people, remembering(seed, round=t + 1) if again else seeded(seed * 1000 + t)).records
        for t in range(collections)
    ]
    half = np.sort(numbers_from(seed, "half").choice(d, max(1, round(d / 2)), replace=False))
    backgrounds = {f"all {d} attributes" if d > 1 else "the attribute": np.arange(d)}
    if d > 1:
        backgrounds[f"{half.size} of {d} attributes"] = half
    cells = [(name, kept, times) for name, kept in backgrounds.items() for times in dict.fromkeys((1, collections))]
    found = []
    for done, (name, kept, times) in enumerate(cells, 1):
        names = [plan.names[j] for j in kept]
        columns = compact(people[kept])
        one = match_surveys([plan] * times, surveys[:times], names, columns, np.arange(n), whom, top)
        for most in dict.fromkeys((1, top)):
            chances = one.chance(most)
            error = float(chances.std(ddof=1) / np.sqrt(chances.size)) if chances.size > 1 else 0.0
            found.append(Found(name, tuple(names), times, most, one.success(most), error, one.blind(most)))
        if progress is not None:
            progress(done, len(cells))
    return found


def _tops(found: Sequence[Found]) -> list[int]:
    return list(dict.fromkeys(one.top for one in found))


def _percent(share: float | None) -> str:
    """Three digits."""
    return "" if share is None else "0 %" if share <= 0 else f"{100 * share:.3g} %" if share < 0.9995 else "100 %"


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligned columns, the first one to the left; those that are empty throughout are left out."""
    shown = [j for j in range(len(headers)) if any(row[j] for row in rows)]
    widths = {j: max(len(headers[j]), *(len(row[j]) for row in rows)) for j in shown}
    left = (0, 1) if headers[1] == "client" else (0,)

    def line(cells: Sequence[str]) -> str:
        return "  " + "  ".join(cells[j].ljust(widths[j]) if j in left else cells[j].rjust(widths[j]) for j in shown).rstrip()

    return [line(headers), *map(line, rows)]
