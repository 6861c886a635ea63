"""Remembers by the text of spec/wire.md alone: what a device has answered, and what a collector let in."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from spec.reading.reader import Data, counted, is_within, linked_loss

# section 8


@dataclass
class Memory:
    """What a device remembers: of each plan, which rounds it answered with which reports."""

    cap: float | None
    plans: dict[str, Data] = field(default_factory=dict)
    reports: dict[str, dict[int, list[str]]] = field(default_factory=dict)

    def counts(self, but: str | None = None) -> list[int | None]:
        """What each plan counts, but for one."""
        return [self.count(self.plans[name], of) for name, of in self.reports.items() if name != but]

    def total(self) -> int | None:
        """What all plans count together; None: there is no bound."""
        figures = self.counts()
        known = [one for one in figures if one is not None]
        return sum(known) if len(known) == len(figures) else None

    def count(self, plan: Data, rounds: Mapping[int, Sequence[str]]) -> int | None:
        several = len(rounds.get(1, ()))
        changed = plan["losses"]["repeated"] is None and several > 1
        return several * linked_loss(plan) if changed else counted(plan)

    def answer(self, plan: Data, number: int, change: bool, drawn: str) -> str | None:
        """The report that is sent, if this one is drawn; None where the plan is refused for its cap."""
        name = plan["id"]
        before = self.reports.get(name, {})
        made = before.get(number, [])
        if made and (not change or drawn in made):
            return drawn if change else made[-1]
        after = {**before, number: [*made, drawn]}
        if not before or made:
            new = self.count(plan, after)
            if not is_within(self.cap, [new, *self.counts(but=name)]):
                return None
        self.plans[name] = plan
        self.reports[name] = after
        return drawn


# sections 10 and 11


def admit(plan: Data, codes: Sequence[str], requests: Iterable[tuple[str | None, bytes]]) -> list[list[str]]:
    """What becomes of the reports of each batch, all of which are sound, with what came with it."""
    lacking = "ticket" if "ticket_key" in plan else "invitation"
    unused = {f"Invitation {code}" for code in codes}
    used: set[str] = set()
    known: set[bytes] = set()
    outcomes = []
    for allowed, raw in requests:
        found = []
        for name in ids_of(raw):
            if name in known:
                found.append("counted before")
                continue
            valid = is_ticket(plan, allowed) if lacking == "ticket" else allowed in unused
            if valid and allowed is not None and allowed not in used:
                used.add(allowed)
                known.add(name)
                found.append("counted")
            else:
                found.append(lacking)
        outcomes.append(found)
    return outcomes


def ids_of(batch: bytes) -> Iterator[bytes]:
    """The ids of the reports in a batch of bytes."""
    while batch:
        length = int.from_bytes(batch[:4], "little")
        yield batch[4 : 4 + length][13:29]
        batch = batch[4 + length :]


def is_ticket(plan: Data, allowed: str | None) -> bool:
    """Whether this is a ticket of the plan, by its message; RFC 9474 says how its signature is verified."""
    if allowed is None or not allowed.startswith("Ticket "):
        return False
    prepared, _ = allowed.removeprefix("Ticket ").split(".")
    raw = base64.urlsafe_b64decode(prepared + "=" * (-len(prepared) % 4))
    return raw[32:] == b"deniable ticket" + bytes.fromhex(plan["id"])
