"""Describes a study as data: what it is asked, how it is measured, and how its rows are shown and drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import click

from deniable.commands.shared import options
from deniable.commands.shared.options import COUNT, positive

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable_papers.studies.applications.guarantee import Guarantee

Column = tuple[str, Callable[[Any], str]]
"""A heading, and what it shows of a row."""
OWN = "data"
"""The parameter of --data, a file of the user's own people."""
DIFFERS = "differs"
"""The mark of a row that is farther from what is stated than it may be."""


@final
@dataclass(frozen=True, kw_only=True)
class Size:
    """A keyword of a study's measurement: what it is usually, with --quick, and by which option.

    A keyword that is None is left to the measurement. `read` turns what is named into what is measured.
    """

    keyword: str
    option: Callable[[Any], Any] | None = None
    parameter: str = ""
    usual: Any = None
    quick: Any = None
    read: Callable[[Any], Any] | None = None
    read_own: Callable[[Path], Any] | None = None
    """Reads the file of --data instead, in studies that take one."""

    def choose(self, given: Mapping[str, Any], is_quick: bool) -> Any:
        """What the command was given, or the smaller or usual one."""
        value = given.get(self.parameter)
        if self.read_own is not None and given.get(OWN) is not None:
            return self.read_own(given[OWN])
        if value in (None, [], ()):
            value = self.quick if is_quick and self.quick is not None else self.usual
        return value if self.read is None else self.read(value)


@final
@dataclass(frozen=True)
class Asked:
    """What a command was asked for."""

    runs: int
    seed: int
    given: Mapping[str, Any]
    """The options of this study only."""
    quick: bool = False


@final
@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows to print below a title."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    margin: str = ""
    """How far a row may be from what is stated; how many are farther is then printed below."""
    sparse: bool = False
    """Whether columns without any text are left out."""
    after: str = ""
    """A line below the table."""


@final
@dataclass(frozen=True)
class Shown:
    """A figure or table of a publication that an experiment reproduces."""

    paper: str
    what: str
    """Which it is and what it shows, such as "figures 6 to 10: MSE_avg"; numbers are found in it."""
    options: str = ""
    """The options of the command that show this and no more."""
    minutes: tuple[float, float] | None = None
    """How long this takes, where it is not as long as the whole experiment: usually, and with --quick."""
    data: str = ""
    """The data that this needs, where it is not that of the experiment."""


@final
@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A publication, or a specification, that is measured again."""

    name: str
    shows: Sequence[Shown]
    """What the list of `deniable reproduce` names."""
    minutes: tuple[float, float]
    """About how long it takes on two processors: usually, and with --quick."""
    data: str
    """The data it needs, in a few words."""
    about: str
    """What the command's help says; its first line is in the list of commands."""
    measure: Callable[..., Iterator[Any]]
    """Takes the keywords of `sizes`, `runs`, `seed` and `progress`, and makes rows as they are done."""
    runs: tuple[int, int]
    """How often each point is measured: usually, and with --quick."""
    runs_text: str = ""
    quick_text: str
    sizes: Sequence[Size] = ()
    work: str = "measuring"
    """The word beside the progress."""
    tables: Callable[[Sequence[Any], Asked], Iterable[Table]]
    draw: Callable[[Sequence[Any]], Figure]
    finish: Callable[[Sequence[Any]], Iterable[Any]] = field(default=lambda rows: rows)
    """Completes rows by what only all of them together say."""
    guarantees: Callable[[Sequence[Any]], Iterable[tuple[str, Guarantee]]] = field(default=lambda _: ())
    """Each guarantee as published and as it is true, with a heading."""
    warnings: Callable[[Sequence[Any], Asked], Iterable[str]] = field(default=lambda _rows, _asked: ())
    """Lines on stderr, once all is measured."""
    notes: Callable[[Sequence[Any], Asked], Iterable[str]] = field(default=lambda _rows, _asked: ())
    """Lines below everything else."""
    refusals: Callable[[Any], str | None] = field(default=lambda _row: None)
    """What is named beside the reason of a row that was refused; nothing where it is shown elsewhere."""
    written_refusals: bool = True
    """Whether refused rows are in files and in JSON, too."""


_data = click.option(
    "--data",
    OWN,
    type=options.FILE,
    help="A CSV file of your own with a header, instead of the datasets: a row for each person.",
)


def ask_people(choose: Size, read_own: Callable[[Path], Any]) -> Size:
    """An option for datasets, and beside it --data, which takes a file of the user's own people."""
    assert choose.option is not None
    named = choose.option
    return replace(choose, option=lambda command: _data(named(command)), read_own=read_own)


def ask_names(flag: str, keyword: str, text: str, **more: Any) -> Size:
    """An option that takes names."""
    return Size(keyword=keyword, option=options.name_option(flag, text), parameter=flag.strip("-"), **more)


def ask_numbers(
    flag: str, keyword: str, text: str, number: Callable[[str], Any] = positive, **more: Any
) -> Size:
    """An option that takes numbers."""
    option = options.numbers_option(flag, number, text)
    return Size(keyword=keyword, option=option, parameter=flag.strip("-"), **more)


def ask_epsilons(usual: Any = None, quick: Any = None) -> Size:
    """The option for privacy budgets that most studies have."""
    text = "The privacy budgets, such as 1,2,4."
    return ask_numbers("--epsilons", "epsilons", text, usual=usual, quick=quick)


def ask_count(flag: str, text: str, **more: Any) -> Size:
    """An option that takes one whole number."""
    option = click.option(flag, type=COUNT, help=text, **more)
    return Size(keyword=flag.strip("-"), option=option, parameter=flag.strip("-"))


def ask_choice(
    flag: str, keyword: str, text: str, among: Sequence[str], default: str, read: Any = None
) -> Size:
    """An option that takes one of a few words."""
    option = click.option(flag, type=click.Choice(among), default=default, show_default=True, help=text)
    return Size(keyword=keyword, option=option, parameter=flag.strip("-"), read=read)
