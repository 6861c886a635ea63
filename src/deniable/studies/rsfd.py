"""Figures 6 to 10 of the RS+FD paper: error against epsilon, beside the true losses and the error at equal true loss.

The paper runs RS+FD at ln(d (e^epsilon - 1) + 1) and compares it with methods that run at epsilon. Its method keeps
that larger number for a record, so every RS+FD method is here twice: as published, and `at record`, where a record
truly loses no more than epsilon.

Two things differ from the authors' code, neither by much: there, the people are shuffled and cut into groups of equal
size, here everybody draws an attribute; and there, ADP rounds its limit 3 e^epsilon + 2 to an integer, here it compares
variances at f = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import final

from deniable.data import Dataset
from deniable.errors import InvalidParameter, not_among
from deniable.exact import positive_epsilon, whole_number
from deniable.multidimensional import Calibration, equal_part, rsfd
from deniable.population import numbers_from
from deniable.protocols import adaptive
from deniable.shape import Encoder
from deniable.share import Sample, Share, Split
from deniable.simulate import measure_share

EPSILONS = tuple(math.log(odds) for odds in range(2, 8))
RUNS = 100
DATASETS = ("nursery", "adult", "ms-fimu", *(f"synthetic-{number}" for number in range(1, 7)))
"""What is shown unless others are named."""


@final
@dataclass(frozen=True)
class Row:
    """One point of a figure; or why there is none."""

    dataset: str
    method: str
    epsilon: float
    n: int
    d: int
    runs: int
    seed: int
    refused: str | None = None
    mse_avg: float | None = None
    """The mean squared error of estimates that are clipped at 0 and scaled to a sum of one, as in the papers' code."""
    mse_avg_stderr: float | None = None
    mse_avg_raw: float | None = None
    """The same of the unbiased estimates."""
    mse_avg_raw_stderr: float | None = None
    loss_record: float | None = None
    loss_attribute: float | None = None


def reproduce(
    datasets: Iterable[Dataset],
    methods: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    runs: int = RUNS,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Row]:
    """A row per dataset, method and epsilon, as they are done. A row depends on the seed and its own parameters only."""
    names = list(METHODS if methods is None else methods)
    for name in names:
        if name not in METHODS:
            raise InvalidParameter(not_among(name, "a method of this study", METHODS))
    whole_number("runs", runs, 1)
    whole_number("seed", seed, 0)
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    cells = [(people, name, epsilon) for people in datasets for name in names for epsilon in budgets]
    return _rows(cells, runs, seed, progress or (lambda _done, _total: None))


def _rows(
    cells: Sequence[tuple[Dataset, str, float]], runs: int, seed: int, progress: Callable[[int, int], None]
) -> Iterator[Row]:
    made = cache(lambda method, ks, epsilon: METHODS[method](ks, epsilon))
    for done, (people, method, epsilon) in enumerate(cells, 1):
        asked = Row(people.name, method, epsilon, people.n, people.d, runs, seed)
        try:
            yield _measured(made(method, people.ks, epsilon), people, asked)
        except InvalidParameter as problem:
            yield replace(asked, refused=str(problem))
        progress(done, len(cells))


def _measured(share: Share, people: Dataset, asked: Row) -> Row:
    generator = numbers_from(asked.seed, "rsfd", asked.dataset, asked.method, asked.epsilon)
    errors = measure_share(share, people.counts, asked.runs, generator)
    return replace(
        asked,
        mse_avg=errors.projected.mean,
        mse_avg_stderr=errors.projected.stderr,
        mse_avg_raw=errors.unbiased.mean,
        mse_avg_raw_stderr=errors.unbiased.stderr,
        loss_record=share.loss("record"),
        loss_attribute=share.loss("attribute"),
    )


def _either(ks: Sequence[int], epsilon: float) -> tuple[Encoder, ...]:
    """GRR or OUE for each attribute, whichever has the smaller variance at f = 0 (ADP)."""
    chosen = [adaptive(k, epsilon, among=("grr", "oue"), f=0.0) for k in ks]
    return tuple(part for part in chosen if isinstance(part, Encoder))


def _faked(protocol: str, calibration: Calibration) -> Callable[[Sequence[int], float], Share]:
    return lambda ks, epsilon: rsfd(ks, epsilon, protocol, calibration)


_FAKED = {"RS+FD[GRR]": "grr", "RS+FD[OUE-z]": "oue-z", "RS+FD[OUE-r]": "oue-r", "RS+FD[ADP]": "adaptive"}

METHODS: dict[str, Callable[[Sequence[int], float], Share]] = {
    "SPL[ADP]": lambda ks, epsilon: Split(_either(ks, equal_part(epsilon, len(ks)))),
    "SMP[ADP]": lambda ks, epsilon: Sample(_either(ks, epsilon)),
    **{name: _faked(protocol, "published") for name, protocol in _FAKED.items()},
    **{f"{name} at record": _faked(protocol, "record") for name, protocol in _FAKED.items()},
}
"""The six methods of the paper, and the RS+FD ones once more at the loss that they state."""
