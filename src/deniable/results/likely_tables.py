"""Finds the most likely table of two questions, from all reports that hold one of them, or both."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from deniable.arrays import Array, Integers
from deniable.cross.likely import LikelyTable
from deniable.domain import Domain, Product
from deniable.errors import DeniableWarning, InvalidParameter
from deniable.explain.question_pairs import check_questions, find_margins
from deniable.mechanisms import Tally
from deniable.records import Faked, Records
from deniable.reports.reports import Tallies, records_of_round

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument

_MOST_SHOWN = 512  # cells of all questions together, where a page waits
_MOST_SEARCHED = 1 << 12
_TOTAL = 1e-3  # nats that all reports together may be from the best: far less than they scatter


class _Part(NamedTuple):
    """What the reports of one attribute say: the attribute's number, and its questions with their values."""

    attribute: int
    factors: tuple[tuple[str, Domain], ...]
    extras: int

    def holds(self, *names: str) -> bool:
        return set(names) <= {name for name, _ in self.factors}


def show_likely(document: PlanDocument, tallies: Tallies, of: str, by: str) -> LikelyTable | None:
    """From tallies, where these hold all that reports say; None where they do not, or a page cannot wait."""
    named = [one.names_value for one in document.mechanism.mechanisms]
    parts = [part for part in _list_parts(document) if named[part.attribute] or part.holds(of, by)]
    chosen = _choose(parts, of, by, _MOST_SHOWN)
    if chosen is None or _has_fakes(document) or not all(named[part.attribute] for part in chosen.parts):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeniableWarning)  # the gap is looked at below
        found = chosen.find(
            document, {part.attribute: tallies[document.names[part.attribute]] for part in parts}
        )
    return found if found.gap is not None and found.gap * tallies.n <= _TOTAL else None


def find_likely_table(document: PlanDocument, data: object, of: str, by: str, **options: Any) -> LikelyTable:
    """From reports, or from tallies that hold all that reports say."""
    check_questions(document, of, by)
    known = () if document.known is None else document.known.names
    if of in known or by in known:
        raise InvalidParameter(
            f"{(of if of in known else by)!r} is known, and its groups keep their sizes; the nearest "
            f"possible table is plan.cross(reports, {of!r}, by={by!r}).likely()"
        )
    if _has_fakes(document):
        raise InvalidParameter(
            "reports with fakes have one likelihood of all attributes: plan.mle(reports)['age x smoker']"
        )
    given: dict[int, Tally | Array]
    if isinstance(data, Tallies):
        given = {j: data[name] for j, name in enumerate(document.names)}
    else:
        records = Records.stack(list(records_of_round(data, document.id, document.table_form.rounds)))
        given = dict(enumerate(records.columns))
    chosen = _choose(list(_list_parts(document)), of, by, _MOST_SEARCHED)
    if chosen is None:
        raise InvalidParameter(
            f"no report holds both {of!r} and {by!r}; ask for both at once: together = [[{by!r}, {of!r}]]"
        )
    return chosen.find(document, given, **options)


def _has_fakes(document: PlanDocument) -> bool:
    return any(isinstance(member, Faked) for member, _, _ in document.mechanism.members)


def _list_parts(document: PlanDocument) -> Iterator[_Part]:
    for j, one in enumerate(document.attributes):
        if not one.is_plain:
            continue
        domain = one.domain
        factors = domain.factors if isinstance(domain, Product) else ((one.name, domain),)
        mechanism = document.mechanism.mechanisms[j]
        yield _Part(j, factors, mechanism.k - math.prod(factor.k for _, factor in factors))


def _choose(parts: list[_Part], of: str, by: str, most: int) -> _Joint | None:
    """Those that hold both questions, and others that share one, as long as all cells together are few."""
    held = [part for part in parts if part.holds(of, by)]
    if not held:
        return None
    if held[0].extras:  # people in no cell have no place in a table of more questions
        return _Joint((held[0],), held[0].factors, of, by)
    sharing = [part for part in parts if part not in held and (part.holds(of) or part.holds(by))]
    found: list[_Part] = []
    factors: dict[str, Domain] = {}
    for part in [*held, *sharing]:
        joined = factors | dict(part.factors)
        if part.extras or (found and math.prod(domain.k for domain in joined.values()) > most):
            continue
        found, factors = [*found, part], joined
    return _Joint(tuple(found), tuple(factors.items()), of, by)


@final
@dataclass(frozen=True)
class _Joint:
    """All cells of some questions, and the reports about some of them."""

    parts: tuple[_Part, ...]
    factors: tuple[tuple[str, Domain], ...]
    of: str
    by: str

    def find(self, document: PlanDocument, given: dict[int, Any], **options: Any) -> LikelyTable:
        from deniable.likelihood.tables import mle_tables

        found = mle_tables(
            [
                (document.mechanism.mechanisms[part.attribute], given[part.attribute], self._values_of(part))
                for part in self.parts
                if _count(given[part.attribute])
            ],
            **options,
        )
        rows, columns = find_margins(document, self.of, self.by)
        shape = tuple(domain.k for _, domain in self.factors)
        names = [name for name, _ in self.factors]
        cells = found.frequencies[: math.prod(shape)].reshape(shape)
        both = [names.index(self.by), names.index(self.of)]
        summed = cells.sum(axis=tuple(set(range(len(shape))) - set(both)))
        table = summed if both[0] < both[1] else summed.T
        return LikelyTable(rows.sums @ table @ columns.sums.T, "most likely", found.gap)

    def _values_of(self, part: _Part) -> Integers:
        """The value that reports of a part have for each cell of all questions; extras come last."""
        shape, names = [domain.k for _, domain in self.factors], [name for name, _ in self.factors]
        at = np.indices(shape).reshape(len(shape), -1)
        own = [at[names.index(name)] for name, _ in part.factors]
        values = np.ravel_multi_index(own, [domain.k for _, domain in part.factors])
        return np.concatenate([values, values.size + np.arange(part.extras)]).astype(np.int64)


def _count(data: Tally | Array) -> int:
    return data.n if isinstance(data, Tally) else len(data)
