"""What a thief reads from the files of a store: which invitation let a report in, and what came first.

Nothing here asks the database about its rows. Files are read as they lie on the disk, with all that databases
have left in them. The reports are those of the first plan and round of a store.
"""

from __future__ import annotations

import re
import struct
import subprocess
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple, final

from tests import services

_SQLITE_PAGE, _POSTGRES_PAGE = 4096, 8192
_LOG_HEAD, _FRAME_HEAD = 32, 24
_INDEX_HEAD, _INDEXED = (
    136,
    4062,
)  # bytes before the pages that the index of SQLite's log lists first; how many
_ROW_HEAD = 24  # bytes of a row of PostgreSQL before its columns


class Written(NamedTuple):
    """Names in the order in which they were written, and where that is read: "pages" or "log"."""

    where: str
    names: list[bytes]


@final
@dataclass
class Evidence:
    """What the files tell: of reports by their ids; of tickets and exchanges by their hashes."""

    links: dict[bytes, bytes] = field(default_factory=dict)
    """Reports, and the invitations that were used with them."""
    groups: dict[str, list[set[bytes]]] = field(default_factory=dict)
    """What came, in the order in which it did, as far as transactions tell it: of rows, or of long bodies."""
    sequences: list[Written] = field(default_factory=list)
    counts: set[int] = field(default_factory=set)
    """How many reports earlier states of the tallies were about."""
    places: dict[bytes, int] = field(default_factory=dict)
    """Reports with long bodies, and the number of the place where the database put what does not fit."""
    indexed: int = 0
    """How many pages the index of the log lists, in the order in which they were written."""
    elsewhere: bytes = b""
    """The other files."""

    def linked(self, among: Collection[bytes]) -> int:
        """How many of these reports are linked to an invitation."""
        return len(self.links.keys() & set(among))

    def find_ordered(self, among: Collection[bytes]) -> dict[str, set[bytes]]:
        """Which of these are known to have come before or after others of them, and by what.

        Where they are written in the order of their random names, the names go up, or down, for long. In the
        order of arrival they turn at two of three (with a standard deviation of 0.42 sqrt(n)).

        A sweep that is under way has written some of them again, beside what it replaces. A name came no
        later than it was first written, so that only this counts.
        """
        told: dict[str, set[bytes]] = {}
        for where, groups in self.groups.items():
            seen, moments = set[bytes](), 0
            for group in groups:
                new = group & set(among) - seen
                seen |= new
                moments += bool(new)
            if moments > 1:
                told[where] = seen
        for sequence in self.sequences:
            some = list(dict.fromkeys(name for name in sequence.names if name in among))
            up = [before < after for before, after in pairwise(some)]
            if sum(before != after for before, after in pairwise(up)) > max(8, len(some) / 4):
                told.setdefault(sequence.where, set()).update(some)
        return told

    def ordered(self, among: Collection[bytes]) -> int:
        """How many of these are known to have come before or after others of them."""
        return len(set().union(*self.find_ordered(among).values()))

    def past(self, reports: int) -> int:
        """How many states the tallies are known to have had while they were about fewer reports."""
        return sum(0 < n < reports for n in self.counts)

    def moved_alike(self, before: Evidence) -> int:
        """How many long bodies have places that earlier files had in the same order, or in its reverse.

        Places were given out as reports came, and may be given out again from the first or from the last.
        """
        names = sorted(self.places.keys() & before.places.keys())
        old = {before.places[name]: i for i, name in enumerate(names)}
        now = [old[self.places[name]] for name in names if self.places[name] in old]
        return max(_longest_rise(now), _longest_rise(now[::-1]))


def _longest_rise(numbers: Sequence[int]) -> int:
    """The length of the longest increasing subsequence."""
    ends: list[int] = []
    for number in numbers:
        at = bisect_left(ends, number)
        ends[at : at + 1] = [number]
    return len(ends)


def _pages(raw: bytes, size: int) -> list[bytes]:
    return [raw[at : at + size] for at in range(0, len(raw), size)]


# SQLite.

_REPORT = re.compile(rb"(?:\x05\x09\x09\x2c.|\x06\x09\x09\x2c[\x80-\xff].)(?=(.{16}))", re.DOTALL)
"""The head of a row with the numbers 1 and 1, 16 bytes, and a body; then the bytes."""
_HASHED = re.compile(rb"(?:\x03\x09\x4c|\x04\x09\x4c\x4c)(?=(.{32}))", re.DOTALL)
"""The head of a row with the number 1 and 32 bytes, or twice 32; then the first ones."""
_TALLIED = re.compile(rb"[\x05-\x07]\x09\x09\x08[\x80-\xff]{0,2}[\x00-\x7f](?=(.{8}))", re.DOTALL)
"""The head of a row with the numbers 1, 1 and 0, and tallies; then how many reports they are about."""


