"""Reads tables of two questions off the results of a plan: from all reports that hold both, made to agree."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.cross import CrossTable, Source
from deniable.cross.counted import Counted, Supported, count_by_groups, count_of_groups, count_secret
from deniable.cross.independence import Evidence
from deniable.cross.source import Agreed, agree
from deniable.cross.spread import GroupedReport, OneReport, Supports, TwoReports, fix_total
from deniable.cross.table import LikelyTable, Repeats
from deniable.domain import Domain, Product
from deniable.errors import DeniableWarning, InvalidParameter
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
from deniable.law import Law
from deniable.mechanisms import Mechanism, Tally
from deniable.plan.attribute import Attribute
from deniable.plan.known_groups import Known
from deniable.records import Records
from deniable.reports.reports import Tallies, records_of_round
from deniable.results.most_likely import has_fakes

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument
    from deniable.results.estimates import Estimates

_BLOCK = 1 << 14  # reports whose supports are in memory at once
_MOST_SHOWN = 512  # cells of all questions together, where a page waits
_MOST_SEARCHED = 1 << 12


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
    known = document.known_names
    if of in known or by in known:
        agreed: Sequence[Agreed] = _list_grouped(estimates, of, by)
    else:
        agreed = list_agreed(estimates) if find_agreed is None else find_agreed()
    if not any({of, by} <= set(source.source.names) for source in agreed):
        raise InvalidParameter(_explain_apart(document, estimates, of, by))
    table = _read_table(document, agreed, of, by, level)
    search: Callable[[], LikelyTable | None] = partial(_search, estimates, of, by)
    if of in known or by in known:
        search = partial(_project_groups, table.cells, by in known)
    return replace(table, plan_id=estimates.plan_id, repeats=_find_repeats(estimates, of, by), search=search)


def _project_groups(cells: Floats, by_row: bool) -> LikelyTable:
    """The nearest possible table whose known groups keep their sizes."""
    groups = cells if by_row else cells.T
    nearest = nearest_with_total(groups, groups.sum(axis=1, keepdims=True))
    return LikelyTable(nearest if by_row else nearest.T, "projected")


def _search(estimates: Estimates, of: str, by: str) -> LikelyTable | None:
    if estimates.document is None or estimates.tallies is None:
        return None
    return show_likely(estimates.document, estimates.tallies, of, by)


def _find_repeats(estimates: Estimates, of: str, by: str) -> Repeats:
    assert estimates.document is not None
    document = estimates.document
    hidden = {of, by} - set(document.known_names)
    places = [j for j, attribute in enumerate(document.attributes) if hidden <= set(attribute.columns)]
    if not estimates.kept:
        return "fresh" if all(document.mechanism.chance_real(j) == 1 for j in places) else "once"
    if any(document.mechanism.fake(j) is not None for j in places):
        return "tied"  # kept fakes are never against one value, but may be against a row's share
    return "apart" if all(estimates.kept[document.attributes[j].name] for j in places) else "tied"


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
        raise InvalidParameter(_explain_one(document, of, by))
    places = [document.names.index(name) for name in (by, of)]
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
        raise InvalidParameter(_explain_one(document, of, by))
    expected = np.add.outer(alone[0] * second.q, alone[1] * first.q) - n * first.q * second.q
    cells = (joint - expected) / (n * first.gain * second.gain)
    source = Source((by, of), cells.shape, n, fix_total(cells.ravel()), TwoReports(first, second))
    table = _read_table(document, agree([source]), of, by, level)
    again: Repeats = "fresh" if all(document.mechanism.chance_real(j) == 1 for j in places) else "once"
    if document.rounds is not None:
        again = "tied"
    return replace(table, plan_id=document.id, repeats=again)


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


def _read_table(
    document: PlanDocument, agreed: Sequence[Agreed], of: str, by: str, level: float
) -> CrossTable:
    holding = [agreed_source for agreed_source in agreed if {of, by} <= set(agreed_source.source.names)]
    counted = [(agreed_source.source.n, agreed_source.source) for agreed_source in holding]
    chosen = [holding[i] for i in find_read(document, counted, of, by)]
    margins = rows, columns = find_margins(document, of, by)

    def sum_of(source: Source) -> Floats:
        return sum_source(margins, source, of, by)

    # tests are of the reports themselves: what is borrowed from other tables is not independent of them
    sources = [agreed_source.source for agreed_source in chosen]
    n = sum(source.n for source in sources)
    raw = sum(source.n * (sum_of(source) @ source.values) for source in sources) / n
    shape = rows.side.size, columns.side.size
    # left as they were, sources tell different things
    if any(agreed_source.weights is None for agreed_source in chosen):
        cells = np.asarray(raw)
        covariance = np.asarray(
            sum((source.n / n) ** 2 * source.covariance(sum_of(source)) for source in sources)
        )
    else:
        sums = sum_of(chosen[0].source)
        cells, covariance = sums @ chosen[0].values, chosen[0].covariance(sums)

    def expand(source: Source, table: Floats) -> Floats:
        return source.expand((by, of), rows.spread(columns.spread(table.T).T))

    def spread(table: Floats, sampled: bool = False) -> Floats:
        covariance = np.zeros((table.size, table.size))
        for source in sources:
            vary = source.spread.sampling if sampled else source.spread.covariance
            covariance += source.n / n * vary(expand(source, table), sum_of(source))
        return covariance

    tested = [_fix_sizes(source) for source in sources]
    weights = [(source, source.n / n, sum_of(source)) for source in tested]

    def covariance_of(table: Floats) -> Floats:
        return _add(
            part * source.spread.covariance(expand(source, table), sums) for source, part, sums in weights
        )

    def draw(table: Floats, runs: int, generator: np.random.Generator) -> Floats:
        drawn_sums = _add(
            part * source.spread.draw(expand(source, table), source.n, runs, generator) @ sums.T
            for source, part, sums in weights
        )
        return drawn_sums.reshape(runs, *shape)

    def count_supports(table: Floats) -> float:
        return min(source.spread.count_supports(expand(source, table), source.n) for source, _, _ in weights)

    is_grouped = any(isinstance(source.spread, GroupedReport) for source in tested)
    is_complete = all(source.is_complete for source in tested)
    known = document.known_names
    known_side: Literal["rows", "columns"] = "rows" if by in known else "columns"
    evidence = Evidence(
        _add(part * (sums @ source.values) for source, part, sums in weights).reshape(shape),
        n,
        covariance_of,
        draw,
        count_supports,
        known_side if is_grouped and is_complete else None,
        is_complete or not is_grouped,
    )
    return CrossTable(
        rows.side,
        columns.side,
        n,
        cells.reshape(shape),
        covariance,
        spread,
        partial(spread, sampled=True),
        np.asarray(raw).reshape(shape),
        evidence,
        number("a confidence level", level, 0.0, 1.0),
        counted=_count_cells(document, chosen, margins, of, by),
    )


def _add(arrays: Iterable[Floats]) -> Floats:
    return np.asarray(sum(arrays))


def _fix_sizes(source: Source) -> Source:
    """What tests are of: where groups are known, their sizes are no chance."""
    if not isinstance(source.spread, GroupedReport):
        return source
    values = source.spread.weigh_by_sizes(source.values)
    return replace(source, values=values, spread=replace(source.spread, naming=math.inf))


def _count_cells(
    document: PlanDocument, agreed: Sequence[Agreed], margins: tuple[Margin, Margin], of: str, by: str
) -> Counted:
    """The counts that a table is read from; none where several kinds of reports tell of it."""
    source = agreed[0].source
    supported = source.supported
    if len(agreed) > 1 or supported is None:
        return Counted()
    shape = margins[0].side.size, margins[1].side.size
    sums, known = sum_source(margins, source, of, by), document.known
    if isinstance(source.spread, GroupedReport) and known is not None:
        at = known.names.index(by if by in known.names else of)
        answers = np.indices(known.shape)[at].ravel()
        weights = margins[0 if by in known.names else 1].sums[:, answers]
        if by in known.names:
            return count_by_groups(supported, sums, shape, weights, source.spread.positions)
        return count_of_groups(supported, sums, shape, weights)
    counted = count_secret(supported, sums, shape)
    if agreed[0].weights is None:
        return counted
    # other tables tell more of rows and columns that are not rare
    sides = (side if side is not None and side.is_small else None for side in (counted.rows, counted.columns))
    return Counted(counted.cells, *sides)


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
        if estimate is None or not attribute.is_plain:
            continue
        if not isinstance(estimate.law, Supports):  # metric values are in no table
            continue
        values = fix_total(estimate.frequencies)
        supported = Supported.of_estimate(estimate, estimate.law, estimate.k == attribute.domain.k)
        source = Source(attribute.columns, attribute.shape, estimate.n, values, OneReport(estimate.law))
        sources.append(replace(source, supported=supported))
    return sources


def _list_grouped(estimates: Estimates, of: str, by: str) -> list[Agreed]:
    """What reports about the question that is not known say of each known group."""
    assert estimates.document is not None
    document = estimates.document
    known = document.known
    assert known is not None
    question = of if by in known.names else by
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
    return [Agreed(source, source.values) for source in sources]


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
        return f"there are no reports about {waiting[0]!r} yet"
    apart = {of, by} <= {attribute.name for attribute in document.attributes}
    if apart and document.mechanism.reported > 1 and document.mechanism.fake(0) is None:
        return (
            f"tallies count {of!r} and {by!r} apart; the reports themselves hold both: "
            f"plan.cross(reports, {of!r}, by={by!r})"
        )
    return _explain_one(document, of, by)


def _explain_one(document: PlanDocument, of: str, by: str) -> str:
    """Why reports about one question at a time make no table."""
    remedy = f"ask for both at once: together = [[{by!r}, {of!r}]]{_add_remedy(document, of, by)}"
    if document.mechanism.fake(0) is not None:
        content = "only one real answer"
    elif document.mechanism.reported == 1:
        content = "only one of the questions or tables"
    else:
        return f"a report holds {of!r} and {by!r} in different values, which are not read as one; {remedy}"
    return (
        f"a report holds {content}, so that no number of reports shows how {of!r} depends on {by!r}; {remedy}"
    )


def _add_remedy(document: PlanDocument, of: str, by: str) -> str:
    """What to ask in place of a question that is in no table."""
    for attribute in document.attributes:
        if {of, by} & {attribute.name, attribute.several}:
            if attribute.several is not None:
                return f", with {attribute.several!r} as a yes/no question for each option"
            if attribute.only_if is not None:
                return f", with an answer of {attribute.name!r} for those to whom it does not apply"
    return ""


class _Part(NamedTuple):
    """What the reports of one attribute say: the attribute's number, and its questions with their values."""

    attribute: int
    factors: tuple[tuple[str, Domain], ...]
    extras: int

    def holds(self, *names: str) -> bool:
        return set(names) <= {name for name, _ in self.factors}


