"""A device that answers a plan: it verifies the plan, makes each report from its secret, and sends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Mapping, Sequence

from deniable_device.answers import Answers
from deniable_device.document import Json
from deniable_device.errors import InvalidParameter
from deniable_device.plan import Plan
from deniable_device.wire import Report, pack
from deniable_device.words import Device

if TYPE_CHECKING:
    from deniable_device.ledger import Ledger

SHORTEST_SECRET = 16


def make_report(
    plan: Plan,
    answers: Mapping[str, Json],
    secret: bytes,
    round: int,
    words: Sequence[int] | None = None,
    id: bytes | None = None,
) -> Report:
    """The report of a device with a secret. `words` and `id` are for tests alone: they take the place of noise."""
    device = open_device(plan, secret, round, words)
    drawn = plan.record.drawn(device, 0) if plan.sampled else None
    reader = Answers(plan, answers, drawn)
    values = reader.values(device)
    group = reader.group() if plan.known else None
    parts = plan.record.privatize(values, device, 0)
    return Report(plan, round, id or device.report_id(pack(plan, parts, group)), parts, group)


def open_device(plan: Plan, secret: bytes, round: int, words: Sequence[int] | None = None) -> Device:
    """The words of a device for one round of a plan."""
    if len(secret) < SHORTEST_SECRET:
        raise InvalidParameter(f"a secret has at least {SHORTEST_SECRET} bytes, got {len(secret)}")
    if type(round) is not int or not 1 <= round <= (plan.rounds or 1):
        raise InvalidParameter(f"round must be from 1 to {plan.rounds or 1}, got {round!r}")
    return Device(secret, plan.id, round, words)
