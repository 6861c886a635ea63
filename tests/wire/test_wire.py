"""The wire: every vector is reproduced, every hostile one is refused for its reason, and one report has one
form.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.records import Sample
from deniable.reports.reports import tally_reports
from deniable.study import Plan
from deniable.wire import Refused, Report, Wire, from_batch, to_batch
from spec.make import vectors
from tests.cases import by_night, check_each, names

POSITIVE = vectors.positive()
SLOWLY_MADE = names("devices near refusals rows repeated rounds losses single invitations protections")
"""Files that take a second and more to make. By day all clients are still asked what these files say."""


@by_night("kind", vectors.FILES, *SLOWLY_MADE)
def test_vectors_are_what_is_made_here(kind: str) -> None:
    assert (vectors.FOLDER / f"{kind}.json").read_text("utf-8") == vectors.text_of(kind), (
        "run python -m spec.make"
    )


def test_vectors_there_and_back() -> None:
    def check(case: vectors.Case) -> None:
        wire = Wire(vectors.read_plan(case["plan"]).document)
        raw = bytes.fromhex(case["bytes"])
        report = wire.check(Report.from_bytes(raw))
        assert (report.round, report.id.hex()) == (case["round"], case["id"])
        assert report.to_bytes() == raw
        assert wire.to_json(report) == case["json"].encode()
        assert wire.from_json(case["json"].encode()) == report
        found = wire.reports([report.body])
        assert wire.bodies(found) == [report.body]
        assert tally_reports(wire.document, found).n == 1

    check_each(check, POSITIVE)


def test_hostile_bytes_are_refused() -> None:
    def check(case: vectors.Case) -> None:
        wire = Wire(vectors.read_plan(case["plan"]).document)
        with pytest.raises(Refused) as refusal:
            wire.reports([wire.check(Report.from_bytes(bytes.fromhex(case["bytes"]))).body])
        assert refusal.value.reason == case["refused"]

    check_each(check, vectors.hostile("reports", "bytes"))


def test_hostile_texts_are_refused() -> None:
    def check(case: vectors.Case) -> None:
        with pytest.raises(Refused) as refusal:
            Wire(vectors.read_plan(case["plan"]).document).from_json(case["json"].encode())
        assert refusal.value.reason == case["refused"]

    check_each(check, vectors.hostile("reports", "json"))


def some_plans() -> list[tuple[str, Plan]]:
    kinds = [make() for make in vectors.PLANS.values()]
    return [(name, plan) for plans in kinds for name, plan in plans.items() if len(plan.names) <= 3]


def test_many_reports_at_once_are_those_one_by_one() -> None:
    def check(plan: Plan) -> None:
        people = vectors.answers_of(plan) * 2
        number = None if plan.document.rounds is None else 1
        made = replace(plan.privatize(people, dn.remembering(1, dn.seeded(2))), round=number)
        wire = Wire(plan.document)
        bodies = wire.bodies(made)
        assert all(len(body) in wire.lengths for body in bodies)
        again = wire.reports(bodies, number)
        assert plan.tally(again) == plan.tally(made)
        for one, two in zip(made.records.columns, again.records.columns, strict=True):
            assert one.tobytes() == two.tobytes()
        counted = plan.tally(wire.reports(bodies[:1], number))
        for body in bodies[1:]:
            counted += plan.tally(wire.reports([body], number))
        assert counted == plan.tally(made)

    check_each(check, some_plans())


def test_unsound_reports_of_a_batch_are_found_and_the_others_counted() -> None:
    for mechanism in (
        dn.spl([5, 7, 2], 2.0, "grr"),
        Sample(dn.smp([5, 7, 2], 1.0, "grr").mechanisms, 2),
        dn.rsfd([5, 7, 2], 1.0, "oue-z"),
    ):
        plan = vectors.of(mechanism)
        wire = Wire(plan.document)
        bodies = wire.bodies(plan.privatize(vectors.ANSWERS * 5, dn.seeded(3)))
        wrong = {3: b"", 5: bytes([255]) * len(bodies[5]), 11: bodies[11] + b"\0", 19: bodies[19][:-1]}
        mixed = [wrong.get(i, body) for i, body in enumerate(bodies)]
        found, sound = wire.sound(mixed)
        assert set(np.flatnonzero(~sound).tolist()) == set(wrong)
        good = [body for i, body in enumerate(bodies) if i not in wrong]
        assert wire.bodies(found) == good
        with pytest.raises(Refused, match="report 3 is not"):
            wire.reports(mixed)


def test_batches_there_and_back() -> None:
    wire = Wire(vectors.of(dn.grr(5, 1.0)).document)
    reports = [Report(wire.prefix, 1, bytes([i]) * 16, bytes([i])) for i in range(5)]
    raw = to_batch(reports)
    assert [Report.from_bytes(one) for one in from_batch(raw)] == reports
    assert list(from_batch(b"")) == []
    for cut in range(1, len(raw)):
        if cut % 34:  # a whole number of reports is a batch
            with pytest.raises(Refused, match=r"the batch ends|are left"):
                list(from_batch(raw[:cut]))


@settings(max_examples=100)
@given(st.sampled_from(POSITIVE), st.data())
def test_two_different_byte_strings_are_never_the_same_report(
    chosen: tuple[str, vectors.Case], data: st.DataObject
) -> None:
    """Whatever byte is changed, either it is refused or it is another report, which is written just so."""
    _, case = chosen
    wire, raw = Wire(Plan.from_json(case["plan"]).document), bytearray.fromhex(case["bytes"])
    position = data.draw(st.integers(0, len(raw) - 1))
    raw[position] ^= data.draw(st.integers(1, 255))
    try:
        report = wire.check(Report.from_bytes(bytes(raw)))
        text = wire.to_json(report)
    except Refused:
        return
    assert report.to_bytes() == bytes(raw)
    assert wire.from_json(text).to_bytes() == bytes(raw)
    assert text != case["json"].encode()


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_random_bytes_never_break_the_reader(raw: bytes) -> None:
    wire = Wire(vectors.of(dn.rsfd([5, 7, 2], 1.0, "oue-z")).document)
    for read in (
        lambda: wire.check(Report.from_bytes(raw)),
        lambda: wire.from_json(raw),
        lambda: list(from_batch(raw)),
    ):
        with suppress(Refused):
            read()
