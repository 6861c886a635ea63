"""Supplies randomness as data: 64-bit words go in, a report comes out, and equal words give equal reports.

`system` is the operating system's generator, and the only one a client may reach. `keyed` gives the same
words for the same secret and labels, which is what memoization needs; `device` has both. Reproducible ones
are in simulated.py.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter
from deniable.randomness.draws import WordArray

if TYPE_CHECKING:
    from deniable.randomness.kernels import Address

Indices = npt.NDArray[np.int64]

_DIRECT_READ = (
    4096  # up to this many words come straight from the operating system; more, from a stream it keys
)
PSEUDONYM = np.dtype("S16")
"""A pseudonym, or the id of a report; all of its 16 bytes count."""
Pseudonyms = npt.NDArray[np.bytes_]
_HASHED = 64  # bytes that SHA-256 takes at once: the length of a key of HMAC
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))  # its two keys
_ZEROS = np.zeros(1 << 15, dtype=np.uint64)  # what a key stream is read off from


First = tuple[int, int, tuple[int, ...]]
"""The first round of a plan: its number of values, its threshold, and what it lacks of the one before."""


class Strand(NamedTuple):
    """The plans that the kept answers of a question come from, where plans continue each other."""

    plans: tuple[tuple[int, str], ...]
    """The first of them, then each that has other values: its place among all plans, and its id."""
    firsts: tuple[First, ...] = ()
    """Of kept values that become others, the first round of each plan."""


class Rows(ABC):
    """A table of words, a row for each report; rows and columns can be picked before any word is drawn."""

    if TYPE_CHECKING:  # read-only here, so that a subclass may store them or compute them

        @property
        def n(self) -> int:
            """The number of rows."""

        @property
        def width(self) -> int:
            """The number of columns."""

    @abstractmethod
    def array(self) -> WordArray:
        """The words themselves, n by width."""

    @abstractmethod
    def columns(self, start: int, stop: int) -> Rows:
        """Some columns of every row."""

    @abstractmethod
    def pick(self, rows: slice | Indices) -> Rows:
        """Some of the rows."""

    def address(self) -> Address:
        """Where a compiled loop finds these words."""
        from deniable.randomness.kernels import Address

        zero, words = np.uint64(0), np.ascontiguousarray(self.array()).reshape(-1)
        return Address(zero, zero, zero, np.uint64(self.width), np.zeros(0, dtype=np.int64), words)

    def carry(self, strands: Sequence[Strand]) -> Rows:
        """The words, of which those that are kept are of other plans: for the record, then each attribute."""
        return self

    @property
    def firsts(self) -> tuple[First, ...]:
        """The first round of each plan of the strand; empty where values stay."""
        return ()

    def recall(self, values: Indices | None = None, plan: int = 0) -> Rows:
        """The words that each person keeps, for this value or for none; without a memory, these words. Of
        those in the strand, the plan of this number gives them.
        """
        return self

    def forget(self) -> Rows:
        """The words of this collection, without those that a person keeps."""
        return self

    def shift_attributes(self, first: int) -> Rows:
        """The words, for attributes that are numbered from this one on."""
        return self

    def key_noise(self, attribute: int, values: Indices | None = None) -> Rows:
        """The words; on a device whose secret gives its noise, the words of this attribute and value.

        Without values, as for fakes, the noise is that of the attribute alone. Other words stay as they are.
        """
        return self

    def key_record(self, columns: Indices) -> Rows:
        """The words; on a device whose secret gives its noise, those of a whole record, a value per row of
        the columns.
        """
        return self

    def of(self, people: Sequence[str]) -> Rows:
        """The words that these people, by name, keep."""
        raise InvalidParameter(
            "these words are not kept by person; simulate people with dn.remembering(seed)"
        )

    def recall_label(self, plan: str, label: str, width: int) -> Rows:
        """The words that each row's person keeps for a plan under a label, whatever is answered."""
        raise InvalidParameter(
            "these words are not kept by person; simulate people with dn.remembering(seed)"
        )


