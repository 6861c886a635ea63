"""Counts Parquet files of reports on this machine: in blocks, on all cores, in memory that does not grow.

Only ids, where files have them, are held at once, to find those that come twice.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from hashlib import md5
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.engines.form import (
    ID,
    PLAN,
    REASONS,
    ROUND,
    Column,
    Counted,
    TableForm,
    check_columns,
    from_columns,
)
from deniable.errors import InvalidReport
from deniable.records import Records
from deniable.tables import PLAN_KEY, ROWS, Show

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

Key = tuple[Hashable, ...]
Flags = npt.NDArray[np.bool_]
_COUNTED, _PLAN, _ROUND, _FORM, _REPEATED = range(len(REASONS))


@final
@dataclass(frozen=True)
class Piece:
    """A group of rows of a file, and what the names of its folders say of all of them (`round=2`)."""

    path: str
    metadata: parquet.FileMetaData
    group: int
    folders: Mapping[str, Any]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.metadata.row_group(self.group).num_rows)

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns of its rows, in blocks; one that folders name has the same value in all rows."""
        import pyarrow as pa
        from pyarrow import parquet

        here = [name for name in names if name not in self.folders]
        with parquet.ParquetFile(self.path, metadata=self.metadata) as file:
            for batch in file.iter_batches(ROWS, [self.group], here, use_threads=False):
                columns = {name: batch.column(name) for name in here}
                one = pa.array(np.zeros(batch.num_rows, dtype=np.int8))
                for name in names:
                    if name in self.folders:
                        columns[name] = pa.DictionaryArray.from_arrays(one, pa.array([self.folders[name]]))
                yield pa.RecordBatch.from_pydict(columns)


