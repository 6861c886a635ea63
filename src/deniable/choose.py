"""Which protocol, in which share: by exact error, an attacker's best guess and the size of a report.

Every figure is a function of the laws, so a choice can be explained before anybody has answered; and backwards, how many
people or what epsilon an error takes. The rules of the papers (ADP, RS+FD[ADP], ALLOMFREE) are choices among two at f = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, final

from deniable.calibrate import best_theta
from deniable.errors import InvalidParameter, not_among
from deniable.exact import positive_epsilon, whole_number
from deniable.fakes import Blank, Fake, Guessed, Imitated, Prior
from deniable.longitudinal import l_grr, l_osue, l_oue, l_soue, l_sue, loloha
from deniable.multidimensional import amplified, equal_part
from deniable.protocols import PROTOCOLS, the
from deniable.repeat import Repeated
from deniable.robust import alh, ass, aue
from deniable.shape import Encoder
from deniable.share import Faked, Per, Sample, Share, Split

Names = str | Iterable[str]
SHARES = ("SPL", "SMP", "RS+FD")
"""The shares that are considered, by the names of the papers."""
_ALONE = ""  # one attribute is no record: the mechanism itself is the share
_PLAIN = tuple(row.name for row in PROTOCOLS.values() if row.exact and row.name != "adaptive")
_CLASSICAL = tuple(name for name in _PLAIN if PROTOCOLS[name].classical)
_CAPPED: dict[str, Callable[..., Encoder]] = {"aue": aue, "ass": ass, "alh": alh}
_FAKED: dict[str, tuple[str, Callable[[Any], Fake]]] = {  # as in rsfd, around a mechanism that is already there
    "grr": ("grr", lambda part: Guessed(part, Prior.uniform(part.k))),
    "oue-z": ("oue", Blank),
    "oue-r": ("oue", lambda part: Imitated(part, Prior.uniform(part.k))),
    "sue-z": ("sue", Blank),
    "sue-r": ("sue", lambda part: Imitated(part, Prior.uniform(part.k))),
}
_TWO_ROUNDS: dict[str, Callable[[int, float, float], Repeated]] = {
    "l_grr": l_grr,
    "l_sue": l_sue,
    "l_osue": l_osue,
    "l_oue": l_oue,
    "l_soue": l_soue,
    "loloha": loloha,
}
_STEPS = 1000  # epsilon_needed answers in thousandths
_LARGEST = 20.0
_HALF_WIDTH = 1.959964  # standard errors on either side, for 95 %


@final
@dataclass(frozen=True)
class Objective:
    """What is wanted: the least error, under caps.

    The error of an attribute is the variance of an estimated frequency, averaged over its values; the error of a choice is
    the mean over the attributes.
    """

    success_cap: float | None = None
    """No attacker's guess of any attribute, from one report, may be right more often than this."""
    bytes_cap: int | None = None
    """No report may take more bytes than this."""
    worst: bool = False
    """Judge by the worst attribute instead of the mean."""
    f: float | None = None
    """Judge by the variance at this frequency (the papers: 0) instead of the average over the domain."""
    people: Literal["answered", "everyone"] = "everyone"
    """Whom the error is about where each person reports one attribute of d (SMP): the n / d people who answered for it, or
    all n. The latter adds f (1 - f) (d - 1) / n, averaged over the values of a uniform truth, where it is largest: little at
    small epsilon, and nearly all of the error at large epsilon."""

    def __post_init__(self) -> None:
        if self.success_cap is not None and not 0 < self.success_cap <= 1:
            raise InvalidParameter(f"success_cap is a probability above 0, got {self.success_cap!r}")
        if self.bytes_cap is not None:
            whole_number("bytes_cap", self.bytes_cap, 1)
        if self.f is not None and not 0 <= self.f <= 1:
            raise InvalidParameter(f"f is a frequency from 0 to 1, got {self.f!r}")
        if self.people not in ("answered", "everyone"):
            raise InvalidParameter(f"people is 'answered' or 'everyone', got {self.people!r}")

    def score(self, errors: Sequence[float]) -> float:
        """The number that is to be small."""
        return max(errors) if self.worst else math.fsum(errors) / len(errors)


