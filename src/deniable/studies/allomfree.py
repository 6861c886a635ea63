"""The longitudinal figures of the ALLOMFREE paper: error of one collection against the budget of all collections.

Everybody draws one attribute, keeps it for ever, and reports it by two rounds. ALLOMFREE chooses between L-GRR and L-OSUE
for each attribute; as published, its L-GRR spends only a part of epsilon_first. `ALLOMFREE-exact` spends all of it: the
curve at equal true loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, final

from deniable.data import Dataset
from deniable.errors import InvalidParameter, not_among
from deniable.exact import positive_epsilon, whole_number
from deniable.longitudinal import l_grr, l_osue, l_oue, l_soue, l_sue
from deniable.population import numbers_from
from deniable.repeat import Memoized
from deniable.shapes import Direct
from deniable.share import Sample
from deniable.simulate import measure_share

EPSILONS = tuple(0.5 * step for step in range(1, 9))
"""Budgets of any number of reports of one value."""
PARTS = (0.3, 0.6)
"""The parts of it that one report may spend."""
RUNS = 100
DATASETS = ("nursery", "adult", "ms-fimu", *(f"synthetic-{number}" for number in range(1, 7)))
"""What is shown unless others are named."""


@final
@dataclass(frozen=True)
class Row:
    """One point of a figure; or why there is none."""

    dataset: str
    method: str
    epsilon_forever: float
    epsilon_first: float
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
    """Of one report; only one attribute is ever reported, so per attribute it is the same."""
    loss_attribute: float | None = None
    loss_forever: float | None = None
    """Of any number of reports of values that do not change."""
    direct: int | None = None
    """How many of the attributes are reported by L-GRR."""


def reproduce(
    datasets: Iterable[Dataset],
    methods: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    parts: Iterable[float] = PARTS,
    runs: int = RUNS,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Row]:
    """A row per dataset, part, method and epsilon, as they are done; what a protocol cannot do is a row that says why."""
    names = list(METHODS if methods is None else methods)
    for name in names:
        if name not in METHODS:
            raise InvalidParameter(not_among(name, "a method of this study", METHODS))
    whole_number("runs", runs, 1)
    whole_number("seed", seed, 0)
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    shares = [positive_epsilon(part) for part in parts]
    cells = [
        (people, Row(people.name, name, epsilon, round(part * epsilon, 12), people.n, people.d, runs, seed))
        for people in datasets
        for part in shares
        for name in names
        for epsilon in budgets
    ]
    return _rows(cells, progress or (lambda _done, _total: None))


def _rows(cells: Sequence[tuple[Dataset, Row]], progress: Callable[[int, int], None]) -> Iterator[Row]:
    for done, (people, asked) in enumerate(cells, 1):
        budgets = asked.epsilon_first, asked.epsilon_forever
        try:
            yield _measured([_made(asked.method, k, *budgets) for k in people.ks], people, asked)
        except InvalidParameter as problem:
            yield replace(asked, refused=str(problem))
        progress(done, len(cells))


def _measured(parts: Sequence[Memoized], people: Dataset, asked: Row) -> Row:
    share = Sample(tuple(parts))
    labels = (asked.dataset, asked.method, asked.epsilon_forever, asked.epsilon_first)
    errors = measure_share(share, people.counts, asked.runs, numbers_from(asked.seed, "allomfree", *labels))
    return replace(
        asked,
        mse_avg=errors.projected.mean,
        mse_avg_stderr=errors.projected.stderr,
        mse_avg_raw=errors.unbiased.mean,
        mse_avg_raw_stderr=errors.unbiased.stderr,
        loss_record=share.loss("record"),
        loss_attribute=share.loss("attribute"),
        loss_forever=max(part.losses().one_value_forever for part in parts),
        direct=sum(isinstance(part.first, Direct) for part in parts),
    )


@lru_cache(maxsize=4096)
def _made(method: str, k: int, epsilon_first: float, epsilon_forever: float) -> Memoized:
    """The same numbers of values come up again and again, and exact budgets take a while to find."""
    return METHODS[method](k, epsilon_first, epsilon_forever)


def _best(calibration: Literal["exact", "published"]) -> Callable[[int, float, float], Memoized]:
    """What `allomfree` does for one attribute."""

    def make(k: int, epsilon_first: float, epsilon_forever: float) -> Memoized:
        direct = l_grr(k, epsilon_first, epsilon_forever, calibration)
        unary = _made("L-OSUE", k, epsilon_first, epsilon_forever)
        return direct if direct.law.error(1, 0.0) <= unary.law.error(1, 0.0) else unary

    return make


METHODS: dict[str, Callable[[int, float, float], Memoized]] = {
    "L-SUE": l_sue,
    "L-OUE": l_oue,
    "L-OSUE": l_osue,
    "L-SOUE": l_soue,
    "ALLOMFREE": _best("published"),
    "ALLOMFREE-exact": _best("exact"),
}
"""The methods of the paper for one attribute of k values, and ALLOMFREE once more with all of its budget spent."""
