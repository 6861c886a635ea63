"""Writes invitations ready to send: a table for a mail merge, and a page of letters with QR codes.

A letter says what its plans are: their titles, who is responsible, and when they are open.
"""

from __future__ import annotations

import csv
import html
import io
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from string import Template
from typing import Literal, NamedTuple, final

from deniable.errors import FileMissing, InvalidParameter, not_among
from deniable.formatting import format_count
from deniable.frames.files import read_utf8
from deniable.messages import LANGUAGES, read_messages
from deniable.plan.chain import list_last
from deniable.plan.losses import Level, Protection
from deniable.plan.texts import Text
from deniable.store.schedule import Times
from deniable.study import Plan

Layout = Literal["letters", "cards"]
MOST = 10_000
"""More letters than this are refused: no browser prints such a page."""

_OWN = ("invitation", "code", "link")  # columns that are added
_GIVEN = ("link", "code", "survey")  # what a template may name besides the columns
_PLACEHOLDER = re.compile(r"\{([^{}\n]*)\}")
_NAMING = ("title", "name", "first name", "last name", "surname")
_PLACING = (("street",), ("address",), ("postcode", "zip", "town", "city"), ("country",))  # a line each
_LANGUAGE = "language"
_RATINGS: Mapping[Level, str] = {"well": "rate_well", "a little": "rate_little", "hardly": "rate_hardly"}
"""The messages of the survey page that say how well a plan protects answers."""
_PAGE = Template(Path(__file__).with_name("letters.html").read_text(encoding="utf-8"))


class LetterText(NamedTuple):
    """How a letter begins, what it says about the code, and about when to answer."""

    salutation: str
    invited: str
    text: str
    reminder: str
    again: str
    """Where a plan is asked in several rounds: what the device keeps is in one browser."""
    linked: str
    """Where the reports of a person in all rounds carry one pseudonym."""
    round: str
    until: str
    opening: str
    """A time from which and a time until which a round is open."""
    opens: str
    moment: str
    """How a time is written, for strftime."""


TEXTS = {language: LetterText(**read_messages(language, "letters")) for language in LANGUAGES}


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
    said = [(_name_part(announced, plans, language), announced.when(language, now)) for announced in plans]
    lines = [
        f"{title}: {when}." if len(plans) > 1 and title else f"{when[0].upper()}{when[1:]}."
        for title, when in said
        if when
    ]
    again = [TEXTS[language].again] if any(announced.is_repeated for announced in plans) else []
    linked = [TEXTS[language].linked] if any(announced.plan.document.linked for announced in plans) else []
    return ["\n".join(lines)] * bool(lines) + again + linked


def _name_part(announced: Announced, plans: Sequence[Announced], language: str) -> str:
    """The title of a plan; of the parts of one study, how often each is asked, as the survey page says it."""
    title, rounds = announced.title(language), announced.plan.document.rounds
    if [other.title(language) for other in plans].count(title) < 2:
        return title
    said_on_pages = read_messages(language, "pages")
    return said_on_pages["part_once"] if rounds is None else said_on_pages["part_again"].format(n=rounds)


def rate_plans(plans: Sequence[Announced], language: str) -> str:
    """The paragraph of a letter about how well each study protects answers, counting answers that change.

    Plans of one title are one study, of which all reports count together. Reports to a plan that another one
    continues count with that one.
    """
    said_on_pages = read_messages(language, "pages")
    studies: dict[str, list[Announced]] = {}
    last = {document.id for document in list_last([announced.plan.document for announced in plans])}
    for announced in plans:
        if announced.plan.id in last:
            studies.setdefault(announced.title(language) or announced.plan.id, []).append(announced)
    lines = []
    for members in studies.values():
        protection = Protection.together([announced.plan.document for announced in members])
        rating = said_on_pages[_RATINGS[protection.level]]
        title = members[0].title(language)
        said = f"{title}: {rating[0].lower()}{rating[1:]}" if len(studies) > 1 and title else rating
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