def show_likely(document: PlanDocument, tallies: Tallies, of: str, by: str) -> LikelyTable | None:
    """From tallies, where these hold all that reports say; None where they do not, or a page cannot wait."""
    from deniable.likelihood.certificate import NEGLIGIBLE_GAIN

    names_value = [mechanism.names_value for mechanism in document.mechanism.mechanisms]
    parts = [part for part in _list_parts(document) if names_value[part.attribute] or part.holds(of, by)]
    chosen = _choose(parts, of, by, _MOST_SHOWN)
    if chosen is None or has_fakes(document) or not all(names_value[part.attribute] for part in chosen.parts):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeniableWarning)  # the gap is looked at below
        table = chosen.find(
            document, {part.attribute: tallies[document.names[part.attribute]] for part in parts}
        )
    return table if table.gap is not None and table.gap * tallies.n <= NEGLIGIBLE_GAIN else None


def find_likely_table(document: PlanDocument, data: object, of: str, by: str, **options: Any) -> LikelyTable:
    """From reports, or from tallies that hold all that reports say."""
    check_questions(document, of, by)
    known = document.known_names
    if of in known or by in known:
        raise InvalidParameter(
            f"{(of if of in known else by)!r} is known, and its groups keep their sizes; the nearest "
            f"possible table is plan.cross(reports, {of!r}, by={by!r}).likely()"
        )
    if has_fakes(document):
        raise InvalidParameter(
            "reports with fakes have one likelihood of all attributes: plan.mle(reports) has tables by name"
        )
    reports: dict[int, Tally | Array]
    if isinstance(data, Tallies):
        reports = {j: data[name] for j, name in enumerate(document.names)}
    else:
        records = Records.stack(list(records_of_round(data, document.id, document.table_form.rounds)))
        reports = dict(enumerate(records.columns))
    chosen = _choose(list(_list_parts(document)), of, by, _MOST_SEARCHED)
    if chosen is None:
        raise InvalidParameter(
            f"no report holds both {of!r} and {by!r}; ask for both at once: together = [[{by!r}, {of!r}]]"
        )
    return chosen.find(document, reports, **options)


