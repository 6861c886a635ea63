"""Finds whose report it is: every target's reports against every record of a background table.

A record's score is the sum over the reports of ln Pr(report | the record's value), so that the best match is
the likeliest person. Reports on an answer that a client keeps are not independent: they count by what they
tell of it together. A part of a report with fakes is a sum over its attributes, and such parts multiply.
Matching on guesses, as published, gives a point for each attribute that was guessed as the record has it.
Ties are not broken: with `above` records that score more and `tied` ones that score as much, the own record
is among the first `top` with probability (top - above) / tied, which needs no draw.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.attack.inputs import Background, checked_numbers, coded_background, records_from, refuse_known
from deniable.attack.likelihoods import (
    Clue,
    Hidden,
    Source,
    clues,
    compute_real_ratios,
    hidden_in,
    likelihoods,
    make_pool,
    width,
)
from deniable.attack.results import Reidentification
from deniable.attack.sampling import estimate_marginals, sampled_attribute
from deniable.attack.values import guess_values
from deniable.errors import InvalidParameter, InvalidReport
from deniable.exact import whole_number
from deniable.likelihood.supports import compute_fake_likelihoods
from deniable.randomness.simulated import numbers_from
from deniable.records import Records
from deniable.study import Plan

Matching = Literal["support", "guess"]
Progress = Callable[[int, int], None]

_UNIT = 1 << 20  # scores are in parts of a nat: odds that differ by less than this count as equal
_AT_ONCE = 1 << 20  # numbers in the tables of the targets that are worked on together


def reidentify(
    plans: Sequence[Plan],
    reports: Sequence[object],
    background: object,
    top: int = 10,
    matching: Matching = "support",
    truth: npt.ArrayLike | None = None,
    targets: npt.ArrayLike | None = None,
    progress: Progress | None = None,
    seed: int = 1,
) -> Reidentification:
    """Counts the people an attacker finds in a background table by what they reported in several surveys.

    `plans` and `reports` are one per survey, of the same people in the same order. `background` is a table
    with a record per row and some of the attributes as columns (all: full knowledge; some: partial
    knowledge); row i is person i, or `truth` says which row is whose. A location may have two columns,
    `home.latitude` and `home.longitude`. Columns that are no attribute are left out; the result says by which
    `attributes` it matched. "support" scores records by all that the reports say, the real risk; "guess" by
    one guessed value per report, as published. `targets`, numbers of people, attacks only these.

    >>> import deniable as dn
    >>> plan = dn.Study({"town": list("abcdefgh")}, epsilon=6.0).plan(people=8)
    >>> people = {"town": list("abcdefgh")}
    >>> found = reidentify([plan], [plan.privatize(people, dn.seeded(1))], people, top=1)
    >>> found.blind(), found.success() > 0.8
    (0.125, True)
    """
    if matching not in ("support", "guess"):
        raise InvalidParameter(f"matching is on 'support' or on 'guess', got {matching!r}")
    for what, argument in (("plans", plans), ("reports", reports)):
        if not isinstance(argument, list | tuple):
            raise InvalidParameter(
                f"{what} are a list with one for each survey, got {type(argument).__name__}; put it in a list"
            )
    if not plans or len(plans) != len(reports):
        raise InvalidParameter(
            f"give one plan and one collection of reports per survey, got {len(plans)} and {len(reports)}"
        )
    for plan in plans:
        if isinstance(plan, Plan):  # others are refused as what they are
            refuse_known(plan)
    surveys = [records_from(plan, collection) for plan, collection in zip(plans, reports, strict=True)]
    n = surveys[0].n
    if any(survey.n != n for survey in surveys):
        raise InvalidReport(f"all surveys are of the same people, got {[survey.n for survey in surveys]}")
    names, columns, rows = coded_background(plans, background)
    if truth is None and columns.shape[1] < n:
        raise InvalidParameter(
            f"the background has {columns.shape[1]:,} rows, and {n:,} people reported: it must have a row "
            "for each of them, in the same order (others may follow), or truth= says which row is whose"
        )
    what = f"truth is the row of each of {n} people among {columns.shape[1]} records"
    true_records = checked_numbers(what, np.arange(n) if truth is None else truth, columns.shape[1])
    if true_records.size != n:
        raise InvalidParameter(f"{what}, got {true_records.size} numbers")
    what = f"targets are numbers of people, 0 to {n - 1}, at least one"
    whom = np.unique(checked_numbers(what, np.arange(n) if targets is None else targets, n))
    if not whom.size:
        raise InvalidParameter(f"{what}, got none")
    known = Background(names, columns, true_records, rows)
    return match_surveys(
        plans, surveys, known, whom, top=top, matching=matching, progress=progress, seed=seed
    )


def match_surveys(
    plans: Sequence[Plan],
    surveys: Sequence[Records],
    background: Background,
    whom: Integers,
    *,
    top: int = 10,
    matching: Matching = "support",
    progress: Progress | None = None,
    seed: int = 1,
) -> Reidentification:
    """Counts the people an attacker finds in a background whose values are numbers already."""
    pieces, kept, mixed = [], dict[tuple[str, int], list[Clue]](), list[_Mixed]()
    for survey, (plan, records) in enumerate(zip(plans, surveys, strict=True)):
        about = background.rows(survey, plan.names)
        if matching == "guess":
            draws = numbers_from(seed, "reidentify", survey)
            pieces += [
                Evidence(about[clue.attribute], clue, guess_values(clue.part, clue.reports, draws))
                for clue in _select_clues(plan, records)
                if about[clue.attribute] >= 0 and clue.who.size
            ]
            continue
        hidden = hidden_in(plan)
        mixed += [_Mixed.of(part, records, about, whom) for part in hidden]
        secret = {j for part in hidden for j in part.attributes}
        for clue in clues(plan, records):
            column = about[clue.attribute]
            if clue.attribute in secret or column < 0 or not clue.who.size:
                continue
            if plan.document.rounds is None:
                pieces.append(Evidence(column, clue))
            else:
                kept.setdefault((plan.id, column), []).append(clue)
    pieces += [_of_rounds(column, rounds) for (_, column), rounds in kept.items()]
    if mixed:
        ranking = _match_mixed(pieces, mixed, background, whom, top, progress)
    else:
        ranking = match(pieces, background.columns, background.true_records, whom, top, progress)
    return replace(ranking, attributes=tuple(background.names))


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """What some people's reports say of one column of the background: a clue, or guessed values, which count
    one each.
    """

    column: int
    clue: Clue
    guessed: Integers | None = None
    rounds: Sequence[Clue] = ()
    """Where clients keep a first answer: all reports on it, which tell it, and no more; then the clue says
    whose they are.
    """

    def scores(self, positions: Integers) -> npt.NDArray[np.int32]:
        """A row per report, a score per value, in parts of a nat or of a match."""
        if self.guessed is not None:
            return np.asarray(
                self.guessed[positions, None] == np.arange(width(self.clue.part)), dtype=np.int32
            )
        return np.asarray(np.rint(np.log(self.likelihoods(positions)) * _UNIT), dtype=np.int32)

    def likelihoods(self, positions: Integers) -> Floats:
        """How likely some of these people's reports are for each value, up to a factor of each person."""
        return (
            self._together(positions)
            if self.rounds
            else likelihoods(self.clue.part, self.clue.reports[positions])
        )

    def find(self, whom: Integers) -> tuple[Integers, Integers]:
        """Which of these people reported, and the positions of their reports."""
        position = np.searchsorted(self.clue.who, whom)
        position[position == self.clue.who.size] = 0
        there = np.flatnonzero(self.clue.who[position] == whom)
        return there, position[there]

    def _together(self, positions: Integers) -> Floats:
        whom = self.clue.who[positions]
        together = make_pool(self.clue.part, whom.size, memoized=True)
        for clue in self.rounds:
            position = np.minimum(np.searchsorted(clue.who, whom), clue.who.size - 1)
            there = np.flatnonzero(clue.who[position] == whom)
            together.add(there, clue.reports[position[there]])
        return together.table()


