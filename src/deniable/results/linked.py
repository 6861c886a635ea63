"""Compares two rounds person by person, where their reports are linked: by pseudonyms, or row by row.

Among people who answered both rounds, each is compared with himself: what a report errs by a person who
stayed the same is not in the change. So the interval holds for every mechanism, whatever people keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.cross import TableChange
from deniable.cross.counted import Counted
from deniable.domain.number import Number
from deniable.errors import InvalidParameter, InvalidReport
from deniable.estimate import Estimate, MeanEstimate
from deniable.estimate.intervals import student, tango
from deniable.explain.question_pairs import find_margins, sum_source
from deniable.formatting import format_count
from deniable.law import Moments
from deniable.mechanisms import Tally
from deniable.plan.document import PlanDocument
from deniable.randomness.words import Pseudonyms
from deniable.records import Records
from deniable.reports.reports import Reports, blocks_of_round, tally_reports
from deniable.results.change import AttributeChange, Change, Participation, compare_findings
from deniable.results.change_series import ChangeSeries
from deniable.results.crossing import cross_estimates, list_sources
from deniable.results.estimates import Estimates
from deniable.results.findings import Findings
from deniable.results.round_numbers import find_points
from deniable.results.unbiased import estimate_tallies

if TYPE_CHECKING:
    from deniable.store.store import Store

_BLOCK = 1 << 14  # people whose reports are in memory at once
_CELLS = 1 << 22  # of a table of people by values
_OUTPUTS = 1 << 10  # of a channel that is decoded one by one; of more, intervals hold for any dependence


@final
@dataclass(frozen=True, eq=False)
class Pairs:
    """The reports of people who answered both of two rounds: row i of both is one person's."""

    document: PlanDocument
    rounds: tuple[Records, Records]
    participation: Participation | None
    """Who answered; None where rows are taken to be the same people's."""

    def estimate(self) -> tuple[Estimates, Estimates]:
        """What these people answered in each round."""
        plan = self.document
        tallies = (tally_reports(plan, Reports(plan.id, records, 1)) for records in self.rounds)
        earlier, later = (estimate_tallies(plan, part, smooth=False) for part in tallies)
        return earlier, later


def pair_reports(document: PlanDocument, earlier: object, later: object) -> Pairs:
    """The reports of two rounds that are of the same people, by their pseudonyms, or row by row."""
    (before, first), (after, second) = (_gather(document, reports) for reports in (earlier, later))
    if first is None or second is None:
        if before.n != after.n:
            raise InvalidParameter(
                f"row i of both rounds is person i, and there are {before.n:,} and {after.n:,} rows; "
                "leave out who did not answer both times, or compare results: later.change(earlier), in the "
                "shell without --people linked"
            )
        return Pairs(document, _keep_common(before, after), None)
    _, rows, others = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    participation = Participation.of(len(rows), before.n, after.n)
    if not len(rows):
        raise InvalidParameter(f"nobody answered both rounds: {participation}")
    return Pairs(document, _keep_common(before.pick(rows), after.pick(others)), participation)


def _gather(document: PlanDocument, reports: object) -> tuple[Records, Pseudonyms | None]:
    """The reports of a round, and whose they are, where they say it."""
    blocks = list(blocks_of_round(reports, document))
    if not blocks:
        raise InvalidReport("there are no reports in one of the rounds")
    records = Records.stack([block.records for block in blocks])
    names = [block.people for block in blocks if block.people is not None]
    if len(names) < len(blocks):
        return records, None
    people = np.concatenate(names)
    if len(np.unique(people)) < len(people):
        raise InvalidReport(
            "an id is there twice in one round, which a collector counts once: leave out the second report"
        )
    return records, people


def _keep_common(earlier: Records, later: Records) -> tuple[Records, Records]:
    """The reports of attributes that both reports of a person hold, as devices that keep their draw do."""
    if earlier.reporters is None or later.reporters is None:
        return earlier, later
    pairs = list(zip(earlier.reporters, later.reporters, strict=True))
    if all(np.array_equal(who, others) for who, others in pairs):
        return earlier, later
    common = tuple(np.intersect1d(who, others, assume_unique=True) for who, others in pairs)
    return _hold(earlier, common), _hold(later, common)


def _hold(records: Records, common: tuple[Integers, ...]) -> Records:
    assert records.reporters is not None
    columns = zip(records.columns, records.reporters, common, strict=True)
    return replace(records, columns=tuple(c[np.isin(who, of)] for c, who, of in columns), reporters=common)


