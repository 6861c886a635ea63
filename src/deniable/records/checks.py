"""Checks what record mechanisms are made from: numbers of values, and parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.mechanisms import ExactMechanism


def checked_sizes(ks: Sequence[int]) -> tuple[int, ...]:
    """The number of values of each attribute, as a list of integers."""
    if not isinstance(ks, Iterable) or isinstance(ks, str | Mapping):
        hint = (
            f"; for one attribute of {ks} values use the mechanism itself, such as dn.grr"
            if isinstance(ks, int)
            else ""
        )
        raise InvalidParameter(
            f"ks is a list with the number of values of each attribute, such as [3, 5, 4], got {ks!r}{hint}"
        )
    return tuple(whole_number("k, the number of values,", k, 2) for k in ks)


def list_parts(parts: object) -> tuple[Any, ...]:
    """The parts of a record mechanism as a tuple."""
    if not isinstance(parts, Iterable) or isinstance(parts, str | Mapping):
        raise InvalidParameter(f"parts are a list of mechanisms, got {type(parts).__name__}")
    return tuple(parts)


def check_parts(parts: object) -> tuple[ExactMechanism, ...]:
    """Two mechanisms or more, each with an exact loss."""
    parts = list_parts(parts)
    exact = []
    for part in parts:
        if not isinstance(part, ExactMechanism):
            raise InvalidParameter(
                f"a part of a record mechanism is a mechanism with an exact loss, got {type(part).__name__}"
            )
        exact.append(part)
    if len(parts) < 2:
        raise InvalidParameter(
            f"a record mechanism needs at least two attributes, got {len(parts)}; use the mechanism itself "
            "for one",
            "parts",
        )
    return tuple(exact)
