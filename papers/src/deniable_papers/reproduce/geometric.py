"""Shows the conjecture of the geometric paper, tested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deniable.commands.shared import console
from deniable.commands.shared.options import whole
from deniable.formatting import format_count, format_percent
from deniable_papers.experiment import (
    Asked,
    Column,
    Experiment,
    Shown,
    Table,
    ask_count,
    ask_names,
    ask_numbers,
)
from deniable_papers.simulate.measure import with_error
from deniable_papers.studies import geometric
from deniable_papers.studies.geometric import ChannelPoint
from deniable_papers.studies.plot.geometric import geometric_plot


def _list_reasons(rows: Sequence[ChannelPoint]) -> dict[str, int]:
    """Why channels spend less than epsilon, each with the number of its footnote."""
    return {
        reason: number
        for number, reason in enumerate(dict.fromkeys(row.unspent for row in rows if row.unspent), 1)
    }


def _format_error(mean: float | None, stderr: float | None) -> str:
    return "-" if mean is None else with_error(mean, stderr)


def _list_tables(rows: Sequence[ChannelPoint], asked: Asked) -> list[Table]:
    reasons = _list_reasons(rows)

    def format_spent(row: ChannelPoint) -> str:
        """What neighbors lose; which reason there is for its being less than epsilon."""
        if row.step_loss is None:
            return "-"
        if row.unspent is None:
            return f"{row.epsilon:g}"
        return f"{row.step_loss:.3g} ({reasons[row.unspent]})"

    columns: tuple[Column, ...] = (
        ("prior", lambda row: row.prior),
        ("n", lambda row: str(row.n)),
        ("epsilon", lambda row: f"{row.epsilon:g}"),
        ("channel", lambda row: row.channel),
        ("spent", format_spent),
        ("people x L2", lambda row: console.short(row.l2) if row.refused is None else row.refused),
        ("no channel below", lambda row: console.short(row.best_l2)),
        ("guessed", lambda row: "-" if row.hits is None else format_percent(row.hits)),
        ("guess is off", lambda row: console.short(row.guess_distance)),
        ("MSE", lambda row: _format_error(row.mse, row.mse_stderr)),
        ("W1", lambda row: _format_error(row.w1, row.w1_stderr)),
        ("KL", lambda row: _format_error(row.kl_one_more, row.kl_one_more_stderr)),
    )
    title = (
        f"{rows[0].people:,} people, {format_count(rows[0].runs, 'run')}, seed {asked.seed}; "
        "most likely shares, certified to 1e-9"
    )
    return [Table(title=title, columns=columns, rows=rows)]


def _list_notes(rows: Sequence[Any], _asked: Asked) -> list[str]:
    notes = []
    for reason, number in _list_reasons(rows).items():
        named = dict.fromkeys(row.channel for row in rows if row.unspent == reason)
        notes.append(f"({number}) less than epsilon is spent ({', '.join(named)}): {reason}")
    if any(row.refused == geometric.UNDETERMINED for row in rows):
        notes.append(
            "infinite: the channel gives up some outputs, so that its reports do not determine the shares"
        )
    return notes


EXPERIMENT = Experiment(
    name="geometric",
    shows=(Shown("Geometric noise", "the conjecture that the truncated geometric mechanism is best"),),
    minutes=(2, 0.1),
    data="simulated",
    about="""Does the geometric mechanism estimate best?

    Tests the conjecture of the geometric paper: that the truncated geometric mechanism estimates shares best
    at equal privacy. Every channel has a loss of at most epsilon between neighbors; the table says where it
    is less. It compares exact risks for many people with the best possible ones (up to n = 8), and with
    measured errors of the most likely shares. The conjecture is false for small epsilon, and true from 1 to 3
    on. The risk of d-privacy is shown, too: how often an attacker who knows the prior guesses a value
    (guessed), and how many steps the best guess is off on average (guess is off).
    """,
    measure=geometric.reproduce,
    runs=(geometric.RUNS, geometric.QUICK_RUNS),
    quick_text="Make only 3 runs, up to n = 4, with uniform people, unless others are named.",
    sizes=(
        ask_numbers(
            "--n", "ns", "The largest values.  [default: 2,4,8,20,100]", whole, quick=geometric.QUICK_NS
        ),
        ask_numbers("--epsilons", "epsilons", "The budgets of a step.  [default: 0.1,0.5,1,2]"),
        ask_names(
            "--prior",
            "priors",
            "How people are distributed: uniform, zipf, bimodal.  [default: all]",
            quick=["uniform"],
        ),
        ask_names("--channel", "channels", "The channels, such as geometric,grr.  [default: all]"),
        ask_count("--people", "The number of people.", default="10,000", show_default=True),
    ),
    tables=_list_tables,
    draw=geometric_plot,
    notes=_list_notes,
)
