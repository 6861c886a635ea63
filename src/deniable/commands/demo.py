"""`deniable demo`: runs the whole system on loopback, and compares estimates with the truth."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console
from deniable.commands.shared.options import PORT, SEED, whole_from
from deniable.commands.shared.stores import suggest_extra

if TYPE_CHECKING:
    from deniable.demo import Comparison


_PEOPLE, _SEED = 3000, 1


@click.command("demo")
@click.option(
    "--people",
    type=whole_from(200, 10**6),
    default=f"{_PEOPLE:,}",
    help="The number of simulated people who answer.",
)
@click.option("--seed", type=SEED, default=str(_SEED), help="The seed of the people.")
@click.option(
    "--port",
    type=PORT,
    default="0",
    show_default=False,
    help="The collector's port.  [default: any free one]",
)
@click.option("--keep", is_flag=True, help="Leave the collector running until Ctrl+C.")
@console.as_json
def run_demo(people: int, seed: int, port: int, keep: bool, as_json: bool) -> None:
    """Run the whole system on this machine.

    A collector starts, simulated people answer over HTTP, and the estimates are compared with the truth. The
    reports are kept in a temporary folder, which is deleted at the end.
    """
    with suggest_extra():
        from deniable import demo
        from deniable.store.reading import fetch_tallies
    plan = demo.make_plan(people)
    crowd = demo.make_people(people, seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="deniable-demo-")))
        collector = stack.enter_context(demo.collecting(plan, folder, port))
        click.echo(f"survey     {collector.url}/", err=as_json)
        click.echo(f"dashboard  {collector.dashboard}", err=as_json)
        with console.progress("people answer") as show:
            in_python, in_node = demo.answer(plan, crowd, collector.url, folder, show)
        token = (folder / "operator.token").read_text(encoding="utf-8").strip()
        tallies = fetch_tallies(plan.document, collector.url, token=token).tallies
        rows = demo.compare(plan, crowd, plan.estimate(tallies))
        if as_json:
            about = {"plan": plan.id, "n": tallies.n, "python": in_python, "typescript": in_node}
            console.print_json(about | {"rows": [asdict(row) for row in rows]})
        else:
            _print_rows(rows, plan.loss.record, tallies.n, in_python, in_node)
        if keep:
            console.note("the collector goes on; Ctrl+C ends it")
            collector.wait()
    if not keep:
        chosen = f" --people {people}" if people != _PEOPLE else ""
        chosen += f" --seed {seed}" if seed != _SEED else ""
        console.note(
            f"the collector has ended, and its links with it; to look around: deniable demo{chosen} --keep"
        )


def _print_rows(rows: Sequence[Comparison], loss: float, n: int, in_python: int, in_node: int) -> None:
    console.print_table(
        f"{n:,} reports were counted, each once; one report gives away at most epsilon = {loss:.6g}",
        ["question", "answer", "truth", "estimate", "95 % interval"],
        [
            [
                row.attribute,
                row.value,
                f"{row.truth:.1%}",
                f"{row.estimate:.1%}",
                f"{row.low:.1%} to {row.high:.1%}",
            ]
            for row in rows
        ],
    )
    inside = sum(row.low <= row.truth <= row.high for row in rows)
    click.echo(f"{inside} of {len(rows)} intervals hold the truth; 95 % of them should.")
    other = (
        f", {in_node:,} the TypeScript client in Node"
        if in_node
        else "; Node is not installed, so none used TypeScript"
    )
    click.echo(f"{in_python:,} people used the Python client{other}. The collector never saw an answer.")
