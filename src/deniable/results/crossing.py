"""Reads tables of two questions off the results of a plan: from all reports that hold both, made to agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, final

import numpy as np

from deniable.arrays import Floats
from deniable.cross import CrossTable, Source
from deniable.cross.counted import (
    Counted,
    Counts,
    SummedGroups,
    Supported,
    count_by_groups,
    count_of_groups,
    count_secret,
)
from deniable.cross.independence import Evidence
from deniable.cross.source import Agreed, agree
from deniable.cross.spread import GroupedReport, NamedPair, OneReport, Supports, TwoReports, fix_total
from deniable.cross.table import LikelyTable, Repeats
from deniable.cross.weighted import WeightedReport, WeightedRows, read_strata
from deniable.domain import Categories, Range
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate, MeanEstimate
from deniable.estimate.consistency import nearest_with_total, simplex
from deniable.exact import number
from deniable.explain.question_pairs import (
    Margin,
    are_of_same_people,
    check_questions,
    explain_ungrouped,
    find_margins,
    find_read,
    is_grouped,
    sum_source,
)
from deniable.law import Law, Moments
from deniable.mechanisms import Mechanism, Tally
from deniable.plan.attribute import Attribute
from deniable.plan.known_groups import Known
from deniable.records import Records
from deniable.records.near import Near
from deniable.results.likely_tables import show_likely_table

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument
    from deniable.results.estimates import Estimates

_BLOCK = 1 << 14  # reports whose supports are in memory at once


def cross_estimates(
    estimates: Estimates,
    of: str,
    by: str,
    level: float = 0.95,
    find_agreed: Callable[[], Sequence[Agreed]] | None = None,
) -> CrossTable:
    """The table of two questions, by all reports that hold both.

    `find_agreed` gives what `list_agreed` lists of these estimates, where it is known already.
    """
    document = estimates.document
    if document is None:
        raise InvalidParameter("this result does not know its plan; make it by plan.estimate(tallies)")
    check_questions(document, of, by)
    if estimates.plans:
        raise InvalidParameter("a table of two questions is of the reports to one plan, and these are joined")
    known = document.known_names
    if of in known or by in known:
        question, group = (of, by) if by in known else (by, of)
        sources = (
            list_group_sources(estimates, question)
            if estimates.weighting is None
            else list_weighted_rows(estimates, question, group)
        )
        agreed: Sequence[Agreed] = [Agreed(source, source.values) for source in sources]
    else:
        sources = []
        agreed = list_agreed(estimates) if find_agreed is None else find_agreed()
    if not any({of, by} <= set(source.source.names) for source in agreed):
        raise InvalidParameter(_explain_apart(document, estimates, of, by))
    table = _read_table(document, agreed, of, by, level)
    search: Callable[[], LikelyTable | None] | None = None
    if of in known or by in known:
        search = partial(_project_groups, table.cells, by in known)
    elif estimates.tallies is not None:
        search = partial(show_likely_table, document, estimates.tallies, of, by)
    table = replace(table, plan_id=estimates.plan_id, repeats=_find_repeats(estimates, of, by), search=search)
    return table if estimates.weighting is None else _note_weights(table, estimates, sources)


def _note_weights(table: CrossTable, estimates: Estimates, rows: Sequence[Source]) -> CrossTable:
    """Say of a table how groups were weighted, how good its rows are, and what to beware of."""
    assert estimates.document is not None
    assert estimates.weighting is not None
    weighted, pair = str(estimates.weighting.weights), {table.of.name, table.by.name}
    if rows:
        source = max(rows, key=lambda source: source.n)
        assert isinstance(source.spread, WeightedRows)
        effective = source.spread.effective
        if source.names[0] == table.by.name:
            effective = find_margins(estimates.document, table.of.name, table.by.name)[0].sums @ effective
        else:
            effective = np.full(table.by.size, effective.sum())
        cautions = source.spread.notes
    else:
        attributes = estimates.document.attributes
        names = [attribute.name for attribute in attributes if pair <= set(attribute.questions)]
        weighed = [part for name, part in estimates.weighting.attributes.items() if name in names]
        effective = np.full(table.by.size, sum(part.effective for part in weighed))
        cautions = tuple(text for part in weighed for text in (str(part), *part.warnings))
    return replace(table, weighted=weighted, cautions=cautions, effective=tuple(effective.tolist()))


def _project_groups(cells: Floats, by_row: bool) -> LikelyTable:
    """The nearest possible table whose known groups keep their sizes."""
    groups = cells if by_row else cells.T
    nearest = nearest_with_total(groups, groups.sum(axis=1, keepdims=True))
    return LikelyTable(nearest if by_row else nearest.T, "projected")


def _find_repeats(estimates: Estimates, of: str, by: str) -> Repeats:
    """How the errors of two rounds of a table go together."""
    assert estimates.document is not None
    document = estimates.document
    hidden = {of, by} - set(document.known_names)
    places = [j for j, attribute in enumerate(document.attributes) if hidden <= set(attribute.columns)]
    if not estimates.kept:
        return "fresh" if all(document.mechanism.chance_real(j) == 1 for j in places) else "once"
    if estimates.weighting is not None or any(document.mechanism.fake(j) is not None for j in places):
        # of weighted tables it is not known what is noise, and kept fakes may be against a row's share
        return "tied"
    return "tied" if any(estimates.kept[document.attributes[j].name] for j in places) else "apart"


def cross_reports(
    document: PlanDocument, blocks: Iterable[Records], of: str, by: str, level: float
) -> CrossTable:
    """The table of two questions that reports hold apart, from the reports themselves: each is two reports,
    whose noise is independent.
    """
    check_questions(document, of, by)
    known = document.known_names
    if of in known or by in known:
        raise InvalidParameter(explain_ungrouped(document, of if by in known else by))
    if document.mechanism.fake(0) is not None or not {of, by} <= set(document.names):
        raise InvalidParameter(_explain_separate_answers(document, of, by))
    places = [document.names.index(name) for name in (by, of)]
    pair = find_pair(document, *places)
    if pair is not None:
        return _cross_pair(document, blocks, places, pair, level)
    first, second = (document.mechanism.marginal(j) for j in places)
    if not isinstance(first, Law) or not isinstance(second, Law):
        raise InvalidParameter(f"{of!r} and {by!r} must be questions with values, each reported alone")
    if any(document.extras(document.attributes[j]) for j in places):
        raise InvalidParameter(
            f"{of!r} or {by!r} has values beside its answers (no answer, not applicable), of which a table "
            f"of separate reports knows nothing; ask for both at once: together = [[{by!r}, {of!r}]]"
        )
    n, alone, joint = 0, [np.zeros(law.k) for law in (first, second)], np.zeros((first.k, second.k))
    for records in blocks:
        for supports in _list_supports(records, places, [document.mechanism.mechanisms[j] for j in places]):
            n += len(supports[0])
            joint += supports[0].T @ supports[1]
            alone = [sums + support.sum(axis=0) for sums, support in zip(alone, supports, strict=True)]
    if not n:
        raise InvalidParameter(_explain_separate_answers(document, of, by))
    expected = np.add.outer(alone[0] * second.q, alone[1] * first.q) - n * first.q * second.q
    cells = (joint - expected) / (n * first.gain * second.gain)
    source = Source((by, of), cells.shape, n, fix_total(cells.ravel()), TwoReports(first, second))
    table = _read_table(document, agree([source]), of, by, level)
    again: Repeats = "fresh" if all(document.mechanism.chance_real(j) == 1 for j in places) else "once"
    if document.rounds is not None:
        again = "tied"
    return replace(table, plan_id=document.id, repeats=again)


def find_pair(document: PlanDocument, first: int, second: int) -> NamedPair | None:
    """How a near report names the answers to two attributes together; None where it is not about both."""
    for member, start, _ in document.mechanism.members:
        if isinstance(member, Near) and {first, second} <= set(range(start, start + member.d)):
            if not member.tells_pairs:
                raise InvalidParameter(
                    "a report names one option at most, so that it says nothing about two of them together; "
                    "with a larger epsilon it names more"
                )
            return NamedPair(member.pair_chances())
    return None


def _cross_pair(
    document: PlanDocument, blocks: Iterable[Records], places: Sequence[int], pair: NamedPair, level: float
) -> CrossTable:
    """The table of two answers that near reports name together."""
    counts = np.zeros((2, 2))
    for records in blocks:
        for supports in _list_supports(records, places, [document.mechanism.mechanisms[j] for j in places]):
            counts += supports[0].T @ supports[1]
    by, of = (document.names[j] for j in places)
    n = int(counts.sum())
    if not n:
        raise InvalidParameter(_explain_separate_answers(document, of, by))
    cells = counts.ravel() / n @ pair.inverse
    source = Source((by, of), (2, 2), n, fix_total(cells), pair)
    table = _read_table(document, agree([source]), of, by, level)
    return replace(table, plan_id=document.id, repeats="fresh")


def _list_supports(
    records: Records, places: Sequence[int], parts: Sequence[Mechanism]
) -> Iterator[list[Floats]]:
    """What reports that hold both attributes support, in blocks."""
    columns = [records.columns[j] for j in places]
    if records.reporters is not None:
        first, second = (records.reporters[j] for j in places)
        _, *shared = np.intersect1d(first, second, assume_unique=True, return_indices=True)
        columns = [column[at] for column, at in zip(columns, shared, strict=True)]
    for start in range(0, len(columns[0]), _BLOCK):
        blocks = (column[start : start + _BLOCK] for column in columns)
        yield [part.support(block).astype(np.float64) for part, block in zip(parts, blocks, strict=True)]


class _Member(NamedTuple):
    """A source, its part of all reports, and the weights by which its values are summed to cells."""

    source: Source
    part: float
    sums: Floats


@final
@dataclass(frozen=True, eq=False)
class _Pool:
    """All sources that a table is read from: what they say of it together, and how that varies."""

    of: str
    by: str
    margins: tuple[Margin, Margin]
    n: int
    members: tuple[_Member, ...]

    @staticmethod
    def join(document: PlanDocument, sources: Sequence[Source], of: str, by: str) -> _Pool:
        """All reports of some sources, each of which holds both questions."""
        margins, n = find_margins(document, of, by), sum(source.n for source in sources)
        members = (_Member(source, source.n / n, sum_source(margins, source, of, by)) for source in sources)
        return _Pool(of, by, margins, n, tuple(members))

    def fix_sizes(self) -> _Pool:
        """The pool of the same reports whose known groups have fixed sizes, for tests."""
        fixed = (member._replace(source=_fix_sizes(member.source)) for member in self.members)
        return replace(self, members=tuple(fixed))

    @property
    def shape(self) -> tuple[int, int]:
        return self.margins[0].side.size, self.margins[1].side.size

    @property
    def cells(self) -> Floats:
        """What the reports themselves say of each cell, row by row."""
        return _add(part * (sums @ source.values) for source, part, sums in self.members)

    def covariance(self, table: Floats) -> Floats:
        """The covariance of the cells from one report, if this is the true table."""
        return _add(
            part * source.spread.covariance(self._expand(source, table), sums)
            for source, part, sums in self.members
        )

    def sampling(self, table: Floats) -> Floats:
        """The part of the covariance that is due to which people were sampled."""
        return _add(
            part * source.spread.sampling(self._expand(source, table), sums)
            for source, part, sums in self.members
        )

    def draw(self, table: Floats, runs: int, generator: np.random.Generator) -> Floats:
        """The cells of so many tables that reports would give, if this is the true one."""
        drawn_sums = _add(
            part * source.spread.draw(self._expand(source, table), source.n, runs, generator) @ sums.T
            for source, part, sums in self.members
        )
        return drawn_sums.reshape(runs, *self.shape)

    def count_supports(self, table: Floats) -> float:
        """The smallest expected number of reports that support a cell, if this is the true table."""
        sources = [source for source, _, _ in self.members]
        return min(source.spread.count_supports(self._expand(source, table), source.n) for source in sources)

    def _expand(self, source: Source, table: Floats) -> Floats:
        rows, columns = self.margins
        return source.expand((self.by, self.of), rows.spread(columns.spread(table.T).T))

    def gather_evidence(self, known_side: Literal["rows", "columns"]) -> Evidence:
        """What tests of dependence look at."""
        spreads = [source.spread for source, _, _ in self.members]
        has_groups = any(isinstance(spread, GroupedReport | WeightedRows) for spread in spreads)
        is_weighted = any(isinstance(spread, WeightedReport | WeightedRows) for spread in spreads)
        is_complete = all(source.is_complete for source, _, _ in self.members)
        return Evidence(
            cells=self.cells.reshape(self.shape),
            n=self.n,
            covariance=self.covariance,
            draw=self.draw,
            count_supports=self.count_supports,
            known=known_side if has_groups and is_complete else None,
            is_mixture=(is_complete or not has_groups) and not is_weighted,
        )


def _read_table(
    document: PlanDocument, agreed: Sequence[Agreed], of: str, by: str, level: float
) -> CrossTable:
    holding = [agreed_source for agreed_source in agreed if {of, by} <= set(agreed_source.source.names)]
    counted = [(agreed_source.source.n, agreed_source.source) for agreed_source in holding]
    chosen = [holding[i] for i in find_read(document, counted, of, by)]
    pool = _Pool.join(document, [agreed_source.source for agreed_source in chosen], of, by)
    reported = pool.cells
    # left as they were, sources tell different things
    if any(agreed_source.weights is None for agreed_source in chosen):
        cells = reported
        covariance = _add(part**2 * source.covariance(sums) for source, part, sums in pool.members)
    else:
        sums = pool.members[0].sums
        cells, covariance = sums @ chosen[0].values, chosen[0].covariance(sums)
    return CrossTable(
        by=pool.margins[0].side,
        of=pool.margins[1].side,
        n=pool.n,
        cells=cells.reshape(pool.shape),
        covariance=covariance,
        spread=pool.covariance,
        sampling=pool.sampling,
        # tests are of the reports themselves: what is borrowed from other tables is not independent of them
        own=reported.reshape(pool.shape),
        evidence=pool.fix_sizes().gather_evidence("rows" if by in document.known_names else "columns"),
        level=number("a confidence level", level, 0.0, 1.0),
        counted=_count_cells(document, chosen, pool),
    )


def _add(arrays: Iterable[Floats]) -> Floats:
    return np.asarray(sum(arrays))


def _fix_sizes(source: Source) -> Source:
    """A source whose known groups, if it has some, are of sizes that are no chance."""
    if not isinstance(source.spread, GroupedReport):
        return source
    values = source.spread.weigh_by_sizes(source.values)
    return replace(source, values=values, spread=replace(source.spread, naming=math.inf))


def _count_cells(document: PlanDocument, agreed: Sequence[Agreed], pool: _Pool) -> Counted:
    """The counts that a table is read from; none where several kinds of reports tell of it."""
    source, _, sums = pool.members[0]
    supported, known = source.supported, document.known
    if isinstance(source.spread, WeightedRows):
        return _count_weighted_rows(source, sums, pool)
    if len(agreed) > 1 or supported is None:
        return Counted()
    if isinstance(source.spread, GroupedReport) and known is not None:
        is_by_groups = pool.by in known.names
        at = known.names.index(pool.by if is_by_groups else pool.of)
        answers = np.indices(known.shape)[at].ravel()
        weights = pool.margins[0 if is_by_groups else 1].sums[:, answers]
        if is_by_groups:
            return count_by_groups(supported, sums, pool.shape, weights, source.spread.positions)
        return count_of_groups(supported, sums, pool.shape, weights)
    counted = count_secret(supported, sums, pool.shape)
    if agreed[0].weights is None:
        return counted
    # other tables tell more of rows and columns that are not rare
    sides = (side if side is not None and side.is_small else None for side in (counted.rows, counted.columns))
    return Counted(counted.cells, *sides)


def _count_weighted_rows(source: Source, sums: Floats, pool: _Pool) -> Counted:
    """The shares of each row's people by its estimate; none where rows are joined, or not complete."""
    assert isinstance(source.spread, WeightedRows)
    estimates = source.spread.estimates
    if pool.by != source.names[0] or not source.is_complete or pool.shape[0] != len(estimates):
        return Counted()
    first = source.spread.positions[0]
    counts, columns = source.spread.counts, [np.flatnonzero(row[first]) for row in sums[: pool.shape[1]]]
    sizes = None if counts is None else Counts(counts, np.full(counts.shape, counts.sum()))
    return Counted(SummedGroups(estimates, columns), sizes)


