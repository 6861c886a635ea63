"""Loads public datasets as tables of integers, with the attributes and domains of the papers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter, not_among
from deniable.formatting import format_count
from deniable.randomness import Words, below
from deniable.randomness.simulated import seeded
from deniable_papers.data.published import (
    FILES,
    DataUnavailable,
    File,
    expected,
    find,
    present,
    read_text,
    rows_of,
)
from deniable_papers.simulate.population import from_column, read_rows

FOREIGN = "Foreign tourist"
UNKNOWN = "NR"
"""The value of people whose network does not know theirs."""
_ORDER = "as integers in the order of their values, as the fairness study has them"


def load(name: str) -> Dataset:
    """Loads a dataset by name: one of NAMES.

    >>> people = load("synthetic-1")
    >>> people.n, people.d, people.ks
    (50000, 5, (10, 10, 10, 10, 10))
    """
    if not isinstance(name, str) or name not in _LOADERS:
        raise InvalidParameter(not_among(str(name), "a dataset", NAMES))
    return _LOADERS[name]()


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
    rows = [*rows_of(FILES["adult.data"]), *rows_of(FILES["adult.test"])]
    kept = [
        [row[_ADULT[attribute]].rstrip(".") for attribute in attributes] for row in rows if "?" not in row
    ]
    return encode_columns(
        name, attributes, kept, "UCI Adult (census of 1994), rows with an unknown value left out", ks
    )


def _nursery() -> Dataset:
    attributes = (
        "parents",
        "has_nurs",
        "form",
        "children",
        "housing",
        "finance",
        "social",
        "health",
        "class",
    )
    rows = rows_of(FILES["nursery.data"])
    return encode_columns(
        "nursery",
        attributes,
        rows,
        "UCI Nursery (applications in Ljubljana, 1980s)",
        (3, 5, 4, 4, 3, 2, 3, 3, 5),
    )


_ACS_COLUMNS = "AGEP,SCHL,MAR,SEX,DIS,ESP,MIG,CIT,MIL,ANC,NATIVITY,RELP,DEAR,DEYE,DREM,RAC1P,GCL,ESR"
_ACS = tuple(_ACS_COLUMNS.split(","))


def _acs_employment() -> Dataset:
    rows = rows_of(FILES["acs-employment-montana.csv"], _ACS)
    source = (
        "American Community Survey 2018, Montana (the columns of folktables' ACSEmployment); -99999 is no "
        "answer"
    )
    return encode_columns(
        "acs-employment", _ACS, rows, source, (92, 25, 5, 2, 2, 9, 4, 5, 5, 4, 2, 18, 2, 2, 3, 9, 3, 6)
    )


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


_CENSUS_KS = (
    *(9, 52, 47, 17, 3, 7, 24, 15, 5, 10, 2, 3, 6, 8, 6, 6, 51),
    *(38, 8, 10, 9, 10, 3, 4, 5, 43, 43, 43, 5, 3, 3, 3, 2),
)
"""The numbers of values that are published for the whole of Census-Income."""
_CENSUS_PEOPLE = 299_285
_CENSUS_RICH = 0.062  # the published share of incomes above 50,000 dollars
_OUR_CHOICE = (
    "; which of its columns are attributes is our choice: the nominal ones, an unknown value being a value"
)


def _census_income() -> Dataset:
    """32 nominal attributes of people, and their income; unknown values count as values.

    Without the whole files these are the first 1,891 rows, and the dataset's name says so.
    """
    files = [FILES["census-income.data"], FILES["census-income.test"]]
    sample = FILES["census-income-sample.data"]
    if not all(present(file) for file in files):
        source = f"the first {sample.rows:,} rows of UCI Census-Income (KDD), no more{_OUR_CHOICE}"
        kept = _read_census([sample])
        return encode_columns(f"census-income (first {sample.rows:,} rows)", tuple(_CENSUS), kept, source)
    kept = _read_census(files)
    if present(sample) and kept[: sample.rows] != _read_census([sample]):
        raise DataUnavailable(
            f"{files[0].name} does not begin with the {sample.rows:,} rows that this package carries, so it "
            f"is not the published file; it comes from {files[0].source}"
        )
    source = f"UCI Census-Income (KDD), 1994 and 1995{_OUR_CHOICE}"
    return encode_columns("census-income", tuple(_CENSUS), kept, source)


def _read_census(files: Sequence[File]) -> list[list[str]]:
    columns = tuple(_CENSUS.values())
    return [[row[column].rstrip(".") for column in columns] for file in files for row in rows_of(file)]


def _census_stand_in() -> Dataset:
    """As many people and values as Census-Income has; which values go together is simulated.

    Each attribute has the shares of the carried rows. A value that these lack weighs as half a person.
    Incomes have the published share.
    """
    rows = _read_census([FILES["census-income-sample.data"]])
    words, columns, labels = seeded(1994), [], []
    for name, k, values in zip(_CENSUS, _CENSUS_KS, zip(*rows, strict=True), strict=True):
        carried = from_column(values, name)
        known = carried.labels or ()
        weights = np.append(carried.draw_counts(None, np.random.default_rng(0)), [0.5] * (k - len(known)))
        if name == "income":
            weights = np.array([1 - _CENSUS_RICH, _CENSUS_RICH])
        counts = split_whole(_CENSUS_PEOPLE, weights / weights.sum())
        columns.append(np.repeat(np.arange(k), counts)[shuffle(_CENSUS_PEOPLE, words)])
        labels.append((*known, *(f"unlisted {number}" for number in range(1, k - len(known) + 1))))
    source = (
        "simulated: the numbers of people, attributes and values, and the share of large incomes, are those "
        "of UCI Census-Income (KDD); the other shares are those of its first 1,891 rows; attributes are "
        "independent"
    )
    return Dataset(
        "census-income (simulated stand-in)", tuple(_CENSUS), tuple(labels), np.column_stack(columns), source
    )


def split_whole(total: int, shares: Floats) -> Integers:
    """Whole numbers that add up to a total, nearest to these shares by the largest remainders.

    >>> split_whole(10, np.array([0.55, 0.25, 0.2])).tolist()
    [6, 2, 2]
    """
    exact = total * shares
    counts = np.floor(exact).astype(np.int64)
    largest = np.argsort(counts - exact, kind="stable")[: total - int(counts.sum())]
    counts[largest] += 1
    return counts


def _ms_fimu() -> Dataset:
    """A stand-in: the published counts of every attribute hold exactly; how values combine is simulated.

    Foreign tourists have no known gender, age or life style; all else is shuffled, always in the same way.
    """
    marginals = read_marginals()
    first = next(iter(marginals))
    foreign = marginals[first].get(FOREIGN, 0)
    words, rows = seeded(2021), []
    for name, of in marginals.items():
        values = list(Counter(of).elements())
        if name in ("Gender", "Age", "Geolife"):
            if of.get(UNKNOWN, 0) < foreign:
                raise DataUnavailable(
                    f"ms-fimu-marginals.json has fewer people of unknown {name.lower()} than foreign "
                    f"tourists ({foreign:,})"
                )
            values = [UNKNOWN] * foreign + deal_values(of | {UNKNOWN: of[UNKNOWN] - foreign}, words)
        elif name == first:
            values.sort(key=lambda value: value != FOREIGN)
        else:
            values = deal_values(of, words)
        rows.append(values)
    source = (
        "a stand-in for the personal table of MS-FIMU: the published counts of each attribute hold exactly, "
        "which values go together is invented, but that foreign tourists have no known gender, age and life "
        "style"
    )
    return encode_columns("ms-fimu", tuple(marginals), list(zip(*rows, strict=True)), source)


_SYNTHETIC = {
    1: (50_000, (10,) * 5),
    2: (500_000, (10,) * 5),
    3: (50_000, (10,) * 10),
    4: (500_000, (10,) * 10),
    5: (500_000, tuple(range(10, 101, 10))),
    6: (500_000, tuple(k for k in range(10, 101, 10) for _ in range(2))),
}
"""The six synthetic sets of the RS+FD paper: the number of people, and of values of each attribute."""


def _synthetic(number: int) -> Dataset:
    """Uniform values, always the same."""
    n, ks = _SYNTHETIC[number]
    words = seeded(number)
    table = np.column_stack([below(words.take(n), k).astype(np.uint8) for k in ks])
    labels = tuple(tuple(map(str, range(k))) for k in ks)
    source = (
        "simulated: all values equally likely; the numbers of people, attributes and values are those of the "
        "RS+FD paper"
    )
    return Dataset(
        f"synthetic-{number}", tuple(f"attribute {j}" for j in range(len(ks))), labels, table, source
    )


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
    """Where it comes from, and what is simulated in it."""

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.table, dtype=np.min_scalar_type(max(self.ks) - 1))
        table.setflags(write=False)
        object.__setattr__(self, "table", table)

    def __str__(self) -> str:
        sizes = [f"{name} ({k:,})" for name, k in zip(self.attributes, self.ks, strict=True)]
        what = f"{self.n:,} people, {format_count(self.d, 'attribute')} with numbers of values"
        return f"Dataset {self.name}: {what}: {', '.join(sizes)}"

    def __repr__(self) -> str:
        return f"<Dataset {self.name}: {self.n:,} people, {format_count(self.d, 'attribute')}>"

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
        return tuple(
            np.bincount(column, minlength=k) for column, k in zip(self.table.T, self.ks, strict=True)
        )

    def column(self, attribute: str) -> npt.NDArray[np.unsignedinteger[Any]]:
        """The values of one attribute, by its name."""
        return self.table[:, self.attributes.index(attribute)]


def encode_columns(
    name: str, attributes: Sequence[str], rows: Sequence[Sequence[str]], source: str, ks: Sequence[int] = ()
) -> Dataset:
    """A dataset whose labels become integers, in the order of numbers where all are numbers, else of text."""
    columns, labels = [], []
    for attribute, column in zip(attributes, zip(*rows, strict=True), strict=True):
        values = from_column(column, attribute).labels or ()
        code = {label: number for number, label in enumerate(values)}
        columns.append([code[label] for label in column])
        labels.append(values)
    dataset = Dataset(name, tuple(attributes), tuple(labels), np.array(columns).T, source)
    _refuse_other_sizes(dataset, ks)
    return dataset


MOST_VALUES = 1000
"""How many values a column of an own file may have: one with more is a name or a number of a person."""


def read_people(path: Path) -> Dataset:
    """The people of a CSV file with a header: a row each, and every column an attribute of few values."""
    header, rows = read_rows(path)
    dataset = encode_columns(path.stem, header, rows, f"the file {path.name}") if rows else None
    if dataset is None or dataset.d < 2:
        raise InvalidParameter(
            f"{path.name} has {format_count(len(rows), 'row')} below its header and "
            f"{format_count(len(header), 'column')}; a study of records needs people, and two columns or more"
        )
    for attribute, k in zip(dataset.attributes, dataset.ks, strict=True):
        if k > MOST_VALUES:
            raise InvalidParameter(
                f"column {attribute!r} of {path.name} has {k:,} different values; at most {MOST_VALUES:,} "
                "can be an attribute. Leave the column out of the file, or group its values"
            )
    return dataset


def _refuse_other_sizes(dataset: Dataset, ks: Sequence[int]) -> None:
    """Refuse a dataset with other numbers of values than these, where any are given."""
    if ks and dataset.ks != tuple(ks):
        raise DataUnavailable(
            f"{dataset.name} has attributes of {list(dataset.ks)} values; {list(ks)} were expected"
        )


@final
@dataclass(frozen=True)
class _Coded:
    """What a file of integers must hold: the number of values of each column, by name."""

    file: str
    ks: dict[str, int]
    source: str


_TABLES = {
    "adult-26k": _Coded(
        "adult-26k.csv",
        {
            "age": 74,
            "workclass": 7,
            "education": 16,
            "marital-status": 7,
            "occupation": 14,
            "native-country": 41,
            "relationship": 6,
            "hours-per-week": 96,
            "gender": 2,
            "race": 5,
            "income": 2,
        },
        f"Adult, reconstructed, with an income above or below 26,000 dollars, {_ORDER}",
    ),
    "acs-coverage": _Coded(
        "acs-coverage.csv",
        {
            "AGEP": 50,
            "SCHL": 24,
            "MAR": 5,
            "SEX": 2,
            "DIS": 2,
            "ESP": 9,
            "CIT": 5,
            "MIG": 3,
            "MIL": 5,
            "ANC": 4,
            "NATIVITY": 2,
            "ESR": 7,
            "ST": 1,
            "FER": 3,
            "RAC1P": 2,
            "PUBCOV": 2,
        },
        f"American Community Survey, public health coverage (columns of folktables), {_ORDER}",
    ),
    "lsac": _Coded(
        "lsac.csv",
        {"fam_inc": 5, "gender": 2, "fulltime": 2, "race1": 2, "lsat": 37, "ugpa": 6, "pass_bar": 2},
        f"Law School Admission Council, who passed the bar exam, {_ORDER}",
    ),
}


def _load_coded(name: str) -> Dataset:
    """A table of integers; the values of a column are those that are in the file, in their order."""
    form = _TABLES[name]
    file = FILES[form.file]
    rows = rows_of(file, tuple(form.ks))
    try:
        table = np.array(rows, dtype=np.int64)
    except ValueError as problem:
        raise DataUnavailable(
            f"{file.name} has a cell that is not an integer: {problem}; {expected(file)}"
        ) from None
    values = [np.unique(column) for column in table.T]
    coded = [np.searchsorted(known, column) for known, column in zip(values, table.T, strict=True)]
    labels = tuple(tuple(map(str, known.tolist())) for known in values)
    dataset = Dataset(name, tuple(form.ks), labels, np.column_stack(coded), form.source)
    _refuse_other_sizes(dataset, tuple(form.ks.values()))
    return dataset


def read_marginals() -> dict[str, dict[str, int]]:
    """How many people have each value of each attribute."""
    file = FILES["ms-fimu-marginals.json"]
    path = find(file)
    try:
        marginals = {
            str(name): {str(label): int(n) for label, n in of.items()}
            for name, of in json.loads(read_text(file))["attributes"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise DataUnavailable(
            f"{path} is not the counts of {file.columns} attributes in JSON: {problem!r}"
        ) from None
    people = {name: sum(of.values()) for name, of in marginals.items()}
    if list(people.values()) != [file.rows] * file.columns:
        raise DataUnavailable(f"{path} counts {people}; {expected(file)}")
    return marginals


def deal_values(counts: Mapping[str, int], words: Words) -> list[str]:
    """The values of all people, as often as they are counted, in random order."""
    values = list(Counter(counts).elements())
    return [values[position] for position in shuffle(len(values), words)]


def shuffle(n: int, words: Words) -> Integers:
    """A random order."""
    return np.argsort(words.take(n), kind="stable")


_ADULT_KS = (7, 16, 7, 14, 6, 5, 2, 41, 2)
_LOADERS: dict[str, Callable[[], Dataset]] = {
    "adult": partial(_adult, "adult", tuple(_ADULT)[1:], _ADULT_KS),
    "adult-10": partial(_adult, "adult-10", tuple(_ADULT), (74, *_ADULT_KS)),
    "nursery": _nursery,
    "acs-employment": _acs_employment,
    "census-income": _census_income,
    "census-income-stand-in": _census_stand_in,
    "ms-fimu": _ms_fimu,
    **{name: partial(_load_coded, name) for name in _TABLES},
    **{f"synthetic-{number}": partial(_synthetic, number) for number in _SYNTHETIC},
}

NAMES = tuple(_LOADERS)
"""The names of all datasets: `adult` as RS+FD uses it, `adult-10` with age as the attack study does, …"""
