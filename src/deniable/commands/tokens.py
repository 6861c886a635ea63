"""`deniable tokens`: makes invitations, or withdraws those that nobody used."""

from __future__ import annotations

import csv
import io
import secrets
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import FILE, Number, whole
from deniable.commands.shared.stores import open_store_of, store_option, suggest_extra
from deniable.errors import InvalidParameter
from deniable.formatting import format_count

if TYPE_CHECKING:
    from deniable.plan import Plan


@click.command("tokens")
@click.argument("plan", type=FILE)
@click.option(
    "--count", type=Number(partial(whole, least=1, most=10**7)), help="The number of invitations to make."
)
@click.option(
    "--withdraw", is_flag=True, help="Withdraw all unused invitations instead; their links stop working."
)
@click.option("--yes", is_flag=True, help="Confirm --withdraw.")
@store_option
@click.option("--url", metavar="ADDRESS", help="The survey's address, to write links.")
@click.option("-o", "--out", type=FILE, help="Write the invitations to this CSV file, not to the terminal.")
@console.force
def make_tokens(
    plan: Path,
    count: int | None,
    withdraw: bool,
    yes: bool,
    store: str,
    url: str | None,
    out: Path | None,
    force: bool,
) -> None:
    """Make invitations, or withdraw them.

    An invitation to PLAN is good for one report in any round. The store keeps only hashes of invitations.
    Whoever has the list knows who was invited, but not what anybody reported. If PLAN was made with
    --ticket-key, devices exchange invitations for tickets; those that were exchanged cannot be withdrawn.
    """
    if (count is None) is not withdraw:
        raise InvalidParameter(
            "say with --count how many invitations to make, or --withdraw those that are unused"
        )
    if count is None:
        if (url, out) != (None, None):
            raise InvalidParameter(
                "--url and -o are for invitations that are made; leave them out with --withdraw"
            )
        _withdraw_unused(reading.read_plan(plan), store, yes)
        return
    if yes:
        raise InvalidParameter("--yes goes with --withdraw")
    if out is not None:
        console.refuse_ending(out, [".csv"], "a list of invitations")
        console.refuse_existing([out], force)
    if url is not None and not url.startswith(("http://", "https://")):
        raise InvalidParameter(f"the survey's address begins with http:// or https://, got {url!r}")
    read = reading.read_plan(plan)
    with suggest_extra():
        from deniable.collect.intake import hash_invitation
    made = [_draw_token() for _ in range(count)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if url is None:
        writer.writerows([["invitation"], *([token] for token in made)])
    else:
        writer.writerows(
            [["invitation", "link"], *([token, _format_link(url, read, token)] for token in made)]
        )
    with ExitStack() as both:  # the list is written before anything is let in by it, and kept only if it does
        if out is not None:
            both.enter_context(console.writing(out, private=True)).write_text(
                text.getvalue(), encoding="utf-8"
            )
        with open_store_of(store, read, invited=True, warn=True) as opened:
            opened.invite(read.id, [hash_invitation(token.encode()) for token in made])
            left = opened.invitations_left(read.id)
    if out is None:
        click.echo(text.getvalue(), nl=False)
    how = "--invited" if read.ticket_key is None else "--ticket-key"
    click.echo(f"{_format_unused(left)}; serve the plan with {how}", err=True)


def _format_link(url: str, plan: Plan, token: str) -> str:
    """The link of an invitation; it names the whole plan, so that all see that they have the same."""
    return f"{url.rstrip('/')}/#plan={plan.id}&invitation={token}"


def _format_unused(left: int) -> str:
    return f"{format_count(left, 'invitation')} {'is' if left == 1 else 'are'} unused"


def _withdraw_unused(plan: Plan, url: str, yes: bool) -> None:
    with open_store_of(url, plan, invited=None, create=False) as store:
        left = store.invitations_left(plan.id)
        if left and not yes:
            raise InvalidParameter(
                f"this withdraws {format_count(left, 'unused invitation')}, which cannot be undone; "
                "repeat it with --yes"
            )
        gone = store.withdraw(plan.id) if left else 0
    click.echo(
        f"withdrew {format_count(gone, 'unused invitation')}"
        if gone
        else "no invitation is unused; there is none to withdraw"
    )


def _draw_token() -> str:
    """Draws a token for an address, never one that a spreadsheet or a shell would misread."""
    while (token := secrets.token_urlsafe(24)).startswith("-"):
        pass
    return token
