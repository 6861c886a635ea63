"""Draws invitations, and writes and reads the links that carry them.

A store keeps hashes of invitations that nobody used yet, and forgets those that were used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

from deniable.collect.intake import hash_invitation
from deniable.store.counting import bind_group
from deniable.study import Plan
from deniable.tickets import derive_invitation, draw_code


class Invited(NamedTuple):
    """An invitation to one plan, with the known group that its link names, if it names one."""

    plan_id: str
    token: str
    answers: tuple[str, ...] = ()


def draw_invitation(plans: Sequence[Plan]) -> tuple[str, list[str]]:
    """Draws a code and derives its invitations; none begins as a spreadsheet or a shell would misread."""
    while True:
        code = draw_code(plan.id for plan in plans)
        tokens = [derive_invitation(code, plan.id) for plan in plans]
        if not any(token.startswith("-") for token in tokens):
            return code, tokens


def format_link(url: str, invited: Sequence[Invited]) -> str:
    """The link of invitations; it names whole plans, so that all see that they have the same."""
    parts = []
    for invitation in invited:
        group = "".join(f"&group={quote(answer, safe='')}" for answer in invitation.answers)
        parts.append(f"plan={invitation.plan_id}&invitation={invitation.token}{group}")
    return f"{url.rstrip('/')}/#{'&'.join(parts)}"


def read_link(link: str) -> list[Invited]:
    """What `format_link` wrote."""
    invited: list[Invited] = []
    for name, value in parse_qsl(urlsplit(link).fragment):
        if name == "plan":
            invited.append(Invited(value, ""))
        elif invited and name == "invitation":
            invited[-1] = invited[-1]._replace(token=value)
        elif invited and name == "group":
            invited[-1] = invited[-1]._replace(answers=(*invited[-1].answers, value))
    return invited


def hash_invited(plan: Plan, invited: Invited) -> bytes:
    """What a store keeps of an invitation; that of a group lets in reports of this group only.

    A ticket is signed before there is a report, so that it cannot be bound to a group.
    """
    plain = hash_invitation(invited.token.encode())
    known = plan.document.known
    if known is None or len(invited.answers) != len(known.names) or plan.ticket_key is not None:
        return plain
    columns = {name: [answer] for name, answer in zip(known.names, invited.answers, strict=True)}
    return bind_group(plain, int(known.codes(columns)[0]))
