"""Holds the texts of a survey: what people read before, between and after the questions, by language.

They are part of a plan, so that its id covers them: people can check what they were promised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, final

from deniable.domain import Categories, Domain, checked_text
from deniable.errors import InvalidParameter, not_among
from deniable.formatting import format_count
from deniable.plan.notation import Json, checked_fields, checked_list, checked_string

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
OF_ATTRIBUTE = ("question", "help", "labels")
_TAG = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
_LINK = re.compile(r"(https://|mailto:)[!-~]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@final
@dataclass(frozen=True)
class Texts:
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

    def __post_init__(self) -> None:
        for name in ("questions", "help", "labels"):
            if not isinstance(getattr(self, name), Mapping):
                raise InvalidParameter(
                    f"{name} are a dictionary by attribute, got {getattr(self, name)!r}", "type"
                )
        object.__setattr__(self, "language", self.language or self._find_language())
        checked_language(self.language)
        if self.consent is False:
            object.__setattr__(self, "consent", "")
        for name in OF_SURVEY:
            given = getattr(self, name)
            if not (name == "consent" and given is True):
                object.__setattr__(self, name, self._read(given, name, name))
        for name, kind in (("questions", "question"), ("help", "help")):
            each = {
                one: self._read(text, kind, f"{kind} of {one!r}") for one, text in getattr(self, name).items()
            }
            object.__setattr__(
                self, name, MappingProxyType({one: text for one, text in each.items() if text})
            )
        object.__setattr__(
            self,
            "labels",
            MappingProxyType({one: _read_labels(each, one) for one, each in self.labels.items()}),
        )
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

    def _read(self, given: object, kind: str, what: str) -> Mapping[str, str]:
        """A text by language."""
        if given == "" or given == {}:
            return _NOTHING
        if isinstance(given, str):
            given = {self.language: given}
        if not isinstance(given, Mapping):
            raise InvalidParameter(f"{what} is text, or texts by language, got {given!r}", "type")
        found = {checked_language(language): _checked(text, kind, what) for language, text in given.items()}
        if self.language not in found:
            raise InvalidParameter(
                f"{what} is given in {', '.join(found)}, and not in {self.language}, which is shown to "
                "people who read none of these",
                "language",
            )
        return MappingProxyType(found)

    def __str__(self) -> str:
        texts = sum(map(bool, self._texts())) + len(self.labels)
        return f"Texts in {', '.join(self.languages)}: {format_count(texts, 'text')}"

    def __bool__(self) -> bool:
        return any(self._texts()) or bool(self.labels)

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages; the first one is shown to people who read none of the others."""
        given = {one for text in self._texts() if isinstance(text, Mapping) for one in text}
        given |= {one for each in self.labels.values() for one in each}
        return (self.language, *sorted(given - {self.language}))

    def with_consent(self, consent: Text) -> Texts:
        """The same texts with this consent."""
        return replace(self, consent=consent)

    def check(self, attributes: Mapping[str, Domain], title: str) -> None:
        """Refuse texts that are not about these attributes, or have another title."""
        if isinstance(self.title, Mapping) and self.title and self.title[self.language] != title:
            raise InvalidParameter(
                f"the title in {self.language} is {title!r}, and not what the texts say", "texts"
            )
        for name in (*self.questions, *self.help, *self.labels):
            if name not in attributes:
                raise InvalidParameter(not_among(str(name), "an attribute with a text", attributes), "texts")
        for name, each in self.labels.items():
            domain = attributes[name]
            if not isinstance(domain, Categories):
                raise InvalidParameter(f"{name!r} has no labels to translate: it is not a list", "texts")
            for language, labels in each.items():
                if len(labels) != domain.k:
                    raise InvalidParameter(
                        f"{name!r} has {domain.k} values, but {len(labels)} labels in {language}", "texts"
                    )

    def to_dict(self) -> Json:
        """As a plan has them."""
        found: Json = {"language": self.language}
        found |= {name: dict(text) for name in OF_SURVEY if (text := getattr(self, name))}
        attributes: dict[str, Json] = {}
        for field_name, kind in (("questions", "question"), ("help", "help")):
            for name, text in getattr(self, field_name).items():
                attributes.setdefault(name, {})[kind] = dict(text)
        for name, each in self.labels.items():
            attributes.setdefault(name, {})["labels"] = {one: list(labels) for one, labels in each.items()}
        return found | ({"attributes": attributes} if attributes else {})

    @staticmethod
    def from_dict(data: object) -> Texts:
        """Back from `to_dict`."""
        given = _checked_some(data, "texts", ("language",), (*OF_SURVEY, "attributes"))
        about = _checked_object(given.get("attributes", {}), "the texts of attributes")
        each: dict[str, dict[str, Any]] = {kind: {} for kind in OF_ATTRIBUTE}
        for name, one in about.items():
            for kind, text in _checked_some(one, "the texts of an attribute", (), OF_ATTRIBUTE).items():
                read = _labels_from_dict if kind == "labels" else _text_from_dict
                each[kind][name] = read(text, kind)
        return Texts(
            language=checked_language(checked_string(given["language"], "language")),
            questions=each["question"],
            help=each["help"],
            labels=each["labels"],
            **{name: _text_from_dict(given[name], name) for name in OF_SURVEY if name in given},
        )

    def __hash__(self) -> int:
        return hash((self.language, self.languages, *self.questions, *self.labels))

    def __reduce__(self) -> tuple[Any, ...]:
        """So that texts can be copied and pickled, which the read-only view of a dictionary cannot."""
        values = (getattr(self, one.name) for one in fields(self))
        return Texts, tuple(_plain(one) for one in values)


