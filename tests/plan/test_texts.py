"""Texts of a survey: read from a file, part of the plan and its id, refused with a reason, and generated."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.errors import InvalidParameter
from deniable.explain.consent import generate_consent
from deniable.messages import LANGUAGES, read_messages
from deniable.study import Plan
from tests.running import Run

STUDY = """
title = { en = "Health and work", de = "Gesundheit und Arbeit" }
epsilon = 1

[survey]
introduction = '''
Two questions.

One minute.
'''
consent = true
responsible = "Institute of Examples"
contact = "study@example.org"
privacy_notice = "https://example.org/privacy"
thanks = { en = "Thank you.", de = "Danke." }

[attributes.smokes]
values = ["yes", "no"]
question = { en = "Do you smoke?", de = "Rauchen Sie?" }
help = "Any tobacco counts."
labels = { de = ["ja", "nein"] }

[attributes]
color = ["red", "green", "blue"]
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def test_a_file_and_python_give_the_same_plan(study: Path) -> None:
    read = dn.Study.read(study)
    made = dn.Study(
        {"smokes": ["yes", "no"], "color": ["red", "green", "blue"]},
        epsilon=1,
        title="Health and work",
        survey=dn.Texts(
            introduction="Two questions.\n\nOne minute.",
            consent=True,
            responsible="Institute of Examples",
            contact="study@example.org",
            privacy_notice="https://example.org/privacy",
            thanks={"en": "Thank you.", "de": "Danke."},
            title={"en": "Health and work", "de": "Gesundheit und Arbeit"},
            questions={"smokes": {"en": "Do you smoke?", "de": "Rauchen Sie?"}},
            help={"smokes": "Any tobacco counts."},
            labels={"smokes": {"de": ["ja", "nein"]}},
        ),
    )
    assert read == made
    assert hash(read) == hash(made)
    for copied in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert copied == made
    plan = read.plan(people=1000)
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.document.texts is not None
    assert plan.document.texts.languages == ("en", "de")
    assert plan.document.title == "Health and work"


def test_the_id_covers_the_texts_and_a_plan_without_any_is_as_before() -> None:
    bare = Plan.of({"smokes": ["yes", "no"]}, dn.rr(1.0), 100)
    assert "texts" not in json.loads(bare.to_json())
    assert bare.with_texts(dn.Texts()).to_json() == bare.to_json()
    ids = {bare.with_texts(dn.Texts(thanks=text)).id for text in ("", "Thanks.", "Thank you.")}
    assert len(ids) == 3
    assert bare.id in ids