@final
@dataclass(frozen=True)
class Addresses:
    """The people who are invited, as a table that somebody else keeps; it is never stored."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    @staticmethod
    def read(path: Path) -> Addresses:
        """Reads a CSV file, whose first line names the columns; commas, semicolons or tabs part its cells."""
        columns, rows = _read_table(path)
        reserved = dict.fromkeys([*_OWN, *_GIVEN])
        if any(name in reserved for name in columns):
            raise _refuse_columns(path, columns, f", and none is called {', '.join(reserved)}")
        return Addresses(columns, rows)

    @staticmethod
    def read_invited(path: Path) -> tuple[Addresses, list[tuple[str, ...]]]:
        """Reads what `merge` wrote: the people, and what each got: invitation, code and link."""
        columns, rows = _read_table(path)
        absent = [name for name in _OWN if name not in columns]
        if absent:
            raise InvalidParameter(
                f"{path} has no column {absent[0]!r}; it is the file that deniable tokens --url wrote with -o"
            )
        places = [columns.index(name) for name in _OWN]
        others = [place for place in range(len(columns)) if place not in places]
        people = Addresses(
            tuple(columns[place] for place in others),
            tuple(tuple(row[place] for place in others) for row in rows),
        )
        return people, [tuple(row[place] for place in places) for row in rows]

    def some(self, positions: Sequence[int]) -> Addresses:
        """A few of the people."""
        return Addresses(self.columns, tuple(self.rows[position] for position in positions))

    def merge(self, tokens: Sequence[str], codes: Sequence[str] = (), links: Sequence[str] = ()) -> str:
        """A CSV table with a row a person: the columns of the list as they are, then what each one gets.

        An invitation is for programs, a code is typed, and a link is followed.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        added = list(zip(tokens, codes, links, strict=True)) if links else [(token,) for token in tokens]
        writer.writerow([*self.columns, *_OWN[: len(added[0])]])
        rows = self.rows or [()] * len(added)
        writer.writerows([*row, *more] for row, more in zip(rows, added, strict=True))
        return text.getvalue()

    def languages(self, usual: str) -> list[str]:
        """The language of each person's letter: that of the column "language", or the usual one."""
        known = {name.casefold(): name for name in self.columns}
        if _LANGUAGE not in known:
            return [usual]
        cells = [self.person(i)[known[_LANGUAGE]].casefold() for i in range(len(self.rows))]
        return [
            check_language(cell, f"person {number} of the list: ") if cell else usual
            for number, cell in enumerate(cells, 1)
        ]

    def person(self, position: int) -> Mapping[str, str]:
        """The cells of one person, by their columns."""
        return dict(zip(self.columns, self.rows[position], strict=True)) if self.rows else {}


