"""Sending: a report is sent until it has arrived, which is safe, since it is counted once."""

from __future__ import annotations

import http.client
import json
import math
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from typing import Callable, NamedTuple, TypeVar

from deniable_device.document import Json
from deniable_device.errors import InvalidParameter, NotSent

AGAIN = (0, 408, 425, 429, 500, 502, 503, 504)
LONGEST_WAIT = 60.0
TIMEOUT = 30.0
LONGEST_ANSWER = 1 << 16
TYPE = "application/octet-stream"
T = TypeVar("T")


class Answer(NamedTuple):
    """What a collector answered; the status is 0 where nobody did, or sent us elsewhere."""

    status: int
    body: bytes
    retry_after: str = ""


class Stay(urllib.request.HTTPRedirectHandler):
    """Does not go where a redirect leads."""

    def redirect_request(self, *_: object) -> None:
        return None


OPENER = urllib.request.build_opener(Stay)


def check_delivery(url: object, attempts: object, wait: object = None) -> None:
    """Checks to which collector a message goes, how often it is tried, and how long a pause before it is."""
    if not is_address(url):
        raise InvalidParameter(
            f"a collector's address is like http://localhost:8000 or https://example.org, got {url!r}"
        )
    check_count("attempts", attempts)
    if wait is None:
        return
    if isinstance(wait, bool) or not isinstance(wait, (int, float)) or not 0 <= wait < math.inf:
        raise InvalidParameter(f"wait is a number of seconds from 0 on, got {wait!r}")


def check_count(name: str, number: object) -> None:
    """Checks a number of attempts or of reports."""
    if type(number) is not int or number < 1:
        raise InvalidParameter(f"{name} must be an integer of at least 1, got {number!r}")


def is_address(url: object) -> bool:
    """Whether this is an address that can be asked: of a host that has a name, by a path in plain letters."""
    if not isinstance(url, str) or not url.isprintable() or set(" ?#@") & {*url}:
        return False
    try:
        parts = urllib.parse.urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        is_http = parts.scheme in ("http", "https")
        return is_http and bool(host) and parts.port != 0 and parts.path.isascii()
    except ValueError:
        return False


def post(address: str, body: bytes, authorization: str) -> Answer:
    """One request, by a connection of its own."""
    request = urllib.request.Request(address, body, {"Content-Type": TYPE}, method="POST")
    if authorization:
        request.add_header("Authorization", authorization)
    try:
        with OPENER.open(request, timeout=TIMEOUT) as answer:
            return Answer(answer.status, answer.read(LONGEST_ANSWER))
    except urllib.error.HTTPError as problem:
        with problem:
            if problem.code < 400:
                return Answer(0, b"")
            return Answer(problem.code, problem.read(LONGEST_ANSWER), problem.headers.get("Retry-After", ""))
    except (OSError, http.client.HTTPException):
        return Answer(0, b"")


def delay(answer: Answer, attempt: int) -> float:
    """How many seconds to wait: what the collector asks for, else longer each time, with chance."""
    if answer.retry_after.isdigit():
        return min(float(answer.retry_after), LONGEST_WAIT)
    return min(LONGEST_WAIT, float(2**attempt)) * (0.5 + secrets.randbelow(1000) / 2000)


def deliver(
    address: str, body: bytes, authorization: str, attempts: int, read: Callable[[Answer], T | None]
) -> T:
    """Posts a message until a collector has answered it; `read` gives None for any other answer."""
    answer = Answer(0, b"")
    for attempt in range(attempts):
        answer = post(address, body, authorization)
        content = read(answer) if answer.status in (200, 201) else None
        if content is not None:
            return content
        if answer.status >= 300 and answer.status not in AGAIN:
            break
        if attempt + 1 < attempts:
            time.sleep(delay(answer, attempt))
    raise refusal(answer)


def send(address: str, body: bytes, authorization: str, attempts: int) -> str:
    """Sends a report, and returns its outcome."""
    return deliver(address, body, authorization, attempts, lambda answer: field(answer, "outcome") or None)


def send_batch(address: str, reports: Sequence[bytes], attempts: int) -> list[str]:
    """Sends reports in one request, each after its length, and returns their outcomes."""

    def read(answer: Answer) -> list[str] | None:
        outcomes = members(answer).get("outcomes")
        if not isinstance(outcomes, list) or len(outcomes) != len(reports):
            return None
        return list(map(str, outcomes))

    body = b"".join(len(report).to_bytes(4, "little") + report for report in reports)
    return deliver(address, body, "", attempts, read)


def members(answer: Answer) -> dict[str, Json]:
    """The object that a collector answered; empty where it is none."""
    try:
        tree = json.loads(answer.body.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    return tree if isinstance(tree, dict) else {}


def field(answer: Answer, name: str) -> str:
    """A text of the object that a collector answered; empty where there is none."""
    value = members(answer).get(name)
    return value if isinstance(value, str) else ""


def refusal(answer: Answer) -> NotSent:
    """The error for what a collector did not take."""
    if answer.status < 400:
        return NotSent("nobody answered as a collector does; the same report can be sent again", 0)
    detail = field(answer, "detail") or "the collector refused the report"
    return NotSent(detail, answer.status, field(answer, "reason"))


def pause(seconds: float | None) -> None:
    """Waits, so that time does not link a report to its exchange."""
    time.sleep(60 + secrets.randbelow(540_000) / 1000 if seconds is None else seconds)