class Size(NamedTuple):
    """Bytes of one report without its header: on average over the attribute that is drawn, and at most."""

    expected: float
    most: int


@final
@dataclass(frozen=True)
class Considered:
    """One way to ask, and all that is known about it beforehand; one number per attribute, in order."""

    name: str
    """Share and protocol, "adaptive" where attributes differ: SMP[ss]. For a single attribute, the protocol alone."""
    share: Split | Sample | Faked | Encoder | None
    """None where nothing can be built."""
    protocols: tuple[str, ...]
    errors: tuple[float, ...]
    """The variance of an estimated frequency with n people, averaged over the values. Where each person reports one
    attribute of d (SMP), that of n / d reports, the average number."""
    success: tuple[float, ...]
    """How often the best guess from one report is right, all values being equally likely beforehand. For SMP, of the
    attribute that was drawn. For RS+FD, if the attacker were told which attribute is real: not knowing only makes it less."""
    report_bytes: Size
    loss_record: float
    loss_attribute: float
    n: int
    objective: Objective
    per: Per = "record"
    why_not: str | None = None
    """Why it is excluded, if it is."""
    loss_forever: float | None = None
    """For repeated collection: the loss of any number of reports of a value that never changes."""

    @property
    def standard_errors(self) -> tuple[float, ...]:
        """The roots of the errors."""
        return tuple(math.sqrt(error) for error in self.errors)

    @property
    def parts(self) -> tuple[Encoder, ...]:
        """The mechanism of each attribute."""
        if self.share is None:
            return ()
        return self.share.parts if isinstance(self.share, Share) else (self.share,)


def consider(
    ks: Sequence[int],
    epsilon: float,
    n: int,
    objective: Objective | None = None,
    shares: Names | None = None,
    protocols: Names | Mapping[int, Names] | None = None,
    per: Per = "record",
) -> list[Considered]:
    """Every way to ask n people for attributes of these sizes at this epsilon, the best first, the excluded ones last.

    In every share (SPL, SMP, RS+FD) the protocol of each attribute is the one that errs least under the caps, so that the
    share as a whole does; each protocol by itself is listed beside it. Where a cap on the attacker's guess rules out the
    protocol that errs least, those that are made for a cap (aue, ass, alh) join. `shares` and `protocols` name what to choose
    among instead; a mapping names the protocols of some attributes, by number ({0: "grr"}), and leaves the others free.
    In RS+FD "oue" and "sue" stand for both of their fakes. epsilon bounds the loss per record, or per attribute. A single
    attribute needs no share.

    >>> best = consider([3, 5, 4], epsilon=1.0, n=10_000)[0]
    >>> best.name, best.loss_record <= 1.0
    ('SMP[grr]', True)
    """
    return _ranked(_task(ks, epsilon, n, objective, shares, protocols, per), alternatives=True)


def consider_repeated(
    ks: Sequence[int],
    epsilon_first: float,
    epsilon_forever: float,
    n: int,
    objective: Objective | None = None,
    protocols: Names | Mapping[int, Names] | None = None,
) -> list[Considered]:
    """The same for asking again and again: two rounds, in SMP, whose attribute is drawn once and kept.

    >>> best = consider_repeated([3, 50], epsilon_first=1.0, epsilon_forever=2.0, n=10_000)[0]
    >>> best.protocols
    ('l_grr', 'l_osue')
    """
    positive_epsilon(epsilon_forever)
    task = _task(ks, epsilon_first, n, objective, ("SMP",), protocols, "record", epsilon_forever)
    return _ranked(task, alternatives=True)


