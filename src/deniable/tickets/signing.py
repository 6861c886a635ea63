"""Holds the private key of a plan's tickets, and signs blinded messages with it."""

from __future__ import annotations

import math
import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, final

from deniable.errors import DeniableError, InvalidParameter
from deniable.frames import files
from deniable.tickets.public import EXPONENT, LEAST_BITS, PublicKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey


_LABEL = re.compile(rb"deniable ticket key of plan ([0-9a-f]{64})\r?\n")


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
