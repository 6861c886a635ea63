"""Ranks every way to ask, the best first: each record mechanism at the budget that it gives its parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.choose.candidate import (
    Considered,
    DeviceLimit,
    Option,
    Size,
    name_candidate,
    one_in,
    rounded,
)
from deniable.choose.objective import Objective
from deniable.choose.task import (
    BLOCKS,
    LEAST_OF_BITS,
    NEAR,
    Allowed,
    Names,
    Protocols,
    Sizes,
    Task,
    checked_task,
)
from deniable.choose.ways import Way, list_options, settle_protocols
from deniable.errors import InvalidParameter
from deniable.exact import positive_epsilon
from deniable.formatting import format_digits
from deniable.records.base import Per
from deniable.records.near import MOST_ANSWERS
from deniable.records.sample import MOST_WEIGHT

_TRIED = 5  # budgets whose errors are computed, for each attribute
_LEAST = 4  # no attribute has less than its equal part over this
_FINE = 1 << 9  # budgets that are compared, between those that were tried
_PRICES = 60  # of halving the price of a budget
_GRAIN = 1 << 30  # parts of a nat that budgets are whole numbers of, so that their sum is exact
_HALVINGS = 100  # of halving the largest error
_THOUSANDTHS = 1000


def consider(
    ks: Sizes,
    epsilon: float,
    n: int,
    objective: Objective | None = None,
    mechanisms: Names | None = None,
    protocols: Protocols | None = None,
    per: Per = "record",
    priors: Sequence[npt.ArrayLike] | None = None,
) -> list[Considered]:
    """Every way to ask n people at this epsilon, the choice first, then by score, the excluded ones last.

    `ks` has what is asked: a `Question` each, or the number of values, whose shares will be read. A mapping
    names the attributes, for messages. `epsilon` bounds the loss per record, or per attribute; that of
    metric attributes is no part of it.

    In every record mechanism (SPL, SMP, RS+FD; RS+RFD where public priors are given) each attribute has the
    protocol that errs least under the caps, so that the whole does; each protocol by itself is listed next to
    it. SMP-r, with r attributes each, is listed where it errs less than SMP: r grows from 2 as long as that
    helps. SPL+SMP asks everybody for metric attributes, or for these and numbers, and for one of the others.
    Where a cap on the attacker's guess rules out the protocol that errs least, those that are made for a cap
    (aue, ass, alh) join.

    The choice has the smallest reports of all whose score is within the objective's tolerance. What would be
    chosen without a cap on influence is listed, too, with an objective that has no such cap.

    `mechanisms` and `protocols` name what to choose among instead; a mapping names the protocols of some
    attributes, by number ({0: "grr"}), and leaves the others free. In RS+FD "oue" and "sue" stand for both of
    their fakes. Priors are public, so that a cap on the guess holds for an attacker who knows them, in all of
    them.

    >>> best = consider([3, 5, 4], epsilon=1.0, n=10_000)[0]
    >>> best.name, best.loss_record <= 1.0
    ('SMP[grr]', True)
    """
    task = checked_task(ks, epsilon, n, objective, Allowed(mechanisms, protocols), per, priors=priors)
    return _rank_with_uncapped(task)


def consider_repeated(
    ks: Sizes,
    epsilon_first: float,
    epsilon_forever: float,
    n: int,
    objective: Objective | None = None,
    protocols: Protocols | None = None,
    mechanism: str | None = None,
    limit: DeviceLimit | None = None,
) -> list[Considered]:
    """Ranks choices for asking again and again: two rounds, in SMP, whose attribute is drawn once and kept.

    Where devices have a limit, the best choice that they accept is the first, if they accept any.

    RS+FD, whose fakes are kept as well, errs more by the root of the number of attributes at least: it is
    considered only if it is named.
    dBitFlipPM ("dbitflip") keeps all it sends, so that a change of the value shows: it is considered only if
    it is named.

    >>> best = consider_repeated([3, 50], epsilon_first=1.0, epsilon_forever=2.0, n=10_000)[0]
    >>> best.protocols
    ('l_grr', 'l_osue')
    """
    positive_epsilon(epsilon_forever)
    kinds = ("SMP" if mechanism is None else mechanism,)
    task = checked_task(ks, epsilon_first, n, objective, Allowed(kinds, protocols), forever=epsilon_forever)
    return prefer_accepted(lambda limit: _rank_with_uncapped(replace(task, limit=limit)), limit, task.judged)


def prefer_accepted(
    rank: Callable[[DeviceLimit | None], list[Considered]],
    limit: DeviceLimit | None,
    weights: Sequence[float],
) -> list[Considered]:
    """Ranks choices, those that devices refuse last: if the best is one of them, it is ranked again within
    the limit of devices. If they accept none, choices are ranked as if there were no limit.
    """
    rows = rank(None)
    free = rows[0]
    if limit is None or free.mechanism is None or free.why_not is not None:
        return rows
    why_not = limit.refuse(free.mechanism)
    accepted = [] if why_not is None else rank(limit)
    if not accepted or accepted[0].why_not is not None:
        return rows
    best, *others = (row for row in accepted if row.mechanism != free.mechanism)
    judged = [replace(best, limit=limit), replace(free, why_not=why_not), *others]
    least = [min(units) for units in zip(*(row.units for row in judged if row.variances), strict=True)]
    judged = [
        replace(row, score=row.objective.score(row.units, least, weights)) if row.variances else row
        for row in judged
    ]
    return [judged[0], *sorted(judged[1:], key=_order)]


def _rank_with_uncapped(task: Task) -> list[Considered]:
    """All rows; under a cap on influence also what the choice would be without it, so that its cost shows."""
    rows, cap = _rank(task, alternatives=True), task.objective.influence_cap
    if cap is None or rows[0].why_not is not None:
        return rows
    free = best_ranked(replace(task, objective=replace(task.objective, influence_cap=None)))
    if free.why_not is not None or max(free.influence) <= cap:
        return rows
    counts = format_digits(max(free.influence), 3)
    why_not = f"a fake report counts for up to {counts} people, the cap is {cap:g}"
    best, *others = (row for row in rows if row.mechanism != free.mechanism)
    return [best, *sorted([*others, replace(free, why_not=why_not)], key=_order)]


def best_of(task: Task) -> Considered:
    """The choice that `consider` puts first; refuses if none meets the objective."""
    best = best_ranked(task)
    if best.why_not is not None:
        raise InvalidParameter(f"nothing meets the objective; {best.name}: {best.why_not}")
    return best


def best_ranked(task: Task) -> Considered:
    """The choice that `consider` puts first, even if the objective excludes it."""
    return _rank(task, alternatives=False)[0]


def _rank(task: Task, alternatives: bool) -> list[Considered]:
    """The choice, then all others by their scores. What is chosen does not depend on the alternatives."""
    ways = [*_list_ways(task), *(_several(task) if task.several else ())]
    main = [row for way in ways for row in _rows(task, way)]
    allowed = [row for row in main if row.why_not is None] or [row for row in main if row.variances]
    least = [min(units) for units in zip(*(row.units for row in allowed), strict=True)]
    main = [_judge(row, least, task) for row in main]
    others = [_judge(row, least, task) for way in ways if alternatives for row in _alternatives(task, way)]
    best = min(main, key=_order)
    if best.why_not is None:
        limit = best.score * (1 + task.objective.tolerance)
        similar = [row for row in main if row.why_not is None and row.score <= limit]
        best = min(similar, key=lambda row: (row.report_bytes, *_order(row)))
    different: dict[object, Considered] = {}
    for row in sorted(
        [*main, *others], key=lambda row: (best.why_not is None and row is not best, *_order(row))
    ):
        different.setdefault((row.name, row.protocols), row)
    return list(different.values())


def _judge(row: Considered, least: Sequence[float], task: Task) -> Considered:
    """The choice with its score."""
    if not row.variances:
        return row
    return replace(row, score=row.objective.score(row.units, least, task.judged))


def _order(row: Considered) -> tuple[bool, float, float, int]:
    """By score and bytes; of those that are excluded by a cap on the guess, the nearest to it first."""
    cap, above = row.objective.success_cap, 0.0
    if row.why_not is not None and cap is not None:
        above = max(0.0, max(row.revealed, default=math.inf) - cap)
    return row.why_not is not None, rounded(above), rounded(row.score), row.report_bytes.most


def _list_ways(task: Task) -> list[Way]:
    """Every kind once; blocks with all metric attributes from everybody, and with all numbers as well.

    Where some attributes are more important, one is also drawn by importance. Where errors are taken as they
    are, it is drawn by these.
    """
    ways = [Way(kind) for kind in task.kinds if kind != BLOCKS]
    is_free = "SPL" in task.kinds and "SMP" in task.kinds  # nothing else was named
    if NEAR not in task.kinds and is_free and task.together and task.per == "record" and task.forever is None:
        ways.append(Way(NEAR))
    if BLOCKS in task.kinds:
        fixed, with_numbers = tuple(task.fixed), tuple(sorted((*task.fixed, *task.numbers)))
        choices = (everybody for everybody in dict.fromkeys((fixed, with_numbers)) if everybody)
        ways += [Way(BLOCKS, everybody) for everybody in choices if task.d - len(everybody) > 1]
    if task.objective.is_absolute:
        ways = [_draw_unequally(task, way) if way.kind in ("SMP", BLOCKS) else way for way in ways]
    if len(set(task.importance)) > 1 and task.forever is None:
        if not task.objective.is_absolute:
            ways += [replace(way, weighted=True) for way in ways if way.kind in ("SMP", BLOCKS)]
        ways += _split_unequally(task)
    return ways


def _draw_unequally(task: Task, way: Way) -> Way:
    """The way in which an attribute is drawn more often if its errors are larger.

    Attributes that are not judged, such as metric ones, are drawn by importance.
    """
    try:
        chosen, _ = settle_protocols(task, way, [task.among(way.kind, j) for j in range(task.d)], lean=False)
    except InvalidParameter:  # what cannot be built is explained there
        return way
    sampled = way.sampled(task)
    total = math.fsum(task.importance[j] for j in sampled)
    chances = {j: task.importance[j] / total for j in sampled}
    judged = [j for j in sampled if task.judged[j]]
    together = math.fsum(chances[j] for j in judged)
    errors = [list(_list_errors(task, j, chosen[j])) for j in judged]
    divided = divide_people(errors, task.objective.worst)
    chances |= {j: together * share for j, share in zip(judged, divided, strict=True)}
    return replace(way, weights=round_chances([chances[j] for j in sampled], MOST_WEIGHT))


def _list_errors(task: Task, attribute: int, option: Option) -> Iterator[Error]:
    """How the errors of what is read of an attribute depend on its chance."""
    question, objective = task.questions[attribute], task.objective
    always, half = (
        objective.variances(question.readings, option.part.law, one_in(option.part, chance))
        for chance in (Fraction(1), Fraction(1, 2))
    )
    for reading, at_one, at_half in zip(question.readings, always, half, strict=True):
        if reading.what == question.readings[0].what:
            weight = question.importance * reading.importance
            yield Error(weight * (at_half - at_one), weight * (at_half - 2 * at_one))


def _split_unequally(task: Task) -> Iterator[Way]:
    """SPL with parts of epsilon by what each attribute gains from its own.

    It is only for attributes of unequal importance: among equal ones, equal parts err at most a few percent
    more than the best. The worst attribute alone is another objective.
    """
    sharing = [j for j in range(task.d) if j not in task.fixed]
    if "SPL" not in task.kinds or task.per != "record" or task.objective.worst or len(sharing) < 2:
        return
    way = Way("SPL")

    def error(j: int, budget: float) -> float:
        among = task.among(way.kind, sharing[j])
        return min(option.unit for option in list_options(task, way, sharing[j], among, budget))

    try:
        parts = divide_epsilon(task.epsilon, [task.importance[j] for j in sharing], error)
    except InvalidParameter:  # what cannot be split equally is explained there
        return
    budgets = dict(zip(sharing, parts, strict=True))
    yield replace(way, budgets=tuple(budgets.get(j, task.epsilon) for j in range(task.d)))


def _several(task: Task) -> Iterator[Way]:
    """SMP with the number of attributes each that errs least: one more as long as that helps."""
    best = single = next(_rows(task, Way("SMP")))
    best_way = None
    for sample_size in range(2, task.d):
        way = Way(f"SMP-{sample_size}")
        row = next(_rows(task, way))
        judged = [_judge(candidate, single.units, task) for candidate in (best, row) if single.variances]
        if row.why_not is None and len(judged) > 1 and _order(judged[1]) >= _order(judged[0]):
            break
        if len(judged) > 1 and _order(judged[1]) < _order(judged[0]):
            best, best_way = row, way
    if best_way is not None:
        yield best_way


def _rows(task: Task, way: Way) -> Iterator[Considered]:
    """A record mechanism with every attribute's own choice: what errs least, then what is smaller."""
    refused = _refuse_near(task) if way.kind == NEAR else None
    if refused is not None:
        yield _impossible(task, way.kind, "adaptive", refused)
        return
    try:
        among = [task.among(way.kind, j) for j in range(task.d)]
    except InvalidParameter as problem:
        yield _impossible(task, way.kind, "adaptive", str(problem))
        return
    best = _row(task, way, among)
    # where a larger budget makes another choice the loss jumps; this one may have more
    if way.faked and task.per == "attribute" and best.mechanism is not None:
        tried = [best, _row(task, way, [(name,) for name in best.protocols]), *_alternatives(task, way)]
        best = min((_judge(row, best.units, task) for row in tried if row.variances), key=_order)
    yield best
    if task.objective.tolerance and best.why_not is None:
        lean = _row(task, way, among, lean=True)
        if lean.protocols != best.protocols:
            yield lean


