"""The best guess of each answer from reports, with its posterior: from one collection, or averaged over
several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.attack.likelihoods import (
    HALVES,
    Part,
    Source,
    by_cell,
    by_value,
    clues,
    faked,
    likelihoods,
    names_of,
    parts_of,
    realness,
    records_from,
    share_of,
    width,
)
from deniable.attack.mixed import among_fakes
from deniable.attack.pooled import Pooled
from deniable.attack.priors import checked_priors
from deniable.attack.received import are_single
from deniable.attack.tables import LEVEL, Row, counted_share
from deniable.attack.truths import coded_truth
from deniable.errors import InvalidParameter, InvalidReport
from deniable.mechanisms import BLOCK
from deniable.metric import Averaged
from deniable.plan import Plan, Reports
from deniable.records import Faked, Records
from deniable.simulate.population import numbers_from
from deniable.tables import Backend, frame_of, frame_of_rows


@final
@dataclass(frozen=True, eq=False)
class Guesses:
    """An attacker's best guess of every answer of n people, and how likely it is to be right; a row per
    attribute.
    """

    names: tuple[str, ...]
    values: Integers
    """The guessed values by number, of a number 0 for the lower half of its range and 1 for the upper; ties
    are drawn.
    """
    posterior: Floats
    """How likely each guess is to be right, for who believes the prior."""
    labels: tuple[tuple[str, ...], ...] | None = None
    plan: Plan | None = field(default=None, repr=False)
    """Whose answers they are, so that a table of people can be compared with them."""

    @property
    def n(self) -> int:
        """The number of people."""
        return int(self.values.shape[1])

    @property
    def expected(self) -> dict[str, float]:
        """The mean posterior by attribute: how often the attacker expects to be right."""
        return dict(zip(self.names, self.posterior.mean(axis=1).tolist(), strict=True))

    def right(self, truth: object) -> dict[str, float]:
        """How often the guesses are right, by attribute, where the true answers are known.

        They are a table of people, as `plan.privatize` takes it; or numbers as in `values`, a row per person,
        as `share.privatize` takes them, or a row per attribute (a square table has a row per person); or of
        one attribute a list. A list is of answers if each of its entries is an answer, and otherwise of
        numbers as in `values`. Where it can be both, answers win: with the labels 1, 2 and 3 a list of ones
        says the first label, not the second, even if it is `values[0]`. A row per attribute, such as `values`
        or `values[:1]`, is always of numbers. A missing answer is never guessed.
        """
        true = coded_truth(truth, self.names, self.n, self.plan)
        return dict(zip(self.names, (self.values == true).mean(axis=1).tolist(), strict=True))

    def judged(self, truth: object, level: float = LEVEL, backend: Backend | None = None) -> Any:
        """The same as a dataframe, a row per attribute: how many were right, and the interval of their share
        at `level`.
        """
        return frame_of_rows(self.rows(truth, level, self.expected), backend)

    def rows(self, truth: object, level: float, expected: Mapping[str, float]) -> list[Row]:
        """The rows of it, with what the attacker expects of each attribute."""
        return [
            {"attribute": name, "n": self.n, "right": right, **counted_share(right * self.n, self.n, level)}
            | {"expected": expected[name]}
            for name, right in self.right(truth).items()
        ]

    def frame(self, backend: Backend | None = None) -> Any:
        """A row per person and attribute, as a dataframe of the library you already have."""
        d, n = self.values.shape
        guesses: list[object] = []
        for j, row in enumerate(self.values):
            guesses += row.tolist() if self.labels is None else [self.labels[j][v] for v in row]
        columns = {
            "person": np.tile(np.arange(n), d),
            "attribute": [name for name in self.names for _ in range(n)],
            "guess": guesses,
            "posterior": self.posterior.reshape(-1),
        }
        return frame_of(columns, backend)

    def __repr__(self) -> str:
        return f"<Guesses of {len(self.names)} attributes of {self.n:,} people>"


def guess(plan: Source, reports: object, prior: object = None, seed: int = 1) -> Guesses:
    """The best guess of every answer from one report each.

    Reports are what the plan or its file of them gives (`plan.privatize`, `plan.read_reports`), that file's
    path, or a list of those that clients send, as they are or as bytes; and for a share or a mechanism what
    it has made.

    The attacker knows the plan and believes `prior`: shares of the values by attribute, uniform unless given,
    the attributes being independent. An answer that is not in a report is guessed by the prior alone; among
    fakes, by how likely each attribute is to be the real one. Ties are drawn from the seed.

    >>> import deniable as dn
    >>> found = guess(dn.grr(k=3, epsilon=2.0), np.array([0, 2], dtype=np.uint8))
    >>> found.values.tolist(), found.posterior.round(3).tolist()
    ([[0, 2]], [[0.787, 0.787]])
    """
    records, believed = records_from(plan, reports), checked_priors(plan, prior)
    share = share_of(plan)
    values, posterior = _blind(believed, records.n, seed)
    real = realness(share, records, believed) if isinstance(share, Faked) else None
    for clue in clues(plan, records):
        j, draws = clue.attribute, numbers_from(seed, "guess", clue.attribute)
        beside = np.zeros(0) if real is None else real.sum(axis=0) - real[j]
        for who, table in clue.blocks():
            if isinstance(share, Faked):
                table /= faked(share.fakes[j], clue.reports[who])[:, None]
                table += beside[who, None]
            values[j, who], posterior[j, who] = _best(
                by_value(clue.part, table * by_cell(clue.part, believed[j])), draws
            )
    return Guesses(names_of(plan), values, posterior, _labels(plan), plan if isinstance(plan, Plan) else None)


def averaged(
    plan: Source, collections: Sequence[object], prior: object = None, memoized: bool = True, seed: int = 1
) -> Guesses:
    """The best guess from several collections of the same people, whose answers did not change: the averaging
    attack.

    Each collection is the reports of all people in the same order. A mechanism that keeps a first answer is
    attacked through it; with memoized=False, as if the client drew it anew each time. Others make fresh noise
    each time, which averages away. Among fakes, all ways in which the real attributes can have been drawn are
    summed over (up to 8 collections).
    """
    if are_single(collections):
        raise InvalidParameter(
            "collections are a list with the reports of each, got single reports; put those of each "
            "collection into a list of their own, such as [[first], [second]] for one person"
        )
    if isinstance(collections, Reports | Records | np.ndarray | str | Path | Mapping) or not isinstance(
        collections, Iterable
    ):
        raise InvalidParameter(
            "collections are a list with the reports of each, such as [first, second], got "
            f"{type(collections).__name__}; guess attacks a single one"
        )
    collections = list(collections)
    if not collections:
        raise InvalidParameter("give the reports of at least one collection")
    every = [records_from(plan, reports) for reports in collections]
    if len({records.n for records in every}) > 1:
        raise InvalidReport(f"all collections are of the same people, got {[records.n for records in every]}")
    believed, n = checked_priors(plan, prior), every[0].n
    values, posterior = _blind(believed, n, seed)
    share = share_of(plan)
    if isinstance(share, Faked):
        draws = numbers_from(seed, "guess among fakes")
        for j, who, table in among_fakes(share, every, believed):
            values[j, who], posterior[j, who] = _best(table, draws)
        return Guesses(
            names_of(plan), values, posterior, _labels(plan), plan if isinstance(plan, Plan) else None
        )
    for j, part in enumerate(parts_of(plan)):
        draws = numbers_from(seed, "guess", j)
        held, shares = [clues(plan, records)[j] for records in every], by_cell(part, believed[j])
        step = max(1, BLOCK // width(part))
        for start in range(0, n, step):
            together = Pooled(part, min(n, start + step) - start, memoized)
            for clue in held:
                low, high = np.searchsorted(clue.who, (start, start + step))
                together.add(clue.who[low:high] - start, clue.reports[low:high])
            reported = together.reported + start
            if reported.size:
                values[j, reported], posterior[j, reported] = _best(
                    by_value(part, together.table() * shares), draws
                )
    return Guesses(names_of(plan), values, posterior, _labels(plan), plan if isinstance(plan, Plan) else None)


def _blind(believed: Sequence[Floats], n: int, seed: int) -> tuple[Integers, Floats]:
    """Guesses without any report."""
    values, posterior = np.empty((len(believed), n), dtype=np.int64), np.empty((len(believed), n))
    for j, shares in enumerate(believed):
        likeliest = np.flatnonzero(shares >= shares.max() * (1 - 1e-12))
        values[j] = numbers_from(seed, "blind", j).choice(likeliest, n)
        posterior[j] = shares.max()
    return values, posterior


def _best(table: Floats, draws: np.random.Generator) -> tuple[Integers, Floats]:
    """The likeliest value of each row, ties drawn, and its share of the row."""
    top = table.max(axis=1, keepdims=True)
    ties = table >= top * (1 - 1e-12)
    single = np.argmax(ties, axis=1)
    several = np.flatnonzero(ties.sum(axis=1) > 1)
    single[several] = np.argmax(ties[several] * draws.random((several.size, table.shape[1])), axis=1)
    return single, top[:, 0] / table.sum(axis=1)


def _labels(source: Source) -> tuple[tuple[str, ...], ...] | None:
    if not isinstance(source, Plan):
        return None
    rows = zip(source.content.parts, source.labels.values(), strict=True)
    return tuple(HALVES if isinstance(part, Averaged) else labels for part, labels in rows)


def guessed_values(part: Part, reports: Array, draws: np.random.Generator) -> Integers:
    """One guess per report with nothing known beforehand, as the published attacks make them."""
    found = np.empty(len(reports), dtype=np.int64)
    step = max(1, BLOCK // width(part))
    for start in range(0, len(reports), step):
        some = slice(start, start + step)
        found[some] = _best(likelihoods(part, reports[some]), draws)[0]
    return found
