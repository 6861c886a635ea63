"""Counts Parquet files of reports on this machine: in blocks, on all cores, in memory that does not grow.

Where files have ids, those that come twice are found on disk: ids are hashed into buckets, and rows whose
hash comes once are counted at once. The others wait in their bucket, where ids are compared themselves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import md5
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.engines.form import ID, PLAN, WINDOWS, Counted, TableForm, check_columns
from deniable.engines.pieces import (
    File,
    Frame,
    RowSource,
    name_kind,
    open_file,
    read_first,
    to_arrow,
    type_folders,
)
from deniable.engines.rows import COUNTED, REPEATED, Flags, RowReader, Rows, find_valid
from deniable.errors import InvalidReport
from deniable.frames import Show

if TYPE_CHECKING:
    import pyarrow as pa

Key = tuple[Hashable, ...]
Hashes = npt.NDArray[np.uint64]

_IDS = 1 << 22
"""Ids that are sorted at a time."""
_UNKNOWN = 64  # buckets of a table whose size is not known
_FILES = 512  # a process may open about a thousand files


@final
@dataclass(frozen=True)
class FilesCount:
    """Counts the reports in files: all of them, or those of each combination of keys by themselves."""

    form: TableForm
    pieces: tuple[RowSource, ...]
    extra: frozenset[str]
    """Which of `plan`, `round` and `id` the files have."""
    keys: tuple[str, ...] = ()
    round: int | None = None
    others: tuple[File, ...] = ()
    """Files that are of other plans altogether: only what rows are counted by is read of them."""
    sink: Callable[[Rows], None] | None = None
    """Is given every block of rows, too, once it is known which of them are counted."""

    def run(self, show: Show | None = None) -> dict[Key, Counted]:
        """Read everything once; twice the ids, where there are any."""
        if ID not in self.extra:
            return self._finish(self._run(lambda batch: batch, show))
        names = (ID, *(self.extra & {self.form.round_column}))
        with Repeats(sum(piece.rows for piece in self.pieces), names) as repeats:
            repeats.find(batch for piece in self.pieces for batch in piece.read(list(repeats.names)))
            counted = self._run(repeats.part, show)
            for batch in repeats.read():
                merge_counted(counted, self._count_repeated(batch))
        return self._finish(counted)

    def _finish(self, counted: Mapping[Key, Counted]) -> dict[Key, Counted]:
        finished = {key: counts.finish(self.form.mechanism) for key, counts in counted.items()}
        nothing = self.form.mechanism.tally_nothing()
        for other in self.others:
            for key, rows in self._count_keys(other).items():
                merge_counted(finished, {key: Counted(0, nothing, {PLAN: rows})})
        return finished

    def _count_keys(self, other: File) -> dict[Key, int]:
        """How many rows of a file there are of each combination of keys; a key that it lacks is None."""
        keys = [name for name in self.keys if other.kinds.get(name) in WINDOWS]
        if all(name in other.folders for name in keys):
            return {tuple(other.folders.get(name) for name in self.keys): other.rows}
        counts: dict[Key, int] = {}
        for batch in (batch for piece in other.list_pieces() for batch in piece.read(keys)):
            for values, is_key in _split(batch, keys):
                values_by_name = dict(zip(keys, values, strict=True))
                key = tuple(values_by_name.get(name) for name in self.keys)
                counts[key] = counts.get(key, 0) + int(is_key.sum())
        return counts

    def _run(self, part: Callable[[pa.RecordBatch], pa.RecordBatch], show: Show | None) -> dict[Key, Counted]:
        """Count the part of each block that is not put aside."""
        totals: dict[Key, Counted] = {}
        total, done, lock = sum(piece.rows for piece in self.pieces), 0, Lock()

        def work(piece: RowSource) -> None:
            nonlocal done
            for batch in piece.read(self._names):
                counted = self._count(part(batch))
                with lock:
                    merge_counted(totals, counted)
                    done += batch.num_rows
                    if show is not None:
                        show(done, total)

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            waiting = [pool.submit(work, piece) for piece in self.pieces]
            try:
                for future in waiting:
                    future.result()
            finally:
                pool.shutdown(cancel_futures=True)
        return totals

    @cached_property
    def _reader(self) -> RowReader:
        return RowReader(self.form, self.extra, self.round)

    @cached_property
    def _names(self) -> list[str]:
        return list(dict.fromkeys([*self._reader.names, *self.keys]))

    def _count(self, batch: pa.RecordBatch) -> dict[Key, Counted]:
        return self._tally(self._reader.read(batch), batch)

    def _tally(self, rows: Rows, batch: pa.RecordBatch) -> dict[Key, Counted]:
        if self.sink is not None:
            self.sink(rows)
        if not self.keys:
            return {(): rows.count(self.form)}
        return {key: rows.count(self.form, is_key) for key, is_key in _split(batch, self.keys)}

    def _count_repeated(self, batch: pa.RecordBatch) -> dict[Key, Counted]:
        """Count the first of rows with one id, one round and one state, ordered by their numbers, as engines
        do.
        """
        rows = self._reader.read(batch)
        counted = np.flatnonzero(rows.states == COUNTED)
        sound = batch.take(counted)
        ids, _ = _code(sound.column(ID))
        if self.form.round_column in self.extra:
            numbers, labels = _code(sound.column(self.form.round_column))
            ids = ids.astype(np.int64) * len(labels) + numbers
        order = np.lexsort([*self._rank(sound)[::-1], ids])
        again = np.concatenate([[False], ids[order][1:] == ids[order][:-1]]) if len(ids) else order
        rows.states[counted[order[again]]] = REPEATED
        return self._tally(rows, batch)

    def _rank(self, batch: pa.RecordBatch) -> list[Array]:
        """What sound rows are ordered by: numbers by column, then what they are counted by."""
        ranks: list[Array] = []
        for column in (column for columns in self.form.columns for column in columns):
            is_valid = find_valid(batch.column(column.name))
            ranks.append(~is_valid)
            numbers = np.zeros((batch.num_rows, column.length or 1), dtype=np.int64)
            content = batch.column(column.name).drop_null()
            flat = content if column.length is None else content.flatten()
            numbers[is_valid] = np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(-1, numbers.shape[1])
            ranks += list(numbers.T)
        for name in self.form.list_keys(self.keys):
            codes, labels = _code(batch.column(name))
            digests = list(map(_digest, labels))
            places = {digest: i for i, digest in enumerate(sorted(digests))}
            ranks.append(np.array([places[digest] for digest in digests])[codes])
        return ranks


def _split(batch: pa.RecordBatch, keys: Sequence[str]) -> Iterator[tuple[Key, Flags]]:
    """Each combination of keys, and its rows."""
    codes = np.zeros(batch.num_rows, dtype=np.int64)
    values: list[Key] = [()]
    for name in keys:
        key_codes, labels = _code(batch.column(name))
        codes = codes * len(labels) + key_codes
        values = [(*value, label) for value in values for label in labels]
    for code in np.unique(codes).tolist():
        yield values[code], codes == code


def _code(array: pa.Array) -> tuple[Integers, list[Any]]:
    """The values of a column, none of them too, and for each row which of them it has."""
    import pyarrow as pa

    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    coded = plain.dictionary_encode(null_encoding="encode")
    return coded.indices.to_numpy(zero_copy_only=False), coded.dictionary.to_pylist()


def _digest(value: object) -> str:
    """What orders values alike in every engine, whatever its collation; no value comes last."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "~" if value is None else md5(text.encode(), usedforsecurity=False).hexdigest()


