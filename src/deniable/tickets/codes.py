"""Makes codes that people type from paper, and derives the invitation to each plan from its letter's code."""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Iterable
from functools import reduce

from deniable.errors import InvalidParameter
from deniable.words import keyed

SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The alphabet of Crockford: I and L are read as 1, O is read as 0, and U is none of them."""
LENGTH = 20
"""Symbols of a code: two name its plans, 16 are random (80 bits), and two find slips."""
MODULUS = 1021
"""A code, read as a number, is a multiple of this prime: so no slip of one symbol is another code."""

_GROUP = 4
_SECRET_SYMBOLS = 16
_TAG_BITS = 10
_INVITATION_WORDS = 3
_ALIKE = str.maketrans("ILO", "110")
_WRITTEN = re.compile(r"[0-9A-Za-z]{4}(?:-[0-9A-Za-z]{4}){4}")


def draw_code(plan_ids: Iterable[str]) -> str:
    """Draw a code for these plans, in groups as it is printed."""
    return write_code(plan_ids, secrets.randbits(5 * _SECRET_SYMBOLS))


def write_code(plan_ids: Iterable[str], secret: int) -> str:
    """The code of these plans with this secret of 80 bits.

    >>> write_code(["ff" * 32], 0)
    'ZZ00-0000-0000-0000-00KA'
    """
    number = (tag_plans(plan_ids) << (5 * _SECRET_SYMBOLS) | secret) << _TAG_BITS
    number += -number % MODULUS
    symbols = "".join(SYMBOLS[number >> (5 * place) & 31] for place in reversed(range(LENGTH)))
    return "-".join(symbols[at : at + _GROUP] for at in range(0, LENGTH, _GROUP))


def tag_plans(plan_ids: Iterable[str]) -> int:
    """What the first two symbols of a code say: the first ten bits of each plan's id, combined by XOR.

    >>> tag_plans(["ff" * 32, "0f" * 32])
    963
    """
    return reduce(lambda tag, plan_id: tag ^ int(plan_id[:3], 16) >> 2, plan_ids, 0)


def is_code(text: str) -> bool:
    """Whether a text has the form of a printed code, right or wrong."""
    return _WRITTEN.fullmatch(text.strip()) is not None


def read_code(text: str) -> str:
    """The symbols of a code that somebody typed: in any case, with or without hyphens and spaces."""
    symbols = re.sub(r"[\s-]", "", text).upper().translate(_ALIKE)
    if len(symbols) != LENGTH:
        raise InvalidParameter(f"a code has {LENGTH} letters and digits, got {len(symbols)}: {text!r}")
    wrong = [one for one in symbols if one not in SYMBOLS]
    if wrong:
        raise InvalidParameter(
            f"no code has the letter {wrong[0]!r}, got {text!r}; compare it with the letter"
        )
    if reduce(lambda rest, one: (32 * rest + SYMBOLS.index(one)) % MODULUS, symbols, 0):
        raise InvalidParameter(f"there is a slip in the code {text!r}; compare it with the letter")
    return symbols


def derive_invitation(code: str, plan_id: str) -> str:
    """The invitation to one plan that a code stands for; those to different plans cannot be linked by it."""
    words = keyed(read_code(code).encode(), plan_id, "invitation").take(_INVITATION_WORDS)
    return base64.urlsafe_b64encode(words.astype("<u8").tobytes()).decode()
