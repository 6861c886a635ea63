"""Bytes as a gateway or a queue holds them: read in blocks as one by one, in any form and however cut."""

from __future__ import annotations

import base64
import io
import json
import os
import random
from collections import Counter
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import deniable as dn
from deniable.collect.intake import BINARY, JSON, Intake, Served
from deniable.collect.limits import Limits
from deniable.records import Sample, Split
from deniable.results.windows import tally_chain
from deniable.rounds import dbitflip
from deniable.store.store import Arrival
from deniable.study import Plan
from deniable.wire import Refused, Report, Wire, messages, to_batch
from deniable.wire.known import KnownIds
from spec.make import vectors
from tests.cases import by_night, check_each
from tests.engines.test_chains import list_chains
from tests.running import run_with
from tests.wire.test_wire import some_plans

PARTS = (dn.grr(5, 1.0), dn.oue(7, 1.0), dn.grr(2, 1.0))
FLIPS = (dbitflip(5, 1.0, 2), dbitflip(7, 1.0, 4), dbitflip(2, 1.0, 1))
PLANS = {
    "all": vectors.of(Split(PARTS)),
    "one of them": vectors.of(Sample(PARTS)),
    "several of them": vectors.of(Sample(PARTS, 2)),
    "fakes": vectors.of(dn.rsfd([5, 7, 2], 1.0, "oue-z")),
    "hashes": vectors.of(dn.spl([5, 7, 2], 2.0, "olh")),
    "few bits": vectors.of(Sample(FLIPS), rounds=3),
    "groups": vectors.of(Split(PARTS)).with_known({"arm": ["A", "B"]}),
}
CHAINS = ["more values", "a sample that breaks", "fakes", "less of a hash", "more bits", "a line"]
PLAN = dn.Study({"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}, epsilon=2.0).plan(people=100)


def list_plans(which: str) -> list[tuple[str, Plan]]:
    """A plan of every way of reporting, or also of every mechanism."""
    return list(PLANS.items()) if which == "few" else some_plans()


def draw_reports(plan: Plan, n: int, seed: int, rounds: int = 1) -> list[Report]:
    """Reports of n simulated people, with random ids, in the first rounds by turns."""
    wire, draw = Wire(plan.document), random.Random(seed)
    known, of = ({"arm": "B"}, PLANS["all"]) if plan is PLANS["groups"] else ({}, plan)
    people = [answers | known for _, answers in zip(range(n), cycle(vectors.answers_of(of)), strict=False)]
    bodies = wire.bodies(plan.privatize(people, dn.remembering(seed, round=1)))
    return [Report(wire.prefix, 1 + i % rounds, draw.randbytes(16), body) for i, body in enumerate(bodies)]


def read_one_by_one(plan: Plan, raw: bytes) -> str | None:
    """Why the collector's own reader refuses a message; None where it takes it."""
    wire, intake = Wire(plan.document), Intake([Served(plan)], Limits())
    try:
        arrival = intake.one(raw, JSON if raw[:1] == b"{" else BINARY, None)
        assert isinstance(arrival, Arrival)
        return None if wire.sound(arrival.bodies, arrival.round)[1].all() else "form"
    except Refused as problem:
        return problem.reason


def break_bytes(raw: bytes, draw: random.Random) -> bytes:
    """The bytes of a report, most of them with something wrong."""
    wrong, at = bytearray(raw), draw.randrange(len(raw))
    kind = draw.randrange(7)
    if kind == 0:
        wrong[at] ^= 1 << draw.randrange(8)
    elif kind == 1:
        wrong[draw.randrange(13)] = draw.randrange(256)
    elif kind == 2:
        return raw[:at]
    elif kind == 3:
        return raw + bytes([draw.randrange(256)])
    elif kind == 4:
        wrong[29 + draw.randrange(max(len(raw) - 29, 1)) - (len(raw) == 29)] = 255
    elif kind == 5:  # two things at once, of which one is the reason
        for place in draw.sample((0, 5, 12), 2):
            wrong[place] ^= 0x81
    return bytes(wrong)


@by_night("which", ["few", "all"], "all")
def test_blocks_are_read_as_the_collector_reads_one_by_one(which: str) -> None:
    def check(plan: Plan) -> None:
        draw, refused = random.Random(7), list[tuple[bytes, str]]()
        sent = [
            break_bytes(report.to_bytes(), draw)
            for report in draw_reports(plan, 120, 3, plan.document.rounds or 1)
        ]
        sent = [raw for raw in sent if raw[:1] not in (b"0", b"{")]  # which would be text
        received = plan.read_wire(sent, lambda raw, reason: refused.append((raw, reason)), at_once=50)
        blocks = list(received)
        expected = [(raw, reason) for raw in sent if (reason := read_one_by_one(plan, raw)) is not None]
        assert refused == expected
        assert len(expected) > 10
        wire = Wire(plan.document)
        bodies = Counter((block.round, body) for block in blocks for body in wire.bodies(block))
        right = [raw for raw in dict.fromkeys(sent) if read_one_by_one(plan, raw) is None]
        assert received.n == len({(raw[9:13], raw[13:29]) for raw in right})
        ours = Counter[tuple[int | None, bytes]](
            (int.from_bytes(raw[9:13], "little"), raw[29:]) for raw in right
        )
        assert not bodies - ours

    check_each(check, list_plans(which))


@by_night("name", CHAINS, *CHAINS[2:])
def test_reports_to_all_plans_of_a_chain_are_read(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In blocks of one plan each, and refused in order; the file has them all, with a column of the plan."""
    plans, draw = list_chains()[name], random.Random(5)
    sent = [report for plan in plans for report in draw_reports(plan, 60, 3, plan.document.rounds or 1)]
    messages = [
        *(report.to_bytes() for report in sent),
        *(break_bytes(report.to_bytes(), draw) for report in sent),
    ]
    messages += [Wire(plan.document).to_json(report) for plan in plans for report in draw_reports(plan, 5, 6)]
    draw.shuffle(messages)
    refused = list[tuple[bytes, str]]()
    received = plans[-1].read_wire(messages, lambda raw, reason: refused.append((raw, reason)), at_once=70)
    blocks = list(received)
    n = 0
    for plan in plans:
        alone = [block for block in plan.read_wire(messages) if block.plan_id == plan.id]
        wire = Wire(plan.document)
        counts, expected = (
            Counter(
                (block.round, report_id, body)
                for block in each
                for report_id, body in zip(np.asarray(block.ids).tolist(), wire.bodies(block), strict=True)
            )
            for each in ([block for block in blocks if block.plan_id == plan.id], alone)
        )
        assert counts == expected
        n += counts.total()
    assert n == received.n > 60 * len(plans)

    def refuse(raw: bytes) -> str | None:
        reasons = [read_one_by_one(plan, raw) for plan in reversed(plans)]
        return next((reason for reason in reasons if reason != "plan"), "plan")

    assert refused == [(raw, reason) for raw in messages if (reason := refuse(raw)) is not None]
    file = tmp_path / "reports.parquet"
    assert plans[-1].write_reports(file, plans[-1].read_wire(messages)) == n
    windows = tally_chain(plans[-1].document, file, None, "plan", None, None)
    assert [sum(part.n for part in each.values()) for each in windows] == [
        sum(block.n for block in blocks if block.plan_id == plan.id) for plan in plans
    ]
    path, log, decoded = (tmp_path / part for part in ("plan.json", "log", "decoded.parquet"))
    plans[-1].write(path)
    log.write_bytes(b"".join(len(raw).to_bytes(4, "little") + raw for raw in messages))
    assert run_with(capsys)("decode", str(path), str(log), "-o", str(decoded)).code == 0
    assert parquet.read_table(decoded).equals(parquet.read_table(file))
    for i, block in enumerate(blocks):
        assert plans[-1].write_reports(tmp_path / "blocks" / f"{i}.parquet", block) == block.n
    apart, together = (
        [{key: part.n for key, part in each.items() if part.n} for each in of_plans]
        for of_plans in (
            tally_chain(plans[-1].document, source, None, "plan", None, None)
            for source in (tmp_path / "blocks", file)
        )
    )
    assert apart == together
    with pytest.raises(dn.InvalidParameter, match=r"write all of them into one: plan.write_reports\(path, "):
        plans[-1].write_reports(file, blocks[0])
    first = draw_reports(plans[0], 20, 8) + draw_reports(plans[-1], 30, 8)
    tallies = plans[-1].tally(plans[-1].read_wire(first))
    assert (tallies.n, tallies.refused) == (30, {"plan": 20})
    with pytest.raises(dn.InvalidReport, match="were made for plan"):
        plans[0].tally(plans[-1].read_wire(first))


@pytest.mark.parametrize("form", ["bytes", "json"])
def test_hostile_vectors_are_refused_for_their_reason(form: str) -> None:
    def check(case: vectors.Case) -> None:
        raw = bytes.fromhex(case["bytes"]) if form == "bytes" else case["json"].encode()
        if raw[:1] in (b"0", b"{") or form == "bytes":
            received = vectors.read_plan(case["plan"]).read_wire([raw])
            assert [block.n for block in received] == [0]
            assert received.refused == {case["refused"]: 1}

    check_each(check, vectors.hostile("reports", form))


@by_night("which", ["few", "all"], "all")
def test_every_form_is_the_same_report(which: str, tmp_path: Path) -> None:
    def check(plan: Plan) -> None:
        wire, sent = Wire(plan.document), draw_reports(plan, 30, 5)
        expected = plan.tally(plan.read_wire(sent))
        assert expected.n == 30
        digits = [report.to_bytes().hex().upper() for report in sent]
        texts = [wire.to_json(report).decode() for report in sent]
        mixed = [*digits[:10], *(report.to_bytes() for report in sent[10:20]), *texts[20:]]
        in_lines = [f" {text}\r\n" for text in (*digits[:15], *texts[15:])]
        for forms in (digits, texts, mixed, in_lines):
            assert plan.tally(plan.read_wire(forms)) == expected
        file = tmp_path / "reports"
        lines = "\r\n".join(["", *digits[:15], "", *texts[15:]]).encode()
        for content in (to_batch(sent), lines, lines + b"\n"):
            file.write_bytes(content)
            assert plan.tally(plan.read_wire(file)) == expected
            assert plan.tally(plan.read_wire(io.BytesIO(content))) == expected

    check_each(check, list_plans(which))


@pytest.mark.parametrize("chunk", [5, 64, 1000])
def test_a_file_is_cut_anywhere(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports of several lengths, which end before, in and after what is read at once."""
    plan = PLANS["several of them"]
    sent = draw_reports(plan, 40, 9)
    monkeypatch.setattr(messages, "_CHUNK", chunk)
    lines = b"".join(report.to_bytes().hex().encode() + b"\n" for report in sent)
    monkeypatch.setattr(messages, "_MOST", 500)
    for content in (to_batch(sent), lines if chunk > 100 else to_batch(sent)):
        received = plan.read_wire(io.BytesIO(content))
        assert plan.tally(received).n == 40
        assert not received.refused
        short = plan.read_wire(io.BytesIO(content[:-5]))
        assert plan.tally(short).n == 39
        assert sum(short.refused.values()) == 1
    with pytest.raises(dn.InvalidReport, match="the file is damaged"):
        list(plan.read_wire(io.BytesIO(to_batch(sent) + b"\xff" * 40)))
    assert plan.tally(plan.read_wire(io.BytesIO(b""))).n == 0


def test_ids_are_remembered_as_a_whole_and_by_round() -> None:
    """Of ids that differ in one bit or in the round alone, none is taken for another; a set says the same."""
    draw = np.random.default_rng(4)
    pool = draw.integers(0, 256, (200, 16), dtype=np.uint8)
    pool[100:] = pool[:100]
    pool[np.arange(100, 200), draw.integers(0, 16, 100)] ^= 1
    known, seen = KnownIds(None), set[tuple[int, bytes]]()
    for _ in range(60):
        picks, rounds = draw.integers(0, 200, 300), draw.integers(1, 40, 300)
        ids = pool[picks].copy().view("S16")[:, 0]
        rows = known.find_new(rounds, ids)
        new = []
        for i, name in enumerate(zip(rounds.tolist(), (raw.tobytes() for raw in pool[picks]), strict=True)):
            if name not in seen:
                seen.add(name)
                new.append(i)
        assert rows.tolist() == new
    assert len(seen) > 4096  # the table has grown


def test_at_least_the_window_is_remembered() -> None:
    known = KnownIds(1000)
    ids = np.arange(1, 10_001, dtype=np.uint64).repeat(2).view("S16")
    ones = np.ones(100, np.int64)
    for start in range(0, 10_000, 100):
        assert len(known.find_new(ones, ids[start : start + 100])) == 100
        back = max(0, start - 900)
        assert len(known.find_new(ones, ids[back : back + 100])) == 0
    assert len(known.find_new(ones, ids[:100])) == 100  # forgotten
    with pytest.raises(dn.InvalidParameter, match=r"window, .* at least 1, got 0"):
        PLAN.read_wire([], window=0)


def test_a_report_in_two_files_is_counted_once(tmp_path: Path) -> None:
    """Also where one file has all of its messages refused, and in a plan of rounds."""
    again = dn.Study({"smokes": ["yes", "no"]}, epsilon_first=1.0, epsilon_forever=2.0, rounds=3).plan(
        people=9
    )
    for plan, rounds in ((PLAN, 1), (again, 3)):
        folder = tmp_path / plan.id[:8]
        sent = draw_reports(plan, 60, 2, rounds)
        for name, part in (("a", sent[:40]), ("b", sent[20:]), ("c", [])):
            plan.write_reports(folder / f"{name}.parquet", plan.read_wire([*part, b"lost"]))
        windows = (
            plan.tally(folder, by=plan.table_form.round_column) if rounds > 1 else {1: plan.tally(folder)}
        )
        assert [tallies.n for tallies in windows.values()] == [60 // rounds] * rounds
        assert sum(tallies.refused.get("repeated", 0) for tallies in windows.values()) == 20
        assert sum(block.n for block in plan.read_reports(folder / "a.parquet")) == 40


def test_what_is_no_message_is_refused(tmp_path: Path) -> None:
    wrong: list[tuple[object, str]] = [
        (b"bytes", "messages are an iterable"),
        (7, "messages are an iterable"),
        ([{"value": b""}], "got dict among them; of a message of a queue give its bytes"),
        (io.StringIO("01"), "for reading bytes"),
        (tmp_path / "nowhere", "there is no file"),
        (tmp_path, "is a folder; name a file"),
        ("01\n02\n", r"give a list: text.splitlines\(\)"),
    ]
    for source, why in wrong:
        with pytest.raises(dn.DeniableError, match=why):
            list(PLAN.read_wire(source))
    plain = PLAN.privatize([{"color": "red", "smokes": "no"}])
    with pytest.raises(dn.InvalidReport, match="some of these reports have an id and others have none"):
        PLAN.write_reports(tmp_path / "r.parquet", [*PLAN.read_wire(draw_reports(PLAN, 3, 1)), plain])
    assert not list(tmp_path.iterdir())


def test_the_shell_decodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, plan, sent = run_with(capsys), str(PLAN.write(tmp_path / "plan.json")), draw_reports(PLAN, 30, 1)
    log, out, bad = tmp_path / "log", tmp_path / "day=1" / "a.parquet", tmp_path / "bad.jsonl"
    log.write_bytes(to_batch(sent) + to_batch(sent[:2]) + b"\x09\0\0\0\x01abc")
    code, shown, _ = run("decode", plan, str(log), "-o", str(out), "--refused", str(bad), "--json")
    assert code == 0
    assert json.loads(shown) == {"n": 30, "refused": {"repeated": 2, "malformed": 1}}
    assert PLAN.tally(out).n == 30
    assert bad.read_text() == '{"reason": "malformed", "message": "09000000"}\n'
    assert run("decode", plan, str(log), "-o", str(out)).code == 2  # it exists
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(log.read_bytes())))
    again = tmp_path / "day=1" / "b.parquet"
    code, shown, noted = run("decode", plan, "-o", str(again))
    assert (code, shown) == (0, f"wrote 30 reports to {again}\n")
    assert "2 refused: repeated\n1 refused: malformed\nnext: deniable estimate" in noted
    code, _, noted = run("decode", plan, plan, str(log), "-o", str(tmp_path / "none.parquet"))
    assert (code, f"error: {plan} is a plan, and no file of reports; leave it out" in noted) == (1, True)
    log.write_bytes(to_batch(sent) + b"\xff" * 40)
    kept = tmp_path / "kept.jsonl"
    code, _, noted = run(
        "decode", plan, str(log), "-o", str(tmp_path / "none.parquet"), "--refused", str(kept)
    )
    assert (code, f"head -c {len(to_batch(sent))} FILE keeps what is before" in noted) == (1, True)
    assert not kept.exists(), "nothing was refused"
    log.write_bytes(to_batch([report._replace(plan=bytes(8)) for report in sent]))
    code, _, noted = run("decode", plan, str(log), "-o", str(tmp_path / "none.parquet"))
    assert code == 1
    assert "none of these messages is a report of plan" in noted
    assert "30 refused: plan; give the plan that they were made for" in noted
    log.write_bytes(b"\n".join(base64.b64encode(report.to_bytes()) for report in sent))
    none = tmp_path / "none.jsonl"
    code, _, noted = run(
        "decode", plan, str(log), "-o", str(tmp_path / "none.parquet"), "--refused", str(none)
    )
    assert code == 1
    assert "give each report after its length in 4 bytes" in noted
    assert len(none.read_text().splitlines()) == 30, "who looks for the reason needs them"
    assert not (tmp_path / "none.parquet").exists()
    for joint in (b"\n", b""):  # most of them have no such byte, and would be read
        log.write_bytes(joint.join(report.to_bytes() for report in sent))
        code, _, noted = run("decode", plan, str(log), "-o", str(tmp_path / "none.parquet"))
        assert code == 1
        assert "nothing says where they end" in noted
        assert not (tmp_path / "none.parquet").exists()


def test_a_pipe_is_read_once() -> None:
    """As the shell names one in `deniable decode plan.json <(zcat log.gz)`."""
    reading, writing = os.pipe()
    os.write(writing, to_batch(draw_reports(PLAN, 30, 1)))
    os.close(writing)
    assert PLAN.tally(PLAN.read_wire(f"/dev/fd/{reading}")).n == 30
    os.close(reading)


def test_the_command_that_decode_names_next_reads_all_rounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, study = run_with(capsys), dn.Study({"smokes": ["yes", "no"]}, epsilon_first=1.0, epsilon_forever=2.0)
    plan, log = study.plan(people=100), tmp_path / "log"
    log.write_bytes(to_batch(draw_reports(plan, 60, 2, rounds=3)))
    file = plan.write(tmp_path / "plan.json")
    noted = run("decode", str(file), str(log), "-o", str(tmp_path / "a.parquet")).err
    command = noted.splitlines()[-1].removeprefix("next: deniable ").split()
    estimated = run(*command, "--json")
    assert [window["window"]["round"] for window in json.loads(estimated.out)["windows"]] == [1, 2, 3]


def test_messages_that_were_read_are_not_taken_for_none(tmp_path: Path) -> None:
    plan = dn.Study({"smokes": ["yes", "no"]}, epsilon=1.0).plan(people=100)
    received = plan.read_wire(draw_reports(plan, 20, 8))
    assert str(received) == "messages that are not read yet"
    assert plan.tally(received).n == 20
    assert str(received) == "20 reports"
    file = tmp_path / "reports.parquet"
    for read_again in (plan.tally, lambda reports: plan.write_reports(file, reports)):
        with pytest.raises(dn.InvalidParameter, match="were read already"):
            read_again(received)
    assert not file.exists()
