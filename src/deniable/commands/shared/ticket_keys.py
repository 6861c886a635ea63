"""Makes the ticket keys of plans, and finds the key of each plan that is served."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.commands.shared import console
from deniable.errors import InvalidParameter
from deniable.tickets import SigningKey

if TYPE_CHECKING:
    from deniable.study import Plan


def add_ticket_key(plan: Plan, file: Path) -> Plan:
    """The plan with a new key, or with the key that was made for the same plan before."""
    if file.exists():
        same = plan.with_ticket_key(SigningKey.read(file).public)
        owner = SigningKey.read_plan_id(file)
        if same.id != owner:
            raise InvalidParameter(
                f"{file} is the ticket key of plan {owner[:12]}, which differs from this one; every plan "
                "has a key of its own: name a new file"
            )
        return same
    key = SigningKey.generate()
    keyed = plan.with_ticket_key(key.public)
    key.write(file, keyed.id)
    console.note(f"wrote {file}; deniable serve needs it, and who has it can make tickets")
    return keyed


def read_signers(plans: Iterable[Plan], files: Sequence[Path]) -> dict[str, SigningKey]:
    """The key of each plan that takes tickets; every key must belong to a plan."""
    keys_by_plan = {SigningKey.read_plan_id(file): SigningKey.read(file) for file in files}
    signers: dict[str, SigningKey] = {}
    for plan in plans:
        if plan.ticket_key is None:
            continue
        key = keys_by_plan.get(plan.id)
        if key is None or key.public != plan.ticket_key:
            raise InvalidParameter(
                f"plan {plan.id[:12]} takes tickets; name the file of the key that it was made with: "
                "--ticket-key FILE"
            )
        signers[plan.id] = key
    for file in files:
        if SigningKey.read_plan_id(file) not in signers:
            raise InvalidParameter(f"{file} is the ticket key of no plan here; leave it out")
    return signers
