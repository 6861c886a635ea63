"""Verifies the plan on a device, turns answers into one report, and sends it until it has arrived.

A report comes from the device's secret, so the same answers give the same bytes for ever. A secret that is
not given is the operating system's; there is no way to pass other randomness in.
"""

from __future__ import annotations

import json
import logging
import math
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import final

from deniable.arrays import Integers
from deniable.client.delivery import (
    BINARY,
    Message,
    NotSent,
    Receipt,
    Response,
    check_delivery,
    deliver,
    read_outcomes,
    read_reply,
)
from deniable.client.ledger import Ledger, checked_cap
from deniable.client.waiting import SETTLED, Delivery
from deniable.domain import is_missing
from deniable.errors import InvalidParameter, InvalidValue, not_among
from deniable.exact import whole_number
from deniable.formatting import format_count, shorten_names
from deniable.frames import DEGREES
from deniable.plan import InvalidPlan, list_questions
from deniable.randomness import device
from deniable.randomness.words import report_id
from deniable.reports.privatize import draw_turns
from deniable.study import Plan
from deniable.tickets import Blinding, Ticket, derive_invitation, is_code
from deniable.wire import Report, Wire, to_batch

__all__ = ["Client", "NotSent"]

_log = logging.getLogger("deniable.client")

WAIT = 60, 600
"""Seconds before a report that must not be linked to what was sent before: at random, between these."""


