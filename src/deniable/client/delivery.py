"""Delivers a message to a collector until there is an answer, each time by a new connection."""

from __future__ import annotations

import json
import math
import secrets
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from deniable.errors import DeniableError, InvalidParameter
from deniable.exact import whole_number

if TYPE_CHECKING:
    from http.client import HTTPConnection

Receipt = Literal["counted", "counted before"]
Answer = TypeVar("Answer")

BINARY = "application/octet-stream"

_RETRIED = {408, 425, 429, 500, 502, 503, 504}
_LONGEST = 10_000  # bytes of an answer
_PATIENCE = 60.0  # seconds: no pause between two attempts is longer


class NotSent(DeniableError):
    """A report that the collector refused, or that did not arrive; it can be sent again as it is."""

    def __init__(self, message: str, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        """The collector's answer as a number of HTTP; 0 where there was none."""
        self.reason = reason
        """The collector's word for why, such as "invitation" or "closed"; empty where it gave none."""

    @property
    def is_final(self) -> bool:
        """Whether the collector refused the report, so that sending it again does not help."""
        return self.status >= 400 and self.status not in _RETRIED


class Response(NamedTuple):
    """What came back: also from a portal or a proxy."""

    status: int
    body: bytes
    kind: str = ""
    """The media type, in lower case."""
    wished: str | None = None
    """The pause that was asked for."""


class Message(NamedTuple):
    """What is posted, and for how many seconds one attempt may last in all."""

    url: str
    body: bytes
    headers: Mapping[str, str]
    timeout: float

    @staticmethod
    def of(url: str, body: bytes, timeout: float, token: str = "") -> Message:
        """A message of bytes, with the invitation or the ticket that lets it in."""
        authorization = {"Authorization": token} if token else {}
        return Message(url, body, {"Content-Type": BINARY, **authorization}, timeout)


def deliver(
    what: str, message: Message, attempts: int, understand: Callable[[Response], Answer | None]
) -> Answer:
    """Post a message until the collector has answered it; `understand` gives None for any other answer."""
    problem, status, said = "it was not tried", 0, Reply()
    for attempt in range(attempts):
        pause = min(_PATIENCE, 0.1 * 2**attempt)
        try:
            response = _post(message)
        except OSError as failure:
            problem, status, said = str(failure) or type(failure).__name__, 0, Reply()
        else:
            status, answer = response.status, response.body
            understood = understand(response) if status in (200, 201) else None
            if understood is not None:
                return understood
            said = read_reply(answer)
            problem = said.detail.rstrip(".") or f"{status} {_format_text(answer)}".rstrip()
            if status >= 400 and status not in _RETRIED:
                raise NotSent(f"the collector refused the {what}: {problem}", status, said.reason)
            if response.wished is not None and response.wished.isdecimal():  # within reason
                pause = min(_PATIENCE, max(pause, float(response.wished)))
        if attempt + 1 < attempts:
            time.sleep(pause * (0.5 + secrets.randbelow(1000) / 1000))
    text = f"the {what} did not arrive in {attempts} attempts ({problem}); send the same {what} again later"
    raise NotSent(text, status, said.reason)


def check_delivery(url: object, attempts: object, timeout: object) -> None:
    """Check to which collector a message goes, how often it is tried, and for how many seconds each time."""
    if not _is_address(url):
        raise InvalidParameter(
            f"a collector's address is like http://localhost:8000 or https://example.org, got {url!r}"
        )
    whole_number("attempts", attempts, 1)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
        raise InvalidParameter(f"timeout is a number of seconds above 0, got {timeout!r}")


def _is_address(url: object) -> bool:
    """Whether this is an address that can be asked: of a host that has a name, by a path in plain letters."""
    from urllib.parse import urlsplit

    if not isinstance(url, str) or not url.isprintable() or set(" ?#@") & {*url}:
        return False
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        is_http = parts.scheme in ("http", "https")
        return is_http and bool(host) and parts.port != 0 and parts.path.isascii()
    except ValueError:
        return False


def _post(message: Message) -> Response:
    """Post a message within its time: from the look-up of the name to the last byte of the answer.

    The limit of a socket is one for each piece that arrives. So a collector that sends a byte now and then
    would hold a device for ever. A thread of its own posts, and is left alone when the time is over.
    """
    import http.client
    import threading
    from urllib.parse import urlsplit

    outcome: list[Response | Exception] = []
    parts = urlsplit(message.url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=message.timeout)

    def post() -> None:
        try:
            outcome.append(_exchange(connection, message))
        except Exception as problem:  # it is raised where somebody waits for it
            outcome.append(problem)

    thread = threading.Thread(target=post, name="deniable-send", daemon=True)
    thread.start()
    thread.join(message.timeout)
    if not outcome:
        _cut(connection)
        raise TimeoutError(f"there was no whole answer within {message.timeout:g} seconds")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def _cut(connection: HTTPConnection) -> None:
    """End a connection that another thread still reads from."""
    import socket

    try:
        if connection.sock is not None:
            socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)
    except OSError:  # it has ended by itself
        pass


def _exchange(connection: HTTPConnection, message: Message) -> Response:
    """Post a message; no redirect is followed, since an invitation is for the collector."""
    import http.client
    from urllib.parse import urlsplit

    parts = urlsplit(message.url)
    try:
        connection.request("POST", parts.path, message.body, dict(message.headers))
        answer = connection.getresponse()
        headers = answer.headers
        return Response(
            answer.status, answer.read(_LONGEST), headers.get_content_type(), headers.get("Retry-After")
        )
    except http.client.HTTPException as problem:
        raise OSError(f"the answer cannot be read ({type(problem).__name__})") from None
    finally:
        connection.close()


def _format_text(answer: bytes) -> str:
    text = answer[:1000].decode(errors="replace")
    return text if "\ufffd" not in text else "and an answer that is no text"


class Reply(NamedTuple):
    """A collector's reply: that it has the report, or a word and a sentence for why not."""

    outcome: Receipt | None = None
    reason: str = ""
    detail: str = ""


def read_reply(answer: bytes) -> Reply:
    """Read a reply; anything else, such as a portal's or a proxy's page, is no receipt."""
    said = _read_object(answer)
    outcome = said.get("outcome")
    reason, detail = (
        text if isinstance(text, str) else "" for text in (said.get("reason"), said.get("detail"))
    )
    return Reply(outcome if outcome in ("counted", "counted before") else None, reason[:100], detail[:1000])


def read_outcomes(answer: bytes, count: int) -> tuple[str, ...] | None:
    """Read what became of each of so many reports of a batch; None for any other answer."""
    outcomes = _read_object(answer).get("outcomes")
    if not isinstance(outcomes, list) or len(outcomes) != count:
        return None
    return tuple(map(str, outcomes))


def _read_object(answer: bytes) -> dict[str, Any]:
    """Read a JSON object; an empty one for anything else."""
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
