"""Imports the packages that a study needs, or says in one line how to install them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from deniable.errors import DeniableError, suggest_install


def import_package(name: str, extra: str = "learn") -> Any:
    """A package, or a room of it such as `sklearn.metrics`.

    >>> import_package("math").floor(2.5)
    2
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        raise DeniableError(
            f"this study needs {missing.name}; install it with: {suggest_install(extra)}"
        ) from None
