"""Defines values that nobody listed: text of an alphabet, and whole numbers of many bits.

A value becomes an integer by a public code of the plan. Values are not listed anywhere, since there are up to
2^62 of them: a plan finds those that many people have (`plan.discover`).
"""

from __future__ import annotations

import re
import unicodedata
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Never, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.domain.answer import SELF, composed, is_missing, label_of, quote, to_list
from deniable.domain.domain import NO_ANSWER, Domain
from deniable.errors import InvalidParameter, InvalidValue
from deniable.exact import whole_number
from deniable.formatting import format_count
from deniable.mechanisms.checks import integers
from deniable.randomness.draws import WordArray
from deniable.randomness.toeplitz import MOST_BITS

FEWEST_BITS = 8
"""How many bits a code has at least: fewer values are few enough to list them."""
MORE = "…"
"""Ends the text of a prefix."""
_MOST_ALPHABET = 1 << 12
_LAST = 0xFFFF  # of characters: that of one unit of UTF-16
_SURROGATES = range(0xD800, 0xE000)
_SHOWN = 40
_WHOLE = re.compile(r"(0[xX][0-9a-fA-F]{1,20})|[0-9]{1,20}")


class Unlisted(Domain):
    """Values that nobody listed, each with a code of so many bits."""

    levels: bool
    """Whether some people report the first bits only, so that values can be found without a list."""

    listed = False

    @property
    @abstractmethod
    def bits(self) -> int:
        """How many bits a code has."""

    @property
    def k(self) -> int:
        return 1 << self.bits

    @property
    def labels(self) -> Never:
        raise InvalidParameter(
            f"{self} is not a list: its {self.k:,} values have no labels; plan.discover finds those that "
            "many people have"
        )

    @property
    def has_no_answer(self) -> bool:
        """There is no room for one more value: codes use all their bits."""
        return False

    def draw(self, words: WordArray) -> Integers:
        """The first bits of each word."""
        return (words >> np.uint64(64 - self.bits)).astype(np.int64)

    def are_possible(self, codes: Integers, bits: int) -> npt.NDArray[np.bool_]:
        """Which codes, of their first `bits` bits, some value has."""
        return np.ones(len(codes), dtype=bool)

    def count_possible(self, start: int, end: int) -> int:
        """How many possible codes of `end` bits have the same first `start` bits, at most."""
        return 1 << (end - start)

    @abstractmethod
    def name_code(self, code: int, bits: int | None = None) -> str:
        """The value of a code, or what is known of it from its first `bits` bits."""

    def decode(self, codes: npt.ArrayLike) -> list[str]:
        """Each code's value."""
        listed = integers(codes, self.k).tolist()
        return [self.name_code(whole_number("a code", code, 0, self.k - 1)) for code in listed]

    def is_cut(self, value: object) -> bool:
        """Whether a value is longer than its code."""
        return False

    @abstractmethod
    def _read(self, item: Any, name: str) -> int:
        """The code of a value that is not missing."""

    @final
    def codes(self, values: object, name: str = SELF) -> Integers:
        items = to_list(values, name)
        known = {text: self._code(text, name) for text in {item for item in items if type(item) is str}}
        codes = (known[item] if type(item) is str else self._code(item, name) for item in items)
        return np.fromiter(codes, np.int64, len(items))

    def _code(self, item: Any, name: str) -> int:
        return NO_ANSWER if is_missing(item) else self._read(item, name)


