"""Text that nobody listed, on the survey and on the dashboard."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

import deniable as dn
from tests.collect.journeys import PHONE, check_access, post_people, visiting
from tests.collector import Running

SITES = dn.Study(
    {"site": dn.Text("a-z0-9.-", longest=10), "smokes": ["yes", "no"]}, epsilon=2.0, title="Sites"
).plan(people=10_000)
WORDS = dn.Study({"word": dn.Text("a-z", longest=3)}, epsilon=4.0, title="Words").plan(people=3000)
PLANS = [SITES, WORDS]


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


def test_an_operator_finds_text_that_many_people_gave(browser: Browser, collector: Running) -> None:
    post_people(collector, WORDS, {"word": ["cat"] * 2000 + ["dog"] * 1000})
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
