"""Reads the health of reports and found values from a collector, and finds its operator's token."""

from __future__ import annotations

import ipaddress
import json
import os
import urllib.parse
from contextlib import closing
from pathlib import Path

from deniable.discovery import Discovery, Query
from deniable.errors import InvalidParameter
from deniable.results.health import Health
from deniable.store.reading import Collector, is_collector
from deniable.study import Plan

TOKEN_FILE = Path("operator.token")
"""Where `deniable serve` keeps the operator's token by default."""


def fetch_health(plan: Plan, source: str, number: int | None = None, token: str | None = None) -> Health:
    """What the collector says of the reports of a round; of a store, what it would say, but for bursts."""
    if is_collector(source):
        collector, document = Collector(source, token), plan.document
        return collector.ask_of(document, "health", number, Health.read, "the health of its reports")
    from deniable.collect.health import look_at
    from deniable.collect.intake import Served
    from deniable.store.store import open_store

    with closing(open_store(source, create=False)) as store:
        result = plan.estimate(store.tallied(plan.id, number)[1])
        return look_at(Served(plan), result, store.bodies(plan.id, number or 1))


def fetch_discovery(
    plan: Plan, source: str, number: int | None, query: Query, token: str | None
) -> Discovery:
    """The texts or codes that a collector finds in the reports of a round; its log then says so."""
    parameters = {} if query.name is None else {"name": query.name}
    sought = {"words": query.words, "alpha": query.alpha, "least": query.least}
    return Collector(source, token).ask_of(
        plan.document,
        "discover",
        number,
        Discovery.from_dict,
        "the values that it found",
        parameters,
        json.dumps(sought).encode(),
    )


def token_file_for(source: str, path: Path | None) -> Path | None:
    """The file of the operator's token: the named one, or for a local collector the one in this folder.

    A token in this folder is not sent to other machines unless it is named.
    """
    if path is not None or os.environ.get("DENIABLE_TOKEN"):
        return path
    host = urllib.parse.urlsplit(source).hostname or ""
    try:
        is_local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = False
    return TOKEN_FILE if is_local and TOKEN_FILE.is_file() else None


def find_token(file: Path | None, source: str) -> str:
    """The operator's token from the environment, or from the file that `deniable serve` made.

    Where there is none, a collector that cannot be reached is said first.
    """
    token = os.environ.get("DENIABLE_TOKEN", "")
    if file is not None:
        token = file.read_text(encoding="utf-8").strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidParameter(
            f"{file or 'DENIABLE_TOKEN'} does not hold an operator's token; deniable serve makes "
            "operator.token"
        )
    if not token:
        Collector(source).refuse_silence()
        raise InvalidParameter(
            "a collector shows results to its operator: set DENIABLE_TOKEN, or name the file that deniable "
            f"serve made where it was started: --token-file {TOKEN_FILE}"
        )
    return token
