"""The command line: reads what was asked, calls the rooms below, prints tables or JSON.

Whatever is refused is one line on stderr that starts with `error:`, or a list below it. The exit code is 2 if the command
was called wrongly (an option, a number, a file that would be overwritten), 1 if what a file holds is refused or cannot be
read, and 3 if a client fails its audit.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click

from deniable import __version__, consistency
from deniable.commands import console, writing
from deniable.commands.attack import attack_plan
from deniable.commands.audit import COMMANDS as AUDITING
from deniable.commands.console import FILE, one, percent, real, several, short, whole
from deniable.commands.demo import run_demo
from deniable.commands.estimate import estimate_file
from deniable.commands.plan import COMMANDS
from deniable.commands.reproduce import reproduce
from deniable.commands.reproduce_attacks import reproduce_revisited, reproduce_risks
from deniable.commands.rounds import COMMANDS as ROUNDS
from deniable.commands.serve import COMMANDS as SERVING
from deniable.commands.store import COMMANDS as STORING
from deniable.errors import DeniableError, InvalidParameter, NotExact
from deniable.population import POPULATIONS, Population, named_population, read_column
from deniable.protocols import PROTOCOLS, Protocol, lh, rr, ue
from deniable.simulate import Row, sweep

_FEW = ("grr", "oue", "olh", "ss", "hr")
_FAMILIES = (ue, lh, rr)  # they take more, or less, than k and epsilon
_PAGE = Path("out/tour.html")


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: everything that is refused ends here."""
    try:
        commands.main(args=arguments, prog_name="deniable", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        _fail("stopped", 130)
    except click.UsageError as problem:
        path = problem.ctx.command_path if problem.ctx else "deniable"
        _fail(f"{problem.format_message().rstrip('.')}; see {path} --help", 2)
    except DeniableError as problem:
        _fail(str(problem), 2 if isinstance(problem, InvalidParameter) else 1)
    except OSError as problem:
        _fail(f"cannot use {problem.filename}: {problem.strerror}" if problem.filename else str(problem), 1)
    except MemoryError:
        _fail("there is not enough memory for this; ask for fewer people, values or reports", 1)


def _fail(message: str, code: int) -> NoReturn:
    lines = (" ".join(line.split()) for line in message.split("\n  "))  # a list within a message stays one
    print("error: " + "\n  ".join(lines), file=sys.stderr)
    raise SystemExit(code)


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="deniable")
@click.pass_context
def commands(context: click.Context) -> None:
    """Collect sensitive answers so that no single one can be held against anyone, and still know the totals.

    Commands with a result print it; --json prints it as JSON, -o writes it to a file, and --plot draws it, where a command
    has these. A file that is there is overwritten only with --force. Exit codes: 0 done, 1 a file is refused, 2 the command
    was called wrongly, 3 an audit failed.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (*COMMANDS, estimate_file, *SERVING, *ROUNDS, *STORING, *AUDITING, attack_plan, run_demo, reproduce):
    commands.add_command(_command)
for _command in (reproduce_risks, reproduce_revisited):
    reproduce.add_command(_command)


@commands.command("protocols")
@click.option("--k", callback=one(whole), default="100", show_default=True, help="Number of possible values.")
@click.option("--epsilon", callback=one(real), default="1.0", show_default=True, help="Privacy budget of one report.")
@click.option("--n", callback=one(whole), default="10_000", show_default=True, help="Number of people, for the variance.")
@writing.out
@console.as_json
@console.force
def list_protocols(k: int, epsilon: float, n: int, out: Sequence[Path], as_json: bool, force: bool) -> None:
    """List all protocols for one k and epsilon.

    The loss is exact. The variance is that of an estimated share that is truly 0. The best guess is that of an attacker
    who sees one report. Protocols that need a number besides k and epsilon are named below the table.
    """
    writing.check(out, (), force)
    facts = [_facts(protocol, k, epsilon, n) for protocol in PROTOCOLS.values()]
    _refuse_nothing_but_refusals([fact["refused"] for fact in facts])
    writing.write_tables(out, facts, facts)
    if as_json:
        console.print_json(facts)
        return
    headers = ["protocol", "p", "q", "loss", "variance", "best guess", "bytes", "what it does"]
    rows = [
        [fact["protocol"], "refused", *[""] * 5, fact["title"]]
        if fact["refused"]
        else [
            fact["protocol"],
            short(fact["p"]),
            short(fact["q"]),
            "none (research only)" if fact["loss"] is None else f"{fact['loss']:.6f}",
            short(fact["variance"]),
            percent(fact["success"]),
            str(fact["report_bytes"]),
            fact["title"],
        ]
        for fact in facts
    ]
    console.print_table(f"k = {k:,}, epsilon = {epsilon:g}, n = {n:,}; a blind guess is right {percent(1 / k)}", headers, rows)
    console.print_refusals((fact["protocol"], fact["refused"]) for fact in facts)
    page = console.console()
    page.print("\nMore in Python, with a number of your own or none to choose:")
    for family in _FAMILIES:
        called = f"dn.{family.__name__}({', '.join(inspect.signature(family).parameters)})"
        page.print(f"  {called:<21} {(family.__doc__ or '').splitlines()[0]}", markup=False)


def _facts(protocol: Protocol, k: int, epsilon: float, n: int) -> dict[str, Any]:
    asked = {"protocol": protocol.name, "title": protocol.title, "k": k, "epsilon": epsilon, "n": n, "baseline": 1 / max(k, 1)}
    known: dict[str, Any] = dict.fromkeys(("p", "q", "loss", "no_loss", "variance", "success", "report_bytes", "refused"))
    try:
        mechanism = protocol.make(k, epsilon)
        known |= {"p": mechanism.law.p, "q": mechanism.law.q, "variance": mechanism.law.variance(n)}
        known |= {"success": mechanism.success(), "report_bytes": mechanism.report_bytes}
        known["loss"] = mechanism.loss()
    except NotExact as problem:
        known["no_loss"] = str(problem)
    except InvalidParameter as problem:
        known = dict.fromkeys(known) | {"refused": str(problem)}
    return asked | known


@commands.command("simulate")
@click.option("--protocol", callback=several(str.strip), multiple=True, default=_FEW, show_default=True, help="Names, or all.")
@click.option("--epsilon", callback=several(real), multiple=True, default=["1.0"], show_default=True, help="Budgets.")
@click.option("--k", callback=several(whole), multiple=True, help="Numbers of values.  [default: 100]")
@click.option("--n", callback=several(whole), multiple=True, help="Numbers of people, such as 1e6.  [default: 10_000]")
@click.option("--population", help=f"One of {', '.join(POPULATIONS)}; zipf:1.5 sets its number.  [default: zipf]")
@click.option("--data", type=FILE, help="A CSV file with a header, instead of a population.")
@click.option("--column", help="The column of the file; its people are asked, or --n people drawn from them.")
@click.option("--repeats", callback=one(whole), default="20", show_default=True, help="How often each cell is done.")
@click.option("--seed", callback=one(whole), default="1", show_default=True, help="Everything is drawn from it.")
@click.option("--project", help=f"Measure the errors after a consistency step: {', '.join(consistency.NAMES)}.")
@writing.out
@console.as_json
@writing.plot("error against epsilon")
@writing.plot("attack success against epsilon", "--plot-attack")
@console.force
def run_sweep(
    protocol: list[str],
    epsilon: list[float],
    k: list[int],
    n: list[int],
    population: str | None,
    data: Path | None,
    column: str | None,
    repeats: int,
    seed: int,
    project: str | None,
    out: Sequence[Path],
    as_json: bool,
    plot_files: Sequence[Path],
    plot_attack_files: Sequence[Path],
    force: bool,
) -> None:
    """Measure protocols on invented people or on a column of data.

    Options with several values take commas, or may be given several times: --epsilon 0.5,1,2 --epsilon 4.

    All errors are those of estimated shares, averaged over the repeats: mse (squared, averaged over the values), max error,
    total variation, wasserstein (for ordered values, in steps from one value to the next) and kl (in nats). With --project
    they are measured after that step; expected mse and coverage are always those of the unbiased estimates.
    """
    writing.check(out, (*plot_files, *plot_attack_files), force)
    names = list(PROTOCOLS) if "all" in protocol else list(dict.fromkeys(protocol))
    make, ks, ns = _asked_people(population, data, column, k, n, seed)
    with console.progress("simulating") as show:
        rows = list(sweep(names, epsilon, ks, ns, make, repeats, seed, project, show))
    _refuse_nothing_but_refusals([row.refused for row in rows])
    measured = [asdict(row) for row in rows]
    writing.write_tables(out, measured, measured)
    _draw_plots(rows, plot_files, plot_attack_files)
    if as_json:
        console.print_json(measured)
        return
    first = rows[0]
    step = f", errors after {project} (expected mse and coverage before)" if project else ""
    title = f"population {first.population}, {repeats:,} repeats, seed {seed}{step}; blind guess 1 / k"
    console.print_table(title, ["protocol", "epsilon", "k", "n", *_MEASURED], [_cells(row) for row in rows])
    console.print_refusals((row.protocol, row.refused) for row in rows)


_MEASURED: dict[str, Callable[[Row], str]] = {
    "mse": lambda row: console.with_error(row.metrics["mse"].mean, row.metrics["mse"].stderr),
    "expected mse": lambda row: short(row.expected_mse),
    "coverage": lambda row: percent(row.metrics["coverage"].mean),
    "best guess": lambda row: percent(row.success),
    "bytes": lambda row: str(row.report_bytes),
    "max error": lambda row: short(row.metrics["max_error"].mean),
    "total variation": lambda row: short(row.metrics["total_variation"].mean),
    "wasserstein (steps)": lambda row: short(row.metrics["wasserstein"].mean),
    "kl (nats)": lambda row: short(row.metrics["kl"].mean),
    "loss": lambda row: "none" if row.loss is None else f"{row.loss:.6f}",
    "drawn": lambda row: row.drawn or "",
}
"""What the table shows of a row, the most wanted first: a narrow terminal leaves out the last ones."""


def _cells(row: Row) -> list[str]:
    measured = ["refused"] if row.refused else [show(row) for show in _MEASURED.values()]
    asked = [row.protocol, f"{row.epsilon:g}", f"{row.k:,}", f"{row.n:,}"]
    return [*asked, *measured, *[""] * (len(_MEASURED) - len(measured))]


def _asked_people(
    population: str | None, data: Path | None, column: str | None, k: list[int], n: list[int], seed: int
) -> tuple[Callable[[int], Population], list[int], Sequence[int | None]]:
    """Invented people, or those of a file, with the k and n that go with them."""
    if data is None and column is None:
        return named_population(population or "zipf", seed), k or [100], n or [10_000]
    if data is None or column is None:
        raise click.UsageError("--data and --column go together: a CSV file and the name of one of its columns")
    if population is not None or k:
        raise click.UsageError("--data brings its own people and values; leave out --population and --k")
    try:
        people = read_column(data, column)
    except InvalidParameter as problem:
        raise DeniableError(str(problem)) from None
    return (lambda _: people), [people.k], n or [None]


@commands.command("tour")
@click.option("-o", "--out", type=FILE, help=f"The page.  [default: {_PAGE}, which is written anew each time]")
@click.option("--seed", callback=one(whole), help="Make it reproducible.")
@console.force
def show_story(out: Path | None, seed: int | None, force: bool) -> None:
    """Tell one complete story, with a page of plots.

    Invented people answer a question; you see a report, the estimates, the exact loss and an attacker's success.
    """
    from deniable import tour
    from deniable.table import replacing

    page = _PAGE if out is None else out
    console.refuse_existing([page], overwrite=force or out is None)
    sections = tour.tell(seed)
    with replacing(page) as temporary:
        tour.write_page(sections, temporary)
    tour.print_story(sections, console.console())
    click.echo(f"\nThe same with plots: {page}")


def _draw_plots(rows: Sequence[Row], error_files: Sequence[Path], attack_files: Sequence[Path]) -> None:
    from deniable import plot

    for files, draw in ((error_files, plot.error_plot), (attack_files, plot.attack_plot)):
        writing.save_plots(files, partial(draw, rows))


def _refuse_nothing_but_refusals(reasons: Sequence[str | None]) -> None:
    if reasons and all(reasons):
        raise InvalidParameter(reasons[0] or "")


if __name__ == "__main__":
    main()