@final
@dataclass(frozen=True)
class FilesCount:
    """Counts the reports in files: all of them, or those of each combination of keys by themselves."""

    form: TableForm
    pieces: tuple[Piece, ...]
    extra: frozenset[str]
    """Which of `plan`, `round` and `id` the files have."""
    keys: tuple[str, ...] = ()
    round: int | None = None

    def run(self, show: Show | None = None) -> dict[Key, Counted]:
        """Read everything once; twice the ids, where there are any."""
        repeated = self._find_repeated() if ID in self.extra else None
        found: dict[Key, Counted] = {}
        aside: list[pa.RecordBatch] = []
        total, done, lock = sum(piece.rows for piece in self.pieces), 0, Lock()

        def work(piece: Piece) -> None:
            nonlocal done
            for batch in piece.read(self._names):
                rest = batch
                if repeated is not None:
                    rest, twice = _part_repeated(batch, repeated)
                    aside.append(twice)
                counted = self._count(rest)
                with lock:
                    _merge(found, counted)
                    done += batch.num_rows
                    if show is not None:
                        show(done, total)

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for one in [pool.submit(work, piece) for piece in self.pieces]:
                one.result()
        if aside:
            _merge(found, self._count_repeated(aside))
        return found

    @cached_property
    def _names(self) -> list[str]:
        """The columns that are read."""
        of_group = [] if self.form.group is None else [self.form.group[0]]
        more = [name for name in (PLAN, ROUND, ID) if name in self.extra]
        return list(dict.fromkeys([*self._report_names, *of_group, *more, *self.keys]))

    @cached_property
    def _report_names(self) -> list[str]:
        return [column.name for columns in self.form.columns for column in columns]

    def _count(self, batch: pa.RecordBatch) -> dict[Key, Counted]:
        state, records = self._judge(batch)
        return {key: self._tally(state, records, here) for key, here in self._split(batch)}

    def _judge(self, batch: pa.RecordBatch) -> tuple[npt.NDArray[np.int8], list[tuple[Integers | slice, Array]]]:
        """What becomes of each row; and for each attribute the rows that report it, and their reports."""
        n = batch.num_rows
        sound = np.ones(n, dtype=bool)
        here = np.empty((len(self.form.names), n), dtype=bool)
        records = []
        parts = zip(self.form.columns, self.form.mechanism.mechanisms, strict=True)
        for j, (columns, part) in enumerate(parts):
            arrays = [batch.column(column.name) for column in columns]
            here[j] = _valid(arrays[0])
            for array in arrays[1:]:
                sound &= _valid(array) == here[j]
            who = _select(here[j] & sound)
            contents, whole = _read_numbers(arrays, columns, who)
            reports, canonical = from_columns(contents, columns, part)
            sound[who] &= canonical & whole
            records.append((who, reports))
        sound &= self.form.mechanism.can_hold(here)
        sound &= self._name_group(batch)
        state = np.where(sound, _COUNTED, _FORM).astype(np.int8)
        if ID in self.extra:
            state[~_valid(batch.column(ID))] = _FORM
        if ROUND in self.extra and self.round is not None:
            state[~_equals(batch.column(ROUND), self.round)] = _ROUND
        if PLAN in self.extra:
            state[~_equals(batch.column(PLAN), self.form.plan_id)] = _PLAN
        return state, records

    def _name_group(self, batch: pa.RecordBatch) -> Flags:
        """Which rows name a known group, where they must."""
        if self.form.group is None:
            return np.ones(batch.num_rows, dtype=bool)
        name, size = self.form.group
        numbers = batch.column(name)
        found = numbers.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.asarray((found >= 0) & (found < size))

    def _split(self, batch: pa.RecordBatch) -> Iterator[tuple[Key, Flags]]:
        """Each combination of keys, and its rows."""
        if not self.keys:
            yield (), np.ones(batch.num_rows, dtype=bool)
            return
        codes, values = np.zeros(batch.num_rows, dtype=np.int64), [()]
        for name in self.keys:
            coded = batch.column(name).dictionary_encode(null_encoding="encode")
            labels = coded.dictionary.to_pylist()
            codes = codes * len(labels) + coded.indices.to_numpy(zero_copy_only=False)
            values = [(*value, label) for value in values for label in labels]
        for code in np.unique(codes).tolist():
            yield values[code], codes == code

    def _tally(
        self, state: npt.NDArray[np.int8], records: Sequence[tuple[Integers | slice, Array]], here: Flags
    ) -> Counted:
        counted = here & (state == _COUNTED)
        everybody = bool(counted.all())
        columns = tuple(reports if everybody else reports[counted[who]] for who, reports in records)
        # only to be counted, so that nobody needs to know whose they are
        tallies = self.form.mechanism.tally(Records(int(counted.sum()), columns))
        times = np.bincount(state[here], minlength=len(REASONS)).tolist()
        refused = {why: n for why, n in zip(REASONS[1:], times[1:], strict=True) if n}
        return Counted(int(times[0]), tallies, refused)

    def _find_repeated(self) -> pa.Array:
        """The ids that come more than once."""
        import pyarrow as pa

        ids = pa.chunked_array([one.column(ID) for piece in self.pieces for one in piece.read([ID])])
        counts = ids.value_counts()
        often = counts.field("counts").to_numpy(zero_copy_only=False) > 1
        return counts.field("values").filter(pa.array(often)).drop_null()

    def _count_repeated(self, batches: Sequence[pa.RecordBatch]) -> dict[Key, Counted]:
        """Of rows with one id and one state the first by its numbers is counted; engines order them alike."""
        import pyarrow as pa

        table = pa.Table.from_batches(batches).combine_chunks()
        if not table.num_rows:
            return {}
        batch = table.to_batches()[0]
        state, records = self._judge(batch)
        of_group = [] if self.form.group is None else [self.form.group[0]]
        keys = list(dict.fromkeys((*self.keys, *of_group)))
        digests = [list(map(_digest, batch.column(name).to_pylist())) for name in keys]
        numbers = [batch.column(name).to_pylist() for name in self._report_names]
        ranks = [[(value is None, value or 0) for value in one] for one in (*numbers, *digests)]
        counted = np.flatnonzero(state == _COUNTED).tolist()
        seen = set()
        for i in sorted(counted, key=list(zip(*ranks, strict=True)).__getitem__):
            one = batch.column(ID)[i].as_py()
            state[i] = _REPEATED if one in seen else _COUNTED
            seen.add(one)
        return {key: self._tally(state, records, here) for key, here in self._split(batch)}


def _digest(value: object) -> str | None:
    """What orders values alike in every engine, whatever its collation."""
    return None if value is None else md5(str(value).encode(), usedforsecurity=False).hexdigest()


