"""States how often an attacker who sees a report guesses each answer: the one source of these numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.choose import Considered, find_moved
from deniable.choose.risks import describe_moved
from deniable.domain import Categories, Product
from deniable.explain.level_precision import name_levels
from deniable.explain.text_questions import list_unlisted
from deniable.formatting import format_count, format_percent, format_points, format_table
from deniable.law import Law, checked_prior
from deniable.law.law import binomial_law
from deniable.mechanisms import Hashed, Mechanism, SetMechanism, SubsetShape, olh
from deniable.mechanisms.shapes import Hadamard, Pooled, Unary
from deniable.metric import MetricMechanism
from deniable.plan.attribute import NOT_APPLICABLE, Attribute, list_related
from deniable.plan.document import PlanDocument
from deniable.plan.levels import find_divisor
from deniable.records import Faked
from deniable.rounds import PooledMemoized

_MOST_RELATED = 4  # groups of questions that depend on each other
_MOST_NAMES = 6
_TEXT = ("protocol",)  # columns


HALF = "in which half of its range it is"
TWO = "which of two answers it is, at most"
_MOST_VALUES = 1 << 11  # of which the law of the maximum is computed
_MOST_WEIGHTS = 1 << 22  # of a table of values by reports
_SURE = 1e-15
_MOST_BITS = 12  # values of which all sets are listed
_MOST_OUTPUTS = 1 << 12
_MOST_CELLS = 1 << 16  # of a table of metric values by outputs
_MOST_TOGETHER = 1 << 21  # combinations of reports
_DIGITS = 12  # by which reports say the same


@final
@dataclass(frozen=True)
class Guess:
    """How often the best guess of an answer is right, if all records are equally likely."""

    attribute: str
    """The attribute, or the question that is one answer of a table."""
    what: str
    """What is guessed, where it is not the value: "in which half of its range it is"."""
    blind: float
    """Without a report."""
    report: float
    """From one whole report, which may not hold the answer."""
    reported: float
    """From a report that is known to hold the answer."""
    together: float | None = None
    """From the reports of all questions that depend on each other, where that is known."""
    together_blind: float | None = None
    most: float | None = None
    """Of an answer of a table: the bound for every attacker, whatever they know of the other answers."""

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


def guess_attributes(document: PlanDocument, row: Considered) -> list[Guess]:
    """The guess of every attribute, in the order of the plan, by the figures of its row."""
    related = list_related_guesses(document)
    guesses = []
    for (attribute, part), *figures in zip(document.pairs, row.success, row.success_reported, strict=True):
        what = HALF if part.numeric else "" if part.listed else TWO
        guess = Guess(attribute.name, what, part.blind if part.listed else 0.5, *figures)
        if (together := related.get(attribute.name)) is not None:
            guess = replace(guess, together=together.guess, together_blind=together.blind)
        guesses.append(guess)
    return guesses


def guess_questions(document: PlanDocument, row: Considered) -> list[Guess]:
    """The guess of every question as people are asked it: levels are one row for the group that is guessed
    most often and one for the value, text is one row, and every answer of a table has its own after it.
    """
    names = name_levels(document.attributes)
    unlisted = list_unlisted(document)
    coarse = {level.name: levels[-1].name for levels in document.levels.values() for level in levels[:-1]}
    guesses = guess_attributes(document, row)
    easiest: dict[str, Guess] = {}
    for guess, name in zip(guesses, names, strict=True):
        question = coarse.get(guess.attribute)
        if question is not None and (question not in easiest or guess.reported > easiest[question].reported):
            easiest[question] = replace(guess, attribute=name)
    rows: list[Guess] = []
    for guess in guesses:
        if guess.attribute in coarse:
            continue
        text = unlisted.get(guess.attribute)
        if text is not None:
            reported = max(part.tell_two() for part in text.mechanisms)
            rows.append(replace(guess, report=text.tell_two(), reported=reported))
        elif guess.attribute in easiest:
            rows += [easiest[guess.attribute], guess]
        else:
            rows.append(guess)
    for answer in list_answer_guesses(document, forever=False):
        figures = answer.blind, answer.report, answer.reported
        what = "as one answer of a table" if answer.exact else "as one answer of a table, at most"
        rows.append(Guess(answer.question, what, *figures, most=bound_answer(document, answer.question)))
    return rows


def bound_answer(document: PlanDocument, question: str) -> float:
    """How often any attacker is right about one answer of a table, whatever they know of the other answers,
    if all its values are equally likely to them: a report multiplies the odds by the ratio, at most.
    """
    blind = 1 / document.domains[question].k
    odds = math.exp(document.loss_among(document.changed[question])) * blind
    return odds / (odds + 1 - blind)


def explain_guesses(document: PlanDocument, row: Considered) -> str:
    """A table of the attributes with the best guesses, and what its columns mean."""
    may_lack = [document.mechanism.chance_real(j) < 1 for j in range(len(document.parts))]
    headers = ["attribute", "values", "protocol", "best guess", "if reported", "blind guess", "bytes"]
    rows = []
    between = {level.name for levels in document.levels.values() for level in levels[1:-1]}
    names = name_levels(document.attributes)
    for j, (guess, part) in enumerate(zip(guess_attributes(document, row), document.parts, strict=True)):
        if guess.attribute in between:
            continue  # the coarsest level and single values stand for all
        figures = [
            format_percent(guess.report, 1),
            format_percent(guess.reported, 1) if may_lack[j] else "",
            format_percent(guess.blind, 1),
        ]
        values = "a number" if part.numeric else f"{part.k:,}" if part.listed else "not listed"
        rows.append([names[j], values, row.protocols[j], *figures, str(part.report_bytes)])
    lines = [
        *format_table(headers, rows, _TEXT),
        "best guess: how often an attacker who sees one whole report, and thinks all records equally likely, "
        "is right about a person's answer; the survey page states it, and of hashes and of questions that "
        "depend on each other a bound above it",
    ]
    if any(may_lack):  # an answer may not be in the report
        lines.append(
            "if reported: the same for people whose report holds that answer, if the attacker knows that it "
            "does"
        )
    if not all(part.listed for part in document.parts):
        lines.append(f"not listed: the guess is {TWO}")
    lines += [*_explain_levels(document), *_explain_related(document), *_explain_answers(document)]
    moved = find_moved(row)
    if moved:
        worst = next(iter(moved))
        what = describe_moved(row, worst)
        lines.append(
            f"fake reports: 1 % of them moves {what} of {names[worst]!r} by up to "
            f"{format_points(moved[worst] / 100)}"
        )
    if any(part.numeric for part in document.parts):
        lines.append(f"a number: the guess is {HALF}")
    lines += explain_hashes(document)
    return "\n".join(lines)


def bound_group(document: PlanDocument, question: str) -> float:
    """How often whoever sees a whole report is right in which group of the coarsest level an answer is, at
    most: reports of all levels multiply the odds of a group by their ratio, at most.
    """
    levels = document.levels[question]
    bound = blind = _guess_blindly(levels)
    for level in levels:
        j = document.attributes.index(level)
        odds = float(document.parts[j].ratio) * blind
        bound += float(document.mechanism.chance(j)) * (odds / (odds + 1 - blind) - blind)
    return bound


def _guess_blindly(levels: Sequence[Attribute]) -> float:
    """How many of all values are in the largest group of the coarsest level; the last one may have fewer."""
    return find_divisor(levels[0]) / levels[-1].domain.k


def _explain_levels(document: PlanDocument) -> list[str]:
    """What all levels say about the groups of the coarsest, where a report holds one of them."""
    bounds = [
        f"{levels[0].domain.k:,} groups of {name!r} at most "
        f"{_format_percent_up(bound_group(document, name))} (blind "
        f"{format_percent(_guess_blindly(levels), 1)})"
        for name, levels in document.levels.items()
        if levels[0].domain.listed
    ]
    if not bounds:
        return []
    return [
        "in groups: the best guess is by reports of that level alone. Those of other levels say something "
        f"about the group, too. By all of them the same attacker is right in which of {'; '.join(bounds)}: a "
        "bound, which the survey page states"
    ]


def _explain_related(document: PlanDocument) -> list[str]:
    """How often answers that depend on each other are guessed right from all of their reports."""
    exact, bounds = [], []
    for names in list_related(document.attributes):
        guesses = guess_related(document, names)
        if guesses is not None:
            texts = [
                f"{guess.attribute!r} {format_percent(guess.guess, 1)} "
                f"(blind {format_percent(guess.blind, 1)})"
                for guess in guesses
            ]
            exact.append((max(guess.guess for guess in guesses), texts))
            continue
        known = bound_related(document, names)
        texts = [
            f"{guess.attribute!r} at most {_format_percent_up(guess.bound)} (a bound; blind "
            f"{format_percent(float(guess.blind), 1)})"
            for guess in known
        ]
        bounds.append((float(max(guess.bound for guess in known)), texts))
    if not exact and not bounds:
        return []
    guesses_told = [
        ", ".join(texts[:_MOST_NAMES])
        for group in (exact, bounds)
        for _, texts in sorted(group, key=lambda pair: pair[0], reverse=True)[:_MOST_RELATED]
    ]
    reports = "all their reports together" if document.rounds is None else "all their reports of one round"
    return [
        "These guesses take each answer alone. Where questions depend on each other, whether one applies "
        f"says something about the other. By {reports}, whoever thinks all values equally likely, where a "
        f"question applies, is right about {'; '.join(guesses_told)}"
    ]


def _explain_answers(document: PlanDocument) -> list[str]:
    """How often one answer in a table is guessed right from its report, where there are tables."""
    if not list_answer_guesses(document, forever=False):
        return []
    lines = [
        "one answer of a table: the same attacker is right about "
        f"{_format_answers(document, forever=False)}. Whoever knows the other answers is right at most so "
        f"often, which the survey page states: {_format_bounds(document)}"
    ]
    if document.rounds is not None:
        lines.append(
            "from any number of reports, as long as no answer changes, that attacker is right about "
            f"{_format_answers(document, forever=True)}"
        )
    return lines


def _format_bounds(document: PlanDocument) -> str:
    answers = list_answer_guesses(document, forever=False)
    bounds = {answer.question: bound_answer(document, answer.question) for answer in answers}
    names = sorted(bounds, key=lambda name: -bounds[name])
    text = ", ".join(f"{name!r} {_format_percent_up(bounds[name])}" for name in names[:_MOST_NAMES])
    return text if len(names) <= _MOST_NAMES else f"{text}, and {len(names) - _MOST_NAMES} more"


def _format_percent_up(share: float | Fraction) -> str:
    """A share in percent, rounded up to a tenth: what is stated is a bound."""
    return f"{math.ceil(1000 * share) / 10:.1f} %"


def _format_answers(document: PlanDocument, forever: bool) -> str:
    """The answers that are guessed most surely, and how often."""
    answers = sorted(list_answer_guesses(document, forever), key=lambda answer: answer.blind - answer.report)
    texts = [
        f"{answer.question!r} {format_percent(answer.report, 1)} (if reported "
        f"{format_percent(answer.reported, 1)}, blind {format_percent(answer.blind, 1)})"
        if answer.exact
        else f"{answer.question!r} at most {_format_percent_up(answer.report)} (a bound; blind "
        f"{format_percent(answer.blind, 1)})"
        for answer in answers[:_MOST_NAMES]
    ]
    more = "" if len(answers) <= _MOST_NAMES else f"; and {len(answers) - _MOST_NAMES} more"
    return f"{'; '.join(texts)}{more}"


_CERTAIN = Fraction(1 << 500)  # odds


@final
@dataclass(frozen=True)
class AnswerGuess:
    """How often the best guess of an answer that tables hold is right, if all cells are equally likely."""

    question: str
    report: float
    """From one whole report, in which the answer may not be."""
    reported: float
    """From one report that is known to hold the answer."""
    blind: float
    exact: bool
    """Whether these are exact; else bounds, by the odds that a report multiplies."""


def list_answer_guesses(document: PlanDocument, forever: bool) -> list[AnswerGuess]:
    """The guesses of every question that is in a table; with `forever`, from any number of reports of answers
    that do not change.
    """
    tables = [
        attribute.domain.names for attribute in document.attributes if isinstance(attribute.domain, Product)
    ]
    names = {name for table in tables for name in table}
    return [_guess_answer(document, name, forever) for name in document.domains if name in names]


def _guess_answer(document: PlanDocument, name: str, forever: bool) -> AnswerGuess:
    holding = [j for j, attribute in enumerate(document.attributes) if name in attribute.columns]
    conditions = [attribute.only_if for attribute in document.attributes]
    telling = [j for j, condition in enumerate(conditions) if condition and condition.name == name]
    blind = 1 / document.domains[name].k
    guesses = [_guess_in(document, j, name, forever) for j in holding]
    known = [guess for guess in guesses if guess is not None]
    parts = [document.parts[j] for j in holding + telling]
    is_bound = telling or (forever and not all(part.repeated for part in parts))
    often = None if is_bound else _list_often(document, holding)
    if often is not None and len(known) == len(holding):
        report = blind + math.fsum(share * (guess - blind) for share, guess in zip(often, known, strict=True))
        return AnswerGuess(name, report, max(known), blind, exact=True)
    inside = [j in holding + telling for j in range(len(document.attributes))]
    ratio = document.mechanism.ratio_among(inside)
    if forever:
        reports = [1 if part.repeated else document.most_reports for part in parts]
        ratios = (part.permanent.ratio**many for part, many in zip(parts, reports, strict=True))
        ratio = min(math.prod(ratios, start=Fraction(1)), _CERTAIN)
    odds = float(ratio) * blind
    bound = odds / (odds + 1 - blind)
    return AnswerGuess(name, bound, bound, blind, exact=False)


def _guess_in(document: PlanDocument, j: int, name: str, forever: bool) -> float | None:
    """From a report that holds one attribute."""
    part, domain = document.parts[j], document.attributes[j].domain
    part = part.permanent if forever else part
    if isinstance(domain, Product):
        return guess_factor(part, domain.shape, domain.names.index(name))
    return guess_factor(part, (domain.k,), 0)


def _list_often(document: PlanDocument, places: Sequence[int]) -> list[float] | None:
    """How often a report holds each of some attributes, if no other that it holds tells about them; None
    where another may.
    """
    if document.mechanism.fake(0) is not None:  # one is real, and fakes tell nothing
        return [float(document.mechanism.chance_real(places[0]))] if len(places) == 1 else None
    ways = list_inclusions(document, list(range(len(document.attributes))))
    if ways is None:
        return None
    if any(sum(inside) > 1 for _, inside in ways):  # several at once: none may share a question
        columns = [name for j in places for name in document.attributes[j].columns]
        holding = [attribute for attribute in document.attributes if set(attribute.columns) & set(columns)]
        if len(holding) > 1:
            return None
    return [math.fsum(often for often, inside in ways if inside[j]) for j in places]


@lru_cache(maxsize=1 << 10)
def guess_factor(part: Mechanism, shape: tuple[int, ...], axis: int) -> float | None:
    """How often the best guess of one answer is right from one report of a cell, all cells being equally
    likely; None where there is too much to sum up, and for hashes, which are no ideal ones.

    >>> from deniable import grr
    >>> round(guess_factor(grr(10, 1.0), (5, 2), 1), 4)  # of a table of 5 rows and 2 columns
    0.5733
    """
    cells, law = math.prod(shape), part.law
    if isinstance(law, Law) and (part.names_value or isinstance(part.one_round, Unary | SubsetShape)):
        return _sum_sets(law, shape[axis], cells) if part.k <= _MOST_VALUES or part.names_value else None
    return guess_factor_by(part, shape, axis, np.full(cells, 1 / cells))


def guess_factor_by(part: Mechanism, shape: tuple[int, ...], axis: int, prior: npt.ArrayLike) -> float | None:
    """The best guess of an attacker with a prior of the cells; None where reports are too many to list."""
    cells = math.prod(shape)
    believed, table = checked_prior(prior, cells), _list_reports(part)
    if table is None:
        return None
    joint = (believed[:, None] * table[:cells]).reshape(*shape, -1)
    others = tuple(i for i in range(len(shape)) if i != axis)
    return float(joint.sum(axis=others).max(axis=0).sum())


def _list_reports(part: Mechanism) -> Floats | None:
    """How likely each report is from each value, by rows."""
    if isinstance(part, Pooled | PooledMemoized):
        return _list_cells(part)
    if not isinstance(part, Hadamard):
        return tabulate_reports(part)
    outputs = 1 << part.bits
    if outputs * part.k > _MOST_WEIGHTS:
        return None
    supported = part.support(np.arange(outputs)).T
    return np.where(supported, part.law.p, 1 - part.law.p) / (outputs // 2)


def _list_cells(part: Pooled | PooledMemoized) -> Floats | None:
    """Every function of the pool is as likely, and the true bucket likelier than another."""
    if part.pool.cells * part.k > _MOST_WEIGHTS:
        return None
    supported, p = part.support(np.arange(part.pool.cells)).T, part.law.p
    return np.where(supported, p, (1 - p) / (part.g - 1)) / part.pool.size


def _sum_sets(law: Law, answers: int, cells: int) -> float:
    """Over all sets of each size, that are equally likely; the values beside the cells are no answer."""
    k, cells_per_answer = law.k, cells // answers
    sizes = law.sizes.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(sizes > 0, law.inside / sizes, 0.0)
        outside = np.where(sizes < k, law.outside / (k - sizes), 0.0)
    middle = float(sizes @ (law.inside + law.outside)) / k
    most = _expect_most(answers, cells_per_answer, k - cells, law.sizes, middle)
    # where a report is likelier from what it leaves out, the answer of which it leaves out most is the best
    least = cells_per_answer - _expect_most(answers, cells_per_answer, k - cells, k - law.sizes, 1 - middle)
    count = np.where(inside >= outside, most, least)
    return float(k / cells * (outside * (cells_per_answer - count) + inside * count).sum())


def _expect_most(answers: int, cells_per_answer: int, beside: int, sizes: Integers, middle: float) -> Floats:
    """The most that a random set of a size has of the cells of any one answer, on average, for each size.

    Given their number, cells that are in a set by chance are as random as a set of that size. `middle` is
    that chance, near to the sizes that matter.
    """
    k = answers * cells_per_answer + beside
    if sizes.max() <= 1 and not beside:
        return sizes.astype(np.float64)
    expected = np.zeros(len(sizes))
    chance = min(max(middle, 1 / (2 * k)), 1 - 1 / (2 * k))
    total, outside = binomial_law(k, chance), binomial_law(beside, chance)
    for below in _list_powers(answers, cells_per_answer, chance):
        within = np.zeros(k + 1)
        joint = np.convolve(below, outside)
        within[: joint.size] = joint
        share = np.divide(within, total, out=np.zeros(k + 1), where=total > 0)
        expected += 1 - np.minimum(share, 1.0)[sizes]
    return np.minimum(expected, cells_per_answer)


def _list_powers(answers: int, cells_per_answer: int, chance: float) -> Iterator[Floats]:
    """How likely some cells are in a set, by their number, with at most 0, 1, 2, ... of each answer."""
    single = binomial_law(cells_per_answer, chance)
    for most in range(cells_per_answer):
        power, square, left = np.ones(1), single[: most + 1], answers
        while left:
            power = np.convolve(power, square) if left & 1 else power
            left >>= 1
            square = np.convolve(square, square) if left else square
        yield power
        if single[: most + 1].sum() > 1 - _SURE / answers:
            return


@final
@dataclass(frozen=True)
class RelatedGuess:
    """How often the best guess of an answer is right, from the reports of all that it is related to."""

    attribute: str
    guess: float
    blind: float


@lru_cache(maxsize=64)
def guess_related(document: PlanDocument, names: tuple[str, ...]) -> tuple[RelatedGuess, ...] | None:
    """The guesses of a question and of those that depend on it; None where there is too much to sum up."""
    root, *others = (document.by_name[name] for name in names)
    positions = [document.names.index(name) for name in names]
    ways = list_inclusions(document, positions)
    tables = [tabulate_reports(document.parts[j]) for j in positions]
    parents = {None if attribute.only_if is None else attribute.only_if.name for attribute in others}
    if ways is None or parents - {root.name}:
        return None
    known = [table for table in tables if table is not None]
    if len(known) < len(tables):
        return None
    applies = np.array([_applies(root, attribute, len(known[0])) for attribute in others])
    pairs = zip(others, known[1:], strict=True)
    dependents = [_Dependent.of(document, attribute, table) for attribute, table in pairs]
    group = _Group(known[0], applies, dependents)
    related = []
    for target, name in enumerate(names):
        guesses = [(often, group.guess(target - 1, inside)) for often, inside in ways]
        if any(guess is None for _, guess in guesses):
            return None
        right = sum(often * guess for often, guess in guesses if guess is not None)
        related.append(RelatedGuess(name, min(right, 1.0), group.blind(target - 1)))
    return tuple(related)


def list_related_guesses(document: PlanDocument) -> dict[str, RelatedGuess]:
    """The guesses of all questions that depend on each other, where they can be summed up, by name."""
    groups = (guess_related(document, names) for names in list_related(document.attributes))
    return {guess.attribute: guess for group in groups if group is not None for guess in group}


@final
@dataclass(frozen=True)
class RelatedBound:
    """How often no guess of an answer is more often right, whatever a report is and says: exact numbers."""

    attribute: str
    bound: Fraction
    blind: Fraction


def bound_related(document: PlanDocument, names: Sequence[str]) -> list[RelatedBound]:
    """Bounds for the same attacker: a report multiplies the odds of an answer by the ratio at most."""
    inside = [attribute.name in names for attribute in document.attributes]
    ratio = document.mechanism.ratio_among(inside)
    bounds = []
    for name in names:
        blind = _find_blind(document, name)
        bounds.append(RelatedBound(name, ratio * blind / (ratio * blind + 1 - blind), blind))
    return bounds


def _find_blind(document: PlanDocument, name: str) -> Fraction:
    """The best guess without a report: that a question does not apply, or any of its values."""
    attribute = document.by_name[name]
    often = _find_applying(document, attribute)
    return max(1 - often, often / _count_answers(document, attribute))


def _find_applying(document: PlanDocument, attribute: Attribute) -> Fraction:
    """To how many a question applies, if all values of those on which it depends are equally likely."""
    if attribute.only_if is None:
        return Fraction(1)
    parent = document.by_name[attribute.only_if.name]
    chosen = Fraction(len(attribute.only_if.values), _count_answers(document, parent))
    return _find_applying(document, parent) * chosen


def _count_answers(document: PlanDocument, attribute: Attribute) -> int:
    """The answers of those to whom a question applies; of a number, in which half of its range it is."""
    part = document.parts[document.attributes.index(attribute)]
    if part.numeric:
        return 2
    return part.k - (NOT_APPLICABLE in document.extras(attribute))


def _applies(root: Attribute, attribute: Attribute, k: int) -> list[bool]:
    """Whether a question applies, for each value of the one on which it depends."""
    assert attribute.only_if is not None
    assert isinstance(root.domain, Categories)
    codes = {root.domain.labels.index(value) for value in attribute.only_if.values}
    return [code in codes for code in range(k)]


def list_inclusions(
    document: PlanDocument, positions: Sequence[int]
) -> list[tuple[float, tuple[bool, ...]]] | None:
    """Which of some attributes a report holds, and how often; None where that is hidden, or more complex."""
    ways = [(1.0, (False,) * len(positions))]
    for member, first, _ in document.mechanism.members:
        members = [(at, j - first) for at, j in enumerate(positions) if first <= j < first + member.d]
        if isinstance(member, Faked) and members:
            return None
        chances = [float(member.chance(j)) for j in range(member.d)]
        if not members:
            continue
        if all(chance == 1.0 for chance in chances):
            choices = [(1.0, [at for at, _ in members])]
        elif round(sum(chances), 9) == 1.0:
            choices = [(chances[j], [at]) for at, j in members]
            choices.append((1.0 - sum(often for often, _ in choices), []))
        else:
            return None
        ways = [
            (often * more, tuple(is_in or at in added for at, is_in in enumerate(inside)))
            for often, inside in ways
            for more, added in choices
            if more > 0
        ]
    return ways


def tabulate_reports(part: Mechanism) -> Floats | None:
    """How likely each report is from each value, by rows; None where there are too many, or no table."""
    if part.numeric or part.k > _MOST_OUTPUTS:
        return None
    if isinstance(part, MetricMechanism):
        if part.k * part.outputs > _MOST_CELLS:
            return None
        return np.array([part.forward(row) for row in np.eye(part.k)])
    if not isinstance(part, SetMechanism):
        return None
    law = part.law
    if part.names_value:
        return np.full((part.k, part.k), law.q) + (law.p - law.q) * np.eye(part.k)
    if not isinstance(part, Unary | SubsetShape) or part.k > _MOST_BITS:
        return None
    sets = np.array(list(product((False, True), repeat=part.k)))
    sizes = sets.sum(axis=1)
    possible = set(law.sizes.tolist())
    chances = {size: np.exp(law.log_likelihood(size)) for size in possible}
    columns = [
        np.where(row, *chances[size])
        for row, size in zip(sets, sizes.tolist(), strict=True)
        if size in possible
    ]
    return np.array(columns).T


def _merge(table: Floats) -> Floats:
    """A table whose columns that are multiples of each other are put together: they say the same."""
    total = table.sum(axis=0)
    kept = table[:, total > 0]
    shapes = np.round(kept / kept.sum(axis=0), _DIGITS)
    _, which = np.unique(shapes, axis=1, return_inverse=True)
    merged = np.zeros((len(table), int(which.max()) + 1))
    np.add.at(merged.T, which.reshape(-1), kept.T)
    return merged


@final
@dataclass(frozen=True, eq=False)
class _Dependent:
    """A question that applies only to some: how likely its reports are from those to whom it does not, and
    from those to whom it does.
    """

    skipped: Floats
    answers: Floats

    @staticmethod
    def of(document: PlanDocument, attribute: Attribute, table: Floats) -> _Dependent:
        """Where no value is "not applicable", a random one is reported."""
        if not document.extras(attribute):
            return _Dependent(table.mean(axis=0), table)
        return _Dependent(table[attribute.domain.k], np.delete(table, attribute.domain.k, axis=0))

    @cached_property
    def evidence(self) -> Floats:
        """What it says about others: by whether it applies."""
        return _merge(np.stack([self.skipped, self.answers.mean(axis=0)]))

    @cached_property
    def best(self) -> Floats:
        """What it says about its likeliest answer, of equally likely ones, by whether it applies."""
        return _merge(np.stack([self.skipped, self.answers.max(axis=0) / len(self.answers)]))


@final
@dataclass(frozen=True, eq=False)
class _Group:
    """A question, and those that depend on it: for which of its values each applies."""

    root: Floats
    applies: np.ndarray
    dependents: Sequence[_Dependent]

    def blind(self, target: int) -> float:
        """The best guess without a report; -1 is the question on which the others depend."""
        if target < 0:
            return 1 / len(self.root)
        often = float(self.applies[target].mean())
        return max(1 - often, often / len(self.dependents[target].answers))

    def guess(self, target: int, inside: Sequence[bool]) -> float | None:
        """The best guess from a report that holds these; None where there are too many reports."""
        k = len(self.root)
        root = (self.root if inside[0] else np.ones((k, 1))) / k
        patterns, which = np.unique(self.applies, axis=1, return_inverse=True)
        which = which.reshape(-1)
        together = np.max if target < 0 else np.sum
        rows = [together(root[which == b], axis=0) for b in range(patterns.shape[1])]
        tables = [_merge(np.stack(rows))]
        for i, (dependent, is_in) in enumerate(zip(self.dependents, inside[1:], strict=True)):
            nothing = np.array([[1.0], [1 / len(dependent.answers) if i == target else 1.0]])
            evidence = nothing if not is_in else dependent.best if i == target else dependent.evidence
            tables.append(evidence[patterns[i].astype(int)])
        if prod(table.shape[1] for table in tables) * patterns.shape[1] > _MOST_TOGETHER:
            return None
        joint = tables[0]
        for table in tables[1:]:
            joint = (joint[:, :, None] * table[:, None, :]).reshape(len(joint), -1)
        if target < 0:
            return float(joint.max(axis=0).sum())
        is_asked = patterns[target].astype(bool)
        return float(np.maximum(joint[is_asked].sum(axis=0), joint[~is_asked].sum(axis=0)).sum())


def explain_hashes(document: PlanDocument) -> list[str]:
    """A sentence for each attribute whose values are hashed, about what it takes to count them."""
    sentences = []
    for attribute, part in document.pairs:
        mechanism = part.one_round
        if isinstance(mechanism, Hashed):
            sentences.append(
                f"{attribute.name!r} is hashed by a function that each device draws, so that counting takes "
                f"{mechanism.k:,} hashes a report. A collector and files of reports are made for that; in "
                "DuckDB, PostgreSQL or Spark it takes many times as long as other reports. counted_in = "
                '"warehouse" in the objective avoids such protocols.'
            )
        if isinstance(part, Pooled | PooledMemoized) and not attribute.domain.is_level:
            pool, ratio = part.pool, compare_variances(part)
            more = "no" if ratio <= 1 else _format_percent_up(ratio - 1)
            sentences.append(
                f"{attribute.name!r} is hashed by one of {pool.size:,} public functions, and its reports are "
                f"counted by function and bucket: {format_count(pool.cells, 'number')}, however many people "
                f"answer. It takes {more} more people than with functions that devices draw themselves."
            )
    return sentences


def compare_variances(part: Pooled | PooledMemoized) -> float:
    """The variance of the share of a value that nobody has, over that of local hashing with the loss of one
    report.
    """
    alone = olh(part.k, part.loss())
    return float(part.law.variance(1, 0.0)) / float(alone.law.variance(1, 0.0))