def people_needed(
    ks: Sequence[int],
    target: float | Sequence[float],
    epsilon: float,
    objective: Objective | None = None,
    shares: Names | None = None,
    protocols: Names | Mapping[int, Names] | None = None,
    per: Per = "record",
) -> int:
    """The smallest n at which the best choice has a standard error of at most `target` (one for all, or one each).

    The best choice is the one that `consider` puts first; it does not depend on n.

    >>> people_needed([3, 5, 4], target=0.01, epsilon=1.0)
    71779
    """
    targets = _targets(target, len(ks))
    best = _best(_task(ks, epsilon, 1, objective, shares, protocols, per))
    n = math.ceil(max(error / limit**2 for error, limit in zip(best.errors, targets, strict=True)))
    n = max(1, n - 2)  # the formula's rounding, either way
    while not _reached(best, n, targets):
        n += 1
    return n


def epsilon_needed(
    ks: Sequence[int],
    target: float | Sequence[float],
    n: int,
    objective: Objective | None = None,
    shares: Names | None = None,
    protocols: Names | Mapping[int, Names] | None = None,
    per: Per = "record",
) -> float:
    """The smallest epsilon, in thousandths, at which n people give a standard error of at most `target`.

    Found by bisection: it is checked to reach the target, and one thousandth less not to.

    >>> epsilon_needed([3, 5, 4], target=0.01, n=68579)
    1.02
    """
    targets = _targets(target, len(ks))
    task = _task(ks, _LARGEST, n, objective, shares, protocols, per)

    def enough(steps: int) -> bool:
        return _reached(_best(replace(task, epsilon=steps / _STEPS)), n, targets)

    low, high = 0, int(_LARGEST * _STEPS)
    if not enough(high):
        raise InvalidParameter(f"no epsilon up to {_LARGEST:g} reaches this error with {n} people; ask more people")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high / _STEPS


def warning(considered: Considered, n: int) -> str | None:
    """In plain words, before launch, that the answer of n people would be noise; or None.

    It would be where the 95 % interval of a share reaches further, on either side, than the average share 1 / k: a value that
    nobody has then looks like one that has its fair share. The interval is about everyone asked, for a uniform truth.

    >>> best = consider([50, 3], epsilon=0.5, n=2000)[0]
    >>> print(warning(best, 2000))
    With 2000 people the answer would be noise. Attribute 0 has 50 values, so a share is 2.0 % on average, but it would be known
    only to within 24.0 points either way. It takes 288894 people at this epsilon, or epsilon 3.596 with these people.
    """
    whole_number("n, the number of people,", n, 1)
    if considered.share is None:
        raise InvalidParameter(f"{considered.name} cannot be built: {considered.why_not}")
    ks = [part.k for part in considered.parts]
    errors = [error * considered.n / n for error in considered.errors]
    if isinstance(considered.share, Sample) and considered.objective.people == "answered":
        errors = [error + _not_asked(k, len(ks)) / n for error, k in zip(errors, ks, strict=True)]
    widths = [_HALF_WIDTH * math.sqrt(error) for error in errors]
    noisy = [j for j, k in enumerate(ks) if widths[j] * k > 1]
    if not noisy:
        return None
    worst = max(noisy, key=lambda j: widths[j] * ks[j])
    others = f" The same goes for {len(noisy) - 1} more of {len(ks)} attributes." if len(noisy) > 1 else ""
    text = (
        f"With {n} people the answer would be noise. Attribute {worst} has {ks[worst]} values, so a share is "
        f"{100 / ks[worst]:.1f} % on average, but it would be known only to within {100 * widths[worst]:.1f} points either way."
        f"{others} It takes {math.ceil(n * (widths[worst] * ks[worst]) ** 2)} people at this epsilon"
    )
    if any(isinstance(part, Repeated) for part in considered.parts):
        return text + "."
    limits = [1 / (_HALF_WIDTH * k) for k in ks]
    shares = considered.name.split("[")[0] if len(ks) > 1 else None
    try:
        epsilon = epsilon_needed(ks, limits, n, Objective(people="everyone"), shares, per=considered.per)
    except InvalidParameter:
        return text + "; no epsilon is large enough for these."
    return f"{text}, or epsilon {epsilon:g} with these people."


