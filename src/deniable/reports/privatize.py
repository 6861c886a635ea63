"""Makes reports of answers: encodes them as integers, draws what is missing, and privatizes records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.domain import NO_ANSWER, View, is_missing, people_of, refuse_missing, to_list
from deniable.domain.answer import BLANKS, composed, label_of
from deniable.domain.refusals import locate_refusal
from deniable.errors import InvalidParameter, InvalidValue, not_among
from deniable.exact import whole_number
from deniable.formatting import format_allowed
from deniable.frames import column_names, columns_of, split_locations
from deniable.plan.attribute import (
    NO_ANSWER_LABEL,
    NOT_APPLICABLE,
    YES_NO,
    Attribute,
    find_allowed,
    list_several,
)
from deniable.randomness import Words, checked_source
from deniable.randomness.words import PSEUDONYM, Rows
from deniable.records.sample import draw_attributes
from deniable.reports.reports import Reports

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument

_Mask = npt.NDArray[np.bool_]

SEPARATOR = ";"
"""Between the options in one cell of a table."""
NONE_OF_THESE = "none of these"
"""How a cell says that no option applies: an empty one is a missing answer."""


def privatize_answers(
    document: PlanDocument, answers: object, words: Words | None, people: object
) -> Reports:
    """One report for each row of a table of answers."""
    source = checked_source(words)
    if document.rounds is not None and not source.remember:
        raise InvalidParameter(
            "this plan asks again and again, so that every person's first answer must be kept; simulate "
            "that with dn.remembering(seed), or let each device answer"
        )
    codes = encode_answers(document, answers, None)
    ids = None if people is None else people_of(people, codes.shape[1])
    if document.table_form.rounds > 1 and source.round is not None:
        whole_number("round", source.round, 1, document.table_form.rounds)
    return make_reports(document, codes, source, ids, find_turns(document, codes.shape[1], source, ids))


def find_turns(
    document: PlanDocument, n: int, words: Words | None, people: Sequence[str] | None
) -> Integers | None:
    """The rows whose people answer in the round of the words; None where everybody does."""
    source = checked_source(words)
    if document.turns is None:
        return None
    if source.round is None:
        raise InvalidParameter(
            f"people answer in {document.turns} of {document.rounds} rounds: say which round this is, "
            "dn.remembering(seed, round=1)"
        )
    rows = source.rows(n, 0)
    turns = draw_turns(document, rows if people is None else rows.of(people))
    return np.flatnonzero((turns == source.round).any(axis=1))


def draw_turns(document: PlanDocument, rows: Rows) -> Integers:
    """The rounds in which each row's person answers, in order: those that its device has drawn for the plan,
    or all of them.
    """
    number = document.rounds or 1
    if document.turns is None:
        return np.tile(np.arange(1, number + 1), (rows.n, 1))
    words = rows.recall_label(document.id, "turns", document.turns)
    return np.sort(draw_attributes(words, number).astype(np.int64) + 1, axis=1)


def encode_answers(document: PlanDocument, answers: object, names: Collection[str] | None) -> Integers:
    """Answers as integers, a row for each attribute, and the known group last, where there is one."""
    attributes = [attribute for attribute in document.attributes if names is None or attribute.name in names]
    chosen = list(choose_columns(document, attributes, column_names(answers)))
    places = [name for name in document.locations if name in chosen]
    read = dict(zip(chosen, columns_of(answers, chosen, places), strict=True))
    codes = encode_columns(document, attributes, spread_columns(attributes, read))
    nothing = np.zeros_like(next(iter(codes.values())))
    rows = [codes.get(name, nothing) for name in document.names]
    if (known := document.known) is not None:
        groups = columns_of(answers, known.names)
        rows.append(known.codes(dict(zip(known.names, groups, strict=True))))
    return np.stack(rows)


def make_reports(
    document: PlanDocument,
    codes: Integers,
    words: Words | None,
    people: Sequence[str] | None,
    turns: Integers | None = None,
) -> Reports:
    """Reports of answers that are integers; where turns are given, those of these rows alone."""
    n, groups = codes.shape[1], None
    number = 1 if document.table_form.rounds == 1 else checked_source(words).round
    if document.known is not None and len(codes) > len(document.names):
        codes, groups = codes[:-1], codes[-1]
    rows = checked_source(words).rows(n, document.words).carry(document.strands)
    if people is not None:
        rows = rows.of(people)
    if turns is not None:
        rows, codes = rows.pick(turns), codes[:, turns]
        groups = None if groups is None else groups[turns]
    pseudonyms = None
    if document.linked and checked_source(words).remember:
        names = np.ascontiguousarray(rows.recall_label(document.id, "linked", 2).array())
        pseudonyms = names.astype("<u8", copy=False).view(PSEUDONYM)[:, 0]
    if document.draws:
        codes = codes.copy()
        for j, attribute in enumerate(document.attributes):
            absent = np.flatnonzero(codes[j] == NO_ANSWER)
            if absent.size:
                column = document.mechanism.words + j
                random_words = rows.pick(absent).columns(column, column + 1).recall().array()[:, 0]
                codes[j, absent] = attribute.domain.draw(random_words)
    rest = rows.columns(0, document.mechanism.words)
    encoded = document.mechanism.encode(np.ascontiguousarray(codes), rest)
    records = encoded if groups is None else replace(encoded, groups=groups)
    return Reports(document.id, records, number, pseudonyms)


def choose_columns(
    document: PlanDocument, attributes: Sequence[Attribute], there: Sequence[str]
) -> dict[str, Sequence[str]]:
    """The columns to read of a table that has these, each with the names of its values.

    A question with several options may have one column for all of them, and whether a question is answered
    needs none.
    """
    several = {name: options for name, options in list_several(attributes).items() if name in there}
    for name, options in several.items():
        twice = [attribute.name for attribute in options if attribute.name in there]
        if twice:
            raise InvalidValue(
                f"there is a column {name!r}, and also {twice[0]!r}; it must be one or the other: remove "
                "what is wrong"
            )
    columns: dict[str, Sequence[str]] = {}
    for attribute in attributes:
        if attribute.several in several:
            columns.setdefault(str(attribute.several), ())
        elif isinstance(attribute.domain, View):
            columns |= {
                name: (*domain.shown_labels, *document.extras(attribute))
                for name, domain in attribute.domain.factors
            }
        elif attribute.answers is None or attribute.name in there:
            columns[attribute.name] = document.labels_of(attribute)
    for name, domain in () if document.known is None else document.known.factors:
        columns[name] = domain.labels
    return columns


def list_unread(document: PlanDocument, header: Sequence[str], named: Collection[str | None]) -> list[str]:
    """The columns of a table that a plan does not ask for, and that are not named otherwise."""
    chosen = list(choose_columns(document, document.attributes, header))
    read = split_locations(chosen, header, document.locations)
    return [name for name in header if name not in read and name not in named]


def spread_columns(attributes: Sequence[Attribute], columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of attributes that are there, from those of questions."""
    spread = dict(columns)
    for name, options in list_several(attributes).items():
        if name in columns:
            spread |= split_options(name, options, columns[name])
    for attribute in attributes:
        if isinstance(attribute.domain, View) and all(name in columns for name in attribute.domain.names):
            spread[attribute.name] = {name: columns[name] for name in attribute.domain.names}
        if attribute.answers is not None and attribute.name not in spread and attribute.answers in spread:
            spread[attribute.name] = [
                "no" if lacks_answer(answer) else None if _is_skipped(answer) else "yes"
                for answer in to_list(spread[attribute.answers], attribute.answers)
            ]
    return spread


