"""Measures on Adult how well simulated people train a classifier, beside real ones."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from deniable import Study
from deniable.arrays import Integers
from deniable.errors import DeniableWarning
from deniable.randomness.simulated import numbers_from, seeded
from deniable_papers import data
from deniable_papers.people import simulate_people
from deniable_papers.studies.crosstabs.adult import GROUPS
from deniable_papers.studies.crosstabs.classifier import measure_auc, train
from deniable_papers.studies.stated import StatedPoint, compare

_STATED_RUNS = 3
_TARGET = "income"
_TRAINED = 0.8
_STATED = {1.0: ".82", 2.0: ".86", 4.0: ".87"}
EPSILONS = tuple(_STATED)
_ALL_PAIRS = 1.0
"""The epsilon at which all pairs are asked, too."""
_BY_TARGET, _BY_PAIRS = "simulated, pairs of the target", "simulated, all pairs"
_ALONE = "simulated, single answers"


def measure_people(
    runs: int, seed: int, epsilons: Sequence[float] = EPSILONS, most: int | None = None
) -> Iterator[StatedPoint]:
    """The area under the curve of a logistic regression of income: how well it ranks unseen real people.

    Four fifths of the people report, and as many are simulated. The specification does not say which nine
    attributes it has. With age in six groups in place of the native country, real people train as well as it
    says.
    """
    people, sizes = _load(most)
    splits = [_split(people, numbers_from(seed, "split", run)) for run in range(runs)]
    n = splits[0][0][_TARGET].size
    asked: dict[str, Any] = {
        "figure": "classifier",
        "case": "income",
        "people": n,
        "runs": runs,
        "seed": seed,
    }

    def tell(method: str, epsilon: float, scores: Sequence[float], stated: str | None = None) -> StatedPoint:
        spread = float(np.std(scores, ddof=1)) if runs > 1 else float("nan")
        fields = compare(float(np.mean(scores)), stated, spread / runs**0.5, spread / _STATED_RUNS**0.5)
        return StatedPoint(method=method, epsilon=epsilon, **asked, **fields)

    def score(one: Mapping[str, Integers], unseen: Mapping[str, Integers]) -> float:
        return measure_auc(train(one, sizes, _TARGET), unseen, _TARGET)

    real = [score(*split) for split in splits]
    for epsilon in epsilons:
        yield tell("real people", epsilon, real, ".882")
        ways = {_BY_TARGET: Study(_name(sizes), epsilon=epsilon, target=_TARGET)}
        if epsilon == _ALL_PAIRS:
            together = list(combinations(sizes, 2))
            ways[_BY_PAIRS] = Study(_name(sizes), epsilon=epsilon, together=together)
        found: dict[str, list[float]] = {}
        for run, (known, unseen) in enumerate(splits):
            made = {
                way: _simulate(study, known, numbers_from(seed, way, epsilon, run))
                for way, study in ways.items()
            }
            made[_ALONE] = _shuffle(made[_BY_TARGET], numbers_from(seed, _ALONE, epsilon, run))
            for way, some in made.items():
                found.setdefault(way, []).append(score(some, unseen))
        for way, scores in found.items():
            yield tell(way, epsilon, scores, _STATED[epsilon] if way == _BY_TARGET else None)


def _load(most: int | None) -> tuple[dict[str, Integers], dict[str, int]]:
    whole = data.load("adult-10")
    columns = dict(zip(whole.attributes, whole.table[:most].T.astype(np.int64), strict=True))
    sizes = dict(zip(whole.attributes, whole.ks, strict=True))
    ages = np.array(whole.labels[whole.attributes.index("age")], dtype=np.int64)[columns["age"]]
    columns["age"], sizes["age"] = np.digitize(ages, GROUPS), len(GROUPS) + 1
    del columns["native-country"], sizes["native-country"]
    return columns, sizes


def _name(sizes: Mapping[str, int]) -> dict[str, list[str]]:
    return {name: [str(value) for value in range(k)] for name, k in sizes.items()}


def _split(
    people: Mapping[str, Integers], generator: np.random.Generator
) -> tuple[dict[str, Integers], dict[str, Integers]]:
    """People who report, and people whom the classifier is measured with."""
    n = people[_TARGET].size
    order = generator.permutation(n)
    parts = np.split(order, [round(_TRAINED * n)])
    one, other = ({name: column[part] for name, column in people.items()} for part in parts)
    return one, other


def _simulate(
    study: Study, known: Mapping[str, Integers], generator: np.random.Generator
) -> dict[str, Integers]:
    n = known[_TARGET].size
    plan = study.plan(people=n)
    answers = {name: column.astype(str) for name, column in known.items()}
    reports = plan.privatize(answers, seeded(int(generator.integers(1 << 62))))
    result = plan.estimate(plan.tally(reports))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeniableWarning)  # no error bars are wanted of them here
        made = simulate_people(result, n, _TARGET, int(generator.integers(1 << 31)))
    return {name: column.astype(np.int64) for name, column in made.items()}


def _shuffle(people: Mapping[str, Integers], generator: np.random.Generator) -> dict[str, Integers]:
    """People with the same single shares, whose answers have nothing to do with each other."""
    return {name: generator.permutation(column) for name, column in people.items()}
