"""Writes the notebook of one study: it reads the plan and the reports, and shows estimates, plots and tables.

Before there are reports, people are simulated: a line for each question, which whoever reads it may change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from deniable.domain import Categories, Code, Domain, Range, Text, Unlisted
from deniable.domain.grid import Grid
from deniable.domain.number import Number
from deniable.explain.question_pairs import list_tables
from deniable.explain.text_questions import list_unlisted
from deniable.plan.attribute import Attribute, find_allowed, list_questions, list_several
from deniable.plan.document import PlanDocument
from deniable.study import Plan

_MOST_PEOPLE = 20_000
"""More people than this are not simulated: whoever opens a notebook runs all of it."""
_MOST_TABLES = 6
_MOST_TEXTS = 5
_READ = """\
from pathlib import Path

import numpy as np

import deniable as dn

plan = dn.Plan.read("{file}")
print(plan)"""
_STORE = """\
SOURCE = "sqlite:///reports.db"  # or postgresql://...
is_real = Path("reports.db").exists()"""
_FILES = """\
SOURCE = "exported/**/*.parquet"  # written by: deniable export plan.json -o exported
is_real = Path("exported").exists()"""
"""Text that nobody listed is found in single reports, which a store does not count."""
_ONCE = """\
reports = SOURCE if is_real else plan.privatize(answers, dn.seeded(1))  # simulated ones protect nobody"""
_ROUNDS = """\
results = {}
for number in [1] if is_real else [1, 2]:  # the rounds that are over
    simulated = plan.privatize(answers, dn.remembering(1, round=number))  # these protect nobody
    tallies = plan.tally(SOURCE, number=number) if is_real else plan.tally(simulated)
    results[number] = plan.estimate(tallies)
result = results[max(results)]"""
_CHANGE = """\
if len(results) > 1:
    print(result.change(results[min(results)]))"""


def write_notebook(plan: Plan, file: str = "plan.json") -> str:
    """The notebook, in format 4 and without outputs; it stands beside the plan's file."""
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "markdown",
            "id": f"study-{i}",
            "metadata": {},
            "source": text.splitlines(keepends=True),
        }
        | ({} if kind == "markdown" else {"cell_type": "code", "execution_count": None, "outputs": []})
        for i, (kind, text) in enumerate(_list_cells(plan, file), 1)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _list_cells(plan: Plan, file: str) -> Iterator[tuple[str, str]]:
    """Each cell's kind and text."""
    document = plan.document
    repeated = document.rounds is not None
    yield "markdown", _introduce(document, file)
    yield "code", _READ.format(file=file)
    yield "markdown", "## What will be known\n\nA plan knows its errors before anybody has answered."
    yield "code", "plan.plot()"
    yield (
        "markdown",
        "## The reports\n\nThey come from the collector, once what `SOURCE` names is in this folder. Until "
        "then people are simulated, who answer at random: change their answers to what you expect.",
    )
    unlisted = list_unlisted(document)
    yield "code", _simulate(document)
    yield "code", f"{_FILES if unlisted else _STORE}\n{_ROUNDS if repeated else _ONCE}"
    if any(attribute.domain.listed for attribute in document.attributes):
        yield from _estimate(document)
    for name, question in unlisted.items():
        words = "" if question.is_searchable else f", words={_invent_texts(question.domain)!r}"
        yield "markdown", f"## Values of {name!r} that nobody listed"
        yield "code", f"print(plan.discover(reports, name={name!r}{words}))"


def _introduce(document: PlanDocument, file: str) -> str:
    """The title, and what is asked under which name."""
    lines = [f"# {document.title or 'A study'}", "", "| name | question |", "|---|---|"]
    for name in _list_names(document):
        text = " ".join(document.question_texts.get(name, "").split()).replace("|", "\\|")
        lines.append(f"| `{name}` | {text} |")
    needs = "`pip install 'deniable[frames,plot]'`, and a program that opens notebooks"
    return "\n".join([*lines, "", f"This notebook stands in one folder with `{file}`. It needs {needs}."])


def _list_names(document: PlanDocument) -> list[str]:
    """All questions; the known ones first."""
    known = () if document.known is None else document.known.names
    return list(dict.fromkeys([*known, *list_questions(document.attributes)]))