@final
@dataclass(frozen=True)
class _Task:
    """What is asked for, checked."""

    ks: tuple[int, ...]
    epsilon: float
    n: int
    objective: Objective
    shares: tuple[str, ...]
    named: tuple[tuple[str, ...] | None, ...]
    """The protocols to choose among, for each attribute; None for all."""
    per: Per
    forever: float | None

    def among(self, share: str, attribute: int) -> tuple[str, ...]:
        """The protocols that an attribute can have in this share."""
        if self.forever is not None:
            known: tuple[str, ...] = tuple(_TWO_ROUNDS)
        else:
            known = tuple(_FAKED) if share == "RS+FD" else _PLAIN
        named = self.named[attribute]
        if named is None:
            return _CLASSICAL if known is _PLAIN else known
        found = tuple(name for name in known if name in named or (share == "RS+FD" and name.split("-")[0] in named))
        if not found:
            raise InvalidParameter(f"{share or 'a single attribute'} has no {' or '.join(named)}, only {', '.join(known)}")
        return found


@final
@dataclass(frozen=True)
class _Option:
    """A protocol for one attribute; `unit` is its error for one person, so that n people err unit / n."""

    name: str
    made: Encoder | Fake
    unit: float

    @property
    def part(self) -> Encoder:
        return self.made.part if isinstance(self.made, Fake) else self.made

    @property
    def size(self) -> int:
        return self.part.report_bytes

    @property
    def success(self) -> float:
        return _success(self.part)


_Picked = tuple[list[_Option], str | None]  # one option per attribute, and why they are excluded together


def _task(
    ks: Sequence[int],
    epsilon: float,
    n: int,
    objective: Objective | None,
    shares: Names | None,
    protocols: Names | Mapping[int, Names] | None,
    per: Per,
    forever: float | None = None,
) -> _Task:
    sizes = tuple(whole_number("k, the number of values,", k, 2) for k in ks)
    if not sizes:
        raise InvalidParameter("name at least one attribute, by its number of values")
    if per not in ("record", "attribute"):
        raise InvalidParameter(f"per is 'record' or 'attribute', got {per!r}")
    kinds = SHARES if shares is None else _checked_names(shares, "a share", SHARES)
    known = tuple(_TWO_ROUNDS) if forever is not None else tuple(dict.fromkeys((*_PLAIN, *_FAKED, "adaptive")))
    named: list[tuple[str, ...] | None] = [None] * len(sizes)
    if isinstance(protocols, Mapping):
        for attribute, names in protocols.items():
            whole_number("an attribute's number", attribute, 0, len(sizes) - 1)
            named[attribute] = _checked_names(names, "a protocol", known)
    elif protocols is not None:
        named = [_checked_names(protocols, "a protocol", known)] * len(sizes)
    return _Task(
        sizes,
        positive_epsilon(epsilon),
        whole_number("n, the number of people,", n, 1),
        Objective() if objective is None else objective,
        kinds if len(sizes) > 1 else (_ALONE,),
        tuple(None if names is None or "adaptive" in names else names for names in named),
        per,
        forever,
    )


def _checked_names(names: Names, what: str, known: Sequence[str]) -> tuple[str, ...]:
    given = (names,) if isinstance(names, str) else tuple(names)
    if not given:
        raise InvalidParameter(f"name at least one to choose among ({', '.join(known)})")
    for name in given:
        if name not in known:
            raise InvalidParameter(not_among(name, what, known))
    return given


def _targets(target: float | Sequence[float], d: int) -> tuple[float, ...]:
    targets = tuple(target) if isinstance(target, Sequence) else (target,) * d
    if len(targets) != d or not all(math.isfinite(limit) and limit > 0 for limit in targets):
        raise InvalidParameter(f"target is a positive standard error, or one for each of {d} attributes, got {target!r}")
    return targets