@final
class Client:
    """One person's device and one plan, verified before anything is answered.

    It keeps a secret, or a ledger, which has one: the same answers give the same report for ever. `fresh` is
    for a person who answers once in a lifetime: another object then makes another report, and together they
    give away more.

    All studies of a ledger together may give away `ledger.cap`: 4 nats, until the person sets another. `cap`
    holds in its place for this client. A client without a ledger knows no other study: it limits its plan
    alone, to 4 nats or to `plan_cap`, and nobody adds up several plans.

    >>> from deniable import Study
    >>> plan = Study({"color": ["red", "green", "blue"]}, epsilon=1.0).plan(people=1000)
    >>> report = Client(plan, secret=bytes(32), plan_cap=1.0).report({"color": "red"})
    >>> len(report.to_bytes())
    30
    >>> Client(plan, secret=bytes(32)).report({"color": "red"}) == report
    True
    """

    def __init__(
        self,
        plan: Plan | Path | str | bytes,
        secret: bytes | None = None,
        cap: float | None = None,
        ledger: Ledger | None = None,
        *,
        plan_cap: float | None = None,
        fresh: bool = False,
    ) -> None:
        self.plan = _read(plan)
        self.plan.verify()
        _check_memory(secret, ledger, fresh, self.plan.document.rounds is not None)
        _check_caps(cap, plan_cap, ledger)
        if secret is not None:
            device(secret)  # refuses one that is too short
        self._ledger = Ledger(secret=secret) if ledger is None else ledger
        self._has_ledger = ledger is not None
        if plan_cap is not None:
            self._ledger.cap = plan_cap  # of a ledger that nobody else has
        self._cap = None if cap is None else checked_cap(cap)
        self._ledger.refuse_above(self._cap, self.plan)
        self._fresh = fresh
        self._wire = Wire(self.plan.document)

    def __repr__(self) -> str:
        questions = format_count(len(self.plan.names), "question")
        return f"<Client of plan {self.plan.id[:12]}: {questions}>"

    @property
    def questions(self) -> tuple[str, ...]:
        """The names of the questions to ask: all, or those that the device has drawn where the plan says so.

        The draw depends on the plan and the device's secret alone, so that it is the same in every round.
        """
        return self._name_questions(self._find_reported(self._ledger.secret))

    @property
    def turns(self) -> tuple[int, ...]:
        """The rounds in which this device answers, in order: all, or those that it has drawn where the plan
        says so. The draw depends on the plan and the device's secret alone.
        """
        return self._find_turns(self._ledger.secret)

    def _find_turns(self, secret: bytes) -> tuple[int, ...]:
        rows = device(secret, self.plan.id).rows(1, 0)
        return tuple(draw_turns(self.plan.document, rows)[0].tolist())

    def _name_questions(self, reported: Sequence[str]) -> tuple[str, ...]:
        """The questions of attributes: the attributes themselves but for tables, and known ones first."""
        attributes = [attribute for attribute in self.plan.document.attributes if attribute.name in reported]
        known = () if self.plan.document.known is None else self.plan.document.known.names
        return tuple(
            dict.fromkeys([*known, *(name for attribute in attributes for name in attribute.columns)])
        )

    def _find_reported(self, secret: bytes) -> tuple[str, ...]:
        plan = self.plan
        if plan.document.ask == "all":
            return plan.names
        rows = device(secret, plan.id).rows(1, plan.mechanism.words).carry(plan.document.strands)
        reported = plan.mechanism.draw_reported(rows)[:, 0].tolist()
        return tuple(name for name, is_reported in zip(plan.names, reported, strict=True) if is_reported)

    def report(
        self,
        answers: Mapping[str, object],
        round: int | None = None,  # noqa: A002 - the word for it everywhere
        *,
        change: bool = False,
    ) -> Report:
        """One report of one person's answers; a round that was answered gives the same report again.

        A plan with rounds needs to be told the round: `round=2`, which the collector's offer names.
        A question that is left out, or answered with None, has no answer; the plan decides whether that can
        be reported. Where several answers may apply, the answer is a list of them. What does not apply to
        the person is left out. Where only drawn questions are asked, only answers to `client.questions` are
        taken. To change an answer on purpose, say `change`: that is a second report, which the collector
        counts as another person's, and the ledger adds its loss.
        """
        if not isinstance(answers, Mapping):
            raise InvalidParameter(
                f"answers are a dictionary, a value for each name, got {type(answers).__name__}"
            )
        round = self._check_round(round)  # noqa: A001 - the word for it everywhere
        answers = self._join_degrees(answers)
        known = [*list_questions(self.plan.document.attributes), *self._name_questions(self.plan.names)]
        for name in answers:
            if name not in known:
                raise InvalidParameter(not_among(str(name), "asked in this plan", dict.fromkeys(known)))
        reported = self._find_reported(self._ledger.secret)
        questions = self._name_questions(reported)
        for name in answers:
            if name in self._name_questions(self.plan.names) and name not in questions:
                raise InvalidParameter(
                    f"{name!r} was not drawn by this device, which asks only "
                    f"{', '.join(map(repr, questions))}; leave it out, and do not ask it: client.questions "
                    "has the names"
                )
        # what cannot be reported is refused, whether or not there is a report
        codes = self._encode_answers(answers, reported)

        def draw(secret: bytes) -> bytes:
            if self._find_reported(secret) != reported or round not in self._find_turns(secret):
                raise InvalidParameter(
                    "the ledger has another secret by now; ask client.turns and client.questions again"
                )
            reports = self.plan.privatize_codes(codes, device(secret, self.plan.id, round=round))
            [body] = self._wire.bodies(reports)
            name = report_id(secret, self.plan.id, round, body)
            if reports.people is not None:
                name = reports.people.tobytes()
            return Report(self._wire.prefix, round, name, body).to_bytes()

        answer = self._ledger.change if change else self._ledger.once
        return Report.from_bytes(answer(self.plan, round, draw, self._cap))

    def _check_round(self, number: object) -> int:
        """The round that is answered; only a plan with a single round need not be told which."""
        rounds = self._wire.rounds
        if number is None and rounds == 1:
            return 1
        if number is None:
            raise InvalidParameter(
                f"this plan has rounds 1 to {rounds}: say which one is answered, client.report(answers, "
                'round=1); a collector\'s GET /plans names the open one as "round"'
            )
        if type(number) is not int or not 1 <= number <= rounds:
            allowed = f"a whole number from 1 to {rounds}"
            raise InvalidParameter(
                f"round must be {allowed}, got {number!r}; the plan's losses are for these"
            )
        if number not in self.turns:
            raise InvalidParameter(
                f"round must be a turn of this device, {shorten_names(list(map(str, self.turns)))}, got "
                f"{number}; do not ask now: client.turns has its rounds"
            )
        return number

    def _join_degrees(self, answers: Mapping[str, object]) -> dict[str, object]:
        """Join a location that is given in two parts, `home.latitude` and `home.longitude`."""
        joined = dict(answers)
        for name in self.plan.locations:
            parts = [f"{name}.{degrees}" for degrees in DEGREES]
            if name not in joined and any(part in joined for part in parts):
                pair = [joined.pop(part, None) for part in parts]
                joined[name] = None if any(is_missing(degree) for degree in pair) else pair
        return joined

    def _encode_answers(
        self, answers: Mapping[str, object], reported: Sequence[str] | None = None
    ) -> Integers:
        """Codes of all attributes; those that are not asked have any, since no report holds them."""
        attributes = [
            attribute
            for attribute in self.plan.document.attributes
            if reported is None or attribute.name in reported
        ]
        # an option that is left out where its question is answered was not chosen; the plan reads both
        complete: dict[str, object] = {
            name: None
            for attribute in attributes
            for name in attribute.columns
            if attribute.answers is None and (attribute.several is None or attribute.several not in answers)
        }
        if self.plan.document.known is not None:
            complete |= dict.fromkeys(self.plan.document.known.names)
        complete |= dict(answers)
        for attribute in attributes:
            must = attribute.only_if is None and self.plan.document.missing_of(attribute) == "refuse"
            for name in (attribute.several,) if attribute.several in complete else attribute.columns:
                if must and name in complete and is_missing(complete[name]):
                    raise InvalidValue(
                        f"{name!r} has no answer, and this plan takes only records in which everything is "
                        "answered"
                    )
        try:
            return self.plan.encode([complete], reported)
        except InvalidValue as problem:  # a person who answers cannot change the study
            raise InvalidValue(problem.message) from None

    def readable(self, report: Report) -> str:
        """What leaves, for a person who wants to see it: JSON with labels.

        For each attribute in the report, it lists the values that the report points to. The answer may be
        among them or not. A number is the one that the report stands for.

        >>> from deniable import Study
        >>> plan = Study({"color": ["red", "green", "blue"]}, epsilon=1.0).plan(people=1000)
        >>> client = Client(plan, secret=bytes(32))
        >>> print(client.readable(client.report({"color": "red"})))
        {"plan": "...", "round": 1, "id": "...", "report": {"color": ["..."]}}
        """
        about = {"plan": report.plan.hex(), "round": report.round, "id": report.id.hex()}
        return json.dumps(about | {"report": self._wire.to_labels(report)}, ensure_ascii=False)

    def exchange(self, url: str, invitation: str, attempts: int = 8, timeout: float = 10.0) -> Ticket:
        """Exchange an invitation for the ticket that lets in a report, where the plan takes tickets.

        The collector signs the ticket without seeing it, so that nobody can link it to the invitation. Asked
        again, a device that keeps its secret gets the same ticket. Send the report later: the address and
        the time of a report sent at once would still link it.
        """
        key = self.plan.ticket_key
        if key is None:
            raise InvalidParameter("this plan has no tickets: its invitation is sent with the report")
        if self._fresh:
            raise InvalidParameter(
                "a ticket comes from the device's secret, and with fresh=True it is lost when the program "
                "ends; give the client a secret or a ledger"
            )
        check_delivery(url, attempts, timeout)
        invitation = _read_invitation(invitation, self.plan.id)
        blinding = Blinding.of(key, self.plan.id, self._ledger.secret, invitation)
        address = f"{url.rstrip('/')}/plans/{self.plan.id}/signatures"
        return deliver(
            "invitation",
            Message.of(address, blinding.blinded, timeout, f"Invitation {invitation}"),
            attempts,
            lambda response: _unblind(blinding, response),
        )

    def send(
        self,
        url: str,
        report: Report,
        invitation: str | None = None,
        attempts: int = 8,
        timeout: float = 10.0,
        *,
        ticket: Ticket | str | None = None,
        wait: float | None = None,
    ) -> Receipt:
        """Send a report until it has arrived; it is counted once, however often it is sent.

        An attempt ends after `timeout` seconds, whatever the collector does meanwhile.

        If the plan takes tickets, an invitation is exchanged for one first. Then this waits for 1 to 10
        minutes at random, or for `wait` seconds, so that the time does not link the two; a line in the log
        (`deniable.client`) says until when, and `wait=0` leaves it out. A program that is ended meanwhile
        loses nothing. A ticket from `exchange`, or its text, is sent at once.
        """
        _check_report(report)
        check_delivery(url, attempts, timeout)
        if self.plan.ticket_key is None and wait is not None:
            raise InvalidParameter("wait is for plans with tickets, and this one has none")
        pause = _choose_pause(wait)
        if self.plan.ticket_key is not None and invitation is not None and ticket is None:
            invitation = _read_invitation(invitation, self.plan.id)
            ticket, invitation = self.exchange(url, invitation, attempts, timeout), None
            _sleep(pause)
        return self._post(url, report.to_bytes(), self._write_token(invitation, ticket), attempts, timeout)

    def _write_token(self, invitation: str | None, ticket: Ticket | str | None) -> str:
        """What lets a report in, as a header says it; empty where there is nothing."""
        if ticket is not None and invitation is not None:
            raise InvalidParameter("a ticket was exchanged for its invitation; send the ticket alone")
        if self.plan.ticket_key is None and ticket is not None:
            raise InvalidParameter("a ticket is for plans with tickets, and this one has none")
        if ticket is not None:
            return f"Ticket {_read_ticket(ticket).to_text()}"
        return "" if invitation is None else f"Invitation {_read_invitation(invitation, self.plan.id)}"

    def _post(self, url: str, report: bytes, token: str, attempts: int, timeout: float) -> Receipt:
        """Post a report, which waits no more once it has arrived."""
        receipt: Receipt = deliver(
            "report",
            Message.of(f"{url.rstrip('/')}/reports", report, timeout, token),
            attempts,
            lambda response: read_reply(response.body).outcome,
        )
        self._ledger.settle({report: ""})
        return receipt

    def _post_together(self, url: str, reports: Sequence[bytes], attempts: int, timeout: float) -> int:
        """Post reports in one request, and count those that have arrived.

        They are in the order of their bytes, so that it tells no more than they do. Where the collector takes
        no batches, or not so long ones, all wait on.
        """
        batch = sorted(reports)
        body = to_batch(map(Report.from_bytes, batch))
        try:
            outcomes = deliver(
                "reports",
                Message.of(f"{url.rstrip('/')}/reports/batch", body, timeout),
                attempts,
                lambda response: read_outcomes(response.body, len(batch)),
            )
        except NotSent as problem:
            if problem.is_final:
                return 0
            raise
        words = zip(batch, outcomes, strict=True)
        settled = {report: SETTLED[word] for report, word in words if word in SETTLED}
        self._ledger.settle(settled)
        return sum(not lost for lost in settled.values())

    def postpone(
        self, report: Report, *, invitation: str | None = None, ticket: Ticket | str | None = None
    ) -> None:
        """Let a report wait in the ledger until `send_waiting` sends it, on a device that may be offline.

        At most 32 reports wait, for at most 30 days. What is dropped is lost: `ledger.lost` says so. A report
        waits with its invitation, or with a ticket that was exchanged for it while there was a network.
        """
        self._require_ledger()
        _check_report(report)
        if self.plan.ticket_key is not None and ticket is None:
            raise InvalidParameter(
                "this plan takes tickets, so that a report waits with one: exchange its invitation while "
                "there is a network, client.postpone(report, ticket=client.exchange(url, invitation)); a "
                "ticket is good in every round"
            )
        self._ledger.postpone(report.to_bytes(), self._write_token(invitation, ticket))

    def _require_ledger(self) -> None:
        """Refuse to let reports wait where they would be lost when the program ends, and nobody told."""
        if not self._has_ledger:
            raise InvalidParameter(
                "reports wait in a ledger, and this client has none, so that they would be lost when the "
                'program ends; make it with one, Client(plan, ledger=Ledger("ledger.json"))'
            )

    def send_waiting(
        self,
        url: str,
        *,
        most: int | None = None,
        apart: bool = False,
        wait: float | None = None,
        attempts: int = 2,
        timeout: float = 10.0,
    ) -> Delivery:
        """Send the plan's reports that wait, or at most some of them, until the collector cannot be reached.

        They leave together, in one request, after a random pause of 1 to 10 minutes, or after `wait` seconds.
        Its size tells how many there are, and nothing else. With `apart`, each leaves by itself, in a random
        order and after a pause of its own, so that nothing links them; so does each that has an invitation
        or a ticket, and all of them where the collector takes no batches. A report of a round that the
        collector has closed is lost. One that it refuses otherwise waits on, and the refusal is raised once
        all others were sent.
        """
        self._require_ledger()
        check_delivery(url, attempts, timeout)
        _choose_pause(wait)  # what is wrong is refused now, whether or not a report waits
        most = None if most is None else whole_number("most", most, 1)
        before = self._ledger.lost
        waiting = self._ledger.list_waiting(self.plan.id)
        count = len(waiting) if most is None else min(len(waiting), most)
        chosen = secrets.SystemRandom().sample(waiting, count)
        together = [] if apart else [entry.report for entry in chosen if not entry.token]
        arrived, refusal = 0, None
        try:
            if len(together) > 1:
                time.sleep(_choose_pause(wait))
                arrived = self._post_together(url, together, attempts, timeout)
            still = self._ledger.list_waiting(self.plan.id)
            for entry in (entry for entry in chosen if entry in still):
                time.sleep(_choose_pause(wait))
                try:
                    self._post(url, entry.report, entry.token, attempts, timeout)
                    arrived += 1
                except NotSent as problem:
                    if not problem.is_final:
                        raise
                    if problem.reason == "closed":
                        self._ledger.settle({entry.report: "closed"})
                    else:
                        refusal = problem
        except NotSent:  # nobody answers, so that everything else waits on
            pass
        if refusal is not None:
            raise refusal
        lost = tuple(sentence for sentence in self._ledger.lost if sentence not in before)
        return Delivery(arrived, len(self._ledger.list_waiting(self.plan.id)), lost)


