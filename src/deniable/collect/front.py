"""Answers requests by a router and a short way, within limits; sends our headers, and refuses in words."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping, Sequence
from typing import Any, final

import msgspec
from starlette.exceptions import HTTPException
from starlette.routing import Route, Router

from deniable.collect.limits import Connections, Gone, Limits, Pace, Receive, network_of
from deniable.collect.messages import Problem, Refusal
from deniable.collect.metrics import Metrics
from deniable.collect.openapi import Operation
from deniable.collect.viewing import Handler
from deniable.collect.writer import Busy
from deniable.store.store import StoreUnavailable
from deniable.wire import Refused

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
Short = Callable[[dict[bytes, bytes], Receive], Awaitable[tuple[int, bytes]]]
"""What takes a message without the router: its status and the body of the answer."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
SECURE: Headers = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
"""Sent with every answer: a page loads nothing from elsewhere, cannot be framed and sends no referrer."""

_SURVEY: Headers = [(name, value.replace(b"geolocation=()", b"geolocation=(self)")) for name, value in SECURE]
"""The survey may ask the browser for its location, for people who wish that; it stays on the page."""

_KIND = (b"content-type", b"application/json")
# each header takes time, and a receipt is no page
_NO_PAGE: Headers = [(b"x-content-type-options", b"nosniff")]

_log = logging.getLogger("deniable.collect")


@final
class Front:
    """What every request meets first."""

    def __init__(
        self,
        handlers: Sequence[tuple[Operation, Handler]],
        metrics: Metrics,
        limits: Limits,
        origins: Collection[str] = (),
        adding: Mapping[str, Short] | None = None,
    ) -> None:
        self.connections: Connections | None = None
        """All that are open; the server sets this."""
        self.limits = limits
        self.metrics = metrics
        self._present: Counter[str] = Counter()  # requests of each sender that are being answered
        self._pace = Pace(limits.rate, limits.burst)
        self._origins = {origin.encode() for origin in origins}
        self._adding = adding or {}
        self._router = Router(
            [
                Route(operation.path, handler, methods=[operation.method], name=operation.name)
                for operation, handler in handlers
            ],
            redirect_slashes=False,
        )

    def name_state(self, scope: Scope) -> None:
        """Tell the server's protocol what it counts and whom it may close."""
        state = scope.get("state", {})
        state["metrics"] = self.metrics
        if self.connections is not None:
            state["connections"] = self.connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sender = network_of(scope["client"][0] if scope["client"] else "")
        self._present[sender] += 1
        try:
            is_full = self.connections is not None and self.connections.is_full
            crowded = is_full or self._present[sender] > self.limits.at_once
            await self._answer(scope, receive, send, crowded)
        finally:
            self._present[sender] -= 1
            if not self._present[sender]:
                del self._present[sender]

    async def _answer(self, scope: Scope, receive: Receive, send: Send, crowded: bool) -> None:
        headers = dict(scope["headers"])
        shared = self._shared(headers) if self._origins else []
        more = SECURE
        try:
            if crowded:
                raise Refusal("busy", headers={"connection": "close"})
            client = scope["client"]
            wait = self._pace.wait(client[0] if client else "")
            if wait:
                raise Refusal("rate", headers={"retry-after": str(wait)})
            path = scope["path"]
            method, add = scope["method"], self._adding.get(path)
            if method == "POST" and add is not None:
                status, body = await add(headers, receive)
                more = _NO_PAGE
            elif method == "OPTIONS" and b"access-control-request-method" in headers and len(shared) > 1:
                status, body = 204, b""
            elif add is not None:
                raise Refusal("method", headers={"allow": "POST"})
            else:
                await self._route(scope, receive, send, shared)
                return
        except Gone:
            return
        except Exception as problem:
            refusal = _refusal(problem)
            self.metrics.refused[refusal.reason] += 1
            status, body = refusal.status, msgspec.json.encode(Problem(refusal.reason, refusal.detail))
            shared = shared + [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
        length = (b"content-length", b"%d" % len(body))
        await send(
            {"type": "http.response.start", "status": status, "headers": [_KIND, length, *more, *shared]}
        )
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _route(self, scope: Scope, receive: Receive, send: Send, shared: Headers) -> None:
        """Answer by Starlette's router, with our headers."""
        started = False

        async def guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [
                    *message["headers"],
                    *(_SURVEY if scope["path"] == "/" else SECURE),
                    *shared,
                ]
            await send(message)

        scope["app"] = self  # the router then raises what it cannot find
        try:
            await self._router(scope, receive, guarded)
        except Exception as problem:
            if not started:
                raise
            _log.error("an answer was cut off", exc_info=problem)
            raise Gone from None  # the reader sees that it is not whole

    def _shared(self, headers: dict[bytes, bytes]) -> Headers:
        """The headers that let a page of a listed site read the answer."""
        origin = headers.get(b"origin")
        if origin not in self._origins:
            return [(b"vary", b"origin")]
        allowed = [(b"vary", b"origin"), (b"access-control-allow-origin", origin)]
        if b"access-control-request-method" not in headers:
            return [*allowed, (b"access-control-expose-headers", b"retry-after")]
        return [
            *allowed,
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", b"authorization, content-type"),
            (b"access-control-max-age", b"600"),
        ]


def _refusal(problem: Exception) -> Refusal:
    """The answer to an exception; nothing about one that nobody expected."""
    if isinstance(problem, Refusal):
        return problem
    if isinstance(problem, Refused):
        return Refusal(problem.reason, str(problem))
    if isinstance(problem, Busy):
        return Refusal("busy")
    if isinstance(problem, StoreUnavailable):
        return Refusal("store")
    if isinstance(problem, HTTPException):
        return Refusal("method" if problem.status_code == 405 else "path", headers=problem.headers)
    _log.error("a request failed", exc_info=problem)
    return Refusal("fault")
