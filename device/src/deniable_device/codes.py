"""Codes that people type: each stands for one invitation to each of some plans."""

from __future__ import annotations

import base64
import unicodedata
from typing import NamedTuple

from deniable_device.errors import Refused
from deniable_device.words import Stream

SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 22
DIVISOR = 1021
ALIKE = str.maketrans("ILO", "110")
CAPITALS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
IGNORED = ("Pd", "Zs", "Zl", "Zp", "Cc", "Cf")


class Code(NamedTuple):
    """A code as it was printed: its symbols, without what stands between them."""

    symbols: str

    @property
    def tag(self) -> int:
        """The XOR of the first 20 bits of the ids of its plans."""
        return value(self.symbols[:4])

    def invitation(self, plan_id: str) -> str:
        """The invitation to a plan."""
        data = Stream(self.symbols.encode("ascii"), plan_id, "invitation").block(0)[:24]
        return base64.urlsafe_b64encode(data).decode("ascii")


def value(symbols: str) -> int:
    """The whole number that symbols write."""
    number = 0
    for symbol in symbols:
        number = number * len(SYMBOLS) + SYMBOLS.index(symbol)
    return number


def read_code(typed: str) -> Code:
    """The code that a person typed, or the reason for which it is none."""
    kept = "".join(
        letter for letter in typed if letter != "\u2212" and unicodedata.category(letter) not in IGNORED
    )
    symbols = (kept[:-1] if kept.endswith(".") else kept).translate(CAPITALS).translate(ALIKE)
    if len(symbols) != LENGTH:
        raise Refused("length", f"a code has {LENGTH} symbols, got {len(symbols)}")
    for symbol in symbols:
        if symbol not in SYMBOLS:
            raise Refused("symbol", f"{symbol!r} is in no code")
    if value(symbols) % DIVISOR or value(symbols[-2:]) >= DIVISOR:
        raise Refused("slip", "a symbol of the code is wrong")
    return Code(symbols)
