"""`deniable audit`: tests whether a client gives away more than its plan states."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import (
    COUNT,
    FILE,
    POSITIVE,
    REAL,
    argument,
    as_request,
    option,
    taken,
    whole_from,
)
from deniable.formatting import format_count

if TYPE_CHECKING:
    from deniable.audit import Audit
    from deniable.records.base import Per

FAILED, SUSPICIOUS = 3, 4
"""The exit codes of an audit that failed, and of one that shows far less than a right client would."""

_TRIALS, _TRIALS_OF_PROGRAMS = 10**6, 10**5


@final
@dataclass(frozen=True)
class AuditRequest:
    """A plan, the client to audit, and how."""

    plan: Path = argument("plan", type=FILE)
    command: str | None = option(
        "--command", metavar="COMMAND", help="A program that makes reports, such as 'node client.js'."
    )
    trials: int | None = option(
        "--trials",
        type=whole_from(100),
        help=f"Devices for each of two answers.  [default: {_TRIALS:,}; for a program "
        f"{_TRIALS_OF_PROGRAMS:,}]",
    )
    per: Per = option(
        "--per",
        type=click.Choice(["record", "attribute"]),
        default="record",
        help="Compare whole records, or records that differ in one attribute.",
    )
    rounds: int | None = option(
        "--rounds",
        type=COUNT,
        help="Reports from each device, for a plan that asks again.  [default: all, up to 10]",
    )
    pairs: str = option(
        "--pairs",
        type=click.Choice(["ends", "every"]),
        default="ends",
        help="Compare first values with last ones, or every value with the next.",
    )
    claim: float | None = option(
        "--claim",
        type=POSITIVE,
        help="Test this epsilon instead of the plan's, for all pairs, also of distant metric values.",
    )
    level: float = option("--level", type=REAL, default="0.9999", help="The confidence of the lower bound.")
    timeout: float = option("--timeout", type=POSITIVE, default="30", help="Seconds to wait for the program.")
    as_json: bool = taken(console.as_json)


@click.command("audit")
@as_request(AuditRequest)
def audit_client(request: AuditRequest) -> None:
    """Test whether a client leaks too much.

    The audit computes a lower bound on epsilon from the bytes of reports, and compares it with the claim.
    Each device holds one of two answers, by a fair coin, and makes reports. A method that guesses the answer
    better than the claim allows has found a leak.

    Without --command, the Python client is audited: the library's code for many devices at once, and up to
    15,000 reports of the client itself. A program reads a line of JSON for each report, {"answers": {...},
    "round": 1, "secret": "..."}, and writes a line with its bytes in hexadecimal or base64, or its JSON form.

    Neighboring metric values are compared as well, and held to the claim for neighbors.

    Exit codes: 0 PASS, 3 FAIL, 4 SUSPICIOUS (it shows far less than a right client would), 1 the program or
    the plan cannot be used, 2 the command was called wrongly. A pass is no proof.
    """
    from deniable import audit

    read = reading.read_plan(request.plan)
    reading.refuse_groups(read, "which an audit would find at once", "audit that one")
    client = read if request.command is None else audit.Program(request.command, read, request.timeout)
    count = request.trials or (_TRIALS if request.command is None else _TRIALS_OF_PROGRAMS)
    with console.progress("auditing") as show:
        report = audit.lower_bound(
            client,
            request.pairs,
            count,
            plan=read,
            claim=request.claim,
            per=request.per,
            rounds=request.rounds,
            level=request.level,
            show=show,
        )
    if request.as_json:
        console.print_json({"plan": read.id, "command": request.command} | report.to_dict())
    else:
        _print_audit(report, "the Python client" if request.command is None else request.command)
    if not report.passed:
        raise SystemExit(FAILED if report.failed else SUSPICIOUS)


def _print_audit(audit: Audit, who: str) -> None:
    setting = audit.setting
    rounds = "" if setting.rounds == 1 else f", {setting.rounds} rounds"
    pairs = len(setting.pairs)
    apart = f", for {audit.group}" if audit.group else ""
    click.echo(
        f"{who}: {format_count(audit.trials, 'device')} for each answer, "
        f"{format_count(pairs, 'pair')}{rounds}"
    )
    facts = {
        "lower bound": f"{audit.lower_bound:.4f}   with confidence {audit.level:.6g}",
        "expected": _format_expected(audit),
        "claim": f"{audit.claim:.4f}   per {setting.per}{apart}",
        "ceiling": f"{audit.ceiling:.4f}   the most that this number of trials can show",
        "noticeable": _format_noticeable(audit),
    }
    for name, text in facts.items():
        click.echo(f"  {name:<12} {text}")
    rows = [
        [event.name, f"{event.guesses:,}", f"{event.right:,}", f"{event.bound:.4f}", f"{event.claim:.4f}"]
        for event in audit.events
    ]
    console.print_table("", ["method", "guesses", "right", "lower bound", "claim"], rows)
    click.echo(audit.summary)


def _format_expected(audit: Audit) -> str:
    if audit.expected is None:
        return "unknown  what a right client shows"
    low, high = audit.expected
    return f"{low:.4f} to {high:.4f}   what a right client shows by fixed guesses"


def _format_noticeable(audit: Audit) -> str:
    if not math.isfinite(audit.noticeable):
        return "none     this number of trials cannot show anything above the claim"
    return f"{audit.noticeable:.4f}   less than this above the claim may go unnoticed"
