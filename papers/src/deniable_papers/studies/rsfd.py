"""Reproduces figures 5 to 10 of the RS+FD paper, with the true losses and the error at equal true loss.

`errors` measures MSE_avg (figures 6 to 10), and `variances` computes the variances of the estimates at f = 0
(figure 5). `realistic` compares RS+FD with RS+RFD, whose fakes have a public prior: the true shares with
Laplace noise, of epsilon 0.1 for all attributes together.

The paper runs RS+FD at ln(d (e^epsilon - 1) + 1) and compares it with methods that run at epsilon. Its method
keeps that larger number for a record, so every RS+FD method is here twice: as published, and `at record`,
where a record truly loses no more than epsilon.

Two things differ from the authors' code, neither by much: there, the people are shuffled and cut into groups
of equal size, here everybody draws an attribute; and there, ADP rounds its limit 3 e^epsilon + 2 to an
integer, here it compares variances at f = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.exact import positive_epsilon
from deniable.mechanisms import Mechanism, adaptive
from deniable.randomness.simulated import numbers_from
from deniable.records import Calibration, RecordMechanism, Sample, Split, equal_part, rsfd, rsrfd
from deniable_papers.data import Dataset
from deniable_papers.studies.inference import MIXED, public_priors
from deniable_papers.studies.sweep import (
    DATASETS,
    RUNS,
    Point,
    Progress,
    checked_methods,
    measure_point,
    run_sweep,
)

__all__ = ["DATASETS", "EPSILONS", "FIGURES", "METHODS", "REALISTIC", "RUNS", "RsfdPoint", "reproduce"]

FIGURES = ("errors", "variances", "realistic")
VARIANCES = tuple((d, k) for d in (5, 10) for k in (2, 10, 100))
"""Numbers of attributes and of the values of each, whose variances are computed; the choice is ours."""
VARIANCE_PEOPLE = 10_000

EPSILONS = tuple(math.log(odds) for odds in range(2, 8))


@final
@dataclass(frozen=True, kw_only=True)
class RsfdPoint(Point):
    """One point of a figure, at the epsilon that is claimed."""

    epsilon: float
    figure: str = "errors"
    variance: float | None = None
    """The variance of a share that is 0, in the figure of variances."""


def reproduce(
    datasets: Iterable[Dataset],
    methods: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    runs: int = RUNS,
    seed: int = 1,
    progress: Progress | None = None,
    figures: Iterable[str] | None = None,
) -> Iterator[RsfdPoint]:
    """A row per dataset, method and epsilon, as they are done: of `errors`, unless other figures are named.

    A row depends on the seed and its own parameters only.
    """
    chosen = checked_methods(figures or FIGURES[:1], FIGURES, runs, seed, "a figure")
    names = checked_methods(methods, {**METHODS, **REALISTIC}, runs, seed)
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    made = cache(lambda method, ks, epsilon: METHODS[method](ks, epsilon))
    known = [] if chosen == ["variances"] else list(datasets)

    def measure(asked: RsfdPoint, people: Dataset) -> RsfdPoint:
        labels = asked.dataset, asked.method, asked.epsilon
        if asked.figure == "variances":
            return _compute_variance(asked, made(asked.method, people.ks, asked.epsilon))
        if asked.figure == "errors":
            return measure_point(asked, made(asked.method, people.ks, asked.epsilon), people, "rsfd", *labels)
        priors = public_priors(people, "correct", numbers_from(seed, "prior", people.name))
        mechanism = REALISTIC[asked.method](people.ks, asked.epsilon, priors)
        return measure_point(asked, mechanism, people, "realistic", *labels)

    cells = [
        (
            people,
            RsfdPoint(
                figure=figure,
                dataset=people.name,
                method=name,
                epsilon=epsilon,
                n=people.n,
                d=people.d,
                runs=runs,
                seed=seed,
            ),
        )
        for figure in chosen
        for people in (_VARIED if figure == "variances" else known)
        for name in (REALISTIC if figure == "realistic" else METHODS)
        if methods is None or name in names
        for epsilon in budgets
    ]
    return run_sweep(cells, measure, progress)


def _compute_variance(asked: RsfdPoint, mechanism: RecordMechanism) -> RsfdPoint:
    """The variance of the first attribute's shares at f = 0; all attributes have equally many values."""
    people = asked.n * mechanism.chance(0)
    return replace(
        asked,
        variance=mechanism.marginal(0).error(1, 0.0) / float(people),
        loss_record=mechanism.loss("record"),
        loss_attribute=mechanism.loss("attribute"),
    )


def _either(ks: Sequence[int], epsilon: float) -> tuple[Mechanism, ...]:
    """GRR or OUE for each attribute, whichever has the smaller variance at f = 0 (ADP)."""
    return tuple(adaptive(k, epsilon, among=("grr", "oue"), f=0.0) for k in ks)


def _make_faked(protocol: str, calibration: Calibration) -> Callable[[Sequence[int], float], RecordMechanism]:
    return lambda ks, epsilon: rsfd(ks, epsilon, protocol, calibration)


_FAKED = {"RS+FD[GRR]": "grr", "RS+FD[OUE-z]": "oue-z", "RS+FD[OUE-r]": "oue-r", "RS+FD[ADP]": "adaptive"}

METHODS: dict[str, Callable[[Sequence[int], float], RecordMechanism]] = {
    "SPL[ADP]": lambda ks, epsilon: Split(_either(ks, equal_part(epsilon, len(ks)))),
    "SMP[ADP]": lambda ks, epsilon: Sample(_either(ks, epsilon)),
    **{name: _make_faked(protocol, "published") for name, protocol in _FAKED.items()},
    **{f"{name} at record": _make_faked(protocol, "record") for name, protocol in _FAKED.items()},
}
"""The six methods of the paper, and the RS+FD ones once more at the loss that they state."""


def _fake_realistically(protocol: str) -> Callable[[Sequence[int], float, Sequence[Floats]], RecordMechanism]:
    return lambda ks, epsilon, priors: rsrfd(
        ks, epsilon, list(priors), protocol, "published", fakes="published", mixed=MIXED
    )


def _fake_uniformly(protocol: str) -> Callable[[Sequence[int], float, Sequence[Floats]], RecordMechanism]:
    return lambda ks, epsilon, _priors: rsfd(ks, epsilon, protocol, "published")


_PROTOCOLS = {"GRR": "grr", "SUE-r": "sue-r", "OUE-r": "oue-r"}
REALISTIC: dict[str, Callable[[Sequence[int], float, Sequence[Floats]], RecordMechanism]] = {
    **{f"RS+FD[{name}]": _fake_uniformly(protocol) for name, protocol in _PROTOCOLS.items()},
    **{f"RS+RFD[{name}]": _fake_realistically(protocol) for name, protocol in _PROTOCOLS.items()},
}
"""Fakes that are uniform, and fakes that have the public prior of the risks paper, both as published."""
_VARIED = [
    Dataset(
        f"k = {k}",
        tuple(f"attribute {j}" for j in range(d)),
        (tuple(map(str, range(k))),) * d,
        np.zeros((VARIANCE_PEOPLE, d), dtype=np.uint8),
        "nobody's answers: variances at f = 0 need sizes only",
    )
    for d, k in VARIANCES
]
