"""Commands, run in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from deniable import cli


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


def run_with(capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs a command and tells what it printed."""

    def call(*arguments: str) -> Outcome:
        code = 0
        try:
            cli.main(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Outcome(code, *capsys.readouterr())

    return call
