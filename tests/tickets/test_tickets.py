"""Tickets: the vectors of RFC 9474, keys and their files, and that no exchange is linked to a ticket."""

from __future__ import annotations

import hashlib
import hmac
import json
import stat
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from deniable.errors import DeniableError, FileMissing, InvalidParameter
from deniable.tickets import PREFIX_BYTES, Blinding, PublicKey, SigningKey, Ticket, message_of
from deniable.tickets.keys import EXPONENT
from spec.make.keys import signing_key
from spec.make.vectors import FOLDER
from tests.cases import check_each

VECTORS = json.loads((FOLDER / "rfc9474.json").read_text("utf-8"))
PLAN = hashlib.sha256(b"a plan").hexdigest()
OTHER = hashlib.sha256(b"another plan").hexdigest()


def rfc_key() -> SigningKey:
    p, q, n, e, d = (int(VECTORS["key"][name], 16) for name in "pqned")
    public = rsa.RSAPublicNumbers(e, n)
    numbers = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public)
    return SigningKey(numbers.private_key(unsafe_skip_rsa_key_validation=True))


def secret_of(device: int) -> bytes:
    return hashlib.sha256(f"device {device}".encode()).digest()


def exchange(device: int, invitation: str, key: SigningKey | None = None) -> tuple[Blinding, bytes, Ticket]:
    """A device's blinding, what the signer answers, and the ticket."""
    signer = key or signing_key(0)
    blinding = Blinding.of(signer.public, PLAN, secret_of(device), invitation)
    signed = signer.sign(blinding.blinded)
    return blinding, signed, blinding.unblind(signed)


def test_vectors_of_the_rfc() -> None:
    key = rfc_key()
    assert key.public.to_text() == VECTORS["key"]["n"]

    def check(case: dict[str, Any]) -> None:
        prepared, salt, blinded, signed, signature = (
            bytes.fromhex(case[name]) for name in ("prepared_msg", "salt", "blinded_msg", "blind_sig", "sig")
        )
        assert prepared == bytes.fromhex(case["msg_prefix"]) + bytes.fromhex(case["msg"])
        factor = pow(int(case["inv"], 16), -1, key.public.modulus)
        assert key.public.blind(prepared, salt, factor) == blinded
        assert key.sign(blinded) == signed
        assert key.public.unblind(signed, factor) == signature
        assert key.public.verify(prepared, signature, len(salt))
        assert not key.public.verify(prepared + b"!", signature, len(salt))

    assert len(VECTORS["cases"]) == 4
    check_each(check, [(case["name"], case) for case in VECTORS["cases"]])


def test_a_device_asks_for_the_same_signature_again() -> None:
    blinding, signed, ticket = exchange(1, "invitation")
    again, resigned, _ = exchange(1, "invitation")
    assert (again, resigned) == (blinding, signed)
    assert ticket.is_valid(signing_key(0).public, PLAN)
    assert not ticket.is_valid(signing_key(0).public, OTHER)
    assert not ticket.is_valid(signing_key(1).public, PLAN)
    others = [exchange(2, "invitation")[2], exchange(1, "another")[2]]
    assert len({one.hash for one in [ticket, *others]}) == 3


def test_blindings_come_from_the_secret_as_the_wire_has_it() -> None:
    """By HMAC-SHA256 in counter mode, spelled out."""

    def stream(number: int, size: int) -> bytes:
        labels: list[tuple[bytes, bytes]] = [(b"s", PLAN.encode()), (b"s", b"ticket"), (b"s", b"invitation")]
        labels.append((b"i", str(number).encode()))
        text = b"".join(kind + len(raw).to_bytes(8, "little") + raw for kind, raw in labels)
        blocks = (hmac.digest(secret_of(1), text + i.to_bytes(8, "little"), "sha256") for i in range(9))
        return b"".join(blocks)[:size]

    key = signing_key(0).public
    blinding = Blinding.of(key, PLAN, secret_of(1), "invitation")
    drawn = stream(0, 80)
    assert blinding.prepared == drawn[:32] + b"deniable ticket" + bytes.fromhex(PLAN)
    assert blinding.salt == drawn[32:]
    numbers = (int.from_bytes(stream(number, key.size)) for number in range(1, 100))
    assert blinding.factor == next(number for number in numbers if 0 < number < key.modulus)


