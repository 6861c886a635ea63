"""Public datasets as tables of integers, with the attributes and domains that the papers use; `source` says what is not theirs.

Files are looked for in the folder `$DENIABLE_DATA`, then in the user's cache; what its publisher offers for download is
then fetched, checked and kept there. A file that is not what it should be is refused with what was found in it.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from deniable.errors import DataUnavailable, InvalidParameter, not_among
from deniable.law import Integers
from deniable.population import from_column
from deniable.simulated import seeded
from deniable.words import below

if TYPE_CHECKING:
    from rich.progress import Progress

FOLDER = "DENIABLE_DATA"
"""The environment variable that names a folder of files."""


@final
@dataclass(frozen=True, eq=False)
class Dataset:
    """People and their values: a row each, a column per attribute, labels as integers."""

    name: str
    attributes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    """What the integers of each attribute mean."""
    table: npt.NDArray[np.unsignedinteger[Any]]
    source: str
    """Where it comes from, and what is invented in it."""

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.table, dtype=np.min_scalar_type(max(self.ks) - 1))
        table.setflags(write=False)
        object.__setattr__(self, "table", table)

    @property
    def n(self) -> int:
        """The number of people."""
        return len(self.table)

    @property
    def d(self) -> int:
        """The number of attributes."""
        return len(self.attributes)

    @property
    def ks(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return tuple(len(values) for values in self.labels)

    @cached_property
    def counts(self) -> tuple[Integers, ...]:
        """How many people have each value, for each attribute."""
        return tuple(np.bincount(column, minlength=k) for column, k in zip(self.table.T, self.ks, strict=True))


def load(name: str) -> Dataset:
    """A dataset by name: one of NAMES.

    >>> people = load("synthetic-1")
    >>> people.n, people.d, people.ks
    (50000, 5, (10, 10, 10, 10, 10))
    """
    if not isinstance(name, str) or name not in _LOADERS:
        raise InvalidParameter(not_among(str(name), "a dataset", NAMES))
    return _LOADERS[name]()


@final
@dataclass(frozen=True)
class File:
    """A file that a dataset is read from: how many rows and columns it has and, for an original, who publishes it."""

    name: str
    rows: int
    columns: int
    url: str | None = None
    sha256: str | None = None


_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
FILES = {
    file.name: file
    for file in (
        File(
            "adult.data",
            32_561,
            15,
            f"{_UCI}/adult/adult.data",
            "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        ),
        File(
            "adult.test",
            16_281,
            15,
            f"{_UCI}/adult/adult.test",
            "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        ),
        File(
            "nursery.data",
            12_960,
            9,
            f"{_UCI}/nursery/nursery.data",
            "8e0389c3dd37590248a921c2726d869ee96b817761a35eb8416afa24f31f931d",
        ),
        File("acs-employment-montana.csv", 10_336, 18),
        File("census-income.data", 199_523, 42),
        File("census-income.test", 99_762, 42),
        File("census-income-sample.data", 1891, 42),
        File("ms-fimu-marginals.json", 88_935, 6),
    )
}
"""Every file, by name. The hashes are of the originals; a copy in `$DENIABLE_DATA` is judged by what is in it."""


def find(file: File) -> Path:
    """The path of a file: in the folder, in the cache, or fetched into the cache; else what to do, in plain words."""
    here = _present(file)
    if here is not None:
        return here
    if file.url is None or file.sha256 is None:
        raise DataUnavailable(
            f"{file.name} is not here, and is not an original that can be fetched from its publisher; "
            f"put it in a folder and set ${FOLDER} to that folder"
        )
    if find_spec("pooch") is None:
        raise DataUnavailable(
            f"{file.name} is not here; download {file.url} to a folder and set ${FOLDER} to that folder, "
            "or let it be fetched: pip install 'deniable[data]'"
        )
    return _fetch(file, file.url, file.sha256)


def _present(file: File) -> Path | None:
    folder = os.environ.get(FOLDER)
    if folder and not Path(folder).is_dir():
        raise DataUnavailable(f"${FOLDER} is {folder!r}, which is not a folder")
    for place in (Path(folder) if folder else None, _cache()):
        if place is not None and (place / file.name).is_file():
            return place / file.name
    return None


def _cache() -> Path | None:
    if find_spec("pooch") is None:
        return None
    import pooch

    return Path(pooch.os_cache("deniable"))


def _fetch(file: File, url: str, sha256: str) -> Path:
    """Download to the cache; what has another SHA-256 than the original is not kept."""
    import logging

    import pooch

    cache = Path(pooch.os_cache("deniable"))
    pooch.get_logger().setLevel(logging.WARNING)
    bar = _Bar(file.name) if sys.stderr.isatty() else False
    try:
        return Path(pooch.retrieve(url, f"sha256:{sha256}", file.name, cache, downloader=pooch.HTTPDownloader(progressbar=bar)))
    except OSError as problem:
        raise DataUnavailable(
            f"cannot fetch {file.name} ({type(problem).__name__}); download {url} by other means, "
            f"and put it in {cache} or in a folder that ${FOLDER} names"
        ) from None
    except ValueError as problem:
        raise DataUnavailable(f"{url} is not the file that was published, so it was not kept: {problem}") from None


class _Bar:
    """A progress bar with the few verbs that a downloader calls."""

    total: int

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown: Progress | None = None

    def update(self, size: int) -> None:
        """So many bytes more."""
        if self._shown is None:
            from rich.console import Console
            from rich.progress import Progress

            self._shown = Progress(console=Console(stderr=True), transient=True)
            self._task = self._shown.add_task(f"fetching {self._name}", total=self.total)
            self._shown.start()
        self._shown.advance(self._task, size)

    def reset(self) -> None:
        """The downloader fills the bar at the end, after it has emptied it."""
        if self._shown is not None:
            self._shown.reset(self._task)

    def close(self) -> None:
        """Done, or given up."""
        if self._shown is not None:
            self._shown.stop()


def _rows(file: File, header: Sequence[str] = ()) -> list[list[str]]:
    """The fields of a file without quotes, a list for each row; wrong columns or missing rows are refused."""
    path = find(file)
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("|")]
    except UnicodeDecodeError:
        raise DataUnavailable(f"{path} is not text; {_expected(file)}") from None
    rows = [[field.strip() for field in line.split(",")] for line in lines]
    if header:
        found = rows[0] if rows else []
        if found != list(header):
            raise DataUnavailable(f"{path} has the columns {', '.join(found) or '(none)'}; expected {', '.join(header)}")
        del rows[0]
    odd = next((number for number, row in enumerate(rows, 1) if len(row) != file.columns), None)
    if odd is not None:
        raise DataUnavailable(f"{path} has {len(rows[odd - 1])} columns in row {odd}; {_expected(file)}")
    if len(rows) != file.rows:
        raise DataUnavailable(f"{path} has {len(rows):,} rows; {_expected(file)}")
    return rows


def _expected(file: File) -> str:
    again = f"; download it again from {file.url}" if file.url else ""
    return f"{file.rows:,} rows of {file.columns} columns were expected{again}"


def _coded(name: str, attributes: Sequence[str], rows: Sequence[Sequence[str]], source: str, ks: Sequence[int] = ()) -> Dataset:
    """Labels become integers, in the order of numbers where all are numbers, else of text."""
    columns, labels = [], []
    for attribute, column in zip(attributes, zip(*rows, strict=True), strict=True):
        found = from_column(column, attribute).labels or ()
        code = {label: number for number, label in enumerate(found)}
        columns.append([code[label] for label in column])
        labels.append(found)
    made = Dataset(name, tuple(attributes), tuple(labels), np.array(columns).T, source)
    if ks and made.ks != tuple(ks):
        raise DataUnavailable(f"{name} has attributes of {list(made.ks)} values; {list(ks)} were expected")
    return made


_ADULT = {
    "age": 0,
    "workclass": 1,
    "education": 3,
    "marital-status": 5,
    "occupation": 6,
    "relationship": 7,
    "race": 8,
    "sex": 9,
    "native-country": 13,
    "income": 14,
}


def _adult(name: str, attributes: Sequence[str], ks: Sequence[int]) -> Dataset:
    """Both parts of the file, without the rows in which something is unknown."""
    rows = [*_rows(FILES["adult.data"]), *_rows(FILES["adult.test"])]
    kept = [[row[_ADULT[attribute]].rstrip(".") for attribute in attributes] for row in rows if "?" not in row]
    return _coded(name, attributes, kept, "UCI Adult (census of 1994), rows with an unknown value left out", ks)


def _nursery() -> Dataset:
    attributes = ("parents", "has_nurs", "form", "children", "housing", "finance", "social", "health", "class")
    rows = _rows(FILES["nursery.data"])
    return _coded("nursery", attributes, rows, "UCI Nursery (applications in Ljubljana, 1980s)", (3, 5, 4, 4, 3, 2, 3, 3, 5))


_ACS = tuple("AGEP,SCHL,MAR,SEX,DIS,ESP,MIG,CIT,MIL,ANC,NATIVITY,RELP,DEAR,DEYE,DREM,RAC1P,GCL,ESR".split(","))  # noqa: SIM905


def _acs_employment() -> Dataset:
    rows = _rows(FILES["acs-employment-montana.csv"], _ACS)
    source = "American Community Survey 2018, Montana (the columns of folktables' ACSEmployment); -99999 is no answer"
    return _coded("acs-employment", _ACS, rows, source, (92, 25, 5, 2, 2, 9, 4, 5, 5, 4, 2, 18, 2, 2, 3, 9, 3, 6))


_CENSUS = {
    "class of worker": 1,
    "industry code": 2,
    "occupation code": 3,
    "education": 4,
    "enrolled in education": 6,
    "marital status": 7,
    "major industry": 8,
    "major occupation": 9,
    "race": 10,
    "hispanic origin": 11,
    "sex": 12,
    "member of a union": 13,
    "reason for unemployment": 14,
    "full or part time": 15,
    "tax filer": 19,
    "previous region": 20,
    "previous state": 21,
    "detailed household": 22,
    "household": 23,
    "migration between metropolitan areas": 25,
    "migration between regions": 26,
    "migration within region": 27,
    "same house a year ago": 28,
    "previous residence in sunbelt": 29,
    "family members under 18": 31,
    "country of father": 32,
    "country of mother": 33,
    "country": 34,
    "citizenship": 35,
    "own business": 36,
    "veterans questionnaire": 37,
    "veterans benefits": 38,
    "income": 41,
}


def _census_income() -> Dataset:
    """32 nominal attributes of people, and their income; unknown values count as values."""
    whole = [FILES["census-income.data"], FILES["census-income.test"]]
    if all(_present(file) for file in whole):
        rows, source = [row for file in whole for row in _rows(file)], "UCI Census-Income (KDD), 1994 and 1995"
    elif _present(FILES["census-income-sample.data"]):
        rows, source = _rows(FILES["census-income-sample.data"]), "the first 1,891 rows of UCI Census-Income (KDD), no more"
    else:
        raise DataUnavailable(
            "census-income.data and census-income.test are not here; unpack them from UCI's Census-Income (KDD), "
            f"https://archive.ics.uci.edu/dataset/117, into a folder and set ${FOLDER} to that folder"
        )
    source += "; which of its columns are attributes is our choice: the nominal ones, an unknown value being a value"
    kept = [[row[column].rstrip(".") for column in _CENSUS.values()] for row in rows]
    return _coded("census-income", tuple(_CENSUS), kept, source)


def _ms_fimu() -> Dataset:
    """A stand-in: the published counts of every attribute hold exactly; who has which values together is invented.

    Foreign tourists have no known gender, age or life style; all else is shuffled, always in the same way.
    """
    file = FILES["ms-fimu-marginals.json"]
    path = find(file)
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        marginals = {str(name): {str(label): int(n) for label, n in of.items()} for name, of in known["attributes"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise DataUnavailable(f"{path} is not the counts of {file.columns} attributes in JSON: {problem!r}") from None
    people = {name: sum(of.values()) for name, of in marginals.items()}
    if list(people.values()) != [file.rows] * file.columns:
        raise DataUnavailable(f"{path} counts {people}; {_expected(file)}")
    first = next(iter(marginals))
    foreign = marginals[first].get("Foreign tourist", 0)
    words, rows = seeded(2021), []
    for name, of in marginals.items():
        values = list(Counter(of).elements())
        if name in ("Gender", "Age", "Geolife"):
            if of.get("NR", 0) < foreign:
                raise DataUnavailable(f"{path} has fewer people of unknown {name.lower()} than foreign tourists ({foreign:,})")
            values = ["NR"] * foreign + _shuffled(list((Counter(of) - Counter(NR=foreign)).elements()), words.take)
        elif name == first:
            values.sort(key=lambda value: value != "Foreign tourist")
        else:
            values = _shuffled(values, words.take)
        rows.append(values)
    source = (
        "a stand-in for the personal table of MS-FIMU: the published counts of each attribute hold exactly, "
        "which values go together is invented, but that foreign tourists have no known gender, age and life style"
    )
    return _coded("ms-fimu", tuple(marginals), list(zip(*rows, strict=True)), source)


def _shuffled(values: list[str], take: Callable[[int], npt.NDArray[np.uint64]]) -> list[str]:
    return [values[place] for place in np.argsort(take(len(values)), kind="stable")]


_SYNTHETIC = {
    1: (50_000, (10,) * 5),
    2: (500_000, (10,) * 5),
    3: (50_000, (10,) * 10),
    4: (500_000, (10,) * 10),
    5: (50_000, tuple(range(10, 101, 10))),
    6: (500_000, tuple(range(10, 101, 10))),
}
"""Numbers of people and of values of the six synthetic sets. They are our choice, of the kind that the RS+FD paper uses."""


def _synthetic(number: int) -> Dataset:
    """Uniform values, always the same."""
    n, ks = _SYNTHETIC[number]
    words = seeded(number)
    table = np.column_stack([below(words.take(n), k).astype(np.uint8) for k in ks])
    labels = tuple(tuple(map(str, range(k))) for k in ks)
    source = "invented: all values equally likely; the numbers of people, attributes and values are our choice"
    return Dataset(f"synthetic-{number}", tuple(f"attribute {j}" for j in range(len(ks))), labels, table, source)


_ADULT_KS = (7, 16, 7, 14, 6, 5, 2, 41, 2)
_LOADERS: dict[str, Callable[[], Dataset]] = {
    "adult": partial(_adult, "adult", tuple(_ADULT)[1:], _ADULT_KS),
    "adult-10": partial(_adult, "adult-10", tuple(_ADULT), (74, *_ADULT_KS)),
    "nursery": _nursery,
    "acs-employment": _acs_employment,
    "census-income": _census_income,
    "ms-fimu": _ms_fimu,
    **{f"synthetic-{number}": partial(_synthetic, number) for number in _SYNTHETIC},
}

NAMES = tuple(_LOADERS)
"""What can be loaded: `adult` as RS+FD uses it, `adult-10` with age as the attack study does, and the others."""