def _refuse_near(task: Task) -> str | None:
    """Why attributes cannot be reported together in near reports; None where they can."""
    if task.per != "record":
        return "a near report loses as much about one attribute as about all; use per = 'record'"
    if not task.together:
        return (
            "near reports are for options of which people choose exactly or at most so many, and for 2 to "
            f"{MOST_ANSWERS} yes/no answers"
        )
    if task.epsilon < LEAST_OF_BITS and any(members.limited is None for members in task.together):
        return f"near bits are for an epsilon of {LEAST_OF_BITS:g} or more; below it, sampling errs less"
    return None


def _alternatives(task: Task, way: Way) -> Iterator[Considered]:
    """A record mechanism with one protocol for all attributes that have a choice."""
    try:
        among = [task.among(way.kind, j) for j in range(task.d)]
    except InvalidParameter:
        return
    if way.kind == NEAR:
        return
    free = [among[j] for j in task.free]
    common = [name for name in (free[0] if free else ()) if all(name in names for names in free)]
    for name in common if len(common) > 1 else ():
        yield _row(task, way, [(name,) if j in task.free else names for j, names in enumerate(among)])


def _row(task: Task, way: Way, among: Sequence[tuple[str, ...]], lean: bool = False) -> Considered:
    try:
        chosen, why_not = settle_protocols(task, way, among, lean)
    except InvalidParameter as problem:
        same = len(set(among)) == 1 and len(among[0]) == 1
        return _impossible(task, way.title, among[0][0] if same else "adaptive", str(problem))
    mechanism, order = way.build(task, chosen)
    if task.limit is not None and why_not is None:
        why_not = task.limit.refuse(mechanism)
    row = Considered.of(
        mechanism,
        way.title,
        [chosen[j].name for j in order],
        task.n,
        task.objective,
        None if task.names is None else tuple(task.names[j] for j in order),
        [chosen[j].success for j in order],
        [task.readings[j] for j in order],
    )
    return replace(row, per=task.per, why_not=why_not).reordered(order)


