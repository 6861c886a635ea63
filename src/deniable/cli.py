"""Lists the verbs of the command line, loads the one that is called, and turns every refusal into one line.

Whatever is refused is one line on stderr that starts with `error:`, or a list below it. The exit code is 2 if
the command was called wrongly (an option, a number, a file that would be overwritten), 1 if what a file holds
is refused or cannot be read, 3 if a client fails its audit or a number that is watched moved, and 4 if an
audit is suspicious or a client does not conform.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn, TextIO, final

import click

from deniable import __version__
from deniable.errors import DeniableError, DeniableWarning, InvalidParameter

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VERBS = {
    "Design a study": {
        "init": "Write an example of a study.",
        "design": "Make a study on a local page.",
        "people": "Say how many people a study takes.",
        "advise": "Say what would make a study useful.",
        "plan": "Make a plan of a study, and explain it.",
        "texts": "Print a consent for a survey.",
    },
    "Collect reports": {
        "privatize": "Turn a file of answers into reports.",
        "serve": "Collect reports, with survey and dashboard.",
        "tokens": "Make invitations, remind, or withdraw them.",
        "rounds": "Show, open, close and schedule rounds.",
        "store": "Check or scrub collected reports.",
        "decode": "Turn the bytes of reports into a table.",
        "export": "Write reports, or the codebook of a plan.",
        "access": "Give colleagues access, or revoke it.",
        "demo": "Run the whole system on this machine.",
    },
    "Read results": {
        "tally": "Count new reports, and keep the tallies.",
        "estimate": "Estimate shares, with error bars.",
        "discover": "Find texts and codes that nobody listed.",
        "cross": "Show how one answer depends on another.",
        "watch": "Say whether a number moved on a day.",
    },
    "Check what is given away": {
        "verify": "Recompute what a plan gives away.",
        "attack": "Show what an attacker learns from reports.",
        "audit": "Test whether a client leaks too much.",
        "conform": "Test whether a client does what it should.",
    },
    "Do research": {
        "protocols": "List all protocols, with their numbers.",
        "simulate": "Measure protocols on simulated people.",
        "simulate-people": "Write simulated people, to train with.",
        "reproduce": "Reproduce the figures of papers.",
    },
}
"""The verbs by what they are for, each with the first sentence of its help.

A verb is in the file of its name in `commands`, or in another package. It is loaded only when it is called:
the list of verbs needs none of what they need.
"""

ELSEWHERE = ("simulate-people", "simulate", "reproduce")
"""The verbs of the package deniable-papers."""
_RETIRED = {"tour": "deniable tour is retired; its pictures are in the notebooks of docs/notebooks.md"}
_RETIRED_OPTIONS = {
    ("estimate", "--project"): "shown shares are possible ones; in Python, result[name].project('norm-sub')",
    ("estimate", "--recover"): "read the health of the reports, and worst cases by --fakes",
    ("estimate", "--target"): "read the health of the reports, and worst cases by --fakes",
}
"""What to do instead of each option of a verb that is gone."""


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
        text = _find_retired(problem) or problem.format_message().rstrip(".")
        _fail(f"{text}{'' if text.endswith('?') else ';'} see {path} --help", 2)
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


def _find_retired(problem: click.UsageError) -> str | None:
    """What to say about an option that is retired; a name that only looks like it would mislead."""
    if not isinstance(problem, click.NoSuchOption) or problem.ctx is None:
        return None
    verb, option = str(problem.ctx.info_name), problem.option_name
    instead = _RETIRED_OPTIONS.get((verb, option))
    return None if instead is None else f"{option} of deniable {verb} is retired; {instead}"


def _fail(message: str, code: int) -> NoReturn:
    lines = (" ".join(line.split()) for line in message.split("\n  "))  # a list within a message stays one
    print("error: " + "\n  ".join(lines), file=sys.stderr)
    raise SystemExit(code)


@final
class Shell(click.Group):
    """The verbs by what they are for, each loaded when it is called."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _RETIRED:
            raise InvalidParameter(_RETIRED[cmd_name])
        if cmd_name not in self.commands:
            return None
        if cmd_name in ELSEWHERE:
            from deniable.commands.shared.elsewhere import load_verb

            try:
                return load_verb(cmd_name)
            except InvalidParameter:
                if ctx.resilient_parsing:  # a line that is not yet sent is completed, and nothing is said
                    return None
                raise
        file = import_module(f"deniable.commands.{cmd_name.replace('-', '_')}")
        verbs = (member for member in vars(file).values() if isinstance(member, click.Command))
        return next(verb for verb in verbs if verb.name == cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, verbs in VERBS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(_WIDTH), sentence) for name, sentence in verbs.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        verbs = [
            CompletionItem(name, help=verb.short_help)
            for name, verb in self.commands.items()
            if name.startswith(incomplete)
        ]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)


_WIDTH = max(len(name) for verbs in VERBS.values() for name in verbs)  # one column for all groups


@click.group(
    cls=Shell,
    commands=[
        click.Command(name, short_help=sentence)
        for verbs in VERBS.values()
        for name, sentence in verbs.items()
    ],
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(__version__, prog_name="deniable")
@click.pass_context
def commands(context: click.Context) -> None:
    """Collect sensitive answers so that no single one can be held against anyone, and still know the totals.

    Every command prints its result. Many can also print it as JSON (--json), write it to a file (-o) or draw
    it (--plot). An existing file is overwritten only with --force. Exit codes: 0 done, 1 a file is refused, 2
    the command was called wrongly, 3 an audit failed, 4 an audit is suspicious (it shows far less than a
    right client would), or a client does not conform.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


if __name__ == "__main__":
    main()
