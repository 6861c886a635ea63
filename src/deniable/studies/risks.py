"""The figures of the attack study (Arcolezi et al., 2023): values, the sampled attribute, people; the stronger attack beside.

Every point is there as published and by the best attack that the law allows: exact sums beside the published formulas, Bayes
beside trained classifiers, supports beside guesses. The published attacks on RS+RFD are trained on uniform fakes although the
fakes' prior is public; `bayes` uses it, `bayes-uniform` makes the same mistake as they do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from deniable.attack.trained import KNOWLEDGE
from deniable.data import Dataset
from deniable.errors import InvalidParameter, not_among
from deniable.exact import positive_epsilon, whole_number
from deniable.law import Integers
from deniable.population import numbers_from
from deniable.studies.sweep import Progress

FIGURES = ("value", "sampled-attribute", "rsrfd", "reidentify")
DATASETS = {"adult": "adult-10", "acs": "acs-employment", "nursery": "nursery"}
"""The study's names, and ours."""
EPSILONS = tuple(float(epsilon) for epsilon in range(1, 11))
RUNS = 5
"""The study has 20; its figures scatter by less than their lines are thick."""
USERS = 2000
"""How many people are looked for in a background, drawn at random for each run; with tie-free chances that is enough."""
QUICK_EPSILONS, QUICK_RUNS, QUICK_USERS = (1.0, 4.0, 10.0), 1, 300
QUICK_ATTACKS = ("NK-1n", "PK-0.1n", "HM-1n-0.1n", "bayes", "bayes-uniform", "guess", "support", "exact", "published")
ATTACKS = (*KNOWLEDGE, "bayes", "bayes-uniform", "guess", "support", "exact", "published")
PRIORS = ("correct", "dirichlet", "zipf", "exponential")


def study_name(people: Dataset) -> str:
    """What the study calls a dataset."""
    return next((name for name, ours in DATASETS.items() if ours == people.name), people.name)


@final
@dataclass(frozen=True)
class Row:
    """One point of a figure; or why there is none."""

    figure: str
    dataset: str
    protocol: str
    epsilon: float
    attack: str
    accuracy: float | None
    """How often the attack is right, from 0 to 1."""
    stderr: float | None
    """Of the mean over the runs; None where it is exact or there is one run."""
    runs: int
    n: int
    d: int
    seed: int
    baseline: float
    """How often a blind guess is."""
    users: int | None = None
    """How many people are attacked, where not all are."""
    surveys: int | None = None
    top: int | None = None
    background: str | None = None
    metric: str | None = None
    prior: str | None = None
    refused: str | None = None


@final
@dataclass(frozen=True)
class Cell:
    """What is measured together, and how: one run gives an accuracy for each of its rows."""

    asked: tuple[Row, ...]
    people: Dataset
    run: Callable[[int, np.random.Generator], Sequence[float]]
    """Given its number, and its own random numbers."""


def reproduce(
    datasets: Iterable[Dataset],
    figures: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    runs: int = RUNS,
    users: int | None = None,
    attacks: Iterable[str] | None = None,
    seed: int = 1,
    progress: Progress | None = None,
    quick: bool = False,
) -> Iterator[Row]:
    """Rows as they are done. A row depends on the seed and its own parameters only.

    `users` attacks so many people, drawn at random for each run, instead of all (for people in a background, 2,000 unless
    given); they are then the n that trained attackers invent and compromise people by, as in NK-3n. `quick` leaves out what
    takes long.
    """
    from deniable.studies.attacked import sampled_cells, value_cells
    from deniable.studies.surveyed import people_cells

    names = list(FIGURES if figures is None else figures)
    for name in names:
        if name not in FIGURES:
            raise InvalidParameter(not_among(name, "a figure of this study", FIGURES))
    chosen = list((QUICK_ATTACKS if quick else ATTACKS) if attacks is None else attacks)
    for name in chosen:
        if name not in ATTACKS:
            raise InvalidParameter(not_among(name, "an attack of this study", ATTACKS))
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    if users is not None:
        trained = set(chosen) & set(KNOWLEDGE) and {"sampled-attribute", "rsrfd"} & set(names)
        whole_number("users, of whom trained attackers learn, too," if trained else "users", users, 10 if trained else 1)
    sought = users or (QUICK_USERS if quick else USERS)
    asked = Asked(whole_number("runs", runs, 1), users, tuple(chosen), whole_number("seed", seed, 0), sought)
    makers = {"value": value_cells, "sampled-attribute": sampled_cells, "rsrfd": sampled_cells, "reidentify": people_cells}
    cells = [cell for people in datasets for figure in names for cell in makers[figure](figure, people, budgets, asked)]
    return _measured([cell for cell in cells if cell.asked], asked, progress)


@final
@dataclass(frozen=True)
class Asked:
    """What all figures are asked for."""

    runs: int
    users: int | None
    attacks: tuple[str, ...]
    seed: int
    looked_for: int
    """How many people are looked for in a background."""

    def targets(self, n: int, draws: np.random.Generator, users: int | None) -> Integers:
        """Who is attacked in this run."""
        return np.arange(n) if users is None or users >= n else np.sort(draws.choice(n, users, replace=False))


def _measured(cells: Sequence[Cell], asked: Asked, progress: Progress | None) -> Iterator[Row]:
    total, done = len(cells) * asked.runs, 0
    for cell in cells:
        first, found = cell.asked[0], []
        try:
            for run in range(asked.runs):
                labels = first.figure, first.dataset, first.protocol, first.epsilon, first.prior, first.metric, run
                found.append(cell.run(run, numbers_from(asked.seed, *labels)))
                done += 1
                if progress is not None:
                    progress(done, total)
        except InvalidParameter as problem:
            yield from (replace(row, refused=str(problem)) for row in cell.asked)
            continue
        table = np.array(found, dtype=np.float64)
        scatter = table.std(axis=0, ddof=1) / np.sqrt(asked.runs) if asked.runs > 1 else [None] * len(cell.asked)
        for row, mean, error in zip(cell.asked, table.mean(axis=0), scatter, strict=True):
            exact = row.attack in ("exact", "published")
            yield replace(row, accuracy=float(mean), stderr=None if exact or error is None else float(error))
