"""`deniable simulate`: measures protocols on simulated people, or on a column of data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import final

import click

from deniable.commands.shared import console, options, writing
from deniable.commands.shared.console import short
from deniable.commands.shared.options import FILE, WHOLE, as_request, option, real, taken, whole
from deniable.errors import DeniableError, InvalidParameter
from deniable.estimate.consistency import NAMES as STEPS
from deniable.formatting import format_percent
from deniable.mechanisms import PROTOCOLS
from deniable_papers.simulate.measure import SweepCell, sweep, with_error
from deniable_papers.simulate.population import POPULATIONS, Population, named_population, read_column

_FEW = ("grr", "oue", "olh", "ss", "hr")


@final
@dataclass(frozen=True)
class SimulateRequest:
    """The protocols to measure, on whom, and how to show what is measured."""

    protocol: list[str] = taken(
        options.name_option(
            "--protocol",
            "The protocols, or all; also those for ordered values and for asking again, named above.",
            default=_FEW,
        )
    )
    epsilon: list[float] = taken(
        options.numbers_option("--epsilon", real, "The privacy budgets.", default=["1.0"])
    )
    k: list[int] = taken(options.numbers_option("--k", whole, "The numbers of values.  [default: 100]"))
    n: list[int] = taken(
        options.numbers_option("--n", whole, "The numbers of people, such as 1e6.  [default: 1e4]")
    )
    population: str | None = option(
        "--population",
        metavar="NAME",
        help=f"One of {', '.join(POPULATIONS)}; zipf:1.5 sets its number.  [default: zipf]",
    )
    data: Path | None = option(
        "--data", type=FILE, help="A CSV file with a header, instead of simulated people."
    )
    column: str | None = option(
        "--column",
        metavar="COLUMN",
        help="The column of the file: its people, or --n people drawn from them.",
    )
    repeats: int = option("--repeats", type=WHOLE, default="20", help="How often to measure each cell.")
    seed: int = option("--seed", type=WHOLE, default="1", help="The seed of everything random.")
    project: str | None = option(
        "--project",
        metavar="STEP",
        help=f"Measure the errors after a consistency step: {', '.join(STEPS)}.",
    )
    out: Sequence[Path] = taken(writing.out)
    as_json: bool = taken(console.as_json)
    plot_files: Sequence[Path] = taken(writing.plot("error against epsilon"))
    plot_attack_files: Sequence[Path] = taken(writing.plot("attack success against epsilon", "--plot-attack"))
    force: bool = taken(console.force)


@click.command("simulate")
@as_request(SimulateRequest)
def run_sweep(request: SimulateRequest) -> None:
    """Measure protocols on simulated people.

    With --data and --column, people are those of a file. Options with several values take commas, or may be
    repeated: --epsilon 0.5,1,2 --epsilon 4.

    All errors are those of estimated shares, averaged over the repeats: mse (squared, averaged over the
    values), max error, total variation, wasserstein (for ordered values, in steps from one value to the next)
    and kl (in nats). They are from the shares among the people asked. With --project they are measured after
    that step. Expected mse and coverage are always those of the unbiased estimates.

    Coverage is how many 95 % intervals hold the true shares of the population that people are drawn from.
    Where all people of a file are asked, it is of these people, and intervals hold more often than they say:
    they allow for a sample.

    Ordered values also have geometric, exponential, tight_constraints and square_wave. The epsilon of
    geometric is per step from one value to the next; `loss` is that of any two values.

    For asking again there are l_grr, l_sue, l_oue, l_osue, l_soue, loloha and dbitflip. Epsilon bounds all
    reports of one value (epsilon_infinity), and half of it one report (epsilon_1), whose loss and error are
    shown. dbitflip spends all of it at once.
    """
    writing.check(request.out, (*request.plot_files, *request.plot_attack_files), request.force)
    names = list(PROTOCOLS) if "all" in request.protocol else list(dict.fromkeys(request.protocol))
    make, ks, ns = _choose_people(request)
    with console.progress("simulating") as show:
        rows = list(
            sweep(names, request.epsilon, ks, ns, make, request.repeats, request.seed, request.project, show)
        )
    console.refuse_if_all_refused([row.refused for row in rows])
    measured = [asdict(row) for row in rows]
    writing.write_tables(request.out, measured, measured)
    _draw_plots(rows, request.plot_files, request.plot_attack_files)
    if request.as_json:
        console.print_json(measured)
        return
    first = rows[0]
    step = f", errors after {request.project} (expected mse and coverage before)" if request.project else ""
    covered = next((row.coverage_of for row in rows if row.coverage_of), "population")
    whose = "the population" if covered == "population" else "the people themselves"
    title = (
        f"population {first.population}, {request.repeats:,} repeats, seed {request.seed}{step}; "
        f"coverage is of the shares of {whose}; blind guess 1 / k"
    )
    console.print_table(
        title, ["protocol", "epsilon", "k", "n", *_MEASURED], [_format_cells(row) for row in rows]
    )
    console.print_refusals((row.protocol, row.refused) for row in rows)
    steps = dict.fromkeys(
        row.protocol for row in rows if row.unit_loss is not None and (row.loss or 0) > row.unit_loss
    )
    if steps:
        click.echo(
            f"{', '.join(steps)}: epsilon is per step from one value to the next; loss is that of any two "
            "values"
        )


_MEASURED: dict[str, Callable[[SweepCell], str]] = {
    "mse": lambda row: with_error(row.metrics["mse"].mean, row.metrics["mse"].stderr),
    "expected mse": lambda row: short(row.expected_mse),
    "coverage": lambda row: format_percent(row.metrics["coverage"].mean),
    "best guess": lambda row: format_percent(row.success),
    "bytes": lambda row: str(row.report_bytes),
    "max error": lambda row: short(row.metrics["max_error"].mean),
    "total variation": lambda row: short(row.metrics["total_variation"].mean),
    "wasserstein (steps)": lambda row: short(row.metrics["wasserstein"].mean),
    "kl (nats)": lambda row: short(row.metrics["kl"].mean),
    "loss": lambda row: "none" if row.loss is None else f"{row.loss:.6f}",
    "drawn": lambda row: row.drawn or "",
}
"""What the table shows of a row, the most wanted first: a narrow terminal leaves out the last ones."""


def _format_cells(row: SweepCell) -> list[str]:
    measured = ["refused"] if row.refused else [show(row) for show in _MEASURED.values()]
    setting = [row.protocol, f"{row.epsilon:g}", f"{row.k:,}", f"{row.n:,}"]
    return [*setting, *measured, *[""] * (len(_MEASURED) - len(measured))]


def _choose_people(
    request: SimulateRequest,
) -> tuple[Callable[[int], Population], list[int], Sequence[int | None]]:
    """Simulated people, or those of a file, with the k and n that go with them."""
    population, data, column = request.population, request.data, request.column
    if data is None and column is None:
        make = named_population(population or "zipf", request.seed)
        return make, request.k or [100], request.n or [10_000]
    if data is None or column is None:
        raise click.UsageError(
            "--data and --column go together: a CSV file and the name of one of its columns"
        )
    if population is not None or request.k:
        raise click.UsageError("--data brings its own people and values; leave out --population and --k")
    try:
        people = read_column(data, column)
    except InvalidParameter as problem:
        raise DeniableError(str(problem)) from None
    return (lambda _: people), [people.k], request.n or [None]


def _draw_plots(rows: Sequence[SweepCell], error_files: Sequence[Path], attack_files: Sequence[Path]) -> None:
    from deniable_papers.simulate import plot

    for files, draw in ((error_files, plot.error_plot), (attack_files, plot.attack_plot)):
        writing.save_plots(files, partial(draw, rows))
