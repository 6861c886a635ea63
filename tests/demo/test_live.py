"""The demo: everything at once, over a real socket, with both clients; and what it does where something is
missing.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from deniable import demo
from deniable.errors import DeniableError
from tests.running import Run
from tests.services import missing


def test_the_demo_counts_everybody_once_and_estimates_them(run: Run) -> None:
    """900 people at epsilon 1.5: a share is off by more than 0.35, seven standard errors, less than once in
    10^10 runs.
    """
    if shutil.which("node") is None:
        missing("Node is not installed")
    outcome = run("demo", "--people", "900", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert (found["n"], found["python"], found["typescript"]) == (900, 810, 90)
    assert len(found["rows"]) == 11
    assert all(abs(row["estimate"] - row["truth"]) < 0.35 for row in found["rows"])
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in found["rows"])
    assert "dashboard  http://127.0.0.1:" in outcome.err


@pytest.mark.long
def test_the_demo_does_without_node(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    outcome = run("demo", "--people", "200")
    assert outcome.code == 0, outcome.err
    assert "200 reports were counted, each once" in outcome.out
    assert "Node is not installed" in outcome.out
    assert outcome.err.endswith(
        "the collector has ended, and its links with it; to look around: deniable demo --people 200 --keep\n"
    )


def test_a_collector_that_does_not_start_is_reported(tmp_path: Path) -> None:
    plan = demo.make_plan(1000)
    with demo.collecting(plan, tmp_path, 0) as first:
        port = int(first.url.rpartition(":")[2])
        other = tmp_path / "other"
        other.mkdir()
        with (
            pytest.raises(DeniableError, match="the collector did not start"),
            demo.collecting(plan, other, port),
        ):
            pass


def test_people_are_the_same_for_the_same_seed() -> None:
    assert demo.make_people(50, 3) == demo.make_people(50, 3) != demo.make_people(50, 4)
