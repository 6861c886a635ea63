"""Reads what the studies of estimation share: datasets, runs, and errors as they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.commands.shared import console, options
from deniable.errors import InvalidParameter, not_among
from deniable.formatting import format_count
from deniable_papers.reproduce import choices as studies

if TYPE_CHECKING:
    from deniable.data.datasets import Dataset
    from deniable_papers.studies.sweep import Point

_QUICK_RUNS = 5

sweep_options = studies.options(
    "100",
    f"Make only {_QUICK_RUNS} runs, on datasets that need no files.",
    options.name_option("--dataset", "The datasets.  [default: all]"),
)


def choose_runs(choices: studies.Choices, usual: int) -> int:
    """How often each point is measured."""
    return choices.runs or (_QUICK_RUNS if choices.quick else usual)


def format_title(runs: int, seed: int) -> str:
    """The line above the table."""
    errors = "MSE_avg of estimates clipped at 0 and scaled to a sum of one, as in the papers' code"
    return f"{format_count(runs, 'run')}, seed {seed}; {errors}"


def load_datasets(asked: Sequence[str], usual: Sequence[str], quick: bool) -> list[Dataset]:
    """The datasets that are asked for; one that is misspelled is refused before any is read."""
    from deniable import data

    names = list(dict.fromkeys(asked))
    for name in names:
        if name not in data.NAMES:
            raise InvalidParameter(not_among(name, "a dataset", data.NAMES))
    return [data.load(name) for name in names or (("synthetic-1", "synthetic-5") if quick else usual)]


def format_errors(row: Point) -> list[str]:
    """The two errors of a point, with their standard errors."""
    if row.refused is not None:
        return ["refused", ""]
    pairs = (row.mse_avg, row.mse_avg_stderr), (row.mse_avg_raw, row.mse_avg_raw_stderr)
    return [console.with_error(mean, stderr) for mean, stderr in pairs if mean is not None]


def format_number(number: float | None) -> str:
    """Four decimals; nothing where there is no number."""
    return "" if number is None else f"{number:.4f}"
