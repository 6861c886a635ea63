"""Certificates for tests: an authority of one minute's making, and servers that it vouches for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@final
class Authority:
    """Signs certificates for 127.0.0.1 and localhost."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("an authority for tests")
        self._own = self._sign(self._name, self._key, days=365, authority=True)

    def write(self, chain: Path, key: Path, days: float = 90.0, password: bytes | None = None) -> int:
        """Write a new certificate, with the authority's behind it, and its key; its serial number."""
        made = ec.generate_private_key(ec.SECP256R1())
        signed = self._sign(_name("127.0.0.1"), made, days, authority=False)
        pem = serialization.Encoding.PEM
        chain.write_bytes(signed.public_bytes(pem) + self._own.public_bytes(pem))
        hidden = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
        key.touch(mode=0o600)
        key.write_bytes(made.private_bytes(pem, serialization.PrivateFormat.PKCS8, hidden))
        return signed.serial_number

    def _sign(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, days: float, authority: bool
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        about = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        signer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(about)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=100))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(signer, critical=False)
        )
        if not authority:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