def _impossible(task: Task, kind: str, protocol: str, reason: str) -> Considered:
    return Considered(
        name=name_candidate(kind, protocol),
        mechanism=None,
        protocols=(),
        variances=(),
        readings=(),
        success=(),
        success_reported=(),
        report_bytes=Size(math.nan, 0),
        loss_record=math.nan,
        loss_attribute=math.nan,
        n=task.n,
        objective=task.objective,
        per=task.per,
        why_not=reason,
        names=task.names,
    )


def divide_epsilon(
    epsilon: float, weights: Sequence[float], error: Callable[[int, float], float]
) -> tuple[float, ...]:
    """Parts of epsilon, one for each attribute, with nearly the least sum of weighted logarithms of errors.

    At the least sum, a little more budget gains as much in each attribute. An error falls smoothly with its
    budget, so that a few budgets show all of it.

    `error(j, budget)` is the variance of attribute j. The parts add up to epsilon at most, exactly.

    >>> [round(part, 2) for part in divide_epsilon(1.0, [3.0, 1.0], lambda _, budget: 1 / budget**2)]
    [0.75, 0.25]
    """
    d = len(weights)
    fine = np.geomspace(epsilon / (_LEAST * d), epsilon, _FINE)
    tried = np.geomspace(fine[0], epsilon, _TRIED)
    logs = [
        weight * np.log([error(j, float(budget)) for budget in tried]) for j, weight in enumerate(weights)
    ]
    costs = np.stack([np.interp(np.log(fine), np.log(tried), curve) for curve in logs])
    parts = _spend(epsilon, fine, costs)
    return _round_down(parts * (epsilon / parts.sum()), epsilon)


