"""Loads the tables of the fairness study, whose values are integers in the files already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.data.dataset import Dataset, refuse_other_sizes
from deniable.data.published import FILES, expected, rows_of
from deniable.errors import DataUnavailable

_ORDER = "as integers in the order of their values, as the fairness study has them"


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

CODED = tuple(_TABLES)
"""The names of these tables."""


def load_coded(name: str) -> Dataset:
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
    refuse_other_sizes(dataset, tuple(form.ks.values()))
    return dataset
