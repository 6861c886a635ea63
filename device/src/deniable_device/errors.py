"""What a device refuses: plans and reports for a reason that all clients share, answers in words."""

from __future__ import annotations


class DeviceError(Exception):
    """Every error of this package."""


class Refused(DeviceError):
    """A plan, a report or a code that is refused; `reason` is the word that `spec/wire.md` gives the rule."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


class InvalidAnswer(DeviceError, ValueError):
    """An answer that does not fit its question."""


class InvalidParameter(DeviceError, ValueError):
    """A secret, a round or a cap that cannot be used."""


class NotSent(DeviceError):
    """A report that a collector did not take; `status` is 0 where nobody answered."""

    def __init__(self, detail: str, status: int = 0, reason: str = "") -> None:
        super().__init__(detail)
        self.status, self.reason = status, reason