def _unblind(blinding: Blinding, response: Response) -> Ticket | None:
    """The ticket; None for an answer that is none of the collector's, such as a portal's page.

    A signature by another key is refused for good: asked again, the collector would give the same one.
    """
    if response.kind != BINARY or len(response.body) != blinding.key.size:
        return None
    return blinding.unblind(response.body)


def _choose_pause(wait: float | None) -> float:
    """So many seconds as are given, or a number at random."""
    if wait is None:
        return WAIT[0] + secrets.randbelow(1000 * (WAIT[1] - WAIT[0]) + 1) / 1000
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait < math.inf:
        raise InvalidParameter(f"wait is a number of seconds from 0 on, got {wait!r}")
    return wait


def _sleep(pause: float) -> None:
    """Wait, and say until when, so that the program does not seem to hang."""
    if pause:
        until = time.strftime("%H:%M:%S", time.localtime(time.time() + pause))
        # a warning is shown even by programs that configure no log
        _log.warning(
            "the invitation was exchanged for a ticket; the report leaves at %s, in %.0f seconds, so that "
            "the time does not link the two; send(..., wait=0) does not wait",
            until,
            math.ceil(pause),
        )
    time.sleep(pause)


def _read_ticket(ticket: Ticket | str) -> Ticket:
    if isinstance(ticket, str):
        return Ticket.from_text(ticket)
    if not isinstance(ticket, Ticket):
        raise InvalidParameter(
            f"a ticket is what client.exchange gives, or its text, got {type(ticket).__name__}"
        )
    return ticket


