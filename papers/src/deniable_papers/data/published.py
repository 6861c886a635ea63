"""Finds and reads files that others publish.

Files are looked for in the folder `$DENIABLE_DATA`, then in the folder `files` of this package, which carries
all that may be redistributed, then in the user's cache. A file whose publisher and hash are known is then
fetched, checked and kept in the cache. A missing file is named with its source and its form. A wrong file is
refused with what was found in it.
"""

from __future__ import annotations

import gzip
import logging
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import pooch

from deniable.errors import DeniableError

if TYPE_CHECKING:
    from rich.progress import Progress

FOLDER = "DENIABLE_DATA"
"""The environment variable that names a folder of files."""
_COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {".xz": lzma.decompress, ".gz": gzip.decompress}


class DataUnavailable(DeniableError):
    """A public dataset whose file is not here and cannot be fetched, or is not what it should be."""


@final
@dataclass(frozen=True)
class File:
    """A file of a dataset: how many rows and columns it has, and where it comes from.

    A file with a url and a hash can be fetched.
    """

    name: str
    rows: int
    columns: int
    url: str | None = None
    sha256: str | None = None
    source: str = ""
    """Who publishes it, in words, where it cannot be fetched."""


_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_ACS = "the American Community Survey 2018 of the US Census Bureau"
_CENSUS = f"UCI's Census-Income (KDD), {_UCI}/census-income-mld"
_FAIRNESS = "the public repository ldp-fairness-impact of hharcolezi"
_FIMU = "the public repository OpenMSFIMU of hharcolezi"
FILES = {
    file.name: file
    for file in (
        File(
            "adult.data",
            32_561,
            15,
            f"{_UCI}/adult/adult.data",
            "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        ),
        File(
            "adult.test",
            16_281,
            15,
            f"{_UCI}/adult/adult.test",
            "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        ),
        File(
            "nursery.data",
            12_960,
            9,
            f"{_UCI}/nursery/nursery.data",
            "8e0389c3dd37590248a921c2726d869ee96b817761a35eb8416afa24f31f931d",
        ),
        File("acs-employment-montana.csv", 10_336, 18, source=_ACS),
        File("acs-weights-montana.csv", 10_336, 80, source=_ACS),
        File("acs-weights-delaware.csv", 9123, 80, source=_ACS),
        File("census-income.data", 199_523, 42, source=_CENSUS),
        File("census-income.test", 99_762, 42, source=_CENSUS),
        File("census-income-sample.data", 1891, 42, source=_CENSUS),
        File("ms-fimu-marginals.json", 88_935, 6, source=_FIMU),
        File("ms-fimu-visits.csv", 190_345, 3, source=_FIMU),
        File(
            "paris-mobility.csv",
            3456,
            9,
            source="the public repository ldp-protocols-mobility-cdrs of hharcolezi",
        ),
        File(
            "montgomery-911.csv",
            9226,
            9,
            source="the emergency calls of Montgomery County, Pennsylvania, of 2015-12-10 to 2016-01-04",
        ),
        File("adult-26k.csv", 45_849, 11, source=_FAIRNESS),
        File("acs-coverage.csv", 98_739, 16, source=_FAIRNESS),
        File("lsac.csv", 20_427, 7, source=_FAIRNESS),
    )
}
"""Every file, by name, with the hashes of the originals; a copy in `$DENIABLE_DATA` is judged by content."""


def find(file: File) -> Path:
    """The path of a file, which may be compressed; it is fetched into the cache if it is nowhere else."""
    path = present(file)
    if path is not None:
        return path
    if file.url is None or file.sha256 is None:
        raise DataUnavailable(
            f"{file.name} is not here. It comes from {file.source} and has {file.rows:,} rows of "
            f"{file.columns} columns. Put it in a folder, as it is or compressed (.xz, .gz), and set "
            f"${FOLDER} to that folder"
        )
    return _fetch(file, file.url, file.sha256)


def present(file: File) -> Path | None:
    """The path of a file, as it is or compressed, in the chosen folder, in this package or in the cache."""
    for root in (_chosen_folder(), carried_folder(), _cache()):
        if root is None:
            continue
        for ending in ("", *_COMPRESSIONS):
            path = root / f"{file.name}{ending}"
            if path.is_file():
                return path
    return None


def read_text(file: File) -> str:
    """The text of a file, without its compression."""
    path = find(file)
    try:
        content = path.read_bytes()
        decompress = _COMPRESSIONS.get(path.suffix)
        return (content if decompress is None else decompress(content)).decode("utf-8")
    except (lzma.LZMAError, EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise DataUnavailable(f"{path} is damaged: {problem}") from None
    except UnicodeDecodeError:
        raise DataUnavailable(f"{path} is not text; {expected(file)}") from None


def carried_folder() -> Path:
    """The folder of public data that this package carries."""
    return Path(__file__).parent / "files"


def _chosen_folder() -> Path | None:
    folder = os.environ.get(FOLDER)
    if folder and not Path(folder).is_dir():
        raise DataUnavailable(f"${FOLDER} is {folder!r}, which is not a folder")
    return Path(folder) if folder else None


def _cache() -> Path:
    return Path(pooch.os_cache("deniable"))


def _fetch(file: File, url: str, sha256: str) -> Path:
    """Download to the cache; what has another SHA-256 than the original is not kept."""
    cache = _cache()
    pooch.get_logger().setLevel(logging.WARNING)
    bar = _Bar(file.name) if sys.stderr.isatty() else False
    try:
        return Path(
            pooch.retrieve(
                url, f"sha256:{sha256}", file.name, cache, downloader=pooch.HTTPDownloader(progressbar=bar)
            )
        )
    except OSError as problem:
        raise DataUnavailable(
            f"cannot fetch {file.name} ({type(problem).__name__}); download {url} by other means, and put it "
            f"in {cache} or in a folder that ${FOLDER} names"
        ) from None
    except ValueError as problem:
        raise DataUnavailable(
            f"{url} is not the file that was published, so it was not kept: {problem}"
        ) from None


class _Bar:
    """A progress bar with the few verbs that a downloader calls."""

    total: int

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown: Progress | None = None

    def update(self, size: int) -> None:
        """Add to the bytes received."""
        if self._shown is None:
            from rich.console import Console
            from rich.progress import Progress

            self._shown = Progress(console=Console(stderr=True), transient=True)
            self._task = self._shown.add_task(f"fetching {self._name}", total=self.total)
            self._shown.start()
        self._shown.advance(self._task, size)

    def reset(self) -> None:
        """The downloader fills the bar at the end, after it has emptied it."""
        if self._shown is not None:
            self._shown.reset(self._task)

    def close(self) -> None:
        """Done, or given up."""
        if self._shown is not None:
            self._shown.stop()


def rows_of(file: File, header: Sequence[str] = ()) -> list[list[str]]:
    """The fields of a file without quotes, a list for each row; wrong columns or missing rows are refused."""
    path = find(file)
    lines = [line for line in read_text(file).splitlines() if line and not line.startswith("|")]
    rows = [[field.strip() for field in line.split(",")] for line in lines]
    if header:
        first = rows[0] if rows else []
        if first != list(header):
            raise DataUnavailable(
                f"{path} has the columns {', '.join(first) or '(none)'}; expected {', '.join(header)}"
            )
        del rows[0]
    odd = next((number for number, row in enumerate(rows, 1) if len(row) != file.columns), None)
    if odd is not None:
        raise DataUnavailable(f"{path} has {len(rows[odd - 1])} columns in row {odd}; {expected(file)}")
    if len(rows) != file.rows:
        raise DataUnavailable(f"{path} has {len(rows):,} rows; {expected(file)}")
    return rows


def expected(file: File) -> str:
    """What should be in a file, and what to do if it is not, in words."""
    again = f"; download it again from {file.url}" if file.url else ""
    return f"{file.rows:,} rows of {file.columns} columns were expected{again}"
