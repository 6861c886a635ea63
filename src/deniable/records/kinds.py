"""Lists the record mechanisms by what a plan calls them."""

from __future__ import annotations

from deniable.records.base import RecordMechanism
from deniable.records.faked import Faked
from deniable.records.sample import Sample
from deniable.records.single import Single
from deniable.records.split import Split

RECORD_MECHANISMS: dict[str, type[RecordMechanism]] = {
    kind.kind: kind for kind in (Single, Split, Sample, Faked)
}
"""All of them. A new one is added here, and its class says the rest."""
