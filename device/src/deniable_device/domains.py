"""Domains: which answers a question has, and the number of each as a value."""

from __future__ import annotations

import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Callable

from deniable_device.document import Json, fields, kind_of, typed, within
from deniable_device.errors import InvalidAnswer, Refused
from deniable_device.mechanisms import POSITIONS

SPACES = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""White space, in Unicode and in JavaScript."""
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
DATE = re.compile("([0-9]{4})(?:-(0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?)?")
LARGE = 10**15
MOST_VALUES = 1 << 20


def is_missing(answer: Json) -> bool:
    """Whether an answer is none: absent, an empty text, or not a number."""
    return answer is None or answer == "" or (isinstance(answer, float) and math.isnan(answer))


def number_of(answer: Json) -> float:
    """The number that an answer is, or that its text says."""
    if isinstance(answer, str):
        text = answer.strip(SPACES)
        if not NUMBER.fullmatch(text):
            raise InvalidAnswer(f"{answer!r} is not a number")
        answer = float(text)
    if isinstance(answer, bool) or not isinstance(answer, (int, float)):
        raise InvalidAnswer(f"{answer!r} is not a number")
    try:
        value = float(answer)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise InvalidAnswer(f"{answer!r} is not finite")
    return value


def label_of(answer: Json) -> str:
    """The label that an answer stands for; a number does by its shortest digits."""
    if isinstance(answer, (str, bool)):
        return unicodedata.normalize("NFC", str(answer))
    value = number_of(answer)
    if isinstance(answer, int) or value.is_integer():
        return str(int(answer))
    return repr(value)


def whole_number(answer: Json) -> int:
    """A number without a fraction."""
    value = number_of(answer)
    if value != math.floor(value):
        raise InvalidAnswer(f"{answer!r} is not a whole number")
    return int(value)


def visible(text: Json, name: str) -> str:
    """A text that people see as it is, on one line."""
    typed(text, str, name)
    seen = all(is_visible(place, text) for place in range(len(text)))
    if not text or text.strip(SPACES) != text or not seen:
        raise Refused("text", f"{name} must be visible text on one line, got {text[:40]!r}")
    return str(text)


def is_visible(place: int, text: str) -> bool:
    """Whether a character is seen, or joins two that are."""
    letter = text[place]
    if letter in "\u200c\u200d":
        before = text[place - 1] if place else ""
        joins = before != "" and (
            "\u0600" <= before <= "\u08ff" or unicodedata.category(before) in ("Mn", "Mc", "Me", "So", "Sk")
        )
        return joins and place + 1 < len(text)
    return unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


class Domain(ABC):
    """The values of an attribute, `k` of them. `labels` is what a condition can name."""

    kind: str
    k: int
    labels: tuple[str, ...] = ()
    bits: int | None = None
    """How many binary digits a value has, where there are too many to count."""

    factors: Sequence[Factor] = ()
    """The questions whose answers its values are made of; none where it is one question itself."""

    @abstractmethod
    def join(self, codes: Sequence[int]) -> int:
        """The value that the values of its questions make."""


class Asked(Domain):
    """The answers to a question."""

    @abstractmethod
    def code(self, answer: Json) -> int:
        """The value of an answer that is not missing."""

    def join(self, codes: Sequence[int]) -> int:
        return codes[0]

    def is_missing(self, answer: Json) -> bool:
        """Whether there is no answer."""
        return is_missing(answer)


class Categories(Asked):
    """One of some labels."""

    kind = "categories"

    def __init__(self, tree: dict[str, Json]) -> None:
        labels: list[str] = tree["labels"]
        if len(labels) < 2:
            raise Refused("labels", "there are fewer than 2 labels")
        if len(labels) > MOST_VALUES:
            raise Refused("values", "there are more than 2^20 labels")
        for label in labels:
            visible(label, "a label")
            if unicodedata.normalize("NFC", label) != label:
                raise Refused("canonical", f"the label {label!r} is not in NFC")
        self.labels, self.k = tuple(labels), len(labels)
        self.codes = {label: code for code, label in enumerate(labels)}
        if len(self.codes) < len(labels):
            raise Refused("labels", "a label is there twice")

    def code(self, answer: Json) -> int:
        code = self.codes.get(label_of(answer))
        if code is None:
            raise InvalidAnswer(f"{answer!r} is not one of the answers ({', '.join(self.labels[:5])}, ...)")
        return code


class Range(Asked):
    """A number in bins of equal width, or one of the whole numbers, months or years of a range."""

    kind = "range"

    def __init__(self, tree: dict[str, Json]) -> None:
        self.low: int = tree["low"]
        self.step: int = tree["step"]
        self.k: int = tree["bins"]
        self.digits: int = tree["digits"]
        self.open_low, self.open_high, self.unit = tree["open_low"], tree["open_high"], tree.get("unit")
        if self.k > MOST_VALUES:
            raise Refused("values", "there are more than 2^20 bins")
        for value, low, high in (
            (self.k, 2, MOST_VALUES),
            (self.digits, 0, 15),
            (self.step, 1, LARGE),
            (self.low, -LARGE, LARGE),
            (self.low + self.k * self.step, -LARGE, LARGE),
        ):
            within(value, low, high, "range", "what a range has")
        if not needed(self.digits, self.low, self.low + self.k * self.step, self.step):
            raise Refused("canonical", "a range has more digits than its numbers need")
        if "unit" in tree:
            self.check_unit()

    def check_unit(self) -> None:
        """Refuses a range of dates or whole numbers that has more than its ends."""
        plain = self.step == 1 and self.digits == 0 and not self.open_low and not self.open_high
        last = self.low + self.k - 1
        ends = {"whole": (-LARGE, LARGE), "year": (1, 9999), "month": (12, 9999 * 12 + 11)}
        low, high = ends.get(str(self.unit), (1, 0))
        if not plain or not low <= self.low <= last <= high:
            raise Refused("range", "a range with a unit has steps of 1 and, of dates, years from 1 to 9999")

    def code(self, answer: Json) -> int:
        if self.unit is None:
            return self.bin(number_of(answer))
        value = UNITS[self.unit](answer) - self.low
        if not 0 <= value < self.k:
            raise InvalidAnswer(f"{answer!r} is outside of the range")
        return value

    def bin(self, value: float) -> int:
        """The bin of a number: the last one whose lower edge, as a floating-point number, is not above it."""
        top, bottom = value.as_integer_ratio()
        place: int = (top * 10**self.digits - self.low * bottom) // (self.step * bottom)
        place = min(max(place, -1), self.k)
        place += place < self.k and self.edge(place + 1) <= value  # the edge was rounded down
        place -= place >= 0 and self.edge(place) > value
        if (place < 0 and not self.open_low) or (place >= self.k and not self.open_high):
            raise InvalidAnswer(f"{value!r} is outside of the range")
        return min(max(place, 0), self.k - 1)

    def edge(self, place: int) -> float:
        """The lower edge of a bin."""
        return float((self.low + place * self.step) / 10**self.digits)


def needed(digits: int, *numbers: int) -> bool:
    """Whether integers need so many decimal places."""
    return digits == 0 or any(number % 10 for number in numbers)


def year(answer: Json) -> int:
    """The year of a number or of a date."""
    return date(answer)[0] if isinstance(answer, str) else whole_number(answer)


def month(answer: Json) -> int:
    """The month of a date, counted from the year 0."""
    years, months = date(answer)
    if months is None:
        raise InvalidAnswer(f"{answer!r} has no month")
    return 12 * years + months - 1


def date(answer: Json) -> tuple[int, int | None]:
    """The year of a text such as 2024-06-30, and its month, if it has one."""
    parts = DATE.fullmatch(answer.strip(SPACES)) if isinstance(answer, str) else None
    if parts is None:
        raise InvalidAnswer(f"{answer!r} is not a date such as 2024-06-30")
    return int(parts[1]), int(parts[2]) if parts[2] else None


UNITS: dict[str, Callable[[Json], int]] = {"whole": whole_number, "year": year, "month": month}


class Number(Asked):
    """A number whose mean is estimated; its value is a position from 0 to 2^32."""

    kind = "number"
    k = POSITIONS

    def __init__(self, tree: dict[str, Json]) -> None:
        self.open_low, self.open_high = tree["open_low"], tree["open_high"]
        digits, low, high = tree["digits"], tree["low"], tree["high"]
        within(digits, 0, 15, "number", "digits")
        within(low, -LARGE, LARGE, "number", "low")
        within(high, low + 1, LARGE, "number", "high")
        if not needed(digits, low, high):
            raise Refused("canonical", "a number has more digits than its ends need")
        self.low: float = low / 10**digits
        self.high: float = high / 10**digits

    def code(self, answer: Json) -> int:
        value = number_of(answer)
        if (value < self.low and not self.open_low) or (value > self.high and not self.open_high):
            raise InvalidAnswer(f"{answer!r} is outside of {self.low} to {self.high}")
        value = min(max(value, self.low), self.high)
        return math.floor((value - self.low) / (self.high - self.low) * POSITIONS + 0.5)


class Grid(Asked):
    """A location, as the cell of a grid."""

    kind = "grid"

    def __init__(self, tree: dict[str, Json]) -> None:
        self.rows: int = tree["rows"]
        self.columns: int = tree["columns"]
        self.south: float = tree["south"] / 10**9
        self.north: float = tree["north"] / 10**9
        self.west: float = tree["west"] / 10**9
        self.east: float = tree["east"] / 10**9
        for name, most in (("rows", 4096), ("columns", 4096)):
            within(tree[name], 2, most, "grid", name)
        for name, most in (("south", 899), ("north", 899), ("west", 1800), ("east", 1800)):
            within(tree[name], -most * 10**8, most * 10**8, "grid", name)
        self.wide: float = turn(self.east - self.west)
        if tree["south"] >= tree["north"] or not 0 < self.wide <= 180:
            raise Refused("grid", "a grid goes north, and east by at most 180 degrees")
        self.k = self.rows * self.columns
        if self.k > MOST_VALUES:
            raise Refused("values", "there are more than 2^20 cells")

    def is_missing(self, answer: Json) -> bool:
        return is_missing(answer) or (isinstance(answer, (list, tuple)) and any(map(is_missing, answer)))

    def code(self, answer: Json) -> int:
        pair = answer.split(",") if isinstance(answer, str) else answer
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise InvalidAnswer(f"{answer!r} is not a latitude and a longitude")
        latitude, longitude = map(number_of, pair)
        across = turn(longitude - self.west)
        if not (self.south <= latitude <= self.north and across <= self.wide and -360 <= longitude <= 360):
            raise InvalidAnswer(f"{answer!r} is outside of the grid")
        row = math.floor((latitude - self.south) / (self.north - self.south) * self.rows)
        column = math.floor(across / self.wide * self.columns)
        return min(row, self.rows - 1) * self.columns + min(column, self.columns - 1)


def turn(degrees: float) -> float:
    """Degrees as a part of a whole turn, from 0 to 360."""
    rest = math.fmod(degrees, 360)
    return rest + 360 if rest < 0 else rest


class Text(Asked):
    """A text of some letters, which nobody listed; its value holds the numbers of its letters."""

    kind = "text"

    def __init__(self, tree: dict[str, Json]) -> None:
        alphabet: str = tree["alphabet"]
        self.longest: int = tree["longest"]
        self.cut: bool = tree["cut"]
        self.letters = {letter: number for number, letter in enumerate(alphabet, 1)}
        plain = all(letter <= "\uffff" and not "\ud800" <= letter <= "\udfff" for letter in alphabet)
        plain = plain and all(unicodedata.normalize("NFC", letter) == letter for letter in alphabet)
        if not 2 <= len(alphabet) <= 4096 or len(self.letters) < len(alphabet) or not plain:
            raise Refused("alphabet", "an alphabet has 2 to 4,096 letters in NFC, each once, up to U+FFFF")
        self.width = len(alphabet).bit_length()
        within(self.longest, 1, 62, "text", "longest")
        self.bits = within(self.width * self.longest, 8, 62, "text", "the bits of a text")
        self.k = 1 << self.bits

    def code(self, answer: Json) -> int:
        text = label_of(answer)
        if len(text) > self.longest and not self.cut:
            raise InvalidAnswer(f"{answer!r} is longer than {self.longest} letters")
        value = 0
        for letter in text[: self.longest]:
            if letter not in self.letters:
                raise InvalidAnswer(f"{letter!r} is not a letter of this question")
            value = value << self.width | self.letters[letter]
        return value << self.width * max(0, self.longest - len(text))


class Code(Asked):
    """A whole number of so many bits, which nobody listed."""

    kind = "code"

    def __init__(self, tree: dict[str, Json]) -> None:
        self.bits = within(tree["bits"], 8, 62, "text", "bits")
        self.k = 1 << self.bits

    def code(self, answer: Json) -> int:
        value = -1
        if isinstance(answer, str):
            if re.fullmatch("[0-9]+", answer):
                value = int(answer) if len(answer.lstrip("0")) < 20 else -1
            elif re.fullmatch("0[xX][0-9a-fA-F]+", answer):
                value = int(answer, 16)
        elif isinstance(answer, (int, float)) and not isinstance(answer, bool):
            value = whole_number(answer) if isinstance(answer, float) else int(answer)
        if not 0 <= value < self.k:
            raise InvalidAnswer(f"{answer!r} is not a number from 0 to 2^{self.bits} - 1")
        return value


class Factor:
    """A question that is a part of an attribute: its name, its domain, and what a plan says of both."""

    def __init__(self, tree: Json, kinds: tuple[str, ...]) -> None:
        tree = fields(tree, {"name": object, "domain": object})
        self.name = visible(tree["name"], "a name")
        domain = read_domain(tree["domain"], kinds)
        assert isinstance(domain, Asked)
        self.tree, self.domain = tree["domain"], domain


class Product(Domain):
    """The answers to several questions as one value, a cell of their table."""

    kind = "product"

    def __init__(self, tree: dict[str, Json]) -> None:
        factors: list[Json] = tree["factors"]
        within(len(factors), 2, 16, "product", "the number of factors")
        self.factors = [Factor(factor, ("categories", "range")) for factor in factors]
        self.k = math.prod(factor.domain.k for factor in self.factors)
        if len({factor.name for factor in self.factors}) < len(factors) or self.k > 1 << 16:
            raise Refused("product", "a table has each factor once, and at most 65,536 cells")

    def join(self, codes: Sequence[int]) -> int:
        value = 0
        for code, factor in zip(codes, self.factors):
            value = value * factor.domain.k + code
        return value


class Coarse(Domain):
    """A level of one question: its values in groups of neighbors."""

    kind = "coarse"

    def __init__(self, tree: dict[str, Json]) -> None:
        divisor: int = tree["divisor"]
        within(len(tree["factors"]), 1, 1, "coarse", "the number of factors")
        self.factors, self.divisor = [Factor(tree["factors"][0], ("range", "text", "code"))], divisor
        base = self.factors[0].domain
        if base.bits is None:
            within(divisor, 2, base.k - 1, "coarse", "a divisor")
        else:
            within(divisor, 1, min(base.k // 2, (1 << 53) - 1), "coarse", "a divisor")
            if divisor & (divisor - 1):
                raise Refused("coarse", "a divisor of text or a code is a power of two")
            self.bits = base.bits - divisor.bit_length() + 1
        self.k = -(-base.k // divisor)

    def join(self, codes: Sequence[int]) -> int:
        return codes[0] // self.divisor


ENDS: dict[str, type] = {"open_low": bool, "open_high": bool}
SHAPES: dict[str, tuple[Callable[[dict[str, Json]], Domain], dict[str, type]]] = {
    "categories": (Categories, {"labels": list}),
    "range": (Range, {**ENDS, **dict.fromkeys(("low", "step", "bins", "digits"), int)}),
    "number": (Number, {**ENDS, **dict.fromkeys(("low", "high", "digits"), int)}),
    "grid": (Grid, dict.fromkeys(("south", "west", "north", "east", "rows", "columns"), int)),
    "product": (Product, {"factors": list}),
    "coarse": (Coarse, {"divisor": int, "factors": list}),
    "text": (Text, {"alphabet": str, "longest": int, "cut": bool}),
    "code": (Code, {"bits": int}),
}
"""What makes a domain of each kind, and the fields that it needs."""
KINDS = tuple(SHAPES)


def read_domain(tree: Json, kinds: tuple[str, ...] = KINDS) -> Domain:
    """The domain of a plan, which has one of these kinds."""
    kind = kind_of(tree)
    if kind not in kinds:
        raise Refused("kind", f"a domain {kind!r} cannot be here")
    make, required = SHAPES[kind]
    return make(fields(tree, {"kind": str, **required}, {"unit": str} if kind == "range" else {}))
