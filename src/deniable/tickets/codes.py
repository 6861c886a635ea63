"""Makes codes that people type from paper, and derives the invitation to each plan from its letter's code."""

from __future__ import annotations

import base64
import re
import secrets
import unicodedata
from collections.abc import Iterable
from functools import reduce

from deniable.errors import InvalidParameter
from deniable.randomness import keyed

SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The alphabet of Crockford: I and L are read as 1, O is read as 0, and U is none of them."""
LENGTH = 22
"""Symbols of a code: four name its plans, 16 are random (80 bits), and two find slips."""
MOST_PLANS = 3
"""A code opens at most so many plans: a page tries all sets of them, and a wrong one fits by chance.

20 bits name a set of plans. A page takes the smallest set that fits, first one with the plan that it shows.
Of a letter for three plans a wrong set is taken 740 times in a million among 20 plans at the collector, and
11,000 times among 50; of a letter for one plan, 9 and 23 times. With sets of four, a wrong one would fit 4.6
times as often.
"""
MODULUS = 1021
"""A code, read as a number, is a multiple of this prime: so no slip of one symbol is another code.

The prime is above the 32 values of a symbol, so every slip of one symbol is found. The order of 32 modulo
1021 is 68, above 22 symbols, so every swap of two symbols is found, too. Of other texts one in 1021 passes.
"""

_GROUP = 4
_SECRET_SYMBOLS = 16
_CHECK_BITS = 10
_TAG_DIGITS = 5  # hexadecimal: 20 bits, as four symbols have
_INVITATION_WORDS = 3
_ALIKE = str.maketrans("ILO", "110")
_IGNORED = ("Pd", "Zs", "Zl", "Zp", "Cc", "Cf")  # dashes, spaces, and what nobody sees
_WRITTEN = re.compile(rf"[0-9A-Z]{{{LENGTH}}}")
_INVITATION = re.compile(r"[\w-]{32}", re.ASCII)


def draw_code(plan_ids: Iterable[str]) -> str:
    """Draw a code for these plans, in groups as it is printed."""
    return write_code(plan_ids, secrets.randbits(5 * _SECRET_SYMBOLS))


def write_code(plan_ids: Iterable[str], secret: int) -> str:
    """The code of these plans with this secret of 80 bits.

    >>> write_code(["ff" * 32], 0)
    'ZZZZ-0000-0000-0000-0000-RQ'
    """
    plan_ids = list(plan_ids)
    if not 1 <= len(plan_ids) <= MOST_PLANS:
        raise InvalidParameter(
            f"the code of a letter opens 1 to {MOST_PLANS} plans, got {len(plan_ids)}; make letters for "
            "fewer plans each"
        )
    number = (tag_plans(plan_ids) << (5 * _SECRET_SYMBOLS) | secret) << _CHECK_BITS
    number += -number % MODULUS
    symbols = "".join(SYMBOLS[number >> (5 * place) & 31] for place in reversed(range(LENGTH)))
    return "-".join(symbols[at : at + _GROUP] for at in range(0, LENGTH, _GROUP))


def tag_plans(plan_ids: Iterable[str]) -> int:
    """What the first four symbols of a code say: the first 20 bits of each plan's id, combined by XOR.

    >>> hex(tag_plans(["ff" * 32, "0f" * 32]))
    '0xf0f0f'
    """
    return reduce(lambda tag, plan_id: tag ^ int(plan_id[:_TAG_DIGITS], 16), plan_ids, 0)


def is_code(text: str) -> bool:
    """Whether a text has the form of a code, right or wrong, and not that of an invitation or a link."""
    return _WRITTEN.fullmatch(_strip_marks(text)) is not None and _INVITATION.fullmatch(text) is None


def read_code(text: str) -> str:
    """The symbols of a code that somebody typed: in any case, with any dashes and spaces and a full stop."""
    symbols = _strip_marks(text).translate(_ALIKE)
    if len(symbols) != LENGTH:
        raise InvalidParameter(
            f"a code has {LENGTH} letters and digits, got {len(symbols)}: {text!r}", "length"
        )
    wrong = [symbol for symbol in symbols if symbol not in SYMBOLS]
    if wrong:
        raise InvalidParameter(
            f"no code has the letter {wrong[0]!r}, got {text!r}; compare it with the letter", "symbol"
        )
    number = reduce(lambda rest, symbol: 32 * rest + SYMBOLS.index(symbol), symbols, 0)
    if number % MODULUS or number % 2**_CHECK_BITS >= MODULUS:
        raise InvalidParameter(f"there is a slip in the code {text!r}; compare it with the letter", "slip")
    return symbols


def _strip_marks(text: str) -> str:
    """What is left of a code without the marks that people put between its symbols or after them."""
    kept = "".join(
        letter
        for letter in text
        if letter != "\N{MINUS SIGN}" and unicodedata.category(letter) not in _IGNORED
    )
    return kept.removesuffix(".").upper()


def derive_invitation(code: str, plan_id: str) -> str:
    """The invitation to one plan that a code stands for; those to different plans cannot be linked by it."""
    words = keyed(read_code(code).encode(), plan_id, "invitation").take(_INVITATION_WORDS)
    return base64.urlsafe_b64encode(words.astype("<u8").tobytes()).decode()
