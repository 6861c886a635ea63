"""Turns one record of many answers into one report."""

from deniable.records.base import RecordMechanism
from deniable.records.faked import Faked
from deniable.records.fakes import Blank, Fake, Guessed, Imitated, Prior
from deniable.records.named import Calibration, equal_part, rsfd, rsrfd, smp, spl
from deniable.records.near import NearBits, NearSets, near_bits, near_sets
from deniable.records.reports import Records
from deniable.records.sample import Sample
from deniable.records.single import Single
from deniable.records.split import Split

__all__ = [
    "Blank",
    "Calibration",
    "Fake",
    "Faked",
    "Guessed",
    "Imitated",
    "NearBits",
    "NearSets",
    "Prior",
    "RecordMechanism",
    "Records",
    "Sample",
    "Single",
    "Split",
    "equal_part",
    "near_bits",
    "near_sets",
    "rsfd",
    "rsrfd",
    "smp",
    "spl",
]


def __dir__() -> list[str]:
    return sorted(__all__)
