"""Turns one answer into a report: the contract, the shapes, and the protocols that choose their numbers."""

from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.channels import ChannelMechanism
from deniable.mechanisms.checks import checked_k, checked_values, checked_words
from deniable.mechanisms.losses import Losses
from deniable.mechanisms.protocols import (
    PROTOCOLS,
    Protocol,
    adaptive,
    blh,
    grr,
    hr,
    lh,
    linear,
    olh,
    oue,
    plh,
    rr,
    ss,
    sue,
    the,
    ue,
)
from deniable.mechanisms.robust import alh, ass, athe, aue
from deniable.mechanisms.sets import SetMechanism, SetShape
from deniable.mechanisms.shapes import (
    Direct,
    Hadamard,
    Hashed,
    Linear,
    PackedSubset,
    Pooled,
    Subset,
    SubsetShape,
    Unary,
)
from deniable.mechanisms.tally import Tally

__all__ = [
    "PROTOCOLS",
    "ChannelMechanism",
    "Direct",
    "Hadamard",
    "Hashed",
    "Linear",
    "Losses",
    "Mechanism",
    "PackedSubset",
    "Pooled",
    "Protocol",
    "SetMechanism",
    "SetShape",
    "Subset",
    "SubsetShape",
    "Tally",
    "Unary",
    "adaptive",
    "alh",
    "ass",
    "athe",
    "aue",
    "blh",
    "checked_k",
    "checked_values",
    "checked_words",
    "grr",
    "hr",
    "lh",
    "linear",
    "olh",
    "oue",
    "plh",
    "rr",
    "ss",
    "sue",
    "the",
    "ue",
]


def __dir__() -> list[str]:
    return sorted(__all__)
