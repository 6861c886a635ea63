"""A survey of known groups: the link names the group, the page says so, and the dashboard compares groups."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import deniable as dn
from deniable.wire import Report, Wire
from spec.make.keys import signing_key
from tests.collect.journeys import DESK, PHONE, visiting
from tests.collector import BINARY, HTTP, TOKEN, Running, post_people
from tests.running import Run

PEOPLE = 1000
PLAN = dn.Study(
    {"arm": ["A", "B"], "smoker": {"yes_no": True}},
    epsilon=3.0,
    known=["arm"],
    survey=dn.Texts(questions={"arm": "Which letter is on your invitation?", "smoker": "Do you smoke?"}),
).plan(people=PEOPLE)

KINDS = dn.Study(
    {"arm": ["A", "B"], "works": ["yes", "no"], "hours": ["few", "many"], "media": dn.Several(["tv", "web"])},
    epsilon=3.0,
    known=["arm"],
    only_if={"hours": {"works": "yes"}},
).plan(people=PEOPLE)
WEIGHED = dn.Study(
    {"region": ["north", "south"], "smoker": ["yes", "no"], "age": dn.Range(20, 80, step=20)},
    epsilon=3.0,
    known=["region"],
).plan(people=PEOPLE)
PLANS = [PLAN, KINDS, WEIGHED]
TICKETED = PLAN.with_ticket_key(signing_key(1).public)
CLOSED = [TICKETED]


@pytest.mark.long
def test_a_known_group_from_the_link_to_the_dashboard(
    browser: Browser, collector: Running, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of arm A smokes and nobody else, so that any test finds it."""
    monkeypatch.setenv("DENIABLE_TOKEN", TOKEN)
    PLAN.write(Path("plan.json"))
    draw = np.random.default_rng(1)
    arms = draw.choice(["A", "B"], PEOPLE)
    smokers = np.where((arms == "A") & (draw.random(PEOPLE) < 0.5), "yes", "no")
    people = {"arm": arms, "smoker": smokers}
    wire = Wire(PLAN.document)
    [body] = wire.bodies(PLAN.privatize({name: each[:1] for name, each in people.items()}, dn.seeded(1)))
    wrong = Report(wire.prefix, 1, bytes(16), bytes([2]) + body[1:]).to_bytes()
    post_people(collector, PLAN, people)
    assert HTTP.post(f"{collector.url}/reports", content=wrong, headers=BINARY).status_code == 400
    with visiting(browser, collector, viewport=PHONE, locale="en-US") as visit:
        page = visit.page
        page.goto(f"{collector.url}/#plan={PLAN.id}&group=A")
        expect(page.locator("p.notice.known")).to_have_text("Known and sent as it is: arm = A")
        expect(page.get_by_role("group", name="Which letter")).to_have_count(0)
        expect(page.locator(".promise .known")).to_contain_text("It is sent as it is")
        page.get_by_label("no", exact=True).check()
        page.get_by_role("button", name="Review my answers").click()
        expect(page.locator(".review")).to_contain_text("Which letter is on your invitation?")
        page.get_by_role("button", name="Make my report").click()
        expect(page.locator(".stays")).not_to_contain_text("Which letter")
        expect(page.locator(".leaves dd").first).to_have_text("Known and sent as it is: A")
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".receipt")).to_be_visible()
        visit.check()
    with visiting(browser, collector, viewport=PHONE, locale="de-DE") as visit:
        page = visit.page
        page.goto(f"{collector.url}/#plan={PLAN.id}&group=C")  # there is none: so it is asked
        asked = page.get_by_role("group", name="Which letter")
        expect(asked).to_contain_text("Diese Antwort wird so gesendet, wie sie ist.")
        asked.get_by_label("B").check()
        visit.check()
    found = run("cross", "plan.json", "--from", collector.url, "--of", "smoker", "--by", "arm", "--json")
    told = json.loads(found.out)
    assert told["n"] == PEOPLE + 1
    assert told["test"]["p"] < 1e-6
    with visiting(browser, collector, viewport=DESK) as visit:
        page = visit.dashboard(PLAN)
        panel = page.get_by_role("region", name="Two answers at once")
        expect(panel).to_contain_text("smoker by arm")
        expect(panel.locator(".test")).to_have_text(re.compile("p < 0.001"))
        visit.check()
    check_kinds(browser, collector)


