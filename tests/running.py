"""Commands, run in this process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from deniable import cli


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]
LIGHT_CLIENT = (
    "env",
    f"PYTHONPATH={Path(__file__).parents[1] / 'device' / 'src'}",
    sys.executable,
    "-m",
    "deniable_device",
)
"""The light device as a program of its own: its package need not be installed."""


def run_with(capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs a command and gives what it printed."""

    def call(*arguments: str) -> Outcome:
        return Outcome(exit_code(arguments), *capsys.readouterr())

    return call


def run_in(folder: Path, *arguments: str) -> Outcome:
    """Run a command in a folder: for fixtures that several tests share."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        code = exit_code(arguments)
    return Outcome(code, out.getvalue(), err.getvalue())


def exit_code(arguments: Sequence[str]) -> int:
    """Run a command, and give the code it ends with."""
    try:
        cli.main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0
