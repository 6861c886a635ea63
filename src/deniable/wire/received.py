"""Reads reports as they are received, many at once: which are sound, and why the others are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final, get_args

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
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
_ROUND_BITS = 32

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
    plans: Integers
    """The plan of each message, by its number; 0 of a message that is of no plan."""
    records: tuple[Records, ...]
    """What the sound reports to each plan say, in order."""


def decode(wires: Sequence[Wire], messages: Messages) -> Decoded:
    """Read messages to several plans, for the reasons of spec/wire.md and in their order."""
    decoded = _decode_plan(wires[0], messages)
    records = list(decoded.records)
    for i, wire in enumerate(wires[1:], 1):
        rest = np.flatnonzero(decoded.reasons == _PLAN)
        more = _decode_plan(wire, messages.pick(rest))
        is_own = more.reasons != _PLAN
        own = rest[is_own]
        decoded.reasons[own], decoded.plans[own] = more.reasons[is_own], i
        decoded.rounds[own], decoded.ids[own] = more.rounds[is_own], more.ids[is_own]
        records += more.records
    return decoded._replace(records=tuple(records))


def _decode_plan(wire: Wire, messages: Messages) -> Decoded:
    """Read messages as reports to one plan."""
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
    return Decoded(reasons, rounds, ids, np.zeros(n, np.int64), (reports.records,))


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
    """The sound reports of a stream of messages, in blocks, each of one plan and round; one pass reads the
    stream, and another one is refused.

    A report that comes again is left out where it is among the last `window` that were sound. Whatever is not
    counted is counted in `refused`, by its reason.
    """

    plans: tuple[PlanDocument, ...] = field(repr=False)
    """The plan, and those that it continues, the newest first."""
    messages: Iterator[Messages] = field(repr=False)
    keep: Keep | None = None
    window: int | None = WINDOW
    n: int = 0
    """Reports that were read, without those that are refused."""
    refused: dict[str, int] = field(default_factory=dict)
    _is_read: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.window is not None:
            whole_number("window, the number of reports whose ids are remembered,", self.window, 1)

    def __str__(self) -> str:
        if not self._is_read:
            return "messages that are not read yet"
        return ", ".join([format_count(self.n, "report"), *list_refused(self.refused)])

    def __iter__(self) -> Iterator[Reports]:
        if self._is_read:
            raise InvalidParameter(
                "these messages were read already, and one pass reads them: write their reports to a file "
                "and count that, or call read_wire again"
            )
        self._is_read = True
        wires, known = list(map(Wire, self.plans)), KnownIds(self.window)
        for messages in self.messages:
            decoded = decode(wires, messages)
            for i in np.flatnonzero(decoded.reasons).tolist():
                reason = REASONS[decoded.reasons[i] - 1]
                self._refuse(reason, 1)
                if self.keep is not None:
                    self.keep(messages[i], reason)
            is_sound = decoded.reasons == 0
            rounds, ids = decoded.rounds[is_sound], decoded.ids[is_sound]
            plans = decoded.plans[is_sound]
            is_fresh = np.zeros(len(ids), dtype=bool)
            is_fresh[known.find_new(rounds + (plans << _ROUND_BITS), ids)] = True
            self._refuse(REPEATED, int((~is_fresh).sum()))
            for i, plan in enumerate(self.plans):
                own = np.flatnonzero(plans == i)
                for number in np.unique(rounds[own[is_fresh[own]]]).tolist():
                    rows = np.flatnonzero(is_fresh[own] & (rounds[own] == number))
                    records = decoded.records[i] if len(rows) == len(own) else decoded.records[i].pick(rows)
                    self.n += len(rows)
                    names = ids[own[rows]]
                    yield Reports(plan.id, records, number, names if plan.linked else None, names)
        if not self.n:  # so that a file of none has the same columns
            nothing, ids = wires[0].sound([])[0], np.zeros(0, PSEUDONYM)
            yield replace(nothing, round=1, people=ids if self.plans[0].linked else None, ids=ids)

    def _refuse(self, reason: str, times: int) -> None:
        if times:
            self.refused[reason] = self.refused.get(reason, 0) + times


def list_refused(refused: dict[str, int]) -> list[str]:
    """How many messages were not counted, by reason.

    >>> list_refused({"plan": 1200, "repeated": 1})
    ['1,200 refused: plan', '1 refused: repeated']
    """
    return [f"{n:,} refused: {reason}" for reason, n in refused.items()]
