"""Derives what blinds an invitation from the device's secret, so that nothing is lost by a crash.

The device keeps the secret anyway. The same secret and invitation give the same blinded message, so the
exchange can be repeated until its answer arrives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count
from typing import final

from deniable.errors import DeniableError
from deniable.randomness import keyed
from deniable.tickets.public import PREFIX_BYTES, SALT_BYTES, PublicKey
from deniable.tickets.ticket import Ticket, message_of


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