@final
@dataclass(frozen=True)
class Moves:
    """How the numbers of an attribute moved, person by person: the sum of what each moved and of its squares,
    and how many people came to a number and went from it.
    """

    n: Integers | int
    """The people whose reports are about each number."""
    total: Floats
    squares: Floats
    came: Integers
    went: Integers
    step: float | None = None
    """How much one who came moves a number; None where people move by various amounts."""

    def apply(self, change: AttributeChange, level: float) -> AttributeChange:
        """The change with the error and the interval that these moves give it."""
        n, tail = self.n, (1 - level) / 2
        scatter = np.maximum(self.squares - self.total**2 / n, 0.0) / np.maximum(n - 1, 1) / n
        stderr = np.where(n > 1, np.sqrt(scatter), np.inf)
        if self.step is not None:
            low, high = (end * self.step for end in tango(self.came, self.went, n, tail))
        else:
            reach = student(tail, int(np.min(n))) * stderr
            low, high = change.difference - reach, change.difference + reach
        return replace(change, stderr=stderr, low=low, high=high)


def compare_pairs(pairs: Pairs, level: float) -> Change:
    """The change of the people who answered both rounds, with intervals from each person's own change.

    A number that is not read person by person has an interval that holds whatever depends on each other.
    """
    earlier, later = pairs.estimate()
    change = compare_findings(earlier, later, level, "population")
    attributes, groups, means = dict(change.attributes), dict(change.groups), dict(change.means)
    findings = Findings(later, level)
    for j, (attribute, part) in enumerate(pairs.document.pairs):
        name = attribute.name
        if later.is_drawn(name) or not (name in later.shares or name in later.means):
            continue
        reader = _find_reader(pairs.document, j, later)
        if reader is None:
            continue
        if name in later.means:
            attributes[name] = _measure(pairs, j, reader, 1).apply(attributes[name], level)
            continue
        asked = later.shares[name].asked
        values = _measure(pairs, j, reader, part.k)
        values = values if asked is None else replace(values, n=asked)
        attributes[name] = values.apply(attributes[name], level)
        if name in groups and asked is None:
            members = [np.isin(np.arange(part.k), group.values) for group in findings.groups[name]]
            sums = np.array(members, dtype=np.float64).T
            moves = _measure(pairs, j, reader, len(members), (sums, sums))
            moves = moves if part.names_value else replace(moves, step=None)
            groups[name] = moves.apply(groups[name], level)
        if name in means and asked is None:
            before, after = float(means[name].earlier[0]), float(means[name].later[0])
            points = find_points(earlier, name, before)[:, None], find_points(later, name, after)[:, None]
            if np.isfinite(points).all():
                moves = replace(_measure(pairs, j, reader, 1, points), step=None)
                means[name] = moves.apply(means[name], level)
    return replace(
        change,
        attributes=attributes,
        groups=groups,
        means=means,
        people="linked",
        participation=pairs.participation,
        find_table=partial(cross_pairs, pairs, level=level),
    )


@final
@dataclass(frozen=True)
class _Reader:
    """What each report adds to the numbers of an attribute, but for what all reports add alike."""

    read: Callable[[Array], Floats]
    step: float | None
    """How much a report that supports a number adds to it; None where reports add various amounts."""


def _find_reader(document: PlanDocument, j: int, estimates: Estimates) -> _Reader | None:
    """The reader of an attribute; None where reports are of too many kinds to be read one by one."""
    part, attribute = document.parts[j], document.attributes[j]
    estimate = estimates.shares.get(attribute.name)
    if estimate is not None and not isinstance(estimate.law, Moments):
        gain = estimate.law.gain
        return _Reader(lambda reports: part.support(reports) / gain, 1 / gain)
    if part.tallied > _OUTPUTS:
        return None
    alone = [part.estimate(Tally(2, 2 * row)) for row in np.eye(part.tallied, dtype=np.int64)]
    if isinstance(attribute.domain, Number):
        half = (attribute.domain.high - attribute.domain.low) / 2
        numbers = np.array([[half * mean.mean] for mean in alone if isinstance(mean, MeanEstimate)])
        step = float(np.ptp(numbers)) if len(numbers) == 2 else None
    else:
        numbers = np.array([shares.frequencies for shares in alone if isinstance(shares, Estimate)])
        step = None
    return _Reader(lambda reports: numbers[reports], step)


