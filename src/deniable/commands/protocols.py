"""`deniable protocols`: compares all protocols, those for ordered values and for asking again apart."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from deniable import __all__
from deniable.commands.shared import console, writing
from deniable.commands.shared.console import short
from deniable.commands.shared.options import REAL, WHOLE
from deniable.errors import InvalidParameter
from deniable.formatting import format_percent
from deniable.mechanisms import PROTOCOLS, Protocol, SetMechanism, lh, rr, ue
from deniable.metric import ORDERED, MetricMechanism, OrderedProtocol
from deniable.rounds import REPEATED, BitFlip, RepeatedProtocol

_FAMILIES = (ue, lh, rr)  # they take more, or less, than k and epsilon
_Facts = dict[str, Any]


@click.command("protocols")
@click.option("--k", type=WHOLE, default="100", help="The number of possible values.")
@click.option("--epsilon", type=REAL, default="1.0", help="The privacy budget of one report.")
@click.option("--n", type=WHOLE, default="10,000", help="The number of people, for the variance.")
@writing.out
@console.as_json
@console.force
def list_protocols(k: int, epsilon: float, n: int, out: Sequence[Path], as_json: bool, force: bool) -> None:
    """List all protocols, with their numbers.

    The loss is exact. The variance is that of an estimated share that is truly 0, and the error that of all
    shares on average, by which `adaptive` chooses. The best guess is that of an attacker who sees one report.

    Protocols for ordered values have a table of their own. There epsilon is per step from one value to the
    next or for any two values, and the worst case is the loss of any two values. Protocols for asking again
    have a third table: epsilon bounds all reports of one value, half of it one report. Protocols that need a
    number besides k and epsilon are named below.
    """
    writing.check(out, (), force)
    facts = [_find_facts(protocol, k, epsilon, n) for protocol in PROTOCOLS.values()]
    console.refuse_if_all_refused([fact["refused"] for fact in facts])
    ordered = [_find_facts(protocol, k, epsilon, n) for protocol in ORDERED.values()]
    repeated = [_find_facts(protocol, k, epsilon, n) for protocol in REPEATED.values()]
    every = [*facts, *ordered, *repeated]
    writing.write_tables(out, every, every)
    if as_json:
        console.print_json(every)
        return
    title = f"k = {k:,}, epsilon = {epsilon:g}, n = {n:,}; a blind guess is right {format_percent(1 / k)}"
    _print_facts(title, _COLUMNS, facts)
    title = f"\nKnowing distances: {k:,} ordered values one step apart, epsilon = {epsilon:g}"
    _print_facts(title, _ORDERED_COLUMNS, ordered)
    title = f"\nAsking again: epsilon_infinity = {epsilon:g} for all reports of a value, half of it for one"
    _print_facts(title, _REPEATED_COLUMNS, repeated)
    page = console.console()
    page.print("\nMore in Python, with a number of your own or none to choose:")
    for family in _FAMILIES:
        room = "dn" if family.__name__ in __all__ else "dn.mechanisms"
        called = f"{room}.{family.__name__}({', '.join(inspect.signature(family).parameters)})"
        page.print(f"  {called:<31} {(family.__doc__ or '').splitlines()[0]}", markup=False)


def _find_facts(
    protocol: Protocol | OrderedProtocol | RepeatedProtocol, k: int, epsilon: float, n: int
) -> _Facts:
    facts: _Facts = {"protocol": protocol.name, "title": protocol.title, "k": k, "epsilon": epsilon}
    facts |= {"n": n, "baseline": 1 / max(k, 1)}
    known = dict.fromkeys(("p", "q", "loss", "variance", "error", "success", "report_bytes", "refused"))
    after = {"per": "any two values", "unit_loss": None}
    if isinstance(protocol, OrderedProtocol):
        after["per"] = protocol.per
    elif isinstance(protocol, RepeatedProtocol):
        after["per"] = "all reports of a value"
    try:
        return facts | known | after | _measure(protocol.make(k, epsilon), n)
    except InvalidParameter as problem:
        return facts | known | after | {"refused": str(problem)}


def _measure(mechanism: SetMechanism | MetricMechanism | BitFlip, n: int) -> _Facts:
    facts: _Facts
    if isinstance(mechanism, MetricMechanism):
        facts = {"variance": None, "unit_loss": mechanism.loss_at(1)}
    else:
        facts = {"p": mechanism.law.p, "q": mechanism.law.q, "variance": mechanism.law.variance(n)}
    return facts | {
        "error": mechanism.law.error(n),
        "success": mechanism.success(),
        "report_bytes": mechanism.report_bytes,
        "loss": mechanism.loss(),
    }


_Columns = Mapping[str, Callable[[_Facts], str]]
_LAST: _Columns = {
    "error": lambda fact: short(fact["error"]),
    "best guess": lambda fact: format_percent(fact["success"]),
    "bytes": lambda fact: str(fact["report_bytes"]),
    "what it does": lambda fact: fact["title"],
}
_COLUMNS: _Columns = {
    "protocol": lambda fact: fact["protocol"],
    "p": lambda fact: short(fact["p"]),
    "q": lambda fact: short(fact["q"]),
    "loss": lambda fact: f"{fact['loss']:.6f}",
    "variance at 0": lambda fact: short(fact["variance"]),
    **_LAST,
}
_REPEATED_COLUMNS: _Columns = {
    "protocol": lambda fact: fact["protocol"],
    "loss of one report": lambda fact: f"{fact['loss']:.6f}",
    "variance at 0": lambda fact: short(fact["variance"]),
    **_LAST,
}
_ORDERED_COLUMNS: _Columns = {
    "mechanism": lambda fact: fact["protocol"],
    "epsilon per": lambda fact: fact["per"],
    "loss per step": lambda fact: f"{fact['unit_loss']:.6f}",
    "worst case": lambda fact: f"{fact['loss']:.6f}",
    **_LAST,
}


def _print_facts(title: str, columns: _Columns, facts: Sequence[_Facts]) -> None:
    """Prints the numbers of what can be made, and why the rest is refused."""
    rows = [
        [fact["protocol"], "refused", *[""] * (len(columns) - 3), fact["title"]]
        if fact["refused"]
        else [show(fact) for show in columns.values()]
        for fact in facts
    ]
    console.print_table(title, list(columns), rows)
    console.print_refusals((fact["protocol"], fact["refused"]) for fact in facts)
