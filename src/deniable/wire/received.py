"""Reads reports as they are received, many at once: which are sound, and why the others are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final, get_args

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable.formatting import Printed, format_count
from deniable.plan.document import PlanDocument
from deniable.randomness.words import PSEUDONYM, Pseudonyms
from deniable.records import Records
from deniable.reports import Reports
from deniable.wire.binary import PREFIX, VERSION, Report, Wire
from deniable.wire.json import Reason, Refused
from deniable.wire.known import KnownIds
from deniable.wire.messages import Messages

REASONS: tuple[Reason, ...] = get_args(Reason)
REPEATED = "repeated"
WINDOW = 500_000
"""Reports whose ids are remembered, at least."""
_MALFORMED, _VERSION, _PLAN, _ROUND, _SIZE, _FORM = range(1, len(REASONS) + 1)
_HEADER = 1 + PREFIX + 4 + 16

Keep = Callable[[bytes, Reason], object]
"""What is done with a message that is refused, and why it is."""


class Decoded(NamedTuple):
    """What a block of messages is."""

    reasons: npt.NDArray[np.int8]
    """For each message, 0 where it is a sound report, else the number of the reason, from 1."""
    rounds: Integers
    """The round that each message names, 0 where none can be read."""
    ids: Pseudonyms
    """The id of each message, where one can be read."""
    records: Records
    """What the sound reports say, in order."""


def decode(wire: Wire, messages: Messages) -> Decoded:
    """Read messages, for the reasons of spec/wire.md and in their order."""
    n = len(messages)
    reasons, rounds = np.zeros(n, np.int8), np.zeros(n, np.int64)
    ids = np.zeros(n, PSEUDONYM)
    if messages.is_text.any():
        binary: dict[int, bytes] = {}
        for i in np.flatnonzero(messages.is_text).tolist():
            try:
                binary[i] = read_report(wire, messages[i]).to_bytes()
            except Refused as problem:
                binary[i], reasons[i] = b"", 1 + REASONS.index(problem.reason)
        messages = messages.replace(binary)
    reasons[(messages.lengths < _HEADER) & (reasons == 0)] = _MALFORMED
    readable = np.flatnonzero(reasons == 0)
    heads = np.ascontiguousarray(messages.take(readable, 0, _HEADER))
    rounds[readable] = heads[:, 1 + PREFIX : 5 + PREFIX].copy().view("<u4")[:, 0]
    ids[readable] = heads[:, 5 + PREFIX :].copy().view(PSEUDONYM)[:, 0]
    sizes = messages.lengths - _HEADER
    prefix = np.frombuffer(wire.prefix, "<u8")
    wrong = {
        _VERSION: heads[:, 0] != VERSION,
        _PLAN: heads[:, 1 : 1 + PREFIX].copy().view("<u8")[:, 0] != prefix,
        _ROUND: (rounds[readable] < 1) | (rounds[readable] > wire.rounds),
        _SIZE: (sizes[readable] < wire.lengths[0]) | (sizes[readable] > wire.lengths[-1]),
    }
    for reason, is_wrong in reversed(wrong.items()):  # the first that holds is the last that is written
        reasons[readable[is_wrong]] = reason
    readable = np.flatnonzero(reasons == 0)
    reports, sound = wire.sound(messages.cut(readable, _HEADER))
    reasons[readable[~sound]] = _FORM
    return Decoded(reasons, rounds, ids, reports.records)


def read_report(wire: Wire, raw: bytes) -> Report:
    """One report from its bytes, its hexadecimal digits or its JSON; refuse one that is not of the plan."""
    if raw.startswith(b"{"):
        try:
            return wire.from_json(raw)
        except RecursionError:
            raise Refused("malformed", "the report is nested too deeply") from None
    if Messages.of([raw]).is_text[0]:
        try:
            raw = bytes.fromhex(raw.decode("ascii"))
        except ValueError:
            raise Refused("malformed", "a report in digits has an even number of hexadecimal ones") from None
    return wire.check(Report.from_bytes(raw))


@final
@dataclass
class Received(Iterable[Reports], Printed):
    """The sound reports of a stream of messages, in blocks, each of one round; one pass reads the stream.

    A report that comes again is left out where it is among the last `window` that were sound. Whatever is not
    counted is counted in `refused`, by its reason.
    """

    document: PlanDocument
    messages: Iterator[Messages] = field(repr=False)
    keep: Keep | None = None
    window: int | None = WINDOW
    n: int = 0
    """Reports that were read, without those that are refused."""
    refused: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            raise InvalidParameter(f"ids of at least 1 report are remembered, got window={self.window}")

    def __str__(self) -> str:
        return ", ".join([format_count(self.n, "report"), *list_refused(self.refused)])

    def __iter__(self) -> Iterator[Reports]:
        wire, known = Wire(self.document), KnownIds(self.window)
        for messages in self.messages:
            decoded = decode(wire, messages)
            for i in np.flatnonzero(decoded.reasons).tolist():
                reason = REASONS[decoded.reasons[i] - 1]
                self._refuse(reason, 1)
                if self.keep is not None:
                    self.keep(messages[i], reason)
            is_sound = decoded.reasons == 0
            rounds, ids = decoded.rounds[is_sound], decoded.ids[is_sound]
            fresh = known.find_new(rounds, ids)
            self._refuse(REPEATED, len(ids) - len(fresh))
            for number in np.unique(rounds[fresh]).tolist():
                rows = fresh[rounds[fresh] == number]
                records = decoded.records if len(rows) == len(ids) else decoded.records.pick(rows)
                self.n += len(rows)
                people = ids[rows] if self.document.linked else None
                yield Reports(self.document.id, records, number, people, ids[rows])
        if not self.n:  # so that a file of none has the same columns
            nothing, ids = wire.sound([])[0], np.zeros(0, PSEUDONYM)
            yield replace(nothing, round=1, people=ids if self.document.linked else None, ids=ids)

    def _refuse(self, reason: str, times: int) -> None:
        if times:
            self.refused[reason] = self.refused.get(reason, 0) + times


def list_refused(refused: dict[str, int]) -> list[str]:
    """How many messages were not counted, by reason.

    >>> list_refused({"plan": 1200, "repeated": 1})
    ['1,200 refused: plan', '1 refused: repeated']
    """
    return [f"{n:,} refused: {reason}" for reason, n in refused.items()]
