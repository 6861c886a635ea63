"""Which reports a collector lets in, by the text of spec/collector.md alone."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Data = dict[str, Any]


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
