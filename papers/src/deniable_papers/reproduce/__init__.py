"""`deniable reproduce`: reproduces the figures of papers, and shows the true losses."""

from __future__ import annotations

import click

from deniable.commands.shared.options import InOrder
from deniable_papers.reproduce import (
    allomfree,
    crosstabs,
    demand,
    discovery,
    fairness,
    forecasting,
    geometric,
    learning,
    mobility,
    poisoning,
    ranges,
    response_time,
    revisited,
    risks,
    rsfd,
    shuffle,
    synthetic_mobility,
    whole,
)
from deniable_papers.reproduce.runner import make_command


@click.group("reproduce", cls=InOrder)
def reproduce_paper() -> None:
    """Reproduce the figures of papers.

    The true losses are shown next to what the papers state.
    """


STUDIES = (
    rsfd,
    allomfree,
    geometric,
    risks,
    revisited,
    poisoning,
    whole,
    crosstabs,
    discovery,
    ranges,
    shuffle,
    forecasting,
    demand,
    response_time,
    mobility,
    synthetic_mobility,
    fairness,
    learning,
)
for _study in STUDIES:
    reproduce_paper.add_command(make_command(_study.EXPERIMENT))