def _list_parts(document: PlanDocument) -> Iterator[_Part]:
    for j, attribute in enumerate(document.attributes):
        if not attribute.is_plain:
            continue
        domain = attribute.domain
        factors = domain.factors if isinstance(domain, Product) else ((attribute.name, domain),)
        mechanism = document.mechanism.mechanisms[j]
        yield _Part(j, factors, mechanism.k - math.prod(factor.k for _, factor in factors))


def _choose(parts: list[_Part], of: str, by: str, most: int) -> _Joint | None:
    """The parts that hold both questions, and others that share one, while all cells together are few."""
    holding = [part for part in parts if part.holds(of, by)]
    if not holding:
        return None
    if holding[0].extras:  # people in no cell have no place in a table of more questions
        return _Joint((holding[0],), holding[0].factors, of, by)
    sharing = [part for part in parts if part not in holding and (part.holds(of) or part.holds(by))]
    joined_parts: list[_Part] = []
    factors: dict[str, Domain] = {}
    for part in [*holding, *sharing]:
        joined = factors | dict(part.factors)
        if part.extras or (joined_parts and math.prod(domain.k for domain in joined.values()) > most):
            continue
        joined_parts, factors = [*joined_parts, part], joined
    return _Joint(tuple(joined_parts), tuple(factors.items()), of, by)


