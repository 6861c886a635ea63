"""Computes all that is known beforehand about one way to ask, and about one option for an attribute."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar, final

from deniable.choose.objective import SHARES, Objective, Reading
from deniable.errors import InvalidParameter
from deniable.formatting import Printed, format_count, format_loss, format_points, format_up
from deniable.law.law import ReportLaw
from deniable.mechanisms import PROTOCOLS, Mechanism, alh, ass, aue
from deniable.metric import PlanarGeometric
from deniable.metric.means import MEANS, averaged
from deniable.records import Blank, Fake, Prior, RecordMechanism
from deniable.records.base import Per
from deniable.records.named import FAKES, REALISTIC_FAKES
from deniable.records.single import as_record_mechanism
from deniable.rounds import Repeated, dbitflip, l_duchi, l_grr, l_osue, l_oue, l_plh, l_soue, l_sue, loloha
from deniable.rounds.named import fake_again

T = TypeVar("T")

PLAIN = tuple(name for name in PROTOCOLS if name != "adaptive")
CLASSICAL = tuple(name for name in PLAIN if PROTOCOLS[name].classical)
HASHED_ALONE = ("blh", "olh", "alh", "loloha")
"""Protocols whose reports are hashed by a function of their own: counting takes a hash for each value."""
CAPPED: dict[str, Callable[..., Mechanism]] = {"aue": aue, "ass": ass, "alh": alh}
TWO_ROUNDS: dict[str, Callable[[int, float, float], Repeated]] = {
    "l_grr": l_grr,
    "l_sue": l_sue,
    "l_osue": l_osue,
    "l_oue": l_oue,
    "l_soue": l_soue,
    "loloha": loloha,
    "l_plh": l_plh,
}
ALONE_AGAIN = tuple(name for name in TWO_ROUNDS if name != "l_plh")
"""Protocols for asking again that are chosen among unless reports are counted by groups."""
AT_ONCE = {CLASSICAL: ("plh", "grr", "hr"), ALONE_AGAIN: ("l_plh", "l_grr")}
"""For the usual protocols, those whose reports take one step to count and a few bytes to keep, however many
values there are. The first is a public pool.
"""
TWO_ROUNDS_OF_MEANS = ("l_duchi",)
"""Protocols that report the mean of a number again and again, with two rounds of noise."""
KEPT_BITS = "dbitflip"
"""The protocol without fresh noise. A change of the value shows in it, so it is chosen only by name."""

_CERTAIN = 700.0  # nats
_NAMED = 3  # of several attributes that the same is said of
_BY_ATTRIBUTE = (
    *("protocols", "variances", "readings", "names", "bounds"),
    *("success", "success_reported", "revealed"),
)


class Size(NamedTuple):
    """Bytes of one report without its header: on average over the attributes that are drawn, and at most."""

    expected: float
    most: int


class Division(NamedTuple):
    """What answers that stay lose, in a round and in all rounds, and answers that change, in each round."""

    first: float
    forever: float
    fresh: float
    alone: tuple[float, ...] = ()
    """The standard error of each attribute where everybody answers it, and nothing else."""


@final
class DeviceLimit(NamedTuple):
    """What a device allows all its reports to a plan to give away, in nats, and how many reports it makes."""

    most: float
    reports: int

    def refuse(self, mechanism: Mechanism | RecordMechanism) -> str | None:
        """Say why devices refuse a mechanism, or None where they accept it."""
        lost = mechanism.losses(self.reports, self.reports).changing_values
        if lost <= self.most:
            return None
        return (
            f"devices refuse it: {format_count(self.reports, 'report')} of answers that change give away "
            f"{format_up(lost)}, and a device allows {self.most:g}"
        )


@final
@dataclass(frozen=True)
class Considered(Printed):
    """One way to ask, and all that is known about it beforehand; one number per attribute, in order."""

    name: str
    """Record mechanism and protocol, "adaptive" where attributes differ: SMP[ss]. For a single attribute,
    the protocol alone.
    """
    mechanism: RecordMechanism | None
    """None where nothing can be built."""
    protocols: tuple[str, ...]
    variances: tuple[tuple[float, ...], ...]
    """The variance of everything that will be read of each attribute, with n people. Where each person
    reports r attributes of d (SMP), that of n r / d reports, the average number.
    """
    readings: tuple[tuple[Reading, ...], ...]
    """What these are."""
    success: tuple[float, ...]
    """How often the best guess of a person's answer from their whole report is right, all records being
    equally likely beforehand. The answer may not be in the report at all: then the guess is blind.
    """
    success_reported: tuple[float, ...]
    """How often the guess of an answer that was reported is right, for an attacker who knows that it was."""
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
    names: tuple[str, ...] | None = None
    """The attributes' names, where they have any."""
    score: float = math.inf
    """How many times the least standard errors of any choice its own are, by the objective; 1 is the least.
    """
    presence: Fraction = Fraction(1)
    """The share of the people who report in a round; the variances are of their reports."""
    order: tuple[int, ...] | None = None
    """The attributes in the order in which a report has them, where it is another one."""
    revealed: tuple[float, ...] = ()
    """What a cap on the guess is held against: `success_reported` by an attacker with the public priors, if
    there are any; and where people are asked again, from all their reports of one value.
    """
    division: Division | None = None
    """How answers that stay and answers that change share the loss, where there are both."""
    limit: DeviceLimit | None = None
    """What devices allow, where the choice without that limit was one that they refuse."""
    bounds: tuple[Callable[[], float] | None, ...] = field(default=(), compare=False, repr=False)
    """What one report counts for at most in the share of a range, of attributes that have levels."""

    @staticmethod
    def of(
        chosen: RecordMechanism | Mechanism,
        kind: str,
        protocols: Sequence[str],
        n: int,
        objective: Objective,
        names: tuple[str, ...] | None = None,
        revealed: Sequence[float] | None = None,
        readings: Sequence[tuple[Reading, ...]] | None = None,
    ) -> Considered:
        """All the figures of a record mechanism, or of the mechanism of a single attribute (kind "").

        `revealed` is given where priors are public. Without `readings`, the share of each value is read.
        """
        mechanism = as_record_mechanism(chosen)
        parts = mechanism.mechanisms
        guesses = tuple(map(_success_of, parts))
        kept = [part.losses(1, 1).one_value_forever for part in parts if part.repeated]
        read = tuple(readings) if readings is not None else (SHARES,) * len(parts)
        return Considered(
            name=name_candidate(kind, _together(parts, protocols)),
            mechanism=mechanism,
            protocols=tuple(protocols),
            variances=tuple(
                tuple(
                    variance / n
                    for variance in objective.variances(
                        read[j], mechanism.marginal(j), one_in(part, mechanism.chance(j))
                    )
                )
                for j, part in enumerate(parts)
            ),
            readings=read,
            success=tuple(
                _blur(mechanism.chance_real(j), guess, parts[j].blind) for j, guess in enumerate(guesses)
            ),
            success_reported=guesses,
            report_bytes=_report_size(mechanism),
            loss_record=mechanism.loss(),
            loss_attribute=mechanism.loss("attribute"),
            n=n,
            objective=objective,
            loss_forever=max(kept) if kept else None,
            names=names,
            revealed=tuple(map(most_revealed, parts) if revealed is None else revealed),
        )

    def with_presence(self, presence: Fraction) -> Considered:
        """With this share of the people in a round."""
        less = float(self.presence / presence)
        variances = tuple(tuple(variance * less for variance in read) for read in self.variances)
        division = self.division
        if division is not None:
            alone = tuple(error * math.sqrt(less) for error in division.alone)
            division = division._replace(alone=alone)
        return replace(self, presence=presence, variances=variances, division=division)

    def reordered(self, order: Sequence[int]) -> Considered:
        """With one number per attribute in the order of the questions, where a report has them in another."""
        if list(order) == sorted(order):
            return self
        moved = replace(self, order=tuple(order))
        lists = {name: getattr(self, name) for name in _BY_ATTRIBUTE}
        ordered: dict[str, Any] = {name: moved._in_order(lists[name]) for name in lists if lists[name]}
        return replace(moved, **ordered)

    def __str__(self) -> str:
        if self.why_not is not None:
            return f"{self.name}: excluded, {self.why_not}"
        error = f"standard error {format_points(max(self.standard_errors))} at most"
        size = f"{format_count(self.report_bytes.most, 'byte')} a report at most"
        loss = f"loss {format_loss(self.loss_record)} per record"
        return f"{self.name}, {format_count(self.n, 'person')}: {error}, {loss}, {size}"

    @property
    def kind(self) -> str:
        """The record mechanism's name in the papers; none for a single attribute."""
        return self.name.partition("[")[0] if "[" in self.name else ""

    @property
    def errors(self) -> tuple[float, ...]:
        """The variance of a share as it will be read of each attribute: of a value, a group or a block; of a
        number, that of its mean, in squared parts of its range.
        """
        # nothing is read of a coarse level
        return tuple(variances[0] if variances else 0.0 for variances in self.variances)

    @property
    def units(self) -> tuple[float, ...]:
        """All that will be read of each attribute in one number, by which choices are compared."""
        return tuple(map(self.objective.combine, self.readings, self.variances))

    @property
    def standard_errors(self) -> tuple[float, ...]:
        """The roots of the errors."""
        return tuple(math.sqrt(error) for error in self.errors)

    @cached_property
    def influence(self) -> tuple[float, ...]:
        """How many people a report that was made up can count for, at most: 1 % of fake reports moves a share
        by so many points.
        """
        mechanism = self.mechanism
        if mechanism is None:
            return ()
        influences = [
            influence_of(mechanism.marginal(j), one_in(part, mechanism.chance(j)))
            for j, part in enumerate(mechanism.mechanisms)
        ]
        bounds = self.bounds or (None,) * len(influences)
        pairs = zip(self._in_order(influences), bounds, strict=True)
        return tuple(influence if bound is None else bound() for influence, bound in pairs)

    @property
    def parts(self) -> tuple[Mechanism, ...]:
        """The mechanism of each attribute."""
        return () if self.mechanism is None else self._in_order(self.mechanism.mechanisms)

    @property
    def chances(self) -> tuple[Fraction, ...]:
        """How likely a report holds each attribute."""
        mechanism = self.mechanism
        return () if mechanism is None else self._in_order([mechanism.chance(j) for j in range(mechanism.d)])

    def _in_order(self, values: Sequence[T]) -> tuple[T, ...]:
        """In the order of the questions."""
        order = range(len(values)) if self.order is None else self.order
        return tuple(value for _, value in sorted(zip(order, values, strict=True), key=lambda pair: pair[0]))


