"""Runs the collector: one process, one event loop, one writer; it stops without losing anything."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, final

import msgspec
import uvicorn
from uvicorn._types import ASGI3Application
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from deniable.collect.certificates import Certificate
from deniable.collect.front import Front, Scope, Send
from deniable.collect.limits import Connections, Receive
from deniable.collect.messages import Problem, Refusal
from deniable.errors import DeniableError, InvalidParameter

HEAD_SECONDS = 10.0
"""Seconds in which the head of a request must arrive; then it is given up."""
SECONDS = 30.0
"""Seconds in which its body must arrive."""
LEAST = 1 << 10
"""Bytes a second at which a client must read a long answer; else the rest is not sent."""
HEAD = 64 << 10
"""Bytes of a request besides its body: its address, its headers, and the framing of chunks."""
CONNECTIONS = 900
"""Connections at once. For one more, the oldest with an unfinished request is closed; else it is refused."""
FILES = 4096
"""Files that may be open, where the system allows it: connections, and those that are being closed."""

_WEAK = 16  # characters: a shorter token can be guessed
_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_PIECE = 8 << 10  # bytes that are parsed before the length of a head is looked at again
_SINGLE = (b"host", b"authorization", b"content-type", b"content-length", b"transfer-encoding")
_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(:[0-9]*)?")


class Application(Protocol):
    """What can be served."""

    @property
    def front(self) -> Front:
        """What every request meets first."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as ASGI has it."""


