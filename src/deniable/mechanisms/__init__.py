"""Turns one answer into a report: the contract, the shapes, and the protocols that choose their numbers."""

from deniable.mechanisms.base import BLOCK, ExactMechanism, Mechanism, Per, checked_per
from deniable.mechanisms.blocks import Blockwise, worth_compiling
from deniable.mechanisms.channels import ChannelMechanism
from deniable.mechanisms.checks import (
    checked_k,
    checked_values,
    checked_words,
    floats,
    in_domain,
    integers,
    restore_reports,
    unmasked,
)
from deniable.mechanisms.losses import Losses
from deniable.mechanisms.protocols import (
    PROTOCOLS,
    Protocol,
    adaptive,
    blh,
    grr,
    hr,
    lh,
    named_protocol,
    olh,
    oue,
    recognize,
    reference_of,
    rr,
    she,
    ss,
    sue,
    the,
    ue,
)
from deniable.mechanisms.robust import alh, ass, athe, aue
from deniable.mechanisms.sets import RoundShape, SetMechanism, SetShape
from deniable.mechanisms.shapes import Direct, Hadamard, Hashed, Subset, Unary
from deniable.mechanisms.summed import Summed
from deniable.mechanisms.tally import Tally

__all__ = [
    "BLOCK",
    "PROTOCOLS",
    "Blockwise",
    "ChannelMechanism",
    "Direct",
    "ExactMechanism",
    "Hadamard",
    "Hashed",
    "Losses",
    "Mechanism",
    "Per",
    "Protocol",
    "RoundShape",
    "SetMechanism",
    "SetShape",
    "Subset",
    "Summed",
    "Tally",
    "Unary",
    "adaptive",
    "alh",
    "ass",
    "athe",
    "aue",
    "blh",
    "checked_k",
    "checked_per",
    "checked_values",
    "checked_words",
    "floats",
    "grr",
    "hr",
    "in_domain",
    "integers",
    "lh",
    "named_protocol",
    "olh",
    "oue",
    "recognize",
    "reference_of",
    "restore_reports",
    "rr",
    "she",
    "ss",
    "sue",
    "the",
    "ue",
    "unmasked",
    "worth_compiling",
]
