"""The visits of MS-FIMU, as published: how many, by whom, and which counts they have."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from deniable_papers.data.datasets import read_marginals
from deniable_papers.data.published import FILES, FOLDER, DataUnavailable, read_text
from deniable_papers.data.visits import DAYS, deal_attributes, load_visits, read_domestic
from deniable_papers.learn import count_unions, list_unions
from deniable_papers.learn.unions import count_sets, find_first_visits


def read_union_counts() -> dict[tuple[int, int], int]:
    """How many people were there on each union of consecutive days, by its first and last day."""
    read = json.loads(read_text(FILES["ms-fimu-marginals.json"]))
    counts = {}
    for name, people in read["union_of_consecutive_days"].items():
        last, _, first = name.partition("-")  # `3-1`, or `3` for a day alone
        counts[int(first or last), int(last)] = people
    return counts


def test_visits_have_the_published_counts_of_all_unions() -> None:
    visits = load_visits()
    assert (visits.n, visits.people, len(visits.durations)) == (190_345, 88_935, 10)
    cells = count_sets(visits.sets, DAYS)
    assert (cells > 0).sum() == 127
    unions = count_unions(cells)
    assert dict(zip(list_unions(), unions.tolist(), strict=True)) == read_union_counts()
    firsts = find_first_visits(visits.person, visits.day, DAYS)
    assert [one.size for one in firsts] == unions.tolist()
    for (first, _), rows in zip(list_unions(), firsts, strict=True):
        assert np.unique(visits.person[rows]).size == rows.size
        assert visits.day[rows].min() >= first - 1


def test_people_without_foreign_tourists_have_what_is_left_of_the_marginals() -> None:
    visits = load_visits(foreign=False)
    assert (visits.n, visits.people) == (187_375, 87_098)
    values, labels = deal_attributes(visits.people)
    assert tuple(map(len, labels)) == (2, 7, 12, 22, 11)
    domestic = read_domestic()
    for column, names, counts in zip(values.T, labels, domestic.values(), strict=True):
        assert dict(zip(names, np.bincount(column).tolist(), strict=True)) == counts
    foreign = {name: sum(read_marginals()[name].values()) - sum(of.values()) for name, of in domestic.items()}
    assert set(foreign.values()) == {1837}
    assert np.array_equal(values, deal_attributes(visits.people)[0])
    with pytest.raises(DataUnavailable, match="87,098 people for Gender, not 3"):
        deal_attributes(3)


def test_wrong_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    (tmp_path / "ms-fimu-visits.csv").write_text("Person ID,Date ID,Visit Duration\n1,1,2h\n")
    with pytest.raises(DataUnavailable, match="has 1 rows; 190,345 rows of 3 columns were expected"):
        load_visits()
    (tmp_path / "ms-fimu-marginals.json").write_text("{}")
    with pytest.raises(DataUnavailable, match="is not the counts of"):
        read_marginals()