def list_agreed(estimates: Estimates) -> Sequence[Agreed]:
    """What the reports of each table, and those about one question, say after these were made to agree: what
    all tables are read from. Where they are of the same people, each stays as it is.
    """
    sources = list_sources(estimates)
    if estimates.document is not None and are_of_same_people(estimates.document):
        return [Agreed(source, source.values) for source in sources]
    return agree(sources)


def list_sources(estimates: Estimates) -> list[Source]:
    """What the reports of each table say, and those about one question alone."""
    assert estimates.document is not None
    sources = []
    for attribute in estimates.document.attributes:
        estimate = estimates.shares.get(attribute.name)
        # metric values are in no table
        if estimate is None or not attribute.is_plain:
            continue
        if estimates.weighting is not None and isinstance(estimate.law, Moments):
            strata = read_strata(estimate)
            if isinstance(strata.groups[0].law, Supports):
                values = strata.weighing.weights @ fix_total(strata.shares)
                report = WeightedReport.of(strata)
                sources.append(Source(attribute.columns, attribute.shape, estimate.n, values, report))
            continue
        if not isinstance(estimate.law, Supports):
            continue
        values = fix_total(estimate.frequencies)
        supported = Supported.of_estimate(estimate, estimate.law, estimate.k == attribute.domain.k)
        source = Source(attribute.columns, attribute.shape, estimate.n, values, OneReport(estimate.law))
        sources.append(replace(source, supported=supported))
    return sources


