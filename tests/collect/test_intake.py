"""The quick ways in take just what the strict ways take, and give the same."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.collect.intake import BINARY, JSON, Intake, Served, read_admission
from deniable.collect.limits import Limits
from deniable.collect.messages import Refusal
from deniable.plan import canonical
from deniable.store.store import Arrival
from deniable.study import Plan
from deniable.wire import Refused, Report, Wire, to_batch
from spec.make import vectors
from tests.cases import check_each

PLAN = Plan.of({"a": ["x", "y", "z"], "b": ["0", "1"]}, dn.spl([3, 2], 1.0, "grr"), people=100)
WIRE = Wire(PLAN.document)
ADMITTED = read_admission(b"Invitation token")
TAKES = Intake([Served(PLAN)], Limits(batch_reports=50))


def result(work: Callable[[], object]) -> object:
    """What is given, or why it is refused."""
    try:
        return work()
    except (Refused, Refusal) as refusal:
        return refusal.reason


def flat(found: Sequence[Arrival | str]) -> list[Arrival | str]:
    """Reports one by one."""
    each: list[Arrival | str] = []
    for one in found:
        if isinstance(one, str):
            each.append(one)
        else:
            each += [one._replace(ids=(a,), bodies=(b,)) for a, b in zip(one.ids, one.bodies, strict=True)]
    return each


@cache
def intake_of(plan: str) -> Intake:
    return Intake([Served(vectors.read_plan(plan))], Limits())


def test_a_canonical_text_is_read_quickly() -> None:
    def check(case: vectors.Case) -> None:
        intake = intake_of(case["plan"])
        raw = case["json"].encode()
        quick = intake._read_quickly(raw, ADMITTED)
        assert quick is not None
        assert quick == intake._read_strictly(raw, ADMITTED)
        assert quick == intake.one(bytes.fromhex(case["bytes"]), BINARY, ADMITTED)

    check_each(check, vectors.positive())


SPOILED: dict[str, Callable[[bytes], bytes]] = {
    "a space inside": lambda raw: raw.replace(b'","', b'", "', 1),
    "a space before": lambda raw: b" " + raw,
    "cut off": lambda raw: raw[:-1],
    "a name twice": lambda raw: raw[:-1] + b',"id":1}',
    "a round below zero": lambda raw: raw.replace(b'"round":', b'"round":-', 1),
}


def test_a_spoiled_text_is_refused_by_both_readers() -> None:
    def check(given: tuple[vectors.Case, bytes]) -> None:
        case, raw = given
        assert intake_of(case["plan"])._read_quickly(raw, None) is None
        with pytest.raises((Refused, Refusal)):
            intake_of(case["plan"]).one(raw, JSON, None)

    check_each(
        check,
        (
            (f"{name}, {change}", (case, spoil(case["json"].encode())))
            for name, case in vectors.positive()
            for change, spoil in SPOILED.items()
        ),
    )


def test_hostile_texts_are_refused_by_both_readers() -> None:
    def check(case: vectors.Case) -> None:
        raw = case["json"].encode()
        assert intake_of(case["plan"])._read_quickly(raw, None) is None
        assert result(lambda: intake_of(case["plan"]).one(raw, JSON, None)) == case["refused"]

    check_each(check, vectors.hostile("reports", "json"))


_text = st.text(min_size=1, max_size=8).filter(lambda text: text.isprintable())


@settings(max_examples=300)
@given(st.dictionaries(_text, st.integers(0, 2**53) | st.lists(st.integers(0, 300), max_size=5), max_size=6))
def test_both_writers_write_the_same(data: dict[str, Any]) -> None:
    assert msgspec.json.encode(data, order="sorted") == canonical(data)


def some(n: int) -> list[Report]:
    answers = {"a": ["x", "y", "z"] * n, "b": ["0", "1", "0"] * n}
    bodies = WIRE.bodies(PLAN.privatize(answers, dn.seeded(1)))[:n]
    return [Report(WIRE.prefix, 1, bytes([i]) * 16, body) for i, body in enumerate(bodies)]


def test_a_batch_of_one_kind_is_taken_apart_at_once() -> None:
    raw = to_batch(some(50))
    quick = TAKES.alike(raw, BINARY, ADMITTED)
    assert quick is not None
    assert len(quick) == 1
    assert flat(quick) == TAKES.many(raw, BINARY, ADMITTED)
    assert TAKES.alike(b"", BINARY, None) is None
    assert TAKES.alike(to_batch(some(51)), BINARY, None) is None
    assert result(lambda: TAKES.many(to_batch(some(51)), BINARY, None)) == "large"


@pytest.mark.parametrize("change", ["plan", "round", "longer", "shorter", "version", "headless"])
@pytest.mark.parametrize("which", ["one", "all"])
def test_the_quick_way_is_never_the_one_that_refuses(change: str, which: str) -> None:
    reports = some(5)

    def changed(report: Report) -> bytes:
        raw = report.to_bytes()
        forms = {
            "plan": report._replace(plan=bytes(8)).to_bytes(),
            "round": report._replace(round=7).to_bytes(),
            "longer": raw + b"\0",
            "shorter": raw[:-1],
            "version": b"\x02" + raw[1:],
            "headless": raw[:20],
        }
        return forms[change]

    texts = [changed(one) if which == "all" or i == 2 else one.to_bytes() for i, one in enumerate(reports)]
    raw = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    assert TAKES.alike(raw, BINARY, None) is None
    assert sum(isinstance(one, str) for one in TAKES.many(raw, BINARY, None)) == (5 if which == "all" else 1)


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=40), max_size=4), st.binary(max_size=6))
def test_whatever_comes_both_ways_agree(texts: list[bytes], rest: bytes) -> None:
    raw = b"".join(struct.pack("<I", len(text)) + text for text in texts) + rest
    quick = TAKES.alike(raw, BINARY, None)
    if quick is not None:
        assert flat(quick) == TAKES.many(raw, BINARY, None)
