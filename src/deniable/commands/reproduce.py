"""`deniable reproduce`: the verb of the package deniable-papers, which is loaded when it is called."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import final

import click

from deniable.errors import InvalidParameter

GROUP = "deniable.verbs"
"""The entry points by which other packages bring verbs."""


@final
class Elsewhere(click.Group):
    """A verb of another package: its name and description are known here, its commands only there."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return self._load().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self._load().get_command(ctx, cmd_name)

    def _load(self) -> click.Group:
        for point in entry_points(group=GROUP, name=str(self.name)):
            verb = point.load()
            if isinstance(verb, click.Group):
                return verb
        raise InvalidParameter(
            f"deniable {self.name} needs the package deniable-papers; in a clone of the project: "
            "pip install ./papers"
        )


reproduce_paper = Elsewhere(
    "reproduce",
    help="Reproduce the figures of papers.\n\nThe true losses are shown next to what the papers state.",
)