def list_group_sources(estimates: Estimates, question: str) -> list[Source]:
    """What reports about a question that is not known say of each known group."""
    assert estimates.document is not None
    document = estimates.document
    known = document.known
    assert known is not None
    sources = []
    for attribute in document.attributes:
        estimate = estimates.shares.get(attribute.name)
        if question not in attribute.columns or estimate is None or not is_grouped(document, attribute):
            continue
        if not isinstance(estimate.law, Supports):
            continue
        groups = () if estimates.tallies is None else estimates.tallies.groups
        if not groups:
            raise InvalidParameter(f"these tallies do not say which {known.name!r} reports are of")
        # a report names its group whatever it is about
        sizes = [sum(tally.n for tally in group.values()) / document.mechanism.reported for group in groups]
        tallies = [group[attribute.name] for group in groups]
        sources.append(join_groups(known, attribute, estimate.law, tallies, sizes))
    if not sources:
        raise InvalidParameter(explain_ungrouped(document, question))
    return sources


def list_weighted_rows(estimates: Estimates, question: str, group: str) -> list[Source]:
    """What reports about a question say of each answer to a known one: inside of it, all other questions that
    have weights are given the sizes that they have in the population.
    """
    document, weighting = estimates.document, estimates.weighting
    assert document is not None
    assert document.known is not None
    assert weighting is not None
    weights, axis = weighting.weights, document.known.names.index(group)
    domain, answers = document.known.factors[axis][1], np.indices(document.known.shape)[axis].ravel().tolist()
    counts = np.zeros(domain.k)
    for answer, tallies_of_group in zip(answers, weighting.groups, strict=True):
        counts[answer] += sum(tally.n for tally in tallies_of_group.values())
    sizes = weights.size_answers(group, counts)
    sources = []
    for j, attribute in enumerate(document.attributes):
        law = document.mechanism.marginal(j)
        if question not in attribute.columns or not is_grouped(document, attribute):
            continue
        if not isinstance(law, Supports):
            continue
        if attribute.name in estimates.unreported:
            raise InvalidParameter(f"{attribute.name!r}: {estimates.unreported[attribute.name].why}")
        read = partial(document.mechanism.mechanisms[j].estimated, law=law)
        tallies = [part[attribute.name] for part in weighting.groups]
        rows, notes = list[Estimate | None](), weights.explain_division(group)
        for code, label in enumerate(domain.labels):
            inside = [
                tally if answer == code else tally - tally
                for tally, answer in zip(tallies, answers, strict=True)
            ]
            try:
                nobody = not sum(tally.n for tally in inside)
                joined = None if nobody else weights.drop(group).join(inside, read)
            except InvalidParameter as problem:
                raise InvalidParameter(f"{attribute.name!r}, {group} = {label}: {problem}") from None
            estimate = None if joined is None else joined[0]
            assert not isinstance(estimate, MeanEstimate)
            rows.append(estimate)
            notes += [] if joined is None else [f"{group} = {label}: {text}" for text in joined[1].warnings]
        if any(rows):
            counted = None if group in weights.questions else counts
            spread = WeightedRows(tuple(rows), attribute.domain.k, counted, tuple(notes))
            sources.append(_join_rows(group, attribute, spread, sizes))
    if not sources:
        raise InvalidParameter(explain_ungrouped(document, question))
    return sources