def _reached(considered: Considered, n: int, targets: Sequence[float]) -> bool:
    errors = (error * considered.n / n for error in considered.errors)
    return all(math.sqrt(error) <= limit for error, limit in zip(errors, targets, strict=True))


def _best(task: _Task) -> Considered:
    """The one that `consider` puts first."""
    best = _ranked(task, alternatives=False)[0]
    if best.why_not is not None:
        raise InvalidParameter(f"nothing meets the objective; {best.name}: {best.why_not}")
    return best


def _ranked(task: _Task, alternatives: bool) -> list[Considered]:
    def key(row: Considered) -> tuple[bool, float, int]:
        score = task.objective.score(row.errors) if row.errors else math.inf
        return row.why_not is not None, _rounded(score), row.report_bytes.most

    return sorted((row for share in task.shares for row in _rows(task, share, alternatives)), key=key)


def _rows(task: _Task, share: str, alternatives: bool) -> Iterator[Considered]:
    """A share with every attribute's own choice, then with each protocol for all of them."""
    try:
        among = [task.among(share, j) for j in range(len(task.ks))]
    except InvalidParameter as problem:
        yield _impossible(task, share, "adaptive", str(problem))
        return
    best = _row(task, share, among)
    yield best
    # fakes of one kind can be worth more budget per attribute than the best of each; elsewhere the best of each is the best
    if alternatives or (share == "RS+FD" and task.per == "attribute"):
        common = [name for name in among[0] if all(name in names for names in among)]
        for name in common if len(common) > 1 else ():
            row = _row(task, share, [(name,)] * len(task.ks))
            if row.name != best.name:
                yield row


def _row(task: _Task, share: str, among: Sequence[tuple[str, ...]]) -> Considered:
    try:
        picked, why_not = _settled(task, share, among)
    except InvalidParameter as problem:
        same = len(set(among)) == 1 and len(among[0]) == 1
        return _impossible(task, share, among[0][0] if same else "adaptive", str(problem))
    parts = tuple(option.part for option in picked)
    made: Split | Sample | Faked | Encoder
    if share == _ALONE:
        made = parts[0]
    elif share == "SPL":
        made = Split(parts)
    elif share == "SMP":
        made = Sample(parts)
    else:
        made = _faked(picked, task.epsilon)
    protocols = tuple(option.name for option in picked)
    kept = [part.losses(1, 1).one_value_forever for part in parts if isinstance(part, Repeated)]
    return Considered(
        name=_named(share, protocols[0] if len(set(protocols)) == 1 else "adaptive"),
        share=made,
        protocols=protocols,
        errors=tuple(option.unit / task.n for option in picked),
        success=tuple(option.success for option in picked),
        report_bytes=_size(share, [option.size for option in picked]),
        loss_record=made.loss(),
        loss_attribute=made.loss("attribute") if isinstance(made, Share) else made.loss(),
        n=task.n,
        objective=task.objective,
        per=task.per,
        why_not=why_not,
        loss_forever=max(kept) if kept else None,
    )


def _impossible(task: _Task, share: str, protocol: str, reason: str) -> Considered:
    name, nothing = _named(share, protocol), Size(math.nan, 0)
    return Considered(name, None, (), (), (), nothing, math.nan, math.nan, task.n, task.objective, task.per, reason)


def _named(share: str, protocol: str) -> str:
    return f"{share}[{protocol}]" if share else protocol


def _size(share: str, sizes: Sequence[int]) -> Size:
    if share in ("SPL", "RS+FD"):
        return Size(float(sum(sizes)), sum(sizes))
    index = _index_bytes(share, len(sizes))
    return Size(index + sum(sizes) / len(sizes), index + max(sizes))


def _index_bytes(share: str, d: int) -> int:
    """What it takes to name the attribute that was drawn."""
    return ((d - 1).bit_length() + 7) // 8 if share == "SMP" else 0


