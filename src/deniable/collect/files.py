"""Reads the files of the pages once, at the start; nothing else can be asked for."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
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

    @cached_property
    def etag(self) -> str:
        """Changes with the content."""
        return f'"{sha256(self.content).hexdigest()[:32]}"'

    @cached_property
    def compressed(self) -> File:
        """The content compressed by gzip, with an etag of its own: the bytes are others."""
        return File(gzip.compress(self.content, mtime=0), self.kind)


def read_files(folder: Path = FOLDER) -> Mapping[str, File]:
    """All files of a folder by name; those of no known kind are left out."""
    if not folder.is_dir():
        return {}
    return {
        file.name: File(file.read_bytes(), _KINDS[file.suffix])
        for file in sorted(folder.iterdir())
        if file.is_file() and file.suffix in _KINDS
    }


def accepts_gzip(header: str) -> bool:
    """Whether an `Accept-Encoding` header takes gzip, by name or as any encoding, and not with weight 0."""
    weights: dict[str, float] = {}
    for encoding in header.lower().split(","):
        name, *parameters = (part.strip() for part in encoding.split(";"))
        weights[name] = min((_weight(parameter) for parameter in parameters), default=1.0)
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def _weight(parameter: str) -> float:
    """The number of `q=0.5`; 0 for what cannot be read, since the plain bytes are always right."""
    name, _, number = parameter.partition("=")
    try:
        return float(number) if name == "q" else 0.0
    except ValueError:
        return 0.0
