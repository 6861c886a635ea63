"""`deniable reproduce poisoning`: reproduces the attacks by made-up reports, and tries each defense."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, options
from deniable.commands.shared.options import COUNT
from deniable.formatting import format_count, format_percent
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.points import budgets

if TYPE_CHECKING:
    from deniable_papers.studies.poisoning import PoisoningPoint

_SHOWN = 60  # lines of a table; all rows are in --json and -o


@click.command("poisoning")
@studies.options(
    "10",
    "Try one epsilon and few runs. Takes half a minute.",
    click.option(
        "--dataset",
        type=click.Choice(["adult", "zipf"]),
        default="zipf",
        show_default=True,
        help="The values: Adult's ages, or those of simulated people.",
    ),
    options.name_option("--protocol", "The protocols.  [default: all]"),
    budgets,
    click.option("--users", type=COUNT, help="Ask only this number of honest people.  [default: 10,000]"),
)
def reproduce_poisoning(
    dataset: str,
    protocol: list[str],
    epsilons: list[float],
    users: int | None,
    choices: studies.Choices,
) -> None:
    """Made-up reports against each defense.

    5 % of the reports push 1 or 10 targets of 100 values, by the published attacks. RPA sends random reports,
    RIA false answers through the mechanism, MGA reports that support as many targets as it finds. MAX
    supports all of them, where MGA finds fewer. The gain is how much the shares of all targets together grow,
    in points: `expected` by the law, `published` by the paper, and measured. `worst case` says how often the
    interval of a target for 5 % of fakes holds the truth. `recovered` and `norm-sub` are gains that remain.
    With the attack `none` all people are honest. A second table says what recovery leaves of MGA if its
    statement is wrong: half or twice the share of fakes, or false answers as their model.
    """
    from deniable import data
    from deniable_papers.studies import poisoning
    from deniable_papers.studies.plot.poisoning import poisoning_plot

    people = data.load("adult-10") if dataset == "adult" else None
    with console.progress("measuring") as show:
        rows = studies.keep_rows(
            choices,
            poisoning.reproduce(
                people,
                protocol or None,
                epsilons or (poisoning.QUICK_EPSILONS if choices.quick else poisoning.EPSILONS),
                runs=choices.runs or (poisoning.QUICK_RUNS if choices.quick else poisoning.RUNS),
                users=users,
                seed=choices.seed,
                progress=studies.announce_duration(show),
            ),
        )
    if people is not None:
        studies.warn_if_fewer(users, people.n, dataset, "asked")
    if studies.write_rows(choices, rows, poisoning_plot):
        return
    _print_rows(rows)


def _print_rows(rows: Sequence[PoisoningPoint]) -> None:
    from deniable_papers.studies.poisoning import FAKES, HALF

    first = rows[0]
    about = f"{first.dataset}, k = {first.k}, {first.n:,} honest people, {format_percent(FAKES)} of fakes"
    groups: dict[tuple[str, float, int, str], dict[str, PoisoningPoint]] = {}
    for row in rows:
        if row.refused is None:
            by_defense = groups.setdefault((row.protocol, row.epsilon, row.targets, row.attack), {})
            by_defense[row.defense] = row
    lines = [_format_line(some) for some in groups.values() if "nothing" in some]
    shown = lines if len(lines) <= _SHOWN else [line for line in lines if line[3] == "MGA"]
    headers = ["protocol", "epsilon", "targets", "attack", "gain", "expected", "published", "alarmed"]
    headers += ["worst case", "recovered", "norm-sub"]
    runs = f"{format_count(first.runs, 'run')}, seed {first.seed}; gains in points"
    console.print_table(f"{about}; {runs}", headers, shown)
    if len(shown) < len(lines):
        click.echo(
            f"\u2026 and {len(lines) - len(shown):,} of other attacks; -o writes all, and --json prints them"
        )
    _print_wrong_statements([some for some in groups.values() if HALF in some])
    for row in rows:
        if row.defense.startswith("planner") and row.attack == "MGA":
            chosen = row.refused or f"chooses {row.protocol}, where MGA gains {_points(row.gain)} points"
            what = f"epsilon {row.epsilon:g}, {format_count(row.targets, 'target')}"
            click.echo(f"{row.defense} ({what}): {chosen}")
    for attack, note in dict.fromkeys((row.attack, row.note) for row in rows if row.note is not None):
        click.echo(f"note ({attack}): {note}")
    click.echo(
        "not done: the paper's search for fake users by frequent itemsets; pairs of values are checked"
    )
    console.print_refusals((row.protocol, row.refused) for row in rows if row.defense == "nothing")


def _print_wrong_statements(groups: Sequence[Mapping[str, PoisoningPoint]]) -> None:
    """What recovery leaves of the gain of MGA, if the operator states another share or model of fakes."""
    from deniable_papers.studies.poisoning import HALF, OTHER, TWICE

    lines = []
    for some in groups:
        row = some["nothing"]
        if row.attack == "MGA":
            left = [_points(some[name].gain) for name in (HALF, TWICE, OTHER)]
            about = [row.protocol, f"{row.epsilon:g}", str(row.targets)]
            lines.append([*about, _points(row.gain), _points(_recovered(some)), *left])
    headers = ["protocol", "epsilon", "targets", "gain", "recovered", "half stated", "twice stated"]
    title = "MGA, if recovery is told a wrong share or model of the fakes; gains in points"
    console.print_table(title, [*headers, "wrong model"], lines)


def _recovered(by_defense: Mapping[str, PoisoningPoint]) -> float | None:
    """What is left of the gain if the statement is right; None where no model is."""
    found = [one.gain for name, one in by_defense.items() if name.startswith("recovery, ")]
    return found[0] if len(found) == 1 else None


def _format_line(by_defense: Mapping[str, PoisoningPoint]) -> list[str]:
    row = by_defense["nothing"]
    return [
        row.protocol,
        f"{row.epsilon:g}",
        str(row.targets),
        row.attack,
        _points(row.gain) if row.stderr is None else f"{_points(row.gain)} +- {_points(row.stderr)}",
        _points(row.expected),
        _points(row.published),
        _percent(row.alarmed),
        _percent(by_defense["worst case"].covered),
        _points(_recovered(by_defense)),
        _points(by_defense["norm-sub"].gain),
    ]


def _points(share: float | None) -> str:
    return "" if share is None else f"{round(100 * share, 1) + 0.0:.1f}"  # never -0.0


def _percent(share: float | None) -> str:
    return "" if share is None else format_percent(share)