@final
@dataclass(frozen=True)
class DrawnRows(Rows):
    """Words in an array."""

    words: WordArray

    @property
    def n(self) -> int:
        return len(self.words)

    @property
    def width(self) -> int:
        return int(self.words.shape[1])

    def array(self) -> WordArray:
        return self.words

    def columns(self, start: int, stop: int) -> DrawnRows:
        return DrawnRows(self.words[:, start:stop])

    def pick(self, rows: slice | Indices) -> DrawnRows:
        return DrawnRows(self.words[rows])


@final
@dataclass(frozen=True)
class SystemRows(Rows):
    """Words that the operating system will give; which rows they are makes no difference."""

    n: int
    width: int

    def array(self) -> WordArray:
        source = System()
        draw = source.read if self.n == 1 else source.take
        return draw(self.n * self.width).reshape(self.n, self.width)

    def columns(self, start: int, stop: int) -> SystemRows:
        return SystemRows(self.n, stop - start)

    def pick(self, rows: slice | Indices) -> SystemRows:
        return SystemRows(len(range(self.n)[rows]) if isinstance(rows, slice) else len(rows), self.width)


@dataclass(frozen=True)
class FreshRows(Rows):
    """Fresh words, beside which a subclass remembers others."""

    fresh: Rows

    @property
    def n(self) -> int:
        return self.fresh.n

    @property
    def width(self) -> int:
        return self.fresh.width

    def array(self) -> WordArray:
        return self.fresh.array()

    def forget(self) -> Rows:
        return self.fresh


@final
@dataclass(frozen=True)
class KeyedRows(Rows):
    """Words of a key stream: row i has those from `start` on of the stream whose last label is values[i] + 1,
    or 0 for no value.
    """

    secret: bytes
    message: bytes
    values: Indices
    """-1 for no value."""
    width: int
    start: int = 0

    @property
    def n(self) -> int:
        return len(self.values)

    def array(self) -> WordArray:
        words = np.empty((self.n, self.width), dtype=np.uint64)
        for row, value in zip(words, self.values.tolist(), strict=True):
            row[:] = _Keyed(self.secret, self.message + encode_label(value + 1), self.start).take(self.width)
        return words

    def columns(self, start: int, stop: int) -> KeyedRows:
        return replace(self, width=stop - start, start=self.start + start)

    def pick(self, rows: slice | Indices) -> KeyedRows:
        return replace(self, values=self.values[rows])


@final
@dataclass(frozen=True)
class DeviceRows(FreshRows):
    """The words of one person's device: words that its secret gives again and again, and noise.

    Kept word number c for a value is word c of the key stream whose last label is the value + 1, or 0 for no
    value. Noise is fresh; in a round, it is that of the round, the attribute and the value (spec/wire.md).
    """

    secret: bytes
    message: bytes
    start: int = 0
    """The number of the first column."""
    round: int | None = None
    attribute: int = 0
    """The number of the first attribute."""
    strands: tuple[Strand, ...] = ()
    strand: int = 0
    """The number of the strand of these columns: 0 is the record's, 1 that of the first attribute."""

    def carry(self, strands: Sequence[Strand]) -> DeviceRows:
        return replace(self, strands=tuple(strands))

    @property
    def firsts(self) -> tuple[First, ...]:
        return self.strands[self.strand].firsts if self.strands else ()

    def columns(self, start: int, stop: int) -> DeviceRows:
        return replace(self, fresh=self.fresh.columns(start, stop), start=self.start + start)

    def pick(self, rows: slice | Indices) -> DeviceRows:
        return replace(self, fresh=self.fresh.pick(rows))

    def recall(self, values: Indices | None = None, plan: int = 0) -> KeyedRows:
        message = encode_label(self.strands[self.strand].plans[plan][1]) if self.strands else self.message
        return KeyedRows(self.secret, message, self._or_none(values), self.width, self.start)

    def shift_attributes(self, first: int) -> DeviceRows:
        return replace(self, attribute=self.attribute + first)

    def key_noise(self, attribute: int, values: Indices | None = None) -> DeviceRows:
        number = self.attribute + attribute
        if self.round is None:
            return replace(self, strand=1 + number)
        message = self._message_of_noise(self.round, number)
        noise = KeyedRows(self.secret, message, self._or_none(values), self.width)
        return replace(self, fresh=noise, strand=1 + number)

    def key_record(self, columns: Indices) -> DeviceRows:
        if self.round is None:
            return self
        message = self._message_of_noise(self.round, self.attribute)
        words = [
            _Keyed(self.secret, message + encode_label(bytes(record))).take(self.width)
            for record in columns.T.astype(np.uint8).tolist()
        ]
        return replace(self, fresh=DrawnRows(np.array(words, dtype=np.uint64).reshape(self.n, self.width)))

    def recall_label(self, plan: str, label: str, width: int) -> DrawnRows:
        words = keyed(self.secret, plan, label).take(width)
        return DrawnRows(np.tile(words, (self.n, 1)))

    def _message_of_noise(self, *labels: int) -> bytes:
        return self.message + encode_label("noise") + b"".join(map(encode_label, labels))

    def _or_none(self, values: Indices | None) -> Indices:
        return np.full(self.n, -1, dtype=np.int64) if values is None else values


