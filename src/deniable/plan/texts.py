"""Holds the texts of a survey: what people read before, between and after the questions, by language.

They are part of a plan, so that its id covers them: people can check what they were promised.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, final

from deniable.domain import Categories, Domain, Range, checked_text
from deniable.domain.imitation import refuse_imitation
from deniable.errors import InvalidParameter, not_among
from deniable.formatting import Printed, format_count
from deniable.plan.strict_json import (
    InvalidPlan,
    Json,
    checked_boolean,
    checked_fields,
    checked_list,
    checked_string,
)

Text = str | Mapping[str, str]
"""A text, or the same text by language."""

MOST_LANGUAGES = 20
LONGEST: Mapping[str, int] = MappingProxyType(
    {
        "title": 200,
        "introduction": 4000,
        "consent": 8000,
        "responsible": 500,
        "contact": 500,
        "privacy_notice": 500,
        "thanks": 2000,
        "question": 500,
        "help": 2000,
        "label": 200,
    }
)
"""In characters."""
ONE_LINE = ("title", "contact", "privacy_notice", "question")
OF_SURVEY = ("title", "introduction", "consent", "responsible", "contact", "privacy_notice", "thanks")
OF_ATTRIBUTE = ("question", "help", "labels", "ends", "other")
_TAG = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
_LINK = re.compile(r"(https://|mailto:)[!-~]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@final
@dataclass(frozen=True)
class Texts(Printed):
    """What a survey says in your own words; each text is a string, or a dictionary by language.

    >>> texts = Texts(introduction={"en": "Eight questions.", "de": "Acht Fragen."}, thanks={"en": "Thanks!"})
    >>> texts.languages, texts.introduction["de"]
    (('en', 'de'), 'Acht Fragen.')

    Texts are plain text, never HTML. An empty line begins a paragraph.
    """

    introduction: Text = ""
    consent: Text | bool = ""
    """What people must agree to before anything is sent; True generates it from the plan."""
    responsible: Text = ""
    contact: Text = ""
    """Plain text, or a link that begins with https:// or mailto:."""
    privacy_notice: Text = ""
    """A link that begins with https:// or mailto:."""
    thanks: Text = ""
    title: Text = ""
    """The study's title in other languages."""
    questions: Mapping[str, Text] = field(default_factory=dict)
    """What is asked, by attribute; the attribute's name stays its short name in files and plots."""
    help: Mapping[str, Text] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """Values as they are shown in other languages: by attribute and language, in the order of the values."""
    language: str = ""
    """In which language strings are, and which one is shown to people who read none of the others. Left out,
    it is the first one given, or English.
    """
    ends: Mapping[str, Sequence[str] | Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """What the two ends of a scale mean, by attribute: two texts, or two by language."""
    pages: Sequence[Sequence[str]] = ()
    """The questions of each page, by name; left out, a long survey has pages of a few questions each."""
    other: Collection[str] = ()
    """The questions whose last answer stands for all that are not listed. People may note what theirs is; the
    note stays on the page, and is never sent.
    """

    def __post_init__(self) -> None:
        for name in ("questions", "help", "labels", "ends"):
            if not isinstance(getattr(self, name), Mapping):
                raise InvalidParameter(
                    f"{name} are a dictionary by attribute, got {getattr(self, name)!r}", "type"
                )
        object.__setattr__(self, "language", self.language or self._find_language())
        checked_language(self.language)
        if self.consent is False:
            object.__setattr__(self, "consent", "")
        for name in OF_SURVEY:
            stated = getattr(self, name)
            if not (name == "consent" and stated is True):
                object.__setattr__(self, name, self._read(stated, name, name))
        for name, kind in (("questions", "question"), ("help", "help")):
            texts = {
                key: self._read(text, kind, f"{kind} of {key!r}") for key, text in getattr(self, name).items()
            }
            object.__setattr__(
                self, name, MappingProxyType({key: text for key, text in texts.items() if text})
            )
        object.__setattr__(
            self,
            "labels",
            MappingProxyType({key: _read_labels(texts, key) for key, texts in self.labels.items()}),
        )
        ends = {key: self._read_ends(texts, key) for key, texts in self.ends.items()}
        object.__setattr__(self, "ends", MappingProxyType(ends))
        object.__setattr__(self, "pages", _read_pages(self.pages))
        object.__setattr__(self, "other", _read_other(self.other))
        if len(self.languages) > MOST_LANGUAGES:
            raise InvalidParameter(
                f"texts are in at most {MOST_LANGUAGES} languages, got {len(self.languages)}", "language"
            )

    def _find_language(self) -> str:
        """The first language that is given."""
        for text in self._texts():
            if isinstance(text, Mapping) and text:
                return str(next(iter(text)))
        return "en"

    def _texts(self) -> Iterator[Any]:
        yield from (getattr(self, name) for name in dict.fromkeys(("introduction", *OF_SURVEY)))
        for name in ("questions", "help"):
            yield from getattr(self, name).values()

    def _read(self, stated: object, kind: str, what: str) -> Mapping[str, str]:
        """A text by language."""
        if stated == "" or stated == {}:
            return _NOTHING
        if isinstance(stated, str):
            stated = {self.language: stated}
        if not isinstance(stated, Mapping):
            raise InvalidParameter(f"{what} is text, or texts by language, got {stated!r}", "type")
        texts = {checked_language(language): _checked(text, kind, what) for language, text in stated.items()}
        if self.language not in texts:
            raise InvalidParameter(
                f"{what} is given in {', '.join(texts)}, and not in {self.language}, which is shown to "
                "people who read none of these",
                "language",
            )
        return MappingProxyType(texts)

    def _read_ends(self, stated: object, name: str) -> Mapping[str, tuple[str, ...]]:
        ends = _read_labels(
            {self.language: stated} if isinstance(stated, list | tuple) else stated, name, "ends"
        )
        if self.language not in ends:
            raise InvalidParameter(f"ends of {name!r} are not given in {self.language}", "language")
        if any(len(texts) != 2 for texts in ends.values()):
            raise InvalidParameter(f"{name!r} has two ends, from the lowest to the highest", "texts")
        return ends

    def __str__(self) -> str:
        texts = sum(map(bool, self._texts())) + len(self.labels) + len(self.ends)
        return f"Texts in {', '.join(self.languages)}: {format_count(texts, 'text')}"

    def __bool__(self) -> bool:
        return any(self._texts()) or bool(self.labels or self.ends or self.pages or self.other)

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages; the first one is shown to people who read none of the others."""
        languages = {language for text in self._texts() if isinstance(text, Mapping) for language in text}
        for by_language in (*self.labels.values(), *self.ends.values()):
            languages |= set(by_language)
        return (self.language, *sorted(languages - {self.language}))

    def with_pages(self, pages: Sequence[Sequence[str]]) -> Texts:
        """A copy with these pages."""
        return replace(self, pages=pages)

    def without(self, names: Collection[str]) -> Texts:
        """A copy without the texts of these questions."""

        def keep(texts: Mapping[str, Any]) -> dict[str, Any]:
            return {name: text for name, text in texts.items() if name not in names}

        pages = (tuple(name for name in page if name not in names) for page in self.pages)
        return replace(
            self,
            questions=keep(self.questions),
            help=keep(self.help),
            labels=keep(self.labels),
            ends=keep(self.ends),
            pages=tuple(page for page in pages if page),
            other=[name for name in self.other if name not in names],
        )

    def check(
        self, attributes: Mapping[str, Domain], title: str, several: Mapping[str, int] = _NOTHING
    ) -> None:
        """Refuse texts that are not about these questions, or have another title.

        `several` has the number of options of each question with several answers.
        """
        if isinstance(self.title, Mapping) and self.title and self.title[self.language] != title:
            raise InvalidParameter(
                f"the title in {self.language} is {title!r}, and not what the texts say", "texts"
            )
        questions = [*attributes, *several]
        for name in (*self.questions, *self.help, *self.labels, *self.ends, *self.other):
            if name not in questions:
                raise InvalidParameter(not_among(str(name), "an attribute with a text", questions), "texts")
        for name, by_language in self.labels.items():
            domain = attributes.get(name)
            if domain is not None and not isinstance(domain, Categories):
                raise InvalidParameter(f"{name!r} has no labels to translate: it is not a list", "texts")
            size = several[name] if domain is None else domain.k
            for language, labels in by_language.items():
                if len(labels) != size:
                    raise InvalidParameter(
                        f"{name!r} has {format_count(size, 'value')}, but "
                        f"{format_count(len(labels), 'label')} in {language}",
                        "texts",
                    )
        for name in self.ends:
            domain = attributes.get(name)
            if not isinstance(domain, Range) or domain.unit != "whole":
                raise InvalidParameter(f"{name!r} has no ends to name: it is not a scale", "texts")
        for name in self.other:
            if name not in several and not isinstance(attributes.get(name), Categories):
                raise InvalidParameter(
                    f"{name!r} has no last answer that stands for others: it is not a list", "texts"
                )
        paged = [name for page in self.pages for name in page]
        if paged and sorted(paged) != sorted(questions):
            members = [*paged, *(name for name in questions if name not in paged)]
            wrong = next(name for name in members if name not in questions or paged.count(name) != 1)
            raise InvalidParameter(
                f"pages have every question once ({', '.join(questions)}), and {wrong!r} is not there once",
                "texts",
            )

    def to_dict(self) -> Json:
        """As a plan has them."""
        fields: Json = {"language": self.language}
        fields |= {name: dict(text) for name in OF_SURVEY if (text := getattr(self, name))}
        attributes: dict[str, Json] = {}
        for field_name, kind in (("questions", "question"), ("help", "help")):
            for name, text in getattr(self, field_name).items():
                attributes.setdefault(name, {})[kind] = dict(text)
        listed: dict[str, Mapping[str, Any]] = {"labels": self.labels, "ends": self.ends}
        for kind, by_attribute in listed.items():
            for name, by_language in by_attribute.items():
                lists = {language: list(texts) for language, texts in by_language.items()}
                attributes.setdefault(name, {})[kind] = lists
        for name in self.other:
            attributes.setdefault(name, {})["other"] = True
        if self.pages:
            fields["pages"] = [list(page) for page in self.pages]
        return fields | ({"attributes": attributes} if attributes else {})

    @staticmethod
    def from_dict(data: object) -> Texts:
        """Back from `to_dict`."""
        stated = _checked_some(data, "texts", ("language",), (*OF_SURVEY, "attributes", "pages"))
        about = _checked_object(stated.get("attributes", {}), "the texts of attributes")
        texts: dict[str, dict[str, Any]] = {kind: {} for kind in OF_ATTRIBUTE}
        for name, about_name in about.items():
            for kind, text in _checked_some(
                about_name, "the texts of an attribute", (), OF_ATTRIBUTE
            ).items():
                if kind == "other":
                    texts[kind][name] = _other_from_dict(text)
                    continue
                read = _labels_from_dict if kind in ("labels", "ends") else _text_from_dict
                texts[kind][name] = read(text, kind)
        return Texts(
            language=checked_language(checked_string(stated["language"], "language")),
            questions=texts["question"],
            help=texts["help"],
            labels=texts["labels"],
            ends=texts["ends"],
            pages=[
                [checked_string(name, "a question's name") for name in checked_list(page, "a page")]
                for page in checked_list(stated.get("pages", []), "pages")
            ],
            other=tuple(texts["other"]),
            **{name: _text_from_dict(stated[name], name) for name in OF_SURVEY if name in stated},
        )

    def __hash__(self) -> int:
        return hash((self.language, self.languages, *self.questions, *self.labels, *self.pages, *self.other))

    def __reduce__(self) -> tuple[Any, ...]:
        """So that texts can be copied and pickled, which the read-only view of a dictionary cannot."""
        values = (getattr(self, value.name) for value in fields(self))
        return Texts, tuple(_plain(value) for value in values)


def _plain(value: Any) -> Any:
    return {name: _plain(item) for name, item in value.items()} if isinstance(value, Mapping) else value


def checked_language(tag: object) -> str:
    """A language as browsers name it: en, de, pt-BR, zh-Hant."""
    if not isinstance(tag, str) or not _TAG.fullmatch(tag):
        raise InvalidParameter(f"a language is written as en, de or pt-BR, got {tag!r}", "language")
    return tag


def _checked(text: object, kind: str, what: str) -> str:
    if not isinstance(text, str):
        raise InvalidParameter(f"{what} must be text, got {text!r}", "type")
    if kind not in ONE_LINE:
        text = text.strip("\n ")  # as TOML writes them
    if len(text) > LONGEST[kind]:
        raise InvalidParameter(f"{what} has at most {LONGEST[kind]:,} characters, got {len(text):,}", "texts")
    refuse_imitation(text, what)  # over several lines, too
    for line in [text] if kind in ONE_LINE or not text else filter(None, text.split("\n")):
        checked_text(line, what if kind in ONE_LINE else f"a line of {what}")
    must_link = kind == "privacy_notice" or (kind == "contact" and _SCHEME.match(text))
    if must_link and not _LINK.fullmatch(text):
        raise InvalidParameter(
            f"{what} is a link that begins with https:// or mailto:, got {text!r}", "texts"
        )
    return text


def _read_labels(stated: object, name: str, kind: str = "labels") -> Mapping[str, tuple[str, ...]]:
    if not isinstance(stated, Mapping) or not stated:
        raise InvalidParameter(
            f"{kind} of {name!r} are lists by language, such as {{'de': ['ja', 'nein']}}, got {stated!r}",
            "type",
        )
    read = {}
    for language, labels in stated.items():
        what = f"{kind} of {name!r} in {checked_language(language)}"
        if not isinstance(labels, list | tuple):
            raise InvalidParameter(f"{what} must be a list, got {labels!r}", "type")
        for label in labels:
            if len(checked_text(label, f"one of the {kind} of {name!r}")) > LONGEST["label"]:
                raise InvalidParameter(f"{what} have at most {LONGEST['label']} characters each", "texts")
        if len(set(labels)) < len(labels):
            raise InvalidParameter(f"{what} are not all different", "texts")
        read[language] = tuple(labels)
    return MappingProxyType(read)


def _read_pages(stated: object) -> tuple[tuple[str, ...], ...]:
    pages = stated if isinstance(stated, list | tuple) else [None]
    if not all(
        isinstance(page, list | tuple) and page and all(isinstance(name, str) for name in page)
        for page in pages
    ):
        raise InvalidParameter(
            f"pages are lists of questions, such as [['age', 'sex'], ['works']], got {stated!r}", "type"
        )
    return tuple(map(tuple, pages))


def _read_other(stated: object) -> tuple[str, ...]:
    """Sorted, since a plan has no order of them."""
    if isinstance(stated, str | Mapping) or not isinstance(stated, Collection):
        raise InvalidParameter(f"other is a list of questions, such as ['device'], got {stated!r}", "type")
    if not all(isinstance(name, str) for name in stated):
        raise InvalidParameter(f"other names questions, got {stated!r}", "type")
    return tuple(sorted(set(stated)))


def _checked_object(data: object, what: str) -> Json:
    """An object with any names, at least one."""
    names = tuple(data) if isinstance(data, dict) else ()
    return dict(checked_fields(data, what, names))


def _checked_some(data: object, what: str, needed: Sequence[str], allowed: Sequence[str]) -> Json:
    """An object with these fields, and some of the others."""
    names = [name for name in allowed if isinstance(data, dict) and name in data]
    return dict(checked_fields(data, what, (*needed, *names)))


def _other_from_dict(data: object) -> bool:
    if not checked_boolean(data, "other"):
        raise InvalidPlan("other is true, or left out", "canonical")
    return True


def _text_from_dict(data: object, what: str) -> Json:
    texts = _checked_object(data, what)
    if not texts:
        raise InvalidParameter(f"{what} is given in no language", "language")
    for text in texts.values():
        checked_string(text, what)
    return texts


def _labels_from_dict(data: object, what: str) -> Json:
    listed = _checked_object(data, what)
    for labels in listed.values():
        for label in checked_list(labels, what):
            checked_string(label, what)
    return listed
