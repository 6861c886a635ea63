"""Whatever a plan uses or explains is cited, under a key that is on the page of references."""

from __future__ import annotations

import re
from pathlib import Path

import deniable as dn
from deniable.explain import references
from deniable.study import Plan

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
    assert len(entries) == 23
    assert [key for key in entries if f"**{key}**" not in page] == []


def test_every_entry_is_bibtex() -> None:
    form = re.compile(r"@(article|inproceedings|misc)\{\w+,\n(  \w+ = \{.+\},\n)+\}")
    assert [key for key, entry in references.read_entries().items() if not form.fullmatch(entry)] == []
