"""Reads the file of a study for a page, and writes back what the page changed; all else stays as it was.

A draft has the keys of the file, those that the page does not know among them. What is written is read again
before anybody gets it: a file that would say something else is refused.
"""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from deniable.errors import InvalidParameter

_TOML = "$toml"  # what JSON has no words for
_DATES = (datetime.date, datetime.time)
_LONG = 90  # characters of a list in one line
_PEOPLE = re.compile(r"^(#.*--people[ =])([0-9][0-9_,.e]*)", re.MULTILINE)
_HEAD = """\
# A study: what is asked, and how much one report may give away. Make a plan of it with
#   deniable plan {name} --people {people} -o plan.json

"""
_INLINE = (
    *("question", "help", "labels", "ends", "title", "only_if"),
    *("introduction", "consent", "responsible", "contact", "privacy_notice", "thanks"),
)  # texts by language, and conditions


@final
@dataclass(frozen=True)
class Question:
    """One attribute: its name, the keys of its section, and the name that it has in the file."""

    name: str
    keys: Mapping[str, Any]
    was: str | None = None


@final
@dataclass(frozen=True)
class Draft:
    """A study as a page has it: the keys of the file but for the attributes, and these in their order."""

    study: Mapping[str, Any]
    questions: tuple[Question, ...] = ()

    @staticmethod
    def read(text: str) -> Draft:
        """A draft of what a file holds; any TOML is one, whether or not it is a study."""
        data = tomllib.loads(text)
        asked = data.pop("attributes", {})
        if not isinstance(asked, Mapping):
            raise InvalidParameter("attributes must be a section of its own")
        found = tuple(Question(name, _as_keys(given), name) for name, given in asked.items())
        return Draft(data, found)

    def to_data(self) -> dict[str, Any]:
        """What the file would hold, as a study is made from."""
        return {**self.study, "attributes": {one.name: dict(one.keys) for one in self.questions}}

    def to_json(self) -> dict[str, Any]:
        """Plain data for the page; a date is written as in the file, in an object of its own."""
        questions = [{"name": one.name, "keys": _encode(one.keys), "was": one.was} for one in self.questions]
        return {"study": _encode(self.study), "questions": questions}

    @staticmethod
    def from_json(data: object) -> Draft:
        """Back from `to_json`; what a page cannot have sent is refused."""
        study = data.get("study") if isinstance(data, Mapping) else None
        asked = data.get("questions") if isinstance(data, Mapping) else None
        if not isinstance(study, Mapping) or not isinstance(asked, list):
            raise InvalidParameter('a draft has the fields "study" and "questions"')
        if "attributes" in study:
            raise InvalidParameter("the attributes of a draft are its questions")
        return Draft(_decode(study), tuple(map(_read_question, asked)))

    def write(self, before: str) -> str:
        """The text of the file: as before, but for what the draft changes."""
        wanted = self.to_data()
        if len(wanted["attributes"]) < len(self.questions):
            raise InvalidParameter("two questions have the same short name; give each its own")
        try:
            document = tomlkit.parse(before)
            _merge(document, self.study, skip="attributes")
            _merge_questions(document, self.questions)
            text: str = tomlkit.dumps(document)
            if _holds(text, wanted):
                return text
        except TOMLKitError:
            pass
        raise InvalidParameter(
            "this cannot be written without losing comments of the file; put all sections of attributes "
            "next to each other there, or start with a new file"
        )


def read_people(text: str) -> int | None:
    """The number of people that the command in a comment of the file names; None without one."""
    found = _PEOPLE.search(text)
    try:
        number = float(found[2].replace(",", "").replace("_", "")) if found else 0.0
    except ValueError:
        return None
    return int(number) if 1 <= number <= 10**15 and number == int(number) else None


def note_people(text: str, people: int, name: str) -> str:
    """The text with this number of people in its comment, which is added where there is none."""
    if read_people(text) == people:
        return text
    if _PEOPLE.search(text):
        return _PEOPLE.sub(rf"\g<1>{people}", text, count=1)
    return _HEAD.format(name=name, people=people) + text


def _read_question(given: object) -> Question:
    name, keys, was = (
        (given.get("name"), given.get("keys"), given.get("was"))
        if isinstance(given, Mapping)
        else (None, None, None)
    )
    if not isinstance(name, str) or not isinstance(keys, Mapping) or not isinstance(was, str | None):
        raise InvalidParameter('a question of a draft has a name, "keys" and the name that it was read with')
    return Question(name, _decode(keys), was)