@final
class Punctual(HttpToolsProtocol):
    """The server's protocol, in which slow and endless requests cannot hold memory or connections.

    The server itself waits without limit for the rest of a request, or until an answer is read, and accepts
    headers of any length. Of several requests that come at once it forgets all but the last when their
    sender hangs up, and answers into a connection that is gone.
    """

    _timer: asyncio.TimerHandle | None = None
    _reader: asyncio.TimerHandle | None = None
    _arriving = True
    _has_head = False
    _beside = 0
    _head = 0
    _before: RequestResponseCycle | None = None
    _answered: RequestResponseCycle | None = None
    _refusal: Refusal | None = None
    _is_refused = False
    _crowd: Connections | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        super().connection_made(transport)
        self._crowd = self.app_state.get("connections")
        if self._crowd is not None:
            self._crowd.add(self, self.client[0] if self.client else "")
            if len(self._crowd) > CONNECTIONS + 50:
                transport.abort()
                return
        self._start_timer(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._crowd is not None:
            self._crowd.remove(self)
        self._stop_timer()
        self._stop_waiting()
        self.pipeline.clear()  # nobody waits for their answers
        if self._answered is not None and not self._answered.response_complete:
            self._answered.disconnected = True
            self._answered.message_event.set()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._stop_waiting()
        super().resume_writing()

    def _wait(self, before: int) -> None:
        """Wait for a client that reads its answer, not for one that reads nothing."""
        self._stop_waiting()
        self._reader = self.loop.call_later(SECONDS, self._look, before)

    def _look(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if before - left < LEAST * SECONDS:
            self.transport.abort()
        else:
            self._wait(left)

    def _stop_waiting(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            if self._is_refused or self.transport.is_closing():
                return
            piece = data[start : start + _PIECE]
            self._beside += len(piece)
            super().data_received(piece)
            if self._beside > HEAD and not self._is_refused:
                self._refuse(_long_head())
        if self._is_refused:
            return
        # empty lines before a request begin none
        is_resting = self.cycle is not None and self.cycle.response_complete
        if self._timer is None and (self._arriving or is_resting):
            self._start_timer(SECONDS if self._has_head else HEAD_SECONDS)

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that the parser, or one of the checks below, has refused."""
        self._refuse(self._refusal or Refusal("request", "This is no request of HTTP/1.1."))

    def _refuse(self, refusal: Refusal) -> None:
        """Refuse the request that is arriving and close, once the requests before it are answered."""
        self._is_refused = True
        self._stop_timer()
        if "metrics" in self.app_state:
            self.app_state["metrics"].refused[refusal.reason] += 1
        if self._has_head and self.pipeline and self._before is not None:
            self.pipeline.popleft()  # its answer is not begun, and never will be
            self.cycle, self._has_head = self._before, False
        if not self._has_head and self.cycle is not None and not self.cycle.response_complete:
            self._arriving = False
            self.cycle.keep_alive = False  # the last of those that are answered
            if self._crowd is not None:
                self._crowd.answer(self)
            return
        if not self._has_head or not self.cycle.response_started:
            self.transport.write(_format_refusal(refusal))
        self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn's closes at once
        """Answer each request that has arrived before closing, though its sender will send no more.

        TLS has no such half of a connection.
        """
        if self.scheme == "https" or (self._arriving and not self._forget_half()):
            return False
        if self.cycle is None or self.cycle.response_complete:
            return False
        self.cycle.keep_alive = False  # the last of those that are answered
        return True

    def _forget_half(self) -> bool:
        """Forget a request whose rest never comes, if it is not in the works yet: is it forgotten?"""
        if self._has_head:
            if not self.pipeline or self._before is None:
                return False
            self.pipeline.popleft()
            self.cycle = self._before
        self._arriving, self._has_head = False, False
        self._stop_timer()
        if self._crowd is not None:
            self._crowd.answer(self)
        return True

    def on_message_begin(self) -> None:
        self._arriving, self._has_head, self._beside, self._head = True, False, 0, 0
        if self._crowd is not None:
            self._crowd.wait(self)
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._lengthen_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._lengthen_head(len(name) + len(value) + 4)
        if not self._has_head:  # else it comes after the body, and says nothing that is read here
            super().on_header(name, value)

    def _lengthen_head(self, length: int) -> None:
        self._head += length
        if self._head > HEAD:
            self._refusal = _long_head()
            raise self._refusal

    def on_headers_complete(self) -> None:
        problem = _find_ambiguity(self.parser.get_http_version(), self.url, self.headers)
        if problem is not None:
            self._refusal = Refusal("request", problem)
            raise self._refusal
        before = self.cycle
        super().on_headers_complete()
        self._has_head, self._before = True, before
        self._stop_timer()  # that of the head; if the body is not there yet, its own is started

    def on_body(self, body: bytes) -> None:
        self._beside -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._arriving, self._has_head, self._beside = False, False, 0
        self._stop_timer()
        if self._crowd is not None:
            self._crowd.answer(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._crowd is not None and not self._arriving and not self.pipeline:
            self._crowd.rest(self)

    def _start_timer(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self.give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def give_up(self) -> None:
        """Close the connection: its request takes too long, or others need the room."""
        self._stop_timer()
        if self.transport.is_closing():
            return
        if self._arriving:
            if "metrics" in self.app_state:
                self.app_state["metrics"].refused["slow"] += 1
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                self.transport.write(_LATE)
        self.transport.close()


def _long_head() -> Refusal:
    return Refusal(
        "head", f"The head of the request is longer than {HEAD:,} bytes, the most that is taken here."
    )


def _format_refusal(refusal: Refusal) -> bytes:
    """The answer to a request that no handler sees."""
    body = msgspec.json.encode(Problem(refusal.reason, refusal.detail))
    head = (
        b"content-type: application/json\r\nx-content-type-options: nosniff\r\nconnection: close\r\n"
        b"content-length: %d\r\n\r\n" % len(body)
    )
    return STATUS_LINE[refusal.status] + head + body


def _find_ambiguity(version: str, url: bytes, headers: list[tuple[bytes, bytes]]) -> str | None:
    """Why another server could read the head of this request in another way, or None.

    A proxy that reads it differently would let a request pass that it was told to stop.
    """
    if version not in ("1.0", "1.1"):
        return f"This is HTTP/{version}, and only HTTP/1.1 and 1.0 are spoken here."
    names = [name for name, _ in headers]
    for single in _SINGLE:
        if names.count(single) > 1:
            return f"The request has {names.count(single)} headers '{single.decode()}', where one is allowed."
    values = dict(headers)
    host = values.get(b"host")
    if host is None and version == "1.1":
        return "The request has no header 'host', which HTTP/1.1 requires."
    if host is not None and not _HOST.fullmatch(host):
        return "The header 'host' must be a name or an address, with a port if you like."
    coding = values.get(b"transfer-encoding")
    if coding is not None and (version == "1.0" or coding.lower() != b"chunked"):
        return "The only transfer encoding is 'chunked', in HTTP/1.1."
    authority = url.lower().partition(b"://")[2].partition(b"/")[0]
    if not url.startswith((b"/", b"*")) and authority != (host or b"").lower():
        return "The address of the request names another host than its header."
    return None


def listen(host: str, port: int) -> socket.socket:
    """Bind the address before announcing it; port 0 is any that is free."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as problem:
        # the address is said already
        reason = str(getattr(problem, "strerror", None) or problem).partition(" (while ")[0]
        raise DeniableError(
            f"cannot listen on {host} port {port}: {reason}; choose another with --host and --port"
        ) from None


def address_of(taken: socket.socket, scheme: str = "http") -> str:
    """The address for a browser on this machine."""
    host, port = taken.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def outside_address(taken: socket.socket) -> str | None:
    """The address for other machines, if there is one."""
    host, port = taken.getsockname()[:2]
    address = ipaddress.ip_address(host.partition("%")[0])
    if address.is_loopback:
        return None
    if address.is_unspecified:
        host = _own_address(taken.family) or socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _own_address(family: int) -> str | None:
    """This machine's address in its network; nothing is sent to find it."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            # no machine has it, by RFC 5737
            probe.connect(("2001:db8::1" if family == socket.AF_INET6 else "192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:  # no network
            return None


def run(
    app: Application,
    taken: socket.socket,
    proxy: str | None = None,
    certificate: Certificate | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; then what has arrived is written and answered, and this returns."""
    config = configure(
        app,
        http=Punctual,
        lifespan="on",
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy,
        timeout_graceful_shutdown=20,
    )
    server = uvicorn.Server(config)
    end_quietly(server)
    _allow_files()
    config.load()
    loaded, front = config.loaded_app, app.front
    proxies = loaded.trusted_hosts if isinstance(loaded, ProxyHeadersMiddleware) else ()
    front.connections = Connections(CONNECTIONS, front.limits.at_once, lambda host: host in proxies)
    if certificate is None:
        server.run(sockets=[taken])
        return
    config.ssl = certificate.context
    front.metrics.certificate_ends = lambda: certificate.expires
    certificate.start()
    try:
        with asyncio.Runner(loop_factory=_make_loop) as runner:
            runner.run(server.serve(sockets=[taken]))
    finally:
        certificate.close()


def configure(app: Callable[..., Any], **settings: Any) -> uvicorn.Config:
    """The settings of a server that logs nothing: its log would have everybody's address."""
    return uvicorn.Config(
        app,
        ws="none",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=15,
        **settings,
    )


def end_quietly(server: uvicorn.Server) -> None:
    """Take SIGTERM and SIGINT for the end, not for a failure, also before the server listens for them.

    A server raises them again when it is done.
    """

    def end(*_: object) -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def _make_loop() -> asyncio.AbstractEventLoop:
    """The server's loop, in which a handshake of TLS has as little time as the head of a request."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    @final
    class Loop(uvloop.Loop):
        """Adds the one setting that the server does not pass on."""

        async def create_server(self, *arguments: Any, **settings: Any) -> Any:
            return await super().create_server(*arguments, **settings, ssl_handshake_timeout=HEAD_SECONDS)

    return Loop()


def _allow_files() -> None:
    """Raise the limit of open files, as far as the system allows it."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def operator_token(file: Path) -> tuple[str, str]:
    """The operator's token and its origin: the environment, the file, or a new file for its owner only."""
    known = find_operator_token(file)
    if known is not None:
        return known
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:  # it was made since
        return operator_token(file)
    token = secrets.token_urlsafe(32)
    with os.fdopen(handle, "w", encoding="utf-8") as opened:
        opened.write(token + "\n")
    return token, "new"


def find_operator_token(file: Path) -> tuple[str, str] | None:
    """The operator's token and its origin, the environment or the file; a weak one is refused."""
    token, origin = os.environ.get("DENIABLE_TOKEN", ""), "DENIABLE_TOKEN"
    if not token:
        if not file.exists():
            return None
        token, origin = file.read_text(encoding="utf-8").strip(), str(file)
    if len(token) < _WEAK or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidParameter(
            f"the operator's token in {origin} must have at least {_WEAK} letters, at random"
        )
    return token, origin
