"""Two keys for tickets, of 2,048 bits: made once for tests, and secret to nobody."""

from __future__ import annotations

from functools import cache

from cryptography.hazmat.primitives.asymmetric import rsa

from deniable.tickets import SigningKey
from deniable.tickets.keys import EXPONENT

_PRIMES = (
    (
        "ea6ac480f02a1c45a1be4f9b88b0994383c6d9e9c0db0b26b4b847c1f754104a5a288919922ac479900ab4bd14a0d38e"
        "a831543158cda90e35a2a0f65d3275f397aa6df15b19f88b1a4b57198882188fb54f74eefe97669b4604fb75373ecdcf"
        "af194ab096ca752c0db141ac39ced7217ceabfb52e316c76fd0d465f4b4e198b",
        "c12d6b7424672b0b3a55f87b5e2e2f29bd3f812e90d2f451e5f82c430723de747dd297fa53c54031d0dec3fb22d4bfb5"
        "208d7f26b965d6cf617c26375f46181ef39b8c1be6d0efcdb9a123c7f0f7b5a29767a2d99e71aff7b9b5b11633fbb600"
        "7bb4914dab8edf1f312bc8c35a071d7af9197a313a33be5955f8cdfa2400ed81",
    ),
    (
        "fc4eea792dabea6e483d59613fa21bf288f6b35445a3048c76d3c7d10c87a5565a22be9430850d99c27dd69a7cf8951f"
        "aa3881667cd5ffb79c5afaee8ad556a97dada31df91d4f0b5f7943af14df3990d5f77c378d439c9c14d5536e9c517ac6"
        "2aefa351fa9d422f1baff0797fac151076f281f2e9a3b5b7c4e8385a41a017cd",
        "e2e8a7ad4111728600a377fd398d6e03af4a191f21763df83822fe396bd643008a9e27ef3e9d4966be6fff760b63d0f7"
        "b71f0b72ea881f8cee8ea558a8cb28821098755f481439935ad5edda0ed1bcb14baf118156bac94da085f7ea8377bf69"
        "dc86b126ed680a8f08f36fc67ca71d98a582fec384d5dc57e31d574fd2719843",
    ),
)


@cache
def signing_key(number: int) -> SigningKey:
    """One of the two."""
    p, q = (int(prime, 16) for prime in _PRIMES[number])
    d = pow(EXPONENT, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(EXPONENT, p * q)
    numbers = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public)
    return SigningKey(numbers.private_key(unsafe_skip_rsa_key_validation=True))
