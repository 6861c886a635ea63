"""The commands that the documents show print what the documents say."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from rich.console import Console

from deniable.cli import ELSEWHERE
from deniable.commands.shared import console
from tests.running import Run

ROOT = Path(__file__).parents[2]
_LOOSELY = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def shown_commands(document: str) -> list[tuple[str, str]]:
    """Every command of a document and what it is said to print."""
    blocks = re.findall(
        r"^```\n(\$ deniable .*?)^```$",
        (ROOT / document).read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    parts = [part for block in blocks for part in re.split(r"^\$ deniable ", block, flags=re.MULTILINE)[1:]]
    return [(command, said) for command, _, said in (part.partition("\n") for part in parts)]


SHOWN = {
    "README.md": {"init", "people", "plan"},
    "docs/plans.md": {"init", "plan", "verify", "privatize", "estimate"},
}
"""Documents, and the verbs whose output they show at least."""


@pytest.mark.parametrize("document", SHOWN)
def test_commands_print_what_is_shown(document: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "console", lambda: Console(width=80, highlight=False))
    Path("typo.csv").write_text("transport,satisfied,minutes\ncar,yes,5\ntrian,no,7\n", encoding="utf-8")
    commands = [
        (command, said) for command, said in shown_commands(document) if command.split()[0] not in ELSEWHERE
    ]
    assert {command.split()[0] for command, _ in commands} >= SHOWN[document]
    for command, said in commands:
        done = run(*command.split())
        printed = done.err + done.out
        assert doctest.OutputChecker().check_output(said, printed, _LOOSELY), (
            f"$ deniable {command}\n{printed}"
        )
        assert (done.code == 0) == ("error:" not in said)


def test_a_wrong_output_would_be_found(run: Run) -> None:
    ((command, said), *_) = shown_commands("README.md")
    assert not doctest.OutputChecker().check_output(
        said.replace("wrote", "read"), run(*command.split()).out, _LOOSELY
    )