def test_every_exchange_fits_every_ticket() -> None:
    """What a signer sees of 8 exchanges, and later 8 tickets: for each pair there is just one factor, and it
    explains both the blinded message and the signature. So all 64 pairs are equally likely.
    """
    key = signing_key(0).public
    seen = [exchange(device, f"invitation {device}") for device in range(8)]
    for (blinding, signed, _), (other, _, ticket) in product(seen, seen):
        found = int.from_bytes(signed) * pow(int.from_bytes(ticket.signature), -1, key.modulus) % key.modulus
        encoded = pow(int.from_bytes(ticket.signature), EXPONENT, key.modulus)
        explained = encoded * pow(found, EXPONENT, key.modulus) % key.modulus
        assert explained == int.from_bytes(blinding.blinded)
        assert (found == blinding.factor) is (blinding is other), "only the device knows which one it was"


def test_factors_that_are_not_random_would_link() -> None:
    """Planted: devices that all use one factor. Then one pair in eight fits it, and all are linked."""
    key = signing_key(0).public
    made = [Blinding.of(key, PLAN, secret_of(device), "invitation") for device in range(8)]
    same = [Blinding(key, PLAN, one.prepared, one.salt, made[0].factor) for one in made]
    tickets = [one.unblind(signing_key(0).sign(one.blinded)) for one in same]
    for blinding, ticket in product(same, tickets):
        encoded = pow(int.from_bytes(ticket.signature), EXPONENT, key.modulus)
        fits = encoded * pow(made[0].factor, EXPONENT, key.modulus) % key.modulus == int.from_bytes(
            blinding.blinded
        )
        assert fits is (blinding.prepared == ticket.prepared)


def test_tickets_have_one_text() -> None:
    _, _, ticket = exchange(1, "invitation")
    text = ticket.to_text()
    assert Ticket.from_text(text) == ticket
    assert ticket.prepared[PREFIX_BYTES:] == message_of(PLAN)
    wrong = [
        "",
        ".",
        text[:-1],
        f"{text}=",
        text.replace(".", ":"),
        f" {text}",
        f"{text}\n",
        "a.b",
        text + "A" * 900,
    ]
    for one in wrong:
        with pytest.raises(InvalidParameter, match="base64url"):
            Ticket.from_text(one)


def test_changed_tickets_are_not_valid() -> None:
    key = signing_key(0).public
    _, _, ticket = exchange(1, "invitation")
    longer = (int.from_bytes(ticket.signature) + key.modulus).to_bytes(key.size + 1)
    changed = [
        Ticket(bytes([ticket.prepared[0] ^ 1]) + ticket.prepared[1:], ticket.signature),
        Ticket(ticket.prepared, ticket.signature[:-1] + bytes([ticket.signature[-1] ^ 1])),
        Ticket(ticket.prepared, bytes(key.size)),
        Ticket(ticket.prepared, ticket.signature[1:]),
        Ticket(ticket.prepared, longer),
        Ticket(ticket.prepared[1:], ticket.signature),
        Ticket(ticket.prepared, (key.modulus - int.from_bytes(ticket.signature)).to_bytes(key.size)),
    ]
    for one in changed:
        assert not one.is_valid(key, PLAN)


def test_what_cannot_be_signed_is_refused() -> None:
    key = signing_key(0)
    size, modulus = key.public.size, key.public.modulus
    for blinded in (b"", bytes(size - 1), bytes(size + 1)):
        with pytest.raises(InvalidParameter, match="has 256 bytes, got"):
            key.sign(blinded)
    for number in (0, 1, modulus - 1, modulus, (1 << 8 * size) - 1):
        with pytest.raises(InvalidParameter, match="between 1 and"):
            key.sign(number.to_bytes(size))
    with pytest.raises(InvalidParameter, match="has 256 bytes"):
        key.public.unblind(bytes(255), 2)
    for factor in (0, modulus, key._numbers.p):
        with pytest.raises(InvalidParameter, match="blinding factor"):
            key.public.blind(b"message", bytes(48), factor)


