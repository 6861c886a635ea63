"""Compares channels on ordered values by how well they reconstruct a distribution."""

from deniable_papers.channels.candidates import step_loss
from deniable_papers.channels.comparison import BestChannel, best_channel, channel_risks
from deniable_papers.channels.optimum import lower_bound, optimum
from deniable_papers.channels.risk import LOSSES, risk

__all__ = [
    "LOSSES",
    "BestChannel",
    "best_channel",
    "channel_risks",
    "lower_bound",
    "optimum",
    "risk",
    "step_loss",
]
