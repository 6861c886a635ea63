"""Audits find planted faults, one by one; and what they look for beside the bound is not seen by chance."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Integers
from deniable.audit.bound import Counts, expected_range, lower_epsilon
from deniable.audit.guessers import couples
from deniable.audit.independence import Candidates, IdBits
from deniable.audit.setting import make_setting
from deniable.audit.turns import Side
from deniable.randomness.simulated import fixed
from deniable.wire import Report, Wire
from spec.make.subsets import listed
from tests import statistics
from tests.audit.planted import (
    Changed,
    Correlated,
    Headed,
    Plain,
    clock_client,
    id_client,
    in_exclusive_or,
    in_hash,
    in_parity,
    in_residue,
    remember_before,
    stale_client,
)
from tests.audit.test_audits import FaultyDevices, Redrawing, Seeded, Telling, audited, kept, many, one
from tests.cases import by_night
from tests.faults import MovedP, StuckBit, TruthFirst, UnresetBit

MANY, FEW = statistics.PLANTED, statistics.PLANTED_ONE_BY_ONE


class Fault(NamedTuple):
    """A client with a fault, and how it is audited and what is said of it."""

    client: object
    trials: int
    more: dict[str, Any]
    says: str


def wrong(
    mechanism: dn.mechanisms.Mechanism, faulty: dn.mechanisms.Mechanism, says: str, trials: int = MANY // 10
) -> Fault:
    """Devices whose mechanism is not that of the plan; what is only a little wrong takes MANY of them."""
    return Fault(FaultyDevices(one(mechanism), faulty, 2), trials, {}, says)


def oue() -> dn.mechanisms.Unary:
    """A unary mechanism that most faults are planted in."""
    return dn.oue(20, 1.0)


def with_ids(identify: Callable[[int, bytes], bytes], says: str) -> Fault:
    plan = one(dn.grr(3, 1.0))
    return Fault(id_client(plan, identify, 2), FEW, {"plan": plan}, says)


def of_one_seed() -> Fault:
    """Every device starts from the same seed."""
    plan, wire = one(oue()), Wire(one(oue()).document)

    def report(answers: dict[str, object], secret: bytes, number: int) -> bytes:
        body = wire.bodies(plan.privatize([answers], dn.seeded(42)))[0]
        return Report(wire.prefix, number, secret[:16], body).to_bytes()

    return Fault(report, FEW, {"plan": plan}, "above the claim")


def of_another_length() -> Fault:
    """A report that is longer by a byte for one of the answers."""
    plan = one(dn.grr(3, 1.0))
    right = dn.audit.client_of(plan)

    def report(answers: dict[str, object], secret: bytes, number: int) -> bytes:
        return right(answers, secret, number) + bytes(answers["x"] == "0")

    return Fault(report, FEW, {"plan": plan}, "above the claim")


def of_another_plan() -> Fault:
    return Fault(
        dn.audit.client_of(one(dn.grr(4, 1.1))), FEW, {"plan": one(dn.grr(4, 1.0))}, "by their header"
    )


LISTED = listed(dn.ss(25, 1.0))
SHARES = "for records that differ in one or two attributes"
FAULTS: dict[str, Callable[[], Fault]] = {
    "threshold of grr 5 % too high": lambda: wrong(
        dn.grr(4, 2.0), MovedP(dn.grr(4, 2.0), 0.05), "above", MANY
    ),
    "threshold of oue 5 % too high": lambda: wrong(oue(), MovedP(oue(), 0.05), "above the claim", MANY),
    "true bit of oue not reset": lambda: wrong(oue(), UnresetBit(oue()), "above the claim"),
    "true bit of sue not reset": lambda: wrong(
        dn.sue(20, 1.0), UnresetBit(dn.sue(20, 1.0)), "above the claim"
    ),
    "subset in the order it was made": lambda: wrong(LISTED, TruthFirst(LISTED), "canonical"),
    "bit never randomized": lambda: wrong(oue(), StuckBit(oue(), 3), "above the claim"),
    "answer sent as it is": lambda: Fault(Telling(one(dn.grr(4, 1.0))), MANY // 10, {}, "above the claim"),
    "loss of a record stated as that of an attribute": lambda: Fault(
        Seeded(many(dn.rsfd([10, 10], 1.0, "grr", calibration="published")), 2), MANY, {"claim": 1.0}, "above"
    ),
    "permanent answer drawn again": lambda: Fault(
        Redrawing(one(dn.rounds.l_grr(10, 1.0, 2.0), rounds=5), 2), MANY // 10, {}, "above the claim"
    ),
    "attribute sampled again": lambda: Fault(
        Redrawing(many(kept([4, 4]), rounds=6), 2), MANY // 10, {}, "above the claim"
    ),
    "one seed for all devices": of_one_seed,
    "answer in the id": lambda: with_ids(lambda answer, name: bytes([*name[:15], answer]), "ids depend"),
    "header of another plan": of_another_plan,
    "ids that come again": lambda: with_ids(lambda _, name: bytes([name[0]] * 16), "came before"),
    "noise from the memory": lambda: with_ids(lambda _, name: name, "seeded or kept in its memory"),
    "worst case kept, but no distance": lambda: Fault(
        FaultyDevices(
            dn.Study({"age": dn.Range(0, 100, step=10, privacy="metric", epsilon=0.1)}).plan(1000),
            dn.grr(10, 8.9),
            2,
        ),
        MANY // 10,
        {},
        "for answers at this distance",
    ),
    "one attribute not randomized": lambda: Fault(
        Plain(many(dn.spl([3, 3, 3], 1.0, "grr")), 1, 2), MANY // 10, {}, "above the claim"
    ),
    "noise shared by all attributes": lambda: Fault(
        Correlated(many(dn.spl([3, 3], 1.0, "grr")), (0, 1), 2), MANY // 10, {}, SHARES
    ),
    "noise shared by all attributes, unary": lambda: Fault(
        Correlated(many(dn.spl([4, 4, 4], 3.0, "oue")), (0, 1, 2), 2), MANY // 10, {}, SHARES
    ),
    "noise shared by two attributes of ten": lambda: Fault(
        Correlated(many(dn.spl([4] * 10, 4.0, "grr")), (2, 7), 2), MANY // 2, {}, SHARES
    ),
    "seed from the clock": lambda: Fault(
        clock_client(one(dn.grr(3, 1.0)), 500), FEW, {"plan": one(dn.grr(3, 1.0))}, "a seed from the clock"
    ),
    "parity of the id": lambda: with_ids(in_parity, "ids depend on the answer to 'x' of their own device"),
    "residue of the id by 5": lambda: with_ids(in_residue, "ids depend on the answer to 'x' of their own"),
    "exclusive or of the id": lambda: with_ids(
        in_exclusive_or, "ids depend on the answer to 'x' of their own"
    ),
    "hash of two bytes of the id": lambda: with_ids(in_hash, "ids depend on the answer to 'x' of their own"),
    "length of the report": of_another_length,
    "answer of the device before in the id": lambda: with_ids(remember_before(), "of the device before"),
    "answer of the device before in the body": lambda: Fault(
        stale_client(one(dn.grr(3, 1.0)), 2),
        FEW,
        {"plan": one(dn.grr(3, 1.0))},
        "the device before it answered",
    ),
}
SUSPICIOUS: dict[str, Callable[[], Fault]] = {
    "twice the noise": lambda: wrong(oue(), dn.oue(20, 0.5), "of a right client", MANY),
    "values moved by one": lambda: Fault(
        Changed(one(dn.grr(3, 1.0)), lambda value: (value + 1) % 3, 2), MANY // 10, {}, "of a right client"
    ),
    "always the same report": lambda: Fault(
        Changed(one(dn.grr(3, 1.0)), lambda _: 1, 2), MANY // 10, {}, "of a right client"
    ),
}


NIGHTLY = (
    *("threshold of oue 5 % too high", "true bit of sue not reset", "noise shared by two attributes of ten"),
    *("hash of two bytes of the id", "exclusive or of the id", "residue of the id by 5", "parity of the id"),
    *("seed from the clock", "answer of the device before in the body", "length of the report"),
    *("attribute sampled again", "header of another plan", "one seed for all devices", "ids that come again"),
    "answer of the device before in the id",
)
"""Faults that look like others of the list, and those that take a second or more to find."""


@by_night("name", FAULTS, *NIGHTLY)
def test_planted_faults_are_found(name: str) -> None:
    fault = FAULTS[name]()
    found = audited(fault.client, trials=fault.trials, **fault.more)
    assert found.verdict == "FAIL", found.summary
    assert any(fault.says in line for line in found.summary.splitlines() if line.startswith("FAIL")), (
        found.summary
    )


@pytest.mark.parametrize("name", SUSPICIOUS)
def test_less_than_a_right_client_shows_is_suspicious(name: str) -> None:
    """Neither a pass nor a failure, and it says what a right client shows."""
    fault = SUSPICIOUS[name]()
    found = audited(fault.client, trials=fault.trials, **fault.more)
    assert (found.verdict, found.passed, found.failed, found.conclusive) == ("SUSPICIOUS", False, False, True)
    assert found.expected is not None
    low, high = found.expected
    assert 0.8 < low < high <= found.claim
    assert f"{low:.4f} to {high:.4f} of a right client" in found.summary
    assert not [line for line in found.summary.splitlines() if line.startswith(("PASS", "FAIL"))]
    assert "a pass is no proof" not in found.summary
    told = json.loads(json.dumps(found.to_dict()))
    assert (told["verdict"], told["suspicious"], told["expected"]) == ("SUSPICIOUS", True, [low, high])


def test_noise_shared_by_attributes_is_not_seen_in_records_that_differ_everywhere() -> None:
    """So that it is records which differ in one attribute that find it."""
    plan = many(dn.spl([3, 3], 1.0, "grr"))
    pair = [({"x0": "0", "x1": "0"}, {"x0": "2", "x1": "2"})]
    found = audited(Correlated(plan, (0, 1), 2), trials=MANY // 10, pairs=pair)
    assert not found.failed
    assert audited(Correlated(plan, (), 2), trials=MANY // 10).passed


# ---- pairs


def differences(plan: dn.Plan, pairs: str) -> list[int]:
    """In how many attributes each pair differs."""
    setting = make_setting(plan, pairs, "record", None, None)
    return [sum(one_[0][name] != other[0][name] for name in plan.names) for one_, other in setting.pairs]


def test_records_differ_in_one_attribute_in_two_and_in_all() -> None:
    plan = many(dn.spl([3] * 4, 1.0, "grr"))
    assert differences(plan, "ends") == [4, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]
    assert sorted(differences(many(dn.spl([3, 3], 1.0, "grr")), "ends")) == [1, 1, 2]
    assert differences(one(dn.grr(4, 1.0)), "ends") == [1]
    wide = many(dn.spl([2] * 14, 1.0, "grr"))
    assert differences(wide, "ends") == [14] + [1] * 14 + [2] * 64
    assert (
        "of 91 couples of attributes, 64 differ alone"
        in make_setting(wide, "ends", "record", 1, None).compared
    )


def test_half_of_all_devices_differ_in_few_attributes() -> None:
    setting = make_setting(many(dn.spl([3] * 4, 1.0, "grr")), "ends", "record", None, None)
    counts = np.bincount(setting.pair_of(np.arange(20_000)), minlength=len(setting.pairs))
    assert counts.tolist() == [10_000] + [1000] * 10
    alone = make_setting(one(dn.grr(4, 1.0)), "every", "record", None, None)
    assert np.bincount(alone.pair_of(np.arange(400))).tolist() == [100] * 4


def test_records_that_differ_in_few_attributes_have_their_own_claim() -> None:
    """Half of the budget for one of two attributes, and all of it where one attribute is sampled."""
    split, sampled = (
        make_setting(many(make([3, 3], 1.0, "grr")), "ends", "record", None, None)
        for make in (dn.spl, dn.smp)
    )
    assert split.claims == pytest.approx((1.0, 0.5), abs=1e-8)
    assert sampled.claims == pytest.approx((1.0,), abs=1e-8)
    assert len(sampled.groups) == 2, "they are judged apart"
    given = make_setting(many(dn.spl([3, 3], 1.0, "grr")), "ends", "record", None, 0.7)
    assert given.claims == (0.7,)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 7])
def test_couples_are_all_couples(size: int) -> None:
    assert sorted(couples(size, 1000)) == list(combinations(range(size), 2))


# ---- ranges, ids and order


@pytest.mark.long
def test_the_range_of_a_right_client_holds_right_clients() -> None:
    """3 in 10^8 are below, so none of 2000; 1 in 40 is above, so from 0.5 to 6 %."""
    draw, guessed, right, devices, alpha = np.random.default_rng(3), 0.4, 0.73, 5000, 1e-4
    below = above = 0
    for _ in range(20):
        made = int(draw.binomial(20_000, guessed))
        reference = Counts(20_000, made, int(draw.binomial(made, right)))
        guesses = draw.binomial(devices, guessed, 100)
        bounds = lower_epsilon(draw.binomial(guesses, right), guesses, alpha)
        for count, bound in zip(guesses.tolist(), bounds.tolist(), strict=True):
            low, high = expected_range(reference, devices, count, alpha)
            below, above = below + (bound < low), above + (bound > high)
            assert low > 0.3
    assert below == 0
    assert 0.005 < above / 2000 < 0.06


def test_a_range_where_nothing_is_guessed_excludes_nothing() -> None:
    assert expected_range(Counts(1000, 0, 0), 1000, 0, 0.01)[0] == 0.0
    assert expected_range(Counts(0, 0, 0), 1000, 500, 0.01)[0] == 0.0
    few = expected_range(Counts(10_000, 8000, 6000), 1000, 0, 0.01)
    assert few[0] > 0.2, "no guess at all is fewer than is likely"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["random", "counted", "constant"])
def test_ids_that_say_nothing_of_answers_are_not_called_so(kind: str) -> None:
    """Whatever they are: even ids that only count are no leak of answers."""
    draw = np.random.default_rng(5)
    codes = np.array([[0, 1, 2, 3, 4]])
    for run in range(6):
        bits = IdBits(["x"], [codes])
        candidates = Candidates(codes, bits.bits, 5)
        ids = {
            "random": draw.integers(0, 256, (4000, 16), dtype=np.uint8),
            "counted": np.arange(2000 * 8 * 4, dtype=">u4").view(np.uint8).reshape(-1, 16)[:4000],
            "constant": np.full((4000, 16), run, dtype=np.uint8),
        }[kind]
        bits.add(ids, candidates, draw.integers(0, 5, 4000))
        assert bits.fault() is None


def test_right_devices_with_ids_pass() -> None:
    for seed, plan in enumerate((one(dn.grr(3, 1.0)), many(dn.spl([3, 4], 1.0, "oue")))):
        found = audited(Headed(plan, seed), trials=FEW)
        assert found.passed, found.summary


def test_noise_that_is_shared_in_one_tick_of_a_clock_is_seen_however_short_it_is() -> None:
    """Two reports a tick: every second neighbor has the same noise."""
    plan = one(dn.oue(20, 1.0))
    audit = audited(clock_client(plan, 2), trials=FEW, plan=plan)
    assert any("a seed from the clock" in fault for fault in audit.faults)


def test_noise_that_is_shared_for_long_is_seen() -> None:
    """A clock that ticks more rarely than reports are looked at together: 20 ticks in all."""
    plan = one(dn.grr(3, 1.0))
    grr = plan.document.parts[0]

    class Ticking(dn.audit.Devices):
        headed = False
        at_once = 2000

        def __init__(self) -> None:
            self.count = 0

        def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
            codes, first = plan.encode([dict(side[0]) for side in sides])[0][who], self.count
            self.count += len(who)
            words = np.array([dn.seeded(tick).take(grr.words) for tick in range(self.count // 10_000 + 1)])
            each = words[np.arange(first, self.count) // 10_000].reshape(-1)
            reports = grr.privatize(codes, fixed(each))
            return [[bytes([report]) for report in reports.tolist()]]

    found = audited(Ticking(), plan=plan, trials=MANY // 2)
    assert any("a seed from the clock" in fault for fault in found.faults), found.summary