class Words(ABC):
    """A supply of independent, uniform 64-bit words."""

    remember: ClassVar[bool] = False
    """Whether what people must keep is the same in the next round."""

    @property
    def round(self) -> int | None:
        """The round whose reports these words make; None where they are of no round, or of any."""
        return None

    @abstractmethod
    def take(self, count: int) -> WordArray:
        """Return the next `count` words."""

    def rows(self, n: int, width: int) -> Rows:
        """The next n * width words as a table."""
        return DrawnRows(self.take(n * width).reshape(n, width))


@final
class System(Words):
    """Words from the operating system; in bulk, from AES-256-CTR under a key that it gave."""

    def __init__(self) -> None:
        self._stream: _Stream | None = None
        self._made_in = _generation

    def read(self, count: int) -> WordArray:
        """Words straight from the operating system, however many."""
        return np.frombuffer(os.urandom(8 * count), dtype="<u8").astype(np.uint64, copy=False)

    def take(self, count: int) -> WordArray:
        if count <= _DIRECT_READ:
            return self.read(count)
        # a forked child must not repeat its parent's words
        if self._stream is None or self._made_in != _generation:
            self._stream = _Stream(os.urandom(32))
            self._made_in = _generation
        return self._stream.take(count)

    def rows(self, n: int, width: int) -> SystemRows:
        return SystemRows(n, width)


_generation = 0  # how many forks lie between this process and the one that loaded this module


def _forked() -> None:
    global _generation
    _generation += 1


os.register_at_fork(after_in_child=_forked)


@final
class _Stream:
    """The key stream of AES-256 in counter mode, as words."""

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def take(self, count: int) -> WordArray:
        words = np.empty(count, dtype=np.uint64)
        for start in range(0, count, _ZEROS.size):
            block = words[start : start + _ZEROS.size]
            self._cipher.update_into(_ZEROS[: block.size].data.cast("B"), block.data.cast("B"))
        return words


@final
class _Keyed(Words):
    """HMAC-SHA256 in counter mode: block i is HMAC(secret, labels, i), four little-endian words.

    Both hashes have taken their keys already and are copied for each block: twice as fast as the library's
    objects.
    """

    def __init__(self, secret: bytes, message: bytes, start: int = 0) -> None:
        short = secret if len(secret) <= _HASHED else hashlib.sha256(secret).digest()
        key = short.ljust(_HASHED, b"\0")
        self._inner = hashlib.sha256(key.translate(_INNER) + message)
        self._outer = hashlib.sha256(key.translate(_OUTER))
        self._next = start

    def take(self, count: int) -> WordArray:
        first, end = self._next // 4, -(-(self._next + count) // 4)
        blocks = []
        for number in range(first, end):
            inner, outer = self._inner.copy(), self._outer.copy()
            inner.update(number.to_bytes(8, "little"))
            outer.update(inner.digest())
            blocks.append(outer.digest())
        words = np.frombuffer(b"".join(blocks), dtype="<u8").astype(np.uint64, copy=False)
        start = self._next - 4 * first
        self._next += count
        return words[start : start + count]


