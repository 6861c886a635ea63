"""Tallies from where reports are collected: a collector's address, or its store's."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from deniable.errors import DeniableError, InvalidParameter
from deniable.plan import Plan, Tallies

_LONGEST = 1 << 28  # bytes of tallies
_SECONDS = 60.0


def fetch_tallies(plan: Plan, source: str, number: int | None = None, token: str | None = None) -> Tallies:
    """The tallies of one round of a plan, or of all together, from http://…, sqlite:///… or postgresql://…"""
    if source.startswith(("http://", "https://")):
        return _from_collector(plan, source, number, token)
    from deniable.collect.store import open_store

    store = open_store(source, create=False)
    try:
        return store.tallies(plan.id, number)
    finally:
        store.close()


def find_token(file: Path | None) -> str:
    """The operator's token from the environment, or from the file that `deniable serve` made."""
    token = os.environ.get("DENIABLE_TOKEN", "")
    if file is not None:
        token = file.read_text(encoding="utf-8").strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidParameter(
            f"{file or 'DENIABLE_TOKEN'} does not hold an operator's token; deniable serve makes operator.token"
        )
    if not token:
        raise InvalidParameter("a collector shows results to its operator: set DENIABLE_TOKEN, or give --token-file")
    return token


def _from_collector(plan: Plan, source: str, number: int | None, token: str | None) -> Tallies:
    query = "" if number is None else "?" + urllib.parse.urlencode({"round": number})
    request = urllib.request.Request(f"{source.rstrip('/')}/plans/{plan.id}/tallies{query}")
    if token is not None:
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            raw = answer.read(_LONGEST)
    except urllib.error.HTTPError as refusal:
        with refusal:
            raise DeniableError(f"the collector at {source} refused: {_detail(refusal.read(10_000)) or refusal}") from None
    except OSError as problem:  # also no answer in time, or no such place
        raise DeniableError(f"the collector at {source} cannot be reached: {getattr(problem, 'reason', problem)}") from None
    try:
        found = Tallies.from_dict(json.loads(raw))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DeniableError(f"what is at {source} is not a collector: it answered something else than tallies") from None
    if found.plan_id != plan.id:
        raise DeniableError(f"the collector at {source} answered with the tallies of another plan")
    return found


def _detail(raw: bytes) -> str:
    try:
        return str(json.loads(raw)["detail"])
    except (ValueError, TypeError, KeyError):
        return ""
