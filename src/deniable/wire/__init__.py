"""Writes reports as bytes and as JSON, in one canonical form each, and reads them back."""

from deniable.wire.binary import PREFIX, VERSION, Report, Wire, alike, from_batch, to_batch
from deniable.wire.json import Refused, parsed

__all__ = [
    "PREFIX",
    "VERSION",
    "Refused",
    "Report",
    "Wire",
    "alike",
    "from_batch",
    "parsed",
    "to_batch",
]
