"""Loads the verbs of the package deniable-papers, which it brings by entry points."""

from __future__ import annotations

from importlib.metadata import entry_points

import click

from deniable.errors import InvalidParameter

GROUP = "deniable.verbs"
"""The entry points by which another package brings verbs."""


def load_verb(name: str) -> click.Command:
    """The verb of this name; where its package is not installed, one sentence says what to install."""
    for point in entry_points(group=GROUP, name=name):
        try:
            verb = point.load()
        except ImportError as problem:
            raise InvalidParameter(
                f"deniable {name} needs {problem.name or problem}, a dependency of deniable-papers; in a "
                "clone of the project: pip install ./papers"
            ) from problem
        if isinstance(verb, click.Command):
            return verb
    raise InvalidParameter(
        f"deniable {name} needs the package deniable-papers; in a clone of the project: pip install ./papers"
    )
