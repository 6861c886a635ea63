"""Cuts what a queue, a log or a column holds into messages, a block of which is read at once."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.errors import FileMissing, InvalidReport
from deniable.frames.files import PLAN, file_kind
from deniable.plan.strict_json import MOST_BYTES
from deniable.records.reports import cut_evenly
from deniable.wire.binary import VERSION, Report

if TYPE_CHECKING:
    import pyarrow as pa

Bytes = npt.NDArray[np.uint8]

BLOCK = 1 << 16
"""Messages that are read at once."""
_CHUNK = 1 << 22  # bytes that are read at once
_MOST = 1 << 21  # bytes of the longest report, as hexadecimal text
_LENGTH = struct.Struct("<I")
_LONGEST_NAME = 4096  # letters of the name of a file

FRAMES = (
    "give each report after its length in 4 bytes, little-endian, or in a line as hexadecimal digits or JSON "
    "(no base64)"
)
"""How a file tells reports apart, for messages."""


@final
@dataclass(frozen=True, eq=False)
class Messages:
    """Some messages: their bytes, where each begins, and how long it is."""

    raw: Bytes
    starts: Integers
    lengths: Integers

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, message: int) -> bytes:
        start = int(self.starts[message])
        return self.raw[start : start + int(self.lengths[message])].tobytes()

    @staticmethod
    def of(messages: Sequence[bytes]) -> Messages:
        lengths = np.fromiter(map(len, messages), np.int64, len(messages))
        return Messages(np.frombuffer(b"".join(messages), np.uint8), np.cumsum(lengths) - lengths, lengths)

    @staticmethod
    def of_column(column: pa.Array) -> Messages:
        """The messages of a column of bytes or text; one that is null is empty."""
        import pyarrow as pa

        ends, content = column.fill_null(b"").cast(pa.large_binary()).buffers()[1:]
        bounds = np.frombuffer(ends, np.int64)[column.offset : column.offset + len(column) + 1]
        raw = np.frombuffer(b"" if content is None else content, np.uint8)
        return Messages(raw, bounds[:-1], np.diff(bounds))

    @cached_property
    def is_text(self) -> npt.NDArray[np.bool_]:
        """Which of them are JSON or hexadecimal digits, whose first one is that of the version."""
        first = np.append(self.raw, np.uint8(0))[np.where(self.lengths > 0, self.starts, -1)]
        return np.asarray((first == ord("{")) | (first == ord("0")))

    def pick(self, rows: Integers) -> Messages:
        """Some of the messages, in this order."""
        return Messages(self.raw, self.starts[rows], self.lengths[rows])

    def replace(self, others: dict[int, bytes]) -> Messages:
        """The messages with others in some places."""
        return Messages.of([others[i] if i in others else self[i] for i in range(len(self))])

    def take(self, rows: Integers, start: int, size: int) -> Bytes:
        """So many bytes of some messages from a place on, as a table; all of them must be so long."""
        begins = self.starts[rows] + start
        steps = np.diff(begins)
        if len(begins) > 1 and steps[0] >= size and (steps == steps[0]).all():
            strides = (int(steps[0]), 1)
            return np.lib.stride_tricks.as_strided(self.raw[begins[0] :], (len(rows), size), strides)
        return np.asarray(self.raw[begins[:, None] + np.arange(size)])

    def cut(self, rows: Integers, start: int) -> list[bytes]:
        """What some messages have from a place on."""
        sizes = self.lengths[rows] - start
        if len(rows) and sizes[0] > 0 and (sizes == sizes[0]).all():
            return cut_evenly(self.take(rows, start, int(sizes[0])).tobytes(), int(sizes[0]))
        raw, begins = self.raw.tobytes(), self.starts[rows] + start
        return [raw[i:end] for i, end in zip(begins.tolist(), (begins + sizes).tolist(), strict=True)]


def block_messages(source: object, at_once: int = BLOCK) -> Iterator[Messages]:
    """Blocks of the messages in a file, by its name or open for reading bytes, or of an iterable of them."""
    if isinstance(source, str) and ("\n" in source or len(source) > _LONGEST_NAME):
        raise InvalidReport(
            f"a text is the name of a file, got {len(source):,} letters; of messages in lines give a list: "
            "text.splitlines()"
        )
    if isinstance(source, str | Path):
        if Path(source).is_dir():
            raise InvalidReport(f"{source} is a folder; name a file of reports as clients send them")
        if not Path(source).exists():
            raise FileMissing(f"there is no file {source} of reports as clients send them")
        _refuse_plan(Path(source))
        with Path(source).open("rb") as file:
            yield from cut_stream(file)
    elif hasattr(source, "read"):
        yield from cut_stream(source)
    else:
        if isinstance(source, bytes | bytearray | memoryview | Report) or not isinstance(source, Iterable):
            raise InvalidReport(
                "messages are an iterable, the name of a file, or a file that is open for reading bytes, got "
                f"{type(source).__name__}"
            )
        pending = iter(source)
        while block := [to_message(message) for message in islice(pending, at_once)]:
            yield Messages.of(block)


def _refuse_plan(file: Path) -> None:
    """Refuse a plan where a file of reports is meant: its lines would be messages that nobody sent."""
    if (
        file.is_file() and file.stat().st_size <= MOST_BYTES and file_kind(file) == PLAN
    ):  # a pipe is read once
        raise InvalidReport(
            f"{file} is a plan, and no file of reports; leave it out: one plan reads them, and the newest "
            "one also reads reports to the plans that it continues"
        )


def to_message(message: object) -> bytes:
    """The bytes of a message: those of a report, or of its hexadecimal digits or its JSON. Text may be a line
    of a file, with its end.
    """
    if isinstance(message, Report):
        return message.to_bytes()
    if isinstance(message, str):
        return message.strip().encode()
    if not isinstance(message, bytes | bytearray | memoryview):
        raise InvalidReport(
            f"reports are all in one form, here as a client sends them, got {type(message).__name__} among "
            "them; of a message of a queue give its bytes, such as message.value or message.payload"
        )
    return bytes(message)


def cut_stream(file: BinaryIO | Any) -> Iterator[Messages]:
    """Blocks of messages, each after its length in 4 bytes, as in a batch, or each in a line of its own.

    Lines are text, which has no byte that is 0. Lengths have one: none is 2^24.
    """
    rest = file.read(_CHUNK)
    if isinstance(rest, str):
        raise InvalidReport('open the file for reading bytes: open(path, "rb")')
    cut = _cut_lengths if rest[3:4] == b"\0" else _cut_lines
    if cut is _cut_lines and rest[:1] == bytes([VERSION]):
        raise InvalidReport(
            "the file begins with the bytes of a report, and nothing says where they end: any byte may be a "
            f"line's end; {FRAMES}"
        )
    position = 0
    while rest:
        messages, end = cut(rest, position)
        if len(messages):
            yield messages
        more = file.read(_CHUNK)
        rest, position = rest[end:] + more, position + end
        if not more:
            break
    if rest and cut is _cut_lines:
        yield _cut_lines(rest + b"\n", position)[0]
    elif rest:  # the file ends in the middle of a report, which is none
        yield Messages.of([rest[: _LENGTH.size]])


def _cut_lengths(raw: bytes, position: int) -> tuple[Messages, int]:
    """The messages that are whole, of which most files have many of one length; and where the rest begins."""
    step = _LENGTH.size + (_LENGTH.unpack_from(raw)[0] if len(raw) >= _LENGTH.size else 0)
    table = np.frombuffer(raw, np.uint8)[: len(raw) // step * step].reshape(-1, step)[:, : _LENGTH.size]
    same = (table == table[:1]).all(axis=1)
    count = len(same) if same.all() else int(np.argmin(same))
    at, starts, lengths = count * step, list[int](), list[int]()
    while at + _LENGTH.size <= len(raw):
        (length,) = _LENGTH.unpack_from(raw, at)
        if length > _MOST:
            raise InvalidReport(
                f"at byte {position + at:,} a report is said to have {length:,} bytes, and none has more "
                f"than {_MOST:,}: from there on the file is damaged, or it is no file of reports; head -c "
                f"{position + at} FILE keeps what is before"
            )
        if at + _LENGTH.size + length > len(raw):
            break
        starts.append(at + _LENGTH.size)
        lengths.append(length)
        at += _LENGTH.size + length
    starts_of_all = np.append(np.arange(_LENGTH.size, count * step, step), np.array(starts, np.int64))
    lengths_of_all = np.append(np.full(count, step - _LENGTH.size), np.array(lengths, np.int64))
    return Messages(np.frombuffer(raw, np.uint8), starts_of_all, lengths_of_all), at


def _cut_lines(raw: bytes, position: int) -> tuple[Messages, int]:
    """The lines that are whole, without those that are empty; and where the rest begins."""
    end = raw.rfind(b"\n") + 1
    if len(raw) - end > _CHUNK:
        raise InvalidReport(
            f"at byte {position + end:,} a line has more than {_CHUNK:,} bytes: this is no file of reports"
        )
    return Messages.of([line for line in map(bytes.strip, raw[:end].split(b"\n")) if line]), end
