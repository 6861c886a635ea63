"""`deniable reproduce`: reproduces the figures of papers, with the true losses beside them."""

from __future__ import annotations

import click

from deniable.commands.reproduce.allomfree import reproduce_allomfree
from deniable.commands.reproduce.geometric import reproduce_geometric
from deniable.commands.reproduce.revisited import reproduce_revisited
from deniable.commands.reproduce.risks import reproduce_risks
from deniable.commands.reproduce.rsfd import reproduce_rsfd


@click.group("reproduce")
def reproduce_paper() -> None:
    """Reproduce the figures of a paper, with the true losses beside them."""


for _command in (
    reproduce_rsfd,
    reproduce_allomfree,
    reproduce_geometric,
    reproduce_risks,
    reproduce_revisited,
):
    reproduce_paper.add_command(_command)
