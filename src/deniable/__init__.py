"""Collect sensitive answers so that no single one can be held against anyone, and still know the totals, with error bars.

A mechanism turns a value and some random words into a report; a report supports a set of values; the law of that set is
known exactly. Everything else is computed from the law.
"""

from deniable import data as data
from deniable.bitflip import BitFlip
from deniable.client import Client, NotSent
from deniable.domain import Categories, Range
from deniable.errors import DeniableError, InvalidParameter, InvalidReport, InvalidValue, NotExact, WordsExhausted
from deniable.estimate import Estimate, Interval
from deniable.fakes import Blank, Fake, Guessed, Imitated, Prior
from deniable.law import Law, Marginal, Moments
from deniable.ledger import Ledger
from deniable.longitudinal import allomfree, dbitflip, l_grr, l_osue, l_oue, l_soue, l_sue, loloha
from deniable.matrix import Matrix
from deniable.mechanism import Mechanism, Tally
from deniable.multidimensional import rsfd, rsrfd, smp, spl
from deniable.notation import InvalidPlan
from deniable.plan import Plan
from deniable.protocols import PROTOCOLS, adaptive, blh, grr, hr, lh, olh, oue, rr, she, ss, sue, the, ue
from deniable.repeat import HashedMemoized, Losses, Memoized
from deniable.robust import alh, ass, athe, aue
from deniable.shapes import Direct, Hadamard, Hashed, Subset, Unary
from deniable.share import Faked, Records, Sample, Share, Split
from deniable.simulated import fixed, remembering, seeded
from deniable.study import Study
from deniable.summed import Summed
from deniable.words import Words, below, chance, device, keyed, system

__version__ = "0.1.0"

__all__ = [
    "PROTOCOLS",
    "BitFlip",
    "Blank",
    "Categories",
    "Client",
    "DeniableError",
    "Direct",
    "Estimate",
    "Fake",
    "Faked",
    "Guessed",
    "Hadamard",
    "Hashed",
    "HashedMemoized",
    "Imitated",
    "Interval",
    "InvalidParameter",
    "InvalidPlan",
    "InvalidReport",
    "InvalidValue",
    "Law",
    "Ledger",
    "Losses",
    "Marginal",
    "Matrix",
    "Mechanism",
    "Memoized",
    "Moments",
    "NotExact",
    "NotSent",
    "Plan",
    "Prior",
    "Range",
    "Records",
    "Sample",
    "Share",
    "Split",
    "Study",
    "Subset",
    "Summed",
    "Tally",
    "Unary",
    "Words",
    "WordsExhausted",
    "adaptive",
    "alh",
    "allomfree",
    "ass",
    "athe",
    "aue",
    "below",
    "blh",
    "chance",
    "dbitflip",
    "device",
    "fixed",
    "grr",
    "hr",
    "keyed",
    "l_grr",
    "l_osue",
    "l_oue",
    "l_soue",
    "l_sue",
    "lh",
    "loloha",
    "olh",
    "oue",
    "remembering",
    "rr",
    "rsfd",
    "rsrfd",
    "seeded",
    "she",
    "smp",
    "spl",
    "ss",
    "sue",
    "system",
    "the",
    "ue",
]
