"""Draws random words: from the operating system, from a device's key, or from a seed in simulations."""

from deniable.randomness.draws import below, chance
from deniable.randomness.words import Words, device, keyed, system

__all__ = [
    "Words",
    "below",
    "chance",
    "device",
    "keyed",
    "system",
]


def __dir__() -> list[str]:
    return sorted(__all__)
