"""Ranks every way to ask, the best first: each record mechanism at the budget that it gives its parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy.typing as npt

from deniable.choose.candidate import Considered, Size, influence_of, name_candidate, one_in
from deniable.choose.caps import Selection, select_options
from deniable.choose.objective import Objective
from deniable.choose.options import CAPPED, CLASSICAL, Option, fake, given_name, mechanisms, rounded
from deniable.choose.task import (
    SINGLE,
    Given,
    Names,
    Protocols,
    Sizes,
    Task,
    checked_task,
    count_reported,
)
from deniable.errors import InvalidParameter
from deniable.exact import positive_epsilon
from deniable.law import ReportLaw
from deniable.mechanisms import ExactMechanism
from deniable.records import (
    Fake,
    Faked,
    Per,
    Prior,
    RecordMechanism,
    Sample,
    Single,
    Split,
    equal_part,
    largest_budget,
)

_MOST_COUNTED = 1 << 32


def consider(
    ks: Sizes,
    epsilon: float,
    n: int,
    objective: Objective | None = None,
    mechanisms: Names | None = None,
    protocols: Protocols | None = None,
    per: Per = "record",
    priors: Sequence[npt.ArrayLike] | None = None,
    given: Given | None = None,
) -> list[Considered]:
    """Every way to ask n people for attributes of these sizes at this epsilon, the best first, the excluded
    ones last.

    In every record mechanism (SPL, SMP, RS+FD; RS+RFD where public priors are given) each attribute has the
    protocol that errs least under the caps, so that the whole does; each protocol by itself is
    listed next to it. SMP-r, with r attributes each, is listed where it errs less than SMP: r grows from 2 as
    long as that helps. Where a cap on the attacker's guess rules out the protocol that errs least, those that
    are made for a cap (aue, ass, alh) join. `mechanisms` and `protocols` name what to choose among instead; a
    mapping names the protocols of some attributes, by number ({0: "grr"}), and leaves the others free. In
    RS+FD "oue" and "sue" stand for both of their fakes. Priors are public, so that a cap on the guess holds
    for an attacker who knows them, in all of them. epsilon bounds the loss per record, or per attribute. A
    single attribute needs none. What would be chosen without a cap on influence is listed, too, with an
    objective that has no such cap. Sizes that are a mapping name the attributes, for messages. `given` has
    mechanisms of metric attributes, by number, whose loss is no part of epsilon; and None for a
    number, whose mean is wanted.

    >>> best = consider([3, 5, 4], epsilon=1.0, n=10_000)[0]
    >>> best.name, best.loss_record <= 1.0
    ('SMP[grr]', True)
    """
    task = checked_task(ks, epsilon, n, objective, mechanisms, protocols, per, priors=priors, given=given)
    return _rank_with_uncapped(task)


def consider_repeated(
    ks: Sizes,
    epsilon_first: float,
    epsilon_forever: float,
    n: int,
    objective: Objective | None = None,
    protocols: Protocols | None = None,
) -> list[Considered]:
    """The same for asking again and again: two rounds, in SMP, whose attribute is drawn once and kept.

    dBitFlipPM ("dbitflip") keeps all it sends, so that a change of the value shows: it is considered only if
    it is named.

    >>> best = consider_repeated([3, 50], epsilon_first=1.0, epsilon_forever=2.0, n=10_000)[0]
    >>> best.protocols
    ('l_grr', 'l_osue')
    """
    positive_epsilon(epsilon_forever)
    task = checked_task(ks, epsilon_first, n, objective, ("SMP",), protocols, forever=epsilon_forever)
    return _rank_with_uncapped(task)


def _rank_with_uncapped(task: Task) -> list[Considered]:
    """All rows; under a cap on influence also what the choice would be without it, so that its cost shows."""
    rows, cap = _rank(task, alternatives=True), task.objective.influence_cap
    if cap is None or rows[0].why_not is not None:
        return rows
    free = best_ranked(replace(task, objective=replace(task.objective, influence_cap=None)))
    if free.why_not is not None or max(free.influence) <= cap:
        return rows
    why_not = f"a fake report counts for up to {max(free.influence):.3g} people, the cap is {cap:g}"
    others = [row for row in rows if row.mechanism != free.mechanism]
    return sorted([*others, replace(free, why_not=why_not)], key=_order)


def best_of(task: Task) -> Considered:
    """The one that `consider` puts first."""
    best = best_ranked(task)
    if best.why_not is not None:
        raise InvalidParameter(f"nothing meets the objective; {best.name}: {best.why_not}")
    return best


def best_ranked(task: Task) -> Considered:
    """The same, even if it is excluded."""
    return _rank(task, alternatives=False)[0]


def _rank(task: Task, alternatives: bool) -> list[Considered]:
    rows = [row for kind in task.kinds for row in _rows(task, kind, alternatives)]
    return sorted([*rows, *(_several(task) if task.several else ())], key=_order)


def _order(row: Considered) -> tuple[bool, float, float, int]:
    """By error and bytes; of those that are excluded by a cap on the guess, the nearest to it first."""
    score = row.objective.score(row.errors) if row.errors else math.inf
    cap, above = row.objective.success_cap, 0.0
    if row.why_not is not None and cap is not None:
        above = max(0.0, max(row.revealed, default=math.inf) - cap)
    return row.why_not is not None, rounded(above), rounded(score), row.report_bytes.most


def _several(task: Task) -> Iterator[Considered]:
    """SMP with the number of attributes each that errs least: one more as long as that helps."""
    best = one = next(_rows(task, "SMP", False))
    for sample_size in range(2, task.d):
        row = next(_rows(task, f"SMP-{sample_size}", False))
        if row.why_not is None and _order(row) >= _order(best):
            break
        best = min(best, row, key=_order)
    if best is not one:
        yield best


def _rows(task: Task, kind: str, alternatives: bool) -> Iterator[Considered]:
    """A record mechanism with every attribute's own choice, then with each protocol for all of them."""
    try:
        among = [task.among(kind, j) for j in range(task.d)]
    except InvalidParameter as problem:
        yield _impossible(task, kind, "adaptive", str(problem))
        return
    best = _row(task, kind, among)
    faked = kind in ("RS+FD", "RS+RFD") and task.per == "attribute"
    # where a larger budget makes another choice the loss jumps; this one may have more
    if faked and best.mechanism is not None:
        best = min(best, _row(task, kind, [(name,) for name in best.protocols]), key=_order)
    yield best
    # fakes of one kind can be worth more budget per attribute than the best of each; elsewhere the best of
    # each is the best
    if alternatives or faked:
        free = [among[j] for j in task.free]
        common = [name for name in (free[0] if free else ()) if all(name in names for names in free)]
        for name in common if len(common) > 1 else ():
            row = _row(task, kind, [(name,) if j in task.free else names for j, names in enumerate(among)])
            if row.name != best.name:
                yield row


