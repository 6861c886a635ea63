"""The messages of pages, letters and consents: every language has each, with the same places to fill in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "js" / "pages"
LANGUAGES = ("en", "de", "fr", "es", "pt")


def read(language: str) -> dict[str, str]:
    """All messages of a language, by section and name; a name that is there twice is found."""
    path = PAGES / "kit" / "messages" / f"{language}.json"
    sections: list[tuple[str, list[tuple[str, str]]]] = json.loads(
        path.read_text(encoding="utf-8"), object_pairs_hook=list
    )
    assert [name for name, _ in sections] == ["pages", "letters", "consent"]
    messages = [(f"{section}.{name}", text) for section, texts in sections for name, text in texts]
    assert len(dict(messages)) == len(messages)
    return dict(messages)


def places(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def missing_or_different(language: str, english: dict[str, str], other: dict[str, str]) -> list[str]:
    wrong = sorted(set(english) ^ set(other))
    return wrong + [
        name for name in english if name in other and places(english[name]) != places(other[name])
    ]


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_has_every_message(language: str) -> None:
    english, other = read("en"), read(language)
    assert len(english) > 150
    assert missing_or_different(language, english, other) == []
    assert sum(english[name] == other[name] for name in english) < 10


def test_a_missing_message_and_a_lost_place_are_found() -> None:
    english, other = read("en"), read("de")
    assert missing_or_different("de", english, other | {"pages.times": "mal"}) == ["pages.times"]
    del other["pages.agree"]
    assert missing_or_different("de", english, other) == ["pages.agree"]


def test_every_message_is_used() -> None:
    code = "".join(file.read_text(encoding="utf-8") for file in PAGES.glob("[!n]*/*.ts"))
    quoted = set(re.findall(r'"(\w+)"', code))
    names = [name.removeprefix("pages.") for name in read("en") if name.startswith("pages.")]
    unused = [
        name for name in names if name not in quoted and re.sub("_(one|other)$", "", name) not in quoted
    ]
    assert unused == []


def test_all_files_of_messages_are_of_a_language() -> None:
    assert {file.stem for file in (PAGES / "kit" / "messages").iterdir()} == set(LANGUAGES)
