"""The emergency calls are what was published, or a stand-in that says so; other files are refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests import statistics

import deniable as dn
from deniable_papers.data import published
from deniable_papers.data.calls import REAL, STAND_IN, Calls, in_county, load_calls, simulate_calls
from deniable_papers.data.published import FILES, FOLDER, DataUnavailable

ROW = "40.1,-75.3,A ST; X; Station 308A; 2015-12-10 @ 17:10:52;,19525,EMS: FALL,2015-12-10 17:40:00,X,A ST,1"
FACTS = "montgomery-911-facts.json"
HEADER = "lat,lng,desc,zip,title,timeStamp,twp,addr,e"


def check_facts(calls: Calls) -> None:
    """What holds of the calls of the file, and must hold of their stand-in."""
    assert calls.n == 9226
    assert (np.diff(calls.times.astype(np.int64)) >= 0).all()
    ends = [str(calls.times[0]), str(calls.times[-1])]
    assert ends == ["2015-12-10T17:40:00", "2016-01-04T19:37:00"]
    assert Counter(calls.kinds.tolist()) == {"EMS": 4607, "Traffic": 3354, "Fire": 1265}
    townships = Counter(calls.townships.tolist())
    assert len(townships) == 68
    assert townships.most_common(1) == [("LOWER MERION", 676)]
    assert ((calls.stations != "") == (calls.kinds == "EMS")).all()
    assert in_county(calls).n == 9223


def count_busy(calls: Calls) -> int:
    return sum(many >= 40 for name, many in Counter(calls.stations.tolist()).items() if name)


def test_calls_are_those_of_the_file_where_it_is() -> None:
    calls = load_calls()
    check_facts(calls)
    if published.present(FILES["montgomery-911.csv"]) is None:
        assert (calls.name, count_busy(calls)) == (STAND_IN, 33)
    else:
        assert (calls.name, count_busy(calls)) == (REAL, 35)


def test_the_stand_in_has_the_facts_of_the_file_and_its_own_places() -> None:
    calls = simulate_calls()
    check_facts(calls)
    assert calls.select(calls.kinds == "EMS").name == STAND_IN
    again = simulate_calls()
    assert np.array_equal(calls.locations, again.locations)
    facts = json.loads(published.carried_folder().joinpath(FACTS).read_text(encoding="utf-8"))
    hours = calls.times.astype("datetime64[h]").astype(np.int64) % 24
    minutes = np.arange(np.datetime64(facts["first"], "m"), np.datetime64(facts["last"], "m") + 1)
    minutes_of_hours = np.bincount(minutes.astype("datetime64[h]").astype(np.int64) % 24)
    rates = minutes_of_hours * np.array(facts["hours"])
    statistics.goodness_of_fit(np.bincount(hours), calls.n * rates / rates.sum(), "calls by hour of the day")
    assert len(np.unique(calls.locations, axis=0)) > 8500, "places are drawn around their centers"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{HEADER}\n{ROW}\n", "1 rows; 9,226 rows of 9 columns"),
        (f"{HEADER}\n{ROW},2\n", "10 columns in row 1"),
        (f"lat,{HEADER}\n{ROW}\n", "has the columns lat, lat"),
        ("", "not a CSV file"),
    ],
)
def test_another_file_is_refused(
    text: str, problem: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setattr(published, "_cache", lambda: None)
    (tmp_path / "montgomery-911.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataUnavailable, match=problem):
        load_calls()


def test_emergency_calls_of_a_county() -> None:
    """Crowded locations, real or of a stand-in: the mean latitude, from reports alone."""
    calls = in_county(load_calls())
    box = dn.Grid(
        39.95, -75.75, 40.5, -75.0, rows=12, columns=12, epsilon=dn.metric.per_meter(level=1.0, radius=4000)
    )
    table = {"location.latitude": calls.locations[:, 0], "location.longitude": calls.locations[:, 1]}
    plan = dn.Study({"location": box}).plan(people=9000)
    result = plan.estimate(plan.tally(plan.privatize(table, dn.seeded(1))))
    latitude = box.centers[:, 0]
    truth = latitude[plan.encode(table)[0]].mean()
    found = dn.summaries.mean_of(result["location"], latitude)
    statistics.deviation(found.value, float(truth), found.stderr, "the mean latitude")
    assert found.stderr < 0.002
