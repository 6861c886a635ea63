"""The command line: reads what was asked, calls the rooms below, prints tables or JSON.

Whatever is refused is one line on stderr that starts with `error:`, or a list below it. The exit code is 2 if
the command was called wrongly (an option, a number, a file that would be overwritten), 1 if what a file holds
is refused or cannot be read, and 3 if a client fails its audit.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from deniable import __version__
from deniable.commands import console
from deniable.commands.attack import attack_plan
from deniable.commands.audit import COMMANDS as AUDITING
from deniable.commands.console import FILE, one, whole
from deniable.commands.demo import run_demo
from deniable.commands.estimate import estimate_file
from deniable.commands.plan import COMMANDS
from deniable.commands.protocols import list_protocols
from deniable.commands.reproduce import reproduce
from deniable.commands.reproduce_attacks import reproduce_revisited, reproduce_risks
from deniable.commands.rounds import COMMANDS as ROUNDS
from deniable.commands.serve import COMMANDS as SERVING
from deniable.commands.simulate import run_sweep
from deniable.commands.store import COMMANDS as STORING
from deniable.errors import DeniableError, InvalidParameter

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


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="deniable")
@click.pass_context
def commands(context: click.Context) -> None:
    """Collect sensitive answers so that no single one can be held against anyone, and still know the totals.

    Commands with a result print it; --json prints it as JSON, -o writes it to a file, and --plot draws it,
    where a command has these. A file that is there is overwritten only with --force. Exit codes: 0 done, 1 a
    file is refused, 2 the command was called wrongly, 3 an audit failed.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (
    *COMMANDS,
    estimate_file,
    *SERVING,
    *ROUNDS,
    *STORING,
    *AUDITING,
    attack_plan,
    list_protocols,
    run_sweep,
    run_demo,
    reproduce,
):
    commands.add_command(_command)
for _command in (reproduce_risks, reproduce_revisited):
    reproduce.add_command(_command)


@commands.command("tour")
@click.option(
    "-o", "--out", type=FILE, help=f"The page.  [default: {_PAGE}, which is written anew each time]"
)
@click.option("--seed", callback=one(whole), help="Make it reproducible.")
@console.force
def show_story(out: Path | None, seed: int | None, force: bool) -> None:
    """Tell one complete story, with a page of plots.

    Invented people answer a question; you see a report, the estimates, the exact loss and an attacker's
    success.
    """
    from deniable.demo import tour
    from deniable.tables import replacing

    page = _PAGE if out is None else out
    console.refuse_existing([page], overwrite=force or out is None)
    sections = tour.tell(seed)
    with replacing(page) as temporary:
        tour.write_page(sections, temporary)
    tour.print_story(sections, console.console())
    click.echo(f"\nThe same with plots: {page}")


if __name__ == "__main__":
    main()
