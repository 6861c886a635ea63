"""Mechanisms for one answer: each makes a part of a report, and says how much that part gives away.

`ratio` is how much likelier a part can be for one value than for another, as an exact fraction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, Callable, ClassVar

from deniable_device.bodies import (
    Cursor,
    ascending,
    check,
    is_hexadecimal,
    is_number,
    is_numbers,
    little,
    smallest,
)
from deniable_device.carried import kept_bits, kept_value
from deniable_device.document import Json, fields, kind_of, threshold, typed, within
from deniable_device.errors import Refused
from deniable_device.words import (
    FULL,
    Draws,
    Row,
    below,
    bit_words,
    chance,
    distinct,
    keep_or_other,
    mask,
    places,
    random_bits,
)

PRIME = (1 << 31) - 1
POSITIONS = 1 << 32
"""Numbers are positions from 0 to this one."""


def fewest(count: int) -> int:
    """How many words `below` sends to its rarest result."""
    return FULL // count


def most(count: int) -> int:
    """How many words `below` sends to its likeliest result."""
    return -(-FULL // count)


def power(ratio: Fraction, times: int) -> Fraction:
    """A power, rounded up by less than one part in 2^250, so that its digits do not grow without end."""
    if times == 1:
        return ratio
    total = Fraction(1)
    for digit in f"{times:b}":
        total = shortened(total * total * (ratio if digit == "1" else 1))
    return total


def shortened(ratio: Fraction) -> Fraction:
    """A fraction above 1, rounded up by less than one part in 2^300."""
    return (
        ratio
        if ratio.numerator < 1 << 320
        else Fraction(-(-ratio.numerator * (1 << 300) // ratio.denominator), 1 << 300)
    )


def likelier(holds: bool) -> None:
    """Refuses a mechanism whose report does not speak for the truth."""
    if not holds:
        raise Refused("likelier", "the truth is not likelier than the rest")


class Mechanism(ABC):
    """What makes the part of one attribute. `k` is its number of values, `words` its number of columns."""

    kind: ClassVar[str]
    repeated = False
    metric = False
    mean = False
    linear = False
    k: int
    words: int
    size: int
    """How many bytes a part has."""

    @abstractmethod
    def privatize(self, value: int, draws: Draws) -> Json:
        """The part of a value, from the words of a device."""

    @abstractmethod
    def ratio(self) -> Fraction:
        """How much one report gives away."""

    def pack(self, part: Json) -> bytes:
        """The bytes of a part."""
        return little(part, self.size)

    @abstractmethod
    def unpack(self, cursor: Cursor) -> Json:
        """The part that bytes hold."""

    def is_typed(self, part: Json) -> bool:
        """Whether a part from JSON is of the right types."""
        return is_number(part)

    @abstractmethod
    def check(self, part: Json) -> None:
        """Refuses a part from JSON that no value can give."""


class Drawn(Mechanism):
    """Mechanisms whose part comes from one row of words."""

    @abstractmethod
    def randomize(self, value: int, row: Row) -> Json:
        """The part that the words of a row make of a value."""

    def privatize(self, value: int, draws: Draws) -> Json:
        return self.randomize(value, draws.noise(value + 1))


class Numbered(Mechanism):
    """Mechanisms whose part is one number below `outputs`."""

    outputs: int

    @property
    def size(self) -> int:  # type: ignore[override]
        return smallest(self.outputs)

    def unpack(self, cursor: Cursor) -> Json:
        return cursor.number(self.outputs)

    def check(self, part: Json) -> None:
        check(0 <= part < self.outputs)


class Direct(Numbered, Drawn):
    """Sends the value with a chance, else one of the others."""

    kind = "direct"
    words = 2

    def __init__(self, k: int, keep: int) -> None:
        self.k = self.outputs = within(k, 2, 1 << 24, "k", "k")
        self.keep = keep
        likelier(keep * FULL > (FULL - keep) * most(k - 1))

    def randomize(self, value: int, row: Row) -> Json:
        return keep_or_other(value, self.k, self.keep, row)

    def ratio(self) -> Fraction:
        return kept_ratio(self.keep, self.k)


def kept_ratio(keep: int, k: int) -> Fraction:
    """The ratio of a value that is kept among k."""
    return Fraction(keep * FULL, (FULL - keep) * fewest(k - 1))


class Bits(Drawn):
    """Mechanisms whose part is a set of values, one bit for each."""

    def pack(self, part: Json) -> bytes:
        return little(mask(part), self.size)

    def unpack(self, cursor: Cursor) -> Json:
        bits = int.from_bytes(cursor.take(self.size), "little")
        check(bits >> self.k == 0)
        return places(bits)

    def is_typed(self, part: Json) -> bool:
        return is_numbers(part)

    def check(self, part: Json) -> None:
        ascending(part, self.k)


class Unary(Bits):
    """Draws a bit for each value; that of the true one is likelier to be set."""

    kind = "unary"

    def __init__(self, k: int, one: int, zero: int) -> None:
        self.k, self.one, self.zero = within(k, 2, 1 << 20, "k", "k"), one, zero
        self.words, self.size = bit_words(k), -(-k // 8)
        likelier(one > zero)

    def randomize(self, value: int, row: Row) -> Json:
        return self.randomize_set(1 << value, row)

    def randomize_set(self, truth: int, row: Row) -> list[int]:
        """The same where every bit of `truth` counts as true, as none does for nobody."""
        return random_bits(self.k, truth, self.one, self.zero, row)

    def ratio(self) -> Fraction:
        return up(self.one, self.zero) * down(self.one, self.zero)


def up(one: int, zero: int) -> Fraction:
    """How much a bit that is set speaks for its value."""
    return Fraction(one, zero)


def down(one: int, zero: int) -> Fraction:
    """How much a bit that is not set speaks against its value."""
    return Fraction(FULL - zero, FULL - one)


class Subset(Drawn):
    """Sends a set of `size` values, in which the true one is likelier than the others; the set is listed."""

    kind = "subset"

    def __init__(self, k: int, members: int, keep: int) -> None:
        self.k, self.keep = within(k, 2, 1 << 16, "k", "k"), keep
        self.members = within(members, 1, k - 1, "size", "size")
        self.words, self.size = 1 + members, members * smallest(k)
        likelier(keep * k > FULL * members)

    def randomize(self, value: int, row: Row) -> Json:
        chosen = {value} if chance(row(0), self.keep) else set()
        missing = self.members - len(chosen)
        for turn in range(missing):
            other = below(row(1 + turn), self.k - missing + turn)
            other += other >= value
            if other in chosen:
                other = self.k - 1 - missing + turn
                other += other >= value
            chosen.add(other)
        return sorted(chosen)

    def ratio(self) -> Fraction:
        k, members = self.k, self.members
        slack = FULL - 2 * members * (k - 1)
        return Fraction(self.keep * (k - members) * FULL, (FULL - self.keep) * members * slack)

    def pack(self, part: Json) -> bytes:
        return b"".join(little(value, smallest(self.k)) for value in part)

    def unpack(self, cursor: Cursor) -> Json:
        part = [cursor.number(self.k) for _ in range(self.members)]
        ascending(part, self.k)
        return part

    def is_typed(self, part: Json) -> bool:
        return is_numbers(part)

    def check(self, part: Json) -> None:
        check(all(0 <= value < self.k for value in part))
        check(len(part) == self.members, "size")
        ascending(part, self.k)


class PackedSubset(Subset):
    """The same set, sent as one bit for each value."""

    kind = "packed-subset"

    def __init__(self, k: int, members: int, keep: int) -> None:
        super().__init__(k, members, keep)
        self.size = -(-k // 8)

    def pack(self, part: Json) -> bytes:
        return little(mask(part), self.size)

    def unpack(self, cursor: Cursor) -> Json:
        bits = int.from_bytes(cursor.take(self.size), "little")
        check(bits >> self.k == 0)
        part = places(bits)
        check(len(part) == self.members)
        return part


def hash_function(word: int) -> tuple[int, int]:
    """The numbers a and b of a hash function."""
    return (word >> 33) % (PRIME - 1) + 1, (word >> 2 & PRIME) % PRIME


def hashed_bucket(a: int, b: int, value: int, g: int) -> int:
    """Where a hash function sends a value."""
    return (a * (value + 1) + b) % PRIME % g


class Hashed(Drawn):
    """Sends a hash function, and its bucket of the value through `direct`."""

    kind = "hashed"
    words = 3

    def __init__(self, k: int, g: int, keep: int) -> None:
        self.k, self.keep = within(k, 2, PRIME - 1, "k", "k"), keep
        self.g = within(g, 2, PRIME - 1, "g", "g")
        self.size = 8 + smallest(g)
        likelier(keep * FULL > (FULL - keep) * most(g - 1))

    def randomize(self, value: int, row: Row) -> Json:
        a, b = hash_function(row(0))
        bucket = hashed_bucket(a, b, value, self.g)
        return {"a": a, "b": b, "bucket": keep_or_other(bucket, self.g, self.keep, lambda c: row(1 + c))}

    def ratio(self) -> Fraction:
        return kept_ratio(self.keep, self.g)

    def pack(self, part: Json) -> bytes:
        return little(part["a"], 4) + little(part["b"], 4) + little(part["bucket"], smallest(self.g))

    def unpack(self, cursor: Cursor) -> Json:
        a, b = cursor.number(PRIME, 4), cursor.number(PRIME, 4)
        check(a > 0)
        return {"a": a, "b": b, "bucket": cursor.number(self.g)}

    def is_typed(self, part: Json) -> bool:
        return type(part) is dict and set(part) == {"a", "b", "bucket"} and all(map(is_number, part.values()))

    def check(self, part: Json) -> None:
        check(1 <= part["a"] < PRIME and 0 <= part["b"] < PRIME and 0 <= part["bucket"] < self.g)


class Linear(Drawn):
    """Sends a hash of a text or a code, whose bits are sums of those of the value, and its bucket."""

    kind = "linear"
    words = 6
    linear = True

    def __init__(self, bits: int, rows: int, keep: int) -> None:
        self.bits, self.keep = within(bits, 1, 62, "bits", "bits"), keep
        self.rows = within(rows, 1, min(8, bits), "rows", "rows")
        self.k, self.g, self.digits = 1 << bits, 1 << rows, bits + rows - 1
        self.size = -(-self.digits // 8) + 1
        likelier(keep * FULL > (FULL - keep) * most(self.g - 1))

    def is_fair(self, number: int) -> bool:
        """Whether the rows of a hash are independent in the first bits of a value."""
        rows = [number >> row & (1 << self.bits) - 1 for row in range(self.rows)]
        sums = [0]
        for row in rows:
            sums += [total ^ row for total in sums]
        return min(sums[1:]) >= 1 << max(0, self.bits - self.rows - 13)

    def randomize(self, value: int, row: Row) -> Json:
        whole = (1 << self.digits) - 1
        number = row(0) + (row(1) << 64) & whole
        if not self.is_fair(number):
            number = row(2) + (row(3) << 64) & whole
        if not self.is_fair(number):
            number = 1 << self.bits - 1
        bucket = mask(place for place in range(self.rows) if is_odd(value & number >> place))
        bucket = keep_or_other(bucket, self.g, self.keep, lambda column: row(4 + column))
        return {"bits": little(number, self.size - 1).hex(), "bucket": bucket}

    def ratio(self) -> Fraction:
        return kept_ratio(self.keep, self.g)

    def pack(self, part: Json) -> bytes:
        return bytes.fromhex(part["bits"]) + little(part["bucket"], 1)

    def unpack(self, cursor: Cursor) -> Json:
        data = cursor.take(self.size - 1)
        part = {"bits": data.hex(), "bucket": cursor.number(self.g, 1)}
        self.check(part)
        return part

    def is_typed(self, part: Json) -> bool:
        if type(part) is not dict or set(part) != {"bits", "bucket"}:
            return False
        return is_hexadecimal(part["bits"], 2 * (self.size - 1)) and is_number(part["bucket"])

    def check(self, part: Json) -> None:
        digits = part["bits"]
        number = int.from_bytes(bytes.fromhex(digits), "little")
        check(number >> self.digits == 0 and self.is_fair(number) and 0 <= part["bucket"] < self.g)


def is_odd(bits: int) -> bool:
    """Whether the number of set bits is odd."""
    return bin(bits).count("1") % 2 == 1


def pool_size(k: int, g: int) -> int:
    """How many functions the public pool has that hashes k values into g buckets."""
    digits = next(digits for digits in range(2, 22) if g**digits >= k)
    return sum(g**digit for digit in range(digits))


class Pooled(Numbered, Drawn):
    """Sends one of a small pool of hash functions with its bucket, in one number."""

    kind = "pooled"
    words = 3

    def __init__(self, k: int, g: int, keep: int) -> None:
        self.k, self.g, self.keep = within(k, 2, 1 << 20, "k", "k"), within(g, 2, 251, "g", "g"), keep
        if any(g % divisor == 0 for divisor in range(2, g)):
            raise Refused("g", f"g must be a prime, got {g}")
        self.functions = pool_size(k, g)
        self.outputs = self.functions * g
        if self.outputs > 1 << 22:
            raise Refused("g", "there are more than 2^22 pairs of a function and a bucket")
        likelier(keep * FULL > (FULL - keep) * most(g - 1))

    def randomize(self, value: int, row: Row) -> Json:
        function = below(row(0), self.functions)
        bucket = keep_or_other(
            self.bucket(function, value), self.g, self.keep, lambda column: row(1 + column)
        )
        return function * self.g + bucket

    def bucket(self, function: int, value: int) -> int:
        """The bucket that a function of the pool sends a value to."""
        g, rest, place = self.g, function, 0
        while rest >= g**place:
            rest -= g**place
            place += 1
        total: int = value // g**place
        for lower in range(place):
            total += rest // g**lower % g * (value // g**lower % g)
        return total % g

    def ratio(self) -> Fraction:
        return kept_ratio(self.keep, self.g)


class Hadamard(Numbered, Drawn):
    """Sends a column of a matrix of signs, which is likelier to agree with the row of the value."""

    kind = "hadamard"
    words = 2

    def __init__(self, k: int, keep: int) -> None:
        self.k, self.keep = within(k, 2, (1 << 20) - 1, "k", "k"), keep
        self.bits = k.bit_length()
        self.outputs = 1 << self.bits
        likelier(keep * FULL > (FULL - keep) * most(1))

    def randomize(self, value: int, row: Row) -> Json:
        line, column = value + 1, row(1) >> 64 - self.bits
        agrees = not is_odd(line & column)
        return column if agrees == chance(row(0), self.keep) else column ^ (line & -line)

    def ratio(self) -> Fraction:
        return Fraction(self.keep, FULL - self.keep)


class Kept(Numbered, Drawn):
    """Noise that grows with distance, drawn anew or kept for each value."""

    metric = True
    words = 1

    def privatize(self, value: int, draws: Draws) -> Json:
        row = draws.kept(value + 1) if self.repeated else draws.noise(value + 1)
        return self.randomize(value, row)


class Geometric(Kept):
    """Moves a value along its range."""

    kind = "geometric"

    def __init__(self, tails: list[int], kept: bool = False) -> None:
        if not 2 <= len(tails) <= 4096 or tails[0] + tails[1] != FULL:
            raise Refused("tails", "from 2 to 4,096 tails, of which the first two add up to 2^64")
        steps = [left - right for left, right in zip(tails, tails[1:])] + [tails[-1]]
        falls = all(later <= step for step, later in zip(steps[:-1], steps[1:-1]))
        if min(steps) <= 0 or not falls:
            raise Refused("tails", "tails must fall, by less from step to step")
        self.tails, self.steps, self.repeated = tails, steps[:-1], kept
        self.k = self.outputs = len(tails)

    def randomize(self, value: int, row: Row) -> Json:
        word = row(0)
        lower = word < FULL // 2
        word = word if lower else FULL - 1 - word
        moved = sum(word < tail for tail in self.tails[1:])
        return max(0, value - moved) if lower else min(self.k - 1, value + moved)

    def ratio(self) -> Fraction:
        return max(Fraction(self.tails[0], self.tails[-1]), Fraction(self.steps[0], self.steps[-1]))


class Planar(Kept):
    """Moves a cell in its grid."""

    kind = "planar-geometric"

    def __init__(self, steps: list[int], noise: list[list[int]], kept: bool = False) -> None:
        self.rows, self.columns = len(noise), len(noise[0]) if noise else 0
        if min(self.rows, self.columns) < 2 or len({len(row) for row in noise}) > 1:
            raise Refused("noise", "noise needs 2 rows and columns, and rows of one length")
        if self.rows * self.columns > 2048:
            raise Refused("noise", "noise has at most 2,048 cells")
        if len(steps) != 2 or not all(1 <= step <= 1 << 40 for step in steps):
            raise Refused("steps", "steps are two integers from 1 to 2^40")
        self.steps, self.noise, self.repeated = steps, noise, kept
        self.moves = [
            (down, right, noise[abs(down)][abs(right)])
            for down in range(1 - self.rows, self.rows)
            for right in range(1 - self.columns, self.columns)
        ]
        if sum(weight for _, _, weight in self.moves) != FULL:
            raise Refused("noise", "the words of all displacements do not add up to 2^64")
        self.k = self.outputs = self.rows * self.columns

    def randomize(self, value: int, row: Row) -> Json:
        word = row(0)
        down = right = 0
        for down, right, weight in self.moves:  # noqa: B007
            word -= weight
            if word < 0:
                break
        line = min(max(value // self.columns + down, 0), self.rows - 1)
        return line * self.columns + min(max(value % self.columns + right, 0), self.columns - 1)

    def tables(self) -> list[list[list[int]]]:
        """How many words send each output from a cell so many rows and columns away: the output is inside of
        the grid, in its first or last row, in its first or last column, or in a corner. Two rows have
        none inside, nor have two columns."""
        by_row = sums_from(self.noise)
        by_column = transposed(sums_from(transposed(self.noise)))
        corner = transposed(sums_from(transposed(by_row)))
        tables = [corner]
        if self.columns > 2:
            tables.append([row[:-1] for row in by_row])
        if self.rows > 2:
            tables.append(by_column[:-1])
        if self.rows > 2 and self.columns > 2:
            tables.append([row[:-1] for row in self.noise[:-1]])
        return tables

    def ratio(self) -> Fraction:
        entries = [[entry for row in table for entry in row] for table in self.tables()]
        return max(Fraction(max(table), min(table)) for table in entries)


def transposed(table: list[list[int]]) -> list[list[int]]:
    """A table with its rows as columns."""
    return [list(column) for column in zip(*table)]


def sums_from(table: list[list[int]]) -> list[list[int]]:
    """For each row of a table, the sum of it and all rows after it."""
    sums = [table[-1]]
    for row in reversed(table[:-1]):
        sums.append([left + right for left, right in zip(row, sums[-1])])
    return sums[::-1]


class Mean(Numbered, Drawn):
    """Mechanisms for the mean of a number."""

    mean = True
    k = POSITIONS + 1


class Duchi(Mean):
    """Sends one bit, which is likelier to be 1 the higher the number is."""

    kind = "duchi"
    words = 1
    outputs = 2

    def __init__(self, keep: int) -> None:
        self.keep = keep
        likelier(keep > FULL // 2)

    def randomize(self, value: int, row: Row) -> Json:
        middle = POSITIONS // 2
        moved = abs(value - middle) * (self.keep - FULL // 2) // middle
        limit = FULL // 2 + moved if value >= middle else FULL // 2 - moved
        return int(row(0) < limit)

    def ratio(self) -> Fraction:
        return Fraction(self.keep, FULL - self.keep)


class Piecewise(Mean):
    """Sends a bin, which is likelier to be near to the number than far from it."""

    kind = "piecewise"
    words = 3

    def __init__(self, k: int, window: int, keep: int) -> None:
        self.bins = within(k, 2, 1 << 20, "k", "k")
        self.window, self.keep = within(window, 1, 1 << 20, "window", "window"), keep
        self.outputs = k + window - 1
        likelier(self.ratio() > 1)

    def randomize(self, value: int, row: Row) -> Json:
        first, part = divmod(value * (self.bins - 1), POSITIONS)
        first += row(2) >> 32 < part
        if chance(row(0), self.keep):
            return first + below(row(1), self.window)
        other = below(row(1), self.bins - 1)
        return other + (self.window if other >= first else 0)

    def ratio(self) -> Fraction:
        return Fraction(self.keep * most(self.window), (FULL - self.keep) * fewest(self.bins - 1))


class Hybrid(Mean):
    """Sends a number by one of two mechanisms for means."""

    kind = "hybrid"
    words = 5

    def __init__(self, piecewise: Piecewise, duchi: Duchi, share: int) -> None:
        self.piecewise, self.duchi, self.share = piecewise, duchi, share
        self.outputs = piecewise.outputs + 2

    def randomize(self, value: int, row: Row) -> Json:
        if chance(row(0), self.share):
            return self.piecewise.randomize(value, lambda column: row(1 + column))
        return self.piecewise.outputs + self.duchi.randomize(value, lambda column: row(4 + column))

    def ratio(self) -> Fraction:
        return max(self.piecewise.ratio(), self.duchi.ratio())


class Repeated(Mechanism):
    """Mechanisms whose first answer is kept for all rounds."""

    repeated = True
    rounds: Memoized
    """The two rounds that the answer goes through."""

    def ratio(self) -> Fraction:
        return self.rounds.after(1)


class Memoized(Repeated):
    """Randomizes a value once and for ever, and what that gave anew in each round."""

    kind = "memoized"

    def __init__(self, first: Direct | Unary, second: Direct | Unary) -> None:
        if type(first) is not type(second) or first.k != second.k:
            raise Refused("shape", "the two rounds are not of one kind and size")
        self.first, self.second, self.k = first, second, first.k
        self.words, self.size = first.words + second.words, first.size
        self.rounds = self

    def privatize(self, value: int, draws: Draws) -> Json:
        fresh = draws.after(self.first.words).noise(value + 1)
        return self.carry(value, draws, fresh)

    def carry(self, value: int, draws: Draws, fresh: Row) -> Json:
        """Both rounds of a value, whose first answer may be of plans before."""
        firsts = draws.strand.firsts
        if firsts and isinstance(self.first, Unary):
            bits = kept_bits(value, self.first, firsts, lambda number, plan: draws.kept(number + 1, plan))
            return self.again(bits, fresh)
        if firsts:
            kept = kept_value(value, firsts, lambda number, plan: draws.kept(number + 1, plan))
            return self.again(kept, fresh)
        return self.twice(value, draws.kept(value + 1), fresh)

    def after(self, reports: int) -> Fraction:
        """How much so many reports of one value give away."""
        return self.after_powers(*self.powers(reports), reports)

    def after_powers(self, rise: Fraction, fall: Fraction, reports: int) -> Fraction:
        """How much so many reports give away that speak so much for what is kept."""
        one, k = self.first.ratio(), self.k
        if isinstance(self.first, Unary):
            true, other = self.first.one, self.first.zero
            return ((true * rise + FULL - true) / (other * rise + FULL - other)) * (
                ((FULL - other) * fall + other) / ((FULL - true) * fall + true)
            )
        return (one * rise + k - 1) / (one + rise + k - 2) * Fraction(FULL, FULL - 4 * k * (reports + 1))

    def powers(self, reports: int) -> tuple[Fraction, Fraction]:
        """How much so many reports of the second round say of a kept value, or of a bit: set, and unset."""
        if isinstance(self.second, Direct):
            ratio = power(self.second.ratio(), reports)
            return ratio, ratio
        one, zero = self.second.one, self.second.zero
        return power(up(one, zero), reports), power(down(one, zero), reports)

    def twice(self, value: int | None, kept: Row, fresh: Row) -> Json:
        """Both rounds of a value, or of nobody where the rounds are of bits."""
        if isinstance(self.first, Unary):
            return self.again(self.first.randomize_set(0 if value is None else 1 << value, kept), fresh)
        return self.again(self.first.randomize(value or 0, kept), fresh)

    def again(self, kept: Json, fresh: Row) -> Json:
        """The second round, of what the first one gave."""
        if isinstance(self.second, Unary):
            return self.second.randomize_set(mask(kept), fresh)
        return self.second.randomize(kept, fresh)

    def pack(self, part: Json) -> bytes:
        return self.second.pack(part)

    def unpack(self, cursor: Cursor) -> Json:
        return self.second.unpack(cursor)

    def is_typed(self, part: Json) -> bool:
        return self.second.is_typed(part)

    def check(self, part: Json) -> None:
        self.second.check(part)


class MemoizedBuckets(Repeated):
    """Keeps a hash function, and sends the bucket of the value through two rounds."""

    once: Hashed | Pooled
    """The mechanism of what the device keeps, whose parts have this form."""

    def __init__(self, k: int, buckets: Memoized) -> None:
        if not isinstance(buckets.first, Direct):
            raise Refused("shape", "the buckets go through direct mechanisms")
        self.buckets = self.rounds = buckets
        self.once = self.shape(k, buckets.k, buckets.first.keep)
        self.k, self.size, self.words = k, self.once.size, 1 + buckets.words

    @abstractmethod
    def shape(self, k: int, g: int, keep: int) -> Hashed | Pooled:
        """The mechanism with one round."""

    @abstractmethod
    def hash(self, word: int, value: int) -> int:
        """The bucket of a value by the function of a word."""

    @abstractmethod
    def part(self, word: int, bucket: int) -> Json:
        """The part that says the function of a word and a bucket."""

    def privatize(self, value: int, draws: Draws) -> Json:
        word, rest = draws.kept(0)(0), draws.after(1)
        bucket = self.hash(word, value)
        fresh = rest.after(self.buckets.first.words).noise(value + 1)
        return self.part(word, self.buckets.carry(bucket, rest, fresh))

    def pack(self, part: Json) -> bytes:
        return self.once.pack(part)

    def unpack(self, cursor: Cursor) -> Json:
        return self.once.unpack(cursor)

    def is_typed(self, part: Json) -> bool:
        return self.once.is_typed(part)

    def check(self, part: Json) -> None:
        self.once.check(part)


class HashedMemoized(MemoizedBuckets):
    """Keeps a hash function of its own."""

    kind = "hashed-memoized"

    def shape(self, k: int, g: int, keep: int) -> Hashed:
        return Hashed(k, within(g, 2, PRIME - 1, "g", "g"), keep)

    def hash(self, word: int, value: int) -> int:
        return hashed_bucket(*hash_function(word), value, self.buckets.k)

    def part(self, word: int, bucket: int) -> Json:
        a, b = hash_function(word)
        return {"a": a, "b": b, "bucket": bucket}


class PooledMemoized(MemoizedBuckets):
    """Keeps a hash function of a public pool."""

    kind = "pooled-memoized"
    once: Pooled

    def shape(self, k: int, g: int, keep: int) -> Pooled:
        return Pooled(k, g, keep)

    def hash(self, word: int, value: int) -> int:
        return self.once.bucket(below(word, self.once.functions), value)

    def part(self, word: int, bucket: int) -> Json:
        return below(word, self.once.functions) * self.once.g + bucket


class MemoizedMean(Numbered, Repeated):
    """Compares a number with a line that is kept, and sends the bit through two rounds."""

    kind = "memoized-mean"
    mean = True
    k = POSITIONS + 1
    outputs = 2

    def __init__(self, bit: Memoized) -> None:
        if not isinstance(bit.first, Direct) or bit.k != 2:
            raise Refused("shape", "the bit goes through direct mechanisms of 2 values")
        self.bit = self.rounds = bit
        self.words = 1 + bit.words

    def privatize(self, value: int, draws: Draws) -> Json:
        bit = int(draws.kept(0)(0) >> 32 < value)
        rest = draws.after(1)
        fresh = rest.after(self.bit.first.words).noise(value + 1)
        return self.bit.carry(bit, rest, fresh)


class BitFlip(Mechanism):
    """Keeps some values of a histogram, and sends a random bit for each of them."""

    kind = "bit-flip"
    repeated = True

    def __init__(self, k: int, bits: int, one: int, zero: int) -> None:
        self.k, self.one, self.zero = within(k, 2, 1 << 16, "k", "k"), one, zero
        self.bits = within(bits, 1, k, "bits", "bits")
        self.words = bits + bit_words(bits)
        self.place_size = 2 if k > 256 else 1
        self.size = bits * self.place_size + -(-bits // 8)
        likelier(one > zero)

    def privatize(self, value: int | None, draws: Draws) -> Json:
        about = sorted(distinct(draws.kept(0), self.k, self.bits))
        position = about.index(value) if value in about else -1
        row = draws.after(self.bits).kept(position + 2)
        chosen = random_bits(self.bits, 1 << position if position >= 0 else 0, self.one, self.zero, row)
        return {"about": about, "set": [about[place] for place in chosen]}

    def ratio(self) -> Fraction:
        rise, fall = up(self.one, self.zero), down(self.one, self.zero)
        return max(rise, fall) if self.bits == 1 else rise * fall

    def pack(self, part: Json) -> bytes:
        about = b"".join(little(value, self.place_size) for value in part["about"])
        chosen = set(part["set"])
        bits = mask(place for place, value in enumerate(part["about"]) if value in chosen)
        return about + little(bits, -(-self.bits // 8))

    def unpack(self, cursor: Cursor) -> Json:
        about = [cursor.number(self.k, self.place_size) for _ in range(self.bits)]
        ascending(about, self.k)
        bits = int.from_bytes(cursor.take(-(-self.bits // 8)), "little")
        check(bits >> self.bits == 0)
        return {"about": about, "set": [about[place] for place in places(bits)]}

    def is_typed(self, part: Json) -> bool:
        return type(part) is dict and set(part) == {"about", "set"} and all(map(is_numbers, part.values()))

    def check(self, part: Json) -> None:
        check(all(0 <= value < self.k for value in part["about"]))
        check(len(part["about"]) == self.bits, "size")
        ascending(part["about"], self.k)
        ascending(part["set"], self.k)
        check(set(part["set"]) <= set(part["about"]))


def whole(value: Json) -> int:
    """An integer of a mechanism."""
    return int(typed(value, int, "a size"))


def thresholds(value: Json) -> list[int]:
    """A list of thresholds."""
    return [threshold(text) for text in typed(value, list, "a list of thresholds")]


def table(value: Json) -> list[list[int]]:
    """A table of thresholds."""
    return [thresholds(row) for row in typed(value, list, "a table of thresholds")]


def wholes(value: Json) -> list[int]:
    """A list of integers."""
    return [whole(number) for number in typed(value, list, "a list of sizes")]


def kept(value: Json) -> bool:
    """Whether noise is kept: a field that is true or absent."""
    if typed(value, bool, "kept") is False:
        raise Refused("canonical", "a `kept` that is false is not written")
    return True


def of(*kinds: str) -> Callable[[Json], Any]:
    """Reads a mechanism of one of these kinds."""
    return lambda tree: read_mechanism(tree, kinds)


SHAPES: dict[str, tuple[Callable[..., Mechanism], dict[str, Callable[[Json], Any]]]] = {
    "direct": (Direct, {"k": whole, "keep": threshold}),
    "unary": (Unary, {"k": whole, "one": threshold, "zero": threshold}),
    "subset": (Subset, {"k": whole, "size": whole, "keep": threshold}),
    "packed-subset": (PackedSubset, {"k": whole, "size": whole, "keep": threshold}),
    "hashed": (Hashed, {"k": whole, "g": whole, "keep": threshold}),
    "linear": (Linear, {"bits": whole, "rows": whole, "keep": threshold}),
    "pooled": (Pooled, {"k": whole, "g": whole, "keep": threshold}),
    "hadamard": (Hadamard, {"k": whole, "keep": threshold}),
    "memoized": (Memoized, {"first": of("direct", "unary"), "second": of("direct", "unary")}),
    "hashed-memoized": (HashedMemoized, {"k": whole, "buckets": of("memoized")}),
    "pooled-memoized": (PooledMemoized, {"k": whole, "buckets": of("memoized")}),
    "memoized-mean": (MemoizedMean, {"bit": of("memoized")}),
    "bit-flip": (BitFlip, {"k": whole, "bits": whole, "one": threshold, "zero": threshold}),
    "geometric": (Geometric, {"tails": thresholds, "kept": kept}),
    "planar-geometric": (Planar, {"steps": wholes, "noise": table, "kept": kept}),
    "duchi": (Duchi, {"keep": threshold}),
    "piecewise": (Piecewise, {"k": whole, "window": whole, "keep": threshold}),
    "hybrid": (Hybrid, {"piecewise": of("piecewise"), "duchi": of("duchi"), "share": threshold}),
}
"""What makes a mechanism of each kind, and the fields that it takes, in this order."""
KINDS = tuple(SHAPES)


def read_mechanism(tree: Json, kinds: tuple[str, ...] = KINDS) -> Mechanism:
    """The mechanism of a plan, which has one of these kinds."""
    kind = kind_of(tree)
    if kind not in kinds:
        raise Refused("kind", f"a mechanism {kind!r} cannot be here")
    make, readers = SHAPES[kind]
    required = {name: object for name in readers if name != "kept"}
    tree = fields(tree, {"kind": str, **required}, {"kept": object} if "kept" in readers else {})
    return make(*(read(tree[name]) for name, read in readers.items() if name in tree))
