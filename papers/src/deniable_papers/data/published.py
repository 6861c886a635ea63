"""Finds and reads files that others publish.

Files are looked for in the folder `$DENIABLE_DATA`, then in `papers/data` of a clone of the project, which
carries all that may be redistributed, then in the user's cache. A file that its publisher offers for download
is then fetched, checked and kept in the cache. A wrong file is refused with what was found in it.
"""

from __future__ import annotations

import logging
import lzma
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import pooch

from deniable.errors import DeniableError

if TYPE_CHECKING:
    from rich.progress import Progress

FOLDER = "DENIABLE_DATA"
"""The environment variable that names a folder of files."""
_COMPRESSED = ".xz"


class DataUnavailable(DeniableError):
    """A public dataset whose file is not here and cannot be fetched, or is not what it should be."""


@final
@dataclass(frozen=True)
class File:
    """A file of a dataset: how many rows and columns it has and, for an original, who publishes it."""

    name: str
    rows: int
    columns: int
    url: str | None = None
    sha256: str | None = None


_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
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
        File("acs-employment-montana.csv", 10_336, 18),
        File("acs-weights-montana.csv", 10_336, 80),
        File("acs-weights-delaware.csv", 9123, 80),
        File("census-income.data", 199_523, 42),
        File("census-income.test", 99_762, 42),
        File("census-income-sample.data", 1891, 42),
        File("ms-fimu-marginals.json", 88_935, 6),
        File("ms-fimu-visits.csv", 190_345, 3),
        File("paris-mobility.csv", 3456, 9),
        File("montgomery-911.csv", 9226, 9),
        File("adult-26k.csv", 45_849, 11),
        File("acs-coverage.csv", 98_739, 16),
        File("lsac.csv", 20_427, 7),
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
            f"{file.name} is not here, and is not an original that can be fetched from its publisher; put it "
            f"in a folder and set ${FOLDER} to that folder{say_carried()}"
        )
    return _fetch(file, file.url, file.sha256)


def say_carried() -> str:
    """Where else the file may be, in words, for somebody who has the package without the project."""
    return "" if carried_folder() else "; a clone of the project has public data in its folder papers/data"


def present(file: File) -> Path | None:
    """The path of a file, as it is or compressed, in the folder, in the project or in the cache."""
    for root in (_chosen_folder(), carried_folder(), _cache()):
        if root is None:
            continue
        for path in (root / file.name, root / (file.name + _COMPRESSED)):
            if path.is_file():
                return path
    return None


def read_text(file: File) -> str:
    """The text of a file, without its compression."""
    path = find(file)
    try:
        content = path.read_bytes()
        if path.suffix == _COMPRESSED:
            content = lzma.decompress(content)
        return content.decode("utf-8")
    except lzma.LZMAError as problem:
        raise DataUnavailable(f"{path} is damaged: {problem}") from None
    except UnicodeDecodeError:
        raise DataUnavailable(f"{path} is not text; {expected(file)}") from None


def carried_folder() -> Path | None:
    """The folder of public data in a clone of the project; None for a package that was installed alone."""
    folder = Path(__file__).parents[3] / "data"
    return folder if (folder / "NOTICE.md").is_file() else None


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