def _as_keys(given: Any) -> Mapping[str, Any]:
    """The keys of a section; a bare list is one of values."""
    return given if isinstance(given, Mapping) else {"values": given}


def _encode(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _encode(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_encode(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {_TOML: str(value)}
    return {_TOML: value.isoformat()} if isinstance(value, _DATES) else value


def _decode(value: Any) -> Any:
    if isinstance(value, Mapping):
        if set(value) == {_TOML}:
            return _read_toml_value(value[_TOML])
        return {name: _decode(one) for name, one in value.items()}
    return [_decode(one) for one in value] if isinstance(value, list) else value


def _read_toml_value(text: object) -> Any:
    try:
        found = tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        found = None
    if not isinstance(found, (*_DATES, float)):
        raise InvalidParameter(f"a date is written as 2026-11-16, got {text!r}")
    return found


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal; 1 and 1.0 are, since a page cannot tell them apart, and true is not 1."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_is_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _holds(text: str, wanted: Mapping[str, Any]) -> bool:
    """Whether a text says just this, its attributes in this order."""
    found = Draft.read(text).to_data()
    asked = wanted["attributes"]
    return _is_same(found, dict(wanted)) and list(found["attributes"]) == list(asked)


def _merge(table: Any, wanted: Mapping[str, Any], skip: str = "") -> None:
    """Make a table of the document say this, and touch only what differs."""
    for name in [one for one in table if one not in wanted and one != skip]:
        table.remove(name)
    for name, value in wanted.items():
        if name not in table:
            table.append(name, _make(value, inline=name in _INLINE))
        elif isinstance(value, Mapping) and isinstance(table[name], Mapping):
            _merge(table[name], value)
        elif not _is_same(_unwrap(table[name]), value):
            table[name] = _make(value, inline=True)


def _merge_questions(document: Any, wanted: Sequence[Question]) -> None:
    if "attributes" not in document:
        if not wanted:
            return
        document.append("attributes", tomlkit.table(is_super_table=True))
    section = document["attributes"]
    there = list(section)
    kept = [one.was for one in wanted if one.was in there]
    is_kept = len(set(kept)) == len(kept) and kept == [name for name in there if name in kept]
    as_before = [one.name for one in wanted][: len(kept)] == kept
    grows = any(_becomes_section(section, one) for one in wanted)
    if is_kept and as_before and not grows:
        for name in set(there) - set(kept):
            section.remove(name)
    else:
        _sort_questions(section, wanted, there)
    for one in wanted:
        if one.name not in section:
            section.append(one.name, _make(one.keys))
        elif isinstance(section[one.name], Mapping):
            _merge(section[one.name], one.keys)
        elif not _is_same(_unwrap(section[one.name]), one.keys["values"]):
            section[one.name] = _make(one.keys["values"])


def _becomes_section(section: Any, one: Question) -> bool:
    """Whether a bare list gets more keys than its values."""
    is_bare = one.was is not None and one.was in section and not isinstance(section[one.was], Mapping)
    return is_bare and set(one.keys) != {"values"}


def _sort_questions(section: Any, wanted: Sequence[Question], there: Sequence[str]) -> None:
    """Put the questions in their order, under their names; after a section no bare list can follow."""
    items = {name: section.item(name) for name in there}
    grown = {one.was for one in wanted if _becomes_section(section, one)}
    for name in there:
        section.remove(name)
    sections = False
    for one in wanted:
        item = items.pop(one.was, None) if one.was is not None else None
        is_section = item is None or isinstance(item, Mapping)
        if item is None or (not is_section and (sections or one.was in grown)):
            item, is_section = _make(one.keys), True
        sections |= is_section
        section.append(one.name, item)


def _make(value: Any, inline: bool = False) -> Any:
    """An item of a document."""
    if isinstance(value, Mapping):
        made: Any = tomlkit.inline_table() if inline else tomlkit.table()
        for name, one in value.items():
            made.append(name, _make(one, inline=True))
        return made
    if isinstance(value, list):
        array: Any = tomlkit.array()
        for one in value:
            array.append(_make(one, inline=True))
        return array.multiline(len(array.as_string()) > _LONG)
    is_long = isinstance(value, str) and "\n" in value and not value.startswith("\n")
    return tomlkit.string(value, multiline=True) if is_long else tomlkit.item(value)


def _unwrap(value: Any) -> Any:
    return value.unwrap() if hasattr(value, "unwrap") else value