def lacks_answer(answer: object) -> bool:
    """Whether an answer is missing; a location is, where one of its pair is."""
    if isinstance(answer, list | tuple) and len(answer) == 2:
        return any(map(is_missing, answer))
    return is_missing(answer)


def split_options(name: str, options: Sequence[Attribute], column: object) -> dict[str, list[str | None]]:
    """A column of yes and no for each option, from lists of options or texts such as `tv;web`."""
    known = [option.option for option in options]
    rows, items = [], to_list(column, name)
    for item in items:
        try:
            rows.append(_read_options(item, known, name))
        except InvalidValue as problem:
            where = f"row {len(rows)}, counting from 0"
            refusal = f"{where}: the answer to {name!r} is not a list of its options ({', '.join(known)})"
            raise problem if len(items) == 1 else InvalidValue(refusal) from None
    columns: dict[str, list[str | None]] = {}
    for option in options:
        columns[option.name] = [
            row if row is None or isinstance(row, str) else "yes" if option.option in row else "no"
            for row in rows
        ]
    return columns


def _read_options(item: Any, known: Sequence[str], name: str) -> Sequence[str] | str | None:
    """The options that were chosen; None for no answer, and the text itself where it does not apply."""
    if _is_skipped(item):
        return NOT_APPLICABLE
    if isinstance(item, str) and item.strip(BLANKS) == NONE_OF_THESE:
        return []
    if isinstance(item, str) and item.strip(BLANKS):
        item = [part.strip(BLANKS) for part in item.split(SEPARATOR)]
    elif not isinstance(item, Iterable) or isinstance(item, str | bytes | Mapping):
        if not is_missing(item):
            raise InvalidValue(
                f"answers to {name!r} are a list of options ({', '.join(known)}), got {item!r}"
            )
        return None
    chosen = [composed(label_of(choice)) for choice in item]
    for choice in chosen:
        if choice not in known:
            raise InvalidValue(not_among(choice, f"an option of {name!r}", known))
    return chosen


