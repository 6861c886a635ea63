"""Opens the store of a collector: what `serve`, `tokens`, `rounds` and `store` share."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from deniable.errors import DeniableError, InvalidParameter, suggest_install
from deniable.formatting import format_members

if TYPE_CHECKING:
    from deniable.collect.access import Actor
    from deniable.collect.offers import Times
    from deniable.collect.store import Store
    from deniable.plan import Plan

store_option = click.option(
    "--store",
    metavar="ADDRESS",
    default="sqlite:///reports.db",
    show_default=True,
    help="The store of the reports: sqlite:///FILE or postgresql://…",
)


@contextmanager
def suggest_extra() -> Iterator[None]:
    """Say what to install where a package is missing."""
    try:
        yield
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] == "deniable":
            raise
        raise DeniableError(
            f"this needs {problem.name}, which is not installed: {suggest_install('serve')}"
        ) from None


def find_actor() -> Actor:
    """Who does this, for the log: the user of the machine."""
    from deniable.collect.access import Actor

    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        name = "unknown"
    shown = "".join(letter for letter in name if letter.isprintable())  # it is printed to terminals
    return Actor(shown[:60] or "unknown", "shell")


def register_plan(store: Store, plan: Plan, invited: bool) -> None:
    """Registers a plan; says what to do where the store's own plans do not allow it."""
    try:
        store.register(plan, invited)
    except InvalidParameter as problem:
        if problem.reason == "ticket-key":  # another store would only hide it
            raise
        raise InvalidParameter(f"{problem}; collect it in another store, with --store") from None


@contextmanager
def open_store_of(
    url: str, plan: Plan, invited: bool | None, create: bool = True, warn: bool = False
) -> Iterator[Store]:
    """A store in which the plan is registered; it takes invitations, or is left as it is (None).

    A store that is only read is not made. With `warn`, adding a plan to a store of other plans is reported.
    """
    with suggest_extra():
        from deniable.collect.reading import refuse_unknown
        from deniable.collect.store import open_store

        store = open_store(url, create)
    try:
        known = [each.plan.id for each in store.plans()]
        if not create:
            refuse_unknown(store, plan)
        elif invited is not None or plan.id not in known:
            register_plan(store, plan, bool(invited))
        if warn and known and plan.id not in known:
            others = format_members("plan", [each[:12] for each in known])
            text = (
                f"warning: {store.name} never served plan {plan.id[:12]}, but {others}; was the right plan "
                "named?"
            )
            click.echo(text, err=True)
        yield store
    finally:
        store.close()


def find_rounds(plan: Plan, url: str) -> Sequence[Times]:
    """The rounds of a store, and none where there is no store or it has no such plan."""
    from deniable.collect.store import open_store

    try:
        store = open_store(url, create=False)
    except InvalidParameter as problem:
        if problem.reason != "store":
            raise
        return []
    try:
        return store.rounds(plan.id) if plan.id in {one.plan.id for one in store.plans()} else []
    finally:
        store.close()