def _join_rows(group: str, attribute: Attribute, spread: WeightedRows, sizes: Floats) -> Source:
    """The cells of rows that are known, each as large as it is among those that have reports."""
    rows = spread.estimates
    present = np.array([size if row else 0.0 for row, size in zip(rows, sizes, strict=True)])
    values = np.zeros(spread.positions.size)
    for row, size, position in zip(rows, present / present.sum(), spread.positions, strict=True):
        if row is not None:
            values[position] = size * fix_total(row.frequencies)
    return Source((group, *attribute.columns), (len(rows), *attribute.shape), spread.n, values, spread)


def join_groups(
    known: Known, attribute: Attribute, law: Supports, groups: Sequence[Tally], group_sizes: Sequence[float]
) -> Source:
    """The shares of an attribute's values in each known group, weighted by all reports that name it."""
    n = sum(tally.n for tally in groups)
    # a group without reports about the attribute has no share of anything
    everybody = sum(size for tally, size in zip(groups, group_sizes, strict=True) if tally.n)
    counted = tuple(tally.n for tally in groups)
    spread = GroupedReport(law, known.size, attribute.domain.k, max(everybody / max(n, 1), 1.0), counted)
    values, believed, counts, reports, blind = np.zeros((5, known.size * law.k))
    for tally, size, at in zip(groups, group_sizes, spread.positions, strict=True):
        if tally.n:
            about = tally.n if tally.asked is None else np.maximum(tally.asked, 1)
            shares = fix_total((tally.counts / about - law.q) / law.gain)
            values[at] = size / everybody * shares
            # at shares of few reports noise would be less than none
            believed[at] = size / everybody * (tally.n * simplex(shares) + 0.5) / (tally.n + law.k / 2)
            counts[at] = tally.counts
            reports[at] = tally.n if tally.asked is None else tally.asked
            blind[at] = reports[at] * law.q
    sizes = np.array([tally.n for tally in groups], dtype=np.float64)
    is_complete = law.k == attribute.domain.k
    supported = Supported(law, counts, reports, blind, is_complete, sizes, np.array(group_sizes))
    names, shape = (*known.names, *attribute.columns), (*known.shape, *attribute.shape)
    return Source(names, shape, n, values, spread, believed, supported)


