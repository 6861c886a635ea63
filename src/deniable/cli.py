"""The command line: reads what was asked, calls the rooms below, prints tables or JSON.

Results go to stdout and nothing else does; progress and errors go to stderr. Whatever is refused is one line that
starts with `error:`, and exit code 2.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from deniable import __version__, consistency
from deniable.commands.plan import COMMANDS
from deniable.commands.reproduce import reproduce
from deniable.errors import DeniableError, InvalidParameter, NotExact
from deniable.population import MOST_PEOPLE, POPULATIONS, Population, named_population, read_column
from deniable.protocols import PROTOCOLS, Protocol
from deniable.simulate import Mean, Row, sweep

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_FEW = ("grr", "oue", "olh", "ss", "hr")
_TEXTS = ("protocol", "drawn", "what it does")  # columns of text, the others being numbers
_PIPE_WIDTH = 1000  # where no terminal folds it, a row of a table is one line


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: everything that is refused ends here, in one line."""
    try:
        commands.main(args=arguments, prog_name="deniable", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        _fail("stopped", 130)
    except click.UsageError as problem:
        path = problem.ctx.command_path if problem.ctx else "deniable"
        _fail(f"{problem.format_message().rstrip('.')}; see {path} --help")
    except DeniableError as problem:
        _fail(str(problem))
    except OSError as problem:
        _fail(f"cannot use {problem.filename}: {problem.strerror}" if problem.filename else str(problem))


def _fail(message: str, code: int = 2) -> NoReturn:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(code)


def _whole(text: str) -> int:
    """A whole number as people write them: 10000, 10_000, 1e4."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number.adjusted() > 18 or number != number.to_integral_value() or number > MOST_PEOPLE:
        raise click.BadParameter(f"{text!r} is not a whole number up to 10^18, such as 10000, 10_000 or 1e4")
    return int(number)


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number, such as 0.5 or 2") from None


def _one(read: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str], Any]:
    return lambda _context, _parameter, text: read(text)


def _several(read: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, Iterable[str]], list[Any]]:
    """Read an option that may be given several times, and may hold several things with commas between them."""
    return lambda _context, _parameter, texts: [read(part) for text in texts for part in text.split(",")]


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="deniable")
@click.pass_context
def commands(context: click.Context) -> None:
    """Collect sensitive answers so that no single one can be held against anyone, and still know the totals."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (*COMMANDS, reproduce):
    commands.add_command(_command)


@commands.command("protocols")
@click.option("--k", callback=_one(_whole), default="100", show_default=True, help="Number of possible values.")
@click.option("--epsilon", callback=_one(_real), default="1.0", show_default=True, help="Privacy budget of one report.")
@click.option("--n", callback=_one(_whole), default="10_000", show_default=True, help="Number of people, for the variance.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_protocols(k: int, epsilon: float, n: int, as_json: bool) -> None:
    """List all protocols for one k and epsilon.

    The loss is exact. The variance is that of an estimated share that is truly 0. The best guess is that of an attacker
    who sees one report.
    """
    facts = [_facts(protocol, k, epsilon, n) for protocol in PROTOCOLS.values()]
    _refuse_nothing_but_refusals([fact["refused"] for fact in facts])
    if as_json:
        _print_json(facts)
        return
    headers = ["protocol", "p", "q", "loss", "variance", "best guess", "bytes", "what it does"]
    rows = [
        [fact["protocol"], "refused", *[""] * 5, fact["title"]]
        if fact["refused"]
        else [
            fact["protocol"],
            _short(fact["p"]),
            _short(fact["q"]),
            "none (research only)" if fact["loss"] is None else f"{fact['loss']:.6f}",
            _short(fact["variance"]),
            _percent(fact["success"]),
            str(fact["report_bytes"]),
            fact["title"],
        ]
        for fact in facts
    ]
    _print_table(f"k = {k:,}, epsilon = {epsilon:g}, n = {n:,}; a blind guess is right {_percent(1 / k)}", headers, rows)
    _print_refusals((fact["protocol"], fact["refused"]) for fact in facts)


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
@click.option("--protocol", callback=_several(str.strip), multiple=True, default=_FEW, show_default=True, help="Names, or all.")
@click.option("--epsilon", callback=_several(_real), multiple=True, default=["1.0"], show_default=True, help="Budgets.")
@click.option("--k", callback=_several(_whole), multiple=True, help="Numbers of values.  [default: 100]")
@click.option("--n", callback=_several(_whole), multiple=True, help="Numbers of people, such as 1e6.  [default: 10_000]")
@click.option("--population", help=f"One of {', '.join(POPULATIONS)}; zipf:1.5 sets its number.  [default: zipf]")
@click.option("--data", type=click.Path(path_type=Path), help="A CSV file with a header, instead of a population.")
@click.option("--column", help="The column of the file; its people are asked, or --n people drawn from them.")
@click.option("--repeats", callback=_one(_whole), default="20", show_default=True, help="How often each cell is done.")
@click.option("--seed", callback=_one(_whole), default="1", show_default=True, help="Everything is drawn from it.")
@click.option("--project", help=f"Measure after a consistency step: {', '.join(consistency.NAMES)}.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--plot", "error_file", type=click.Path(path_type=Path), help="Draw error against epsilon (png, svg, pdf).")
@click.option("--plot-attack", "attack_file", type=click.Path(path_type=Path), help="Draw attack success against epsilon.")
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
    as_json: bool,
    error_file: Path | None,
    attack_file: Path | None,
) -> None:
    """Measure protocols on invented people or on a column of data.

    Options with several values take commas, or may be given several times: --epsilon 0.5,1,2 --epsilon 4.
    """
    _check_plots(error_file, attack_file)
    names = list(PROTOCOLS) if "all" in protocol else list(dict.fromkeys(protocol))
    make, ks, ns = _asked_people(population, data, column, k, n, seed)
    with _Progress() as progress:
        rows = list(sweep(names, epsilon, ks, ns, make, repeats, seed, project, progress.show))
    _refuse_nothing_but_refusals([row.refused for row in rows])
    _draw_plots(rows, error_file, attack_file)
    if as_json:
        _print_json([asdict(row) for row in rows])
        return
    first = rows[0]
    step = f", after {project}" if project else ""
    title = f"population {first.population}, {repeats:,} repeats, seed {seed}{step}; blind guess 1 / k"
    _print_table(title, ["protocol", "epsilon", "k", "n", *_MEASURED], [_cells(row) for row in rows])
    _print_refusals((row.protocol, row.refused) for row in rows)


_MEASURED: dict[str, Callable[[Row], str]] = {
    "mse": lambda row: _mean(row.metrics["mse"]),
    "expected mse": lambda row: _short(row.expected_mse),
    "coverage": lambda row: _percent(row.metrics["coverage"].mean),
    "best guess": lambda row: _percent(row.success),
    "bytes": lambda row: str(row.report_bytes),
    "max error": lambda row: _short(row.metrics["max_error"].mean),
    "total variation": lambda row: _short(row.metrics["total_variation"].mean),
    "wasserstein": lambda row: _short(row.metrics["wasserstein"].mean),
    "kl": lambda row: _short(row.metrics["kl"].mean),
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
    people = read_column(data, column)
    return (lambda _: people), [people.k], n or [None]


@commands.command("demo")
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/demo.html"), show_default=True, help="The page.")
@click.option("--seed", callback=_one(lambda text: None if text is None else _whole(text)), help="Make it reproducible.")
def show_story(out: Path, seed: int | None) -> None:
    """Tell one complete story, with a page of plots.

    Invented people answer a question; you see a report, the estimates, the exact loss and an attacker's success.
    """
    from deniable import demo

    sections = demo.tell(seed)
    page = demo.write_page(sections, out)
    demo.print_story(sections, _console())
    click.echo(f"\nThe same with plots: {page}")


def _check_plots(*files: Path | None) -> None:
    """Refuse what cannot be drawn before any work is done."""
    if any(files):
        from deniable import plot

        plot.require_matplotlib()
        for file in files:
            if file is not None:
                plot.checked_path(file)


def _draw_plots(rows: Sequence[Row], error_file: Path | None, attack_file: Path | None) -> None:
    from deniable import plot

    for file, draw in ((error_file, plot.error_plot), (attack_file, plot.attack_plot)):
        if file is not None:
            plot.save(draw(rows), file)
            click.echo(f"wrote {file}", err=True)


class _Progress:
    """A bar on stderr while there is a terminal to see it, gone when the work is done."""

    def __enter__(self) -> _Progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
        self._task = self._bar.add_task("simulating", total=None)
        self._bar.start()
        return self

    def show(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)

    def __exit__(self, *_problem: object) -> None:
        self._bar.stop()


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)


def _print_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """As many columns as the terminal has room for: a number is never folded or cut."""
    from rich.measure import Measurement

    console, shown = _console(), len(headers)
    room = console.options.update(width=_PIPE_WIDTH)
    while shown > 1 and Measurement.get(console, room, _table(headers, rows, shown)).minimum > console.width:
        shown -= 1
    console.print(title, markup=False)
    console.print(_table(headers, rows, shown))
    if shown < len(headers):
        click.echo(f"no room for: {', '.join(headers[shown:])}; widen the terminal or use --json")


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], shown: int) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 0, 0, 1))
    for header, *cells in list(zip(headers, *rows, strict=True))[:shown]:
        least = 30 if header == "what it does" else max(map(len, (header, *cells)))
        table.add_column(header, justify="left" if header in _TEXTS else "right", min_width=least)
    for row in rows:
        table.add_row(*map(Text, row[:shown]))
    return table


def _print_refusals(reasons: Iterable[tuple[str, str | None]]) -> None:
    """Each reason once, with all the protocols that gave it."""
    names: dict[str, dict[str, None]] = {}
    for name, reason in reasons:
        if reason is not None:
            names.setdefault(reason, {})[name] = None
    for reason, refused in names.items():
        click.echo(f"refused ({', '.join(refused)}): {reason}")


def _print_json(data: object) -> None:
    click.echo(json.dumps(data, indent=2, allow_nan=False))


def _refuse_nothing_but_refusals(reasons: Sequence[str | None]) -> None:
    if reasons and all(reasons):
        raise InvalidParameter(reasons[0] or "")


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.3g} %"


def _mean(measured: Mean) -> str:
    return _short(measured.mean) if measured.stderr is None else f"{measured.mean:.3g} +- {measured.stderr:.1g}"


if __name__ == "__main__":
    main()
