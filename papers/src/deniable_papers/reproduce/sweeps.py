"""Reads and shows what the studies of estimation share: datasets, and errors with their standard errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from deniable.commands.shared import console
from deniable.errors import InvalidParameter, not_among
from deniable.formatting import format_count
from deniable_papers import data
from deniable_papers.experiment import Asked, Column, Size, ask_names

if TYPE_CHECKING:
    from deniable_papers.data import Dataset
    from deniable_papers.studies.sweep import Point

QUICK_RUNS = 5
QUICK_TEXT = f"Make only {QUICK_RUNS} runs, on datasets that need no files."


def ask_datasets(text: str, usual: Sequence[str]) -> Size:
    """The option for datasets; those of --quick need no files."""
    quick = ("synthetic-1", "synthetic-5")
    return ask_names("--dataset", "datasets", text, usual=usual, quick=quick, read=load_datasets)


def load_datasets(names: Sequence[str]) -> list[Dataset]:
    """The datasets that are asked for; one that is misspelled is refused before any is read."""
    for name in names:
        if name not in data.NAMES:
            raise InvalidParameter(not_among(name, "a dataset", data.NAMES))
    return [data.load(name) for name in dict.fromkeys(names)]


def format_title(rows: Sequence[Point], asked: Asked) -> str:
    """The line above the table."""
    errors = "MSE_avg of estimates clipped at 0 and scaled to a sum of one, as in the papers' code"
    return f"{format_count(rows[0].runs, 'run')}, seed {asked.seed}; {errors}"


def show_error(name: str) -> Callable[[Any], str]:
    """How an error of a point is shown, with its standard error."""

    def show(row: Point) -> str:
        if row.refused is not None:
            return "refused" if name == "mse_avg" else ""
        mean = getattr(row, name)
        return "" if mean is None else console.with_error(mean, getattr(row, f"{name}_stderr"))

    return show


def show_loss(name: str) -> Callable[[Any], str]:
    """How a loss is shown: four decimals, and nothing where there is none."""
    return lambda row: "" if getattr(row, name) is None else f"{getattr(row, name):.4f}"


ERRORS: tuple[Column, ...] = (("MSE_avg", show_error("mse_avg")), ("unbiased", show_error("mse_avg_raw")))
