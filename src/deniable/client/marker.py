"""Notices that a ledger's file was copied or restored: a marker beside it counts its writes on this device.

The marker holds its own number in the file system, which a copy does not share. It is written after the
ledger, so a crash between both leaves it behind, never ahead.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path
from typing import final

from deniable.errors import DeniableError

_ADVICE = (
    "go on with the newest one; if there is none, take this one over on purpose: "
    "dn.Ledger(path, take_over=True). What was sent since is not counted then"
)


class CopiedLedger(DeniableError):
    """A ledger that is not the newest one of this device: a copy, or an older state of it."""


@final
class Marker:
    """The marker of one ledger."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self._path = ledger.with_name(f".{ledger.name}.marker")

    def check(self, count: int, secret: bytes) -> None:
        """Refuse a ledger that was copied to this device, or is older than the marker."""
        try:
            text = self._path.read_text(encoding="ascii")
            writes, owner = int(text[:20]), text[21:]
        except (OSError, ValueError):
            raise CopiedLedger(f"{self._ledger} has no marker, so it is a copy; {_ADVICE}") from None
        if owner != self._owner(secret):
            raise CopiedLedger(f"{self._ledger} is a copy from another folder or device; {_ADVICE}")
        if count < writes:
            raise CopiedLedger(f"{self._ledger} is an older state, from a backup; {_ADVICE}")

    def exists(self) -> bool:
        """Whether a ledger with a marker was here."""
        return self._path.exists()

    def check_absent(self) -> None:
        """Refuse to begin anew where there was a ledger."""
        if self.exists():
            raise CopiedLedger(f"there was a ledger {self._ledger}, and it is gone; {_ADVICE}")

    def write(self, count: int, secret: bytes) -> None:
        """Count a write; in the same file, whose number stays."""
        with open(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            file.write(f"{count:020d} {self._owner(secret)}".encode("ascii"))
            file.truncate()
            file.flush()
            os.fsync(file.fileno())

    def _owner(self, secret: bytes) -> str:
        """A text that only this ledger and this file of the device have."""
        number = self._path.stat().st_ino
        return hmac.new(secret, f"deniable marker {number}".encode(), hashlib.sha256).hexdigest()