def test_a_wrong_signature_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in one half of the computation would give away the factors of the modulus."""
    key = signing_key(0)
    blinding = Blinding.of(key.public, PLAN, secret_of(1), "invitation")
    right = SigningKey._apply
    monkeypatch.setattr(SigningKey, "_apply", lambda self, number: right(self, number) + self._numbers.q)
    with pytest.raises(DeniableError, match="went wrong"):
        key.sign(blinding.blinded)


def test_signers_see_masked_numbers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The private operation never gets the number that was sent, nor the same number twice."""
    key, seen = signing_key(0), set[int]()
    right = SigningKey._apply

    def watch(self: SigningKey, number: int) -> int:
        seen.add(number)
        return right(self, number)

    monkeypatch.setattr(SigningKey, "_apply", watch)
    blinded = Blinding.of(key.public, PLAN, secret_of(1), "invitation").blinded
    assert key.sign(blinded) == key.sign(blinded)
    assert len({*seen, int.from_bytes(blinded)}) == 3


def test_exponents_of_signers_are_random(monkeypatch: pytest.MonkeyPatch) -> None:
    """They differ by multiples of p - 1 and q - 1, which leave the signature as it is."""
    key, seen = signing_key(0), dict[int, list[int]]()

    def watch(base: int, exponent: int, modulus: int) -> int:
        seen.setdefault(modulus, []).append(exponent)
        return pow(base, exponent, modulus)

    monkeypatch.setattr("deniable.tickets.keys.pow", watch, raising=False)
    blinded = Blinding.of(key.public, PLAN, secret_of(1), "invitation").blinded
    assert key.sign(blinded) == key.sign(blinded)
    for prime, exponent in ((key._numbers.p, key._numbers.dmp1), (key._numbers.q, key._numbers.dmq1)):
        assert len({exponent, *seen[prime]}) == 3
        assert {one % (prime - 1) for one in seen[prime]} == {exponent}


def test_a_device_notices_another_key() -> None:
    blinding = Blinding.of(signing_key(0).public, PLAN, secret_of(1), "invitation")
    for answer in (signing_key(1).sign(bytes([1]) * 256), bytes(256), b"", b"<html>a portal</html>"):
        with pytest.raises(DeniableError, match="no signature by the key in the plan"):
            blinding.unblind(answer)


def test_key_files(tmp_path: Path) -> None:
    path = tmp_path / "tickets.key"
    signing_key(0).write(path, PLAN)
    assert SigningKey.read_plan_id(path) == PLAN
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SigningKey.read(path).public == signing_key(0).public
    with pytest.raises(InvalidParameter, match="exists already"):
        signing_key(1).write(path, PLAN)
    with pytest.raises(FileMissing, match="--ticket-key makes one"):
        SigningKey.read(tmp_path / "elsewhere" / "none.key")
    wrong = ec.generate_private_key(ec.SECP256R1())
    label, text = path.read_bytes().split(b"\n", 1)
    pem = wrong.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for other in (label + b"\n" + pem, pem, text, b"\n" + label + b"\n" + text):
        path.write_bytes(other)
        with pytest.raises(InvalidParameter, match="not a ticket key"):
            SigningKey.read(path)
    path.write_text("a key")
    with pytest.raises(InvalidParameter, match="not a ticket key"):
        SigningKey.read(path)


def test_keys_in_plans_have_one_text() -> None:
    text = signing_key(0).public.to_text()
    assert PublicKey.from_text(text) == signing_key(0).public
    even = text[:-1] + "0"
    for wrong in (
        None,
        7,
        "",
        text.upper(),
        f"0{text}",
        f"00{text}",
        f"7{text[1:]}",
        even,
        text[:-2] + "1",
        text * 3,
    ):
        with pytest.raises(InvalidParameter, match="ticket key is an odd modulus"):
            PublicKey.from_text(wrong)
    with pytest.raises(InvalidParameter, match="got an odd one of 1,024 bits"):
        PublicKey.from_text(text[:256][:-1] + "1")
    one = signing_key(0)._numbers
    public = rsa.RSAPublicNumbers(3, one.public_numbers.n)
    weak = rsa.RSAPrivateNumbers(one.p, one.q, one.d, one.dmp1, one.dmq1, one.iqmp, public)
    with pytest.raises(InvalidParameter, match="exponent 65537, got 3"):
        SigningKey(weak.private_key(unsafe_skip_rsa_key_validation=True))
