"""Reports from a secret: the same answers give the same bytes for ever, and the noise has the plan's law."""

from __future__ import annotations

import hashlib
import hmac
import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.client import Client
from deniable.randomness import words as words_room
from deniable.study import Plan
from deniable.wire import Report, Wire
from spec.make import vectors
from tests import statistics
from tests.cases import check_each

ANSWER = vectors.ANSWERS[0]


def device_secret(number: int) -> bytes:
    return hashlib.sha256(f"device {number}".encode()).digest()


def one_answer(plan: Plan, number: int, answers: Mapping[str, Any]) -> Report:
    """The report of a new object for this device."""
    return Client(plan, device_secret(number), plan_cap=vectors.ANY_CAP).report(answers)


def test_a_secret_gives_the_same_bytes_for_ever() -> None:
    """Averaging over 600 clients of one secret finds one report, not 600 of which the true value leads."""
    plan = vectors.of(dn.grr(2, 1.0))
    answers = {"city": "city 1"}
    reports = {Client(plan, secret=bytes(32)).report(answers).to_bytes() for _ in range(600)}
    assert len(reports) == 1


def test_vectors_are_what_a_client_reports() -> None:
    def check(case: vectors.Case) -> None:
        plan = vectors.read_plan(case["plan"])
        client = Client(plan, secret=bytes.fromhex(case["secret"]), plan_cap=vectors.ANY_CAP)
        if case["report"] is None:
            with pytest.raises(dn.DeniableError):
                client.report(case["answers"], case["round"])
            return
        assert client.report(case["answers"], case["round"]).to_bytes().hex() == case["report"]

    check_each(check, vectors.read_file("devices"))


def label(content: str | int | bytes) -> bytes:
    """As spec/wire.md has it."""
    raw = content if isinstance(content, bytes) else str(content).encode()
    kind = {str: b"s", int: b"i", bytes: b"b"}[type(content)]
    return kind + len(raw).to_bytes(8, "little") + raw


def stream(secret: bytes, *labels: str | int | bytes) -> bytes:
    """The first two blocks of a key stream."""
    message = b"".join(map(label, labels))
    blocks = (hmac.digest(secret, message + i.to_bytes(8, "little"), "sha256") for i in range(2))
    return b"".join(blocks)


def word(raw: bytes, c: int) -> int:
    return int.from_bytes(raw[8 * c : 8 * c + 8], "little")


def randomized(k: int, keep: int, value: int, raw: bytes) -> int:
    """Randomized response from two words."""
    other = word(raw, 1) * (k - 1) >> 64
    return value if word(raw, 0) < keep else other + (other >= value)


def test_the_derivation_is_that_of_the_specification() -> None:
    """Written anew from spec/wire.md, with nothing but HMAC: a split, a sample and fakes."""
    codes = {"color": 0, "age": 0, "smokes": 1}
    for number in range(50):
        secret = device_secret(number)
        whole = vectors.of(dn.spl(vectors.KS, 2.0, "grr"))
        sampled = vectors.of(dn.smp(vectors.KS, 1.0, "grr"))
        faked = vectors.of(dn.rsfd(vectors.KS, 1.0, "grr"))
        for plan in (whole, sampled, faked):
            first = word(stream(secret, plan.id, 0), 0) * 3 >> 64  # the attribute that is kept
            body = []
            for j, (part, value) in enumerate(zip(plan.document.parts, codes.values(), strict=True)):
                assert isinstance(part, dn.mechanisms.Direct)
                real = randomized(part.k, part.keep, value, stream(secret, plan.id, "noise", 1, j, value + 1))
                fake = stream(secret, plan.id, "noise", 1, j, 0)
                guess = word(fake, 0) * part.k >> 64  # sent as it is
                if plan is whole or (plan is faked and j == first):
                    body.append(real)
                elif plan is faked:
                    body.append(guess)
                elif j == first:
                    body += [j, real]
            report = one_answer(plan, number, ANSWER)
            assert report.body == bytes(body)
            assert report.id == stream(secret, plan.id, "id", 1, bytes(body))[:16]


def test_one_answer_does_not_change_what_is_said_of_others() -> None:
    """Split: other parts stay. Sample and fakes: nothing changes unless the real attribute does."""
    changed = {**ANSWER, "color": "black"}
    for plan in (
        vectors.of(dn.spl(vectors.KS, 2.0, "olh")),
        vectors.of(dn.smp(vectors.KS, 1.0, "olh")),
        vectors.of(dn.rsfd(vectors.KS, 1.0, "oue-z")),
    ):
        wire, moved = Wire(plan.document), 0
        for number in range(60):
            one, two = (
                wire.reports([one_answer(plan, number, given).body]).records for given in (ANSWER, changed)
            )
            same = [a.tobytes() == b.tobytes() for a, b in zip(one.columns, two.columns, strict=True)]
            assert all(same[1:]), "an answer that stayed was drawn anew"
            moved += not same[0]
        share = {"split": 1.0, "sample": 1 / 3, "faked": 1 / 3}[plan.mechanism.kind]
        # of 60 devices; hashes and five bits rarely fall alike
        assert 0.4 * share * 60 < moved <= min(60, 1.8 * share * 60)


def check_products(joint: np.ndarray[Any, Any], one: np.ndarray[Any, Any], what: str) -> None:
    """Two reports of a device are independent, each with its mechanism's probabilities."""
    expected = np.outer(one, one) * joint.sum()
    statistics.goodness_of_fit(joint.reshape(-1), expected.reshape(-1), what)


DEVICES = 1_000
"""Secrets, from which all noise follows: each test here passes always, or never."""


