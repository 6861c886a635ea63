"""`deniable reproduce`: reproduces the figures of papers, and shows the true losses."""

from __future__ import annotations

import click

from deniable.commands.reproduce.allomfree import reproduce_allomfree
from deniable.commands.reproduce.crosstabs import reproduce_crosstabs
from deniable.commands.reproduce.demand import reproduce_demand
from deniable.commands.reproduce.discovery import reproduce_discovery
from deniable.commands.reproduce.fairness import reproduce_fairness
from deniable.commands.reproduce.forecasting import reproduce_forecasting
from deniable.commands.reproduce.geometric import reproduce_geometric
from deniable.commands.reproduce.learning import reproduce_learning
from deniable.commands.reproduce.mobility import reproduce_mobility
from deniable.commands.reproduce.poisoning import reproduce_poisoning
from deniable.commands.reproduce.ranges import reproduce_ranges
from deniable.commands.reproduce.response_time import reproduce_response_time
from deniable.commands.reproduce.revisited import reproduce_revisited
from deniable.commands.reproduce.risks import reproduce_risks
from deniable.commands.reproduce.rsfd import reproduce_rsfd
from deniable.commands.reproduce.shuffle import reproduce_shuffle
from deniable.commands.reproduce.synthetic_mobility import reproduce_synthetic_mobility
from deniable.commands.reproduce.whole import reproduce_whole
from deniable.commands.shared.options import InOrder


@click.group("reproduce", cls=InOrder)
def reproduce_paper() -> None:
    """Reproduce the figures of papers.

    The true losses are shown next to what the papers state.
    """


for _command in (
    reproduce_rsfd,
    reproduce_allomfree,
    reproduce_geometric,
    reproduce_risks,
    reproduce_revisited,
    reproduce_poisoning,
    reproduce_whole,
    reproduce_crosstabs,
    reproduce_discovery,
    reproduce_ranges,
    reproduce_shuffle,
    reproduce_forecasting,
    reproduce_demand,
    reproduce_response_time,
    reproduce_mobility,
    reproduce_synthetic_mobility,
    reproduce_fairness,
    reproduce_learning,
):
    reproduce_paper.add_command(_command)
