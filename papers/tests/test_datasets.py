"""Datasets are what the papers use, files that are not what they should be are refused, downloads are
checked.

The files are those that the project carries, or those of the folder `$DENIABLE_DATA`, where it has them.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import statistics

import deniable as dn
from deniable_papers import data
from deniable_papers.data import published
from deniable_papers.data.published import FILES, FOLDER, DataUnavailable, read_text, rows_of

ADULT_KS = (7, 16, 7, 14, 6, 5, 2, 41, 2)
SIZES = {
    "adult": (45_222, ADULT_KS),
    "adult-10": (45_222, (74, *ADULT_KS)),
    "nursery": (12_960, (3, 5, 4, 4, 3, 2, 3, 3, 5)),
    "acs-employment": (10_336, (92, 25, 5, 2, 2, 9, 4, 5, 5, 4, 2, 18, 2, 2, 3, 9, 3, 6)),
    "ms-fimu": (88_935, (3, 3, 8, 12, 37, 11)),
    "adult-26k": (45_849, (74, 7, 16, 7, 14, 41, 6, 96, 2, 5, 2)),
    "acs-coverage": (98_739, (50, 24, 5, 2, 2, 9, 5, 3, 5, 4, 2, 7, 1, 3, 2, 2)),
    "lsac": (20_427, (5, 2, 2, 2, 37, 6, 2)),
}
"""People and domain sizes, as the papers state them."""


@pytest.mark.parametrize("name", SIZES)
def test_datasets_have_the_sizes_of_the_papers(name: str) -> None:
    people = data.load(name)
    assert (people.n, people.ks) == SIZES[name]
    assert people.d == len(people.attributes) == len(people.labels) == people.table.shape[1]
    assert people.table.dtype == np.uint8
    assert not people.table.flags.writeable
    assert all(counts.sum() == people.n and counts.min() > 0 for counts in people.counts)
    several = [j for j, k in enumerate(people.ks) if k > 1]
    split = dn.records.Split(tuple(dn.grr(people.ks[j], 1.0) for j in several))
    split.privatize(people.table[:5, several])  # every value is in its domain


def test_a_dataset_prints_its_sizes() -> None:
    people = np.zeros((3, 1), dtype=np.uint8)
    dataset = data.Dataset("tiny", ("color",), (("red", "green"),), people, "nowhere")
    assert repr(dataset) == "<Dataset tiny: 3 people, 1 attribute>"
    assert str(dataset) == "Dataset tiny: 3 people, 1 attribute with numbers of values: color (2)"


def test_adult_is_known_down_to_its_counts() -> None:
    people = data.load("adult")
    income, sex = people.attributes.index("income"), people.attributes.index("sex")
    assert dict(zip(people.labels[income], people.counts[income].tolist(), strict=True)) == {
        "<=50K": 34_014,
        ">50K": 11_208,
    }
    assert dict(zip(people.labels[sex], people.counts[sex].tolist(), strict=True)) == {
        "Female": 14_695,
        "Male": 30_527,
    }
    first = [labels[code] for labels, code in zip(people.labels, people.table[0], strict=True)]
    assert first[:3] == ["State-gov", "Bachelors", "Never-married"]
    aged = data.load("adult-10")
    assert aged.attributes == ("age", *people.attributes)
    assert np.array_equal(aged.table[:, 1:], people.table)
    assert aged.labels[0][aged.table[0, 0]] == "39"
    assert aged.labels[0][0] == "17"


def test_integer_coded_tables_are_the_files() -> None:
    for name in ("adult-26k", "acs-coverage", "lsac"):
        people = data.load(name)
        lines = read_text(FILES[f"{name}.csv"]).splitlines()
        assert people.attributes == tuple(lines[0].split(","))
        assert people.table[[0, 7, -1]].tolist() == [
            [int(cell) for cell in lines[row].split(",")] for row in (1, 8, -1)
        ]
        assert np.array_equal(people.column(people.attributes[2]), people.table[:, 2])


def test_census_income_is_read_whole_or_as_a_sample_that_says_so() -> None:
    people = data.load("census-income")
    assert people.d == 33
    if people.n == 1891:
        assert people.name == "census-income (first 1,891 rows)"  # tables and plots say it
        assert "first 1,891 rows" in people.source
        assert "our choice" in people.source
        assert (people.ks[0], people.ks[3], people.ks[-1]) == (9, 17, 2)
    else:
        assert people.n == 299_285
        assert people.ks[:5] == (9, 52, 47, 17, 3)


def test_the_whole_census_is_preferred_to_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = read_text(FILES["census-income-sample.data"]).splitlines()
    monkeypatch.setenv(FOLDER, str(tmp_path))
    for name, part in (("census-income.data", lines[:1000]), ("census-income.test", lines[1000:])):
        (tmp_path / name).write_text("\n".join(part))
        monkeypatch.setitem(FILES, name, replace(FILES[name], rows=len(part)))
    people = data.load("census-income")
    assert (people.n, people.name) == (1891, "census-income")
    (tmp_path / "census-income.data").write_text("\n".join([lines[1], *lines[1:1000]]))
    with pytest.raises(DataUnavailable, match="does not begin with the 1,891 rows that this package carries"):
        data.load("census-income")


def test_the_stand_in_for_the_census_has_its_sizes_and_shares() -> None:
    people, sample = data.load("census-income-stand-in"), data.load("census-income")
    assert people.name == "census-income (simulated stand-in)"
    assert people.n == 299_285
    assert people.ks[:5] + people.ks[-8:] == (9, 52, 47, 17, 3, 43, 43, 43, 5, 3, 3, 3, 2)
    assert people.counts[-1][1] / people.n == pytest.approx(0.062, abs=1e-5)
    if sample.n == 1891:
        for name, counts, rare in zip(people.attributes[:-1], people.counts, sample.counts, strict=False):
            share = rare / (sample.n + (counts.size - rare.size) / 2)
            assert np.allclose(counts[: rare.size] / people.n, share, atol=1e-5), name
    assert np.array_equal(people.table[:100], data.load("census-income-stand-in").table[:100])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "0 rows below its header and 0 columns; a study of records needs people, and two columns"),
        ("a\n1\n2\n", "2 rows below its header and 1 column"),
        ("a;b\n1;2\n", "has one column; its cells have ';' between them, and need commas here"),
        ("a,b\n1,\n2,x\n", "column 'b' is empty in 1 of 2 rows, first in row 1"),
        ("a,b\n1,x\n2,x\n", "'b' has 1 different values"),
        ("a,a\n1,x\n2,y\n", "own.csv has more than one column 'a'"),
        ("a,b\n1,x\n2,y,3\n", "row 2 of own.csv has more cells than its header"),
        ("id,b\n" + "".join(f"{i},{i % 2}\n" for i in range(1001)), "'id' of own.csv has 1,001 different"),
    ],
)
def test_own_files_that_are_no_records_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(text)
    with pytest.raises(dn.InvalidParameter, match=message):
        data.read_people(tmp_path / "own.csv")


def test_an_own_file_is_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("color,size\nred,10\nblue,9\nred,9\n")
    people = data.read_people(tmp_path / "own.csv")
    assert (people.name, people.attributes, people.labels) == (
        "own",
        ("color", "size"),
        (("blue", "red"), ("9", "10")),
    )
    assert people.table.tolist() == [[1, 1], [0, 0], [1, 0]]


def test_ms_fimu_is_a_stand_in_with_exact_marginals() -> None:
    people = data.load("ms-fimu")
    published = json.loads(read_text(FILES["ms-fimu-marginals.json"]))["attributes"]
    assert "stand-in" in people.source
    for name, labels, counts in zip(people.attributes, people.labels, people.counts, strict=True):
        assert dict(zip(labels, counts.tolist(), strict=True)) == published[name]
    column = {
        name: np.array(people.labels[j])[people.table[:, j]] for j, name in enumerate(people.attributes)
    }
    foreign = column["Visitor category"] == "Foreign tourist"
    for name in ("Gender", "Age", "Geolife"):
        assert (column[name][foreign] == "NR").all()
    assert ((column["Gender"] == "NR") == foreign).all()
    assert 0 < (column["Region"][foreign] == "Franche-Comte").mean() < 1  # shuffled
    assert np.array_equal(people.table, data.load("ms-fimu").table)


TENS = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
SYNTHETIC = {
    1: (50_000, (10,) * 5),
    2: (500_000, (10,) * 5),
    3: (50_000, (10,) * 10),
    4: (500_000, (10,) * 10),
    5: (500_000, TENS),
    6: (500_000, tuple(sorted(TENS + TENS))),
}
"""The synthetic sets of the RS+FD paper: people, and values of each attribute."""


def test_synthetic_sets_are_those_of_the_paper_and_never_change() -> None:
    digest = hashlib.sha256()
    for number in range(1, 7):
        people = data.load(f"synthetic-{number}")
        assert (people.n, people.ks) == SYNTHETIC[number]
        assert "simulated" in people.source
        assert "those of the RS+FD paper" in people.source
        for attribute, counts in zip(people.attributes, people.counts, strict=True):
            even = np.full(counts.size, people.n / counts.size)
            statistics.goodness_of_fit(counts, even, f"{attribute} of {people.name}")
        digest.update(people.table.tobytes())
    assert digest.hexdigest()[:16] == "6377f89f09293b03"


def test_misspelled_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(dn.InvalidParameter, match=r"'adlut' is not a dataset .*; did you mean 'adult'"):
        data.load("adlut")
    wrong: list[Any] = [None, 3, ["adult"]]
    for name in wrong:
        with pytest.raises(dn.InvalidParameter, match="is not a dataset"):
            data.load(name)
    assert set(data.NAMES) == {
        *SIZES,
        "census-income",
        "census-income-stand-in",
        *(f"synthetic-{number}" for number in range(1, 7)),
    }


LSAC = "fam_inc,gender,fulltime,race1,lsat,ugpa,pass_bar\n"


def nursery(rows: int, columns: int = 9) -> str:
    return "".join(",".join(["usual"] * columns) + "\n" for _ in range(rows))


@pytest.mark.parametrize(
    ("name", "file", "content", "message"),
    [
        (
            "nursery",
            "nursery.data",
            nursery(12_959),
            "has 12,959 rows; 12,960 rows of 9 columns were expected; download",
        ),
        ("nursery", "nursery.data", nursery(3, 8), "has 8 columns in row 1; 12,960 rows of 9 columns"),
        ("nursery", "nursery.data", nursery(12_960), "'parents' has 1 different values"),
        ("nursery", "nursery.data", "", "has 0 rows"),
        ("nursery", "nursery.data", b"\xff\xfe\x00\x00", "is not text"),
        (
            "acs-employment",
            "acs-employment-montana.csv",
            "a,b\n1,2\n",
            "has the columns a, b; expected AGEP, SCHL",
        ),
        ("acs-employment", "acs-employment-montana.csv", "", r"has the columns \(none\)"),
        ("ms-fimu", "ms-fimu-marginals.json", "{", "is not the counts of 6 attributes in JSON"),
        (
            "ms-fimu",
            "ms-fimu-marginals.json",
            '{"attributes": {"Gender": {"F": 3}}}',
            "counts {'Gender': 3}; 88,935 rows",
        ),
        ("census-income", "census-income-sample.data", "1, 2\n", "has 2 columns in row 1; 1,891 rows of 42"),
        ("lsac", "lsac.csv", LSAC + "x,0,0,1,2,3,1\n" * 20_427, "lsac.csv has a cell that is not an integer"),
        (
            "lsac",
            "lsac.csv",
            LSAC + "4,0,0,1,2,3,1\n" * 20_427,
            r"lsac has attributes of \[1, 1, .*\[5, 2, 2",
        ),
    ],
)
def test_files_that_are_not_what_they_should_be_are_refused(
    name: str, file: str, content: str | bytes, message: str, alone: Path
) -> None:
    (alone / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(dn.DeniableError, match=message):
        data.load(name)


def test_wrong_domains_are_refused(alone: Path) -> None:
    rows = nursery(6480) + nursery(6480).replace("usual", "pretentious")
    (alone / "nursery.data").write_text(rows)
    with pytest.raises(
        DataUnavailable, match=r"nursery has attributes of \[2, 2, .*\] values; \[3, 5, .*\] were expected"
    ):
        data.load("nursery")


def test_the_originals_first_line_is_no_row(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (alone / "adult.test").write_text("|1x3 Cross validator\n" + ", ".join(["x"] * 15) + ".\n\n")
    monkeypatch.setitem(FILES, "adult.test", replace(FILES["adult.test"], rows=1))
    assert len(rows_of(FILES["adult.test"])) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "acs-employment",
            "acs-employment-montana.csv is not here. It comes from the American Community Survey 2018 .* has "
            r"10,336 rows of 18 columns. Put it in a folder, .* set \$DENIABLE_DATA to that folder",
        ),
        ("ms-fimu", "ms-fimu-marginals.json is not here"),
        ("census-income", "census-income-sample.data is not here. It comes from UCI's Census-Income"),
    ],
)
def test_what_nobody_publishes_must_be_in_the_folder(name: str, message: str, alone: Path) -> None:
    with pytest.raises(DataUnavailable, match=message):
        data.load(name)


def test_a_folder_that_is_none_is_said_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "absent"))
    with pytest.raises(DataUnavailable, match="which is not a folder"):
        data.load("nursery")


CONTENT = "".join(
    f"{'abc'[i % 3]},{'abcde'[i % 5]},{i % 4},{i // 4 % 4},{i % 3},{i % 2},{i % 3},{i % 3},{i % 5}\n"
    for i in range(12_960)
)
"""A file of nursery's form."""


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[bytes, str], Path]]:
    """A publisher on this machine: what it offers and the hash that is known; the cache is the test's own."""
    offered: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path.strip("/") in offered
            self.send_response(200 if known else 404)
            body = offered.get(self.path.strip("/"), b"")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    cache = tmp_path / "cache"
    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(published, "carried_folder", lambda: tmp_path / "absent")
    monkeypatch.setattr("pooch.os_cache", lambda _project: cache)

    def offer(body: bytes, sha256: str) -> Path:
        offered["nursery.data"] = body
        url = f"http://127.0.0.1:{server.server_port}/nursery.data"
        monkeypatch.setitem(FILES, "nursery.data", replace(FILES["nursery.data"], url=url, sha256=sha256))
        return cache / "nursery.data"

    yield offer
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_file_is_fetched_once_checked_and_kept(publisher: Callable[[bytes, str], Path]) -> None:
    body = CONTENT.encode()
    kept = publisher(body, hashlib.sha256(body).hexdigest())
    assert data.load("nursery").n == 12_960
    assert kept.read_bytes() == body
    publisher(b"gone", "0" * 64)
    assert data.load("nursery").n == 12_960  # from the cache


