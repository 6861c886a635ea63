"""Turns one record of many answers into one report."""

from deniable.records.base import Per, RecordMechanism
from deniable.records.checks import checked_sizes
from deniable.records.faked import Faked
from deniable.records.fakes import Blank, Fake, Guessed, Imitated, Prior
from deniable.records.kinds import RECORD_MECHANISMS
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
from deniable.records.reports import Records
from deniable.records.sample import MOST_WEIGHT, Sample, count_name_bytes
from deniable.records.single import Single, as_record_mechanism
from deniable.records.split import Split

__all__ = [
    "FAKES",
    "MOST_WEIGHT",
    "REALISTIC_FAKES",
    "RECORD_MECHANISMS",
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
    "Single",
    "Split",
    "amplified",
    "as_record_mechanism",
    "checked_sizes",
    "count_name_bytes",
    "equal_part",
    "inexact",
    "largest_budget",
    "rsfd",
    "rsrfd",
    "smp",
    "spl",
]
