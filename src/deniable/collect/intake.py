"""Reads reports as they arrive, and says whether each can be counted; the store decides whether it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import final

import msgspec

from deniable.collect.limits import Limits, longest_json, longest_report
from deniable.collect.messages import Refusal
from deniable.errors import InvalidParameter
from deniable.store.store import Arrival
from deniable.study import Plan
from deniable.tickets import SigningKey, Ticket
from deniable.wire import PREFIX, Refused, Report, Wire, alike, from_batch, parse_json

BINARY = b"application/octet-stream"
JSON = b"application/json"

_BEGINS = b'{"id":"'
_INVITATION, _TICKET = b"invitation ", b"ticket "
_LONGEST_INVITATION = 200
_LONGEST_TICKET = 1000


@final
@dataclass(frozen=True)
class Served:
    """A plan that is collected."""

    plan: Plan
    invited: bool = False
    signer: SigningKey | None = None
    """What signs its tickets, where it takes these."""

    @cached_property
    def wire(self) -> Wire:
        return Wire(self.plan.document)

    @property
    def titles(self) -> dict[str, str]:
        """Its title by language, where it has one in several."""
        texts = self.plan.document.texts
        return {} if texts is None or isinstance(texts.title, str) else dict(texts.title)

    @cached_property
    def document(self) -> bytes:
        """Its canonical bytes."""
        return self.plan.to_json().encode()


@final
class Admission:
    """What came with a message to let in a report: an invitation, or a ticket."""

    def __init__(self, invitation: bytes | None, ticket: Ticket | None) -> None:
        self.invitation = invitation
        """Its hash."""
        self._ticket = ticket
        self._valid: dict[str, bool] = {}

    def ticket_for(self, plan: Plan) -> bytes | None:
        """The hash of the ticket, if it is one of this plan; a batch is verified once."""
        if self._ticket is None or plan.ticket_key is None:
            return None
        if plan.id not in self._valid:
            self._valid[plan.id] = self._ticket.is_valid(plan.ticket_key, plan.id)
        return self._ticket.hash if self._valid[plan.id] else None


@final
class Intake:
    """Messages in, arrivals out, for all plans that are served."""

    def __init__(self, served: Iterable[Served], limits: Limits) -> None:
        self._served: dict[bytes, Served] = {}
        for served_plan in served:
            if self._served.setdefault(served_plan.wire.prefix, served_plan).plan.id != served_plan.plan.id:
                raise InvalidParameter(
                    f"two plans have ids that begin with {served_plan.wire.prefix.hex()}; serve one of them "
                    "elsewhere"
                )
            longest = max(longest_report(served_plan.wire), longest_json(served_plan.wire))
            if longest > limits.report_bytes:
                raise InvalidParameter(
                    f"a report of plan {served_plan.plan.id[:12]} can have {longest:,} bytes, more than the "
                    f"{limits.report_bytes:,} that a collector takes; ask for fewer values, or choose "
                    "mechanisms with shorter reports"
                )
        self._most_reports = limits.batch_reports
        self.wires = [served_plan.wire for served_plan in self._served.values()]
        self.most = {BINARY: max(map(longest_report, self.wires)), JSON: max(map(longest_json, self.wires))}
        self.most_batch = {kind: max(limits.batch_bytes, 4 + most) for kind, most in self.most.items()}

    def one(self, raw: bytes, kind: bytes, admission: Admission | None) -> Arrival:
        """A single report; `Refused` or `Refusal` says what is wrong with it."""
        if kind == BINARY:
            report = Report.from_bytes(raw)
            return _make_arrival(self._of(report), report, admission)
        try:
            return self._read_quickly(raw, admission) or self._read_strictly(raw, admission)
        except RecursionError:
            raise Refused("malformed", "the report is nested too deeply") from None

    def alike(self, raw: bytes, kind: bytes, admission: Admission | None) -> list[Arrival] | None:
        """The reports of a batch of bytes if all have the same, right plan, round and length; else None."""
        try:
            batch = alike(raw, self._most_reports) if kind == BINARY else None
            if batch is None:
                return None
            first, ids, bodies = batch
            served = self._of(first)
            arrival = Arrival(served.plan.id, first.round, ids, bodies)
            return [arrival if admission is None else _admit(arrival, served, admission)]
        except Refused:
            return None

    def many(self, raw: bytes, kind: bytes, admission: Admission | None) -> list[Arrival | str]:
        """The reports of a batch, or why one is refused; one that cannot be split is refused as a whole."""
        most = self._most_reports + 1
        reports = list(islice(from_batch(raw), most)) if kind == BINARY else _texts(raw, most)
        if len(reports) == most:
            raise Refusal("large", f"A batch has at most {self._most_reports:,} reports.")
        return [self._read_or_refuse(report, kind, admission) for report in reports]

    def _read_or_refuse(self, raw: bytes, kind: bytes, admission: Admission | None) -> Arrival | str:
        if len(raw) > self.most[kind]:
            return "size"
        try:
            return self.one(raw, kind, admission)
        except Refused as problem:
            return problem.reason

    def _of(self, report: Report) -> Served:
        """The plan that a report names, if the report can belong to it."""
        served = self._served.get(report.plan)
        if served is None:
            raise self._unknown(report.plan.hex())
        served.wire.check(report)
        return served

    def _read_quickly(self, raw: bytes, admission: Admission | None) -> Arrival | None:
        """Read a canonical text quickly; what this cannot read goes to the strict reader."""
        try:
            data = msgspec.json.decode(raw)
            served = self._served[bytes.fromhex(data["plan"])]
            if msgspec.json.encode(data, order="sorted") == raw:
                return _make_arrival(served, served.wire.from_dict(data), admission)
        except (msgspec.MsgspecError, Refused, LookupError, TypeError, ValueError):
            pass
        return None

    def _read_strictly(self, raw: bytes, admission: Admission | None) -> Arrival:
        data = parse_json(raw)
        served = self._find_named(data)
        return _make_arrival(served, served.wire.from_dict(data, raw), admission)

    def _find_named(self, data: object) -> Served:
        """The plan that a JSON report names."""
        prefix = data.get("plan") if isinstance(data, dict) else None
        if not isinstance(prefix, str):
            raise Refused("malformed", "a report is an object that names its plan")
        try:
            served = self._served.get(bytes.fromhex(prefix))
        except ValueError:
            served = None
        if served is None:
            raise self._unknown(prefix[: 2 * PREFIX])
        return served

    def _unknown(self, plan: str) -> Refused:
        prefixes = ", ".join(f"{prefix.hex()}…" for prefix in list(self._served)[:5])
        return Refused("plan", f"the report was made for plan {plan!r}…, this collector serves {prefixes}")


def _make_arrival(served: Served, report: Report, admission: Admission | None) -> Arrival:
    arrival = Arrival(served.plan.id, report.round, (report.id,), (report.body,))
    return arrival if admission is None else _admit(arrival, served, admission)


def _admit(arrival: Arrival, served: Served, admission: Admission) -> Arrival:
    return arrival._replace(invitation=admission.invitation, ticket=admission.ticket_for(served.plan))


def _texts(raw: bytes, most: int) -> list[bytes]:
    """The texts of the reports of an array in canonical form, each of which begins with its id.

    The separator of two reports cannot occur inside one: quotes within a name are escaped.
    """
    if raw == b"[]":
        return []
    if not raw.startswith(b"[" + _BEGINS) or not raw.endswith(b"}]"):
        raise Refused(
            "malformed", "a batch is a JSON array of reports in their canonical form, without spaces"
        )
    texts = raw[1 + len(_BEGINS) : -2].split(b"}," + _BEGINS, most)[:most]
    return [_BEGINS + text + b"}" for text in texts]


def read_kind(header: bytes | None) -> bytes:
    """Which of the two forms a message has, by its header."""
    if header == BINARY:
        return BINARY
    kind = (header or b"").partition(b";")[0].strip().lower()
    if kind not in (BINARY, JSON):
        raise Refusal("type")
    return kind


def read_invitation(header: bytes | None) -> bytes | None:
    """The hash of the invitation in a message; only the hash is ever compared or kept."""
    token = _read_scheme(header, _INVITATION, _LONGEST_INVITATION)
    return None if token is None else hash_invitation(token)


def read_admission(header: bytes | None) -> Admission | None:
    """The invitation or the ticket in a message."""
    if header is None:
        return None
    ticket = _read_scheme(header, _TICKET, _LONGEST_TICKET)
    if ticket is None:
        return Admission(read_invitation(header), None)
    try:
        return Admission(None, Ticket.from_text(ticket.decode("latin-1")))
    except InvalidParameter:  # as good as none
        return None


def _read_scheme(header: bytes | None, scheme: bytes, longest: int) -> bytes | None:
    if header is None or header[: len(scheme)].lower() != scheme or len(header) > longest:
        return None
    return header[len(scheme) :].strip()


def hash_invitation(token: bytes) -> bytes:
    """Hash an invitation for storage; it is random and long, so that one round of hashing is enough."""
    return sha256(token).digest()
