"""Computes what needs no simulation: the variances of the designs, and the example of smokers by age."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from deniable import Study
from deniable.arrays import Floats
from deniable.choose import Objective, Wanted
from deniable.choose.views import Search
from deniable.cross.independence import Covariance, find_dependence, find_noncentral, find_null
from deniable.cross.spread import OneReport, Spread, TwoReports
from deniable.domain import Range
from deniable.estimate import reach_of
from deniable.explain.table_precision import count_people
from deniable.mechanisms import adaptive, grr, ss
from deniable_papers.studies.stated import StatedPoint, compare

AGES = np.array([0.15, 0.20, 0.25, 0.25, 0.15])
SMOKING = np.array([0.25, 0.30, 0.22, 0.15, 0.08])
SMOKERS = AGES[:, None] * np.stack([SMOKING, 1 - SMOKING], axis=1)
"""The example: five age groups and who smokes in each."""
_PEOPLE = 20_000
_ADULT = (7, 16, 7, 14, 6, 5, 2, 41, 2)
_DESIGNS: tuple[tuple[Sequence[int], float, tuple[str | None, ...]], ...] = (
    ((2, 2), 1.0, ("2.077", "19.45", "19.45", None, None)),
    ((2, 5), 1.0, ("3.000", "44.57", "44.57", None, None)),
    ((2, 2, 2), 1.0, ("6.230", "88.6", "58.4", "4.845", "4.845")),
    ((2, 5, 4), 1.0, ("9.159", "295", "182", "11.82", "11.82")),
    ((2, 5, 4), 4.0, ("0.361", "1.30", "1.03", "0.251", "0.251")),
    ((7, 2, 2), 4.0, ("0.428", "1.30", "1.15", "0.247", "0.247")),
    ((5, 5, 5), 2.0, ("2.002", "32.3", "18.5", "3.448", "3.448")),
    ((2,) * 6, 1.0, ("31.15", "1326", "292", "24.23", "43.5")),
    (_ADULT, 1.0, ("123.4", "46320", "3996", "213.5", None)),
    (_ADULT, 4.0, ("3.170", "178", "13.5", "4.53", None)),
)
_WORST = {1.0: ("132", "123"), 4.0: ("7.80", "3.17")}


def compare_designs() -> Iterator[StatedPoint]:
    """People times the variance of a cell, averaged over all pairs of questions, if all cells are alike."""
    methods = ("pairs", "split", "two of all", "triples", "one view")
    for sizes, epsilon, stated in _DESIGNS:
        case = "Adult, 9 questions" if sizes == _ADULT else " x ".join(map(str, sizes))
        pairs = list(combinations(range(len(sizes)), 2))
        search = Search(Wanted(tuple(sizes), tuple(pairs), epsilon))
        wide = np.array([len(table) for table in search.tables])
        values = [
            search.score((wide == 2).astype(np.float64)),
            _split_variance(sizes, pairs, epsilon / len(sizes)),
            _split_variance(sizes, pairs, epsilon / 2) * len(pairs),
            *(search.score((wide == size).astype(np.float64)) for size in (3, len(sizes))),
        ]
        for method, value, text in zip(methods, values, stated, strict=True):
            if text is not None:
                yield StatedPoint(
                    figure="designs", case=case, method=method, epsilon=epsilon, **_fields(value, text)
                )
    for epsilon, texts in _WORST.items():
        for method, value, text in zip(("alike", "by errors"), _find_worst(epsilon), texts, strict=True):
            yield StatedPoint(
                figure="designs",
                case="Adult, the worst pair",
                method=f"pairs, drawn {method}",
                epsilon=epsilon,
                **_fields(value, text),
            )


def _find_worst(epsilon: float) -> tuple[float, float]:
    """Of the worst pair of Adult's questions: pairs drawn equally often, and so that it is the least."""
    pairs = tuple(combinations(range(len(_ADULT)), 2))
    search = Search(Wanted(_ADULT, pairs, epsilon, objective=Objective(worst=True)))
    asked = np.array([len(table) == 2 for table in search.tables])
    alike = len(pairs) / search.precision[asked].max(axis=1)
    return float(alike.max()), search.score(asked.astype(np.float64))


def _split_variance(sizes: Sequence[int], pairs: Sequence[tuple[int, int]], budget: float) -> float:
    """Of a cell whose row and column are reported apart, averaged over the pairs."""
    found = []
    for pair in pairs:
        laws = [adaptive(sizes[j], budget).law for j in pair]
        noise = [law.q * (1 - law.q) / law.gain**2 for law in laws]
        slopes = [(1 - 2 * law.q) / law.gain for law in laws]
        a, b = (1 / sizes[j] for j in pair)
        mixed = slopes[0] * noise[1] * a + slopes[1] * noise[0] * b + slopes[0] * slopes[1] * a * b
        found.append(noise[0] * noise[1] + mixed - (a * b) ** 2)
    return float(np.mean(found))


