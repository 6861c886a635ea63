"""Adds the protocol of docs/adding.md as it is written there, and runs the tests of every protocol on it."""

from __future__ import annotations

import doctest
import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet

import deniable as dn
import deniable.choose.candidate  # lists the protocols before a row is added
from deniable.mechanisms import PROTOCOLS, Protocol
from deniable.mechanisms.protocols import recognize
from deniable.plan import strict_json as notation
from deniable.randomness import FULL
from deniable.wire import PREFIX, Report, Wire
from deniable.wire import json as wire_json
from tests import faults
from tests.cases import check_each
from tests.mechanisms import test_every_mechanism, test_faults, test_inputs
from tests.running import Run

PAGE = Path(__file__).parents[2] / "docs" / "adding.md"
EXACT = set(PROTOCOLS)
"""A test that is run for all of these is run for every protocol, a new one too."""

Test = Callable[[], object]


@cache
def read_page() -> dict[str, Any]:
    """Everything that the examples of the page define."""
    page: dict[str, Any] = {"__name__": "deniable.adding"}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8")):
        exec(compile(example.source, str(PAGE), "single", dont_inherit=True), page)
    return page


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> Iterator[Protocol]:
    """The row of the page, in the table for as long as a test takes."""
    found = read_page()["row"]
    assert isinstance(found, Protocol)
    yield from _enter(found, monkeypatch)


@pytest.fixture
def shape(monkeypatch: pytest.MonkeyPatch) -> Iterator[Protocol]:
    """The toy shape of the page, added to the files that its table names."""
    page = read_page()
    denial = page["Denial"]
    monkeypatch.setitem(notation._MECHANISMS, "denial", (denial, ("k", "keep")))
    monkeypatch.setitem(notation._KINDS, denial, "denial")
    monkeypatch.setattr(notation, "KINDS", (*notation.KINDS, "denial"))
    readers = {**wire_json._READERS, denial: wire_json._READERS[dn.mechanisms.Direct]}
    monkeypatch.setattr(wire_json, "_READERS", readers)
    monkeypatch.setattr(notation.mechanism_from_dict, "__defaults__", (notation.KINDS,))
    choices, move = test_every_mechanism._choices, faults.MovedP._moved

    def list_choices(made: Any) -> Any:
        if not isinstance(made, denial):
            return choices(made)
        named = test_every_mechanism._below_cuts(made.k - 1)
        return [test_every_mechanism._ranges(FULL - made.keep), test_every_mechanism._ranges(*named)]

    def move_p(fault: faults.MovedP) -> Any:
        if not isinstance(fault.right, denial):
            return move(fault)
        return replace(fault.right, keep=min(FULL - 1, round(fault.right.keep * (1 + Fraction(fault.by)))))

    monkeypatch.setattr(test_every_mechanism, "_choices", list_choices)
    monkeypatch.setattr(faults.MovedP, "_moved", move_p)
    yield from _enter(Protocol("denial", page["denial"]), monkeypatch)


def _enter(found: Protocol, monkeypatch: pytest.MonkeyPatch) -> Iterator[Protocol]:
    """A row in the table of protocols, and in the tests of every one of them."""
    monkeypatch.setitem(PROTOCOLS, found.name, found)
    monkeypatch.setitem(test_every_mechanism.MAKERS, found.name, found.make)
    recognize.cache_clear()
    yield found
    recognize.cache_clear()
    test_every_mechanism.made.cache_clear()


def generic_tests(name: str) -> Iterator[tuple[str, Test]]:
    """Every test that is run once for each protocol, with all of its other parameters, for this one."""
    for module in (test_every_mechanism, test_inputs, test_faults):
        for title, test in vars(module).items():
            parameters = parameters_of(test)
            if set(parameters.pop("name", ())) >= EXACT:
                for values in itertools.product(*parameters.values()):
                    chosen = dict(zip(parameters, values, strict=True))
                    yield f"{title}, {chosen}", prepare(test, name, chosen)


def parameters_of(test: object) -> dict[str, list[Any]]:
    """What a test is run with: for the name of a parameter, or names with commas between them, all values."""
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    return {
        mark.args[0] if isinstance(mark.args[0], str) else ",".join(mark.args[0]): [
            bare(case, isinstance(mark.args[0], str)) for case in mark.args[1]
        ]
        for mark in marks
    }


def bare(case: Any, is_single: bool) -> Any:
    """A case of a test without its marks."""
    if not isinstance(case, ParameterSet):
        return case
    return case.values[0] if is_single else case.values


def prepare(test: Callable[..., object], name: str, chosen: dict[str, Any]) -> Test:
    """A test with its parameters; what it patches is put back when it ends."""
    given: dict[str, Any] = {"name": name}
    for names, value in chosen.items():
        given |= dict(zip(names.split(","), value, strict=True)) if "," in names else {names: value}

    def run() -> None:
        with pytest.MonkeyPatch.context() as patch:
            more = {"monkeypatch": patch} if "monkeypatch" in inspect.signature(test).parameters else {}
            test(**given, **more)

    return run