def _measure(
    pairs: Pairs, j: int, reader: _Reader, count: int, weights: tuple[Floats, Floats] | None = None
) -> Moves:
    """How so many numbers moved: those that the reader reads, or sums of them by weights of each round."""
    earlier, later = (records.columns[j] for records in pairs.rounds)
    total, squares = np.zeros(count), np.zeros(count)
    came, went = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    block = max(1, _CELLS // pairs.document.parts[j].tallied)
    for start in range(0, len(earlier), block):
        before, after = (reader.read(reports[start : start + block]) for reports in (earlier, later))
        moved = after - before if weights is None else after @ weights[1] - before @ weights[0]
        total += moved.sum(axis=0)
        squares += (moved**2).sum(axis=0)
        came += (moved > 0).sum(axis=0)
        went += (moved < 0).sum(axis=0)
    return Moves(len(earlier), total, squares, came, went, reader.step)


def count_participation(store: Store, plan_id: str) -> dict[tuple[int, int], Participation]:
    """Who answered both of each two rounds that follow each other and have reports, by their numbers."""
    counted = [(stored.number, stored.counted) for stored in store.rounds(plan_id) if stored.counted]
    return {
        (since, number): Participation.of(store.count_shared(plan_id, since, number), n, others)
        for (since, n), (number, others) in pairwise(counted)
    }


def follow_pairs(document: PlanDocument, rounds: Mapping[int, object], level: float) -> ChangeSeries:
    """The change from the first of some rounds to each later one, each of those who answered both."""
    if len(rounds) < 2:
        raise InvalidParameter(
            f"a change takes two rounds at least, got {format_count(len(rounds), 'round')}"
        )
    (since, first), *others = sorted(rounds.items())
    first = list(blocks_of_round(first, document))
    return ChangeSeries(
        since,
        {number: compare_pairs(pair_reports(document, first, later), level) for number, later in others},
    )


def cross_pairs(pairs: Pairs, of: str, by: str, level: float) -> TableChange:
    """The change of a table, of the people who answered both rounds."""
    document = pairs.document
    if document.known is not None and {of, by} & set(document.known.names):
        raise InvalidParameter(
            f"a table by {document.known.name!r}, which is known, is compared from round to round by its "
            "results: later.change(earlier), in the shell without --people linked"
        )
    results, rounds = pairs.estimate(), pairs.rounds
    tables = [cross_estimates(estimates, of, by, level) for estimates in results]
    size = tables[0].own.size
    influences = [
        _list_influences(estimates, records, of, by, table.own.ravel())
        for estimates, records, table in zip(results, rounds, tables, strict=True)
    ]
    squares = np.zeros((2 * size, 2 * size))
    for blocks in zip(*influences, strict=True):
        moved = np.concatenate(blocks, axis=1)
        squares += moved.T @ moved
    before, after = (
        replace(
            table,
            cells=table.own,
            covariance=squares[start : start + size, start : start + size],
            counted=Counted(),
        )
        for table, start in zip(tables, (0, size), strict=True)
    )
    return TableChange(before, after, "linked", squares[:size, size:])


def _list_influences(
    estimates: Estimates, records: Records, of: str, by: str, cells: Floats
) -> Iterator[Floats]:
    """How much each person's report moves the cells, in blocks of people; nothing, where it has neither."""
    document = estimates.document
    assert document is not None
    margins = find_margins(document, of, by)
    columns = [attribute.columns for attribute in document.attributes]
    sources = []
    for source in list_sources(estimates):
        if {of, by} <= set(source.names):
            j, sums = columns.index(source.names), sum_source(margins, source, of, by)
            who = np.arange(records.n) if records.reporters is None else records.reporters[j]
            sources.append((j, who, sums, estimates.shares[document.names[j]].law.gain))
    n = sum(len(who) for _, who, _, _ in sources)
    for start in range(0, records.n, _BLOCK):
        influences = np.zeros((min(_BLOCK, records.n - start), cells.size))
        for j, who, sums, gain in sources:
            first, last = np.searchsorted(who, [start, start + _BLOCK])
            support = document.mechanism.mechanisms[j].support(records.columns[j][first:last])
            even = sums.mean(axis=1)
            # a total that is fixed takes from all cells alike, so that a report's blind supports cancel
            added = support.astype(np.float64) @ (sums - even[:, None]).T / gain
            influences[who[first:last] - start] += (added + even - cells) / n
        yield influences
