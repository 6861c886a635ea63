"""Reproduces the attack study (Arcolezi et al., 2023), and compares it with the strongest attacks.

Its figures are on values, the sampled attribute and people. Every point is there as published and by the best
attack that the law allows: exact sums against the published formulas, Bayes against trained classifiers,
supports against guesses. The published attacks on RS+RFD are trained on uniform fakes although the fakes'
prior is public; `bayes` uses it, `bayes-uniform` makes the same mistake as they do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deniable.errors import InvalidParameter, not_among
from deniable.exact import positive_epsilon, whole_number
from deniable_papers.data import Dataset
from deniable_papers.studies.accuracy import DATASETS, Asked, AttackPoint, frame, measure
from deniable_papers.studies.inference import ON_SAMPLED, ON_VALUES, sampled_cells, value_cells
from deniable_papers.studies.reidentification import ON_PEOPLE, people_cells
from deniable_papers.studies.sweep import Progress
from deniable_papers.trained import KNOWLEDGE

__all__ = ["ATTACKS", "DATASETS", "EPSILONS", "FIGURES", "RUNS", "USERS", "AttackPoint", "frame", "reproduce"]

_MAKERS = {"value": value_cells, **dict.fromkeys(ON_SAMPLED, sampled_cells), "reidentify": people_cells}
FIGURES = tuple(_MAKERS)
_HAS = {
    "value": ON_VALUES,
    **{figure: (*KNOWLEDGE, *best) for figure, best in ON_SAMPLED.items()},
    "reidentify": ON_PEOPLE,
}
EPSILONS = tuple(float(epsilon) for epsilon in range(1, 11))
RUNS = 5
"""The study has 20; its figures scatter by less than their lines are thick."""
USERS = 2000
"""How many people are looked for in a background, drawn at random for each run; with tie-free chances that is
enough.
"""
_UNTRAINED = tuple(dict.fromkeys((*ON_SAMPLED["rsrfd"], *ON_PEOPLE, *ON_VALUES)))
ATTACKS = (*KNOWLEDGE, *_UNTRAINED)
QUICK_EPSILONS, QUICK_RUNS, QUICK_USERS, QUICK_TRAINING = (1.0, 5.0), 1, 500, 1000
QUICK_ATTACKS = ("NK-1n", "PK-0.1n", "HM-1n-0.1n", *_UNTRAINED)
_LEAST_TRAINING = 10  # so that a tenth of them is somebody


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
    training: int | None = None,
) -> Iterator[AttackPoint]:
    """Rows as they are done. A row depends on the seed and its own parameters only.

    `users` attacks this many people, drawn at random for each run, instead of all (in a background, 2,000
    unless given); what attackers know and learn from is the same. `training` makes trained attackers
    weaker, for a quick look: they simulate and compromise people as if there were this many, and their rows
    say so (`trained_on`). `quick` leaves out what takes long, attacks 500, and trains on 1,000.
    """
    names = list(FIGURES if figures is None else figures)
    chosen = list((QUICK_ATTACKS if quick else ATTACKS) if attacks is None else attacks)
    for asked_for, what, known in ((names, "a figure", FIGURES), (chosen, "an attack", ATTACKS)):
        for name in asked_for:
            if name not in known:
                raise InvalidParameter(not_among(name, f"{what} of this study", known))
    if not any(name in _HAS[figure] for figure in names for name in chosen):
        kinds = "; ".join(f"{figure} has {', '.join(_HAS[figure])}" for figure in names)
        raise InvalidParameter(f"none of these figures has {' or '.join(chosen)}: {kinds}")
    users = QUICK_USERS if quick and users is None else users
    budgets = [positive_epsilon(epsilon) for epsilon in dict.fromkeys(epsilons)]
    asked = Asked(
        runs=whole_number("runs", runs, 1),
        users=None if users is None else whole_number("users", users, 1),
        attacks=tuple(chosen),
        seed=whole_number("seed", seed, 0),
        looked_for=users or USERS,
        training=(QUICK_TRAINING if quick else None)
        if training is None
        else whole_number("training, the people that attackers learn from,", training, _LEAST_TRAINING),
    )
    cells = [
        cell
        for people in datasets
        for figure in names
        for cell in _MAKERS[figure](figure, people, budgets, asked)
    ]
    return measure([cell for cell in cells if cell.asked], asked, progress)
