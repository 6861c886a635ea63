"""`deniable reproduce`: reproduces the figures of papers, and shows the true losses."""

from __future__ import annotations

import click

from deniable.commands.shared.options import InOrder
from deniable_papers.reproduce.allomfree import reproduce_allomfree
from deniable_papers.reproduce.crosstabs import reproduce_crosstabs
from deniable_papers.reproduce.demand import reproduce_demand
from deniable_papers.reproduce.discovery import reproduce_discovery
from deniable_papers.reproduce.fairness import reproduce_fairness
from deniable_papers.reproduce.forecasting import reproduce_forecasting
from deniable_papers.reproduce.geometric import reproduce_geometric
from deniable_papers.reproduce.learning import reproduce_learning
from deniable_papers.reproduce.mobility import reproduce_mobility
from deniable_papers.reproduce.poisoning import reproduce_poisoning
from deniable_papers.reproduce.ranges import reproduce_ranges
from deniable_papers.reproduce.response_time import reproduce_response_time
from deniable_papers.reproduce.revisited import reproduce_revisited
from deniable_papers.reproduce.risks import reproduce_risks
from deniable_papers.reproduce.rsfd import reproduce_rsfd
from deniable_papers.reproduce.shuffle import reproduce_shuffle
from deniable_papers.reproduce.synthetic_mobility import reproduce_synthetic_mobility
from deniable_papers.reproduce.whole import reproduce_whole


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
