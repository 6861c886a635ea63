"""A collector counts reports about smooth ranges, and reads ranges and medians of them."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.explain.questions import ONLY_IF_SMOOTH
from deniable.wire import Report, Wire
from tests import waves
from tests.collector import BINARY, HTTP, TOKEN, collecting
from tests.running import Run

PEOPLE = 2000


def test_reports_are_sent_counted_and_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENIABLE_TOKEN", TOKEN)
    plan = waves.plans()["cells"]
    plan.write(Path("plan.json"))
    made = plan.privatize({"income": 65_536 * np.random.default_rng(1).beta(2, 5, PEOPLE)}, dn.seeded(1))
    wire = Wire(plan)
    reports = [Report(wire.prefix, 1, secrets.token_bytes(16), one).to_bytes() for one in wire.bodies(made)]
    asked = ["estimate", "plan.json", "--range", "20000:40000"]
    with collecting(tmp_path, [plan]) as running:
        batch = b"".join(len(raw).to_bytes(4, "little") + raw for raw in reports)
        assert HTTP.post(f"{running.url}/reports/batch", content=batch, headers=BINARY).is_success
        text = run(*asked, "--from", running.url).out
        told = json.loads(run(*asked, "--from", running.url, "--json").out)
    assert ONLY_IF_SMOOTH in " ".join(text.split())
    here = plan.estimate(plan.tally(made)).range("income", 20_000, 40_000)
    [row] = told["ranges"]
    assert (told["n"], row["share"]) == (PEOPLE, pytest.approx(min(max(here.value, 0.0), 1.0)))
