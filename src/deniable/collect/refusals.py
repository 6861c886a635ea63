"""Refuses requests: a word for machines, a sentence for people, and the HTTP status of each."""

from __future__ import annotations

from collections.abc import Mapping

from deniable.errors import DeniableError

REASONS: Mapping[str, tuple[int, str]] = {
    "malformed": (400, "This cannot be read."),
    "request": (400, "This is no request of HTTP/1.1, or one that can be read in two ways."),
    "version": (400, "The report was made by another version."),
    "form": (
        400,
        "The report is not in its canonical form; it was changed, or not made by a client of this plan.",
    ),
    "size": (400, "The report is too long or too short for its plan."),
    "round": (400, "The plan has no such round."),
    "parameter": (400, "A parameter is wrong."),
    "token": (401, "This takes a token, and a valid one; send it as: Authorization: Bearer …"),
    "invitation": (
        403,
        "This plan takes one report for each invitation, and this one is missing, unknown or used.",
    ),
    "ticket": (
        403,
        "This plan takes one report for each ticket, and this one is missing, not valid or used; an "
        "invitation is exchanged for one.",
    ),
    "role": (403, "This token does not allow this; ask an operator."),
    "plan": (404, "No such plan is collected here."),
    "path": (404, "There is nothing here."),
    "method": (405, "This cannot be done here."),
    "slow": (408, "The request took too long to arrive."),
    "closed": (409, "The round is not open."),
    "few": (409, "There are too few reports so far."),
    "large": (413, "The message is longer than anything that is taken here."),
    "type": (415, "Send application/octet-stream or application/json."),
    "head": (431, "The head of the request is longer than anything that is taken here."),
    "rate": (429, "There are too many requests from here; wait a little."),
    "busy": (503, "There is more to do than can be done now; send it again in a moment."),
    "store": (503, "The store cannot be reached now; send it again in a moment."),
    "fault": (503, "This went wrong on our side; nothing was counted."),
}
"""Every reason of refusal: its status, and what it means."""

LONGEST = 300  # characters of a sentence, which may name what was sent


class Refusal(DeniableError):
    """An answer that refuses: a word for machines, a sentence for people, and headers."""

    def __init__(self, reason: str, detail: str = "", headers: Mapping[str, str] | None = None) -> None:
        self.reason = reason
        self.status, meaning = REASONS[reason]
        self.detail = (detail or meaning)[:LONGEST]
        self.headers = dict(headers or {})
        if self.status in (429, 503):
            self.headers.setdefault("retry-after", "1")
        if self.status == 401:
            self.headers.setdefault("www-authenticate", "Bearer")
        super().__init__(self.detail)
