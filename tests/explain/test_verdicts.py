"""What is said of a plan: whether something is worth reading, what short names mean, and look-alikes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import deniable as dn
from deniable.choose import HALF_WIDTH, Precision
from deniable.explain import references
from deniable.explain.choice_reasons import (
    _name_next_best,
    _name_smaller,
    explain_kind,
    explain_name,
    list_always,
)
from deniable.explain.explain import list_warnings
from deniable.study import Plan
from tests.running import Run


@pytest.mark.parametrize(
    ("count", "width", "points", "use"),
    [
        (2, None, 5.0, "clear"),
        (2, None, 5.1, "useful"),
        (2, None, 10.1, "rough"),
        (2, None, 50.1, "noise"),
        (10, None, 2.5, "clear"),
        (10, None, 5.0, "useful"),
        (10, None, 10.0, "rough"),
        (10, None, 10.1, "noise"),
        (1, 80.0, 5.0, "clear"),
        (1, 80.0, 10.0, "useful"),
        (1, 80.0, 25.1, "noise"),
    ],
)
def test_words_have_limits_in_points(count: int, width: float | None, points: float, use: str) -> None:
    error = points / 100 / HALF_WIDTH * (1 - 1e-9)
    one = Precision("vote", "share" if width is None else "mean", count, 1000, error, width)
    assert one.use == use
    nothing = replace(one, stderr=0.6)
    assert (one.is_known, nothing.is_known) == (True, False)
    assert nothing.format_margin() == ("the whole range" if width else "all 100 points")
    assert replace(
        one, people=one.people_enough(), stderr=error * (1000 / one.people_enough()) ** 0.5
    ).use in ("clear", "useful")


def test_bytes_are_named_only_where_they_differ() -> None:
    row = dn.Study({"a": list("abc")}, epsilon=1.0).plan(1000).considered[0]
    longer = replace(row, score=row.score / 2, report_bytes=row.report_bytes._replace(expected=9.5))
    assert _name_smaller(row, [longer]).endswith(
        "would err 50 % less, with reports that are longer on average."
    )
    most = replace(longer, report_bytes=row.report_bytes._replace(expected=9.5, most=9))
    assert "9 bytes a report instead of 1." in _name_smaller(row, [most])


def test_the_next_best_is_named_by_what_differs() -> None:
    """Protocols were named that both have, but neither who reports what, nor "piecewise"."""
    asked = {"a": list("abc"), "pay": dn.Number(0, 1), "b": ["yes", "no"]}
    chosen = dn.Study(asked, epsilon=2.0, mechanism="sample").plan(1000).considered[0]
    split = dn.Study(asked, epsilon=2.0, mechanism="split").plan(1000).considered[0]
    other = replace(chosen, protocols=("ss", "piecewise", "grr"), score=1.5 * chosen.score)
    here = replace(chosen, protocols=("grr", "duchi", "grr"))
    assert _name_next_best(here, other).endswith(
        " times as much on average: subset selection for 'a'; piecewise for 'pay'."
    )
    assert _name_next_best(here, replace(here, score=1.1 * here.score)).endswith("errs 10 % more.")
    told = _name_next_best(chosen, replace(split, protocols=chosen.protocols))
    assert told.endswith(": everybody reports all questions.")
    assert explain_kind(replace(split, mechanism=None)) == "everybody reports all questions"
    assert list_always(replace(split, mechanism=None)) == []
    metric = asked | {"age": dn.Range(0, 50, privacy="metric", epsilon=0.05)}
    rows = dn.Study(metric, epsilon=2.0).plan(1000).considered
    some = {explain_kind(row) for row in rows if row.kind == "SPL+SMP"}
    assert some == {
        "everybody reports 'age', and one of the others, drawn at random",
        "everybody reports 'pay', 'age', and one of the others, drawn at random",
    }


def test_short_names_are_explained(run: Run) -> None:
    asked = {"a": list("abc"), "age": dn.Range(0, 50, privacy="metric", epsilon=0.05), "b": ["yes", "no"]}
    plan = dn.Study(asked, epsilon=1.0).plan(1000)
    kinds = {row.kind for row in plan.considered[:12]}
    assert kinds >= {"SPL+SMP", "SPL"}
    text = plan.explain().replace("\n", " ")
    for row in plan.considered[:12]:
        assert f"{row.kind}: {explain_name(row).partition(';')[0]}" in text
    assert run("init").code == 0
    told = run("people", "study.toml", "--people", "800").out
    assert "SMP[adaptive]: everybody reports one question, drawn at random; grr: generalized" in told


def warn(labels: list[str]) -> list[str]:
    plan = dn.Study({"smokes": labels}, epsilon=1.0).plan(people=100_000)
    return [text for text in list_warnings(plan.document, ()) if "People cannot tell" in text]


@pytest.mark.parametrize(
    ("alike", "difference"),
    [
        ("y\u0435s", "differ in CYRILLIC SMALL LETTER IE"),
        ("\uff59\uff45\uff53", "differ in FULLWIDTH LATIN SMALL LETTER Y"),
        ("Yes", "differ in capital letters or spaces alone"),
        ("y es", "differ in capital letters or spaces alone"),
    ],
)
def test_answers_that_look_the_same_are_said(alike: str, difference: str) -> None:
    [text] = warn(["yes", "no", alike])
    assert f"of 'smokes' {difference}" in text


def test_answers_that_look_different_bring_no_warning() -> None:
    assert warn(["yes", "no", "eyes", "да", "nein", "né", "10", "11"]) == []


def test_the_shell_and_python_say_it() -> None:
    plan = dn.Study({"smokes": ["yes", "y\u0435s"]}, epsilon=1.0).plan(people=1000)
    assert "differ in CYRILLIC SMALL LETTER IE" in plan.explain().replace("\n", " ")


ASKED = {"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}


def test_the_bound_of_a_shuffler_is_cited_where_it_is_explained() -> None:
    once = Plan.of(ASKED, dn.smp([3, 2], 1.0), people=1000)
    kept = dn.records.Sample((dn.rounds.l_grr(3, 1.0, 2.0), dn.rounds.l_grr(2, 1.0, 2.0)))
    again = Plan.of(ASKED, kept, people=1000, rounds=5)
    for plan in (once, again):
        assert ("shuffler" in plan.explain()) == ("{feldman2023," in plan.cite())
    assert "{feldman2023," in once.cite()


def test_levels_of_ranges_are_cited() -> None:
    for queries in ("ranges", "values"):
        study = dn.Study({"income": dn.Range(0, 1000, queries=queries)}, epsilon=1.0)
        assert ("{cormode2019," in study.plan(people=1000).cite()) == (queries == "ranges")


def test_every_entry_is_on_the_page() -> None:
    entries = references.read_entries()
    page = (Path(__file__).parents[2] / "docs" / "references.md").read_text(encoding="utf-8")
    assert len(entries) == 25
    assert [key for key in entries if f"**{key}**" not in page] == []


def test_every_entry_is_bibtex() -> None:
    form = re.compile(r"@(article|inproceedings|misc)\{\w+,\n(  \w+ = \{.+\},\n)+\}")
    assert [key for key, entry in references.read_entries().items() if not form.fullmatch(entry)] == []
