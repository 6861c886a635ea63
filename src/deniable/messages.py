"""Reads the sentences that people see, by language: those of pages, letters and consents are in one file.

The files are those that the pages load, too; their sources are in `js/pages/kit/messages`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, cast

LANGUAGES = ("en", "de", "fr", "es", "pt")
"""The languages of pages, letters and consents."""

Section = Literal["pages", "letters", "consent"]

_FOLDER = Path(__file__).parent / "collect" / "pages"


def read_messages(language: str, section: Section) -> Mapping[str, str]:
    """The messages of a language for one of the three uses, by their names.

    >>> read_messages("de", "consent")["start"]
    'Ich nehme freiwillig teil.'
    """
    return _read_file(language)[section]


@cache
def _read_file(language: str) -> Mapping[Section, Mapping[str, str]]:
    text = (_FOLDER / f"{language}.json").read_text(encoding="utf-8")
    return cast("Mapping[Section, Mapping[str, str]]", json.loads(text))
