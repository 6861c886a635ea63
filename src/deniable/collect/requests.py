"""Reads what a request asks for, and writes the forms of an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from deniable.collect import messages
from deniable.collect.files import File
from deniable.collect.limits import Held, Room
from deniable.collect.messages import Refusal
from deniable.errors import not_among

Sent = TypeVar("Sent", bound=messages.Message)

UNSTORED = {"cache-control": "no-store"}
"""Of what no browser keeps."""
_LONGEST = 40  # characters of a name that nobody knows, which are repeated


async def receive_body(request: Request, most: int) -> bytes:
    """The body of a request, of so many bytes at most."""
    with Held(Room(most)) as reserved:
        return await reserved.body(request.receive, most)


def decode(raw: bytes, kind: type[Sent], form: str) -> Sent:
    """A message; what is none is refused, with the form that it has."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise Refusal("parameter", f"Send {form}: {problem}") from None


def read_whole(text: str, name: str) -> int:
    """A whole number of at most nine digits."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Refusal("parameter", f"{name} must be a whole number.")
    return int(text)


def check_query(request: Request, path: str, known: Collection[str]) -> None:
    """Refuse a parameter that is not known at this path, or is given twice: nothing would read it."""
    given = Counter(name for name, _ in request.query_params.multi_items())
    for name, times in given.items():
        if name not in known:
            short = name[:_LONGEST]
            if not known:
                raise Refusal("parameter", f"{short!r} is not a parameter of {path}, which has none.")
            raise Refusal("parameter", not_among(short, f"a parameter of {path}", known))
        if times > 1:
            raise Refusal("parameter", f"{name} is given {times} times; give it once.")


def read_round(request: Request) -> int | None:
    """The number of the round, where one is asked for."""
    text = request.query_params.get("round")
    return None if text is None else read_whole(text, "round")


def read_level(request: Request) -> float:
    """The level of intervals, 0.95 unless another is asked for."""
    try:
        level = float(request.query_params.get("level", "0.95"))
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise Refusal("parameter", "level must be a number between 0 and 1, such as 0.95.")
    return level


def read_weights(request: Request) -> str:
    """The sizes of known groups in the population, as JSON; empty where the people who reported are meant."""
    return request.query_params.get("weights", "")


def read_choice(request: Request, name: str, allowed: Sequence[str]) -> str:
    """One of the words that are allowed, the first of them unless another is asked for."""
    choice = request.query_params.get(name, allowed[0])
    if choice not in allowed:
        raise Refusal("parameter", not_among(choice, f"a value of {name}", allowed))
    return choice


def respond(message: object) -> Response:
    """A message, which no browser keeps."""
    return Response(msgspec.json.encode(message), media_type="application/json", headers=UNSTORED)


def respond_file(content: bytes, kind: str, name: str) -> Response:
    """A file to keep, under this name."""
    headers = UNSTORED | {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)


def respond_cached(
    request: Request, file: File, etag: str, how: str, more: Mapping[str, str] | None = None
) -> Response:
    """A file that browsers keep; nothing but its tag where a browser has it already."""
    headers = {"etag": etag, "cache-control": how, **(more or {})}
    if etag in request.headers.get("if-none-match", ""):
        headers.pop("content-encoding", None)
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.kind, headers=headers)
