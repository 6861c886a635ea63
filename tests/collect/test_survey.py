"""The survey with texts of its own, in real browsers of two languages, at phone and desk width."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

import deniable as dn
from tests.collect.journeys import PHONE, check_access, visiting
from tests.collector import Running

STUDY = dn.Study(
    {"smokes": ["yes", "no"], "income": dn.Number(0, 100_000)},
    epsilon=1.0,
    title="Health",
    survey=dn.Texts(
        title={"en": "Health", "de": "Gesundheit", "ar": "الصحة"},
        introduction={"en": "Two questions.\n\nFor science.", "de": "Zwei Fragen.", "ar": "سؤالان."},
        consent={"en": "I agree <b>freely</b>.", "de": "Ich willige ein.", "ar": "أوافق."},
        responsible="The institute",
        contact="study@example.org",
        privacy_notice="https://example.org/privacy",
        thanks={"en": "Thanks a lot.", "de": "Vielen Dank.", "ar": "شكرا."},
        questions={"smokes": {"en": "Do you smoke?", "de": "Rauchen Sie?", "ar": "هل تدخن؟"}},
        help={"smokes": {"en": "Any tobacco.", "de": "Jeder Tabak."}},
        labels={"smokes": {"de": ["ja", "nein"], "ar": ["نعم", "لا"]}},
    ),
).plan(people=1000)

PLANS = [STUDY]


def choose(page: Page, language: str) -> None:
    page.locator("#language select").select_option(language)
    expect(page.locator(f'#language option[value="{language}"]:checked')).to_have_count(1)


def test_another_language_is_chosen_and_answers_stay(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, locale="fr-FR", viewport=PHONE, bypass_csp=True) as visit:
        page = visit.survey(STUDY)
        expect(page.get_by_text("Vérifié sur cet appareil")).to_be_visible()
        box = page.get_by_role("group", name="Do you smoke?").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 2 * PHONE["height"]  # visible after one scroll
        expect(page.get_by_role("group", name="Do you smoke?")).to_be_visible()  # the first language given
        page.get_by_label("Non", exact=True).check()  # the page's own words, where the operator gave none
        choose(page, "de")
        expect(page.get_by_role("group", name="Rauchen Sie?").get_by_label("nein")).to_be_checked()
        choose(page, "ar")
        expect(page.get_by_role("group", name="هل تدخن؟").get_by_label("لا")).to_be_checked()
        assert page.evaluate("document.documentElement.dir") == "rtl"
        edges = "node => node.getBoundingClientRect().right"
        field, card = (page.locator(one).first.evaluate(edges) for one in (".choice input", ".question"))
        assert card - field < 60  # what is chosen begins at the right
        check_access(page)