def encode_columns(
    document: PlanDocument, attributes: Sequence[Attribute], columns: Mapping[str, Any]
) -> dict[str, Integers]:
    """Answers as integers, by attribute; -1 where an answer is to be drawn at random.

    What does not apply to a person is filled in. An answer that contradicts a condition is refused.
    """
    by_name = {attribute.name: attribute for attribute in attributes}
    encoded: dict[str, Integers] = {}
    read: dict[str, Integers] = {}
    for name in by_name:
        for attribute in reversed(_list_conditions(by_name, name)):
            if attribute.name not in encoded:
                encoded[attribute.name] = _encode_attribute(
                    document, attribute, columns[attribute.name], encoded, by_name, read
                )
    for name, options in list_several(attributes).items():
        allowed = find_allowed(options)
        if allowed is not None:
            _refuse_numbers(name, np.stack([encoded[option.name] for option in options]), allowed)
    return encoded


def _refuse_numbers(name: str, codes: Integers, allowed: range) -> None:
    """Refuse answers with too few or too many options; those that are missing or do not apply have none."""
    chosen = (codes == YES_NO.labels.index("yes")).sum(axis=0)
    is_answer = (codes >= 0).all(axis=0) & (codes < YES_NO.k).all(axis=0)
    wrong = is_answer & ((chosen < allowed[0]) | (chosen > allowed[-1]))
    if wrong.any():
        first = int(np.argmax(wrong))
        row = f"row {first}, counting from 0: " if chosen.size > 1 else ""
        raise InvalidValue(
            f"{row}answers to {name!r} choose {format_allowed(allowed)} of {len(codes)} options, got "
            f"{chosen[first]}; nothing was reported"
        )


def _list_conditions(by_name: Mapping[str, Attribute], name: str) -> list[Attribute]:
    """An attribute, and those that it depends on."""
    chain = [by_name[name]]
    while (condition := chain[-1].only_if) is not None:
        chain.append(by_name[condition.name])
    return chain


def _encode_attribute(
    document: PlanDocument,
    attribute: Attribute,
    column: Any,
    encoded: Mapping[str, Integers],
    by_name: Mapping[str, Attribute],
    read: dict[str, Integers],
) -> Integers:
    codes, skipped = read_codes(attribute, column, read)
    applies: _Mask = np.ones(codes.size, dtype=np.bool_)
    if attribute.only_if is not None:
        parent = by_name[attribute.only_if.name]
        values = [parent.domain.labels.index(value) for value in attribute.only_if.values]
        applies = np.isin(encoded[parent.name], values)
        if attribute.answers is not None:  # nobody says that what does not apply is not answered
            codes = np.where(~applies & (codes == YES_NO.labels.index("no")), NO_ANSWER, codes)
        _refuse_contradiction(attribute, codes, skipped, applies)
    if document.missing_of(attribute) == "refuse":
        leveled = attribute.domain.is_level  # where "no answer" is no value, either
        question = attribute.columns[0] if leveled else attribute.name
        refuse_missing(np.where(applies, codes, 0), question, document.has_no_answer and not leveled)
    codes = np.where(codes == NO_ANSWER, document.extra_code(attribute, NO_ANSWER_LABEL), codes)
    return np.where(applies, codes, document.extra_code(attribute, NOT_APPLICABLE))


