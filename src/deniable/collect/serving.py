"""Runs the collector: one process, one event loop, one writer; it stops without losing anything."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import secrets
import signal
import socket
import sys
from pathlib import Path
from typing import Any, final

import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from deniable.collect.app import Collector
from deniable.collect.certificates import Certificate
from deniable.collect.connections import Connections
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


@final
class Punctual(HttpToolsProtocol):
    """The server's protocol, in which slow and endless requests cannot hold memory or connections.

    The server itself waits without limit for the rest of a request, or until an answer is read, and accepts
    headers of any length.
    """

    _timer: asyncio.TimerHandle | None = None
    _reader: asyncio.TimerHandle | None = None
    _arriving = True
    _has_head = False
    _beside = 0
    _before: RequestResponseCycle | None = None
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
        super().connection_lost(exc)

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
        self._beside += len(data)
        super().data_received(data)
        if self._beside > HEAD:
            self.transport.abort()
        elif self._timer is None and (self._arriving or self._is_resting()):
            self._start_timer(SECONDS if self._has_head else HEAD_SECONDS)

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

    def _is_resting(self) -> bool:
        """Whether nothing is being answered; empty lines before a request begin none."""
        return self.cycle is not None and self.cycle.response_complete

    def on_message_begin(self) -> None:
        self._arriving, self._has_head, self._beside = True, False, 0
        if self._crowd is not None:
            self._crowd.wait(self)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._has_head = True
        self._before = self.cycle
        self._stop_timer()  # that of the head; if the body is not there yet, its own is started
        super().on_headers_complete()

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
    collector: Collector,
    taken: socket.socket,
    proxy: str | None = None,
    certificate: Certificate | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; then what has arrived is written and answered, and this returns."""
    config = uvicorn.Config(
        collector,
        http=Punctual,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,  # it would have everybody's address
        server_header=False,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=20,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        # the server raises its signal again when it is done; that is the end, not a failure
        signal.signal(number, _end)
    _allow_files()
    config.load()
    app = config.loaded_app
    proxies = app.trusted_hosts if isinstance(app, ProxyHeadersMiddleware) else ()
    collector.connections = Connections(CONNECTIONS, collector.limits.at_once, lambda host: host in proxies)
    server = uvicorn.Server(config)
    if certificate is None:
        server.run(sockets=[taken])
        return
    config.ssl = certificate.context
    collector.metrics.certificate_ends = lambda: certificate.expires
    certificate.start()
    try:
        with asyncio.Runner(loop_factory=_make_loop) as runner:
            runner.run(server.serve(sockets=[taken]))
    finally:
        certificate.close()


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


def _end(*_: object) -> None:
    pass


def operator_token(file: Path) -> tuple[str, str]:
    """The operator's token and its origin: the environment, the file, or a new file for its owner only."""
    token, origin = os.environ.get("DENIABLE_TOKEN", ""), "DENIABLE_TOKEN"
    if not token:
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            token, origin = file.read_text(encoding="utf-8").strip(), str(file)
        else:
            token, origin = secrets.token_urlsafe(32), "new"
            with os.fdopen(handle, "w", encoding="utf-8") as opened:
                opened.write(token + "\n")
    if len(token) < _WEAK or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidParameter(
            f"the operator's token in {origin} must have at least {_WEAK} letters, at random"
        )
    return token, origin
