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
from tomlkit.container import OutOfOrderTableProxy
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
        attributes = data.pop("attributes", {})
        if not isinstance(attributes, Mapping):
            raise InvalidParameter("attributes must be a section of its own")
        sections = (  # a bare list is one of values
            (name, keys if isinstance(keys, Mapping) else {"values": keys})
            for name, keys in attributes.items()
        )
        return Draft(data, tuple(Question(name, keys, name) for name, keys in sections))

    def to_data(self) -> dict[str, Any]:
        """What the file would hold, as a study is made from."""
        return {
            **self.study,
            "attributes": {question.name: dict(question.keys) for question in self.questions},
        }

    def to_json(self) -> dict[str, Any]:
        """Plain data for the page; a date is written as in the file, in an object of its own."""
        questions = [
            {"name": question.name, "keys": _encode(question.keys), "was": question.was}
            for question in self.questions
        ]
        return {"study": _encode(self.study), "questions": questions}

    @staticmethod
    def from_json(data: object) -> Draft:
        """Back from `to_json`; what a page cannot have sent is refused."""
        fields = data if isinstance(data, Mapping) else {}
        study, questions = fields.get("study"), fields.get("questions")
        if not isinstance(study, Mapping) or not isinstance(questions, list):
            raise InvalidParameter('a draft has the fields "study" and "questions"')
        if "attributes" in study:
            raise InvalidParameter("the attributes of a draft are its questions")
        return Draft(_decode(study), tuple(map(_read_question, questions)))

    def write(self, before: str) -> str:
        """The text of the file: as before, but for what the draft changes."""
        data = self.to_data()
        if len(data["attributes"]) < len(self.questions):
            raise InvalidParameter("two questions have the same short name; give each its own")
        try:
            document = tomlkit.parse(before)
            if not any(isinstance(section, OutOfOrderTableProxy) for section in document.values()):
                _merge(document, self.study, skip="attributes")
                _merge_questions(document, self.questions)
                text: str = tomlkit.dumps(document)
                if _holds(text, data):
                    return text
        except TOMLKitError:
            pass
        raise InvalidParameter(
            "this cannot be written without losing comments of the file; put all sections of attributes "
            "next to each other there, or start with a new file"
        )


def read_people(text: str) -> int | None:
    """The number of people that the command in a comment of the file names; None without one."""
    match = _PEOPLE.search(text)
    try:
        number = float(match[2].replace(",", "").replace("_", "")) if match else 0.0
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


def _read_question(data: object) -> Question:
    fields = data if isinstance(data, Mapping) else {}
    name, keys, was = fields.get("name"), fields.get("keys"), fields.get("was")
    if not isinstance(name, str) or not isinstance(keys, Mapping) or not isinstance(was, str | None):
        raise InvalidParameter('a question of a draft has a name, "keys" and the name that it was read with')
    return Question(name, _decode(keys), was)


def _encode(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _encode(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_encode(member) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {_TOML: str(value)}
    return {_TOML: value.isoformat()} if isinstance(value, _DATES) else value


def _decode(value: Any) -> Any:
    if isinstance(value, Mapping):
        if set(value) == {_TOML}:
            return _read_toml_value(value[_TOML])
        return {name: _decode(member) for name, member in value.items()}
    return [_decode(member) for member in value] if isinstance(value, list) else value


def _read_toml_value(text: object) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        value = None
    if not isinstance(value, (*_DATES, float)):
        raise InvalidParameter(f"a date is written as 2026-11-16, got {text!r}")
    return value


def _is_same(first: Any, second: Any) -> bool:
    """Whether two values are equal; 1 and 1.0 are, since a page cannot tell them apart, and true is not 1."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(_is_same(first[name], second[name]) for name in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_same, first, second))
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


def _holds(text: str, data: Mapping[str, Any]) -> bool:
    """Whether a text says just this, its attributes in this order."""
    read = Draft.read(text).to_data()
    attributes = data["attributes"]
    return _is_same(read, dict(data)) and list(read["attributes"]) == list(attributes)


def _merge(table: Any, values: Mapping[str, Any], skip: str = "") -> None:
    """Make a table of the document say this, and touch only what differs."""
    for name in [key for key in table if key not in values and key != skip]:
        table.remove(name)
    for name, value in values.items():
        if name not in table:
            table.append(name, _make(value, inline=name in _INLINE))
        elif isinstance(value, Mapping) and isinstance(table[name], Mapping):
            _merge(table[name], value)
        elif not _is_same(_unwrap(table[name]), value):
            table[name] = _make(value, inline=True)


def _merge_questions(document: Any, questions: Sequence[Question]) -> None:
    if "attributes" not in document:
        if not questions:
            return
        document.append("attributes", tomlkit.table(is_super_table=True))
    section = document["attributes"]
    there = list(section)
    kept = [question.was for question in questions if question.was in there]
    is_kept = len(set(kept)) == len(kept) and kept == [name for name in there if name in kept]
    as_before = [question.name for question in questions][: len(kept)] == kept
    grows = any(_becomes_section(section, question) for question in questions)
    if is_kept and as_before and not grows:
        for name in set(there) - set(kept):
            section.remove(name)
    else:
        _sort_questions(section, questions, there)
    for question in questions:
        if question.name not in section:
            section.append(question.name, _make(question.keys))
        elif isinstance(section[question.name], Mapping):
            _merge(section[question.name], question.keys)
        elif not _is_same(_unwrap(section[question.name]), question.keys["values"]):
            section[question.name] = _make(question.keys["values"])


def _becomes_section(section: Any, question: Question) -> bool:
    """Whether a bare list gets more keys than its values."""
    if question.was is None or question.was not in section:
        return False
    return not isinstance(section[question.was], Mapping) and set(question.keys) != {"values"}


def _sort_questions(section: Any, questions: Sequence[Question], there: Sequence[str]) -> None:
    """Put the questions in their order, under their names; after a section no bare list can follow."""
    items = {name: section.item(name) for name in there}
    grown = {question.was for question in questions if _becomes_section(section, question)}
    for name in there:
        section.remove(name)
    sections = False
    for question in questions:
        item = items.pop(question.was, None) if question.was is not None else None
        is_section = item is None or isinstance(item, Mapping)
        if item is None or (not is_section and (sections or question.was in grown)):
            item, is_section = _make(question.keys), True
        sections |= is_section
        section.append(question.name, item)


def _make(value: Any, inline: bool = False) -> Any:
    """An item of a document."""
    if isinstance(value, Mapping):
        table: Any = tomlkit.inline_table() if inline else tomlkit.table()
        for name, member in value.items():
            table.append(name, _make(member, inline=True))
        return table
    if isinstance(value, list):
        array: Any = tomlkit.array()
        for member in value:
            array.append(_make(member, inline=True))
        return array.multiline(len(array.as_string()) > _LONG)
    is_long = isinstance(value, str) and "\n" in value and not value.startswith("\n")
    return tomlkit.string(value, multiline=True) if is_long else tomlkit.item(value)


def _unwrap(value: Any) -> Any:
    return value.unwrap() if hasattr(value, "unwrap") else value
