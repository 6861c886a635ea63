"""Loads public counts over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable_papers.data.published import FILES, rows_of

_PARIS = (
    "Commune Montreuil",
    "IRIS 930480204",
    "IRIS 930480205",
    "IRIS 930480206",
    "IRIS 930480401",
    "IRIS 930480604",
)


@final
@dataclass(frozen=True, eq=False)
class CountSeries:
    """Counts of people, a row for each time point and a column for each series."""

    name: str
    names: tuple[str, ...]
    """What each column counts."""
    times: npt.NDArray[np.datetime64]
    counts: Integers
    source: str

    def __post_init__(self) -> None:
        self.times.setflags(write=False)
        self.counts.setflags(write=False)


def load_paris() -> CountSeries:
    """Mobile phones in Montreuil and in five of its zones, each half hour of 72 days; one day is missing."""
    rows = rows_of(FILES["paris-mobility.csv"], ("Date", "Hour", *_PARIS, "Total"))
    times = np.array([f"{row[0]}T{row[1]}" for row in rows], dtype="datetime64[m]")
    counts = np.array([row[2 : 2 + len(_PARIS)] for row in rows], dtype=np.int64)
    source = (
        "mobile phones by half hour, 2020-08-24 to 2020-11-04 without 2020-09-17; the zones are parts of the "
        "commune, so that a person in a zone is in two counts"
    )
    return CountSeries("paris-mobility", _PARIS, times, counts, source)