def _check_report(report: object) -> None:
    if not isinstance(report, Report):
        raise InvalidParameter(
            f"what is sent is a report, client.report(answers), got {type(report).__name__}"
        )


def _read_invitation(invitation: str, plan: str) -> str:
    """The invitation, from itself, from its link, which may carry several plans, or from a letter's code."""
    if isinstance(invitation, str) and is_code(invitation):
        return derive_invitation(invitation, plan)
    is_text = isinstance(invitation, str) and invitation.isascii()
    if not (is_text and invitation.isprintable() and invitation.strip()):
        raise InvalidParameter(f"an invitation is a code of letters and digits, got {invitation!r}")
    parts = invitation.split("plan=")
    if len(parts) > 2:
        parts = [part for part in parts[1:] if plan.startswith(part.partition("&")[0])]
        if not parts or "invitation=" not in parts[0]:
            raise InvalidParameter(f"this link has no invitation to plan {plan[:12]}")
        invitation = parts[0]
    return invitation.rpartition("invitation=")[2].partition("&")[0]


def _read(plan: Plan | Path | str | bytes) -> Plan:
    """A plan as it is, its text, or its file by a Path."""
    if isinstance(plan, Plan):
        return plan
    if isinstance(plan, Path):
        return Plan.read(plan)
    if isinstance(plan, str) and plan.strip() and not plan.lstrip().startswith(("{", "[")):
        excerpt = plan if len(plan) <= 60 else f"{plan[:60]}…"
        raise InvalidPlan(
            f"a client takes a plan or its text, got {excerpt!r}; if that is a file, read it: "
            f"dn.Plan.read({excerpt!r})"
        )
    return Plan.from_json(plan)


