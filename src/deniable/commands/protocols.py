"""`deniable protocols`: compares all protocols for one k and epsilon, and mechanisms that know distances."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from deniable import __all__
from deniable.commands.shared import console, writing
from deniable.commands.shared.console import short
from deniable.commands.shared.options import REAL, WHOLE
from deniable.errors import InvalidParameter
from deniable.formatting import format_percent
from deniable.mechanisms import PROTOCOLS, Protocol, lh, rr, ue
from deniable.metric import MetricMechanism
from deniable.metric.table import DISTANCED, Distanced

_FAMILIES = (ue, lh, rr)  # they take more, or less, than k and epsilon


@click.command("protocols")
@click.option("--k", type=WHOLE, default="100", help="The number of possible values.")
@click.option("--epsilon", type=REAL, default="1.0", help="The privacy budget of one report.")
@click.option("--n", type=WHOLE, default="10,000", help="The number of people, for the variance.")
@writing.out
@console.as_json
@console.force
def list_protocols(k: int, epsilon: float, n: int, out: Sequence[Path], as_json: bool, force: bool) -> None:
    """List all protocols, with their numbers.

    The loss is exact. The variance is that of an estimated share that is truly 0. The best guess is that of
    an attacker who sees one report.

    Metric protocols have a table of their own. There epsilon is per unit of distance, the worst case is the
    loss of any two values, and the variance is averaged over the values. Protocols that need a number besides
    k and epsilon are named below.
    """
    writing.check(out, (), force)
    facts = [_facts(protocol, k, epsilon, n) for protocol in PROTOCOLS.values()]
    console.refuse_if_all_refused([fact["refused"] for fact in facts])
    distanced = [_distanced_facts(mechanism, k, epsilon, n) for mechanism in DISTANCED.values()]
    everything = [*({**fact, "per": "any two values", "unit_loss": None} for fact in facts), *distanced]
    writing.write_tables(out, everything, everything)
    if as_json:
        console.print_json(everything)
        return
    headers = ["protocol", "p", "q", "loss", "variance", "best guess", "bytes", "what it does"]
    rows = [
        [fact["protocol"], "refused", *[""] * 5, fact["title"]]
        if fact["refused"]
        else [
            fact["protocol"],
            short(fact["p"]),
            short(fact["q"]),
            f"{fact['loss']:.6f}",
            short(fact["variance"]),
            format_percent(fact["success"]),
            str(fact["report_bytes"]),
            fact["title"],
        ]
        for fact in facts
    ]
    console.print_table(
        f"k = {k:,}, epsilon = {epsilon:g}, n = {n:,}; a blind guess is right {format_percent(1 / k)}",
        headers,
        rows,
    )
    console.print_refusals((fact["protocol"], fact["refused"]) for fact in facts)
    _print_distanced(distanced, k, epsilon)
    page = console.console()
    page.print("\nMore in Python, with a number of your own or none to choose:")
    for family in _FAMILIES:
        room = "dn" if family.__name__ in __all__ else "dn.mechanisms"
        called = f"{room}.{family.__name__}({', '.join(inspect.signature(family).parameters)})"
        page.print(f"  {called:<31} {(family.__doc__ or '').splitlines()[0]}", markup=False)


def _facts(protocol: Protocol | Distanced, k: int, epsilon: float, n: int) -> dict[str, Any]:
    setting = {
        "protocol": protocol.name,
        "title": protocol.title,
        "k": k,
        "epsilon": epsilon,
        "n": n,
        "baseline": 1 / max(k, 1),
    }
    known: dict[str, Any] = dict.fromkeys(
        ("p", "q", "loss", "variance", "success", "report_bytes", "refused")
    )
    try:
        mechanism = protocol.make(k, epsilon)
        if isinstance(mechanism, MetricMechanism):
            known["variance"] = mechanism.law.error(n)
        else:
            known |= {"p": mechanism.law.p, "q": mechanism.law.q, "variance": mechanism.law.variance(n)}
        known |= {"success": mechanism.success(), "report_bytes": mechanism.report_bytes}
        known["loss"] = mechanism.loss()
    except InvalidParameter as problem:
        known = dict.fromkeys(known) | {"refused": str(problem)}
    return setting | known


def _distanced_facts(mechanism: Distanced, k: int, epsilon: float, n: int) -> dict[str, Any]:
    """Lists the same for a mechanism that knows distances, with k ordered values one step apart."""
    facts = _facts(mechanism, k, epsilon, n)
    if mechanism.ordered is None:
        facts["refused"] = mechanism.instead
    unit = None if facts["refused"] else mechanism.make(k, epsilon).loss_at(1)
    return facts | {"per": mechanism.per, "unit_loss": unit}


def _print_distanced(facts: Sequence[dict[str, Any]], k: int, epsilon: float) -> None:
    headers = [
        "mechanism",
        "epsilon per",
        "loss per step",
        "worst case",
        "variance",
        "best guess",
        "bytes",
        "what it does",
    ]
    rows = [
        [fact["protocol"], fact["per"], *[""] * 5, fact["title"]]
        if fact["refused"]
        else [
            fact["protocol"],
            fact["per"],
            f"{fact['unit_loss']:.6f}",
            f"{fact['loss']:.6f}",
            short(fact["variance"]),
            format_percent(fact["success"]),
            str(fact["report_bytes"]),
            fact["title"],
        ]
        for fact in facts
    ]
    title = f"\nKnowing distances: {k:,} ordered values one step apart, epsilon = {epsilon:g} per unit"
    console.print_table(title, headers, rows)
    console.print_refusals(
        (fact["protocol"], fact["refused"]) for fact in facts if DISTANCED[fact["protocol"]].ordered
    )
