"""Reports a set of options, or all yes/no answers, that is probably near the truth.

A person has some of the options, or one answer to every question. A report is another such set, which agrees
with the truth in i places. It is near if i is at least `least`. One word says whether the report is near; the
next picks one of all near reports, or one of all far ones, each as likely. So two numbers say what any report
loses: how likely each near report is, and how likely each far one.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers, list_blocks
from deniable.errors import InvalidParameter, InvalidValue
from deniable.estimate import Estimate
from deniable.exact import positive_epsilon, solve, whole_number
from deniable.formatting import format_allowed, format_loss
from deniable.law import Marginal, Matrix
from deniable.law.law import ReportLaw
from deniable.law.pairs import Named
from deniable.mechanisms import ChannelMechanism, Losses, Mechanism, Tally, checked_words
from deniable.mechanisms.losses import lose_each_time
from deniable.randomness import FULL, below, cell, chance
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows
from deniable.records.base import Per, RecordMechanism, quote_names
from deniable.records.reports import Records

MOST_OPTIONS = 100
MOST_ANSWERS = 31
_MOST_REPORTS = 1 << 32  # of which one word picks one, off by 2^-32 of itself at most
_BLOCK = 1 << 16  # reports that are made at once
_Flags = npt.NDArray[np.bool_]
YES = 0
"""The code of "yes", the first of two values; 1 is "no"."""


@final
@dataclass(frozen=True)
class Tick(ChannelMechanism):
    """What a near report says of one answer: yes, from one / 2^64 of people with a yes, and zero / 2^64 of
    others.

    It estimates one answer. What a whole report gives away is a matter of the record mechanism.
    """

    one: int
    zero: int

    k: ClassVar[int] = 2
    outputs: ClassVar[int] = 2
    title = "Near report"
    phrase = "yes or no"
    words = 1
    outline = "near report"

    def __post_init__(self) -> None:
        for name in ("one", "zero"):
            object.__setattr__(self, name, checked_words(name, getattr(self, name)))
        if self.one <= self.zero:
            text = f"thresholds must have zero < one, got {self.zero} and {self.one}"
            raise InvalidParameter(text, "likelier")

    def describe_loss(self) -> str:
        return f"loss {format_loss(self.loss())} by itself"

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of what the report says of this answer alone."""
        one, zero = self.one, self.zero
        return max(Fraction(one, zero), Fraction(FULL - zero, FULL - one))

    @cached_property
    def law(self) -> Marginal:
        table = self.table()
        return Marginal(
            2, np.diag(table), 1 - np.diag(table)[::-1], (self.one - self.zero) / FULL, Named(table)
        )

    def table(self) -> Floats:
        rows = [[weight / FULL, (FULL - weight) / FULL] for weight in (self.one, self.zero)]
        return np.array(rows)

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        weights = tuple((weight, FULL - weight) for weight in (self.one, self.zero))
        return Matrix(weights).success(prior)

    def estimated(
        self, tally: Tally, law: ReportLaw | None = None, labels: Sequence[object] | None = None
    ) -> Estimate:
        counted = self.checked_tally(tally)
        return Estimate(counted.n, counted.counts, self.law, labels, asked=counted.asked)

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        is_yes = np.where(values == YES, chance(words[:, 0], self.one), chance(words[:, 0], self.zero))
        reports[:] = ~is_yes

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        self._encode(values, rows.array(), reports)


class Agreeing(NamedTuple):
    """All reports that agree with the truth in the same number of places."""

    places: int
    reports: int