def name_candidate(kind: str, protocol: str) -> str:
    """As the papers write it: SMP[grr]."""
    return f"{kind}[{protocol}]" if kind else protocol


def label(names: Sequence[str] | None, attribute: int) -> str:
    """What a message calls an attribute."""
    return f"attribute {attribute}" if names is None else repr(names[attribute])


def the_same(names: Sequence[str] | None, others: Sequence[int], worst: int) -> str:
    """That what was said of one attribute is so of others, too, by name; empty where there are none.

    Levels of a question go by its name, so that several may have one.
    """
    different = [
        name for name in dict.fromkeys(label(names, j) for j in others) if name != label(names, worst)
    ]
    if not different:
        return ""
    listed = different[:_NAMED]
    if len(different) > _NAMED:
        listed.append(f"{len(different) - _NAMED} more")
    before = f"{', '.join(listed[:-1])} and " if len(listed) > 1 else ""
    return f"The same goes for {before}{listed[-1]}. "


def one_in(part: Mechanism, chance: Fraction) -> float:
    """One person in how many is asked about each value of an attribute with this chance to be held."""
    times = chance.denominator / chance.numerator if chance else math.inf
    return times if part.values_asked == part.k else times * part.k / part.values_asked


def influence_of(law: ReportLaw, one_in: float) -> float:
    """How many people a report that was made up can count for, if one in `one_in` answers for each value.

    Fakes need not be spread: all of them can be about the one value that is to be moved.
    """
    return law.contributions[1] * one_in


