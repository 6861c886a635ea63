"""Says in a letter what its plans are: their titles, who is responsible, and when they are open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import final

from deniable.collect.letter_texts import TEXTS
from deniable.collect.offers import Times
from deniable.errors import InvalidParameter, not_among
from deniable.messages import LANGUAGES, read_messages
from deniable.plan.protection import Level
from deniable.plan.texts import Text
from deniable.study import Plan

_RATINGS: Mapping[Level, str] = {"well": "rate_well", "a little": "rate_little", "hardly": "rate_hardly"}
"""The messages of the survey page that say how well a plan protects answers."""


@final
@dataclass(frozen=True)
class Announced:
    """A plan of a letter, and its rounds as far as a store has them."""

    plan: Plan
    rounds: Sequence[Times] = ()
    zone: tzinfo | None = None
    """The people's time zone; this machine's if this is None."""

    def title(self, language: str) -> str:
        """The title in this language, or else as the plan has it."""
        texts = self.plan.document.texts
        return (texts and _say(texts.title, language, texts.language)) or self.plan.document.title

    def senders(self, language: str) -> list[str]:
        """Who is responsible and how to reach them, in this language or else in the first of the survey."""
        texts = self.plan.document.texts
        said = (texts.responsible, texts.contact) if texts is not None else ()
        return [_say(text, language, texts.language) for text in said if texts is not None and text]

    @property
    def is_repeated(self) -> bool:
        """Whether it is asked in several rounds."""
        return (self.plan.document.rounds or 1) > 1

    def when(self, language: str, now: float) -> str:
        """The round of the letter and when it is open; empty where there is nothing to say."""
        text, times = TEXTS[language], self._find_round(now)
        rounds = self.plan.document.rounds
        said = []
        number = times.number if times else None if self.rounds else 1
        if rounds is not None and number is not None:
            said.append(text.round.format(round=number, rounds=rounds))
        if times is not None:
            opens = self._write_time(None if times.is_open(now) else times.opens, text.moment)
            closes = self._write_time(times.closes, text.moment)
            form = {(False, True): text.until, (True, True): text.opening, (True, False): text.opens}
            said.append(form.get((bool(opens), bool(closes)), "").format(opens=opens, closes=closes))
        return ", ".join(part for part in said if part)

    def _write_time(self, seconds: float | None, form: str) -> str:
        return "" if seconds is None else datetime.fromtimestamp(seconds).astimezone(self.zone).strftime(form)

    def _find_round(self, now: float) -> Times | None:
        """The newest round that is open, or else the next one that opens."""
        opened = [times for times in self.rounds if times.is_open(now)]
        later = [times for times in self.rounds if times.opens is not None and times.opens > now]
        return max(opened, key=lambda times: times.number, default=None) or min(
            later, key=lambda times: times.number, default=None
        )


def announce_plans(plans: Sequence[Announced], language: str, now: float) -> list[str]:
    """The paragraphs of a letter about when to answer: each plan's round, and on which device."""
    said = [(announced.title(language), announced.when(language, now)) for announced in plans]
    lines = [
        f"{title}: {when}." if len(plans) > 1 and title else f"{when[0].upper()}{when[1:]}."
        for title, when in said
        if when
    ]
    again = [TEXTS[language].again] if any(announced.is_repeated for announced in plans) else []
    return ["\n".join(lines), *again] if lines else again


def rate_plans(plans: Sequence[Announced], language: str) -> str:
    """The paragraph of a letter about how well each plan protects answers, counting answers that change."""
    said_on_pages = read_messages(language, "pages")
    lines = []
    for announced in plans:
        protection = announced.plan.protection
        rating = said_on_pages[_RATINGS[protection.level]]
        title = announced.title(language)
        said = f"{title}: {rating[0].lower()}{rating[1:]}" if len(plans) > 1 and title else rating
        lines.append(f"{said}. {said_on_pages['picks'].format(n=protection.percent)}")
    return "\n".join(lines)


def choose_language(plans: Sequence[Announced], language: str | None) -> str:
    """The language that was asked for, or the first one of the surveys that letters are written in."""
    if language is not None:
        return check_language(language)
    texts = [announced.plan.document.texts for announced in plans]
    return next((text.language for text in texts if text and text.language in LANGUAGES), LANGUAGES[0])


def check_language(language: str, whose: str = "") -> str:
    """Refuse a language that no letter is written in."""
    if language not in LANGUAGES:
        raise InvalidParameter(f"{whose}{not_among(language, 'a language of the letters', LANGUAGES)}")
    return language


def _say(text: Text, language: str, first: str) -> str:
    if not isinstance(text, Mapping):
        return text
    close = [tag for tag in text if tag.partition("-")[0] == language]
    return text.get(language) or (text[close[0]] if close else text.get(first, ""))
