"""Draws random words: from the operating system, from a device's key, or from a seed in simulations."""

from deniable.randomness.draws import FULL, WordArray, below, cell, chance
from deniable.randomness.words import (
    Device,
    DrawnRows,
    Rows,
    System,
    SystemRows,
    Words,
    checked_source,
    device,
    keyed,
    report_id,
    system,
)

__all__ = [
    "FULL",
    "Device",
    "DrawnRows",
    "Rows",
    "System",
    "SystemRows",
    "WordArray",
    "Words",
    "below",
    "cell",
    "chance",
    "checked_source",
    "device",
    "keyed",
    "report_id",
    "system",
]
