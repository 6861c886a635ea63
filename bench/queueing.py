"""Simulates a day of collecting: people, a balancer, collectors, one of which is lost. Used by scale.py.

People are counted by the second. Those whose report was not taken wait, in groups that try again together,
with the pauses of `Client.send`. Numbers of people are whole, so that nobody can get lost by rounding.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]

HOUR = 3600
SHARPNESS = 0.9  # of the daily curve: its peak is 2.03 times its mean, and its valley a third of it
GROUPS = 10  # at most, of those who come in one second and have to wait
PAUSE, LONGEST_PAUSE = 0.1, 60.0  # seconds, as in deniable/client/delivery.py


@dataclass(frozen=True)
class Setting:
    """Who comes, and who takes their reports."""

    collectors: int
    rate: int
    """Reports that a collector takes in a second."""
    store: int
    """Reports that the store of all collectors takes in a second."""
    people: int = 10**9
    seconds: int = 24 * HOUR
    lost: tuple[int, int] = (20 * HOUR, 21 * HOUR)
    """From when to when one collector does not answer."""
    notice: int = 10
    """Seconds until the balancer sends it nothing more."""

    def capacity(self, second: int) -> int:
        """Reports that can be taken in this second."""
        here = self.collectors - (self.lost[0] <= second < self.lost[1])
        return min(here * self.rate, self.store)


@dataclass(frozen=True)
class Day:
    """What happened: everybody at the end of each minute, and how long people waited."""

    arrived: Whole
    counted: Whole
    waiting: Whole
    """By adding up the groups that wait, not by subtraction."""
    most: Whole
    """The most who waited at once in the minute."""
    oldest: Whole
    """Seconds that the first of those who wait, or were counted in the minute, has waited."""
    waits: Whole
    """People who were counted, by the seconds that they waited."""

    def percentile(self, share: float) -> int:
        """Seconds within which this share of all who came were counted; those still waiting come last."""
        reached = np.flatnonzero(np.cumsum(self.waits) >= share * int(self.arrived[-1]))
        return int(reached[0]) if len(reached) else len(self.waits)


@dataclass(frozen=True)
class Groups:
    """People who try again in the same second: when they came, how often they tried, how many they are."""

    came: Whole
    tries: Whole
    people: Whole

    def select(self, people: Whole) -> Groups:
        """So many of each."""
        some = people > 0
        return Groups(self.came[some], self.tries[some], people[some])


def draw_arrivals(setting: Setting, random: np.random.Generator) -> Whole:
    """How many people come in each second: most at 20 o'clock."""
    time = np.arange(setting.seconds) / setting.seconds - 20 / 24
    chances = np.exp(SHARPNESS * np.cos(2 * np.pi * time))
    return random.multinomial(setting.people, chances / chances.sum())


def simulate_day(setting: Setting, seed: int) -> Day:
    """Everybody comes once, and tries until the report is counted."""
    random = np.random.default_rng(seed)
    arrivals = draw_arrivals(setting, random)
    due: dict[int, list[Groups]] = defaultdict(list)
    waits = np.zeros(setting.seconds + 1, dtype=np.int64)
    lines: list[tuple[int, int, int, int, int]] = []
    arrived = counted = longest = most = 0
    for second, number in enumerate(arrivals.tolist()):
        came = Groups(np.array([second]), np.array([0]), np.array([number]))
        trying = join_groups([came, *due.pop(second, [])])
        taken = take_reports(setting, second, trying.people, random)
        np.add.at(waits, second - trying.came, taken)
        arrived += number
        counted += int(taken.sum())
        most = max(most, arrived - counted)
        longest = max(longest, int((second - trying.came[taken > 0]).max(initial=0)))
        for when, group in pause_groups(trying.select(trying.people - taken), second, random):
            due[when].append(group)
        if second % 60 == 59 or second == setting.seconds - 1:
            still = join_groups([group for groups in due.values() for group in groups])
            oldest = max(longest, int((second - still.came).max(initial=0)))
            lines.append((arrived, counted, int(still.people.sum()), most, oldest))
            longest = most = 0
    arrived_by, counted_by, waiting, most_by, oldest_by = np.array(lines).T
    return Day(arrived_by, counted_by, waiting, most_by, oldest_by, waits)


def take_reports(setting: Setting, second: int, people: Whole, random: np.random.Generator) -> Whole:
    """How many of each group are counted in this second: any, if not all."""
    first, last = setting.lost
    if first <= second < min(last, first + setting.notice):
        people = people - random.binomial(people, 1 / setting.collectors)  # whom nobody answered
    capacity = setting.capacity(second)
    if people.sum() <= capacity:
        return people
    return random.multivariate_hypergeometric(people, capacity, method="marginals")


def pause_groups(refused: Groups, second: int, random: np.random.Generator) -> list[tuple[int, Groups]]:
    """When those who were not counted try again."""
    if not len(refused.people):
        return []
    parts = np.where(refused.tries == 0, np.minimum(GROUPS, refused.people), 1)
    position = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    whole, more = np.divmod(refused.people, parts)
    people = np.repeat(whole, parts) + (position < np.repeat(more, parts))
    tries = np.repeat(refused.tries, parts)
    pauses = np.minimum(LONGEST_PAUSE, PAUSE * 2.0 ** np.minimum(tries, 20)) * random.uniform(
        0.5, 1.5, len(tries)
    )
    when = second + np.maximum(1, np.ceil(pauses)).astype(np.int64)
    groups = Groups(np.repeat(refused.came, parts), tries + 1, people)
    return [(int(one), groups.select(np.where(when == one, people, 0))) for one in np.unique(when)]


def join_groups(groups: list[Groups]) -> Groups:
    """All of them."""
    nobody = np.zeros(0, dtype=np.int64)
    return Groups(
        np.concatenate([nobody, *(one.came for one in groups)]),
        np.concatenate([nobody, *(one.tries for one in groups)]),
        np.concatenate([nobody, *(one.people for one in groups)]),
    )


def try_collectors(setting: Setting, seed: int) -> dict[int, Day]:
    """Days with more and more collectors, up to the first on which 99 % wait less than a second."""
    days: dict[int, Day] = {}
    number = setting.collectors
    while True:
        days[number] = simulate_day(replace(setting, collectors=number), seed)
        if days[number].percentile(0.99) == 0:
            return days
        number += 1
