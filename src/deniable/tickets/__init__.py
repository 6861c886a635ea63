"""Makes tickets that nobody can link to the invitations that they were exchanged for (RFC 9474)."""

from deniable.tickets.codes import derive_invitation, draw_code, is_code, read_code, tag_plans
from deniable.tickets.keys import PREFIX_BYTES, SALT_BYTES, PublicKey, SigningKey
from deniable.tickets.ticket import Blinding, Ticket, message_of

__all__ = [
    "PREFIX_BYTES",
    "SALT_BYTES",
    "Blinding",
    "PublicKey",
    "SigningKey",
    "Ticket",
    "derive_invitation",
    "draw_code",
    "is_code",
    "message_of",
    "read_code",
    "tag_plans",
]