def seize_sqlite(path: Path) -> tuple[bytes, bytes, bytes]:
    """The file and its log, as they were at one moment, and the log's index."""
    log, index = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))
    # another process reads it: if this one closed it, the locks that it has on it would be lost
    indexed = subprocess.run(["cat", index], check=True, capture_output=True).stdout
    while True:
        found = path.read_bytes(), log.read_bytes()
        if found == (path.read_bytes(), log.read_bytes()):
            return *found, indexed


def read_sqlite(files: tuple[bytes, bytes, bytes]) -> Evidence:
    """Read the pages of the file, and the transactions in the log one after the other."""
    pages = dict(enumerate(_pages(files[0], _SQLITE_PAGE), 1))
    # a page is filled from its end
    found = Evidence(
        sequences=[
            Written("pages", kind.findall(page)[::-1])
            for page in pages.values()
            for kind in (_REPORT, _HASHED)
        ]
    )
    found.counts = {int.from_bytes(n, "little") for raw in files[:2] for n in _TALLIED.findall(raw)}
    groups = found.groups["rows"] = [{name for sequence in found.sequences for name in sequence.names}]
    for transaction in _transactions(files[1]):
        old = b"".join(pages.get(number, b"") for number in transaction)
        new = b"".join(transaction.values())
        pages.update(transaction)
        came = set(_REPORT.findall(new)) - set(_REPORT.findall(old))
        made = set(_HASHED.findall(new)) - set(_HASHED.findall(old))
        used = set(_HASHED.findall(old)) - set(_HASHED.findall(new))
        groups.append(came | made)
        if len(came) == len(used) == 1:
            found.links[min(came)] = min(used)
    found.places = dict(place for page in pages.values() for place in _overflowing(page))
    listed = struct.unpack_from(f"<{_INDEXED}I", files[2], _INDEX_HEAD)
    found.indexed = sum(map(bool, listed))
    return found


def _overflowing(page: bytes) -> Iterator[tuple[bytes, int]]:
    """Rows that do not fit into a page, and the number of the page where they go on."""
    least, most, room = (
        (_SQLITE_PAGE - 12) * 32 // 255 - 23,
        (_SQLITE_PAGE - 12) * 64 // 255 - 23,
        _SQLITE_PAGE - 4,
    )
    for match in _REPORT.finditer(page):
        if page[match.start()] == 6:
            high, low = page[match.end() - 2 : match.end()]
            size = match.end() - match.start() + 16 + (((high & 0x7F) << 7 | low) - 12) // 2
            local = least + (size - least) % room
            at = match.start() + (local if local <= most else least)
            if size > most and at + 4 <= len(page):
                yield match[1], int.from_bytes(page[at : at + 4], "big")


def _transactions(log: bytes) -> Iterator[dict[int, bytes]]:
    """The pages that each transaction has written to the log, those of earlier turns of the log first."""
    frames = _pages(log[_LOG_HEAD:], _FRAME_HEAD + _SQLITE_PAGE)
    pages: dict[int, bytes] = {}
    for frame in sorted(frames, key=lambda frame: frame[8:12]):  # each turn has a greater number
        number, end = struct.unpack(">II", frame[:8])
        pages[number] = frame[_FRAME_HEAD:]
        if end:
            yield pages
            pages = {}


# PostgreSQL.

_KEY = re.compile(re.escape(struct.pack("<iiB", 1, 1, (16 + 1) << 1 | 1)) + b"(?=(.{16}))", re.DOTALL)
"""The numbers 1 and 1, and 16 bytes: in a row, an index or the log."""
_HASH = re.compile(re.escape(struct.pack("<iB", 1, (32 + 1) << 1 | 1)) + b"(?=(.{32}))", re.DOTALL)
_TALLIES = re.compile(re.escape(struct.pack("<iii", 1, 1, 0)) + b".(?=(.{8}))", re.DOTALL)
"""The numbers 1, 1 and 0, then 8 bytes: how many reports they are about."""
_POINTER = b"\x01\x12"
"""The beginning of what stands for a long body; then two sizes, and the number of its pieces."""
_PIECE = re.compile(rb"(?=(.{4})\x00{4}.{4})", re.DOTALL)


