"""Reads the parameters of a request; a wrong one is refused."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request

from deniable.collect.refusals import Refusal
from deniable.errors import not_among


def read_whole(text: str, name: str) -> int:
    """A whole number of at most nine digits."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Refusal("parameter", f"{name} must be a whole number.")
    return int(text)


def read_round(request: Request) -> int | None:
    """The number of the round, where one is asked for."""
    text = request.query_params.get("round")
    return None if text is None else read_whole(text, "round")


def read_level(request: Request) -> float:
    """The level of intervals, 0.95 unless another is asked for."""
    try:
        level = float(request.query_params.get("level", "0.95"))
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise Refusal("parameter", "level must be a number between 0 and 1, such as 0.95.")
    return level


def read_choice(request: Request, name: str, allowed: Sequence[str]) -> str:
    """One of the words that are allowed, the first of them unless another is asked for."""
    choice = request.query_params.get(name, allowed[0])
    if choice not in allowed:
        raise Refusal("parameter", not_among(choice, f"a {name}", allowed))
    return choice
