"""Finds files of reports that are copies of others: what they hold counts twice."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from filecmp import cmp
from pathlib import Path

from deniable.errors import DeniableWarning

_LEAST = 100  # rows: a few reports may come out alike by chance
_END = 1 << 16  # bytes at the end of a file, where Parquet describes what is in it


def warn_copies(paths: Sequence[Path]) -> None:
    """Warn about files that are equal, byte for byte: noise is random, so that many reports never are."""
    for alike in _group(paths):
        first = alike[0]
        for other in alike[1:]:
            if cmp(first, other, shallow=False) and _count_rows(first) >= _LEAST:
                warnings.warn(
                    f"{other} is a copy of {first}, byte for byte: its reports count twice; leave one of the "
                    "two out",
                    DeniableWarning,
                    stacklevel=2,
                )


def _group(paths: Iterable[Path]) -> list[list[Path]]:
    """Files of one size that end alike: few files are, so that hardly any is read."""
    sizes: dict[int, list[Path]] = {}
    for path in paths:
        if path.is_file():
            sizes.setdefault(path.stat().st_size, []).append(path)
    groups: dict[tuple[int, bytes], list[Path]] = {}
    for size, members in sizes.items():
        for path in members if len(members) > 1 else []:
            groups.setdefault((size, _read_end(path, size)), []).append(path)
    return [members for members in groups.values() if len(members) > 1]


def _read_end(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, size - _END))
        return file.read()


def _count_rows(path: Path) -> int:
    """How many rows a file has; none where it cannot be read: its reader says what is wrong."""
    from pyarrow import ArrowException, parquet

    try:
        return int(parquet.read_metadata(path).num_rows)
    except (ArrowException, OSError):
        return 0
