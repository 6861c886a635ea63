"""Limits connections, in all and for each address; the oldest with an unfinished request is closed first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Protocol, final

from deniable.collect.limits import network_of


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