def _settled(task: _Task, share: str, among: Sequence[tuple[str, ...]]) -> _Picked:
    """Each attribute's protocol, at the budget that this share gives its parts."""

    def at(budget: float) -> _Picked:
        return _picked([_options(task, share, j, names, budget) for j, names in enumerate(among)], task, share)

    d, epsilon = len(task.ks), task.epsilon
    if share == "SPL" and task.per == "record":
        return at(equal_part(epsilon, d))
    if share != "RS+FD" or task.per == "record":
        return at(epsilon)

    def loss(budget: float) -> float:
        return _faked(at(budget)[0], epsilon).loss("attribute")

    return at(_largest_budget(loss, epsilon, amplified(epsilon, d) + 1.0))


def _options(task: _Task, share: str, attribute: int, names: Sequence[str], budget: float) -> list[_Option]:
    """What an attribute can have; a name that has nothing for this size and budget is passed over."""
    k, d, objective = task.ks[attribute], len(task.ks), task.objective
    options: list[_Option] = []
    refused: list[str] = []

    def offer(name: str) -> None:
        made = _fake(name, k, budget) if share == "RS+FD" else _mechanism(name, k, budget, task.forever, cap, objective.f)
        if isinstance(made, str):
            refused.append(made)
            return
        options.append(_Option(name, made, _unit(share, d, made, objective)))

    cap = objective.success_cap
    for name in names:
        offer(name)
    if cap is not None and names == _CLASSICAL and options and min(options, key=_order).success > cap:
        for name in _CAPPED:
            offer(name)
    if not options:
        raise InvalidParameter(f"attribute {attribute} with {k} values: {refused[0]}")
    return options


def _unit(share: str, d: int, made: Encoder | Fake, objective: Objective) -> float:
    if isinstance(made, Fake):
        return Faked((made,) * d).marginal(0).error(1, objective.f)
    error, k = made.law.error(1, objective.f), made.k
    if share != "SMP":
        return error
    return error * d + (_not_asked(k, d) if objective.people == "everyone" and objective.f is None else 0.0)


def _not_asked(k: int, d: int) -> float:
    """What one attribute of d each leaves unknown about everyone, for one person: f (1 - f) (d - 1), averaged at f = 1 / k."""
    return (d - 1) * (1 - 1 / k) / k


def _picked(options: Sequence[Sequence[_Option]], task: _Task, share: str) -> _Picked:
    """For each attribute the option that errs least under the caps; or, if there is none, without them and why."""
    cap, most = task.objective.success_cap, task.objective.bytes_cap
    least = [min(some, key=_order) for some in options]
    fitting = options
    if cap is not None:
        fitting = [[option for option in some if option.success <= cap] for some in options]
        for j, some in enumerate(fitting):
            if not some:
                lowest = min(option.success for option in options[j])
                return least, f"a guess of attribute {j} is right with probability {lowest:.4g} or more, the cap is {cap:g}"
    if most is None:
        return [min(some, key=_order) for some in fitting], None
    room = most - _index_bytes(share, len(options))
    if share in ("SPL", "RS+FD"):
        found = _fitted(fitting, room, task.objective.worst)
    elif all(any(option.size <= room for option in some) for some in fitting):
        found = [min((option for option in some if option.size <= room), key=_order) for some in fitting]
    else:
        found = None
    if found is None:
        smallest = _size(share, [min(option.size for option in some) for some in fitting]).most
        return least, f"a report takes {smallest} bytes or more, the cap is {most}"
    return found, None