def open_files(
    form: TableForm, paths: Sequence[Path], keys: tuple[str, ...] = (), number: int | None = None
) -> FilesCount:
    """Count these files, whose rows or names of folders must have all columns of the table form."""
    import pyarrow as pa
    from pyarrow import dataset as ds

    try:
        files = ds.dataset([str(path) for path in paths], format="parquet", partitioning="hive")
        pieces = [piece for fragment in files.get_fragments() for piece in _list_pieces(fragment, files.schema)]
    except (pa.ArrowInvalid, pa.ArrowTypeError) as problem:
        raise InvalidReport(f"these are not files of reports, or one is damaged: {problem}") from None
    known = set(files.schema.names)
    if PLAN not in known:
        if any(PLAN not in piece.folders for piece in pieces):
            raise InvalidReport(
                f"{pieces[0].path} does not say for which plan its reports were made; if it holds answers, "
                "privatize them first"
            )
        known.add(PLAN)
    check_columns(form, {name: _name_kind(files.schema.field(name).type) for name in files.schema.names}, keys)
    return FilesCount(form, tuple(pieces), frozenset({PLAN, ROUND, ID} & known), keys, number)


def _list_pieces(fragment: Any, schema: pa.Schema) -> Iterator[Piece]:
    """The groups of rows of a file; what its plan is stands in its header, if nowhere else."""
    from pyarrow import dataset as ds

    folders = dict(ds.get_partition_keys(fragment.partition_expression))
    fragment.ensure_complete_metadata()
    header = (fragment.physical_schema.metadata or {}).get(PLAN_KEY)
    if PLAN not in schema.names and header is not None:
        folders[PLAN] = header.decode("ascii", "replace")
    for group in range(fragment.metadata.num_row_groups):
        yield Piece(fragment.path, fragment.metadata, group, folders)


def _name_kind(kind: pa.DataType) -> str:
    """What a column holds: integers, lists of them, or something else."""
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind):
        return "list" if pa.types.is_integer(kind.value_type) else "other"
    return "other"


def _merge(found: dict[Key, Counted], more: Mapping[Key, Counted]) -> None:
    for key, one in more.items():
        found[key] = found[key] + one if key in found else one


def _part_repeated(batch: pa.RecordBatch, repeated: pa.Array) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The rows whose id comes once, and the others."""
    from pyarrow import compute

    twice = compute.is_in(batch.column(ID), value_set=repeated)
    return batch.filter(compute.invert(twice)), batch.filter(twice)


def _select(rows: Flags) -> Integers | slice:
    """Which rows are meant; all of them are not listed."""
    return slice(None) if rows.all() else np.flatnonzero(rows)


def _valid(array: pa.Array) -> Flags:
    if not array.null_count:
        return np.ones(len(array), dtype=bool)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False))


def _equals(array: pa.Array, value: object) -> Flags:
    import pyarrow as pa
    from pyarrow import compute

    if isinstance(array, pa.DictionaryArray):
        same = _equals(array.dictionary, value)
        found = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.append(same, False)[found]
    return np.asarray(compute.equal(array, value).fill_null(False).to_numpy(zero_copy_only=False))


def _read_numbers(
    arrays: Sequence[pa.Array], columns: Sequence[Column], who: Integers | slice
) -> tuple[list[Array], Flags]:
    """The numbers of these rows; and which rows list as many numbers as they must."""
    import pyarrow as pa

    taken = arrays if isinstance(who, slice) else [array.take(pa.array(who)) for array in arrays]
    whole = np.ones(len(taken[0]), dtype=bool)
    contents = []
    for some, column in zip(taken, columns, strict=True):
        if column.length is None:
            contents.append(some.to_numpy(zero_copy_only=False))
            continue
        contents.append(_read_lists(some, column.length, whole))
    return contents, whole


def _read_lists(array: pa.Array, length: int, whole: Flags) -> Array:
    """Lists of one length as a table; a row of another length, or with a null in it, is not whole."""
    from pyarrow import compute

    sizes = compute.list_value_length(array).to_numpy(zero_copy_only=False)
    flat = array.flatten()
    if not flat.null_count and (sizes == length).all():
        return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(array), length)
    table = np.full((len(array), length), -1, dtype=np.int64)
    for i, numbers in enumerate(array.to_pylist()):
        whole[i] = len(numbers) == length and None not in numbers
        if whole[i]:
            table[i] = numbers
    return table
