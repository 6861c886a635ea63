"""Signs blinded messages one at a time, and remembers the last ones."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import final

from deniable.tickets import SigningKey

REMEMBERED = 1000
"""Signatures, of a few hundred bytes each: an exchange is repeated soon, if at all."""


@final
class Signatures:
    """A signature takes milliseconds, in which nothing else moves: repeated exchanges must not ask for many.

    A message has one signature, so that the one that is remembered is the one that would be made.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._sign = lru_cache(REMEMBERED)(SigningKey.sign)

    async def sign(self, key: SigningKey, blinded: bytes) -> bytes:
        """The blind signature of a message."""
        async with self._turn:
            return await asyncio.to_thread(self._sign, key, blinded)
