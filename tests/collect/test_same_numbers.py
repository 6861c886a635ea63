"""The numbers that a dashboard draws into its tables are those that the shell prints of the same reports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import deniable as dn
from deniable.design.preview import draw_answers
from deniable.randomness.simulated import remembering, seeded
from deniable.results.possible_shares import describe_move
from deniable.wire import Wire
from tests.cases import check_each
from tests.collect.journeys import DESK, visiting
from tests.collector import TOKEN, Running, collecting, post_people
from tests.random_studies import draw_studies
from tests.running import Run

PEOPLE = 500
PLAN = dn.Study(
    {
        "vote": ["left", "right", "none"],
        "works": ["yes", "no"],
        "media": dn.Several(["tv", "web"]),
        "mood": dn.Range.scale(1, 5),
        "job": ["office", "field"],
        "perks": dn.Several(["car", "phone"]),
        "hours": dn.Range(0, 60, step=10, privacy="metric", epsilon=0.1),
        "age": dn.Range(18, 98, step=1, privacy="metric", epsilon=0.3),
        "pay": dn.Number(0, 5000),
        "home": dn.Grid(
            54, 10, 54.4, 10.8, rows=8, columns=8, epsilon=dn.metric.per_meter(level=1.5, radius=4000)
        ),
    },
    epsilon=1.5,
    only_if={name: {"works": "yes"} for name in ("hours", "pay", "job", "perks")},
).plan(people=1000)
PLANS = [PLAN]


def answer(seed: int) -> dict[str, list[Any]]:
    draw = np.random.default_rng(seed)
    works = draw.random(PEOPLE) < 0.6
    return {
        "vote": draw.choice(["left", "right", "none"], PEOPLE, p=[0.5, 0.3, 0.2]).tolist(),
        "works": np.where(works, "yes", "no").tolist(),
        "media": [["tv"] if one else ["tv", "web"] for one in works],
        "mood": draw.integers(1, 6, PEOPLE).tolist(),
        "job": ["office" if one else None for one in works],
        "perks": [["car"] if one else None for one in works],
        "hours": [30 if one else None for one in works],
        "age": draw.integers(20, 90, PEOPLE).tolist(),
        "pay": [2000.0 if one else None for one in works],
        "home": [(54.2, 10.3)] * PEOPLE,
    }


def read_table(page: Page, name: str) -> list[list[str]]:
    rows = page.get_by_role("table", name=name, exact=True).get_by_role("row").all()
    return [row.locator("th, td").all_inner_texts() for row in rows[1:]]


def test_the_page_shows_what_the_shell_prints(
    browser: Browser, collector: Running, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLE_TOKEN", TOKEN)
    PLAN.write(Path("plan.json"))
    post_people(collector, PLAN, answer(1))
    asked = ["estimate", "plan.json", "--from", collector.url]
    text, told = run(*asked).out, json.loads(run(*asked, "--json").out)
    with visiting(browser, collector, viewport=DESK) as visit:
        page = visit.dashboard(PLAN)
        page.get_by_text("Tables", exact=True).click()
        expect(page.get_by_role("table", name="Estimates of home", exact=True)).to_be_visible()  # the last
        expect(page.get_by_text("Health of the reports: ")).to_be_visible()  # another request
        tables = {
            name: read_table(page, f"Estimates of {name}")
            for name in ("vote", "works", "media", "mood", "hours", "age", "home")
        }
        answers = {
            name: read_table(page, f"Estimates of {name} of those to whom it applies")
            for name in ("job", "perks")
        }
        body = page.locator("main").inner_text()
    grouped = {row["attribute"] for row in told["groups"]}
    rows = [row for row in told["rows"] if row["attribute"] not in grouped] + told["groups"]
    compared = 0
    for name, shown in tables.items():
        mine = [row for row in rows if row["attribute"] == name]
        if name == "media":
            mine = [row for row in rows if row["attribute"].startswith("media: ") and row["value"] == "yes"]
            mine = [row | {"value": row["attribute"].removeprefix("media: ")} for row in mine]
        assert len(shown) == len(mine) > 0, name
        for cells, row in zip(shown, mine, strict=True):
            numbers = [f"{100 * row[of]:.2f} %" for of in ("share", "low", "high")]
            moved = "" if row["moved_from"] is None else describe_move(row["moved_from"])
            numbers[0] = ", ".join(filter(None, (numbers[0], moved.replace("-", "\N{MINUS SIGN}"))))
            numbers[0] = "too noisy to read" if row["noisy"] else numbers[0]
            assert cells[:4] == [str(row["value"]), *numbers], name
            printed = rf"^ *{re.escape(str(row['value']))} +\S+( %)? +{' +'.join(numbers[1:])}"
            printed += rf".*{re.escape(moved)}" if moved and not row["noisy"] else ""
            assert re.search(printed, text, re.M), (name, row)
            compared += 1
    assert compared > 30
    for name, shown in answers.items():
        mine = [row for row in told["among"] if row["attribute"] == name]
        if name == "perks":
            mine = [row for row in told["among"] if row["value"] == "yes"]
            mine = [row | {"value": row["attribute"].removeprefix("perks: ")} for row in mine]
        block = text.split(f"\n{name}, of those to whom it applies")[1].split("\n\n")[0]
        for cells, row in zip(shown, mine, strict=True):
            share = "too noisy to read" if row["noisy"] else f"{100 * row['share']:.2f} %"
            assert cells[:4] == [row["value"], share, *(f"{100 * row[of]:.2f} %" for of in ("low", "high"))]
            assert re.search(rf"^ *{row['value']} +\S+( %)? +{' +'.join(cells[2:4])}", block, re.M)
    for one in (*told["respondents"], *(each for each in told["noise"] if ": " not in each["attribute"])):
        assert one["text"].lower() in body.lower()
        assert one["text"] in text
    assert f"Health of the reports: {told['health']['summary']}" in body


STUDIES, ANSWERING = 8, 60
"""Random studies, and the people who answer each."""


@pytest.mark.long
def test_what_the_page_reads_is_what_the_shell_prints_of_random_studies(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page draws the numbers of one answer of the collector, as the test above sees; they are those that
    the shell computes from the collector's tallies.
    """
    monkeypatch.setenv("DENIABLE_TOKEN", TOKEN)
    plans = {}
    for study in draw_studies(STUDIES, tmp_path):
        if any(attribute.domain.listed for attribute in study.plan.document.attributes):
            plans[study.plan.id] = study.plan
    with collecting(tmp_path, [*plans.values()], "--minimum", "1") as running:

        def check(plan: dn.Plan) -> None:
            known = () if plan.document.known is None else (plan.document.known.name,)
            answers = draw_answers(plan, "uneven", ANSWERING, seed=1)
            codes = np.stack([answers[name] for name in (*plan.names, *known)])
            words = seeded(1) if plan.document.rounds is None else remembering(1)
            running.take(plan, Wire(plan.document).bodies(plan.privatize_codes(codes, words)))
            plan.write(Path(f"{plan.id}.json"))
            outcome = run("estimate", f"{plan.id}.json", "--from", running.url, "--json")
            assert outcome.code == 0, outcome.err
            shell = json.loads(outcome.out)
            page = running.get(f"/plans/{plan.id}/estimates").json()
            compared = [name for name in ("rows", "groups", "means", "among", "noise") if name in page]
            assert "rows" in compared
            for name in compared:
                assert len(page[name]) == len(shell[name]), name
                for row, printed in zip(page[name], shell[name], strict=True):
                    assert row == {key: printed[key] for key in row}, name

        check_each(check, plans.items())