def _check_memory(secret: bytes | None, ledger: Ledger | None, fresh: bool, repeated: bool) -> None:
    """Check that a client keeps one secret, by itself or in a ledger, or that it says that it keeps none."""
    if secret is not None and ledger is not None:
        raise InvalidParameter("a ledger has a secret of its own; give one of both")
    if fresh and (secret is not None or ledger is not None):
        raise InvalidParameter("fresh noise is for a client without a secret and without a ledger")
    if secret is None and ledger is None and repeated:
        raise InvalidParameter(
            "this plan asks again and again: a device must keep a secret (32 random bytes), or a ledger"
        )
    if secret is None and ledger is None and not fresh:
        raise InvalidParameter(
            "a device keeps a secret (32 random bytes), or a ledger, so that the same answers give the same "
            "report again; a person who answers once in a lifetime can do without: fresh=True"
        )


def _check_caps(cap: float | None, plan_cap: float | None, ledger: Ledger | None) -> None:
    """Check that a cap over all studies comes with a ledger, which adds them up, and that of a plan not."""
    if cap is not None and ledger is None:
        raise InvalidParameter(
            f"a cap holds for all studies together, and only a ledger adds them up: give "
            f"ledger=dn.Ledger(path), or limit this plan alone by plan_cap={cap}"
        )
    if plan_cap is not None and ledger is not None:
        raise InvalidParameter(
            "plan_cap limits the plan of a client without a ledger; a ledger limits all of its studies "
            f"together: ledger.cap = {plan_cap}"
        )
