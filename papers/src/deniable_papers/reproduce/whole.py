"""Shows what whole reports with fakes say beyond their tallies."""

from __future__ import annotations

from collections.abc import Callable

from deniable.formatting import format_count, format_percent
from deniable_papers.experiment import Column, Experiment, Shown, Size, Table, ask_epsilons, ask_names
from deniable_papers.reproduce.sweeps import ask_datasets
from deniable_papers.studies import whole
from deniable_papers.studies.plot.whole import plot_gains
from deniable_papers.studies.whole import WholePoint

_QUICK_RUNS, _QUICK_PEOPLE, _QUICK_EPSILONS = 2, 5000, (1.0, 4.0)


def _is_measured(row: WholePoint) -> bool:
    return row.refused is None and row.gain is not None


def _show_error(name: str) -> Callable[[WholePoint], str]:
    return lambda row: f"{getattr(row, name):.3g}" if _is_measured(row) else ""


def _show_percent(name: str) -> Callable[[WholePoint], str]:
    return lambda row: format_percent(getattr(row, name), 1) if _is_measured(row) else ""


def _show_gain(row: WholePoint) -> str:
    if row.gain is None or row.refused is not None:
        return ""
    reach = "" if row.gain_stderr is None else f" +- {100 * row.gain_stderr:.0f}"
    return f"{round(100 * row.gain)}{reach} %"


_COLUMNS: tuple[Column, ...] = (
    ("dataset", lambda row: row.dataset),
    ("method", lambda row: row.method),
    ("epsilon", lambda row: f"{row.epsilon:g}"),
    ("unbiased", lambda row: f"{row.mse_unbiased:.3g}" if _is_measured(row) else "refused"),
    ("composite", _show_error("mse_composite")),
    ("whole", _show_error("mse_whole")),
    ("gain", _show_gain),
    ("variance", _show_percent("variance_gain")),
    ("held", _show_percent("held")),
)

EXPERIMENT = Experiment(
    name="whole",
    shows=(Shown("This project", "whole reports of RS+FD, RS+RFD and ALLOMFREE"),),
    minutes=(10, 0.5),
    data="adult, ms-fimu; or your own",
    about="""Whole reports against their tallies.

    Reads the same reports of RS+FD and RS+RFD attribute by attribute and as a whole, and those of ALLOMFREE
    round by round and person by person. Measures what the most likely shares gain.
    """,
    measure=whole.reproduce,
    runs=(whole.RUNS, _QUICK_RUNS),
    quick_text=f"Make only {_QUICK_RUNS} runs at two epsilons, on {_QUICK_PEOPLE:,} people who need no "
    "files.",
    sizes=(
        ask_datasets("The datasets.  [default: adult, ms-fimu]", whole.DATASETS),
        ask_names("--method", "methods", "The ways to report.  [default: all]"),
        ask_epsilons(whole.EPSILONS, _QUICK_EPSILONS),
        Size(keyword="most", quick=_QUICK_PEOPLE),
    ),
    tables=lambda rows, asked: [
        Table(
            title=f"{format_count(asked.runs, 'run')}, seed {asked.seed}; mean squared errors of a share\n"
            "gain: the part of the composite error that whole reports take away; variance: the same of "
            "stated\n"
            "variances; held: how often 95 % intervals from whole reports hold the share",
            columns=_COLUMNS,
            rows=rows,
        )
    ],
    draw=plot_gains,
    refusals=lambda row: row.method,
)
