"""Lists the pairs of questions that have a table, and says why others have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from shlex import quote
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Floats
from deniable.cross import Side, Source
from deniable.cross.spread import Supports
from deniable.domain import Domain, Product, Range
from deniable.domain.groups import list_groups
from deniable.errors import InvalidParameter, not_among
from deniable.explain.guesses import list_inclusions
from deniable.formatting import shorten_names
from deniable.plan.attribute import YES_NO, Attribute, list_questions

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument


def list_tables(document: PlanDocument) -> list[tuple[str, str]]:
    """Every pair of questions that reports hold together, as it was asked for."""
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for attribute in document.attributes:
        if isinstance(attribute.domain, Product):
            for pair in combinations(attribute.domain.names, 2):
                pairs.setdefault(frozenset(pair), pair)
    for of in list_grouped(document) if document.known is not None else ():
        for by in document.known_names:
            pairs.setdefault(frozenset((by, of)), (by, of))
    return list(pairs.values())


def list_grouped(document: PlanDocument) -> list[str]:
    """The questions, and options of questions, that have a table by known groups."""
    names: dict[str, None] = {}
    for j, attribute in enumerate(document.attributes):
        if is_grouped(document, attribute) and isinstance(document.mechanism.marginal(j), Supports):
            names |= dict.fromkeys(attribute.columns)
    return list(names)


def is_grouped(document: PlanDocument, attribute: Attribute) -> bool:
    """Whether an attribute may have a table by known groups; one that applies only to some is of these."""
    return attribute.answers is None and attribute.columns[0] not in document.levels


def point_to_tables(document: PlanDocument, shell: bool) -> str:
    """Which tables can be read, and how; empty where none can."""
    tables = list_tables(document)
    if not tables:
        return ""
    by, of = tables[0]
    how = f"result.cross({of!r}, by={by!r})"
    if shell:
        how = f"deniable cross ... --of {quote(of)} --by {quote(by)}"
    return f"tables of two answers ({how}): {shorten_names([f'{of} by {by}' for by, of in tables])}"


def point_to_table(document: PlanDocument, name: str) -> str:
    """How the shares of a question are read that is only in tables; empty where it is in none."""
    for by, of in list_tables(document):
        if name in (by, of):
            label = Margin.of(document, name).side.labels[0]
            read = f".total({label!r})" if name == of else f".base({label!r})"
            return (
                f"{name!r} is not reported by itself; the share of an answer among all people is "
                f"result.cross({of!r}, by={by!r}){read}"
            )
    return ""


def warn_random(document: PlanDocument) -> str | None:
    """That random values in the place of missing answers hide dependence; None where no table has them."""
    names = [
        attribute.name
        for attribute in document.attributes
        if document.missing_of(attribute) == "random"
        and (
            isinstance(attribute.domain, Product)
            or (document.known is not None and is_grouped(document, attribute))
        )
    ]
    if not names:
        return None
    return (
        f"A missing answer is a random value, also in tables ({shorten_names(names)}): these then show less "
        "dependence than there is, and no interval says how much less. Where people may skip questions, "
        'missing = "value" keeps them apart.'
    )


def check_questions(document: PlanDocument, of: str, by: str) -> None:
    """Refuse what is not two questions."""
    known = document.known_names
    options = [attribute.name for attribute in document.attributes if attribute.several is not None]
    questions = [*known, *list_questions(document.attributes), *options]
    for name in (of, by):
        if name not in questions:
            raise InvalidParameter(not_among(name, "a question", questions))
        if name in document.levels:
            raise InvalidParameter(
                f"{name!r} is reported in levels, and no report has one of its values beside another answer. "
                "For a table, give a range fewer values by a larger step; queries = 'values' asks without "
                "levels. Text is in no table"
            )
    if of == by:
        raise InvalidParameter(f"a table is of two questions, got {of!r} twice")
    if of in known and by in known:
        raise InvalidParameter(f"{of!r} and {by!r} are both known, so that no report is needed: count people")


def explain_ungrouped(document: PlanDocument, question: str) -> str:
    """Why a question has no table by known groups."""
    assert document.known is not None
    options = [attribute.name for attribute in document.attributes if attribute.several == question]
    if options:
        return (
            f"{question!r} asks for all that apply, and each of its options has a table by "
            f"{document.known.name!r}: {', '.join(map(repr, options))}"
        )
    if question in list_grouped(document):
        return f"there are no reports about {question!r} yet"
    return (
        f"{question!r} has no table by {document.known.name!r}: that takes reports of a question with a list "
        "of values, or with a range without distances"
    )


def find_read(document: PlanDocument, counted: Sequence[tuple[float, Source]], of: str, by: str) -> list[int]:
    """Which sources that hold both questions, each with its number of reports, a table is read from."""
    known = set(document.known_names)
    places = range(len(counted))
    if len(counted) < 2:
        return list(places)
    if are_of_same_people(document):  # a mean would count each person several times
        return [min(places, key=lambda i: counted[i][1].size)]
    if known & {of, by} or not all(source.is_complete for _, source in counted):
        # the sizes of known groups are no estimates that could be made to agree; and who answered all
        # questions of one table is not who answered all of another
        return [max(places, key=lambda i: (counted[i][0], counted[i][1].size))]
    return list(places)


def are_of_same_people(document: PlanDocument) -> bool:
    """Whether a report may be about several attributes that tables are read from, so that errors of these
    depend on each other: in splits, samples of several, and among fakes.
    """
    marginals = (document.mechanism.marginal(j) for j in range(len(document.attributes)))
    places = [j for j, law in enumerate(marginals) if isinstance(law, Supports)]
    if len(places) < 2:
        return False
    ways = list_inclusions(document, places)
    return ways is None or any(sum(inside) > 1 for _, inside in ways)


@final
@dataclass(frozen=True, eq=False)
class Margin:
    """One side of a table: all answers to a question, or groups of neighboring ones where there are many."""

    side: Side
    sums: Floats
    """The weights of answers in each row or column."""

    @staticmethod
    def of(document: PlanDocument, name: str) -> Margin:
        """The margin of a question, or of one option of it."""
        domain, text = find_domain(document, name), document.question_texts.get(name, "")
        groups = list_groups(domain)
        middles, no_mean = None, _say_no_mean(domain)
        if isinstance(domain, Range) and not (domain.open_low or domain.open_high):
            middles = np.array([(low + high) / 2 for low, high in pairwise(domain.edges)])
        if not groups:
            points = None if middles is None else tuple(middles.tolist())
            side = Side(name, domain.labels, points, no_mean, _find_within(domain, 1), text)
            return Margin(side, np.eye(domain.k))
        sums = np.zeros((len(groups), domain.k))
        for row, (_, values) in zip(sums, groups, strict=True):
            row[values] = 1.0
        points = None if middles is None else tuple((sums @ middles / sums.sum(axis=1)).tolist())
        within = _find_within(domain, max(values.size for _, values in groups))
        labels = tuple(label for label, _ in groups)
        return Margin(Side(name, labels, points, no_mean, within, text), sums)

    def spread(self, table: Floats) -> Floats:
        """A table of all answers, whose groups have these rows, spread evenly."""
        return np.asarray((self.sums / self.sums.sum(axis=1, keepdims=True)).T @ table)


def find_domain(document: PlanDocument, name: str) -> Domain:
    """The answers to a question, or to one option of it."""
    return document.domains.get(name, YES_NO)


def find_margins(document: PlanDocument, of: str, by: str) -> tuple[Margin, Margin]:
    """The rows and the columns of a table."""
    return Margin.of(document, by), Margin.of(document, of)


def sum_source(margins: tuple[Margin, Margin], source: Source, of: str, by: str) -> Floats:
    """The weights by which the values of a source are summed to the cells of a table."""
    return np.asarray(np.kron(margins[0].sums, margins[1].sums) @ source.sums((by, of)))


def _say_no_mean(domain: Domain) -> str:
    """Why the answers have no mean; empty where they have one."""
    if not isinstance(domain, Range):
        return "its answers are no numbers"
    if domain.open_low or domain.open_high:
        return "an end is open, so that it is not known where the people in the outermost bin are"
    return "its answers are months" if domain.unit == "month" else ""


def _find_within(domain: Domain, bins: int) -> float:
    """How far an answer may be from the middle of so many bins; a whole number is the middle of its own."""
    if not isinstance(domain, Range):
        return 0.0
    return (bins - 1) / 2 if domain.unit else bins * float(domain.step) / 2
