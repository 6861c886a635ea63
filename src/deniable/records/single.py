"""Reports a record of one attribute, so that every plan has a record mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable.mechanisms import Mechanism
from deniable.randomness.words import Rows
from deniable.records.base import Per, RecordMechanism
from deniable.records.reports import Records


@final
@dataclass(frozen=True)
class Single(RecordMechanism):
    """The only attribute is reported, by its mechanism."""

    kind = "single"
    phrase = "one attribute"
    acronym = ""
    references = ()

    part: Mechanism

    def __post_init__(self) -> None:
        if not isinstance(self.part, Mechanism):
            raise InvalidParameter(
                f"a single attribute has a mechanism with an exact loss, got {type(self.part).__name__}"
            )

    @staticmethod
    def build(members: Sequence[Any], **_numbers: Any) -> Single:
        if len(members) != 1:
            text = f"a single record mechanism has one attribute, got {len(members)}"
            raise InvalidParameter(text, "parts")
        return Single(members[0])

    @property
    def parts(self) -> tuple[Mechanism, ...]:
        return (self.part,)

    @property
    def words(self) -> int:
        return self.part.words

    def ratio(self, per: Per = "record") -> Fraction:
        return self.part.ratio

    def describe_reported(self, names: Sequence[str]) -> str:
        return repr(names[0])

    def explain(self, names: Sequence[str]) -> str:
        return "Each person reports the one attribute."

    def encode(self, columns: Integers, rows: Rows) -> Records:
        return Records(rows.n, (self.part.encode(columns[0], rows.key_noise(0, columns[0])),))


def as_record_mechanism(mechanism: object) -> RecordMechanism:
    """A record mechanism as it is; a mechanism becomes that of a single attribute."""
    if isinstance(mechanism, RecordMechanism):
        return mechanism
    if isinstance(mechanism, Mechanism):
        return Single(mechanism)
    raise InvalidParameter(
        "a record is reported by a mechanism with an exact loss, or by a record mechanism, got "
        f"{type(mechanism).__name__}"
    )
