"""Makes the HTTP responses of the collector: messages, downloads and files that browsers keep."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from deniable.collect.files import File

UNSTORED = {"cache-control": "no-store"}
"""The header of what no browser keeps."""


def respond(message: object) -> Response:
    """A message, which no browser keeps."""
    return Response(msgspec.json.encode(message), media_type="application/json", headers=UNSTORED)


def respond_file(content: bytes, kind: str, name: str) -> Response:
    """A file to save under a name, which no browser keeps."""
    disposition = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=UNSTORED | disposition)


def respond_cached(
    request: Request, file: File, etag: str, how: str, more: Mapping[str, str] | None = None
) -> Response:
    """A file that browsers keep; nothing but its tag where a browser has it already."""
    headers = {"etag": etag, "cache-control": how, **(more or {})}
    if etag in request.headers.get("if-none-match", ""):
        headers.pop("content-encoding", None)
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.kind, headers=headers)
