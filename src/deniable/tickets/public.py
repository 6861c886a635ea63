"""Blinds messages, unblinds signatures and verifies them, with the public key of RSABSSA-SHA384 (RFC 9474).

Whatever is random is an argument, so that the vectors of the RFC are exact.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

from deniable.errors import InvalidParameter

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

EXPONENT = 65537
"""Every key has this one, so that a plan needs to hold the modulus alone."""
LEAST_BITS, MOST_BITS = 2048, 4096
PREFIX_BYTES = 32
"""Random bytes before a message: they hide it from a signer who made a bad key."""
SALT_BYTES = 48
HASH_BYTES = 48

_TEXT = re.compile(r"[89a-f][0-9a-f]*[13579bdf]")


@final
@dataclass(frozen=True)
class PublicKey:
    """The key of one plan: a modulus of 2,048 to 4,096 bits, and the exponent 65,537."""

    modulus: int

    def __post_init__(self) -> None:
        bits = self.modulus.bit_length()
        if not LEAST_BITS <= bits <= MOST_BITS or bits % 8 or self.modulus % 2 == 0:
            kind = f"an {'odd' if self.modulus % 2 else 'even'} one of {bits:,} bits"
            raise InvalidParameter(
                f"a ticket key is an odd modulus of {LEAST_BITS:,} to {MOST_BITS:,} bits, in whole bytes, "
                f"got {kind}",
                "ticket-key",
            )

    @staticmethod
    def from_text(text: object) -> PublicKey:
        """The key that a plan holds: its modulus in lower-case hexadecimal."""
        if not isinstance(text, str) or len(text) > MOST_BITS // 4 or not _TEXT.fullmatch(text):
            raise InvalidParameter(
                "a ticket key is an odd modulus in lower-case hexadecimal, without leading zero bits",
                "ticket-key",
            )
        return PublicKey(int(text, 16))

    def to_text(self) -> str:
        """As a plan holds it."""
        return f"{self.modulus:x}"

    @property
    def size(self) -> int:
        """How many bytes the modulus has, and so a blinded message and a signature."""
        return self.modulus.bit_length() // 8

    def blind(self, prepared: bytes, salt: bytes, factor: int) -> bytes:
        """The blinded message: for a random factor it is a random number, whatever was prepared."""
        self._check_factor(factor)
        number = self.encode(prepared, salt)
        if math.gcd(number, self.modulus) != 1:
            raise InvalidParameter("this message cannot be blinded; prepare another one")
        return (number * pow(factor, EXPONENT, self.modulus) % self.modulus).to_bytes(self.size)

    def check_blinded(self, blinded: bytes) -> int:
        """The number that is to be signed, or a refusal of what nobody blinded."""
        if len(blinded) != self.size:
            raise InvalidParameter(f"a blinded message has {self.size} bytes, got {len(blinded)}")
        number = int.from_bytes(blinded)
        if not 1 < number < self.modulus - 1:
            raise InvalidParameter("a blinded message is a number between 1 and the modulus less 1")
        return number

    def unblind(self, blind_signature: bytes, factor: int) -> bytes:
        """The signature of the message that was blinded with this factor; verify it."""
        self._check_factor(factor)
        if len(blind_signature) != self.size:
            raise InvalidParameter(f"a signature has {self.size} bytes, got {len(blind_signature)}")
        signature = int.from_bytes(blind_signature) * pow(factor, -1, self.modulus) % self.modulus
        return signature.to_bytes(self.size)

    def verify(self, prepared: bytes, signature: bytes, salt_bytes: int = SALT_BYTES) -> bool:
        """Whether the owner of the key signed this, without knowing what it was."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import padding
        from cryptography.hazmat.primitives.hashes import SHA384

        if len(signature) != self.size:
            return False
        scheme = padding.PSS(padding.MGF1(SHA384()), salt_bytes)
        try:
            self._key.verify(signature, prepared, scheme, SHA384())
        except InvalidSignature:
            return False
        return True

    def encode(self, message: bytes, salt: bytes) -> int:
        """EMSA-PSS-ENCODE of RFC 8017, for one bit less than the modulus has."""
        filled = self.size - HASH_BYTES - 1
        hashed = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
        block = bytes(filled - len(salt) - 1) + b"\x01" + salt
        masked = int.from_bytes(block) ^ int.from_bytes(_mask(hashed, filled))
        masked &= (1 << (8 * filled - 1)) - 1
        return int.from_bytes(masked.to_bytes(filled) + hashed + b"\xbc")

    def _check_factor(self, factor: int) -> None:
        if not 1 <= factor < self.modulus or math.gcd(factor, self.modulus) != 1:
            raise InvalidParameter("a blinding factor is below the modulus and has no divisor in common")

    @cached_property
    def _key(self) -> RSAPublicKey:
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers

        return RSAPublicNumbers(EXPONENT, self.modulus).public_key()


def _mask(seed: bytes, length: int) -> bytes:
    """MGF1 with SHA-384."""
    blocks = (hashlib.sha384(seed + i.to_bytes(4)).digest() for i in range(-(-length // HASH_BYTES)))
    return b"".join(blocks)[:length]