_EXAMPLE: dict[float, dict[str, Sequence[str]]] = {
    1.0: {
        "cell": ("2.3", "2.5"),
        "cell, split": ("9.7", "10.6"),
        "share": ("12.9", "9.4", "7.9", "8.3", "14.6"),
        "share, age known": ("3.8", "3.3", "2.9", "2.8", "3.6"),
        "people": ("308,985", "35,145", "27,250", "24,550"),
    },
    2.0: {
        "cell": ("0.9", "1.3"),
        "cell, split": ("2.2", "2.9"),
        "share": ("5.2", "4.0", "3.4", "3.4", "5.5"),
        "share, age known": ("2.2", "1.9", "1.7", "1.5", "1.8"),
        "people": ("53,961", "11,923", "4,350", "3,850"),
    },
}


def compute_example() -> Iterator[StatedPoint]:
    """Half widths of 95 % intervals in points, and people for a power of 80 %."""
    for epsilon, stated in _EXAMPLE.items():
        law = (ss(10, epsilon) if epsilon < 2 else grr(10, epsilon)).law
        halves = [grr(k, epsilon / 2).law for k in SMOKERS.shape]
        one = OneReport(law)
        values = {
            "cell": _find_ends(one),
            "cell, split": _find_ends(TwoReports(*halves)),
            "share": _find_shares(one),
            "share, age known": [
                _in_points(_rr_variance(epsilon, s) / a) for a, s in zip(AGES, SMOKING, strict=True)
            ],
            "people": _count_people(epsilon, one),
        }
        cases = {
            "cell": ("least", "most"),
            "cell, split": ("least", "most"),
            "people": ("25 or 30 %", "25 or 30 %, age known", "age matters", "trend"),
        }
        for method, texts in stated.items():
            names = cases.get(method, [f"age {number}" for number in range(1, 6)])
            for case, value, text in zip(names, values[method], texts, strict=True):
                is_count = method == "people"
                yield StatedPoint(
                    figure="people" if is_count else "example",
                    case=case,
                    method="tables" if is_count else method,
                    epsilon=epsilon,
                    people=None if is_count else _PEOPLE,
                    **_fields(value, text, 50.0 if case in ("age matters", "trend") else 0.0),
                )


def _fields(value: float, stated: str, rounded: float = 0.0) -> dict[str, Any]:
    """As `compare`; numbers of people are stated in steps of 50."""
    return compare(value, stated, 0.0, rounded / 3)


def _in_points(variance: float) -> float:
    return float(100 * reach_of(0.025) * np.sqrt(variance / _PEOPLE))


def _find_ends(spread: Spread) -> list[float]:
    found = np.diag(spread.covariance(SMOKERS.ravel(), np.eye(SMOKERS.size)))
    return [_in_points(found.min()), _in_points(found.max())]


def _find_shares(spread: Spread) -> list[float]:
    found = []
    for a, (base, share) in enumerate(zip(AGES, SMOKING, strict=True)):
        weights = np.zeros(SMOKERS.shape)
        weights[a] = -share / base
        weights[a, 0] += 1 / base
        found.append(_in_points(spread.covariance(SMOKERS.ravel(), weights.reshape(1, -1))[0, 0]))
    return found


def _rr_variance(epsilon: float, share: float) -> float:
    law = grr(2, epsilon).law
    supported = law.q + law.gain * share
    return float(supported * (1 - supported) / law.gain**2)


def _count_people(epsilon: float, one: OneReport) -> list[float]:
    def spread(cells: Floats) -> Floats:
        return one.covariance(cells.ravel(), np.eye(cells.size))

    asked = {"age": Range(20, 70, step=10), "smoker": ["yes", "no"]}
    plan = Study(asked, epsilon=epsilon, together=[("age", "smoker")]).plan(people=_PEOPLE)
    known = (_rr_variance(epsilon, 0.25) + _rr_variance(epsilon, 0.30)) / 0.2
    reach = reach_of(0.025) + reach_of(0.2)
    each, degrees = find_dependence(SMOKERS, spread)
    trend = find_trend(SMOKERS, spread, (np.arange(5.0), np.arange(2.0)))
    return [
        count_people(plan.document, "smoker", "age", 0.05),
        math.ceil(known * (reach / 0.05) ** 2),
        _find_people(each, degrees),
        _find_people(trend, 1),
    ]


def _find_people(effect: float, degrees: int) -> int:
    """How many reports it takes to find an effect in four studies of five."""
    return math.ceil(find_noncentral(degrees) / effect)


def find_trend(cells: Floats, covariance: Covariance, points: tuple[Floats, Floats]) -> float:
    """What each of many reports adds to the squared statistic of a linear trend of these positions."""
    by_row, by_column = (
        at - cells.sum(axis=axis) @ at / cells.sum() for axis, at in zip((1, 0), points, strict=True)
    )
    weights = np.outer(by_row, by_column).ravel()
    return float((weights @ cells.ravel()) ** 2 / (weights @ covariance(find_null(cells)) @ weights))
