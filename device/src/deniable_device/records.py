"""Record mechanisms: which attributes a report holds, and what all of it gives away together.

`parts` are parts of a report by the number of their attribute in the plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import comb, gcd
from typing import Callable

from deniable_device.bodies import Cursor, check, is_number, little
from deniable_device.document import Json, fields, kind_of, threshold, typed, within
from deniable_device.errors import Refused
from deniable_device.fakes import Fake, Pairs, read_fake
from deniable_device.mechanisms import (
    KINDS,
    Mechanism,
    fewest,
    likelier,
    most,
    read_mechanism,
)
from deniable_device.words import FULL, Device, Draws, below, chance, distinct

Parts = dict[int, Json]
Ratio = Callable[[Mechanism], Fraction]
"""How much the reports of a mechanism give away."""


class Losses:
    """How much a report gives away of a whole record, and of one attribute: both as ratios."""

    def __init__(self, record: Fraction, attribute: Fraction) -> None:
        self.record, self.attribute = record, attribute


class Record(ABC):
    """What makes a report of `width` attributes, the first of which is number `first` of the plan."""

    kind: str
    first: int
    width: int
    words: int
    mechanisms: Sequence[Mechanism]
    """The mechanism of each attribute; none for a set of yes and no answers."""
    shortest: int
    longest: int
    """How many bytes a body has."""

    def drawn(self, device: Device, column: int) -> list[int]:
        """The attributes that a report of this device holds."""
        return list(range(self.first, self.first + self.width))

    @abstractmethod
    def privatize(self, values: Sequence[int], device: Device, column: int) -> Parts:
        """The parts of a report, of values by attribute; the words begin at a column."""

    @abstractmethod
    def losses(self, ratio: Ratio, reports: int) -> Losses:
        """What so many reports of one record give away, where `ratio` says it of each mechanism."""

    def pack(self, parts: Parts) -> bytes:
        """The body of a report."""
        return b"".join(mechanism.pack(parts[number]) for number, mechanism in self.numbered())

    def unpack(self, cursor: Cursor) -> Parts:
        """The parts that a body holds."""
        return {number: mechanism.unpack(cursor) for number, mechanism in self.numbered()}

    def check(self, parts: Parts) -> None:
        """Refuses parts from JSON that no record can give."""
        check(len(parts) == self.width, "size")
        for number, mechanism in self.numbered():
            mechanism.check(parts[number])

    def numbered(self) -> Iterator[tuple[int, Mechanism]]:
        """Each mechanism with the number of its attribute."""
        return enumerate(self.mechanisms, self.first)

    def mechanism_of(self, number: int) -> Mechanism:
        """The mechanism of an attribute, by its number in the plan."""
        return self.mechanisms[number - self.first]

    def is_typed(self, number: int, part: Json) -> bool:
        """Whether the part of an attribute from JSON is of the right types."""
        return self.mechanisms[number - self.first].is_typed(part)


class Single(Record):
    """Reports one attribute."""

    kind = "single"

    def __init__(self, part: Mechanism, first: int) -> None:
        self.part, self.first, self.width = part, first, 1
        self.mechanisms, self.words = [part], part.words
        self.shortest = self.longest = part.size

    def privatize(self, values: Sequence[int], device: Device, column: int) -> Parts:
        return {self.first: self.part.privatize(values[self.first], Draws(device, self.first, column))}

    def losses(self, ratio: Ratio, reports: int) -> Losses:
        return Losses(ratio(self.part), ratio(self.part))


class Split(Record):
    """Reports everything: each part gives away its share."""

    kind = "split"

    def __init__(self, parts: list[Record], first: int) -> None:
        self.parts, self.first = parts, first
        self.width = sum(part.width for part in parts)
        self.mechanisms = [mechanism for part in parts for mechanism in part.mechanisms]
        self.words = sum(part.words for part in parts)
        self.shortest = sum(part.shortest for part in parts)
        self.longest = sum(part.longest for part in parts)

    def placed(self, column: int) -> Iterator[tuple[Record, int]]:
        """Each part with the first of its columns."""
        for part in self.parts:
            yield part, column
            column += part.words

    def drawn(self, device: Device, column: int) -> list[int]:
        return [number for part, start in self.placed(column) for number in part.drawn(device, start)]

    def privatize(self, values: Sequence[int], device: Device, column: int) -> Parts:
        parts: Parts = {}
        for part, start in self.placed(column):
            parts.update(part.privatize(values, device, start))
        return parts

    def losses(self, ratio: Ratio, reports: int) -> Losses:
        losses = [part.losses(ratio, reports) for part in self.parts]
        return Losses(product([each.record for each in losses]), max(each.attribute for each in losses))

    def pack(self, parts: Parts) -> bytes:
        return b"".join(part.pack(parts) for part in self.parts)

    def unpack(self, cursor: Cursor) -> Parts:
        parts: Parts = {}
        for part in self.parts:
            parts.update(part.unpack(cursor))
        return parts

    def check(self, parts: Parts) -> None:
        for part in self.parts:
            numbers = range(part.first, part.first + part.width)
            part.check({number: parts[number] for number in numbers if number in parts})

    def is_typed(self, number: int, part: Json) -> bool:
        record = next(each for each in self.parts if each.first <= number < each.first + each.width)
        return record.is_typed(number, part)


def product(ratios: Sequence[Fraction]) -> Fraction:
    """The product of ratios, of halves of equal length, so that no number grows before it must."""
    if len(ratios) < 2:
        return ratios[0] if ratios else Fraction(1)
    middle = len(ratios) // 2
    left, right = product(ratios[:middle]), product(ratios[middle:])
    return left * right


class Sample(Record):
    """Reports some of the attributes, which are the same in all rounds."""

    kind = "sample"

    def __init__(self, parts: list[Mechanism], reported: int, weights: list[int] | None, first: int) -> None:
        self.mechanisms, self.first, self.width = parts, first, len(parts)
        self.reported = within(reported, 1, len(parts), "reported", "reported")
        self.weights = weights
        self.room = max(part.words for part in parts)
        self.words = reported + reported * self.room
        self.number_size = 2 if len(parts) > 256 else 1
        sizes = sorted(part.size for part in parts)
        self.shortest = reported * self.number_size + sum(sizes[:reported])
        self.longest = reported * self.number_size + sum(sizes[-reported:])

    def turns(self, device: Device, column: int) -> list[int]:
        """The attributes in the order of their draws, the first being 0."""
        row = device.kept(0)
        if self.weights is None:
            return distinct(lambda turn: row(column + turn), self.width, self.reported)
        from_all = below(row(column), sum(self.weights))
        number = 0
        while from_all >= self.weights[number]:
            from_all -= self.weights[number]
            number += 1
        return [number]

    def drawn(self, device: Device, column: int) -> list[int]:
        return sorted(self.first + number for number in self.turns(device, column))

    def privatize(self, values: Sequence[int], device: Device, column: int) -> Parts:
        parts: Parts = {}
        for turn, place in enumerate(self.turns(device, column)):
            number = self.first + place
            draws = Draws(device, number, column + self.reported + turn * self.room)
            parts[number] = self.mechanisms[place].privatize(values[number], draws)
        return parts

    def losses(self, ratio: Ratio, reports: int) -> Losses:
        ratios = sorted(map(ratio, self.mechanisms))
        return Losses(product(ratios[-self.reported :]), ratios[-1])

    def pack(self, parts: Parts) -> bytes:
        numbers = sorted(number - self.first for number in parts if self.holds(number))
        head = b"".join(little(number, self.number_size) for number in numbers)
        return head + b"".join(self.mechanisms[each].pack(parts[self.first + each]) for each in numbers)

    def holds(self, number: int) -> bool:
        """Whether an attribute is one of those that may be reported."""
        return self.first <= number < self.first + self.width

    def unpack(self, cursor: Cursor) -> Parts:
        numbers = [cursor.number(self.width, self.number_size) for _ in range(self.reported)]
        check(all(left < right for left, right in zip(numbers, numbers[1:])))
        return {self.first + each: self.mechanisms[each].unpack(cursor) for each in numbers}

    def check(self, parts: Parts) -> None:
        check(len(parts) == self.reported, "size")
        for number, part in sorted(parts.items()):
            self.mechanisms[number - self.first].check(part)


class Faked(Record):
    """Reports one real answer among fakes."""

    kind = "faked"

    def __init__(self, fakes: list[Fake], first: int) -> None:
        self.fakes, self.first, self.width = fakes, first, len(fakes)
        self.mechanisms = [fake.part for fake in fakes]
        self.words = 1 + sum(self.rooms())
        self.shortest = self.longest = sum(part.size for part in self.mechanisms)

    def rooms(self) -> list[int]:
        """How many columns each attribute has."""
        return [max(fake.words, fake.part.words) for fake in self.fakes]

    def privatize(self, values: Sequence[int], device: Device, column: int) -> Parts:
        real = below(device.kept(0)(column), self.width)
        parts: Parts = {}
        start = column + 1
        for place, (fake, room) in enumerate(zip(self.fakes, self.rooms())):
            number = self.first + place
            draws = Draws(device, number, start)
            is_real = place == real
            parts[number] = fake.part.privatize(values[number], draws) if is_real else fake.privatize(draws)
            start += room
        return parts

    def losses(self, ratio: Ratio, reports: int) -> Losses:
        record, attribute = faked_ratios(self.fakes, reports)
        record = min(record, max(map(ratio, self.mechanisms)))
        return Losses(record, min(attribute, record))


PRECISION = 512
"""The binary digits to which pairs are compared; what is chosen is then added up exactly."""
MANY = 64
"""How many different fractions are added up exactly; the sum of more is rounded up."""


def faked_ratios(fakes: Sequence[Fake], reports: int) -> tuple[Fraction, Fraction]:
    """What so many reports among fakes give away of a record and of one attribute, by the fakes alone."""
    count = len(fakes)
    pairs = [fake.pairs(reports) for fake in fakes]
    slack = max(fake.slack(reports) for fake in fakes) * Fraction(most(count), fewest(count))
    return slack * largest_quotient(pairs), slack * largest_change(pairs)


def scaled(number: Fraction) -> int:
    """A fraction as a whole number of small units."""
    return (number.numerator << PRECISION) // number.denominator


def largest_quotient(pairs: Sequence[Pairs]) -> Fraction:
    """The largest (sum of x) / (sum of y) over all choices of one pair from each fake, and at least 1."""
    units = [[(scaled(x), scaled(y)) for x, y in choices] for choices in pairs]
    top, bottom, chosen = 1, 1, None
    while True:
        picks = [
            max(range(len(choices)), key=lambda pick: choices[pick][0] * bottom - top * choices[pick][1])
            for choices in units
        ]
        above = sum(choices[pick][0] for choices, pick in zip(units, picks))
        below_it = sum(choices[pick][1] for choices, pick in zip(units, picks))
        if above * bottom <= top * below_it:
            break
        top, bottom, chosen = above, below_it, picks
    if chosen is None:
        return Fraction(1)
    picked = [choices[pick] for choices, pick in zip(pairs, chosen)]
    if len(set(picked)) <= MANY:
        return total(x for x, _ in picked) / total(y for _, y in picked)
    return Fraction(top + len(pairs), bottom)


def largest_change(pairs: Sequence[Pairs]) -> Fraction:
    """The largest quotient where only one of the fakes differs, and at least 1."""
    least = [min(number for pair in choices for number in pair) for choices in pairs]
    units = [scaled(number) for number in least]
    rest = sum(units)
    top, bottom, place, best = 1, 1, 0, None
    for number, choices in enumerate(pairs):
        for x, y in set(choices):
            above, below_it = scaled(x) + rest - units[number], scaled(y) + rest - units[number]
            if above * bottom > top * below_it:
                top, bottom, place, best = above, below_it, number, (x, y)
    if best is None:
        return Fraction(1)
    if len(set(least)) <= MANY:
        others = total(least) - least[place]
        return (best[0] + others) / (best[1] + others)
    return Fraction(top + len(pairs), bottom)


def total(numbers: Iterable[Fraction]) -> Fraction:
    """An exact sum, of which equal numbers are multiplied."""
    return sum((number * count for number, count in Counter(numbers).items()), Fraction(0))


class Near(Record):
    """Sends a set that is near to the truth with a chance, else one that is far from it.

    `counts` says how many reports agree with the truth in each number of places."""

    words = 2
    mechanisms = ()

    def __init__(self, width: int, least: int, keep: int, counts: list[int], first: int) -> None:
        self.first, self.width, self.least, self.keep, self.counts = first, width, least, keep, counts
        self.shortest = self.longest = width
        self.near, self.far = sum(counts[least:]), sum(counts[:least])
        if not self.near or not self.far or self.near + self.far >= 1 << 32:
            raise Refused("near", "there must be near and far reports, fewer than 2^32")
        likelier(keep * fewest(self.near) > (FULL - keep) * most(self.far))

    def agreement(self, device: Device, column: int, values: bytes) -> tuple[int, int]:
        """In how many places the report agrees with the truth, and its rank among those that do."""
        row = device.noise(self.first, values, column)
        if chance(row(0), self.keep):
            agreeing, rank = self.least, below(row(1), self.near)
        else:
            agreeing, rank = 0, below(row(1), self.far)
        while rank >= self.counts[agreeing]:
            rank -= self.counts[agreeing]
            agreeing += 1
        return agreeing, rank

    def losses(self, ratio: Ratio, reports: int) -> Losses:
        each = Fraction(self.keep * most(self.near), (FULL - self.keep) * fewest(self.far))
        return Losses(each, each)

    def pack(self, parts: Parts) -> bytes:
        return bytes(parts[self.first + place] for place in range(self.width))

    def unpack(self, cursor: Cursor) -> Parts:
        parts = {self.first + place: cursor.number(2, 1) for place in range(self.width)}
        self.check(parts)
        return parts

    def check(self, parts: Parts) -> None:
        check(len(parts) == self.width, "size")
        check(all(0 <= part < 2 for part in parts.values()))

    def is_typed(self, number: int, part: Json) -> bool:
        return is_number(part)


class NearSets(Near):
    """Near sets of the options of one question; `spare` hidden options stand for those not chosen."""

    kind = "near-sets"

    def __init__(self, tree: dict[str, Json], first: int) -> None:
        options = within(tree["options"], 2, 100, "near", "options")
        spare = within(tree["spare"], 0, max(tree["chosen"], 0), "near", "spare")
        chosen = within(tree["chosen"], 1, options - (spare == 0), "near", "chosen")
        size = within(tree["size"], 1, options + spare - 1, "near", "size")
        least = within(tree["least"], 1, min(chosen, size), "near", "least")
        self.options, self.chosen, self.spare, self.size = options, chosen, spare, size
        self.others = options + spare - chosen
        counts = [
            comb(chosen, same) * comb(self.others, size - same) for same in range(min(chosen, size) + 1)
        ]
        super().__init__(options, least, threshold(tree["keep"]), counts, first)

    def privatize(self, values: Sequence[int], device: Device, column: int) -> Parts:
        answers = bytes(values[self.first : self.first + self.width])
        yes = answers.count(0)
        chosen = [value == 0 for value in answers]
        chosen += [place < self.chosen - yes for place in range(self.spare)]
        same, rank = self.agreement(device, column, answers)
        first, second = divmod(rank, comb(self.others, self.size - same))
        places = [place for place, is_chosen in enumerate(chosen) if is_chosen]
        others = [place for place, is_chosen in enumerate(chosen) if not is_chosen]
        reported = {places[each] for each in subset_of_rank(len(places), same, first)}
        reported |= {others[each] for each in subset_of_rank(len(others), self.size - same, second)}
        return {self.first + place: int(place not in reported) for place in range(self.width)}

    def check(self, parts: Parts) -> None:
        super().check(parts)
        check(max(self.size - self.spare, 0) <= list(parts.values()).count(0) <= self.size)


class NearBits(Near):
    """Answers yes or no to several questions, near to the truth."""

    kind = "near-bits"

    def __init__(self, tree: dict[str, Json], first: int) -> None:
        answers = within(tree["answers"], 2, 31, "near", "answers")
        least = within(tree["least"], 1, answers, "near", "least")
        counts = [comb(answers, same) for same in range(answers + 1)]
        super().__init__(answers, least, threshold(tree["keep"]), counts, first)

    def privatize(self, values: Sequence[int], device: Device, column: int) -> Parts:
        answers = bytes(values[self.first : self.first + self.width])
        agreeing, rank = self.agreement(device, column, answers)
        same = set(subset_of_rank(self.width, agreeing, rank))
        return {
            self.first + place: answer if place in same else 1 - answer
            for place, answer in enumerate(answers)
        }


def subset_of_rank(count: int, size: int, rank: int) -> list[int]:
    """The subset of 0 to count - 1 of a size and a rank; subsets are ranked as words in a dictionary."""
    members: list[int] = []
    for place in range(count):
        if len(members) == size:
            break
        beginning = comb(count - place - 1, size - len(members) - 1)
        if rank < beginning:
            members.append(place)
        else:
            rank -= beginning
    return members


PARTS_OF_A_SPLIT = (*KINDS, "sample", "faked", "near-sets", "near-bits")


def read_record(tree: Json, first: int = 0, kinds: tuple[str, ...] = ()) -> Record:
    """The record mechanism of a plan, of the attributes from a number on."""
    kind = kind_of(tree)
    if kind not in (kinds or ("single", "split", "sample", "faked", "near-sets", "near-bits")):
        raise Refused("kind", f"a record mechanism {kind!r} cannot be here")
    if kind in KINDS:
        return Single(read_mechanism(tree), first)
    if kind == "faked":
        tree = fields(tree, {"kind": str, "fakes": list})
        enough(tree["fakes"], 2)
        return Faked([read_fake(fake) for fake in tree["fakes"]], first)
    if kind == "near-sets":
        sizes = dict.fromkeys(("options", "chosen", "spare", "size", "least"), int)
        return NearSets(fields(tree, {"kind": str, "keep": object, **sizes}), first)
    if kind == "near-bits":
        return NearBits(fields(tree, {"kind": str, "keep": object, "answers": int, "least": int}), first)
    if kind == "sample":
        tree = fields(tree, {"kind": str, "parts": list, "reported": int}, {"weights": list})
        enough(tree["parts"], 2)
        parts = [read_mechanism(part) for part in tree["parts"]]
        weights = read_weights(tree, len(parts)) if "weights" in tree else None
        return Sample(parts, tree["reported"], weights, first)
    tree = fields(tree, {"kind": str, "parts": list})
    if kind == "single":
        enough(tree["parts"], 1, 1)
        return Single(read_mechanism(tree["parts"][0]), first)
    enough(tree["parts"], 2)
    records: list[Record] = []
    for part in tree["parts"]:
        records.append(read_record(part, first + sum(each.width for each in records[-1:]), PARTS_OF_A_SPLIT))
        first = records[-1].first
    return Split(records, records[0].first)


def enough(parts: list[Json], fewest_parts: int, most_parts: int = 4096) -> None:
    """Refuses too few parts, or more than a plan can have attributes."""
    within(len(parts), fewest_parts, most_parts, "parts", "the number of parts")


def read_weights(tree: dict[str, Json], parts: int) -> list[int]:
    """How often each attribute of a sample is drawn."""
    weights: list[int] = [typed(weight, int, "a weight") for weight in tree["weights"]]
    if tree["reported"] != 1 or len(weights) != parts or min(weights) < 1 or sum(weights) > 1 << 16:
        raise Refused(
            "weights", "weights are for one reported attribute, one each, and at most 2^16 together"
        )
    if gcd_of(weights) > 1 or len(set(weights)) == 1:
        raise Refused("canonical", "weights have no common divisor, and are not all equal")
    return weights


def gcd_of(numbers: Sequence[int]) -> int:
    """The greatest common divisor of numbers."""
    divisor = 0
    for number in numbers:
        divisor = gcd(divisor, number)
    return divisor
