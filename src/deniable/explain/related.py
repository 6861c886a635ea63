"""Computes how often answers that depend on each other are guessed right, from all of their reports together.

The attacker thinks all values of a question equally likely, and all of one that depends on it, among those to
whom it applies. Everything is summed over all reports. Reports that say the same are put together: of a
question, only how likely it makes each pattern of the questions that apply matters to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.domain import Categories
from deniable.mechanisms import ExactMechanism, SetMechanism
from deniable.mechanisms.shapes import SubsetShape, Unary
from deniable.metric import MetricMechanism
from deniable.plan.attribute import NOT_APPLICABLE, Attribute, list_related
from deniable.plan.document import PlanDocument
from deniable.records import Faked

_MOST_BITS = 12  # values of which all sets are listed
_MOST_OUTPUTS = 1 << 12
_MOST_CELLS = 1 << 16  # of a table of metric values by outputs
_MOST_TOGETHER = 1 << 21  # combinations of reports
_DIGITS = 12  # by which reports say the same


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
    by_name = {one.name: one for one in document.attributes}
    root, *others = (by_name[name] for name in names)
    positions = [document.attributes.index(one) for one in (root, *others)]
    ways = list_inclusions(document, positions)
    tables = [tabulate_reports(document.parts[j]) for j in positions]
    if ways is None or any(one.only_if is None or one.only_if.name != root.name for one in others):
        return None
    known = [table for table in tables if table is not None]
    if len(known) < len(tables):
        return None
    applies = np.array([_applies(root, one, len(known[0])) for one in others])
    dependents = [_Dependent.of(document, one, table) for one, table in zip(others, known[1:], strict=True)]
    group = _Group(known[0], applies, dependents)
    found = []
    for target, name in enumerate(names):
        guesses = [(often, group.guess(target - 1, inside)) for often, inside in ways]
        if any(guess is None for _, guess in guesses):
            return None
        right = sum(often * guess for often, guess in guesses if guess is not None)
        found.append(RelatedGuess(name, min(right, 1.0), group.blind(target - 1)))
    return tuple(found)


def list_related_guesses(document: PlanDocument) -> dict[str, RelatedGuess]:
    """The guesses of all questions that depend on each other, where they can be summed up, by name."""
    groups = (guess_related(document, names) for names in list_related(document.attributes))
    return {one.attribute: one for some in groups if some is not None for one in some}


@final
@dataclass(frozen=True)
class RelatedBound:
    """How often no guess of an answer is more often right, whatever a report is and says: exact numbers."""

    attribute: str
    bound: Fraction
    blind: Fraction


def bound_related(document: PlanDocument, names: Sequence[str]) -> list[RelatedBound]:
    """Bounds for the same attacker: a report multiplies the odds of an answer by the ratio at most."""
    inside = [one.name in names for one in document.attributes]
    ratio = document.mechanism.ratio_among(inside)
    found = []
    for name in names:
        blind = _find_blind(document, name)
        found.append(RelatedBound(name, ratio * blind / (ratio * blind + 1 - blind), blind))
    return found


def _find_blind(document: PlanDocument, name: str) -> Fraction:
    """The best guess without a report: that a question does not apply, or any of its values."""
    one = _get(document, name)
    often = _find_applying(document, one)
    return max(1 - often, often / _count_answers(document, one))


def _get(document: PlanDocument, name: str) -> Attribute:
    return next(one for one in document.attributes if one.name == name)


def _find_applying(document: PlanDocument, one: Attribute) -> Fraction:
    """To how many a question applies, if all values of those on which it depends are equally likely."""
    if one.only_if is None:
        return Fraction(1)
    parent = _get(document, one.only_if.name)
    chosen = Fraction(len(one.only_if.values), _count_answers(document, parent))
    return _find_applying(document, parent) * chosen


def _count_answers(document: PlanDocument, one: Attribute) -> int:
    """The answers of those to whom a question applies; of a number, in which half of its range it is."""
    part = document.parts[document.attributes.index(one)]
    if part.numeric:
        return 2
    return part.k - (NOT_APPLICABLE in document.extras(one))


def _applies(root: Attribute, one: Attribute, k: int) -> list[bool]:
    """Whether a question applies, for each value of the one on which it depends."""
    assert one.only_if is not None
    assert isinstance(root.domain, Categories)
    codes = {root.domain.labels.index(value) for value in one.only_if.values}
    return [code in codes for code in range(k)]


def list_inclusions(
    document: PlanDocument, positions: Sequence[int]
) -> list[tuple[float, tuple[bool, ...]]] | None:
    """Which of some attributes a report holds, and how often; None where that is hidden, or more complex."""
    ways = [(1.0, (False,) * len(positions))]
    for member, first, _ in document.mechanism.members:
        here = [(at, j - first) for at, j in enumerate(positions) if first <= j < first + member.d]
        if isinstance(member, Faked) and here:
            return None
        chances = [float(member.chance(j)) for j in range(member.d)]
        if not here:
            continue
        if all(chance == 1.0 for chance in chances):
            choices = [(1.0, [at for at, _ in here])]
        elif round(sum(chances), 9) == 1.0:
            choices = [(chances[j], [at]) for at, j in here]
            choices.append((1.0 - sum(often for often, _ in choices), []))
        else:
            return None
        ways = [
            (often * more, tuple(one or at in held for at, one in enumerate(inside)))
            for often, inside in ways
            for more, held in choices
            if more > 0
        ]
    return ways


def tabulate_reports(part: ExactMechanism) -> Floats | None:
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
    """The same with columns put together that are multiples of each other: they say the same."""
    total = table.sum(axis=0)
    kept = table[:, total > 0]
    shapes = np.round(kept / kept.sum(axis=0), _DIGITS)
    _, which = np.unique(shapes, axis=1, return_inverse=True)
    found = np.zeros((len(table), int(which.max()) + 1))
    np.add.at(found.T, which.reshape(-1), kept.T)
    return found


@final
@dataclass(frozen=True, eq=False)
class _Dependent:
    """A question that applies only to some: how likely its reports are from those to whom it does not, and
    from those to whom it does.
    """

    skipped: Floats
    answers: Floats

    @staticmethod
    def of(document: PlanDocument, one: Attribute, table: Floats) -> _Dependent:
        """Where no value is "not applicable", a random one is reported."""
        if not document.extras(one):
            return _Dependent(table.mean(axis=0), table)
        return _Dependent(table[one.domain.k], np.delete(table, one.domain.k, axis=0))

    @cached_property
    def evidence(self) -> Floats:
        """What it says about others: by whether it applies."""
        return _merge(np.stack([self.skipped, self.answers.mean(axis=0)]))

    @cached_property
    def best(self) -> Floats:
        """The same with its likeliest answer, of those that are equally likely."""
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
        for i, (one, held) in enumerate(zip(self.dependents, inside[1:], strict=True)):
            nothing = np.array([[1.0], [1 / len(one.answers) if i == target else 1.0]])
            found = nothing if not held else one.best if i == target else one.evidence
            tables.append(found[patterns[i].astype(int)])
        if prod(table.shape[1] for table in tables) * patterns.shape[1] > _MOST_TOGETHER:
            return None
        joint = tables[0]
        for table in tables[1:]:
            joint = (joint[:, :, None] * table[:, None, :]).reshape(len(joint), -1)
        if target < 0:
            return float(joint.max(axis=0).sum())
        asked = patterns[target].astype(bool)
        return float(np.maximum(joint[asked].sum(axis=0), joint[~asked].sum(axis=0)).sum())
