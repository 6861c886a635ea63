"""Letters: a code for each person that leads to their own link, and addresses that stay outside the store."""

from __future__ import annotations

import csv
import html
import re
import stat
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import segno

import deniable as dn
from deniable.collect.intake import hash_invitation
from deniable.collect.letters import MOST, TEXTS, Addresses, Announced, Letter, rate_plans, write_page
from deniable.errors import FileMissing, InvalidParameter
from deniable.explain.consent import generate_consent
from deniable.messages import LANGUAGES, read_messages
from deniable.store.counting import Arrival
from deniable.store.store import open_store
from deniable.tickets import derive_invitation
from tests.collector import small_plan
from tests.running import Outcome, Run

PLAN = small_plan("Colors & <co>")
URL = "https://survey.example"
PEOPLE = '\ufeffname;street\r\nAda;"1 Square; Left"\r\n\r\n<b>Émile</b> {code};+49 21\r\n'


@pytest.fixture
def tokens(run: Run) -> Run:
    """`deniable tokens` for the people of a list."""
    PLAN.write(Path("plan.json"))
    Path("people.csv").write_bytes(PEOPLE.encode())
    Path("letter.txt").write_text("Dear {name},\n\nopen {link}\nor type {code} at {survey}.\n\nBest & good")

    def call(*options: str) -> Outcome:
        return run("tokens", "plan.json", *options)

    return call


def test_letters_and_a_mail_merge_for_a_list(tokens: Run) -> None:
    options = ["--addresses", "people.csv", "--url", URL, "-o", "merge.csv", "--letters", "letters.html"]
    made = tokens(*options, "--template", "letter.txt")
    assert (made.code, made.out) == (0, ""), "nothing secret is printed"
    with Path("merge.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["name"], row["street"]) for row in rows] == [
        ("Ada", "1 Square; Left"),
        ("<b>Émile</b> {code}", "+49 21"),
    ]
    page = Path("letters.html").read_text(encoding="utf-8")
    letters = re.findall(r"<article.*?</article>", page, re.DOTALL)
    for row, letter in zip(rows, letters, strict=True):
        assert row["invitation"] == derive_invitation(row["code"], PLAN.id)
        assert row["link"] == f"{URL}/#plan={PLAN.id}&invitation={row['invitation']}"
        [path] = re.findall(r'<path stroke="#000" d="([^"]+)"', letter)
        drawn = [
            segno.make(row["link"], error="m", micro=False, mask=m).svg_inline(border=4) for m in range(8)
        ]
        assert any(path in one for one in drawn), "the code is that of the person's own link"
        [modules] = re.findall(r'style="--modules: (\d+)"', letter)
        assert f'viewBox="0 0 {modules} {modules}"' in letter, "of these, all but eight have 45 mm"
        shown = html.unescape(re.sub(r"<svg.*?</svg>|<[^>]+>", "", letter, flags=re.DOTALL))
        assert shown == (f"Dear {row['name']},open {row['link']}\nor type {row['code']} at {URL}.Best & good")
    assert "<title>Colors &amp; &lt;co&gt;: 2 invitations</title>" in page
    assert re.findall(r"(?:src|href)=|@import|url\(", page) == [], "it loads nothing"
    for name in ("merge.csv", "letters.html"):
        assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
    stored = b"".join(file.read_bytes() for file in Path().glob("reports.db*"))
    assert stored
    assert not any(word in stored for word in (b"Ada", "Émile".encode(), b"Square", b"+49"))
    before = Path("letters.html").read_bytes()
    assert "exists already" in tokens(*options[:-3], "other.csv", *options[-2:]).err
    assert (Path("letters.html").read_bytes(), Path("other.csv").exists()) == (before, False)


