"""Writes reports as bytes and as JSON, in one canonical form each, and reads them back."""

from deniable.wire.binary import PREFIX, VERSION, Report, Wire, alike, from_batch, to_batch
from deniable.wire.json import Refused, parse_json

__all__ = ["PREFIX", "VERSION", "Refused", "Report", "Wire", "alike", "from_batch", "parse_json", "to_batch"]
