"""Reads and shows what the studies of estimation share: datasets, and errors with their standard errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deniable.errors import InvalidParameter, not_among
from deniable.formatting import format_count
from deniable_papers import data
from deniable_papers.experiment import Asked, Column, Size, ask_names, ask_people
from deniable_papers.simulate.measure import with_error

if TYPE_CHECKING:
    from deniable_papers.data import Dataset
    from deniable_papers.studies.sweep import Point

_Loaded = TypeVar("_Loaded")
QUICK_RUNS = 5
QUICK_TEXT = f"Make only {QUICK_RUNS} runs, on datasets that need no files."


def ask_datasets(text: str, usual: Sequence[str]) -> Size:
    """The options for datasets; those of --quick need no files."""
    quick = ("synthetic-1", "synthetic-5")
    named = ask_names("--dataset", "datasets", text, usual=usual, quick=quick, read=_load_when_needed)
    return ask_people(named, lambda path: [data.read_people(path)])


def _load_when_needed(names: Sequence[str]) -> Iterator[Dataset]:
    """Datasets that are read once they are looked at: a figure that is computed needs none."""
    yield from load_datasets(names)


def load_datasets(names: Sequence[str], known: Mapping[str, str] | None = None) -> list[Dataset]:
    """The datasets that are asked for, of which some may be known by other names here.

    A misspelled name is refused before any is read. A dataset whose file is missing is left out with a
    sentence on stderr, unless no other is left. A stand-in is named in the same way.
    """
    ours = dict(known or {name: name for name in data.NAMES})
    for name in names:
        if name not in ours:
            raise InvalidParameter(not_among(name, "a dataset of this study", ours))
    loaded = list(load_present(names, lambda name: data.load(ours[name])).values())
    for people in loaded:
        if "(" in people.name:
            click.echo(f"warning: {people.name} stands in for the whole: {people.source}", err=True)
    return loaded


def load_present(names: Sequence[str], load: Callable[[str], _Loaded]) -> dict[str, _Loaded]:
    """What is loaded by each name; one whose file is missing is left out, unless no other is left."""
    loaded, missing = dict[str, _Loaded](), list[str]()
    for name in dict.fromkeys(names):
        try:
            loaded[name] = load(name)
        except data.DataUnavailable as problem:
            missing.append(f"left out, {name}: {problem}")
    if missing and not loaded:
        raise data.DataUnavailable("\n  ".join(["no dataset of this study is here", *missing]))
    for sentence in missing:
        click.echo(sentence, err=True)
    return loaded


def format_title(rows: Sequence[Point], asked: Asked) -> str:
    """The line above the table."""
    return (
        f"{format_count(rows[0].runs, 'run')}, seed {asked.seed}; MSE_avg of the unbiased estimates, as the "
        "papers define it;\nprojected: of estimates clipped at 0 and scaled to a sum of one, as in the "
        "papers' code"
    )


def show_error(name: str) -> Callable[[Any], str]:
    """How an error of a point is shown, with its standard error."""

    def show(row: Point) -> str:
        if row.refused is not None:
            return "refused" if name == "mse_avg" else ""
        mean = getattr(row, name)
        return "" if mean is None else with_error(mean, getattr(row, f"{name}_stderr"))

    return show


def show_loss(name: str) -> Callable[[Any], str]:
    """How a loss is shown: four decimals, and nothing where there is none."""
    return lambda row: "" if getattr(row, name) is None else f"{getattr(row, name):.4f}"


ERRORS: tuple[Column, ...] = (
    ("MSE_avg", show_error("mse_avg")),
    ("projected", show_error("mse_avg_projected")),
)
