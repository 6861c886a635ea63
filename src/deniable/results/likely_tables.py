"""Finds the most likely table of two questions, from all reports that hold one of them, or both."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from deniable.arrays import Array, Integers
from deniable.cross.table import LikelyTable
from deniable.domain import Domain, Product
from deniable.errors import DeniableWarning, InvalidParameter
from deniable.explain.question_pairs import check_questions, find_margins
from deniable.mechanisms import Tally
from deniable.records import Records
from deniable.reports.reports import Tallies, records_of_round
from deniable.results.most_likely import has_fakes

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument

_MOST_SHOWN = 512  # cells of joined tables, where a page waits
_MOST_SEARCHED = 1 << 12


class _Part(NamedTuple):
    """What the reports of one attribute say: the attribute's number, and its questions with their values."""

    attribute: int
    factors: tuple[tuple[str, Domain], ...]
    extras: int

    def holds(self, *names: str) -> bool:
        return set(names) <= {name for name, _ in self.factors}


def show_likely_table(document: PlanDocument, tallies: Tallies, of: str, by: str) -> LikelyTable | None:
    """The most likely table, from tallies that hold all that reports say; None where they do not.

    Tables that share a question with it join while all cells are few, since a page waits.
    """
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
    """The most likely table of two questions, from reports, or from tallies that hold all that these say."""
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
        records = Records.stack(list(records_of_round(data, document)))
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

        parts = [part for part in self.parts if _count(reports[part.attribute])]
        mechanisms = [document.mechanism.mechanisms[part.attribute] for part in parts]
        outputs = [reports[part.attribute] for part in parts]
        values = map(self._values_of, parts)
        likelihood = mle_tables(list(zip(mechanisms, outputs, values, strict=True)), **options)
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
