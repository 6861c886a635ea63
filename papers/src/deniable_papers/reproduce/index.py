"""Lists which figure of which publication each command reproduces, and finds a figure by its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from deniable.commands.shared import console
from deniable.errors import InvalidParameter, not_among
from deniable_papers.experiment import Experiment, Shown

_NUMBERS = re.compile(r"\b(figure|table)s? (\d+(?:(?:, | and | to )\d+)*)")
_KINDS = {"figure": "figure", "figures": "figure", "fig": "figure", "table": "table", "tables": "table"}
_IGNORED = {"of", "the", "in", "from", "paper", "and", "no", "nr"}
_DAY = 24 * 60


class Entry(NamedTuple):
    """A figure or table, and the experiment that reproduces it."""

    experiment: Experiment
    shown: Shown

    @property
    def command(self) -> str:
        """What to type after `deniable reproduce`."""
        return f"{self.experiment.name} {self.shown.options}".rstrip()

    @property
    def numbers(self) -> set[tuple[str, int]]:
        """The figures and tables by number, such as ("figure", 8)."""
        return {
            (kind, number)
            for kind, text in _NUMBERS.findall(self.shown.what)
            for number in _list_numbers(text)
        }


def list_entries(experiments: Iterable[Experiment]) -> list[Entry]:
    """All figures and tables, in the order of the commands."""
    return [Entry(experiment, shown) for experiment in experiments for shown in experiment.shows]


def find_entries(entries: list[Entry], text: str) -> list[Entry]:
    """The figures that a text means, such as "RS+FD figure 8"; refuses a text that means none."""
    words = re.findall(r"[\w+]+(?:-\w+)*", text.lower())
    wanted = set[tuple[str, int]]()
    names = list[str]()
    kind = ""
    for word in words:
        if word in _KINDS:
            kind = _KINDS[word]
        elif kind and word.isdecimal():
            wanted.add((kind, int(word)))
        elif word not in _IGNORED:
            names.append(word)
    matching = [
        entry
        for entry in entries
        if wanted <= entry.numbers and all(_names(entry, name) for name in names) and (wanted or names)
    ]
    if matching:
        return matching
    if len(words) == 1:
        known = dict.fromkeys(entry.experiment.name for entry in entries)
        problem = not_among(text, "a command or a word of a figure", known)
        raise InvalidParameter(f"{problem}; deniable reproduce lists all")
    raise InvalidParameter(
        f"no command reproduces {text!r}; deniable reproduce lists all figures, and a search takes words of "
        'that list, such as "RS+FD figure 8"'
    )


def print_entries(entries: Iterable[Entry], title: str) -> None:
    """The list of figures: what each shows, what to type, how long it takes, and on which data."""
    cells = [
        [
            entry.shown.paper,
            entry.shown.what,
            entry.command,
            " / ".join(map(_format_minutes, entry.shown.minutes or entry.experiment.minutes)),
            entry.shown.data or entry.experiment.data,
        ]
        for entry in entries
    ]
    headings = ["paper", "figure or table", "deniable reproduce", "minutes / --quick", "data"]
    console.print_table(title, headings, cells)


def _names(entry: Entry, name: str) -> bool:
    text = f"{entry.shown.paper} {entry.shown.what} {entry.experiment.name}".lower()
    return any(word.startswith(name) for word in re.findall(r"[\w+]+(?:-\w+)*", text))


def _list_numbers(text: str) -> Iterator[int]:
    for part in re.split(r", | and ", text):
        first, _, last = part.partition(" to ")
        yield from range(int(first), int(last or first) + 1)


def _format_minutes(minutes: float) -> str:
    if minutes >= _DAY:
        return f"{minutes / _DAY:.0f} days"
    return f"{minutes:.0f}" if minutes >= 1 else "< 1"
