"""Bounds epsilon from below, from the bytes that a client sends, in any language.

Devices that hold one of two answers, by a fair coin, make reports; what guesses which one better than the
claim allows is a leak. The mathematics is in bound.py. A pass is no proof: the loss that a plan states is
computed, this one is observed.
"""

from __future__ import annotations

from deniable.audit.bound import Event
from deniable.audit.command import ProgramFailed
from deniable.audit.devices import Copies, Devices, client_of
from deniable.audit.procedure import LEVEL, lower_bound
from deniable.audit.program import Program
from deniable.audit.result import Audit

__all__ = [
    "LEVEL",
    "Audit",
    "Copies",
    "Devices",
    "Event",
    "Program",
    "ProgramFailed",
    "client_of",
    "lower_bound",
]


def __dir__() -> list[str]:
    return sorted(__all__)
