"""Text that nobody listed, and questions on several levels, on the survey and on the dashboard."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence

from playwright.sync_api import Browser, Route, expect

import deniable as dn
from deniable.study import Plan
from deniable.wire import Report, Wire
from tests.collect.journeys import DESK, PHONE, check_access, look, visiting
from tests.collector import BINARY, HTTP, Running

SITES = dn.Study(
    {"site": dn.Text("a-z0-9.-", longest=10), "smokes": ["yes", "no"]}, epsilon=2.0, title="Sites"
).plan(people=10_000)
WORDS = dn.Study({"word": dn.Text("a-z", longest=3)}, epsilon=4.0, title="Words").plan(people=3000)
INCOME = dn.Study({"income": dn.Range(0, 4096, step=1, queries="ranges")}, epsilon=1.0, title="Income").plan(
    people=100_000
)
DEVICES = dn.Study({"device": dn.Code(bits=48)}, epsilon=2.0, title="Devices").plan(people=10_000)
PLANS = [SITES, INCOME, WORDS, DEVICES]


def test_text_is_asked_once_and_cut_where_people_see_it(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, locale="de-DE", viewport=PHONE, bypass_csp=True) as visit:
        page = visit.survey(SITES)
        field = page.locator("#q0")
        expect(page.locator("form .question")).to_have_count(2)
        expect(page.locator("#hint-0")).to_contain_text("a\u2013z")
        field.fill("example_org")
        page.locator("form button.main").click()
        expect(page.locator("#complaint-0")).to_contain_text("„_“ ist keines dieser Zeichen.")
        field.fill("e\u0301" * 6)  # as some systems paste six letters
        expect(page.locator("#count-0")).to_have_text("6 von 10 Zeichen")
        field.fill("Whats App")  # the alphabet has no capital letters, and no space
        expect(page.locator(".cut")).to_contain_text("whatsapp")
        expect(page.locator("#count-0")).to_contain_text("8 ")
        field.fill("Example-Site")
        expect(page.locator("#count-0")).not_to_contain_text("12")  # "12 of 10" is no count
        expect(page.locator(".cut")).to_contain_text("example-si")
        check_access(page)
        page.locator("form .choice").first.click()
        page.locator("form button.main").click()
        expect(page.locator(".review dd > bdi").first).to_contain_text("example-si…")
        expect(page.locator(".review dd > bdi").first).to_contain_text("ersten 10 Zeichen")
        page.locator("button.main").click()
        leaves = page.locator(".card.leaves")
        expect(leaves.locator("dt")).to_have_count(2)
        said = leaves.locator("dd")
        texts = [said.nth(i).inner_text() for i in range(2)]
        assert sum("Fach" in text for text in texts) <= 1
        check_access(page)
        page.locator(".act button.main").click()
        expect(page.locator("#receipt")).to_be_visible()


def test_a_code_is_asked_by_its_digits(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, viewport=PHONE, bypass_csp=True) as visit:
        page = visit.survey(DEVICES)
        field = page.locator("#q0")
        expect(page.locator("form .question")).to_have_count(1)
        expect(page.locator("#hint-0")).to_contain_text("A whole number below 2^48, or hexadecimal digits")
        for wrong in ("0xZZ", "-1", "1.5", hex(1 << 48)):
            field.fill(wrong)
            page.locator("form button.main").click()
            expect(page.locator("#complaint-0")).not_to_be_empty()
        field.fill("0x7ce")
        page.locator("form button.main").click()
        expect(page.locator(".review dd > bdi").first).to_contain_text("0x7ce")
        page.locator("button.main").click()
        leaves = page.locator(".card.leaves")
        expect(leaves.locator("dt")).to_have_text(["device"])
        expect(leaves.locator("dd")).to_contain_text("bucket")
        page.locator(".act button.main").click()
        expect(page.locator("#receipt")).to_be_visible()
        [posted] = [one for one in visit.sent if one.method == "POST"]
        assert posted.post_data_buffer is not None
        said = json.loads(Wire(DEVICES).to_json(Report.from_bytes(posted.post_data_buffer)))["report"]
        assert len([name for name in DEVICES.names if said.get(name) is not None]) == 1  # one level


def test_a_question_on_several_levels_is_asked_once(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, viewport=DESK) as visit:
        page = visit.survey(INCOME)
        expect(page.locator("form .question")).to_have_count(1)
        expect(page.locator(".promise .headline")).to_have_text(
            "Anyone who sees your report guesses right in which of 4 groups of values your answer is at most "
            "48 times in 100; blind guessing: 1 in 4."
        )
        drawn = page.locator(".promise .drawing")
        expect(drawn).to_contain_text(
            "in which group of 1,024 values it is (guessed right at most 48 times in 100)"
        )
        expect(drawn).to_contain_text("what of “income” is sent")
        expect(drawn).to_contain_text("in which group of 16 values it is")
        page.locator("#q0").fill("2026")
        page.locator("form button.main").click()
        page.locator("button.main").click()
        leaves = page.locator(".card.leaves")
        expect(leaves.locator("dt")).to_have_text(["income"])
        expect(leaves.locator("dd")).to_contain_text("Your device drew what is reported")
        expect(leaves.locator("dd")).to_contain_text("points to")


def send(collector: Running, plan: Plan, answers: Mapping[str, Sequence[object]]) -> None:
    wire = Wire(plan)
    made = plan.privatize(answers, dn.seeded(1))
    reports = [Report(wire.prefix, 1, secrets.token_bytes(16), body).to_bytes() for body in wire.bodies(made)]
    batch = b"".join(len(raw).to_bytes(4, "little") + raw for raw in reports)
    answer = HTTP.post(f"{collector.url}/reports/batch", content=batch, headers=BINARY)
    assert answer.json()["counted"] == len(reports)


def test_an_operator_finds_text_that_many_people_gave(browser: Browser, collector: Running) -> None:
    send(collector, WORDS, {"word": ["cat"] * 2000 + ["dog"] * 1000})
    with visiting(browser, collector, viewport=PHONE, bypass_csp=True) as visit:
        page = visit.dashboard(WORDS)
        panel = page.get_by_role("article", name="word")
        expect(panel).to_contain_text("Nobody listed these values")
        expect(panel).to_contain_text("of people have is found about half of the time")
        panel.get_by_role("button", name="Find values").click()
        expect(panel.get_by_role("heading", name="2 values found")).to_be_visible(timeout=120_000)
        expect(panel).to_contain_text("A value that nobody has is among those shown in 5 %")
        check_access(page)
        page.get_by_label("Tables").check()
        expect(panel.get_by_role("rowheader")).to_have_text(["cat", "dog"])
        panel.get_by_text("Look up a public list instead").click()
        panel.get_by_label("One value per line").fill("cat\nDog")
        panel.get_by_role("button", name="Find values").click()
        expect(panel.get_by_role("alert")).to_contain_text("'Dog' has 'D'")
        expect(page.locator(".log")).to_contain_text("found values")


def test_a_question_on_several_levels_is_one_panel_and_any_range_is_read(
    browser: Browser, collector: Running
) -> None:
    send(collector, INCOME, {"income": [1000] * 500 + [3000] * 500})
    with visiting(browser, collector, viewport=DESK, bypass_csp=True) as visit:
        page = visit.dashboard(INCOME)
        expect(page.locator(".panel.attribute")).to_have_count(1)
        expect(page.get_by_role("region", name="income")).to_contain_text("Median")
        panel = page.get_by_role("region", name="The share of a range")
        panel.get_by_label("From").fill("900")
        panel.get_by_label("To under").fill("2000")
        panel.get_by_role("button", name="Show its share").click()
        expect(panel.get_by_role("rowheader")).to_have_text(["900 to under 2000"])
        panel.get_by_label("To under").fill("9.5")
        panel.get_by_role("button", name="Show its share").click()
        expect(panel.get_by_role("alert")).to_contain_text("is not an edge of the bins")
        expect(panel.get_by_label("To under")).to_have_value("9.5")
        check_access(page)


def test_estimates_do_not_wait_for_the_history(browser: Browser, collector: Running) -> None:
    """It is held back, then it fails, then it comes: the page says so in its place."""
    send(collector, INCOME, {"income": [1000] * 500 + [3000] * 500})
    held: list[Route] = []
    with visiting(browser, collector, viewport=DESK) as visit:
        visit.context.route("**/history?*", lambda route: held.append(route))
        page = visit.dashboard(INCOME)
        panel = page.get_by_role("region", name="income")
        expect(panel).to_contain_text("Median")
        expect(panel.locator(".late")).to_contain_text("is still being computed")
        held[0].fulfill(status=429, json={"reason": "busy", "detail": "Too many."})
        expect(panel.locator(".late")).to_contain_text("could not be loaded")
        expect(panel).to_contain_text("Median")
        visit.context.unroute("**/history?*")
        for route in held[1:]:
            route.continue_()
        look(page)
        expect(panel).to_contain_text("The mean with more reports")
        expect(panel.locator(".late")).to_have_count(0)
