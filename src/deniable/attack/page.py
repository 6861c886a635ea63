"""One page for who is responsible: what an attacker learns from a plan's reports, beside blind guessing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import final

from deniable.attack.chances import AttributeSuccess, ProfileSuccess, Success
from deniable.errors import counted

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
    noise_kept: bool = False
    """Whether who is looked for keeps noise from collection to collection, as plans that ask again say; else it is fresh."""
    dropped: int = 0
    """People who were left out, since an answer is missing."""
    filled: int = 0
    """Missing answers that were drawn at random, as the plan says."""
    numbers: tuple[str, ...] = ()
    """Attributes that are numbers: it is guessed in which half of the range they are."""

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
        fakes = any("memoized" in one.bounds for one in self.ignorant.attributes)
        headers = ["answer", "values", "blind", "one report", "known to hold it", times, "noise drawn anew"]
        rows = [
            [one.name, "halves" if one.name in self.numbers else f"{one.k:,}", *_figures(one)]
            for one in self.ignorant.attributes
        ]
        about = (
            "one report: from a whole report, in which the answer may not be · known to hold it: if the attacker knows that it "
            f"is · {times}: from all of them, if the client keeps its noise"
            + (", by who is told which attribute of each is real" if fakes else "")
            + " · noise drawn anew: if it averages away"
            + (" · halves: in which half of its range a number is" if self.numbers else "")
        )
        heading = "1. Guess one answer, knowing nothing else: how often it is right"
        known = _how_known(self.ignorant.attributes)
        return "\n".join([heading, *_table(headers, rows), fill(about, _WIDTH), known])

    def _informed(self) -> str:
        if self.informed is None:
            return ""
        times = f"{self.collections} collections"
        rows = [[one.name, *_figures(one), f"{100 * (one.report - one.blind):.3g} points"] for one in self.informed.attributes]
        headers = ["answer", "blind", "one report", "known to hold it", times, "noise drawn anew", "learned from one"]
        heading = "2. The same, knowing how frequent the answers are among these people"
        apart = ["Numbers are guessed as before, without their frequencies."] if self.numbers else []
        return "\n".join([heading, *_table(headers, rows), _how_known(self.informed.attributes), *apart])

    def _fakes(self) -> str:
        if self.real_attribute is None:
            return ""
        blind = 1 / len(self.ignorant.attributes)
        return (
            f"Which attribute of a report is real is found for {_percent(self.real_attribute)}, blindly for {_percent(blind)}."
        )

    def _records(self) -> str:
        headers = ["collections ask for", "client", "attacker", "all reported", "whole record", "right on average"]
        attackers = {"knows nothing else": self.ignorant}
        if self.informed is not None:
            attackers["knows frequencies"] = self.informed
        rows = [
            [
                *(_DRAWN[one.drawn], "keeps its noise" if one.memoized else "draws anew", who),
                *(_marked(_percent(getattr(one, name)), name in one.stderr, one.bound) for name in _WHOLE),
                _marked(f"{one.right:.2f}", "right" in one.stderr, one.bound),
            ]
            for who, found in attackers.items()
            for one in found.profiles
        ]
        heading = f"3. Guess all answers of a person after {counted(self.collections, 'collection')}"
        blind = " · ".join(f"{_percent(found.blind_record)} by who {who}" for who, found in attackers.items())
        known = _how_known([one for found in attackers.values() for one in found.profiles])
        return "\n".join([heading, *_table(headers, rows), f"blind: the whole record {blind}", known])

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
        noise = "their clients keep their noise, as the plan says" if self.noise_kept else "their noise is drawn anew each time"
        error = 100 * max(one.stderr for one in self.found)
        about = (
            f"top {most}: how often the person's own record is among the {most} that match best, ties being drawn · simulated "
            f"people, standard error at most {error:.2g} points · {noise}"
        )
        return "\n".join([heading, *_table(headers, rows), fill(about, _WIDTH), *self._left_out()])

    def _left_out(self) -> list[str]:
        lines = []
        if self.dropped:
            lines.append(f"{counted(self.dropped, 'row')} left out: an answer is missing, which the plan refuses.")
        if self.filled:
            lines.append(f"{counted(self.filled, 'missing answer')} drawn at random, as clients do, once for each.")
        return lines

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


_WHOLE = ("all_reported", "whole_record")
_FIGURES = ("report", "reported", "memoized", "averaged")
_DRAWN = {
    "new": "a new attribute",
    "any": "any attribute",
    "kept": "the same attribute",
    "all": "all attributes",
}


def _tops(found: Sequence[Found]) -> list[int]:
    return list(dict.fromkeys(one.top for one in found))


def _figures(one: AttributeSuccess) -> list[str]:
    """Blind, and by what is seen, each marked by how it is known."""
    cells = [_marked(_percent(getattr(one, name)), name in one.stderr, name in one.bounds) for name in _FIGURES]
    return [_percent(one.blind), *cells]


def _marked(cell: str, simulated: bool, bound: bool) -> str:
    return f"{'<= ' if bound else ''}{'~' if simulated else ''}{cell}" if cell else ""


def _how_known(rows: Sequence[AttributeSuccess] | Sequence[ProfileSuccess]) -> str:
    """What the marks of a table say."""
    errors = [error for one in rows for name, error in one.stderr.items() if name != "right"]
    bound = any(one.bounds if isinstance(one, AttributeSuccess) else one.bound for one in rows)
    told = [f"~ is simulated, standard error at most {100 * max(errors):.2g} points"] if errors else []
    told += ["<= is at most"] if bound else []
    return " · ".join([*told, "the rest is exact"]) if told else "exact"


def _percent(share: float | None) -> str:
    """Three digits."""
    return "" if share is None else "0 %" if share <= 0 else f"{100 * share:.3g} %" if share < 0.9995 else "100 %"


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligned columns, the first one and other words to the left; those that are empty throughout are left out."""
    shown = [j for j in range(len(headers)) if any(row[j] for row in rows)]
    widths = {j: max(len(headers[j]), *(len(row[j]) for row in rows)) for j in shown}
    left = {0, *(j for j, header in enumerate(headers) if header in ("client", "attacker"))}

    def line(cells: Sequence[str]) -> str:
        return "  " + "  ".join(cells[j].ljust(widths[j]) if j in left else cells[j].rjust(widths[j]) for j in shown).rstrip()

    return [line(headers), *map(line, rows)]