@final
@dataclass(frozen=True, init=False)
class Text(Unlisted):
    """Text that nobody listed, of the letters of an alphabet such as "a-z0-9.-" ("-" itself comes last).

    Its code has as many bits as `longest` letters take: the fewer, the rarer the texts that are found. Longer
    texts are cut, unless `cut` is false; then they are refused. Without `levels` everybody reports all
    bits, which suits a list of words that is public, or comes later.

    >>> word = Text("a-z", longest=10)
    >>> hex(word.encode(["cat"])[0]), word.decode(word.encode(["cat", "hippopotamus"]))
    ('0x61a000000000', ['cat', 'hippopotam'])
    >>> word.encode(["Cat"], "word")
    Traceback (most recent call last):
    deniable.errors.InvalidValue: 'Cat' has 'C', which is not in the alphabet of 'word' (a to z)...
    """

    letters: str
    longest: int
    cut: bool
    levels: bool

    def __init__(
        self,
        alphabet: str = "a-z",
        longest: int = 10,
        cut: bool = True,
        levels: bool | Sequence[int] = True,
        *,
        letters: str | None = None,
    ) -> None:
        known = expand_alphabet(alphabet) if letters is None else _checked_letters(letters)
        if not isinstance(cut, bool):
            raise InvalidParameter(f"cut is true or false, got {cut!r}", "text")
        object.__setattr__(self, "letters", known)
        many = whole_number("longest, the number of letters,", longest, 1, MOST_BITS, reason="text")
        object.__setattr__(self, "longest", many)
        object.__setattr__(self, "cut", cut)
        object.__setattr__(self, "levels", _read_levels(levels))
        if not FEWEST_BITS <= self.bits <= MOST_BITS:
            remedy = "give a list of values" if self.bits < FEWEST_BITS else "shorten longest or the alphabet"
            raise InvalidParameter(
                f"a code of text has {FEWEST_BITS} to {MOST_BITS} bits, and {format_count(many, 'letter')} "
                f"of {len(known)} take {many} x {self.letter_bits} = {self.bits}; {remedy}",
                "text",
            )

    @property
    def letter_bits(self) -> int:
        """How many bits a letter takes; all zero where the text has ended."""
        return len(self.letters).bit_length()

    @property
    def bits(self) -> int:
        return self.letter_bits * self.longest

    @property
    def plain(self) -> Text:
        return self if self.levels else replace(self, levels=True)

    def __str__(self) -> str:
        cut = "cut to" if self.cut else "of at most"
        letters = f"{len(self.letters)} letters ({name_letters(self.letters)})"
        return f"text of {letters}, {cut} {self.longest}: {self.bits} bits"

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {letter: 1 + i for i, letter in enumerate(self.letters)}

    def _read(self, item: Any, name: str) -> int:
        text = composed(label_of(item))
        if len(text) > self.longest and not self.cut:
            raise InvalidValue(
                f"{text!r} is longer than {quote(name)} may be: {format_count(self.longest, 'letter')}",
                "shorten it, or cut = true keeps its beginning",
            )
        kept = text[: self.longest]
        code = 0
        for letter in kept:
            number = self._numbers.get(letter)
            if number is None:
                raise InvalidValue(
                    f"{text!r} has {letter!r}, which is not in the alphabet of {quote(name)} "
                    f"({name_letters(self.letters)})",
                    self._suggest(text),
                )
            code = code << self.letter_bits | number
        return code << self.letter_bits * (self.longest - len(kept))

    def is_cut(self, value: object) -> bool:
        return self.cut and len(composed(label_of(value))) > self.longest

    def fold(self, text: str) -> str:
        """A text in the letters of the alphabet, where that has letters of one case only, or no space.

        The survey page reports it, and shows it first; elsewhere it is what a refusal suggests.

        >>> Text("a-z").fold("Whats App"), Text("A-Za-z").fold("WhatsApp"), Text("a-z").fold("Ünal")
        ('whatsapp', 'WhatsApp', 'Ünal')
        """
        spaced = re.sub(" +", " " if " " in self._numbers else "", text)
        small = any(unicodedata.category(letter) == "Ll" for letter in self.letters)
        large = any(unicodedata.category(letter) == "Lu" for letter in self.letters)
        folded = spaced
        if small != large:
            folded = spaced.lower() if small else spaced.upper()
        kept = folded[: self.longest] if self.cut else folded
        return folded if all(letter in self._numbers for letter in kept) else text

    def _suggest(self, text: str) -> str:
        """What to do about other letters: some texts differ in their case or in spaces only."""
        folded = self.fold(text)
        if folded != text:
            return f"did you mean {folded!r}?"
        return "remove the letter that is outside the alphabet, or add it"

    def are_possible(self, codes: Integers, bits: int) -> npt.NDArray[np.bool_]:
        """Which are letters of the alphabet, with nothing after the end; the last may be cut."""
        width, ended = self.letter_bits, np.zeros(len(codes), dtype=bool)
        fits = np.ones(len(codes), dtype=bool)
        for shift in range(bits - width, -width, -width):
            letter = (codes >> max(shift, 0) << max(-shift, 0)) & ((1 << width) - 1)
            fits &= (letter <= len(self.letters)) & ~(ended & (letter > 0))
            ended |= letter == 0
        return fits & ((codes > 0) | (bits < width))  # no text is empty

    def count_possible(self, start: int, end: int) -> int:
        """All that a letter may still be which is cut at the start, then texts that end at any letter."""
        width, size = self.letter_bits, len(self.letters)
        begun = min(-start % width, end - start)
        letters, rest = divmod(end - start - begun, width)
        ended = sum(size**i for i in range(letters))
        last = 1 + (size >> (width - rest)) if rest else 1
        return int(ended + size**letters * last) << begun

    def name_code(self, code: int, bits: int | None = None) -> str:
        """The text, or its first letters and "…"; hexadecimal digits where no text has this code."""
        known = self.bits if bits is None else bits
        width = self.letter_bits
        letters = known // width
        numbers = [code >> (known - width * (i + 1)) & (1 << width) - 1 for i in range(letters)]
        end = numbers.index(0) if 0 in numbers else letters
        rest = code & (1 << (known - width * end)) - 1 if end < letters else 0
        if rest or max(numbers, default=0) > len(self.letters):
            return f"{code:#x}"
        ended = end < letters or known == self.bits
        return "".join(self.letters[number - 1] for number in numbers[:end]) + ("" if ended else MORE)


