"""Holds the private key of a plan's tickets, and signs blinded messages with it."""

from __future__ import annotations

import math
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, final

from deniable.errors import DeniableError, InvalidParameter
from deniable.tables import files
from deniable.tickets.public import EXPONENT, LEAST_BITS, PublicKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey


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
        """Read a key file, PKCS #8 in PEM."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        file = files.require_file(path, "deniable plan --ticket-key makes one")
        try:
            key = load_pem_private_key(file.read_bytes(), None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, RSAPrivateKey):
            raise InvalidParameter(f"{path} is not a ticket key: an RSA key in PEM, without a password")
        return SigningKey(key)

    def write(self, path: Path) -> None:
        """Write the key to a new file that only its owner reads."""
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        files.refuse_existing(path, False)
        text = self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        with files.replacing(path, private=True) as temporary, temporary.open("wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def sign(self, blinded: bytes) -> bytes:
        """The blind signature of a blinded message: always the same for the same message.

        The message is multiplied by a random number first, so that the time it takes says nothing about the
        key. The result is checked: one that went wrong could reveal the factors of the modulus.
        """
        modulus = self.public.modulus
        number = self.public.check_blinded(blinded)
        mask = self._draw_mask()
        masked = number * pow(mask, EXPONENT, modulus) % modulus
        found = self._apply(masked) * pow(mask, -1, modulus) % modulus
        if pow(found, EXPONENT, modulus) != number:
            raise DeniableError("a signature went wrong and was not sent; is the machine damaged?")
        return found.to_bytes(self.public.size)

    def _draw_mask(self) -> int:
        modulus = self.public.modulus
        while math.gcd(mask := secrets.randbelow(modulus - 2) + 2, modulus) != 1:
            pass
        return mask

    def _apply(self, number: int) -> int:
        """The private operation, by the two factors of the modulus."""
        key = self._numbers
        first, second = pow(number, key.dmp1, key.p), pow(number, key.dmq1, key.q)
        return second + key.q * ((first - second) * key.iqmp % key.p)
