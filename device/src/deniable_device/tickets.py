"""Tickets: an invitation is exchanged for a signature that the signer cannot know again (RFC 9474).

The scheme is RSABSSA-SHA384-PSS-Randomized with the exponent 65537. Signatures are compared in constant time.
Python's integers are not: powers, products and inverses take longer for some numbers than for others. Who can
time this device very exactly could learn of the blinding factor, and link the ticket to its invitation. Each
factor is used for one invitation, and no key of a signer is here."""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
from typing import NamedTuple

from deniable_device.errors import Refused
from deniable_device.words import Stream

EXPONENT = 65537
SALT = 48
PREFIX = 32
HASH = 48
TITLE = b"deniable ticket"


def prepare(plan_id: str, prefix: bytes) -> bytes:
    """The message that is signed, behind 32 random bytes."""
    return prefix + TITLE + bytes.fromhex(plan_id)


def mask(seed: bytes, length: int) -> bytes:
    """So many bytes that nobody can tell from random ones without the seed (MGF1)."""
    blocks = (
        hashlib.sha384(seed + number.to_bytes(4, "big")).digest() for number in range(-(-length // HASH))
    )
    return b"".join(blocks)[:length]


def mixed(left: bytes, right: bytes) -> bytes:
    """Two texts of one length, one XOR the other."""
    return bytes(a ^ b for a, b in zip(left, right))


def padded(message: bytes, salt: bytes, length: int) -> bytes:
    """The message in the padding PSS, in as many bytes as the modulus has, whose highest bit is set."""
    digest = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    data = bytes(length - HASH - 2 - len(salt)) + b"\x01" + salt
    hidden = mixed(data, mask(digest, len(data)))
    return bytes([hidden[0] & 0x7F]) + hidden[1:] + digest + b"\xbc"


def is_signed(key: int, message: bytes, signature: bytes) -> bool:
    """Whether a signature of a message is one of the key."""
    length = size_of(key)
    number = int.from_bytes(signature, "big")
    if len(signature) != length or number >= key:
        return False
    encoded = pow(number, EXPONENT, key).to_bytes(length, "big")
    hidden, digest = encoded[: length - HASH - 1], encoded[length - HASH - 1 : -1]
    data = mixed(hidden, mask(digest, len(hidden)))
    salt = data[-SALT:]
    return hmac.compare_digest(padded(message, salt, length), encoded)


def size_of(key: int) -> int:
    """How many bytes a modulus has."""
    return -(-key.bit_length() // 8)


def blind(key: int, prepared: bytes, salt: bytes, factor: int) -> bytes:
    """The message as the signer sees it: multiplied by a factor that only this device knows."""
    length = size_of(key)
    number = int.from_bytes(padded(prepared, salt, length), "big")
    if math.gcd(number, key) != 1 or not is_factor(key, factor):
        raise Refused("factor", "the message or the factor has a divisor in common with the key")
    return (number * pow(factor, EXPONENT, key) % key).to_bytes(length, "big")


def is_factor(key: int, factor: int) -> bool:
    """Whether a number can be taken off again."""
    return 0 < factor < key and math.gcd(factor, key) == 1


def unblind(key: int, prepared: bytes, factor: int, signature: bytes) -> str:
    """The ticket, if what came back is a signature of the key; anything else is refused."""
    number = int.from_bytes(signature, "big")
    if len(signature) != size_of(key) or number >= key or not is_factor(key, factor):
        raise Refused("signature", "this is no signature of the key in the plan")
    signed = (number * pow(factor, -1, key) % key).to_bytes(size_of(key), "big")
    if not is_signed(key, prepared, signed):
        raise Refused("signature", "this is no signature of the key in the plan")
    return ".".join(base64.urlsafe_b64encode(data).rstrip(b"=").decode() for data in (prepared, signed))


class Blinding(NamedTuple):
    """What hides one ticket; a device makes the same again from its secret and the invitation."""

    key: int
    prepared: bytes
    salt: bytes
    factor: int

    def message(self) -> bytes:
        """What the signer sees."""
        return blind(self.key, self.prepared, self.salt, self.factor)

    def ticket(self, signature: bytes) -> str:
        """The ticket from what the signer gave back."""
        return unblind(self.key, self.prepared, self.factor, signature)


def blinding(key: int, plan_id: str, secret: bytes, invitation: str) -> Blinding:
    """What hides the ticket for an invitation."""

    def stream(number: int, size: int) -> bytes:
        source = Stream(secret, plan_id, "ticket", invitation, number)
        return b"".join(map(source.block, range(-(-size // 32))))[:size]

    data = stream(0, PREFIX + SALT)
    number = 1
    while not is_factor(key, int.from_bytes(stream(number, size_of(key)), "big")):
        number += 1
    factor = int.from_bytes(stream(number, size_of(key)), "big")
    return Blinding(key, prepare(plan_id, data[:PREFIX]), data[PREFIX:], factor)