class Near(RecordMechanism):
    """A record mechanism whose report is drawn from all near reports, or from all far ones."""

    part_field = ""
    thresholds = ("keep",)
    nests = True
    words = 2
    parts = ()
    acronym = "NEAR"
    references = ()

    keep: int
    least: int

    @property
    @abstractmethod
    def agreeing(self) -> Sequence[Agreeing]:
        """How many reports agree with the truth in each number of places that is possible, ascending."""

    @property
    @abstractmethod
    def tick(self) -> Tick:
        """What a report says of one answer."""

    @property
    @abstractmethod
    def tells_pairs(self) -> bool:
        """Whether a report says something about two answers together."""

    @abstractmethod
    def pair_chances(self) -> Floats:
        """How likely a report says yes or no of two answers: rows by the true answers, yes and yes, yes and
        no, no and yes, no and no; columns by what is reported, in the same order.
        """

    @abstractmethod
    def _mark(self, is_yes: _Flags, places: Integers, ranks: Integers) -> _Flags:
        """The answers that reports say yes to, which agree with the truth in so many places and have this
        rank among all that do; attributes by reports, both ways.
        """

    def _check_numbers(self) -> None:
        """Refuse numbers with which a report that is near is not likelier than one that is far."""
        near, far = self.sizes
        if near + far >= _MOST_REPORTS:
            raise InvalidParameter(
                f"one word picks one of fewer than 2^32 reports, and there are {near + far:,}; use fewer",
                "near",
            )
        if not near or not far:
            text = f"least, the places in which a near report agrees, is {self.least}: all reports are alike"
            raise InvalidParameter(text, "near")
        if self.keep * cell(near)[0] <= (FULL - self.keep) * cell(far)[1]:
            raise InvalidParameter(
                f"a near report must be likelier than a far one, and keep is {self.keep}", "likelier"
            )

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """How many reports are near, and how many are far."""
        return _split_groups(self.agreeing, self.least)

    @cached_property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        return (self.tick,) * self.d

    def ratio(self, per: Per = "record") -> Fraction:
        """Two people one answer apart can have a report near for one of them, and far for the other: so an
        attribute loses what a record does.
        """
        near, far = self.sizes
        return Fraction(self.keep * cell(near)[1], (FULL - self.keep) * cell(far)[0])

    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        return lose_each_time(self.loss(), reports, rounds)

    def mean(self, of: Iterable[int]) -> Fraction:
        """The mean of figures, one for each number of places in which a report may agree."""
        near, far = self.sizes
        total = Fraction(0)
        for group, figure in zip(self.agreeing, of, strict=True):
            is_near = group.places >= self.least
            weight = Fraction(self.keep, near) if is_near else Fraction(FULL - self.keep, far)
            total += weight * group.reports * figure
        return total / FULL

    def encode(self, columns: Integers, rows: Rows) -> Records:
        self.check_records(columns)
        reports = np.empty((self.d, rows.n), dtype=np.uint8)
        keyed = rows.key_record(columns).forget()
        for block in list_blocks(rows.n, _BLOCK):
            reports[:, block] = self._encode_block(columns[:, block], keyed.pick(block).array())
        return Records(rows.n, tuple(reports))

    def check_records(self, columns: Integers) -> None:
        """Refuse records that nobody can have."""

    def _encode_block(self, columns: Integers, words: WordArray) -> Array:
        near, far = self.sizes
        is_near = chance(words[:, 0], self.keep)
        ranks = below(words[:, 1], np.where(is_near, np.uint64(near), np.uint64(far))).astype(np.int64)
        places = np.zeros(len(words), dtype=np.int64)
        for side, among in ((True, self._groups(True)), (False, self._groups(False))):
            ends = np.cumsum([group.reports for group in among])
            of_side = np.flatnonzero(is_near == side)
            at = np.searchsorted(ends, ranks[of_side], side="right")
            places[of_side] = np.array([group.places for group in among])[at]
            ranks[of_side] -= (ends - [group.reports for group in among])[at]
        return (~self._mark(columns == YES, places, ranks)).astype(np.uint8)

    def _groups(self, is_near: bool) -> list[Agreeing]:
        return [group for group in self.agreeing if (group.places >= self.least) == is_near]


