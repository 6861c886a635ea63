"""Parts of a report: how numbers, lists and objects lie in bytes, and what JSON must hold."""

from __future__ import annotations

from collections.abc import Sequence

from deniable_device.document import Json
from deniable_device.errors import Refused


def smallest(count: int) -> int:
    """How many bytes hold 0 to count - 1: 1, 2 or 4."""
    return next(size for size in (1, 2, 4) if count <= 1 << 8 * size)


def little(value: int, size: int) -> bytes:
    """An integer in so many bytes, the lowest first."""
    return value.to_bytes(size, "little")


def check(fits: bool, reason: str = "form") -> None:
    """Refuses a report that is not in its form."""
    if not fits:
        raise Refused(reason)


def is_number(value: Json) -> bool:
    """Whether a value of JSON is an integer."""
    return type(value) is int


def is_hexadecimal(text: Json, length: int) -> bool:
    """Whether a text is so many lower-case hexadecimal digits."""
    return type(text) is str and len(text) == length and not text.strip("0123456789abcdef")


def is_numbers(value: Json) -> bool:
    """Whether a value of JSON is a list of integers."""
    return type(value) is list and all(map(is_number, value))


def ascending(values: Sequence[int], count: int) -> None:
    """Refuses a list that is not ascending, or has a value that is not below the count."""
    check(all(0 <= value < count for value in values))
    check(all(left < right for left, right in zip(values, values[1:])))


class Cursor:
    """The bytes of a body, which are read from the front."""

    def __init__(self, body: bytes) -> None:
        self.body, self.place = body, 0

    def take(self, size: int) -> bytes:
        """The next so many bytes."""
        self.place += size
        check(self.place <= len(self.body), "size")
        return self.body[self.place - size : self.place]

    def number(self, count: int, size: int | None = None) -> int:
        """The next number, which is below the count."""
        value = int.from_bytes(self.take(smallest(count) if size is None else size), "little")
        check(value < count)
        return value