def open_files(
    form: TableForm, paths: Sequence[Path], keys: tuple[str, ...] = (), number: int | None = None
) -> FilesCount:
    """Count these files, whose rows or names of folders must have all columns of the table form."""
    opened = type_folders([open_file(path, form) for path in paths])
    theirs = [_is_other_plan(file, form) for file in opened]
    mine = [file for file, other in zip(opened, theirs, strict=True) if not other]
    others = tuple(file for file, other in zip(opened, theirs, strict=True) if other)
    for file in mine:
        check_columns(form, file.kinds, keys, number, file.path)
    extra = form.more_columns & {name for file in mine for name in file.kinds}
    for file in mine:
        for name in sorted(extra - set(file.kinds)):
            raise InvalidReport(
                f"{file.path} has no column {name!r}, and other files have; count files that are alike"
            )
    for name in (*keys, *sorted(extra)):
        if len({file.kinds[name] for file in mine}) > 1:
            raise InvalidReport(
                f"files differ in what their column {name!r} holds; count files that are alike"
            )
    pieces = tuple(piece for file in mine for piece in file.list_pieces())
    return FilesCount(form, pieces, extra, keys, number, others)


def _is_other_plan(file: File, form: TableForm) -> bool:
    """Whether a file is of another plan: it says so of all rows, or has other columns and a row says so."""
    if file.plan is not None:
        return file.plan != form.plan_id
    if form.plan_column not in file.kinds or set(form.column_names) <= set(file.kinds):
        return False
    first = next((read_first(piece, form.plan_column) for piece in file.list_pieces()), None)
    return first not in (None, form.plan_id)