@final
@dataclass(frozen=True)
class NearSets(Near):
    """Some options, of which a person has `chosen`: a report is near if at least `least` of its `size`
    options are chosen.

    People may choose up to `spare` options fewer: then options that nobody sees take their place, as many as
    are spare, and are left out of the report.
    """

    kind = "near-sets"
    numbers = ("options", "chosen", "spare", "size", "least")

    options: int
    chosen: int
    spare: int
    size: int
    least: int
    keep: int

    def __post_init__(self) -> None:
        options = whole_number("options", self.options, 2, MOST_OPTIONS, reason="near")
        chosen = whole_number("chosen, the options that a person has,", self.chosen, 1, reason="near")
        whole_number("spare, how many fewer options a person may have,", self.spare, 0, chosen, "near")
        if chosen > options - (not self.spare):
            text = f"people choose fewer than all of {options} options, got {chosen}"
            raise InvalidParameter(text, "near")
        whole_number("size, the options of a report,", self.size, 1, self.places - 1, "near")
        whole_number("least", self.least, 1, min(chosen, self.size), "near")
        object.__setattr__(self, "keep", checked_words("keep", self.keep))
        self._check_numbers()

    @property
    def d(self) -> int:
        return self.options

    @property
    def places(self) -> int:
        """How many options there are with those that nobody sees."""
        return self.options + self.spare

    @cached_property
    def agreeing(self) -> Sequence[Agreeing]:
        return _count_sets(self.places, self.chosen, self.size)

    @cached_property
    def tick(self) -> Tick:
        mean = self.mean(group.places for group in self.agreeing)
        return Tick(
            round(FULL * mean / self.chosen), round(FULL * (self.size - mean) / (self.places - self.chosen))
        )

    @property
    def tells_pairs(self) -> bool:
        return self.size > 1 and self.chosen > 1

    def pair_chances(self) -> Floats:
        m, others, size = self.chosen, self.places - self.chosen, self.size
        one, zero = self.tick.one / FULL, self.tick.zero / FULL
        i = [group.places for group in self.agreeing]
        both = float(self.mean(n * (n - 1) for n in i)) / max(m * (m - 1), 1)
        mixed = float(self.mean(n * (size - n) for n in i)) / (m * others)
        neither = float(self.mean((size - n) * (size - n - 1) for n in i)) / max(others * (others - 1), 1)
        rows = [(both, one, one), (mixed, one, zero), (mixed, zero, one), (neither, zero, zero)]
        return np.array([[both, a - both, b - both, 1 - a - b + both] for both, a, b in rows])

    @property
    def allowed(self) -> range:
        """How many options a person may have."""
        return range(self.chosen - self.spare, self.chosen + 1)

    def check_records(self, columns: Integers) -> None:
        numbers = (columns == YES).sum(axis=0)
        wrong = (numbers < self.allowed[0]) | (numbers > self.chosen)
        if wrong.any():
            raise InvalidValue(
                f"a record has {format_allowed(self.allowed)} of {self.options} options, got one with "
                f"{int(numbers[np.argmax(wrong)])}; it was not reported"
            )

    @property
    def marked(self) -> range:
        return range(max(self.size - self.spare, 0), self.size + 1)

    @property
    def form(self) -> str:
        return f"it has {format_allowed(self.marked)} of {self.options} options"

    def _mark(self, is_yes: _Flags, places: Integers, ranks: Integers) -> _Flags:
        lacking = self.chosen - is_yes.sum(axis=0)
        is_chosen = np.concatenate([is_yes, np.arange(self.spare)[:, None] < lacking])
        order = np.argsort(~is_chosen, axis=0, kind="stable")  # the chosen ones, then the others, as they lie
        others, rest = self.places - self.chosen, self.size - places
        major, minor = np.divmod(ranks, _binomials(self.places)[others, rest])
        picked = np.concatenate([pick_subset(self.chosen, places, major), pick_subset(others, rest, minor)])
        marks = np.empty_like(picked)
        np.put_along_axis(marks, order, picked, axis=0)
        return marks[: self.options]

    @property
    def phrase(self) -> str:
        spare = " or fewer" if self.spare else ""
        return f"{self.size}{spare} of {self.options} options, at least {self.least} of them likely chosen"

    def describe_reported(self, names: Sequence[str]) -> str:
        return f"{self.size} of {quote_names(names)}, drawn so that chosen ones are likelier (near sets)"

    def explain(self, names: Sequence[str]) -> str:
        options = (
            f"{self.size} of {self.options} options" if self.size > 1 else f"one of {self.options} options"
        )
        return f"Each person reports {options}, drawn so that chosen ones are likelier (near sets)."