def read_codes(
    attribute: Attribute, column: Any, read: dict[str, Integers] | None = None
) -> tuple[Integers, _Mask]:
    """The codes of the domain, -1 for a missing answer; and where it says that it does not apply.

    `read` keeps the codes of questions, which several levels or tables need.
    """
    kept: dict[str, Integers] = {} if read is None else read
    if isinstance(attribute.domain, View):
        for name, domain in attribute.domain.factors:
            if name not in kept:
                kept[name] = read_codes(Attribute(name, domain), column[name])[0]
        codes = attribute.domain.join([kept[name] for name in attribute.domain.names])
        return codes, np.zeros(codes.size, dtype=np.bool_)
    if attribute.name in kept and attribute.only_if is None:
        return kept[attribute.name], np.zeros(kept[attribute.name].size, dtype=np.bool_)
    skipped: _Mask = np.zeros(0, dtype=np.bool_)
    if attribute.only_if is not None:
        answers = to_list(column, attribute.name)
        skipped = np.array([_is_skipped(answer) for answer in answers], dtype=np.bool_)
        column = drop_skipped(attribute, answers) if skipped.any() else column
    try:
        codes = attribute.domain.codes(column, attribute.name)
    except InvalidValue as problem:
        raise locate_refusal(problem, attribute.domain, column, attribute.name) from None
    return codes, skipped if skipped.size else np.zeros(codes.size, dtype=np.bool_)


def drop_skipped(attribute: Attribute, answers: Sequence[Any]) -> Sequence[Any]:
    """The answers to an attribute; what says that it does not apply is none."""
    if attribute.only_if is None:
        return answers
    return [None if _is_skipped(answer) else answer for answer in answers]


def _is_skipped(answer: object) -> bool:
    return isinstance(answer, str) and answer == NOT_APPLICABLE


def _refuse_contradiction(attribute: Attribute, codes: Integers, skipped: _Mask, applies: _Mask) -> None:
    """Refuse an answer to what does not apply, and none to what does."""
    assert attribute.only_if is not None
    name, when = attribute.several or attribute.answers or attribute.name, attribute.only_if.describe()
    for wrong, text in (
        (
            ~applies & (codes != NO_ANSWER),
            f"{name!r} has an answer, but is asked only if {when}; leave it out",
        ),
        (applies & skipped, f"{name!r} is {NOT_APPLICABLE!r}, but it applies, since {when}; answer it"),
    ):
        if wrong.any():
            row = f"row {int(np.argmax(wrong))}, counting from 0: " if codes.size > 1 else ""
            raise InvalidValue(f"{row}{text}")


def settle_record(document: PlanDocument, answers: Mapping[str, Any]) -> dict[str, Any]:
    """Answers without those that do not apply to a person who gives them."""
    settled = dict(answers)
    for name in [name for name in settled if name in document.by_name]:
        chain = _list_conditions(document.by_name, name)
        for attribute, parent in pairwise(chain):
            if attribute.only_if is not None and answers.get(parent.name) not in attribute.only_if.values:
                settled[name] = None
    for attribute in document.attributes:
        # people who say that they did not answer have no answer, and the others have one
        if attribute.answers in settled and settled.get(attribute.name) is not None:
            settled[attribute.name] = "no" if settled[attribute.answers] is None else "yes"
    for options in list_several(document.attributes).values():
        _settle_options(options, settled)
    return settled


def _settle_options(options: Sequence[Attribute], settled: dict[str, Any]) -> None:
    """Choose as many options as people may: the first of too many, and the last beside too few."""
    allowed = find_allowed(options)
    names = [option.name for option in options]
    if allowed is None or any(settled.get(name) not in YES_NO.labels for name in names):
        return
    chosen = [name for name in names if settled[name] == "yes"][: allowed[-1]]
    rest = [name for name in reversed(names) if name not in chosen]
    chosen += rest[: max(allowed[0] - len(chosen), 0)]
    settled |= {name: "yes" if name in chosen else "no" for name in names}


def encode_alone(document: PlanDocument, attribute: Attribute, column: Any) -> Integers:
    """One attribute's answers without its conditions, as an analyst has them; -1 for what is not known."""
    codes, skipped = read_codes(attribute, column)
    codes = np.where(codes == NO_ANSWER, document.extra_code(attribute, NO_ANSWER_LABEL), codes)
    return np.where(skipped, document.extra_code(attribute, NOT_APPLICABLE), codes)
