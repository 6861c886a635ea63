"""A device that answers a plan: it verifies the plan, makes each report from its secret, and sends it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from deniable_device.answers import Answers
from deniable_device.document import Json
from deniable_device.errors import InvalidParameter, NotSent
from deniable_device.ledger import SETTLED, USUAL_CAP, Ledger, Waiting, allow, check_cap, counted
from deniable_device.plan import Plan
from deniable_device.wire import Report, from_bytes, pack
from deniable_device.words import Device

SHORTEST_SECRET = 16


def make_report(
    plan: Plan,
    answers: Mapping[str, Json],
    secret: bytes,
    round: int,
    words: Sequence[int] | None = None,
    report_id: bytes | None = None,
) -> Report:
    """The report of a device with a secret. `words` and `report_id` replace what is drawn, in tests."""
    device = open_device(plan, secret, round, words)
    if round not in turns_of(plan, secret):
        raise InvalidParameter(f"round must be a turn of this device, one of client.turns, got {round}")
    drawn = plan.record.drawn(device, 0) if plan.sampled else None
    reader = Answers(plan, answers, drawn)
    values = reader.values(device)
    group = reader.group() if plan.known else None
    parts = plan.record.privatize(values, device, 0)
    if report_id is None:
        report_id = device.pseudonym() if plan.linked else device.report_id(pack(plan, parts, group))
    return Report(plan, round, report_id, parts, group)


def open_device(plan: Plan, secret: bytes, round: int, words: Sequence[int] | None = None) -> Device:
    """The words of a device for one round of a plan."""
    if len(secret) < SHORTEST_SECRET:
        raise InvalidParameter(f"a secret has at least {SHORTEST_SECRET} bytes, got {len(secret)}")
    if type(round) is not int or not 1 <= round <= (plan.rounds or 1):
        raise InvalidParameter(f"round must be from 1 to {plan.rounds or 1}, got {round!r}")
    return Device(secret, plan.id, round, plan.strands, words)


def turns_of(plan: Plan, secret: bytes) -> list[int]:
    """The rounds in which a device answers, in order: all, unless the plan has it draw some."""
    rounds = plan.rounds or 1
    if plan.turns is None:
        return list(range(1, rounds + 1))
    return open_device(plan, secret, 1).turns(plan.turns, rounds)


def questions_of(plan: Plan, secret: bytes) -> list[str]:
    """The names of the questions that a device asks, in the plan's order: all, unless only drawn ones are."""
    drawn = plan.record.drawn(open_device(plan, secret, 1), 0)
    numbers = drawn if plan.sampled else range(len(plan.attributes))
    names = [factor.name for factor in plan.known]
    for number in numbers:
        attribute = plan.attributes[number]
        names += [attribute.several] if attribute.several else [name for name, _ in attribute.questions]
    return list(dict.fromkeys(names))


class Delivery(NamedTuple):
    """What became of the reports of a plan that waited, with a sentence for each round that was lost."""

    arrived: int
    waiting: int
    lost: list[str]


