"""Collect sensitive answers so that no single one can be held against anyone, and still know the totals, with error bars.

A mechanism turns a value and some random words into a report; a report supports a set of values; the law of that set is
known exactly. Everything else is computed from the law.
"""

from deniable.errors import DeniableError, InvalidParameter, InvalidReport, InvalidValue, NotExact, WordsExhausted
from deniable.estimate import Estimate, Interval
from deniable.law import Law, Moments
from deniable.matrix import Matrix
from deniable.mechanism import Mechanism, Tally
from deniable.protocols import PROTOCOLS, adaptive, blh, grr, hr, lh, olh, oue, rr, she, ss, sue, the, ue
from deniable.robust import alh, ass, athe, aue
from deniable.shapes import Direct, Hadamard, Hashed, Subset, Unary
from deniable.summed import Summed
from deniable.words import Words, below, chance, fixed, keyed, seeded, system

__version__ = "0.1.0"

__all__ = [
    "PROTOCOLS",
    "DeniableError",
    "Direct",
    "Estimate",
    "Hadamard",
    "Hashed",
    "Interval",
    "InvalidParameter",
    "InvalidReport",
    "InvalidValue",
    "Law",
    "Matrix",
    "Mechanism",
    "Moments",
    "NotExact",
    "Subset",
    "Summed",
    "Tally",
    "Unary",
    "Words",
    "WordsExhausted",
    "adaptive",
    "alh",
    "ass",
    "athe",
    "aue",
    "below",
    "blh",
    "chance",
    "fixed",
    "grr",
    "hr",
    "keyed",
    "lh",
    "olh",
    "oue",
    "rr",
    "seeded",
    "she",
    "ss",
    "sue",
    "system",
    "the",
    "ue",
]