def _explain_apart(document: PlanDocument, estimates: Estimates, of: str, by: str) -> str:
    """Why there is no table, and what to do."""
    holding = [attribute for attribute in document.attributes if {of, by} & set(attribute.questions)]
    waiting = [attribute.name for attribute in holding if attribute.name in estimates.unreported]
    if waiting and any({of, by} <= set(attribute.questions) for attribute in document.attributes):
        if estimates.weighting is not None:
            return f"{waiting[0]!r}: {estimates.unreported[waiting[0]].why}"
        return f"there are no reports about {waiting[0]!r} yet"
    if estimates.weighting is None and _holds_apart(document, of, by):
        return (
            f"tallies count {of!r} and {by!r} apart; the reports themselves hold both: "
            f"plan.cross(reports, {of!r}, by={by!r})"
        )
    return _explain_separate_answers(document, of, by)


def _holds_apart(document: PlanDocument, of: str, by: str) -> bool:
    """Whether a report holds real answers to both questions, each by itself, with values that are listed."""
    places = [document.names.index(name) for name in (of, by) if name in document.names]
    return (
        len(places) == 2
        and document.mechanism.reported > 1
        and document.mechanism.fake(0) is None
        and all(isinstance(document.mechanism.marginal(j), Law) for j in places)
        and all(document.parts[j].listed for j in places)
        and not any(document.extras(document.attributes[j]) for j in places)
    )


