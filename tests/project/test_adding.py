"""Adds the protocol of docs/adding.md as it is written there, and runs the tests of every protocol on it."""

from __future__ import annotations

import doctest
import inspect
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.mechanisms import PROTOCOLS, Protocol, recognize
from tests.cases import check_each
from tests.mechanisms import test_every_mechanism, test_faults, test_inputs
from tests.running import Run

PAGE = Path(__file__).parents[2] / "docs" / "adding.md"
EXACT = {name for name, row in PROTOCOLS.items() if row.exact}
"""A test that is run for all of these is run for every protocol, a new one too."""

Test = Callable[[], object]


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> Iterator[Protocol]:
    """The row of the page, in the table for as long as a test takes."""
    page: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8")):
        exec(compile(example.source, str(PAGE), "single"), page)
    found = page["row"]
    assert isinstance(found, Protocol)
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
        mark.args[0] if isinstance(mark.args[0], str) else ",".join(mark.args[0]): list(mark.args[1])
        for mark in marks
    }


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
    assert "did you mean 'halves'" in run("simulate", "--protocol", "halve").err


def read_back(row: Protocol) -> dn.Plan:
    part = row.make(100, 1.0)
    assert isinstance(part, dn.SetMechanism)
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