class Client:
    """One device and one plan, which was verified. It keeps a ledger, or a secret alone.

    With a secret alone the plan is compared with the cap by itself, no answer can be changed, and a round has
    one report for as long as the client is there."""

    def __init__(self, plan: Plan, ledger: Ledger | None, secret: bytes | None, cap: float | None) -> None:
        if (ledger is None) == (secret is None):
            raise InvalidParameter("a client needs a ledger or a secret, and not both")
        self.plan, self.ledger = plan, ledger
        self.secret = ledger.secret if ledger is not None else bytes(secret or b"")
        self.cap = None if cap is None else check_cap(cap)
        self.sent: dict[int, Report] = {}
        open_device(plan, self.secret, 1)
        if ledger is not None:
            ledger.check(plan, self.cap)
        else:
            allow(counted(plan), USUAL_CAP if self.cap is None else self.cap, "this plan")

    @classmethod
    def open(
        cls,
        plan_text: str | bytes,
        *,
        ledger: Ledger | None = None,
        secret: bytes | None = None,
        cap: float | None = None,
    ) -> Client:
        """Verifies a plan. One that breaks a rule, gives away more than it states or does not fit below the
        cap is `Refused`. `cap` is in nats, and takes the place of the ledger's for this plan."""
        return cls(Plan(plan_text), ledger, secret, cap)

    @property
    def questions(self) -> list[str]:
        """The names of the questions to ask on this device."""
        return questions_of(self.plan, self.secret)

    @property
    def turns(self) -> list[int]:
        """The rounds in which this device answers."""
        return turns_of(self.plan, self.secret)

    def report(
        self, answers: Mapping[str, Json], round: int | None = None, *, change: bool = False
    ) -> Report:
        """The report of answers by question. A round has one report, whatever is answered later, unless
        `change` says that a person changed an answer. That needs a ledger, and gives away as much again."""
        if round is None:
            if self.plan.rounds is not None:
                raise InvalidParameter(f"say which round is answered, from 1 to {self.plan.rounds}")
            round = 1
        if self.ledger is None:
            if change:
                raise InvalidParameter("a changed answer needs a ledger, which counts it")
            if round not in self.sent:
                self.sent[round] = make_report(self.plan, answers, self.secret, round)
            return self.sent[round]
        if change and self.plan.rounds is not None:
            raise InvalidParameter("a plan with rounds takes a changed answer in its next round")
        with self.ledger.locked():
            sent = self.ledger.sent(self.plan, round)
            if sent is not None and not change:
                return from_bytes(self.plan, sent)
            report = make_report(self.plan, answers, self.secret, round)
            self.ledger.keep(self.plan, round, report.to_bytes(), self.cap)
        return report

    def exchange(self, url: str, invitation: str, *, attempts: int = 5) -> str:
        """The ticket for an invitation; the same again if it is asked again."""
        from deniable_device import sending, tickets

        if self.plan.ticket_key is None:
            raise InvalidParameter("this plan takes invitations, and no tickets")
        sending.check_delivery(url, attempts)
        hidden = tickets.blinding(int(self.plan.ticket_key, 16), self.plan.id, self.secret, invitation)
        address = f"{url.rstrip('/')}/plans/{self.plan.id}/signatures"
        return hidden.ticket(
            sending.deliver(
                address, hidden.message(), f"Invitation {invitation}", attempts, lambda answer: answer.body
            )
        )

    def send(
        self,
        url: str,
        report: Report,
        *,
        invitation: str | None = None,
        ticket: str | None = None,
        wait: float | None = None,
        attempts: int = 5,
    ) -> str:
        """Sends a report until it has arrived, and says what the collector made of it: it is counted once.

        Where the plan takes tickets, the invitation is exchanged first, and the report follows after `wait`
        seconds; unless that is given, a random time from 1 to 10 minutes."""
        from deniable_device import sending

        check_report(report)
        sending.check_delivery(url, attempts, wait)
        if self.plan.ticket_key is None and wait is not None:
            raise InvalidParameter("wait is for plans with tickets, and this one has none")
        if invitation is not None and self.plan.ticket_key is not None and ticket is None:
            ticket, invitation = self.exchange(url, invitation, attempts=attempts), None
            sending.pause(wait)
        return self.post(url, report.to_bytes(), report.round, self.token(invitation, ticket), attempts)

    def token(self, invitation: str | None, ticket: str | None) -> str:
        """What lets a report in, as a header says it; empty where there is nothing."""
        if ticket is not None and invitation is not None:
            raise InvalidParameter("a ticket was exchanged for its invitation; send the ticket alone")
        if self.plan.ticket_key is None and ticket is not None:
            raise InvalidParameter("a ticket is for plans with tickets, and this one has none")
        if ticket is not None:
            return f"Ticket {ticket}"
        return "" if invitation is None else f"Invitation {invitation}"

    def post(self, url: str, report: bytes, round: int, token: str, attempts: int) -> str:
        """Posts the report of a round, which waits no more once it has arrived."""
        from deniable_device import sending

        outcome = sending.send(f"{url.rstrip('/')}/reports", report, token, attempts)
        if self.ledger is not None and self.ledger.sent(self.plan, round) == report:
            self.ledger.settle(self.plan, {round: ""})
        return outcome

    def post_together(self, url: str, waiting: Sequence[Waiting], attempts: int) -> int:
        """Posts reports in one request, and counts those that have arrived.

        They are in the order of their bytes, so that it tells no more than they do. Where the collector takes
        no batches, or not so long ones, all wait on."""
        from deniable_device import sending

        batch = sorted(waiting, key=lambda each: each.report)
        try:
            address = f"{url.rstrip('/')}/reports/batch"
            outcomes = sending.send_batch(address, [each.report for each in batch], attempts)
        except NotSent as problem:
            if problem.status in sending.AGAIN:
                raise
            return 0
        settled = {each.round: SETTLED[word] for each, word in zip(batch, outcomes) if word in SETTLED}
        if self.ledger is not None:
            self.ledger.settle(self.plan, settled)
        return sum(not lost for lost in settled.values())

    def postpone(self, report: Report, *, invitation: str | None = None, ticket: str | None = None) -> None:
        """Lets a report wait in the ledger until `send_waiting` sends it, on a device that may be offline. At
        most 32 reports wait, for at most 30 days; what is dropped is lost. A report waits with its
        invitation, or with a ticket that was exchanged for it while there was a network."""
        ledger = self.ledger_for_waiting()
        check_report(report)
        if self.plan.ticket_key is not None and ticket is None:
            raise InvalidParameter(
                "this plan takes tickets, so that a report waits with one: exchange its invitation while "
                "there is a network, client.postpone(report, ticket=client.exchange(url, invitation))"
            )
        ledger.postpone(self.plan, report.round, report.to_bytes(), self.token(invitation, ticket))

    def ledger_for_waiting(self) -> Ledger:
        """The ledger, without which reports that wait would be lost when the program ends."""
        if self.ledger is None:
            raise InvalidParameter(
                "reports wait in a ledger, and this client has none, so that they would be lost when the "
                'program ends; make it with one, Client.open(plan_text, ledger=Ledger("ledger.json"))'
            )
        return self.ledger

    def send_waiting(
        self,
        url: str,
        *,
        most: int | None = None,
        apart: bool = False,
        wait: float | None = None,
        attempts: int = 2,
    ) -> Delivery:
        """Sends the plan's reports that wait, or at most some of them, until the collector cannot be reached.

        They leave together, in one request, after 1 to 10 minutes at random, or after `wait` seconds. Its
        size tells how many there are, and nothing else. With `apart`, each leaves by itself, in a random
        order and after a pause of its own, so that nothing links them; so does each that has an invitation or
        a ticket, and all of them where the collector takes no batches. A report of a round that the collector
        has closed is lost. One that it refuses otherwise waits on, and is `NotSent` once all others were
        sent."""
        from deniable_device import sending

        ledger = self.ledger_for_waiting()
        sending.check_delivery(url, attempts, wait)
        if most is not None:
            sending.check_count("most", most)
        before = ledger.lost(self.plan)
        waiting = ledger.list_waiting(self.plan)
        count = len(waiting) if most is None else min(len(waiting), most)
        chosen = secrets.SystemRandom().sample(waiting, count)
        together = [] if apart else [each for each in chosen if not each.token]
        arrived, refused = 0, None
        try:
            if len(together) > 1:
                sending.pause(wait)
                arrived = self.post_together(url, together, attempts)
            still = ledger.list_waiting(self.plan)
            for each in [each for each in chosen if each in still]:
                sending.pause(wait)
                try:
                    self.post(url, each.report, each.round, each.token, attempts)
                    arrived += 1
                except NotSent as problem:
                    if problem.status in sending.AGAIN:
                        raise
                    if problem.reason == "closed":
                        ledger.settle(self.plan, {each.round: "closed"})
                    else:
                        refused = problem
        except NotSent:  # nobody answers, so that everything else waits on
            pass
        if refused is not None:
            raise refused
        lost = [each for each in ledger.lost(self.plan) if each not in before]
        return Delivery(arrived, len(ledger.list_waiting(self.plan)), lost)


def check_report(report: object) -> None:
    """Checks that a report is what `client.report` gives."""
    if not isinstance(report, Report):
        raise InvalidParameter(
            f"what is sent is a report, client.report(answers), got {type(report).__name__}"
        )
