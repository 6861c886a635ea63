"""Tells a program about alarms: a POST of JSON to its address."""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, final
from urllib.parse import urlsplit

from deniable.errors import DeniableError, InvalidParameter

SECONDS = 10.0
"""How long an answer is waited for."""


@final
class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for a refusal: alarms go to the address that was named, and to no other."""

    def redirect_request(self, *_arguments: Any, **_more: Any) -> None:
        return None


def check_webhook(url: str) -> str:
    """Refuse an address that is none, before any work is done."""
    try:
        parts = urlsplit(url)
        is_http = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        is_plain = "@" not in parts.netloc and re.fullmatch("[!-~]+", url) is not None
        is_address = is_http and is_plain
    except ValueError:
        is_address = False
    if not is_address:
        raise InvalidParameter(  # without the address, which may be secret
            "a webhook is an address such as https://example.org/hook, without a password, spaces and "
            "letters beyond ASCII; this one is not"
        )
    return url


def post(url: str, message: Mapping[str, Any], seconds: float = SECONDS) -> None:
    """Send a message, which any answer of 200 to 299 acknowledges."""
    host = urlsplit(check_webhook(url)).netloc  # what follows it may be secret
    body = json.dumps(message, allow_nan=False).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    try:
        with urllib.request.build_opener(_NoRedirect()).open(request, timeout=seconds):
            return
    except urllib.error.HTTPError as refusal:
        refusal.close()
        why = f"it answered {refusal.code}"
    except (OSError, ValueError, http.client.HTTPException) as problem:
        reason = getattr(problem, "reason", problem)
        why = str(reason) if isinstance(reason, OSError) else "the address or its answer is not that of HTTP"
        if isinstance(reason, TimeoutError):
            why = f"it did not answer within {seconds:g} seconds"
    raise DeniableError(f"the webhook at {host} did not take the alarms: {why}")