def _row(task: Task, kind: str, among: Sequence[tuple[str, ...]]) -> Considered:
    try:
        chosen, why_not = _settle(task, kind, among)
    except InvalidParameter as problem:
        same = len(set(among)) == 1 and len(among[0]) == 1
        return _impossible(task, kind, among[0][0] if same else "adaptive", str(problem))
    protocols = [option.name for option in chosen]
    made = _build_mechanism(kind, chosen, task.epsilon)
    revealed = [option.success for option in chosen]
    return Considered.of(
        made, kind, protocols, task.n, task.objective, task.per, why_not, task.names, revealed
    )


def _build_mechanism(kind: str, chosen: Sequence[Option], epsilon: float) -> RecordMechanism:
    parts = tuple(option.part for option in chosen)
    if kind == SINGLE:
        return Single(parts[0])
    if kind == "SPL":
        return Split(parts)
    sample_size = count_reported(kind)
    if sample_size is not None:
        return Sample(parts, sample_size)
    return _build_faked(chosen, epsilon)


def _impossible(task: Task, kind: str, protocol: str, reason: str) -> Considered:
    return Considered(
        name=name_candidate(kind, protocol),
        mechanism=None,
        protocols=(),
        errors=(),
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


def _settle(task: Task, kind: str, among: Sequence[tuple[str, ...]]) -> Selection:
    """Each attribute's protocol, at the budget that this one gives its parts."""
    sample_size = count_reported(kind)

    def at(budget: float) -> Selection:
        return select_options(
            [_options(task, kind, j, names, budget) for j, names in enumerate(among)], task, sample_size
        )

    epsilon = task.epsilon
    if kind not in ("RS+FD", "RS+RFD"):
        reported = min(task.d if kind == "SPL" else sample_size or 1, max(task.sharing, 1))
        return at(equal_part(epsilon, reported) if task.per == "record" else epsilon)
    if task.per == "record":
        return at(epsilon)

    def loss(budget: float) -> float:
        return _build_faked(at(budget)[0], epsilon).loss("attribute")

    return at(largest_budget(loss, epsilon, task.d))


def _options(task: Task, kind: str, attribute: int, names: Sequence[str], budget: float) -> list[Option]:
    """What an attribute can have; a name that has nothing for this size and budget is passed over."""
    k, objective = task.ks[attribute], task.objective
    cap, prior = objective.success_cap, None if task.priors is None else task.priors[attribute]
    sample_size = count_reported(kind)
    often = Fraction(1) if sample_size is None else Fraction(sample_size, task.d)
    options: list[Option] = []
    refused: list[str] = []

    def add(
        name: str, made: ExactMechanism | Fake, law: ReportLaw, one_in: float, prior: Prior | None
    ) -> None:
        influence = 1.0 if objective.influence_cap is None else influence_of(law, one_in)
        options.append(Option(name, made, objective.unit(law, one_in), prior, influence))

    def offer(name: str) -> None:
        for made in mechanisms(name, k, budget, task.forever, cap, objective.f):
            if isinstance(made, str):
                refused.append(made)
            else:
                add(name, made, made.law, one_in(made, often), prior)

    def offer_fake(name: str) -> None:
        made = fake(name, k, budget, prior if kind == "RS+RFD" else None)
        if isinstance(made, str):
            refused.append(made)
        else:
            add(name, made, Faked((made,) * task.d).marginal(0), 1.0, prior)

    if attribute in task.fixed:
        made = task.fixed[attribute]
        known = None if made.numeric else prior  # a number's guess is about halves of its range
        add(given_name(made), made, made.law, one_in(made, often), known)
        return options
    for name in names:
        (offer_fake if kind in ("RS+FD", "RS+RFD") else offer)(name)
    if (
        cap is not None
        and names == CLASSICAL
        and options
        and min(options, key=lambda one: one.order).success > cap
    ):
        for name in CAPPED:
            offer(name)
    if not options:
        # the positions of a number are not the values of an attribute
        size = f" with {k:,} values" if k <= _MOST_COUNTED else ""
        raise InvalidParameter(f"{task.label(attribute)}{size}: {refused[0]}")
    return options


def _build_faked(chosen: Sequence[Option], epsilon: float) -> Faked:
    return Faked(tuple(option.made for option in chosen if isinstance(option.made, Fake)), epsilon)
