"""Draws random words: from the operating system, from a device's key, or from a seed in simulations."""

from deniable.randomness.draws import FULL, below, cell, chance
from deniable.randomness.words import Words, checked_source, device, keyed, system

__all__ = ["FULL", "Words", "below", "cell", "chance", "checked_source", "device", "keyed", "system"]


def __dir__() -> list[str]:
    return sorted(__all__)
