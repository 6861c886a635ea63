"""Writes a ticket as text, and reads it strictly: one ticket has one text."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from typing import final

from deniable.errors import InvalidParameter
from deniable.tickets.public import PREFIX_BYTES, PublicKey

_LABEL = b"deniable ticket"
_TEXT = re.compile(r"[A-Za-z0-9_-]{1,200}\.[A-Za-z0-9_-]{1,700}")


def message_of(plan_id: str) -> bytes:
    """What every ticket of a plan says after its random prefix."""
    return _LABEL + bytes.fromhex(plan_id)


@final
@dataclass(frozen=True)
class Ticket:
    """A signed message that lets in one report; its signer never saw it."""

    prepared: bytes
    """Random bytes, then the message of the plan."""
    signature: bytes

    def to_text(self) -> str:
        """As it is sent: both in base64url without padding, with a point between them."""
        return f"{_write(self.prepared)}.{_write(self.signature)}"

    @staticmethod
    def from_text(text: str) -> Ticket:
        """Back from `to_text`; any other way to write it is refused."""
        if _TEXT.fullmatch(text):
            ticket = Ticket(*map(_read, text.split(".")))
            if ticket.to_text() == text:
                return ticket
        raise InvalidParameter("a ticket is a message and its signature in base64url, with a point between")

    @property
    def hash(self) -> bytes:
        """The SHA-256 of what was signed: a store keeps it, so that the ticket counts once."""
        return hashlib.sha256(self.prepared).digest()

    def is_valid(self, key: PublicKey, plan_id: str) -> bool:
        """Whether it lets in a report of this plan."""
        if self.prepared[PREFIX_BYTES:] != message_of(plan_id):
            return False
        return key.verify(self.prepared, self.signature)


def _write(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _read(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""