def _simulate(document: PlanDocument) -> str:
    """Code that draws an answer of everybody to each question, as far as they are asked it."""
    options = list_several(document.attributes)
    drawn = {
        name: _draw_options(options[name]) if name in options else _draw(document.domains[name])
        for name in _list_names(document)
    }
    lines = [
        "draw = np.random.default_rng(1)",
        f"n = {min(document.people, _MOST_PEOPLE)}",
        "answers = {",
        *(f"    {name!r}: {code}," for name, code in drawn.items()),
        "}",
    ]
    conditions = {
        attribute.questions[0]: attribute.only_if
        for attribute in document.attributes
        if attribute.only_if is not None
        and attribute.only_if.name != f"{attribute.name}: answered"  # by everybody whom it applies to
    }
    parents = {attribute.name: attribute for attribute in document.attributes}
    for name, condition in conditions.items():
        parent = parents[condition.name]
        is_asked = f"parent in {condition.values!r}"
        if parent.several is not None:
            is_asked = f"{parent.option!r} in (parent or ())"
        of = parent.several or parent.name
        lines += [
            f"answers[{name!r}] = [  # asked only if {condition.describe()}",
            f"    answer if {is_asked} else None",
            f"    for answer, parent in zip(answers[{name!r}], answers[{of!r}])",
            "]",
        ]
    return "\n".join(lines)


def _draw(domain: Domain) -> str:
    """Code for the answers of `n` people to a question."""
    if isinstance(domain, Categories):
        return f"draw.choice({list(domain.labels)!r}, n)"
    if isinstance(domain, Range) and domain.unit == "month":
        months = f"draw.integers({domain.low!r}, {domain.high!r}, n)"
        return f'[f"{{month // 12}}-{{month % 12 + 1:02}}" for month in {months}]'
    if isinstance(domain, Range) and domain.unit:
        return f"draw.integers({domain.low!r}, {domain.high!r}, n)"
    if isinstance(domain, Range | Number):
        return f"draw.uniform({domain.low!r}, {domain.high!r}, n)"
    if isinstance(domain, Grid):
        east = domain.east if domain.east > domain.west else domain.east + 360
        north = f"draw.uniform({domain.south!r}, {domain.north!r}, n)"
        return f"np.column_stack([{north}, draw.uniform({domain.west!r}, {east!r}, n)])"
    assert isinstance(domain, Text | Code), "a question has answers of one of these kinds"
    return f"draw.choice({_invent_texts(domain)!r}, n)"


def _invent_texts(domain: Unlisted) -> list[str] | list[int]:
    """A few values of a question whose values nobody listed."""
    if not isinstance(domain, Text):
        return list(range(_MOST_TEXTS))
    letters = [domain.letters[i % len(domain.letters)] for i in range(_MOST_TEXTS)]
    return list(dict.fromkeys(letter * min(3, domain.longest) for letter in letters))


def _draw_options(options: Sequence[Attribute]) -> str:
    """Code for lists of the options that `n` people choose, as many as they may."""
    names = [option.option for option in options]
    allowed = find_allowed(options) or range(len(names) + 1)
    number = f"draw.integers({allowed[0]}, {allowed[-1] + 1})" if len(allowed) > 1 else str(allowed[0])
    return f"[draw.choice({names!r}, {number}, replace=False).tolist() for _ in range(n)]"


def _estimate(document: PlanDocument) -> Iterator[tuple[str, str]]:
    """Cells with estimates, their plots, weights, tables and change."""
    yield "markdown", "## The estimates"
    estimate = "" if document.rounds is not None else "result = plan.estimate(plan.tally(reports))\n"
    yield "code", f"{estimate}print(result)"
    yield "code", "result.plot()"
    yield "code", "result.frame()"
    if document.known is not None:
        sizes = {name: dict.fromkeys(domain.labels, 1) for name, domain in document.known.factors}
        yield (
            "markdown",
            "## Weights\n\nWrite how large the groups of your population are, in place of equal sizes. Where "
            "groups answer unevenly, the weighted estimates are those of the population, and their intervals "
            "are wider.",
        )
        yield "code", f"sizes = {sizes!r}\nprint(result.weighted(sizes))"
    tables = [(of, by) for by, of in list_tables(document)][:_MOST_TABLES]
    if tables:
        yield "markdown", "## Tables of two answers"
        yield "code", f"for of, by in {tables!r}:\n    print(result.cross(of, by))\n    print()"
    if document.rounds is not None:
        yield "markdown", "## Change\n\nPeople keep noise, so rounds are compared by `change`."
        yield "code", _CHANGE
