"""Makes a device's ticket, writes it as text, and reads it strictly: one ticket has one text.

What blinds an invitation is derived from the device's secret, which it keeps anyway, so that nothing is lost
by a crash. The same secret and invitation give the same blinded message, so the exchange can be repeated
until its answer arrives.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from dataclasses import dataclass
from itertools import count
from typing import final

from deniable.errors import DeniableError, InvalidParameter
from deniable.randomness import keyed
from deniable.tickets.keys import PREFIX_BYTES, SALT_BYTES, PublicKey

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


@final
@dataclass(frozen=True)
class Blinding:
    """A prepared message and what hides it from the signer; only the device may know it."""

    key: PublicKey
    plan_id: str
    prepared: bytes
    salt: bytes
    factor: int

    @staticmethod
    def of(key: PublicKey, plan_id: str, secret: bytes, invitation: str) -> Blinding:
        """The one of this device for this invitation."""

        def stream(number: int, size: int) -> bytes:
            words = keyed(secret, plan_id, "ticket", invitation, number).take(-(-size // 8))
            return words.astype("<u8").tobytes()[:size]

        prefix_and_salt = stream(0, PREFIX_BYTES + SALT_BYTES)
        factors = (int.from_bytes(stream(number, key.size)) for number in count(1))
        factor = next(
            candidate
            for candidate in factors
            if 0 < candidate < key.modulus and math.gcd(candidate, key.modulus) == 1
        )
        prepared = prefix_and_salt[:PREFIX_BYTES] + message_of(plan_id)
        return Blinding(key, plan_id, prepared, prefix_and_salt[PREFIX_BYTES:], factor)

    @property
    def blinded(self) -> bytes:
        """What is sent to be signed."""
        return self.key.blind(self.prepared, self.salt, self.factor)

    def unblind(self, blind_signature: bytes) -> Ticket:
        """The ticket, or a refusal where the signer did not sign what was sent."""
        if len(blind_signature) == self.key.size:
            ticket = Ticket(self.prepared, self.key.unblind(blind_signature, self.factor))
            if ticket.is_valid(self.key, self.plan_id):
                return ticket
        raise DeniableError("the answer is no signature by the key in the plan; no report was sent")