@final
@dataclass(frozen=True)
class _Joint:
    """All cells of some questions, and the reports about some of them."""

    parts: tuple[_Part, ...]
    factors: tuple[tuple[str, Domain], ...]
    of: str
    by: str

    def find(self, document: PlanDocument, reports: dict[int, Any], **options: Any) -> LikelyTable:
        from deniable.likelihood.fitting import mle_tables

        likelihood = mle_tables(
            [
                (
                    document.mechanism.mechanisms[part.attribute],
                    reports[part.attribute],
                    self._values_of(part),
                )
                for part in self.parts
                if _count(reports[part.attribute])
            ],
            **options,
        )
        rows, columns = find_margins(document, self.of, self.by)
        shape = tuple(domain.k for _, domain in self.factors)
        names = [name for name, _ in self.factors]
        cells = likelihood.frequencies[: math.prod(shape)].reshape(shape)
        axes = [names.index(self.by), names.index(self.of)]
        summed = cells.sum(axis=tuple(set(range(len(shape))) - set(axes)))
        table = summed if axes[0] < axes[1] else summed.T
        return LikelyTable(rows.sums @ table @ columns.sums.T, "most likely", likelihood.gap)

    def _values_of(self, part: _Part) -> Integers:
        """The value that reports of a part have for each cell of all questions; extras come last."""
        shape, names = [domain.k for _, domain in self.factors], [name for name, _ in self.factors]
        at = np.indices(shape).reshape(len(shape), -1)
        positions = [at[names.index(name)] for name, _ in part.factors]
        values = np.ravel_multi_index(positions, [domain.k for _, domain in part.factors])
        return np.concatenate([values, values.size + np.arange(part.extras)]).astype(np.int64)


def _count(data: Tally | Array) -> int:
    return data.n if isinstance(data, Tally) else len(data)
