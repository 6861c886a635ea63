"""Learns from sanitized data: a scikit-learn transformer, and a classifier from tallies of reports.

A name is loaded when it is first used, and says what to install where scikit-learn is not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameter, suggest_install

if TYPE_CHECKING:
    from deniable.learn.bayes import PrivateNaiveBayes
    from deniable.learn.privatizer import Privatizer

__all__ = ["PrivateNaiveBayes", "Privatizer"]

_FILES = {"PrivateNaiveBayes": "bayes", "Privatizer": "privatizer"}
"""The file that each name is in."""


def __getattr__(name: str) -> object:
    if name not in _FILES:
        raise AttributeError(f"module 'deniable.learn' has no attribute {name!r}")
    try:
        member: object = getattr(import_module(f"deniable.learn.{_FILES[name]}"), name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] == "deniable":
            raise
        raise InvalidParameter(f"{name} needs {missing.name}: {suggest_install('learn')}") from None
    globals()[name] = member  # so that it is looked for once
    return member


def __dir__() -> list[str]:
    return sorted(__all__)