def open_frame(
    form: TableForm, frame: Any, keys: tuple[str, ...] = (), number: int | None = None
) -> FilesCount:
    """Count a dataframe: of pandas, of pyarrow, also a dataset, or of Polars, also a lazy one."""
    import pyarrow as pa
    from pyarrow import dataset as ds

    if isinstance(frame, ds.Dataset):
        schema, rows = frame.schema, Frame(frame.to_batches, frame.count_rows())
    elif hasattr(frame, "collect_batches"):  # lazy, of Polars
        schema = frame.head(0).collect().to_arrow().schema
        rows = Frame(
            lambda: (batch for block in frame.collect_batches() for batch in block.to_arrow().to_batches()), 0
        )
    else:
        table = pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else to_arrow(frame, form)
        schema, rows = table.schema, Frame(table.to_batches, table.num_rows)
    check_columns(form, {name: name_kind(schema.field(name).type) for name in schema.names}, keys, number)
    return FilesCount(form, (rows,), form.more_columns & set(schema.names), keys, number)


def merge_counted(counted: dict[Key, Counted], more: Mapping[Key, Counted]) -> None:
    """Add counts to those that were found before, by key."""
    for key, counts in more.items():
        counted[key] = counted[key] + counts if key in counted else counts


@final
@dataclass
class Repeats:
    """The rows of a count whose ids come more than once; a context, as they lie in a temporary folder."""

    rows: int
    """About how many rows there are; 0 where that is not known."""
    names: Sequence[str] = (ID,)
    """The column of ids, and that of rounds where there is one."""
    _folder: TemporaryDirectory[str] = field(default_factory=lambda: TemporaryDirectory(prefix="deniable-"))
    _hashes: Hashes = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    _writers: dict[int, Any] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def __enter__(self) -> Repeats:
        return self

    def __exit__(self, *error: object) -> None:
        for writer in self._writers.values():
            writer.close()
        self._folder.cleanup()

    @property
    def _buckets(self) -> int:
        return min(-(-self.rows // _IDS), _FILES) if self.rows else _UNKNOWN

    def find(self, ids: Iterator[pa.RecordBatch]) -> None:
        """Learn which hashes come more than once, from all ids; those without a value are left out."""
        paths = [Path(self._folder.name) / f"{bucket}.hashes" for bucket in range(self._buckets)]
        files = [path.open("wb") for path in paths]
        try:
            for block in ids:
                hashes = self._hash(block)[find_valid(block.column(ID))]
                of = hashes % np.uint64(self._buckets)
                for bucket, file in enumerate(files):
                    file.write(hashes[of == bucket].tobytes())
        finally:
            for file in files:
                file.close()
        repeated = []
        for path in paths:
            ordered = np.sort(np.fromfile(path, dtype=np.uint64))
            repeated.append(np.unique(ordered[1:][ordered[1:] == ordered[:-1]]))
            path.unlink()
        self._hashes = np.sort(np.concatenate(repeated))

    def part(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows whose id comes once; the others are put aside."""
        import pyarrow as pa

        hashes = self._hash(batch)
        at = np.minimum(np.searchsorted(self._hashes, hashes), max(len(self._hashes) - 1, 0))
        twice = self._hashes[at] == hashes if len(self._hashes) else np.zeros(len(hashes), dtype=bool)
        if not twice.any():
            return batch
        of = hashes % np.uint64(self._buckets)
        with self._lock:
            for bucket in np.unique(of[twice]).tolist():
                self._put(bucket, batch.filter(pa.array(twice & (of == bucket))))
        return batch.filter(pa.array(~twice))

    def _hash(self, batch: pa.RecordBatch) -> Hashes:
        """A number for each id, and for the round in which it is."""
        first, *others = (_hash_ids(batch.column(name)) for name in self.names)
        return _mix(first + others[0]) if others else first

    def _put(self, bucket: int, rows: pa.RecordBatch) -> None:
        import pyarrow as pa

        columns = zip(rows.schema.names, map(_widen, rows.columns), strict=True)
        plain = pa.RecordBatch.from_pydict(dict(columns))
        if bucket not in self._writers:
            path = Path(self._folder.name) / f"{bucket}.rows"
            self._writers[bucket] = pa.ipc.new_stream(str(path), plain.schema)
        self._writers[bucket].write_batch(plain)

    def read(self) -> Iterator[pa.RecordBatch]:
        """The rows that were put aside: all rows of an id are in the same block."""
        import pyarrow as pa

        for bucket, writer in self._writers.items():
            writer.close()
            with pa.ipc.open_stream(str(Path(self._folder.name) / f"{bucket}.rows")) as reader:
                yield from reader.read_all().combine_chunks().to_batches()


def _widen(array: pa.Array) -> pa.Array:
    """The column with a type that is the same for every file: files may differ in widths."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if types.is_integer(array.type):
        return array.cast(pa.int64())
    if types.is_string(array.type) or types.is_large_string(array.type):
        return array.cast(pa.large_string())
    if types.is_boolean(array.type) or types.is_date(array.type):
        return array
    return array.cast(pa.list_(pa.int64()))


def _hash_ids(ids: pa.Array) -> Hashes:
    """A number for each id; ids that are equal have the same."""
    import pyarrow as pa

    if pa.types.is_dictionary(ids.type):
        ids = ids.dictionary_decode()
    if pa.types.is_integer(ids.type):
        return _mix(np.asarray(ids.fill_null(0).to_numpy(zero_copy_only=False)).astype(np.uint64))
    ids = ids.cast(pa.string())
    hashes = np.zeros(len(ids), dtype=np.uint64)
    if len(ids):
        from deniable.engines.loops import hash_texts

        _, ends, text = ids.buffers()
        bounds = np.frombuffer(ends, dtype=np.int32)[ids.offset : ids.offset + len(ids) + 1]
        hash_texts(np.frombuffer(text if text is not None else b"", dtype=np.uint8), bounds, hashes)
    return _mix(hashes)


def _mix(numbers: Hashes) -> Hashes:
    """The numbers, spread over all bits, as buckets take the last ones."""
    with np.errstate(over="ignore"):
        mixed = (numbers ^ (numbers >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return np.asarray(mixed ^ (mixed >> np.uint64(33)))
