"""Checks what is asked for: sizes, budgets, and what there is to choose among."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy.typing as npt

from deniable.choose.candidate import (
    ALONE_AGAIN,
    AT_ONCE,
    CLASSICAL,
    HASHED_ALONE,
    KEPT_BITS,
    PLAIN,
    TWO_ROUNDS,
    TWO_ROUNDS_OF_MEANS,
    DeviceLimit,
    given_name,
    label,
)
from deniable.choose.objective import SHARES, Objective, Reading
from deniable.errors import InvalidParameter, not_among
from deniable.exact import number, positive_epsilon, whole_number
from deniable.mechanisms import Mechanism
from deniable.mechanisms.base import checked_per
from deniable.mechanisms.protocols import MOVED
from deniable.metric.means import MEANS
from deniable.records import NearBits, NearSets, Prior, near_bits, near_sets
from deniable.records.base import Per
from deniable.records.fakes import NOT_METRIC
from deniable.records.named import FAKES, PUBLISHED_FAKES, PUBLISHED_REALISTIC_FAKES, REALISTIC_FAKES
from deniable.records.near import MOST_ANSWERS
from deniable.rounds.named import FAKES_AGAIN, PUBLISHED_AGAIN

Names = str | Iterable[str]
Protocols = Names | Mapping[int, Names]
RECORD_NAMES = ("SPL", "SMP", "RS+FD", "RS+RFD")
"""The record mechanisms, by their names in the papers. SMP-2 is SMP with two attributes each; RS+RFD needs
priors.
"""
SINGLE = ""  # one attribute has no such name
BLOCKS = "SPL+SMP"
"""Some attributes from everybody, and one of the others."""
NEAR = "NEAR"
"""Options of a question, or yes/no answers, together in one report that is near the truth: near sets and near
bits. All other attributes are reported by themselves.
"""
LEAST_OF_BITS = 2.0
"""Below this epsilon sampling one answer errs less than near bits."""
UNEQUAL = "SPL by importance"
"""All attributes from everybody, more important ones with more of epsilon."""


LARGE = 10**10
"""People times values from which protocols are chosen whose reports are counted at once. Bits of so many take
1.25 GB, and hashes of so many eight seconds of a processor; a pool takes 0.04 s. Variances of shares are at
most 3 % larger.
"""
_MOST_POOLED = 1 << 20  # values of a pool
_MOST_SPENT = 5.5  # beyond this epsilon a pool has too few buckets


@final
@dataclass(frozen=True)
class Limited:
    """A question with options of which people choose so many."""

    name: str
    options: int
    allowed: range

    @property
    def share(self) -> float:
        """The share of people who have an option, on average, if all choose as many as they may."""
        return self.allowed[-1] / self.options


@final
@dataclass(frozen=True)
class Together:
    """Attributes that one near report is about: options of a question, or yes/no answers."""

    places: tuple[int, ...]
    limited: Limited | None

    @property
    def protocol(self) -> str:
        """What such reports are called."""
        return "near_bits" if self.limited is None else "near_sets"

    def build(self, epsilon: float) -> NearSets | NearBits:
        """The mechanism at a budget."""
        if self.limited is None:
            return near_bits(len(self.places), epsilon)
        allowed = self.limited.allowed
        return near_sets(self.limited.options, allowed[-1], epsilon, at_most=len(allowed) > 1)


@final
@dataclass(frozen=True)
class Question:
    """What is asked under one name, and what the answers are for."""

    k: int
    """The number of values; of a number, that of its positions."""
    readings: tuple[Reading, ...] = SHARES
    """What will be read of it."""
    importance: float = 1.0
    """How much its error weighs among those of others."""
    mechanism: Mechanism | None = None
    """The mechanism that it has whatever is chosen: metric attributes have a loss of their own."""
    numeric: bool = False
    """Whether it is a number whose mean is wanted."""
    limited: Limited | None = None
    """The question of which this is an option, where people choose some of them and all answer."""

    def __post_init__(self) -> None:
        whole_number("k, the number of values,", self.k, 2)
        number("importance", self.importance, 0.0, math.inf, "a positive number, 1 for an ordinary question")


Sizes = Sequence[int | Question] | Mapping[str, int] | Mapping[str, Question] | Mapping[str, int | Question]
"""What is asked, in order or by name; a number of values stands for a plain question."""


@final
@dataclass(frozen=True)
class Task:
    """What is asked for."""

    questions: tuple[Question, ...]
    names: tuple[str, ...] | None
    epsilon: float
    n: int
    objective: Objective
    kinds: tuple[str, ...]
    protocols: tuple[tuple[str, ...] | None, ...]
    """The protocols to choose among, for each attribute; None for all."""
    per: Per
    forever: float | None = None
    priors: tuple[Prior, ...] | None = None
    several: bool = False
    """Whether SMP with more than one attribute each is tried, too."""
    limit: DeviceLimit | None = None
    """What devices allow; None where choices that they refuse are listed like others."""

    @property
    def d(self) -> int:
        """The number of attributes."""
        return len(self.questions)

    @cached_property
    def fixed(self) -> dict[int, Mechanism]:
        """The attributes whose mechanism is given: no part of epsilon is theirs."""
        return {
            j: question.mechanism
            for j, question in enumerate(self.questions)
            if question.mechanism is not None
        }

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The attributes whose mean is wanted."""
        return tuple(
            j for j, question in enumerate(self.questions) if question.numeric and j not in self.fixed
        )

    @cached_property
    def together(self) -> tuple[Together, ...]:
        """The attributes that near reports can be about: options with a limit; and where the shares of yes/no
        answers are guessed, or near reports are asked for by name, these as well.
        """
        places: dict[Limited | None, list[int]] = {}
        for j, question in enumerate(self.questions):
            if question.limited is not None or (question.k == 2 and j in self.free):
                places.setdefault(question.limited, []).append(j)
        if not (NEAR in self.kinds or (self.objective.f is not None and self.epsilon >= LEAST_OF_BITS)):
            places.pop(None, None)
        if not 2 <= len(places.get(None, ())) <= MOST_ANSWERS:
            places.pop(None, None)
        return tuple(Together(tuple(members), limited) for limited, members in places.items())

    @property
    def importance(self) -> tuple[float, ...]:
        """How much each attribute weighs."""
        return tuple(question.importance for question in self.questions)

    @property
    def judged(self) -> tuple[float, ...]:
        """How much each attribute weighs where choices are compared. Errors of metric attributes, as they
        are, would hide all other errors, and follow from an epsilon of their own.
        """
        if not self.objective.is_absolute or len(self.fixed) == self.d:
            return self.importance
        return tuple(0.0 if j in self.fixed else importance for j, importance in enumerate(self.importance))

    @property
    def readings(self) -> tuple[tuple[Reading, ...], ...]:
        """What will be read of each attribute."""
        return tuple(question.readings for question in self.questions)

    @property
    def sharing(self) -> int:
        """How many attributes share epsilon."""
        return self.d - len(self.fixed)

    @property
    def free(self) -> tuple[int, ...]:
        """The attributes that choose among the protocols of shares of values."""
        return tuple(j for j in range(self.d) if j not in (*self.fixed, *self.numbers))

    def label(self, attribute: int) -> str:
        """What a message calls an attribute."""
        return label(self.names, attribute)

    def among(self, kind: str, attribute: int) -> tuple[str, ...]:
        """The protocols that an attribute can have in this record mechanism."""
        fakes = kind in ("RS+FD", "RS+RFD")
        special = sorted((*self.fixed, *self.numbers))
        if special and fakes:
            which = self.label(special[0])
            if special[0] in self.numbers:
                raise InvalidParameter(f"there are no fakes of {which}, which is a number")
            raise InvalidParameter(f"{which} is metric: {NOT_METRIC}")
        if attribute in self.fixed:
            return (given_name(self.fixed[attribute]),)
        together = [members for members in self.together if attribute in members.places]
        if kind == NEAR and together:
            if self.protocols[attribute] not in (None, (together[0].protocol,)):
                raise InvalidParameter(f"{self.label(attribute)} has a protocol of its own")
            return (together[0].protocol,)
        means = MEANS if self.forever is None else TWO_ROUNDS_OF_MEANS
        known, usual = (means, means) if attribute in self.numbers else self._list_protocols(kind)
        allowed = self.protocols[attribute]
        if allowed is None:
            return self._count_well(attribute, usual)
        names = tuple(
            name for name in known if name in allowed or (fakes and name.partition("-")[0] in allowed)
        )
        if not names:
            raise InvalidParameter(
                f"{kind or 'a single attribute'} has no {' or '.join(allowed)}, only {', '.join(known)}"
            )
        return names

    def _count_well(self, attribute: int, usual: tuple[str, ...]) -> tuple[str, ...]:
        """The usual protocols whose reports can be counted where, and as many as, they will be.

        A pool joins only where single shares are read: sums of neighboring values err up to 80 % more.
        """
        question = self.questions[attribute]
        at_once = AT_ONCE.get(usual, ())
        is_pooled = (
            at_once
            and question.k <= _MOST_POOLED
            and self.epsilon <= _MOST_SPENT
            and all(reading.table is None for reading in question.readings)
        )
        if is_pooled and self.n * question.k >= LARGE:
            return at_once
        if self.objective.counted_in == "collector":
            return usual
        rest = tuple(name for name in usual if name not in HASHED_ALONE)
        return (*rest, at_once[0]) if is_pooled else rest

    def _list_protocols(self, kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """All protocols of a record mechanism, and those among which it chooses unless others are named."""
        if self.forever is not None and kind == "RS+FD":
            return (*FAKES_AGAIN, KEPT_BITS), tuple(PUBLISHED_AGAIN)
        if self.forever is not None:
            return (*TWO_ROUNDS, KEPT_BITS), ALONE_AGAIN
        if kind == "RS+FD":
            return tuple(FAKES), tuple(PUBLISHED_FAKES)
        if kind == "RS+RFD":
            return tuple(REALISTIC_FAKES), tuple(PUBLISHED_REALISTIC_FAKES)
        return PLAIN, CLASSICAL


@final
@dataclass(frozen=True)
class Allowed:
    """What may be chosen, by name; None where everything may."""

    mechanisms: Names | None = None
    protocols: Protocols | None = None
    """The protocols of all attributes, or of some by their numbers."""


EVERYTHING = Allowed()


def checked_task(
    ks: Sizes,
    epsilon: float,
    n: int,
    objective: Objective | None = None,
    allowed: Allowed = EVERYTHING,
    per: Per = "record",
    forever: float | None = None,
    priors: Sequence[npt.ArrayLike] | None = None,
) -> Task:
    """A task, or what is wrong with it."""
    if not isinstance(ks, Mapping | Sequence):
        raise InvalidParameter(
            f"give the numbers of values as a list or by name, got {type(ks).__name__}; of a study, use "
            "study.plan(people) or study.people_needed(error)"
        )
    mechanisms, protocols = allowed.mechanisms, allowed.protocols
    names = tuple(ks) if isinstance(ks, Mapping) else None
    attributes = list(ks.values()) if isinstance(ks, Mapping) else ks
    questions = tuple(
        attribute if isinstance(attribute, Question) else Question(attribute) for attribute in attributes
    )
    sizes = [question.k for question in questions]
    if not questions:
        raise InvalidParameter("name at least one attribute, by its number of values")
    checked_per(per)
    goal = Objective() if objective is None else objective
    if not isinstance(goal, Objective):
        raise InvalidParameter(f"objective is an Objective, with caps on success and bytes, got {goal!r}")
    believed = None if priors is None else Prior.of_all(priors, sizes)
    kinds = _checked_kinds(mechanisms, len(sizes), believed is not None)
    if (
        mechanisms is None
        and forever is None
        and any(question.numeric or question.mechanism for question in questions)
    ):
        kinds = (*kinds, BLOCKS)
    known = (
        tuple(dict.fromkeys((*TWO_ROUNDS, *FAKES_AGAIN, KEPT_BITS, *TWO_ROUNDS_OF_MEANS)))
        if forever is not None
        else tuple(dict.fromkeys((*PLAIN, *FAKES, "adaptive", *MEANS)))
    )
    choices: list[tuple[str, ...] | None] = [None] * len(sizes)
    if isinstance(protocols, Mapping):
        for attribute, listed in protocols.items():
            whole_number("an attribute's number", attribute, 0, len(sizes) - 1)
            choices[attribute] = _checked_names(listed, "a protocol", known)
    elif protocols is not None:
        listed = _checked_names(protocols, "a protocol", known)
        fixed = [question.mechanism is not None or question.numeric for question in questions]
        choices = [None if is_fixed else listed for is_fixed in fixed]
    return Task(
        questions=questions,
        names=names,
        epsilon=positive_epsilon(epsilon),
        n=whole_number("n, the number of people,", n, 1),
        objective=goal,
        kinds=kinds,
        protocols=tuple(None if names and "adaptive" in names else names for names in choices),
        per=per,
        forever=forever,
        priors=believed,
        # several attributes each can err less than one only about everyone, and only if epsilon is divided
        # among them
        several=len(sizes) > 2 and mechanisms is None and goal.about_everyone and per == "record",
    )


def count_reported(kind: str) -> int | None:
    """How many attributes a person samples and names, by a mechanism's name: SMP one, SMP-2 two."""
    name, _, number = kind.partition("-")
    return (int(number) if number else 1) if name == "SMP" else None


def kinds_for(d: int) -> tuple[str, ...]:
    """The record mechanisms that d attributes can be asked by, by their names in the papers."""
    several = (f"SMP-{reported}" for reported in range(2, d))
    return (SINGLE,) if d == 1 else (*RECORD_NAMES, BLOCKS, *several)


def _checked_kinds(mechanisms: Names | None, d: int, priors: bool) -> tuple[str, ...]:
    known = (*kinds_for(max(d, 2)), NEAR)
    kinds = None if mechanisms is None else _checked_names(mechanisms, "a record mechanism", known)
    if d == 1:
        return (SINGLE,)
    if kinds is None:
        return RECORD_NAMES if priors else RECORD_NAMES[:-1]
    if "RS+RFD" in kinds and not priors:
        raise InvalidParameter(
            "RS+RFD draws its fakes from public priors: give priors, one for each attribute"
        )
    return kinds


def _checked_names(names: Names, what: str, known: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, Mapping) or not isinstance(names, Iterable):
        raise InvalidParameter(f"{names!r} is not {what}'s name, nor a list of names ({', '.join(known)})")
    listed = (names,) if isinstance(names, str) else tuple(names)
    if not listed:
        raise InvalidParameter(f"name at least one to choose among ({', '.join(known)})")
    for name in listed:
        if not isinstance(name, str):
            raise InvalidParameter(not_among(str(name), what, known))
        if name not in known:
            raise InvalidParameter(not_among(name, what, known, MOVED))
    return listed