@final
@dataclass(frozen=True)
class NearBits(Near):
    """All yes/no answers: a report is near if at least `least` of its `answers` agree with the truth."""

    kind = "near-bits"
    numbers = ("answers", "least")
    tells_pairs = True

    answers: int
    least: int
    keep: int

    def __post_init__(self) -> None:
        whole_number("answers", self.answers, 2, MOST_ANSWERS, reason="near")
        whole_number("least", self.least, 1, self.answers, "near")
        object.__setattr__(self, "keep", checked_words("keep", self.keep))
        self._check_numbers()

    @property
    def d(self) -> int:
        return self.answers

    @cached_property
    def agreeing(self) -> Sequence[Agreeing]:
        return _count_answers(self.answers)

    @cached_property
    def tick(self) -> Tick:
        one = round(FULL * self.mean(group.places for group in self.agreeing) / self.answers)
        return Tick(one, FULL - one)

    def pair_chances(self) -> Floats:
        i, d = [group.places for group in self.agreeing], self.answers
        pairs = d * (d - 1)
        both = float(self.mean(n * (n - 1) for n in i)) / pairs
        mixed = float(self.mean(n * (d - n) for n in i)) / pairs
        neither = float(self.mean((d - n) * (d - n - 1) for n in i)) / pairs
        # how many of two answers differ from the truth decides
        chances = [both, mixed, neither]
        return np.array([[chances[(true ^ said).bit_count()] for said in range(4)] for true in range(4)])

    def _mark(self, is_yes: _Flags, places: Integers, ranks: Integers) -> _Flags:
        return np.asarray(is_yes == pick_subset(self.answers, places, ranks))

    @property
    def phrase(self) -> str:
        return f"all {self.answers} answers, of which at least {self.least} likely agree with the truth"

    def describe_reported(self, names: Sequence[str]) -> str:
        return f"{quote_names(names)} together, drawn so that many answers are true (near bits)"

    def explain(self, names: Sequence[str]) -> str:
        return (
            f"Each person reports all {self.answers} answers together, drawn so that many of them are true "
            "(near bits)."
        )


def near_sets(options: int, chosen: int, epsilon: float, at_most: bool = False) -> NearSets:
    """Near sets, for people who choose exactly so many options: a report of some, probably chosen, options.

    A report of c options is near if at least h of them are chosen. With i the number of chosen ones in a
    report, p = E[i] / chosen and q = (c - E[i]) / (options - chosen). Variance t (1 - t) / (n (p - q)^2), t =
    q + f (p - q). c and h have the least variance at f = chosen / options. Where people choose at most so
    many, as many options that nobody sees stand for those that they do not choose. Choose it for questions
    with such a limit: it errs less than asking about every option.

    >>> m = near_sets(options=10, chosen=3, epsilon=4.0)
    >>> m.size, m.least, m.keep, m.loss() <= 4.0
    (2, 2, 14682000900502195805, True)

    Reference: wang2018.
    """
    spare = whole_number("chosen, the options that a person has,", chosen, 1) if at_most else 0
    places = whole_number("options", options, 2, MOST_OPTIONS) + spare
    if not 1 <= whole_number("chosen", chosen, 1) <= options - (not spare):
        raise InvalidParameter(
            f"people choose at least 1 and fewer than all of {options} options, got {chosen!r}"
        )
    size, least = _best_set(places, chosen, positive_epsilon(epsilon))
    near, far = _split_groups(_count_sets(places, chosen, size), least)
    return NearSets(options, chosen, spare, size, least, _find_keep(near, far, epsilon))


def near_bits(answers: int, epsilon: float) -> NearBits:
    """Near bits, for yes/no answers together: all answers are reported, of which many are true.

    A report is near if at least h of d answers agree with the truth. With i their number, each answer is true
    with p = E[i] / d and else q = 1 - p. Variance p (1 - p) / (n (2 p - 1)^2) and that of people on top,
    whatever the share. h has the largest p. Choose it for batteries of questions from epsilon 2 on, where
    neither yes nor no is rare, and for how answers go together: sampling one answer errs less for rare ones.

    >>> m = near_bits(answers=10, epsilon=4.0)
    >>> m.least, m.keep, round(m.tick.success(), 6)
    (8, 14010906482321421576, 0.739664)

    Reference: bhowmick2018.
    """
    groups = _count_answers(whole_number("answers", answers, 2, MOST_ANSWERS))
    odds = math.exp(min(positive_epsilon(epsilon), 700.0))
    least = max(range(1, answers + 1), key=lambda least: _mean_agreement(groups, least, odds))
    near, far = _split_groups(groups, least)
    return NearBits(answers, least, _find_keep(near, far, epsilon))


