"""Turns one record of many answers into one report."""

from deniable.records.base import Faked, Per, RecordMechanism, Records, Sample, Split, checked_sizes
from deniable.records.fakes import Blank, Fake, Guessed, Imitated, Prior
from deniable.records.named import (
    FAKES,
    REALISTIC_FAKES,
    Calibration,
    amplified,
    equal_part,
    inexact,
    largest_budget,
    rsfd,
    rsrfd,
    smp,
    spl,
)

__all__ = [
    "FAKES",
    "REALISTIC_FAKES",
    "Blank",
    "Calibration",
    "Fake",
    "Faked",
    "Guessed",
    "Imitated",
    "Per",
    "Prior",
    "RecordMechanism",
    "Records",
    "Sample",
    "Split",
    "amplified",
    "checked_sizes",
    "equal_part",
    "inexact",
    "largest_budget",
    "rsfd",
    "rsrfd",
    "smp",
    "spl",
]
