"""Bounds the collector's memory: the length of a message, how many are held, and how often one may ask."""

from __future__ import annotations

import ipaddress
import math
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self, final

from deniable.collect.refusals import Refusal
from deniable.wire import Wire

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

_HEADER = 29  # bytes of a report before its body


@final
@dataclass(frozen=True)
class Limits:
    """The most that is accepted. With these defaults, floods of the largest batches took 404 MiB."""

    report_bytes: int = 1 << 20
    """For one report, in either form; a plan whose reports can be longer is not served."""
    batch_bytes: int = 4 << 20
    batch_reports: int = 10_000
    held_bytes: int = 64 << 20
    """For all messages that are being received at once."""
    rate: float = 50.0
    """Requests a second from one sender; 0 is without limit."""
    burst: float = 500.0
    """How many may come at once."""
    at_once: int = 300
    """Requests of one sender that are answered at the same time, and connections of one address."""


class Gone(Exception):
    """The client has hung up."""


@final
class Room:
    """How many bytes of messages are held in memory at once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0


@final
class Held:
    """The room that one message takes, from its first byte until it is answered."""

    __slots__ = ("_room", "size")

    def __init__(self, room: Room) -> None:
        self._room = room
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._room.held -= self.size

    async def body(self, receive: Receive, most: int, declared: bytes | None = None) -> bytes:
        """Receive a message, and stop as soon as it is too long."""
        if declared is not None and declared.isdigit() and (len(declared) > 18 or int(declared) > most):
            raise too_large(most)
        parts = []
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            part = message.get("body", b"")
            self.size += len(part)
            self._room.held += len(part)
            if self.size > most:
                raise too_large(most)
            if self._room.held > self._room.most:
                raise Refusal("busy", headers={"connection": "close"})
            parts.append(part)
            more = message.get("more_body", False)
        return b"".join(parts)


def too_large(most: int) -> Refusal:
    """The refusal of a long message; the connection is closed, since the rest may still be coming."""
    return Refusal(
        "large",
        f"The message is longer than {most:,} bytes, the most that is taken here.",
        {"connection": "close"},
    )


@final
class Pace:
    """How often one sender may ask.

    A sender is known by a keyed hash of its address, under a key that ends with the process: nothing in
    memory says who has asked. One number is kept for each sender, the time at which its requests are paid
    for. Memory is bounded by forgetting the sender that has not asked for longest.
    """

    def __init__(
        self, rate: float, burst: float, senders: int = 1 << 15, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._cost = 1 / rate if rate > 0 else 0.0
        self._slack = burst * self._cost
        self._senders = senders
        self._clock = clock
        self._key = secrets.token_bytes(16)
        self._young: dict[bytes, float] = {}
        self._old: dict[bytes, float] = {}

    def wait(self, address: str) -> int:
        """0 if a request may pass, else after how many seconds to ask again."""
        if not self._cost:
            return 0
        key = blake2b(network_of(address).encode(), digest_size=8, key=self._key).digest()
        now = self._clock()
        paid = self._young.get(key) or self._old.get(key, 0.0)
        due = max(now, paid) + self._cost
        if due - now > self._slack + self._cost / 2:
            return math.ceil(due - now - self._slack)
        if len(self._young) >= self._senders:
            self._old, self._young = self._young, {}
        self._young[key] = due
        return 0


def network_of(address: str) -> str:
    """One sender has a whole IPv6 network of 64 bits, and can take any address in it."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(parsed.ipv4_mapped or int(parsed) >> 64)


def longest_report(wire: Wire) -> int:
    """The most bytes of a report of a plan, as bytes."""
    return _HEADER + wire.lengths[-1]


def longest_json(wire: Wire) -> int:
    """The most bytes of a report as JSON: every value of every attribute, twice, and all names escaped."""
    sizes = [part.tallied for part in wire.plan.document.parts]
    values = sum(2 * size * (len(str(size)) + 1) + 80 for size in sizes)
    return 200 + values + sum(6 * len(name.encode()) + 4 for name in wire.plan.names)
