"""Finds reports whose id comes twice, in memory that does not grow with the files.

Ids are hashed into buckets on disk. Rows whose hash comes once are counted at once. The others wait in their
bucket, where their ids are compared themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from deniable.engines.form import ID

if TYPE_CHECKING:
    import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

_IDS = 1 << 22
"""Ids that are sorted at a time."""
_UNKNOWN = 64  # buckets of a table whose size is not known
_FILES = 512  # a process may open about a thousand files


@final
@dataclass
class Repeats:
    """The rows of a count whose ids come more than once; a context, as they lie in a temporary folder."""

    rows: int
    """About how many rows there are; 0 where that is not known."""
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

    def find(self, ids: Iterator[pa.Array]) -> None:
        """Learn which hashes come more than once, from all ids; those without a value are left out."""
        paths = [Path(self._folder.name) / f"{bucket}.hashes" for bucket in range(self._buckets)]
        files = [path.open("wb") for path in paths]
        try:
            for block in ids:
                hashes = hash_ids(block.drop_null())
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

        hashes = hash_ids(batch.column(ID))
        at = np.minimum(np.searchsorted(self._hashes, hashes), max(len(self._hashes) - 1, 0))
        twice = self._hashes[at] == hashes if len(self._hashes) else np.zeros(len(hashes), dtype=bool)
        if not twice.any():
            return batch
        of = hashes % np.uint64(self._buckets)
        with self._lock:
            for bucket in np.unique(of[twice]).tolist():
                self._put(bucket, batch.filter(pa.array(twice & (of == bucket))))
        return batch.filter(pa.array(~twice))

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


def hash_ids(ids: pa.Array) -> Hashes:
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