def _spend(epsilon: float, budgets: Floats, costs: Floats) -> Floats:
    """What each attribute takes at the lowest price at which all of them together do not take too much."""
    low, high = -40.0, 40.0  # logarithms of the price of a nat
    for _ in range(_PRICES):
        middle = (low + high) / 2
        taken = budgets[np.argmin(costs + math.exp(middle) * budgets, axis=1)]
        low, high = (low, middle) if taken.sum() <= epsilon else (middle, high)
    return np.asarray(budgets[np.argmin(costs + math.exp(high) * budgets, axis=1)])


def _round_down(parts: Floats, epsilon: float) -> tuple[float, ...]:
    """Parts that are at most these, and add up to epsilon at most."""
    grains = [math.floor(part * _GRAIN) for part in parts.tolist()]
    while Fraction(sum(grains), _GRAIN) > Fraction(epsilon):
        grains[grains.index(max(grains))] -= 1
    return tuple(grain / _GRAIN for grain in grains)


class Error(NamedTuple):
    """The variance a / c - s, weighted, of something that is read of an attribute with chance c: a is that of
    one report, and s what is known of people who did not answer by those who did.
    """

    a: float
    s: float


def divide_people(errors: Sequence[Sequence[Error]], worst: bool) -> list[float]:
    """The chance of each attribute, from the errors of what is read of it: their sum, or the largest of all,
    is the least.

    The sum is least if chances are as the roots of the errors, the largest if it is the same for all.

    >>> [round(chance, 3) for chance in divide_people([[Error(1.0, 0.0)], [Error(4.0, 0.0)]], worst=False)]
    [0.333, 0.667]
    >>> [round(chance, 3) for chance in divide_people([[Error(1.0, 0.0)], [Error(4.0, 0.0)]], worst=True)]
    [0.2, 0.8]
    """
    if not worst:
        roots = [math.sqrt(math.fsum(error.a for error in errors_of_one)) for errors_of_one in errors]
    else:
        low, high = 0.0, math.fsum(error.a for errors_of_one in errors for error in errors_of_one)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            fits = math.fsum(_reach(errors_of_one, middle) for errors_of_one in errors) <= 1
            low, high = (low, middle) if fits else (middle, high)
        roots = [_reach(errors_of_one, high) for errors_of_one in errors]
    total = math.fsum(roots)
    return [root / total for root in roots]


def _reach(errors: Sequence[Error], most: float) -> float:
    """The chance at which none of these errors is above the most."""
    return max(error.a / (most + error.s) if most + error.s > 0 else math.inf for error in errors)


def round_chances(chances: Sequence[float], most: int) -> tuple[int, ...]:
    """Whole numbers in proportion to these: thousandths of an equal chance where they add up to `most`, or
    less.
    """
    scale = min(_THOUSANDTHS * len(chances), most - len(chances))
    return tuple(max(1, round(scale * chance)) for chance in chances)
