"""Reads the questions of a study off a table: its columns, and the values in them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from deniable.domain import Domain
from deniable.domain.inferred import hint_for, inferred_domain, inferred_metric, inferred_number
from deniable.errors import DeniableWarning, InvalidParameter, not_among
from deniable.frames import DEGREES, column_names, columns_of, declared_categories

_READ_OFF = (
    "the values of this study come from the data and reveal some of it (a rare value, the oldest age); if "
    "the data are private, name the values yourself before you show the study to anybody"
)


def infer_domains(table: object, rates: Mapping[str, float], means: Sequence[str]) -> dict[str, Domain]:
    """The domain of each column: metric ones by their rates, numbers whose mean is `wanted`, and values.

    It warns the caller of its caller that values of private data are private, too.
    """
    columns = column_names(table)
    locations = [
        name
        for name in rates
        if name not in columns and all(f"{name}.{degree}" in columns for degree in DEGREES)
    ]
    names = [
        name
        for name in columns
        if name not in {f"{location}.{degree}" for location in locations for degree in DEGREES}
    ] + locations
    for name in (*rates, *means):
        if name not in names:
            raise InvalidParameter(not_among(str(name), "a column of the table", names))
    domains: dict[str, Domain] = {}
    hints = []
    try:
        for name, column in zip(names, columns_of(table, names, locations), strict=True):
            if name in rates:
                domains[name] = inferred_metric(name, column, rates[name])
            else:
                domains[name] = (
                    inferred_number(name, column)
                    if name in means
                    else inferred_domain(name, column, declared_categories(table, name))
                )
                hints.append(hint_for(name, domains[name], column))
    finally:  # what is refused names values, too
        warnings.warn("; ".join([_READ_OFF, *filter(None, hints)]), DeniableWarning, stacklevel=3)
    return domains
