"""Reads tallies, the health of reports and found values from a collector's address, or from its store's."""

from __future__ import annotations

import ipaddress
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from deniable.discovery import Discovery, Query
from deniable.errors import DeniableError, InvalidParameter
from deniable.formatting import format_members
from deniable.reports import Tallies
from deniable.results.health import Health
from deniable.study import Plan

if TYPE_CHECKING:
    from deniable.store.store import Store

Answer = TypeVar("Answer")

_LONGEST = 1 << 28  # bytes of tallies
_SECONDS = 60.0
_WORK = 1800.0  # to search many millions of reports
_CHOOSE = "choose one with --round"
_ASK = "; ask for one of them"  # as a collector says it

TOKEN_FILE = Path("operator.token")
"""Where `deniable serve` keeps the operator's token by default."""


class Collected(NamedTuple):
    """Tallies, and their round; None where no round was named and none has reports."""

    round: int | None
    tallies: Tallies


def fetch_tallies(plan: Plan, source: str, number: int | None = None, token: str | None = None) -> Collected:
    """The tallies of a round, or of the only one with reports, from http://, sqlite:/// or postgresql://"""
    if source.startswith(("http://", "https://")):
        return _from_collector(plan, _address(source), number, token)
    from deniable.store.store import open_store

    with closing(open_store(source, create=False)) as store:
        refuse_unknown(store, plan)
        if number is None:
            _refuse_several(stored.number for stored in store.rounds(plan.id) if stored.counted)
        return Collected(*store.tallied(plan.id, number))


def fetch_health(plan: Plan, source: str, number: int | None = None, token: str | None = None) -> Health:
    """What the collector says of the reports of a round; of a store, what it would say, but for bursts."""
    if source.startswith(("http://", "https://")):
        address = _address(source)
        raw = _ask(plan, address, "health", number, token)
        return _read_answer(raw, Health.read, address, "the health of its reports")
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
    address = _address(source)
    parameters = {} if query.name is None else {"name": query.name}
    sought = {"words": query.words, "alpha": query.alpha, "least": query.least}
    raw = _ask(plan, address, "discover", number, token, parameters, json.dumps(sought).encode())
    return _read_answer(raw, Discovery.from_dict, address, "the values that it found")


def refuse_unknown(store: Store, plan: Plan) -> None:
    """Refuse a plan that a store does not have."""
    plans = [known.document.id for known in store.plans()]
    if plan.id not in plans:
        raise unknown(store, plan.id, plans)


def unknown(store: Store, plan_id: str, plans: Iterable[str]) -> InvalidParameter:
    """The message for a plan that a store does not have."""
    known = ", ".join(identifier[:12] for identifier in plans)
    has = f"it has {known}" if known else "it is empty"
    return InvalidParameter(
        f"{store.name} has no plan {plan_id[:12]}; {has}: name another plan, or another store"
    )


def _refuse_several(numbers: Iterable[int]) -> None:
    """Refuse to choose among rounds."""
    rounds = list(numbers)
    if len(rounds) > 1:
        raise InvalidParameter(
            f"the same people answered in {format_members('round', rounds)}, which are not added up; "
            f"{_CHOOSE}"
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
        _refuse_silence(_address(source))
        raise InvalidParameter(
            "a collector shows results to its operator: set DENIABLE_TOKEN, or name the file that deniable "
            f"serve made where it was started: --token-file {TOKEN_FILE}"
        )
    return token


def _address(source: str) -> str:
    """A collector's address, also from that of its dashboard."""
    parts = urllib.parse.urlsplit(source)
    path = parts.path.rstrip("/").removesuffix("/dashboard")
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _ask(
    plan: Plan,
    source: str,
    what: str,
    number: int | None,
    token: str | None,
    more: Mapping[str, str] = MappingProxyType({}),
    body: bytes | None = None,
) -> bytes:
    """What a collector answers about a round of a plan; with a body, once it has worked on it."""
    query = dict(more) if number is None else {"round": str(number), **more}
    suffix = "?" + urllib.parse.urlencode(query) if query else ""
    request = urllib.request.Request(f"{source}/plans/{plan.id}/{what}{suffix}", body)
    if token is not None:
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS if body is None else _WORK) as answer:
            content: bytes = answer.read(_LONGEST)
            return content
    except urllib.error.HTTPError as refusal:
        with refusal:
            why = _detail(refusal.read(10_000)) or str(refusal)
        if refusal.code == 401:
            why = (
                "this is not its operator's token, or not any more. The one that holds is in operator.token "
                "in the folder where it was started, or in its DENIABLE_TOKEN; give it with --token-file or "
                "in DENIABLE_TOKEN"
            )
        elif refusal.code == 400 and number is None:
            why = f"{why.rstrip('.').removesuffix(_ASK)}; {_CHOOSE}"
        raise DeniableError(f"the collector at {source} refused: {why}") from None
    except OSError as problem:  # also no answer in time, or no such address
        raise _unreachable(source, problem) from None


def _refuse_silence(source: str) -> None:
    """Refuse an address at which nobody answers."""
    try:
        urllib.request.urlopen(f"{source}/health", timeout=_SECONDS).close()
    except urllib.error.HTTPError as refusal:
        refusal.close()
    except OSError as problem:
        raise _unreachable(source, problem) from None


def _unreachable(source: str, problem: OSError) -> DeniableError:
    return DeniableError(
        f"the collector at {source} cannot be reached: {getattr(problem, 'reason', problem)}; is it running, "
        "and is this its address?"
    )


def _read_answer(raw: bytes, read: Callable[[Any], Answer], source: str, expected: str) -> Answer:
    """Read the JSON of a collector; what is something else came from no collector."""
    try:
        return read(json.loads(raw))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DeniableError(
            f"what is at {source} is not a collector: it answered something else than {expected}"
        ) from None


def _from_collector(plan: Plan, source: str, number: int | None, token: str | None) -> Collected:
    raw = _ask(plan, source, "tallies", number, token)
    tallies, answered = _read_answer(
        raw, lambda said: (Tallies.from_dict(said), said.get("round")), source, "tallies"
    )
    if tallies.plan_id != plan.id:
        raise DeniableError(f"the collector at {source} answered with the tallies of another plan")
    return Collected(answered if type(answered) is int else number, tallies)


def _detail(raw: bytes) -> str:
    try:
        return str(json.loads(raw)["detail"])
    except (ValueError, TypeError, KeyError):
        return ""