def _explain_separate_answers(document: PlanDocument, of: str, by: str) -> str:
    """Why reports that hold two answers apart, or only one of them, make no table."""
    names = [_name_question(document, name) for name in (by, of)]
    remedy = f"ask for both at once: together = [{names}]{_add_remedy(document, of, by)}"
    if document.mechanism.fake(0) is not None:
        content = "only one real answer"
    elif document.mechanism.reported == 1:
        content = "only one of the questions or tables"
    else:
        return f"a report holds {of!r} and {by!r} in different values, which are not read as one; {remedy}"
    return (
        f"a report holds {content}, so that no number of reports shows how {of!r} depends on {by!r}; {remedy}"
    )


def _name_question(document: PlanDocument, name: str) -> str:
    """The question that an attribute is of: that of an option, or of a level."""
    attribute = next((attribute for attribute in document.attributes if attribute.name == name), None)
    return name if attribute is None else attribute.several or attribute.questions[0]


def _add_remedy(document: PlanDocument, of: str, by: str) -> str:
    """What to ask in place of a question that is in no table."""
    for attribute, part in zip(document.attributes, document.parts, strict=True):
        if not {of, by} & {attribute.name, attribute.several, *attribute.questions}:
            continue
        name = _name_question(document, attribute.name)
        if attribute.several is not None:
            return f", with {name!r} as a yes/no question for each option"
        if attribute.only_if is not None:
            return f", with an answer of {name!r} for those to whom it does not apply"
        if part.metric or not isinstance(attribute.domain, Categories | Range):
            return f", with {name!r} as a list of values, or as a range with privacy = 'equal'"
    return ""