def _report_size(mechanism: RecordMechanism) -> Size:
    """The bytes of one report."""
    sizes = [part.report_bytes for part in mechanism.mechanisms]
    often = sum((mechanism.chance(j) * size for j, size in enumerate(sizes)), Fraction(0))
    return Size(float(mechanism.name_bytes + often), mechanism.lengths[-1])


def _together(parts: Sequence[Mechanism], protocols: Sequence[str]) -> str:
    """One name for all protocols; metric attributes and numbers, which choose nothing, are left out."""
    free = [name for part, name in zip(parts, protocols, strict=True) if not (part.metric or part.numeric)]
    return "+".join(dict.fromkeys(protocols)) if not free else free[0] if len(set(free)) == 1 else "adaptive"


def _blur(chance_real: Fraction, guess: float, blind: float) -> float:
    """The best guess from a whole report that holds the answer only sometimes, from the one of an answer that
    it holds.

    Let the attribute be real with probability w. For SMP the guess is blind otherwise. For RS+FD, too: with
    all records equally likely, Pr(report, answer v) is w Pr(the others' fakes) Pr(its report | v) plus terms
    in which the attribute is a fake and which are the same for every v. So the best guess is the v that its
    own report makes likeliest, whether or not it is known which attribute is real, and the sum over all
    reports is w guess + (1 - w) / k, whatever the fakes are.
    """
    real = float(chance_real)
    return real * guess + (1 - real) * blind


@lru_cache(maxsize=1 << 13)
def _success_of(part: Mechanism, prior: Prior | None = None) -> float:
    """How often the best guess of a reported answer is right, for an attacker with this prior, if any."""
    return part.success(None if prior is None else prior.shares)


def most_revealed(part: Mechanism, prior: Prior | None = None) -> float:
    """How often the best guess is right from all reports of a person whose value does not change."""
    return _success_of(part.permanent, prior)


