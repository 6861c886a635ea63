"""Makes what demand is forecast of: simulated days of a rescue service, and hours of emergency calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.randomness.simulated import numbers_from
from deniable_papers.data.calls import load_calls

DAYS = 2192
REGIONS = 15
_WEEKDAYS = np.array([1.02, 0.98, 0.98, 0.99, 1.04, 1.05, 0.94])
_START = 70.0  # records a day
_GROWTH = 0.06  # of the start, a year
_YEAR = 365.25
_SEASON = 0.12
_AR, _AR_SD = 0.5, 0.06
_SIZE = 20.0  # of the negative binomial law
_TOWNSHIPS = 15


@final
@dataclass(frozen=True, eq=False)
class Demand:
    """True counts, a row per period and a column per region."""

    name: str
    counts: Integers
    season: int
    """How many periods make a week of days, or a day of hours."""
    test: int
    """How many periods at the end are forecast."""
    means: Floats | None = None
    """What the counts were drawn from, if they are simulated: nobody can forecast better."""

    @property
    def totals(self) -> Integers:
        """The number of records in each period."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def truth(self) -> Integers:
        """The counts that are forecast."""
        return self.counts[-self.test :]


def simulate_demand(seed: int, days: int = DAYS) -> Demand:
    """Days of 15 regions, 83 records a day: Zipf shares, growth, weekdays, seasons, common busy days.

    Region r has a share that goes as 1 / (r + 1)^0.9. Demand grows from 70 records a day, each year by 6 % of
    these. Each region has a yearly season of 12 % with a phase of its own. A log factor that all regions
    share follows an autoregression of 0.5 whose steps have a standard deviation of 0.06. Counts are negative
    binomial of size 20.
    """
    draw = numbers_from(seed, "demand")
    day = np.arange(days)
    shares = (np.arange(1, REGIONS + 1) + 1.0) ** -0.9
    level = _START * (1 + _GROWTH * day / _YEAR) * _WEEKDAYS[day % 7]
    phases = draw.uniform(0, 2 * np.pi, REGIONS)
    season = 1 + _SEASON * np.cos(2 * np.pi * day[:, None] / _YEAR + phases)
    busy = np.zeros(days)
    steps = draw.normal(0, _AR_SD, days)
    busy[0] = steps[0]
    for t in range(1, days):
        busy[t] = _AR * busy[t - 1] + steps[t]
    means = (level * np.exp(busy))[:, None] * season * shares / shares.sum()
    counts = draw.negative_binomial(_SIZE, _SIZE / (_SIZE + means))
    return Demand("synthetic", counts.astype(np.int64), 7, 365, means)


def count_montgomery() -> Demand:
    """Hours of the calls of Montgomery County: its 15 busiest townships, and all others; 4 days are forecast.

    Which townships are busy is public. The name says whether the calls are a simulated stand-in.
    """
    calls = load_calls()
    busiest = [name for name, _ in Counter(calls.townships.tolist()).most_common(_TOWNSHIPS)]
    place = {name: number for number, name in enumerate(busiest)}
    regions = np.array([place.get(name, _TOWNSHIPS) for name in calls.townships.tolist()])
    hours = calls.times.astype("datetime64[h]").astype(np.int64)
    hours -= hours.min()
    cells = hours * (_TOWNSHIPS + 1) + regions
    length = int(hours.max()) + 1
    counts = np.bincount(cells, minlength=length * (_TOWNSHIPS + 1)).reshape(length, -1)
    return Demand(calls.name, counts.astype(np.int64), 24, 96)