def _find_keep(near: int, far: int, epsilon: float) -> int:
    """The largest threshold whose loss is within epsilon."""
    most, fewest = cell(near)[1], cell(far)[0]
    return solve(lambda keep: Fraction(keep * most, (FULL - keep) * fewest), epsilon, 1, FULL - 1)


@lru_cache(maxsize=1 << 10)
def _best_set(places: int, chosen: int, epsilon: float) -> tuple[int, int]:
    """The size of a report and what is near, with the least variance at the average share of an option."""
    odds, f = math.exp(min(epsilon, 700.0)), chosen / places
    best = math.inf, 0, 0
    for size in range(1, places):
        if math.comb(places, size) >= _MOST_REPORTS:
            continue
        groups = _count_sets(places, chosen, size)
        for least in range(groups[0].places + 1, groups[-1].places + 1):
            mean = _mean_agreement(groups, least, odds)
            p, q = mean / chosen, (size - mean) / (places - chosen)
            if p > q:
                t = q + f * (p - q)
                best = min(best, (float(f"{t * (1 - t) / (p - q) ** 2:.9e}"), size, least))
    if not best[1]:
        raise InvalidParameter(f"epsilon {epsilon} is too small for reports of sets of options")
    return best[1:]


def _mean_agreement(groups: Sequence[Agreeing], least: int, odds: float) -> float:
    """In how many places a report agrees on average, if a near report is so many times likelier."""
    weights = [group.reports * (odds if group.places >= least else 1.0) for group in groups]
    return math.fsum(w * group.places for w, group in zip(weights, groups, strict=True)) / math.fsum(weights)


def _split_groups(groups: Sequence[Agreeing], least: int) -> tuple[int, int]:
    near = sum(group.reports for group in groups if group.places >= least)
    return near, sum(group.reports for group in groups) - near


@lru_cache(maxsize=1 << 12)
def _count_sets(places: int, chosen: int, size: int) -> tuple[Agreeing, ...]:
    """The sets of a size by how many of the chosen options they hold."""
    least, most = max(0, size - (places - chosen)), min(chosen, size)
    return tuple(
        Agreeing(i, math.comb(chosen, i) * math.comb(places - chosen, size - i))
        for i in range(least, most + 1)
    )


@lru_cache(maxsize=64)
def _count_answers(answers: int) -> tuple[Agreeing, ...]:
    """The lists of answers by how many of them agree with others."""
    return tuple(Agreeing(i, math.comb(answers, i)) for i in range(answers + 1))


@lru_cache(maxsize=64)
def _binomials(n: int) -> Integers:
    """The numbers of subsets: rows by how many things there are, columns by how many are in a subset."""
    counts = [[min(math.comb(row, size), _MOST_REPORTS) for size in range(n + 1)] for row in range(n + 1)]
    return np.array(counts, dtype=np.int64)


def pick_subset(n: int, sizes: Integers, ranks: Integers) -> _Flags:
    """Subsets of n things, each of its own size and rank in the order of a dictionary: things by subsets.

    >>> pick_subset(4, np.array([2, 2, 1]), np.array([0, 5, 3])).T.astype(int).tolist()
    [[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]]
    """
    picked = np.zeros((n, sizes.size), dtype=np.bool_)
    left, ranks = sizes.copy(), ranks.copy()
    counts = _binomials(max(n, 1))
    for thing in range(n):
        following = np.where(left > 0, counts[n - thing - 1, np.maximum(left - 1, 0)], 0)
        picked[thing] = ranks < following
        ranks -= np.where(picked[thing], 0, following)
        left -= picked[thing]
    return picked
