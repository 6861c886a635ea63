"""`deniable tour`: tells one complete story, with a page of plots."""

from __future__ import annotations

from pathlib import Path

import click

from deniable.commands.shared import console
from deniable.commands.shared.options import FILE, WHOLE

_PAGE = Path("out/tour.html")


@click.command("tour")
@click.option(
    "-o", "--out", type=FILE, help=f"Write the page to this file.  [default: {_PAGE}, overwritten each time]"
)
@click.option("--seed", type=WHOLE, help="Make the story reproducible.")
@console.force
def show_story(out: Path | None, seed: int | None, force: bool) -> None:
    """Tell one complete story, with plots.

    Simulated people answer a question. You see a report, the estimates, the exact loss and an attacker's
    success.
    """
    from deniable.demo import tour
    from deniable.frames import replacing

    page = _PAGE if out is None else out
    console.refuse_existing([page], overwrite=force or out is None)
    with replacing(page) as temporary:  # a page that cannot be written is refused before the work
        sections = tour.tell(seed)
        tour.write_page(sections, temporary)
    tour.print_story(sections, console.console())
    click.echo(f"\nThe same with plots: {page}")