def reveal_all(part: Mechanism, reports: int) -> float:
    """How often the best guess is right, at most, from so many reports of a value that does not change."""
    kept = most_revealed(part) if part.repeated or reports == 1 else 1.0
    loss = part.losses(reports, 1).same_value if part.repeated else reports * part.loss()
    return min(kept, bound_guess(part, loss))


def bound_guess(part: Mechanism, loss: float) -> float:
    """How often the best guess is right, at most, from reports that lose so much of a value."""
    odds = math.exp(min(loss, _CERTAIN)) * part.blind
    return odds / (odds + 1 - part.blind)


@final
@dataclass(frozen=True)
class Option:
    """A protocol for one attribute; `unit` is its variance for one person, all readings in one number."""

    name: str
    mechanism: Mechanism | Fake
    unit: float
    prior: Prior | None = None
    """How frequent the values are, where that is public: an attacker knows it, too."""
    importance: float = 1.0
    """How much the attribute weighs."""
    influence: float = 1.0
    """How many people a report that was made up can count for; as computed where there is a cap on it."""

    @property
    def part(self) -> Mechanism:
        """The mechanism itself."""
        return self.mechanism.part if isinstance(self.mechanism, Fake) else self.mechanism

    @property
    def size(self) -> int:
        """Bytes of its report."""
        return self.part.report_bytes

    @property
    def success(self) -> float:
        """How often the best guess of an answer is right; where people are asked again, from all reports."""
        return most_revealed(self.part, self.prior)

    @property
    def blind(self) -> float:
        """How often a guess is right without any report."""
        return self.part.blind if self.prior is None else float(self.prior.shares.max())

    @property
    def order(self) -> tuple[float, int]:
        """By error; ties, up to rounding, go to the smaller report."""
        return rounded(self.unit), self.size


def given_name(part: Mechanism) -> str:
    """The protocol of an attribute whose mechanism is given."""
    return "planar_geometric" if isinstance(part, PlanarGeometric) else type(part).__name__.lower()


def rounded(error: float) -> float:
    """Ten digits: what differs less is a tie."""
    return float(f"{error:.9e}")


def mechanisms(
    name: str, k: int, budget: float, forever: float | None, cap: float | None, f: float | None
) -> Iterator[Mechanism | str]:
    """The mechanisms of a name, or why there is none; a few kept bits can be any number of them."""
    if name != KEPT_BITS:
        yield mechanism(name, k, budget, forever, cap, f)
        return
    for bits in sorted({*(1 << power for power in range(k.bit_length()) if 1 << power < k), k}):
        yield _kept_bits(k, budget, bits)


@lru_cache(maxsize=1 << 13)
def mechanism(
    name: str, k: int, budget: float, forever: float | None, cap: float | None, f: float | None
) -> Mechanism | str:
    """A mechanism, or why there is none."""
    try:
        if forever is not None and name in TWO_ROUNDS_OF_MEANS:
            return l_duchi(budget, forever)
        if forever is not None:
            return TWO_ROUNDS[name](k, budget, forever)
        if cap is not None and name in CAPPED:
            return CAPPED[name](k, budget, cap=cap, f=f)
        if cap is not None or f is not None:
            return mechanism(name, k, budget, None, None, None)
        return averaged(name, budget) if name in MEANS else PROTOCOLS[name].make(k, budget)
    except InvalidParameter as problem:
        return str(problem)


@lru_cache(maxsize=1 << 13)
def _kept_bits(k: int, budget: float, bits: int) -> Mechanism | str:
    """So many kept bits, within what one report may lose, since any number of them loses no more."""
    try:
        return dbitflip(k, budget, bits)
    except InvalidParameter as problem:
        return str(problem)


def fakes(
    name: str, k: int, budget: float, prior: Prior | None, forever: float | None = None
) -> Iterator[Fake | str]:
    """The fakes of a name, or why there is none; a few kept bits can be any number of them."""
    if name != KEPT_BITS:
        yield _fake(name, k, budget, prior, forever)
        return
    for part in mechanisms(name, k, budget, forever, None, None):
        yield part if isinstance(part, str) else Blank(part)  # type: ignore[arg-type]  # bits


@lru_cache(maxsize=1 << 13)
def _fake(name: str, k: int, budget: float, prior: Prior | None, forever: float | None) -> Fake | str:
    """A fake around its mechanism, or why there is none."""
    try:
        if forever is not None:
            return fake_again(name, k, budget, forever, prior)
        make, around = FAKES[name] if prior is None else REALISTIC_FAKES[name]
        return around(make(k, budget), Prior.uniform(k) if prior is None else prior)
    except InvalidParameter as problem:
        return str(problem)