def test_the_first_language_given_is_the_one_for_everybody_else() -> None:
    assert dn.Texts(thanks="a").language == "en"
    assert dn.Texts(introduction={"fr": "a", "de": "b"}, thanks={"fr": "c"}).languages == ("fr", "de")
    assert dn.Texts(thanks="a", language="pt-BR").languages == ("pt-BR",)


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ({"thanks": "a\tb"}, "control characters"),
        ({"thanks": "a" * 2001}, "at most 2,000 characters"),
        ({"thanks": {"english": "a"}}, "written as en, de or pt-BR"),
        ({"introduction": {"en": "a"}, "thanks": {"de": "b"}}, "not in en"),
        ({"privacy_notice": "http://example.org"}, "https://"),
        ({"contact": "javascript:alert(1)"}, "https://"),
        ({"thanks": 3}, "text, or texts by language"),
        ({"questions": {"shoes": "Which?"}}, "'shoes' is not an attribute"),
        ({"labels": {"smokes": {"de": ["ja"]}}}, "2 values, but 1 label in de"),
        ({"labels": {"age": {"de": ["a"]}}}, "not a list"),
        ({"title": "Another"}, "the title in en"),
    ],
)
def test_what_a_text_may_not_be(texts: dict[str, object], why: str) -> None:
    with pytest.raises(InvalidParameter, match=re.escape(why)):
        dn.Study(
            {"smokes": ["yes", "no"], "age": dn.Range(0, 100, step=10)},
            epsilon=1,
            title="A title",
            survey=dn.Texts(**texts),  # type: ignore[arg-type]
        )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_generated_consent_states_the_loss_of_the_plan(language: str) -> None:
    """The number of times is not below the true one, and at most a hundredth above it."""
    for epsilon in (0.01, 1.0, 3.3):
        plan = Plan.of({"smokes": ["yes", "no"]}, dn.rr(epsilon), 100)
        text = generate_consent(plan.document, language)
        decimals = [float(one.replace(",", ".")) for one in re.findall(r"\d+[.,]\d+", text)]
        (times,) = decimals
        assert math.exp(plan.loss.record) <= times <= 1.01 * math.exp(plan.loss.record)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_consent_to_rounds_counts_answers_that_change(language: str) -> None:
    """A mood of five values: 2.72, 9.53 and 135 times in 1, 2 and 4 rounds."""
    for rounds, changing, same in ((1, 2.72, 2.72), (2, 9.53, 5.44), (4, 135, 7.3)):
        plan = Plan.of({"mood": list("abcde")}, dn.rounds.l_grr(5, 1.0, 2.0), 100, rounds=rounds)
        text = generate_consent(plan.document, language)
        line = next(one for one in text.splitlines() if f" {rounds} " in one)
        numbers = [float(one.replace(",", ".")) for one in re.findall(r"\d+(?:[.,]\d+)?", line)]
        assert numbers == [rounds, changing, same]
        assert "7.39" not in text.replace(",", ".")
    unbounded = Plan.of({"mood": list("abcde")}, dn.rounds.dbitflip(5, 2.0, bits=3), 100, rounds=4)
    line = next(one for one in generate_consent(unbounded.document, language).splitlines() if " 4 " in one)
    assert [one.replace(",", ".") for one in re.findall(r"\d+(?:[.,]\d+)?", line)] == ["4", "7.39"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_consent_to_a_plan_that_continues_others_counts_all_of_them(language: str) -> None:
    """Four rounds in all: 142 and 7.22 times, not the 8.47 and 5.27 of two rounds of the last plan alone."""
    survey = dn.Texts(consent=True, language=language)
    budgets: Any = {"epsilon_first": 1.0, "epsilon_forever": 2.0, "rounds": 2, "survey": survey}
    old = dn.Study({"mood": ["good", "bad"]}, **budgets).plan(people=1000)
    new = dn.Study({"mood": ["good", "bad", "mixed"]}, **budgets).plan(people=1000, continues=old)
    text = generate_consent(new.document, language)
    line = next(line for line in text.splitlines() if " 4 " in line)
    numbers = [float(number.replace(",", ".")) for number in re.findall(r"\d+(?:[.,]\d+)?", line)]
    assert numbers == [4, 142, 7.22]
    assert new.loss.chained.counted == pytest.approx(math.log(142), abs=0.01)
    assert new.loss.chained.repeated is not None
    assert new.loss.chained.repeated.same_value == pytest.approx(math.log(7.22), abs=0.01)
    continued = read_messages(language, "consent")["continued"]
    assert (continued in text, continued in generate_consent(old.document, language)) == (True, False)
    assert new.document.texts is not None
    assert new.document.texts.consent == {language: text}, "what a study writes is of all plans"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_consent_says_how_well_answers_are_protected(language: str) -> None:
    """Up to 75 of 100 guesses between two answers are well, up to 90 a little, and more hardly."""
    levels = []
    for epsilon, level, percent in ((1.0, "well", 74), (2.0, "a little", 89), (4.6, "hardly", 100)):
        plan = Plan.of({"smokes": ["yes", "no"]}, dn.rr(epsilon), 100)
        assert (plan.protection.level, plan.protection.percent) == (level, percent)
        levels.append(
            next(one for one in generate_consent(plan.document, language).splitlines() if "100" in one)
        )
        assert f"{percent}" in levels[-1]
    assert len(set(levels)) == 3


def test_a_consent_in_another_language_is_written_by_hand() -> None:
    study = dn.Study({"smokes": ["yes", "no"]}, epsilon=1, survey=dn.Texts(consent=True, language="fi"))
    with pytest.raises(InvalidParameter, match="write the one in 'fi' yourself"):
        study.plan(100)


def test_the_shell_prints_a_consent_to_edit_and_verify_shows_all_texts(run: Run, study: Path) -> None:
    printed = run("texts", str(study), "--people", "1000").out
    assert printed.startswith('[survey.consent]\nen = """\nI take part')
    assert 'de = """\nIch nehme freiwillig teil.' in printed
    edited = STUDY.replace("consent = true", "") + printed
    study.write_text(edited, encoding="utf-8")
    plan = study.with_suffix(".json")
    run("plan", str(study), "--people", "1000", "-o", str(plan))
    shown = run("verify", str(plan)).out
    for text in (
        "Rauchen Sie?",
        "Ich nehme freiwillig teil.",
        "study@example.org",
        "One minute.",
        "ja, nein",
    ):
        assert text in shown
    assert json.loads(run("verify", str(plan), "--json").out)["texts"]["thanks"]["de"] == "Danke."


IMITATIONS = (
    "Verified on this device",
    "\u2713 VERIFIED  ON  THIS  DEVICE",
    "V\u0435rifi\u0435d \u043en this d\u0435vice",  # Cyrillic letters
    "\uff36\uff45\uff52\uff49\uff46\uff49\uff45\uff44 on this device",  # full width
    "v e r i f i e d - o n - t h i s - d e v i c e",
    "Verlf1ed 0n this device",
    "This survey protects your answers well",
    "Auf diesem Ger\u00e4t gepr\u00fcft",
    "Auf diesem Gerat gepruft.",
    "V\u00e9rifi\u00e9 sur cet appareil",
    "Comprobado en este dispositivo",
    "Verificado neste dispositivo",
    "".join(chr(0x1F150 + ord(letter) - ord("A")) for letter in "VERIFIEDONTHISDEVICE"),  # in circles
    "\ua4e6\ua4f0\ua4e3\ua4f2\ua4dd\ua4f2\ua4f0\ua4d3 on this device",  # Lisu letters
    "\u13d9\u13ac\u13a1IFI\u13ac\u13a0 on this device",  # Cherokee letters
    "Verified on this clevice",
    "Verified | on this device!",
    "Verified locally on your phone",
    "Gepr\u00fcft von diesem Ger\u00e4t",
    "Contr\u00f4l\u00e9e par cet appareil",
    "Confirmada por su m\u00f3vil",
    "Comprovado pelo seu telem\u00f3vel",
    "Anyone who sees all your reports picks yours at most 51 times in 100",
)


@pytest.mark.parametrize("text", IMITATIONS)
def test_texts_that_imitate_the_box_of_the_page_are_refused(text: str) -> None:
    asked = {"smokes": ["yes", "no"]}
    for make in (
        lambda: dn.Texts(introduction=f"Welcome. {text}!"),
        lambda: dn.Texts(introduction=text.replace(" ", "\n")),
        lambda: dn.Texts(questions={"smokes": text}),
        lambda: dn.Texts(contact=text),
        lambda: dn.Study(asked, epsilon=1.0, title=text).plan(people=100),
        lambda: dn.Study({text: ["yes", "no"]}, epsilon=1.0).plan(people=100),
        lambda: dn.Study({"smokes": [text, "no"]}, epsilon=1.0).plan(people=100),
    ):
        with pytest.raises(InvalidParameter, match="imitates what the survey page says of its own check"):
            make()


def test_what_the_page_says_of_itself_is_refused_in_every_language() -> None:
    """The phrases are those of the pages' messages and ratings."""
    names = ("verified", "rate_well", "rate_little", "rate_hardly")
    texts = [read_messages(language, "pages")[name] for language in LANGUAGES for name in names]
    assert len(texts) == 4 * len(LANGUAGES)
    for text in texts:
        with pytest.raises(InvalidParameter, match="imitates"):
            dn.Texts(thanks=text)


def test_ordinary_texts_are_not_taken_for_the_box() -> None:
    for text in (
        "Do you use this device every day?",
        "Your answers are protected: your device changes them at random.",
        "Wurde Ihr Gerät geprüft?",
        "Is your e-mail address verified?",
        "How often have you checked your phone today?",
        "Was your last payment confirmed by your bank?",
    ):
        assert dn.Texts(introduction=text)
