"""A survey that asks two questions together: answered in a browser, read in dashboard and shell."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import deniable as dn
from deniable.wire import Report, Wire
from tests.collect.test_pages import browser as browser
from tests.collect.test_pages import visiting
from tests.collector import BINARY, HTTP, TOKEN, collecting
from tests.running import Run

PEOPLE = 3000
PLAN = dn.Study(
    {"age": dn.Range(18, 78, step=20), "smoker": {"yes_no": True}, "sex": ["f", "m"]},
    epsilon=3.0,
    together=[("age", "smoker"), ("sex", "smoker")],
    survey=dn.Texts(questions={"smoker": {"en": "Do you smoke?", "de": "Rauchen Sie?"}}),
).plan(people=PEOPLE)


def test_a_table_from_the_survey_to_the_dashboard(
    browser: Browser, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the young smoke and no others, so that any test finds it."""
    monkeypatch.setenv("DENIABLE_TOKEN", TOKEN)
    PLAN.write(Path("plan.json"))
    draw = np.random.default_rng(1)
    ages = draw.integers(18, 78, PEOPLE)
    people = {
        "age": ages,
        "smoker": np.where((ages < 38) & (draw.random(PEOPLE) < 0.5), "yes", "no"),
        "sex": draw.choice(["f", "m"], PEOPLE),
    }
    wire = Wire(PLAN)
    bodies = wire.bodies(PLAN.privatize(people, dn.seeded(1)))
    reports = [Report(wire.prefix, 1, secrets.token_bytes(16), body).to_bytes() for body in bodies]
    with collecting(tmp_path, [PLAN]) as running:
        for start in range(0, PEOPLE, 1000):
            some = reports[start : start + 1000]
            batch = b"".join(len(raw).to_bytes(4, "little") + raw for raw in some)
            assert HTTP.post(f"{running.url}/reports/batch", content=batch, headers=BINARY).is_success
        phone = {"width": 390, "height": 844}
        with visiting(browser, running, viewport=phone, locale="de-DE") as visit:
            page = visit.page
            page.goto(running.url)
            page.get_by_label("age", exact=True).fill("44")
            page.get_by_role("group", name="Rauchen Sie?").get_by_label("Nein").check()
            page.get_by_label("m", exact=True).check()
            page.get_by_role("button", name="Meine Antworten prüfen").click()
            page.get_by_role("button", name="Meinen Bericht erstellen").click()
            leaves = page.locator(".leaves")
            expect(leaves).to_contain_text("age \N{MULTIPLICATION SIGN} Rauchen Sie?")
            expect(leaves.locator("dd").filter(has_text=re.compile("zeigt auf"))).to_have_count(1)
            page.get_by_role("button", name="Senden").click()
            expect(page.locator(".receipt")).to_be_visible()
            visit.check()
        told = json.loads(
            run("cross", "plan.json", "--from", running.url, "--of", "smoker", "--by", "age", "--json").out
        )
        assert told["test"]["p"] < 1e-6
        with visiting(browser, running, viewport={"width": 1200, "height": 900}) as visit:
            page = visit.dashboard(PLAN)
            panel = page.get_by_role("region", name="Two answers at once")
            expect(panel).to_contain_text("smoker by age")
            expect(panel.locator(".test")).to_have_text(
                re.compile("^Independence is rejected at 5 %.*p < 0.001")
            )
            page.get_by_text("Tables", exact=True).click()
            row = panel.get_by_role("row", name=re.compile("^18 to under 38"))
            expect(row).to_contain_text(f"{100 * told['cells'][0]['shown']:.1f} %")
            assert told["method"] == "most likely"
            expect(panel).to_contain_text("shares of the most likely table are shown")
            panel.get_by_label("Table").select_option("smoker by sex")
            expect(panel.get_by_role("row", name=re.compile("^f "))).to_be_visible()
            visit.check()
