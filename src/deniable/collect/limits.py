"""Bounds what senders may take of a collector: the bytes of messages, requests a second, and connections.

In all and for each address connections are limited; the oldest with an unfinished request is closed first.
"""

from __future__ import annotations

import ipaddress
import math
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol, Self, final

from deniable.collect.messages import Refusal
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
    sizes = [part.tallied for part in wire.document.parts]
    values = sum(2 * size * (len(str(size)) + 1) + 80 for size in sizes)
    return 200 + values + sum(6 * len(name.encode()) + 4 for name in wire.document.names)


class Connection(Protocol):
    """A connection that can be given up for another one."""

    def give_up(self) -> None:
        """Close it, because it takes too long or others need its room."""


@final
class Connections:
    """All open connections, by their addresses and by what they do.

    A connection waits for the rest of a request, is answered, or rests until the next request. One that is
    answered is never closed for another.
    """

    def __init__(
        self, most: int, most_of_one: int, is_proxy: Callable[[str], bool] = lambda _: False
    ) -> None:
        """A trusted proxy has connections of many senders, so that only the limit of all holds for it."""
        self._most, self._most_of_one, self._is_proxy = most, most_of_one, is_proxy
        self._networks: dict[Connection, str] = {}
        self._counts: Counter[str] = Counter()
        self._waiting: dict[Connection, None] = {}
        self._resting: dict[Connection, None] = {}

    def __len__(self) -> int:
        return len(self._networks)

    @property
    def is_full(self) -> bool:
        """Whether there are too many, and none that can be closed."""
        return len(self) > self._most

    def add(self, connection: Connection, address: str) -> None:
        """Take in a new connection, which waits; close another one where there are too many."""
        network = "" if self._is_proxy(address) else network_of(address)
        self._networks[connection] = network
        self._counts[network] += 1
        if network and self._counts[network] > self._most_of_one:
            self._close_one(network)
        elif self.is_full:
            self._close_one(None)
        self._waiting[connection] = None

    def remove(self, connection: Connection) -> None:
        """Forget a connection; one that is forgotten already is no problem."""
        network = self._networks.pop(connection, None)
        if network is None:
            return
        self._counts[network] -= 1
        if not self._counts[network]:
            del self._counts[network]
        self._waiting.pop(connection, None)
        self._resting.pop(connection, None)

    def wait(self, connection: Connection) -> None:
        """Note that a request has begun to arrive."""
        if connection in self._networks:
            self._resting.pop(connection, None)
            self._waiting.pop(connection, None)  # it is the youngest again
            self._waiting[connection] = None

    def answer(self, connection: Connection) -> None:
        """Note that a request has arrived."""
        self._waiting.pop(connection, None)

    def rest(self, connection: Connection) -> None:
        """Note that a request was answered, and that no other one is on its way."""
        if connection in self._networks:
            self._resting[connection] = None

    def _close_one(self, network: str | None) -> None:
        """Close the oldest that waits, else the oldest that rests: of one network, or of all."""
        for group in (self._waiting, self._resting):
            for connection in group:
                if network in (None, self._networks[connection]):
                    self.remove(connection)
                    connection.give_up()
                    return