class KeepingWords(Words):
    """Fresh words, beside which each row has others that its person keeps."""

    remember = True

    def __init__(self, fresh: Words, round: int | None) -> None:  # noqa: A002 - the word for it everywhere
        self._fresh = fresh
        self._round = round

    @property
    def round(self) -> int | None:
        """The round that what is not kept comes from; None where that is fresh, or was not said."""
        return self._round

    def take(self, count: int) -> WordArray:
        return self._fresh.take(count)


@final
class Device(KeepingWords):
    """One device's words: rows are the records that it reports, round after round."""

    def __init__(
        self,
        secret: bytes,
        labels: Iterable[str | int | bytes],
        fresh: Words,
        round: int | None = None,  # noqa: A002 - the word for it everywhere
    ) -> None:
        super().__init__(fresh, round)
        self._secret = _check_secret(secret)
        self._message = b"".join(encode_label(label) for label in labels)

    def rows(self, n: int, width: int) -> DeviceRows:
        return DeviceRows(self._fresh.rows(n, width), self._secret, self._message, round=self._round)


def system() -> Words:
    """Words from the operating system's generator: the default, and the only source for real reports.

    >>> system().take(3).dtype
    dtype('uint64')
    """
    return System()


def checked_source(words: Words | None) -> Words:
    """The given source, or the operating system's."""
    if words is not None and not isinstance(words, Words):
        raise InvalidParameter(
            f"words come from a source such as dn.randomness.system() or dn.seeded(7), got {words!r}"
        )
    return System() if words is None else words


def keyed(secret: bytes, *labels: str | int | bytes) -> Words:
    """Always the same words for the same secret and labels: a permanent answer with nothing stored but a key.

    >>> bool((keyed(bytes(32), "color", 1).take(5) == keyed(bytes(32), "color", 1).take(5)).all())
    True
    """
    return _Keyed(_check_secret(secret), b"".join(encode_label(label) for label in labels))


def device(secret: bytes, *labels: str | int | bytes, round: int | None = None) -> Words:  # noqa: A002 - the word for it
    """The words of one person's device: what it must keep comes from its secret and labels, the rest is
    fresh.

    With the same secret and labels a permanent answer, the sampled attribute and a hash function are the same
    in every round, and nothing is stored but the secret. All rows are the same person's. With a round, a
    record mechanism's noise comes from the secret too: the same answers give the same report.

    >>> one, again = device(bytes(32), "study").rows(1, 4), device(bytes(32), "study").rows(1, 4)
    >>> bool((one.recall().array() == again.recall().array()).all())
    True
    >>> bool((one.array() == again.array()).all())
    False
    """
    return Device(secret, labels, system(), round)


def report_id(secret: bytes, plan: str, round: int, body: bytes) -> bytes:  # noqa: A002 - the word for it
    """The id of a report: 16 bytes by which nobody without the secret can link it to another.

    >>> report_id(bytes(32), "study", 1, b"body") == report_id(bytes(32), "study", 1, b"body")
    True
    """
    return keyed(secret, plan, "id", round, body).take(2).astype("<u8").tobytes()


def _check_secret(secret: bytes) -> bytes:
    if not isinstance(secret, bytes | bytearray) or len(secret) < 16:
        raise InvalidParameter("secret must be at least 16 bytes; make one with secrets.token_bytes(32)")
    return bytes(secret)


def encode_label(label: str | int | bytes) -> bytes:
    """Kind, length, content: no two lists of labels have the same encoding."""
    if isinstance(label, bool) or not isinstance(label, str | int | bytes):
        raise InvalidParameter(f"a label is a string, an integer or bytes, got {label!r}")
    if isinstance(label, int):
        kind, content = b"i", str(label).encode()
    elif isinstance(label, str):
        kind, content = b"s", label.encode()
    else:
        kind, content = b"b", label
    return kind + len(content).to_bytes(8, "little") + content