@final
@dataclass(frozen=True)
class Code(Unlisted):
    """Whole numbers of so many bits that nobody listed: identifiers, addresses, codes of errors.

    They are given as integers, or as hexadecimal text. The fewer bits, the rarer the codes that are found.

    >>> device = Code(bits=48)
    >>> device.encode([1998, "0x7ce"]).tolist(), device.decode([1998])
    ([1998, 1998], ['0x7ce'])
    """

    bits: int = 48
    levels: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.bits, int) and self.bits > MOST_BITS:
            raise InvalidParameter(
                f"a code has {FEWEST_BITS} to {MOST_BITS} bits, got {self.bits}; ask for the first "
                f"{MOST_BITS} bits of longer ones: dn.Code({MOST_BITS}), and code >> {self.bits - MOST_BITS}",
                "text",
            )
        bits = whole_number("bits, of a code,", self.bits, FEWEST_BITS, MOST_BITS, reason="text")
        object.__setattr__(self, "bits", bits)
        object.__setattr__(self, "levels", _read_levels(self.levels))

    @property
    def plain(self) -> Code:
        return self if self.levels else replace(self, levels=True)

    def __str__(self) -> str:
        return f"a code of {self.bits} bits"

    def _read(self, item: Any, name: str) -> int:
        number = _whole_of(item)
        if number is None or not 0 <= number < self.k:
            raise InvalidValue(
                f"{item!r} is not a code of {quote(name)}: whole numbers from 0 to {self.k - 1}, or "
                "hexadecimal digits such as '0x7ce'"
            )
        return number

    def name_code(self, code: int, bits: int | None = None) -> str:
        """Hexadecimal digits; of a prefix, those that are known, and "…"."""
        if bits is None or bits == self.bits:
            return f"{code:#x}"
        digits = bits // 4
        return f"0x{code >> (bits - 4 * digits):0{max(1, digits)}x}{MORE}"


def _whole_of(item: Any) -> int | None:
    """The whole number that this is, or that its hexadecimal text has."""
    if isinstance(item, str):
        known = _WHOLE.fullmatch(item)
        return None if known is None else int(item, 16 if known[1] else 10)
    if isinstance(item, bool | np.bool_):
        return None
    if isinstance(item, Integral):
        return int(item)
    if not isinstance(item, float | np.floating):
        return None
    number = float(item)
    return int(number) if number.is_integer() and abs(number) < 1 << 53 else None


def expand_alphabet(alphabet: object) -> str:
    """All letters of an alphabet, in its order: "a-e" is "abcde"; a "-" at an end is itself.

    >>> expand_alphabet("a-e0-3.-")
    'abcde0123.-'
    """
    if not isinstance(alphabet, str) or not alphabet:
        raise InvalidParameter(
            f"an alphabet is text with its letters, such as 'a-z0-9.-', got {alphabet!r}", "alphabet"
        )
    letters: list[str] = []
    i = 0
    while i < len(alphabet):
        first = alphabet[i]
        if i + 2 < len(alphabet) and alphabet[i + 1] == "-":
            last = alphabet[i + 2]
            if ord(last) < ord(first):
                raise InvalidParameter(
                    f"an alphabet's ranges go up, and {first}-{last} does not; write {last}-{first}",
                    "alphabet",
                )
            letters += map(chr, range(ord(first), min(ord(last), ord(first) + _MOST_ALPHABET) + 1))
            i += 3
        else:
            letters.append(first)
            i += 1
    return _checked_letters("".join(letters))


def _checked_letters(letters: str) -> str:
    """The letters of an alphabet, each of which is one character, and none of them twice."""
    if not 2 <= len(letters) <= _MOST_ALPHABET:
        raise InvalidParameter(
            f"an alphabet has 2 to {_MOST_ALPHABET:,} letters, got {len(letters):,}", "alphabet"
        )
    for i, letter in enumerate(letters):
        if ord(letter) > _LAST or ord(letter) in _SURROGATES or composed(letter) != letter:
            raise InvalidParameter(
                f"a letter of an alphabet is one character below U+10000, composed (NFC), got {letter!r}",
                "alphabet",
            )
        if letters.index(letter) < i:
            raise InvalidParameter(
                f"the alphabet has {letter!r} twice; every letter needs a number of its own", "alphabet"
            )
    return letters


def name_letters(letters: str) -> str:
    """An alphabet in words, its runs of letters shortened.

    >>> name_letters("abcdez0.-")
    'a to e, z, 0, ., -'
    """
    runs: list[str] = []
    for letter in letters:
        if runs and ord(runs[-1][-1]) + 1 == ord(letter):
            runs[-1] += letter
        else:
            runs.append(letter)
    names: list[str] = []
    for run in runs:
        names += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else list(run)
    text = ", ".join(names)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}{MORE}"


def _read_levels(levels: object) -> bool:
    """Whether prefixes are reported, too; an empty list of levels says that they are not."""
    if levels in ([], ()):
        return False
    if not isinstance(levels, bool):
        raise InvalidParameter(
            f"levels is true or false, got {levels!r}; which ones they are is chosen", "text"
        )
    return levels
