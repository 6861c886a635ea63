"""Reads the files of the pages once, at the start; nothing else can be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import final

FOLDER = Path(__file__).parent / "pages"

_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".txt": "text/plain; charset=utf-8",
}


@final
@dataclass(frozen=True)
class File:
    """Bytes and what they are."""

    content: bytes
    kind: str

    @property
    def etag(self) -> str:
        """Changes with the content."""
        return f'"{sha256(self.content).hexdigest()[:32]}"'


def read_files(folder: Path = FOLDER) -> Mapping[str, File]:
    """All files of a folder by name; those of no known kind are left out."""
    if not folder.is_dir():
        return {}
    return {
        file.name: File(file.read_bytes(), _KINDS[file.suffix])
        for file in sorted(folder.iterdir())
        if file.is_file() and file.suffix in _KINDS
    }