def test_reminders_are_for_those_who_did_not_answer_unless_these_tell_who_did(run: Run) -> None:
    """Also where a link names a group. If few of a group have answered, which their reports name, all are
    reminded.
    """
    plan = dn.Study({"arm": ["A", "B"], "ill": ["yes", "no"]}, 1.0, known=["arm"], title="Ill").plan(
        people=100
    )
    plan.write(Path("plan.json"))
    rows = [f"Person {number},{'AB'[number % 2]},{('en', 'de')[number % 2]}\n" for number in range(30)]
    Path("people.csv").write_text("name,arm,language\n" + "".join(rows))
    listed = ("--addresses", "people.csv", "--url", URL, "-o", "merge.csv")
    assert run("tokens", "plan.json", *listed).code == 0
    before = Path("merge.csv").read_text().splitlines()

    def answer(people: Iterable[int]) -> None:
        with closing(open_store("sqlite:///reports.db")) as store:
            store.set_round(plan.id, 1)
            for number in people:
                person = dict(zip(before[0].split(","), before[number + 1].split(","), strict=True))
                made = dn.Client(plan, secret=bytes([number]) * 32).report(
                    {"arm": person["arm"], "ill": "yes"}
                )
                assert made is not None
                hashed = hash_invitation(person["invitation"].encode())
                [outcome] = store.add([Arrival(plan.id, 1, [made.id], [made.body], hashed)], time.time())
                assert outcome == "counted"

    def remind() -> Outcome:
        files = ("--letters", "reminders.html", "-o", "reminders.csv", "--force")
        return run("tokens", "plan.json", "--reminders", "merge.csv", *files)

    answer(range(9))
    told = remind()
    assert "the reminders are for everybody" in told.err
    assert Path("reminders.csv").read_text().splitlines() == before
    answer(range(10, 19, 2))  # ten of group A, and four of group B
    told = remind()
    assert "the reminders are for everybody in such a group" in told.err
    assert "whoever has these files knows who took part" in told.err  # of the other group
    answered = {*range(9), *range(10, 19, 2)}
    reminded = [before[n + 1] for n in range(30) if n not in answered or n % 2]
    assert Path("reminders.csv").read_text().splitlines() == [before[0], *reminded]
    answer([9, *range(11, 20, 2)])
    told = remind()
    assert "10 invitations of 30 are unused" in told.err
    assert Path("reminders.csv").read_text().splitlines() == [before[0], *before[21:]]
    page = Path("reminders.html").read_text(encoding="utf-8")
    assert page.count("<article") == 10
    assert (page.count(TEXTS["en"].reminder), page.count(TEXTS["de"].reminder)) == (5, 5)
    for name in ("reminders.csv", "reminders.html"):
        assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
    with closing(open_store("sqlite:///reports.db")) as store:
        logged = [(action.what, action.detail) for action in store.access.actions(2)]
    assert logged == [("made reminders", "of 30 invitations")] * 2
    answer(range(20, 30))
    assert "there is nobody to remind" in remind().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--letters a.html --count 5", "--reminders makes no invitations"),
        ("", "name a file for the reminders"),
        ("--letters a.pdf", ".html"),
        ("--letters a.html --store sqlite:///none.db", "none.db"),
    ],
)
def test_reminders_that_are_refused(options: str, said: str, tokens: Run) -> None:
    assert tokens("--addresses", "people.csv", "--url", URL, "-o", "merge.csv").code == 0
    refused = tokens("--reminders", "merge.csv", *options.split())
    assert (refused.code != 0, said in refused.err) == (True, True), refused.err
    assert "has no column 'invitation'" in tokens("--reminders", "people.csv", "--letters", "a.html").err


def test_the_usual_letter_names_whom_what_and_who(run: Run) -> None:
    texts = dn.Texts(responsible={"en": "The {institute}"}, contact={"en": "ask@example.org"})
    dn.Study({"tea": ["yes", "no"]}, epsilon=1.0, title="Tea", survey=texts).plan(people=100).write(
        "plan.json"
    )
    Path("people.csv").write_text("Town,Postcode,Name,group\nBonn,53111,Ada,ill\n", encoding="utf-8")
    options = ["--addresses", "people.csv", "--url", URL, "--letters", "letters.html"]
    made = run("tokens", "plan.json", *options)
    assert (made.code, "warning" in made.err) == (0, False)
    page = Path("letters.html").read_text(encoding="utf-8")
    assert (
        '<p dir="auto">Ada\n53111 Bonn</p><p dir="auto">Dear Ada,</p>'
        '<p dir="auto">You are invited to answer a few questions: Tea.</p>' in page
    )
    assert "same browser" not in page
    assert f'open <b class="survey">{URL}</b> and type this code:' in page, "the bare address"
    assert '<p dir="auto">The (institute)\nask@example.org</p>' in page
    assert "ill<" not in page, "what is no address is not printed"


