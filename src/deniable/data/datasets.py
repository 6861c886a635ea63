"""Loads public datasets as tables of integers, with the attributes and domains of the papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from deniable.data import coded
from deniable.data.dataset import Dataset, encode_columns
from deniable.data.marginals import FOREIGN, UNKNOWN, deal_values, read_marginals
from deniable.data.published import FILES, FOLDER, present, rows_of, say_carried
from deniable.errors import DataUnavailable, InvalidParameter, not_among
from deniable.randomness import below
from deniable.randomness.simulated import seeded

__all__ = ["NAMES", "Dataset", "load"]


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


def _census_income() -> Dataset:
    """32 nominal attributes of people, and their income; unknown values count as values."""
    files = [FILES["census-income.data"], FILES["census-income.test"]]
    if all(present(file) for file in files):
        rows, source = (
            [row for file in files for row in rows_of(file)],
            "UCI Census-Income (KDD), 1994 and 1995",
        )
    elif present(FILES["census-income-sample.data"]):
        rows, source = (
            rows_of(FILES["census-income-sample.data"]),
            "the first 1,891 rows of UCI Census-Income (KDD), no more",
        )
    else:
        raise DataUnavailable(
            "census-income.data and census-income.test are not here; unpack them from UCI's Census-Income "
            f"(KDD), https://archive.ics.uci.edu/dataset/117, into a folder and set ${FOLDER} to that folder"
            + say_carried()
        )
    source += (
        "; which of its columns are attributes is our choice: the nominal ones, an unknown value being a "
        "value"
    )
    kept = [[row[column].rstrip(".") for column in _CENSUS.values()] for row in rows]
    return encode_columns("census-income", tuple(_CENSUS), kept, source)


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


_ADULT_KS = (7, 16, 7, 14, 6, 5, 2, 41, 2)
_LOADERS: dict[str, Callable[[], Dataset]] = {
    "adult": partial(_adult, "adult", tuple(_ADULT)[1:], _ADULT_KS),
    "adult-10": partial(_adult, "adult-10", tuple(_ADULT), (74, *_ADULT_KS)),
    "nursery": _nursery,
    "acs-employment": _acs_employment,
    "census-income": _census_income,
    "ms-fimu": _ms_fimu,
    **{name: partial(coded.load_coded, name) for name in coded.CODED},
    **{f"synthetic-{number}": partial(_synthetic, number) for number in _SYNTHETIC},
}

NAMES = tuple(_LOADERS)
"""The names of all datasets: `adult` as RS+FD uses it, `adult-10` with age as the attack study does, …"""
