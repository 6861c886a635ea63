"""`deniable reproduce`: lists, finds and reproduces the figures of papers, and shows the true losses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import final

import click

from deniable.commands.shared import console, writing
from deniable.errors import DeniableError
from deniable_papers.experiment import Experiment
from deniable_papers.reproduce import (
    allomfree,
    crosstabs,
    demand,
    discovery,
    fairness,
    forecasting,
    geometric,
    learning,
    mobility,
    poisoning,
    ranges,
    response_time,
    revisited,
    risks,
    rsfd,
    shuffle,
    synthetic_mobility,
    whole,
)
from deniable_papers.reproduce.index import find_entries, list_entries, print_entries
from deniable_papers.reproduce.runner import Choices, format_duration, make_command, run_experiment

STUDIES = (
    rsfd,
    allomfree,
    geometric,
    risks,
    revisited,
    poisoning,
    whole,
    crosstabs,
    discovery,
    ranges,
    shuffle,
    forecasting,
    demand,
    response_time,
    mobility,
    synthetic_mobility,
    fairness,
    learning,
)
EXPERIMENTS: dict[str, Experiment] = {study.EXPERIMENT.name: study.EXPERIMENT for study in STUDIES}
ENTRIES = list_entries(EXPERIMENTS.values())


@final
class Papers(click.Group):
    """The commands of papers in their order; any other words are looked for among the figures."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, as they were added."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of this name, or one that prints the figures that the words mean."""
        if args[0] in self.commands or args[0].startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        entries = find_entries(ENTRIES, " ".join(args))
        search = click.Command("search", callback=lambda: print_entries(entries, "to reproduce it:"))
        return search.name, search, []


@click.group("reproduce", cls=Papers, invoke_without_command=True)
@click.option("--all", "everything", is_flag=True, help="Run all commands, one after the other.")
@click.option("--quick", is_flag=True, help="With --all, run each as with its --quick: about 10 minutes.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="With --all, write each table (.csv) and each plot (.png) there.",
)
@console.force
@click.pass_context
def reproduce_paper(
    context: click.Context, everything: bool, quick: bool, folder: Path | None, force: bool
) -> None:
    """Reproduce the figures of papers.

    The true losses are shown next to what the papers state. Without a command, all figures are listed, each
    with its command, about how many minutes it takes, and the data that it needs. A figure is found by words:
    deniable reproduce "RS+FD figure 8".
    """
    if context.invoked_subcommand is not None:
        if everything or quick or folder is not None or force:
            raise click.UsageError("--all, --quick, --folder and --force go without a command, or behind it")
        return
    if not everything:
        if quick or folder is not None:
            raise click.UsageError("--quick and --folder need a command, or --all")
        print_entries(ENTRIES, "papers, their figures and tables, and how to reproduce them")
        click.echo('find one: deniable reproduce "RS+FD figure 8"; run all: deniable reproduce --all --quick')
        return
    writing.check_folder(folder, force)
    outcomes = list(_run_all(quick, folder))
    console.print_table("all commands", ["deniable reproduce", "took", "what happened"], outcomes)
    failed = sum(outcome != "done" for _, _, outcome in outcomes)
    if failed:
        raise DeniableError(f"{failed} of {len(outcomes)} commands did not end; the table says why")


def _run_all(quick: bool, folder: Path | None) -> Iterator[tuple[str, str, str]]:
    """Runs every command; one that cannot is said to, and the others are run all the same."""
    for name, experiment in EXPERIMENTS.items():
        click.echo(f"\n# deniable reproduce {name}{' --quick' if quick else ''}")
        began, outcome = time.monotonic(), "done"
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        choices = Choices(
            runs=None,
            seed=1,
            out=[] if folder is None else [folder / f"{name}.csv"],
            as_json=False,
            plot_files=[] if folder is None else [folder / f"{name}.png"],
            figure_folder=None,
            force=True,
            quick=quick,
        )
        try:
            run_experiment(experiment, choices, _defaults(name))
        except DeniableError as problem:
            outcome = str(problem)
            click.echo(f"left out: {problem}", err=True)
        yield name, format_duration(time.monotonic() - began), outcome


def _defaults(name: str) -> dict[str, object]:
    """What the options of a command are where none is given."""
    with reproduce_paper.commands[name].make_context(name, []) as context:
        return {
            key: value for key, value in context.params.items() if key not in Choices.__dataclass_fields__
        }


for _experiment in EXPERIMENTS.values():
    reproduce_paper.add_command(make_command(_experiment))
