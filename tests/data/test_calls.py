"""The emergency calls are what was published, and a file that is something else is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from deniable.data import published
from deniable.data.calls import in_county, load_calls
from deniable.data.published import FOLDER
from deniable.errors import DataUnavailable
from tests.data.test_datasets import folder as folder

ROW = "40.1,-75.3,A ST; X; Station 308A; 2015-12-10 @ 17:10:52;,19525,EMS: FALL,2015-12-10 17:40:00,X,A ST,1"
HEADER = "lat,lng,desc,zip,title,timeStamp,twp,addr,e"


@pytest.mark.usefixtures("folder")
def test_calls_are_those_of_the_file() -> None:
    calls = load_calls()
    assert calls.n == 9226
    assert (np.diff(calls.times.astype(np.int64)) >= 0).all()
    ends = [str(calls.times[0]), str(calls.times[-1])]
    assert ends == ["2015-12-10T17:40:00", "2016-01-04T19:37:00"]
    assert Counter(calls.kinds.tolist()) == {"EMS": 4607, "Traffic": 3354, "Fire": 1265}
    busy = [name for name, many in Counter(calls.stations.tolist()).items() if name and many >= 40]
    assert len(busy) == 35
    assert Counter(calls.townships.tolist()).most_common(1) == [("LOWER MERION", 676)]
    assert in_county(calls).n == 9223


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