def _fitted(options: Sequence[Sequence[_Option]], room: int, worst: bool) -> list[_Option] | None:
    """One option per attribute with the least errors that fit into `room` together: a knapsack, solved exactly."""
    if sum(min(option.size for option in some) for some in options) > room:
        return None
    if worst:  # the smallest limit on every error that still fits; within it, the least sum
        limits = sorted({option.unit for some in options for option in some})
        low, high = -1, len(limits) - 1
        while high - low > 1:
            middle = (low + high) // 2
            within = [[option.size for option in some if option.unit <= limits[middle]] for some in options]
            fits = all(within) and sum(map(min, within)) <= room
            low, high = (low, middle) if fits else (middle, high)
        options = [[option for option in some if option.unit <= limits[high]] for some in options]
    frontier: list[tuple[int, float, tuple[_Option, ...]]] = [(0, 0.0, ())]  # more bytes, less error
    for some in options:
        grown = sorted(
            (
                (used + option.size, total + option.unit, (*picked, option))
                for used, total, picked in frontier
                for option in some
                if used + option.size <= room
            ),
            key=lambda state: state[:2],
        )
        frontier = []
        for state in grown:
            if not frontier or state[1] < frontier[-1][1]:
                frontier.append(state)
    return list(frontier[-1][2])


def _order(option: _Option) -> tuple[float, int]:
    """By error; ties, up to rounding, go to the smaller report."""
    return _rounded(option.unit), option.size


def _rounded(error: float) -> float:
    return float(f"{error:.9e}")


def _faked(picked: Sequence[_Option], epsilon: float) -> Faked:
    return Faked(tuple(option.made for option in picked if isinstance(option.made, Fake)), epsilon)


def _largest_budget(loss: Callable[[float], float], epsilon: float, high: float) -> float:
    """A budget above epsilon whose loss is at most epsilon, by less than 5e-10; at epsilon it is, at high it is not.

    e^loss is nearly linear in e^budget, so that chords find it in a few steps; an end that stays counts half (Illinois), which
    also ends the search where the loss jumps because another choice is made.
    """

    def over(budget: float) -> tuple[float, float]:
        spent = loss(budget)
        return spent, math.expm1(spent) - math.expm1(epsilon - 2e-10)

    low, moved = epsilon, ""
    (spent, at_low), (_, at_high) = over(low), over(high)
    while epsilon - spent >= 5e-10 and high - low > 1e-11 * high:
        x, y = math.expm1(low), math.expm1(high)
        middle = math.log1p(x + (y - x) * at_low / (at_low - at_high))
        if not low < middle < high:
            middle = (low + high) / 2
        found, at_middle = over(middle)
        if found <= epsilon:
            at_high /= 2 if moved == "low" else 1
            low, spent, at_low, moved = middle, found, min(at_middle, 0.0), "low"
        else:
            at_low /= 2 if moved == "high" else 1
            high, at_high, moved = middle, at_middle, "high"
    return low


@lru_cache(maxsize=1 << 13)
def _mechanism(name: str, k: int, budget: float, forever: float | None, cap: float | None, f: float | None) -> Encoder | str:
    """A mechanism, or why there is none."""
    try:
        if forever is not None:
            return _TWO_ROUNDS[name](k, budget, forever)
        if cap is not None and name in _CAPPED:
            return _CAPPED[name](k, budget, cap=cap, f=f)
        if cap is not None or f is not None:
            return _mechanism(name, k, budget, None, None, None)
        made = the(k, budget, _theta(budget)) if name == "the" else PROTOCOLS[name].make(k, budget)
    except InvalidParameter as problem:
        return str(problem)
    assert isinstance(made, Encoder)
    return made


@lru_cache(maxsize=256)
def _theta(budget: float) -> float:
    """A search that does not depend on k."""
    return best_theta(budget)


@lru_cache(maxsize=1 << 13)
def _fake(name: str, k: int, budget: float) -> Fake | str:
    """A fake of RS+FD around its mechanism, or why there is none."""
    protocol, around = _FAKED[name]
    part = _mechanism(protocol, k, budget, None, None, None)
    return part if isinstance(part, str) else around(part)


@lru_cache(maxsize=1 << 13)
def _success(part: Encoder) -> float:
    return part.success()