@pytest.mark.parametrize("language", LANGUAGES)
def test_nobody_without_a_name_is_greeted(language: str) -> None:
    """Nor is there an empty line in an address."""
    letter = Letter.to(["Title", "Name", "Street", "Town"], "Tea", [], language)
    given = {"code": "C", "survey": URL, "link": URL, "Title": "", "Street": ""}
    named = letter.fill(given | {"Name": "Ada", "Town": "Bonn"})
    greeting = TEXTS[language].salutation.format(" Ada")
    assert named.startswith(f'<p dir="auto"> Ada\nBonn</p><p dir="auto">{greeting}</p>')
    unnamed = letter.fill(given | {"Name": "", "Town": "Bonn"})
    assert unnamed.startswith(f'<p dir="auto">Bonn</p><p dir="auto">{TEXTS[language].invited}: Tea')
    nobody = letter.fill(given | {"Name": "", "Town": ""})
    assert nobody.startswith(f'<p dir="auto">{TEXTS[language].invited}: Tea')


def test_no_line_of_a_french_letter_begins_with_a_colon() -> None:
    """A line may end at any plain space, so that none stands before such a sign."""
    assert not [text for text in TEXTS["fr"] if re.search(r" [:;!?»]|« ", text)]
    assert "\N{NO-BREAK SPACE}:" in TEXTS["fr"].text


def test_no_line_of_a_french_page_or_consent_begins_with_a_colon() -> None:
    plain = re.compile(r"(?<!//) [:;!?»]|« ")
    strings = list(read_messages("fr", "pages").values())
    assert len(strings) > 200
    assert [text for text in strings if plain.search(text)] == []
    once = dn.Study({"tea": ["yes", "no"]}, epsilon=1.0)
    weekly = dn.Study({"tea": ["yes", "no"]}, epsilon_first=0.5, epsilon_forever=1.0, rounds=3)
    for study in (once, weekly):
        consent = generate_consent(study.plan(people=1000).document, "fr")
        assert "\N{NO-BREAK SPACE}:" in consent
        assert not plain.search(consent)


def test_a_letter_of_four_plans_is_refused(run: Run) -> None:
    names = [f"{name}.json" for name in "abcd"]
    for name in names:
        small_plan(name).write(name)
    refused = run("tokens", *names, "--count", "1", "--url", URL, "-o", "list.csv")
    assert (refused.code, "opens 1 to 3 plans, got 4" in refused.err) == (2, True), refused.err
    assert not Path("list.csv").exists()
    assert not Path("reports.db").exists(), "nobody is invited"


def test_two_plans_in_one_command_are_no_mistake(run: Run) -> None:
    for name in ("one", "other"):
        small_plan(name).write(f"{name}.json")
    made = run("tokens", "one.json", "other.json", "--count", "1")
    assert (made.code, "never served" in made.err) == (0, False)


