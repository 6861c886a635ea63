"""Keeps the tallies of partitions in a file, so that a daily job counts only what is new."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any, final
from urllib.parse import unquote

from deniable.engines import Request
from deniable.engines.databases import find_duckdb, hide_password, is_address
from deniable.engines.form import MissingColumn, refuse_other_plan
from deniable.engines.pieces import NO_VALUE, DamagedFile, type_texts
from deniable.engines.sources import count_before, list_paths, refuse_several
from deniable.errors import DeniableError, InvalidParameter, InvalidReport, not_among
from deniable.formatting import Printed, format_count, shorten_names
from deniable.frames import Show, replacing
from deniable.plan.document import PlanDocument
from deniable.reports.reports import Tallies, add_rounds, tally_reports
from deniable.results.windows import (
    Windows,
    count_windows,
    find_round,
    join_refused,
    join_rounds,
    order_window,
    refuse_foreign_table,
)

try:
    import fcntl
except ImportError:  # there is none on Windows: there, one job at a time must keep tallies
    fcntl = None  # type: ignore[assignment]  # a module elsewhere

_VERSION = 1
_YEAR_AND_MONTH = re.compile(r"\d{4}-\d{2}")
_FOOTER = 8  # bytes at the end of a Parquet file: the length of what stands before them, and PAR1

Values = tuple[Hashable, ...]


@final
@dataclass(frozen=True)
class Partition:
    """The tallies of a file, or of all rows with one value of the first column that windows are by."""

    name: str
    digest: str
    """Of a file, what changes when it does; empty for rows of a database."""
    windows: Mapping[Values, Tallies]


@final
@dataclass(frozen=True)
class Changes:
    """What a job counted: the names of partitions."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """The partitions that were counted again, and differ from before."""
    gone: tuple[str, ...] = ()
    """The partitions that are not there any more."""
    late: int = 0
    """Rows of a database that came to windows that are not counted again."""
    foreign: Mapping[str, int] = field(default_factory=dict)
    """How many rows of another plan each new or changed partition has; they are not counted."""
    damaged: tuple[str, ...] = ()
    """Files that cannot be read, or whose checksums do not hold: they are counted once they are mended."""


@final
@dataclass(frozen=True)
class KeptTallies(Printed):
    """The tallies of partitions, which add up to those of all reports: what a daily job keeps in a file.

    A report that comes again in another partition is not noticed: ids are compared within a count.
    """

    document: PlanDocument
    by: tuple[str, ...] = ()
    number: int | None = None
    table: str | None = None
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    source: str | None = None
    """Where reports are: a folder, as it is found from the file of tallies, or the address of a database."""
    before: tuple[KeptTallies, ...] = ()
    """The tallies of the plans that this one continues, of the same reports; none where one round is kept."""

    @staticmethod
    def begin(
        document: PlanDocument, by: tuple[str, ...], number: int | None = None, table: str | None = None
    ) -> KeptTallies:
        """No tallies yet, of a plan and of those that it continues."""
        before = () if number is not None else document.continues
        return KeptTallies(
            document, by, number, table, before=tuple(KeptTallies(plan, by, None, table) for plan in before)
        )

    @property
    def chain(self) -> tuple[KeptTallies, ...]:
        """The tallies of all plans, those of this one last."""
        return (*self.before, replace(self, before=()))

    def __str__(self) -> str:
        counted = f"{format_count(self.n, 'report')} in {format_count(len(self.partitions), 'partition')}"
        return f"Kept tallies of plan {self.document.id[:12]}: {counted}"

    def __repr__(self) -> str:
        return f"<{self}>"

    @staticmethod
    def update(
        path: str | Path,
        document: PlanDocument,
        source: str | Path,
        table: str | None = None,
        *,
        by: str | Sequence[str] = (),
        number: int | None = None,
        again: int = 1,
        gone: str | None = None,
        show: Show | None = None,
    ) -> Changes:
        """Count what is not kept in a file yet, and replace the file at once; safe to repeat.

        Files are counted if they are new or changed. Tallies of files that are not there any more are kept or
        dropped, as `gone` says ("keep", "drop"); where it says nothing, they are refused. In a database,
        windows are counted again from the last one that is kept on, or from the last `again` ones, for rows
        that come late.
        """
        keys = (by,) if isinstance(by, str) else tuple(by)
        with lock_file(Path(path)):
            kept = KeptTallies.begin(document, keys, number, table)
            if Path(path).exists():
                kept = KeptTallies.read(path, document)
                if (kept.by, kept.number) != (keys, number):
                    raise InvalidParameter(
                        f"the tallies in {path} are kept by {', '.join(kept.by) or 'nothing'}, of round "
                        f"{kept.number or 'any'}; name the same, or another file"
                    )
            if kept.table != table:
                raise InvalidParameter(
                    f"the tallies in {path} are of the table {kept.table!r}, got {table!r}; name another file"
                )
            counted, changes = kept._settle(Path(path), source).count(source, again, gone, show)
            if counted != kept or not Path(path).exists():
                counted.write(path)
        return changes

    def _settle(self, path: Path, source: str | Path) -> KeptTallies:
        """Keep tallies of reports at this source; refuse those of another one, which may have equal names.

        A folder that was moved has the same files: it is not another one.
        """
        name = _name_source(path, source)
        if self.source not in (None, name) and not self._holds_files(source):
            raise InvalidParameter(
                f"the tallies in {path} are of the reports in {self.source}, got {name}; keep others in "
                f'another file, or if the same reports were moved, write {json.dumps(name)} as "source" there'
            )
        return replace(self, source=name)

    def _holds_files(self, source: str | Path) -> bool:
        """Whether files that are kept are at a source, and none of them differs."""
        if is_address(source):
            return False
        root = _find_root(source)
        there = {path.relative_to(root).as_posix(): path for path in list_paths(source)}
        shared = [(part, there[name]) for name, part in self.partitions.items() if name in there]
        return bool(shared) and all(part.digest == _digest(file) for part, file in shared)

    def count(
        self, source: str | Path, again: int = 1, gone: str | None = None, show: Show | None = None
    ) -> tuple[KeptTallies, Changes]:
        """Add the tallies of a source that are not kept yet; and say what changed.

        The reports of plans that this one continues are counted, too.
        """
        if not self.before:
            return self._count(source, again, gone, show)
        counted: list[KeptTallies] = []
        changes: list[Changes] = []
        for kept in self.chain:
            try:
                now, what = kept._count(source, again, gone, show, is_alone=False)
            except MissingColumn:  # then there are no reports of this plan yet, or any more
                now, what = kept, Changes()
            counted.append(now)
            changes.append(what)
        joined = replace(counted[-1], before=tuple(counted[:-1]))
        if not joined.n and not any(what.damaged for what in changes):
            windows = list(_list_windows(joined.partitions.values()))
            refuse_foreign_table(self.document.table_form, windows, source, self.table)
        return joined, _join_changes(counted, changes)

    def _count(
        self, source: str | Path, again: int, gone: str | None, show: Show | None, is_alone: bool = True
    ) -> tuple[KeptTallies, Changes]:
        """Add the tallies of one plan; `is_alone` says whether all reports should be of this plan."""
        if again < 1:
            raise InvalidParameter(f"at least the last window is counted again, got again={again}")
        inside = is_address(source)
        if any(bool(part.digest) == inside for part in self.partitions.values()):
            other = "a database" if inside else "files"
            raise InvalidParameter(f"these tallies were not kept of {other}; keep them in another file")
        if not inside:
            if self.table is not None:
                raise InvalidParameter(f"only a database has tables, got table={self.table!r}")
            return self._count_files(source, gone, show, is_alone)
        if not self.by:
            raise InvalidParameter(
                'a database is counted window by window: name a column that grows, such as by="day"'
            )
        return self._count_windows(source, again, is_alone)

    @property
    def n(self) -> int:
        """How many records were reported, in all rounds, to all plans."""
        return sum(tallies.n for part in self.chain for tallies in _list_windows(part.partitions.values()))

    @property
    def refused(self) -> dict[str, int]:
        """How many rows of all partitions were not counted for any plan, by reason."""
        windows = [
            Windows(self.by, dict(enumerate(_list_windows(part.partitions.values())))) for part in self.chain
        ]
        return join_refused(self.document.id, windows)

    def tally(self) -> Tallies:
        """The tallies of all partitions: of one round, or of rounds in which other people answered."""
        windows = list(_list_windows(self.partitions.values()))
        if windows and self.document.most_reports == 1:
            return add_rounds(windows)
        rounds = {tallies.round for tallies in windows if tallies.n and tallies.round is not None}
        if len(rounds) > 1:
            refuse_several(sorted(rounds))
        return sum(windows, tally_reports(self.document, []))

    def choose_round(self, number: int) -> KeptTallies:
        """The tallies of one round alone, where they are kept of it, or by round."""
        if number == self.number:
            return self
        if self.document.table_form.round_column not in self.by:
            raise InvalidParameter(f"these tallies are kept of round {self.number or 'any'}, got {number}")
        partitions = {}
        for name, part in self.partitions.items():
            windows = {key: tallies for key, tallies in part.windows.items() if tallies.round == number}
            partitions[name] = replace(part, windows=windows)
        return replace(self, partitions=partitions, before=())

    def list_windows(self, by: str) -> list[Windows]:
        """The tallies of each window of each plan: by a column, and by the round if they are kept by it."""
        rounds = {self.document.table_form.round_column} & set(self.by) - {by}
        return [part.tally_windows((by, *rounds)) for part in self.chain]

    def tally_windows(self, by: str | Sequence[str]) -> Windows:
        """The tallies of each window, by columns that they are kept by."""
        keys = (by,) if isinstance(by, str) else tuple(by)
        for name in keys:
            if name not in self.by:
                raise InvalidParameter(not_among(name, "a column that these tallies are kept by", self.by))
        form = self.document.table_form
        if form.rounds > 1 and form.round_column in set(self.by) - set(keys):
            by_round = [part.tally_windows((*keys, form.round_column)) for part in self.chain]
            return join_rounds(self.document, keys, by_round)
        windows: dict[Values, Tallies] = {}
        folders = {name: _type_folders(name, self.partitions) for name in keys}
        for part in self.partitions.values():
            for values, tallies in part.windows.items():
                key = tuple(
                    _choose_value(values[self.by.index(name)], folders[name].get(part.name)) for name in keys
                )
                windows[key] = windows[key] + tallies if key in windows else tallies
        ordered = sorted(windows.items(), key=order_window)
        is_apart = self.document.table_form.round_column in keys  # rounds of another plan are others
        before = () if is_apart else tuple(part.tally_windows(keys) for part in self.before)
        named = {key if len(keys) > 1 else key[0]: tallies for key, tallies in ordered}
        return Windows(keys, named, tuple(each for each in before if each))

    def write(self, path: str | Path) -> None:
        """Write all of them to a JSON file, wholly or not at all."""
        fields = {"kept_tallies": _VERSION, "plan": self.document.id, "by": list(self.by)}
        fields |= {"round": self.number, "table": self.table, "source": self.source}
        fields |= {"partitions": _write_partitions(self)}
        before = [
            {"plan": part.document.id, "partitions": _write_partitions(part)}
            for part in self.before
            if part.partitions
        ]
        fields |= {"before": before} if before else {}
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        with replacing(Path(path)) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())

    @staticmethod
    def read(path: str | Path, document: PlanDocument) -> KeptTallies:
        """What `write` wrote, of the same plan, or of one that it continues."""
        try:
            kept = json.loads(Path(path).read_bytes())
            if kept["kept_tallies"] != _VERSION:
                raise ValueError(f"version {kept['kept_tallies']}")
            if kept["plan"] not in {plan.id for plan in document.continues}:
                refuse_other_plan(kept["plan"], document.id)
            elif kept["round"] is not None:
                raise InvalidReport(
                    f"the tallies in {path} are of round {kept['round']} of plan {kept['plan'][:12]}, and "
                    f"rounds of plan {document.id[:12]}, which continues it, are others; keep these in "
                    "another file, or the tallies of both plans in one, by round (--by round)"
                )
            of_plans = {part["plan"]: part["partitions"] for part in (kept, *kept.get("before", ()))}
            begun = KeptTallies.begin(document, tuple(kept["by"]), kept["round"], kept["table"])
            *before, last = (
                replace(part, partitions=_read_partitions(part, of_plans.get(part.document.id, ())))
                for part in begun.chain
            )
            return replace(last, source=kept.get("source"), before=tuple(before))
        except (FileNotFoundError, InvalidReport):
            raise
        except (ValueError, TypeError, KeyError, DeniableError) as problem:
            raise InvalidReport(f"{path} is not a file of kept tallies, or is damaged: {problem}") from None

    def _request(self, since: tuple[str, Any] | None = None) -> Request:
        """What is counted to be added to what is kept: all rows, or only those since a value of a column."""
        return Request(self.document.table_form, self.by, self.number, kept=True, since=since)

    def _count_files(
        self, source: str | Path, gone: str | None, show: Show | None, is_alone: bool
    ) -> tuple[KeptTallies, Changes]:
        root = _find_root(source)
        paths = {path.relative_to(root).as_posix(): path for path in list_paths(source)}
        digests = {name: _digest(path) for name, path in paths.items()}
        before = self.partitions
        away = tuple(name for name in before if name not in paths)
        if gone not in (None, "keep", "drop"):
            raise InvalidParameter(f'tallies of files that are gone are for "keep" or "drop", got {gone!r}')
        if away and gone is None:
            raise InvalidParameter(
                f"not there any more: {shorten_names(away)}. If files were deleted, their tallies are to be "
                "kept (--gone keep); if they were renamed or merged, dropped (--gone drop), or their reports "
                "would be counted twice"
            )
        to_count = [name for name in paths if name not in before or before[name].digest != digests[name]]
        kept = {name: part for name, part in before.items() if gone != "drop" or name in paths}
        damaged: dict[str, DamagedFile] = {}
        for i, name in enumerate(to_count):
            try:
                counted = count_windows(self.document, self._request(), paths[name])
                kept[name] = Partition(name, digests[name], counted)
            except DamagedFile as problem:  # what was counted of it before stays
                damaged[name] = problem
            if show is not None:
                show(i + 1, len(to_count))
        if damaged and not kept:
            raise next(iter(damaged.values()))
        counted_now = {name: kept[name] for name in to_count if name not in damaged}
        if not before and is_alone:
            windows = list(_list_windows(counted_now.values()))
            refuse_foreign_table(self.document.table_form, windows, [paths[name] for name in counted_now])
        changes = Changes(
            new=tuple(name for name in counted_now if name not in before),
            changed=tuple(name for name in counted_now if name in before),
            gone=away,
            foreign=_count_foreign(counted_now.values()),
            damaged=tuple(damaged),
        )
        return replace(self, partitions=kept), changes

    def _count_windows(self, source: str | Path, again: int, is_alone: bool) -> tuple[KeptTallies, Changes]:
        firsts = {name: next(iter(part.windows))[0] for name, part in self.partitions.items()}
        marks: list[Any] = sorted(value for value in firsts.values() if value is not None)
        since = (self.by[0], marks[-min(again, len(marks))]) if marks else None
        counted = count_windows(self.document, self._request(since), source, self.table)
        if not self.partitions and is_alone:
            refuse_foreign_table(self.document.table_form, counted.values(), source, self.table)
        for values in counted:
            _require_growth(self.by[0], values[0])
        kept = {
            name: part
            for name, part in self.partitions.items()
            if since is not None and firsts[name] is not None and firsts[name] < since[1]
        }
        by_name: dict[str, dict[Values, Tallies]] = {}
        for values, tallies in counted.items():
            by_name.setdefault(json.dumps(_encode(values[0])), {})[values] = tallies
        partitions = {name: Partition(name, "", windows) for name, windows in by_name.items()}
        before = self.partitions
        rows = sum(tallies.n + sum(tallies.refused.values()) for tallies in _list_windows(kept.values()))
        changes = Changes(
            new=tuple(name for name in partitions if name not in before),
            changed=tuple(name for name in partitions if name in before and before[name] != partitions[name]),
            gone=tuple(name for name in before if name not in kept and name not in partitions),
            late=0 if since is None else max(count_before(source, self.table, since) - rows, 0),
            foreign=_count_foreign(part for name, part in partitions.items() if before.get(name) != part),
        )
        return replace(self, partitions=kept | partitions), changes


def _list_windows(partitions: Iterable[Partition]) -> Iterator[Tallies]:
    """The tallies of all windows of some partitions."""
    return (tallies for part in partitions for tallies in part.windows.values())


def _count_foreign(partitions: Iterable[Partition]) -> dict[str, int]:
    """How many rows of another plan partitions have, where they have some."""
    rows = {
        part.name: sum(tallies.refused.get("plan", 0) for tallies in part.windows.values())
        for part in partitions
    }
    return {name: n for name, n in rows.items() if n}


def _require_growth(column: str, value: Hashable) -> None:
    """Refuse windows by text that has no order in time: a new one would stand before the watermark."""
    if isinstance(value, str) and not _YEAR_AND_MONTH.match(value):
        raise InvalidParameter(
            f"{column!r} must grow, as what is new comes last: a date, a whole number, or text that begins "
            f"like 2026-11-15, got {value!r}; name such a column first"
        )


def _write_window(values: Values, tallies: Tallies) -> dict[str, Any]:
    about = {key: entry for key, entry in tallies.to_dict().items() if key not in ("plan", "round")}
    return {"values": list(map(_encode, values))} | about


def _write_partitions(kept: KeptTallies) -> list[dict[str, Any]]:
    return [
        {
            "name": part.name,
            "digest": part.digest,
            "windows": [_write_window(*item) for item in sorted(part.windows.items(), key=order_window)],
        }
        for part in sorted(kept.partitions.values(), key=lambda part: part.name)
    ]


def _read_partitions(kept: KeptTallies, written: Iterable[Mapping[str, Any]]) -> dict[str, Partition]:
    partitions = {}
    for part in written:
        windows = {}
        for window in part["windows"]:
            values = tuple(map(_decode, window["values"]))
            plain = {key: entry for key, entry in window.items() if key != "values"}
            round_number = find_round(kept.document.table_form, kept.by, values, kept.number)
            windows[values] = Tallies.from_dict(plain | {"plan": kept.document.id, "round": round_number})
        partitions[part["name"]] = Partition(part["name"], part["digest"], windows)
    return partitions


def _join_changes(counted: Sequence[KeptTallies], changes: Sequence[Changes]) -> Changes:
    """What changed in the tallies of plans that continue each other; rows of one are foreign to no other."""

    def join(names: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for each in names for name in each))

    foreign = dict(changes[-1].foreign)
    for kept in counted[:-1]:
        for name in foreign:
            part = kept.partitions.get(name, Partition(name, "", {}))
            own = part.windows.values()
            foreign[name] -= sum(
                tallies.n + sum(n for why, n in tallies.refused.items() if why != "plan") for tallies in own
            )
    new = join(what.new for what in changes)
    return Changes(
        new=new,
        changed=tuple(name for name in join(what.changed for what in changes) if name not in new),
        gone=join(what.gone for what in changes),
        late=changes[-1].late,
        foreign={name: n for name, n in foreign.items() if n > 0},
        damaged=join(what.damaged for what in changes),
    )


def _type_folders(name: str, partitions: Iterable[str]) -> dict[str, Hashable]:
    """What the folder that a column is called after says of each partition, alike for all of them."""
    texts = {
        partition: value
        for partition in partitions
        for column, _, value in (unquote(part).partition("=") for part in partition.split("/")[:-1])
        if column == name
    }
    typed = type_texts([text for text in texts.values() if text != NO_VALUE])
    return {partition: typed.get(text) for partition, text in texts.items()}


def _choose_value(value: Hashable, folder: Hashable) -> Hashable:
    """The value of a window: as the folder says it, if both mean the same."""
    return folder if str(value) == str(folder) else value


def _encode(value: Hashable) -> Any:
    """The value of a window in JSON."""
    if value is None or isinstance(value, str | int):
        return value
    assert isinstance(value, date)
    return {"date": value.isoformat()}


def _decode(encoded: Any) -> Hashable:
    if isinstance(encoded, Mapping):
        return date.fromisoformat(encoded["date"])
    return encoded if encoded is None or isinstance(encoded, int) else str(encoded)


def _digest(path: Path) -> str:
    """What changes when a Parquet file does: its size and its footer, which says where everything is."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - _FOOTER, 0))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(size - _FOOTER - length, 0))
        return sha256(str(size).encode() + file.read()).hexdigest()


def _name_source(path: Path, source: str | Path) -> str:
    """What tells a source from others: an address without its password, or a folder as it is found from the
    file of tallies, so that both can be moved together.
    """
    folder = find_duckdb(source) if is_address(source) else _find_root(source)
    if folder is None:
        return hide_password(str(source))
    try:
        return Path(os.path.relpath(folder.resolve(), path.resolve().parent)).as_posix()
    except ValueError:  # on Windows, another drive
        return folder.resolve().as_posix()


def _find_root(source: str | Path) -> Path:
    """The folder that names of files begin in: what stands before the first sign of a pattern."""
    path = Path(source)
    if path.is_dir():
        return path
    parts = path.parent.parts
    plain = next((i for i, part in enumerate(parts) if set(part) & set("*?[")), len(parts))
    return Path(*parts[:plain])


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Refuse a second job at the same time: it would not know what the first one counts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{path}.lock").open("w") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DeniableError(f"another job is updating {path}; run this when it is done") from None
        yield
