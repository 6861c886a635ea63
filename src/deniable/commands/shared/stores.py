"""Opens the store of a collector: what `serve`, `tokens`, `rounds`, `store` and `export` share."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, reading
from deniable.errors import DeniableError, InvalidParameter, suggest_install
from deniable.formatting import format_members

if TYPE_CHECKING:
    from deniable.store.access import Actor
    from deniable.store.schedule import Times
    from deniable.store.store import Store
    from deniable.study import Plan

store_option = click.option(
    "--store",
    metavar="ADDRESS",
    default="sqlite:///reports.db",
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
    from deniable.store.access import Actor

    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        name = "unknown"
    printable = "".join(letter for letter in name if letter.isprintable())  # it is printed to terminals
    return Actor(printable[:60] or "unknown", "shell")


def register_plan(store: Store, plan: Plan, invited: bool) -> None:
    """Registers a plan; says what to do where the store's own plans do not allow it."""
    try:
        store.register(plan.document, invited)
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
        from deniable.store.reading import refuse_unknown
        from deniable.store.store import open_store

        store = open_store(url, create)
    with closing(store):
        known = [stored.document.id for stored in store.plans()]
        if not create:
            refuse_unknown(store, plan.document)
        elif invited is not None or plan.id not in known:
            register_plan(store, plan, bool(invited))
        if warn and known and plan.id not in known:
            others = format_members("plan", [identifier[:12] for identifier in known])
            console.warn(
                f"{store.name} never served plan {plan.id[:12]}, but {others}; was the right plan named?"
            )
        yield store


def open_existing(url: str) -> closing[Store]:
    """A store that is there already."""
    from deniable.store.store import open_store

    return closing(open_store(url, create=False))


def choose_plan(store: Store, plan_file: Path | None) -> Plan:
    """The plan of a file, or the only one there is."""
    from deniable.store.reading import unknown
    from deniable.study import Plan

    plans = {stored.document.id: stored.document for stored in store.plans()}
    identifiers = list(plans) if plan_file is None else [reading.read_plan(plan_file).id]
    if not identifiers:
        raise InvalidParameter(
            f"{store.name} is empty: no plan was ever served from it; name another with --store"
        )
    if len(identifiers) != 1:
        raise InvalidParameter(f"name the plan's file: {store.name} has {len(plans)} plans")
    if identifiers[0] not in plans:
        raise unknown(store, identifiers[0], plans)
    return Plan(plans[identifiers[0]])


def find_rounds(plan: Plan, url: str) -> Sequence[Times]:
    """The rounds of a store, and none where there is no store or it has no such plan."""
    try:
        opened = open_existing(url)
    except InvalidParameter as problem:
        if problem.reason != "store":
            raise
        return []
    with opened as store:
        return store.rounds(plan.id) if plan.id in {stored.document.id for stored in store.plans()} else []