def test_letters_without_names(tokens: Run) -> None:
    assert tokens("--count", "3", "--url", URL, "--letters", "cards.html", "--cards").code == 0
    page = Path("cards.html").read_text(encoding="utf-8")
    assert (page.count("<article"), '<main class="cards">' in page) == (3, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "--count how many invitations to make, or with --addresses for whom"),
        ("--count 2 --addresses people.csv -o a.csv", "--count how many"),
        ("--addresses people.csv", "name a file for the invitations with -o or --letters"),
        ("--count 2 --letters a.html", "give its address with --url"),
        ("--count 2 --cards", "are for letters; name their file"),
        (f"--count 2 --letters a.pdf --url {URL}", "a page of letters is written to a file ending in .html"),
        (f"--count 2 --letters a.html --url {URL} --template letter.txt", "'name' is not a name (link, code"),
        ("--withdraw --letters a.html", "--withdraw makes no invitations"),
    ],
)
def test_letters_that_are_refused(options: str, said: str, tokens: Run) -> None:
    before = sorted(Path().iterdir())
    refused = tokens(*options.split())
    assert (refused.code, said in refused.err) == (2, True), refused.err
    assert sorted(Path().iterdir()) == before, "nothing was written, and nobody invited"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "names nobody"),
        (b"name,town\n", "names nobody"),
        (b"name,name\nAda,1\n", "every column of .* has a name of its own"),
        (b"name,code\nAda,1\n", "none is called invitation, code, link, survey"),
        (b"name,town\nAda\n", "person 1 of .* has 1 cell, and there are 2 columns"),
        (b"name\n\xff\n", "is not in UTF-8"),
    ],
)
def test_lists_that_are_refused(text: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(text)
    with pytest.raises(InvalidParameter, match=said):
        Addresses.read(tmp_path / "people.csv")


def test_what_is_no_letter(tmp_path: Path) -> None:
    with pytest.raises(FileMissing):
        Addresses.read(tmp_path / "none.csv")
    with pytest.raises(FileMissing):
        Letter.read(tmp_path / "none.txt")
    for text, said in ((b" \n", "is empty"), (b"\xff", "is not in UTF-8")):
        (tmp_path / "letter.txt").write_bytes(text)
        with pytest.raises(InvalidParameter, match=said):
            Letter.read(tmp_path / "letter.txt")
    many = ["x"] * (MOST + 1)
    with pytest.raises(InvalidParameter, match="at most 10,000 letters, got 10,001"):
        write_page("", URL, many, many, Addresses(), [Letter()])


def test_letters_speak_the_language_of_the_survey(tokens: Run) -> None:
    """The first of the plan, or the one that is asked for; titles and senders, too."""
    texts = dn.Texts(
        language="de",
        title={"de": "Umfrage", "fr": "Enquête"},
        responsible={"de": "Die Uni", "fr": "L'université"},
    )
    plan = dn.Study({"smokes": ["yes", "no"]}, 1.0, title="Umfrage", survey=texts).plan(people=100)
    plan.write(Path("plan.json"), overwrite=True)
    told = {}
    for language in ("", "fr", "es"):
        more = ["--language", language] if language else []
        file = f"letters{language}.html"
        assert tokens("--count", "2", "--url", URL, "--letters", file, *more).code == 0
        told[language] = html.unescape(Path(file).read_text(encoding="utf-8"))
    assert '<html lang="de">' in told[""]
    assert "Sie sind eingeladen, einige Fragen zu beantworten: Umfrage." in told[""]
    assert "questions: Enquête." in told["fr"]
    assert "L'université" in told["fr"]
    assert "Le invitamos a responder a unas preguntas: Umfrage." in told["es"]
    assert (
        "'it' is not a language of the letters"
        in tokens("--count", "2", "--url", URL, "--letters", "x.html", "--language", "it").err
    )
    assert not Path("x.html").exists()


def test_letters_of_rounds_say_which_and_on_what_device(run: Run) -> None:
    """And one letter of two plans has one code; a plan without a sender is named."""
    weekly = small_plan("Mood", rounds=True)
    weekly.write(Path("weekly.json"))
    PLAN.write(Path("plan.json"))
    opened = ["--open", "2", "--from", "2020-01-01T08:00+00:00", "--until", "2999-04-12T18:00+00:00"]
    assert run("rounds", "weekly.json", *opened).code == 0
    options = ["--count", "1", "--url", URL, "--letters"]
    made = run("tokens", "weekly.json", "plan.json", *options, "both.html")
    assert "warning: the letters do not say who asks: Mood, Colors & <co> has nobody responsible" in made.err
    both = Path("both.html").read_text(encoding="utf-8")
    assert "Mood: round 2 of 3, open until April 12, 2999, " in both
    assert "Please use the same phone and the same browser each time" in both
    assert len(re.findall(r"(?:\w{4}-){4}\w{4}", both)) == 1
    small_plan("Mood").write(Path("once.json"))
    assert run("tokens", "weekly.json", "once.json", *options, "parts.html").code == 0
    assert "Questions asked 3 times: round 2 of 3, open" in Path("parts.html").read_text(encoding="utf-8")
    berlin = ["--language", "de", "--time-zone", "Europe/Berlin"]
    assert run("tokens", "weekly.json", *options, "de.html", *berlin).code == 0
    german = Path("de.html").read_text(encoding="utf-8")
    assert '<p dir="auto">Runde 2 von 3, offen bis 12.04.2999, 20:00 Uhr (CEST).' in german
    assert "denselben Browser" in german
    without = run("tokens", "weekly.json", "--count", "1", "--time-zone", "Europe/Berlin")
    assert "--time-zone and --cards are for letters" in without.err


def test_a_column_gives_each_letter_its_language(tokens: Run) -> None:
    title = {"en": "Survey", "de": "Umfrage", "fr": "Enquête"}
    texts = dn.Texts(language="en", title=title, responsible={"en": "The university", "de": "Die Uni"})
    plan = dn.Study({"smokes": ["yes", "no"]}, 1.0, title="Survey", survey=texts).plan(people=100)
    plan.write(Path("plan.json"), overwrite=True)
    Path("people.csv").write_text("Name,Language\nAda,de\nÉmile,FR\nBob,\n", encoding="utf-8")
    options = ["--addresses", "people.csv", "--url", URL, "--letters"]
    assert tokens(*options, "letters.html").code == 0
    page = Path("letters.html").read_text(encoding="utf-8")
    letters = re.findall(r'<article class="one" lang="(..)" style="[^"]*">(.*?)<svg', page, re.DOTALL)
    for (language, text), wanted in zip(
        letters,
        [
            ("de", "Guten Tag Ada,", "beantworten: Umfrage.", "Die Uni"),
            ("fr", "Bonjour Émile,", "questions: Enquête.", "The university"),
            ("en", "Dear Bob,", "questions: Survey.", "The university"),
        ],
        strict=True,
    ):
        assert language == wanted[0]
        assert all(one in text for one in wanted[1:]), text
    Path("people.csv").write_text("name,language\nAda,xx\n", encoding="utf-8")
    refused = tokens(*options, "other.html").err
    assert "person 1 of the list: 'xx' is not a language of the letters" in refused


@pytest.mark.parametrize("title", ["Mood", "Mood again"])
def test_plans_that_continue_each_other_are_rated_once_by_what_all_of_them_lose(title: str) -> None:
    """2.41 in all: 92 guesses in 100, not the 96 of 3.41, which would count the first plan twice."""
    budgets: Any = {"epsilon_first": 1.0, "epsilon_forever": 2.0, "rounds": 1}
    old = dn.Study({"mood": ["good", "bad"]}, **budgets, title="Mood").plan(people=1000)
    more = dn.Study({"mood": ["good", "bad", "mixed"]}, **budgets, title=title)
    new = more.plan(people=1000, continues=old)
    assert (old.protection.percent, new.protection.percent) == (74, 92)
    text = rate_plans([Announced(old), Announced(new)], "en")
    assert text == rate_plans([Announced(new)], "en")
    assert "picks yours at most 92 times in 100" in text


def test_a_page_of_letters_tries_the_masks_of_one_code_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """All eight for every letter took 80 % of the time; and progress is heard."""
    tried, heard, make = list[int | None](), list[tuple[int, int]](), segno.make

    def listen(link: str, **options: Any) -> Any:
        tried.append(options.get("mask"))
        return make(link, **options)

    monkeypatch.setattr(segno, "make", listen)
    links = [f"{URL}/#invitation={i:032}" for i in range(5)]
    codes = [f"{i:032}" for i in range(5)]
    write_page("A", URL, codes, links, Addresses(), [Letter()], progress=lambda *one: heard.append(one))
    assert tried[0] is None
    assert len(set(tried[1:])) == 1 != tried[1:].count(None)
    assert heard == [(i, 5) for i in range(1, 6)]
