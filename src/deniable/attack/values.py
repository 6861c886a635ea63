"""Guesses each answer from reports, with its posterior."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.arrays import Array, Floats, Integers, list_blocks
from deniable.attack.inputs import checked_priors, coded_truth, records_from
from deniable.attack.likelihoods import (
    HALVES,
    Priors,
    Source,
    by_cell,
    by_value,
    clues,
    compute_real_ratios,
    hidden_in,
    likelihoods,
    names_of,
    width,
)
from deniable.attack.results import LEVEL, Columns, find_share_interval
from deniable.errors import InvalidParameter
from deniable.formatting import Printed, format_count, format_percent, format_table
from deniable.frames import Backend, frame_of, frame_of_rows
from deniable.likelihood.supports import compute_fake_likelihoods
from deniable.mechanisms import Mechanism
from deniable.mechanisms.base import BLOCK
from deniable.randomness.simulated import numbers_from
from deniable.records import Fake, Faked, Records
from deniable.study import Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, eq=False)
class ValueAttack(Printed):
    """An attacker's best guess of every answer of n people, and how likely it is to be right; a row per
    attribute.
    """

    names: tuple[str, ...]
    values: Integers
    """The guessed values by number, of a number 0 for the lower half of its range and 1 for the upper; ties
    are drawn.
    """
    posterior: Floats
    """How likely each guess is to be right, for an attacker who believes the prior."""
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
        as `mechanism.privatize` takes them, or a row per attribute (a square table has a row per person); or,
        for one attribute, a list. A list is of answers if each of its entries is an answer, and otherwise of
        numbers as in `values`. Where it can be both, answers win: with the labels 1, 2 and 3 a list of ones
        says the first label, not the second, even if it is `values[0]`. A row per attribute, such as `values`
        or `values[:1]`, is always of numbers. A missing answer is never guessed.
        """
        true = coded_truth(truth, self.names, self.n, self.plan)
        return dict(zip(self.names, (self.values == true).mean(axis=1).tolist(), strict=True))

    def judged(self, truth: object, level: float = LEVEL, backend: Backend | None = None) -> Any:
        """A dataframe with a row per attribute: how many guesses are right, and the interval of that share
        at `level`.
        """
        return frame_of_rows(self.rows(truth, level, self.expected), backend)

    def rows(self, truth: object, level: float, expected: Mapping[str, float]) -> list[Columns]:
        """The rows of it, with what the attacker expects of each attribute."""
        return [
            {"attribute": name, "n": self.n, "right": right}
            | find_share_interval(right * self.n, self.n, level)
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

    def __str__(self) -> str:
        title = f"best guesses of answers, {format_count(self.n, 'person')}"
        return "\n".join([title, *format_table(*self._table())])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """How often the attacker expects to be right about each answer."""
        return ["answer", "expected to be right"], [
            [name, format_percent(often)] for name, often in self.expected.items()
        ]

    def plot(self) -> Figure:
        """A figure of matplotlib: how often the attacker expects to be right about each answer."""
        from deniable.plot.charts import Bars, plot_bars

        expected = Bars(np.array(list(self.expected.values())))
        title = f"Best guesses of answers, {format_count(self.n, 'person')}"
        return plot_bars(self.names, [expected], title, "guesses that the attacker expects to be right")

    def __repr__(self) -> str:
        return f"<ValueAttack on {format_count(len(self.names), 'attribute')} of {self.n:,} people>"


def guess(plan: Source, reports: object, prior: object = None, seed: int = 1) -> ValueAttack:
    """Guesses every answer from one report each, as well as possible.

    Reports are what the plan or its file of them gives (`plan.privatize`, `plan.read_reports`), that file's
    path, or a list of those that clients send, as they are or as bytes. Reports of a mechanism are what it
    has made.

    The attacker knows the plan and believes `prior`: shares of the values by attribute, uniform unless given,
    the attributes being independent. An answer that is not in a report is guessed by the prior alone; among
    fakes, by how likely each attribute is to be the real one. Ties are drawn from the seed.

    >>> import deniable as dn
    >>> found = guess(dn.grr(k=3, epsilon=2.0), np.array([0, 2], dtype=np.uint8))
    >>> found.values.tolist(), found.posterior.round(3).tolist()
    ([[0, 2]], [[0.787, 0.787]])
    """
    records, believed = records_from(plan, reports), checked_priors(plan, prior)
    values, posterior = _blind(believed, records.n, seed)
    fakes, others = _weigh_fakes(plan, records, believed)
    for clue in clues(plan, records):
        j, draws = clue.attribute, numbers_from(seed, "guess", clue.attribute)
        for who, table in clue.blocks():
            if j in fakes:
                table /= compute_fake_likelihoods(fakes[j], clue.reports[who])[:, None]
                table += others[j][who, None]
            values[j, who], posterior[j, who] = _best(
                by_value(clue.part, table * by_cell(clue.part, believed[j])), draws
            )
    return ValueAttack(
        names_of(plan), values, posterior, _labels(plan), plan if isinstance(plan, Plan) else None
    )


def _weigh_fakes(
    plan: Source, records: Records, believed: Priors
) -> tuple[dict[int, Fake], dict[int, Floats]]:
    """By attribute, where which one is real is secret: its fake, and how likely the others are to be real."""
    fakes, others = dict[int, Fake](), dict[int, Floats]()
    for hidden in hidden_in(plan):
        real = compute_real_ratios(
            hidden.mechanism, hidden.select(records), [believed[j] for j in hidden.attributes]
        )
        total = real.sum(axis=0)
        for j, fake, ratio in zip(hidden.attributes, hidden.mechanism.fakes, real, strict=True):
            fakes[j], others[j] = fake, total - ratio
    return fakes, others


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
    rows = zip(source.document.parts, source.labels.values(), strict=True)
    return tuple(HALVES if part.numeric else labels for part, labels in rows)


def guess_values(part: Mechanism, reports: Array, draws: np.random.Generator) -> Integers:
    """One guess per report with nothing known beforehand, as the published attacks make them."""
    guesses = np.empty(len(reports), dtype=np.int64)
    for block in list_blocks(len(reports), BLOCK // width(part)):
        guesses[block] = _best(likelihoods(part, reports[block]), draws)[0]
    return guesses


MOST_COLLECTIONS = 8
_AT_ONCE = 1 << 21


def among_fakes(
    mechanism: Faked, collections: Sequence[Records], believed: Priors
) -> Iterator[tuple[int, Integers, Floats]]:
    """Yields how likely answers are by value, attribute by attribute and some people at a time."""
    times = len(collections)
    if times > MOST_COLLECTIONS:
        raise InvalidParameter(
            f"among fakes, up to {MOST_COLLECTIONS} collections are put together, got {times}"
        )
    step = max(1, _AT_ONCE // (sum(shares.size for shares in believed) << times))
    for start in range(0, collections[0].n, step):
        who = np.arange(start, min(collections[0].n, start + step))
        tables = [_by_sets(mechanism, j, collections, who) * shares for j, shares in enumerate(believed)]
        alone = [table.sum(axis=2) for table in tables]
        for j, table in enumerate(tables):
            others = reduce(_sum_splits, (sums for i, sums in enumerate(alone) if i != j))
            # the complement of set A is the last set minus A
            yield j, who, np.einsum("sn,snk->nk", others[::-1], table)


def _by_sets(mechanism: Faked, j: int, collections: Sequence[Records], who: Integers) -> Floats:
    """Computes, for every set of collections, how likely the reports of attribute j are by value."""
    fake, times = mechanism.fakes[j], len(collections)
    table = np.ones((1 << times, who.size, fake.part.k))
    for s, records in enumerate(collections):
        reports = records.columns[j][who]
        ratios = likelihoods(fake.part, reports) / compute_fake_likelihoods(fake, reports)[:, None]
        with_it = np.flatnonzero(np.arange(1 << times) >> s & 1)
        table[with_it] *= ratios
    return table


def _sum_splits(first: Floats, second: Floats) -> Floats:
    """Sums, for every set, over all ways to give a part of it to `first` and the rest to `second`."""
    sums = np.zeros_like(first)
    for union in range(len(first)):
        part = union
        while True:
            sums[union] += first[part] * second[union ^ part]
            if part == 0:
                break
            part = (part - 1) & union
    return sums