def bodies(plan: Plan, answers: Mapping[str, Any], round: int = 1) -> list[bytes]:  # noqa: A002 - as the client's
    """What each device reports, by the code that a client runs."""
    wire, codes = Wire(plan.document), plan.encode([dict(answers)])
    devices = (dn.randomness.device(device_secret(number), plan.id, round=round) for number in range(DEVICES))
    return [wire.bodies(plan.privatize_codes(codes, words))[0] for words in devices]


def pairs_of_attributes(k: int = 4) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """How often two attributes with one value report each pair, and the law of one."""
    plan = vectors.of(
        dn.records.Split((dn.grr(k, 1.0), dn.grr(k, 1.0))), {name: list("abcd") for name in "xy"}
    )
    joint = np.zeros((k, k))
    for body in bodies(plan, {"x": "a", "y": "a"}):
        joint[body[0], body[1]] += 1
    law = dn.grr(k, 1.0).law
    return joint, np.array([law.p, *[law.q] * (k - 1)])


def test_attributes_of_one_value_have_noise_of_their_own() -> None:
    joint, law = pairs_of_attributes()
    check_products(joint, law, "reports of two attributes")


def test_noise_that_attributes_share_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: the attribute is left out of the key."""
    right = words_room.DeviceRows.key_noise
    monkeypatch.setattr(
        words_room.DeviceRows,
        "key_noise",
        lambda self, attribute, values=None: right(self, attribute - self.attribute, values),
    )
    joint, law = pairs_of_attributes()
    with pytest.raises(AssertionError, match="reports of two attributes"):
        check_products(joint, law, "reports of two attributes")


def pairs_of_answers(k: int = 4, rounds: int | None = None) -> np.ndarray[Any, Any]:
    """How often a device reports each pair: of two answers or, in two rounds, of one."""
    joint = np.zeros((k, k))
    mechanism = dn.grr(k, 1.0) if rounds is None else dn.rounds.l_grr(k, 0.5, 12.0)
    plan = vectors.of(mechanism, {"x": list("abcd")}, rounds=rounds)
    second = bodies(plan, {"x": "b"}) if rounds is None else bodies(plan, {"x": "a"}, rounds)
    for one, two in zip(bodies(plan, {"x": "a"}), second, strict=True):
        joint[one[0], two[0]] += 1
    return joint


def test_a_changed_answer_has_noise_of_its_own() -> None:
    law = dn.grr(4, 1.0).law
    expected = np.outer([law.p, law.q, law.q, law.q], [law.q, law.p, law.q, law.q]) * DEVICES
    statistics.goodness_of_fit(pairs_of_answers().reshape(-1), expected.reshape(-1), "reports of two answers")


@pytest.mark.long
def test_every_round_has_noise_of_its_own() -> None:
    """The permanent answer is nearly always the true one here, so two rounds are nearly independent."""
    second = dn.rounds.l_grr(4, 0.5, 12.0).second.law
    one = np.array([second.p, second.q, second.q, second.q])
    statistics.goodness_of_fit(
        pairs_of_answers(rounds=2).reshape(-1), np.outer(one, one).reshape(-1) * DEVICES, "two rounds"
    )


@pytest.mark.long
def test_noise_without_the_value_or_the_round_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted faults: the value, or the round, is left out of the key."""
    right = words_room.DeviceRows.key_noise
    monkeypatch.setattr(
        words_room.DeviceRows, "key_noise", lambda self, attribute, *_: right(self, attribute)
    )
    with pytest.raises(AssertionError, match="reports of two answers"):
        test_a_changed_answer_has_noise_of_its_own()
    monkeypatch.setattr(
        words_room.DeviceRows,
        "key_noise",
        lambda self, attribute, values=None: right(replace(self, round=self.round and 1), attribute, values),
    )
    with pytest.raises(AssertionError, match="two rounds"):
        test_every_round_has_noise_of_its_own()


@pytest.mark.long
def test_ids_say_nothing_but_that_a_report_is_the_same() -> None:
    """Another body, round, plan or device, another id; and every bit of an id is set in half of them."""
    plan = vectors.of(dn.grr(5, 1.0))
    reports = [one_answer(plan, number, {"city": f"city {number % 5}"}) for number in range(2000)]
    assert len({report.id for report in reports}) == 2000
    bits = np.unpackbits(np.frombuffer(b"".join(report.id for report in reports), np.uint8).reshape(2000, 16))
    set_bits = bits.reshape(2000, 128).sum(axis=0)
    for value in range(5):
        some = np.unpackbits(
            np.frombuffer(b"".join(one.id for one in reports if one.body[0] == value), np.uint8)
        )
        statistics.deviation(some.mean(), 0.5, 0.5 / some.size**0.5, f"bits of ids with report {value}")
    for i, count in enumerate(set_bits.tolist()):
        statistics.deviation(count, 1000, 500**0.5, f"bit {i} of an id")
    one, two = (one_answer(plan, 1, {"city": f"city {v}"}) for v in (0, 1))
    assert (one.id == two.id) == (one.body == two.body)


def test_a_client_without_a_secret_is_asked_for_by_name() -> None:
    plan = vectors.of(dn.grr(5, 1.0))
    with pytest.raises(dn.InvalidParameter, match=r"keeps a secret .* or a ledger"):
        Client(plan)
    ids = {Client(plan, fresh=True).report({"city": "city 1"}).id for _ in range(20)}
    assert len(ids) == 20
    for more in ({"secret": bytes(32)}, {"ledger": dn.Ledger()}):
        with pytest.raises(dn.InvalidParameter, match="fresh noise is for a client without"):
            Client(plan, fresh=True, **more)
    assert inspect.signature(Client).parameters["fresh"].kind is inspect.Parameter.KEYWORD_ONLY