def test_it_passes_what_every_protocol_passes(row: Protocol) -> None:
    tests = list(generic_tests(row.name))
    assert len({title.partition(",")[0] for title, _ in tests}) >= 20
    check_each(lambda test: test(), tests)


@pytest.mark.long
def test_a_new_shape_passes_what_every_protocol_passes(shape: Protocol) -> None:
    """Its budget is checked up to epsilon 10 and 1,000 values: at 20 and 10,000 its threshold is near 2^64,
    and a step of it is 1e-7 of epsilon.
    """
    tests = [(title, test) for title, test in generic_tests(shape.name) if "loss_spends_epsilon" not in title]
    assert len(tests) == len(list(generic_tests(shape.name))) - 2
    check_each(lambda test: test(), tests)
    for k, epsilon in itertools.product((2, 3, 1000), (1e-4, 0.1, 1.0, 5.0, 10.0)):
        test_every_mechanism.check_budget(shape.make, k, epsilon)


def test_a_new_shape_whose_sampler_is_broken_does_not(
    shape: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault: it always denies a value that is not the true one."""
    denial = read_page()["Denial"]
    encode = denial._encode

    def encode_broken(self: Any, values: Any, words: Any, reports: Any) -> None:
        encode(self, values, words, reports)
        reports[reports == values] = (values[reports == values] + 1) % self.k

    monkeypatch.setattr(denial, "_encode", encode_broken)
    tests = [(title, test) for title, test in generic_tests(shape.name) if "follow" in title]
    assert tests
    with pytest.raises(AssertionError, match="cases fail"):
        check_each(lambda test: test(), tests)


def test_a_new_shape_goes_through_a_plan(shape: Protocol, tmp_path: Path) -> None:
    """It is written, read back, reported, sent as bytes and JSON, tallied, estimated and explained."""
    made = shape.make(3, 2.0)
    assert isinstance(made, dn.mechanisms.SetMechanism)
    plan = dn.Plan.of({"color": ["red", "green", "blue"]}, made, people=1000)
    assert '"kind":"denial"' in plan.to_json().replace(" ", "").replace("\n", "")
    again = dn.Plan.from_json(plan.to_json())
    assert again.id == plan.id
    assert " denial " in again.explain()
    assert "{wang2017," in again.cite()
    answers = {"color": ["red"] * 1500 + ["green"] * 500}
    reports = again.privatize(answers, dn.seeded(1))
    path = tmp_path / "reports.parquet"
    again.write_reports(path, reports)
    tallies = again.tally(path)
    assert tallies == again.tally(reports)
    shares = again.estimate(tallies)["color"].frequencies
    np.testing.assert_allclose(shares, [0.75, 0.25, 0.0], atol=0.15)
    wire = Wire(again.document)
    for body in wire.bodies(reports)[:20]:
        report = Report(bytes.fromhex(again.id)[:PREFIX], 1, bytes(16), body)
        assert wire.from_json(wire.to_json(report)).body == wire.check(report).body == body
        assert len(wire.to_labels(report)["color"]) == 2  # type: ignore[arg-type]


def test_every_file_that_the_page_names_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## If no shape fits")[2]
    named = set(re.findall(r"`([\w/]+\.(?:py|ts|json|md))`", text))
    assert len(named) >= 14
    root = PAGE.parents[1]
    for name in named - {"__init__.py"}:
        places = (
            root / name,
            root / "src" / "deniable" / name,
            root / "src" / "deniable" / "mechanisms" / name,
        )
        assert any(place.exists() for place in places), f"docs/adding.md names {name}, which is not there"


def test_a_protocol_that_is_wrong_does_not(row: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: it spends a thousandth more than it is given."""
    monkeypatch.setitem(
        test_every_mechanism.MAKERS, row.name, lambda k, epsilon: row.make(k, epsilon * 1.001)
    )
    tests = [(title, test) for title, test in generic_tests(row.name) if "at_the_corners" in title]
    with pytest.raises(AssertionError, match=r"1 of 1 cases fail[^$]*is above epsilon"):
        check_each(lambda test: test(), tests)


def test_the_command_line_knows_it(row: Protocol, run: Run) -> None:
    outcome = run("protocols", "--k", "100", "--epsilon", "1")
    assert outcome.code == 0
    assert any(line.split()[:1] == [row.name] for line in outcome.out.splitlines()), outcome.out


def read_back(row: Protocol) -> dn.Plan:
    part = row.make(100, 1.0)
    assert isinstance(part, dn.mechanisms.SetMechanism)
    plan = dn.Plan.of({"town": [f"town {n}" for n in range(100)]}, part, people=1000)
    return dn.Plan.from_json(plan.to_json())


def test_a_plan_that_is_read_back_names_and_cites_it(row: Protocol) -> None:
    plan = read_back(row)
    assert " halves " in plan.explain()
    assert "{ye2018," in plan.cite()


def test_outside_the_table_it_is_described_and_nobody_is_cited(
    row: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(PROTOCOLS, row.name)
    recognize.cache_clear()
    plan = read_back(row)
    assert "a subset of 50 of 100" in plan.explain()
    assert not any(key in plan.cite() for key in ("ye2018", "revisiting2025", "wang2017"))
