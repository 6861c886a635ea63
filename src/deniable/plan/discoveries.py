"""Finds the values of text and codes that many people have, from the reports of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.arrays import Array
from deniable.discovery import Decision, Discovery, Query, decide_listed, discover
from deniable.domain import Text
from deniable.engines import gather_source, is_source
from deniable.errors import InvalidParameter, InvalidReport, InvalidValue, not_among
from deniable.exact import number
from deniable.plan.reports import Tallies, records_of
from deniable.plan.text_questions import UnlistedQuestion, list_unlisted
from deniable.records import Records

if TYPE_CHECKING:
    from deniable.plan.plan import Plan
    from deniable.tables import Show


def discover_values(
    plan: Plan, reports: object, query: Query, table: str | None = None, show: Show | None = None
) -> Discovery:
    """The values of one question that many people have, with shares and intervals."""
    question = find_question(plan, query.name)
    number("alpha, the chance of any value that nobody has,", query.alpha, 0.0, 1.0)
    listed = None if query.words is None else _read_words(question, query.words)
    if listed is None and not question.is_leveled:
        raise InvalidParameter(
            f"{question.name!r} is reported without levels, so that only a public list can be looked up: "
            "words=[...], in the shell --words FILE"
        )
    people, sent = _gather(plan, reports, table, question, show)
    counts = [len(some) for some in sent]
    if not sum(counts):
        raise InvalidParameter(f"there are no reports of {question.name!r} yet, so there is nothing to find")
    decided = _decide(question, sent, listed, query.alpha, show)
    return Discovery.of(
        decided,
        question.domain.name_code,
        people=people,
        limit=question.find_limit(counts, query.alpha, None if listed is None else len(listed)),
        least=query.least,
        notes=_list_notes(question, listed),
    )


def find_question(plan: Plan, name: str | None) -> UnlistedQuestion:
    """The question that is meant: the one of text or codes, or the one that is named."""
    known = list_unlisted(plan.content)
    if not known:
        raise InvalidParameter(
            "no question of this plan is text or a code that nobody listed; "
            "plan.estimate(plan.tally(reports)) has the shares of all values"
        )
    if name is None:
        if len(known) > 1:
            raise InvalidParameter(
                f"several questions are text or codes that nobody listed ({', '.join(known)}): say which one "
                f"is meant, as name={next(iter(known))!r}"
            )
        return next(iter(known.values()))
    if name not in known:
        raise InvalidParameter(not_among(name, "a question of text or codes that nobody listed", known))
    return known[name]


def _read_words(question: UnlistedQuestion, words: Sequence[Any]) -> list[int]:
    """The codes of a public list, each once."""
    codes = question.domain.encode(words, question.name).tolist() if words else []
    if not codes:
        raise InvalidValue("a public list has at least one word")
    return list(dict.fromkeys(codes))


def _gather(
    plan: Plan, reports: object, table: str | None, question: UnlistedQuestion, show: Show | None
) -> tuple[int, list[Array]]:
    """How many people reported anything, and the reports of each place of the question."""
    if is_source(reports):
        found, people = gather_source(plan.table_form, reports, question.places, table, show)
        return people, found
    if table is not None:
        raise InvalidParameter("table is for databases, and these are reports")
    people, blocks = 0, [[part.blank(0)] for part in question.mechanisms]
    for records in _records_of(plan, reports):
        people += records.n
        for place, some in zip(question.places, blocks, strict=True):
            some.append(records.columns[place])
    return people, [np.concatenate(some) for some in blocks]


def _records_of(plan: Plan, reports: object) -> Iterable[Records]:
    if isinstance(reports, Tallies):
        raise InvalidReport(
            "tallies hold no text: values are found from the reports themselves, plan.discover(reports)"
        )
    return records_of(reports, plan.id)


def _decide(
    question: UnlistedQuestion,
    sent: Sequence[Array],
    listed: Sequence[int] | None,
    alpha: float,
    show: Show | None,
) -> Decision:
    pairs = list(zip(question.mechanisms, sent, strict=True))
    final = pairs[-1][0]
    if listed is None:
        return discover(pairs[:-1], pairs[-1], alpha=alpha, possible=question.domain.are_possible, show=show)
    # a list that these reports did not choose: everybody who reported a whole code counts
    whole = np.concatenate([some for part, some in pairs if part == final])
    return decide_listed((final, whole), np.array(listed, dtype=np.int64), alpha)


def _list_notes(question: UnlistedQuestion, listed: Sequence[int] | None) -> list[str]:
    notes = []
    if listed is not None:
        notes.append("The list must not have been made from these reports: that errs more often.")
    if isinstance(question.domain, Text) and question.domain.cut:
        longest = question.domain.longest
        notes.append(f"Text was cut to {longest} letters: what has {longest} may be the beginning of more.")
    return notes