def _of_rounds(column: int, rounds: Sequence[Clue]) -> Evidence:
    """Combines all rounds of a plan about one column; those of one person are not independent."""
    who, first = np.unique(np.concatenate([clue.who for clue in rounds]), return_index=True)
    reports = np.concatenate([clue.reports for clue in rounds])[first]
    return Evidence(column, Clue(rounds[0].attribute, rounds[0].part, who, reports), rounds=rounds)


def _select_clues(plan: Source, records: Records) -> Iterator[Clue]:
    """The clues; among fakes, as published, only the attribute that is likeliest to be real."""
    best = dict[int, Integers]()
    for hidden in hidden_in(plan):
        real = sampled_attribute(hidden.mechanism, hidden.select(records)).attributes
        best |= {j: np.flatnonzero(real == j - hidden.first) for j in hidden.attributes}
    for clue in clues(plan, records):
        who = best.get(clue.attribute, clue.who)
        yield clue if who is clue.who else Clue(clue.attribute, clue.part, who, clue.reports[who])


def match(
    pieces: Sequence[Evidence],
    columns: Array,
    true_records: Integers,
    whom: Integers,
    top: int = 10,
    progress: Progress | None = None,
) -> Reidentification:
    """Ranks the targets `whom` against all records, in blocks on all cores."""
    from deniable.attack import loops

    above, tied = np.empty(whom.size, dtype=np.int64), np.empty(whom.size, dtype=np.int64)
    if not pieces:  # nobody reported what the background has: all records match as well
        return _make_ranking(
            np.zeros_like(above), np.full_like(tied, columns.shape[1]), columns.shape[1], top
        )
    widest = max(width(evidence.clue.part) for evidence in pieces)
    at_once = max(1, min(1024, _AT_ONCE // (len(pieces) * widest)))

    def work(start: int) -> int:
        block = slice(start, start + at_once)
        first, about, tables = _gather_clues(pieces, whom[block], widest)
        most = int(np.diff(first).max(initial=0)) * int(np.abs(tables).max(initial=0))
        if most > np.iinfo(np.int32).max:
            tables = tables.astype(np.int64)
        loops.rank_sums(columns, first, about, tables, true_records[whom[block]], above[block], tied[block])
        return len(whom[block])

    _in_blocks(work, range(0, whom.size, at_once), whom.size, progress)
    return _make_ranking(above, tied, columns.shape[1], top)


def _make_ranking(above: Integers, tied: Integers, records: int, top: int) -> Reidentification:
    assert (tied >= 1).all(), "a record matches as well as itself"
    return Reidentification(above, tied, records, whole_number("top", top, 1))


def _gather_clues(
    pieces: Sequence[Evidence], whom: Integers, widest: int
) -> tuple[Integers, Integers, npt.NDArray[np.int32]]:
    """The clues about some targets, one after the other, each with its scores by value."""
    rows, kinds, positions = [], [], []
    for kind, evidence in enumerate(pieces):
        there, position = evidence.find(whom)
        rows.append(there)
        kinds.append(np.full(there.size, kind))
        positions.append(position)
    row, which = np.concatenate(rows), np.concatenate(kinds)
    order = np.argsort(row, kind="stable")
    tables = np.zeros((row.size, widest), dtype=np.int32)
    rank = np.empty(row.size, dtype=np.int64)
    rank[order] = np.arange(row.size)
    start = 0
    for evidence, taken in zip(pieces, positions, strict=True):
        if taken.size:
            tables[rank[start : start + taken.size], : width(evidence.clue.part)] = evidence.scores(taken)
        start += taken.size
    about = np.array([evidence.column for evidence in pieces], dtype=np.int64)[which[order]]
    return np.searchsorted(row[order], np.arange(whom.size + 1)), about, tables


@final
@dataclass(frozen=True, eq=False)
class _Mixed:
    """A part of a survey's reports with fakes: how likely it is for a record is a sum over its attributes."""

    hidden: Hidden
    records: Records
    about: Sequence[int]
    """The column of each attribute in the background; -1 where it has none."""
    unknown: Floats
    """For each target, what the attributes that the background lacks add: their average."""

    @classmethod
    def of(cls, hidden: Hidden, records: Records, about: Sequence[int], whom: Integers) -> _Mixed:
        """The part of one survey's reports."""
        reports, columns = hidden.select(records), [about[j] for j in hidden.attributes]
        real = compute_real_ratios(hidden.mechanism, reports, estimate_marginals(hidden.mechanism, reports))
        absent = [j for j, column in enumerate(columns) if column < 0]
        return cls(hidden, reports, columns, real[absent][:, whom].sum(axis=0))

    @property
    def widest(self) -> int:
        """The largest number of values of an attribute."""
        return max(part.k for part in self.hidden.mechanism.mechanisms)

    def fill(self, tables: Floats, whom: Integers) -> None:
        """For these targets, how likely each value of each attribute is, against its fake."""
        for j, (fake, column) in enumerate(
            zip(self.hidden.mechanism.fakes, self.records.columns, strict=True)
        ):
            reports = column[whom]
            tables[:, j, : fake.part.k] = (
                likelihoods(fake.part, reports) / compute_fake_likelihoods(fake, reports)[:, None]
            )


def _match_mixed(
    pieces: Sequence[Evidence],
    mixed: Sequence[_Mixed],
    background: Background,
    whom: Integers,
    top: int,
    progress: Progress | None,
) -> Reidentification:
    """A record's score is a product: of a sum over attributes for each part with fakes, and of one factor for
    each attribute that is known to be real.
    """
    from deniable.attack import loops

    factors = len(mixed) + len(pieces)
    most = max(part.hidden.mechanism.d for part in mixed)
    widest = max([*(part.widest for part in mixed), *(width(evidence.clue.part) for evidence in pieces)])
    about = np.full((factors, most), -1, dtype=np.int64)
    fixed = np.zeros((whom.size, factors))
    for f, part in enumerate(mixed):
        about[f, : len(part.about)] = part.about
        fixed[:, f] = part.unknown
    for f, evidence in enumerate(pieces, len(mixed)):
        about[f, 0] = evidence.column
    above, tied = np.empty(whom.size, dtype=np.int64), np.empty(whom.size, dtype=np.int64)
    at_once, true_records = max(1, _AT_ONCE // (factors * most * widest)), background.true_records[whom]

    def work(start: int) -> int:
        block = slice(start, start + at_once)
        tables = np.zeros((len(whom[block]), factors, most, widest))
        for f, part in enumerate(mixed):
            part.fill(tables[:, f], whom[block])
        for f, evidence in enumerate(pieces, len(mixed)):
            there, positions = evidence.find(whom[block])
            tables[:, f, 0] = 1.0  # a person who did not report it says nothing of it
            tables[there, f, 0, : width(evidence.clue.part)] = evidence.likelihoods(positions)
        loops.rank_products(
            background.columns, about, tables, fixed[block], true_records[block], above[block], tied[block]
        )
        return len(whom[block])

    _in_blocks(work, range(0, whom.size, at_once), whom.size, progress)
    return _make_ranking(above, tied, background.records, top)


def _in_blocks(work: Callable[[int], int], starts: range, total: int, progress: Progress | None) -> None:
    """The first block compiles, then all cores take part."""
    done = 0
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        if len(starts):
            done += work(starts[0])
        for finished in pool.map(work, starts[1:]):
            done += finished
            if progress is not None:
                progress(done, total)