def _read_table(path: Path) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The columns and the rows of a CSV file of people."""
    if not path.is_file():
        raise FileMissing(f"there is no file {path}; it is the address list, in CSV")
    text = read_utf8(path, "the address list as CSV UTF-8")
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    read = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    lines = [[cell.strip() for cell in row] for row in read]
    columns, *rows = [row for row in lines if any(row)] or [[]]
    if not rows:
        raise InvalidParameter(
            f"{path} names nobody: its first line has the names of columns, the others people"
        )
    if "" in columns or len(set(columns)) < len(columns):
        raise _refuse_columns(path, columns)
    for number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise InvalidParameter(
                f"person {number} of {path} has {format_count(len(row), 'cell')}, and there are "
                f"{format_count(len(columns), 'column')}; put text with a comma in it between quotes"
            )
    return tuple(columns), tuple(map(tuple, rows))


def _refuse_columns(path: Path, columns: Sequence[str], allowed: str = "") -> InvalidParameter:
    return InvalidParameter(
        f"every column of {path} has a name of its own{allowed}; got {', '.join(map(repr, columns))}"
    )


@final
@dataclass(frozen=True)
class Letter:
    """The text of a letter: {link}, {code}, {survey} and the columns of an address list are filled in."""

    text: str = f"{TEXTS['en'].invited}.\n\n{TEXTS['en'].text}"
    language: str = "en"
    drops_empty: bool = False
    """Whether lines are left out whose names are all empty, as in the usual letter: nobody is "Dear ,"."""

    @staticmethod
    def to(
        columns: Sequence[str],
        title: str,
        sender: Sequence[str],
        language: str = "en",
        when: Sequence[str] = (),
    ) -> Letter:
        """The usual letter: to whom, for what study, when, and who sends it.

        Of an address list, only columns with usual names are printed: others may be for nobody's eyes.
        """
        known = {name.casefold(): name for name in columns}
        naming = [f"{{{known[column]}}}" for column in _NAMING if column in known]
        lines = ([f"{{{known[column]}}}" for column in line if column in known] for line in _PLACING)
        placing = [" ".join(line) for line in lines]
        said = TEXTS[language]
        without_braces = str.maketrans("{}", "()")  # braces of a title are no placeholders
        blocks = [
            "\n".join([" ".join(naming), *filter(None, placing)]).strip(),
            said.salutation.format(" ".join(naming)) if naming else "",
            (f"{said.invited}: {title}." if title else f"{said.invited}.").translate(without_braces),
            *(paragraph.translate(without_braces) for paragraph in when),
            said.text.strip(),
            "\n".join(sender).translate(without_braces),
        ]
        return Letter("\n\n".join(block for block in blocks if block), language, drops_empty=True)

    @staticmethod
    def read(path: Path) -> Letter:
        """Reads a text file; an empty line begins another paragraph."""
        if not path.is_file():
            raise FileMissing(f"there is no file {path}; it is the text of the letter")
        text = read_utf8(path, "it as plain text in UTF-8").strip()
        if not text:
            raise InvalidParameter(f"{path} is empty; it is the text of the letter")
        return Letter(text)

    def refuse_unknown(self, columns: Sequence[str]) -> None:
        """Refuse a name in braces that nothing is known of."""
        known = [*_GIVEN, *columns]
        for name in _PLACEHOLDER.findall(self.text):
            if name not in known:
                raise InvalidParameter(f"{{{name}}} in the letter: {not_among(name, 'a name', known)}")

    def fill(self, values: Mapping[str, str]) -> str:
        """Paragraphs of HTML; whatever is filled in is text, and codes and links are printed apart."""

        def show(placeholder: re.Match[str]) -> str:
            name = html.unescape(placeholder[1])
            text = html.escape(values[name])
            return f'<b class="{name}">{text}</b>' if name in _GIVEN else text

        def is_kept(line: str) -> bool:
            names = _PLACEHOLDER.findall(line)
            return not names or any(values[name] for name in names)

        lines = self.text.split("\n")
        text = "\n".join(filter(is_kept, lines) if self.drops_empty else lines)
        # what is escaped first has no braces of its own: HTML writes none
        escaped = html.escape(text.strip(), quote=False)
        paragraphs = re.split(r"\n\s*\n", _PLACEHOLDER.sub(show, escaped))
        return "".join(f'<p dir="auto">{paragraph}</p>' for paragraph in paragraphs)


def compose_letter(
    columns: Sequence[str], plans: Sequence[Announced], language: str, is_reminder: bool = False
) -> Letter:
    """The usual letter of plans: what they are called, who sends it, when they are open, how they protect."""
    titles = [title for plan in plans if (title := plan.title(language))]
    senders = list(dict.fromkeys(sender for plan in plans for sender in plan.senders(language)))
    reminder = [TEXTS[language].reminder] if is_reminder else []
    when = [*reminder, *announce_plans(plans, language, time.time()), rate_plans(plans, language)]
    return Letter.to(columns, ", ".join(dict.fromkeys(titles)), senders, language, when)


def write_page(
    title: str,
    address: str,
    tokens: Sequence[str],
    links: Sequence[str],
    people: Addresses,
    letters: Sequence[Letter],
    layout: Layout = "letters",
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """A page that a browser prints on any paper: a letter a page, or cards to cut out. It loads nothing.

    One letter is for all, and several are for one person each.

    `progress` hears how many letters are written, and of how many.
    """
    import segno

    if len(tokens) > MOST:
        raise InvalidParameter(
            f"a page holds at most {MOST:,} letters, got {len(tokens):,}; divide the list, or print from the "
            "CSV file by a mail merge"
        )
    for letter in set(letters):
        letter.refuse_unknown(people.columns)
    parts = []
    mask = None  # to try all eight takes most of the time; links differ in codes only, so one suits all
    for position, (token, link) in enumerate(zip(tokens, links, strict=True)):
        code = segno.make(link, error="m", micro=False, mask=mask)
        mask = code.mask
        picture = code.svg_inline(border=4, omitsize=True, svgclass="qr", lineclass=None, light="#fff")
        letter = letters[position] if len(letters) > 1 else letters[0]
        values = dict(people.person(position)) | {"link": link, "code": token, "survey": address}
        content = f"{letter.fill(values)}{picture}"
        modules, _ = code.symbol_size(border=4)
        start = f'<article class="one" lang="{letter.language}" style="--modules: {modules}">'
        parts.append(f"{start}{content}</article>")
        if progress is not None:
            progress(position + 1, len(tokens))
    return _PAGE.substitute(
        language=letters[0].language,
        title=f"{html.escape(title)}: {format_count(len(tokens), 'invitation')}",
        layout=layout,
        letters="\n".join(parts),
    )
