"""What a thief reads from the files of a store: which invitation let a report in, and which came first.

Nothing here asks the database about its rows. Files are read as they lie on the disk, with all that databases
have left in them. The reports are those of the first plan and round of a store.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from typing import final

from tests import services

_SQLITE_PAGE, _POSTGRES_PAGE = 4096, 8192
_LOG_HEAD, _FRAME_HEAD = 32, 24
_ROW_HEAD = 24  # bytes of a row of PostgreSQL before its columns


@final
@dataclass
class Evidence:
    """What the files tell."""

    links: dict[bytes, bytes] = field(default_factory=dict)
    """Reports by their ids, and the invitations that were used with them."""
    groups: list[set[bytes]] = field(default_factory=list)
    """Reports in the order in which they came, as far as transactions tell it."""
    sequences: list[list[bytes]] = field(default_factory=list)
    """Reports in the order in which they were written: to a page, or to a log."""
    counts: set[int] = field(default_factory=set)
    """How many reports earlier states of the tallies were about."""

    def linked(self, among: Collection[bytes]) -> int:
        """How many of these reports are linked to an invitation."""
        return len(self.links.keys() & set(among))

    def ordered(self, among: Collection[bytes]) -> int:
        """How many of these reports are known to have come before or after others of them.

        Where reports are written in the order of their random ids, the ids go up, or down, for long. In the
        order of arrival they turn at two of three reports (with a standard deviation of 0.42 sqrt(n)).
        """
        found = [group & set(among) for group in self.groups]
        told = set().union(*found) if sum(map(bool, found)) > 1 else set()
        for sequence in self.sequences:
            some = [name for name in sequence if name in among]
            up = [before < after for before, after in pairwise(some)]
            if sum(before != after for before, after in pairwise(up)) > max(4, len(some) / 4):
                told |= set(some)
        return len(told)

    def past(self, reports: int) -> int:
        """How many states the tallies are known to have had while they were about fewer reports."""
        return sum(0 < n < reports for n in self.counts)


def _pages(raw: bytes, size: int) -> list[bytes]:
    return [raw[at : at + size] for at in range(0, len(raw), size)]


# SQLite.

_REPORT = re.compile(rb"\x05\x09\x09\x2c.(?=(.{16}))", re.DOTALL)
"""The head of a row with the numbers 1 and 1, 16 bytes, and a body; then the bytes."""
_INVITATION = re.compile(rb"\x03\x09\x4c(?=(.{32}))", re.DOTALL)
"""The head of a row with the number 1 and 32 bytes; then the bytes."""


def seize_sqlite(path: Path) -> tuple[bytes, bytes]:
    """The file and its log, as they were at one moment."""
    log = path.with_name(f"{path.name}-wal")
    while True:
        found = path.read_bytes(), log.read_bytes()
        if found == (path.read_bytes(), log.read_bytes()):
            return found


def read_sqlite(files: tuple[bytes, bytes]) -> Evidence:
    """Read the pages of the file, and the transactions in the log one after the other."""
    pages = dict(enumerate(_pages(files[0], _SQLITE_PAGE), 1))
    # a page is filled from its end
    found = Evidence(sequences=[_REPORT.findall(page)[::-1] for page in pages.values()])
    found.groups.append({name for sequence in found.sequences for name in sequence})
    for transaction in _transactions(files[1]):
        old = b"".join(pages.get(number, b"") for number in transaction)
        new = b"".join(transaction.values())
        pages.update(transaction)
        came = set(_REPORT.findall(new)) - set(_REPORT.findall(old))
        used = set(_INVITATION.findall(old)) - set(_INVITATION.findall(new))
        found.groups.append(came)
        if len(came) == len(used) == 1:
            found.links[min(came)] = min(used)
    return found


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


@final
@dataclass(frozen=True)
class Files:
    """Files of PostgreSQL: of tables and their indexes by the table's name, and of the log."""

    tables: Mapping[str, Sequence[bytes]]
    log: Sequence[bytes]


def seize_postgres(cluster: services.Cluster, url: str) -> Files:
    """The files as they are on the disk, once all that is in memory is written to them."""
    schema = url.partition("search_path%3D")[2]
    sql = (
        "SELECT coalesce(i.indrelid::regclass, c.oid::regclass)::text, pg_relation_filepath(c.oid) FROM "
        "pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid WHERE c.relnamespace = "
        f"'{schema}'::regnamespace AND c.relkind IN ('r', 'i')"
    )
    data = cluster.folder / "data"
    while True:
        cluster.sql("CHECKPOINT")
        rows = sorted((str(name).rpartition(".")[2], str(path)) for name, path in cluster.sql(sql))
        try:
            tables = {
                name: [(data / path).read_bytes() for _, path in some]
                for name, some in groupby(rows, key=lambda row: row[0])
            }
            return Files(tables, [segment.read_bytes() for segment in (data / "pg_wal").glob("0*")])
        except FileNotFoundError:
            continue  # it was replaced meanwhile


def read_postgres(files: Files) -> Evidence:
    """Read rows with the transactions that made and deleted them, pages, and the log."""
    found = Evidence(sequences=[list(dict.fromkeys(_KEY.findall(segment))) for segment in files.log])
    made, deleted = dict[int, set[bytes]](), dict[int, set[bytes]]()
    for raw in [*files.tables["arrivals"], *files.tables["reports"]]:
        found.sequences += [_KEY.findall(page)[::-1] for page in _pages(raw, _POSTGRES_PAGE)]
        for name, by, _ in _rows(raw, _KEY):
            made.setdefault(by, set()).add(name)
    for raw in files.tables["invitations"]:
        for name, _, by in _rows(raw, _HASH):
            deleted.setdefault(by, set()).add(name)
    found.groups = [made[number] for number in sorted(made)]
    for number, some in made.items():
        if len(some) == len(deleted.get(number, ())) == 1:
            found.links[min(some)] = min(deleted[number])
    for raw in files.tables["tallies"]:
        found.counts |= {int.from_bytes(name, "little") for name, _, _ in _rows(raw, _TALLIES)}
    return found


def _rows(raw: bytes, columns: re.Pattern[bytes]) -> Iterator[tuple[bytes, int, int]]:
    """Rows, live or dead, with the transactions that made and deleted them."""
    for match in columns.finditer(raw):
        head = match.start() - _ROW_HEAD
        if head >= 0 and raw[head + 22] == _ROW_HEAD:
            made, gone = struct.unpack_from("<II", raw, head)
            yield match[1], made, gone
