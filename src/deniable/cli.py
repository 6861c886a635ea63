"""Lists the verbs of the command line, and turns every refusal into one line.

Whatever is refused is one line on stderr that starts with `error:`, or a list below it. The exit code is 2 if
the command was called wrongly (an option, a number, a file that would be overwritten), 1 if what a file holds
is refused or cannot be read, 3 if a client fails its audit, and 4 if its audit is suspicious.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn, TextIO

import click

from deniable import __version__
from deniable.commands.access import manage_access
from deniable.commands.attack import attack_plan
from deniable.commands.audit import audit_client
from deniable.commands.cross import read_cross
from deniable.commands.demo import run_demo
from deniable.commands.design import design_study
from deniable.commands.discover import discover_file
from deniable.commands.estimate import estimate_file
from deniable.commands.export import export_reports
from deniable.commands.init import write_example
from deniable.commands.people import size_study
from deniable.commands.plan import make_plan
from deniable.commands.privatize import privatize_file
from deniable.commands.protocols import list_protocols
from deniable.commands.reproduce import reproduce_paper
from deniable.commands.rounds import show_rounds
from deniable.commands.serve import run_collector
from deniable.commands.shared.options import InOrder
from deniable.commands.simulate import run_sweep
from deniable.commands.simulate_people import write_people
from deniable.commands.store import manage_store
from deniable.commands.tally import keep_tallies
from deniable.commands.texts import print_texts
from deniable.commands.tokens import make_tokens
from deniable.commands.tour import show_story
from deniable.commands.verify import verify_plan
from deniable.errors import DeniableError, DeniableWarning, InvalidParameter


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: everything that is refused ends here."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
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


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Our own warnings are sentences; others say where they come from."""
    text = warnings.formatwarning(message, category, filename, lineno, line)
    print(f"warning: {message}" if issubclass(category, DeniableWarning) else text, file=file or sys.stderr)


def _fail(message: str, code: int) -> NoReturn:
    lines = (" ".join(line.split()) for line in message.split("\n  "))  # a list within a message stays one
    print("error: " + "\n  ".join(lines), file=sys.stderr)
    raise SystemExit(code)


@click.group(
    cls=InOrder,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="deniable")
@click.pass_context
def commands(context: click.Context) -> None:
    """Collect sensitive answers so that no single one can be held against anyone, and still know the totals.

    Every command prints its result. Many can also print it as JSON (--json), write it to a file (-o) or draw
    it (--plot). An existing file is overwritten only with --force. Exit codes: 0 done, 1 a file is refused, 2
    the command was called wrongly, 3 an audit failed, 4 an audit is suspicious: it shows far less than a
    right client would.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _verb in (
    write_example,
    design_study,
    size_study,
    make_plan,
    print_texts,
    verify_plan,
    privatize_file,
    run_collector,
    make_tokens,
    show_rounds,
    manage_store,
    export_reports,
    manage_access,
    keep_tallies,
    estimate_file,
    discover_file,
    read_cross,
    write_people,
    attack_plan,
    audit_client,
    list_protocols,
    run_sweep,
    reproduce_paper,
    run_demo,
    show_story,
):
    commands.add_command(_verb)


if __name__ == "__main__":
    main()
