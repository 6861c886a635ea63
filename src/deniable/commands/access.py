"""`deniable access`: gives colleagues tokens of their own, revokes them, and shows what operators did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console
from deniable.commands.shared.options import COUNT, InOrder
from deniable.commands.shared.stores import find_actor, store_option, suggest_extra
from deniable.errors import InvalidParameter
from deniable.formatting import format_time

if TYPE_CHECKING:
    from deniable.store.access import Accesses

_ALLOWED = {
    "reader": "reads estimates, their health and the dashboard, and changes nothing",
    "operator": "may do all that the collector's own token may",
    "metrics": "reads /metrics, and nothing else",
}


@contextmanager
def _open_accesses(url: str, create: bool = False) -> Iterator[Accesses]:
    with suggest_extra():
        from deniable.store.store import open_store

        opened = closing(open_store(url, create))
    with opened as store:
        yield store.access


@click.group("access", cls=InOrder)
def manage_access() -> None:
    """Give colleagues access, or revoke it."""


@manage_access.command("add")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(list(_ALLOWED)),
    default="reader",
    help="A reader sees results, an operator may do everything, metrics is for Prometheus.",
)
@click.option("--url", metavar="ADDRESS", help="The collector's address, to write a link to its dashboard.")
@store_option
def add_access(name: str, role: str, url: str | None, store: str) -> None:
    """Make a token or a link for somebody.

    It is printed only now: the store keeps its hash. A running collector on the same store takes it at once.
    """
    if url is not None and not url.startswith(("http://", "https://")):
        raise InvalidParameter(f"the collector's address begins with http:// or https://, got {url!r}")
    if url is not None and role == "metrics":
        raise InvalidParameter("metrics have no page to link to; leave out --url")
    with _open_accesses(store, create=True) as accesses:
        from deniable.store.access import draw_token, hash_token

        token = draw_token()
        accesses.add(name, role, hash_token(token), find_actor())
    # alone on stdout, so that it can go to a file that only its user reads
    click.echo(token if url is None else f"{url.rstrip('/')}/dashboard#token={token}")
    end = "; send it to nobody else: whoever has it has this access" if url else ""
    console.note(f"{name} {_ALLOWED[role]}{end}")


@manage_access.command("list")
@store_option
@console.as_json
def list_accesses(store: str, as_json: bool) -> None:
    """Show who has access."""
    with _open_accesses(store) as accesses:
        entries = accesses.everybody()
    facts = [
        {"name": access.name, "role": access.role, "added": format_time(access.added)} for access in entries
    ]
    if as_json:
        console.print_json(facts)
    elif not facts:
        click.echo("nobody has access but main, who has the collector's own token")
    else:
        rows = [[fact["name"], fact["role"], fact["added"]] for fact in facts]
        console.print_table("access, besides main", ["name", "role", "added"], rows)


@manage_access.command("revoke")
@click.argument("name")
@store_option
def revoke_access(name: str, store: str) -> None:
    """End somebody's access at once."""
    with _open_accesses(store) as accesses:
        gone = accesses.revoke(name, find_actor())
    click.echo(f"revoked the access of {gone.name} ({gone.role}); pages that are open show nothing new")


@manage_access.command("log")
@store_option
@click.option("--last", type=COUNT, default="50", help="How many to show, the newest first.")
@console.as_json
def show_log(store: str, last: int, as_json: bool) -> None:
    """Show what operators did.

    Who opened and closed rounds, made and withdrew invitations, exported and scrubbed reports, found
    values, gave and revoked access. Through the shell, that is the user of the machine.
    """
    with _open_accesses(store) as accesses:
        actions = accesses.actions(last)
    facts = [asdict(action) | {"time": format_time(action.time)} for action in actions]
    if as_json:
        console.print_json(facts)
    elif not facts:
        click.echo("nothing was done yet")
    else:
        heads = ["when", "who", "through", "what", "detail", "plan"]
        names = ("time", *heads[1:-1])
        rows = [[*(str(fact[name]) for name in names), (fact["plan"] or "")[:12]] for fact in facts]
        console.print_table("what operators did", heads, rows)