def _plain(value: Any) -> Any:
    return {name: _plain(one) for name, one in value.items()} if isinstance(value, Mapping) else value


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
    for line in [text] if kind in ONE_LINE or not text else filter(None, text.split("\n")):
        checked_text(line, what if kind in ONE_LINE else f"a line of {what}")
    must_link = kind == "privacy_notice" or (kind == "contact" and _SCHEME.match(text))
    if must_link and not _LINK.fullmatch(text):
        raise InvalidParameter(
            f"{what} is a link that begins with https:// or mailto:, got {text!r}", "texts"
        )
    return text


def _read_labels(given: object, name: str) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(given, Mapping) or not given:
        raise InvalidParameter(
            f"labels of {name!r} are lists by language, such as {{'de': ['ja', 'nein']}}, got {given!r}",
            "type",
        )
    found = {}
    for language, labels in given.items():
        what = f"labels of {name!r} in {checked_language(language)}"
        if not isinstance(labels, list | tuple):
            raise InvalidParameter(f"{what} must be a list, got {labels!r}", "type")
        for label in labels:
            if len(checked_text(label, f"a label of {name!r}")) > LONGEST["label"]:
                raise InvalidParameter(f"{what} have at most {LONGEST['label']} characters each", "texts")
        if len(set(labels)) < len(labels):
            raise InvalidParameter(f"{what} are not all different", "texts")
        found[language] = tuple(labels)
    return MappingProxyType(found)


def _checked_object(data: object, what: str) -> Json:
    """An object with any names, at least one."""
    names = tuple(data) if isinstance(data, dict) else ()
    return dict(checked_fields(data, what, names))


def _checked_some(data: object, what: str, needed: Sequence[str], allowed: Sequence[str]) -> Json:
    """An object with these fields, and some of the others."""
    names = [one for one in allowed if isinstance(data, dict) and one in data]
    return dict(checked_fields(data, what, (*needed, *names)))


def _text_from_dict(data: object, what: str) -> Json:
    found = _checked_object(data, what)
    if not found:
        raise InvalidParameter(f"{what} is given in no language", "language")
    for text in found.values():
        checked_string(text, what)
    return found


def _labels_from_dict(data: object, what: str) -> Json:
    found = _checked_object(data, what)
    for labels in found.values():
        for label in checked_list(labels, what):
            checked_string(label, what)
    return found
