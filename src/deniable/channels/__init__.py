"""Compares channels on ordered values by how well they reconstruct a distribution."""

from deniable.channels.candidates import step_loss
from deniable.channels.comparison import BestChannel, best_channel, channel_risks
from deniable.channels.optimum import lower_bound, optimum
from deniable.channels.risk import LOSSES, risk

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
