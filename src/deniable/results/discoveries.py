"""Finds the values of text and codes that many people have, from the reports of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.arrays import Array
from deniable.discovery import Decision, Discovery, Query, decide_listed, discover
from deniable.domain import Text, Unlisted
from deniable.domain.refusals import problem_of, refused_rows
from deniable.engines import Counted, gather_source, is_source
from deniable.errors import InvalidParameter, InvalidReport, InvalidValue, not_among
from deniable.exact import number
from deniable.explain.text_questions import UnlistedQuestion, list_unlisted
from deniable.formatting import shorten_names
from deniable.reports.reports import Tallies, records_of
from deniable.results.windows import describe_refused, refuse_foreign_table

if TYPE_CHECKING:
    from deniable.frames import Show
    from deniable.plan.document import PlanDocument


def read_query(document: PlanDocument, query: Query) -> tuple[UnlistedQuestion, PublicList | None]:
    """What a query asks for, by the plan. A wrong one is refused before any report is read."""
    question = find_question(document, query.name)
    number("alpha, the chance of any value that nobody has,", query.alpha, 0.0, 1.0)
    listed = None if query.words is None else PublicList.read(question, query.words)
    if listed is None and not question.is_searchable:
        raise InvalidParameter(
            f"{question.name!r} is reported without levels and has too many bits to search, so that only a "
            "public list can be looked up: words=[...], in the shell --words FILE"
        )
    return question, listed


def discover_values(
    document: PlanDocument, reports: object, query: Query, table: str | None = None, show: Show | None = None
) -> Discovery:
    """The values of one question that many people have, with shares and intervals."""
    question, listed = read_query(document, query)
    counted, sent = _gather(document, reports, table, question, show)
    counts = [len(reports_of_place) for reports_of_place in sent]
    if not sum(counts):
        raise InvalidParameter(f"there are no reports of {question.name!r} yet, so there is nothing to find")
    decided = _decide(question, sent, listed, query.alpha, show)
    lost = [f"{describe_refused(counted.refused)}."] if counted.refused else []
    return Discovery.of(
        decided,
        question.domain.name_code,
        people=counted.n,
        limit=question.find_limit(counts, query.alpha, None if listed is None else len(listed.codes)),
        least=query.least,
        notes=[*_list_notes(question, listed), *lost],
    )


def find_question(document: PlanDocument, name: str | None, shell: bool = False) -> UnlistedQuestion:
    """The question that is meant: the one of text or codes, or the one that is named."""
    known = list_unlisted(document)
    if not known:
        raise InvalidParameter(
            "no question of this plan is text or a code that nobody listed; "
            "plan.estimate(plan.tally(reports)) has the shares of all values"
        )
    if name is None:
        if len(known) > 1:
            first = next(iter(known))
            form = f"--name {first}" if shell else f"name={first!r}"
            raise InvalidParameter(
                f"several questions are text or codes that nobody listed ({', '.join(known)}): say which one "
                f"is meant, as {form}"
            )
        return next(iter(known.values()))
    if name not in known:
        raise InvalidParameter(not_among(name, "a question of text or codes that nobody listed", known))
    return known[name]


@final
@dataclass(frozen=True)
class PublicList:
    """The codes of a public list, each once, and what became of words that have no code of their own."""

    codes: tuple[int, ...]
    notes: tuple[str, ...]

    @staticmethod
    def read(question: UnlistedQuestion, listed: Sequence[Any]) -> PublicList:
        """What a list says; it is public, so that a word that is refused is shown, with its place."""
        if not listed:
            raise InvalidValue("a public list has at least one word")
        domain, name = question.domain, question.name
        bad = next(refused_rows(domain, listed, missing=True), None)
        if bad is not None:
            problem = problem_of(domain, listed[bad], name) or "there is no word"
            raise InvalidValue(f"word {bad + 1} of the list: {problem}")
        codes = domain.codes(listed, name).tolist()
        first: dict[int, object] = {}
        same = [
            f"{word} as {first[code]}"
            for word, code in zip(listed, codes, strict=True)
            if first.setdefault(code, word) != word
        ]
        notes = [_name_cut([str(word) for word in listed if domain.is_cut(word)], domain)]
        if same:
            notes.append(f"Words with one code count once: {shorten_names(list(dict.fromkeys(same)))}.")
        return PublicList(tuple(first), tuple(filter(None, notes)))


def _name_cut(words: Sequence[str], domain: Unlisted) -> str:
    if not words or not isinstance(domain, Text):
        return ""
    are = "word of the list is" if len(words) == 1 else "words of the list are"
    return f"{len(words):,} {are} cut to {domain.longest} letters: {shorten_names(words)}."


def _gather(
    document: PlanDocument, reports: object, table: str | None, question: UnlistedQuestion, show: Show | None
) -> tuple[Counted, list[Array]]:
    """What became of all rows, and the reports of each place of the question."""
    if is_source(reports):
        gathered, counted = gather_source(document.table_form, reports, question.places, table, show)
        refuse_foreign_table(document.table_form, [counted], reports, table)
        return counted, gathered
    if table is not None:
        raise InvalidParameter("table is for databases, and these are reports")
    if isinstance(reports, Tallies):
        raise InvalidReport(
            "tallies hold no text: values are found from the reports themselves, plan.discover(reports)"
        )
    people, blocks = 0, [[part.blank(0)] for part in question.mechanisms]
    for records in records_of(reports, document.id):
        people += records.n
        for place, columns in zip(question.places, blocks, strict=True):
            columns.append(records.columns[place])
    return Counted(people, (), {}), [np.concatenate(columns) for columns in blocks]


def _decide(
    question: UnlistedQuestion,
    sent: Sequence[Array],
    listed: PublicList | None,
    alpha: float,
    show: Show | None,
) -> Decision:
    pairs = list(zip(question.mechanisms, sent, strict=True))
    final = pairs[-1][0]
    if listed is None:
        return discover(pairs[:-1], pairs[-1], alpha=alpha, codes=question.domain, show=show)
    # a list that these reports did not choose: everybody who reported a whole code counts
    all_codes = np.concatenate([codes for part, codes in pairs if part == final])
    return decide_listed((final, all_codes), np.array(listed.codes, dtype=np.int64), alpha)


def _list_notes(question: UnlistedQuestion, listed: PublicList | None) -> list[str]:
    notes = []
    if listed is not None:
        notes.append("The list must not have been made from these reports: that errs more often.")
        notes += listed.notes
    if isinstance(question.domain, Text) and question.domain.cut:
        longest = question.domain.longest
        notes.append(f"Text was cut to {longest} letters: what has {longest} may be the beginning of more.")
    return notes
