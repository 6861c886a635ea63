"""Finds texts and codes in the reports of a store: something that an operator does, and that is logged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from deniable.collect.messages import TextLimit
from deniable.discovery import Discovery, Query
from deniable.errors import DeniableError, InvalidParameter
from deniable.explain.text_questions import UnlistedQuestion, list_unlisted
from deniable.formatting import format_count
from deniable.reports import Tallies
from deniable.results.discoveries import discover_values, find_question, read_query
from deniable.study import Plan

if TYPE_CHECKING:
    from deniable.frames import Show
    from deniable.store.access import Actor
    from deniable.store.store import Store


def find_values(
    store: Store, plan: Plan, number: int, query: Query, by: Actor, show: Show | None = None
) -> Discovery:
    """The values that many people have, from the reports of a round that are not scrubbed."""
    question = find_question(plan.document, query.name)
    scrubbed = sum(stored.scrubbed for stored in store.rounds(plan.id) if stored.number == number)
    counted = store.counted(plan.id, number)
    if scrubbed and scrubbed == counted:
        raise InvalidParameter(
            f"what all {counted:,} reports say is scrubbed, and text is found from the reports themselves"
        )
    where = f"of {question.name!r}, round {number}"
    what = "" if query.words is None else f", in a list of {format_count(len(query.words), 'word')}"
    try:
        read_query(plan.document, query)
    except DeniableError:
        store.access.log(by, "looked for values", plan.id, f"{where}{what}: refused")
        raise
    store.access.log(by, "looked for values", plan.id, where + what)
    discovered = discover_values(plan.document, store.reports(plan.id, number), query, show=show)
    if _is_search(question, query, discovered):
        store.access.log(by, "found values", plan.id, f"{where}, in {format_count(counted, 'report')}")
    if not scrubbed:
        return discovered
    gone = f"What {format_count(scrubbed, 'report')} said is scrubbed, and not looked at."
    return replace(discovered, notes=(*discovered.notes, gone))


def _is_search(question: UnlistedQuestion, query: Query, discovered: Discovery) -> bool:
    """Whether a look leaves nothing in the reports that the usual one would have shown.

    What a list does not have is still there, unless the question cannot be searched without one. So
    is what was hidden because more people, or surer counts, were asked for than usual.
    """
    usual = Query()
    is_whole = query.words is None or not question.is_searchable
    is_open = query.least <= usual.least or not discovered.hidden
    return is_whole and is_open and query.alpha >= usual.alpha


def list_limits(plan: Plan, tallies: Tallies) -> list[TextLimit]:
    """How common a value must be to be found, question by question, without a look at any report."""
    limits = []
    for name, question in list_unlisted(plan.document).items():
        parts = [tallies.tallies.get(plan.names[place]) for place in question.places]
        counts = [0 if tally is None else tally.n for tally in parts]
        limits.append(TextLimit(name, sum(counts), question.find_limit(counts)))
    return limits


def list_unfound(store: Store, plan: Plan, number: int | None = None) -> list[str]:
    """The questions of text and codes with reports, in one round or in any, that nobody has searched.

    A look that failed, that was for a list where there is a search, or that hid what the usual one shows,
    leaves what else the reports say. So do reports that came after it.
    """
    rounds = [stored for stored in store.rounds(plan.id) if number in (None, stored.number)]
    unscrubbed = {stored.number: stored.counted for stored in rounds if stored.counted > stored.scrubbed}
    logged = [action.detail for action in store.access.list_actions("found values", plan.id)]

    def is_unfound(question: UnlistedQuestion, round_number: int) -> bool:
        if _count_searched(logged, question.name, round_number) >= unscrubbed[round_number]:
            return False
        # mostly the first block has a report of the question
        blocks = (reports.records.columns for reports in store.reports(plan.id, round_number))
        return any(len(columns[place]) for columns in blocks for place in question.places)

    questions = list_unlisted(plan.document).items()
    return [name for name, question in questions if any(is_unfound(question, at) for at in unscrubbed)]


def _count_searched(logged: Sequence[str], name: str, number: int) -> int:
    """In how many reports of a round somebody has found the values of a question, by the log."""
    form = re.compile(re.escape(f"of {name!r}, round {number}, in ") + "([0-9,]+) reports?")
    counts = [matched[1] for detail in logged if (matched := form.fullmatch(detail))]
    return max((int(count.replace(",", "")) for count in counts), default=0)
