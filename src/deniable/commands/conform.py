"""`deniable conform`: tests whether a client in any language does what the specification says."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import click

from deniable.commands.shared import console
from deniable.commands.shared.options import POSITIVE, as_request, option, taken
from deniable.formatting import format_count

if TYPE_CHECKING:
    from deniable.conformance.check import Conformance, Failure

FAILED = 4
"""The exit code where a client gave a wrong answer."""

_SHOWN = 10  # failing cases
_WIDTH = 1000  # characters of a request or an answer
_TEXT = 80  # characters of a text in it: plans are long


@final
@dataclass(frozen=True)
class ConformRequest:
    """The program to test, and with what."""

    command: str | None = option(
        "--command", metavar="COMMAND", help="A program that answers lines, such as 'node client.js'."
    )
    timeout: float = option("--timeout", type=POSITIVE, default="30", help="Seconds to wait for the program.")
    as_json: bool = taken(console.as_json)


@click.command("conform")
@as_request(ConformRequest)
def test_conformance(request: ConformRequest) -> None:
    """Test whether a client does what it should.

    A program states which levels its client has. Then it gets every vector of these levels, a line of JSON
    each: plans to verify or to refuse, answers to report, reports to read. It answers with a line each, and
    all are compared. spec/conformance.md describes the lines, docs/clients.md how to write a client.

    Without --command, the Python client is tested, by the same lines.

    Exit codes: 0 all answers are right, 4 some are wrong, 1 the program cannot be run, or does not follow the
    protocol, 2 the command was called wrongly.
    """
    from deniable.audit.command import Command
    from deniable.conformance.cases import find_vectors, read_cases
    from deniable.conformance.check import check_program

    command = Command(request.command or [sys.executable, "-m", "deniable.conformance"], request.timeout)
    cases = read_cases(find_vectors())
    with console.progress("testing") as show:
        conformance = check_program(command, cases, show)
    if request.as_json:
        console.print_json({"command": request.command} | conformance.to_dict())
    else:
        _print_conformance(conformance)
    if conformance.failures:
        raise SystemExit(FAILED)


def _print_conformance(conformance: Conformance) -> None:
    rows = [
        [row.level, row.ask, f"{row.cases:,}", f"{row.cases - row.failed:,}", f"{row.failed:,}"]
        for row in conformance.rows
    ]
    console.print_table(conformance.client.name, ["level", "asked to", "cases", "right", "wrong"], rows)
    for failure in conformance.failures[:_SHOWN]:
        _print_failure(failure)
    failed = len(conformance.failures)
    if failed > _SHOWN:
        click.echo(f"and {format_count(failed - _SHOWN, 'more case')}; --json has all of them")
    if failed:
        click.echo(f"FAIL: {failed:,} of {format_count(conformance.cases, 'answer')} are wrong")
    else:
        click.echo(f"PASS: all {conformance.cases:,} answers are right")


def _print_failure(failure: Failure) -> None:
    click.echo(f"{failure.level}: {failure.case.name}")
    expected, answer = failure.difference
    facts = {"asked": dict(failure.case.request), "expected": expected, "answered": answer}
    for name, fact in facts.items():
        click.echo(f"  {name:<9} {_shorten(fact)}")


def _shorten(data: object) -> str:
    """One line of JSON, in which long texts and long lists are cut."""
    text = json.dumps(_cut(data), ensure_ascii=False)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}… ({len(text):,} characters)"


def _cut(data: object) -> object:
    if isinstance(data, str) and len(data) > _TEXT:
        return f"{data[:_TEXT]}… ({len(data):,} characters)"
    if isinstance(data, dict):
        return {name: _cut(part) for name, part in data.items()}
    return [_cut(part) for part in data] if isinstance(data, list) else data