def check_kinds(browser: Browser, collector: Running) -> None:
    """Options have tables by the group, and so has a question that applies only to some."""
    people = [
        {"arm": "A", "works": "yes", "hours": "few", "media": ["tv"]},
        {"arm": "B", "works": "no", "media": ["web"]},
        {"arm": "B", "works": "yes", "hours": "many", "media": []},
    ] * 200
    post_people(collector, KINDS, people)
    with visiting(browser, collector, viewport=DESK) as visit:
        page = visit.dashboard(KINDS)
        panel = page.get_by_role("region", name="Two answers at once")
        tables = panel.get_by_label("Table")
        expect(tables.locator("option")).to_have_text(
            ["works by arm", "hours by arm", "media: tv by arm", "media: web by arm"]
        )
        for name, answer in (("hours by arm", "few"), ("media: tv by arm", "yes")):
            tables.select_option(name)
            expect(panel.get_by_label("Answer").locator("option").first).to_have_text(answer)
            expect(panel.locator(".test")).to_have_text(re.compile("p = 0.001"))
        visit.check()


def test_the_population_in_place_of_those_who_reported(
    browser: Browser, collector: Running, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three of four people are of the north, where nobody smokes; in the population it is one of four."""
    monkeypatch.setenv("DENIABLE_TOKEN", TOKEN)
    WEIGHED.write(Path("plan.json"))
    Path("weights.csv").write_text("question,answer,size\nregion,north,25\nregion,south,75\n")
    north = {"region": "north", "smoker": "no", "age": 30}
    post_people(
        collector, WEIGHED, [north, north, north, {"region": "south", "smoker": "yes", "age": 70}] * 150
    )
    ran = run("estimate", "plan.json", "--from", collector.url, "--weights", "weights.csv", "--json")
    [smokers] = [
        row for row in json.loads(ran.out)["rows"] if (row["attribute"], row["value"]) == ("smoker", "yes")
    ]
    assert smokers["share"] > 0.5
    with visiting(browser, collector, viewport=DESK) as visit:
        page = visit.dashboard(WEIGHED)
        page.get_by_label("Tables", exact=True).check(force=True)
        smoker = page.get_by_role("region", name="smoker", exact=True)
        expect(smoker.get_by_role("row", name="yes").first).not_to_contain_text(
            f"{100 * smokers['share']:.2f} %"
        )
        board = page.get_by_role("region", name="Whom results are about")
        board.get_by_label("The population").check(force=True)
        board.get_by_role("button", name="Show the population").click()
        expect(board.get_by_role("alert")).to_contain_text("Give the size of every answer")
        board.get_by_label("north").fill("25 %")
        board.get_by_role("button", name="Show the population").click()
        expect(board.get_by_role("alert")).to_contain_text("size of region = south is a number above 0")
        board.get_by_label("south").fill("75 %")
        board.get_by_role("button", name="Show the population").click()
        expect(board.get_by_role("status")).to_have_text(
            "Weighted to the population by region (north 25 %, south 75 %)."
        )
        expect(smoker.get_by_role("row", name="yes").first).to_contain_text(f"{100 * smokers['share']:.2f} %")
        expect(smoker.locator(".weighed").first).to_contain_text("of a simple sample")
        table = page.get_by_role("region", name="Two answers at once")
        expect(table).to_contain_text("Weighted to the population by region")
        visit.check()
        board.get_by_label("Those who reported").check(force=True)
        expect(board.get_by_role("status")).to_have_count(0)
        expect(smoker.locator(".weighed")).to_have_count(0)
        expect(table).not_to_contain_text("Weighted to the population")
        visit.check()


@pytest.mark.long
def test_a_ticket_does_not_hide_the_group(
    browser: Browser, closed: Running, tokens: Callable[..., list[str]]
) -> None:
    """The report names the group, which whoever sent the link knows; and losses compare people of one."""
    [made] = tokens(closed, [TICKETED], "--count", "1", "--url", closed.url, "--group", "arm=A")
    with visiting(browser, closed, viewport=PHONE, locale="en-US") as visit:
        page = visit.page
        page.goto(made.split(",")[-1])
        page.get_by_text("How your invitation is kept apart").click()
        told = page.locator(".kept-apart")
        expect(told).to_contain_text("Your report names the group.")
        expect(told).not_to_contain_text("Nothing that is sent links")
        page.get_by_text("The promise in full").click()
        page.get_by_text("The exact loss", exact=True).click()
        expect(page.get_by_text("compared with people of your group only")).to_be_visible()
        visit.check()


def test_links_name_the_group(run: Run) -> None:
    PLAN.write(Path("plan.json"))
    url = "https://example.org"
    one = run("tokens", "plan.json", "--count", "2", "--url", url, "--group", "arm=B", "-o", "b.csv")
    assert one.code == 0, one.err
    assert Path("b.csv").read_text().count("&group=B") == 2
    assert "a code that is typed does not name 'arm'" in one.err
    assert "of 2 links" not in one.err
    Path("people.csv").write_text("name,arm\nAda,A\nBob,B\nEve,\n")
    listed = run("tokens", "plan.json", "--addresses", "people.csv", "--url", url, "-o", "all.csv")
    assert listed.code == 0, listed.err
    ada, bob, eve = Path("all.csv").read_text().splitlines()[1:]
    assert ada.endswith("&group=A")
    assert bob.endswith("&group=B")
    assert "group" not in eve  # it is asked
    assert "1 of 3 links names no 'arm' (first in row 3 of the list)" in listed.err
    assert "keep the old ones if they are for other people, such as those of another 'arm'" in listed.err
    assert "if these replace them" not in listed.err
    plain = run("tokens", "plan.json", "--count", "2", "--url", url)
    assert "2 of 2 links name no 'arm': the survey asks" in plain.err
    assert "code" not in plain.err
    for given, words in (
        ("arm", "such as arm=A"),
        ("leg=A", "'leg' is not a known question (arm)"),
        ("arm=C", "'C' is not"),
    ):
        refused = run("tokens", "plan.json", "--count", "1", "--url", url, "--group", given, "-o", "c.csv")
        assert refused.code in (1, 2)
        assert words in refused.err
        assert not Path("c.csv").exists()
    assert "--url" in run("tokens", "plan.json", "--count", "1", "--group", "arm=A").err


def test_verify_says_what_is_sent_as_it_is(run: Run) -> None:
    PLAN.write(Path("plan.json"))
    shown = run("verify", "plan.json")
    assert "known and sent as it is: 'arm' (2 values); no loss counts it" in shown.out
    assert shown.out.endswith("beyond what is stated, beside 'arm', which every report names\n")
    assert json.loads(run("verify", "plan.json", "--json").out)["known"] == ["arm"]


def test_a_group_that_is_given_in_part_is_refused(run: Run) -> None:
    asked = {"arm": ["A", "B"], "sex": ["f", "m"], "smoker": ["yes", "no"]}
    plan = dn.Study(asked, epsilon=1.0, known=["arm", "sex"]).plan(people=1000)
    plan.write(Path("plan.json"))
    made = ("tokens", "plan.json", "--url", "https://example.org", "--group", "arm=A", "-o", "a.csv")
    refused = run(*made, "--count", "1")
    assert refused.code == 2
    assert "--group leaves out sex" in refused.err
    assert not Path("a.csv").exists()
    Path("people.csv").write_text("name,sex\nAda,f\n")
    listed = run(*made, "--addresses", "people.csv")
    assert listed.code == 0, listed.err
    assert "&group=A&group=f" in Path("a.csv").read_text()
