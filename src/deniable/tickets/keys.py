"""Holds the keys of RSABSSA-SHA384 (RFC 9474): the public one blinds and verifies, the private one signs.

Whatever is random is an argument, so that the vectors of the RFC are exact.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, final

from deniable.errors import DeniableError, InvalidParameter
from deniable.frames import files

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

EXPONENT = 65537
"""Every key has this one, so that a plan needs to hold the modulus alone."""
LEAST_BITS, MOST_BITS = 2048, 4096
PREFIX_BYTES = 32
"""Random bytes before a message: they hide it from a signer who made a bad key."""
SALT_BYTES = 48
HASH_BYTES = 48

_TEXT = re.compile(r"[89a-f][0-9a-f]*[13579bdf]")
_LABEL = re.compile(rb"deniable ticket key of plan ([0-9a-f]{64})\r?\n")


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


@final
class SigningKey:
    """A private key. Who has it can make tickets, but cannot link one to an invitation."""

    def __init__(self, key: RSAPrivateKey) -> None:
        numbers = key.private_numbers()
        if numbers.public_numbers.e != EXPONENT:
            raise InvalidParameter(
                f"a ticket key has the exponent {EXPONENT}, got {numbers.public_numbers.e}"
            )
        self.public = PublicKey(numbers.public_numbers.n)
        self._key = key
        self._numbers = numbers

    @staticmethod
    def generate(bits: int = LEAST_BITS) -> SigningKey:
        """A new key from the operating system's randomness."""
        from cryptography.hazmat.primitives.asymmetric import rsa

        return SigningKey(rsa.generate_private_key(EXPONENT, bits))

    @staticmethod
    def read(path: Path) -> SigningKey:
        """Read a key file: the id of its plan in the first line, then PKCS #8 in PEM."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        SigningKey.read_plan_id(path)
        try:
            key = load_pem_private_key(path.read_bytes(), None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, RSAPrivateKey):
            raise InvalidParameter(f"{path} is not a ticket key: an RSA key in PEM, without a password")
        return SigningKey(key)

    @staticmethod
    def read_plan_id(path: Path) -> str:
        """The id of the only plan that the key in a file is for."""
        file = files.require_file(path, "deniable plan --ticket-key makes one")
        match = _LABEL.match(file.read_bytes())
        if match is None:
            raise InvalidParameter(
                f"{path} is not a ticket key: its first line names no plan; deniable plan "
                "--ticket-key makes one"
            )
        return match[1].decode()

    def write(self, path: Path, plan_id: str) -> None:
        """Write the key of this plan to a new file that only its owner reads."""
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        files.refuse_existing(path, False)
        text = self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        with files.replacing(path, private=True) as temporary, temporary.open("wb") as file:
            file.write(f"deniable ticket key of plan {plan_id}\n".encode() + text)
            file.flush()
            os.fsync(file.fileno())

    def sign(self, blinded: bytes) -> bytes:
        """The blind signature of a blinded message: always the same for the same message.

        The message is multiplied by a random number first, and the exponents are random too. So the time it
        takes tells nothing that depends on the message. The result is checked: one that went wrong could
        reveal the factors of the modulus.
        """
        modulus = self.public.modulus
        number = self.public.check_blinded(blinded)
        mask = self._draw_mask()
        masked = number * pow(mask, EXPONENT, modulus) % modulus
        signature = self._apply(masked) * pow(mask, -1, modulus) % modulus
        if pow(signature, EXPONENT, modulus) != number:
            raise DeniableError("a signature went wrong and was not sent; is the machine damaged?")
        return signature.to_bytes(self.public.size)

    def _draw_mask(self) -> int:
        modulus = self.public.modulus
        while math.gcd(mask := secrets.randbelow(modulus - 2) + 2, modulus) != 1:
            pass
        return mask

    def _apply(self, number: int) -> int:
        """The private operation, by the two factors of the modulus."""
        key = self._numbers
        # multiples of p - 1 and q - 1 change the exponents, and not the powers
        first = pow(number, key.dmp1 + secrets.randbits(64) * (key.p - 1), key.p)
        second = pow(number, key.dmq1 + secrets.randbits(64) * (key.q - 1), key.q)
        return second + key.q * ((first - second) * key.iqmp % key.p)
