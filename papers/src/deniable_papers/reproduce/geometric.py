"""`deniable reproduce geometric`: tests the conjecture of the geometric paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from deniable.commands.shared import console, options
from deniable.commands.shared.options import COUNT, positive, whole
from deniable.formatting import format_count
from deniable_papers.reproduce import choices as studies


@click.command("geometric")
@studies.options(
    "40",
    "Make only 3 runs, up to n = 4, with uniform people, unless others are named.",
    options.numbers_option("--n", whole, "The largest values.  [default: 2,4,8,20,100]"),
    options.numbers_option("--epsilons", positive, "The budgets of a step.  [default: 0.1,0.5,1,2]"),
    options.name_option("--prior", "How people are distributed: uniform, zipf, bimodal.  [default: all]"),
    options.name_option("--channel", "The channels, such as geometric,grr.  [default: all]"),
    click.option("--people", type=COUNT, default="10,000", show_default=True, help="The number of people."),
)
def reproduce_geometric(
    n: Sequence[int],
    epsilons: Sequence[float],
    prior: Sequence[str],
    channel: Sequence[str],
    people: int,
    choices: studies.Choices,
) -> None:
    """Does the geometric mechanism estimate best?

    Tests the conjecture of the geometric paper: that the truncated geometric mechanism estimates shares best
    at equal privacy. Every channel has a loss of at most epsilon between neighbors; the table says where it
    is less. It compares exact risks for many people with the best possible ones (up to n = 8), and with
    measured errors of the most likely shares. The conjecture is false for small epsilon, and true from 1 to 3
    on.
    """
    from deniable_papers.studies import geometric
    from deniable_papers.studies.plot import geometric as plot_geometric

    asked = {"ns": n, "epsilons": epsilons, "priors": prior, "channels": channel}
    few: dict[str, Any] = {"ns": geometric.QUICK_NS, "priors": ["uniform"]} if choices.quick else {}
    few |= {name: given for name, given in asked.items() if given}
    with console.progress("measuring") as show:
        runs = choices.runs or (geometric.QUICK_RUNS if choices.quick else geometric.RUNS)
        rows = list(geometric.reproduce(people=people, runs=runs, seed=choices.seed, progress=show, **few))
    if studies.write_measurements(choices, rows, plot_geometric.geometric_plot):
        return
    reasons = {
        reason: number
        for number, reason in enumerate(dict.fromkeys(row.unspent for row in rows if row.unspent), 1)
    }
    headers = [
        "prior",
        "n",
        "epsilon",
        "channel",
        "spent",
        "people x L2",
        "no channel below",
        "MSE",
        "W1",
        "KL",
    ]
    cells = [
        [
            *(row.prior, str(row.n), f"{row.epsilon:g}", row.channel),
            _format_spent(row.step_loss, row.epsilon, None if row.unspent is None else reasons[row.unspent]),
            console.short(row.l2) if row.refused is None else row.refused,
            console.short(row.best_l2),
            *(
                "-" if mean is None else console.with_error(mean, stderr)
                for mean, stderr in (
                    (row.mse, row.mse_stderr),
                    (row.w1, row.w1_stderr),
                    (row.kl_one_more, row.kl_one_more_stderr),
                )
            ),
        ]
        for row in rows
    ]
    title = (
        f"{rows[0].people:,} people, {format_count(rows[0].runs, 'run')}, seed {choices.seed}; "
        "most likely shares, certified to 1e-9"
    )
    console.print_table(title, headers, cells)
    for reason, number in reasons.items():
        named = dict.fromkeys(row.channel for row in rows if row.unspent == reason)
        click.echo(f"({number}) less than epsilon is spent ({', '.join(named)}): {reason}")
    if any(row.refused == geometric.UNDETERMINED for row in rows):
        click.echo(
            "infinite: the channel gives up some outputs, so that its reports do not determine the shares"
        )


def _format_spent(loss: float | None, epsilon: float, footnote: int | None) -> str:
    """What neighbors lose; which reason there is for its being less than epsilon."""
    if loss is None:
        return "-"
    return f"{epsilon:g}" if footnote is None else f"{loss:.3g} ({footnote})"