def test_a_fetch_shows_its_progress(
    publisher: Callable[[bytes, str], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    body = CONTENT.encode()
    publisher(body, hashlib.sha256(body).hexdigest())
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert data.load("nursery").n == 12_960
    shown = capsys.readouterr()
    assert "fetching nursery.data" in shown.err
    assert shown.out == ""


def test_what_has_another_checksum_is_not_kept(publisher: Callable[[bytes, str], Path]) -> None:
    kept = publisher(CONTENT.encode() + b"x", hashlib.sha256(CONTENT.encode()).hexdigest())
    with pytest.raises(
        DataUnavailable,
        match=r"is not the file that was published, so it was not kept: .*expected .* but got",
    ):
        data.load("nursery")
    assert not kept.exists()


def test_without_a_network_it_says_what_to_download_and_where_to_put_it(
    publisher: Callable[[bytes, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = publisher(b"", "0" * 64)
    for url in (
        "http://127.0.0.1:1/nursery.data",
        f"{FILES['nursery.data'].url}.absent",
    ):  # nobody there; not found
        monkeypatch.setitem(FILES, "nursery.data", replace(FILES["nursery.data"], url=url))
        with pytest.raises(
            DataUnavailable,
            match=rf"cannot fetch nursery.data \(\w+\); download {url} by other means, and put",
        ):
            data.load("nursery")
    assert not kept.exists()


def test_a_folder_comes_before_the_project_and_the_project_before_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = FILES["lsac.csv"]
    carried = published.carried_folder()
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(published, "_cache", lambda: tmp_path / "cache")
    (tmp_path / "cache" / file.name).write_text("cached")
    monkeypatch.delenv(FOLDER, raising=False)
    assert published.present(file) == carried / "lsac.csv.xz"
    monkeypatch.setenv(FOLDER, str(tmp_path))
    assert published.present(file) == carried / "lsac.csv.xz"
    (tmp_path / "lsac.csv.xz").write_bytes(lzma.compress(b"compressed"))
    assert read_text(file) == "compressed"
    (tmp_path / file.name).write_text("plain")
    assert read_text(file) == "plain"
    monkeypatch.delenv(FOLDER)
    monkeypatch.setattr(published, "carried_folder", lambda: tmp_path / "absent")
    assert read_text(file) == "cached"


def test_a_damaged_file_is_refused(alone: Path) -> None:
    damaged = lzma.compress(b"4,0,0,1,2,3,1\n" * 9)[:-9]
    (alone / "lsac.csv.xz").write_bytes(damaged)
    with pytest.raises(DataUnavailable, match=r"lsac.csv.xz is damaged"):
        data.load("lsac")
