"""Reads what attackers have and believe: reports in any form, background tables, true answers, and shares."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import NamedTuple, final
from warnings import warn

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.attack.likelihoods import (
    HALVES,
    Source,
    cells_of,
    guessed_of,
    mechanism_of,
    names_of,
    parts_of,
    values_of,
)
from deniable.domain import NO_ANSWER
from deniable.errors import (
    DeniableError,
    DeniableWarning,
    InvalidParameter,
    InvalidReport,
    InvalidValue,
    find_nearest,
    not_among,
)
from deniable.estimate import Estimate, MeanEstimate
from deniable.formatting import shorten_names
from deniable.frames import DEGREES, column_names, columns_of, is_table, split_locations
from deniable.law import checked_prior
from deniable.likelihood import Likelihood, mle
from deniable.mechanisms import Mechanism, Tally
from deniable.mechanisms.checks import integers
from deniable.metric import MetricMechanism
from deniable.records import RecordMechanism, Records, Sample, Single, Split
from deniable.records.single import as_record_mechanism
from deniable.reports import Reports, encode_alone, records_of
from deniable.study import Plan, Result
from deniable.wire import Wire
from deniable.wire.sent import are_sent, check_sent, peek_sent

_ROUNDED = 0.02  # shares that were rounded to two digits need not add up to one exactly
_WHOLE = 0.01  # how far a count that is computed back may be from a whole number
_NAMED = 5  # labels that a refusal names


def records_from(source: Source, reports: object) -> Records:
    """The reports of one collection, whatever they are kept in."""
    if _holds_records(reports) and not isinstance(reports, Records | Reports):
        raise InvalidReport(
            "these are answers, not reports: an attacker sees what plan.privatize(people) makes of them"
        )
    if isinstance(source, Plan):
        blocks = list(blocks_of(source, reports))
        if not blocks:
            raise InvalidReport("there are no reports to attack")
        return Records.stack(blocks)
    mechanism_of(source)
    if isinstance(reports, str | Path | Reports) or are_sent(reports):
        raise InvalidReport(
            f"these reports were made for a plan; attack that plan, not its {type(source).__name__}"
        )
    if isinstance(source, Mechanism):
        array = np.asarray(reports)
        source.tally(array)  # refuses what cannot have been sent
        return Records(len(array), (array,))
    if not isinstance(reports, Records) or len(reports.columns) != len(parts_of(source)):
        raise InvalidReport(
            "reports of a record mechanism are what it has made, m.privatize(table), got "
            f"{type(reports).__name__}"
        )
    return reports


def refuse_known(plan: Plan) -> None:
    """Refuse to look for people by a plan whose reports name groups: what is found would be too little."""
    if plan.document.known is not None:
        raise InvalidParameter(
            f"every report of this plan names {plan.document.known.name!r}, and whoever reads it looks only "
            "among people of that group; attack one group at a time, by the same plan without known groups, "
            "plan.with_known({}), and only the people of that group"
        )


def blocks_of(plan: Plan, reports: object) -> Iterator[Records]:
    """All reports, or blocks of them, which must have been made for this plan."""
    if isinstance(reports, str | Path):
        return (block.records for block in plan.read_reports(reports))
    sent, all_reports = peek_sent(reports)
    if sent is not None:
        wire = Wire(plan.document)
        return iter([wire.reports([check_sent(wire, report).body for report in sent]).records])
    return records_of(all_reports, plan.id)


_NEAR = 0.75
"""How alike a column's and an attribute's names are, by difflib, for the one to be taken for a slip of the
other.
"""


@final
@dataclass(frozen=True, eq=False)
class Background:
    """A table of people that reports are matched with, by number."""

    names: Sequence[str]
    """The attributes that it has."""
    columns: Array
    """Their values by number, a column per record: a row per attribute, or several where surveys number its
    values apart.
    """
    true_records: Integers
    """Which record is whose: one for each person who reported."""
    survey_rows: Sequence[Sequence[int]] | None = None
    """For each survey, the row of each of its attributes (-1: none); unless given, all of them go by the
    order of the names.
    """

    @property
    def records(self) -> int:
        """How many people are in it."""
        return int(self.columns.shape[1])

    def rows(self, survey: int, names: Sequence[str]) -> Sequence[int]:
        """Where the attributes of a survey are; -1 where they are not."""
        if self.survey_rows is not None:
            return self.survey_rows[survey]
        return [self.names.index(name) if name in self.names else -1 for name in names]


def checked_numbers(what: str, values: npt.ArrayLike, size: int) -> Integers:
    """Integers from 0 to size - 1."""
    try:
        numbers = integers(values, size)
    except DeniableError as problem:
        raise InvalidParameter(f"{what}: {str(problem).split(';')[0]}") from None
    wrong = numbers[(numbers < 0) | (numbers >= size)]
    if wrong.size:
        raise InvalidParameter(f"{what}, each from 0 to {size - 1}, got {wrong[0]}")
    return numbers.astype(np.int64)


def checked_truth(truth: npt.ArrayLike, n: int, names: Sequence[str]) -> Integers:
    """The attribute of each of n reports, by number or by name."""
    what = f"truth is the attribute of each of {n} reports"
    try:
        array = np.asarray(truth)
    except ValueError:
        raise InvalidParameter(f"{what}, in one list, got rows of different lengths") from None
    if array.dtype.kind == "U":
        truth = [_find_number(name, names) for name in array.ravel().tolist()]
    true = checked_numbers(what, truth, len(names))
    if true.size != n:
        raise InvalidParameter(f"{what}, got {true.size} numbers")
    return true


def _find_number(name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise InvalidParameter(not_among(name, "an attribute", names))
    return names.index(name)


def coded_background(plans: Sequence[Plan], background: object) -> tuple[list[str], Array, list[list[int]]]:
    """The attributes that the background has, its values by number, and for each plan the rows of its
    attributes (-1: none).

    A location may have two columns, as wherever people are read. Plans may number the values of an attribute
    differently, by other labels or steps: then it has a row for each way.
    """
    attributes = list(dict.fromkeys(name for plan in plans for name in plan.names))
    locations = {name for plan in plans for name in plan.locations}
    if not _holds_records(background):
        raise InvalidParameter(
            "a background is a dataframe, a dictionary of columns or a list of dictionaries, with a record "
            f"per row, got {type(background).__name__}"
        )
    there = column_names(background)
    names = _present(attributes, there, locations)
    for slip in misspelt(attributes, there, locations):
        warnings.warn(slip, DeniableWarning, stacklevel=3)  # the caller of reidentify
    if not names:
        raise InvalidParameter(
            f"the background has none of the attributes asked for: {', '.join(attributes)}"
        )
    answers = dict(zip(names, columns_of(background, names, locations), strict=True))
    coded: dict[object, Integers] = {}
    rows = []
    for plan in plans:
        rows.append([-1] * len(plan.names))
        for j, (attribute, part) in enumerate(
            zip(plan.document.attributes, plan.document.parts, strict=True)
        ):
            if attribute.name in answers:
                way = attribute, part.numeric, plan.document.extras(attribute)
                if way not in coded:
                    coded[way] = _numbers_of(plan, j, answers[attribute.name])
                rows[-1][j] = list(coded).index(way)
    columns = np.stack(list(coded.values()))
    if not columns.size:
        raise InvalidParameter("the background has no rows; give a table with a record per row")
    return names, compact(columns), rows


def encode_people(plan: Plan, people: object) -> Integers:
    """Answers of people by number, a row per attribute, from a table of them; -1 where there is none.

    Columns that are no attribute are left out, and an attribute without a column has no answers.
    """
    if isinstance(people, np.ndarray) and people.dtype.kind in "iu" and people.ndim == 2:
        if len(people) != len(plan.names):
            raise InvalidParameter(
                f"people as numbers have a row per attribute, as plan.encode makes them: {len(plan.names)} "
                f"rows, got {len(people)}"
            )
        return people.astype(np.int64)
    if not _holds_records(people):
        raise InvalidParameter(
            "people are a dataframe, a dictionary of columns or a list of dictionaries, with a column for "
            f"each attribute ({shorten_names(plan.names)}), got {type(people).__name__}"
        )
    there = column_names(people)
    names = _present(plan.names, there, plan.locations)
    for slip in misspelt(plan.names, there, plan.locations, "the table of people"):
        warnings.warn(slip, DeniableWarning, stacklevel=4)  # the caller of examine
    if not names:
        raise InvalidParameter(
            f"the table of people has none of the attributes {shorten_names(plan.names)}; its columns are "
            f"{shorten_names(list(map(str, there)))}"
        )
    answers = dict(zip(names, columns_of(people, names, plan.locations), strict=True))
    n = len(next(iter(answers.values())))
    codes = np.full((len(plan.names), n), NO_ANSWER, dtype=np.int64)
    for j, attribute in enumerate(plan.document.attributes):
        if attribute.name in answers:
            codes[j] = encode_alone(plan.document, attribute, answers[attribute.name])
    return codes


def _holds_records(people: object) -> bool:
    """Whether it is a dataframe, a dictionary of columns or a list of dictionaries."""
    first = people[0] if isinstance(people, list | tuple) and people else None
    return is_table(people) or isinstance(first, Mapping)


def _numbers_of(plan: Plan, j: int, answers: object) -> Integers:
    """The answers to an attribute as the values that its reports are compared with."""
    attribute, part = plan.document.attributes[j], plan.document.parts[j]
    codes = encode_alone(plan.document, attribute, answers)
    if (codes == NO_ANSWER).any():
        raise InvalidValue(
            f"the background has no {attribute.name!r} in some rows; fill them in, or leave the column out"
        )
    return cells_of(part, codes)


def misspelt(
    attributes: Sequence[str], there: Sequence[str], locations: Container[str], where: str = "the background"
) -> list[str]:
    """Lists warnings of columns that no plan asks for, whose names look like a slip of an attribute's name.

    Such a column is left out, and if it was meant to count, the risk would look smaller. A column whose name
    differs from an attribute's name by case and marks only is refused.
    """
    names = _present(attributes, there, locations)
    used = {column for name in names for column in split_locations([name], there, locations, where)}
    absent = [column for name in attributes if name not in names for column in _columns_for(name, locations)]
    plain = {_plain(name): name for name in absent if _plain(name)}
    slips = []
    for column in there:
        short = _plain(column)
        if column in used:
            continue
        if short in plain:
            raise InvalidValue(
                f"{where} has a column {column!r}, and none {plain[short]!r}, which is asked for; rename it, "
                "or leave it out of the table"
            )
        # question 1 is no slip of question 2
        alike = [name for name in plain if _digits(name) == _digits(short)]
        nearest = difflib.get_close_matches(short, alike, n=1, cutoff=_NEAR)
        if nearest:
            slips.append(
                f"the column {column!r} of {where} is left out: it is not an attribute that is asked for; "
                f"did you mean {plain[nearest[0]]!r}?"
            )
    return slips


def _present(attributes: Sequence[str], there: Sequence[str], locations: Container[str]) -> list[str]:
    """Lists the attributes that have a column in a table, or the two columns of a location."""
    return [
        name
        for name in attributes
        if any(column in there for column in split_locations([name], there, locations))
    ]


def _columns_for(name: str, locations: Container[str]) -> list[str]:
    """What the columns of an attribute may be called."""
    return [name, *(f"{name}.{degrees}" for degrees in DEGREES)] if name in locations else [name]


def _plain(name: object) -> str:
    return "".join(letter for letter in str(name).casefold() if letter.isalnum())


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def compact(columns: Array) -> Array:
    """The smallest numbers that hold the values: a background is read again for every target."""
    return np.ascontiguousarray(columns, dtype=np.uint8 if columns.max(initial=0) < 256 else np.uint32)


def coded_truth(truth: object, names: Sequence[str], n: int, plan: Plan | None) -> Integers:
    """Encodes the truth, a row per attribute: from people, a table of numbers, or one list."""
    if _holds_records(truth):
        return _check_rows(_encode_truth(truth, names, plan), len(names), n)
    try:
        array = np.asarray(truth)
    except ValueError:
        raise InvalidParameter(f"{_describe_truth(len(names), n)}, got rows of different lengths") from None
    if array.shape == (n,) and len(names) == 1:
        return _check_rows(array[None] if plan is None else _encode_list(truth, array, names, plan), 1, n)
    return _check_rows(array.T if array.shape == (n, len(names)) else array, len(names), n)


def _describe_truth(d: int, n: int) -> str:
    alone = f", or a list of {n}" if d == 1 else ""
    return (
        f"the truth is a table of people, or has a row of numbers per attribute, {d} rows of {n}, or per "
        f"person{alone}"
    )


def _check_rows(rows: Integers, d: int, n: int) -> Integers:
    if rows.shape != (d, n) or rows.dtype.kind not in "iub":
        raise InvalidParameter(f"{_describe_truth(d, n)}, got {rows.dtype} of shape {rows.shape}")
    return rows


def _encode_truth(people: object, names: Sequence[str], plan: Plan | None) -> Integers:
    """A table of people by number; of numbers, by the half of their range."""
    if plan is None:
        return np.stack([np.asarray(column) for column in columns_of(people, names)])
    rows = zip(plan.document.parts, plan.encode(people)[: len(plan.names)], strict=True)
    return np.stack([guessed_of(part, row) for part, row in rows])


def _encode_list(truth: object, array: Integers, names: Sequence[str], plan: Plan) -> Integers:
    """One attribute: answers wherever all can be, and otherwise numbers of values, -1 for no answer."""
    try:
        return _encode_truth({names[0]: truth}, names, plan)
    except InvalidValue:
        if array.dtype.kind in "iub" and ((array >= -1) & (array < values_of(plan.document.parts[0]))).all():
            return array[None]
        raise


def _refuse_unlisted(source: Source) -> None:
    """Refuse to guess among values that nobody listed: they are too many to weigh one by one."""
    for name, part in zip(names_of(source), parts_of(source), strict=True):
        if not part.listed:
            raise InvalidParameter(
                f"{name!r} is text or a code that nobody listed, with too many values to guess among; "
                "its loss bounds what any attacker learns, and a plan without it can be attacked"
            )


def checked_priors(source: Source, prior: object) -> list[Floats]:
    """What the attacker believes of each attribute beforehand: shares by name, or in order; uniform unless
    given.

    For one attribute, shares by value do. What was estimated, or is most likely, does for one attribute and
    for all.
    """
    _refuse_unlisted(source)
    parts, names = parts_of(source), names_of(source)
    if prior is None:
        return [_make_uniform(part) for part in parts]
    if isinstance(prior, Estimate | Likelihood) and len(parts) == 1:
        prior = {names[0]: prior}
    if isinstance(prior, str | bytes | set) or not isinstance(prior, Iterable):
        raise InvalidParameter(
            f"a prior is the shares of the values, {{{names[0]!r}: [0.5, ...]}} or a list by attribute, got "
            f"{prior!r}; leave it out for uniform ones"
        )
    priors: list[object]
    if isinstance(prior, Result):
        priors = _read_result(prior, names)
    elif (
        isinstance(prior, Mapping)
        and len(parts) == 1
        and prior
        and all(isinstance(share, Real) for share in prior.values())
    ):
        priors = [prior]
    elif isinstance(prior, Mapping):
        unknown = set(prior) - set(names)
        if unknown:
            raise InvalidParameter(
                f"{sorted(unknown, key=str)[0]!r} is not an attribute; they are {', '.join(names)}"
            )
        priors = [prior.get(name) for name in names]
    else:
        alone = len(parts) == 1 and np.ndim(prior) == 1  # type: ignore[arg-type]  # of anything
        priors = list(prior)
        if alone and not any(isinstance(belief, Estimate | Likelihood) for belief in priors):
            priors = [prior]
    if len(priors) != len(parts):
        raise InvalidParameter(f"there are {len(parts)} attributes, but {len(priors)} priors")
    rows = zip(parts, names, priors, strict=True)
    return [
        _make_uniform(part) if belief is None else _checked_shares(source, part, name, belief)
        for part, name, belief in rows
    ]


def _read_result(result: Result, names: Sequence[str]) -> list[object]:
    """Reads estimates by attribute; means say nothing of halves, so they become None (uniform)."""
    estimates: list[object] = [result.get(name) for name in names]
    if all(estimate is None for estimate in estimates):
        raise InvalidParameter(
            f"this result has none of the attributes {', '.join(names)}; it is of {', '.join(result)}"
        )
    return [None if isinstance(estimate, MeanEstimate) else estimate for estimate in estimates]


def _make_uniform(part: Mechanism) -> Floats:
    return np.full(values_of(part), 1 / values_of(part))


def _checked_shares(source: Source, part: Mechanism, name: str, prior: object) -> Floats:
    """Checks shares of values, in their order or by their labels, and says what is wrong."""
    whose = "the halves of its range" if part.numeric else "its values"
    what = f"a prior of {name!r} is {values_of(part)} shares of {whose} that add up to 1"
    if isinstance(prior, Estimate | Likelihood):
        shares = _read_estimate(part, name, prior) if isinstance(prior, Estimate) else prior.frequencies
        prior = shares if prior.labels is None else dict(zip(prior.labels, shares.tolist(), strict=True))
    if isinstance(prior, Mapping):
        prior = _by_label(labels_of(source, part, name), prior, what)
    try:
        shares = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{what}, got {prior!r}") from None
    if shares.shape != (values_of(part),):
        description = f"{shares.size} of them" if shares.ndim == 1 else repr(prior)
        raise InvalidParameter(f"{what}, got {description}")
    wrong = shares[~(np.isfinite(shares) & (shares >= 0))]
    if wrong.size:
        raise InvalidParameter(f"{what}, none below 0, got {wrong[0]:g} among them")
    if abs(shares.sum() - 1) > _ROUNDED:
        raise InvalidParameter(
            f"{what}, got shares that add up to {shares.sum():g}; divide them by their sum"
        )
    return checked_prior(shares, shares.size)


def _read_estimate(part: Mechanism, name: str, estimate: Estimate) -> Floats:
    """Reads the shares of an estimate, whose noise must not be taken for them.

    Unbiased shares of metric values scatter far more than what the same reports make likely; and
    shares that are negative are projected, which leaves the largest errors standing as spikes.
    """
    neighbored = part if isinstance(part, MetricMechanism) and part.shape else None
    counts = None if neighbored is None else _count_again(neighbored, estimate)
    if counts is not None:
        return mle(part, counts).smooth().frequencies
    if float(estimate.stderr.mean()) > 1 / estimate.k:
        instead = (
            f"give what is most likely instead, prior={{{name!r}: plan.mle(tallies, {name!r}).smooth()}}"
            if neighbored is not None
            else "give shares that are known better, or leave them out for uniform ones"
        )
        warn(
            f"the estimated shares of {name!r} are mostly noise (standard errors of "
            f"{estimate.stderr.mean():.2g} on average, and shares of {1 / estimate.k:.2g}): as a prior they "
            f"make the risk look higher than it is, and guesses worse; {instead}",
            DeniableWarning,
            stacklevel=2,
        )
    return estimate.project("simplex")


def _count_again(part: MetricMechanism, estimate: Estimate) -> Tally | None:
    """Counts the outputs behind these estimates, if this mechanism has one output a value."""
    if not part.outputs == part.k == estimate.k:
        return None
    counts = estimate.n * part.forward(estimate.frequencies)
    rounded = np.rint(counts)
    if np.abs(counts - rounded).max() > _WHOLE or rounded.min() < 0 or rounded.sum() != estimate.n:
        return None
    return Tally(estimate.n, rounded.astype(np.int64))


def _by_label(labels: Sequence[object], prior: Mapping[object, object], what: str) -> list[object]:
    unknown = [label for label in prior if label not in labels]
    if unknown:
        raise InvalidParameter(
            f"{what}, got one of {unknown[0]!r}, which is not among {_list_labels(labels, unknown[0])}"
        )
    absent = [label for label in labels if label not in prior]
    if absent:
        raise InvalidParameter(f"{what}, got none of {absent[0]!r}; give 0 where that is meant")
    return [prior[label] for label in labels]


def _list_labels(labels: Sequence[object], value: object) -> str:
    """All labels, or of many the first ones and the one that is nearest to what was given."""
    if len(labels) <= _NAMED:
        return ", ".join(map(repr, labels))
    called = list(map(str, labels))
    nearest = next((label for label in called if label.startswith(f"{value} ")), None)
    nearest = nearest or find_nearest(str(value), called)
    hint = "" if nearest is None else f"; did you mean {labels[called.index(nearest)]!r}?"
    return f"its {len(labels):,}: {', '.join(map(repr, labels[: _NAMED - 2]))}, ..., {labels[-1]!r}{hint}"


def labels_of(source: Source, part: Mechanism, name: str) -> Sequence[object]:
    """What the values that are guessed are called; those of a mechanism are numbers."""
    if part.numeric:
        return HALVES
    return source.labels[name] if isinstance(source, Plan) else range(part.k)


class Attackable(NamedTuple):
    """A plan without its text, the places of its attributes in the whole one, and what is left out."""

    plan: Plan
    places: tuple[int, ...]
    left_out: tuple[str, ...]


def leave_text(plan: Plan) -> Attackable:
    """The plan of the other questions: what is learned from reports that hold one of them.

    Where a sample draws one question, others may be text. Reports that hold text tell nothing of the rest, so
    that whoever sees all reports learns less of it.
    """
    parts, attributes = plan.document.parts, plan.document.attributes
    places = tuple(j for j, part in enumerate(parts) if part.listed)
    left = tuple(dict.fromkeys(attributes[j].columns[0] for j, part in enumerate(parts) if not part.listed))
    if not left:
        return Attackable(plan, places, ())
    if not places:
        raise InvalidParameter(
            f"{left[0]!r} is text or a code that nobody listed, with too many values to guess among; its "
            "loss bounds what any attacker learns, and the plan asks for nothing else"
        )
    members = [remaining for member, _, _ in plan.mechanism.members for remaining in _leave(member)]
    mechanism = as_record_mechanism(members[0] if len(members) == 1 else Split(tuple(members)))
    listed = tuple(attributes[j] for j in places)
    kept = replace(plan.document, attributes=listed, mechanism=mechanism, texts=None, ask="all", claimed=None)
    return Attackable(Plan(kept), places, left)


def _leave(member: RecordMechanism) -> list[RecordMechanism | Mechanism]:
    """What remains of a part of a report without text."""
    listed = [j for j, part in enumerate(member.mechanisms) if part.listed]
    if len(listed) == member.d:
        return [member.mechanisms[0] if isinstance(member, Single) else member]
    if not listed:
        return []
    if not isinstance(member, Sample) or member.reported != 1:
        raise InvalidParameter(
            "a report holds text together with other questions in a way that cannot be taken apart; attack "
            "a plan without the text"
        )
    parts = tuple(member.parts[j] for j in listed)
    if len(parts) == 1:
        return [parts[0]]
    weights = None if member.weights is None else tuple(member.weights[j] for j in listed)
    return [Sample(parts, weights=weights)]
