"""Texts and maps of a survey: what people see beside the questions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable_device.document import Json, fields, typed, within
from deniable_device.domains import Grid, Range, visible
from deniable_device.errors import Refused

if TYPE_CHECKING:
    from deniable_device.plan import Plan

LANGUAGE = re.compile("[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
LINK = re.compile("(https://|mailto:)[!-~]+")
LINES = {"introduction": 4000, "consent": 8000, "responsible": 500, "thanks": 2000}
"""Texts of any lines, with their longest length; the others have one line."""
LENGTHS = {**LINES, "title": 200, "contact": 500, "privacy_notice": 500}
OF_QUESTIONS = {"question": 500, "help": 2000}
MOST_LANGUAGES = 20


class Question:
    """A question as people see it: its name, and the domain or the options that its texts are about."""

    def __init__(self, name: str, labels: int, is_scale: bool) -> None:
        self.name, self.labels, self.is_scale = name, labels, is_scale


def questions_of(plan: Plan) -> list[Question]:
    """The questions of a plan, in its order: options are one question, and so is what several tables hold."""
    questions: dict[str, Question] = {}
    for factor in plan.known:
        questions[factor.name] = Question(factor.name, len(factor.domain.labels), is_scale(factor.domain))
    for attribute in plan.attributes:
        if attribute.several is not None:
            options = sum(each.several == attribute.several for each in plan.attributes)
            questions.setdefault(attribute.several, Question(attribute.several, options, False))
            continue
        for name, domain in attribute.questions:
            questions.setdefault(name, Question(name, len(domain.labels), is_scale(domain)))
    return list(questions.values())


def is_scale(domain: object) -> bool:
    """Whether the lowest and the highest number of a question may have a meaning."""
    return isinstance(domain, Range) and domain.unit == "whole"


class Texts:
    """Reads the texts of a plan, and collects the languages that they are given in."""

    def __init__(self, tree: Json, plan: Plan) -> None:
        optional: dict[str, type] = dict.fromkeys(LENGTHS, object)
        tree = fields(tree, {"language": object}, {**optional, "attributes": object, "pages": object})
        self.language = self.tag(tree["language"])
        self.languages = {self.language}
        if len(tree) == 1:
            raise Refused("canonical", "there are texts, but none is given")
        for name, longest in LENGTHS.items():
            if name in tree:
                for text in self.by_language(tree[name], name, longest, name in LINES):
                    is_link = name == "contact" and re.match(r"[A-Za-z]+:[^ ]*$", text)
                    if name == "privacy_notice" or is_link:
                        links(text)
        if "title" in tree and tree["title"][self.language] != plan.title:
            raise Refused("texts", "the title in the first language is not that of the plan")
        questions = {question.name: question for question in questions_of(plan)}
        if "attributes" in tree:
            self.read_attributes(tree["attributes"], questions)
        if "pages" in tree:
            self.read_pages(tree["pages"], list(questions))
        if len(self.languages) > MOST_LANGUAGES:
            raise Refused("language", "texts are in at most 20 languages")

    def tag(self, language: Json) -> str:
        """A language as it is written."""
        if not isinstance(language, str) or not LANGUAGE.fullmatch(language):
            raise Refused("language", f"{language!r} is not a language such as en, pt-BR or zh-Hant")
        return language

    def objects(self, tree: Json, name: str, first: bool = True) -> dict[str, Json]:
        """An object by language, which has the first one."""
        typed(tree, dict, name)
        self.languages |= set(map(self.tag, tree))
        if first and self.language not in tree:
            raise Refused("language", f"{name} is not given in {self.language}")
        return dict(tree)

    def by_language(self, tree: Json, name: str, longest: int, lines: bool) -> Sequence[str]:
        """The texts of all languages."""
        tree = self.objects(tree, name)
        for text in tree.values():
            readable(text, name, longest, lines)
        return list(tree.values())

    def read_attributes(self, tree: Json, questions: dict[str, Question]) -> None:
        """The texts of each question."""
        if not typed(tree, dict, "attributes"):
            raise Refused("canonical", "there are no texts of attributes")
        for name, texts in tree.items():
            if name not in questions:
                raise Refused("texts", f"there is no question {name!r}")
            kinds: dict[str, type] = dict.fromkeys((*OF_QUESTIONS, "labels", "ends", "other"), object)
            texts = fields(texts, {}, kinds)
            if not texts:
                raise Refused("canonical", f"there is no text of {name!r}")
            for kind, longest in OF_QUESTIONS.items():
                if kind in texts:
                    self.by_language(texts[kind], kind, longest, kind == "help")
            if "labels" in texts:
                self.read_lists(texts["labels"], "labels", questions[name].labels, first=False)
            if "ends" in texts:
                self.read_lists(texts["ends"], "ends", 2 if questions[name].is_scale else 0, first=True)
            if "other" in texts:
                if not typed(texts["other"], bool, "other"):
                    raise Refused("canonical", "other is false, which is not written")
                if not questions[name].labels:
                    raise Refused("texts", f"{name!r} has no labels, and so no last one for all others")

    def read_lists(self, tree: Json, name: str, length: int, first: bool) -> None:
        """Lists of texts by language, each text once in its list."""
        tree = self.objects(tree, name, first)
        if not tree:
            raise Refused("type", f"{name} are in no language")
        for texts in tree.values():
            for text in typed(texts, list, name):
                readable(text, name, 200, lines=False)
            if len(texts) != length or len(set(texts)) < length or not length:
                raise Refused("texts", f"{name} are {length} different texts")

    def read_pages(self, tree: Json, questions: list[str]) -> None:
        """The questions of each page: every one once."""
        if not typed(tree, list, "pages"):
            raise Refused("canonical", "there are no pages")
        names = []
        for page in tree:
            if not typed(page, list, "a page"):
                raise Refused("type", "a page is empty")
            names += [typed(name, str, "a question of a page") for name in page]
        if sorted(names) != sorted(questions):
            raise Refused("texts", "pages have every question once")


def readable(text: Json, name: str, longest: int, lines: bool) -> None:
    """Refuses what is not visible text of so many characters, on one line or on any."""
    typed(text, str, name)
    if text != text.strip(" \n"):
        raise Refused("canonical", f"{name} has a space or a line feed at its ends")
    if not text:
        raise Refused("text", f"{name} is empty")
    for line in text.split("\n") if lines else [text]:
        if line:
            visible(line, name)
    if len(text) > longest:
        raise Refused("texts", f"{name} has more than {longest} characters")


def links(text: str) -> None:
    """Refuses what is not a link that a page may show."""
    if not LINK.fullmatch(text):
        raise Refused("texts", f"{text[:60]!r} is not a link of https or mailto")


def check_maps(tree: Json, plan: Plan) -> None:
    """Refuses maps that cannot be drawn under the cells of a grid."""
    grids = {attribute.name for attribute in plan.attributes if isinstance(attribute.domain, Grid)}
    if not typed(tree, dict, "maps"):
        raise Refused("canonical", "there are no maps")
    for name, drawing in tree.items():
        if name not in grids:
            raise Refused("maps", f"{name!r} is no grid")
        if "image" in typed(drawing, dict, "a map") or not drawing:
            raise Refused("maps", "a map has lines or towns")
        drawing = fields(drawing, {}, {"lines": list, "towns": list})
        if not all(drawing.values()):
            raise Refused("canonical", "what a map has is not empty")
        points = sum(check_line(line) for line in drawing.get("lines", []))
        within(points, 0, 4800, "maps", "the number of points")
        within(len(drawing.get("towns", [])), 0, 200, "maps", "the number of towns")
        for town in drawing.get("towns", []):
            check_town(town)


def check_line(line: Json) -> int:
    """How many points a line has, if they can be drawn."""
    for coordinate in typed(line, list, "a line"):
        within(typed(coordinate, int, "a coordinate"), 0, 4095, "maps", "a coordinate")
    points = list(zip(line[::2], line[1::2]))
    repeats = any(left == right for left, right in zip(points, points[1:]))
    if len(line) % 2 or len(points) < 2 or repeats:
        raise Refused("maps", "a line has two points or more, each unlike the one before")
    return len(points)


def check_town(town: Json) -> None:
    """Refuses a town without a name or outside of its map."""
    town = fields(town, {"name": object, "x": int, "y": int})
    if len(visible(town["name"], "the name of a town")) > 60:
        raise Refused("maps", "the name of a town has at most 60 characters")
    for axis in ("x", "y"):
        within(town[axis], 0, 4095, "maps", "a coordinate")
