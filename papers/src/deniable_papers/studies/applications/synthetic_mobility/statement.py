"""States what counts and reports of a week protect, and what synthetic people lose of the true ones."""

from __future__ import annotations

import math

import numpy as np

from deniable.arrays import Integers
from deniable.randomness.simulated import seeded
from deniable_papers.data.visits import DAYS, Visits
from deniable_papers.learn.synthetic import draw_people
from deniable_papers.learn.unions import union_matrix
from deniable_papers.studies.applications.guarantee import Guarantee
from deniable_papers.studies.applications.synthetic_mobility.cases import load_people


def find_sensitivity() -> tuple[int, int]:
    """By how much all counts of unions together differ: by a person more or less, and by another week."""
    columns = union_matrix(DAYS).T
    replaced = max(int(np.abs(columns - one).sum(axis=1).max()) for one in columns)
    return int(columns.sum(axis=1).max()), replaced


def state_guarantees() -> list[tuple[str, Guarantee]]:
    """A heading and a guarantee for each way to count or report."""
    added, replaced = find_sensitivity()
    return [
        (
            "exact counts of unions, as published",
            Guarantee(
                "people cannot be singled out, as only counts of unions are published",
                "none: the counts carry no noise",
                "person",
                ("everything: whoever knows all others' weeks reads off the last one",),
            ),
        ),
        (
            f"central: discrete Laplace noise of scale {added} / epsilon on each count",
            Guarantee(
                "nothing",
                "epsilon for a whole week, presence included, if one curator is trusted with all visits. All "
                f"counts together move by {added} for a person more or less ({replaced} for another week; by "
                f"{math.sqrt(added):.2f} and {math.sqrt(replaced):.2f} in the Euclidean norm)",
                "person",
            ),
        ),
        (
            "local, one union a person: randomized response",
            Guarantee(
                "nothing",
                "epsilon for a whole week; nobody is trusted",
                "person",
                ("that a person was there on some day: everybody who reports was",),
            ),
        ),
        (
            "local, the day set: one OUE report of the whole week (recommended)",
            Guarantee(
                "nothing",
                "epsilon for a whole week, presence on each day included; nobody is trusted",
                "person",
                ('that a person was there on some day, unless "no day" is a value and everybody reports',),
            ),
        ),
    ]


def describe_durations(seed: int = 1) -> str:
    """What durations that are dealt by day have in common with the true ones, and what is lost, in words."""
    people = load_people()
    day, number = measure_durations(people.visits, people.cells, seed)
    return (
        "durations of synthetic people, dealt by the shares of each day: the shares of a day are "
        f"{day:.3f} off (total variation); what durations have to do with the number of days is lost, "
        f"{number:.3f}"
    )


def measure_durations(visits: Visits, cells: Integers, seed: int) -> tuple[float, float]:
    """How far synthetic durations are from the true ones: on a day, and by the number of days."""
    k = len(visits.durations)
    by_day = _count_pairs(visits.day, visits.duration, DAYS, k)
    shares = by_day / by_day.sum(axis=1, keepdims=True)
    dealt = {"duration": {str(code): shares[:, code] for code in range(k)}}
    drawn = draw_people(cells, dealt, DAYS, seeded(seed))
    durations = drawn["duration"].astype(np.int64)
    tables = [(by_day, _count_pairs(drawn["day"] - 1, durations, DAYS, k))]
    numbers = [np.bincount(person)[person] - 1 for person in (visits.person, drawn["person"])]
    true = _count_pairs(numbers[0], visits.duration, DAYS, k)
    tables.append((true, _count_pairs(numbers[1], durations, DAYS, k)))
    day, number = (_compare_rows(one, other) for one, other in tables)
    return day, number


def _count_pairs(rows: Integers, columns: Integers, height: int, width: int) -> Integers:
    return np.bincount(rows * width + columns, minlength=height * width).reshape(height, width)


def _compare_rows(true: Integers, other: Integers) -> float:
    """The total variation of the shares in each row, averaged by the true size of the rows."""
    shares = [table / np.maximum(table.sum(axis=1, keepdims=True), 1) for table in (true, other)]
    distances = np.abs(shares[0] - shares[1]).sum(axis=1) / 2
    return float(np.average(distances, weights=true.sum(axis=1)))
