"""Computes how often one answer inside a table is guessed right, from a report of its cell.

The attacker sees a report of a cell, adds up how likely all cells with an answer make it, and takes the
likeliest answer. Where all sets of a size are alike, only the most that a set holds of the cells of one
answer matters: its mean over all sets is the expected maximum of a multivariate hypergeometric law.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.domain import Product
from deniable.explain.related import list_inclusions, tabulate_reports
from deniable.law import Law, binomial, checked_prior
from deniable.mechanisms import ExactMechanism
from deniable.mechanisms.shapes import Hadamard, Pooled, SubsetShape, Unary
from deniable.plan.document import PlanDocument

_MOST_VALUES = 1 << 11  # of which the law of the maximum is computed
_MOST_WEIGHTS = 1 << 22  # of a table of values by reports
_SURE = 1e-15


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
    names = {
        name for one in document.attributes if isinstance(one.domain, Product) for name in one.domain.names
    }
    return [_guess_answer(document, name, forever) for name in document.domains if name in names]


def _guess_answer(document: PlanDocument, name: str, forever: bool) -> AnswerGuess:
    held = [j for j, one in enumerate(document.attributes) if name in one.columns]
    telling = [j for j, one in enumerate(document.attributes) if one.only_if and one.only_if.name == name]
    blind = 1 / document.domains[name].k
    guesses = [_guess_in(document, j, name, forever) for j in held]
    known = [guess for guess in guesses if guess is not None]
    often = None if telling else _list_often(document, held)
    if often is not None and len(known) == len(held):
        report = blind + math.fsum(share * (guess - blind) for share, guess in zip(often, known, strict=True))
        return AnswerGuess(name, report, max(known), blind, exact=True)
    inside = [j in held + telling for j in range(len(document.attributes))]
    ratio = document.mechanism.ratio_among(inside)
    if forever:
        ratio = math.prod((document.parts[j].permanent.ratio for j in held + telling), start=Fraction(1))
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


def _list_often(document: PlanDocument, held: Sequence[int]) -> list[float] | None:
    """How often a report holds each of some attributes, if no other that it holds tells about them; None
    where another may.
    """
    if document.mechanism.fake(0) is not None:  # one is real, and fakes tell nothing
        return [float(document.mechanism.chance_real(held[0]))] if len(held) == 1 else None
    ways = list_inclusions(document, list(range(len(document.attributes))))
    if ways is None:
        return None
    if any(sum(inside) > 1 for _, inside in ways):  # several at once: none may share a question
        columns = [name for j in held for name in document.attributes[j].columns]
        holding = [one for one in document.attributes if set(one.columns) & set(columns)]
        if len(holding) > 1:
            return None
    return [math.fsum(often for often, inside in ways if inside[j]) for j in held]


@lru_cache(maxsize=1 << 10)
def guess_factor(part: ExactMechanism, shape: tuple[int, ...], axis: int) -> float | None:
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


def guess_factor_by(
    part: ExactMechanism, shape: tuple[int, ...], axis: int, prior: npt.ArrayLike
) -> float | None:
    """The same for an attacker with a prior of the cells; None where reports are too many to list."""
    cells = math.prod(shape)
    believed, table = checked_prior(prior, cells), _list_reports(part)
    if table is None:
        return None
    joint = (believed[:, None] * table[:cells]).reshape(*shape, -1)
    others = tuple(i for i in range(len(shape)) if i != axis)
    return float(joint.sum(axis=others).max(axis=0).sum())


def _list_reports(part: ExactMechanism) -> Floats | None:
    """How likely each report is from each value, by rows."""
    if isinstance(part, Pooled):
        return _list_cells(part)
    if not isinstance(part, Hadamard):
        return tabulate_reports(part)
    outputs = 1 << part.bits
    if outputs * part.k > _MOST_WEIGHTS:
        return None
    supported = part.support(np.arange(outputs)).T
    return np.where(supported, part.law.p, 1 - part.law.p) / (outputs // 2)


def _list_cells(part: Pooled) -> Floats | None:
    """Every function of the pool is as likely, and the true bucket likelier than another."""
    if part.pool.cells * part.k > _MOST_WEIGHTS:
        return None
    supported, p = part.support(np.arange(part.pool.cells)).T, part.law.p
    return np.where(supported, p, (1 - p) / (part.g - 1)) / part.pool.size


def _sum_sets(law: Law, answers: int, cells: int) -> float:
    """Over all sets of each size, that are equally likely; the values beside the cells are no answer."""
    k, each = law.k, cells // answers
    sizes = law.sizes.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(sizes > 0, law.inside / sizes, 0.0)
        outside = np.where(sizes < k, law.outside / (k - sizes), 0.0)
    middle = float(sizes @ (law.inside + law.outside)) / k
    most = _expect_most(answers, each, k - cells, law.sizes, middle)
    # where a report is likelier from what it leaves out, the answer of which it leaves out most is the best
    least = each - _expect_most(answers, each, k - cells, k - law.sizes, 1 - middle)
    held = np.where(inside >= outside, most, least)
    return float(k / cells * (outside * (each - held) + inside * held).sum())


def _expect_most(answers: int, each: int, beside: int, sizes: Integers, middle: float) -> Floats:
    """The most that a random set of a size has of the cells of any one answer, on average, for each size.

    Given their number, cells that are in a set by chance are as random as a set of that size. `middle` is
    that chance, near to the sizes that matter.
    """
    k = answers * each + beside
    if sizes.max() <= 1 and not beside:
        return sizes.astype(np.float64)
    found = np.zeros(len(sizes))
    chance = min(max(middle, 1 / (2 * k)), 1 - 1 / (2 * k))
    total, outside = _list_chances(k, chance), _list_chances(beside, chance)
    for below in _list_powers(answers, each, chance):
        within = np.zeros(k + 1)
        joint = np.convolve(below, outside)
        within[: joint.size] = joint
        share = np.divide(within, total, out=np.zeros(k + 1), where=total > 0)
        found += 1 - np.minimum(share, 1.0)[sizes]
    return np.minimum(found, each)


def _list_chances(trials: int, chance: float) -> Floats:
    counts, chances = binomial(trials, chance)
    found = np.zeros(trials + 1)
    found[counts] = chances
    return found


def _list_powers(answers: int, each: int, chance: float) -> Iterator[Floats]:
    """How likely some cells are in a set, by their number, with at most 0, 1, 2, ... of each answer."""
    own = _list_chances(each, chance)
    for most in range(each):
        power, square, left = np.ones(1), own[: most + 1], answers
        while left:
            power = np.convolve(power, square) if left & 1 else power
            left >>= 1
            square = np.convolve(square, square) if left else square
        yield power
        if own[: most + 1].sum() > 1 - _SURE / answers:
            return