@final
@dataclass(frozen=True)
class Files:
    """Files of PostgreSQL: of tables and their indexes, of their long values, of the log, and all others."""

    tables: Mapping[str, Sequence[bytes]]
    long: Mapping[str, Sequence[bytes]]
    log: Sequence[bytes]
    others: Sequence[bytes]


def seize_postgres(cluster: services.Cluster, url: str) -> Files:
    """The log as it is on the disk, and the tables once all that is in memory is written to them.

    The log is read first: the checkpoint would clear it.
    """
    schema = url.partition("search_path%3D")[2]
    sql = (
        "SELECT coalesce(i.indrelid::regclass, c.oid::regclass)::text, false, pg_relation_filepath(c.oid) "
        "FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid WHERE c.relnamespace = "
        f"'{schema}'::regnamespace AND c.relkind IN ('r', 'i') UNION ALL SELECT oid::regclass::text, true, "
        "pg_relation_filepath(reltoastrelid) FROM pg_class WHERE relnamespace = "
        f"'{schema}'::regnamespace AND reltoastrelid <> 0"
    )
    data = cluster.folder / "data"
    while True:
        try:
            log = [segment.read_bytes() for segment in (data / "pg_wal").glob("0*")]
            cluster.sql("CHECKPOINT")
            rows = sorted(
                (is_long, str(name).rpartition(".")[2], str(path)) for name, is_long, path in cluster.sql(sql)
            )
            read = {path: (data / path).read_bytes() for _, _, path in rows}
            others = [
                file.read_bytes()
                for file in (data / rows[0][2]).parent.iterdir()
                if str(file.relative_to(data)) not in read
            ]
        except FileNotFoundError:
            continue  # it was replaced meanwhile
        tables, long = (
            {
                name: [read[path] for *_, path in some]
                for name, some in groupby((row for row in rows if row[0] is which), key=lambda row: row[1])
            }
            for which in (False, True)
        )
        return Files(tables, long, log, others)


def read_postgres(files: Files) -> Evidence:
    """Read rows with the transactions that made and deleted them, pages, long values, and the log."""
    found = Evidence(elsewhere=b"".join(files.others))
    found.sequences = [
        Written("log", list(dict.fromkeys(kind.findall(segment))))
        for segment in files.log
        for kind in (_KEY, _HASH)
    ]
    made, deleted, pieces = dict[int, set[bytes]](), dict[int, set[bytes]](), dict[int, set[bytes]]()
    pointers: list[tuple[bytes, int]] = []
    for table, kind in (("arrivals", _KEY), ("reports", _KEY), ("tickets", _HASH), ("exchanges", _HASH)):
        for raw in files.tables[table]:
            found.sequences += [
                Written("pages", kind.findall(page)[::-1]) for page in _pages(raw, _POSTGRES_PAGE)
            ]
            for name, by, _ in _rows(raw, kind):
                made.setdefault(by, set()).add(name)
        pointers += [pointer for raw in files.tables[table] for pointer in _pointers(raw)]
    found.places = dict(pointers)
    names = {place: name for name, place in pointers}
    for raw in [*files.long["arrivals"], *files.long["reports"]]:
        for piece, by, _ in _rows(raw, _PIECE):
            if (number := int.from_bytes(piece, "little")) in names:
                pieces.setdefault(by, set()).add(names[number])
    for raw in files.tables["invitations"]:
        for name, _, by in _rows(raw, _HASH):
            deleted.setdefault(by, set()).add(name)
    found.groups["rows"] = [made[number] for number in sorted(made)]
    found.groups["long bodies"] = [pieces[number] for number in sorted(pieces)]
    for number, some in made.items():
        if len(some) == len(deleted.get(number, ())) == 1:
            found.links[min(some)] = min(deleted[number])
    for raw in files.tables["tallies"]:
        found.counts |= {int.from_bytes(name, "little") for name, _, _ in _rows(raw, _TALLIES)}
    return found


def _pointers(raw: bytes) -> Iterator[tuple[bytes, int]]:
    """Reports, and the numbers of the pieces that their long bodies are in."""
    for match in _KEY.finditer(raw):
        at = match.end() + 16
        if raw[at : at + 2] == _POINTER:
            yield match[1], int.from_bytes(raw[at + 10 : at + 14], "little")


def _rows(raw: bytes, columns: re.Pattern[bytes]) -> Iterator[tuple[bytes, int, int]]:
    """Rows, live or dead, with the transactions that made and deleted them."""
    for match in columns.finditer(raw):
        head = match.start() - _ROW_HEAD
        if head >= 0 and raw[head + 22] == _ROW_HEAD:
            made, gone = struct.unpack_from("<II", raw, head)
            yield match[1], made, gone
